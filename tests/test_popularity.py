"""Laws of popularity: drawn as they say, found again from what a pool missed and held, and right about pools of other
sizes.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.counted_bundles import bundle
from tests.examples import first
from tests.row_sweep import ACCESSES, HEAP, INDEX, scattered, shape_of, walked
from tests.runs import needs_jit, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.errors import TraceError
from tiersim.random_numbers import ACCESSED_ROW, random_bits
from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law, fit, predict
from tiersim.scenarios.calibration.popularity.fit import extrapolated, least_squares, where_it_falls
from tiersim.scenarios.calibration.popularity.occupancy import MOST, Pool, levels
from tiersim.scenarios.calibration.popularity.recorded import Accesses, recorded_accesses
from tiersim.scenarios.calibration.popularity.references import missed_of, referenced_accesses
from tiersim.simulator.database.buffer_pool.pages import page_at
from tiersim.simulator.database.build import DatabaseHost, Relation, add_database
from tiersim.simulator.policies.misses import misses, numbered
from tiersim.simulator.popularity import (
    drawn_rank,
    first_updated,
    laws_of,
    moved_rows,
    part_source,
    rank_source,
    zipf,
)
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.differences import read_counters
from tiersim.traces.readers import import_trace
from tiersim.traces.references import ReferenceWriter, pages_only
from tiersim.traces.statistics import Values

DATA = Path(__file__).parents[2] / "shared" / "data"
LAB = DATA / "postgres" / "lab"
OLTP = DATA / "traces" / "arc" / "OLTP.lis.zst"


def accesses_of(path: Path) -> Accesses:
    return recorded_accesses(read_counters(path))


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.05, 1.8])
@pytest.mark.parametrize("rows", [1, 10, 5000])
def test_a_law_gives_each_rank_its_share(rows: int, exponent: float) -> None:
    law = zipf(rows, exponent)
    assert law.first[0] == 0
    assert law.first[-1] == rows
    weights = np.arange(1, rows + 1) ** -exponent
    exact = np.concatenate([[0], np.cumsum(weights)])[law.first[1:]] / weights.sum()
    assert law.reach / 2.0**62 == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("rows", [10, 5000, 100_000])
def test_a_hot_set_takes_its_share_evenly(rows: int) -> None:
    hot = rows * 3 // 10
    law = zipf(rows, 0.5, ((hot, 0.6),))
    assert hot in law.first
    edges = law.first[1:]
    weights = np.concatenate([[0], np.cumsum(np.arange(1, rows + 1) ** -0.5)])
    exact = 0.4 * weights[edges] / weights[-1] + 0.6 * np.minimum(edges, hot) / hot
    assert law.reach / 2.0**62 == pytest.approx(exact, abs=1e-5)


def test_each_hot_level_takes_its_share_evenly() -> None:
    law = zipf(5000, 0.5, ((10, 0.3), (2000, 0.5)))
    edges = law.first[1:]
    weights = np.concatenate([[0], np.cumsum(np.arange(1, 5001) ** -0.5)])
    exact = 0.2 * weights[edges] / weights[-1] + 0.3 * np.minimum(edges, 10) / 10
    exact += 0.5 * np.clip(edges - 10, 0, 2000) / 2000
    assert law.reach / 2.0**62 == pytest.approx(exact, abs=1e-5)


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(0, 2**40), st.integers(0, 5))
def test_every_row_is_the_place_of_one_rank(rows: int, seed: int, entity: int) -> None:
    assert sorted(scattered(rank, rows, seed, entity) for rank in range(rows)) == list(range(rows))


@settings(deadline=None)
@given(st.floats(-1, 4), st.floats(0.01, 100), st.floats(0.1, 5))
def test_an_exponent_is_found_as_halvings_find_it(zero: float, steep: float, power: float) -> None:
    looked_at = []

    def excess(exponent: float) -> float:
        looked_at.append(exponent)
        return steep * float(np.sign(zero - exponent)) * float(abs(zero - exponent) ** power)

    low, high, middle = 0.0, 2.5, 1.25
    for _ in range(13):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    looked_at.clear()
    assert where_it_falls(excess) == middle
    assert len(set(looked_at)) == len(looked_at)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 5000), st.floats(0, 2.5), st.integers(0, 2**40))
def test_a_rank_is_of_the_part_that_holds_what_is_drawn(rows: int, exponent: float, seed: int) -> None:
    each = [zipf(rows, exponent), zipf(7, 0.3), zipf(2000, 1.0, ((10, 0.5),))]
    laws = laws_of(each)
    for table, law in enumerate(each):
        sources = part_source(seed, table), rank_source(seed, table)
        for counter in range(50):
            high, low = (random_bits(seed, ACCESSED_ROW, table, 2 * counter + half) >> 1 for half in (0, 1))
            part = int(np.searchsorted(law.reach, high << 31 | low, "right"))
            assert law.first[part] <= drawn_rank(laws, table, *sources, counter) < law.first[part + 1]


@needs_jit
def test_ranks_are_drawn_as_often_as_the_law_says() -> None:
    laws = laws_of([zipf(2000, 1.05)])
    sources = part_source(7, 0), rank_source(7, 0)
    drawn = np.array([drawn_rank(laws, 0, *sources, counter) for counter in range(200_000)])
    weights = np.arange(1, 2001) ** -1.05
    expected = 200_000 * weights / weights.sum()
    found = np.bincount(drawn, minlength=2000)
    for ranks in (slice(0, 1), slice(1, 10), slice(10, 100), slice(100, 1000), slice(1000, 1030), slice(1500, 2000)):
        assert found[ranks].sum() == pytest.approx(expected[ranks].sum(), abs=4 * np.sqrt(expected[ranks].sum()))
    again = [drawn_rank(laws, 0, *sources, counter) for counter in range(50)]
    assert again == drawn[:50].tolist()


def test_the_simulator_puts_the_hottest_row_of_a_table_that_grows_at_its_end() -> None:
    growing = Relation(100, (1, 5, 20), 1.0, recent=True, hot=((10, 0.5),))
    database = add_database(PlantBuilder(1), DatabaseHost(1, 4), [growing], [], statements_of(0))
    assert [page_at(database, 0, 0, level) for level in range(3)] == [0, 1 + 4, 6 + 19]
    assert [page_at(database, 0, 99, level) for level in range(3)] == [0, 1, 6]
    law = zipf(100, 1.0, ((10, 0.5),))
    np.testing.assert_array_equal(database.laws.reach, law.reach)


def test_of_each_page_the_row_that_is_updated_first_moves() -> None:
    waits = np.array([2.5, 0.5, 3.0, 1.0, 4.0, 9.0])
    mass = np.array([0.5, 0.5, 1.0, 0.5, 1.0, 0.0])
    page = np.array([0, 0, 1, 2, 2, 1])
    assert first_updated(waits, mass, page, 3).tolist() == [1, 3, 2]
    assert first_updated(waits, mass, page, 2).tolist() == [1, 3]
    assert first_updated(waits, mass, page, 0).tolist() == []


@needs_jit
def test_rows_that_hardly_anybody_updates_move_last() -> None:
    steep = Law(2.5, moved=1.0)
    (expected,) = Pool([replace(MADE_UP, accesses=1)], 1).expected([steep], 800)
    assert 0 < expected.heap_missed < 0.01
    moved = moved_rows(steep.table(MADE_UP.rows), MADE_UP.rows, MADE_UP.heap_pages, 1.0, 1, 0)
    assert len(moved.ranks) == MADE_UP.heap_pages
    assert moved.pages[0] == 0


def test_the_simulator_puts_rows_that_moved_behind_the_others() -> None:
    relations = [Relation(1_000, (1, 20, 100), 1.0, moved=share) for share in (0.0, 0.5, 1.0)]
    database = add_database(PlantBuilder(1), DatabaseHost(1, 4), relations, [], statements_of(0))
    moved_pages = (0, 5, 10)  # ten rows a page
    assert database.level_pages.tolist() == [1, 20, 100, 1, 20, 105, 1, 20, 110]
    for table, pages in enumerate(moved_pages):
        heap = np.array(
            [page_at(database, table, rank, 2) - database.level_start[3 * table + 2] for rank in range(1_000)]
        )
        leaf = np.array(
            [page_at(database, table, rank, 1) - database.level_start[3 * table + 1] for rank in range(1_000)]
        )
        places = np.array([scattered(rank, 1_000, database.seed[0], table) for rank in range(1_000)])
        assert leaf.tolist() == (places * 20 // 1_000).tolist()  # the index keeps the order of the key
        stay = heap < 100
        assert heap[stay].tolist() == (places[stay] * 100 // 1_000).tolist()
        assert np.bincount(heap, minlength=100 + pages)[100:].tolist() == [10] * pages
        gone = np.bincount(places[~stay] * 100 // 1_000, minlength=100)
        assert gone.max(initial=0) <= 1
        assert gone.sum() == 10 * pages
        if pages:
            assert heap[0] == 100  # the hottest is updated first


def test_levels_of_a_tree_add_up_to_its_pages() -> None:
    assert levels(0) == []
    for pages in (2, 3, 100, 283, 1000, 27_422, 2_000_000):
        assert levels(pages)[0] == 1
        assert sum(levels(pages)) == pytest.approx(pages, abs=4)


MADE_UP = AccessedTable("t", 400_000, 8_000, 1_600, 1, 0, 0)
HOT = 4_000  # rows


@cache
def run(table: AccessedTable, frames: int, law: Law, accesses: int = 400_000) -> AccessedTable:
    """Return the table with what a pool missed of accesses by a law, and what it held in the end."""
    shape, pages = shape_of([table])
    counted, used = walked(shape, pages, [law], np.array([1]), frames, 99, 20 * frames, accesses)
    index = sum(levels(table.index_pages))
    return replace(
        table,
        accesses=int(counted[0, ACCESSES]),
        index_missed=int(counted[0, INDEX]),
        heap_missed=int(counted[0, HEAP]),
        index_held=by_usage(used[:index]),
        heap_held=by_usage(used[index:]),
    )


def by_usage(used: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(np.bincount(used[used >= 0], minlength=MOST + 1).tolist())


def misses_alone(table: AccessedTable) -> AccessedTable:
    return replace(table, index_held=(), heap_held=())


def agree(found: Fitted, table: AccessedTable, law: Law, frames: int, rel: float, least: float = 0.002) -> None:
    """Hold what is predicted against what a pool of a size misses when it is walked over."""
    truth = run(table, frames, law)
    (predicted,) = predict(found, frames)
    assert predicted.heap == pytest.approx(truth.heap_missed / truth.accesses, rel=rel, abs=least), frames
    assert predicted.index == pytest.approx(truth.index_missed / truth.accesses, rel=rel, abs=least), frames


LAWS = [Law(), Law(0.8), Law(1.2), Law(0.5, HOT, 0.9), Law(1.1, recent=True)]


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize(
    ("law", "ordered", "touches"),
    first(
        7,
        *((law, bool(place % 2), 1) for place, law in enumerate(LAWS)),
        *((law, not place % 2, 2) for place, law in enumerate(LAWS[2:4])),
        *((law, not place % 2, 1) for place, law in enumerate(LAWS)),
        *((law, bool(place % 2), 2) for place, law in enumerate(LAWS)),
        *((law, not place % 2, 2) for place, law in enumerate(LAWS) if place not in (2, 3)),
    ),
)
def test_the_closed_form_is_what_a_sweep_does(law: Law, ordered: bool, touches: int) -> None:
    table = replace(MADE_UP, ordered=ordered, touches=touches)
    for frames in (800, 4_000):
        (expected,) = Pool([table], 1).expected([law], frames)
        truth = run(table, frames, law)
        assert expected.index_missed == pytest.approx(truth.index_missed / truth.accesses, rel=0.025, abs=0.002)
        assert expected.heap_missed == pytest.approx(truth.heap_missed / truth.accesses, rel=0.025, abs=0.002)
        assert expected.index_held.sum() + expected.heap_held.sum() == pytest.approx(frames, rel=0.001)
        assert expected.heap_held.sum() == pytest.approx(sum(truth.heap_held), rel=0.03)
        if touches == 1:
            assert expected.heap_held == pytest.approx(np.array(truth.heap_held), rel=0.05, abs=5 * frames**0.5)


def swept(frames: int, heap: int, each: float, accesses: int) -> tuple[float, float]:
    """Walk a sweep over rows that are looked up evenly, two uses each, and pages that are filled, one in each 1 /
    *each* accesses, and never asked for again: in the last half (misses in an access, filled pages held on average).
    """
    luck = np.random.default_rng(1)
    rows, fills = luck.integers(heap, size=accesses).tolist(), (luck.random(accesses) < each).tolist()
    frame_of: dict[int, int] = {}
    page_of, uses = [-1] * frames, [0] * frames
    hand, missed, filled, held, counted = 0, 0, heap, 0, 0

    def refer(page: int, count: int) -> bool:
        nonlocal hand, held
        if page in frame_of:
            uses[frame_of[page]] = min(uses[frame_of[page]] + count, MOST)
            return False
        while uses[hand]:
            uses[hand] -= 1
            hand = (hand + 1) % frames
        frame_of.pop(page_of[hand], None)
        held += (page >= heap) - (page_of[hand] >= heap)
        frame_of[page], page_of[hand], uses[hand] = hand, page, min(count, MOST)
        hand = (hand + 1) % frames
        return True

    for number in range(accesses):
        is_counted = 2 * number >= accesses
        missed += refer(rows[number], 2) and is_counted
        counted += held * is_counted
        if fills[number]:
            refer(filled, MOST)
            filled += 1
    return missed / (accesses / 2), counted / (accesses / 2)


@pytest.mark.parametrize("frames", [400, 1_200, 1_800])
def test_pages_of_inserted_rows_take_frames_until_the_hand_has_come_round_six_times(frames: int) -> None:
    """The larger the pool, the more of them lie in it, and the more is missed of all else."""
    heap, each, accesses = 2_000, 0.01, 200_000
    missed, held = swept(frames, heap, each, accesses)
    table = AccessedTable("t", 100 * heap, heap, 0, accesses, 0, 0, touches=2)
    expected = Pool([table], 1).added_held([Law()], frames, round(each * accesses))
    assert held == pytest.approx(expected, rel=0.12)
    (without,), (beside,) = (Pool([table], 1).expected([Law()], frames - taken) for taken in (0, round(expected)))
    assert beside.heap_missed == pytest.approx(missed, rel=0.03)
    if frames == 1_800:
        assert without.heap_missed < 0.8 * missed


def test_rows_lie_on_all_pages_of_the_file_unless_the_law_says_which_moved() -> None:
    table = AccessedTable("t", 400_000, 8_000, 0, 1, 0, 0, file_pages=8_400)
    for law, pages in ((Law(), 8_400), (Law(moved=0.5), 8_000)):
        assert table.heap_pages_by(law) == pages
    assert replace(table, file_pages=0).heap_pages_by(Law()) == 8_000
    (of_file,) = Pool([table], 1).expected([Law()], 4_200)
    (as_counted,) = Pool([replace(table, file_pages=0)], 1).expected([Law()], 4_000)
    assert of_file.heap_missed == pytest.approx(as_counted.heap_missed, rel=0.01)


@needs_jit
@pytest.mark.parametrize("law", [Law(), Law(0.8), Law(1.2)])
@pytest.mark.parametrize("accesses", [500, 2_000, 20_000])
def test_a_pool_that_fills_misses_what_a_sweep_does_that_began_empty(law: Law, accesses: int) -> None:
    """Half full at the end, just full, and full since long."""
    truth = filled_from_nothing(accesses, law)
    (expected,) = Pool([truth], 1).expected([law], 2_000, 2_000)
    for missed, found in ((truth.index_missed, expected.index_missed), (truth.heap_missed, expected.heap_missed)):
        chance = 3 * (found * (1 - found) / accesses) ** 0.5
        assert found == pytest.approx(missed / accesses, rel=0.03, abs=max(chance, 0.01))


@needs_jit
@pytest.mark.parametrize("exponent", [0.8, 1.2])
def test_the_exponent_is_found_again_from_a_pool_that_filled(exponent: float) -> None:
    """5,000 accesses fill 2,000 frames; without knowing that the fit sees a colder table."""
    table = filled_from_nothing(5_000, Law(exponent))
    assert fit([table], 2_000, unused=2_000).exponents[0] == pytest.approx(exponent, abs=0.04)
    assert fit([table], 2_000).exponents[0] < exponent - 0.05


def filled_from_nothing(accesses: int, law: Law) -> AccessedTable:
    """Return what a pool of 2,000 pages that held nothing missed."""
    shape, pages = shape_of([MADE_UP])
    counted, _ = walked(shape, pages, [law], np.array([1]), 2_000, 99, 0, accesses)
    _, index, heap = counted[0].tolist()
    return replace(MADE_UP, accesses=accesses, index_missed=index, heap_missed=heap)


def test_frames_that_held_pages_at_first_are_filled_no_more() -> None:
    """Half of the pool was in use: fewer pages are missed than from nothing, more than if it had been full."""
    table = replace(MADE_UP, accesses=1_000)
    (nothing,), (half,), (full,) = (
        Pool([table], 1).expected([Law(0.8)], 2_000, unused) for unused in (2_000, 1_000, 0)
    )
    assert nothing.heap_missed > half.heap_missed > full.heap_missed


def test_a_table_that_is_not_fitted_is_asked_for_evenly() -> None:
    """Three pages that were in the pool all the time take part in it, and say nothing of their rows."""
    small = AccessedTable("small", 500, 3, 0, 400_000, 0, 0, even=True)
    found = fit([replace(MADE_UP, accesses=400_000, index_missed=40_000, heap_missed=200_000), small], 2_000)
    assert found.laws[1] == Law()
    assert found.missed[1].heap == pytest.approx(0, abs=1e-3)
    assert "small" not in found.bounded
    assert not any(line.startswith("small") for line in found.said)


def test_a_pool_that_holds_everything_misses_nothing() -> None:
    (expected,) = Pool([MADE_UP], 1).expected([Law(1.0)], 10_000)
    assert expected.heap_missed == pytest.approx(0, abs=1e-6)
    assert expected.heap_held.sum() == pytest.approx(8_000, rel=0.001)


@needs_jit
@pytest.mark.parametrize("exponent", [0.8, 1.05])
def test_rows_that_move_are_missed_as_where_updates_have_moved_them(exponent: float) -> None:
    """Updates one after the other: a page that sees its first gives that row away; the sweep is walked over what is
    asked for afterwards.
    """
    rows, pages, frames = 100_000, 2_000, 400
    luck = np.random.default_rng(7)
    law = zipf(rows, exponent)
    reach = np.concatenate([[0.0], law.reach / 2.0**62])
    ranks = np.interp(luck.random(1_000_000), reach, law.first).astype(np.int64)
    page = luck.permutation(rows) * pages // rows
    updated, asked = ranks[:300_000], ranks[300_000:]
    _, first = np.unique(page[updated], return_index=True)
    moved = updated[np.sort(first)]
    page[moved] = pages + np.arange(len(moved)) // (rows // pages)
    references, distinct = numbered(page[asked])
    counted = misses("postgresql", references, distinct, frames) - misses(
        "postgresql", references[:200_000], distinct, frames
    )
    table = AccessedTable("t", rows, pages, 0, 500_000, counted, 0, updated=True)
    (expected,) = Pool([table], 1).expected([Law(exponent, moved=len(moved) / pages)], frames)
    assert expected.heap_missed == pytest.approx(counted / 500_000, rel=0.03)
    (stayed,) = Pool([table], 1).expected([Law(exponent)], frames)
    assert stayed.heap_missed > 1.08 * expected.heap_missed


@pytest.mark.parametrize("share", [pytest.param(0.4, marks=pytest.mark.long), 1.0])
def test_rows_that_moved_are_found_by_how_misses_divide(share: float) -> None:
    truth = Law(1.05, moved=share)
    table = replace(MADE_UP, accesses=400_000, updated=True)

    def missed(frames: int) -> AccessedTable:
        (expected,) = Pool([table], 5).expected([truth], frames)
        return replace(
            table,
            index_missed=round(400_000 * expected.index_missed),
            heap_missed=round(400_000 * expected.heap_missed),
            index_held=tuple(map(round, expected.index_held.tolist())),
            heap_held=tuple(map(round, expected.heap_held.tolist())),
        )

    found = fit([missed(2_000)], 2_000)
    assert found.laws[0].moved == pytest.approx(share, abs=0.21)
    assert any("the first update in such a page moved a row to another page" in line for line in found.said)
    assert found.laws[0].hot_share == 0
    for frames in (800, 4_000):
        (predicted,), there = predict(found, frames), missed(frames)
        assert predicted.heap == pytest.approx(there.heap_missed / 400_000, rel=0.03)
        assert predicted.index == pytest.approx(there.index_missed / 400_000, rel=0.05, abs=0.002)
    before = fit([replace(missed(2_000), updated=False)], 2_000)  # usage counts tell it, too
    assert before.laws == found.laws
    nobody_looked = replace(missed(2_000), updated=False, index_held=(), heap_held=())
    assert fit([nobody_looked], 2_000).laws[0].moved == 0


@needs_jit
@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.2])
def test_the_exponent_is_found_again_from_what_was_missed(exponent: float) -> None:
    law = Law(exponent)
    found = fit([misses_alone(run(MADE_UP, 2_000, law))], 2_000)
    # laws that are nearly uniform miss nearly alike
    assert found.exponents[0] == pytest.approx(exponent, abs=0.02 if exponent > 0.5 else 0.2)
    assert found.bounded == ()
    assert "cannot tell a hot set from Zipf's law" in found.said[0]
    for frames in (800, 4_000, 6_000):
        agree(found, MADE_UP, law, frames, rel=0.05)
    assert predict(found, 800)[0].heap > predict(found, 4_000)[0].heap


@pytest.mark.parametrize("off", [0.985, 1.0, 1.01])
def test_keys_that_are_drawn_evenly_are_taken_so_from_a_small_pool(off: float) -> None:
    """One per cent fewer misses than evenly drawn keys have would be an exponent of 0.3, and a tenth fewer in a pool
    five times as large.
    """
    (expected,) = Pool([MADE_UP], 1).expected([Law(0.0)], 800)
    counts = round(off * 400_000 * expected.index_missed), round(off * 400_000 * expected.heap_missed)
    found = fit([replace(MADE_UP, accesses=400_000, index_missed=counts[0], heap_missed=counts[1])], 800)
    assert found.exponents == (0.0,)
    assert found.bounded == ()


@needs_jit
@pytest.mark.parametrize("exponent", [0.8, 1.2])
def test_usage_counts_that_zipf_s_law_explains_leave_it(exponent: float) -> None:
    found = fit([run(MADE_UP, 2_000, Law(exponent))], 2_000)
    assert found.laws[0].hot_share == 0
    assert found.said == ()
    assert max(one.distance for one in found.residuals) < 3
    assert {one.figure for one in found.residuals} >= {
        "index pages missed per access", "heap pages missed per access", "heap pages with a usage count of 2",
    }  # fmt: skip


@pytest.mark.long
@needs_jit
def test_usage_counts_tell_a_hot_set_from_zipf_s_law() -> None:
    """90 % of the accesses to 1 % of the rows, fitted at one size."""
    law = Law(0.5, HOT, 0.9)
    table = run(MADE_UP, 2_000, law)
    found = fit([table], 2_000)
    assert "predicted by Zipf's law alone; so the model takes " in found.said[0]
    assert found.laws[0].hot_rows == pytest.approx(HOT, rel=0.3)
    assert found.laws[0].hot_share == pytest.approx(0.9, abs=0.07)
    agree(found, MADE_UP, law, 800, rel=0.05)
    agree(found, MADE_UP, law, 4_000, rel=0.1)


def test_one_usage_count_that_is_far_off_contradicts_no_law() -> None:
    """Of ten figures one is 40 % off, as the hottest pages of a small pool were on a real server."""
    (expected,) = Pool([MADE_UP], 5).expected([Law(1.05)], 500)
    table = replace(
        MADE_UP,
        index_missed=round(MADE_UP.accesses * expected.index_missed),
        heap_missed=round(MADE_UP.accesses * expected.heap_missed),
        index_held=tuple(map(round, expected.index_held.tolist())),
        heap_held=tuple(map(round, (expected.heap_held * (1, 1, 1, 1, 0.6, 0.6)).tolist())),
    )
    found = fit([table], 500)
    assert max(one.distance for one in found.residuals) > 3
    assert found.laws[0] == replace(Law(), exponent=found.exponents[0])
    assert found.exponents[0] == pytest.approx(1.05, abs=0.03)
    assert found.contradicted == ()


@needs_jit
@pytest.mark.long
def test_a_second_size_tells_a_hot_set_from_zipf_s_law() -> None:
    """80 % to 5 %, of which no usage counts were recorded."""
    law = Law(0.0, 20_000, 0.8)
    first, *others = [([misses_alone(run(MADE_UP, size, law))], size) for size in (2_000, 800, 6_000)]
    zipf_s = fit(*first)
    (truth,) = others[1][0]
    assert predict(zipf_s, 6_000)[0].heap != pytest.approx(truth.heap_missed / truth.accesses, rel=0.1)
    found = fit(*first, others=others)
    assert "predicted by Zipf's law alone; so the model takes " in found.said[0]
    assert found.laws[0].hot_rows == pytest.approx(20_000, rel=0.3)
    agree(found, MADE_UP, law, 4_000, rel=0.05)
    assert not extrapolated(found, 20_000)
    assert extrapolated(zipf_s, 20_000)


@needs_jit
@pytest.mark.parametrize("exponent", [0.8, 1.1])
def test_a_table_that_grows_may_be_hot_at_its_end(exponent: float) -> None:
    growing, law = replace(MADE_UP, grows=True), Law(exponent, recent=True)
    found = fit([misses_alone(run(growing, 2_000, law))], 2_000)
    assert found.laws[0].recent
    assert found.exponents[0] == pytest.approx(exponent, abs=0.02)
    for frames in (800, 4_000, 6_000):
        agree(found, growing, law, frames, rel=0.05)


@needs_jit
def test_a_table_that_grows_need_not_be_hot_at_its_end() -> None:
    growing = replace(MADE_UP, grows=True)
    found = fit([run(growing, 2_000, Law(1.1))], 2_000)
    assert not found.laws[0].recent
    assert found.exponents[0] == pytest.approx(1.1, abs=0.02)


@needs_jit
def test_two_figures_are_too_few_to_find_a_hot_set_by() -> None:
    """Rows that are hot at the end of a table of which nobody knows that it grows."""
    found = fit([misses_alone(run(MADE_UP, 2_000, Law(0.8, recent=True)))], 2_000)
    assert found.laws[0].hot_share == 0
    assert any("2 figures are too few" in line for line in found.said)
    assert any("not explained by the fitted access distribution" in line for line in found.said)


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize(("cold", "told"), [(0.4, 0.0), (0.8, 0.8)])
def test_tables_that_share_a_pool_are_fitted_together(cold: float, told: float) -> None:
    """Rows by an exponent of 0.4 are missed like evenly drawn ones, within 1 % in the recorded pool and 3 % in larger
    ones.
    """
    tables = [
        AccessedTable("hot", 100_000, 2_000, 400, 300_000, 0, 0),
        AccessedTable("cold", 400_000, 8_000, 0, 100_000, 0, 0, ordered=False),
    ]
    shape, pages = shape_of(tables)

    def missed(frames: int) -> list[AccessedTable]:
        laws, parts = [Law(1.1), Law(cold)], np.array([3, 1])
        counted, _ = walked(shape, pages, laws, parts, frames, 5, 24 * frames, 400_000)
        return [
            replace(table, accesses=int(c[ACCESSES]), heap_missed=int(c[HEAP]), index_missed=int(c[INDEX]))
            for table, c in zip(tables, counted, strict=True)
        ]

    found = fit(missed(2_500), 2_500)
    assert found.exponents == pytest.approx([1.1, told], abs=0.05)
    for frames, rel in ((2_500, 0.01), (5_000, 0.01), (7_500, 0.03), (9_000, 0.03)):
        for predicted, table in zip(predict(found, frames), missed(frames), strict=True):
            assert predicted.heap == pytest.approx(table.heap_missed / table.accesses, rel=rel, abs=0.001), frames


def test_more_misses_than_any_law_gives_are_said() -> None:
    scanned = AccessedTable("t", 400_000, 8_000, 1_600, 1_000_000, 1_000_000, 1_000_000)
    assert fit([scanned], 2_000).bounded == ("t",)


def test_a_recording_shorter_than_a_round_of_the_hand_contradicts_nothing() -> None:
    short = AccessedTable("t", 400_000, 8_000, 1_600, 500, 300, 10)
    found = fit([short], 2_000)
    assert found.laws[0].hot_share == 0
    assert "went round the pool only" in found.said[0]


@pytest.mark.parametrize(("accesses", "is_short"), [(500, True), (1_000_000, False)])
def test_a_law_told_by_less_than_a_round_of_the_hand_is_said(accesses: int, is_short: bool) -> None:
    """All that was recorded is as the law has it in the long run, and few accesses would leave it so."""
    table = AccessedTable("t", 400_000, 8_000, 1_600, accesses, 0, 0)
    one = Pool([table], 1).expected([Law(0.8)], 2_000)[0]
    recorded = replace(
        table,
        heap_missed=round(accesses * one.heap_missed),
        index_missed=round(accesses * one.index_missed),
        heap_held=tuple(np.rint(one.heap_held).astype(int).tolist()),
        index_held=tuple(np.rint(one.index_held).astype(int).tolist()),
    )
    assert (one.rounds < 1) == is_short
    said = fit([recorded], 2_000).said
    assert [text.startswith("t: the sweep went round the pool 0.") for text in said] == [True] * is_short


def test_least_squares_finds_the_bottom_of_a_bent_valley() -> None:
    """Rosenbrock's function."""
    best, least = least_squares(lambda at: np.array([10 * (at[1] - at[0] ** 2), 1 - at[0]]), np.array([-0.5, 1.0]))
    assert best == pytest.approx([1, 1], abs=0.05)
    assert least < 1e-3


