"""Tables of MySQL 5.7 to 9 and MariaDB 10.6 to 12, and what their columns are in the words of
:mod:`tiersim.traces.counters`.

A table is told by its columns. Tables of names and values (SHOW GLOBAL STATUS, SHOW GLOBAL VARIABLES, INNODB_METRICS)
are read as one row whose columns are the names. Times of performance_schema are ps. Facts: MySQL Reference Manual 8.0,
7.1.10, 28.4 and 29.12; MariaDB Knowledge Base, "InnoDB Status Variables", "User Statistics".
"""

from tiersim.traces.readers.mysql import derived
from tiersim.traces.readers.views import RowPart, View, view_among

#: ps in ms.
_MS = "* 0.000000001"

#: Of names and values; the second holds what is counted while it is switched on.
NAMES, METRICS, QUERIES, MOMENT = "global status", "innodb metrics", "statement digests", "moment"

VIEWS: tuple[View, ...] = (
    View(NAMES, ("variable_name value", "variable_name variable_value")),
    View(METRICS, ("name subsystem count",)),
    View(
        MOMENT,
        ("unix_s version",),
        (RowPart("server", "server", {}, {"version": "version"}),),
    ),
    View(
        QUERIES,
        ("digest count_star", "digest_text count_star"),
        (
            RowPart(
                "query",
                "{schema_name}//t/{digest}",
                {
                    "calls": "count_star",
                    "exec_ms": f"sum_timer_wait {_MS}",
                    "exec_min_ms": f"min_timer_wait {_MS}",
                    "exec_max_ms": f"max_timer_wait {_MS}",
                    "lock_ms": f"sum_lock_time {_MS}",
                    "cpu_ms": f"sum_cpu_time {_MS}",
                    "rows": "sum_rows_sent + sum_rows_affected",
                    "rows_examined": "sum_rows_examined",
                },
                {"since": "first_seen"},
            ),
        ),
        derived.query,
    ),
    View(
        "files",
        ("file_name event_name count_read", "file event_name count_read"),
        (
            RowPart(
                "file",
                "{entity}",
                {
                    "reads": "count_read",
                    "read_bytes": "sum_number_of_bytes_read",
                    "read_ms": f"sum_timer_read {_MS}",
                    "writes": "count_write",
                    "written_bytes": "sum_number_of_bytes_write",
                    "write_ms": f"sum_timer_write {_MS}",
                    "others": "count_misc",
                    "other_ms": f"sum_timer_misc {_MS}",
                },
                {"kind": "kind", "path": "path"},
            ),
        ),
        derived.file,
        needs="entity",
        adds_up=True,
    ),
    View("file kinds", ("event_name count_read sum_number_of_bytes_read",)),
    View(
        "tablespaces",
        ("name file_size page_size", "name file_size space"),
        (RowPart("file", "{entity}", {"size_bytes": "file_size"}),),
        derived.tablespace,
        needs="entity",
        adds_up=True,  # partitions
    ),
    View(
        "index use",
        ("object_schema object_name index_name count_fetch",),
        (
            RowPart(
                "relation",
                "{entity}",
                {
                    "index_rows": "by_index",
                    "sequential_rows": "scanned",
                    "rows_inserted": "count_insert",
                    "rows_updated": "count_update",
                    "rows_deleted": "count_delete",
                },
                {"kind": "kind", "table": "table"},
            ),
        ),
        derived.index_use,
        needs="entity",
        adds_up=True,
    ),
    View(
        "index statistics of MariaDB",
        ("table_name index_name rows_read",),
        (RowPart("relation", "{entity}", {"index_rows": "rows_read"}, {"kind": "kind", "table": "table"}),),
        derived.index,
        needs="entity",
        adds_up=True,
    ),
    View(
        "table statistics of MariaDB",
        ("table_name rows_read rows_changed",),
        (
            RowPart(
                "relation",
                "{entity}",
                {"rows_read": "rows_read", "rows_changed": "rows_changed"},
                {"kind": "kind"},
            ),
        ),
        derived.index,
        needs="entity",
    ),
    View(
        "user statistics of MariaDB",
        ("user busy_time cpu_time",),
        (RowPart("database", "*", {"cpu_ms": "cpu_time * 1000", "active_ms": "busy_time * 1000"}),),
        adds_up=True,
    ),
    View(
        "index sizes",
        ("index_name stat_name stat_value",),
        (
            RowPart(
                "relation",
                "{entity}",
                {"pages": "size_pages", "leaf_pages": "leaf_pages"},
                {"kind": "kind", "table": "table"},
            ),
        ),
        derived.index_size,
        needs="entity",
        adds_up=True,
    ),
    View(
        "table sizes",
        ("table_name n_rows clustered_index_size", "name num_rows clust_index_size"),
        (
            RowPart(
                "relation",
                "{entity}",
                {"rows": "n_rows | num_rows", "pages": "clustered_index_size | clust_index_size"},
                {"kind": "kind"},
            ),
        ),
        derived.index,
        needs="entity",
        adds_up=True,  # partitions
    ),
    View(
        "tables",
        ("table_name table_rows data_length",),
        (RowPart("relation", "{entity}", {"rows": "table_rows", "size_bytes": "data_length"}, {"kind": "kind"}),),
        derived.index,
        needs="entity",
    ),
    View(
        "sessions",
        ("command state count",),
        (RowPart("session", "{state}//{wait}", {"sessions": "count"}),),
        derived.session,
        adds_up=True,
    ),
    View("innodb status", ("type name status",)),
    View("buffer pool", ("pool_id pool_size free_buffers",)),  # the status has the same, of all instances
    View("statement kinds", ("event_name count_star sum_timer_wait",)),  # digests have the same, one by one
)

