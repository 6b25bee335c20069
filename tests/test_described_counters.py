"""What ``describe`` says of counters: no figure that the server did not count, no remedy for what is there."""

# ruff: noqa: F401, F811 - fixtures

import copy
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.counted_bundles import bundle, simple
from tests.page_samples import DISKS
from tests.page_statements import statement_sample
from tests.test_cli import Shell, shell
from tiersim.cli.counted_tables import show_counted
from tiersim.cli.statements import _most_expensive
from tiersim.traces.bundle import Bundle, RequestWriter
from tiersim.traces.description.counters import _executions, counted
from tiersim.traces.recorders.mysql import views as mysql
from tiersim.traces.recorders.own_queries import is_of_recorder
from tiersim.traces.recorders.postgres import views as postgres
from tiersim.traces.schema import STATEMENT_COLUMNS
from tiersim.traces.statistics import Values, table_of

S = 10**9
SHOP, LOG, CHECKPOINTER = ("database", "shop"), ("log", "log"), ("checkpointer", "checkpointer")
Moment = Mapping[tuple[str, str], Values]


def numbers(**values: float | str) -> Values:
    return {name: Decimal(value) for name, value in values.items()}


def described(
    folder: Path, *moments: Moment, every_s: int = 10, texts: Mapping[str, str] | None = None, engine: str = ""
) -> dict[str, Any]:
    """Describe snapshots, one every few seconds."""
    path = bundle(folder, [(place * every_s * S, moment) for place, moment in enumerate(moments)], texts)
    (path / "manifest.json").write_text(json.dumps({"schema": "tiersim.trace/1", "host": {"engine": engine}}))
    RequestWriter(path / "requests.parquet").close()
    found = counted(Bundle(path))
    assert found is not None
    return found


def shown(document: dict[str, Any], capsys: pytest.CaptureFixture[str], *, everything: bool = True) -> str:
    """Return what is printed, and the notes below."""
    notes, _ = show_counted(document, everything)
    return " ".join([*capsys.readouterr().out.split(), *notes])


@pytest.mark.parametrize(("function_ms", "shares"), [("10000", [1.0, 0.9]), ("3000", [1.0, 1 / 3])])
def test_shares_of_time_are_of_the_time_of_clients(tmp_path: Path, function_ms: str, shares: list[float]) -> None:
    """A function of 10 s and a statement of 9 s in it are no 19 s; nobody counted who called that in another of 3 s."""
    took = {("query", "1/10/t/1"): function_ms, ("query", "1/10/f/2"): "9000"}
    moments = [{entity: simple(1, "0") for entity in took}, {entity: simple(2, ms) for entity, ms in took.items()}]
    assert [query["share_of_time"] for query in described(tmp_path, *moments)["queries"]] == pytest.approx(shares)


