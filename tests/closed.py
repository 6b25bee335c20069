"""A closed loop of reads on one device: every completion starts the next read; needs no engine for a single station."""

import heapq

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import NONE
from tiersim.operations import READ
from tiersim.simulator import station as machine
from tiersim.simulator.database.build import NO_DATABASE


def closed_reads(builder: PlantBuilder, depth: int, span_bytes: int, size_bytes: int, count: int) -> NDArray[np.int64]:
    """Latencies in ns of *count* random reads with *depth* outstanding on the only station of the plant."""
    plant = builder.build(depth)
    generator = np.random.default_rng(1)
    started = np.zeros(depth, np.int64)
    ends: list[tuple[int, int]] = []
    latencies: list[int] = []
    now = 0

    def put(slot: int) -> None:
        request = plant.requests[slot]
        request["op"] = READ
        request["offset_bytes"] = int(generator.integers(0, span_bytes // size_bytes)) * size_bytes
        request["length_bytes"] = size_bytes
        request["accepted_ns"] = started[slot] = now
        machine.accept(plant, NO_DATABASE, 0, slot, now)

    def choose() -> None:
        while True:
            slot, done, _ = machine.choose(plant, NO_DATABASE, 0, now)
            if slot == NONE:
                return
            heapq.heappush(ends, (done, slot))

    for slot in range(depth):
        put(slot)
    choose()
    while len(latencies) < count:
        now, slot = heapq.heappop(ends)
        machine.finish(plant, NO_DATABASE, 0, slot)
        latencies.append(now - int(started[slot]))
        put(slot)
        choose()
    return np.array(latencies)
