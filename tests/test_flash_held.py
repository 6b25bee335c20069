"""Flash drives that hold commands back until their die can take them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.examples import examples
from tests.flash_runs import in_loop, latencies, per_s, random_offsets, read_ns, transfer_ns
from tests.plants import flash
from tests.runs import commands, needs_jit, run
from tests.twins.flash_held import Held, NaiveHeld
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.devices.ssd.flash_kernels import DIES, sensing_ns
from tiersim.operations import READ, WRITE

pytestmark = pytest.mark.kernels


def held(**changes: object) -> Flash:
    """A drive with pages of one unit, which are programmed one by one."""
    shape = {"unit": 4096, "page": 4096, "planes": 1, "program_size": 4096, "spread": 1, "block": 64 * 4096}
    rules = {"allocation": "static", "commands": "held", "suspend": None, "state": "fresh", "queue_depth": 10_000}
    return flash(**shape | rules | {"power_loss_protection": True} | changes)


#: One channel that eight dies share: they take turns, and one transfer follows another.
_SHARED_CHANNEL: dict[str, Any] = {
    "channels": 1,
    "controller_iops": 20_000,
    "channel_rate": 41_000_000,
    "read": (60_000,),
    "buffer": 0,
    "buffer_rate": None,
    "program_command": "0 ns",
    "chip_dies": 1,
    "block": 2 * 4096,
}


@settings(max_examples=examples(40), deadline=None)
@example(numbers=_SHARED_CHANNEL | {"queue_depth": 4, "chip_planes": 1}, seed=0, apart_ns=3_000)
@example(numbers=_SHARED_CHANNEL | {"queue_depth": 16, "chip_planes": 2}, seed=0, apart_ns=3_000)
@given(
    numbers=st.fixed_dictionaries(
        {
            "channels": st.sampled_from([1, 2, 4]),
            "controller_iops": st.sampled_from([20_000, 90_000]),
            "channel_rate": st.sampled_from([41_000_000, 400_000_000]),
            "read": st.sampled_from([(60_000,), (20_000, 90_000)]),
            "buffer": st.sampled_from([0, 4096, 4 * 4096]),
            "buffer_rate": st.sampled_from([None, 50_000_000]),
            "queue_depth": st.sampled_from([1, 4, 16, 10_000]),
            "program_command": st.sampled_from(["0 ns", "700 ns"]),
            "chip_dies": st.sampled_from([1, 2]),
            "chip_planes": st.sampled_from([1, 2, 4]),
            "block": st.sampled_from([2 * 4096, 64 * 4096]),
        }
    ),
    seed=st.integers(0, 2**32),
    apart_ns=st.sampled_from([3_000, 20_000, 70_000]),
)
def test_a_drive_that_holds_commands_back_does_what_its_twin_does(
    numbers: dict[str, int], seed: int, apart_ns: int
) -> None:
    drive = held(dies=8, **numbers)
    luck = np.random.default_rng(seed)
    times = np.cumsum(luck.integers(1, 2 * apart_ns, 200)) * 8 + np.arange(200) % 7
    writes, units = luck.random(200) < 0.4, luck.integers(0, 500, 200)
    builder = PlantBuilder(seed)
    fed = commands(times, add_flash(builder, drive, "flash"), np.where(writes, WRITE, READ), units * 4096, 4096)
    plant = builder.build()
    requests = [
        Held(number, bool(write), unit % 8, 4096, unit // 8 % (drive.chip_dies * drive.chip_planes))
        for number, (write, unit) in enumerate(zip(writes, units.tolist(), strict=True))
    ]
    twin = NaiveHeld(drive, lambda one: int(sensing_ns(plant, 0, one.die, int(units[one.number]))))
    assert twin.run(times.tolist(), requests) == (run(builder, fed).latency_ns + times).tolist()


@needs_jit
def test_dies_of_a_busy_channel_sense_together_and_transfer_one_after_the_other() -> None:
    shape = {"channels": 1, "dies": 4, "read": (75_000,), "channel_rate": 160_000_000, "controller_iops": 90_000}
    offsets = random_offsets(20_000, 4096, 1 << 25)
    found, ahead = (
        per_s(in_loop(held(commands=commands, **shape), READ, offsets, 4096, 256)) for commands in ("held", "planned")
    )
    together_ns = 75_000 + 4 * transfer_ns(held(**shape))
    assert found == pytest.approx(4e9 / together_ns, rel=0.02)
    assert ahead > 1.2 * found  # a die senses while the others transfer


def test_a_read_alone_takes_as_long_as_on_another_drive() -> None:
    assert latencies(held(), [0], READ, 0, 4096) == [read_ns(held(), 4096)]
    assert latencies(held(), [0], READ, 0, 64 * 4096) == latencies(held(commands="planned"), [0], READ, 0, 64 * 4096)


def test_requests_of_several_pages_wait_for_dies_that_have_data_to_transfer() -> None:
    drive = held(channels=2, dies=4)
    lengths = np.where(np.arange(400) % 3 == 0, 10 * 4096, 4096)
    found = latencies(drive, np.arange(400) * 200_000, READ, random_offsets(400, 4096, 1 << 25), lengths)
    # ten pages on four dies: three one after the other on some die, behind what others sense there
    assert 3 * drive.read[0] < max(found) < 40 * drive.read[0]


def test_a_write_in_the_buffer_is_done_while_reads_go_before_its_program() -> None:
    drive = held(channels=1, dies=1, buffer=4096 * 4)
    times = [0, *[1_000_000 + 10_000 * number for number in range(8)]]
    found = latencies(drive, times, [READ, WRITE, *[READ] * 7], np.arange(9) * 4096, 4096)
    assert found[1] < drive.read[0]
    assert max(found[2:]) < drive.program


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"allocation": "dynamic"}, "allocation = 'static'"),
        ({"suspend": 100_000}, "no suspend"),
        ({"power_loss_protection": False, "buffer": 1 << 20}, "power_loss_protection, or no buffer"),
        ({"mapping": "mapped"}, "mapping = 'analytic'"),
    ],
)
def test_what_holding_back_needs_is_said(changes: dict[str, object], needed: str) -> None:
    with pytest.raises(ValidationError, match=f"commands: 'held' needs {needed}"):
        held(**changes)


@pytest.mark.parametrize(("op", "alone"), [(READ, 600_000 + 10_240), (WRITE, 10_240 + 800_000)])
def test_one_command_takes_what_waits_for_other_planes_of_a_die_if_pages_agree(op: int, alone: int) -> None:
    drive = held(
        channels=1,
        dies=1,
        chip_dies=2,
        chip_planes=2,
        read=(600_000,),
        program=800_000,
        channel_rate=400_000_000,
        buffer=0,
    )
    # the first is alone; behind it come two planes of the other die with the same page, and the next page there
    found = latencies(drive, [0, 1000, 1000, 1000], op, np.array([1, 0, 2, 4]) * 4096, 4096)
    assert [round(one / alone) for one in found] == [1, 2, 2, 3]


def test_pages_of_a_drive_in_use_seldom_agree() -> None:
    shape = {"channels": 1, "dies": 1, "chip_dies": 2, "chip_planes": 2, "buffer": 0}
    fresh, used = (
        latencies(held(state=state, **shape), [0] * 4, WRITE, np.arange(4) * 4096, 4096)
        for state in ("fresh", "steady")
    )
    assert max(fresh) < 0.6 * max(used)


@pytest.mark.parametrize("changes", [{"chip_planes": 2, "page": 8192}, {"chip_dies": 2, "commands": "planned"}])
def test_planes_of_a_chip_need_commands_that_are_held(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="chip_dies, chip_planes: need commands = 'held' and pages of one unit"):
        held(**changes)


def test_the_time_of_a_command_needs_commands_that_are_held() -> None:
    with pytest.raises(ValidationError, match="program_command: needs commands = 'held'"):
        held(commands="planned", program_command="361 ns")


def test_no_die_is_busy_for_longer_than_the_run_where_its_planes_read_together() -> None:
    """Requests that were sensed together wait for their channel at one time, not one after the other."""
    drive = held(channels=1, dies=1, read=(30_000,), channel_rate=66_600_000, buffer=0, chip_planes=4)
    builder = PlantBuilder(1)
    fed = commands([0] * 400, add_flash(builder, drive, "flash"), READ, np.arange(400) * 4096, 4096)
    found = run(builder, fed)
    assert 0.9 <= int(found.plant.work_ns[0, DIES]) / int(found.latency_ns.max()) <= 1
