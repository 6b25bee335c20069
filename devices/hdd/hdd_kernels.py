"""A disk drive as a passive machine: one arm, one platter angle, a queue that knows where things are.

Mechanics after Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994: service =
command overhead + seek + settle + rotation + transfer. The platter keeps its absolute angle, so a request that just
misses its sector waits a whole revolution. What a buffer on board changes is in
:mod:`tiersim.devices.hdd.hdd_buffer_kernels`.
"""

from typing import NamedTuple

import numpy as np

from tiersim.devices import requests
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, WRITE

SECTOR_BYTES = 512
PS_PER_NS = 1_000
#: Times below this can be counted in ps.
_COUNTABLE_NS = (1 << 62) // PS_PER_NS
#: Seek times are tabled for each distance below the first number, then for each 2^bits-th with straight lines between:
#: a table of every distance does not stay in the cache, which made the event loop a sixth slower.
SEEK_EXACT = 1024
SEEK_STEP_BITS = 6


class Place(NamedTuple):
    """Where a sector lies."""

    zone: int  # index into ZONE
    cylinder: int
    track: int  # cylinder x surfaces + head
    within: int  # number of the sector on its track
    angle_ps: int


@kernel
def angle_at(now_ns: int, revolution_ps: int, phase_ps: int) -> int:
    """Angle under the head at a time, in ps of rotation."""
    if now_ns >= _COUNTABLE_NS:
        now_ns %= revolution_ps  # so many ns are a thousand turns, which leave the angle as it is
    return (now_ns * PS_PER_NS + phase_ps) % revolution_ps


@kernel(hot=True)
def locate(p: Plant, drive: int, sector: int) -> Place:
    """Where a sector lies."""
    d = p.drives[drive]
    zone = d["first_zone"] + p.pool[d["zone_hint"] + (sector >> d["hint_shift"])]
    last = d["first_zone"] + d["zones"] - 1
    while zone < last and p.zones[zone]["end_sector"] <= sector:
        zone += 1
    z = p.zones[zone]
    per_track = z["sectors_per_track"]
    physical = z["first_physical"] + sector - z["first_sector"]
    tracks = physical // per_track
    place = physical - tracks * per_track
    cylinder = tracks // d["surfaces"]
    head = tracks - cylinder * d["surfaces"]
    skew = head * z["track_skew_ps"] + cylinder * z["cylinder_skew_ps"]
    angle = (z["first_angle_ps"] + skew + place * z["sector_ps"]) % d["revolution_ps"]
    if d["serpentine"] == 1 and (cylinder + z["flip"]) & 1 == 1:
        head = d["surfaces"] - 1 - head
    cylinder += z["first_cylinder"]
    return Place(zone, cylinder, cylinder * d["surfaces"] + head, place, angle)


@kernel(hot=True)
def transfer(p: Plant, drive: int, sector: int, sectors: int, at: Place) -> tuple[int, int]:
    """Time of a transfer that begins at a sector, which lies *at* a place, and the track that it ends on: (ps, track).

    Over the end of a track, or a bad sector, it goes on where the next sector comes under a head: skew is chosen so
    that this hides the switch to the next track.
    """
    z = p.zones[at.zone]
    passed = 0
    taken = min(sectors, z["sectors_per_track"] - at.within, max(z["end_sector"] - sector, 1))
    while taken < sectors:
        passed += taken * z["sector_ps"]
        sectors -= taken
        sector += taken
        reached = at.angle_ps + taken * z["sector_ps"]
        at = locate(p, drive, sector)
        passed += (at.angle_ps - reached) % p.drives[drive]["revolution_ps"]
        z = p.zones[at.zone]
        taken = min(sectors, z["sectors_per_track"] - at.within, max(z["end_sector"] - sector, 1))
    return passed + taken * z["sector_ps"], at.track


@kernel(hot=True)
def passage(
    p: Plant, drive: int, sector: int, sectors: int, at: Place, mark: int, interface_ps: int
) -> tuple[int, int, int]:
    """When data can pass the interface, in ps from the start of a transfer that begins at a sector, which lies *at* a
    place.

    Of a read: when *mark* sectors are in, and when the last is through if none leaves before it was read. Of a write:
    how long before the start data must have begun to come for each sector to be there when the head is.
    """
    z = p.zones[at.zone]
    if sectors > min(z["sectors_per_track"] - at.within, z["end_sector"] - sector):
        return _passage_over_tracks(p, drive, sector, sectors, at, mark, interface_ps)
    sector_ps = z["sector_ps"]
    read_ps = sectors * sector_ps
    bus_ps = sectors * interface_ps
    return mark * sector_ps, max(sector_ps + bus_ps, read_ps + interface_ps), max(bus_ps - read_ps + sector_ps, 0)


