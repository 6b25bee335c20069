"""Executions synthesised from counters: what was counted comes out exactly, and sessions do one thing at a time."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.counted_bundles import Row, Truth, bundle, executions, simple, synthesised
from tests.counted_databases import counted_database, law
from tests.examples import examples
from tiersim.errors import TraceError
from tiersim.scenarios.calibration.synthesis import Synthesis
from tiersim.scenarios.statements.loads import read_load
from tiersim.traces.differences import read_counters
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_COLUMNS
from tiersim.traces.statistics import Values
from tiersim.units import NS_PER_MS, NS_PER_S

MS, S = NS_PER_MS, NS_PER_S
ONE = ("query", "1/10/t/77")
TWO = ("query", "1/10/t/88")
TIMED: dict[tuple[str, str], Values] = {("setting", "track_io_timing"): {"setting": "on"}}


def of_query(made: Synthesis, entity: str) -> dict[str, NDArray[np.int64]]:
    """Columns of one query's executions."""
    words = {query.entity: query.query for query in made.queries}
    code = list(made.executions.words["query"]).index(words[entity])
    rows = made.executions.columns["query"] == code
    return {name: values[rows] for name, values in made.executions.columns.items()} | {
        "pages_dirtied": made.pages_dirtied[rows]
    }


def overlaps(made: Synthesis) -> int:
    """Count executions that begin before the one before them in their session ended."""
    columns = made.executions.columns
    order = np.lexsort((np.arange(len(made.executions)), columns["time_ns"], columns["session"]))
    start, end = columns["time_ns"][order], (columns["time_ns"] + columns["duration_ns"])[order]
    same = np.diff(columns["session"][order]) == 0
    return int(np.count_nonzero(same & (start[1:] < end[:-1])))


def pair(tmp_path: Path, values: Mapping[tuple[str, str], Values], seconds: int = 60, **more: object) -> Path:
    """Write a bundle whose counters began at 0."""
    zero: dict[tuple[str, str], Values] = {
        key: {name: Decimal(0) for name in of}
        for key, of in values.items()
        if key[0] in ("database", "processor", "wait")
    }
    zero[("query", "1/10/t/other")] = simple(1)
    return bundle(tmp_path / "a.trace", [(0, zero), (seconds * S, dict(values))], **more)  # type: ignore[arg-type]


@settings(max_examples=examples(40), deadline=None)
@given(
    before=st.integers(0, 300),
    calls=st.integers(1, 400),
    seed=st.integers(0, 1 << 32),
    reads=st.sampled_from([0.0, 0.1, 0.9, 3.0, 40.0]),
    dirtied=st.integers(0, 2000),
    log_bytes=st.integers(0, 10**7),
    images=st.integers(0, 500),
    data=st.data(),
)
def test_what_was_counted_comes_out_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    before: int,
    calls: int,
    seed: int,
    reads: float,
    dirtied: int,
    log_bytes: int,
    images: int,
    data: st.DataObject,
) -> None:
    more = {
        "pages_hit": data.draw(st.integers(0, 5000)),
        "pages_dirtied": dirtied,
        "pages_written": data.draw(st.integers(0, 9)),
        "rows": data.draw(st.integers(0, 5000)),
        "log_bytes": log_bytes,
        "log_full_page_images": images,
        "log_records": images + 3,
        "temp_pages_read": 3,
        "temp_pages_written": 4,
    }
    now = executions(calls, seed, reads=reads, **more)
    first: dict[tuple[str, str], Values] = {TWO: simple(1), **TIMED}
    whole = now
    if before:
        earlier = executions(before, seed + 1, reads=reads, **dict.fromkeys(more, 1))
        first[ONE] = earlier.values()
        whole = earlier.and_then(now)
    path = bundle(
        tmp_path_factory.mktemp("drawn") / "a.trace", [(0, first), (3600 * S, {ONE: whole.values(), TWO: simple(1)})]
    )

    made = synthesised(path, seed)

    found = of_query(made, ONE[1])
    sums = {name: int(values.sum()) for name, values in found.items()}
    assert len(found["time_ns"]) == len(made.executions) == calls
    assert sums["duration_ns"] == now.duration_ns.sum()
    assert sums["io_wait_ns"] == now.read_ns.sum()
    assert sums["cpu_ns"] == (now.duration_ns - now.read_ns).sum()
    assert sums["physical_reads"] == now.reads.sum()
    assert sums["logical_reads"] == now.reads.sum() + now.more["pages_hit"]
    assert sums["pages_dirtied"] == now.more["pages_dirtied"]
    assert sums["writes"] == now.more["pages_written"]
    assert sums["rows"] == now.more["rows"]
    assert sums["log_bytes"] == now.more["log_bytes"]
    assert sums["temp_bytes"] == 7 * 8192
    for name in ("duration_ns", "io_wait_ns", "cpu_ns", "physical_reads", "rows", "log_bytes", "pages_dirtied"):
        assert found[name].min() >= 0
    assert (found["physical_reads"] <= found["logical_reads"]).all()
    assert (found["io_wait_ns"][found["physical_reads"] + found["writes"] == 0] == 0).all() or not now.reads.sum()
    assert (found["cpu_ns"] + found["io_wait_ns"] <= found["duration_ns"]).all()
    assert found["duration_ns"].min() >= whole.duration_ns.min()
    assert found["duration_ns"].max() <= whole.duration_ns.max()
    assert overlaps(made) == 0
    ends = found["time_ns"] + found["duration_ns"]
    assert ends.min() > 0
    assert ends.max() <= 3600 * S


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 1 << 32), reads=st.sampled_from([0.0, 0.3, 2.0]), calls=st.integers(200, 3000))
def test_durations_have_the_recorded_spread_least_and_most(
    tmp_path_factory: pytest.TempPathFactory, seed: int, reads: float, calls: int
) -> None:
    now = executions(calls, seed, reads=reads)
    path = bundle(
        tmp_path_factory.mktemp("drawn") / "a.trace",
        [(0, {TWO: simple(1)}), (600 * S, {ONE: now.values(), TWO: simple(1)})],
    )
    made = synthesised(path, 1)
    duration_ns = of_query(made, ONE[1])["duration_ns"]
    assert duration_ns.max() == now.duration_ns.max()
    assert duration_ns.min() == now.duration_ns.min()
    assert duration_ns.std() == pytest.approx(now.duration_ns.std(), rel=0.1)
    assert made.queries[0].stddev_ns == pytest.approx(now.duration_ns.std(), rel=1e-6)
    assert made.queries[0].synthetic_stddev_ns == pytest.approx(duration_ns.std(), rel=1e-6)


