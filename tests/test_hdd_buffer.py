"""A drive's buffer: what comes from it, what is read ahead, what waits in it for the arm."""

from typing import Any

import numpy as np
import pytest

from tests.plants import hdd
from tests.runs import commands, run
from tiersim.devices.hdd.disk_drive import Hdd, add_drive
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

MS = 1_000_000
OVERHEAD = 100_000
HIT = (20_000, 30_000, 40_000, 50_000)
BUS = 1_000  # ns a sector: 512 MB/s


def buffered(**changes: Any) -> Hdd:
    keys: dict[str, Any] = {
        "buffer_segments": 4,
        "buffer_segment": 512 * 1024,
        "interface_rate": 512_000_000,
        "hit_overheads": HIT,
        "read_ahead": "segment",
        "read_ahead_after_hit": True,
        "read_ahead_adaptive": False,
    }
    return hdd(**keys | changes)


def latencies(drive: Hdd, times: Any, ops: Any, offsets: Any, lengths: Any = 8192) -> Any:
    builder = PlantBuilder(3)
    station = add_drive(builder, drive, "drive")
    return run(builder, commands(times, station, np.asarray(ops, np.uint8), offsets, lengths)).latency_ns


def test_what_was_read_ahead_takes_overhead_and_interface_time() -> None:
    found = latencies(buffered(), [0, 50 * MS, 100 * MS], [READ] * 3, [0, 8192, 400 * 1024])
    assert found[0] > 1 * MS
    assert found[1] == found[2] == HIT[0] + 16 * BUS


def test_overheads_of_hits_depend_on_the_command_before() -> None:
    drive = buffered(write_segments=4, buffer_segments=8)
    offsets = [0, 8192, 1 << 30, 2 << 30, 2 << 30]
    found = latencies(drive, np.arange(5) * 50 * MS, [READ, READ, WRITE, WRITE, READ], offsets)
    assert [int(x) - 16 * BUS for x in found[1:]] == [HIT[0], HIT[2], HIT[3], HIT[1]]


@pytest.mark.parametrize(("kind", "reached"), [("none", False), ("track", True), ("segment", True)])
def test_how_far_a_drive_reads_ahead(kind: Any, reached: bool) -> None:
    found = latencies(buffered(read_ahead=kind), [0, 50 * MS], [READ, READ], [0, 8192])
    assert (found[1] < MS / 2) == reached


def test_a_track_ends_the_read_ahead_a_segment_goes_on() -> None:
    per_track = hdd().geometry().zones[0].sectors_per_track
    beyond = (per_track + 16) * 512
    ahead = {
        kind: latencies(buffered(read_ahead=kind, buffer_segment=2 << 20), [0, 50 * MS], [READ, READ], [0, beyond])[1]
        for kind in ("track", "segment")
    }
    assert ahead["segment"] == HIT[0] + 16 * BUS
    assert ahead["track"] > OVERHEAD


def test_adaptive_read_ahead_starts_with_the_second_read_in_order() -> None:
    drive = buffered(read_ahead_adaptive=True)
    found = latencies(drive, np.arange(4) * 50 * MS, [READ] * 4, [0, 8192, 16384, 24576])
    assert found[1] > OVERHEAD  # one read is no stream
    assert found[2] == found[3] == HIT[0] + 16 * BUS


def test_a_stream_without_pauses_runs_at_the_rate_of_the_platter() -> None:
    """A read that waits where the last one ended goes on with it, read-ahead or not."""
    count, length = 400, 65536
    rates = {}
    for kind in ("none", "segment"):
        drive = buffered(read_ahead=kind)
        builder = PlantBuilder(1)
        station = add_drive(builder, drive, "drive")
        fed = commands(np.zeros(count, np.int64), station, READ, np.arange(count) * length, length)
        plain = run(builder, fed).latency_ns.max()
        rates[kind] = count * length / plain * 1e9
    assert rates["segment"] == pytest.approx(hdd().outer_rate, rel=0.05)


def test_the_arm_is_busy_with_what_it_read_ahead_and_was_asked_for() -> None:
    """A stream takes as much of the arm as its share of the drive's rate; what the buffer gives again takes nothing."""
    count, length = 800, 65536
    every = int(2 * length / hdd().outer_rate * 1e9)
    builder = PlantBuilder(1)
    station = add_drive(builder, buffered(), "drive")
    offsets = np.arange(count) * length
    once = run(builder, commands(np.arange(count) * every, station, READ, offsets, length))
    arm_ns = once.plant.work_ns[station, 0]
    assert arm_ns / (count * every) == pytest.approx(0.5, rel=0.05)
    again = []
    for order in ([0, 1, 2, 3], [0, 1, 2, 3, 1, 2, 3]):
        builder = PlantBuilder(1)
        station = add_drive(builder, buffered(read_ahead="track", buffer_segment=2 << 20), "drive")
        fed = commands(np.arange(len(order)) * 50 * MS, station, READ, np.array(order) * length, length)
        again.append(int(run(builder, fed).plant.work_ns[station, 0]))
    assert again[1] == again[0]