@kernel
def _passage_over_tracks(
    p: Plant, drive: int, sector: int, sectors: int, at: Place, mark: int, interface_ps: int
) -> tuple[int, int, int]:
    """:func:`passage` of a transfer in several pieces."""
    passed = 0
    done = 0
    marked = 0
    through = 0
    lead = 0
    while done < sectors:
        z = p.zones[at.zone]
        sector_ps = z["sector_ps"]
        taken = min(sectors - done, z["sectors_per_track"] - at.within, max(z["end_sector"] - sector, 1))
        through = max(through, passed + sector_ps + (sectors - done) * interface_ps)
        if done < mark <= done + taken:
            marked = passed + (mark - done) * sector_ps
        passed += taken * sector_ps
        done += taken
        lead = max(lead, done * interface_ps - passed + sector_ps)
        if done < sectors:
            sector += taken
            reached = at.angle_ps + taken * sector_ps
            at = locate(p, drive, sector)
            passed += (at.angle_ps - reached) % p.drives[drive]["revolution_ps"]
    return marked, max(through, passed + interface_ps), lead


@kernel
def place_request(p: Plant, drive: int, slot: int, sector: int, sectors: int) -> None:
    """Note in the LINK of *slot* where a request lies, and how long its transfer takes."""
    at = locate(p, drive, sector)
    link = p.links[slot]
    link["zone"] = at.zone
    link["cylinder"] = at.cylinder
    link["track"] = at.track
    link["within"] = at.within
    link["angle_ps"] = at.angle_ps
    link["transfer_ps"], link["end_track"] = transfer(p, drive, sector, sectors, at)


@kernel
def place_of_request(p: Plant, slot: int) -> Place:
    """Return what was noted in the LINK of *slot* of where its request lies."""
    link = p.links[slot]
    zone, within = int(np.int64(link["zone"])), int(np.int64(link["within"]))
    return Place(zone, link["cylinder"], link["track"], within, link["angle_ps"])


@kernel
def seek_ns(p: Plant, table: int, distance: int) -> int:
    """Seek time over a distance in cylinders from a table as :func:`tiersim.devices.hdd.disk_drive.seek_table_ns` makes
    it."""
    if distance < SEEK_EXACT:
        return p.pool[table + distance]
    beyond = distance - SEEK_EXACT
    knot = table + SEEK_EXACT + (beyond >> SEEK_STEP_BITS)
    rise = p.pool[knot + 1] - p.pool[knot]
    return p.pool[knot] + (rise * (beyond & (1 << SEEK_STEP_BITS) - 1) >> SEEK_STEP_BITS)


@kernel
def move_ns(p: Plant, drive: int, cylinder: int, track: int, op: int) -> int:
    """Time of the arm and the heads to another track: they move and switch at once; a write waits until they have
    settled.
    """
    d = p.drives[drive]
    distance = abs(cylinder - d["cylinder"])
    if distance > 0:
        move = seek_ns(p, d["seek_table"], distance)
        if move < d["head_switch_ns"] and track - d["track"] != (cylinder - d["cylinder"]) * d["surfaces"]:
            move = d["head_switch_ns"]
    elif track != d["track"]:
        move = d["head_switch_ns"]
    else:
        return 0
    return max(move + d["write_settle_ns"], 0) if op == WRITE else move


@kernel(hot=True)
def positioning_ns(p: Plant, drive: int, cylinder: int, track: int, target_ps: int, op: int, angle_ps: int) -> int:
    """Time from *angle_ps* now until the angle *target_ps* of a track is under the head: seek, settle, rotation."""
    move = move_ns(p, drive, cylinder, track, op)
    return move + rotation_ns(p, drive, target_ps, angle_ps, move)


@kernel(hot=True)
def rotation_ns(p: Plant, drive: int, target_ps: int, angle_ps: int, move_ns: int) -> int:
    """Time until the angle *target_ps* is under the head, counted from the end of a move that begins at *angle_ps*."""
    revolution = p.drives[drive]["revolution_ps"]
    wait_ps = target_ps - angle_ps - move_ns * PS_PER_NS
    while wait_ps < 0:
        wait_ps += revolution
    return wait_ps // PS_PER_NS


@kernel
def go_to(p: Plant, drive: int, track: int) -> None:
    """The arm is at a track now."""
    d = p.drives[drive]
    d["track"] = track
    d["cylinder"] = track // d["surfaces"]


