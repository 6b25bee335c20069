"""Flash: what a command costs alone, what the parts allow together, the write buffer."""

import numpy as np
import pytest
from pydantic import ValidationError

from tests.closed import closed_reads
from tests.plants import flash
from tests.runs import Run, commands, poisson, run
from tiersim.devices.catalogue import load_device, names
from tiersim.devices.flash import Flash, add_flash, describe
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels


def run_flash(drive: Flash, times: object, op: object, offsets: object, length: int = 8192) -> Run:
    builder = PlantBuilder(1)
    return run(builder, commands(times, add_flash(builder, drive, "flash"), op, offsets, length))


def test_a_read_alone_is_the_sum_of_its_parts() -> None:
    drive = flash()
    found = run_flash(drive, [0], READ, 0)
    on_channel, on_link = (8192 * (10**12 // rate) // 1000 for rate in (drive.channel_rate, drive.link_rate))
    expected = 10**9 // drive.controller_iops + drive.read + on_channel + on_link + drive.read_latency
    assert found.latency_ns[0] == expected
    assert describe(drive)["random_read_ns"] == pytest.approx(expected, abs=2)


def test_pages_of_a_large_read_are_sensed_at_once() -> None:
    drive = flash(link_rate=10**12, channel_rate=10**12)
    one = run_flash(drive, [0], READ, 0).latency_ns[0]
    all_dies = run_flash(drive, [0], READ, 0, 8192 * drive.dies).latency_ns[0]
    twice = run_flash(drive, [0], READ, 0, 8192 * drive.dies * 2).latency_ns[0]
    assert all_dies < one + 1000
    assert twice == pytest.approx(all_dies + drive.read, abs=1000)


def test_random_reads_saturate_at_the_weakest_part() -> None:
    drive = flash(controller_iops=10**6, queue_depth=512)
    limit = describe(drive)["random_reads_per_s"]
    offsets = np.random.default_rng(1).integers(0, 10**6, 100_000) * 8192
    found = run_flash(drive, np.zeros(100_000), READ, offsets)
    assert 100_000 / (found.outcome.end_ns / 1e9) == pytest.approx(limit, rel=0.06)


def test_writes_end_in_the_buffer_until_it_is_full_then_at_program_speed() -> None:
    drive = flash(controller_iops=10**6, link_rate=10**11, channel_rate=10**11)
    count = 20_000
    found = run_flash(drive, np.zeros(count), WRITE, np.arange(count) * 8192)
    assert found.latency_ns[0] == 1000 + 8192 * 10 // 1000 + drive.write_latency
    sustained = drive.dies * 1e9 / drive.program
    beyond = count - drive.buffer // drive.page
    assert beyond / ((found.outcome.end_ns - found.latency_ns[0]) / 1e9) == pytest.approx(sustained, rel=0.02)


def test_a_flush_waits_for_the_buffer_only_without_power_loss_protection() -> None:
    for protected in (True, False):
        drive = flash(power_loss_protection=protected)
        found = run_flash(drive, [0, 100_000], [WRITE, FLUSH], [0, 0], 8192)
        if protected:
            assert found.latency_ns[1] == 10**9 // drive.controller_iops + drive.flush
        else:
            assert found.latency_ns[1] > drive.program - 100_000


def test_reads_wait_for_the_program_in_progress_but_no_longer_than_the_suspend() -> None:
    for suspend in (100_000, 10**9):
        drive = flash(suspend=suspend, dies=8, program=1_000_000)
        idle = run_flash(drive, [0], READ, 0).latency_ns[0]
        # 24 programs queue on the 8 dies, three each; a read waits for one at the most
        times = [*([0] * 24), 500_000]
        found = run_flash(drive, times, [WRITE] * 24 + [READ], np.arange(25) * 8192)
        waited = found.latency_ns[24] - idle
        assert 0 < waited <= min(suspend, drive.program)


def test_reads_of_a_busy_drive_are_slower_than_of_an_idle_one_and_reads_alone_scale() -> None:
    drive = flash()
    offsets = np.random.default_rng(1).integers(0, 10**6, 50_000) * 8192
    means = [
        run_flash(drive, poisson(50_000, rate), READ, offsets).latency_ns.mean() for rate in (1000, 20_000, 40_000)
    ]
    assert means[0] < means[1] < means[2]


def test_the_two_microsecond_flash_read_is_refused() -> None:
    values = flash().model_dump()
    values |= {"read": "2 us", "capacity": "400 GB", "page": "8 KiB", "program": "1 ms", "suspend": "1 ms"}
    values |= {"channel_rate": "200 MB/s", "link_rate": "400 MB/s", "read_latency": "1 us", "write_latency": "1 us"}
    values |= {"flush": "1 us", "buffer": "1 MiB"}
    with pytest.raises(ValidationError, match="no flash cell is sensed so fast"):
        Flash.model_validate(values)


def test_every_number_of_the_catalogue_has_a_source() -> None:
    assert len(names()) >= 8
    for name in names():
        assert load_device(name).sources


@pytest.mark.parametrize(
    ("name", "depth", "length", "measured_us", "within"),
    [
        ("intel-p3700-800", 1, 4096, 77.9, 0.02),
        ("intel-p3700-800", 16, 4096, 93.9, 0.05),
        ("fusion-io-iodrive2-785", 1, 512, 68.0, 0.02),
        ("samsung-pm981a-256", 1, 4096, 79.3, 0.02),
        ("samsung-pm981a-256", 4, 4096, 94.5, 0.15),
        ("samsung-pm981a-256", 16, 4096, 156.7, 0.15),
        ("samsung-pm981a-256", 32, 4096, 238.9, 0.15),
        ("samsung-pm981a-256", 128, 4096, 861.4, 0.05),
    ],
)
def test_random_reads_by_depth_as_measured(
    name: str, depth: int, length: int, measured_us: float, within: float
) -> None:
    """AnandTech 11209 (P3700), qdpma (ioDrive2, data sheet), fio of AIALRA-0 (PM981a: fitted to depths 1 and 128)."""
    drive = load_device(name)
    assert isinstance(drive, Flash)
    builder = PlantBuilder(1)
    add_flash(builder, drive, "flash")
    latency = closed_reads(builder, depth, 60 << 30, length, 10_000)
    assert latency.mean() / 1e3 == pytest.approx(measured_us, rel=within)


def test_a_program_that_a_read_suspends_ends_later_and_so_does_a_flush_behind_it() -> None:
    drive = flash(power_loss_protection=False, suspend=0, dies=8, program=1_000_000)
    alone = run_flash(drive, [0, 200_000], [WRITE, FLUSH], [0, 0])
    suspended = run_flash(drive, [0, 100_000, 200_000], [WRITE, READ, FLUSH], [0, 0, 0])
    later = int(suspended.latency_ns[2]) - int(alone.latency_ns[1])
    assert drive.read <= later < 2 * drive.read + 100_000
    assert suspended.plant.work_ns[0, 2] <= 8 * suspended.plant.flashes["last_program_ns"].max()
