"""A port as a passive machine: a volume's way into a queue; it cuts what is longer than the host
sends in one command.
"""

from tiersim.devices.requests import add_child
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH

#: A request of more parts goes on when the first so many are done: children are written to a table of fixed size.
PARTS_AT_ONCE = 256


@kernel
def _parts(p: Plant, port: int, slot: int) -> int:
    """Make the next parts of a request; a discard is not cut, for hosts give it limits of its own."""
    row = p.ports[port]
    request = p.requests[slot]
    position = p.holds[slot]["position"]
    end = request["offset_bytes"] + request["length_bytes"]
    most = row["part_bytes"] if row["part_bytes"] > 0 and request["op"] != DISCARD else end - position
    made = 0
    while position < end and made < PARTS_AT_ONCE:
        length = min(most, end - position)
        made = add_child(p, made, row["below"], request["op"], row["base_bytes"] + position, length)
        position += length
    p.holds[slot]["position"] = position
    return made


@kernel
def way_on(p: Plant, slot: int) -> int:
    """Where a request goes on behind a station that volumes share: the port that it came through knows."""
    port = p.requests[p.requests[slot]["parent"]]["station"]
    return int(p.ports[p.stations[port]["row"]]["beyond"])


@kernel
def accept_port(now: int) -> int:
    """Pass a request on; requests do not wait for each other here."""
    return now + PASS_ON_NS


@kernel
def finish_port(p: Plant, port: int, slot: int) -> int:
    """Make the parts of a request."""
    request = p.requests[slot]
    p.holds[slot]["position"] = request["offset_bytes"]
    if request["op"] == FLUSH:
        return add_child(p, 0, p.ports[port]["below"], request["op"], request["offset_bytes"], 0)
    return _parts(p, port, slot)


@kernel
def resume_port(p: Plant, port: int, slot: int) -> int:
    """Go on with a request of very many parts."""
    request = p.requests[slot]
    if p.holds[slot]["position"] >= request["offset_bytes"] + request["length_bytes"]:
        return 0
    return _parts(p, port, slot)
