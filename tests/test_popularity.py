"""Laws of popularity: drawn as they say, found again from what a pool missed, and right about pools of other sizes."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counted_bundles import bundle
from tests.runs import needs_jit
from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity import AccessedTable, fit, predict
from tiersim.scenarios.calibration.popularity.fit import extrapolated
from tiersim.scenarios.calibration.popularity.recorded import Accesses, recorded_accesses
from tiersim.scenarios.calibration.popularity.sweep import ACCESSES, HEAP, INDEX, missed
from tiersim.scenarios.calibration.popularity.tables import levels, shape_of
from tiersim.simulator.popularity import draw_rank, scattered, zipf
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.readers import import_trace
from tiersim.traces.statistics import Values

pytestmark = pytest.mark.kernels

LAB = Path(__file__).parents[2] / "shared" / "data" / "postgres" / "lab"


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.05, 1.8])
@pytest.mark.parametrize("rows", [1, 10, 5000])
def test_a_law_gives_each_rank_its_share(rows: int, exponent: float) -> None:
    law = zipf(rows, exponent)
    assert law.first[0] == 0
    assert law.first[-1] == rows
    weights = np.arange(1, rows + 1) ** -exponent
    exact = np.concatenate([[0], np.cumsum(weights)])[law.first[1:]] / weights.sum()
    assert law.reach / 2.0**62 == pytest.approx(exact, abs=1e-6)


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(0, 2**40), st.integers(0, 5))
def test_every_row_is_the_place_of_one_rank(rows: int, seed: int, entity: int) -> None:
    assert sorted(scattered(rank, rows, seed, entity) for rank in range(rows)) == list(range(rows))


@needs_jit
def test_ranks_are_drawn_as_often_as_the_law_says() -> None:
    law = zipf(2000, 1.05)
    drawn = np.array([draw_rank(law.reach, law.first, 7, 0, counter) for counter in range(200_000)])
    weights = np.arange(1, 2001) ** -1.05
    expected = 200_000 * weights / weights.sum()
    found = np.bincount(drawn, minlength=2000)
    for ranks in (slice(0, 1), slice(1, 10), slice(10, 100), slice(100, 1000), slice(1000, 1030), slice(1500, 2000)):
        assert found[ranks].sum() == pytest.approx(expected[ranks].sum(), abs=4 * np.sqrt(expected[ranks].sum()))
    again = [draw_rank(law.reach, law.first, 7, 0, counter) for counter in range(50)]
    assert again == drawn[:50].tolist()


def test_levels_of_a_tree_add_up_to_its_pages() -> None:
    assert levels(0) == []
    for pages in (2, 3, 100, 283, 1000, 27_422, 2_000_000):
        assert levels(pages)[0] == 1
        assert sum(levels(pages)) == pytest.approx(pages, abs=4)


def run(table: AccessedTable, frames: int, exponent: float, accesses: int = 400_000) -> AccessedTable:
    """Return the table with what a pool missed of accesses by a law."""
    shape, pages = shape_of([table])
    counted = missed(shape, pages, [zipf(table.rows, exponent)], np.array([1]), frames, 99, 12 * frames, accesses)[0]
    known = {name: getattr(table, name) for name in ("name", "rows", "heap_pages", "index_pages", "touches", "ordered")}
    return AccessedTable(
        **known, accesses=int(counted[ACCESSES]), heap_missed=int(counted[HEAP]), index_missed=int(counted[INDEX])
    )


MADE_UP = AccessedTable("t", 400_000, 8_000, 1_600, 1, 0, 0)


@needs_jit
@pytest.mark.parametrize("exponent", [0.3, 1.1])
def test_the_exponent_is_found_again_from_what_was_missed(exponent: float) -> None:
    found = fit([run(MADE_UP, 2_000, exponent)], 2_000)
    # laws that are nearly uniform miss nearly alike
    assert found.exponents[0] == pytest.approx(exponent, abs=0.02 if exponent > 0.5 else 0.08)
    assert found.bounded == ()
    smaller, larger = (predict(found, frames)[0] for frames in (800, 5_000))
    for frames, predicted in ((800, smaller), (5_000, larger)):
        truth = run(MADE_UP, frames, exponent)
        assert predicted.heap == pytest.approx(truth.heap_missed / truth.accesses, rel=0.05)
        assert predicted.index == pytest.approx(truth.index_missed / truth.accesses, rel=0.05, abs=0.002)
    assert smaller.heap > larger.heap


@needs_jit
def test_tables_that_share_a_pool_are_fitted_together() -> None:
    hot = AccessedTable("hot", 100_000, 2_000, 400, 300_000, 0, 0)
    cold = AccessedTable("cold", 400_000, 8_000, 0, 100_000, 0, 0, ordered=False)
    shape, pages = shape_of([hot, cold])
    laws = [zipf(hot.rows, 1.1), zipf(cold.rows, 0.4)]
    counted = missed(shape, pages, laws, np.array([3, 1]), 2_500, 5, 60_000, 400_000)
    tables = [
        AccessedTable(t.name, t.rows, t.heap_pages, t.index_pages, int(c[ACCESSES]), int(c[HEAP]), int(c[INDEX]), 1, t.ordered)
        for t, c in zip((hot, cold), counted, strict=True)
    ]  # fmt: skip
    found = fit(tables, 2_500)
    assert found.exponents == pytest.approx([1.1, 0.4], abs=0.05)
    for fitted, table in zip(found.missed, tables, strict=True):
        assert fitted.heap == pytest.approx(table.heap_missed / table.accesses, rel=0.01)


@needs_jit
def test_more_misses_than_any_law_gives_are_said() -> None:
    scanned = AccessedTable("t", 400_000, 8_000, 1_600, 1000, 1000, 1000)
    assert fit([scanned], 2_000).bounded == ("t",)


def test_nothing_to_fit_is_a_sentence() -> None:
    with pytest.raises(TraceError, match="no table was accessed by rows"):
        fit([AccessedTable("t", 0, 0, 0, 0, 0, 0)], 100)


def counted(
    folder: Path, relations: dict[str, dict[str, int | str]], queries: dict[str, tuple[int, int]], **host: int
) -> Path:
    """Make a bundle whose relations and queries (calls, pages read) grew from nothing to what is given."""

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
        of["pool", "public.other/5/clean"] = {"pages": Decimal(30)}
        snapshots.append((share * 10**9, of))
    path = bundle(folder, snapshots, {text: text for text in queries})
    (path / "manifest.json").write_text(json.dumps({"host": host}))
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
    found = recorded_accesses(counted(tmp_path, relations, {"select a from accounts": (1000, 340)}, **POOL))
    assert found.frames == 80 - 30
    assert found.tables == (AccessedTable("public.accounts", 1000, 100, 9, 1000, 300, 40),)  # two levels


def test_statements_that_find_what_others_missed_are_one_access(tmp_path: Path) -> None:
    relations = {"public.accounts": ACCOUNTS, "public.accounts_pkey": PRIMARY}
    queries = {
        "update accounts set a = ?": (500, 340),
        "select a from accounts": (500, 2),
        "select b from accounts_old": (500, 900),
    }
    found = recorded_accesses(counted(tmp_path, relations, queries, **POOL))
    assert (found.tables[0].accesses, found.tables[0].touches) == (500, 2)
    assert "2 statements in turn" in found.inferred[0]


def test_rows_that_no_index_leads_to_are_found_by_themselves(tmp_path: Path) -> None:
    found = recorded_accesses(counted(tmp_path, {"public.accounts": ACCOUNTS}, {}, **POOL))
    assert (found.tables[0].index_pages, found.tables[0].accesses, found.tables[0].touches) == (0, 1000, 1)
    assert "no index" in found.inferred[0]


def test_what_is_lacking_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="how large the buffer pool was"):
        recorded_accesses(counted(tmp_path / "a", {"public.accounts": ACCOUNTS}, {}))
    with pytest.raises(TraceError, match="has no table that pages were missed of"):
        recorded_accesses(counted(tmp_path / "b", {"public.accounts": {**ACCOUNTS, "pages_read": 0}}, {}, **POOL))


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(not LAB.is_dir(), reason="the recordings are not beside this checkout")
def test_pools_of_other_sizes_miss_what_a_real_server_missed(tmp_path: Path) -> None:
    """From one recording alone; of the others, only what they missed."""

    def accesses(name: str) -> Accesses:
        import_trace([LAB / name], tmp_path / f"{name}.trace", force=True)
        return recorded_accesses(tmp_path / f"{name}.trace")

    was = accesses("select_zipf_sb256_free")
    found = fit(was.tables, was.frames)
    assert found.exponents[0] == pytest.approx(1.05, abs=0.01)  # which pgbench was told
    for name in ("select_zipf_sb256_free", "select_zipf_sb64_r500", "select_zipf_sb1024_r2000"):
        (table,), frames = accesses(name).tables, accesses(name).frames
        (predicted,) = predict(found, frames)
        assert predicted.heap == pytest.approx(table.heap_missed / table.accesses, rel=0.1), name
        assert predicted.index == pytest.approx(table.index_missed / table.accesses, rel=0.1, abs=1e-4), name
    assert [extrapolated(found, int(was.frames * ratio)) for ratio in (0.2, 0.3, 1, 3, 5)] == [
        True,
        False,
        False,
        False,
        True,
    ]


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(not LAB.is_dir(), reason="the recordings are not beside this checkout")
def test_an_update_and_the_look_at_what_it_did_are_one_access(tmp_path: Path) -> None:
    import_trace([LAB / "update_zipf_sb512_free"], tmp_path / "update.trace")
    was = recorded_accesses(tmp_path / "update.trace")
    assert was.tables[0].touches == 2
    found = fit(was.tables, was.frames)
    assert found.exponents[0] == pytest.approx(1.05, abs=0.02)
    assert found.missed[0].index == pytest.approx(was.tables[0].index_missed / was.tables[0].accesses, rel=0.1)
