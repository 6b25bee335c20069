"""Which view it is, and what its columns become, whatever the version."""

from decimal import Decimal

import pytest

from tests.postgres_versions import COLUMNS, OTHERS, STATEMENTS
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.readers.postgres.views import VIEWS, values_of
from tiersim.traces.readers.views import Row, RowPart, number, view_among

ALL = [(name, columns) for name, versions in COLUMNS.items() for columns in versions]


def numbered(columns: str, **named: str | None) -> Row:
    """A row whose values are the places of their columns, besides those that are named."""
    return {name: str(place) for place, name in enumerate(columns.split(), 1)} | named


def only(view: str, row: Row) -> dict[str, Decimal | str]:
    (values,) = values_of(view, [row]).values()
    return values


@pytest.mark.parametrize(("name", "columns"), ALL)
def test_a_view_is_told_by_its_columns(name: str, columns: str) -> None:
    view = view_among(VIEWS, tuple(columns.split()))
    assert view is not None
    assert view.name == name


@pytest.mark.parametrize(("name", "columns"), ALL)
def test_a_view_is_told_with_columns_of_time_and_host_beside_it(name: str, columns: str) -> None:
    view = view_among(VIEWS, ("captured_at", "host", *columns.split()))
    assert view is not None
    assert view.name == name


@pytest.mark.parametrize("columns", OTHERS.values(), ids=OTHERS)
def test_other_views_are_taken_for_none(columns: str) -> None:
    assert view_among(VIEWS, tuple(columns.split())) is None


def test_every_view_has_columns_here() -> None:
    assert {view.name for view in VIEWS} - {"processes"} == set(COLUMNS)  # those are counted by the kernel


@pytest.mark.parametrize("part", [(view.name, part) for view in VIEWS for part in view.parts], ids=lambda pair: pair[0])
def test_views_use_the_words_of_their_subject(part: tuple[str, RowPart]) -> None:
    _, known = part
    subject = SUBJECTS[known.subject]
    assert set(known.numbers) <= subject.counters | subject.gauges
    assert set(known.texts) <= subject.texts


@pytest.mark.parametrize("version", STATEMENTS)
def test_statements_of_every_version_have_the_same_words(version: str) -> None:
    columns = STATEMENTS[version]
    row = numbered(columns, dbid="5", userid="10", queryid="-77", toplevel="f" if "toplevel" in columns else None)
    ((key, values),) = values_of("pg_stat_statements", [row]).items()
    assert key == ("query", f"5/10/{'f' if 'toplevel' in columns else 't'}/-77")

    def value(column: str) -> Decimal:
        text = row[column]
        assert text is not None
        return Decimal(text)

    new = float(version) >= 13
    assert values["exec_ms"] == value("total_exec_time" if new else "total_time")
    assert values["read_ms"] == value("shared_blk_read_time" if float(version) >= 17 else "blk_read_time")
    assert values["pages_read"] == value("shared_blks_read")
    assert ("exec_mean_ms" in values) == (float(version) >= 9.5)
    assert ("log_bytes" in values) == ("plan_ms" in values) == new
    assert ("since" in values) == (float(version) >= 17)
    if float(version) >= 15:
        times = ("jit_generation_time", "jit_inlining_time", "jit_optimization_time", "jit_emission_time")
        assert values["jit_ms"] == sum(value(name) for name in times)
    assert ("workers_launched" in values) == (float(version) >= 18)


def test_bytes_of_pg_stat_io_are_exact_in_every_version() -> None:
    old, new = COLUMNS["pg_stat_io"]
    reads = "9007199254740993"  # not a double
    sixteen = only("pg_stat_io", numbered(old, reads=reads, op_bytes="512", writes=None, extends="3"))
    assert sixteen["read_bytes"] == Decimal(reads) * 512
    assert sixteen["extended_bytes"] == 1536
    assert "writes" not in sixteen
    assert "written_bytes" not in sixteen
    eighteen = only("pg_stat_io", numbered(new, read_bytes="123456789"))
    assert eighteen["read_bytes"] == 123456789
    assert set(eighteen) == {*sixteen, "writes", "written_bytes"}


def test_the_log_is_an_object_of_pg_stat_io() -> None:
    row = numbered(COLUMNS["pg_stat_io"][1], backend_type="walwriter", object="wal", context="normal")
    assert list(values_of("pg_stat_io", [row])) == [("io", "walwriter/wal/normal")]


