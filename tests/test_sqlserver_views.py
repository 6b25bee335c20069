"""Snapshots of SQL Server's views, saved as texts by its tools, as counters of a bundle."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.recorded_files import read_files
from tiersim.errors import TraceError
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.differences import differences
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.derived import text_of, without_parameters
from tiersim.traces.readers.sqlserver.views import VIEWS
from tiersim.traces.readers.views import Row

DATA = Path(__file__).parent / "data" / "sqlserver"


def grown(recorded: Recorded, subject: str, entity: str) -> dict[str, Any]:
    """What the counters of one entity grew by, and what it said last."""
    change = differences(recorded.snapshots()).of(subject)[entity]
    return {**change.grown, **change.last}


def saved(folder: Path, text: str, name: str = "view.csv", encoding: str = "utf-8") -> Recorded:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return read_files(path)


def test_every_word_is_one_of_the_subjects() -> None:
    for view in VIEWS:
        for part in view.parts:
            subject = SUBJECTS[part.subject]
            assert set(part.numbers) <= subject.counters | subject.gauges
            assert set(part.texts) <= subject.texts


def test_files_have_their_reads_writes_and_places() -> None:
    recorded = read_files(*sorted(DATA.glob("dm_io_virtual_file_stats.*")))
    data, log = grown(recorded, "file", "5/1"), grown(recorded, "file", "5/2")
    assert (data["reads"], data["read_bytes"], data["read_ms"]) == (6000, 49_152_000, 30_000)
    assert (log["writes"], log["written_bytes"], log["write_ms"]) == (60_000, 245_760_000, 42_000)
    assert (log["kind"], log["path"], log["database"]) == ("log", "E:\\log\\shop.ldf", "shop")
    first, last = recorded.snapshots()
    assert first.time_ns is not None
    assert last.time_ns == first.time_ns + 600 * 10**9  # by the column captured_at


def test_paths_of_another_file_are_joined_to_the_counters(tmp_path: Path) -> None:
    counters = tmp_path / "vfs.csv"
    counters.write_text("database_id,file_id,num_of_reads,num_of_writes\n5,2,10,20\n", encoding="utf-8")
    files = tmp_path / "files.csv"
    files.write_text("database_id,file_id,type_desc,physical_name,size\n5,2,LOG,L:\\x.ldf,128\n", encoding="utf-8")
    found = differences(read_files(counters, files).snapshots()).of("file")["5/2"]
    assert found.last["kind"] == "log"
    assert found.last["size_bytes"] == 128 * 8192


def test_times_of_queries_are_microseconds_and_reads_pages() -> None:
    recorded = read_files(*sorted(DATA.glob("dm_exec_query_stats.*")))
    queries = differences(recorded.snapshots()).of("query")
    texts = {row["entity"]: row["text"] for row in recorded.queries.values()}
    by_text = {texts[entity]: dict[str, Any](change.grown) for entity, change in queries.items()}
    first = by_text["select name, price from item where id = ?"]
    assert (first["calls"], first["exec_ms"], first["cpu_ms"]) == (2000, 18_000, 5_000)
    assert (first["pages_read"], first["pages_hit"]) == (800, 17_200)
    scan = by_text["select count(*) from orders where state = ?, ?"]  # with commas, and no quotes around it
    assert (scan["pages_read"], scan["pages_hit"]) == (180_000, 0)  # read-ahead: more read than looked up
    assert scan["calls"] == 20
    assert not recorded.dropped


def test_averages_of_query_store_are_sums_interval_by_interval() -> None:
    recorded = read_files(DATA / "query_store.csv")
    snapshots = recorded.snapshots()
    hour = 3600 * 10**9
    times = [snapshot.time_ns for snapshot in snapshots]
    assert times[0] is not None
    assert times == [times[0], times[0] + hour, times[0] + 2 * hour]
    query = grown(recorded, "query", "//t/store 7")
    assert query["calls"] == 6
    assert query["exec_ms"] == Decimal(4) * Decimal("1.50025") + 2
    assert (query["pages_read"], query["pages_hit"]) == (4 * Decimal("0.5") + 20, 40)
    assert (query["exec_min_ms"], query["exec_max_ms"]) == (Decimal("0.9"), 2)
    (text,) = {row["text"] for row in recorded.queries.values() if row["entity"] == "//t/store 7"}
    assert text == 'select a; from "t" where b = ?'


def test_executions_are_not_counted_by_plan_cache_and_query_store_both() -> None:
    recorded = read_files(DATA / "query_store.csv", *sorted(DATA.glob("dm_exec_query_stats.*")))
    entities = differences(recorded.snapshots()).of("query")
    assert len(entities) == 2
    assert not any("store" in entity for entity in entities)
    assert any("Query Store are left out" in warning for warning in recorded.warnings)


def test_indexes_are_named_and_their_partitions_added_up() -> None:
    recorded = read_files(DATA / "index_operational_stats.csv", DATA / "dm_db_partition_stats.csv")
    relations = differences(recorded.snapshots()).of("relation")
    table, index = relations["dbo.orders"].last, relations["dbo.orders.IX_state"].last
    sizes = {name: table[name] for name in ("pages", "rows", "size_bytes")}
    assert sizes == {"pages": 1515, "rows": 7500, "size_bytes": 1515 * 8192}
    assert (table["kind"], index["kind"], index["table"]) == ("table", "index", "dbo.orders")
    values = {entity: value for snapshot in recorded.snapshots() for (_, entity), value in snapshot.values.items()}
    assert set(values) == {"dbo.orders", "dbo.orders.IX_state"}


def test_rows_that_are_marked_as_ghosts_are_deleted(tmp_path: Path) -> None:
    recorded = read_files(DATA / "index_operational_stats.csv")
    (snapshot,) = recorded.snapshots()
    table: Mapping[str, Any] = snapshot.values["relation", "dbo.orders"]
    assert (table["rows_inserted"], table["rows_deleted"], table["rows_updated"]) == (30, 3, 5)
    assert table["index_scans"] == 3 + 100 + 1
    assert table["page_io_latch_waits"] == 8
    assert "pages_read" not in table
    assert any("page_io_latch_wait_count" in sentence for sentence in recorded.inferred)


def test_pages_of_the_pool_are_told_by_object_and_dirtiness(tmp_path: Path) -> None:
    (snapshot,) = read_files(DATA / "dm_os_buffer_descriptors.csv").snapshots()
    assert snapshot.values["pool", "dbo.orders"] == {"pages": 950, "pages_dirty": 50}
    pages = "database_id,file_id,page_id,page_level,allocation_unit_id,page_type,is_modified\n" + "".join(
        f"5,1,{page},0,72057594,DATA_PAGE,{page % 2}\n" for page in range(10)
    )
    (page_by_page,) = saved(tmp_path, pages).snapshots()
    assert page_by_page.values["pool", "database 5"] == {"pages": 10, "pages_dirty": 5}


def test_waits_settings_and_the_host_are_told() -> None:
    recorded = read_files(*sorted(DATA.glob("dm_os_wait_stats.*")), DATA / "configurations.csv", DATA / "server.csv")
    log = grown(recorded, "wait", "WRITELOG")
    assert (log["waits"], log["wait_ms"], log["signal_wait_ms"]) == (60_000, 42_000, 1_800)
    host = recorded.host
    assert (host["engine"], host["version"], host["cores"], host["page_bytes"]) == ("sqlserver", 14, 8, 8192)
    assert host["buffer_pool_bytes"] == 8 << 30
    settings = {
        entity for snapshot in recorded.snapshots() for subject, entity in snapshot.values if subject == "setting"
    }
    assert settings == {"max server memory (MB)", "recovery interval (min)"}  # others may hold secrets


def test_performance_counters_of_a_named_instance_are_sums() -> None:
    recorded = read_files(*sorted(DATA.glob("dm_os_performance_counters.*")))
    assert grown(recorded, "log", "log")["bytes"] == 249_856_000
    assert grown(recorded, "log", "shop")["flushes"] == 60_000
    assert grown(recorded, "checkpointer", "checkpointer")["pages_written"] == 2_000
    assert grown(recorded, "database", "*")["pages_looked_up"] == 900_000
    assert grown(recorded, "database", "*")["page_life_s"] == 4_000  # a gauge


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_and_encodings_are_told_by_the_file(tmp_path: Path, delimiter: str, encoding: str) -> None:
    rows = [["wait_type", "waiting_tasks_count", "wait_time_ms"], ["WRITELOG", "7", "NULL"], ["", "3", "4"]]
    text = "\r\n".join(delimiter.join(row) for row in rows) + "\r\n"
    (snapshot,) = saved(tmp_path, text, encoding=encoding).snapshots()
    assert snapshot.values == {("wait", "WRITELOG"): {"waits": 7}}


def test_a_number_keeps_its_last_digit(tmp_path: Path) -> None:
    (snapshot,) = saved(tmp_path, "wait_type;wait_time_ms\nX;9007199254740993,000000000000000001\n").snapshots()
    assert snapshot.values["wait", "X"]["wait_ms"] == Decimal("9007199254740993.000000000000000001")


def test_results_that_follow_each_other_in_a_file_are_moments_in_that_order(tmp_path: Path) -> None:
    one = "wait_type,wait_time_ms\n---------,------------\nX        ,          {}\n\n(1 rows affected)\n"
    recorded = saved(tmp_path, one.format(10) + one.format(25))
    assert [s.values["wait", "X"]["wait_ms"] for s in recorded.snapshots()] == [10, 25]
    again = saved(tmp_path, "wait_type,wait_time_ms\nX,10\nwait_type,wait_time_ms\nX,25\n", "again.csv")
    assert [s.values["wait", "X"]["wait_ms"] for s in again.snapshots()] == [10, 25]


def test_the_statement_is_cut_out_of_its_batch() -> None:
    batch = "select 1; select b from t; select 3"
    row: Row = {"text": batch, "statement_start_offset": "20", "statement_end_offset": "50"}
    assert text_of(row) == "select b from t;"
    assert text_of(row | {"statement_end_offset": "-1"}) == "select b from t; select 3"
    assert text_of(row | {"statement_start_offset": "900"}) == batch  # cut already


def test_the_list_of_parameters_is_no_part_of_a_statement() -> None:
    assert without_parameters("(@a varchar(max),@b decimal(9,2))select @a") == "select @a"
    assert without_parameters("(@a int") == "(@a int"
    assert without_parameters("(select 1)") == "(select 1)"


def test_damaged_rows_are_counted_and_named(tmp_path: Path) -> None:
    text = "wait_type,wait_time_ms\nX,10\nY,twelve\nZ,1,2\nQ,5\nR,6\n"
    recorded = saved(tmp_path, text)
    assert recorded.dropped == {"damaged rows": 2}
    assert "line 3" in recorded.warnings[0]
    (snapshot,) = recorded.snapshots()
    assert {entity for _, entity in snapshot.values} == {"X", "Q", "R"}


def test_a_file_that_is_mostly_damaged_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="Quote strings containing list separators"):
        saved(tmp_path, "query_hash,text,execution_count,total_worker_time\n" + "0x1,select a,b,1,2\n" * 9)


@pytest.mark.long
def test_a_quote_that_never_ends_loses_its_rows_alone(tmp_path: Path) -> None:
    good = "".join(f"W{number},{number}\n" for number in range(5))
    recorded = saved(tmp_path, f'wait_type,wait_time_ms\n{good}"never,1\n' + "x,1\n" * 400_000)
    assert recorded.dropped["damaged rows"] == 1
    (snapshot,) = recorded.snapshots()
    assert ("wait", "W4") in snapshot.values


def test_an_empty_view_counts_from_nothing(tmp_path: Path) -> None:
    (snapshot,) = saved(tmp_path, "execution_count,total_worker_time,query_hash\n").snapshots()
    assert snapshot.values == {("query", ""): {"": ""}}


def test_a_plan_that_was_compiled_again_begins_anew(tmp_path: Path) -> None:
    row = "query_hash,plan_handle,execution_count,total_worker_time,creation_time\n0x1,0x2,{},0,{}\n"
    (tmp_path / "q.before.csv").write_text(row.format(100, "2026-11-22 07:00:00"), encoding="utf-8")
    (tmp_path / "q.after.csv").write_text(row.format(130, "2026-11-22 08:00:00"), encoding="utf-8")
    recorded = read_files(tmp_path / "q.before.csv", tmp_path / "q.after.csv")
    found = differences(recorded.snapshots())
    assert [change.grown["calls"] for change in found.of("query").values()] == [130]
    assert found.resets["query"]


def test_pages_read_ahead_are_no_reset(tmp_path: Path) -> None:
    """With read-ahead a query may read more pages than it looks up, so that its hits, a difference, fall."""
    row = (
        "query_hash,execution_count,total_worker_time,total_logical_reads,total_physical_reads,creation_time\n"
        "0x1,{},0,{},{},2026-11-22 07:00:00\n"
    )
    (tmp_path / "q.before.csv").write_text(row.format(100, 1000, 0), encoding="utf-8")
    (tmp_path / "q.after.csv").write_text(row.format(130, 101_000, 100_500), encoding="utf-8")
    recorded = read_files(tmp_path / "q.before.csv", tmp_path / "q.after.csv")
    found = differences(recorded.snapshots())
    (change,) = found.of("query").values()
    assert change.grown == {"calls": 30, "cpu_ms": 0, "pages_read": 100_500, "pages_hit": 0}
    assert not found.resets


def test_a_rule_of_many_dashes_takes_no_time(tmp_path: Path) -> None:
    recorded = saved(tmp_path, "wait_type,wait_time_ms\nX,1\nY,2\n" + "-" * 50_000 + "x,1\n")
    assert recorded.dropped == {}
    assert len(recorded.snapshots()[0].values) == 3
