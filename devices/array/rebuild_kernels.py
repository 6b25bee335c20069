"""A rebuild as a passive machine: replacements are filled from their array's other members, step by step, at a pace.

A step reads a piece of each member that is needed, then writes it to every replacement. The next step begins when its
time has come and the reads of the one before are done, so that members read while replacements write. As in Linux md
(drivers/md/md.c, md_do_sync) a pace is kept, but not made up for: a step that is late delays those after it.

Nothing is locked: requests of the host and steps that touch the same rows do not wait for each other.
"""

from tiersim.devices.array.array_kernels import add_part, holds_data
from tiersim.devices.requests import add_background
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE

_READING, _WRITING = range(2)


@kernel
def accept_rebuild(p: Plant, rebuild: int, slot: int) -> int:
    """Take the next step; there is one at most that waits."""
    p.holds[slot]["phase"] = _READING
    p.rebuilds[rebuild]["waiting"] = slot
    return CALL


@kernel
def choose_rebuild(p: Plant, rebuild: int, now: int) -> tuple[int, int, int]:
    """Begin the step that waits if its time has come."""
    r = p.rebuilds[rebuild]
    slot = r["waiting"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    if now < r["next_ns"]:
        return NONE, NEVER, r["next_ns"]
    r["waiting"] = NONE
    r["next_ns"] = now + r["interval_ns"]
    return slot, now + PASS_ON_NS, NEVER


@kernel
def _sources(p: Plant, rebuild: int, made: int, first: int, offset_bytes: int, length_bytes: int) -> int:
    """Read what restores the group of members from *first* on: one of the mirrors that hold it, or
    all that have data.
    """
    r = p.rebuilds[rebuild]
    end = offset_bytes + length_bytes
    lost = False
    least = NONE
    for member in range(first, first + r["group"]):
        if not holds_data(p, r["filled"], member, end):
            lost = True
        elif (
            least == NONE
            or p.stations[p.pool[r["first_member"] + member]]["outstanding"]
            < p.stations[p.pool[r["first_member"] + least]]["outstanding"]
        ):
            least = member
    if not lost:
        return made
    if r["mirrored"]:
        return add_part(p, made, r["first_member"], least, READ, offset_bytes, length_bytes)
    for member in range(first, first + r["group"]):
        if holds_data(p, r["filled"], member, end):
            made = add_part(p, made, r["first_member"], member, READ, offset_bytes, length_bytes)
    return made


@kernel
def finish_rebuild(p: Plant, rebuild: int, slot: int) -> int:
    """Make the reads of a step."""
    r = p.rebuilds[rebuild]
    request = p.requests[slot]
    made = 0
    for first in range(0, r["members"], r["group"]):
        made = _sources(p, rebuild, made, first, request["offset_bytes"], request["length_bytes"])
    return made


@kernel
def resume_rebuild(p: Plant, station: int, rebuild: int, slot: int) -> int:
    """Make the writes of a step, and the next step; or note how far the replacements are filled."""
    r = p.rebuilds[rebuild]
    request = p.requests[slot]
    offset = request["offset_bytes"]
    length = request["length_bytes"]
    end = offset + length
    made = 0
    if p.holds[slot]["phase"] == _WRITING:
        for member in range(r["members"]):
            p.pool[r["filled"] + member] = max(p.pool[r["filled"] + member], end)
        return 0
    p.holds[slot]["phase"] = _WRITING
    for member in range(r["members"]):
        if not holds_data(p, r["filled"], member, end):
            made = add_part(p, made, r["first_member"], member, WRITE, offset, length)
    if end < r["end_bytes"]:
        made = add_background(p, made, station, WRITE, end, min(r["step_bytes"], r["end_bytes"] - end))
    return made
