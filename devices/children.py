"""Requests that a station makes of another, as it writes them for the engine."""

from tiersim.devices.tables import Plant
from tiersim.kernel import kernel


@kernel
def add_child(p: Plant, made: int, station: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Write a child behind the *made* ones that are there; returns how many there are now."""
    child = p.children[made]
    child["station"] = station
    child["op"] = op
    child["offset_bytes"] = offset_bytes
    child["length_bytes"] = length_bytes
    return made + 1
