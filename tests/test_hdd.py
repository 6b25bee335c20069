"""Drives: geometry, seek curve, rotation, scheduling."""

from typing import Any

import numpy as np
import pytest

from tests.closed import closed_reads
from tests.plants import hdd
from tests.runs import commands, needs_jit, poisson, run
from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.disk_drive import Hdd, add_drive
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.scenarios.closed_loop import Loop, run_closed, sequential, settled_bytes_per_s

pytestmark = pytest.mark.kernels


def naive_seek_ns(drive: Hdd, distance: int) -> int:
    """Seek time: exact for short distances, on straight lines between every 64th cylinder beyond."""
    curve = drive.geometry().seek_ns
    if distance < 1024:
        return int(curve[distance])
    low = (distance - 1024) // 64 * 64 + 1024
    left, right = int(curve[low]), int(curve[min(low + 64, len(curve) - 1)])
    found = left + (right - left) * (distance - low) // 64
    assert abs(found - int(curve[distance])) <= 100
    return found


def naive_service_ns(
    drive: Hdd, phase_ps: int, cylinder: int, track: int, now: int, offset: int, length: int, write: bool
) -> tuple[int, int]:
    """Service time and last track, straight from the definition."""
    first, last = offset // 512, (offset + length - 1) // 512
    start_sector = 0
    for zone in drive.geometry().zones:
        held = zone.runs[0][1]
        if first < start_sector + held:
            break
        start_sector += held
    per_track = zone.sectors_per_track
    sector_ps = drive.revolution_ps // per_track
    here = zone.first_cylinder * drive.surfaces + (first - start_sector) // per_track
    sector = (first - start_sector) % per_track
    crossed = (sector + last - first) // per_track
    skew_ps = drive.track_switch * 1000
    revolution = drive.revolution_ps
    distance = abs(here // drive.surfaces - cylinder)
    move = naive_seek_ns(drive, distance) if distance else drive.track_switch if here != track else 0
    if distance and here % drive.surfaces != track % drive.surfaces:
        move = max(move, drive.track_switch)
    move += drive.write_settle if write and move else 0
    target_ps = (sector * sector_ps + here * skew_ps) % revolution
    arrived_ps = ((now + drive.command_overhead + move) * 1000 + phase_ps) % revolution
    wait = (target_ps - arrived_ps) % revolution // 1000
    rest_ps = revolution - per_track * sector_ps  # whole ps a sector leave some of the turn over
    transfer = ((last - first + 1) * sector_ps + crossed * (skew_ps + rest_ps)) // 1000
    return drive.command_overhead + move + wait + transfer, here + crossed


@pytest.mark.parametrize("queue_depth", [1, 64])
def test_single_requests_take_what_the_definition_says(queue_depth: int) -> None:
    drive = hdd(queue_depth=queue_depth, buffer_segments=None, buffer_segment=None, seek_scatter=None)
    generator = np.random.default_rng(2)
    count = 300
    offsets = generator.integers(0, drive.capacity // 512 - 4096, count) * 512
    offsets[::3] = offsets[1::3][: len(offsets[::3])] + 8192  # some on the same track as their successor
    starts = np.cumsum([zone.runs[0][1] for zone in drive.geometry().zones])[:-1]
    offsets[5::17][: len(starts)] = starts[: len(offsets[5::17])] * 512  # and some where a zone begins
    lengths = generator.choice([512, 8192, 1 << 20], count)
    writes = generator.random(count) < 0.4
    times = np.cumsum(generator.integers(40_000_000, 60_000_000, count))
    builder = PlantBuilder(9)
    station = add_drive(builder, drive, "drive")
    phase = int(builder.build().drives[0]["phase_ps"])
    found = run(builder, commands(times, station, writes.astype(np.uint8), offsets, lengths))
    track = 0
    for index in range(count):
        cylinder = track // drive.surfaces
        expected, track = naive_service_ns(
            drive,
            phase,
            cylinder,
            track,
            int(times[index]),
            int(offsets[index]),
            int(lengths[index]),
            bool(writes[index]),
        )
        assert found.latency_ns[index] == expected


@pytest.mark.parametrize("name", ["seagate-cheetah-15k7-300", "seagate-savvio-10k4-600"])
def test_seek_curve_goes_through_the_datasheet(name: str) -> None:
    drive = load_device(name)
    assert isinstance(drive, Hdd)
    curve = drive.geometry().seek_ns
    n = len(curve)
    assert curve[0] == 0
    assert curve[1] == drive.seek_single_cylinder
    assert curve[-1] == pytest.approx(drive.seek_full_stroke, rel=0.001)
    assert (np.diff(curve) >= 0).all()
    # random pairs of cylinders: distance d has density 2 (n - d) / n^2
    distance = np.arange(n)
    weights = 2.0 * (n - distance)
    weights[0] = n
    assert (curve * weights).sum() / weights.sum() == pytest.approx(drive.seek_average, rel=0.005)


@pytest.mark.parametrize("name", ["seagate-cheetah-15k7-300", "seagate-savvio-10k4-600"])
def test_zones_hold_the_capacity_and_give_the_datasheet_rates(name: str) -> None:
    drive = load_device(name)
    assert isinstance(drive, Hdd)
    geometry = drive.geometry()
    assert drive.capacity <= geometry.capacity_bytes <= 1.002 * drive.capacity
    zones = [zone.sectors_per_track for zone in geometry.zones]
    for per_track, rate in ((zones[0], drive.outer_rate), (zones[-1], drive.inner_rate)):
        sustained = per_track * 512 / (drive.revolution_ps / 1e12 + drive.track_switch / 1e9)
        assert sustained == pytest.approx(rate, rel=0.04)


def test_a_long_read_runs_at_the_sustained_rate() -> None:
    drive = hdd()
    builder = PlantBuilder(1)
    length = 100 << 20
    found = run(builder, commands([0], add_drive(builder, drive, "drive"), READ, 0, length))
    assert length / (found.latency_ns[0] / 1e9) == pytest.approx(drive.outer_rate, rel=0.04)


def test_scattered_seeks_lose_and_save_a_turn_as_often_as_the_normal_law_says() -> None:
    """The mean of what a normal law of standard deviation s cuts off, over a turn of T: s / sqrt(2 pi) / T."""
    count, scatter_ns = 20_000, 150_000
    offsets = np.random.default_rng(1).integers(0, 10**8, count) // 16 * 8192
    took_ns = []
    for scatter in (None, scatter_ns):
        drive = hdd(seek_scatter=scatter, buffer_segments=None, buffer_segment=None)
        builder = PlantBuilder(1)
        times = np.arange(count) * 50_000_000
        took_ns.append(run(builder, commands(times, add_drive(builder, drive, "drive"), READ, offsets)).latency_ns)
    turns = (took_ns[1] - took_ns[0]) / (drive.revolution_ps / 1000)
    assert set(turns) == {-1, 0, 1}
    expected = count * scatter_ns / (2 * np.pi) ** 0.5 / (drive.revolution_ps / 1000)
    for turn in (-1, 1):
        assert abs(np.count_nonzero(turns == turn) - expected) < 4 * expected**0.5


@pytest.mark.long
@needs_jit
def test_deep_queues_suffer_most_from_scattered_seeks() -> None:
    """Choice takes the sectors that come just in time; a single command has as many turns to win as to lose."""

    def mean_ns(depth: int, scatter: int | None) -> float:
        builder = PlantBuilder(1)
        add_drive(builder, hdd(seek_scatter=scatter), "drive")
        return float(closed_reads(builder, depth, 1 << 30, 4096, 10_000).mean())

    assert mean_ns(1, 40_000) == pytest.approx(mean_ns(1, None), rel=0.01)
    assert 1.03 < mean_ns(64, 40_000) / mean_ns(64, None) < 1.15


def test_random_reads_alone_take_overhead_average_seek_and_half_a_turn() -> None:
    drive = hdd()
    builder = PlantBuilder(1)
    count = 20_000
    offsets = np.random.default_rng(1).integers(0, drive.capacity // 8192, count) * 8192
    found = run(builder, commands(np.arange(count) * 50_000_000, add_drive(builder, drive, "drive"), READ, offsets))
    expected = drive.command_overhead + drive.seek_average + drive.revolution_ps / 2000 + 8192 / drive.outer_rate * 1e9
    assert found.latency_ns.mean() == pytest.approx(expected, rel=0.02)


@needs_jit
def test_choosing_by_position_beats_first_come_and_starves_nobody() -> None:
    offsets = np.random.default_rng(1).integers(0, 300_000_000_000 // 8192, 30_000) * 8192
    times = poisson(30_000, 195)
    latencies = {}
    for depth in (1, 64):
        builder = PlantBuilder(1)
        station = add_drive(builder, hdd(queue_depth=depth), "drive")
        latencies[depth] = run(builder, commands(times, station, READ, offsets)).latency_ns
    assert latencies[64].mean() < 0.2 * latencies[1].mean()
    # nobody waits much longer than the age limit and the aged ones ahead of it
    assert latencies[64].max() < 3 * hdd().age_limit


@pytest.mark.parametrize("own", [{}, {"buffer_segments": None, "buffer_segment": None}])
def test_a_command_far_away_goes_first_when_it_is_aged(own: dict[str, Any]) -> None:
    """All others lie close together and take some milliseconds each."""
    offsets = np.random.default_rng(1).integers(0, 1000, 200) * 65_536
    offsets[0] = 250_000_000_000
    drive = hdd(queue_depth=64, age_limit=100_000_000, **own)
    builder = PlantBuilder(1)
    found = run(builder, commands(np.zeros(200, np.int64), add_drive(builder, drive, "drive"), READ, offsets))
    assert 100_000_000 < found.latency_ns[0] < 130_000_000


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize(("depth", "measured_per_s"), [(1, 358), (4, 628), (8, 752), (16, 862), (32, 952), (64, 1015)])
def test_reads_speed_up_with_depth_as_measured(depth: int, measured_per_s: int) -> None:
    """Cheetah 15K.7, 4 KiB random reads within 1 GiB, fio on the raw drive (xzpeter, 2013-02-08), digitised to 5/s.

    One number of the drive is fitted, to depth 1. DiskSim with datasheet seeks is off by up to 84 % here.
    """
    builder = PlantBuilder(1)
    add_drive(builder, hdd(), "drive")
    count = 10_000
    latency = closed_reads(builder, depth, 1 << 30, 4096, count)
    assert depth / (latency[count // 4 :].mean() / 1e9) == pytest.approx(measured_per_s, rel=0.10)


def test_a_datasheets_shortest_seek_is_warned_of() -> None:
    assert hdd().caveats == []
    datasheet = hdd().sources | {"seek_single_cylinder": "datasheet: Seagate manual 100516226"}
    [caveat] = hdd(sources=datasheet, seek_single_cylinder=200_000).caveats
    assert "too fast" in caveat


@pytest.mark.parametrize("name", ["seagate-savvio-10k4-600", "seagate-constellation2-1000", "seagate-cheetah-15k7-300"])
def test_sequential_reads_without_a_buffer_are_warned_of(name: str) -> None:
    drive = load_device(name)
    assert isinstance(drive, Hdd)
    builder = PlantBuilder(1)
    loop = Loop(sequential(400, 0, 256 << 10), READ, add_drive(builder, drive, "drive"), 256 << 10, 1)
    share = settled_bytes_per_s(run_closed(builder, [loop])) / drive.outer_rate
    warned = any("no buffer on board" in text for text in drive.caveats)
    assert (warned, round(share, 1)) in ((True, 0.2), (True, 0.3), (False, 1.0))


def test_a_flush_has_nothing_to_wait_for() -> None:
    """The write cache is off: what completed is on the platter, and the arm has no part in a flush."""
    drive = hdd()
    builder = PlantBuilder(1)
    station = add_drive(builder, drive, "drive")
    found = run(builder, commands(np.zeros(3), station, [WRITE, FLUSH, READ], [0, 0, 10**9], [8192, 0, 8192]))
    assert found.latency_ns[1] == drive.flush
    assert (found.latency_ns[[0, 2]] > drive.command_overhead).all()