def test_nothing_to_fit_is_a_sentence() -> None:
    with pytest.raises(TraceError, match="no table was accessed by rows"):
        fit([AccessedTable("t", 0, 0, 0, 0, 0, 0)], 100)


def counted(
    folder: Path,
    relations: dict[str, dict[str, int | str]],
    queries: dict[str, tuple[int, int]],
    *,
    pool: Mapping[str, int] = {},
    host: Mapping[str, int] = {},
    sessions: Mapping[str, int] = {},
) -> Path:
    """Make a bundle whose relations and queries (calls, pages read) grew from nothing to what is given, as did the IO
    of *sessions*, and whose *pool* holds pages.
    """

    def values(found: dict[str, int | str], share: int) -> Values:
        counters = SUBJECTS["relation"].counters
        return {k: v if isinstance(v, str) else Decimal(v * (share if k in counters else 1)) for k, v in found.items()}

    snapshots = []
    for share in (0, 1):
        of = {("relation", name): values(found, share) for name, found in relations.items()}
        of |= {
            ("query", text): {"calls": Decimal(calls * share), "pages_read": Decimal(read * share)}
            for text, (calls, read) in queries.items()
        }
        if sessions:
            of["io", "client backend/relation/normal"] = {k: Decimal(v * share) for k, v in sessions.items()}
        of["pool", "public.other/5/clean"] = {"pages": Decimal(30)}
        of |= {("pool", entity): {"pages": Decimal(pages)} for entity, pages in pool.items()}
        snapshots.append((share * 10**9, of))
    path = bundle(folder, snapshots, {text: text for text in queries})
    (path / "manifest.json").write_text(json.dumps({"host": dict(host)}))
    pq.write_table(
        pa.table(
            {
                "time_ns": pa.array([], pa.int64()),
                "op": [],
                "offset_bytes": pa.array([], pa.int64()),
                "length_bytes": pa.array([], pa.int64()),
            }
        ),
        path / "requests.parquet",
    )
    return path


