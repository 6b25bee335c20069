"""Flash that is written to: the buffer, programs behind it, flushes, reads among programs, write amplification."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
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
from tests.plants import flash
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash, describe, flash_figures
from tiersim.devices.ssd.flash_kernels import CHANNELS, DIES, placed_die
from tiersim.devices.station_records import NEVER
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.scenarios.closed_loop import Loop, run_closed

pytestmark = pytest.mark.kernels

MS = 1_000_000


def one_die(**changes: Any) -> Flash:
    """One die that programs a unit at a time and never collects, behind a fast controller and link."""
    shape = {"channels": 1, "dies": 1, "program_size": 4096, "state": "fresh"}
    return flash(**shape | {"controller_iops": 10**6, "link_rate": 10**12} | changes)


def buffered_ns(drive: Flash, length: int = 4096) -> int:
    """Latency of a write that finds room in the buffer."""
    return command_ns(drive) + link_ns(drive, length) + drive.write_latency


def test_a_write_ends_in_the_buffer() -> None:
    drive = flash()
    assert latencies(drive, [0], WRITE, 0, 8192) == [buffered_ns(drive, 8192)]
    slow = flash(buffer_rate=100_000_000)
    both = latencies(slow, [0, 0], WRITE, [0, 8192], 8192)
    assert both[0] == buffered_ns(slow, 8192) + 81_920
    assert both[1] == both[0] + 81_920  # one after the other


def test_a_write_without_a_buffer_ends_when_its_program_ends() -> None:
    drive = one_die(buffer=0)
    assert latencies(drive, [0], WRITE, 0, 4096) == [buffered_ns(drive) + transfer_ns(drive) + drive.program]
    larger = one_die(buffer=0, program_size=4 * 4096, page=2 * 4096)
    # three units of four: the program does not wait for a fourth one
    assert latencies(larger, [0], WRITE, 0, 3 * 4096) == [
        buffered_ns(larger, 3 * 4096) + transfer_ns(larger, 3) + larger.program
    ]


def test_a_unit_that_is_written_in_part_is_read_before() -> None:
    drive = one_die(buffer=0)
    whole, part = (latencies(drive, [0], WRITE, 0, length)[0] for length in (4096, 512))
    assert part - whole == drive.read[0] - link_ns(drive, 4096) + link_ns(drive, 512)
    over_the_border = latencies(drive, [0], WRITE, 4096 - 512, 1024)[0]
    assert over_the_border > 2 * (drive.read[0] + drive.program)
    pages = one_die(buffer=0, read=(20_000, 50_000, 110_000))  # what is read may lie on any of them
    assert latencies(pages, [0], WRITE, 0, 512)[0] - part == 60_000 - drive.read[0]


def test_writes_end_in_the_buffer_until_it_is_full_then_at_program_speed() -> None:
    drive = one_die(buffer=8 * 4096)
    found = np.array(latencies(drive, [0] * 30, WRITE, np.arange(30) * 4096, 4096))
    ends = found - drive.write_latency
    assert (ends[:8] == command_ns(drive) * np.arange(1, 9) + link_ns(drive, 4096)).all()
    # from then on each takes the place of the oldest unit when that has been programmed
    between = drive.program + transfer_ns(drive)
    assert ends[8] == command_ns(drive) + link_ns(drive, 4096) + between
    assert (np.diff(ends[8:]) == between).all()


def test_writes_that_wait_for_the_buffer_hold_back_those_behind_them() -> None:
    """Back-pressure: with so many outstanding each write waits for as many others."""
    drive = flash(state="fresh", dies=8, buffer=1 << 20)
    streams = in_loop(drive, WRITE, np.arange(6000) * 8192, 8192, 64)
    rate = per_s(streams)
    assert rate == pytest.approx(describe(drive)["sustained_random_writes_per_s"], rel=0.03)
    took = np.sort(streams.done_ns - streams.started_ns)[2000:]
    assert took.mean() == pytest.approx(64 / rate * 1e9, rel=0.05)


#: What makes each part the weakest one of a drive that is written to at random.
WEAKEST: dict[str, dict[str, Any]] = {
    "dies": {"over_provisioning": 0.28},
    "dies, little spare space": {"over_provisioning": 0.07},
    "dies, cleaned in turn": {"collection": "lru"},
    "dies, fresh": {"state": "fresh"},
    # an erase every 24 programs, which go to eight dies in turn
    "dies, all of them": {"over_provisioning": 0.25, "block": 256 * 4096},
    "channels": {"channel_rate": 20_000_000},
    "controller": {"controller_iops": 1000},
    "link": {"link_rate": 10_000_000, "controller_iops": 2000},
    "buffer": {"buffer_rate": 10_000_000},
}


@pytest.mark.parametrize("part", WEAKEST)
def test_random_writes_are_sustained_at_the_rate_of_the_weakest_part(part: str) -> None:
    """What the closed form says of copies and erases is what a drive in its steady state leaves to the host."""
    drive = flash(
        **{"controller_iops": 10**6, "link_rate": 10**10, "channels": 2, "dies": 8, "buffer": 1 << 20} | WEAKEST[part]
    )
    streams = in_loop(drive, WRITE, random_offsets(8000, 8192, drive.capacity), 8192, 32)
    assert per_s(streams) == pytest.approx(describe(drive)["sustained_random_writes_per_s"], rel=0.05)


@pytest.mark.parametrize("state", ["fresh", "steady"])
@pytest.mark.parametrize("reads", [0, 50, 200, 350])
@pytest.mark.parametrize("is_reads_first", [True, False])
def test_a_channel_promises_no_more_time_than_there_is(state: str, reads: int, *, is_reads_first: bool) -> None:
    """Programs, and the copies behind them, wait on 24 dies of one channel, where reads come, too."""
    own = {"channel_rate": 20_000_000, "buffer": 64 * 4096, "program_size": 4096, "queue_depth": 64}
    drive = flash(channels=1, dies=24, state=state, over_provisioning=0.28, **own)
    operations = np.repeat([READ, WRITE], [reads, 400 - reads])[:: 1 if is_reads_first else -1]
    found = run_flash(drive, np.zeros(400), operations, random_offsets(400, 4096, 1 << 22), 4096)
    free = int(found.plant.flashes[0]["program_free"])
    last_ns = max(found.outcome.end_ns, int(found.plant.pool[free : free + drive.dies].max()))
    assert 0.6 * last_ns < found.plant.work_ns[0, CHANNELS] <= last_ns


@st.composite
def crowded(draw: st.DrawFn) -> Flash:
    """Dies that have more to transfer than their channels can, all in pages of one unit; none collects."""
    units = draw(st.sampled_from([1, 1, 4]))
    dies = draw(st.sampled_from([1, 2, 8, 24]))
    return flash(
        capacity=1 << 26,
        channels=draw(st.sampled_from([count for count in (1, 2, 8) if dies % count == 0])),
        dies=dies,
        page=4096,
        planes=1,
        spread=draw(st.sampled_from([count for count in (1, 2, 8) if dies % count == 0])),
        program=draw(st.sampled_from([100_000, 1_300_000])),
        program_size=4096 * units,
        block=4096 * units * 8,
        suspend=draw(st.sampled_from([None, 0, 300_000])),
        state="fresh",
        allocation="dynamic" if units > 1 else draw(st.sampled_from(["dynamic", "static"])),
        channel_rate=draw(st.sampled_from([5_000_000, 20_000_000])),
        buffer=4096 * units * draw(st.sampled_from([8, 64])),
        controller_iops=10**6,
        link_rate=10**10,
        queue_depth=draw(st.sampled_from([8, 64])),
    )


#: One channel that eight dies wait for.
CROWDED = flash(
    capacity=1 << 26,
    channels=1,
    dies=8,
    page=4096,
    planes=1,
    spread=1,
    program=100_000,
    program_size=4096,
    block=32_768,
    state="fresh",
    channel_rate=20_000_000,
    buffer=64 * 4096,
    queue_depth=64,
)


@settings(max_examples=examples(60), deadline=None)
@given(
    drive=crowded(),
    seed=st.integers(0, 2**32),
    stretches=st.lists(st.tuples(st.integers(1, 120), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])), max_size=3),
    apart_ns=st.sampled_from([0, 2_000, 200_000]),
)
@example(drive=CROWDED, seed=1, stretches=[(120, 0.0)], apart_ns=0)
def test_no_die_is_free_before_its_channel_has_done_what_came_before(
    drive: Flash, seed: int, stretches: list[tuple[int, float]], apart_ns: int
) -> None:
    """At the time when a die is free its channel has transferred all that its dies were given that are free by then,
    and all that the host has read.
    """
    luck = np.random.default_rng(seed)
    writes = np.concatenate([luck.random(count) < share for count, share in [(100, 1.0), (30, 0.3), *stretches]])
    operations, times = np.where(writes, WRITE, READ), np.cumsum(luck.integers(0, apart_ns + 1, len(writes)))
    offsets = random_offsets(len(writes), 4096, drive.capacity, seed)
    found = run_flash(drive, times, operations, offsets, 4096)
    plant = found.plant
    row = plant.flashes[0]
    free_ns = plant.pool[row["program_free"] :][: drive.dies]
    placed = np.array([placed_die(plant, 0, offset // 4096) for offset in offsets.tolist()])
    if drive.allocation == "static":
        given_units = np.bincount(placed[writes], minlength=drive.dies)
    else:
        programs = np.bincount(np.arange(row["programs"]) % drive.dies, minlength=drive.dies)
        given_units = programs * drive.program_size // 4096
    done_ns = times + found.latency_ns
    for channel in range(drive.channels):
        own = np.arange(channel, drive.dies, drive.channels)
        read_ns_here = done_ns[~writes & (placed % drive.channels == channel)]
        for ns in (*free_ns[own], *read_ns_here):
            units = given_units[own][free_ns[own] <= ns].sum() + np.count_nonzero(read_ns_here <= ns)
            assert units * transfer_ns(drive) <= ns


@pytest.mark.parametrize("readers", [1, 4, 16])
def test_a_buffer_has_room_again_when_its_channel_has_had_the_time(readers: int) -> None:
    """One writes and others read, always: what was read, and what left the buffer, passed one after the other."""
    own = {"channel_rate": 50_000_000, "program_size": 4096, "program": 300_000, "queue_depth": 64}
    drive = flash(channels=1, dies=24, state="fresh", buffer=64 * 4096, **own)
    builder = PlantBuilder(1)
    station = add_flash(builder, drive, "flash")
    loops = [
        Loop(random_offsets(600, 4096, drive.capacity, op), op, station, 4096, depth)
        for op, depth in ((READ, readers), (WRITE, 1))
    ]
    done_ns = run_closed(builder, loops).done_ns.reshape(2, 600)
    for ns in done_ns.flat:
        read, written = (done_ns <= ns).sum(axis=1).tolist()
        assert read + max(written - 64, 0) <= ns // transfer_ns(drive)


def test_reads_overtake_programs_that_do_not_begin_soon() -> None:
    """The host has the data of these, and waits for those of reads."""
    own = {"channel_rate": 20_000_000, "buffer": 400 * 4096, "program_size": 4096, "queue_depth": 400}
    drive = flash(channels=1, dies=24, state="fresh", **own)
    begun_ns, backlog_ns = drive.dies * transfer_ns(drive) + drive.program, 300 * transfer_ns(drive)
    times = np.concatenate([np.zeros(300), np.arange(begun_ns, backlog_ns, 2 * MS)])
    operations = np.where(times, READ, WRITE)
    found = run_flash(drive, times, operations, random_offsets(len(times), 4096, 1 << 22), 4096)
    assert found.latency_ns[operations == READ].max() <= read_ns(drive) + drive.program
    assert found.plant.work_ns[0, CHANNELS] == len(times) * transfer_ns(drive)


@pytest.mark.parametrize("writes", [0.3, 0.7])
def test_reads_and_programs_share_a_channel_that_both_would_fill(writes: float) -> None:
    drive = flash(channels=1, dies=24, state="fresh", channel_rate=50_000_000, buffer=1 << 20)
    operations = (np.random.default_rng(3).random(12_000) < writes).astype(np.uint8)
    streams = in_loop(drive, operations, random_offsets(12_000, 4096, drive.capacity), 4096, 64)
    assert per_s(streams) == pytest.approx(1e9 / transfer_ns(drive), rel=0.05)


def test_a_die_has_done_its_copies_when_they_can_have_passed_its_channel() -> None:
    drive = one_die(state="steady", over_provisioning=0.28, buffer=0, channel_rate=1_000_000)
    assert 2 < drive.write_amplification < 3  # one copy behind the first program
    assert 2 * transfer_ns(drive) > drive.copy_ns
    found = run_flash(drive, [0], WRITE, 0, 4096)
    assert found.plant.pool[found.plant.flashes[0]["program_free"]] == drive.program + 3 * transfer_ns(
        drive
    ) + command_ns(drive) + link_ns(drive, 4096)


def test_the_amplification_of_an_analytic_drive_is_the_closed_form() -> None:
    for drive, expected in ((flash(), flash().steady_amplification), (flash(state="fresh"), 1.0)):
        plant = run_flash(drive, [0], WRITE).plant
        assert flash_figures(plant, 0)["write_amplification"] == pytest.approx(expected, abs=1e-4)


def test_small_blocks_with_much_spare_space_are_cleaned_without_a_copy() -> None:
    drive = flash(over_provisioning=1.0, program_size=4096, block=2 * 4096)
    assert drive.steady_amplification == 1
    assert drive.copy_ns == drive.program + drive.read[0]
    plant = run_flash(drive, [0], WRITE).plant
    assert flash_figures(plant, 0) == {"write_amplification": 1.0}


def test_a_flush_waits_for_the_buffer_only_without_power_loss_protection() -> None:
    protected = flash(power_loss_protection=True)
    assert latencies(protected, [0, 100_000], [WRITE, FLUSH], 0, 8192)[1] == command_ns(protected) + protected.flush
    bare = flash(power_loss_protection=False, state="fresh")
    # two units of the four that a program writes: the flush does not wait for more
    programmed = command_ns(bare) + transfer_ns(bare, 2) + bare.program
    for pause_ns in (100_000, 50_000_000):  # nor does the program begin before the flush asks for it
        assert latencies(bare, [0, pause_ns], [WRITE, FLUSH], 0, 8192)[1] == programmed + bare.flush
    assert latencies(bare, [0], FLUSH) == [command_ns(bare) + bare.flush]


def test_what_is_written_during_a_flush_waits_for_it_without_power_loss_protection() -> None:
    for protected in (True, False):
        drive = flash(power_loss_protection=protected, flush=5 * MS)
        flushed, written = latencies(drive, [0, 1 * MS], [FLUSH, WRITE], 0, 8192)
        assert flushed == command_ns(drive) + drive.flush
        waits = 0 if protected else flushed - 1 * MS - command_ns(drive) - link_ns(drive, 8192)
        assert written == buffered_ns(drive, 8192) + waits


def test_commits_are_about_a_hundred_times_faster_with_power_loss_protection() -> None:
    fast = {"controller_iops": 500_000, "link_rate": 10**10, "write_latency": 10_000, "flush": 10_000, "state": "fresh"}
    count = 200
    operations = np.where(np.arange(count) % 2, FLUSH, WRITE)
    lengths = np.where(operations == FLUSH, 0, 4096)
    protected, bare = (
        in_loop(flash(**fast | {"power_loss_protection": safe}), operations, np.zeros(count), lengths, 1)
        for safe in (True, False)
    )
    drive = flash(**fast)
    a_commit = 2 * command_ns(drive) + link_ns(drive, 4096) + drive.write_latency + drive.flush
    assert per_s(protected) / 2 == pytest.approx(1e9 / a_commit, rel=0.02)
    assert per_s(bare) / 2 == pytest.approx(1e9 / (a_commit + drive.program), rel=0.03)
    assert 30 < per_s(protected) / per_s(bare) < 100


def test_flushes_end_no_closer_to_each_other_than_their_interval() -> None:
    drive = flash(flush_interval=2 * MS)
    found = np.array(latencies(drive, [0] * 5, FLUSH))
    assert found[0] == command_ns(drive) + drive.flush
    assert (np.diff(found) == 2 * MS).all()
    apart = latencies(drive, np.arange(5) * 3 * MS, FLUSH)
    assert apart == [found[0]] * 5


@pytest.mark.parametrize("suspend", [None, 0, 300_000])
def test_a_read_waits_for_the_program_in_progress_but_no_longer_than_the_suspend(suspend: int | None) -> None:
    drive = one_die(suspend=suspend)
    idle = read_ns(drive)
    # three programs queue; the transfer of the first begins when the write has ended, then it runs for 1.3 ms
    writes = [0, 0, 0]
    begin = command_ns(drive) + link_ns(drive, 4096) + transfer_ns(drive)
    for into in (200_000, 1_200_000):
        found = latencies(drive, [*writes, begin + into], [WRITE] * 3 + [READ], np.arange(4) * (1 << 20), 4096)[3]
        left = drive.program - into - command_ns(drive)
        waits = left if suspend is None else min(left, suspend)
        assert found - idle == pytest.approx(waits, abs=2 * transfer_ns(drive))


def test_reads_overtake_programs_that_have_not_begun() -> None:
    drive = one_die(suspend=None)
    count = 40
    found = latencies(drive, [0] * count + [30_000], [WRITE] * count + [READ], np.arange(count + 1) << 20, 4096)
    assert found[-1] < read_ns(drive) + drive.program + 2 * transfer_ns(drive)


def test_a_program_that_a_read_suspends_ends_later_and_so_does_a_flush_behind_it() -> None:
    drive = one_die(power_loss_protection=False, suspend=0)
    alone = run_flash(drive, [0, 200_000], [WRITE, FLUSH], 0, 4096)
    suspended = run_flash(drive, [0, 100_000, 200_000], [WRITE, READ, FLUSH], 0, 4096)
    later = int(suspended.latency_ns[2]) - int(alone.latency_ns[1])
    assert later == drive.read[0] + transfer_ns(drive)
    assert suspended.plant.work_ns[0, DIES] == alone.plant.work_ns[0, DIES] + later


def test_a_flush_waits_for_overtaken_programs_and_not_for_their_copies() -> None:
    own = {"channel_rate": 20_000_000, "program_size": 4096, "over_provisioning": 0.07, "power_loss_protection": False}
    drive = flash(channels=1, dies=8, state="steady", buffer=256 * 4096, queue_depth=256, **own)
    assert drive.write_amplification > 2  # a copy behind each program, or more
    writes, reads = 103, 5  # the last program is on another die than the reads
    plant = run_flash(drive, [0], WRITE).plant
    on_first = next(unit * 4096 for unit in range(10_000) if placed_die(plant, 0, unit) == 0)
    times = np.repeat([0, 3 * MS, 4 * MS], [writes, reads, 1])
    operations = np.repeat([WRITE, READ, FLUSH], [writes, reads, 1])
    offsets = np.where(operations == READ, on_first, np.arange(len(times)) * 4096)
    waits_ns = {}
    for here in (operations != READ, operations != NEVER):
        found = run_flash(drive, times[here], operations[here], offsets[here], 4096)
        free = int(found.plant.flashes[0]["program_free"])
        done_ns = 4 * MS + int(found.latency_ns[-1]) - drive.flush
        assert done_ns <= found.plant.pool[free : free + drive.dies].max() - drive.copy_ns
        waits_ns[len(found.latency_ns)] = done_ns
    overtaken, alone = waits_ns[writes + reads + 1], waits_ns[writes + 1]
    assert overtaken - alone == reads * transfer_ns(drive)


def test_static_allocation_writes_a_unit_where_its_address_says() -> None:
    shape = {"program_size": 4096, "state": "fresh", "buffer": 1 << 20, "controller_iops": 10**6, "link_rate": 10**10}
    for allocation, dies in (("static", 1), ("dynamic", 32)):
        drive = flash(allocation=allocation, **shape)
        same = in_loop(drive, WRITE, np.zeros(12_000), 4096, 16)
        expected = dies * 1e9 / (drive.program + transfer_ns(drive))
        assert per_s(same) == pytest.approx(expected, rel=0.05)
    spread_out = in_loop(flash(allocation="static", **shape), WRITE, np.arange(12_000) * flash().page, 4096, 512)
    assert per_s(spread_out) > 20 * 1e9 / flash().program  # pages lie side by side over the dies
