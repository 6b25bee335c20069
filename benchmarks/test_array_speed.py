"""Whether the cost of a request to an array stays the same however many there are."""

import time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from tests.plants import hdd
from tests.runs import commands, poisson
from tiersim.devices.array.volume import Volume, add_volume
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.operations import WRITE
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics

DRIVES = 8
FEW, MANY = 50_000, 400_000
#: Small random writes a second: what the array does in time, and four times what it can do.
LIGHT_PER_S, HEAVY_PER_S = 250.0, 1350.0


def cpu_ns_per_write(count: int, per_s: float, times: int) -> float:
    """CPU time of one small random write to RAID 5, best of some rounds."""
    volume = Volume("data", hdd(queue_depth=64), DRIVES, "raid5", 65536)
    pages = np.random.default_rng(1).integers(0, volume.capacity_bytes // 8192, count)
    best = float("inf")
    for _ in range(times):
        builder = PlantBuilder(1)
        fed = commands(poisson(count, per_s), add_volume(builder, volume), WRITE, pages * 8192)
        metrics = new_metrics(1, len(builder.stations), RESOURCES, 3, int(fed.time_ns[-1]) // 2 + 1)
        plant = builder.build()
        began = time.process_time()
        _, outcome = engine.run(plant, [fed], metrics)
        best = min(best, time.process_time() - began)
        assert outcome.left == count
    return best * 1e9 / count


@pytest.mark.parametrize("per_s", [LIGHT_PER_S, HEAVY_PER_S])
def test_cost_of_raid5_writes_by_their_number(benchmark: BenchmarkFixture, per_s: float) -> None:
    """Overloaded, three quarters of all wait in the array at the end, and their tables do not fit into the caches."""
    cpu_ns_per_write(1000, per_s, 1)
    few, many = cpu_ns_per_write(FEW, per_s, rounds(5)), cpu_ns_per_write(MANY, per_s, rounds(3))
    benchmark.pedantic(cpu_ns_per_write, (FEW, per_s, 1), rounds=1)
    benchmark.extra_info |= {
        "arrivals_per_s": per_s,
        f"cpu_ns_per_write_of_{FEW}": round(few),
        f"cpu_ns_per_write_of_{MANY}": round(many),
        "ratio": round(many / few, 2),
    }
