"""A flash drive whose map is kept unit by unit: it does what the analytic one does on average, and what that one
cannot.
"""

from typing import Any

import numpy as np
import pytest

from tests.flash_runs import command_ns, in_loop, latencies, link_ns, per_s, random_offsets, read_ns, run_flash
from tests.plants import flash
from tests.runs import commands, needs_jit, poisson, run
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash, describe, flash_figures
from tiersim.operations import DISCARD, READ, WRITE

pytestmark = pytest.mark.kernels

MS = 1_000_000
UNIT = 4096


def small(**changes: Any) -> Flash:
    """512 MiB on eight dies, in 64 blocks of 256 units each; the controller and the link do not count."""
    shape = {"capacity": 512 << 20, "channels": 4, "dies": 8, "block": 256 * UNIT, "buffer": 4 << 20}
    return flash(**shape | {"controller_iops": 10**6, "link_rate": 10**10, "mapping": "mapped"} | changes)


def programmed(drive: Flash, op: Any, offsets: Any, lengths: Any) -> tuple[int, int]:
    """Units that the host wrote, and that collection copied, when commands came one after the other."""
    ftl = run_flash(drive, np.arange(len(offsets)) * 100_000, op, offsets, lengths).plant.ftls[0]
    return int(ftl["host_units"]), int(ftl["copied_units"])


@needs_jit
@pytest.mark.parametrize("collection", ["greedy", "lru"])
@pytest.mark.parametrize("spare", [0.125, 0.25])  # of 64 blocks on each die whole ones
def test_mapped_and_analytic_drives_agree(collection: str, spare: float) -> None:
    """The same amplification, the same sustained rate, the same latency of reads among writes below saturation."""
    both = [
        small(mapping=mapping, collection=collection, over_provisioning=spare) for mapping in ("mapped", "analytic")
    ]
    mapped, analytic = both
    host, copied = programmed(mapped, WRITE, random_offsets(100_000, UNIT, mapped.capacity), UNIT)
    assert 1 + copied / host == pytest.approx(analytic.write_amplification, rel=0.02)

    offsets = random_offsets(60_000, 8192, mapped.capacity)
    sustained = [per_s(in_loop(drive, WRITE, offsets, 8192, 32)) for drive in both]
    assert sustained[0] == pytest.approx(sustained[1], rel=0.03)
    bound = describe(mapped)["sustained_random_writes_per_s"]
    assert describe(analytic)["sustained_random_writes_per_s"] == bound
    assert sustained == pytest.approx([bound, bound], rel=0.05)

    count = 60_000
    operations = (np.random.default_rng(3).random(count) < 0.3).astype(int)  # 70:30
    times = poisson(count, bound)  # writes come at a third of what can be sustained
    means = []
    for drive in both:
        builder = PlantBuilder(1)
        found = run(builder, commands(times, add_flash(builder, drive, "flash"), operations, offsets, UNIT))
        means.append(found.latency_ns[operations == READ].mean())
    assert means[0] == pytest.approx(means[1], rel=0.1)


@needs_jit
def test_a_fresh_drive_slows_down_to_its_steady_state() -> None:
    drive = small(state="fresh")
    count = 4 * drive.capacity // UNIT
    in_order, at_random = np.arange(count // 4) * UNIT, random_offsets(count - count // 4, UNIT, drive.capacity)
    streams = in_loop(drive, WRITE, np.concatenate([in_order, at_random]), UNIT, 64)
    at_first, at_last = per_s(streams, 0.02, 0.2), per_s(streams, 0.8, 0.98)
    assert at_first == pytest.approx(2 * describe(drive)["sustained_random_writes_per_s"], rel=0.03)
    steady = describe(small())["sustained_random_writes_per_s"]
    assert at_last == pytest.approx(2 * steady, rel=0.05)
    assert at_first > 2 * at_last


@needs_jit
def test_space_that_was_trimmed_is_spare_space() -> None:
    drive = small(over_provisioning=0.125)
    half = drive.capacity // 2
    pieces = np.arange(half, drive.capacity, 1 << 20)
    places = random_offsets(400_000, UNIT, half)
    operations = np.concatenate([np.full(len(pieces), DISCARD), np.full(len(places), WRITE)])
    lengths = np.where(operations == DISCARD, 1 << 20, UNIT)
    offsets = np.concatenate([pieces, places])
    settled, whole = (
        programmed(drive, *(part[:count] for part in (operations, offsets, lengths))) for count in (300_000, None)
    )
    trimmed = 1 + (whole[1] - settled[1]) / (whole[0] - settled[0])
    assert trimmed == pytest.approx(small(over_provisioning=2 * 1.125 - 1).steady_amplification, rel=0.05)
    assert trimmed < drive.steady_amplification / 2


def test_reads_of_what_was_never_written_or_trimmed_need_no_die() -> None:
    drive = small(state="fresh")
    nothing = command_ns(drive) + link_ns(drive, UNIT) + drive.read_latency
    operations = [READ, WRITE, READ, DISCARD, READ, READ]
    places = np.array([0, 0, 0, 0, 0, 8 * UNIT])
    found = latencies(drive, np.arange(6) * 10 * MS, operations, places, UNIT)
    assert (found[0], found[4], found[5]) == (nothing, nothing, nothing)
    # the program of the unit has not begun, since there is no second one, and nobody has read its page before
    assert found[2] == read_ns(drive, UNIT)
    # a discard takes whole units only
    part = latencies(drive, [0, 10 * MS, 20 * MS], [WRITE, DISCARD, READ], 0, [UNIT, UNIT - 512, UNIT])
    assert part[2] == read_ns(drive, UNIT)


def test_units_that_were_written_together_are_read_with_one_sensing() -> None:
    drive = small(state="fresh", dies=4, page=4 * UNIT, program_size=4 * UNIT)
    # one program on one die, whatever the addresses are
    found = latencies(drive, [0, 10 * MS], [WRITE, READ], 5 * UNIT, 4 * UNIT)
    assert found[1] == read_ns(drive, 4 * UNIT, 4)


def test_a_drive_that_ends_within_a_unit_keeps_the_part() -> None:
    drive = small(capacity=(512 << 20) - 512)
    last = drive.capacity // UNIT * UNIT
    found = latencies(drive, [0, 10 * MS, 20 * MS], [READ, WRITE, READ], last, UNIT - 512)
    assert found[0] == read_ns(drive, UNIT - 512)
    assert found[2] <= found[0]
    assert drive.page_mapping.units == (512 << 20) // UNIT


def test_its_figures_are_what_it_did() -> None:
    drive = small()
    builder = PlantBuilder(1)
    add_flash(builder, drive, "flash")
    assert flash_figures(builder.build(), 0) == {"write_amplification": None}
    count = 3000
    plant = run_flash(drive, np.arange(count) * MS, WRITE, random_offsets(count, UNIT, drive.capacity), UNIT).plant
    assert plant.ftls[0]["host_units"] == count
    found = flash_figures(plant, 0)["write_amplification"]
    assert found == 1 + int(plant.ftls[0]["copied_units"]) / count
    assert found == pytest.approx(drive.steady_amplification, rel=0.1)
    plant = run_flash(small(state="fresh"), [0], WRITE, 0, UNIT).plant
    assert flash_figures(plant, 0) == {"write_amplification": 1.0}
