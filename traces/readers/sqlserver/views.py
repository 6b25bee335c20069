"""SQL Server's dynamic management views, 2008 to 2022, and what their columns are in the words of
:mod:`tiersim.traces.counters`.

Times of queries are µs there, of files and waits ms; pages are of 8 KiB. Facts: Microsoft's documentation of each view.
What was never compared with a server is said in UNCHECKED, which goes to the manifest.
"""

from tiersim.traces.readers.sqlserver import derived
from tiersim.traces.readers.views import RowPart, View, view_among

PLAN_CACHE, QUERY_STORE, COUNTERS = "dm_exec_query_stats", "query_store_runtime_stats", "dm_os_performance_counters"
SESSIONS = "dm_xe_sessions"

_FILE = {"kind": "kind", "path": "physical_name", "database": "database"}
_RELATION = {"kind": "kind", "table": "table", "identifier": "identifier"}
_QUERY = "{database}//t/{queryid}"
_POOL = (RowPart("pool", "{relation}", {"pages": "count", "pages_dirty": "dirty"}),)

VIEWS: tuple[View, ...] = (
    View(
        "dm_io_virtual_file_stats",
        ("num_of_reads num_of_writes", "num_of_reads io_stall_read_ms"),
        (
            RowPart(
                "file",
                "{entity}",
                {
                    "reads": "num_of_reads",
                    "read_bytes": "num_of_bytes_read",
                    "read_ms": "io_stall_read_ms",
                    "writes": "num_of_writes",
                    "written_bytes": "num_of_bytes_written",
                    "write_ms": "io_stall_write_ms",
                    "size_bytes": "size_on_disk_bytes",
                },
                _FILE,
            ),
        ),
        derived.file,
    ),
    View(
        "master_files",
        ("file_id physical_name",),
        (RowPart("file", "{entity}", {"size_bytes": "size * 8192"}, _FILE),),
        derived.file,
        needs="database_id",
    ),
    View(
        PLAN_CACHE,
        (
            "execution_count total_worker_time",
            "execution_count total_elapsed_time",
            "execution_count total_logical_reads",
        ),
        (
            RowPart(
                "query",
                _QUERY,
                {
                    "calls": "execution_count",
                    "exec_ms": "total_elapsed_time * 0.001",
                    "exec_min_ms": "min_elapsed_time * 0.001",
                    "exec_max_ms": "max_elapsed_time * 0.001",
                    "cpu_ms": "total_worker_time * 0.001",
                    "pages_hit": "hit",
                    "pages_read": "total_physical_reads",
                    "pages_dirtied": "total_logical_writes",
                    "rows": "total_rows",
                    "temp_pages_written": "total_spills",
                },
                {"since": "creation_time"},
            ),
        ),
        derived.query,
        needs="queryid",
    ),
    View(
        QUERY_STORE,
        ("count_executions avg_duration", "count_executions avg_logical_io_reads"),
        (
            RowPart(
                "query",
                _QUERY,
                {
                    "calls": "count_executions",
                    "exec_ms": "avg_duration * count_executions * 0.001",
                    "exec_min_ms": "min_duration * 0.001",
                    "exec_max_ms": "max_duration * 0.001",
                    "cpu_ms": "avg_cpu_time * count_executions * 0.001",
                    "pages_hit": "hit",
                    "pages_read": "avg_physical_io_reads * count_executions",
                    "pages_dirtied": "avg_logical_io_writes * count_executions",
                    "rows": "avg_rowcount * count_executions",
                    "log_bytes": "avg_log_bytes_used * count_executions",
                    "temp_pages_written": "avg_tempdb_space_used * count_executions",
                },
            ),
        ),
        derived.stored_query,
        needs="queryid",
        adds_up=True,
    ),
    View(
        "dm_db_index_operational_stats",
        ("leaf_insert_count range_scan_count", "range_scan_count singleton_lookup_count"),
        (
            RowPart(
                "relation",
                "{relation}",
                {
                    "index_scans": "range_scan_count + singleton_lookup_count",
                    "rows_inserted": "leaf_insert_count",
                    "rows_updated": "leaf_update_count",
                    # rows that are marked as ghosts first are counted then, and not when they are removed
                    "rows_deleted": "leaf_delete_count + leaf_ghost_count | leaf_delete_count",
                    "page_io_latch_waits": "page_io_latch_wait_count",
                    "page_io_latch_wait_ms": "page_io_latch_wait_in_ms",
                },
                _RELATION,
            ),
        ),
        derived.relation,
        needs="relation",
        adds_up=True,  # partitions
    ),
    View(
        "dm_db_partition_stats",
        ("used_page_count row_count", "reserved_page_count row_count", "in_row_data_page_count row_count"),
        (
            RowPart(
                "relation",
                "{relation}",
                {
                    "rows": "row_count",
                    "pages": "used_page_count | in_row_data_page_count",
                    "size_bytes": "used_page_count * 8192 | in_row_data_page_count * 8192",
                },
                _RELATION,
            ),
        ),
        derived.relation,
        needs="relation",
        adds_up=True,
    ),
    View(
        "dm_os_buffer_descriptors",
        ("page_id is_modified",),
        _POOL,
        derived.buffers,
        adds_up=True,
        uses="database_id database_name schema_name table_name object_name object_id index_id index_name is_modified",
    ),
    View(  # dm_os_buffer_descriptors by database or object, and dirtiness: made by hand
        "dm_os_buffer_descriptors_sums",
        (
            *(f"{count} is_modified" for count in derived.COUNTS),
            *(f"{count} dirty_pages" for count in derived.COUNTS),
            *("database_id cached_pages", "database_name cached_pages", "database_id buffer_count"),
        ),
        _POOL,
        derived.buffers,
        adds_up=True,
    ),
    View(
        "dm_os_wait_stats",
        ("wait_type waiting_tasks_count", "wait_type wait_time_ms"),
        (
            RowPart(
                "wait",
                "{wait_type}",
                {
                    "waits": "waiting_tasks_count",
                    "wait_ms": "wait_time_ms",
                    "signal_wait_ms": "signal_wait_time_ms",
                    "wait_max_ms": "max_wait_time_ms",
                },
            ),
        ),
        derived.wait,
        needs="wait_type",
    ),
    View(
        "configurations",
        ("name value_in_use",),
        (RowPart("setting", "{name}", {}, {"setting": "setting", "unit": "unit"}),),
        derived.setting,
        needs="name",
    ),
    View(
        "databases",
        ("name recovery_model_desc", "name target_recovery_time_in_seconds"),
        (
            RowPart(
                "setting",
                "{database}/target recovery time",
                {},
                {"setting": "target_recovery_time_in_seconds"},
            ),
            RowPart("setting", "{database}/recovery model", {}, {"setting": "recovery_model_desc"}),
            RowPart("setting", "{database}/delayed durability", {}, {"setting": "delayed_durability_desc"}),
        ),
        derived.database,
        needs="database",
    ),
    View(
        "dm_os_sys_info",
        ("cpu_count scheduler_count", "cpu_count hyperthread_ratio", "cpu_count sqlserver_start_time"),
        (
            RowPart("server", "server", {}, {"started_at": "sqlserver_start_time", "version": "product_version"}),
            RowPart(
                "memory",
                "host",
                {
                    "total_bytes": "physical_memory_kb * 1024 | physical_memory_in_bytes",
                    "engine_bytes": "committed_kb * 1024",
                    "engine_target_bytes": "committed_target_kb * 1024",
                },
            ),
        ),
    ),
    View(SESSIONS, ("dropped_event_count dropped_buffer_count",)),  # snapshots.py counts its losses
    View(COUNTERS, ("object_name counter_name cntr_value",)),  # performance_counters.py reads it
)

#: By view: what of its columns was never compared with a server.
UNCHECKED = {
    PLAN_CACHE: "total_spills is assumed to be pages written to tempdb, from its description alone",
    QUERY_STORE: (
        "avg_log_bytes_used is assumed to be bytes and avg_tempdb_space_used pages of 8 KiB, from their descriptions"
        " alone"
    ),
    "dm_db_index_operational_stats": (
        "page_io_latch_wait_count counts waits for pages, and does not count as pages read: read-ahead reads pages that"
        " nobody waits for"
    ),
}


def view_of(columns: tuple[str, ...]) -> View | None:
    """Return the view that has such columns; None when none of VIEWS has."""
    return view_among(VIEWS, columns)
