"""Arrays with failed members: what requests cost, whether data can be restored from what is read, what is lost."""

import itertools
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.array_ios import PARITIES, build, home, ios
from tests.examples import examples
from tests.runs import Run, commands, needs_jit, run
from tiersim.devices.array.volume import Layout, loss_of
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

UNIT = 65536
SHAPES: list[tuple[Layout, int]] = [("raid5", 3), ("raid5", 4), ("raid5", 7), ("raid6", 4), ("raid6", 5), ("raid6", 7)]


def mean_ios(layout: Layout, members: int, failures: int, op: int, lengths: int, step: int) -> tuple[Any, Any]:
    """Reads and writes of one request as fractions, over all sets of failed members and all places within a turn of the
    parity.
    """
    turn = members * (members - PARITIES[layout]) * UNIT
    reads, writes, cases = 0, 0, 0
    for failed in itertools.combinations(range(members), failures):
        for offset in range(0, turn, step):
            found = ios(layout, members, UNIT, op, offset, lengths, failed)
            assert not {member for member, _, _ in found.reads + found.writes} & set(failed)
            reads, writes, cases = reads + len(found.reads), writes + len(found.writes), cases + 1
    return Fraction(reads, cases), Fraction(writes, cases)


# ---- counts in closed form


@pytest.mark.parametrize(("layout", "n"), SHAPES)
def test_a_small_read_costs_the_whole_row_when_its_unit_is_lost(layout: Layout, n: int) -> None:
    for failures in range(PARITIES[layout] + 1):
        lost = Fraction(failures, n)
        expected = (1 - lost) + lost * (n - failures)
        assert mean_ios(layout, n, failures, READ, 8192, UNIT) == (expected, 0)


@pytest.mark.parametrize(("layout", "n"), SHAPES)
def test_a_small_write_with_one_failure(layout: Layout, n: int) -> None:
    """With the data lost the rest is read, with parity lost too (RAID 5: nothing), else the old data and parity."""
    p = PARITIES[layout]
    rest = n - p - 1
    reads = 1 * rest + (p * rest if p == 2 else 0) + rest * (1 + p)
    writes = 1 * p + p * p + rest * (1 + p)
    assert mean_ios(layout, n, 1, WRITE, 8192, UNIT) == (Fraction(reads, n), Fraction(writes, n))
    if layout == "raid5":
        assert reads + writes == 5 * n - 8


@pytest.mark.parametrize(("layout", "n"), SHAPES)
def test_a_small_write_to_a_healthy_array(layout: Layout, n: int) -> None:
    p = PARITIES[layout]
    assert mean_ios(layout, n, 0, WRITE, 8192, UNIT) == (min(1 + p, n - p - 1), 1 + p)


@pytest.mark.parametrize("n", [4, 5, 7])
def test_a_small_write_to_raid6_with_two_failures(n: int) -> None:
    """By what has failed: the data and a parity, the data and another unit, both parities, one and
    a unit, two units.
    """
    rest = n - 3
    pairs = n * (n - 1) // 2
    two = rest * (rest - 1) // 2
    reads = 2 * rest + rest * (n - 2) + 0 + 2 * rest * (n - 2) + two * 3
    writes = 2 * 1 + rest * 2 + 1 + 2 * rest * 2 + two * 3
    assert mean_ios("raid6", n, 2, WRITE, 8192, UNIT) == (Fraction(reads, pairs), Fraction(writes, pairs))


@pytest.mark.parametrize(("layout", "n"), [("raid5", 5), ("raid5", 6), ("raid6", 6), ("raid6", 7)])
def test_writes_of_some_units_of_a_row_with_one_failure(layout: Layout, n: int) -> None:
    p = PARITIES[layout]
    columns = n - p
    for k in range(1, columns):
        rest = columns - k
        reads = k * rest + (p * rest if p == 2 else 0) + rest * (k + p)
        writes = k * (k - 1 + p) + p * (k + p - 1) + rest * (k + p)
        assert mean_ios(layout, n, 1, WRITE, k * UNIT, columns * UNIT) == (Fraction(reads, n), Fraction(writes, n))


