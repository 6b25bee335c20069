"""A neighbour as a passive machine: requests of others, at random times and places, for the devices behind it.

Ours pass at once. The neighbour's are background requests, one for each arrival of a Poisson process: it is accepted
when the one before it arrives, is done a drawn gap later, and then makes its successor and the neighbour's request. The
first one comes with the first request of ours.
"""

from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE
from tiersim.random_numbers import NEIGHBOUR_GAP, NEIGHBOUR_OPERATION, NEIGHBOUR_PLACE, random_below, random_bits


@kernel
def accept_neighbour(p: Plant, neighbour: int, slot: int, now: int) -> int:
    """Pass a request on; an arrival of the neighbour's is due a gap later."""
    if not is_background(p, slot):
        return now + PASS_ON_NS
    n = p.neighbours[neighbour]
    n["arrivals"] += 1
    draw = random_bits(p.seed[0], NEIGHBOUR_GAP, n["entity"], n["arrivals"])
    return now + max(1, p.pool[n["gaps"] + (draw >> (32 - n["gap_bits"]))])


@kernel
def finish_neighbour(p: Plant, station: int, neighbour: int, slot: int) -> int:
    """Send a request on, or make one of the neighbour's and the next arrival."""
    n = p.neighbours[neighbour]
    request = p.requests[slot]
    if is_background(p, slot):
        draw = random_bits(p.seed[0], NEIGHBOUR_OPERATION, n["entity"], n["arrivals"])
        op = READ if draw < n["reads"] else WRITE
        place = random_below(n["places"], p.seed[0], NEIGHBOUR_PLACE, n["entity"], n["arrivals"])
        made = add_child(p, 0, n["below"], op, n["first_byte"] + place * n["size_bytes"], n["size_bytes"])
        return add_background(p, made, station, READ, 0, 0)
    made = add_child(p, 0, n["below"], request["op"], request["offset_bytes"], request["length_bytes"])
    if n["arrivals"] == 0:
        made = add_background(p, made, station, READ, 0, 0)
    return made
