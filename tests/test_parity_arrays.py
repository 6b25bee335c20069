"""RAID 5 and RAID 6: which IOs reach the members, and whether data and parity agree after them."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.array_ios import MS, PARITIES, build, home, ios
from tests.examples import examples
from tests.runs import Run, commands, poisson, run
from tiersim.devices.array.parity_kernels import ROWS_AT_ONCE
from tiersim.devices.array.volume import Layout, add_array, problem_with, usable_bytes
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

UNIT = 65536

# ---- counts


@pytest.mark.parametrize(
    ("layout", "members", "reads", "writes"),
    [("raid5", 8, 2, 2), ("raid5", 5, 2, 2), ("raid6", 8, 3, 3), ("raid6", 7, 3, 3),
     ("raid5", 4, 2, 2), ("raid5", 3, 1, 2), ("raid6", 6, 3, 3), ("raid6", 5, 2, 3), ("raid6", 4, 1, 3)],
)  # fmt: skip
def test_a_small_write(layout: Layout, members: int, reads: int, writes: int) -> None:
    """Old data and parity, or, where that is not more, the other units of the row."""
    found = ios(layout, members, UNIT, WRITE, 3 * UNIT * members + 8192, 8192)
    assert (len(found.reads), len(found.writes)) == (reads, writes)
    assert {length for _, _, length in found.reads + found.writes} == {8192}


@pytest.mark.parametrize("layout", ["raid5", "raid6"])
def test_whole_rows_are_written_without_reading(layout: Layout) -> None:
    columns = 8 - PARITIES[layout]
    found = ios(layout, 8, UNIT, WRITE, 2 * columns * UNIT, 3 * columns * UNIT)
    assert found.reads == []
    assert sorted(found.writes) == [(member, 2 * UNIT, 3 * UNIT) for member in range(8)]


def test_half_a_row_is_reconstructed_or_modified_whichever_reads_less() -> None:
    """RAID 5 of 8: k of 7 units take k + 1 or 7 - k reads; the tie at k = 3 goes to reconstruction, as in md."""
    assert [len(ios("raid5", 8, UNIT, WRITE, 0, k * UNIT).reads) for k in range(1, 8)] == [2, 3, 4, 3, 2, 1, 0]
    tie = ios("raid5", 8, UNIT, WRITE, 0, 3 * UNIT)
    assert {member for member, _, _ in tie.reads}.isdisjoint(member for member, _, _ in tie.writes)


def test_a_flush_goes_to_every_member_and_a_discard_to_whole_rows() -> None:
    assert ios("raid6", 6, UNIT, FLUSH, 0, 0).writes == [(member, 0, 0) for member in range(6)]
    assert ios("raid5", 5, UNIT, DISCARD, 8192, 11 * UNIT).writes == [(member, UNIT, UNIT) for member in range(5)]
    assert ios("raid5", 5, UNIT, DISCARD, 8192, 4 * UNIT).writes == []


def test_consecutive_units_visit_all_members_in_turn() -> None:
    """The point of left-symmetric RAID 5."""
    assert [ios("raid5", 5, UNIT, READ, unit * UNIT, 512).reads[0][0] for unit in range(25)] == [*range(5)] * 5


def test_reads_of_very_many_rows_go_on_in_steps() -> None:
    rows = 3 * ROWS_AT_ONCE + 5
    found = ios("raid6", 5, 4096, READ, 512, rows * 3 * 4096)
    assert sum(length for _, _, length in found.reads) == rows * 3 * 4096
    for member in range(5):
        ends = [(offset, offset + length) for at, offset, length in found.reads if at == member]
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


# ---- byte by byte

shapes = st.tuples(st.sampled_from(["raid5", "raid6"]), st.integers(0, 4), st.integers(1, 5))


@given(shapes, st.integers(0, 150), st.integers(1, 120))
@settings(max_examples=examples(300), deadline=None)
def test_reads_are_what_byte_by_byte_striping_gives(shape: tuple[Layout, int, int], offset: int, length: int) -> None:
    layout, more, unit = shape
    members = PARITIES[layout] + 2 + more
    found = ios(layout, members, unit, READ, offset, length)
    own = [(member, at + index) for member, at, count in found.reads for index in range(count)]
    expected = [home(layout, members, unit, byte)[:2] for byte in range(offset, offset + length)]
    assert sorted(own) == sorted(expected)
    # nothing is cut that could be read in one piece
    ends = {(member, at + count) for member, at, count in found.reads}
    assert not ends & {(member, at) for member, at, _ in found.reads}


@given(shapes, st.integers(0, 150), st.integers(1, 120), st.integers(0, 2**32))
@settings(max_examples=examples(600), deadline=None)
def test_data_and_parity_agree_after_a_write(
    shape: tuple[Layout, int, int], offset: int, length: int, seed: int
) -> None:
    """A byte-level twin: parity can be computed from what was read, and every byte is written exactly once."""
    layout, more, unit = shape
    parities = PARITIES[layout]
    members = parities + 2 + more
    columns = members - parities
    rows = (offset + length) // unit // columns + 1
    generator = np.random.default_rng(seed)

    def parity(data: Any, kind: int) -> Any:  # linear codes that stand for P and Q
        factors = np.ones(columns, int) if kind == 0 else np.arange(1, columns + 1)
        return (data * factors[:, None]).sum(axis=0) % 256

    old = generator.integers(0, 256, (rows, columns, unit))
    new = old.copy()
    new_bytes = generator.integers(0, 256, length)
    for index in range(length):
        _, at, row, column = home(layout, members, unit, offset + index)
        new[row, column, at % unit] = new_bytes[index]
    found = ios(layout, members, unit, WRITE, offset, length)
    read = {(member, at + index) for member, at, count in found.reads for index in range(count)}
    written = [(member, at + index) for member, at, count in found.writes for index in range(count)]
    assert len(written) == len(set(written))
    given_bytes = {home(layout, members, unit, byte)[:2] for byte in range(offset, offset + length)}
    parity_written = set()
    for member, at in written:
        row = at // unit
        place = (member - (members - 1 - row % members)) % members  # parity first, then data
        if place >= parities:
            assert (member, at) in given_bytes
            continue
        parity_written.add((row, place, at % unit))
        first = members - 1 - row % members
        of_row = [((first + parities + column) % members, at) for column in range(columns)]
        modified = (member, at) in read and all(one in read for one in of_row if one in given_bytes)
        reconstructed = all(one in read or one in given_bytes for one in of_row)
        assert modified or reconstructed
    assert given_bytes <= set(written)
    for row in range(rows):
        for kind in range(parities):
            stale = np.flatnonzero(parity(old[row], kind) != parity(new[row], kind))
            assert {(row, kind, int(at)) for at in stale} <= parity_written
            touched = {at % unit for byte in range(offset, offset + length)
                       for _, at, r, _ in [home(layout, members, unit, byte)] if r == row}  # fmt: skip
            assert touched <= {at for r, k, at in parity_written if (r, k) == (row, kind)}


@given(shapes, st.integers(0, 150), st.integers(1, 120))
@settings(max_examples=examples(300), deadline=None)
def test_each_row_takes_the_way_with_fewer_reads(shape: tuple[Layout, int, int], offset: int, length: int) -> None:
    """Both ways counted out, byte by byte."""
    layout, more, unit = shape
    parities = PARITIES[layout]
    members = parities + 2 + more
    columns = members - parities
    touched: dict[int, dict[int, set[int]]] = {}
    for byte in range(offset, offset + length):
        _, at, row, column = home(layout, members, unit, byte)
        touched.setdefault(row, {}).setdefault(column, set()).add(at % unit)
    expected_reads = 0
    expected_writes = 0
    whole = [row for row, own in touched.items() if sum(map(len, own.values())) == columns * unit]
    for row, own in touched.items():
        if row in whole:
            continue
        everything = set.union(*own.values())
        span = set(range(min(everything), max(everything) + 1))
        modify = len(own) + parities
        reconstruct = sum(1 for column in range(columns) if span - own.get(column, set()))
        expected_reads += min(modify, reconstruct)
        expected_writes += len(own) + parities
    expected_writes += members * bool(whole)  # whole rows follow each other: one piece for each member
    found = ios(layout, members, unit, WRITE, offset, length)
    assert (len(found.reads), len(found.writes)) == (expected_reads, expected_writes)


# ---- time


def run_array(layout: Layout, members: int, fed: tuple[Any, ...], servers: int = 1) -> Run:
    builder, array = build(layout, members, UNIT, servers)
    times, op, offsets, lengths = fed
    return run(builder, commands(times, array, op, offsets, lengths))


def test_a_small_write_takes_two_services_one_after_the_other() -> None:
    alone = run_array("raid5", 5, ([0], WRITE, 0, 8192))
    assert alone.latency_ns.tolist() == [2 * MS + 2]  # controller and stripe pass it on within a nanosecond each


def test_writes_of_overlapping_parity_follow_each_other_and_others_do_not() -> None:
    """Members with many servers: what waits, waits for the stripe."""
    same = run_array("raid5", 5, (np.zeros(3), WRITE, [0, UNIT, 2 * UNIT], 8192), servers=64)
    # the next one is started at the dispatch after the end, a nanosecond passes until its reads are there
    assert same.latency_ns.tolist() == [2 * MS + 2, 4 * MS + 3, 6 * MS + 4]
    beside = run_array("raid5", 5, (np.zeros(3), WRITE, [0, UNIT + 8192, 2 * UNIT + 16384], 8192), servers=64)
    assert beside.latency_ns.tolist() == [2 * MS + 2] * 3
    rows = run_array("raid5", 5, (np.zeros(3), WRITE, [0, 4 * UNIT, 8 * UNIT], 8192), servers=64)
    assert rows.latency_ns.tolist() == [2 * MS + 2] * 3
    chain = run_array("raid5", 5, (np.zeros(3), WRITE, [0, UNIT + 4096, 2 * UNIT + 8192], 8192), servers=64)
    assert chain.latency_ns.tolist() == [2 * MS + 2, 4 * MS + 3, 6 * MS + 4]


def test_writes_that_lock_rows() -> None:
    """Of the first row: one unit, other offsets of the next, the same ones of the third. Of the third: two units, and
    then one that the first of them did not touch. From the last unit of the fourth row to the first of the fifth;
    beside it in both, and in its way. Reads pass.
    """
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", 64, MS) for index in range(5)]
    array = add_array(builder, drives, "raid5", UNIT, 1, "array", stripe_lock="rows")
    offsets = [0, UNIT + 8192, 2 * UNIT, 8 * UNIT, 11 * UNIT + 4096, 15 * UNIT + 16384, 12 * UNIT, 17 * UNIT + 8192]
    lengths = [8192, 8192, 8192, 2 * UNIT, 4096, UNIT - 12288, 8192, 8192]
    fed = commands(np.zeros(10), array, [*[WRITE] * 9, READ], [*offsets, 18 * UNIT, 18 * UNIT], [*lengths, 4096, 8192])
    assert (run(builder, fed).latency_ns // MS).tolist() == [2, 2, 4, 2, 4, 2, 2, 2, 4, 1]


def test_reads_do_not_wait_for_stripes() -> None:
    found = run_array("raid5", 5, (np.zeros(2), [WRITE, READ], [0, UNIT], 8192), servers=64)
    assert found.latency_ns.tolist() == [2 * MS + 2, MS + 1]


@pytest.mark.parametrize(("layout", "per_write"), [("raid5", 4), ("raid6", 6)])
def test_throughput_of_eight_drives(layout: Layout, per_write: int) -> None:
    """Each drive does 1000 IOs a second; a small write costs 2 x (1 + parities) of them."""
    count = 2_000
    offsets = np.random.default_rng(1).permutation(count) * UNIT
    found = run_array(layout, 8, (np.zeros(count), WRITE, offsets, 8192))
    assert found.plant.stations["finished"][:8].sum() == per_write * count
    assert count / (found.outcome.end_ns / 1e9) == pytest.approx(8000 / per_write, rel=0.08)
    found = run_array(layout, 8, (np.zeros(count), READ, offsets, 8192))
    assert count / (found.outcome.end_ns / 1e9) == pytest.approx(8000, rel=0.08)


def test_parity_spreads_over_all_members() -> None:
    count = 2_000
    offsets = np.random.default_rng(1).permutation(count) * UNIT
    done = run_array("raid5", 5, (poisson(count, 100.0), WRITE, offsets, 8192)).plant.stations["finished"][:5]
    np.testing.assert_allclose(done, done.mean(), rtol=0.01)


def test_a_flood_of_writes_that_wait_for_each_other_drains() -> None:
    count = 2_000
    found = run_array("raid5", 5, (np.zeros(count), WRITE, np.arange(count) * 8192, 8192), servers=64)
    assert found.outcome.left == count


# ---- what is possible


def test_capacity_and_counts() -> None:
    assert usable_bytes(10 * UNIT + 5, 5, "raid5", UNIT) == 40 * UNIT
    assert usable_bytes(10 * UNIT + 5, 6, "raid6", UNIT) == 40 * UNIT
    assert problem_with("raid5", 3) is None
    assert problem_with("raid5", 2) == 'layout = "raid5" needs a count of 3 or more, not 2'
    assert problem_with("raid6", 4) is None
    assert problem_with("raid6", 3) == 'layout = "raid6" needs a count of 4 or more, not 3'
