"""Files of PostgreSQL's views become snapshots: when they were taken, what is lost, and what must not travel."""

import gzip
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.naive_views import VIEWS, file_of, growth
from tests.postgres_texts import EXACT, PRINTED, Rows, as_csv
from tests.postgres_versions import COLUMNS, STATEMENTS
from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.differences import Differences, differences
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.timestamps import canonical, unix_ns
from tiersim.traces.statistics import Snapshot, read_queries, read_snapshots

SECOND = 1_000_000_000


def imported(folder: Path, files: Mapping[str, str | bytes]) -> tuple[Manifest, list[Snapshot]]:
    """What a folder of files becomes."""
    source, target = folder / "recorded", folder / "out.trace"
    for name, content in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    manifest = import_trace([source], target, force=True)
    return manifest, list(read_snapshots(target))


def statement(calls: int, queryid: int = 7, **named: str | None) -> dict[str, str | None]:
    """A row of pg_stat_statements of version 18, or of another by *named*."""
    row: dict[str, str | None] = dict.fromkeys(STATEMENTS["18"].split(), "0")
    return row | {
        "userid": "10", "dbid": "5", "toplevel": "t", "queryid": str(queryid), "query": "select 1", "calls": str(calls),
        "total_exec_time": f"{calls}.5", "stats_since": "2026-11-20 10:00:00+00", "minmax_stats_since": None,
    } | named  # fmt: skip


def grown(snapshots: list[Snapshot], subject: str = "query", entity: str = "5/10/t/7") -> dict[str, Decimal]:
    return differences(snapshots).of(subject)[entity].grown


WAL = "wal_records,wal_fpi,wal_bytes,wal_buffers_full,stats_reset\n{},0,{},0,2026-11-20 10:00:00+00\n"


@pytest.mark.parametrize(("name", "columns"), [(n, c[-1]) for n, c in COLUMNS.items()], ids=COLUMNS)
def test_a_view_of_each_kind_imports_alone(name: str, columns: str, tmp_path: Path) -> None:
    row: dict[str, str | None] = {column: str(place) for place, column in enumerate(columns.split(), 1)}
    times = [c for c in row if c.endswith(("_since", "_reset", "_start", "_start_time")) or c in ("ts", "clock_ts")]
    row |= dict.fromkeys(times, "2026-11-21 10:00:00+00") | ({"wal_lsn": "0/1"} if "wal_lsn" in row else {})
    path = tmp_path / "anything"
    path.write_text(as_csv([row]))
    assert detect_format(path) == "postgresql"
    assert import_trace([path], tmp_path / "out.trace").source_format == "postgresql"


@pytest.mark.parametrize("form", [*EXACT, *PRINTED])
def test_every_form_of_text_gives_the_same_snapshot(form: str, tmp_path: Path) -> None:
    rows = [statement(5), statement(6, 8, query="select a\nfrom b")]
    _, expected = imported(tmp_path / "a", {"before.csv": as_csv(rows)})
    manifest, found = imported(tmp_path / "b", {"before.csv": (EXACT | PRINTED)[form](rows)})
    assert found == expected
    assert manifest.dropped == {}


def test_views_of_a_moment_are_one_snapshot_and_moments_are_in_order(tmp_path: Path) -> None:
    manifest, snapshots = imported(tmp_path, {
        "pg_stat_wal.after.csv": WAL.format(30, 3000), "pg_stat_wal.before.csv": WAL.format(10, 1000),
        "x.before.csv": as_csv([statement(1)]), "x.after.csv": as_csv([statement(4)]),
    })  # fmt: skip
    assert len(snapshots) == manifest.snapshots == 2
    assert grown(snapshots)["calls"] == 3
    assert grown(snapshots)["exec_ms"] == 3
    assert grown(snapshots, "log", "log")["bytes"] == 2000


