"""Events of SQL Trace as texts: Profiler's "Trace XML File", trace tables and ``fn_trace_gettable`` as CSV.

Both name the columns of the trace as :mod:`~tiersim.traces.readers.sqlserver.events` does; an event is of the same
class, and says the same, whichever of them it comes from.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, Source, lines_of
from tiersim.traces.readers.sqlserver.event_times import EventTimes
from tiersim.traces.readers.sqlserver.events import (
    CLASS_NAMES,
    CLASSES,
    COLUMN_NAMES,
    PAGE_BYTES,
    TRACE_NUMBERS,
    Wait,
    What,
)
from tiersim.traces.readers.sqlserver.executions import ExecutionEvent, finish_executions
from tiersim.traces.readers.sqlserver.text_events import TextEvents
from tiersim.traces.readers.sqlserver.text_rows import NULLS, raw_tables_of
from tiersim.traces.readers.sqlserver.xml_events import XmlEvents
from tiersim.traces.schema import NOT_KNOWN
from tiersim.units import NS_PER_MS


def numbers_of(columns: Mapping[str, tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return the columns of the numbers of an Event in their order, duration first, each with its unit; "" where there
    is none.
    """
    words = {word: (name, unit) for name, (word, unit) in columns.items()}
    fields = ExecutionEvent._fields
    return tuple(words.get(word, ("", 1)) for word in fields[fields.index("duration_ns") : fields.index("wait")])


_BY_NAME = {name.lower(): CLASSES.get(number, What.OTHER) for number, name in CLASS_NAMES.items()}
_BY_NUMBER = {str(number): what for number, what in CLASSES.items()}
#: Columns that are read, by their names in lower case.
_NEEDED = {
    name.lower(): name
    for name in (*TRACE_NUMBERS, "TextData", "StartTime", "EndTime", "DatabaseName", "LoginName", "IsSystem")
}
_BY_COLUMN_NUMBER = {str(number): name for number, name in COLUMN_NAMES.items()}
#: Columns of the numbers of an event in their order from its duration on, "" for what SQL Trace has not, and what one
#: unit is.
_NUMBERS = numbers_of(TRACE_NUMBERS)
#: The same before SQL Server 2005, which reported durations in ms (Microsoft, View and analyze traces with Profiler).
_FIRST_IN_US = 9
_NUMBERS_IN_MS = numbers_of(TRACE_NUMBERS | {"Duration": ("duration_ns", NS_PER_MS)})
#: Larger numbers are what a counter of 64 bits shows that was never set.
_MOST = 1 << 62
_LONGEST_NUMBER = 20
#: With more damage than events after so many, a file is something else.
_ENOUGH = 1000
_DAMAGED = "damaged events"
#: What marks events of the server's own sessions, and what they are counted as.
SYSTEM, OF_SYSTEM = ("1", "true"), "events of system sessions"
_ROOT = re.compile(r"<(?:\w+:)?TraceData\b")
_PROVIDER = re.compile(r'MajorVersion="(\d{1,3})"')


def _looks_like_xml(start: str) -> bool:
    text = start.replace("\0", "").lstrip("\ufeff \r\n\t")
    return text.startswith("<") and _ROOT.search(text) is not None


def _looks_like_table(start: str) -> bool:
    return next(raw_tables_of(iter(start.split("\n")), _is_trace), None) is not None


def _is_trace(columns: tuple[str, ...]) -> bool:
    return "eventclass" in columns and "spid" in columns


def _read_xml(path: Path, opened: Opened, recorded: Recorded) -> None:
    """Add what the events of Profiler's XML say; raises TraceError when it holds none, or most are damaged."""
    found = XmlEvents(opened, "Event")
    rows, seen = _Rows(path, recorded), False
    for event in found:
        columns = {
            column.get("name") or _BY_COLUMN_NUMBER.get(column.get("id", ""), ""): column.text or ""
            for column in event
            if column.tag == "Column"  # the heading lists the classes that are traced as events with other children
        }
        if columns:
            if not seen:  # its heading comes first
                version = _version(found)
                rows.numbers = _NUMBERS if version is None or version >= _FIRST_IN_US else _NUMBERS_IN_MS
            seen = True
            rows.add(event.get("id"), event.get("name"), columns)
    rows.damaged += found.damaged
    version = _version(found)
    if version is not None:
        recorded.host["version"] = version
    if rows.numbers == _NUMBERS_IN_MS:
        recorded.inferred.append(f"{path.name}: durations are in ms, as before SQL Server 2005")
    rows.finish("it is cut off within an event" if found.cut else opened.damage)