def test_rates_are_over_the_time_that_counters_cover(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that is killed is sampled after its last counters."""
    sessions = {("session", "active//"): numbers(sessions=1)}
    counts = [{SHOP: numbers(commits=commits), LOG: numbers(bytes=1024 * commits)} for commits in (0, 1000)]
    document = described(tmp_path, counts[0] | sessions, counts[1], sessions, sessions)
    assert document["span_ns"] == 10 * S
    assert document["sessions"]["samples"] == 3
    said = shown(document, capsys)
    assert "1,000 commits (100/s)" in said
    assert "100 KiB/s" in said


def test_a_rate_below_one_a_second_is_not_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = described(tmp_path, *({SHOP: numbers(commits=commits)} for commits in (0, 2)))
    assert "2 commits (0.2/s)" in shown(document, capsys)


def test_rates_of_counters_that_were_reset_are_said_to_be_too_low(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = [
        {SHOP: numbers(commits=commits), LOG: numbers(bytes=commits, flushes=commits, flush_ms=commits)}
        for commits in (10_000, 11_000, 500)
    ]
    document = described(tmp_path, *counts)
    assert document["resets"] == ["database", "log"]
    (finding,) = document["findings"]
    assert "the counters of database (shop), log (log) were reset" in finding
    assert "their rates are too low; record again without a reset" in finding
    said = shown(document, capsys)
    assert "1,500 commits (at least 75/s)" in said
    assert "(at least 75 B/s)" in said
    assert "of the time" not in said


def test_rates_are_over_the_time_of_what_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The digests and the status of the last of three snapshots took too long, and were left out."""
    query, moments = ("query", "shop//t/1"), []
    for place in range(3):
        counts: dict[tuple[str, str], Values] = {LOG: numbers(bytes=1024 * 1000 * place)}
        if place < 2:
            counts |= {SHOP: numbers(commits=1000 * place), query: numbers(calls=500 * place, exec_ms=place)}
        moments.append(counts)
    document = described(tmp_path, *moments)
    assert document["spans_ns"] == {"database": 10 * S, "log": 20 * S, "query": 10 * S}
    assert document["queries"][0]["calls_per_s"] == 50
    said = shown(document, capsys)
    assert "1,000 commits (100/s)" in said
    assert "100 KiB/s" in said


def test_holes_of_counters_are_said(tmp_path: Path) -> None:
    """A server that is idle, or suspended, for most of the recording; the recorder's own queries are no load."""
    own, query = ("query", "shop//t/2"), ("query", "shop//t/1")
    texts = {own[1]: "SHOW GLOBAL STATUS", query[1]: "SELECT a FROM t WHERE id = ?"}
    calls = [0, 5000, 5010, 5020, 5030, 10_000]
    moments = [
        {query: numbers(calls=count, exec_ms=count), own: numbers(calls=900 * place, exec_ms=1)}
        for place, count in enumerate(calls)
    ]
    (said,) = described(tmp_path / "holes", *moments, texts=texts)["findings"]
    assert said.startswith("the recording has holes: hardly any query was executed in 30 s of 50 s")
    steady = [{query: numbers(calls=1000 * place, exec_ms=place)} for place in range(6)]
    assert described(tmp_path / "steady", *steady, texts=texts)["findings"] == []


def test_pages_that_were_read_ahead_are_no_misses(tmp_path: Path) -> None:
    """A scan: 1,000 pages looked up, 10 of them waited for, the others read before anybody asked."""
    names = ("pages_looked_up", "pages_missed", "pages_read", "pages_read_ahead")
    counts = [{("database", "*"): numbers(**dict(zip(names, said, strict=True)))} for said in
              ((0, 0, 0, 0), (1000, 10, 1000, 990))]  # fmt: skip
    (row,) = described(tmp_path, *counts)["databases"]
    assert (row["pages_hit"], row["pages_read"], row["hit_ratio"]) == (990, 1000, pytest.approx(0.99))


def test_a_checkpoint_that_runs_has_no_time_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = [
        {CHECKPOINTER: numbers(timed=timed, done=0, pages_written=pages, write_ms=0, flush_ms=0)}
        for timed, pages in ((0, 0), (1, 1490))
    ]
    said = shown(described(tmp_path, *counts), capsys)
    assert "0 done, 1,490 pages written" in said
    assert "0 ns" not in said


def test_sessions_are_those_of_clients_by_what_they_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entities = ("active//Writing to net", "active/IO/WalSync", "idle//", "checkpointer/Timeout/CheckpointWriteDelay")
    document = described(tmp_path, {("session", entity): numbers(sessions=1) for entity in entities})
    assert "1 active Writing to net, 1 active IO WalSync, 1 idle on average" in shown(document, capsys)


def test_many_sessions_are_no_power_of_ten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = described(tmp_path, {("session", "idle//"): numbers(sessions=150)})
    assert "150 idle on average" in shown(document, capsys)


def test_sessions_that_a_role_may_not_see_have_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = described(tmp_path, {("session", "//"): numbers(sessions=8)})
    assert "8 in states that the role may not see on average" in shown(document, capsys)


def log_lacks(folder: Path, engine: str = "postgresql", **log: float) -> list[str]:
    before: dict[tuple[str, str], Values] = {LOG: numbers(**dict.fromkeys(log, 0))}
    if engine == "mariadb":
        before["setting", "log_bin"] = {"setting": "OFF"}
    document = described(folder, before, {LOG: numbers(**log)}, engine=engine)
    return [lack for lack in document["missing"] if "flushes" in lack]


def test_the_time_of_flushes_is_missing_where_there_were_any(tmp_path: Path) -> None:
    assert log_lacks(tmp_path / "none", bytes=0, flushes=0, flush_ms=0) == []
    assert log_lacks(tmp_path / "timed", bytes=9, flushes=2, flush_ms=3) == []
    remedy = "the time of log flushes: set track_wal_io_timing = on"
    assert log_lacks(tmp_path / "untimed", bytes=9, flushes=2, flush_ms=0) == [remedy]
    assert log_lacks(tmp_path / "uncounted", bytes=9) == [remedy]


def test_what_no_recording_brings_has_no_remedy(tmp_path: Path) -> None:
    (lack,) = log_lacks(tmp_path, "mariadb", bytes=9, flushes=2)
    assert lack == "the time of log flushes: log_bin is OFF, and no file of the redo log was timed"


def test_counters_of_checkpoints_that_are_off_are_to_be_set_on(tmp_path: Path) -> None:
    document = described(tmp_path, {SHOP: numbers(commits=1)}, {SHOP: numbers(commits=2)}, engine="mariadb")
    assert any("checkpoints: SET GLOBAL innodb_monitor_enable = 'log_checkpoints'" in s for s in document["missing"])


#: As MariaDB 10.11 and PostgreSQL 18 show them.
SESSIONS = (
    "SELECT UNIX_TIMESTAMP(SYSDATE(?)) AS unix_s, COMMAND, STATE, COUNT(*) AS COUNT FROM information_schema.PROCESSLIST"
    " WHERE ID != CONNECTION_ID() GROUP BY COMMAND, STATE"
)
OWN = (
    SESSIONS,
    "SHOW GLOBAL STATUS",
    "SELECT database_name, TABLE_NAME, n_rows, clustered_index_size FROM mysql.innodb_table_stats LIMIT ?",
    "SELECT ? AS DATA, ? AS log",
    "SELECT NAME , SUBSYSTEM , COUNT , STATUS FROM information_schema . INNODB_METRICS",  # MySQL's spaces
    "SELECT oid FROM pg_catalog.pg_class WHERE relkind IN (?) AND relpersistence <> ? ORDER BY relpages DESC, oid",
)


@pytest.mark.parametrize("text", OWN)
def test_the_recorders_own_queries_are_told(text: str) -> None:
    assert is_of_recorder(text)


def test_all_that_is_asked_of_a_server_again_and_again_is_the_recorders() -> None:
    asked = (mysql.MOMENT, mysql.SESSIONS, *mysql.QUERIES, postgres.MOMENT, postgres.SESSIONS, *postgres.VIEWS)
    assert all(is_of_recorder(query.sql) for query in asked)
    assert not any(map(is_of_recorder, ("", "SELECT bal FROM acc WHERE ID = ?", "COMMIT", "SHOW GLOBAL STATUS LIKE ?")))


@pytest.mark.parametrize(("load", "idle"), [(7, True), (8, False)])
def test_an_idle_server_is_said_to_be_idle(
    load: int, idle: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = [
        {("query", "own"): simple(calls), ("query", "load"): simple(7 if calls == 1 else load)} for calls in (1, 5)
    ]
    texts = {"own": SESSIONS, "load": "SELECT bal FROM acc WHERE ID = ?"}
    said = shown(described(tmp_path, *moments, texts=texts), capsys, everything=False)
    assert ("the server was idle: no query but the recorder's was counted" in said) is idle
    assert ("SELECT bal" in said) is not idle
    assert "recorder: SELECT" in said


def test_where_no_query_was_counted_nobody_knows_whether_it_was_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with pg_stat_statements.track = none."""
    assert "idle" not in shown(
        described(tmp_path, *[{("query", "own"): simple(1)}] * 2, texts={"own": SESSIONS}), capsys
    )


def test_where_queries_of_others_are_hidden_nobody_knows_whether_it_was_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = [{("query", "own"): simple(calls), ("session", "//"): numbers(sessions=8)} for calls in (1, 5)]
    assert "idle" not in shown(described(tmp_path, *moments, texts={"own": SESSIONS}), capsys)


def test_a_replay_is_refused_for_what_a_recording_lacks_first(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiersim.cli.replay.compile_if_cold", lambda: None)
    idle = [{("query", "own"): simple(calls)} for calls in (1, 5)]
    described(tmp_path / "idle.trace", *idle, texts={"own": SESSIONS})
    described(tmp_path / "bare.trace", {SHOP: numbers(commits=1)}, {SHOP: numbers(commits=9)}, engine="postgresql")
    for name, why in (
        ("idle", "the server was idle: no query but the recorder's was counted; record while the load runs"),
        ("bare", "lacks the work of each query: install pg_stat_statements"),
    ):
        path = tmp_path / f"{name}.trace"
        assert f"{path}: {why}" in shell.fails("replay", path, "--on", "pcie-flash")


def test_the_share_of_lookups_is_not_called_as_the_simulated_pool_s_hits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a server counts as lookups is not what the simulated pool is asked for."""
    counts = [
        {("database", "*"): numbers(pages_looked_up=looked_up, pages_read=read)}
        for looked_up, read in ((0, 0), (100, 8))
    ]
    said = shown(described(tmp_path, *counts), capsys)
    assert "100 pages looked up, 8 read, 92.0 % of lookups were hits" in said
    assert "hit ratio" not in said


def test_a_commit_has_no_row_among_queries_beside_its_own() -> None:
    summary = copy.deepcopy(statement_sample(DISKS).summary)
    first, *others = _most_expensive([summary])
    summary["queries"][first]["text"] = "COMMIT"
    assert _most_expensive([summary]) == others
    del summary["latency_ns"]["commit"]
    assert _most_expensive([summary]) == [first, *others]


def test_a_percentile_of_too_few_executions_is_none() -> None:
    """The 99th percentile of three is the slowest, and the 95th, too."""
    durations = {"few": [1_000, 2_000, 90_000], "many": [1_000] * 100}
    rows: list[Mapping[str, int | str | None]] = [
        {"query": query, "duration_ns": took, "time_ns": 0} for query, all_ in durations.items() for took in all_
    ]
    few, many = sorted(_executions(table_of(STATEMENT_COLUMNS, rows), {}), key=lambda one: str(one["query"]))
    assert (few["mean_ns"], few["p50_ns"], few["p95_ns"], few["p99_ns"]) == (31_000, 2_000, None, None)
    assert (many["p50_ns"], many["p95_ns"], many["p99_ns"]) == (1_000, 1_000, 1_000)
