"""Logs of PostgreSQL servers: what becomes of each kind of line, in each of the three ways that a
server writes them.
"""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.imported_rows import said
from tests.recorded_files import DATA, SHARED, read_files, read_or_refused, read_text, statements, texts, values
from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.postgres_plans import plan_of
from tiersim.traces.statistics import read_queries, read_statements

MS = 1_000_000
S = 1_000_000_000
KINDS = ("postgresql.log", "postgresql.csv", "postgresql.json")
AT = "2026-11-21 01:36:17.679 UTC [21240] "
AT_NS = 1_795_224_977_679_000_000

COMPLETE = {
    "9.4": (
        "checkpoint complete: wrote 12 buffers (0.1%); 0 transaction log file(s) added, 1 removed, 2 recycled; "
        "write=1.250 s, sync=0.003 s, total=1.300 s; sync files=4, longest=0.002 s, average=0.001 s"
    ),
    "9.5": (
        "checkpoint complete: wrote 12 buffers (0.1%); 0 transaction log file(s) added, 1 removed, 2 recycled;"
        " write=1.250 s, sync=0.003 s, total=1.300 s; sync files=4, longest=0.002 s, average=0.001 s; distance=16 kB,"
        " estimate=32 kB"
    ),
    "15": (
        "checkpoint complete: wrote 12 buffers (0.1%); 0 WAL file(s) added, 1 removed, 2 recycled; write=1.250 s,"
        " sync=0.003 s, total=1.300 s; sync files=4, longest=0.002 s, average=0.001 s; distance=16 kB, estimate=32 kB"
    ),
    "16": (
        "restartpoint complete: wrote 12 buffers (0.1%); 0 WAL file(s) added, 1 removed, 2 recycled; write=1.250 s,"
        " sync=0.003 s, total=1.300 s; sync files=4, longest=0.002 s, average=0.001 s; distance=16 kB, estimate=32 kB;"
        " lsn=0/1, redo lsn=0/1"
    ),
    "18": (
        "checkpoint complete: wrote 12 buffers (0.1%), wrote 3 SLRU buffers; 0 WAL file(s) added, 1 removed, 2"
        " recycled; write=1.250 s, sync=0.003 s, total=1.300 s; sync files=4, longest=0.002 s, average=0.001 s;"
        " distance=16 kB, estimate=32 kB; lsn=0/1, redo lsn=0/1"
    ),
}


@pytest.mark.parametrize("version", COMPLETE)
def test_checkpoints_of_every_version(tmp_path: Path, version: str) -> None:
    what = COMPLETE[version].split(" ")[0]
    recorded = read_text(tmp_path, f"{AT}LOG:  {what} starting: wal time\n{AT}LOG:  {COMPLETE[version]}\n")
    (snapshot,) = recorded.snapshots()
    expected: dict[str, Decimal | str] = {
        "pages": Decimal(12),
        "log_files_added": Decimal(0),
        "log_files_removed": Decimal(1),
        "log_files_recycled": Decimal(2),
        "write_ms": Decimal(1250),
        "flush_ms": Decimal(3),
        "total_ms": Decimal(1300),
        "files": Decimal(4),
        "longest_flush_ms": Decimal(2),
        "average_flush_ms": Decimal(1),
        "trigger": "wal time",
    }
    if version != "9.4":
        expected |= {"distance_bytes": Decimal(16 << 10), "estimate_bytes": Decimal(32 << 10)}
    assert snapshot.time_ns == AT_NS
    assert snapshot.values == {("checkpoint", "1"): expected}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_log_says_the_same(name: str) -> None:
    """A server wrote the same entries in three ways."""
    recorded = read_files(DATA / name)
    rows = statements(recorded)
    reference = read_files(DATA / KINDS[0])
    assert recorded.formats == ["postgresql-log"]
    assert [row.pop("session").split()[0] for row in rows] == [row["session"] for row in statements(reference)]
    assert rows == [{k: v for k, v in row.items() if k != "session"} for row in statements(reference)]
    assert [s.values for s in recorded.snapshots()] == [s.values for s in reference.snapshots()]
    assert texts(recorded) == texts(reference)
    assert not recorded.dropped


