"""What a server counted between two looks at its views."""

import csv
from collections.abc import Mapping
from pathlib import Path

#: Views of one row, and one of several with the columns that tell these apart, and what of it is told.
_ONE_ROW = ("pg_stat_wal", "pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_database")
_BY_PROCESS, _KEYS = "pg_stat_io", ("backend_type", "object", "context")
_OF_PROCESSES = (
    "reads",
    "read_time",
    "writes",
    "write_time",
    "writebacks",
    "writeback_time",
    "fsyncs",
    "fsync_time",
    "extends",
    "evictions",
)


def counted(folder: Path) -> dict[str, float]:
    """Return by ``VIEW.COLUMN``, of pg_stat_io ``PROCESS/OBJECT/CONTEXT.COLUMN``, what grew from the first look to the
    second.
    """
    found: dict[str, float] = {}
    for view in (*_ONE_ROW, _BY_PROCESS):
        before, after = (_rows(folder / f"{view}.{when}.csv", view) for when in ("before", "after"))
        for row, values in after.items():
            for column, value in values.items():
                if grown := value - before.get(row, {}).get(column, 0.0):
                    found[f"{row}.{column}"] = round(grown, 3)
    return found


def _rows(path: Path, view: str) -> dict[str, dict[str, float]]:
    with path.open(newline="") as file:
        return {
            "/".join(row[key] for key in _KEYS) if view == _BY_PROCESS else view: _numbers(row, view)
            for row in csv.DictReader(file)
        }


def _numbers(row: Mapping[str, str], view: str) -> dict[str, float]:
    found = {}
    for column, text in row.items():
        if view == _BY_PROCESS and column not in _OF_PROCESSES:
            continue
        try:
            found[column] = float(text)
        except ValueError:  # names, times, and what does not apply
            continue
    return found