def test_the_spread_of_an_interval_is_not_that_of_the_life_of_the_entry(tmp_path: Path) -> None:
    slow, fast = executions(500, 1, mean_us=50_000, reads=0), executions(500, 2, mean_us=100, reads=0)
    path = bundle(tmp_path / "a.trace", [(0, {ONE: slow.values()}), (60 * S, {ONE: slow.and_then(fast).values()})])
    made = synthesised(path, 1)
    assert made.queries[0].stddev_ns == pytest.approx(fast.duration_ns.std(), rel=1e-3)
    assert made.executions.columns["duration_ns"].std() == pytest.approx(fast.duration_ns.std(), rel=0.1)


def test_executions_that_read_take_longer(tmp_path: Path) -> None:
    path = pair(tmp_path, {ONE: executions(2000, 3, reads=0.5).values()})
    found = of_query(synthesised(path, 1), ONE[1])
    reading = found["physical_reads"] > 0
    assert found["duration_ns"][reading].mean() > 2 * found["duration_ns"][~reading].mean()
    assert (found["io_wait_ns"][~reading] == 0).all()


def test_a_query_that_reads_a_third_of_a_page_on_average_reads_none_or_some(tmp_path: Path) -> None:
    path = pair(tmp_path, {ONE: executions(3000, 3, reads=0.3).values()})
    counts = np.bincount(of_query(synthesised(path, 1), ONE[1])["physical_reads"])
    assert counts[0] > 2000
    assert counts[1] > 400
    assert len(counts) > 2


def test_a_query_that_reads_ranges_reads_as_differently_as_it_takes_long(tmp_path: Path) -> None:
    luck = np.random.default_rng(5)
    reads = luck.lognormal(5, 1, 400).astype(np.int64)
    now = Truth(reads * 200_000 + 50_000, reads * 200_000, reads, {"pages_hit": 0})
    found = of_query(synthesised(pair(tmp_path, {ONE: now.values()}, 3600), 1), ONE[1])
    assert found["physical_reads"].std() == pytest.approx(reads.std(), rel=0.5)
    assert np.corrcoef(found["physical_reads"], found["duration_ns"])[0, 1] > 0.9


def test_the_same_seed_gives_the_same_and_another_does_not(tmp_path: Path) -> None:
    path = pair(tmp_path, {ONE: executions(300, 3).values(), TWO: executions(200, 4).values()})
    first, again, other = (synthesised(path, seed) for seed in (1, 1, 2))
    for column in STATEMENT_COLUMNS:
        assert np.array_equal(first.executions.columns[column.name], again.executions.columns[column.name])
    assert np.array_equal(first.pages_dirtied, again.pages_dirtied)
    assert not np.array_equal(first.executions.columns["time_ns"], other.executions.columns["time_ns"])
    assert not np.array_equal(first.executions.columns["physical_reads"], other.executions.columns["physical_reads"])