def test_a_statement_and_its_plan_are_one_execution() -> None:
    """As the log of that run shows: statement 8.736 ms, plan 7.103 ms with shared hit=51 read=61 written=31."""
    recorded = read_files(DATA / "postgresql.log")
    joins = [query for query, text in texts(recorded).items() if "join pgbench_accounts" in text]
    first, second = [row for row in statements(recorded) if row.get("query") in joins]
    assert first == {
        "time_ns": 1_795_290_897_001 * MS - 8_736_000, "duration_ns": 8_736_000, "session": "10050", "kind": "language",
        "query": joins[0], "logical_reads": 112, "physical_reads": 61, "writes": 31, "temp_bytes": 0, "rows": 1,
        "log_bytes": 2824, "parallel": 2, "io_wait_ns": 742_000,
    }  # fmt: skip
    # The same statement with its plan as JSON, which tells zeros that text leaves out.
    assert second["duration_ns"] == 8_285_000
    assert {"logical_reads", "physical_reads", "log_bytes", "io_wait_ns", "parallel", "rows"} <= set(second)


def test_a_log_of_postgresql_18() -> None:
    """What stands in its lines: local pages and their times, rows with decimals, SLRU buffers of checkpoints."""
    recorded = read_files(DATA / "postgresql_18.log")
    known = texts(recorded)
    rows = {known[row["query"]]: row for row in statements(recorded)[:-2]}
    sort = next(row for text, row in rows.items() if "offset" in text)
    assert {name: sort[name] for name in sort if name not in ("time_ns", "session", "query", "kind")} == {
        "duration_ns": 500_813_000,
        "logical_reads": 129 + 3258,
        "physical_reads": 3258,
        "writes": 581,
        "rows": 199_995,
        "temp_bytes": (9229 + 9812) * 8192,
        "log_bytes": 39_450,
        "parallel": 2,
        "io_wait_ns": 247_455_000 + 5_458_000 + 21_157_000 + 37_058_000,
    }
    updates = [row for row in statements(recorded) if known[row["query"]] == "update x set bid = ?"]
    assert [row["rows"] for row in updates] == [200_000, 200_000]
    assert (updates[0]["logical_reads"], updates[0]["physical_reads"], updates[0]["writes"]) == (
        606_535 + 3328,
        3328,
        9843,
    )
    assert updates[0]["io_wait_ns"] == 10_724_000 + 29_390_000
    assert "log_bytes" not in updates[0]  # text leaves out what is 0
    assert updates[1]["log_bytes"] == 0  # JSON does not
    assert values(recorded, "checkpoint", 0)["1"]["pages"] == 17


@pytest.mark.parametrize("name", KINDS)
def test_no_literal_reaches_a_bundle(tmp_path: Path, name: str) -> None:
    import_trace([DATA / name], tmp_path / "a.trace")
    for file in (tmp_path / "a.trace").iterdir():
        assert b"cret" not in file.read_bytes()
    for table in (read_statements(tmp_path / "a.trace"), read_queries(tmp_path / "a.trace")):
        words = " ".join(word for words in table.words.values() for word in words)
        for literal in ("cret", "line literal", "2000", "x y", "0.01"):
            assert literal not in words


def test_fates_of_the_server_are_warned_of() -> None:
    recorded = read_files(DATA / "postgresql.log")
    assert said(
        "the server was shut down 2 times, had been stopped without a shutdown once, started once in it",
        recorded.warnings,
    )