ACCOUNTS: dict[str, int | str] = {"kind": "table", "rows": 1000, "pages": 100, "pages_hit": 700, "pages_read": 300}
PRIMARY: dict[str, int | str] = {
    "kind": "index",
    "table": "public.accounts",
    "pages": 9,
    "pages_hit": 1960,
    "pages_read": 40,
}
POOL = {"shared_buffers_bytes": 80 * 8192, "page_bytes": 8192}


def test_tables_are_found_in_what_was_counted(tmp_path: Path) -> None:
    relations = {
        "public.accounts": ACCOUNTS,
        "public.accounts_pkey": PRIMARY,
        "public.calm": {**ACCOUNTS, "pages_read": 1},
    }
    found = accesses_of(counted(tmp_path, relations, {"select a from accounts": (1000, 340)}, host=POOL))
    assert found.frames == 80 - 30
    assert found.tables == (AccessedTable("public.accounts", 1000, 100, 9, 1000, 300, 40),)  # two levels


def test_scans_of_an_index_that_find_a_row_are_its_lookups(tmp_path: Path) -> None:
    """New versions of rows ask for pages of the index, too."""
    pages = PRIMARY | {"pages_hit": 4960, "index_scans": 1000, "index_rows": 990}
    ranges = PRIMARY | {"pages_hit": 4960, "index_scans": 1000, "index_rows": 9000}
    for number, (index, accesses) in enumerate(((pages, 1000), (ranges, 2500))):
        relations = {"public.accounts": ACCOUNTS, "public.accounts_pkey": index}
        found = accesses_of(counted(tmp_path / str(number), relations, {}, host=POOL))
        assert found.tables[0].accesses == accesses