def _version(found: XmlEvents) -> int | None:
    said = _PROVIDER.search(found.outside)
    return int(said[1]) if said else None


def _read_table(path: Path, opened: Opened, recorded: Recorded) -> None:
    """Add what the rows of a trace table say; raises TraceError when most are damaged."""
    rows = _Rows(path, recorded)
    for table in raw_tables_of(lines_of(opened), _is_trace):
        kind = table.columns.index("eventclass")
        places = [(_NEEDED[name], place) for place, name in enumerate(table.columns) if name in _NEEDED]
        for _, values in table.rows:
            if values is None:
                rows.damaged += 1
            else:
                columns = {name: value for name, place in places if (value := values[place].strip()) not in NULLS}
                rows.add(values[kind].strip(), values[kind].strip(), columns)
    rows.finish(opened.damage)


#: What the registry of sources holds of them.
TRACE_XML = Source(_read_xml, _looks_like_xml, finish_executions)
TRACE_TABLE = Source(_read_table, _looks_like_table, finish_executions)


class _Rows:
    """A file while it is read."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self.damaged = 0
        self.numbers = _NUMBERS
        self._path = path
        self._recorded = recorded
        self._texts = recorded.of(TextEvents)
        self._times = EventTimes()
        self._events = 0
        recorded.host["engine"] = "sqlserver"
        recorded.host["page_bytes"] = PAGE_BYTES

    def add(self, number: str | None, name: str | None, columns: Mapping[str, str]) -> None:
        """Take in one event, by the number or the name of its class. Raises TraceError when most are damaged."""
        what = _BY_NUMBER.get(number or "") or _BY_NAME.get((name or "").lower(), What.OTHER)
        is_system = columns.get("IsSystem") in SYSTEM
        if what == What.OTHER or is_system:
            self._events += 1
            self._recorded.lose(OF_SYSTEM, is_system)
            return
        try:
            self._texts.take(_event(what, columns, self._times, self.numbers))
        except ValueError:
            self.damaged += 1
            if self.damaged > _ENOUGH and self.damaged > self._events:
                raise TraceError(f"{self._path}: most of its events are damaged; {_AGAIN}") from None
            return
        self._events += 1

    def finish(self, damage: str) -> None:
        """Say what was lost; raises TraceError when most was."""
        self._texts.flush()
        if self.damaged > self._events:
            raise TraceError(
                f"{self._path}: {self.damaged:,} of {self.damaged + self._events:,} events cannot be read; {_AGAIN}"
            )
        if self.damaged:
            self._recorded.lose(_DAMAGED, self.damaged)
            self._recorded.warnings.append(f"{self._path.name}: {self.damaged:,} damaged events are left out")
        if damage:
            self._recorded.warnings.append(f"{self._path.name}: {damage}; what stands before is read, the rest is lost")
        self._recorded.inferred += self._times.said(self._path.name)


_AGAIN = "export it again, with quotes around texts where it is a CSV"


def _event(
    what: What, columns: Mapping[str, str], times: EventTimes, named: tuple[tuple[str, int], ...]
) -> ExecutionEvent:
    """Return an event of SQL Trace, whose numbers are columns *named* so, each with its unit; raises ValueError when a
    number or time of it is none.
    """
    numbers = [number_of(columns.get(name), unit) for name, unit in named]
    return ExecutionEvent._make(
        (
            what,
            columns.get("TextData"),
            _time(columns.get("StartTime"), times),
            _time(columns.get("EndTime"), times),
            *numbers,
            Wait.OTHER,
            columns.get("DatabaseName"),
            columns.get("LoginName"),
        )
    )


def number_of(text: str | None, unit: int) -> int:
    """Return a whole number times *unit*; NOT_KNOWN for none, or one that cannot be meant. Raises ValueError for what
    is no number.
    """
    if not text:
        return NOT_KNOWN
    value = int(text) * unit if len(text) <= _LONGEST_NUMBER else _MOST
    return value if 0 <= value < _MOST else NOT_KNOWN


def _time(text: str | None, times: EventTimes) -> int:
    return times.unix_ns(text.strip()) if text else NOT_KNOWN
