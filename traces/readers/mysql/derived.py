"""Columns that the tables of :mod:`tiersim.traces.readers.mysql.views` need and MySQL's have not."""

import re
from collections.abc import Mapping

from tiersim.traces.counters import OTHERS
from tiersim.traces.readers.views import Row

#: What InnoDB calls the tree of a table: its rows lie in it, so that it is the table.
_CLUSTERED = ("PRIMARY", "GEN_CLUST_INDEX")
#: The end of an instrument of performance_schema → the kind of its files.
_KINDS = {
    "innodb_data_file": "data",
    "innodb_log_file": "log",
    "innodb_dblwr_file": "doublewrite",
    "innodb_temp_file": "temporary",
    "io_cache": "temporary",
    "binlog": "binary log",
    "binlog_cache": "temporary",
    "relaylog": "relay log",
}
#: A character that names of files do not have, by its number (MySQL Reference Manual 8.4, 11.2.4).
_ENCODED = re.compile(r"@(?!00[01]|d[89a-f])([0-9a-f]{4})")
#: What stands behind a table's name in that of a partition, up to the ending of its file.
_PARTITION = re.compile(r"#p#.*?(?=\.ibd$|$)", re.IGNORECASE | re.DOTALL)


def status(row: Row) -> Row:
    """Tell the log's place and the age of the checkpoint, whatever the version calls them."""
    # redo that MySQL writes again and again with each flush; MariaDB counts what is new under the same name
    if any(name.startswith(("aria_", "feature_")) for name in row):
        row = {name: value for name, value in row.items() if name != "innodb_os_log_written"}
    age = row.get("innodb_checkpoint_age")
    for end, checkpoint in (
        ("innodb_redo_log_current_lsn", "innodb_redo_log_checkpoint_lsn"),
        ("innodb_lsn_current", "innodb_lsn_last_checkpoint"),
        ("log_sequence_number", "last_checkpoint_at"),
    ):
        age = age or _less(row, end, checkpoint)
    return row | ({} if age is None else {"checkpoint_age": age})


def variables(row: Row) -> Row:
    """Tell the capacity of the redo log, where variables alone tell it: from MySQL 8.0.30 on counters do."""
    size, files = row.get("innodb_log_file_size"), row.get("innodb_log_files_in_group") or "1"
    if row.get("innodb_redo_log_capacity") is not None or not _is_count(size) or not _is_count(files):
        return row
    return row | {"redo_capacity": str(int(size or 0) * int(files))}


def _less(row: Row, one: str, other: str) -> str | None:
    high, low = row.get(one), row.get(other)
    return str(int(high or 0) - int(low or 0)) if _is_count(high) and _is_count(low) else None


def _is_count(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdigit() and len(text) < 20


def metrics(row: Mapping[str, str | None]) -> bool:
    """Tell whether a row of INNODB_METRICS counts: a counter that is off stands at 0, as one does that is not known."""
    state = row.get("status") or row.get("enabled")
    return (state or "").lower() in ("enabled", "1") if state is not None else row.get("count") not in (None, "0")


def query(row: Row) -> Row:
    """Name a digest by its schema: the row without one is of all that there was no place for. Of processor time, which
    is 0 while the server does not count it, say nothing.
    """
    found = row | {"digest": row.get("digest") or OTHERS, "schema_name": row.get("schema_name")}
    return {name: value for name, value in found.items() if name != "sum_cpu_time" or value not in (None, "0")}


def file(row: Row) -> Row:
    """Name a file by its folder and its own name: in InnoDB, schema and table."""
    path = row.get("file_name") or row.get("file") or row.get("filename") or ""
    event = (row.get("event_name") or "").rpartition("/")[2]
    return row | {
        "path": path or None,
        "entity": _named("/".join(path.replace("\\", "/").split("/")[-2:])) or None,
        "kind": _KINDS.get(event, event or None),
    }


def _named(file: str) -> str:
    """Return the name of a file with those of schema and table as statements have them, all partitions alike."""
    return _ENCODED.sub(lambda found: chr(int(found[1], 16)), _PARTITION.sub("", file))


def tablespace(row: Row) -> Row:
    """Name the file of a tablespace as performance_schema does; of an undo or temporary one nothing is said."""
    name = row.get("name") or ""
    return row | {"entity": f"{_named(name)}.ibd" if name.count("/") == 1 else None}


def index_use(row: Row) -> Row:
    """Split rows that were fetched by whether an index led to them."""
    named = index(row)
    fetched = row.get("count_fetch")
    by_index = row.get("index_name") is not None
    return named | {"by_index": fetched if by_index else None, "scanned": None if by_index else fetched}


def index(row: Row) -> Row:
    """Name an index ``schema.table.index``; the clustered one is its table, and so is a partition."""
    schema = row.get("object_schema") or row.get("table_schema") or row.get("database_name")
    table = row.get("object_name") or row.get("table_name") or row.get("name")
    if schema is None and table is not None and table.count("/") == 1:  # innodb_sys_tablestats
        schema, table = map(_named, table.split("/"))
    table = _PARTITION.sub("", table) if table else table
    name = row.get("index_name")
    full = f"{schema}.{table}" if schema and table else table
    secondary = name is not None and name not in _CLUSTERED
    return row | {
        "entity": None if not full or (secondary and not schema) else f"{full}.{name}" if secondary else full,
        "kind": "index" if secondary else "table",
        "table": full if secondary else None,
    }


def index_size(row: Row) -> Row:
    """Tell the pages of an index from one row for each statistic."""
    words = {"size": "size_pages", "n_leaf_pages": "leaf_pages"}
    named, word = index(row), words.get(row.get("stat_name") or "")
    return named | {"size_pages": None, "leaf_pages": None} | ({word: row.get("stat_value")} if word else {})


def session(row: Row) -> Row:
    """Say what a session does; the server's own threads are kinds by themselves, in place of a state."""
    command, state = row.get("command") or "", row.get("state") or ""
    words = {"Query": "active", "Execute": "active", "Sleep": "idle"}
    return row | {"state": words.get(command, command), "wait": state if command != "Sleep" else ""}
