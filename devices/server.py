"""A plain queueing station: c servers, first come first served, a service time that is fixed, by size, or drawn.

Links and controllers with a ceiling are such stations, and so are the textbook queues that the engines are tested with.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.devices import requests
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import CALL, NEVER, NONE, SERVER, WAIT, Plant
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


TABLE_BITS = 16


def exponential_table_ns(mean_ns: float) -> NDArray[np.int64]:
    """Means of the 2^16 equally likely slices of an exponential distribution, int64; their mean is *mean_ns*.

    Slice i covers the quantiles i/n to (i+1)/n; the mean of -ln(1 - u) over it follows from the integral
    of -ln(x): x - x ln x.
    """
    n = 1 << TABLE_BITS
    x = np.arange(n, -1, -1) / n
    integral = x - x * np.log(np.where(x > 0, x, 1))
    return np.rint((integral[:-1] - integral[1:]) * n * mean_ns).astype(np.int64)


def add_server(
    builder: PlantBuilder,
    name: str,
    servers: int,
    service_ns: int,
    distribution: Literal["fixed", "exponential"] = "fixed",
    bytes_per_s: int | None = None,
) -> int:
    """Put a station with *servers* servers into the plant and return it; *service_ns* is the mean service time."""
    drawn = distribution == "exponential"
    row = builder.row(
        "servers",
        queue=builder.queue(),
        servers=servers,
        service_ns=0 if drawn else service_ns,
        ps_per_byte=math.ceil(10**12 / bytes_per_s) if bytes_per_s else 0,
        table=builder.table(exponential_table_ns(service_ns), share=("exponential", service_ns)) if drawn else 0,
        table_bits=TABLE_BITS if drawn else 0,
        entity=len(builder.stations),
    )
    return builder.station(SERVER, row, name, {"servers": servers})
