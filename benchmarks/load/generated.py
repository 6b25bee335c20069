"""So many requests that nobody recorded, made block by block, through the compiled engine: reads and writes at random
on 16 disks.

``python -m benchmarks.load.generated COUNT`` fails when one of them is lost.
"""

import sys
from collections.abc import Iterator

import numpy as np

from tiersim.devices.array.volume import Volume, add_volume
from tiersim.devices.catalogue import load_device
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics

_BLOCK, _PER_S, _PAGE_BYTES, _INTERVALS = 1_000_000, 1500.0, 8192, 240


def blocks(count: int, station: int, pages: int) -> Iterator[Commands]:
    """Yield *count* requests by the clock: Poisson, 70 % reads, uniform over *pages* of 8 KiB."""
    luck, now = np.random.default_rng(1), 0
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        times = now + np.cumsum(luck.exponential(1e9 / _PER_S, size)).astype(np.int64)
        now = int(times[-1])
        op = (luck.random(size) < 0.3).astype(np.uint8)
        offsets = luck.integers(0, pages, size) * _PAGE_BYTES
        yield Commands(times, times, np.full(size, station, np.int32), op, offsets, np.full(size, _PAGE_BYTES), op)


def run(count: int) -> int:
    """Simulate *count* requests and return how many were answered."""
    builder = PlantBuilder(1)
    volume = Volume("data", load_device("seagate-cheetah-15k7-300"), 16, "raid10", 65536)
    station = add_volume(builder, volume)
    interval_ns = int(count / _PER_S * 1e9 / _INTERVALS)
    metrics = new_metrics(2, len(builder.stations), RESOURCES, _INTERVALS + 1, interval_ns)
    pages = volume.capacity_bytes // _PAGE_BYTES
    _, outcome = engine.run(builder.build(), blocks(count, station, pages), metrics)
    return outcome.left


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    sys.exit(run(wanted) != wanted)