@pytest.mark.parametrize(("layout", "n"), SHAPES)
def test_whole_rows_are_written_to_the_members_that_are_there(layout: Layout, n: int) -> None:
    columns = n - PARITIES[layout]
    for failures in range(PARITIES[layout] + 1):
        found = mean_ios(layout, n, failures, WRITE, columns * UNIT, columns * UNIT)
        assert found == (0, n - failures)


@pytest.mark.parametrize(
    ("n", "layout", "copies"), [(2, "raid1", 2), (3, "raid1", 3), (4, "raid10", 2), (8, "raid10", 2)]
)
def test_mirrors(n: int, layout: Layout, copies: int) -> None:
    """Reads cost one IO, writes one for each copy: 2 - 2 / n of RAID 10 with one failure, over all places."""
    columns = n // copies
    for failed in [(), *((member,) for member in range(n))]:
        found = [ios(layout, n, UNIT, op, unit * UNIT, 8192, failed) for op in (READ, WRITE) for unit in range(columns)]
        reads = [len(one.reads) for one in found[:columns]]
        writes = [len(one.writes) for one in found[columns:]]
        assert reads == [1] * columns
        assert Fraction(sum(writes), columns) == copies - Fraction(len(failed), columns)
        assert not {at for one in found for at, _, _ in one.reads + one.writes} & set(failed)
        assert len(ios(layout, n, UNIT, FLUSH, 0, 0, failed).writes) == n - len(failed)
        assert len(ios(layout, n, UNIT, DISCARD, 0, columns * UNIT, failed).writes) == n - len(failed)


def test_a_read_next_to_a_lost_unit_is_one_io_for_each_member() -> None:
    """RAID 5 of 4, row 0: P on member 3, data on 0 to 2. Member 1 is lost: both others read their own and its part in
    one.
    """
    found = ios("raid5", 4, UNIT, READ, UNIT - 8192, 16384, failed=[1])
    assert sorted(found.reads) == [(0, 0, UNIT), (2, 0, 8192), (3, 0, 8192)]
    # rows that follow each other are read in one piece; in row 2 only P is lost, but the others hold data
    found = ios("raid5", 4, UNIT, READ, 0, 4 * 3 * UNIT, failed=[1])
    assert sorted(found.reads) == [(0, 0, 4 * UNIT), (2, 0, 4 * UNIT), (3, 0, 4 * UNIT)]


# ---- byte by byte

shapes = st.tuples(st.sampled_from(["raid5", "raid6"]), st.integers(0, 4), st.integers(1, 5))


@example(("raid5", 0, 4), 53, 120, [0])  # it ends within a unit that is lost
@given(shapes, st.integers(0, 150), st.integers(1, 120), st.lists(st.integers(0, 7), max_size=2))
@settings(max_examples=examples(400), deadline=None)
def test_reads_restore_what_is_lost(shape: tuple[Layout, int, int], offset: int, length: int, lost: list[int]) -> None:
    """Every byte that is wanted is read, or as many bytes of its row as there are units of data."""
    layout, more, unit = shape
    parities = PARITIES[layout]
    members = parities + 2 + more
    failed = {member % members for member in lost[:parities]}
    found = ios(layout, members, unit, READ, offset, length, failed)
    own = [(member, at + index) for member, at, count in found.reads for index in range(count)]
    assert len(own) == len(set(own))
    for byte in range(offset, offset + length):
        member, at, _, _ = home(layout, members, unit, byte)
        beside = sum((other, at) in own for other in range(members))
        assert (member, at) in own if member not in failed else beside >= members - parities


@given(shapes, st.integers(0, 150), st.integers(1, 120), st.lists(st.integers(0, 7), max_size=2))
@settings(max_examples=examples(600), deadline=None)
def test_parity_can_be_computed_from_what_is_read(
    shape: tuple[Layout, int, int], offset: int, length: int, lost: list[int]
) -> None:
    """All data of a byte's row are known afterwards, or the change of each and the old parity; all that is there is
    written.
    """
    layout, more, unit = shape
    parities = PARITIES[layout]
    members = parities + 2 + more
    columns = members - parities
    failed = {member % members for member in lost[:parities]}
    found = ios(layout, members, unit, WRITE, offset, length, failed)
    read = {(member, at + index) for member, at, count in found.reads for index in range(count)}
    written = [(member, at + index) for member, at, count in found.writes for index in range(count)]
    assert len(written) == len(set(written))
    new = {home(layout, members, unit, byte)[:2] for byte in range(offset, offset + length)}
    for at in {at for _, at in {*new, *written}}:
        first = members - 1 - at // unit % members
        data = [((first + parities + column) % members, at) for column in range(columns)]
        parity = [((first + index) % members, at) for index in range(parities)]
        there = [one for one in parity if one[0] not in failed]
        changed = [one for one in data if one in new]
        restored = sum(one in read for one in data + parity) >= columns
        known = restored or all(one in read or one in new for one in data)
        modified = all(one in read for one in changed + there)
        if changed:
            assert {one for one in changed if one[0] not in failed} <= set(written)
            assert set(there) <= set(written)
        if any(one in written for one in there):
            assert known or modified


