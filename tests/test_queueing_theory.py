"""The engine against queues that have closed forms (Kleinrock, Queueing Systems I, chapters 3 and 5)."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.examples import first
from tests.plants import hdd
from tests.runs import commands, poisson, run
from tiersim.devices.array.volume import Layout, Volume, add_volume
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.host.gate import add_gate
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.operations import READ, WRITE

COUNT = 4_000_000
SERVICE_NS = 1_000_000


def mean_latency_ns(servers: int, law: str, load: float, seed: int) -> float:
    builder = PlantBuilder(seed)
    station = add_server(builder, "queue", servers, SERVICE_NS, "exponential" if law == "M" else "fixed")
    times = poisson(COUNT, load * servers * 1e9 / SERVICE_NS, seed)
    found = run(builder, commands(times, station))
    # the exact mean needs the load that was drawn, not the one that was asked for
    return float(found.latency_ns[COUNT // 50 :].mean())


def erlang_c(servers: int, load: float) -> float:
    offered = servers * load
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize("load", first(1, 0.8, 0.3, 0.6))
def test_mm1(load: float) -> None:
    assert mean_latency_ns(1, "M", load, 3) == pytest.approx(SERVICE_NS / (1 - load), rel=0.01)


@pytest.mark.parametrize("load", first(1, 0.8, 0.3, 0.6))
def test_md1(load: float) -> None:
    expected = SERVICE_NS * (1 + load / (2 * (1 - load)))
    assert mean_latency_ns(1, "D", load, 3) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("servers", "load"), first(1, (4, 0.7), (2, 0.6), (16, 0.8)))
def test_mmc(servers: int, load: float) -> None:
    expected = SERVICE_NS * (1 + erlang_c(servers, load) / (servers * (1 - load)))
    assert mean_latency_ns(servers, "M", load, 3) == pytest.approx(expected, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize(("depth", "load"), first(1, (4, 0.7), (1, 0.6), (16, 0.8)))
def test_a_gate_of_depth_n_before_more_servers_is_mmn(depth: int, load: float) -> None:
    builder = PlantBuilder(3)
    gate = add_gate(builder, "gate", depth, add_server(builder, "device", 64, SERVICE_NS, "exponential"))
    found = run(builder, commands(poisson(COUNT, load * depth * 1e9 / SERVICE_NS, 3), gate))
    expected = SERVICE_NS * (1 + erlang_c(depth, load) / (depth * (1 - load)))
    assert found.latency_ns[COUNT // 50 :].mean() == pytest.approx(expected, rel=0.01)
    # its places are taken for as long as the servers work, and for the nanosecond that passing on takes
    device_work, taken = found.plant.work_ns[:, 0]
    assert taken == device_work + COUNT


def test_exponential_service_has_the_right_mean_and_spread() -> None:
    builder = PlantBuilder(5)
    station = add_server(builder, "free", 1, SERVICE_NS, "exponential")
    alone = run(builder, commands(np.arange(200_000) * 100 * SERVICE_NS, station)).latency_ns
    assert alone.mean() == pytest.approx(SERVICE_NS, rel=0.01)
    assert alone.std() == pytest.approx(SERVICE_NS, rel=0.01)
    assert np.median(alone) == pytest.approx(SERVICE_NS * math.log(2), rel=0.01)


@pytest.mark.parametrize("drives", [1, 16])
def test_a_stripe_of_drives_answers_requests_that_it_does_not_split_as_one_drive_does(drives: int) -> None:
    """Poisson arrivals that are spread at random are Poisson at each drive: each is an M/G/1 queue (Pollaczek and
    Khinchine).
    """
    drive = hdd(scheduler="fcfs", buffer_segments=None, buffer_segment=None)
    count = 40_000 * drives
    offsets = np.random.default_rng(5).integers(0, drives * (drive.capacity // 65536), count) * 65536

    def latency_ns(every_ns: int, times: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        builder = PlantBuilder(1)
        station = add_volume(builder, Volume("data", drive, drives, "raid0" if drives > 1 else "jbod", 65536))
        at = np.arange(count) * every_ns if times is None else times
        return run(builder, commands(at, station, READ, offsets)).latency_ns

    alone = latency_ns(50_000_000).astype(float)
    load = 0.6
    waiting = load * (alone**2).mean() / alone.mean() / (2 * (1 - load))
    found = latency_ns(0, poisson(count, drives * load * 1e9 / alone.mean(), 7))
    assert found.mean() == pytest.approx(alone.mean() + waiting, rel=0.03)


def first_come() -> Hdd:
    return hdd(scheduler="fcfs", buffer_segments=None, buffer_segment=None)


def array_latency_ns(
    layout: Layout, drives: int, op: int, offsets: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    builder = PlantBuilder(1)
    station = add_volume(builder, Volume("data", first_come(), drives, layout, 65536))
    return run(builder, commands(times, station, op, offsets, 4096)).latency_ns.astype(float)


@pytest.mark.parametrize(("layout", "drives"), [("raid1", 2), ("raid10", 8)])
def test_reads_of_mirrors_lie_between_one_queue_for_both_copies_and_one_for_each(layout: Layout, drives: int) -> None:
    """Two servers with one queue (Erlang, with Lee and Longton's factor for service times) do best, drawn copies worst;
    the copy with the fewest outstanding lies between.
    """
    pairs, load, every_ns = drives // 2, 0.6, 50_000_000
    count = 40_000 * pairs
    offsets = np.random.default_rng(5).integers(0, pairs * (first_come().capacity // 65536), count) * 65536
    alone = array_latency_ns(layout, drives, READ, offsets, np.arange(count) * every_ns)
    spread = (alone**2).mean() / alone.mean() ** 2 / 2
    found = array_latency_ns(layout, drives, READ, offsets, poisson(count, drives * load * 1e9 / alone.mean(), 7))
    waiting = found.mean() / alone.mean() - 1
    assert 0.97 * spread * load**2 / (1 - load**2) < waiting < spread * load / (1 - load)


@pytest.mark.parametrize(("layout", "drives"), [("raid1", 2), ("raid10", 8)])
def test_a_write_to_mirrors_waits_for_the_later_copy(layout: Layout, drives: int) -> None:
    """Each drive is an M/G/1 queue; of two with exponential services the later takes (12 - load) / 8 of its time
    (Nelson and Tantawi, IEEE Trans. Computers 37(6), 1988), of these, which differ less, less.
    """
    pairs, load, every_ns = drives // 2, 0.6, 50_000_000
    count = 40_000 * pairs
    offsets = np.random.default_rng(5).integers(0, pairs * (first_come().capacity // 65536), count) * 65536
    one = np.random.default_rng(6).integers(0, first_come().capacity // 65536, 40_000) * 65536
    alone = array_latency_ns("single", 1, WRITE, one, np.arange(40_000) * every_ns)
    each = alone.mean() + load * (alone**2).mean() / alone.mean() / (2 * (1 - load))
    found = array_latency_ns(layout, drives, WRITE, offsets, poisson(count, pairs * load * 1e9 / alone.mean(), 7))
    assert each < found.mean() < (12 - load) / 8 * each


def test_a_small_write_to_raid_5_takes_the_later_of_two_reads_and_a_turn() -> None:
    """Both drives read what was there and write it anew when it comes by again: the later one a turn after its read."""
    drives, count, every_ns = 5, 40_000, 100_000_000
    offsets = np.random.default_rng(5).integers(0, 4 * (first_come().capacity // 65536), count) * 65536
    times = np.arange(count) * every_ns
    one = np.random.default_rng(6).integers(0, first_come().capacity // 65536, count) * 65536
    reads = array_latency_ns("single", 1, READ, one, times)
    later = np.maximum(reads, np.random.default_rng(7).permutation(reads)).mean()
    found = array_latency_ns("raid5", drives, WRITE, offsets, times)
    turn_ns = 60e9 / first_come().rpm
    assert found.mean() == pytest.approx(later + turn_ns, rel=0.03)