def test_numbers_in_names_do_not_join_what_folders_part(tmp_path: Path) -> None:
    files = {f"{when}/pg16_{n}.csv": WAL.format(n, n) for when, n in (("before", 4), ("after", 9))}
    same = {f"{when}/pg16_wal.csv": WAL.format(n, n) for when, n in (("before", 4), ("after", 9))}
    for number, recorded in enumerate((files, same)):
        _, snapshots = imported(tmp_path / str(number), recorded)
        assert [s.values["log", "log"]["records"] for s in snapshots] == [4, 9]


def test_numbered_files_are_a_series(tmp_path: Path) -> None:
    files = {f"wal_{n}.csv": WAL.format(n, n) for n in (10, 9, 2)}
    _, snapshots = imported(tmp_path, files)
    assert [s.values["log", "log"]["records"] for s in snapshots] == [2, 9, 10]


def test_the_time_of_a_moment_is_that_of_any_of_its_files(tmp_path: Path) -> None:
    meta = "ts,wal_lsn,version,pg_postmaster_start_time\n{},0/10,PostgreSQL 15.18 on x,2026-11-21 00:00:00+00\n"
    manifest, snapshots = imported(tmp_path, {
        "before/meta.csv": meta.format("2026-11-21 10:00:00.25+00"), "before/x.csv": as_csv([statement(1)]),
        "after/meta.csv": meta.format("2026-11-21 12:00:10.5+02"), "after/x.csv": as_csv([statement(2)]),
    })  # fmt: skip
    assert [s.time_ns for s in snapshots] == [0, 10 * SECOND + 250_000_000]
    assert manifest.span_ns == 10_250_000_000
    assert manifest.host["version"] == "15.18"
    assert differences(snapshots).span_ns["query"] == 10_250_000_000
    assert not manifest.inferred


@pytest.mark.parametrize(
    ("text", "later"),
    [("2026-11-21 10:00:01+00", "2026-11-21 15:30:03.5+05:30"), ("2026-11-21T10:00:01Z", "2026-11-21T06:00:03.5-04"),
     ("1795255201", "1795255203.5"), ("2026-11-21 10:00:01+00", "2026-11-21 10:19:35.5+00:19:32")],
)  # fmt: skip
def test_rows_with_times_are_a_series_in_one_file(text: str, later: str, tmp_path: Path) -> None:
    rows = [
        {"captured_at": text, **statement(3)},
        {"captured_at": text, **statement(4, 8)},
        {"captured_at": later, **statement(9)},
    ]
    _, snapshots = imported(tmp_path, {"series.csv": as_csv(rows)})  # fmt: skip
    assert [s.time_ns for s in snapshots] == [0, 2_500_000_000]
    assert [len(s.values) for s in snapshots] == [2, 1]
    assert grown(snapshots)["calls"] == 6


def test_a_time_without_an_offset_is_said_to_be_taken_for_utc(tmp_path: Path) -> None:
    manifest, _ = imported(tmp_path, {"a.csv": as_csv([{"ts": "2026-11-21 10:00:01", **statement(3)}])})
    assert any("assumed to be UTC" in sentence for sentence in manifest.inferred)


@pytest.mark.parametrize(
    "text",
    [
        "Sat 21 Nov 10:00:01 2026 CET",
        "11/21/2026 10:00:01 CET",
        "2026-02-30 10:00:01+00",
        "soon",
        "9999-01-01 00:00:00+00",
        "9999999999",
        "1969-01-01 00:00:00+00",
        "infinity",
    ],
)
def test_a_time_in_another_style_is_refused_naming_the_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"a\.csv: line 2: ts: '.*' is no "):
        imported(tmp_path, {"a.csv": as_csv([{"ts": text, **statement(3)}])})


