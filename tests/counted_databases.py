"""A small database that was counted, made up for tests of runs of statements."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.counted_bundles import Row, bundle
from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law
from tiersim.scenarios.calibration.popularity.fit import Missed
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.statistics import Values
from tiersim.units import NS_PER_S

#: Transactions of an update and the look at what it did, and single selects beside them.
TRANSACTIONS, ALONE = 60, 30
TEXTS = {
    "begin": "BEGIN",
    "update": "UPDATE accounts SET balance = balance + ? WHERE id = ?",
    "look": "SELECT balance FROM accounts WHERE id = ?",
    "commit": "COMMIT",
    "small": "SELECT name FROM branches WHERE id = ?",
    "search": "SELECT balance FROM accounts WHERE name = ?",
}
ROWS, INDEX_PAGES, HEAP_PAGES = 4000, 21, 200  # 1 root, 19 leaves, and the page that describes the index
FRAMES = 100
MISSED = 60  # pages

QUERIES: dict[str, dict[str, int]] = {
    "begin": {"calls": TRANSACTIONS, "exec_ms": 1},
    "update": {
        "calls": TRANSACTIONS,
        "exec_ms": 30,
        "pages_hit": 3 * TRANSACTIONS - 50,
        "pages_read": 50,
        "read_ms": 10,
        "pages_dirtied": 40,
        "log_bytes": 9000 * TRANSACTIONS,
        "log_records": TRANSACTIONS,
    },
    "look": {"calls": TRANSACTIONS, "exec_ms": 6, "pages_hit": 3 * TRANSACTIONS, "pages_read": 0},
    "commit": {"calls": TRANSACTIONS, "exec_ms": 1},
    "small": {"calls": ALONE, "exec_ms": 3, "pages_hit": 2 * ALONE, "pages_read": 0},
    # every third call looks up a row
    "search": {"calls": ALONE, "exec_ms": 15, "pages_hit": ALONE - 10, "pages_read": 10, "read_ms": 2},
}
RELATIONS: dict[str, dict[str, int | str]] = {
    "public.accounts": {"kind": "table", "rows": ROWS, "pages": HEAP_PAGES, "pages_hit": 90, "pages_read": 40},
    "public.accounts_pkey": {"kind": "index", "table": "public.accounts", "pages": INDEX_PAGES,
                             "pages_hit": 240, "pages_read": 20},
    "public.branches": {"kind": "table", "rows": 5, "pages": 1, "pages_hit": 2 * ALONE, "pages_read": 0},
}  # fmt: skip


def counted_database(
    folder: Path,
    *,
    clients: int | None = 4,
    relations: bool = True,
    statements: tuple[Row, ...] = (),
    requests: int = 0,
    unused: int = 0,
    host: dict[str, int | str] | None = None,
    more: dict[tuple[str, str], dict[str, int | str]] | None = None,
) -> Path:
    """Write its bundle; without *clients* nobody knows how many sessions there were. *unused* frames of the pool are
    empty. *more* is counted of subjects and entities.
    """

    def values(subject: str, found: dict[str, int | str], share: int) -> Values:
        counters = SUBJECTS[subject].counters
        return {k: v if isinstance(v, str) else Decimal(v * (share if k in counters else 1)) for k, v in found.items()}

    snapshots = []
    for share in (0, 1):
        of: dict[tuple[str, str], Values] = {
            ("query", name): values("query", dict(counters), share) for name, counters in QUERIES.items()
        }
        of["log", "log"] = {
            "flushes": Decimal(50 * share),
            "flush_ms": Decimal(60 * share),
            "write_ms": Decimal(15 * share),
        }
        of["setting", "track_io_timing"] = {"setting": "on"}
        if relations:
            of |= {("relation", name): values("relation", found, share) for name, found in RELATIONS.items()}
        of |= {(subject, name): values(subject, found, share) for (subject, name), found in (more or {}).items()}
        of["pool", "//unused"] = {"pages": Decimal(unused)}
        if clients is not None:
            of["client", "pgbench"] = {"clients": Decimal(clients), "seconds": Decimal(1)}
        snapshots.append((share * NS_PER_S, of))
    path = bundle(folder, snapshots, TEXTS, statements)
    known = {
        "engine": "postgresql",
        "shared_buffers_bytes": FRAMES * 8192,
        "page_bytes": 8192,
        "debug_io_direct": "data",
    }
    (path / "manifest.json").write_text(json.dumps({"host": known | (host or {}), "snapshots": 2}))
    count = pa.array(range(requests), pa.int64())
    columns = {
        "time_ns": count,
        "op": pa.array(["read"] * requests, pa.string()),
        "offset_bytes": count,
        "length_bytes": pa.array([8192] * requests, pa.int64()),
        "latency_ns": pa.array([100_000] * requests, pa.int64()),
    }
    pq.write_table(pa.table(columns), path / "requests.parquet")
    return path


def law(exponent: float = 1.0) -> Fitted:
    """The law of its table, as a fit would have it."""
    table = AccessedTable(
        "public.accounts", ROWS, HEAP_PAGES, INDEX_PAGES, TRANSACTIONS + ALONE // 3, 40, 20, touches=2
    )
    return Fitted((table,), FRAMES, (Law(exponent),), (Missed(0.3, 0.8),), (), 1)