def test_tables_that_are_changed_and_never_missed_are_asked_for_alike(tmp_path: Path) -> None:
    """Their rows are locked; one that hardly changes is left alone."""
    changed: dict[str, int | str] = {"kind": "table", "rows": 50, "pages": 1, "pages_hit": 3000, "rows_updated": 1000}
    index: dict[str, int | str] = {"kind": "index", "pages": 4, "pages_hit": 2000}
    relations: dict[str, dict[str, int | str]] = {
        "public.accounts": ACCOUNTS | {"rows_updated": 1000},
        "public.accounts_pkey": PRIMARY,
        "public.branches": changed,
        "public.branches_pkey": index | {"table": "public.branches", "index_scans": 3},
        "public.tellers": changed | {"rows": 500, "pages": 3},
        "public.tellers_pkey": index | {"table": "public.tellers", "index_scans": 1000},
        "public.calm": changed | {"rows_updated": 2},
    }
    found = accesses_of(counted(tmp_path, relations, {}, host=POOL))
    assert [table.name for table in found.tables] == ["public.accounts", "public.branches", "public.tellers"]
    assert found.tables[1:] == (
        AccessedTable("public.branches", 50, 1, 0, 1000, 0, 0, even=True),  # found by scans
        AccessedTable("public.tellers", 500, 3, 4, 1000, 0, 0, even=True),
    )
    assert sum("changes are spread evenly over its rows" in line for line in found.inferred) == 2


