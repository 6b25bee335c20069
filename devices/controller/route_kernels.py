"""A route as a passive machine: a station that takes its command, then those that its data pass, all of them at once.

A controller is one (its commands, its link, its cache or its array), and so is a drive behind a link. Data are passed
on while they come: a request is done when the slowest stop is, and each stop is taken for as long as the data need
there. (Were they stored whole at every stop, sequential reads of one request at a time would come out a third too slow:
``docs/accuracy.md``.)
"""

from tiersim.devices.requests import add_child
from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE


@kernel
def _to_stops(p: Plant, route: int, slot: int) -> int:
    """Send a request to every stop of its operation; a flush and a discard have no data."""
    r = p.routes[route]
    request = p.requests[slot]
    stop = r["other_stops"]
    if request["op"] == READ:
        stop = r["read_stops"]
    elif request["op"] == WRITE:
        stop = r["write_stops"]
    made = 0
    while p.pool[stop] != NONE:
        made = add_child(p, made, p.pool[stop], request["op"], request["offset_bytes"], request["length_bytes"])
        stop += 1
    return made


@kernel
def accept_route(p: Plant, route: int, now: int) -> int:
    """Pass a request on after the overhead; requests do not wait for each other here."""
    return now + p.routes[route]["overhead_ns"]


@kernel
def finish_route(p: Plant, route: int, slot: int) -> int:
    """Send a request to where commands are taken, or to its stops."""
    commands = p.routes[route]["commands"]
    if commands == NONE:
        return _to_stops(p, route, slot)
    p.holds[slot]["position"] = 1  # there are stops to come
    request = p.requests[slot]
    return add_child(p, 0, commands, request["op"], request["offset_bytes"], request["length_bytes"])


@kernel
def resume_route(p: Plant, route: int, slot: int) -> int:
    """Go on to the stops."""
    if p.routes[route]["commands"] == NONE or p.holds[slot]["position"] == 0:
        return 0
    p.holds[slot]["position"] = 0
    return _to_stops(p, route, slot)