def test_the_background_writer_had_the_checkpointer_to_16() -> None:
    old, new = COLUMNS["pg_stat_bgwriter"]
    found = values_of("pg_stat_bgwriter", [numbered(old, stats_reset="2026-11-21 10:00:00+01")])
    assert found["background writer", "background writer"]["pages_allocated"] == 10
    assert found["checkpointer", "checkpointer"] == {
        "timed": 1,
        "requested": 2,
        "write_ms": 3,
        "flush_ms": 4,
        "pages_written": 5,
        "since": "2026-11-21 09:00:00+00:00",
    }
    assert list(values_of("pg_stat_bgwriter", [numbered(new)])) == [("background writer", "background writer")]


def test_processor_times_of_kcache_are_ms_of_the_same_query() -> None:
    row: Row = {
        "queryid": "7",
        "top": "t",
        "userid": "10",
        "dbid": "5",
        "exec_user_time": "0.0012345",
        "exec_reads": "4096",
    }
    found = values_of("pg_stat_kcache_detail", [row])
    assert found == {("query", "5/10/t/7"): {"cpu_user_ms": Decimal("1.2345"), "device_read_bytes": 4096}}
    statement = values_of("pg_stat_statements", [{"queryid": "7", "userid": "10", "dbid": "5", "calls": "1"}])
    assert set(found) == set(statement)


def test_queries_without_an_identifier_are_told_by_their_text() -> None:
    rows: list[Row] = [{"query": "select $1", "calls": "1", "total_exec_time": "2"},
                       {"query": "SELECT  ?", "calls": "1", "total_exec_time": "2"}]  # fmt: skip
    (key,) = values_of("pg_stat_statements", rows)
    assert key[1].startswith("//t/")


def test_sessions_are_counted_by_what_they_wait_for() -> None:
    columns = COLUMNS["pg_stat_activity"][1]
    states = [("active", "IO", "DataFileRead", "2026-11-21 01:00:00+00"), ("active", "IO", "DataFileRead", None),
              ("idle", "Client", "ClientRead", None), ("active", None, None, None)]  # fmt: skip
    rows = [
        numbered(
            columns,
            state=state,
            wait_event_type=kind,
            wait_event=event,
            xact_start=start,
            backend_type="client backend",
        )
        for state, kind, event, start in states
    ]
    rows.append(
        numbered(
            columns,
            state=None,
            wait_event_type="Activity",
            wait_event="WalWriterMain",
            xact_start=None,
            backend_type="walwriter",
        )
    )
    rows.append(numbered(columns, state="active", wait_event_type="IO", wait_event="DataFileRead", xact_start=None,
                         backend_type="parallel worker"))  # fmt: skip
    found = {entity: values for (_, entity), values in values_of("pg_stat_activity", rows).items()}
    assert found == {
        "active/IO/DataFileRead": {"sessions": 2, "in_transaction": 1},
        "idle/Client/ClientRead": {"sessions": 1, "in_transaction": 0},
        "active//": {"sessions": 1, "in_transaction": 0},
        "walwriter/Activity/WalWriterMain": {"sessions": 1, "in_transaction": 0},
        "parallel worker/IO/DataFileRead": {"sessions": 1, "in_transaction": 0},  # it helps a session, and is none
    }


def test_sessions_of_old_versions_wait_for_locks_or_not() -> None:
    row = numbered(COLUMNS["pg_stat_activity"][0], state="active", waiting="t", xact_start=None)
    assert list(values_of("pg_stat_activity", [row])) == [("session", "active/Lock/")]


def test_buffers_are_counted_by_relation_usage_and_dirtiness() -> None:
    columns = COLUMNS["pg_buffercache"][0]
    page = {"relfilenode": "16400", "reldatabase": "5", "usagecount": "3", "isdirty": "t"}
    unused = dict.fromkeys(columns.split()) | {"bufferid": "9"}
    rows = [numbered(columns, **page), numbered(columns, **page), numbered(columns, **page | {"isdirty": "f"}), unused]
    assert {entity: values for (_, entity), values in values_of("pg_buffercache", rows).items()} == {
        "5/16400/3/dirty": {"pages": 2},
        "5/16400/3/clean": {"pages": 1},
        "//unused": {"pages": 1},
    }


