"""Columns that the tables of :mod:`tiersim.traces.readers.postgres.views` need and views have not, made from those they
have.

Settings of a server: which are kept, and what they are in bytes and seconds. All others may hold secrets, and are
forgotten.
"""

import re
from decimal import Decimal

from tiersim.traces.query_text import fingerprint
from tiersim.traces.readers.views import Row

#: Bytes and seconds; no unit are bytes, of the sizes that cannot be set.
_FACTORS = {
    "": "1", "B": "1", "kB": "1024", "MB": "1048576", "GB": "1073741824", "TB": "1099511627776",
    "us": "1e-6", "ms": "1e-3", "s": "1", "min": "60", "h": "3600", "d": "86400",
}  # fmt: skip
_UNIT = re.compile(r"(\d{0,6})([A-Za-z]{0,3})", re.ASCII)
_VERSION_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,4})*(?:devel|beta\d+|rc\d+)?", re.ASCII)
_NUMBER = re.compile(r"(-?\d{1,18}(?:\.\d{1,18})?)([A-Za-z]{0,3})", re.ASCII)

_LONGEST = 60

#: Setting → its name in the manifest's ``host``. Those in _bytes and _s are turned into these.
_HOST = {
    "server_version": "version",
    "block_size": "page_bytes",
    "wal_block_size": "log_page_bytes",
    "wal_segment_size": "wal_segment_bytes",
    "shared_buffers": "shared_buffers_bytes",
    "effective_cache_size": "effective_cache_size_bytes",
    "work_mem": "work_mem_bytes",
    "maintenance_work_mem": "maintenance_work_mem_bytes",
    "temp_buffers": "temp_buffers_bytes",
    "wal_buffers": "wal_buffers_bytes",
    "max_wal_size": "max_wal_size_bytes",
    "min_wal_size": "min_wal_size_bytes",
    "io_combine_limit": "io_combine_limit_bytes",
    "checkpoint_flush_after": "checkpoint_flush_after_bytes",
    "checkpoint_timeout": "checkpoint_timeout_s",
    "bgwriter_delay": "bgwriter_delay_s",
    "wal_writer_delay": "wal_writer_delay_s",
    "checkpoint_completion_target": "checkpoint_completion_target",
    "bgwriter_lru_maxpages": "bgwriter_lru_maxpages",
    "bgwriter_lru_multiplier": "bgwriter_lru_multiplier",
    "effective_io_concurrency": "effective_io_concurrency",
    "max_connections": "max_connections",
    "commit_delay": "commit_delay_us",
    "commit_siblings": "commit_siblings",
    "synchronous_commit": "synchronous_commit",
    "full_page_writes": "full_page_writes",
    "fsync": "fsync",
    "io_method": "io_method",
    "debug_io_direct": "debug_io_direct",
    "track_io_timing": "track_io_timing",
    "track_wal_io_timing": "track_wal_io_timing",
}

#: What is kept of pg_settings: what decides over pages, the log, checkpoints, plans, workers, and what is counted at
#: all.
_OTHERS = """
    archive_mode autovacuum autovacuum_max_workers autovacuum_naptime autovacuum_vacuum_cost_delay
    autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold
    autovacuum_vacuum_cost_limit backend_flush_after bgwriter_flush_after compute_query_id cpu_index_tuple_cost
    cpu_operator_cost cpu_tuple_cost data_checksums default_statistics_target dynamic_shared_memory_type
    hash_mem_multiplier huge_page_size huge_pages huge_pages_status io_max_combine_limit io_max_concurrency io_workers jit
    log_checkpoints log_min_duration_statement log_min_duration_sample log_statement_sample_rate logical_decoding_work_mem
    maintenance_io_concurrency max_parallel_maintenance_workers max_parallel_workers max_parallel_workers_per_gather
    max_prepared_transactions max_worker_processes old_snapshot_threshold parallel_leader_participation
    pg_stat_statements.max pg_stat_statements.save pg_stat_statements.track pg_stat_statements.track_planning
    pg_stat_statements.track_utility pg_wait_sampling.profile_period pg_wait_sampling.profile_pid
    pg_wait_sampling.profile_queries random_page_cost recovery_prefetch seq_page_cost server_version_num
    shared_memory_size shared_memory_type temp_file_limit track_activities track_cost_delay_timing track_counts
    track_functions vacuum_buffer_usage_limit vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty
    vacuum_cost_page_hit vacuum_cost_page_miss wal_compression wal_decode_buffer_size wal_init_zero wal_keep_segments
    wal_keep_size wal_level wal_log_hints wal_recycle wal_skip_threshold wal_sync_method wal_writer_flush_after
    checkpoint_segments
"""  # noqa: E501
KEPT = frozenset(_HOST) | frozenset(_OTHERS.split())


def host_of(name: str, text: str, unit: str) -> dict[str, int | float | str]:
    """Return what the manifest says of the host by a setting, with its value and unit as pg_settings has them; often
    nothing.
    """
    value = _plain(_HOST[name], text, unit) if name in _HOST else None
    return {} if value is None else {_HOST[name]: value}


def _plain(name: str, text: str, unit: str) -> int | float | str | None:
    """Return a setting in the unit of its new name; None for what is none, or stands for something else, such as -1."""
    if name == "version":
        version = _VERSION_NUMBER.search(text)
        return version[0] if version else None
    found = _NUMBER.fullmatch(text)
    measured = name.endswith(("_bytes", "_s"))
    if found is None:
        return None if measured else text[:_LONGEST]
    factor = _factor(found[2] or unit) if measured else Decimal(1)
    if factor is None or (measured and text.startswith("-")):
        return None
    value = Decimal(found[1]) * factor
    return int(value) if value == int(value) else float(value)


