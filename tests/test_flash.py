"""Flash: what a read costs alone, what the parts allow together, the driver on the host, what a device file may say."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tests.flash_runs import (
    command_ns,
    in_loop,
    latencies,
    link_ns,
    per_s,
    random_offsets,
    read_ns,
    run_flash,
    transfer_ns,
)
from tests.plants import flash, flash_file
from tests.runs import needs_jit, poisson
from tiersim.devices.ssd.flash import Flash, describe
from tiersim.devices.ssd.flash_kernels import HOST_CPU, LINK
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

MS = 1_000_000


def one_die(**changes: Any) -> Flash:
    """A drive on which reads meet at the die: pages of two planes with two units each, a fast controller and link."""
    shape = {"channels": 1, "dies": 1, "planes": 2, "controller_iops": 10**6, "link_rate": 10**12}
    return flash(**shape | changes)


def test_a_read_alone_is_the_sum_of_its_parts() -> None:
    drive = flash()
    parts = command_ns(drive) + drive.read[0] + transfer_ns(drive, 2) + link_ns(drive, 8192) + drive.read_latency
    assert latencies(drive, [0]) == [parts]
    assert describe(drive)["random_read_ns"] == pytest.approx(parts, abs=2)
    # a part of a unit comes over the channel whole, over the link as it is
    assert latencies(drive, [0], READ, 512, 512) == [read_ns(drive, 512)]
    assert latencies(drive, [0], READ, 4096 - 512, 1024) == [read_ns(drive, 1024, 2)]


@pytest.mark.parametrize("interface", ["SATA 6 Gb/s", "SAS 12 Gb/s", "NVMe PCIe 3.0 x4", None])
@pytest.mark.parametrize(("first", "second"), [(READ, WRITE), (WRITE, READ)])
def test_reads_and_writes_take_turns_on_the_link_of_sata_alone(interface: str | None, first: int, second: int) -> None:
    drive = flash(interface=interface, suspend=0)
    lengths = np.array([1 << 18, 4096])
    (alone,) = latencies(drive, [0], second, 1 << 20, 4096)
    found = run_flash(drive, [0, 0], [first, second], [0, 1 << 20], lengths)
    link = [link_ns(drive, int(length)) for length in lengths]
    is_sata = interface == "SATA 6 Gb/s"
    behind = command_ns(drive) + sum(link) + (drive.read_latency if second == READ else drive.write_latency)
    assert found.latency_ns[1] == (behind if is_sata else alone + command_ns(drive))
    read_or_both = sum(link) if is_sata else link[[first, second].index(READ)]
    assert found.plant.work_ns[0, LINK] == read_or_both
    assert found.plant.work_ns[0, LINK + 1 :].sum() == sum(link) - read_or_both


def test_units_of_a_page_cost_one_sensing_and_different_dies_sense_at_once() -> None:
    together = flash(link_rate=10**12, spread=1)  # a page of four units on each die
    assert latencies(together, [0], READ, 0, 4 * 4096) == [read_ns(together, 4 * 4096, 4)]
    assert latencies(together, [0], READ, 0, 8 * 4096) == [read_ns(together, 8 * 4096, 4)]  # two channels
    apart = flash(link_rate=10**12, spread=4)  # the four on as many dies and channels
    assert latencies(apart, [0], READ, 0, 4 * 4096) == [read_ns(apart, 4 * 4096, 1)]
    assert latencies(apart, [0], READ, 0, 8 * 4096) == [read_ns(apart, 8 * 4096, 2)]


def test_a_page_on_every_die_is_sensed_at_once_and_the_next_on_each_after_it() -> None:
    drive = flash(link_rate=10**12, channel_rate=10**12)
    length = drive.dies * drive.page
    once, twice = (latencies(drive, [0], READ, 0, times * length)[0] for times in (1, 2))
    assert once == pytest.approx(read_ns(drive, length), abs=1000)
    assert twice - once == pytest.approx(drive.read[0], abs=1000)


def test_reads_that_wait_on_different_planes_are_sensed_together_and_on_the_same_one_not() -> None:
    drive = one_die()
    # the first keeps the die busy; the second has plane 0 of its page, the third a plane of another page
    busy = [0, drive.page]
    _, second, other_plane = latencies(drive, [0, 0, 0], READ, [*busy, 2 * drive.page + 2 * drive.unit], 4096)
    _, again, same_plane = latencies(drive, [0, 0, 0], READ, [*busy, 2 * drive.page + drive.unit], 4096)
    assert second == again
    assert second == read_ns(drive) + drive.read[0] + transfer_ns(drive)
    assert other_plane - second == transfer_ns(drive)
    assert same_plane - second == drive.read[0] + transfer_ns(drive)


def test_a_sensing_that_has_begun_takes_nobody_in() -> None:
    drive = one_die()
    first, second = latencies(drive, [0, 10_000], READ, [0, drive.page + 2 * drive.unit], 4096)
    assert first == read_ns(drive)
    assert second + 10_000 == first + drive.read[0] + transfer_ns(drive)


def test_what_a_die_sensed_last_is_in_its_registers() -> None:
    drive = one_die()
    times = np.arange(6) * MS
    # two units of a plane, the other plane of the page, another page, the first again; in that page a unit of a later
    # command
    places = np.array([0, 1, 2, 4, 5, 0])
    from_register = read_ns(drive) - drive.read[0]
    expected = [read_ns(drive), from_register, read_ns(drive), read_ns(drive), from_register, read_ns(drive)]
    assert latencies(drive, times, READ, places * drive.unit, 4096) == expected


def test_a_program_takes_the_registers() -> None:
    drive = one_die(program_size=4096, suspend=0)
    _, _, after = latencies(drive, [0, 1 * MS, 5 * MS], [READ, WRITE, READ], [0, 1 << 20, 0], 4096)
    assert after == read_ns(drive)


def test_pages_of_a_cell_take_their_own_times_always_the_same() -> None:
    drive = flash(read=(50_000, 70_000, 120_000))
    pages = np.arange(600) * drive.page
    found = np.array(latencies(drive, pages // drive.page * MS, READ, pages, 4096))
    taken, counts = np.unique(found - read_ns(drive) + drive.read[0], return_counts=True)
    assert taken.tolist() == list(drive.read)
    assert (counts > 140).all()
    assert found.tolist() == latencies(drive, pages // drive.page * MS + 7, READ, pages, 4096)


#: What makes each part the weakest one, and how near the bound a deep queue comes.
WEAKEST = {
    "dies": ({"dies": 8, "channel_rate": 10**9}, 0.05),
    "channels": ({"channel_rate": 80_000_000}, 0.1),  # a command waits for data, so the bus is idle now and then
    "controller": ({"controller_iops": 20_000}, 0.02),
    "link": ({"link_rate": 200_000_000, "controller_iops": 50_000}, 0.02),
}


@needs_jit
@pytest.mark.parametrize("part", WEAKEST)
def test_random_reads_saturate_at_the_weakest_part(part: str) -> None:
    changes, within = WEAKEST[part]
    drive = flash(**{"controller_iops": 10**6, "link_rate": 10**10, "queue_depth": 512} | changes)
    found = in_loop(drive, READ, random_offsets(30_000, 8192, drive.capacity), 8192, 512)
    bound = describe(drive)["random_reads_per_s"]
    assert bound * (1 - within) < per_s(found) < bound * 1.01


@needs_jit
def test_pages_of_one_unit_are_described_as_they_are_read() -> None:
    """8 KiB lie in two pages, on two dies, and half as many are read as of a drive whose pages hold them."""
    drive = flash(page=4096, planes=1, spread=1, controller_iops=10**6, link_rate=10**10, queue_depth=512)
    assert describe(drive)["random_read_ns"] == pytest.approx(latencies(drive, [0])[0], abs=10)
    found = in_loop(drive, READ, random_offsets(30_000, 8192, drive.capacity), 8192, 512)
    assert 0.85 < per_s(found) / describe(drive)["random_reads_per_s"] < 1.01


def test_a_read_alone_is_described_as_the_mean_of_its_kinds_of_page() -> None:
    drive = flash(read=[40_000, 60_000, 100_000], spread=4)
    took = [latencies(drive, [0], READ, int(place))[0] for place in random_offsets(300, 8192, drive.capacity)]
    assert describe(drive)["random_read_ns"] == pytest.approx(np.mean(took), rel=0.03)


def test_reads_wait_longer_the_busier_the_drive() -> None:
    drive = flash()
    offsets = random_offsets(20_000, 8192, drive.capacity)
    means = [
        run_flash(drive, poisson(20_000, rate), READ, offsets).latency_ns.mean() for rate in (1000, 20_000, 40_000)
    ]
    assert means[0] < means[1] < means[2]


def test_a_transfer_that_is_ready_early_does_not_wait_for_one_that_was_planned_before() -> None:
    drive = flash(channels=1, dies=2, controller_iops=10**6, link_rate=10**12)
    pages = np.arange(1, 40) * drive.page
    busy = [page for page in pages if latencies(drive, [0, 0], READ, [0, page], 4096)[1] > 2 * drive.read[0]]
    idle = next(page for page in pages if page not in busy)
    found = latencies(drive, [0] * 5 + [5000], READ, [*busy[:5], idle], 4096)
    assert found[4] > 5 * drive.read[0]  # five on one die, planned one after the other
    # on the idle die it is sensed at once, and only the transfer of the first is in its way
    assert read_ns(drive) < found[5] <= read_ns(drive) + transfer_ns(drive)


def test_the_queue_of_the_drive_bounds_what_it_works_on() -> None:
    drive = flash(queue_depth=1)
    both = latencies(drive, [0, 0], READ, [0, 8 * drive.page])
    assert both[1] == 2 * both[0]


def test_a_flush_over_sata_is_alone_in_the_drive() -> None:
    """It waits for the reads before it, and the read behind it for the flush."""
    commands = [0, 0, 0, 0], [READ, READ, FLUSH, READ], [0, 1 << 20, 0, 2 << 20]
    drive, queued = (flash(interface=interface, flush=50_000) for interface in ("SATA 6 Gb/s", "SAS 6 Gb/s"))
    first, second, flushed, last = latencies(drive, *commands)
    assert flushed == max(first, second) + command_ns(drive) + drive.flush
    assert last == flushed + first
    first, second, flushed, last = latencies(queued, *commands)
    assert flushed < min(first, second)
    assert last < flushed + first


def test_the_driver_on_the_host_bounds_the_rate_and_is_accounted() -> None:
    drive = flash(host_cpu=100_000, host_threads=3, controller_iops=10**6, link_rate=10**10)
    alone = flash(controller_iops=10**6, link_rate=10**10)
    assert latencies(drive, [0]) == [latencies(alone, [0])[0] + 100_000]
    assert describe(drive)["random_read_ns"] - describe(alone)["random_read_ns"] == 100_000
    count = 3000
    offsets = random_offsets(count, 4096, drive.capacity)
    assert per_s(in_loop(drive, READ, offsets, 4096, 128)) == pytest.approx(3 / 100e-6, rel=0.02)
    found = run_flash(drive, np.zeros(count), READ, offsets, 4096)
    assert found.plant.work_ns[0, HOST_CPU] == count * 100_000
    assert run_flash(alone, np.zeros(9), READ, offsets[:9], 4096).plant.work_ns[0, HOST_CPU] == 0


def test_a_discard_without_a_map_takes_a_command_and_a_flush() -> None:
    drive = flash()
    assert latencies(drive, [0], DISCARD, 0, 1 << 20) == [command_ns(drive) + drive.flush]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dies": 30}, "dies: 30 is not a multiple of channels = 8"),
        ({"spread": 5}, "spread: 5 does not divide dies = 32"),
        ({"page": 6000}, "page: 6000 bytes is not a multiple of the 4096 bytes in it"),
        ({"program_size": 6000}, "program_size: 6000 bytes is not a multiple of the 4096 bytes in it"),
        ({"block": 20_000}, "block: 20000 bytes is not a multiple of the 16384 bytes in it"),
        ({"buffer": 8192}, "buffer: 8192 bytes is less than one program writes"),
        ({"allocation": "static"}, "allocation: 'static' needs programs of one unit each"),
        ({"host_cpu": 1000}, "host_cpu: needs host_threads, and the other way round"),
        ({"host_threads": 2}, "host_cpu: needs host_threads, and the other way round"),
        ({"mapping": "mapped", "capacity": 4 << 20}, "mapping: 'mapped' makes fewer than three blocks a die"),
        ({"read": (2000,)}, "read: 2 µs"),
        ({"planes": 3}, "planes: a page of 16384 bytes on 3 planes does not hold whole units of 4096 bytes on each"),
        ({"planes": 8}, "planes: a page of 16384 bytes on 8 planes does not hold whole units of 4096 bytes on each"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        Flash.model_validate(flash_file(**changes))
    assert message in str(error.value)


def test_one_sensing_time_needs_no_list() -> None:
    assert Flash.model_validate(flash_file() | {"read": "75 us"}) == flash(read=(75_000,))
