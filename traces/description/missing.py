"""What a recording of counters lacks for a good prediction, and what would bring it: sentences."""

from collections.abc import Iterator

from tiersim.traces.bundle import Bundle
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.differences import Differences, EntityChange
from tiersim.traces.statistics import Table

WORK_OF_QUERIES = "the work of each query"
#: By engine: what is said to be missing → what to do there.
_REMEDIES = {
    "postgresql": {
        "times": (
            "save with each snapshot the output of"
            " SELECT clock_timestamp() AS ts, version(), pg_postmaster_start_time()"
        ),
        "queries": "install pg_stat_statements (shared_preload_libraries, CREATE EXTENSION)",
        "timing": "set track_io_timing = on",
        "log timing": "set track_wal_io_timing = on",
        "relations": "record pg_statio_user_tables and pg_statio_user_indexes",
        "sizes": "record relation sizes (pg_class with pg_relation_size)",
        "pool": "record pg_buffercache (its usage counts by relation)",
        "log": "record pg_stat_wal (14 and later)",
        "checkpoints": "set log_checkpoints = on and import the server's log, or record pg_stat_checkpointer",
        "settings": "record pg_settings",
        "processors": "run tiersim record postgres on the server's machine",
    },
    "sqlserver": {
        "queries": (
            "record sys.dm_exec_query_stats, or an Extended Events session (tiersim record sqlserver --dry-run prints"
            " both)"
        ),
        "reads": "record Extended Events, which count physical_reads, or sys.dm_exec_query_stats before and after",
        "relations": "record sys.dm_db_index_operational_stats before and after",
        "sizes": "record sys.dm_db_partition_stats",
        "pool": "record sys.dm_os_buffer_descriptors by table (tiersim record sqlserver --dry-run --buffercache)",
        "log": "record sys.dm_os_performance_counters (Log Bytes Flushed/sec), or log in perfmon",
        "log timing": "record sys.dm_io_virtual_file_stats joined with sys.master_files, which tells the log",
        "checkpoints": "record sys.dm_os_performance_counters (Checkpoint pages/sec), or log in perfmon",
        "settings": "record sys.configurations",
        "files": "record sys.dm_io_virtual_file_stats joined with sys.master_files, before and after",
    },
}
_REMEDIES["mysql"] = {
    "queries": "record performance_schema.events_statements_summary_by_digest before and after",
    "relations": "record performance_schema.table_io_waits_summary_by_index_usage before and after",
    "sizes": "record mysql.innodb_table_stats and mysql.innodb_index_stats",
    "pool": "record SHOW GLOBAL STATUS",
    "transactions": "SET GLOBAL innodb_monitor_enable = 'trx_rw_commits', and record INNODB_METRICS",
    "log": "record SHOW GLOBAL STATUS (8.0.30 and later), or information_schema.INNODB_METRICS",
    "log timing": "record performance_schema.file_summary_by_instance, whose binary log tells it",
    "checkpoints": "SET GLOBAL innodb_monitor_enable = 'log_checkpoints', and record INNODB_METRICS",
    "settings": "record SHOW GLOBAL VARIABLES",
    "files": "record performance_schema.file_summary_by_instance before and after",
}
_REMEDIES["mariadb"] = _REMEDIES["mysql"] | {
    "queries": (
        "start the server with performance_schema = ON, or import a slow log with log_slow_verbosity = innodb and"
        " long_query_time = 0"
    ),
    "relations": "start the server with performance_schema = ON, or SET GLOBAL userstat = ON",
    "log": "record SHOW GLOBAL STATUS",
}
#: Engines that read and write their files past the operating system's cache.
_PAST_THE_CACHE = ("sqlserver",)
_NO_READS = {
    "mysql": (
        "the pages that each query reads, which MySQL does not count; Percona Server's slow log does"
        " (log_slow_verbosity = innodb)"
    ),
    "mariadb": (
        "the pages that each query reads; import a slow log with log_slow_verbosity = innodb and log_slow_rate_limit"
    ),
}


def missing(found: Differences, statements: Table, bundle: Bundle) -> list[str]:
    """Say what is missing to predict well from this recording, most important first."""
    engine = str(bundle.manifest.host.get("engine"))
    remedies = _REMEDIES.get(engine, {})

    def sentence(lack: str, what: str) -> str:
        return f"{lack}: {remedies[what]}" if what in remedies else lack

    return [sentence(lack, what) for lack, what in _lacks(found, statements, bundle, engine)]