def test_buffers_of_no_relation_hold_nothing() -> None:
    rows: list[Row] = [
        {"relname": None, "buffers": "7871", "dirty": "0", "avg_usagecount": None},
        {"relname": "pg_proc", "buffers": "96", "dirty": "5", "avg_usagecount": "1.5"},
    ]
    assert values_of("pg_buffercache_by_relation", rows) == {
        ("pool", "//unused"): {"pages": 7871, "pages_dirty": 0},
        ("pool", "pg_proc"): {"pages": 96, "pages_dirty": 5, "usage_mean": Decimal("1.5")},
    }


def test_relations_are_named_with_their_schema_where_it_is_told() -> None:
    rows: list[Row] = [
        {"oid": "1", "relname": "t", "relnamespace": "2200", "relkind": "r", "relpages": "3", "reltuples": "-1"},
        {"oid": "2", "relname": "pg_proc", "relnamespace": "11", "relkind": "r", "relpages": "4", "reltuples": "5e+06"},
        {"oid": "3", "relname": "u", "relnamespace": "16400", "relkind": "i", "relpages": "0", "reltuples": "0"},
    ]
    assert values_of("pg_class", rows) == {
        ("relation", "public.t"): {"pages": 3, "kind": "table", "identifier": "1"},
        ("relation", "pg_catalog.pg_proc"): {"pages": 4, "rows": 5_000_000, "kind": "table", "identifier": "2"},
        ("relation", "u"): {"pages": 0, "rows": 0, "kind": "index", "identifier": "3"},
    }


def test_waits_are_added_up_over_processes() -> None:
    rows: list[Row] = [
        {"pid": "1", "event_type": "IO", "event": "DataFileRead", "queryid": "7", "count": "3"},
        {"pid": "2", "event_type": "IO", "event": "DataFileRead", "queryid": "7", "count": "4"},
        {"pid": "2", "event_type": "IO", "event": "WalSync", "queryid": "0", "count": "5"},
    ]
    assert values_of("pg_wait_sampling_profile", rows) == {
        ("wait", "7/IO/DataFileRead"): {"samples": 7},
        ("wait", "IO/WalSync"): {"samples": 5},
    }


def test_the_server_says_where_the_log_ends() -> None:
    row: Row = {"wal_lsn": "1/00000010", "version": "PostgreSQL 15", "pg_postmaster_start_time": "2026-11-21T01:00:00Z"}
    assert values_of("server", [row]) == {
        ("log", "log"): {"position_bytes": (1 << 32) + 16},
        ("server", "server"): {"version": "PostgreSQL 15", "started_at": "2026-11-21 01:00:00+00:00"},
    }
    with pytest.raises(ValueError, match="no place in the log"):
        values_of("server", [row | {"wal_lsn": "1/xyz"}])


def test_settings_that_may_hold_secrets_are_forgotten() -> None:
    rows: list[Row] = [
        {"name": name, "setting": "8", "unit": "8kB"}
        for name in ("shared_buffers", "primary_conninfo", "archive_command", "ssl_key_file", "application_name")
    ]
    assert values_of("pg_settings", rows) == {("setting", "shared_buffers"): {"setting": 8, "unit": "8kB"}}


def test_what_statistics_say_of_values_is_forgotten() -> None:
    row = numbered(COLUMNS["pg_stats"][0], schemaname="s", tablename="t", attname="c", most_common_vals="{secret}")
    ((key, values),) = values_of("pg_stats", [row]).items()
    assert key == ("column", "s.t.c")
    assert set(values) == {"correlation", "distinct", "null_share", "width_bytes"}


@pytest.mark.parametrize("text", ["", "x", "1_000", "0x10", "\u0661", "1e9999", "--1", "1.2.3", " 1", "9" * 61])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        number(text)


@pytest.mark.parametrize("text", ["9" * 20, "-1e30", "1e999"])
def test_numbers_beyond_64_bits_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="beyond what 64 bits count"):
        number(text)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none_are_not_said(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize("text", ["18446744073709551615"[:19], "0.30000000000000004", "1e-20", "-5", "4322951.121"])
def test_numbers_keep_every_digit(text: str) -> None:
    assert number(text) == Decimal(text)