def test_a_series_keeps_its_shape_over_time(tmp_path: Path) -> None:
    calls = [10, 300, 0, 20, 500]
    snapshots: list[tuple[int | None, dict[tuple[str, str], Values]]] = [(0, {TWO: simple(1)})]
    total = 0
    for number, more in enumerate(calls):
        total += more
        values = {ONE: simple(total, str(total))} if total else {}
        snapshots.append(((number + 1) * 60 * S, {TWO: simple(1), **values}))
    columns = synthesised(bundle(tmp_path / "a.trace", snapshots), 1).executions.columns
    ended = (columns["time_ns"] + columns["duration_ns"] - 1) // (60 * S)
    assert np.bincount(ended, minlength=5).tolist() == calls


def test_what_is_longer_than_its_interval_reaches_back_and_keeps_its_session(tmp_path: Path) -> None:
    snapshots = [
        (0, {TWO: simple(1)}),
        (60 * S, {TWO: simple(100, "55000")}),
        (120 * S, {TWO: simple(101, "55001"), ONE: simple(1, "110000")}),
    ]
    made = synthesised(bundle(tmp_path / "a.trace", snapshots), 1)
    report = of_query(made, ONE[1])
    assert report["duration_ns"].tolist() == [110 * S]
    assert 0 <= report["time_ns"][0] <= 10 * S
    assert overlaps(made) == 0


def test_sessions_are_raised_when_the_work_does_not_fit_and_it_is_said(tmp_path: Path) -> None:
    client: Values = {"clients": Decimal(2), "seconds": Decimal(60)}
    made = synthesised(pair(tmp_path, {ONE: simple(1000, "300000"), ("client", "load"): client}), 1)
    assert made.sessions >= 5
    assert overlaps(made) == 0
    assert any("instead of 2" in sentence for sentence in made.inferred)


def test_a_closed_loop_has_its_clients_and_no_pauses(tmp_path: Path) -> None:
    client: Values = {"clients": Decimal(4), "seconds": Decimal(60)}
    made = synthesised(pair(tmp_path, {ONE: simple(1000, "230000"), ("client", "load"): client}), 1)
    assert made.closed
    assert made.sessions == 4
    assert made.think_ns == 0
    assert made.overhead_ns == pytest.approx((240 - 230) * S / 1000)


#: What pgbench prints of 20 transactions a second; the mean holds the lag, and its clients are at work for a quarter of
#: the time, or for all of it.
_LAG: Values = {"lag_mean_ms": Decimal("0.3"), "transactions_per_s": Decimal(20), "mean_ms": Decimal("50.3")}
_BEHIND: Values = {"lag_mean_ms": Decimal(900), "transactions_per_s": Decimal(20), "mean_ms": Decimal(1100)}


@pytest.mark.parametrize("paced", [{"rate_per_s": Decimal(20)}, _LAG, {**_LAG, "lag_mean_ms": Decimal(0)}])
def test_a_paced_generator_pauses(tmp_path: Path, paced: Values) -> None:
    client: Values = {"clients": Decimal(4), "seconds": Decimal(60), **paced}
    made = synthesised(pair(tmp_path, {ONE: simple(1200, "60000"), ("client", "load"): client}), 1)
    assert not made.closed
    assert made.sessions == 4
    assert made.think_ns == pytest.approx((240 - 60) * S / 1200, rel=1e-6)


def test_a_generator_that_does_not_come_to_its_rate_is_a_closed_loop(tmp_path: Path) -> None:
    client: Values = {"clients": Decimal(4), "seconds": Decimal(60), **_BEHIND}
    assert synthesised(pair(tmp_path, {ONE: simple(1200, "230000"), ("client", "load"): client}), 1).closed


def test_a_load_that_ran_for_a_part_of_the_interval_is_not_stretched(tmp_path: Path) -> None:
    client: Values = {"clients": Decimal(4), "seconds": Decimal(20)}
    columns = synthesised(
        pair(tmp_path, {ONE: simple(1000, "60000"), ("client", "load"): client}), 1
    ).executions.columns
    assert columns["time_ns"].min() >= 20 * S
    assert (columns["time_ns"] + columns["duration_ns"]).max() <= 40 * S


def test_numbers_of_sessions_that_cannot_be_take_no_memory(tmp_path: Path) -> None:
    client: Values = {"clients": Decimal(10**12), "seconds": Decimal(60)}
    assert len(synthesised(pair(tmp_path, {ONE: simple(3), ("client", "load"): client}), 1).executions) == 3
    many = pair(tmp_path, {ONE: simple(3, "1e12")}, 1)
    assert overlaps(synthesised(many, 1)) == 0