@kernel
def go_to_end(p: Plant, drive: int, slot: int) -> None:
    """Move the arm to the track where the transfer of the request in *slot* ends, as a rule the one where it began."""
    d = p.drives[drive]
    link = p.links[slot]
    end_track = int(np.int64(link["end_track"]))
    d["track"] = end_track
    d["cylinder"] = link["cylinder"] if end_track == link["track"] else end_track // d["surfaces"]


#: Rules of the scheduler: what goes first has the least positioning time, or the nearest cylinder.
BY_TIME, BY_DISTANCE = range(2)


@kernel(hot=True)
def cost_of(p: Plant, drive: int, slot: int, angle_ps: int, least: int) -> int:
    """Return the cost that the scheduler compares: positioning time in ns, or distance in cylinders. Where the cost is
    *least* or more, any value from *least* to the cost may be returned.
    """
    link = p.links[slot]
    op = p.requests[slot]["op"]
    if op == DISCARD:  # it needs no arm, and has no place
        return 0
    if p.drives[drive]["rule"] == BY_DISTANCE:
        return abs(link["cylinder"] - p.drives[drive]["cylinder"])
    move = move_ns(p, drive, link["cylinder"], link["track"], op)
    # most commands of a deep queue are too far away, whatever the rotation
    return move if move >= least else move + rotation_ns(p, drive, link["angle_ps"], angle_ps, move)


@kernel
def overhead_ns(p: Plant, drive: int, op: int) -> int:
    """Time that a drive takes to understand a command that needs the arm."""
    return p.drives[drive]["write_overhead_ns"] if op == WRITE else p.drives[drive]["read_overhead_ns"]


@kernel
def accept_drive(p: Plant, drive: int, slot: int, now: int) -> int:
    """Take a request into the queue and work out where it lies.

    Without writes in a buffer a flush ends at once: the arm has no part in it. (Linux does not even send it to such a
    drive: Documentation/block/writeback_cache_control.)
    """
    request = p.requests[slot]
    if request["op"] == FLUSH:
        if p.drives[drive]["write_segments"] == 0:
            return now + p.drives[drive]["flush_ns"]
    elif request["length_bytes"] > 0 and request["op"] != DISCARD:
        first = request["offset_bytes"] // SECTOR_BYTES
        last = (request["offset_bytes"] + request["length_bytes"] - 1) // SECTOR_BYTES
        place_request(p, drive, slot, first, last - first + 1)
    requests.append(p, p.drives[drive]["queue"], slot)
    return WAIT if p.drives[drive]["busy"] else CALL


@kernel(hot=True)
def can_start(p: Plant, drive: int) -> bool:
    """Whether a drive's arm is free and a command waits."""
    d = p.drives[drive]
    return not d["busy"] and p.queues[d["queue"]]["head"] != NONE


@kernel
def choose_plain(p: Plant, station: int, drive: int, now: int) -> tuple[int, int, int]:
    """Take the command of least cost among those that the drive sees; an aged one goes first."""
    d = p.drives[drive]
    q = d["queue"]
    best = p.queues[q]["head"]
    angle = angle_at(now + d["read_overhead_ns"], d["revolution_ps"], d["phase_ps"])
    least = cost_of(p, drive, best, angle, NEVER)
    before = NONE
    if now - p.requests[best]["accepted_ns"] <= d["age_limit_ns"]:
        previous = best
        candidate = p.links[best]["next"]
        seen = 1
        while candidate != NONE and seen < d["queue_depth"]:
            cost = cost_of(p, drive, candidate, angle, least)
            if cost < least:
                least = cost
                best = candidate
                before = previous
            previous = candidate
            candidate = p.links[candidate]["next"]
            seen += 1
    requests.remove(p, q, best, before)
    op = p.requests[best]["op"]
    service = overhead_ns(p, drive, op)
    if op != DISCARD:
        link = p.links[best]
        if d["rule"] != BY_TIME or service != d["read_overhead_ns"]:
            angle = angle_at(now + service, d["revolution_ps"], d["phase_ps"])
            least = positioning_ns(p, drive, link["cylinder"], link["track"], link["angle_ps"], op, angle)
        service += least
        service += link["transfer_ps"] // PS_PER_NS
        go_to_end(p, drive, best)
    service = max(service, 1)
    d["busy"] = 1
    p.work_ns[station, 0] += service
    return best, now + service, NEVER


@kernel
def finish_drive(p: Plant, drive: int, slot: int) -> int:
    """Free the arm; a drive makes no children."""
    if p.requests[slot]["op"] != FLUSH or p.drives[drive]["write_segments"] > 0:
        p.drives[drive]["busy"] = 0
    return 0