def test_pages_of_files_and_pages_that_were_added_are_taken(tmp_path: Path) -> None:
    """A table whose rows were inserted had its rows and its pages counted before, both."""
    relations = {
        "public.accounts": {**ACCOUNTS, "size_bytes": 110 * 8192},
        "public.grown": {**ACCOUNTS, "size_bytes": 110 * 8192, "rows_inserted": 5},
    }
    path = counted(tmp_path, relations, {}, host=POOL)
    assert [(table.name, table.file_pages) for table in accesses_of(path).tables] == [
        ("public.accounts", 110),
        ("public.grown", 0),
    ]


def test_pages_that_sessions_added_are_counted_and_not_how_often_they_did(tmp_path: Path) -> None:
    """PostgreSQL 18 adds several at a time."""
    sessions = {"extends": 3, "extended_bytes": 10 * 8192}
    path = counted(tmp_path, {"public.accounts": ACCOUNTS}, {}, host=POOL, sessions=sessions)
    assert accesses_of(path).added == 10


def test_frames_that_held_nothing_at_first_are_counted(tmp_path: Path) -> None:
    relations = {"public.accounts": ACCOUNTS, "public.accounts_pkey": PRIMARY}
    filling = accesses_of(counted(tmp_path / "a", relations, {}, pool={"//unused": 35}, host=POOL))
    assert (filling.frames, filling.unused) == (50, 35)
    assert "35 of the pool's 50 frames" in filling.inferred[-1]
    full = accesses_of(counted(tmp_path / "b", relations, {}, pool={"//unused": 0}, host=POOL))
    assert full.unused == 0