@given(st.datetimes(datetime(1971, 1, 1), datetime(2261, 1, 1)), st.integers(-15 * 3600, 15 * 3600))
def test_moments_are_read_to_the_microsecond_in_any_time_zone(moment: datetime, east_s: int) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(seconds=east_s)))
    microseconds = (local - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert unix_ns(local.isoformat(" ")) == unix_ns(local.isoformat()) == microseconds * 1000
    assert canonical(local.isoformat(" ")) == local.astimezone(UTC).isoformat(" ")


def test_json_may_say_the_time_beside_the_rows(tmp_path: Path) -> None:
    lines = [json.dumps({"time": f"2026-11-21T10:00:0{n}+00:00", "pg_stat_statements": [statement(n)],
                         "pg_stat_wal": {"wal_records": n, "wal_bytes": 2**62 + n}}) for n in (1, 4)]  # fmt: skip
    _, snapshots = imported(tmp_path, {"a.json": "\n".join(lines)})
    assert [s.time_ns for s in snapshots] == [0, 3 * SECOND]
    assert grown(snapshots)["calls"] == 3
    assert snapshots[1].values["log", "log"]["bytes"] == 2**62 + 4


def test_what_watch_prints_is_a_series(tmp_path: Path) -> None:
    texts = [PRINTED["aligned, border 1"]([{"wal_records": str(n), "wal_bytes": str(n * n)}]) for n in range(1, 4)]
    _, snapshots = imported(tmp_path, {"a.txt": "\n".join(f"Sat Nov 21 2026 (every 2s)\n\n{text}" for text in texts)})
    assert [s.values["log", "log"]["bytes"] for s in snapshots] == [1, 4, 9]


def activity(*, own: bool) -> dict[str, str | None]:
    row: dict[str, str | None] = dict.fromkeys(COLUMNS["pg_stat_activity"][1].split(), "")
    text = "COPY (select * from pg_stat_activity) TO STDOUT" if own else "select 'secret'"
    return row | {
        "pid": "1",
        "state": "active",
        "query": text,
        "query_start": "2026-11-21 10:00:07+00",
        "backend_type": "client backend",
    }


def test_the_session_that_read_the_activity_tells_the_time_if_nothing_else_does(tmp_path: Path) -> None:
    files = {"before/a.csv": as_csv([activity(own=False), activity(own=True)]), "before/x.csv": as_csv([statement(1)])}
    manifest, (snapshot,) = imported(tmp_path / "a", dict(files))
    assert manifest.host["clock_start_unix_ns"] == 1795255207 * SECOND
    assert any("query_start" in sentence for sentence in manifest.inferred)
    assert snapshot.values["session", "active//"]["sessions"] == 2
    meta = "ts,version,pg_postmaster_start_time\n2026-11-21 10:00:09+00,PostgreSQL 17.1,2026-11-21 00:00:00+00\n"
    manifest, snapshots = imported(tmp_path / "b", files | {"before/meta.csv": meta})
    assert manifest.host["clock_start_unix_ns"] == 1795255209 * SECOND
    assert len(snapshots) == 1
    assert not manifest.inferred


def found(tmp_path: Path, before: Rows, after: Rows) -> tuple[Manifest, Differences]:
    manifest, snapshots = imported(tmp_path, {"x.before.csv": as_csv(before), "x.after.csv": as_csv(after)})
    return manifest, differences(snapshots)


def test_an_entry_that_was_evicted_and_came_back_counts_from_its_beginning(tmp_path: Path) -> None:
    later = statement(9, stats_since="2026-11-21 10:00:00+00")
    manifest, taken = found(tmp_path, [statement(5)], [later])
    assert taken.of("query")["5/10/t/7"].grown["calls"] == 9  # not 4
    assert any("reset" in sentence for sentence in manifest.warnings)


def test_without_stats_since_a_counter_that_fell_tells(tmp_path: Path) -> None:
    before, after = (
        [statement(n, q, stats_since=None) for n, q in rows] for rows in ([(5, 7), (1, 8)], [(3, 7), (4, 8)])
    )
    _, taken = found(tmp_path, before, after)
    assert taken.of("query")["5/10/t/7"].grown["calls"] == 3
    assert taken.of("query")["5/10/t/8"].grown["calls"] == 3
    assert taken.resets == {"query": ["5/10/t/7"]}


def test_without_stats_since_a_reset_of_all_statements_tells(tmp_path: Path) -> None:
    info = "dealloc,stats_reset\n0,2026-11-21 0{}:00:00+00\n"
    before, after = (as_csv([statement(calls, stats_since=None)]) for calls in (5, 9))
    files = {"before/a.csv": before, "after/a.csv": after, "before/i.csv": info.format(1)}
    _, snapshots = imported(tmp_path / "reset", files | {"after/i.csv": info.format(2)})
    assert grown(snapshots)["calls"] == 9
    _, snapshots = imported(tmp_path / "kept", files | {"after/i.csv": info.format(1)})
    assert grown(snapshots)["calls"] == 4


def test_entries_that_left_are_told(tmp_path: Path) -> None:
    manifest, taken = found(tmp_path, [statement(5), statement(6, 8)], [statement(6)])
    assert taken.evicted == {"query": ["5/10/t/8"]}
    assert any("left the view" in sentence for sentence in manifest.warnings)


def test_the_same_moment_in_another_time_zone_is_no_reset(tmp_path: Path) -> None:
    _, taken = found(tmp_path, [statement(5)], [statement(6, stats_since="2026-11-20 11:00:00+01")])
    assert not taken.resets
    assert taken.of("query")["5/10/t/7"].grown["calls"] == 1


def test_a_restart_between_snapshots_is_told(tmp_path: Path) -> None:
    meta = "ts,version,pg_postmaster_start_time\n2026-11-21 10:0{}:00+00,PostgreSQL 17.1,2026-11-21 0{}:00:00+00\n"
    manifest, _ = imported(tmp_path, {"before/m.csv": meta.format(1, 1), "after/m.csv": meta.format(9, 8)})
    assert any("restarted once" in sentence for sentence in manifest.warnings)


def test_queries_that_the_role_may_not_see_are_counted(tmp_path: Path) -> None:
    rows = [
        statement(5),
        statement(6, 8, query="<insufficient privilege>"),
        statement(2, query="<insufficient privilege>", queryid=0) | {"queryid": None},
    ]
    manifest, (snapshot,) = imported(tmp_path, {"x.csv": as_csv(rows)})
    assert manifest.dropped == {"queries that the recording role may not see": 2}
    assert {entity for _, entity in snapshot.values} == {"5/10/t/7", "5/10/t/8"}
    assert len(read_queries(tmp_path / "out.trace")) == 1


def texts_of(folder: Path) -> str:
    queries = read_queries(folder)
    said = [str(snapshot) for snapshot in read_snapshots(folder)] + [str(queries.words)]
    return "".join(said) + (folder / "manifest.json").read_text()


def test_literals_and_secrets_stay_where_they_were(tmp_path: Path) -> None:
    secret = "s3cret"
    settings_rows: Rows = [{"name": "primary_conninfo", "setting": f"password={secret}", "unit": None},
                           {"name": "shared_buffers", "setting": "100", "unit": "8kB"}]  # fmt: skip
    stats: Rows = [{"tablename": "t", "attname": "c", "correlation": "0.5", "most_common_vals": secret}]
    sessions = activity(own=True) | {
        "query": f"select '{secret}' from pg_stat_activity",
        "application_name": secret,
        "client_addr": secret,
    }
    imported(tmp_path, {
        "a.csv": as_csv([statement(1, query=f"select * from t where a = '{secret}' -- {secret}")]),
        "b.csv": as_csv(settings_rows), "c.csv": as_csv(stats), "d.csv": as_csv([sessions]),
    })  # fmt: skip
    said = texts_of(tmp_path / "out.trace")
    assert "select * from t where a = ?" in said
    assert secret not in said


def test_settings_are_bytes_and_seconds_in_the_host(tmp_path: Path) -> None:
    rows: Rows = [
        {"name": name, "setting": value, "unit": unit}
        for name, value, unit in [
            ("block_size", "8192", None), ("shared_buffers", "65536", "8kB"), ("work_mem", "4096", "kB"),
            ("max_wal_size", "4096", "MB"), ("checkpoint_timeout", "5", "min"), ("bgwriter_delay", "200", "ms"),
            ("wal_segment_size", "16777216", "B"), ("wal_buffers", "-1", "8kB"), ("full_page_writes", "on", None),
            ("checkpoint_completion_target", "0.9", None), ("server_version", "18.4 (Debian 18.4-1)", None),
        ]
    ]  # fmt: skip
    manifest, _ = imported(tmp_path, {"a.csv": as_csv(rows)})
    assert {k: v for k, v in manifest.host.items() if k != "clock_start_unix_ns"} == {
        "engine": "postgresql", "version": "18.4", "page_bytes": 8192, "shared_buffers_bytes": 512 << 20,
        "work_mem_bytes": 4 << 20, "max_wal_size_bytes": 4 << 30, "checkpoint_timeout_s": 300, "bgwriter_delay_s": 0.2,
        "wal_segment_bytes": 16 << 20, "full_page_writes": "on", "checkpoint_completion_target": 0.9,
    }  # fmt: skip


def test_what_select_version_prints_tells_the_version_and_no_moment(tmp_path: Path) -> None:
    manifest, snapshots = imported(
        tmp_path,
        {"version.txt": "PostgreSQL 16.2 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit\n", "a.csv": WAL.format(1, 2)},
    )
    assert manifest.host["version"] == "16.2"
    assert [list(s.values) for s in snapshots] == [[("log", "log")]]


def test_a_view_without_rows_is_what_later_counters_count_from(tmp_path: Path) -> None:
    empty = STATEMENTS["18"].replace(" ", ",") + "\n"
    manifest, snapshots = imported(tmp_path, {"before/a.csv": empty, "after/a.csv": as_csv([statement(5)])})
    assert manifest.snapshots == 2
    assert not manifest.warnings
    assert grown(snapshots)["calls"] == 5
    _, snapshots = imported(tmp_path, {"after/a.csv": empty, "before/a.csv": as_csv([statement(5)])})
    assert differences(snapshots).evicted == {"query": ["5/10/t/7"]}


@pytest.mark.parametrize("bad", ["x", "1e30", "1,5", "0x1F", "--"])
def test_a_row_with_what_is_no_number_is_left_out_and_told(bad: str, tmp_path: Path) -> None:
    rows = [statement(1), statement(2, 8, rows=bad), statement(3, 9)]
    manifest, (snapshot,) = imported(tmp_path, {"a.csv": as_csv(rows)})
    assert {entity for _, entity in snapshot.values} == {"5/10/t/7", "5/10/t/9"}
    assert manifest.dropped == {"damaged rows": 1}
    (warning,) = manifest.warnings
    assert warning.startswith("a.csv: 1 damaged rows are left out, the first: line 3: rows: '")


def test_nan_is_not_said(tmp_path: Path) -> None:
    manifest, (snapshot,) = imported(
        tmp_path, {"a.csv": as_csv([statement(1, mean_exec_time="NaN", max_exec_time="Infinity")])}
    )
    values = snapshot.values["query", "5/10/t/7"]
    assert "exec_mean_ms" not in values
    assert "exec_max_ms" not in values
    assert manifest.dropped == {}


def test_rows_that_come_twice_count_once(tmp_path: Path) -> None:
    manifest, (snapshot,) = imported(tmp_path, {"a.csv": as_csv([statement(5), statement(5)])})
    assert snapshot.values["query", "5/10/t/7"]["calls"] == 5
    assert manifest.dropped == {"rows of what the same snapshot has already": 1}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_marks_of_byte_order_and_compression_are_undone(encoding: str, packed: bool, tmp_path: Path) -> None:
    data = as_csv([statement(5, query='select "ü"')], end="\r\n").encode(encoding)
    manifest, (snapshot,) = imported(tmp_path, {"a.csv": gzip.compress(data) if packed else data})
    assert snapshot.values["query", "5/10/t/7"]["calls"] == 5
    assert not manifest.warnings


def test_a_file_that_is_mostly_damaged_is_refused_in_a_sentence(tmp_path: Path) -> None:
    head = STATEMENTS["18"].replace(" ", ",")
    with pytest.raises(TraceError, match=r"a\.csv: 2 of 2 rows cannot be read \(line 2: .*\); save the view again"):
        imported(tmp_path / "few", {"a.csv": f"{head}\n1,2\n3\n"})
    with pytest.raises(TraceError, match=r"a\.csv: line 2: .* save the view again"):
        imported(tmp_path / "many", {"a.csv": head + "\n1,2" * 5000})


def test_a_damaged_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    data = gzip.compress(as_csv([statement(n, n) for n in range(400)]).encode())
    with pytest.raises(TraceError, match="give the whole file"):
        imported(tmp_path, {"a.csv.gz": data[: len(data) // 2]})


@given(data=st.data())
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_told_in_a_sentence_or_left_out(tmp_path: Path, data: st.DataObject) -> None:
    rows = [statement(5), statement(6, 8, query="select a\nfrom b")]
    content = bytearray((EXACT | PRINTED)[data.draw(st.sampled_from([*EXACT, *PRINTED]))](rows).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    with suppress(TraceError):  # nothing else
        imported(tmp_path, {"a.csv": bytes(content)})


def test_a_bundle_of_snapshots_alone_has_no_requests(tmp_path: Path) -> None:
    imported(tmp_path, {"a.csv": as_csv([statement(5)])})
    bundle = Bundle(tmp_path / "out.trace")
    assert bundle.rows == 0
    with pytest.raises(TraceError, match="no requests"):
        bundle.refuse_without_requests()


def test_views_in_any_combination_of_names(tmp_path: Path) -> None:
    """What a file is called says nothing of what it holds."""
    io: Any = dict.fromkeys(COLUMNS["pg_stat_io"][0].split(), "1") | {"op_bytes": "8192"}
    _, (snapshot,) = imported(tmp_path, {"pg_stat_wal.csv": as_csv([io]), "pg_stat_io.csv": WAL.format(1, 2)})
    assert snapshot.values["io", "1/1/1"]["read_bytes"] == 8192
    assert snapshot.values["log", "log"]["bytes"] == 2


def test_relations_without_a_schema_are_those_that_others_name_with_one(tmp_path: Path) -> None:
    pages: Rows = [{"schemaname": schema, "relname": name, "heap_blks_read": "1", "heap_blks_hit": "2"}
                   for schema, name in (("app", "orders"), ("app", "twice"), ("public", "twice"))]  # fmt: skip
    pool: Rows = [
        {"relname": name, "usagecount": "5", "isdirty": "f", "count": "3"} for name in ("orders", "twice", "pg_proc")
    ]
    sizes: Rows = [{"relname": "orders", "relkind": "r", "relpages": "7"}]
    manifest, (snapshot,) = imported(tmp_path, {"a.csv": as_csv(pool), "b.csv": as_csv(pages), "c.csv": as_csv(sizes)})
    assert snapshot.values["relation", "app.orders"] == {"pages_read": 1, "pages_hit": 2, "pages": 7, "kind": "table"}
    assert {entity for subject, entity in snapshot.values if subject == "pool"} == {
        "app.orders/5/clean", "twice/5/clean", "pg_proc/5/clean",
    }  # fmt: skip
    assert any("app.orders" in sentence for sentence in manifest.inferred)


def test_json_that_lacks_nulls_is_read_and_a_document_that_was_cut_off_is_not_mixed_up(tmp_path: Path) -> None:
    lines = [{name: value for name, value in statement(5, q).items() if value != "0" or q == 7} for q in (7, 8)]
    manifest, (snapshot,) = imported(tmp_path / "a", {"a.json": "\n".join(map(json.dumps, lines))})
    assert [values["calls"] for values in snapshot.values.values()] == [5, 5]
    assert manifest.dropped == {}
    wal = json.dumps({"wal_records": 1, "wal_bytes": 2})
    io = json.dumps(dict.fromkeys(COLUMNS["pg_stat_io"][1].split(), 1))
    text = f'{{"pg_stat_wal" : [{wal}, \n {wal}, \n {wal}, \n {wal}],"pg_stat_io" : [{io}, \n {io}'
    manifest, (snapshot,) = imported(tmp_path / "b", {"a.json": text})
    assert {subject for subject, _ in snapshot.values} == {"log"}
    assert manifest.dropped["damaged rows"] == 3


def test_json_of_other_tools_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"name": "x"}, {"setting": 1}, {"pid": 1, "state": "R", "query_start": 2}]))
    with pytest.raises(TraceError, match="no known format"):
        detect_format(path)


EXCERPTS = Path(__file__).parent / "data" / "recorded"
RECORDED = [view for view in VIEWS if file_of(EXCERPTS, view, "after").exists()]


@pytest.mark.parametrize("view", RECORDED)
def test_what_grew_in_a_recording_is_what_the_twin_says(view: str, tmp_path: Path) -> None:
    files = [file_of(EXCERPTS, view, moment) for moment in ("before", "after")]
    import_trace(files, tmp_path / "out.trace")
    found = differences(read_snapshots(tmp_path / "out.trace"))
    for (subject, entity), numbers in growth(EXCERPTS, view).items():
        assert numbers.items() <= found.of(subject)[entity].grown.items(), entity


def test_a_recording_is_two_moments_at_the_times_of_its_server(tmp_path: Path) -> None:
    manifest = import_trace([EXCERPTS / "before", EXCERPTS / "after"], tmp_path / "out.trace")
    assert (manifest.snapshots, manifest.span_ns, manifest.dropped) == (2, 41_387_986_000, {})
    assert len(RECORDED) == 9


@pytest.mark.parametrize("back_s", [30, 3_000])
def test_a_clock_that_was_set_back_between_two_snapshots_is_no_reset(tmp_path: Path, back_s: int) -> None:
    """In order of time all that was ever counted, here 1,000,000 commits, would be done in between, not 1,000."""
    heading = "datid,datname,xact_commit,stats_reset,now"
    begun = datetime(2026, 10, 25, 2, 55)
    files = {
        f"{name}/pg_stat_database.csv": f"{heading}\n5,shop,{commits},2026-01-01 00:00:00,{taken}\n"
        for name, commits, taken in (
            ("before", 1_000_000, begun),
            ("after", 1_001_000, begun - timedelta(seconds=back_s)),
        )
    }
    with pytest.raises(TraceError, match=r"'after' was taken .* earlier than 'before' .*was the clock set back"):
        imported(tmp_path, files)
    ahead = {name: text.replace(str(begun), "2026-10-25 01:00:00") for name, text in files.items()}
    assert grown(imported(tmp_path, ahead)[1], "database", "shop")["commits"] == 1000


def test_a_second_pair_of_snapshots_begins_behind_the_first(tmp_path: Path) -> None:
    heading = "datid,datname,xact_commit,stats_reset,now\n5,shop"
    files = {
        f"{name}/pg_stat_database.csv": f"{heading},{hour}000,2026-01-01 00:00:00,2026-10-25 0{hour}:00:00\n"
        for hour, name in enumerate(("before1", "after1", "before2", "after2"), 1)
    }
    assert grown(imported(tmp_path, files)[1], "database", "shop")["commits"] == 3000