PREFIXES = {  # how people set log_line_prefix, and which session that tells
    "%m [%p] ": ("2026-11-21 01:36:17.679 UTC [21240] ", "21240"),
    "%m [%p] %q%u@%d/%a ": ("2026-11-21 01:36:17.679 UTC [21240] LOG@b/[x] ", "21240"),
    "%t [%p]: [%l-1] user=%u,db=%d ": ("2026-11-21 01:36:17.679 UTC [21240]: [5-1] user=a,db=b ", "21240"),
    "%t:%r:%u@%d:[%p]:": ("2026-11-21 01:36:17.679 UTC:10.0.0.1(5432):a@b:[21240]:", "21240"),
    "%m-%c-": ("2026-11-21 01:36:17.679 UTC-6b01f711.52f8-", "21240"),
    "%n [%p] ": ("1795224977.679 [21240] ", "21240"),
    "%p %m ": ("21240 2026-11-21 02:36:17.679 CET ", None),
    "%m offset": ("2026-11-21 07:06:17.679 +0530 [21240] ", "21240"),
    "%m negative offset": ("2026-11-20 22:06:17.679 -03:30 [21240] ", "21240"),
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_any_prefix(tmp_path: Path, prefix: str) -> None:
    text, session = PREFIXES[prefix]
    recorded = read_text(tmp_path, f"{text}LOG:  duration: 1.500 ms  statement: select 17\n{text}DETAIL:  17\n")
    (row,) = statements(recorded)
    assert row["time_ns"] == AT_NS - 1_500_000
    assert row["duration_ns"] == 1_500_000
    assert row.get("session") == session
    assert list(texts(recorded).values()) == ["select ?"]
    assert not said("time zone", recorded.inferred)


def test_a_zone_with_several_meanings_is_taken_as_utc_and_said(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, "2026-11-21 01:36:17.679 CST [1] LOG:  duration: 0 ms  statement: a\n")
    assert statements(recorded)[0]["time_ns"] == AT_NS
    assert said(
        "has the time zone 'CST', which has several meanings: its times are assumed to be UTC", recorded.inferred
    )


def test_steps_of_the_extended_protocol_are_no_executions(tmp_path: Path) -> None:
    lines = ["parse P_1", "bind P_1", "execute P_1", "execute fetch from <unnamed>/c", "statement"]
    text = "".join(f"{AT}LOG:  duration: {n}.000 ms  {line}: SELECT {n}\n" for n, line in enumerate(lines))
    recorded = read_text(tmp_path, text)
    kinds = sorted((row["duration_ns"] // MS, row["kind"]) for row in statements(recorded))
    assert kinds == [(0, "utility"), (1, "utility"), (2, "language"), (3, "language"), (4, "language")]
    assert len({row["query"] for row in statements(recorded)}) == 1


def test_a_text_that_is_logged_before_its_duration(tmp_path: Path) -> None:
    """log_statement = all with log_duration = on."""
    other = AT.replace("21240", "9")
    text = (
        f"{AT}LOG:  statement: select a\n\tfrom t\n{other}LOG:  statement: select b\n"
        f"{AT}LOG:  duration: 2.000 ms\n{other}LOG:  duration: 3.000 ms\n{AT}LOG:  duration: 4.000 ms\n"
    )
    recorded = read_text(tmp_path, text)
    known = texts(recorded)
    found = sorted((row["duration_ns"] // MS, row["session"], known[row["query"]]) for row in statements(recorded))
    assert found == [(2, "21240", "select a from t"), (3, "9", "select b")]
    assert recorded.dropped == {"durations in a log without their statements": 1}


def test_a_log_without_anything_to_predict_from_is_warned_of(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, f"{AT}LOG:  connection received: host=10.0.0.1\n{AT}FATAL:  no such role\n")
    assert said("has neither checkpoints nor durations of statements; set log_checkpoints", recorded.warnings)
    assert not recorded.pieces
    assert "10.0.0.1" not in str(recorded)


XML = (
    '\n\t<explain xmlns="http://www.postgresql.org/2009/explain">\n\t  <Query-Text>select 1</Query-Text>\n\t</explain>'
)
YAML = '\n\tQuery Text: "select 1"\n\tPlan: \n\t  Node Type: "Result"'


def test_plans_in_other_formats_are_counted(tmp_path: Path) -> None:
    text = "".join(
        f"{AT}LOG:  duration: 1.000 ms  plan:{plan}\n" for plan in (XML, YAML, '\n\t{"Query Text": 1}', "\n\t{")
    )
    recorded = read_text(tmp_path, text)
    assert recorded.dropped == {"plans in XML or YAML, or damaged": 4}
    assert not recorded.statements


PLAN = {
    "Query Text": "update t set a = 5",
    "Query Parameters": "$1 = 'secret'",
    "Plan": {
        "Node Type": "ModifyTable", "Actual Rows": 0, "Actual Loops": 1,
        "Shared Hit Blocks": 1, "Shared Read Blocks": 2, "Shared Written Blocks": 3,
        "Local Hit Blocks": 10, "Local Read Blocks": 20, "Local Written Blocks": 30,
        "Temp Read Blocks": 5, "Temp Written Blocks": 6, "WAL Bytes": 700,
        "Plans": [{"Node Type": "Gather", "Actual Rows": 2.5, "Actual Loops": 4, "Workers Launched": 3}],
    },
}  # fmt: skip
COUNTS = {
    "rows": 10,
    "logical_reads": 33,
    "physical_reads": 22,
    "writes": 33,
    "temp_bytes": 11 * 8192,
    "log_bytes": 700,
    "parallel": 3,
}


@pytest.mark.parametrize(
    ("times", "io_wait_ns"),
    [
        ({}, None),
        ({"I/O Read Time": 1.5, "I/O Write Time": 0.25}, 1_750_000),
        ({"I/O Read Time": 1.5, "I/O Write Time": 0.25, "Temp I/O Read Time": 1, "Temp I/O Write Time": 2}, 4_750_000),
        ({"Shared I/O Read Time": 1.5, "Local I/O Write Time": 0.25, "Temp I/O Read Time": 1}, 2_750_000),
    ],
)
def test_a_plan_as_json(times: dict[str, float], io_wait_ns: int | None) -> None:
    plan = plan_of("\n" + json.dumps({**PLAN, "Plan": {**PLAN["Plan"], **times}}, indent=2))  # type: ignore[dict-item]
    assert plan is not None
    assert plan.query == "update t set a = 5"
    assert plan.counts == COUNTS | ({} if io_wait_ns is None else {"io_wait_ns": io_wait_ns})


@pytest.mark.parametrize(
    "timings", ["read=1.500 write=0.250", "shared read=1.500 write=0.250", "local read=1.5, temp write=0.25"]
)
def test_a_plan_as_text(timings: str) -> None:
    text = (
        "\nQuery Text: update t\n\tset a = 5\nQuery Parameters: $1 = 'secret'\n"
        "Update on t  (cost=0.00..1.00 rows=1 width=1) (actual time=0.1..0.2 rows=0 loops=1)\n"
        "  Buffers: shared hit=1 read=2 dirtied=9 written=3, local hit=10 read=20 written=30, temp read=5 written=6\n"
        f"  I/O Timings: {timings}\n  WAL: records=3 fpi=1 bytes=700\n"
        "  ->  Gather  (cost=0.00..1.00 rows=1 width=1) (actual rows=2.50 loops=4)\n"
        "        Workers Launched: 3\n        Buffers: shared hit=999\n"
    )
    plan = plan_of(text)
    assert plan is not None
    assert plan.query == "update t\n\tset a = 5"
    assert plan.counts == COUNTS | {"io_wait_ns": 1_750_000}


def test_rows_that_are_no_number_are_not_counted() -> None:
    plan = plan_of("Query Text: select 1\nResult  (cost=0.00..0.01 rows=1 width=4) (actual rows=1.2.3 loops=1)")
    assert plan is not None
    assert plan.counts == {}


def test_a_plan_without_analyze_has_no_counts() -> None:
    plan = plan_of("Query Text: select 1\nResult  (cost=0.00..0.01 rows=1 width=4)")
    assert plan is not None
    assert plan.counts == {}


def test_what_a_plan_does_not_say_is_not_zero(tmp_path: Path) -> None:
    recorded = read_text(
        tmp_path,
        f"{AT}LOG:  duration: 1 ms  plan:\n\tQuery Text: select 1\n\tResult  (cost=0.00..0.01 rows=1 width=4)\n",
    )
    assert set(statements(recorded)[0]) == {"time_ns", "duration_ns", "session", "kind", "query"}


# Damage.


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_log_with_a_mark_of_byte_order(tmp_path: Path, encoding: str) -> None:
    text = (DATA / "postgresql.log").read_text()
    recorded = read_text(tmp_path, text.replace("\n", "\r\n").encode(encoding))
    assert statements(recorded) == statements(read_files(DATA / "postgresql.log"))
    assert not recorded.dropped


def test_a_log_that_begins_and_ends_in_the_middle(tmp_path: Path) -> None:
    whole = (DATA / "postgresql.log").read_text().split("\n")
    recorded = read_text(tmp_path, "\n".join(whole[5:200]))
    assert recorded.dropped["damaged lines of a PostgreSQL log"] > 0
    assert statements(recorded)


def test_a_csv_record_that_was_cut_off_takes_no_other_with_it(tmp_path: Path) -> None:
    record = '2026-11-21 01:36:17.679 UTC,"a","b",7,"[local]",1.2,1,"SELECT",2026-11-21 01:36:10 UTC,3/2,0,LOG,00000,'
    good = record + '"duration: 1.000 ms  statement: select ""a"", 5",,,,,,,,,"psql","client backend",,0\n'
    recorded = read_text(tmp_path, good + record + '"duration: 1.000 ms  statement: select\n' + good)
    assert list(texts(recorded).values()) == ['select "a", ?']
    assert len(statements(recorded)) == 2
    assert statements(recorded)[0]["session"] == "7 1.2"
    assert recorded.dropped == {"damaged lines of a PostgreSQL log": 1}
    (query,) = recorded.queries.values()
    assert (query["database"], query["user"]) == ("b", "a")


def test_what_is_no_log_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for content in (b"", b"\n\n", b"no log\n", b"\0\xff" * 50):
        with pytest.raises(TraceError, match="recorded: no line is an entry of a PostgreSQL log"):
            read_text(tmp_path, content, key="postgresql-log")


@pytest.mark.parametrize(
    "quotes", ['"' * 300_000, '""a' * 100_000, "(cost=" * 100_000, "[1" * 200_000, "LOG: " * 100_000]
)
def test_hostile_lines_take_no_longer_than_others(tmp_path: Path, quotes: str) -> None:
    entry = '2026-11-21 01:36:17.679 UTC,"a","b",7,,1.2,1,,2026-11-21 01:36:10 UTC,3/2,0,LOG,00000,"'
    for text in (
        f"{AT}LOG:  duration: 1 ms  plan:\n\tQuery Text: {quotes}\n",
        f'{entry}{quotes}",,\n',
        f"{quotes}LOG:  x\n{AT}LOG:  x\n",
    ):
        read_text(tmp_path, text, key="postgresql-log")


@settings(max_examples=examples(150), deadline=None)
@given(
    name=st.sampled_from(KINDS),
    places=st.lists(st.tuples(st.integers(0, 30_000), st.binary(max_size=8), st.integers(0, 2_000)), max_size=4),
    begin=st.integers(0, 20_000),
    cut=st.integers(0, 20_000),
)
def test_whatever_is_done_to_a_log_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, places: list[tuple[int, bytes, int]], begin: int, cut: int
) -> None:
    data = (DATA / name).read_bytes()
    for place, new, gone in places:
        data = data[:place] + new + data[place + gone :]
    recorded = read_or_refused(tmp_path_factory.mktemp("fuzz"), data[begin : len(data) - cut], "postgresql-log")
    if recorded is None:
        return
    assert all(row["duration_ns"] >= 0 for row in statements(recorded))


# Recordings.


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the sample traces are not beside this checkout")
def test_the_recorded_logs(tmp_path: Path) -> None:
    checkpoints, plans = (
        SHARED / "postgres" / name for name in ("log_checkpoints.txt", "log_auto_explain_json_excerpt.txt")
    )
    assert detect_format(checkpoints) == detect_format(plans) == "postgresql-log"
    recorded = read_files(checkpoints, plans)
    text = checkpoints.read_text()
    assert len(recorded.snapshots()) == text.count("checkpoint complete") == 21
    pages = [values(recorded, "checkpoint", place)[str(place + 1)]["pages"] for place in range(21)]
    assert pages == [Decimal(part.split()[0]) for part in text.split("wrote ")[1:]]
    (row,) = statements(recorded)  # of the second plan the excerpt lacks the end
    assert (row["duration_ns"], row["logical_reads"], row["rows"], row["log_bytes"]) == (51_955_000, 8, 1, 126)
    import_trace([checkpoints, plans], tmp_path / "a.trace")
    manifest = Bundle(tmp_path / "a.trace").manifest
    assert (manifest.snapshots, manifest.statements) == (21, 1)
    assert manifest.source_format == "postgresql-log"


def test_a_plan_with_a_number_without_end_is_left_out(tmp_path: Path) -> None:
    plan = '{"Query Text": "select 1", "Plan": {"Node Type": "Result", "WAL Bytes": 1e999999999}}'
    recorded = read_text(tmp_path, f"{AT}LOG:  duration: 2.000 ms  plan:\n\t{plan}\n")
    assert all(row.get("log_bytes") is None for row in statements(recorded))


def test_a_clock_that_was_set_back_is_said(tmp_path: Path) -> None:
    """Its zone is not known, so an hour comes twice; entries that are late by seconds are no such hour."""
    times = ("02:50:00", "02:59:59", "02:59:58", "02:00:00", "02:10:00")
    lines = "".join(f"2026-10-25 {time}.000 XYZ [1] LOG:  duration: 1.000 ms  statement: select 1\n" for time in times)
    (said,) = (one for one in read_text(tmp_path, lines).warnings if "clock" in one)
    assert said.startswith("recorded: its clock was set back by 60 min (daylight saving time?): what ran before lies")