def test_pages_of_other_databases_are_no_frames_for_the_recorded_one(tmp_path: Path) -> None:
    """They have no name there; so few as dropped relations leave behind are none of theirs."""
    relations = {"public.accounts": ACCOUNTS, "public.accounts_pkey": PRIMARY}
    pools = {"several": {"/5/clean": 20, "/1/dirty": 6, "//unused": 0}, "alone": {"/5/clean": 4, "//unused": 0}}
    several, alone = (
        accesses_of(counted(tmp_path / name, relations, {}, pool=pool, host=POOL)) for name, pool in pools.items()
    )
    assert (several.frames, alone.frames) == (50 - 26, 50)
    assert any("26 of the pool's 80 pages are of other databases" in line for line in several.inferred)
    assert not any("other databases" in line for line in alone.inferred)


def test_statements_that_find_what_others_missed_are_one_access(tmp_path: Path) -> None:
    relations = {"public.accounts": ACCOUNTS, "public.accounts_pkey": PRIMARY}
    queries = {
        "update accounts set a = ?": (500, 340),
        "select a from accounts": (500, 2),
        "select b from accounts_old": (500, 900),
    }
    found = accesses_of(counted(tmp_path, relations, queries, host=POOL))
    assert (found.tables[0].accesses, found.tables[0].touches) == (500, 2)
    assert "2 statements of a transaction look up the same row" in found.inferred[0]


