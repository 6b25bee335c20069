"""Replacements that are being filled: at which pace, from what, and what requests cost meanwhile."""

import numpy as np
import pytest

from tests.array_ios import MS, PARITIES, build
from tests.runs import Run, commands, run
from tiersim.devices.array.volume import STEP_BYTES, Layout, Rebuild
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

UNIT = 65536
MEMBER = 64 * STEP_BYTES
#: A step every 10 ms.
RATE = 100 * STEP_BYTES


def rebuilding(
    layout: Layout,
    members: int,
    lost: tuple[int, ...],
    times_ns: object,
    op: object = READ,
    offsets: object = 0,
    rate: int = RATE,
    filled: int = 0,
    service_ns: int = MS,
) -> Run:
    rebuild = Rebuild(lost, rate, filled, MEMBER)
    builder, array = build(layout, members, UNIT, rebuild=rebuild, service_ns=service_ns)
    return run(builder, commands(times_ns, array, op, offsets))


def done(found: Run, members: int) -> list[int]:
    """IOs that each member has done."""
    return [int(count) for count in found.plant.stations["finished"][:members]]


def filled(found: Run, member: int) -> int:
    row = (found.plant.parities if found.plant.parities["members"].any() else found.plant.arrays)[0]
    return int(found.plant.pool[int(row["filled"]) + member])


@pytest.mark.parametrize(
    ("layout", "members", "lost", "sources"),
    [("raid1", 2, (1,), [1, 0]), ("raid10", 6, (2,), [0, 0, 0, 1, 0, 0]), ("raid10", 4, (0, 3), [0, 1, 1, 0]),
     ("raid5", 5, (1,), [1, 0, 1, 1, 1]), ("raid6", 6, (5,), [1] * 5 + [0]), ("raid6", 6, (0, 5), [0, 1, 1, 1, 1, 0])],
)  # fmt: skip
def test_what_a_rebuild_reads_and_writes(
    layout: Layout, members: int, lost: tuple[int, ...], sources: list[int]
) -> None:
    """Each step reads what restores it once and writes each replacement once; at the end it stops."""
    found = rebuilding(layout, members, lost, [0, 2_000 * MS], FLUSH)  # one IO each of every member
    steps = MEMBER // STEP_BYTES
    assert done(found, members) == [2 + steps * (reads + (member in lost)) for member, reads in enumerate(sources)]
    assert all(filled(found, member) >= MEMBER for member in range(members))


def test_the_position_moves_at_the_pace_and_no_faster() -> None:
    for seconds in (0.1, 0.25, 0.5):
        found = rebuilding("raid5", 4, (2,), [0, int(seconds * 1e9)])
        # of the last step the reads or the writes may be under way
        assert filled(found, 2) == pytest.approx(seconds * RATE, abs=STEP_BYTES)
        assert filled(found, 2) <= seconds * RATE + STEP_BYTES


def test_a_pace_that_members_cannot_keep_is_theirs() -> None:
    """A member does a step in 1 ms; reads of one step go with writes of the one before, so the pace is a step a ms."""
    found = rebuilding("raid1", 2, (1,), [0, 50 * MS], rate=10_000 * STEP_BYTES)
    assert filled(found, 1) == pytest.approx(50 * STEP_BYTES, abs=2 * STEP_BYTES)
    # and what a step loses is not made up for: 40 ms of other work, then the pace again
    burst = np.concatenate([np.zeros(40), [200 * MS]])
    found = rebuilding("raid1", 2, (1,), burst, WRITE)
    assert filled(found, 1) <= 17 * STEP_BYTES


def test_a_rebuild_goes_on_from_where_it_stands() -> None:
    found = rebuilding("raid5", 5, (1,), [0, 200 * MS], filled=MEMBER // 2 + 1000)
    assert filled(found, 1) == pytest.approx(MEMBER // 2 + 20 * STEP_BYTES, abs=STEP_BYTES)
    assert filled(found, 1) % UNIT == 0


@pytest.mark.parametrize(("layout", "members"), [("raid5", 5), ("raid6", 6)])
def test_reads_of_filled_rows_cost_one_io_and_of_others_those_of_all_members(layout: Layout, members: int) -> None:
    """Half is filled and the rest takes for ever but for the first step; each unit of so many rows is read once."""
    columns = members - PARITIES[layout]
    units = np.arange(columns * members)
    times = np.arange(len(units)) * 20 * MS + 100 * MS
    step = np.ones(members)
    low = rebuilding(layout, members, (1,), times, READ, units * UNIT, rate=1, filled=MEMBER // 2)
    np.testing.assert_array_equal(np.array(done(low, members)) - step, [columns] * members)
    beyond = MEMBER // UNIT * columns - 1 - units
    high = rebuilding(layout, members, (1,), times, READ, beyond * UNIT, rate=1, filled=MEMBER // 2)
    ios = np.array(done(high, members)) - step
    assert ios[1] == 0
    assert ios.sum() == columns * (members - 1) + columns * (members - 1)  # as they are, and in place of those lost


def test_reads_of_a_mirror_go_to_the_replacement_where_it_is_filled() -> None:
    times = np.arange(40) * 20 * MS + 100 * MS
    low = rebuilding("raid1", 2, (1,), times, READ, 0, rate=1, filled=MEMBER // 2)
    assert done(low, 2) == [21, 21]
    high = rebuilding("raid1", 2, (1,), times, READ, MEMBER - UNIT, rate=1, filled=MEMBER // 2)
    assert done(high, 2) == [41, 1]


def test_writes_go_to_the_replacement_everywhere() -> None:
    """As with md, whose spare takes every write while it is being filled."""
    offsets = np.array([0, MEMBER - UNIT])
    found = rebuilding("raid1", 2, (1,), [100 * MS, 200 * MS], WRITE, offsets, rate=1)
    assert done(found, 2) == [3, 3]


@pytest.mark.parametrize("layout", ["raid1", "raid5"])
def test_a_rebuild_is_load_on_the_members(layout: Layout) -> None:
    """Utilisation = steps a second x service: 100 x 2 ms. Of idle mirrors the first is read."""
    found = rebuilding(layout, 4, (3,), [0, 500 * MS], service_ns=2 * MS)
    busy = found.plant.work_ns[:4, 0] / found.outcome.end_ns
    expected = [0.2, 0, 0, 0.2] if layout == "raid1" else [0.2] * 4
    np.testing.assert_allclose(busy, expected, atol=0.03)


def test_host_requests_are_slower_meanwhile() -> None:
    times = np.arange(400) * MS + 3
    alone = rebuilding("raid5", 4, (3,), times, offsets=np.arange(400) * 7 * UNIT, rate=1)
    beside = rebuilding("raid5", 4, (3,), times, offsets=np.arange(400) * 7 * UNIT, rate=3 * RATE)
    assert beside.latency_ns.mean() > 1.05 * alone.latency_ns.mean()
