"""Stand-in: to be replaced by the tables of the reader of PostgreSQL snapshots."""

from collections.abc import Sequence
from decimal import Decimal

Row = dict[str, str | None]
Key = tuple[str, str]

SETTINGS = ("block_size", "shared_buffers", "checkpoint_timeout", "max_wal_size", "track_io_timing", "wal_segment_size")

_RENAMED = {
    "query": {
        "calls": "calls", "total_exec_time": "exec_ms", "rows": "rows", "shared_blks_hit": "pages_hit",
        "shared_blks_read": "pages_read", "shared_blks_dirtied": "pages_dirtied", "wal_records": "log_records",
        "shared_blks_written": "pages_written", "wal_bytes": "log_bytes", "wal_fpi": "log_full_page_images",
    },
    "log": {"wal_records": "records", "wal_bytes": "bytes", "wal_fpi": "full_page_images"},
    "database": {"xact_commit": "commits", "blks_read": "pages_read", "blks_hit": "pages_hit", "numbackends": "backends"},
    "relation": {
        "heap_blks_read": "pages_read", "heap_blks_hit": "pages_hit", "idx_blks_read": "pages_read", "bytes": "size_bytes",
        "idx_blks_hit": "pages_hit", "n_tup_upd": "rows_updated",
    },
}  # fmt: skip


def values_of(view: str, rows: Sequence[Row]) -> dict[Key, dict[str, Decimal | str]]:
    """Return what the rows of a view say."""
    found: dict[Key, dict[str, Decimal | str]] = {}
    for row in rows:
        if view == "pg_stat_statements":
            key = ("query", f"{row['dbid']}/{row['userid']}/{row.get('toplevel') or 't'}/{row['queryid']}")
        elif view == "pg_stat_wal":
            key = ("log", "log")
        elif view == "pg_stat_database":
            key = ("database", row["datname"] or "")
        elif view == "meta":
            found["server", "server"] = {"started_at": row["pg_postmaster_start_time"] or ""}
            continue
        elif view == "pg_settings":
            found["setting", row["name"] or ""] = {"setting": row["setting"] or ""}
            continue
        elif "indexrelname" in row or "relname" in row:
            schema = row.get("schemaname") or row.get("nspname")
            key = ("relation", f"{schema}.{row.get('indexrelname') or row.get('relname')}")
        else:
            continue
        names = _RENAMED[key[0]]
        values = {names[c]: Decimal(v) for c, v in row.items() if c in names and v is not None}
        if values:
            found.setdefault(key, {}).update(values)
    return found
