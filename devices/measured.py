"""The recorded hardware as it answered: latencies drawn from those that were measured, whatever else is outstanding.

It answers no what-if about load, and none about addresses. It is what a replay can be checked with: on it, everything
that the host does between its requests must come out as it was recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import SERVER
from tiersim.histogram import quantile_ns

#: What a scenario calls it.
RECORDED = "recorded"

_TABLE_BITS = 12
_UNLIMITED = 1 << 40


@dataclass(frozen=True)
class Measured:
    """Stands where a scenario says ``device = "recorded"``; the trace has its numbers."""

    name: str = "as recorded"
    capacity: int = 1 << 60
    sources: Mapping[str, str] = field(default_factory=dict)
    caveats: Sequence[str] = ()


def add_measured(builder: PlantBuilder, histograms: NDArray[np.int64], name: str) -> int:
    """Put a station into the plant that answers like *histograms* (operations, fine bins), and return it.

    An operation that was not measured takes 1 ns.
    """
    row = builder.row(
        "servers",
        queue=builder.queue(),
        servers=_UNLIMITED,
        table=builder.table(np.concatenate([_table_ns(histogram) for histogram in histograms])),
        table_bits=_TABLE_BITS,
        by_operation=1,
        entity=len(builder.stations),
    )
    return builder.station(SERVER, row, name, {"requests in service": _UNLIMITED})


def _table_ns(histogram: NDArray[np.int64]) -> NDArray[np.int64]:
    """The medians of 2^12 equally likely slices of the measured latencies."""
    count = int(histogram.sum())
    slices = 1 << _TABLE_BITS
    if count == 0:
        return np.ones(slices, np.int64)
    ranks = (np.arange(slices) + 0.5) / slices * count
    return np.rint([quantile_ns(histogram, float(rank)) for rank in ranks]).astype(np.int64)
