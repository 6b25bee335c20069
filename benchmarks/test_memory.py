"""A hundred million generated requests, replayed open, in bounded memory."""

import subprocess
import sys
import textwrap

from pytest_benchmark.fixture import BenchmarkFixture

REQUESTS = 100_000_000

CODE = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    import numpy as np
    from tiersim.devices.plant import PlantBuilder
    from tiersim.devices.catalogue import load_device
    from tiersim.devices.tables import RESOURCES
    from tiersim.devices.volume import Volume, add_volume
    from tiersim.simulator.commands import Commands
    from tiersim.simulator.compiled import engine
    from tiersim.simulator.metrics import new_metrics

    count, block = int(sys.argv[1]), 1_000_000
    rate = 1500.0
    builder = PlantBuilder(1)
    volume = Volume("data", load_device("seagate-cheetah-15k7-300"), 16, "raid10", 65536)
    station = add_volume(builder, volume)

    def blocks():
        generator, now = np.random.default_rng(1), 0
        for _ in range(count // block):
            times = now + np.cumsum(generator.exponential(1e9 / rate, block)).astype(np.int64)
            now = int(times[-1])
            op = (generator.random(block) < 0.3).astype(np.uint8)
            offsets = generator.integers(0, volume.capacity_bytes // 8192, block) * 8192
            yield Commands(times, times, np.full(block, station, np.int32), op, offsets, np.full(block, 8192), op)

    metrics = new_metrics(2, len(builder.stations), RESOURCES, 241, int(count / rate * 1e9 / 240))
    began = time.process_time()
    plant, outcome = engine.run(builder.build(), blocks(), metrics)
    seconds = time.process_time() - began
    anonymous = 0
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            anonymous = int(line.split()[1])
    peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(outcome.left, anonymous, peak, seconds)
    """
)


def test_a_hundred_million_requests(benchmark: BenchmarkFixture) -> None:
    command = [sys.executable, "-c", CODE, str(REQUESTS)]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True, text=True), rounds=1)
    left, anonymous_kib, peak_kib, seconds = done.stdout.split()
    benchmark.extra_info |= {
        "requests_per_cpu_s": round(REQUESTS / float(seconds)),
        "anonymous_mib_at_end": int(anonymous_kib) // 1024,
        "peak_resident_mib": int(peak_kib) // 1024,
    }
    assert int(left) == REQUESTS
    assert int(peak_kib) < 2 << 20
