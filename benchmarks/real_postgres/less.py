"""Recordings with less in them: what a cell's counters would be if somebody had not switched on, or not copied, a part
of them.
"""

import csv
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

#: Times that only ``track_io_timing`` and ``track_wal_io_timing`` count; executions and planning are always timed, or
#: have a switch of their own.
_IO_TIMES = (
    "read_time",
    "write_time",
    "writeback_time",
    "extend_time",
    "fsync_time",
    "blk_read_time",
    "blk_write_time",
)
_SWITCHES = ("track_io_timing", "track_wal_io_timing")


def _without_timing(counters: Path) -> None:
    for path in counters.glob("*.csv"):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            for name in row:
                if name.endswith(_IO_TIMES):
                    row[name] = "0"
            if row.get("name") in _SWITCHES:
                row["setting"] = "off"
        if rows:
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)


def _without_host(counters: Path) -> None:
    _remove(counters.glob("diskstats.*"))
    _remove(counters.glob("processes.*"))


def _without_pages(counters: Path) -> None:
    _remove(counters.glob("pg_buffercache*"))


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink()


#: What may be missing, and how it is taken out of a folder of counters.
LESS: Mapping[str, Callable[[Path], None]] = {
    "timing": _without_timing,
    "host": _without_host,
    "pages": _without_pages,
}


def lessened(folder: Path, target: Path, missing: Iterable[str]) -> Path:
    """Copy the *folder* of a cell to *target* without what is *missing* of its counters; returns the copy."""
    shutil.copytree(folder, target)
    for name in missing:
        LESS[name](target / "counters")
    return target
