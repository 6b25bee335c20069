"""Columns that the tables of :mod:`tiersim.traces.readers.postgres.views` need and views have not, made from those they
have.
"""

from tiersim.traces.query_text import fingerprint
from tiersim.traces.readers.postgres.settings import KEPT
from tiersim.traces.readers.views import Row

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
    client = kind in (None, "client backend", "parallel worker")
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
