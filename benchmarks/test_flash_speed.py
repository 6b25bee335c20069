"""How fast the compiled engine serves a flash drive, in requests per CPU-second, beside a bare SimPy
request-and-timeout.
"""

import time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from benchmarks.test_engine_speed import bare_simpy, per_cpu_second
from tests.plants import flash
from tests.runs import commands, poisson
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.devices.ssd.flash_kernels import DIES
from tiersim.devices.station_records import RESOURCES
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics

COUNT = 500_000
LENGTH = 4096
#: Of the rate at which the dies are busy all the time.
LOAD = 0.6
ROUNDS = rounds(5)


def drive(mapping: str) -> Flash:
    """16 GiB, so that neither the map nor what it maps fits into a core's own cache."""
    return flash(capacity=16 << 30, mapping=mapping, block=1 << 20, controller_iops=10**6, link_rate=4 * 10**9)


def timed(device: Flash, per_s: float, count: int) -> tuple[float, float]:
    """CPU seconds of 70:30 random requests at Poisson times, and how busy the dies were."""
    generator = np.random.default_rng(1)
    operations = (generator.random(count) < 0.3).astype(np.uint8)
    places = generator.integers(0, device.capacity // LENGTH, count) * LENGTH
    builder = PlantBuilder(1)
    fed = commands(poisson(count, per_s), add_flash(builder, device, "flash"), operations, places, LENGTH)
    metrics = new_metrics(1, 1, RESOURCES, 3, int(fed.time_ns[-1]) // 2 + 1)
    plant = builder.build()
    began = time.process_time()
    plant, outcome = engine.run(plant, [fed], metrics)
    seconds = time.process_time() - began
    assert outcome.left == count
    return seconds, float(plant.work_ns[0, DIES]) / (device.dies * outcome.end_ns)


@pytest.mark.parametrize("mapping", ["analytic", "mapped"])
def test_mixed_requests_to_a_drive(benchmark: BenchmarkFixture, mapping: str) -> None:
    device = drive(mapping)
    probe_per_s = 10_000.0
    _, busy = timed(device, probe_per_s, COUNT // 10)  # below saturation, dies are as busy as there are requests
    per_s = LOAD * probe_per_s / busy
    peer = per_cpu_second(50_000, lambda: bare_simpy(50_000), rounds(3))
    speed = COUNT / min(timed(device, per_s, COUNT)[0] for _ in range(ROUNDS))
    benchmark.pedantic(timed, (device, per_s, COUNT), rounds=1)
    benchmark.extra_info |= {
        "simulated_requests_per_s": round(per_s),
        "compiled_requests_per_cpu_s": round(speed),
        "bare_simpy_requests_per_cpu_s": round(peer),
        "ratio_to_bare_simpy": round(speed / peer, 1),
    }
    assert timed(device, per_s, COUNT)[1] == pytest.approx(LOAD, abs=0.03)
