"""PostgreSQL's views, 9.4 to 18, and what their columns are in the words of :mod:`tiersim.traces.counters`.

A view is told by its columns, whatever its file is called; columns that are not named here are ignored. Where a column
was renamed, the later name stands first. Times are ms, pages are of block_size bytes, unless it says otherwise. Facts:
the manual of each version (monitoring-stats, pgstatstatements, pgbuffercache), the extensions' SQL scripts.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from tiersim.traces.readers.postgres import derived
from tiersim.traces.readers.recorded import Key
from tiersim.traces.readers.timestamps import canonical
from tiersim.traces.readers.views import GatheredRows, Row, RowPart, View

_QUERY = "{dbid}/{userid}/{toplevel}/{queryid}"
_SINCE = {"since": "stats_reset"}
_KCACHE = {
    "cpu_user_ms": "exec_user_time * 1000 | user_time * 1000",  # s
    "cpu_system_ms": "exec_system_time * 1000 | system_time * 1000",
    "device_read_bytes": "exec_reads | reads",  # bytes; the columns in blocks have other names
    "device_written_bytes": "exec_writes | writes",
}

VIEWS: tuple[View, ...] = (
    View(
        "pg_stat_statements",
        ("queryid calls", "query calls total_exec_time", "query calls total_time"),
        (
            RowPart(
                "query",
                _QUERY,
                {
                    "calls": "calls",
                    "exec_ms": "total_exec_time | total_time",
                    "exec_min_ms": "min_exec_time | min_time",
                    "exec_max_ms": "max_exec_time | max_time",
                    "exec_mean_ms": "mean_exec_time | mean_time",
                    "exec_stddev_ms": "stddev_exec_time | stddev_time",
                    "plans": "plans",
                    "plan_ms": "total_plan_time",
                    "plan_min_ms": "min_plan_time",
                    "plan_max_ms": "max_plan_time",
                    "plan_mean_ms": "mean_plan_time",
                    "plan_stddev_ms": "stddev_plan_time",
                    "rows": "rows",
                    "pages_hit": "shared_blks_hit",
                    "pages_read": "shared_blks_read",
                    "pages_dirtied": "shared_blks_dirtied",
                    "pages_written": "shared_blks_written",
                    "local_pages_hit": "local_blks_hit",
                    "local_pages_read": "local_blks_read",
                    "local_pages_dirtied": "local_blks_dirtied",
                    "local_pages_written": "local_blks_written",
                    "temp_pages_read": "temp_blks_read",
                    "temp_pages_written": "temp_blks_written",
                    "read_ms": "shared_blk_read_time | blk_read_time",  # to 16: of local pages, too
                    "write_ms": "shared_blk_write_time | blk_write_time",
                    "local_read_ms": "local_blk_read_time",
                    "local_write_ms": "local_blk_write_time",
                    "temp_read_ms": "temp_blk_read_time",
                    "temp_write_ms": "temp_blk_write_time",
                    "log_records": "wal_records",
                    "log_full_page_images": "wal_fpi",
                    "log_bytes": "wal_bytes",
                    "log_buffers_full": "wal_buffers_full",
                    "jit_functions": "jit_functions",
                    # deforming is part of generation
                    "jit_ms": "jit_generation_time + jit_inlining_time + jit_optimization_time + jit_emission_time",
                    "workers_planned": "parallel_workers_to_launch",
                    "workers_launched": "parallel_workers_launched",
                },
                {"since": "stats_since", "minmax_since": "minmax_stats_since"},
            ),
        ),
        derived.query,
        needs="queryid",
    ),
    View(
        "pg_stat_statements_info",
        ("dealloc stats_reset",),
        (RowPart("query store", "statements", {"evictions": "dealloc"}, _SINCE),),
    ),
    View(
        "pg_stat_kcache_detail",
        ("queryid exec_user_time", "queryid user_time", "query exec_user_time", "query user_time"),
        (RowPart("query", _QUERY, _KCACHE, {"since": "stats_since"}),),
        derived.query,
        needs="queryid",
    ),
    View(
        "pg_stat_kcache",
        ("datname exec_user_time", "datname user_time"),
        (RowPart("database", "{datname}", _KCACHE),),
    ),
    View(
        "processes",  # no view of PostgreSQL's: what /proc counts of its processes, and of the load generator
        ("process cpu_ms run_queue_ms",),
        (
            RowPart(
                "process",
                "{process}",
                {name: name for name in ("cpu_ms", "user_ms", "system_ms", "run_queue_ms", "slices", "observed_ms")},
            ),
        ),
    ),
    View(
        "pg_stat_io",
        ("backend_type object context",),
        (
            RowPart(
                "io",
                "{backend_type}/{object}/{context}",
                {
                    "reads": "reads",
                    "read_bytes": "read_bytes | reads * op_bytes",  # to 17 each is of op_bytes
                    "read_ms": "read_time",
                    "writes": "writes",
                    "written_bytes": "write_bytes | writes * op_bytes",
                    "write_ms": "write_time",
                    "writebacks": "writebacks",
                    "writeback_ms": "writeback_time",
                    "extends": "extends",
                    "extended_bytes": "extend_bytes | extends * op_bytes",
                    "extend_ms": "extend_time",
                    "pages_hit": "hits",
                    "evictions": "evictions",
                    "reuses": "reuses",
                    "flushes": "fsyncs",
                    "flush_ms": "fsync_time",
                },
                _SINCE,
            ),
        ),
    ),
    View(
        "pg_stat_database",
        ("datname xact_commit", "datname blks_read blks_hit"),
        (
            RowPart(
                "database",
                "{datname}",
                {
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
                    "backends": "numbackends",
                },
                _SINCE,
            ),
        ),
    ),
    View(
        "pg_stat_bgwriter",
        ("buffers_clean buffers_alloc", "checkpoints_timed buffers_checkpoint"),
        (
            RowPart(
                "background writer",
                "background writer",
                {
                    "pages_written": "buffers_clean",
                    "rounds_cut_short": "maxwritten_clean",
                    "pages_allocated": "buffers_alloc",
                    "sessions_pages_written": "buffers_backend",  # to 16
                    "sessions_flushes": "buffers_backend_fsync",
                },
                _SINCE,
            ),
            RowPart(  # to 16
                "checkpointer",
                "checkpointer",
                {
                    "timed": "checkpoints_timed",
                    "requested": "checkpoints_req",
                    "write_ms": "checkpoint_write_time",
                    "flush_ms": "checkpoint_sync_time",
                    "pages_written": "buffers_checkpoint",
                },
                _SINCE,
            ),
        ),
    ),
    View(
        "pg_stat_checkpointer",
        ("num_timed num_requested",),
        (
            RowPart(
                "checkpointer",
                "checkpointer",
                {
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
                },
                _SINCE,
            ),
        ),
    ),
    View(
        "pg_stat_wal",
        ("wal_records wal_bytes",),
        (
            RowPart(
                "log",
                "log",
                {
                    "records": "wal_records",
                    "full_page_images": "wal_fpi",
                    "full_page_image_bytes": "wal_fpi_bytes",
                    "bytes": "wal_bytes",
                    "buffers_full": "wal_buffers_full",
                    "writes": "wal_write",  # these four to 17, then pg_stat_io's object wal
                    "write_ms": "wal_write_time",
                    "flushes": "wal_sync",
                    "flush_ms": "wal_sync_time",
                },
                _SINCE,
            ),
        ),
    ),
    View(
        "pg_statio_all_tables",
        ("relname heap_blks_read",),
        (
            RowPart(
                "relation",
                "{relation}",
                {
                    "pages_hit": "heap_blks_hit",
                    "pages_read": "heap_blks_read",
                    "index_pages_hit": "idx_blks_hit",
                    "index_pages_read": "idx_blks_read",
                    "toast_pages_hit": "toast_blks_hit",
                    "toast_pages_read": "toast_blks_read",
                    "toast_index_pages_hit": "tidx_blks_hit",
                    "toast_index_pages_read": "tidx_blks_read",
                },
                {"identifier": "relid"},
            ),
        ),
        derived.relation,
    ),
    View(
        "pg_statio_all_indexes",
        ("indexrelname idx_blks_read",),
        (
            RowPart(
                "relation",
                "{relation}",
                {"pages_hit": "idx_blks_hit", "pages_read": "idx_blks_read"},
                {"kind": "kind", "table": "table", "identifier": "indexrelid"},
            ),
        ),
        derived.relation,
    ),
    View(
        "pg_stat_all_indexes",
        ("indexrelname idx_scan",),
        (
            RowPart(
                "relation",
                "{relation}",
                {"index_scans": "idx_scan", "index_entries": "idx_tup_read", "index_rows": "idx_tup_fetch"},
                {"kind": "kind", "table": "table", "identifier": "indexrelid"},
            ),
        ),
        derived.relation,
    ),
    View(
        "pg_stat_all_tables",
        ("relname seq_scan n_live_tup",),  # pg_stat_xact_all_tables, of a transaction, has no rows alive
        (
            RowPart(
                "relation",
                "{relation}",
                {
                    "sequential_scans": "seq_scan",
                    "sequential_rows": "seq_tup_read",
                    "index_scans": "idx_scan",
                    "index_rows": "idx_tup_fetch",
                    "rows_inserted": "n_tup_ins",
                    "rows_updated": "n_tup_upd",
                    "rows_hot_updated": "n_tup_hot_upd",
                    "rows_deleted": "n_tup_del",
                    "vacuums": "vacuum_count",
                    "autovacuums": "autovacuum_count",
                    "analyzes": "analyze_count",
                    "autoanalyzes": "autoanalyze_count",
                    "vacuum_ms": "total_vacuum_time",  # version 18
                    "autovacuum_ms": "total_autovacuum_time",
                    "analyze_ms": "total_analyze_time",
                    "autoanalyze_ms": "total_autoanalyze_time",
                    "rows_live": "n_live_tup",
                    "rows_dead": "n_dead_tup",
                    "rows_modified": "n_mod_since_analyze",
                },
                {"identifier": "relid"},
            ),
        ),
        derived.relation,
    ),
    View(  # what it says of values themselves is customers' data
        "pg_stats",
        ("tablename attname correlation", "tablename attname n_distinct"),
        (
            RowPart(
                "column",
                "{column}",
                {
                    "correlation": "correlation",
                    "distinct": "n_distinct",  # below 0: as a share of the rows
                    "null_share": "null_frac",
                    "width_bytes": "avg_width",
                },
            ),
        ),
        derived.relation,
    ),
    View(
        "pg_buffercache",
        ("bufferid usagecount", "relfilenode relblocknumber usagecount"),
        (RowPart("pool", "{relation}/{usagecount}/{cleanness}", {"pages": "1"}),),
        derived.buffers,
        adds_up=True,
        uses="schemaname nspname relname reldatabase relfilenode usagecount isdirty",
    ),
    View(  # pg_buffercache by relation, usage count and dirtiness: made by hand
        "pg_buffercache_usage",
        ("relname usagecount isdirty count", "relname usagecount isdirty buffers"),
        (RowPart("pool", "{relation}/{usagecount}/{cleanness}", {"pages": "count | buffers"}),),
        derived.buffers,
        adds_up=True,
    ),
    View(  # pg_buffercache by relation: made by hand
        "pg_buffercache_by_relation",
        ("relname buffers",),
        (
            RowPart(
                "pool",
                "{relation}",
                {"pages": "buffers", "pages_dirty": "dirty", "usage_mean": "avg_usagecount"},
            ),
        ),
        derived.buffers,
    ),
    View(
        "pg_buffercache_summary",
        ("buffers_used buffers_unused",),
        (
            RowPart(
                "pool",
                "*",
                {
                    "pages": "buffers_used",
                    "pages_unused": "buffers_unused",
                    "pages_dirty": "buffers_dirty",
                    "pages_pinned": "buffers_pinned",
                    "usage_mean": "usagecount_avg",
                },
            ),
        ),
    ),
    View(
        "pg_buffercache_usage_counts",
        ("usage_count buffers",),
        (RowPart("pool", "*/{usage_count}", {"pages": "buffers", "pages_dirty": "dirty", "pages_pinned": "pinned"}),),
    ),
    View(
        "pg_class",
        ("relname relpages",),
        (
            RowPart(
                "relation",
                "{relation}",
                {
                    "pages": "relpages",
                    "rows": "reltuples",
                    "size_bytes": "bytes | size_bytes | pg_relation_size | pg_table_size",
                },
                {"kind": "kind", "path": "path", "identifier": "oid"},
            ),
        ),
        derived.relation,
    ),
    View(
        "pg_settings",
        ("name setting",),
        (RowPart("setting", "{name}", {}, {"setting": "setting", "unit": "unit"}),),
        derived.setting,
        needs="name",
    ),
    View(
        "pg_stat_activity",
        ("pid state query_start", "pid state wait_event", "state wait_event_type wait_event count"),
        (
            RowPart(
                "session",
                "{state}/{wait_event_type}/{wait_event}",
                {"sessions": "count | 1", "in_transaction": "in_transaction"},
            ),
        ),
        derived.session,
        adds_up=True,
    ),
    View(
        "pg_wait_sampling_profile",
        ("event_type event count",),
        (RowPart("wait", "{wait}", {"samples": "count"}),),
        derived.wait,
        adds_up=True,
    ),
    View("pg_stat_slru", ("blks_zeroed blks_hit",)),
    View("pg_stat_archiver", ("archived_count failed_count",)),
    View("pg_stat_user_functions", ("funcname self_time",)),
    View(  # made by hand
        "server",
        ("wal_lsn", "pg_current_wal_lsn", "pg_current_xlog_location", "version pg_postmaster_start_time"),
        (
            RowPart("log", "log", {"position_bytes": "position"}),
            RowPart(
                "server",
                "server",
                {},
                {"version": "version", "started_at": "pg_postmaster_start_time", "identifier": "system_identifier"},
            ),
        ),
        derived.server,
    ),
)

BY_NAME: Mapping[str, View] = {view.name: view for view in VIEWS}


def values_of(view_name: str, rows: Iterable[Row]) -> dict[Key, dict[str, Decimal | str]]:
    """Return what rows of a view say, by (subject, entity); *view_name* is that of one of VIEWS.

    Raises ValueError, a phrase that names the column, when a value is not what it must be.
    """
    gathered = GatheredRows(BY_NAME[view_name], canonical)
    for row in rows:
        gathered.add(row)
    return gathered.values
