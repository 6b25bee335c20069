"""What is inferred of recordings of InnoDB: what its pool misses in the long run, and what of a commit was a wait for
the log.
"""

import itertools
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tests.counted_bundles import bundle, simple
from tests.twins.innodb import Midpoint
from tiersim.scenarios.calibration.innodb import InnoDBCounters, innodb_accesses
from tiersim.scenarios.calibration.popularity import AccessedTable, Law
from tiersim.scenarios.calibration.popularity.midpoint import MidpointPool
from tiersim.scenarios.calibration.popularity.occupancy import Pool
from tiersim.scenarios.calibration.synthesis import SnapshotEvidence, synthesise
from tiersim.scenarios.statements.queries import changes_rows
from tiersim.traces.bundle import RequestWriter
from tiersim.traces.differences import EntityChange, of_log, read_counters
from tiersim.traces.statistics import Values
from tiersim.units import NS_PER_MS, NS_PER_S

LEAVES, INNER, ROWS_OF_PAGE = 500, 3, 40


def missed(exponent: float, frames: int, old_time: int, accesses: int = 20_000) -> float:
    """Leaves that a lookup misses in the list of the sources, whose time is counted in lookups.

    Where pages pass the old part too fast, an inner page that did not become young while the pool was filled is missed
    whenever it has passed: of a hundred pages soon, and not counted here.
    """
    rows = LEAVES * ROWS_OF_PAGE
    draw = np.random.default_rng(1)
    chance = np.cumsum(np.arange(1, rows + 1) ** -exponent)
    ranks = np.searchsorted(chance / chance[-1], draw.random(accesses))
    leaves = (draw.permutation(rows) // ROWS_OF_PAGE)[ranks].tolist()
    pool, found = Midpoint(frames, old_time=old_time, tolerance=1, least=20), 0
    for now, leaf in enumerate(leaves):
        for page in (-1, -2 - leaf * INNER // LEAVES):  # the root, an inner page
            pool.refer(page, now)
        before = pool.missed
        pool.refer(leaf, now)
        found += pool.missed - before if now >= accesses // 2 else 0
    return found / (accesses - accesses // 2)


def expected(exponent: float, frames: int, old_time: int) -> float:
    table = AccessedTable("t", LEAVES * ROWS_OF_PAGE, LEAVES, INNER + 2, 10**5, 0, 0, together=True)
    (found,) = Pool([table], 1, MidpointPool(float(old_time))).expected([Law(exponent)], frames)
    return found.heap_missed


@pytest.mark.parametrize(
    ("exponent", "frames", "old_time"),
    [(0.0, 200, 0), (0.0, 200, 50), (0.0, 100, 50), (0.0, 100, 5000), (0.8, 100, 20), (0.8, 100, 5000)],
)
def test_a_midpoint_misses_what_the_list_of_the_sources_does_however_fast_the_old_part_is_passed(
    exponent: float, frames: int, old_time: int
) -> None:
    assert expected(exponent, frames, old_time) == pytest.approx(missed(exponent, frames, old_time), rel=0.06)


@pytest.mark.parametrize("old_time", [0, 100, 10_000])
def test_a_larger_pool_never_misses_more(old_time: int) -> None:
    found = [expected(0.6, frames, old_time) for frames in range(40, 500, 20)]
    assert all(larger <= smaller + 0.01 for smaller, larger in itertools.pairwise(found))


UPDATE, COMMIT, BEGIN = "shop//t/1", "shop//t/2", "shop//t/3"
TEXTS = {UPDATE: "UPDATE items SET stock = ? WHERE id = ?", COMMIT: "COMMIT", BEGIN: "BEGIN"}
#: The server needs 50 us for an update and 5 for a commit, and waits 5 ms or 10 for a flush of its log.
CALLS, UPDATE_MS, FLUSH_MS, FASTEST_FLUSH_MS = 1000, Decimal("0.05"), Decimal(10), Decimal(5)


def cpu_ms(path: Path, queries: dict[str, Values], more: dict[tuple[str, str], Values], samples: Values) -> float:
    """Processor time of all executions that is taken from a recording of 20 s with samples of sessions."""
    first: dict[tuple[str, str], Values] = {("query", "shop//t/9"): simple(1), **{key: {} for key in more}}
    first |= {key: {name: Decimal(0) for name in values} for key, values in more.items()}
    last = {**{("query", entity): values for entity, values in queries.items()}, **more}
    seen = [
        (
            second * NS_PER_S,
            {("session", f"active//{state}"): {"sessions": number} for state, number in samples.items()},
        )
        for second in range(1, 20)
        if samples
    ]
    bundle(path, [(0, first), *seen, (20 * NS_PER_S, last)], TEXTS)
    evidence = SnapshotEvidence(path)
    made = synthesise(read_counters(path, evidence), evidence, 1, changes_rows)
    return float(made.executions.columns["cpu_ns"].sum()) / NS_PER_MS


def counted(calls: int, mean_ms: Decimal, least_ms: Decimal) -> Values:
    return {"calls": Decimal(calls), "exec_ms": calls * mean_ms, "exec_min_ms": least_ms, "exec_max_ms": 9 * mean_ms}


def test_a_change_that_commits_by_itself_waits_for_the_log_as_long_as_one_with_a_commit(tmp_path: Path) -> None:
    alone = {UPDATE: counted(CALLS, UPDATE_MS + FLUSH_MS, UPDATE_MS + FASTEST_FLUSH_MS)}
    seen: Values = {"Commit": Decimal(3), "Updating status": Decimal(1)}
    whole = float(CALLS * (UPDATE_MS + FLUSH_MS))
    sampled = cpu_ms(tmp_path / "sampled.trace", alone, {}, seen)
    assert 0 < sampled < 0.03 * whole  # of 76 samples all were commits
    unseen = cpu_ms(tmp_path / "unseen.trace", alone, {}, {})
    assert unseen == pytest.approx(float(CALLS * (UPDATE_MS + FASTEST_FLUSH_MS)), rel=0.01)
    explicit = {
        BEGIN: counted(CALLS, Decimal("0.01"), Decimal("0.01")),
        UPDATE: counted(CALLS, UPDATE_MS, UPDATE_MS),
        COMMIT: counted(CALLS, FLUSH_MS, FASTEST_FLUSH_MS),
    }
    log: dict[tuple[str, str], Values] = {("log", "log"): {"flushes": Decimal(CALLS), "flush_ms": CALLS * FLUSH_MS / 2}}
    assert cpu_ms(tmp_path / "explicit.trace", explicit, log, seen) < 0.02 * whole


@pytest.mark.parametrize(("changes_per_ms", "group_ms"), [(8.0, 0.4), (0.2, None)])
def test_changes_that_commit_by_themselves_tell_how_long_a_fast_log_takes(
    tmp_path: Path, changes_per_ms: float, group_ms: float | None
) -> None:
    """Of 20 s, 4 changes a group: 8 clients wait all the time, which is more than a group, or much more, takes."""
    calls = int(20_000 * changes_per_ms)
    said = {
        ("query", UPDATE): counted(calls, Decimal(8) / Decimal(str(changes_per_ms)), UPDATE_MS),
        ("log", "log"): {"writes": Decimal(calls // 4), "bytes": Decimal(100 * calls)},
    }
    first = {key: {name: Decimal(0) for name in values} for key, values in said.items()}
    bundle(tmp_path / "a.trace", [(0, first), (20 * NS_PER_S, said)], TEXTS)
    found = read_counters(tmp_path / "a.trace", prepare=InnoDBCounters(tmp_path / "a.trace").with_pages).found
    flushes, took = (of_log(found, name) for name in ("flushes", "flush_ms"))
    assert of_log(found, "groups") == calls // 4
    if group_ms is None:
        assert flushes == 0
    else:
        assert 2 * took / flushes == pytest.approx(group_ms, rel=0.3)
        assert 2 * took / flushes <= 20_000 / flushes + 1e-6  # one after the other


def test_what_lookups_wait_for_is_not_taken_for_commits(tmp_path: Path) -> None:
    alone = {UPDATE: counted(CALLS, UPDATE_MS + FLUSH_MS, UPDATE_MS + FASTEST_FLUSH_MS)}
    seen: Values = {"Updating": Decimal(2), "Commit": Decimal(2)}
    assert cpu_ms(tmp_path / "sampled.trace", alone, {}, seen) == pytest.approx(
        float(CALLS * (UPDATE_MS + FLUSH_MS)) / 2, rel=0.01
    )


LOOKUP, CHANGE = "shop//t/5", "shop//t/6"
OF_TABLE = {LOOKUP: "SELECT stock FROM items WHERE id = ?", CHANGE: TEXTS[UPDATE]}
Counts = dict[tuple[str, str], Values]


def moment(lookups: int, changes: int, missed: int, redo: int, cpu_ms: int = 0, **more: int) -> Counts:
    """What a server of one table counted until then: each lookup took 1 ms of its own, and 2 ms for a page."""
    return {
        ("query", LOOKUP): {"calls": Decimal(lookups), "exec_ms": Decimal(lookups + 2 * missed)},
        ("query", CHANGE): {"calls": Decimal(changes), "exec_ms": Decimal(changes), "rows": Decimal(changes)},
        ("relation", "shop.items"): {"rows": Decimal(10_000), "leaf_pages": Decimal(500)},
        ("file", "shop/items.ibd"): {"reads": Decimal(missed), "read_ms": Decimal(2 * missed)},
        ("database", "*"): {"pages_missed": Decimal(missed), "cpu_ms": Decimal(cpu_ms)}
        | {name: Decimal(count) for name, count in more.items()},
        ("log", "log"): {"bytes": Decimal(redo), "writes": Decimal(changes)},
    }


def inferred(path: Path, *moments: Counts) -> tuple[dict[str, EntityChange], InnoDBCounters]:
    """Return what queries did in snapshots, one every 30 s."""
    bundle(path, [(place * 30 * NS_PER_S, one) for place, one in enumerate(moments)], OF_TABLE)
    counted = InnoDBCounters(path)
    return read_counters(path, prepare=counted.with_pages).found.of("query"), counted


def sums(queries: dict[str, EntityChange], name: str) -> float:
    return sum(float(change.number(name) or 0) for change in queries.values())


#: What was counted when the recording began: months of a server.
EARLIER = 10**9


def test_a_status_that_took_too_long_does_not_count_since_the_server_was_started(tmp_path: Path) -> None:
    """The second of three snapshots lacks what the server counts; what it missed is divided with the third's."""
    first, second, third = (moment(EARLIER + 1000 * place, 0, EARLIER + 100 * place, EARLIER) for place in range(3))
    lost = {key: values for key, values in second.items() if key[0] not in ("database", "file")}
    queries, _ = inferred(tmp_path, first, lost, third)
    assert queries[LOOKUP].number("calls") == 2000
    assert sums(queries, "pages_read") == 200


def test_a_restart_divides_what_was_counted_since(tmp_path: Path) -> None:
    """Redo is a place in the log, which goes on; all else begins at 0."""
    first = moment(EARLIER, EARLIER, EARLIER, 9 * EARLIER)
    second = moment(EARLIER + 1000, EARLIER + 100, EARLIER + 50, 9 * EARLIER + 10_000)
    third = moment(400, 40, 30, 9 * EARLIER + 15_000)
    fourth = moment(900, 90, 60, 9 * EARLIER + 20_000)
    queries, _ = inferred(tmp_path, first, second, third, fourth)
    assert [queries[one].number("calls") for one in (LOOKUP, CHANGE)] == [1900, 190]
    assert sums(queries, "pages_read") == pytest.approx(50 + 60, abs=2)
    assert sums(queries, "log_bytes") == pytest.approx(20_000, abs=2)


def test_processor_time_is_divided_in_each_interval_alike(tmp_path: Path) -> None:
    """What a query took for its reads is taken off the time of the same interval."""
    moments = [moment(1000 * place, 1000 * place, 100 * place, 0, 500 * place) for place in range(11)]
    queries, _ = inferred(tmp_path, *moments)
    assert sums(queries, "cpu_user_ms") == pytest.approx(5000, abs=2)
    each = [float(queries[one].number("cpu_user_ms") or 0) for one in (LOOKUP, CHANGE)]
    reads = [float(queries[one].number("read_ms") or 0) for one in (LOOKUP, CHANGE)]
    took = [float(queries[one].number("exec_ms") or 0) for one in (LOOKUP, CHANGE)]
    assert each[0] / each[1] == pytest.approx((took[0] - reads[0]) / (took[1] - reads[1]), rel=0.01)


def test_processor_time_that_was_counted_is_not_lost_where_reads_take_all_of_the_time(tmp_path: Path) -> None:
    """The clock of the files says more than that of the queries; of each, the fastest execution tells how CPU divides:
    3 to 1.
    """
    fastest_ms = {("query", LOOKUP): "0.3", ("query", CHANGE): "0.1"}
    moments = []
    for count in (0, 1000, 2000):
        one = moment(count, count, count, 0, count * 4 // 10)
        file: Counts = {("file", "shop/items.ibd"): {"reads": Decimal(count), "read_ms": Decimal(8 * count)}}
        fastest = {key: {**one[key], "exec_min_ms": Decimal(ms)} for key, ms in fastest_ms.items()}
        moments.append({**one, **file, **fastest})
    queries, _ = inferred(tmp_path, *moments)
    each = [float(queries[one].number("cpu_user_ms") or 0) for one in (LOOKUP, CHANGE)]
    assert each == pytest.approx([600, 200], abs=2)


def test_the_redo_of_a_replica_is_not_that_of_the_few_statements_that_it_executes(tmp_path: Path) -> None:
    """It changes 100,000 rows for its primary, and one a second for a heartbeat."""
    moments = [moment(1000 * at, 30 * at, 10 * at, 10**8 * at, rows_updated=10**5 * at) for at in range(2)]
    queries, counted = inferred(tmp_path, *moments)
    assert sums(queries, "log_bytes") == pytest.approx(30 * 10**8 / 10**5)
    (tmp_path / "manifest.json").write_text(
        '{"schema": "tiersim.trace/1", "host": {"engine": "mysql", "page_bytes": 16384, "buffer_pool_bytes": 8388608}}'
    )
    RequestWriter(tmp_path / "requests.parquet").close()
    accesses, _ = innodb_accesses(read_counters(tmp_path, prepare=InnoDBCounters(tmp_path).with_pages), counted)
    assert any(said.startswith("100% of the changed rows were changed by no statement") for said in accesses.inferred)
