"""How many page references a second of CPU the sessions of a database make, on one core; and how
fast a pool is filled.
"""

import time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from benchmarks.test_engine_speed import volume
from tiersim.devices.array.volume import add_volume
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.warm import warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.database_state import COMPUTE, LOOKUP, LRU, LRU2, OWN, SWEEP, Database
from tiersim.simulator.metrics import new_metrics
from tiersim.traces.schema import DATA_READ

#: Pages of an index of three levels and of a heap whose rows are asked for alike: what the pool lacks of the heap is
#: missed.
LEVELS = (1, 30, 3000, 50_000)
SESSIONS = 64
POLICIES = {"sweep": SWEEP, "lru": LRU, "lru-2": LRU2}


def database_of(policy: int, lacking: int, lookups: int) -> tuple[PlantBuilder, Database]:
    """Sessions that look up rows one after the other, on 16 drives; the pool lacks so many pages."""
    builder = PlantBuilder(1)
    station = add_volume(builder, volume(1))
    each = lookups // SESSIONS
    count = each * SESSIONS
    nothing, flags = np.zeros(count, np.int64), np.zeros(count, np.uint8)
    statements = Statements(
        [(session + 1) * each for session in range(SESSIONS)], np.zeros(count, np.int32), np.full(count, OWN, np.uint8),
        nothing, nothing, np.full(count, 20_000), flags, flags,
    )  # fmt: skip
    host = DatabaseHost(16, sum(LEVELS) - lacking, policy=policy)
    relation = Relation(5_000_000, LEVELS, 0.0, station=station)
    return builder, add_database(builder, host, [relation], [[Demand(COMPUTE), Demand(LOOKUP)]], statements)


def references_per_cpu_s(policy: int, lacking: int, lookups: int) -> tuple[float, float]:
    """Return references per second of CPU in a warm pool, and the share that missed."""
    builder, database = database_of(policy, lacking, lookups)
    assert warm(database).stationary
    plant = builder.build()
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 241, 10**9)
    began = time.process_time()
    engine.run_database(plant, database, metrics)
    took = time.process_time() - began
    references = len(LEVELS) * len(database.done_ns)
    return references / took, float(metrics.latency[DATA_READ].sum()) / references


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("lacking", "lookups"), [(200, 2_000_000), (20_000, 500_000)])
def test_sessions(benchmark: BenchmarkFixture, policy: str, lacking: int, lookups: int) -> None:
    """5 million references a second of one core are wanted where 0.1 % is missed, 1 million where 10 % is."""

    def measure() -> tuple[float, float]:
        return references_per_cpu_s(POLICIES[policy], lacking, lookups)

    speeds = [measure() for _ in range(rounds(3))]
    benchmark.pedantic(measure, rounds=1)
    speed, missed = max(speeds)
    benchmark.extra_info |= {"references_per_cpu_s": round(speed), "missed_pct": round(100 * missed, 3)}
    assert missed < 0.0012 if lacking == 200 else 0.09 < missed < 0.12


@pytest.mark.parametrize("policy", POLICIES)
def test_warm(benchmark: BenchmarkFixture, policy: str) -> None:
    """The law of the recorded server: 10 million rows by Zipf 1.05 in 256 MiB."""
    relation = Relation(10_000_000, (1, 98, 27_323, 163_935), 1.05)
    one = np.ones(1, np.uint8)
    zero = np.zeros(1, np.int64)
    statements = Statements([1], np.zeros(1, np.int32), np.full(1, OWN, np.uint8), zero, zero, zero, one, one)

    def fill() -> float:
        host = DatabaseHost(1, 32_768, policy=POLICIES[policy])
        database = add_database(PlantBuilder(1), host, [relation], [[Demand(LOOKUP)]], statements)
        began = time.process_time()
        done = warm(database)
        assert done.stationary
        return done.references / (time.process_time() - began)

    speed = max(fill() for _ in range(rounds(3)))
    benchmark.pedantic(fill, rounds=1)
    benchmark.extra_info["references_per_cpu_s"] = round(speed)