#: The rows that tables of names and values become.
STATUS = View(
    "SHOW GLOBAL STATUS",
    ("variable_name value", "variable_name variable_value"),
    (
        RowPart("server", "server", {"uptime_s": "uptime"}),
        RowPart(
            "database",
            "*",
            {
                "pages_looked_up": "innodb_buffer_pool_read_requests",
                # demand reads and read-ahead: Innodb_pages_read
                "pages_read": "innodb_pages_read",
                "pages_missed": "innodb_buffer_pool_reads",
                "pages_read_ahead": "innodb_buffer_pool_read_ahead",
                "pages_written": "innodb_pages_written",
                "commit_statements": "com_commit",
                "rollback_statements": "com_rollback",
                "statements": "questions",
                "rows_inserted": "innodb_rows_inserted",
                "rows_updated": "innodb_rows_updated",
                "rows_deleted": "innodb_rows_deleted",
                "temp_files": "created_tmp_files",
                "sessions": "connections",
                "backends": "threads_connected",
                "backends_active": "threads_running",
            },
        ),
        RowPart(
            "pool",
            "*",
            {
                "pages": "innodb_buffer_pool_pages_data",
                "pages_dirty": "innodb_buffer_pool_pages_dirty",
                "pages_unused": "innodb_buffer_pool_pages_free",
            },
        ),
        RowPart(
            "io",
            "innodb/files/all",
            {
                "reads": "innodb_data_reads",
                "read_bytes": "innodb_data_read",
                "writes": "innodb_data_writes",
                "written_bytes": "innodb_data_written",
                "flushes": "innodb_data_fsyncs",
            },
        ),
        RowPart(
            "io",
            "innodb/doublewrite/all",
            {
                "writes": "innodb_dblwr_writes",
                "written_bytes": "innodb_dblwr_pages_written * innodb_page_size",
            },
        ),
        RowPart(
            "background writer",
            "background writer",
            {
                "pages_written": "innodb_buffer_pool_pages_flushed",
                "lru_pages_written": "innodb_buffer_pool_pages_lru_flushed",
                "free_list_stalls": "innodb_buffer_pool_wait_free",
            },
        ),
        RowPart(
            "log",
            "log",
            {
                "bytes": "innodb_redo_log_current_lsn | innodb_lsn_current | log_sequence_number",
                "position_bytes": "innodb_redo_log_current_lsn | innodb_lsn_current | log_sequence_number",
                "checkpoint_age_bytes": "checkpoint_age",
                "checkpoint_age_limit_bytes": "innodb_checkpoint_max_age",
                "capacity_bytes": "innodb_redo_log_capacity_resized",
                "writes": "innodb_log_writes",
                "written_bytes": "innodb_os_log_written",
                "flushes": "innodb_os_log_fsyncs",
                "buffers_full": "innodb_log_waits",
            },
        ),
        RowPart(
            "binary log",
            "binary log",
            {
                "bytes": "binlog_bytes_written",
                "transactions": "binlog_commits | binlog_cache_use",
                "groups": "binlog_group_commits",
            },
        ),
        RowPart("wait", "Lock/innodb row", {"waits": "innodb_row_lock_waits", "wait_ms": "innodb_row_lock_time"}),
    ),
    derived.status,
)
VARIABLES = View(
    "SHOW GLOBAL VARIABLES",
    ("variable_name value", "variable_name variable_value"),
    (RowPart("log", "log", {"capacity_bytes": "redo_capacity"}),),
    derived.variables,
)
COUNTED = View(
    "INNODB_METRICS",
    ("name subsystem count",),
    (
        RowPart("database", "*", {"write_transactions": "trx_rw_commits"}),
        RowPart("checkpointer", "checkpointer", {"done": "log_checkpoints"}),
        RowPart(
            "background writer",
            "background writer",
            {
                "lru_pages_written": "buffer_lru_batch_flush_total_pages",
                "adaptive_pages_written": "buffer_flush_adaptive_total_pages",
                "sync_pages_written": "buffer_flush_sync_total_pages",
                "idle_pages_written": "buffer_flush_background_total_pages",
                "neighbour_pages_written": "buffer_flush_neighbor_total_pages",
            },
        ),
        RowPart(
            "log",
            "log",
            {
                "bytes": "log_lsn_current",
                "position_bytes": "log_lsn_current",
                "checkpoint_age_bytes": "log_lsn_checkpoint_age",
            },
        ),
    ),
)


def view_of(columns: tuple[str, ...]) -> View | None:
    """Return the table that has such columns; None when none has."""
    return view_among(VIEWS, columns)


def is_known(columns: tuple[str, ...]) -> bool:
    """Tell whether a table has such columns."""
    return view_of(columns) is not None
