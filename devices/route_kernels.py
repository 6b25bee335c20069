"""A route as a passive machine: the stations that a request visits one after the other.

A controller is one (its commands, its link, its cache or its array), and so is a drive behind a link. Data of a write pass
a link before the device, data of a read after it; a flush and a discard have none.
"""

from tiersim.devices.children import add_child
from tiersim.devices.tables import NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE


@kernel
def _next_stop(p: Plant, route: int, slot: int) -> int:
    """Send the request to its next stop; returns 0 after the last one."""
    r = p.routes[route]
    request = p.requests[slot]
    stops = r["other_stops"]
    if request["op"] == READ:
        stops = r["read_stops"]
    elif request["op"] == WRITE:
        stops = r["write_stops"]
    position = p.holds[slot]["position"]
    station = p.pool[stops + position]
    if station == NONE:
        return 0
    p.holds[slot]["position"] = position + 1
    return add_child(p, 0, station, request["op"], request["offset_bytes"], request["length_bytes"])


@kernel
def accept_route(p: Plant, route: int, now: int) -> int:
    """Pass a request on after the overhead; requests do not wait for each other here."""
    return now + p.routes[route]["overhead_ns"]


@kernel
def finish_route(p: Plant, route: int, slot: int) -> int:
    """Send a request to its first stop."""
    p.holds[slot]["position"] = 0
    return _next_stop(p, route, slot)


@kernel
def resume_route(p: Plant, route: int, slot: int) -> int:
    """Go on to the next stop."""
    return _next_stop(p, route, slot)
