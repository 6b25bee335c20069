"""A plain queueing station with fixed, size-dependent or exponential service."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import SERVER

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
