"""Columns that :mod:`tiersim.traces.readers.sqlserver.views` needs and DMVs have not, made from those they have."""

import hashlib
from decimal import Decimal

from tiersim.traces.query_text import fingerprint
from tiersim.traces.readers.sqlserver.settings import KEPT, unit_of
from tiersim.traces.readers.views import Row, number

_TRUE = ("1", "true", "t")
_TEXTS = ("statement_text", "query_sql_text", "query_text", "sql_text", "text")
_DATABASES = ("database_name", "db_name", "database", "db")
_SCHEMAS = ("schema_name", "schemaname", "table_schema", "schema")
_TABLES = ("table_name", "object_name", "tablename", "objectname", "object", "table")
_INDEXES = ("index_name", "indexname", "index")
#: Columns that count pages, where they were summed up.
COUNTS = ("page_count", "pages", "cached_pages_count", "cached_pages", "buffer_count", "buffers", "count", "cnt")

#: sys.master_files.type.
_KINDS = {"ROWS": "data", "0": "data", "LOG": "log", "1": "log", "FILESTREAM": "filestream", "2": "filestream"}


def file(row: Row) -> Row:
    """Say which file it is, and of which kind; identifiers may be left out where names are there."""
    kind = _first(row, "type_desc", "type", "file_type")
    database, number = _first(row, *_DATABASES), _first(row, "file_id", "fileid", "physical_name")
    return row | {
        "entity": f"{_first(row, 'database_id', 'dbid') or database or ''}/{number or ''}",
        "kind": None if kind is None else _KINDS.get(kind.upper(), kind.lower()),
        "database": database,
    }


def query(row: Row) -> Row:
    """Say whose row of the plan cache it is: database, query and plan, and which text."""
    text = text_of(row)
    marks = [row.get(name) for name in ("sql_handle", "statement_start_offset", "statement_end_offset", "plan_handle")]
    plan = hashlib.blake2b(repr(marks).encode(), digest_size=4).hexdigest() if any(marks) else ""
    mark = row.get("query_hash") or (fingerprint(text) if text else None)
    return row | {
        "database": _first(row, "dbid", "database_id", *_DATABASES),
        "queryid": "-".join(part for part in (mark, plan) if part) or None,
        "text": text,
        "hit": _difference(row.get("total_logical_reads"), row.get("total_physical_reads"), "1"),
    }


def stored_query(row: Row) -> Row:
    """Say which query of Query Store it is."""
    text = text_of(row)
    mark = row.get("query_id") or (fingerprint(text) if text else None)
    return row | {
        "database": _first(row, "database_id", *_DATABASES),
        "queryid": None if mark is None else f"{STORED}{mark}",
        "text": text,
        "hit": _difference(
            row.get("avg_logical_io_reads"), row.get("avg_physical_io_reads"), row.get("count_executions")
        ),
    }


#: How identifiers of Query Store's queries begin, which are numbers there.
STORED = "store "


def relation(row: Row) -> Row:
    """Name a table or an index: ``schema.table`` and ``schema.table.index``, or by identifiers where there are no
    names.
    """
    index_id = row.get("index_id")
    schema, table = _first(row, *_SCHEMAS), _first(row, *_TABLES)
    if table is None:
        identifier = _first(row, "object_id")
        table = None if identifier is None else f"object {identifier}"
    named = f"{schema}.{table}" if schema and table else table
    is_index = index_id is not None and index_id not in (
        "0",
        "1",
    )  # 0 is a heap, 1 a table in the order of its clustered index
    index = (_first(row, *_INDEXES) or f"index {index_id}") if is_index else None
    return row | {
        "relation": f"{named}.{index}" if named and index else named,
        "kind": None if index_id is None else "index" if is_index else "table",
        "table": named if is_index else None,
        "identifier": None if row.get("object_id") is None else f"{row['object_id']}/{index_id or ''}",
    }