# ---- time


def saturated(layout: Layout, members: int, op: int, failed: Collection[int], turns: int) -> float:
    """Requests a second of an array of members that do 1000 IOs a second, each unit of so many turns asked for once."""
    builder, array = build(layout, members, UNIT, failed=failed)
    columns = members - PARITIES[layout] if layout in PARITIES else members // 2 if layout == "raid10" else 1
    units = np.random.default_rng(1).permutation(turns * members * columns)
    # writes of one row are at offsets of their own, so that they do not wait for each other
    found: Run = run(builder, commands(np.zeros(len(units)), array, op, units * UNIT + units % columns * 8192, 8192))
    return len(units) / (found.outcome.end_ns / 1e9)


@needs_jit
@pytest.mark.parametrize(
    ("layout", "n", "failed", "op", "busy", "per_request"),
    [
        ("raid1", 3, [], READ, 3, 1), ("raid1", 3, [1], READ, 2, 1), ("raid1", 3, [1], WRITE, 2, 2),
        ("raid10", 8, [], READ, 8, 1), ("raid10", 8, [], WRITE, 8, 2),
        # the mirror of the failed one has as many reads as the other pairs and is alone with them
        ("raid10", 8, [3], READ, 4, 1), ("raid10", 8, [3], WRITE, 4, 1),
        ("raid5", 8, [], READ, 8, 1), ("raid5", 8, [], WRITE, 8, 4),
        ("raid5", 8, [3], READ, 7, Fraction(2 * 7, 8)), ("raid5", 8, [3], WRITE, 7, Fraction(5 * 8 - 8, 8)),
        ("raid6", 8, [], READ, 8, 1), ("raid6", 8, [], WRITE, 8, 6),
        ("raid6", 8, [3], READ, 7, Fraction(2 * 7, 8)),
        # who never shares a row's parity with the failed member is busiest: of 48 writes in 8 rows it has 6 IOs in each
        # of the rows whose P or Q is lost, 11 where it holds P or Q itself, 3 in the other 4
        ("raid6", 8, [3], WRITE, 1, Fraction(2 * 6 + 2 * 11 + 4 * 3, 48)),
        ("raid6", 8, [3, 6], READ, 6, Fraction(3 * 6, 8)),
    ],
)  # fmt: skip
def test_saturated_members_do_their_rate_over_the_ios_of_a_request(
    layout: Layout, n: int, failed: list[int], op: int, busy: int, per_request: Any
) -> None:
    turns = 10_000 // (n * n)
    assert saturated(layout, n, op, failed, turns) == pytest.approx(busy * 1000 / float(per_request), rel=0.02)


# ---- what is possible


def test_what_is_lost_is_refused() -> None:
    assert loss_of("raid10", 8, [0, 2, 5]) is None
    assert loss_of("raid1", 3, [0, 2]) is None
    assert loss_of("raid6", 6, [0, 5]) is None
    assert (
        loss_of("raid10", 8, [1, 4, 5])
        == 'members [4, 5] of layout = "raid10" hold all copies of their data; leave one of them out'
    )
    assert loss_of("raid0", 4, [2]) == 'layout = "raid0" has no second copy of what was on [2]; leave failed out'
    assert loss_of("raid5", 5, [0, 1]) == 'layout = "raid5" survives the loss of 1, not of 2; leave others out'
    assert loss_of("raid5", 5, [5]) == "the members of 5 devices are 0 to 4, not [5]; correct the number"
    assert loss_of("raid6", 5, [1, 1]) == "[1, 1] names a member twice; name it once"