def test_sessions_as_sampled(tmp_path: Path) -> None:
    snapshots: list[tuple[int | None, dict[tuple[str, str], Values]]] = [(0, {TWO: simple(1)})]
    for second in range(1, 60):
        states = {
            "active//": Decimal(3 + second % 4),
            "idle in transaction/Client/ClientRead": Decimal(2),
            "idle/Client/ClientRead": Decimal(90),
        }
        snapshots.append((second * S, {("session", key): {"sessions": value} for key, value in states.items()}))
    snapshots.append((60 * S, {TWO: simple(1001, "60010")}))
    made = synthesised(bundle(tmp_path / "a.trace", snapshots), 1)
    assert made.sessions == 8
    assert any("59 samples" in sentence for sentence in made.inferred)


def test_parallel_workers_are_no_sessions_and_leave_the_error_unknown(tmp_path: Path) -> None:
    """Nobody counts what they take of the processors; samples show them, and from PostgreSQL 18 on counters do."""

    def made(name: str, workers: int, **launched: str) -> Synthesis:
        seen: dict[tuple[str, str], Values] = {
            ("session", "active//"): {"sessions": Decimal(8)},
            ("session", "parallel worker/IO/DataFileRead"): {"sessions": Decimal(workers)},
        }
        snapshots: list[tuple[int | None, dict[tuple[str, str], Values]]] = [(0, {TWO: simple(1, **launched)})]
        snapshots += [(second * S, seen) for second in range(1, 60)]
        counts = {counter: str(int(count) + 500) for counter, count in launched.items()}
        snapshots.append((60 * S, {TWO: simple(1001, "60010", **counts)}))
        return synthesised(bundle(tmp_path / name, snapshots), 1)

    sampled, counted = made("sampled.trace", 4), made("counted.trace", 0, workers_launched="7")
    assert (sampled.sessions, counted.sessions) == (8, 8)
    assert sampled.parallel is not None
    assert sampled.parallel.startswith("4 parallel workers were at work on average beside 8 sessions")
    assert counted.parallel is not None
    assert counted.parallel.startswith("50% of the time of queries was that of queries with parallel workers")
    assert made("none.trace", 0).parallel is None
    path = counted_database(tmp_path / "load.trace")
    load = read_load(read_counters(path), replace(synthesised(path, 1), parallel=sampled.parallel), law())
    assert load.parallel == sampled.parallel


def test_waits_that_were_hardly_sampled_and_those_for_the_next_statement_say_nothing(tmp_path: Path) -> None:
    snapshots: list[tuple[int | None, dict[tuple[str, str], Values]]] = [(0, {TWO: simple(1)})]
    for second in range(1, 60):
        waits = {
            "active/Client/ClientRead": 1,
            "active/Lock/tuple": int(second < 5),
            "active/IPC/BgWorkerStartup": second % 2,
        }
        sampled: dict[tuple[str, str], Values] = {
            ("session", key): {"sessions": Decimal(n)} for key, n in waits.items()
        }
        snapshots.append((second * S, sampled))
    snapshots.append((60 * S, {TWO: simple(1001, "100010")}))
    columns = synthesised(bundle(tmp_path / "a.trace", snapshots), 1).executions.columns
    assert columns["lock_wait_ns"].sum() == columns["client_wait_ns"].sum() == 0
    assert columns["cpu_ns"].sum() == pytest.approx((100 - 60 * 30 / 59) * S, rel=1e-6)


def test_waits_for_a_replica_are_no_part_of_statements_and_are_said(tmp_path: Path) -> None:
    """A commit waits for it behind its statement, as for the log: 5 of 6 active sessions did, for 300 s of 60."""
    snapshots: list[tuple[int | None, dict[tuple[str, str], Values]]] = [(0, {TWO: simple(1)})]
    waits: dict[tuple[str, str], Values] = {
        ("session", "active/IPC/SyncRep"): {"sessions": Decimal(5)},
        ("session", "active//"): {"sessions": Decimal(1)},
    }
    snapshots += [(second * S, waits) for second in range(1, 60)]
    snapshots.append((60 * S, {TWO: simple(1001, "60010")}))
    made = synthesised(bundle(tmp_path / "a.trace", snapshots), 1)
    assert made.executions.columns["cpu_ns"].sum() == 60 * S
    assert any(
        one.startswith("83% of the active sessions in samples waited for a synchronous") for one in made.inferred
    )


