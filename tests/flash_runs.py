"""Short ways to run one flash drive in tests, and what its parts take."""

from typing import Any

import numpy as np

from tests.runs import Run, commands, run
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.operations import READ
from tiersim.scenarios.closed_loop import Loop, run_closed
from tiersim.simulator.streams import Streams


def run_flash(drive: Flash, times: Any, op: Any = READ, offsets: Any = 0, length: Any = 8192) -> Run:
    """Run commands at given times."""
    builder = PlantBuilder(1)
    return run(builder, commands(times, add_flash(builder, drive, "flash"), op, offsets, length))


def latencies(drive: Flash, times: Any, op: Any = READ, offsets: Any = 0, length: Any = 8192) -> list[int]:
    """Latency of each, ns."""
    return [int(one) for one in run_flash(drive, times, op, offsets, length).latency_ns]


def in_loop(drive: Flash, op: Any, offsets: Any, length: Any, depth: int) -> Streams:
    """Run commands of which *depth* are outstanding at any time."""
    builder = PlantBuilder(1)
    station = add_flash(builder, drive, "flash")
    return run_closed(builder, [Loop(np.asarray(offsets, np.int64), op, station, length, depth)])


def per_s(streams: Streams, first: float = 0.3, last: float = 0.9) -> float:
    """Commands that end a second, without those at the beginning and the end."""
    done = np.sort(streams.done_ns)
    begin, end = int(first * len(done)), int(last * len(done))
    return (end - begin) * 1e9 / float(done[end] - done[begin])


def command_ns(drive: Flash) -> int:
    """Time of a command in the controller."""
    return 10**9 // drive.controller_iops


def link_ns(drive: Flash, length: int) -> int:
    """Time of some bytes on the link."""
    return length * (10**12 // drive.link_rate) // 1000


def transfer_ns(drive: Flash, units: int = 1) -> int:
    """Time of units on a channel."""
    return units * (drive.unit * 10**9 // drive.channel_rate)


def read_ns(drive: Flash, length: int = 4096, units: int = 1) -> int:
    """Latency of a read of units of one page of an idle drive with one sensing time."""
    parts = command_ns(drive) + drive.read[0] + transfer_ns(drive, units) + link_ns(drive, length)
    return parts + drive.read_latency


def random_offsets(count: int, length: int, span: int, seed: int = 1) -> Any:
    """Multiples of *length* within *span*, uniformly."""
    return np.random.default_rng(seed).integers(0, span // length, count) * length
