"""A disk drive as a passive machine: one arm, one platter angle, a queue that knows where things are.

Mechanics after Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994: service =
command overhead + seek + settle + rotation + transfer. The platter keeps its absolute angle, so a request that just
misses its sector waits a whole revolution.
"""

from tiersim.devices import queue
from tiersim.devices.tables import CALL, NEVER, NONE, WAIT, Plant
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


@kernel
def angle_at(now_ns: int, revolution_ps: int, phase_ps: int) -> int:
    """Angle under the head at a time, in ps of rotation."""
    if now_ns >= _COUNTABLE_NS:
        now_ns %= revolution_ps  # a whole number of turns: a thousand of them
    return (now_ns * PS_PER_NS + phase_ps) % revolution_ps


@kernel
def locate(p: Plant, drive: int, first_sector: int, sectors: int) -> tuple[int, int, int, int]:
    """Map sectors to (first track, last track, start angle in ps, transfer time in ps).

    Tracks are counted over all surfaces: track // surfaces is the cylinder. A transfer that runs over the end of a track
    goes on after the skew, which hides the switch to the next one.
    """
    d = p.drives[drive]
    zone = d["first_zone"] + p.pool[d["zone_hint"] + (first_sector >> d["hint_shift"])]
    while zone + 1 < d["first_zone"] + d["zones"] and p.zones[zone + 1]["first_sector"] <= first_sector:
        zone += 1
    z = p.zones[zone]
    per_track = z["sectors_per_track"]
    within = first_sector - z["first_sector"]
    tracks = within // per_track
    sector = within - tracks * per_track
    track = z["first_track"] + tracks
    angle = (sector * z["sector_ps"] + track * d["skew_ps"]) % d["revolution_ps"]
    crossed = 0
    if sector + sectors > per_track:
        crossed = (sector + sectors - 1) // per_track
    return track, track + crossed, angle, sectors * z["sector_ps"] + crossed * d["skew_ps"]


@kernel
def seek_ns(p: Plant, table: int, distance: int) -> int:
    """Seek time over a distance in cylinders from a table as :func:`tiersim.devices.hdd.seek_table_ns` makes it."""
    if distance < SEEK_EXACT:
        return p.pool[table + distance]
    beyond = distance - SEEK_EXACT
    knot = table + SEEK_EXACT + (beyond >> SEEK_STEP_BITS)
    rise = p.pool[knot + 1] - p.pool[knot]
    return p.pool[knot] + (rise * (beyond & (1 << SEEK_STEP_BITS) - 1) >> SEEK_STEP_BITS)


@kernel
def positioning_ns(p: Plant, drive: int, slot: int, angle_ps: int) -> int:
    """Time from *angle_ps* now until the first sector of *slot* is under the head: seek, settle, rotation."""
    d = p.drives[drive]
    r = p.links[slot]
    op = p.requests[slot]["op"]
    if op == DISCARD:
        return 0
    distance = abs(r["cylinder"] - d["cylinder"])
    if distance > 0:
        move = seek_ns(p, d["seek_table"], distance)
    elif r["track"] != d["track"]:
        move = d["head_switch_ns"]
    else:
        move = 0
    if op == WRITE:
        move += d["write_settle_ns"]
    revolution = d["revolution_ps"]
    wait_ps = r["angle_ps"] - angle_ps - move * PS_PER_NS
    while wait_ps < 0:
        wait_ps += revolution
    return move + wait_ps // PS_PER_NS


@kernel
def accept_drive(p: Plant, drive: int, slot: int, now: int) -> int:
    """Take a request into the queue and work out where it lies.

    A flush ends at once: nothing waits in a write cache, since there is none, so the arm has no part in it. (Linux does
    not even send it to such a drive: Documentation/block/writeback_cache_control.)
    """
    request = p.requests[slot]
    if request["op"] == FLUSH:
        return now + p.drives[drive]["flush_ns"]
    if request["length_bytes"] > 0 and request["op"] != DISCARD:
        first = request["offset_bytes"] // SECTOR_BYTES
        last = (request["offset_bytes"] + request["length_bytes"] - 1) // SECTOR_BYTES
        track, end_track, angle, transfer = locate(p, drive, first, last - first + 1)
        link = p.links[slot]
        link["cylinder"] = track // p.drives[drive]["surfaces"]
        link["track"] = track
        link["end_track"] = end_track
        link["angle_ps"] = angle
        link["transfer_ps"] = transfer
    queue.append(p, p.drives[drive]["queue"], slot)
    return WAIT if p.drives[drive]["busy"] else CALL


@kernel
def choose_drive(p: Plant, station: int, drive: int, now: int) -> tuple[int, int, int]:
    """Take the command with the least positioning time among those that the drive sees; an aged one goes first."""
    d = p.drives[drive]
    q = d["queue"]
    best = p.queues[q]["head"]
    if d["busy"] or best == NONE:
        return NONE, NEVER, NEVER
    angle = angle_at(now + d["overhead_ns"], d["revolution_ps"], d["phase_ps"])
    least = positioning_ns(p, drive, best, angle)
    before = NONE
    if now - p.requests[best]["accepted_ns"] <= d["age_limit_ns"]:
        previous = best
        candidate = p.links[best]["next"]
        seen = 1
        while candidate != NONE and seen < d["queue_depth"]:
            cost = positioning_ns(p, drive, candidate, angle)
            if cost < least:
                least = cost
                best = candidate
                before = previous
            previous = candidate
            candidate = p.links[candidate]["next"]
            seen += 1
    queue.remove(p, q, best, before)
    op = p.requests[best]["op"]
    service = d["overhead_ns"] + least
    if op != DISCARD:
        link = p.links[best]
        service += link["transfer_ps"] // PS_PER_NS
        d["cylinder"] = link["cylinder"]
        d["track"] = link["end_track"]
        if link["end_track"] != link["track"]:
            d["cylinder"] = link["end_track"] // d["surfaces"]
    service = max(service, 1)
    d["busy"] = 1
    p.work_ns[station, 0] += service
    return best, now + service, NEVER


@kernel
def finish_drive(p: Plant, drive: int, slot: int) -> int:
    """Free the arm; a drive makes no children."""
    if p.requests[slot]["op"] != FLUSH:
        p.drives[drive]["busy"] = 0
    return 0
