"""Reader of ``.trc`` files, as SQL Trace and Profiler write them: SQL Server 2005 and later, rollover files of one
trace as one.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.coded_texts import CodedTexts, text_at
from tiersim.traces.readers.sqlserver.events import CLASSES, COLUMN_NAMES, PAGE_BYTES, TRACE_NUMBERS, What
from tiersim.traces.readers.sqlserver.execution_kernels import (
    END_NS,
    NUMBER_COLUMNS,
    START_NS,
    WHAT,
)
from tiersim.traces.readers.sqlserver.executions import Executions, new_events, plausible
from tiersim.traces.readers.sqlserver.trc_kernels import (
    DAMAGED_PLACES,
    EVENTS,
    LOST_BYTES,
    MISSING,
    MOMENT,
    NUMBER,
    PLACE,
    SCAN_COUNTS,
    WantedColumns,
    scan,
)
from tiersim.traces.readers.sqlserver.window import Window
from tiersim.traces.schema import NOT_KNOWN

#: The header: a mark, its length (u16 at 2), the version of the format (u16 at 4), the provider's name, its version and
#: build, the server's name; the last two bytes of that length belong to the first entry.
VERSION = 9
_VERSION_AT, _MAJOR_AT, _SERVER_AT, _SERVER_BYTES = 4, 0x186, 0x18E, 256
_HEADER_BYTES = 0x290
_DEFINITION = b"\xfa\xfb\xed\xfb\0"
_PROVIDER = "Microsoft SQL Server"

#: Rows that the scan fills at a time.
_ROWS = 1 << 14
#: Columns that are read, besides numbers; where a row of the scan has each.
_TEXT, _DATABASE, _LOGIN, _START, _END, _SYSTEM = (
    "TextData",
    "DatabaseName",
    "LoginName",
    "StartTime",
    "EndTime",
    "IsSystem",
)
_KINDS = {_TEXT: PLACE, _DATABASE: PLACE, _LOGIN: PLACE, _START: MOMENT, _END: MOMENT, _SYSTEM: NUMBER} | dict.fromkeys(
    TRACE_NUMBERS, NUMBER
)
_SLOTS = {name: place for place, name in enumerate(_KINDS, start=1)}
#: Columns that no real file was at hand for.
_UNCHECKED = ("Reads", "Writes", "CPU", "EndTime", "TransactionID", "LoginName", "IsSystem", "Error")

_WHATS = np.full(1 << 16, What.OTHER, np.int64)
_WHATS[list(CLASSES)] = list(CLASSES.values())


class Header(NamedTuple):
    """What the header of a file says."""

    bytes: int
    version: int  # of the format
    product: str  # 14.0.3391
    server: str


def looks_like_trc(text: str) -> bool:
    """Tell whether a file that begins so, decoded by its mark of byte order, is a trace file of any version."""
    return text[2:].startswith(_PROVIDER)


def read_trc(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add the executions of a trace file; raises TraceError when its header is that of another format."""
    window = Window(source)
    header = _header(path, window.data)
    recorded.of(_Traces).take(path.name, header)
    file = _File(path.name, recorded)
    at = header.bytes - 2
    if window.data[at : at + len(_DEFINITION)].tobytes() == _DEFINITION:
        at += len(_DEFINITION)
    window.read_on(at, file.take)
    file.finish(source.damage)


def columns_of(names: dict[str, int]) -> WantedColumns:
    """Return, for the scan, the places of columns in its rows, from 1 in the order of *names*, and how each is read."""
    slots, kinds = np.full(256, -1, np.int64), np.zeros(256, np.int64)
    numbers = {name: number for number, name in COLUMN_NAMES.items()}
    for slot, (name, kind) in enumerate(names.items(), start=1):
        slots[numbers[name]], kinds[numbers[name]] = slot, kind
    return WantedColumns(slots, kinds)


def _header(path: Path, data: NDArray[np.uint8]) -> Header:
    start = data[:_HEADER_BYTES].tobytes()
    if len(start) < _HEADER_BYTES:
        raise TraceError(f"{path}: ends within the header of a trace file, after {len(start)} bytes; copy it again")
    version = int.from_bytes(start[_VERSION_AT : _VERSION_AT + 2], "little")
    if version != VERSION:
        raise TraceError(
            f"{path}: is a trace file of version {version}, and only version {VERSION} (SQL Server 2005 and later) is"
            " known; open it in Profiler and save it as XML"
        )
    length = int.from_bytes(start[2:4], "little")
    major, minor, build = start[_MAJOR_AT], start[_MAJOR_AT + 1], int.from_bytes(start[0x188:0x18A], "little")
    server = start[_SERVER_AT : _SERVER_AT + _SERVER_BYTES].decode("utf-16-le", errors="replace").split("\0")[0]
    return Header(max(length, 2), version, f"{major}.{minor}.{build}", server)