def test_pages_of_scans_are_no_lookups(tmp_path: Path) -> None:
    """Two scans of 100 pages, of which the pool holds 40."""
    scanned = {**ACCOUNTS, "pages_read": 420, "sequential_scans": 2, "sequential_rows": 2000}
    held: dict[str, dict[str, int | str]] = {"public.accounts": scanned, "public.accounts_pkey": PRIMARY}
    path = counted(
        tmp_path, held, {}, pool={"accounts/1/clean": 30, "accounts/2/dirty": 10, "accounts_pkey/5/clean": 8}, host=POOL
    )
    (table,) = accesses_of(path).tables
    assert table.heap_missed == 420 - 2 * (100 - 40)
    assert table.accesses == 1000
    assert table.heap_held == (0, 30, 10, 0, 0, 0)
    assert table.index_held == (0, 0, 0, 0, 0, 8)
    assert "2.0 full scans" in accesses_of(path).inferred[0]


def test_a_table_that_is_only_scanned_has_no_hot_rows(tmp_path: Path) -> None:
    scanned = {**ACCOUNTS, "sequential_scans": 10, "sequential_rows": 10_000}
    relations = {"public.read": scanned, "public.accounts": ACCOUNTS, "public.accounts_pkey": PRIMARY}
    found = accesses_of(counted(tmp_path, relations, {}, host=POOL))
    assert [table.name for table in found.tables] == ["public.accounts"]
    assert any("public.read: only scanned, never looked up by row" in line for line in found.inferred)