def _lacks(found: Differences, statements: Table, bundle: Bundle, engine: str) -> Iterator[tuple[str, str]]:
    counted = max(found.snapshots.values(), default=0)
    if counted == 1 and not len(statements):
        yield "a second snapshot: one alone has no rates; take another after some minutes of load", ""
    elif counted > 1 and not any(found.span_ns.values()):
        yield (
            "the times of the snapshots, so there are no rates; import the file that holds them, too",
            "times",
        )
    if not found.of("query") and not len(statements):
        yield WORK_OF_QUERIES, "queries"
    if len(statements) and not found.of("query") and not (statements.columns["physical_reads"] >= 0).any():
        yield "physical reads of the executions (logical reads are known)", "reads"
    if found.of("query") and _reads_without_time(found):
        yield "the time of reads, so the CPU time of queries cannot be separated from it", "timing"
    if (
        engine in INNODB_ENGINES
        and found.of("database")
        and not any(change.number("write_transactions") is not None for change in found.of("database").values())
    ):
        yield "transactions that write, other than by COMMIT", "transactions"
    if engine in INNODB_ENGINES and not any(change.number("pages_read") for change in found.of("query").values()):
        physical = statements.columns["physical_reads"] if len(statements) else None
        if physical is None or not (physical >= 0).any():
            yield _NO_READS[engine], ""
    if not found.of("relation"):
        yield "reads by table and index", "relations"
    elif not any("size_bytes" in change.last or "pages" in change.last for change in found.of("relation").values()):
        yield "the sizes of tables and indexes", "sizes"
    if not found.of("pool"):
        yield "the content of the buffer pool", "pool"
    logs, log_files = list(found.of("log").values()), _log_files(found)
    writers = [change for entity, change in found.of("io").items() if "/wal/" in entity]
    if all(change.number("bytes") is None for change in logs) and not log_files:
        yield "bytes written to the log, other than by queries", "log"
    elif not log_files and _flushes_without_time([*logs, *writers]):
        binary = found.of("setting").get("log_bin")
        if engine in INNODB_ENGINES and binary is not None and binary.last.get("setting") == "OFF":
            yield "the time of log flushes: log_bin is OFF, and no file of the redo log was timed", ""
        else:
            yield "the time of log flushes", "log timing"
    if not found.of("checkpoint") and not found.of("checkpointer"):
        yield "checkpoints", "checkpoints"
    if not found.of("session") and not found.of("client") and not len(statements):
        yield "the number of active sessions, which is estimated by Little's law; sample them", ""
    if (
        engine == "postgresql"
        and found.of("query")
        and not (found.of("process") and found.snapshots.get("processor", 0) > 1)
    ):
        yield (
            (
                "CPU time of sessions and cores; if the recorded storage was the limit, predictions for faster storage"
                " have to assume it"
            ),
            "processors",
        )
    if not found.of("setting"):
        yield "settings of the engine, such as the size of its buffer pool", "settings"
    if engine in _PAST_THE_CACHE or "DIRECT" in str(bundle.manifest.host.get("flush_method")).upper():
        if not found.of("file") and not found.of("device") and not bundle.rows:
            yield "reads and writes by file or device, and their latency", "files"
    elif not bundle.rows and "data" not in str(bundle.manifest.host.get("debug_io_direct", "")):
        yield (
            (
                "the share of reads that the operating system's cache answered: record a block trace of the same"
                " minutes (tiersim record blktrace)"
            ),
            "",
        )


def _flushes_without_time(changes: list[EntityChange]) -> bool:
    """Tell whether the log was flushed, as far as that was counted, and no flush was timed."""
    counts = [count for change in changes if (count := change.number("flushes")) is not None]
    return (not counts or any(counts)) and not any(change.number("flush_ms") for change in changes)


def _log_files(found: Differences) -> list[EntityChange]:
    return [
        change for change in found.of("file").values() if change.last.get("kind") == "log" and change.number("write_ms")
    ]


def _reads_without_time(found: Differences) -> bool:
    """Tell whether queries read pages, and neither these reads nor the processors' time were timed."""
    changes = found.of("query").values()
    if any(change.number("cpu_ms") for change in changes):
        return False
    return any(change.number("pages_read") for change in changes) and not any(
        change.number("read_ms") for change in changes
    )
