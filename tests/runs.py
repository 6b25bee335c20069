"""Short ways to run a plant in tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES, Plant
from tiersim.kernel import jit_enabled
from tiersim.operations import READ
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import Metrics, new_metrics

#: The same test runs compiled and with bounds checks.
needs_jit = pytest.mark.skipif(not jit_enabled(), reason="takes minutes when kernels are not compiled")


@dataclass(frozen=True)
class Run:
    plant: Plant
    outcome: Outcome
    metrics: Metrics
    latency_ns: NDArray[np.int64]


def commands(
    time_ns: Any,
    station: Any,
    op: Any = READ,
    offset_bytes: Any = 0,
    length_bytes: Any = 8192,
) -> Commands:
    """Commands of one category; scalars are repeated."""
    times = np.atleast_1d(np.asarray(time_ns, np.int64))
    count = len(times)

    def column(values: Any, kind: Any) -> Any:
        return np.broadcast_to(np.asarray(values, kind), count).copy()

    return Commands(
        times, times, column(station, np.int32), column(op, np.uint8), column(offset_bytes, np.int64),
        column(length_bytes, np.int64), np.zeros(count, np.uint8),
    )  # fmt: skip


def run(builder: PlantBuilder, fed: Commands, intervals: int = 2) -> Run:
    """Run commands to their end."""
    span = int(fed.time_ns[-1]) + 1
    metrics = new_metrics(1, len(builder.stations), RESOURCES, intervals + 1, -(-span // intervals))
    plant, outcome = engine.run(builder.build(), [fed], metrics, keep_done=True)
    assert outcome.done_ns is not None
    return Run(plant, outcome, metrics, outcome.done_ns - fed.intended_ns)


def poisson(count: int, per_s: float, seed: int = 1) -> NDArray[np.int64]:
    """Arrival times of a Poisson process, int64 ns."""
    gaps = np.random.default_rng(seed).exponential(1e9 / per_s, count)
    return np.cumsum(gaps).astype(np.int64)