def test_waits_of_the_servers_own_processes_are_none_of_statements(tmp_path: Path) -> None:
    """pg_wait_sampling counts them, too: where it does not tell queries apart, beside the waits of sessions."""
    idle: dict[tuple[str, str], Values] = {
        ("wait", "Activity/WalWriterMain"): {"samples": Decimal(1000)},
        ("wait", "Timeout/CheckpointWriteDelay"): {"samples": Decimal(900)},
        ("wait", "Lock/tuple"): {"samples": Decimal(100)},  # of 10 ms each
    }
    made = synthesised(pair(tmp_path, {ONE: simple(100, "10000"), **idle}), 1)
    assert made.executions.columns["cpu_ns"].sum() == pytest.approx(9 * S, abs=2)


def test_transactions_of_others_are_not_taken_for_single_statements(tmp_path: Path) -> None:
    values = counted(
        {BEGIN: 500, END: 499, FIRST: 499, SECOND: 501}, 520
    )  # 20 of maintenance; some were cut by the ends
    values["client", "load"] = {"clients": Decimal(4), "seconds": Decimal(60)}
    found = transactions_of(synthesised(pair(tmp_path, values, texts=TEXTS), 1))
    assert len(found) == 500
    assert found.count([BEGIN, FIRST, SECOND, END]) > 490


def test_a_snapshot_or_two_of_sessions_say_nothing(tmp_path: Path) -> None:
    quiet: Values = {"sessions": Decimal(1)}
    made = synthesised(pair(tmp_path, {ONE: simple(1000, "600000"), ("session", "active//"): quiet}), 1)
    assert made.sessions == 20  # 10 busy on average, and 3 √10
    assert any("Little" in sentence for sentence in made.inferred)


def test_sessions_by_what_databases_say_of_their_activity(tmp_path: Path) -> None:
    database: Values = {"active_ms": Decimal(200_000), "idle_in_transaction_ms": Decimal(40_000)}
    made = synthesised(pair(tmp_path, {ONE: simple(1000, "600"), ("database", "a"): database}), 1)
    assert made.sessions == 10  # 4 on average, and 3 √4


BEGIN, END, FIRST, SECOND, REPORT = (f"1/10/t/{n}" for n in (1, 2, 3, 4, 5))
TEXTS = {
    BEGIN: "BEGIN",
    END: "COMMIT",
    FIRST: "UPDATE a SET b = ?",
    SECOND: "INSERT INTO c VALUES (?)",
    REPORT: "SELECT d FROM e",
}


def counted(calls: Mapping[str, int], commits: int | None, **since: str) -> dict[tuple[str, str], Values]:
    values: dict[tuple[str, str], Values] = {
        ("query", entity): {**simple(n, f"{n}e-2"), **({"since": since[entity]} if entity in since else {})}
        for entity, n in calls.items()
    }
    if commits is not None:
        values["database", "a"] = {"commits": Decimal(commits), "rollbacks": Decimal(0)}
    return values


def transactions_of(made: Synthesis) -> list[list[str]]:
    """Return the entities of each transaction, in order of time."""
    words = {query.query: query.entity for query in made.queries}
    names = [words[str(name)] for name in made.executions.texts("query")]
    found: dict[int, list[str]] = {}
    for number, name in zip(made.executions.columns["transaction"].tolist(), names, strict=True):
        found.setdefault(number, []).append(name)
    return list(found.values())


def test_begin_tells_transactions_and_the_others_stand_alone(tmp_path: Path) -> None:
    values = counted({BEGIN: 50, END: 50, FIRST: 50, SECOND: 100, REPORT: 30}, 80)
    made = synthesised(pair(tmp_path, values, texts=TEXTS), 1)
    found = transactions_of(made)
    assert found.count([BEGIN, FIRST, SECOND, SECOND, END]) == 50
    assert found.count([REPORT]) == 30
    assert len(found) == 80


def test_statements_of_a_transaction_are_in_the_order_in_which_queries_were_first_seen(tmp_path: Path) -> None:
    values = counted(
        {BEGIN: 50, END: 50, FIRST: 50, SECOND: 50}, 50, **{BEGIN: "t3", END: "t0", FIRST: "t2", SECOND: "t1"}
    )
    found = transactions_of(synthesised(pair(tmp_path, values, texts=TEXTS), 1))
    assert found == [[BEGIN, SECOND, FIRST, END]] * 50


def test_commits_tell_transactions_where_prepared_begins_were_counted_once_a_session(tmp_path: Path) -> None:
    values = counted({BEGIN: 8, END: 8, FIRST: 1000, SECOND: 1000, REPORT: 2}, 1004)
    values["client", "load"] = {"clients": Decimal(8), "seconds": Decimal(60)}
    made = synthesised(pair(tmp_path, values, texts=TEXTS), 1)
    statements = [[name for name in of if name not in (BEGIN, END)] for of in transactions_of(made)]
    assert statements.count([FIRST, SECOND]) == 1000
    assert statements.count([REPORT]) == 2
    assert any("prepared" in sentence for sentence in made.inferred)