def test_nothing_comes_faster_than_the_interface() -> None:
    count, length = 200, 65536
    builder = PlantBuilder(1)
    station = add_drive(builder, buffered(interface_rate=10_000_000), "drive")
    fed = commands(np.zeros(count, np.int64), station, READ, np.arange(count) * length, length)
    assert count * length / run(builder, fed).latency_ns.max() * 1e9 <= 10_000_000


def test_the_least_recently_used_segment_is_overwritten() -> None:
    drive = buffered(buffer_segments=2, read_ahead="none")
    there = [0, 1 << 30, 0, 2 << 30, 0, 1 << 30]
    found = latencies(drive, np.arange(6) * 50 * MS, [READ] * 6, there)
    assert [bool(x < OVERHEAD) for x in found] == [False, False, True, False, True, False]


def test_a_write_is_seen_by_later_reads_and_empties_what_it_overwrites() -> None:
    drive = buffered(read_ahead="none", write_segments=2)
    found = latencies(drive, np.arange(3) * 50 * MS, [READ, WRITE, READ], [0, 4096, 4096])
    assert found[2] == HIT[1] + 16 * BUS
    found = latencies(drive, np.arange(3) * 50 * MS, [READ, WRITE, READ], [0, 4096, 0])
    assert found[2] > OVERHEAD
    found = latencies(drive, np.arange(4) * 50 * MS, [READ, READ, WRITE, READ], [0, 1 << 30, 4096, 0])
    assert found[3] > OVERHEAD  # what was written is in the other segment


def test_waiting_writes_end_early_until_the_buffer_is_full() -> None:
    """As many as there are segments end at once; the next ones wait for the platter."""
    count = 8
    offsets = np.random.default_rng(4).integers(0, 10**7, count) * 8192
    drive = buffered(write_segments=4)
    builder = PlantBuilder(1)
    station = add_drive(builder, drive, "drive")
    done = run(builder, commands(np.zeros(count, np.int64), station, WRITE, offsets)).latency_ns
    quick = np.sort(done)
    assert quick[3] <= 4 * (HIT[3] + 16 * BUS)
    assert (np.diff(quick)[3:] > MS / 2).all()


def test_a_drive_that_writes_behind_sustains_what_its_arm_can() -> None:
    """Random writes for long: the rate is that of the arm choosing among the writes that wait, above one at a time."""
    count = 4000
    offsets = np.random.default_rng(5).integers(0, 10**7, count) * 8192
    rates = {}
    for segments in (None, 1, 32):
        builder = PlantBuilder(1)
        station = add_drive(builder, buffered(write_segments=segments, buffer_segments=64, queue_depth=1), "drive")
        last = run(builder, commands(np.zeros(count, np.int64), station, WRITE, offsets)).latency_ns.max()
        rates[segments] = count / last * 1e9
    assert rates[1] == pytest.approx(rates[None], rel=0.05)
    assert rates[32] > 1.8 * rates[None]


def test_a_flush_waits_for_every_write_in_the_buffer() -> None:
    offsets = np.random.default_rng(4).integers(0, 10**7, 4) * 8192
    times = [0, 0, 0, 0, 2 * MS]
    drive = buffered(write_segments=8, flush=10_000)
    found = latencies(drive, times, [WRITE] * 4 + [FLUSH], [*offsets, 0], [8192] * 4 + [0])
    assert (found[:4] < MS).all()
    assert found[4] > 4 * MS  # four random writes
    idle = latencies(drive, [0, 100 * MS], [WRITE, FLUSH], [0, 0], [8192, 0])
    assert idle[1] == 10_000  # it was written while nobody asked


def test_a_read_waits_for_the_write_that_the_arm_is_at() -> None:
    drive = buffered(write_segments=8, read_ahead="none", seek_scatter=None)
    places = np.random.default_rng(8).integers(0, 10**7, (40, 2)) * 8192
    times = np.arange(40)[:, None] * 100 * MS + np.array([0, MS])
    ops = np.tile([WRITE, READ], 40)
    behind = latencies(drive, times.ravel(), ops, places.ravel())[1::2]
    alone = latencies(drive, times[:, 1], np.zeros(40), places[:, 1])
    assert behind.mean() > alone.mean() + 3 * MS
    long_after = latencies(drive, [10 * MS, 100 * MS], [WRITE, READ], [1 << 33, 1 << 33])[1]
    assert long_after == HIT[1] + 16 * BUS


def test_writes_through_wait_for_their_data_to_come_over_a_slow_interface() -> None:
    """The last sector has to be there before the head comes to it: a slow interface may cost a turn, never less."""
    fast = latencies(buffered(read_ahead="none"), [0], [WRITE], [0], 65536)[0]
    slow = latencies(buffered(read_ahead="none", interface_rate=20_000_000), [0], [WRITE], [0], 65536)[0]
    revolution = hdd().revolution_ps // 1000
    assert (slow - fast) % revolution in (0, 1, revolution - 1)
    assert slow >= OVERHEAD + 65536 * 50
