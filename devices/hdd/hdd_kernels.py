"""A disk drive as a passive machine: one arm, one platter angle, a queue that knows where things are.

Mechanics after Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994: service =
command overhead + seek + settle + rotation + transfer. The platter keeps its absolute angle, so a request that just
misses its sector waits a whole revolution. What a buffer on board changes is in
:mod:`tiersim.devices.hdd.hdd_buffer_kernels`.

Moves of the arm scatter: one that should end just before its sector comes may end after it, and costs a turn. A drive
whose scatter is known draws that, and its scheduler goes by the mean (expected access time: US patent 7,471,486).
"""

import numpy as np

from tiersim.devices import requests
from tiersim.devices.hdd.hdd_geometry import SECTOR_BYTES, angle_at, place_request
from tiersim.devices.hdd.seek_curves import seek_ns
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, WRITE
from tiersim.random_numbers import MOVE_END, random_bits
from tiersim.units import PS_PER_NS


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
def rotation_ns(p: Plant, drive: int, target_ps: int, angle_ps: int, move_ns: int) -> int:
    """Time until the angle *target_ps* is under the head, counted from the end of a move that begins at *angle_ps*."""
    revolution = p.drives[drive]["revolution_ps"]
    wait_ps = target_ps - angle_ps - move_ns * PS_PER_NS
    while wait_ps < 0:
        wait_ps += revolution
    return wait_ps // PS_PER_NS


#: Chances are in 2^-20. The table has one for each 16th of a standard deviation that a move has to spare, up to 4.
CHANCE_BITS, CHANCE_STEPS, STEPS_A_DEVIATION = 20, 64, 16


@kernel(hot=True)
def _turn_chance(p: Plant, drive: int, move_ns: int, wait_ns: int) -> int:
    """Chance that a move costs a turn, as it ends after its sector came, *wait_ns* after the move's mean end; negative:
    that it saves one, as it ends before the sector that it should just have missed, but after it began.
    """
    d = p.drives[drive]
    reach = d["scatter_ns"] * (CHANCE_STEPS // STEPS_A_DEVIATION)
    if wait_ns < reach:
        return p.pool[d["turn_chances"] + wait_ns * STEPS_A_DEVIATION // d["scatter_ns"]]
    to_spare = d["revolution_ps"] // PS_PER_NS - wait_ns
    if to_spare < min(reach, move_ns):
        return -p.pool[d["turn_chances"] + to_spare * STEPS_A_DEVIATION // d["scatter_ns"]]
    return 0


@kernel(hot=True)
def expected_turns_ns(p: Plant, drive: int, move_ns: int, wait_ns: int) -> int:
    """Mean of :func:`drawn_turns_ns`."""
    d = p.drives[drive]
    if d["scatter_ns"] == 0 or move_ns == 0:
        return 0
    chance = _turn_chance(p, drive, move_ns, wait_ns)
    return 0 if chance == 0 else d["revolution_ps"] // PS_PER_NS * chance >> CHANCE_BITS


@kernel
def drawn_turns_ns(p: Plant, drive: int, move_ns: int, wait_ns: int) -> int:
    """What the turns take that the scatter of a move costs (a negative time: saves), drawn."""
    d = p.drives[drive]
    if d["scatter_ns"] == 0 or move_ns == 0:
        return 0
    chance = _turn_chance(p, drive, move_ns, wait_ns)
    d["moves"] += 1
    if random_bits(p.seed[0], MOVE_END, drive, d["moves"]) >> 32 - CHANCE_BITS >= abs(chance):
        return 0
    turn_ns = d["revolution_ps"] // PS_PER_NS
    return turn_ns if chance > 0 else -turn_ns


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
    if move >= least:
        return move
    cost = move + rotation_ns(p, drive, link["angle_ps"], angle_ps, move)
    if p.drives[drive]["scatter_ns"] == 0:  # asked here, too: the call costs a tenth of the time of a deep queue
        return cost
    return cost + expected_turns_ns(p, drive, move, cost - move)


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
        if d["rule"] != BY_TIME or service != d["read_overhead_ns"] or d["scatter_ns"] > 0:
            angle = angle_at(now + service, d["revolution_ps"], d["phase_ps"])
            move = move_ns(p, drive, link["cylinder"], link["track"], op)
            least = move + rotation_ns(p, drive, link["angle_ps"], angle, move)
            least += drawn_turns_ns(p, drive, move, least - move)
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
