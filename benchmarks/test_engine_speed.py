"""How fast the engines are, in requests per CPU-second of one core, beside a bare SimPy request-and-timeout."""

import time
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import simpy
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from tests.drawn_streams import streams_of
from tests.plants import hdd
from tiersim.devices.array.volume import Volume, add_volume
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import Metrics, new_metrics
from tiersim.simulator.reference.engine import ReferenceEngine
from tiersim.simulator.streams import CLOCK, OWN

DRIVES = 16
#: Requests that DiskSim 4.0 does in a CPU-second on an array of 16 at best, run beside this on one machine (one drive
#: model of 1999; 40,000 at worst).
DISKSIM_PER_S = 59_000


def volume(queue_depth: int) -> Volume:
    return Volume("data", hdd(queue_depth=queue_depth), DRIVES, "raid10", 65536)


def load(count: int, per_s: float, seed: int = 1) -> Commands:
    """70:30, 8 KiB, uniform over the whole array, Poisson."""
    generator = np.random.default_rng(seed)
    times = np.cumsum(generator.exponential(1e9 / per_s, count)).astype(np.int64)
    pages = volume(1).capacity_bytes // 8192
    codes = (generator.random(count) < 0.3).astype(np.uint8)
    return Commands(
        times, times, np.zeros(count, np.int32), codes, generator.integers(0, pages, count) * 8192,
        np.full(count, 8192, np.int64), codes,
    )  # fmt: skip


def prepared(fed: Commands, queue_depth: int) -> tuple[PlantBuilder, Commands, Metrics]:
    builder = PlantBuilder(1)
    station = add_volume(builder, volume(queue_depth))
    span = int(fed.time_ns[-1]) + 1
    metrics = new_metrics(2, len(builder.stations), RESOURCES, 241, -(-span // 240))
    return builder, replace(fed, station=np.full(len(fed), station, np.int32)), metrics


def compiled(fed: Commands, queue_depth: int) -> tuple[Any, Outcome, Metrics]:
    builder, commands, metrics = prepared(fed, queue_depth)
    plant, outcome = engine.run(builder.build(), [commands], metrics)
    assert outcome.left == len(fed)
    return plant, outcome, metrics


def bare_simpy(count: int) -> int:
    """The least that SimPy can do for a request: ask for one of eight places, wait, give it back."""
    env = simpy.Environment()
    places = simpy.Resource(env, 8)
    ended = 0

    def request() -> Generator[simpy.Event]:
        nonlocal ended
        with places.request() as place:
            yield place
            yield env.timeout(5)
        ended += 1

    def source() -> Generator[simpy.Event]:
        for _ in range(count):
            yield env.timeout(1)
            env.process(request())

    env.process(source())
    env.run()
    return ended


def per_cpu_second(count: int, work: Callable[[], Any], times: int) -> float:
    """Best of a few rounds: other programs share this machine."""
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return count / best


@pytest.fixture(scope="module")
def first_come_capacity_per_s() -> float:
    """Logical requests a second that the array does when its drives take commands as they come."""
    compiled(load(1000, 1000), 1)
    # overloaded, the drives are never idle; the rate at which they work is the capacity
    plant, outcome, _ = compiled(load(200_000, 20_000), 1)
    busy = plant.work_ns[:DRIVES, 0].sum() / (DRIVES * outcome.end_ns)
    return float(200_000 / (outcome.end_ns / 1e9) / busy)


def test_compiled_against_bare_simpy(benchmark: BenchmarkFixture, first_come_capacity_per_s: float) -> None:
    count = 2_000_000
    fed = load(count, 0.6 * first_come_capacity_per_s)
    peer = per_cpu_second(50_000, lambda: bare_simpy(50_000), rounds(3))
    speed = per_cpu_second(count, lambda: compiled(fed, 1), rounds(5))
    by_position = per_cpu_second(count, lambda: compiled(fed, 64), rounds(3))
    benchmark.pedantic(compiled, (fed, 1), rounds=1)
    benchmark.extra_info |= {
        "first_come_capacity_per_s": round(first_come_capacity_per_s),
        "compiled_requests_per_cpu_s": round(speed),
        "compiled_choosing_by_position_per_cpu_s": round(by_position),
        "bare_simpy_requests_per_cpu_s": round(peer),
        "ratio_to_bare_simpy": round(speed / peer, 1),
        "ratio_to_disksim": round(speed / DISKSIM_PER_S, 1),
    }
    plant, outcome, _ = compiled(fed, 1)
    busy = plant.work_ns[:DRIVES, 0].sum() / (DRIVES * outcome.end_ns)
    assert busy == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize("depth", [8, 32])
def test_so_many_outstanding_on_every_drive(benchmark: BenchmarkFixture, depth: int) -> None:
    count = 400_000
    low, high = 1000.0, 8000.0
    for _ in range(
        14
    ):  # a deeper queue works faster, so each load has its depth: look for the load whose depth this is
        rate = (low + high) / 2
        plant, outcome, _ = compiled(load(100_000, rate), 64)
        shallow = plant.stations["area_ns"][:DRIVES].mean() / outcome.end_ns < depth
        low, high = (rate, high) if shallow else (low, rate)
    fed = load(count, rate)
    speed = per_cpu_second(count, lambda: compiled(fed, 64), rounds(3))
    plant, outcome, _ = compiled(fed, 64)
    benchmark.pedantic(compiled, (fed, 64), rounds=1)
    benchmark.extra_info |= {
        "requests_per_cpu_s": round(speed),
        "queued_per_drive": round(float(plant.stations["area_ns"][:DRIVES].mean() / outcome.end_ns), 1),
        "simulated_requests_per_s": round(rate),
    }


def test_reference(benchmark: BenchmarkFixture, first_come_capacity_per_s: float) -> None:
    count = 20_000
    fed = load(count, 0.6 * first_come_capacity_per_s)

    def reference() -> NDArray[np.int64]:
        builder, commands, metrics = prepared(fed, 1)
        done = ReferenceEngine(builder.build(), [commands], metrics).run().done_ns
        assert done is not None
        return done

    speed = per_cpu_second(count, reference, rounds(3))
    done = benchmark.pedantic(reference, rounds=1)
    benchmark.extra_info["requests_per_cpu_s"] = round(speed)
    builder, commands, metrics = prepared(fed, 1)
    _, outcome = engine.run(builder.build(), [commands], metrics, keep_done=True)
    np.testing.assert_array_equal(done, outcome.done_ns)


def test_sessions_that_wait(benchmark: BenchmarkFixture) -> None:
    """The same array under 64 sessions of which each waits for every command and thinks for 10 ms."""
    sessions, count = 64, 1_000_000
    whole = load(count, 1000.0)
    owner = np.arange(count) % sessions
    place = np.arange(count) // sessions
    waits = np.where(place == 0, CLOCK, OWN)

    def waiting() -> Outcome:
        builder, commands, metrics = prepared(whole, 1)
        streams = streams_of(commands, owner, np.ones(sessions, np.bool_), waits, 10_000_000, place)
        began = time.process_time()
        _, outcome = engine.run_streams(builder.build(), streams, metrics)
        seconds.append(time.process_time() - began)
        return outcome

    seconds: list[float] = []
    waiting()
    seconds.clear()
    waiting()
    outcome = benchmark.pedantic(waiting, rounds=1)
    assert outcome.left == count
    benchmark.extra_info["requests_per_cpu_s"] = round(count / min(seconds))
