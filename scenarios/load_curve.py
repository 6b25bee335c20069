"""A device alone: latency of random 8 KiB requests against load, from nearly idle to nearly saturated.

Arrivals are Poisson at a share of the highest rate that the device keeps up with; all random numbers are hashes, so the
same device gives the same curve.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.cloud.cloud_volume import OrderError
from tiersim.devices.hdd.disk_drive import Drive
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station import Device
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.operations import READ, WRITE
from tiersim.random_numbers import LOAD_GAP, LOAD_OPERATION, LOAD_PLACE, fill_random_bits
from tiersim.scenarios.closed_loop import Loop, run_closed, settled_bytes_per_s
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.units import NS_PER_S

LENGTH_BYTES = 8192
#: Shares of the saturating rate.
LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Shares of reads: reads alone, and the mix that databases are sized by.
MIXES = (1.0, 0.7)
#: Outstanding where the search for the saturating rate begins.
_DEPTH = 32
#: A device keeps up with a rate if all requests are done by this share of the run after the last arrival, and if flash
#: has no more left to program than at this share of the rate; steps of the search.
_BEHIND, _LIGHT, _STEPS = 0.01, 0.1, 7
_SEED = 1
#: Requests of a run; what comes before the last nine tenths is left out.
_REQUESTS, _REQUESTS_OF_A_DISK = 100_000, 20_000
_SETTLING = 0.1


@dataclass(frozen=True)
class OperationLatency:
    """Of one operation, in ns."""

    mean_ns: float
    p50_ns: float
    p99_ns: float


@dataclass(frozen=True)
class LoadPoint:
    """One load: share of the saturating rate, requests a second, and how long reads and writes took."""

    load: float
    per_s: float
    reads: OperationLatency
    writes: OperationLatency | None


@dataclass(frozen=True)
class LoadCurve:
    """Latency against load for one mix; *saturated_per_s* is the highest rate that the device keeps up with."""

    read_share: float
    saturated_per_s: float
    points: tuple[LoadPoint, ...]


def title(read_share: float) -> str:
    """What is asked of the device, in words."""
    return "random 8 KiB reads" if read_share == 1 else f"random 8 KiB, {read_share:.0%} reads"


def load_curve(
    device: Device, read_share: float = 1.0, progress: Callable[[int, int], None] | None = None
) -> LoadCurve:
    """Simulate *device* alone at every load; *read_share* of the requests are reads.

    Raises ScenarioError for an offer whose limits follow from an order.
    """
    most = _saturated_per_s(device, read_share)
    points = []
    for number, load in enumerate(LOADS):
        points.append(_point(device, read_share, load, most * load))
        if progress is not None:
            progress(number + 1, len(LOADS))
    return LoadCurve(read_share, most, tuple(points))


def _built(device: Device) -> tuple[PlantBuilder, int]:
    builder = PlantBuilder(_SEED)
    try:
        return builder, device.add_to(builder, "device")
    except OrderError as error:
        raise ScenarioError(f"{error}: a load curve needs limits; make a device file of kind token-bucket") from None


def _count(device: Device) -> int:
    return _REQUESTS_OF_A_DISK if isinstance(device, Drive) else _REQUESTS


def _random(count: int, stream: int) -> NDArray[np.float64]:
    """Numbers in (0, 1)."""
    bits = np.zeros(count, np.int64)
    fill_random_bits(bits, _SEED, stream, 0)
    return (bits + 0.5) / 2**32


def _requests(device: Device, read_share: float, count: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    places = device.capacity // LENGTH_BYTES
    offsets = (_random(count, LOAD_PLACE) * places).astype(np.int64) * LENGTH_BYTES
    return offsets, np.where(_random(count, LOAD_OPERATION) < read_share, READ, WRITE).astype(np.uint8)


def _saturated_per_s(device: Device, read_share: float) -> float:
    """The highest rate of arrivals that *device* keeps up with.

    Not the rate of a closed loop: that depends on how many are outstanding, and a queue that grows can be served slower
    than a short one (a disk that has let requests wait too long takes them in their order).
    """
    builder, station = _built(device)
    offsets, op = _requests(device, read_share, _count(device))
    low = settled_bytes_per_s(run_closed(builder, [Loop(offsets, op, station, LENGTH_BYTES, _DEPTH)])) / LENGTH_BYTES
    high = 2 * low
    light, _, _, programmed_ns = _run(device, read_share, _LIGHT * low)

    def keeps_up(per_s: float) -> bool:
        times, done_ns, _, last_ns = _run(device, read_share, per_s)
        always_ns = max(programmed_ns - light[-1], 0)
        return bool(max(done_ns.max(), last_ns - always_ns) <= times[-1] * (1 + _BEHIND))

    while not keeps_up(low):
        low, high = low / 2, low
    while keeps_up(high):
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps_up(middle) else (low, middle)
    return low


def _run(device: Device, read_share: float, per_s: float) -> tuple[Any, Any, Any, int]:
    """Return when requests came and were done, their operations, and when flash has programmed what its buffer took."""
    builder, station = _built(device)
    count = _count(device)
    offsets, op = _requests(device, read_share, count)
    times = np.cumsum(-np.log(_random(count, LOAD_GAP)) * NS_PER_S / per_s).astype(np.int64)
    commands = Commands(
        time_ns=times,
        intended_ns=times,
        station=np.full(count, station, np.int32),
        op=op,
        offset_bytes=offsets,
        length_bytes=np.full(count, LENGTH_BYTES, np.int64),
        category=np.zeros(count, np.uint8),
    )
    metrics = new_metrics(1, len(builder.stations), RESOURCES, 2, NS_PER_S)
    plant, outcome = engine.run(builder.build(), [commands], metrics, keep_done=True)
    assert outcome.done_ns is not None
    return times, outcome.done_ns, op, int(plant.flashes["last_program_ns"].max(initial=0))


def _point(device: Device, read_share: float, load: float, per_s: float) -> LoadPoint:
    times, done_ns, op, _ = _run(device, read_share, per_s)
    settled = np.arange(len(times)) >= len(times) * _SETTLING
    reads, writes = (_latency((done_ns - times)[settled & (op == which)]) for which in (READ, WRITE))
    assert reads is not None
    return LoadPoint(load, per_s, reads, writes)


def _latency(latency_ns: Any) -> OperationLatency | None:
    if not latency_ns.size:
        return None
    p50, p99 = np.quantile(latency_ns, (0.5, 0.99))
    return OperationLatency(float(latency_ns.mean()), float(p50), float(p99))