def buffers(row: Row) -> Row:
    """Say whose pages they are, how many, and how many of them are dirty; a database's, where its
    objects are not told.
    """
    count = _first(row, *COUNTS) if "page_id" not in row else "1"
    dirty = (row.get("is_modified") or "").lower() in _TRUE
    named = relation(row)["relation"] or f"database {_first(row, *_DATABASES, 'database_id') or '?'}"
    told = _first(row, "dirty_pages", "pages_dirty", "dirty_page_count")
    return row | {"relation": named, "count": count or "0", "dirty": told or (count if dirty else "0")}


#: Waits of threads that have nothing to do: they say nothing of the load, and are most of all time.
_IDLE = (
    "BROKER_",
    "CHECKPOINT_QUEUE",
    "CHKPT",
    "CLR_AUTO_EVENT",
    "CLR_MANUAL_EVENT",
    "CLR_SEMAPHORE",
    "DBMIRROR_DBM_EVENT",
    "DBMIRROR_EVENTS_QUEUE",
    "DBMIRROR_WORKER_QUEUE",
    "DIRTY_PAGE_POLL",
    "DISPATCHER_QUEUE",
    "FSAGENT",
    "FT_IFTS",
    "HADR_CLUSAPI",
    "HADR_FILESTREAM",
    "HADR_LOGCAPTURE",
    "HADR_NOTIFICATION",
    "HADR_TIMER",
    "HADR_WORK_QUEUE",
    "KSOURCE_WAKEUP",
    "LAZYWRITER_SLEEP",
    "LOGMGR_QUEUE",
    "ONDEMAND_TASK_QUEUE",
    "PARALLEL_REDO_",
    "PREEMPTIVE_XE",
    "PVS_PREALLOCATE",
    "PWAIT_",
    "QDS_",
    "REQUEST_FOR_DEADLOCK_SEARCH",
    "RESOURCE_QUEUE",
    "SERVER_IDLE_CHECK",
    "SLEEP_",
    "SNI_HTTP_ACCEPT",
    "SOS_WORK_DISPATCHER",
    "SP_SERVER_DIAGNOSTICS_SLEEP",
    "SQLTRACE_",
    "VDI_CLIENT_OTHER",
    "WAITFOR",
    "WAIT_XTP_",
    "XE_DISPATCHER",
    "XE_TIMER",
)


def wait(row: Row) -> Row:
    """Leave out the names of waits for work."""
    kind = row.get("wait_type")
    return row | {"wait_type": None if kind is None or kind.upper().startswith(_IDLE) else kind}


def setting(row: Row) -> Row:
    """Leave out the names of settings that are not kept."""
    name = row.get("name")
    kept = name if name in KEPT else None
    return row | {
        "name": kept,
        "setting": _first(row, "value_in_use", "value"),
        "unit": unit_of(kept) if kept else None,
    }


def database(row: Row) -> Row:
    """Name the database that a row of sys.databases is of."""
    return row | {"database": _first(row, "name", *_DATABASES)}


def text_of(row: Row) -> str | None:
    """Return the text of a query: the statement alone, where a batch and the statement's place in it are told."""
    text = _first(row, *_TEXTS)
    if text is None:
        return None
    start, end = row.get("statement_start_offset"), row.get("statement_end_offset")
    if start and end and row.get("text") == text and start.isdigit() and len(start) < 10:
        # in bytes of UTF-16; -1 is the end of the batch
        last = int(end) // 2 + 1 if end.isdigit() and len(end) < 10 else len(text)
        text = text[int(start) // 2 : last] or text  # or it was cut already
    return without_parameters(text)


def without_parameters(text: str) -> str:
    """Return a text without the list of parameters that stands before prepared statements.

    >>> without_parameters("(@1 int,@2 decimal(9,2))select a from t where b=@1")
    'select a from t where b=@1'
    """
    if not text.startswith("(@"):
        return text
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return text[place + 1 :]
    return text


def _difference(more: str | None, less: str | None, times: str | None) -> str | None:
    """Return pages that were looked up and not read; with read-ahead more may be read than looked up."""
    values = [number(text) if text else None for text in (more, less, times)]
    if any(value is None for value in values):
        return None
    first, second, count = (value if value is not None else Decimal(0) for value in values)
    return format(max(first - second, Decimal(0)) * count, "f")


def _first(row: Row, *names: str) -> str | None:
    return next((row[name] for name in names if row.get(name) is not None), None)
