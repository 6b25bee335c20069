"""A naive twin of differences of PostgreSQL's views: after less before, of CSV files, by the names of their columns
alone.
"""

import csv
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

Row = dict[str, str]

STATEMENTS = {
    "calls": "calls", "rows": "rows", "plans": "plans", "plan_ms": "total_plan_time", "exec_ms": "total_exec_time",
    "pages_hit": "shared_blks_hit", "pages_read": "shared_blks_read", "pages_dirtied": "shared_blks_dirtied",
    "pages_written": "shared_blks_written", "local_pages_hit": "local_blks_hit", "local_pages_read": "local_blks_read",
    "local_pages_dirtied": "local_blks_dirtied", "local_pages_written": "local_blks_written",
    "temp_pages_read": "temp_blks_read", "temp_pages_written": "temp_blks_written", "log_records": "wal_records",
    "log_full_page_images": "wal_fpi", "log_bytes": "wal_bytes", "jit_functions": "jit_functions",
    "temp_read_ms": "temp_blk_read_time", "temp_write_ms": "temp_blk_write_time",
}  # fmt: skip
STATEMENTS_15 = STATEMENTS | {"read_ms": "blk_read_time", "write_ms": "blk_write_time"}
STATEMENTS_18 = STATEMENTS | {
    "read_ms": "shared_blk_read_time", "write_ms": "shared_blk_write_time", "local_read_ms": "local_blk_read_time",
    "local_write_ms": "local_blk_write_time", "log_buffers_full": "wal_buffers_full",
    "workers_planned": "parallel_workers_to_launch", "workers_launched": "parallel_workers_launched",
}  # fmt: skip
DATABASE = {
    "commits": "xact_commit",
    "rollbacks": "xact_rollback",
    "pages_hit": "blks_hit",
    "pages_read": "blks_read",
    "read_ms": "blk_read_time",
    "write_ms": "blk_write_time",
    "rows_returned": "tup_returned",
    "rows_fetched": "tup_fetched",
    "rows_inserted": "tup_inserted",
    "rows_updated": "tup_updated",
    "rows_deleted": "tup_deleted",
    "temp_files": "temp_files",
    "temp_bytes": "temp_bytes",
    "conflicts": "conflicts",
    "deadlocks": "deadlocks",
    "session_ms": "session_time",
    "active_ms": "active_time",
    "idle_in_transaction_ms": "idle_in_transaction_time",
    "sessions": "sessions",
    "sessions_abandoned": "sessions_abandoned",
    "sessions_fatal": "sessions_fatal",
    "sessions_killed": "sessions_killed",
}
WAL = {
    "records": "wal_records",
    "full_page_images": "wal_fpi",
    "bytes": "wal_bytes",
    "buffers_full": "wal_buffers_full",
    "writes": "wal_write",
    "flushes": "wal_sync",
    "write_ms": "wal_write_time",
    "flush_ms": "wal_sync_time",
}
WRITER = {"pages_written": "buffers_clean", "rounds_cut_short": "maxwritten_clean", "pages_allocated": "buffers_alloc",
          "sessions_pages_written": "buffers_backend", "sessions_flushes": "buffers_backend_fsync"}  # fmt: skip
CHECKPOINTS_15 = {"timed": "checkpoints_timed", "requested": "checkpoints_req", "write_ms": "checkpoint_write_time",
                  "flush_ms": "checkpoint_sync_time", "pages_written": "buffers_checkpoint"}  # fmt: skip
CHECKPOINTS = {
    "timed": "num_timed",
    "requested": "num_requested",
    "done": "num_done",
    "restart_timed": "restartpoints_timed",
    "restart_requested": "restartpoints_req",
    "restart_done": "restartpoints_done",
    "write_ms": "write_time",
    "flush_ms": "sync_time",
    "pages_written": "buffers_written",
    "other_pages_written": "slru_written",
}
IO = {
    "reads": "reads",
    "read_ms": "read_time",
    "writes": "writes",
    "write_ms": "write_time",
    "writebacks": "writebacks",
    "writeback_ms": "writeback_time",
    "extends": "extends",
    "extend_ms": "extend_time",
    "pages_hit": "hits",
    "evictions": "evictions",
    "reuses": "reuses",
    "flushes": "fsyncs",
    "flush_ms": "fsync_time",
    "read_bytes": "read_bytes",
    "written_bytes": "write_bytes",
    "extended_bytes": "extend_bytes",
}
TABLE_PAGES = {"pages_hit": "heap_blks_hit", "pages_read": "heap_blks_read", "index_pages_hit": "idx_blks_hit",
               "index_pages_read": "idx_blks_read", "toast_pages_hit": "toast_blks_hit",
               "toast_pages_read": "toast_blks_read", "toast_index_pages_hit": "tidx_blks_hit",
               "toast_index_pages_read": "tidx_blks_read"}  # fmt: skip
