"""A plain queueing station: c servers, first come first served, a service time that is fixed, by size, or drawn.

Links and controllers with a ceiling are such stations, and so are the textbook queues that the engines are tested with.
"""

from tiersim.devices import requests
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.random_numbers import SERVICE, random_bits

PS_PER_NS = 1_000


@kernel
def accept_server(p: Plant, server: int, slot: int) -> int:
    """Take a request into the queue."""
    s = p.servers[server]
    requests.append(p, s["queue"], slot)
    return CALL if s["in_service"] < s["servers"] else WAIT


@kernel
def choose_server(p: Plant, station: int, server: int, now: int) -> tuple[int, int, int]:
    """Start the oldest request if a server is free."""
    s = p.servers[server]
    slot = p.queues[s["queue"]]["head"]
    if slot == NONE or s["in_service"] >= s["servers"]:
        return NONE, NEVER, NEVER
    requests.remove(p, s["queue"], slot, NONE)
    s["in_service"] += 1
    request = p.requests[slot]
    service = s["service_ns"] + request["length_bytes"] * s["ps_per_byte"] // PS_PER_NS
    if s["table_bits"] > 0:
        draw = random_bits(p.seed[0], SERVICE, s["entity"], request["number"])
        table = s["table"] + (request["op"] * s["by_operation"] << s["table_bits"])
        service += p.pool[table + (draw >> (32 - s["table_bits"]))]
    service = max(service, 1)
    p.work_ns[station, 0] += service
    return slot, now + service, NEVER


@kernel
def finish_server(p: Plant, server: int) -> int:
    """Free a server; it makes no children."""
    p.servers[server]["in_service"] -= 1
    return 0