class _Traces:
    """What the files of a trace have in common."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._first: tuple[str, Header] | None = None

    def take(self, name: str, header: Header) -> None:
        """Take the header of the next file."""
        if self._first is None:
            self._first = name, header
            major = int(header.product.split(".")[0])
            self._recorded.host |= {"engine": "sqlserver", "version": major, "version_text": header.product}
            self._recorded.host |= {"page_bytes": PAGE_BYTES, "server": header.server}
            self._recorded.inferred.append(
                "reads of a trace file are logical; SQL Trace does not tell how many of them were physical"
            )
        elif header[2:] != self._first[1][2:]:
            self._recorded.warnings.append(
                f"{name}: was written by {header.server} ({header.product}), and {self._first[0]} by"
                f" {self._first[1].server} ({self._first[1].product}); are these files of one trace?"
            )


class _File:
    """Takes the events of one file."""

    def __init__(self, name: str, recorded: Recorded) -> None:
        self._name = name
        self._recorded = recorded
        self._executions = recorded.of(Executions)
        self._texts = CodedTexts(self._executions)
        self._columns = columns_of(_KINDS)
        self._counts = np.zeros(SCAN_COUNTS, np.int64)
        self._values = np.empty((_ROWS, 1 + len(_KINDS)), np.int64)
        self._unchecked: set[str] = set()
        self._timed = False

    def take(self, window: Window, at: int) -> int:
        """Read on from *at* as far as the window shows whole events, and return how far that is."""
        while True:
            at, rows = scan(window.data, at, window.final, self._columns, self._values, self._counts)
            self._add(self._values[:rows], window.data)
            if rows < _ROWS:
                return int(at)

    def finish(self, damage: str) -> None:
        """Say what was lost and what was concluded."""
        counts, recorded = self._counts.tolist(), self._recorded
        if damage:
            recorded.warnings.append(f"{self._name}: {damage}; what is before that was read")
        if counts[LOST_BYTES]:
            recorded.lose("bytes of trace files that are no events", counts[LOST_BYTES])
            recorded.warnings.append(
                f"{self._name}: {counts[LOST_BYTES]:,} bytes at {counts[DAMAGED_PLACES]:,} places are no whole events"
                f" and were left out; {counts[EVENTS]:,} events were read"
            )
        if self._timed:
            recorded.inferred.append(
                f"{self._name}: its times are the server's local time without an offset, to 3 ms or worse; they are"
                " assumed to be UTC"
            )
        if self._unchecked:
            named = ", ".join(name for name in _UNCHECKED if name in self._unchecked)
            recorded.inferred.append(f"{named} of trace files: read as documented, never checked against a real file")

    def _add(self, values: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        what = _WHATS[values[:, 0]]
        kept = what != What.OTHER
        system = kept & (values[:, _SLOTS[_SYSTEM]] == 1)
        self._recorded.lose("events of system sessions", int(np.count_nonzero(system)))
        values, what = values[kept & ~system], what[kept & ~system]
        if not len(values):
            return
        events = new_events(len(values))
        events[:, WHAT] = what
        for name, (column, unit) in TRACE_NUMBERS.items():
            events[:, NUMBER_COLUMNS[column]] = plausible(values[:, _SLOTS[name]], unit)
        for name, place in ((_START, START_NS), (_END, END_NS)):
            events[:, place] = np.maximum(values[:, _SLOTS[name]], NOT_KNOWN)
        self._timed = self._timed or bool((events[:, START_NS] >= 0).any())
        for name in _UNCHECKED:
            if name not in self._unchecked and (values[:, _SLOTS[name]] != MISSING).any():
                self._unchecked.add(name)

        def names(row: int) -> tuple[str | None, str | None]:
            database, user = int(values[row, _SLOTS[_DATABASE]]), int(values[row, _SLOTS[_LOGIN]])
            return (text_at(data, database) if database >= 0 else None, text_at(data, user) if user >= 0 else None)

        self._texts.fill(events, data, values[:, _SLOTS[_TEXT]], names)
        self._executions.add(events)