def test_commits_tell_transactions_that_began_without_a_begin(tmp_path: Path) -> None:
    """Drivers of MySQL switch autocommit off and send no BEGIN; each change alone would flush the log."""
    values = counted({FIRST: 50, SECOND: 100, END: 50}, None)
    found = transactions_of(synthesised(pair(tmp_path, values, texts=TEXTS), 1))
    assert found == [[FIRST, SECOND, SECOND, END]] * 50
    stray = counted({FIRST: 1000, SECOND: 1000, END: 5}, None)
    found = transactions_of(synthesised(pair(tmp_path, stray, texts=TEXTS), 1))
    assert len(found) == 2005


def test_without_begin_or_commits_each_statement_is_a_transaction(tmp_path: Path) -> None:
    made = synthesised(pair(tmp_path, counted({FIRST: 20, SECOND: 30}, None), texts=TEXTS), 1)
    assert len(transactions_of(made)) == 50
    kinds = {query.entity: query for query in made.queries}
    assert set(kinds) == {FIRST, SECOND}


def test_databases_that_do_not_count_commits_say_nothing_of_transactions(tmp_path: Path) -> None:
    values = counted({FIRST: 20, SECOND: 30}, None)
    gauge: dict[tuple[str, str], Values] = {("database", "a"): {"backends": Decimal(3)}}
    path = bundle(tmp_path / "a.trace", [(0, {TWO: simple(1), **gauge}), (60 * S, {**values, **gauge})], TEXTS)
    assert len(transactions_of(synthesised(path, 1))) == 50


