"""Variables of a server: which are kept, and what the manifest's ``host`` says by them. All others may hold secrets,
and are forgotten.
"""

from collections.abc import Mapping
from typing import Any

from tiersim.errors import TraceError

#: Variable → its name in ``host``; those that end in _bytes are whole numbers.
_HOST = {
    "version": "version",
    "version_comment": "version_comment",
    "innodb_page_size": "page_bytes",
    "innodb_buffer_pool_size": "buffer_pool_bytes",
    "innodb_flush_method": "flush_method",
    "innodb_flush_log_at_trx_commit": "flush_log_at_trx_commit",
    "innodb_doublewrite": "doublewrite",
    "sync_binlog": "sync_binlog",
    "log_bin": "log_bin",
    "innodb_change_buffering": "change_buffering",
}
#: What decides over pages, flushing, the log, commits, and what is counted at all.
_OTHERS = """
    binlog_commit_wait_count binlog_commit_wait_usec binlog_format binlog_group_commit_sync_delay
    binlog_group_commit_sync_no_delay_count binlog_order_commits binlog_row_image innodb_adaptive_flushing
    innodb_adaptive_flushing_lwm innodb_adaptive_hash_index innodb_buffer_pool_instances innodb_checksum_algorithm
    innodb_data_file_buffering innodb_doublewrite_batch_size innodb_doublewrite_files innodb_doublewrite_pages
    innodb_file_per_table
    innodb_flush_log_at_timeout innodb_flush_neighbors innodb_flush_sync innodb_flushing_avg_loops
    innodb_idle_flush_pct innodb_io_capacity innodb_io_capacity_max innodb_log_buffer_size innodb_log_file_buffering
    innodb_log_file_size innodb_log_files_in_group innodb_log_write_ahead_size innodb_log_writer_threads
    innodb_lru_flush_size innodb_lru_scan_depth innodb_max_dirty_pages_pct innodb_max_dirty_pages_pct_lwm
    innodb_old_blocks_pct innodb_old_blocks_time innodb_page_cleaners innodb_purge_threads innodb_random_read_ahead
    innodb_read_ahead_threshold innodb_read_io_threads innodb_redo_log_capacity innodb_use_fdatasync
    innodb_use_native_aio innodb_write_io_threads log_slow_rate_limit log_slow_verbosity long_query_time
    max_connections performance_schema read_only slow_query_log sort_buffer_size thread_handling tmp_table_size
    transaction_isolation tx_isolation userstat wsrep_on
"""
KEPT = frozenset(_HOST) | frozenset(_OTHERS.split())
#: No variable of a server: of a described one that is scaled down, how many us its page cleaners' second has.
PAGE_CLEANER_SECOND = "page_cleaner_second_us"
_LONGEST = 100


def engine_of(version: str) -> str:
    """Return ``mysql`` (Percona Server, too) or ``mariadb``."""
    return "mariadb" if "mariadb" in version.lower() else "mysql"


def host_of(said: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what the manifest says of the host by the variables of a server."""
    found: dict[str, Any] = {}
    for name, key in _HOST.items():
        text = said.get(name)
        if text is None:
            continue
        if not key.endswith("_bytes"):
            found[key] = text[:_LONGEST]
        elif text.isascii() and text.isdigit() and len(text) < 19:
            found[key] = int(text)
    if "version" in found:
        found["engine"] = engine_of(found["version"])
    return found


def refuse_aurora(place: str, names: Mapping[str, object]) -> None:
    """Raise TraceError, with *place* before it, where a server's variables or counters are those of Aurora."""
    found = next((name for name in names if name.lower().startswith("aurora_")), None)
    if found is not None:
        raise TraceError(
            f"{place}: {found} is of Amazon Aurora, which sends redo to storage nodes and writes no pages, so that its"
            " counters are not those of InnoDB on a volume; record MySQL or MariaDB"
        )
