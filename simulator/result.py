"""What a run leaves behind."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Result:
    """One trace on one scenario: the summary, and the tables behind it."""

    summary: dict[str, Any]
    latency: pa.Table  #: class, low_ns, high_ns, count: non-empty histogram bins
    timeline: pa.Table  #: start_ns, end_ns, class, arrivals, completions, bytes, mean_ns, p50_ns, p99_ns
    stations: pa.Table  #: start_ns, end_ns, station, resource, utilisation, outstanding
    scenario_toml: str
