"""What the members of an array hold: all their data, none, or, on a replacement that is being filled, the first part."""

from tiersim.devices.children import add_background, add_child
from tiersim.devices.tables import NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import WRITE


@kernel
def holds_data(p: Plant, filled: int, member: int, end_bytes: int) -> bool:
    """Whether a member can be read up to *end_bytes*; *filled* is the column of that name of its array."""
    return bool(p.pool[filled + member] >= end_bytes)


@kernel
def add_part(p: Plant, made: int, first_member: int, member: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Make a child for a member, if there is one: a failed member that nobody has replaced gets none."""
    station = p.pool[first_member + member]
    return made if station == NONE else add_child(p, made, station, op, offset_bytes, length_bytes)


@kernel
def begin_rebuild(p: Plant, made: int, station: int) -> int:
    """Make the first step of the rebuild at *station*."""
    r = p.rebuilds[p.stations[station]["row"]]
    filled = r["end_bytes"]
    for member in range(r["members"]):
        filled = min(filled, p.pool[r["filled"] + member])
    if filled >= r["end_bytes"]:
        return made
    return add_background(p, made, station, WRITE, filled, min(r["step_bytes"], r["end_bytes"] - filled))