def test_scans_that_end_early_count_by_their_rows(tmp_path: Path) -> None:
    begun = {**ACCOUNTS, "sequential_scans": 50, "sequential_rows": 1000}  # the rows of one
    relations: dict[str, dict[str, int | str]] = {"public.accounts": begun, "public.accounts_pkey": PRIMARY}
    (table,) = accesses_of(counted(tmp_path, relations, {}, host=POOL)).tables
    assert table.heap_missed == 300 - 30  # a tenth of its pages were a scan's


def test_a_table_that_rows_were_inserted_into_grows(tmp_path: Path) -> None:
    relations = {"public.accounts": {**ACCOUNTS, "rows_inserted": 3}, "public.accounts_pkey": PRIMARY}
    assert accesses_of(counted(tmp_path, relations, {}, host=POOL)).tables[0].grows


def test_references_say_what_pools_of_any_size_would_have_missed(tmp_path: Path) -> None:
    """Four pages round and round: a pool of two misses each, one of four none."""
    found = missed_of(np.tile(np.array([7, 1 << 40, 3, 5]), 100), [2, 4])
    assert [size for _, size in found] == [2, 4]
    assert [(table.accesses, table.heap_missed) for (table,), _ in found] == [(200, 200), (200, 0)]
    assert found[0][0][0].heap_pages == 4


def test_a_bundle_s_references_are_those_of_its_relations(tmp_path: Path) -> None:
    writer = ReferenceWriter(tmp_path)
    writer.relation_names = ["a", "b"]
    pages = np.tile(np.array([1, 2, 1, 2]), 50)
    writer.append(pages_only(pages, relation=np.tile(np.array([0, 0, 1, 1], np.int32), 50)))
    writer.close()
    (((table,), _),) = referenced_accesses(tmp_path, [4])
    assert (table.heap_pages, table.heap_missed) == (4, 0)  # page 1 of a is not page 1 of b


def test_rows_that_no_index_leads_to_are_found_by_themselves(tmp_path: Path) -> None:
    found = accesses_of(counted(tmp_path, {"public.accounts": ACCOUNTS}, {}, host=POOL))
    assert (found.tables[0].index_pages, found.tables[0].accesses, found.tables[0].touches) == (0, 1000, 1)
    assert "no index" in found.inferred[0]


def test_what_is_lacking_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="how large the buffer pool was"):
        accesses_of(counted(tmp_path / "a", {"public.accounts": ACCOUNTS}, {}))
    with pytest.raises(TraceError, match="names no table with its size, rows and misses"):
        accesses_of(counted(tmp_path / "b", {"public.accounts": {**ACCOUNTS, "pages_read": 0}}, {}, host=POOL))


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(not LAB.is_dir(), reason="the recordings are not beside this checkout")
def test_pools_of_other_sizes_miss_what_a_real_server_missed(tmp_path: Path) -> None:
    """From one recording alone; of the others, only what they missed."""

    def accesses(name: str) -> Accesses:
        import_trace([LAB / name], tmp_path / f"{name}.trace", force=True)
        return accesses_of(tmp_path / f"{name}.trace")

    was = accesses("select_zipf_sb256_free")
    found = fit(was.tables, was.frames)
    assert found.exponents[0] == pytest.approx(1.05, abs=0.01)  # which pgbench was told
    assert found.said == ()  # the usage counts say the same
    for name in ("select_zipf_sb256_free", "select_zipf_sb64_r500", "select_zipf_sb1024_r2000"):
        (table,), frames = accesses(name).tables, accesses(name).frames
        (predicted,) = predict(found, frames)
        assert predicted.heap == pytest.approx(table.heap_missed / table.accesses, rel=0.1), name
        assert predicted.index == pytest.approx(table.index_missed / table.accesses, rel=0.1, abs=1e-4), name
    beyond = {ratio: extrapolated(found, round(was.frames * ratio)) for ratio in (0.2, 0.25, 0.3, 1, 3, 4, 5)}
    assert beyond == {0.2: True, 0.25: False, 0.3: False, 1: False, 3: False, 4: False, 5: True}
    for odd in range(4001, 4009):  # a quarter of it is rounded to whole pages
        assert not extrapolated(replace(found, frames=odd, other_sizes=()), round(odd / 4))
        assert extrapolated(replace(found, frames=odd, other_sizes=()), odd // 4 - 1)


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(not LAB.is_dir(), reason="the recordings are not beside this checkout")
def test_an_update_and_the_look_at_what_it_did_are_one_access(tmp_path: Path) -> None:
    import_trace([LAB / "update_zipf_sb512_free"], tmp_path / "update.trace")
    was = accesses_of(tmp_path / "update.trace")
    assert was.tables[0].touches == 2
    found = fit(was.tables, was.frames)
    assert found.exponents[0] == pytest.approx(1.05, abs=0.02)
    assert found.missed[0].index == pytest.approx(was.tables[0].index_missed / was.tables[0].accesses, rel=0.1)
    assert found.laws[0].hot_share == 0


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(not OLTP.is_file(), reason="the traces are not beside this checkout")
@pytest.mark.long
def test_pools_of_other_sizes_miss_what_a_trace_s_references_do() -> None:
    """One hour of a CODASYL database's references (Megiddo and Modha, FAST 2003), which are not independent of each
    other.
    """
    text = pa.input_stream(str(OLTP), compression="zstd").read()
    lines = np.array(text.split(), np.int64).reshape(-1, 4)
    references = np.concatenate([np.arange(start, start + count) for start, count in lines[:, :2]])
    sizes = (5_000, 1_000, 10_000, 2_000, 15_000, 20_000)
    counted = missed_of(references, sizes)
    one = fit(*counted[0])
    three = fit(*counted[0], others=counted[1:3])
    assert "predicted by Zipf's law alone; so the model takes " in three.said[0]
    for (table,), size in counted:
        missed = table.heap_missed / table.accesses
        assert predict(one, size)[0].heap == pytest.approx(missed, rel=0.12), size
        assert predict(three, size)[0].heap == pytest.approx(missed, rel=0.05), size
