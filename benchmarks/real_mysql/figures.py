"""What a run of a cell comes to: figures of a transaction, of the device, and of the pool."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.real_mysql.accounts import Transactions
from benchmarks.real_mysql.plan import Cell

_SHARES = {"p50_ms": 0.5, "p90_ms": 0.9, "p95_ms": 0.95, "p99_ms": 0.99, "p999_ms": 0.999}
#: Counters of SHOW GLOBAL STATUS, by what they are of a transaction.
_PER_TRANSACTION = {
    "misses_per_tx": "innodb_buffer_pool_reads",
    "page_requests_per_tx": "innodb_buffer_pool_read_requests",
    "log_writes_per_tx": "innodb_log_writes",
    "log_bytes_per_tx": "innodb_os_log_written",
    "pages_flushed_per_tx": "innodb_buffer_pool_pages_flushed",
    "doublewrite_pages_per_tx": "innodb_dblwr_pages_written",
    "doublewrite_writes_per_tx": "innodb_dblwr_writes",
    "binlog_groups_per_tx": "binlog_group_commits",
}
_GAUGES = {
    "pool_pages_data": "innodb_buffer_pool_pages_data",
    "pool_pages_dirty": "innodb_buffer_pool_pages_dirty",
    "checkpoint_age": "innodb_checkpoint_age",
}
#: What is counted, by what its time is named after.
_COUNTS = {"read": "reads", "write": "writes", "flush": "flushes"}


@dataclass(frozen=True)
class Looked:
    """Counters at one moment: of the server's status, flushes of data files, the device, and its CPU."""

    status: Mapping[str, int]
    data_flushes: int
    requests: Mapping[str, int]
    times_ms: Mapping[str, int]
    cpu_s: float

    @classmethod
    def of(
        cls, tables: Mapping[str, str], requests: Mapping[str, int], times_ms: Mapping[str, int], cpu_s: float
    ) -> Self:
        """Take them from tables as the client prints them."""
        status = {row["Variable_name"].lower(): row["Value"] for row in _rows(tables["global_status"])}
        files = _rows(tables["file_summary_by_instance"])
        return cls(
            {name: int(value) for name, value in status.items() if value.isdigit()},
            sum(int(row["COUNT_MISC"]) for row in files if row["EVENT_NAME"].endswith("/innodb_data_file")),
            requests,
            times_ms,
            cpu_s,
        )


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))


def figures_of(cell: Cell, done: Transactions, before: Looked, after: Looked) -> dict[str, Any]:
    """Return the figures of a run between two looks.

    MariaDB 10.11 counts no flushes of its redo log: they are all flushes less those of data files.
    """
    grown = {name: after.status[name] - before.status.get(name, 0) for name in after.status}
    requests, times_ms = (
        {name: now[name] - then[name] for name in now}
        for now, then in ((after.requests, before.requests), (after.times_ms, before.times_ms))
    )
    log_flushes = grown["innodb_data_fsyncs"] - (after.data_flushes - before.data_flushes)
    return {
        "name": cell.name,
        "workload": cell.load,
        "buffer_pool_mb": cell.pool_mib,
        "read_iops": cell.iops or 0,
        "write_iops": cell.iops or 0,
        "redo_mb": cell.redo_mib,
        "binlog": cell.binary_log,
        "clients": cell.clients,
        "rows": cell.rows,
        "run": cell.run_s,
        "transactions": done.count,
        "tps": round(done.count / done.seconds, 2),
        "mean_ms": round(done.mean_ms, 5),
        **{name: done.quantile_ms(share) for name, share in _SHARES.items()},
        **{name: round(grown.get(counter, 0) / done.count, 6) for name, counter in _PER_TRANSACTION.items()},
        "log_fsyncs_per_tx": round(log_flushes / done.count, 6),
        **{name: [before.status[gauge], after.status[gauge]] for name, gauge in _GAUGES.items()},
        "pool_pages": after.status["innodb_buffer_pool_pages_total"],
        "checkpoint_max_age": after.status["innodb_checkpoint_max_age"],
        "deadlocks": grown["innodb_deadlocks"],
        "row_lock_waits": grown["innodb_row_lock_waits"],
        "mariadbd_cpu_s": round(after.cpu_s - before.cpu_s, 2),
        "device_per_s": {name: round(count / done.seconds, 2) for name, count in requests.items()},
        "device_ms": {name: round(took / max(requests[_COUNTS[name]], 1), 4) for name, took in times_ms.items()},
        "tps_by_second": done.by_second,
    }
