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
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.build import Statements
from tiersim.simulator.database.database_state import OWN, Database
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


def statements_of(sessions: int, each: int = 1, *, cpu_ns: Any = 0, **columns: Any) -> Statements:
    """Sessions of so many statements of one class, one behind the other, each a transaction; with other *columns*."""
    count = sessions * each
    nothing, flags = np.zeros(count, np.int64), np.ones(count, np.uint8)
    made: dict[str, Any] = {
        "session_ends": [(place + 1) * each for place in range(sessions)],
        "classes": np.zeros(count, np.int32),
        "waits_for": np.full(count, OWN, np.uint8),
        "start_ns": nothing,
        "think_ns": nothing,
        "cpu_ns": np.full(count, cpu_ns, np.int64),
        "begins": flags,
        "ends": flags,
    }
    return Statements(**made | columns)


def metrics_of(builder: PlantBuilder, intervals: int = 1, interval_ns: int = 10**9) -> Metrics:
    """Empty metrics of a database whose statements are of one class."""
    return new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, intervals + 1, interval_ns)


def run_database(
    builder: PlantBuilder, database: Database, intervals: int = 1, interval_ns: int = 10**9, **how: Any
) -> tuple[Plant, Outcome, Metrics]:
    """Run such a database to its end."""
    metrics = metrics_of(builder, intervals, interval_ns)
    plant, outcome = engine.run_database(builder.build(16), database, metrics, **how)
    return plant, outcome, metrics


def poisson(count: int, per_s: float, seed: int = 1) -> NDArray[np.int64]:
    """Arrival times of a Poisson process, int64 ns."""
    gaps = np.random.default_rng(seed).exponential(1e9 / per_s, count)
    return np.cumsum(gaps).astype(np.int64)