def test_kinds_are_told_by_the_text(tmp_path: Path) -> None:
    made = synthesised(pair(tmp_path, counted({BEGIN: 5, FIRST: 5}, 5), texts=TEXTS), 1)
    assert sorted(zip(made.executions.texts("query"), made.executions.texts("kind"), strict=True))[::5] == [
        ("print of BEGIN", "utility"), ("print of UPDATE a SET b = ?", "language"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "counters",
    [{"cpu_user_ms": "1.5", "cpu_system_ms": "0.25"}, {"cpu_ms": "1.75"}],  # pg_stat_kcache; digests of MySQL 8.0.28
)
def test_time_of_processor_where_it_was_measured(counters: dict[str, str], tmp_path: Path) -> None:
    values = {ONE: {**executions(100, 1).values(), **{name: Decimal(ms) for name, ms in counters.items()}}}
    made = synthesised(pair(tmp_path, values), 1)
    assert made.executions.columns["cpu_ns"].sum() == 1_750_000
    assert "measured" in made.queries[0].cpu_basis


def test_time_of_processor_is_not_known_where_reads_were_not_timed(tmp_path: Path) -> None:
    untimed = {**executions(100, 1).values(), "read_ms": Decimal(0)}
    made = synthesised(pair(tmp_path, {ONE: untimed, TWO: executions(50, 2, reads=0).values()}), 1)
    assert (of_query(made, ONE[1])["cpu_ns"] == NOT_KNOWN).all()
    assert (of_query(made, ONE[1])["io_wait_ns"] == NOT_KNOWN).all()
    assert (of_query(made, TWO[1])["cpu_ns"] >= 0).all()  # it read nothing
    assert "not timed" in next(query.cpu_basis for query in made.queries if query.entity == ONE[1])


def test_samples_of_more_waits_than_there_was_time_leave_what_the_fastest_execution_took(tmp_path: Path) -> None:
    waits: Values = {"samples": Decimal(3000)}  # 30 s, of 10 s
    counted = simple(100, "10000", exec_min_ms="20", exec_max_ms="500")
    made = synthesised(pair(tmp_path, {ONE: counted, ("wait", "77/Lock/transactionid"): waits}), 1)
    columns = of_query(made, ONE[1])
    assert columns["lock_wait_ns"].sum() == pytest.approx(8 * S, abs=2)
    assert columns["cpu_ns"].sum() == pytest.approx(2 * S, abs=200)


def test_sampled_waits_are_no_time_of_processor(tmp_path: Path) -> None:
    waits: Values = {"samples": Decimal(300)}  # of 10 ms each
    made = synthesised(pair(tmp_path, {ONE: simple(100, "10000"), ("wait", "77/Lock/transactionid"): waits}), 1)
    columns = made.executions.columns
    assert columns["lock_wait_ns"].sum() == pytest.approx(3 * S, abs=2)
    assert columns["cpu_ns"].sum() == pytest.approx(7 * S, abs=2)
    assert (columns["lock_wait_ns"] + columns["cpu_ns"] <= columns["duration_ns"]).all()


def test_time_of_processor_is_at_most_that_of_the_host(tmp_path: Path) -> None:
    host: Values = {"user_ms": Decimal(3000), "system_ms": Decimal(1000)}
    made = synthesised(pair(tmp_path, {ONE: simple(100, "10000"), ("processor", "host"): host}), 1)
    assert made.executions.columns["cpu_ns"].sum() == pytest.approx(4 * S, abs=2)


def test_of_the_hosts_time_what_was_measured_is_not_given_away(tmp_path: Path) -> None:
    host: Values = {"user_ms": Decimal(3000), "system_ms": Decimal(1000)}
    measured = {**simple(100, "10000"), "cpu_user_ms": Decimal(1000), "cpu_system_ms": Decimal(0)}
    made = synthesised(pair(tmp_path, {ONE: measured, TWO: simple(100, "10000"), ("processor", "host"): host}), 1)
    assert of_query(made, ONE[1])["cpu_ns"].sum() == 1 * S
    assert of_query(made, TWO[1])["cpu_ns"].sum() == pytest.approx(3 * S, abs=2)


@pytest.mark.parametrize(
    ("flush_ms", "cpu_ns", "log_ns"), [(80, 500_000, 99_500_000), (9000, 100_000_000, -50), (0, -50, -50)]
)
def test_commits_wait_for_the_log_only_if_its_flushes_fit_into_their_time(
    tmp_path: Path, flush_ms: int, cpu_ns: int, log_ns: int
) -> None:
    values = counted({BEGIN: 50, FIRST: 50}, 50)
    values["query", END] = {**simple(50, "100"), "exec_min_ms": Decimal("0.01"), "exec_max_ms": Decimal(9)}
    log = ("log", "log")
    first: dict[tuple[str, str], Values] = {TWO: simple(1), log: {"flush_ms": Decimal(0)}}
    last = {**values, log: {"flush_ms": Decimal(flush_ms)}}
    found = of_query(synthesised(bundle(tmp_path / "a.trace", [(0, first), (60 * S, last)], TEXTS), 1), END)
    assert found["cpu_ns"].sum() == cpu_ns
    assert found["log_wait_ns"].sum() == log_ns


def test_the_statements_of_the_recording_and_those_inside_functions_are_left_out(tmp_path: Path) -> None:
    values: dict[tuple[str, str], Values] = {
        ONE: simple(10),
        ("query", "1/10/f/99"): simple(70),
        ("query", "1/10/t/5"): simple(3),
        ("query", "1/10/t/6"): simple(4),
    }
    texts = {
        ONE[1]: "SELECT pg_stat FROM t WHERE a = ?",
        "1/10/t/5": "COPY (SELECT * FROM pg_stat_statements) TO STDOUT",
        "1/10/t/6": "select pg_relation_size(?)",
        "1/10/f/99": "SELECT a FROM b",
    }
    made = synthesised(pair(tmp_path, {**values, ONE: simple(10)}, texts={**texts, ONE[1]: "SELECT a FROM t"}), 1)
    assert [query.entity for query in made.queries] == [ONE[1]]
    assert any(sentence.startswith("7 executions of the recorder or of monitoring") for sentence in made.inferred)
    assert any(sentence.startswith("70 executions inside functions") for sentence in made.inferred)


def test_without_a_standard_deviation_there_is_no_spread_and_it_is_said(tmp_path: Path) -> None:
    made = synthesised(pair(tmp_path, {ONE: simple(7, "70")}), 1)
    assert (made.executions.columns["duration_ns"] == 10 * MS).all()
    assert made.queries[0].stddev_ns is None
    assert any("no recorded standard deviation" in sentence for sentence in made.inferred)


def test_what_the_source_does_not_count_is_not_known(tmp_path: Path) -> None:
    columns = synthesised(pair(tmp_path, {ONE: simple(7)}), 1).executions.columns
    for name in (
        "logical_reads",
        "physical_reads",
        "writes",
        "rows",
        "log_bytes",
        "temp_bytes",
        "parallel",
        "lock_wait_ns",
    ):
        assert (columns[name] == NOT_KNOWN).all()


def test_logged_transactions_keep_their_times_and_sessions(tmp_path: Path) -> None:
    values = counted({FIRST: 400, SECOND: 400, REPORT: 1}, 401)
    values["client", "load"] = {"clients": Decimal(2), "seconds": Decimal(60)}
    logged = [(f"client {n % 2}", (3 * n + 1) * MS // 2) for n in range(400)]
    rows: list[Row] = [
        {"time_ns": start, "duration_ns": MS, "session": session, "kind": "transaction"} for session, start in logged
    ]
    made = synthesised(pair(tmp_path, values, texts=TEXTS, statements=rows), 1)
    columns = made.executions.columns
    texts = made.executions.texts("session")
    by_session = [texts.count(name) for name in ("client 0", "client 1", "session 1")]
    assert by_session == [400, 400, 1]
    for number in range(401):
        of = columns["transaction"] == number
        session = str(texts[int(np.flatnonzero(of)[0])])
        first, last = columns["time_ns"][of].min(), columns["time_ns"][of].max()
        if session != "session 1":
            assert [s for s, start in logged if s == session and start <= first and last < start + MS] == [session]
    assert overlaps(made) == 0
    assert made.sessions == 2


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 1000), work_ms=st.integers(1, 1500))
def test_logged_transactions_never_overlap_even_when_they_have_too_much_to_do(
    tmp_path_factory: pytest.TempPathFactory, seed: int, work_ms: int
) -> None:
    luck = np.random.default_rng(seed)
    logged: list[Row] = []
    for session in range(3):
        now = 0
        for _ in range(30):
            lasts = int(luck.integers(1, S))
            logged.append({"time_ns": now, "duration_ns": lasts, "session": f"client {session}", "kind": "transaction"})
            now += lasts + int(luck.integers(0, S))
    now_ = executions(90, seed, mean_us=work_ms * 300, reads=0)
    snapshots = [(0, {TWO: simple(1)}), (30 * S, {ONE: now_.values()}), (90 * S, {ONE: now_.and_then(now_).values()})]
    made = synthesised(bundle(tmp_path_factory.mktemp("logged") / "a.trace", snapshots, statements=logged), 1)
    assert overlaps(made) == 0
    assert made.executions.columns["duration_ns"].sum() == 2 * now_.duration_ns.sum()


def test_there_is_nothing_to_synthesise_from(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="two snapshots"):
        synthesised(bundle(tmp_path / "none.trace", []), 1)
    with pytest.raises(TraceError, match="two snapshots"):
        synthesised(bundle(tmp_path / "one.trace", [(0, {ONE: simple(1)})]), 1)
    with pytest.raises(TraceError, match="times"):
        synthesised(bundle(tmp_path / "untimed.trace", [(None, {ONE: simple(1)}), (None, {ONE: simple(2)})]), 1)
    with pytest.raises(TraceError, match="after the load"):
        synthesised(bundle(tmp_path / "quiet.trace", [(0, {ONE: simple(1)}), (S, {ONE: simple(1)})]), 1)
    with pytest.raises(TraceError, match="leave out one"):
        synthesised(bundle(tmp_path / "twice.trace", [(S, {ONE: simple(1)}), (S, {ONE: simple(2)})]), 1)


@pytest.mark.parametrize(
    ("counter", "value", "match"),
    [
        ("exec_ms", "1e18", "exec_ms"),
        ("pages_read", "1e16", "pages_read"),
        ("calls", "1e9", "shorter time"),
        ("rows", "-5", "rows"),
    ],
)
def test_counters_that_cannot_be_are_refused_in_a_sentence(
    tmp_path: Path, counter: str, value: str, match: str
) -> None:
    with pytest.raises(TraceError, match=match):
        synthesised(pair(tmp_path, {ONE: {**simple(10), counter: Decimal(value)}}), 1)


@pytest.mark.parametrize(
    "odd",
    [
        {"exec_min_ms": Decimal(500), "exec_max_ms": Decimal(1)},
        {"exec_stddev_ms": Decimal("1e12"), "exec_mean_ms": Decimal(1)},
        {"read_ms": Decimal(10**6), "pages_read": Decimal(3)},
        {"read_ms": Decimal(5)},
        {"pages_read": Decimal(10**9), "pages_hit": Decimal(0)},
        {"log_full_page_images": Decimal(10**15), "log_bytes": Decimal(3)},
        {"exec_ms": Decimal(0), "pages_hit": Decimal(10**6)},
        {"cpu_user_ms": Decimal(10**7)},
    ],
)
def test_counters_that_contradict_each_other_still_give_executions(tmp_path: Path, odd: Values) -> None:
    values: Values = {
        **simple(10),
        "exec_stddev_ms": Decimal(1),
        "exec_min_ms": Decimal("0.1"),
        "exec_max_ms": Decimal(9),
        **odd,
    }
    made = synthesised(pair(tmp_path, {ONE: values}), 1)
    assert made.executions.columns["duration_ns"].sum() == int(values["exec_ms"]) * MS
    assert overlaps(made) == 0