def _factor(unit: str) -> Decimal | None:
    """Return how many bytes or seconds a unit such as ``8kB`` or ``min`` is."""
    found = _UNIT.fullmatch(unit)
    factor = _FACTORS.get(found[2]) if found else None
    return None if found is None or factor is None else int(found[1] or 1) * Decimal(factor)


#: pg_class.relkind.
_KINDS = {
    "r": "table",
    "i": "index",
    "t": "toast",
    "m": "materialized view",
    "p": "partitioned table",
    "I": "partitioned index",
    "S": "sequence",
    "v": "view",
    "f": "foreign table",
    "c": "type",
}
#: What pg_class.relnamespace is in every database: initdb gives these schemas their numbers.
_SCHEMAS = {"11": "pg_catalog", "99": "pg_toast", "2200": "public"}
_TRUE = {"t", "true", "on", "1"}


def query(row: Row) -> Row:
    """Whose row it is: database, user, whether it was called by a client, and which query; its text tells if nothing
    else.
    """
    text, top = row.get("query"), row.get("toplevel", row.get("top"))
    identifier = row.get("queryid")
    if "queryid" not in row and text and text != HIDDEN:
        identifier = fingerprint(text)
    return row | {
        "dbid": _first(row, "dbid", "datname"),
        "userid": _first(row, "userid", "rolname", "usename"),
        "toplevel": "t" if top is None or top.lower() in _TRUE else "f",
        "queryid": identifier,
    }


#: What stands in place of a query that the recording role may not see.
HIDDEN = "<insufficient privilege>"


def relation(row: Row) -> Row:
    """Name a table or an index with its schema, if that is told, and say what it is."""
    schema = _first(row, "schemaname", "nspname") or _SCHEMAS.get(row.get("relnamespace") or "")
    name = _first(row, "relname", "tablename") or ""
    index = row.get("indexrelname")
    more = row | {"relation": _named(schema, index or name), "column": _named(schema, f"{name}.{row.get('attname')}")}
    if index:
        more |= {"kind": "index", "table": _named(schema, name)}
    elif row.get("relkind"):
        more["kind"] = _KINDS.get(row["relkind"] or "", row["relkind"])
    if _first(row, "reltuples") == "-1":  # not known: it was never analyzed (14+)
        more["reltuples"] = None
    return more


#: What stands for the pages of the pool that hold nothing; those of other databases' relations, which have no name, are
#: among them.
UNUSED = "//unused"


def buffers(row: Row) -> Row:
    """Say whose pages they are, and whether they are clean."""
    name = row.get("relname") or _number(row)
    unused = (row.get("usagecount") or row.get("usage_count")) is None
    dirty = (row.get("isdirty") or "f").lower() in _TRUE
    schema = _first(row, "schemaname", "nspname")
    if not name and "usagecount" not in row and "usage_count" not in row:  # all pages of a relation in one row
        return row | {"relation": UNUSED}
    return row | {
        "relation": _named(schema, name) if name else "",
        "usagecount": None if unused else _first(row, "usagecount", "usage_count"),
        "cleanness": "unused" if unused else "dirty" if dirty else "clean",
    }


def _number(row: Row) -> str:
    """Name a relation that has no name by its database and file, as pg_buffercache does."""
    if row.get("relfilenode") is None:
        return ""
    return f"{row.get('reldatabase') or ''}/{row['relfilenode']}"


def session(row: Row) -> Row:
    """Say what a session does; a process that serves no client is its own kind, in place of a state."""
    kind = row.get("backend_type")
    client = kind in (None, "client backend")
    locked = (row.get("waiting") or "f").lower() in _TRUE  # to 9.5: for a lock, which is all that these tell
    return row | {
        "state": (row.get("state") if client else kind) or "",
        "wait_event_type": "Lock" if locked else row.get("wait_event_type"),
        "in_transaction": str(int(row["xact_start"] is not None)) if "xact_start" in row else row.get("in_transaction"),
    }


def wait(row: Row) -> Row:
    """Name what was waited for, and by which query where that is known."""
    event = f"{row.get('event_type') or ''}/{row.get('event') or ''}"
    identifier = row.get("queryid")
    return row | {"wait": event if identifier in (None, "", "0") else f"{identifier}/{event}"}


def setting(row: Row) -> Row:
    """Leave out the names of settings that are not kept."""
    return row | {"name": row.get("name") if row.get("name") in KEPT else None}


_POSITIONS = (
    "wal_lsn",
    "pg_current_wal_lsn",
    "pg_current_wal_insert_lsn",
    "pg_current_wal_flush_lsn",
    "pg_current_xlog_location",
    "pg_current_xlog_insert_location",
)


def server(row: Row) -> Row:
    """Turn a place in the log, ``16/B374D848``, into bytes. Raises ValueError, a phrase, if it is none."""
    place = _first(row, *_POSITIONS)
    if place is None:
        return row | {"position": None}
    high, _, low = place.partition("/")
    try:
        if not 0 < len(high) <= 8 or not 0 < len(low) <= 8:
            raise ValueError
        position = (int(high, 16) << 32) + int(low, 16)
    except ValueError:
        raise ValueError(f"{place!r} is no place in the log, such as '16/B374D848'") from None
    return row | {"position": str(position)}


def _first(row: Row, *names: str) -> str | None:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _named(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name