TABLE = {
    "sequential_scans": "seq_scan",
    "sequential_rows": "seq_tup_read",
    "index_scans": "idx_scan",
    "index_rows": "idx_tup_fetch",
    "rows_inserted": "n_tup_ins",
    "rows_updated": "n_tup_upd",
    "rows_deleted": "n_tup_del",
    "rows_hot_updated": "n_tup_hot_upd",
    "vacuums": "vacuum_count",
    "autovacuums": "autovacuum_count",
    "analyzes": "analyze_count",
    "autoanalyzes": "autoanalyze_count",
    "vacuum_ms": "total_vacuum_time",
    "autovacuum_ms": "total_autovacuum_time",
    "analyze_ms": "total_analyze_time",
    "autoanalyze_ms": "total_autoanalyze_time",
}
INDEX_PAGES = {"pages_hit": "idx_blks_hit", "pages_read": "idx_blks_read"}
INDEX = {"index_scans": "idx_scan", "index_entries": "idx_tup_read", "index_rows": "idx_tup_fetch"}

Name = Callable[[Row], str]
VIEWS: dict[str, list[tuple[str, Name, dict[str, str]]]] = {
    "pg_stat_statements": [("query", lambda r: f"{r['dbid']}/{r['userid']}/{r['toplevel']}/{r['queryid']}", {})],
    "pg_stat_database": [("database", lambda r: r["datname"], DATABASE)],
    "pg_stat_wal": [("log", lambda r: "log", WAL)],
    "pg_stat_bgwriter": [("background writer", lambda r: "background writer", WRITER),
                         ("checkpointer", lambda r: "checkpointer", CHECKPOINTS_15)],
    "pg_stat_checkpointer": [("checkpointer", lambda r: "checkpointer", CHECKPOINTS)],
    "pg_stat_io": [("io", lambda r: f"{r['backend_type']}/{r['object']}/{r['context']}", IO)],
    "pg_statio_user_tables": [("relation", lambda r: f"{r['schemaname']}.{r['relname']}", TABLE_PAGES)],
    "pg_statio_sys_tables": [("relation", lambda r: f"{r['schemaname']}.{r['relname']}", TABLE_PAGES)],
    "pg_stat_user_tables": [("relation", lambda r: f"{r['schemaname']}.{r['relname']}", TABLE)],
    "pg_statio_user_indexes": [("relation", lambda r: f"{r['schemaname']}.{r['indexrelname']}", INDEX_PAGES)],
    "pg_stat_user_indexes": [("relation", lambda r: f"{r['schemaname']}.{r['indexrelname']}", INDEX)],
}  # fmt: skip


def file_of(folder: Path, view: str, moment: str) -> Path:
    places = (folder / f"{view}.{moment}.csv", folder / moment / f"{view}.csv", folder / f"pg_{moment}" / f"{view}.csv")
    return next((place for place in places if place.exists()), places[0])


def rows_of(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def growth(folder: Path, view: str) -> dict[tuple[str, str], dict[str, Decimal]]:
    """After less before, of every entity that is there after; from 0 for what is new or began anew."""
    then: dict[tuple[str, str], tuple[Row, dict[str, Decimal]]] = {}
    now: dict[tuple[str, str], tuple[Row, dict[str, Decimal]]] = {}
    for moment, found in (("before", then), ("after", now)):
        for row in rows_of(file_of(folder, view, moment)):
            for subject, name, words in VIEWS[view]:
                if subject == "query":
                    words = STATEMENTS_18 if "shared_blk_read_time" in row else STATEMENTS_15
                numbers = {word: Decimal(row[column]) for word, column in words.items() if row.get(column)}
                if subject == "io" and row.get("op_bytes"):
                    for word, count in (
                        ("read_bytes", "reads"),
                        ("written_bytes", "writes"),
                        ("extended_bytes", "extends"),
                    ):
                        if row[count]:
                            numbers[word] = Decimal(row[count]) * Decimal(row["op_bytes"])
                if numbers:
                    found[subject, name(row)] = row, numbers
    grown = {}
    for key, (row, numbers) in now.items():
        old_row, old = then.get(key, ({}, {}))
        since = row.get("stats_since") or row.get("stats_reset") or None
        since_then = old_row.get("stats_since") or old_row.get("stats_reset") or None
        anew = since and since_then and since != since_then
        if anew or any(number < old[word] for word, number in numbers.items() if word in old):
            old = {}
        grown[key] = {word: number - old.get(word, 0) for word, number in numbers.items()}
    return grown
