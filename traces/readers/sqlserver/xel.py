"""Reader of ``.xel`` files, as the file target of Extended Events writes them: names, types and offsets are the files' own.

Completed batches, calls and statements become executions; waits and page reads are counted to the execution of their session that
ends next; reads and writes of files become requests.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.coded_texts import CodedTexts, text_at
from tiersim.traces.readers.sqlserver.events import (
    PAGE_BYTES,
    XE_EVENTS,
    XE_NUMBERS,
    XE_TEXTS,
    What,
    wait_class,
)
from tiersim.traces.readers.sqlserver.execution_kernels import (
    DURATION_NS,
    END_NS,
    NUMBER_COLUMNS,
    WAIT_CLASS,
    WHAT,
)
from tiersim.traces.readers.sqlserver.executions import Executions, new_events, plausible
from tiersim.traces.readers.sqlserver.file_io import FileIo
from tiersim.traces.readers.sqlserver.window import Window
from tiersim.traces.readers.sqlserver.xel_dictionary import Action, Dictionary, Field
from tiersim.traces.readers.sqlserver.xel_kernels import (
    BLOCK_HEADER_BYTES,
    DAMAGED_PLACES,
    DICTIONARY,
    FIRST_FIELD,
    KNOWN,
    LOST_BYTES,
    PLACE,
    RECORDS,
    SCAN_COUNTS,
    TICKS,
    UNKNOWN_EVENTS,
    block_of,
    find_block,
    is_block,
    scan,
)
from tiersim.traces.schema import NOT_KNOWN
from tiersim.units import NS_PER_MS, NS_PER_S

MAGIC = b"\x5a\x37\xab\xef\x0a\0\0\x02"
_HEADER_BYTES = 0x200
#: 1970 as 100 ns since 1601.
_UNIX_EPOCH = 116_444_736_000_000_000
_NS_PER_START = 100
#: A file has one dictionary, or a few as packages are loaded; more are damage.
_MOST_DICTIONARIES = 256
#: Rows that the scan fills at a time.
_ROWS = 1 << 14

#: Fields and actions that are read, by name; where several have the same place, an event has one of them.
_OTHER = (
    "text",
    "database",
    "user",
    "wait_type",
    "opcode",
    "is_system",
    "database_id",
    "file_id",
    "offset",
    "size",
    "path",
)
_PLACES = {name: place for place, name in enumerate((*XE_NUMBERS, *_OTHER))}
_SAME = {
    **dict.fromkeys(XE_TEXTS, "text"),
    "database_name": "database",
    "server_principal_name": "user",
    "username": "user",
}
_WITH_TEXTS = ("text", "database", "user", "path")
#: A wait of ``wait_info`` that is over; others have begun only.
_WAIT_IS_OVER = "End"
#: Events that no real file was at hand for.
_CHECKED = ("rpc_completed", "sql_batch_completed", "wait_completed", "login", "logout", "sql_batch_starting")


def looks_like_xel(text: str) -> bool:
    """Tell whether a file that begins so, decoded as UTF-8 with marks for what is none, is of Extended Events."""
    return text.startswith(MAGIC.decode(errors="replace"))


def read_xel(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what a file of Extended Events tells; raises TraceError when it has no dictionary."""
    window = Window(source)
    file = _File(path, recorded)
    at = min(_HEADER_BYTES, len(window.data))
    while True:
        at = file.take(window, at)
        if window.final:
            break
        window.advance(at)
        at = 0
    file.finish(source.damage)


class _File:
    """Takes the blocks of one file."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._executions = recorded.of(Executions)
        self._texts = CodedTexts(self._executions)
        self._io = recorded.of(FileIo)
        self._dictionary = Dictionary()
        self._dictionaries = 0
        self._layout: _Layout | None = None
        self._counts = np.zeros(SCAN_COUNTS, np.int64)
        self._values = np.empty((_ROWS, FIRST_FIELD + len(_PLACES)), np.int64)
        self._rows = 0
        self._unread: set[str] = set()
        recorded.host |= {"engine": "sqlserver", "page_bytes": PAGE_BYTES}

    def take(self, window: Window, at: int) -> int:
        """Read the blocks from *at* on as far as the window shows whole ones, and return how far that is."""
        data, end = window.data, len(window.data)
        while at < end:
            if at + BLOCK_HEADER_BYTES > end and not window.final:
                break
            if not is_block(data, at, end):
                following = int(find_block(data, at + 1, end))
                if following < 0:
                    following = end if window.final else max(end - BLOCK_HEADER_BYTES + 1, at + 1)
                self._lose(following - at)
                at = following
                continue
            kind, size, header, used = map(int, block_of(data, at))
            if at + size + BLOCK_HEADER_BYTES > end and not window.final:
                break
            stop = min(at + header + used, end)
            if kind == DICTIONARY and self._dictionaries == _MOST_DICTIONARIES:
                self._lose(used)
            elif kind == DICTIONARY:
                self._dictionaries += 1
                self._add(data)
                if not self._dictionary.add(data[at + header : stop].tobytes()):
                    self._warn("a dictionary of it is damaged; events that it names may be missing")
                self._layout = _Layout(self._dictionary)
            elif self._layout is None:
                self._lose(used)
            else:
                self._scan(data, at + header, stop, self._layout)
                if at + header + used > end:
                    self._lose(0)
            at = self._following(data, at + header + used, at + size)
        self._add(data)
        return at

    def _following(self, data: NDArray[np.uint8], used_end: int, block_end: int) -> int:
        """Return where the next block begins: where the one before ends, unless its length is damaged."""
        end = len(data)
        if block_end == end or is_block(data, block_end, end):
            return block_end
        found = int(find_block(data, used_end, min(block_end, end)))
        if found >= 0:
            self._lose(0)
        return found if found >= 0 else min(block_end, end)

    def finish(self, damage: str) -> None:
        """Say what was lost and what was concluded; raises TraceError when nothing could be told from the file."""
        counts, recorded = self._counts.tolist(), self._recorded
        if self._layout is None:
            raise TraceError(
                f"{self._path}: has no dictionary of its events; give the file that the server wrote, from its start"
            )
        if damage:
            self._warn(f"{damage}; what is before that was read")
        if counts[DAMAGED_PLACES]:
            recorded.lose("bytes of Extended Events that are no events", counts[LOST_BYTES])
            self._warn(
                f"{counts[LOST_BYTES]:,} bytes at {counts[DAMAGED_PLACES]:,} places are no whole events and were left out; "
                f"{counts[RECORDS]:,} events were read"
            )
        recorded.lose("events that are not imported", counts[UNKNOWN_EVENTS])
        if self._layout.unchecked:
            named = ", ".join(sorted(self._layout.unchecked))
            recorded.inferred.append(
                f"{named}: read as the file's dictionary says, never checked against a real server"
            )

    def _warn(self, what: str) -> None:
        self._recorded.warnings.append(f"{self._path.name}: {what}")

    def _lose(self, count: int) -> None:
        self._counts[LOST_BYTES] += count
        self._counts[DAMAGED_PLACES] += 1

    def _scan(self, data: NDArray[np.uint8], at: int, stop: int, layout: "_Layout") -> None:
        while at < stop:
            at, self._rows = scan(
                data, at, stop, layout.keys, layout.fields, layout.action_keys, layout.action_fields,
                self._values, self._rows, self._counts,
            )  # fmt: skip
            if self._rows == _ROWS:
                self._add(data)

    def _add(self, data: NDArray[np.uint8]) -> None:
        """Hand over the rows that were read."""
        values, self._rows = self._values[: self._rows], 0
        layout = self._layout
        if layout is None or not len(values):
            return
        what = layout.whats[values[:, KNOWN]]
        end_ns = layout.unix_ns(values[:, TICKS])

        def column(name: str) -> NDArray[np.int64]:
            return values[:, FIRST_FIELD + _PLACES[name]]

        of_files = np.isin(what, (What.FILE_READ, What.FILE_WRITE))
        if of_files.any():
            names = ("duration", "session_id", "database_id", "file_id", "offset", "size")
            columns = {name: column(name)[of_files] for name in names}
            paths = column("path")[of_files]
            self._io.add(
                what[of_files] == What.FILE_READ, end_ns[of_files], columns, layout.duration_said,
                lambda row: text_at(data, int(paths[row])) if paths[row] >= 0 else None,
            )  # fmt: skip
        system = (column("is_system") == 1) & ~of_files
        self._recorded.lose("events of system sessions", int(np.count_nonzero(system)))
        begun = (what == What.WAIT) & ~layout.is_over(column("opcode"))
        kept = ~(of_files | system | begun)
        values, what, end_ns = values[kept], what[kept], end_ns[kept]
        events = new_events(len(values))
        events[:, WHAT], events[:, END_NS] = what, end_ns
        for name, (place, unit) in XE_NUMBERS.items():
            events[:, NUMBER_COLUMNS[place]] = plausible(column(name), unit)
        waits = what == What.WAIT
        events[waits, DURATION_NS] = plausible(column("duration")[waits], NS_PER_MS)
        events[waits, WAIT_CLASS] = layout.wait_classes(column("wait_type")[waits])

        def names_of(row: int) -> tuple[str | None, str | None]:
            database, user = int(column("database")[row]), int(column("user")[row])
            return (text_at(data, database) if database >= 0 else None, text_at(data, user) if user >= 0 else None)

        self._texts.fill(events, data, column("text"), names_of)
        self._executions.add(events)


class _Layout:
    """Where the scan finds what is wanted, from a dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        named = {event.name: (key, event) for key, event in dictionary.events.items()}
        wanted = [named[name] for name in XE_EVENTS if name in named]
        self.whats = np.array([XE_EVENTS[event.name] for _, event in wanted], np.int64)
        self.keys = np.array([package << 16 | number for (package, number), _ in wanted], np.int64)
        self.fields = np.zeros((len(wanted), len(_PLACES), 2), np.int64)
        self.unchecked = {event.name for _, event in wanted if event.name not in _CHECKED}
        self.duration_said = ""
        self._start, self._ticks_per_s = dictionary.start, max(dictionary.ticks_per_s, 1)
        self._waits: dict[int, int] = {}
        self._over: int | None = None
        for row, (_, event) in enumerate(wanted):
            for name, field in event.fields.items():
                place = _place(name)
                width = _width(dictionary, name, field)
                if place is not None and width:
                    self.fields[row, place] = field.offset, width
                if name == "duration" and XE_EVENTS[event.name] in (What.FILE_READ, What.FILE_WRITE):
                    self.duration_said = field.description
                if name == "wait_type":
                    self._waits = {
                        value: wait_class(word) for value, word in dictionary.maps.get(field.type, {}).items()
                    }
                if name == "opcode":
                    words = dictionary.maps.get(field.type, {})
                    self._over = next((value for value, word in words.items() if word == _WAIT_IS_OVER), None)
        collected = {action.name: (key, action) for key, action in dictionary.actions.items()}
        actions = [
            (key, place, width)
            for key, action in collected.values()
            if (place := _place(action.name)) is not None and (width := _width(dictionary, action.name, action))
        ]
        self.action_keys = np.array([package << 16 | number for (package, number), _, _ in actions], np.int64)
        self.action_fields = np.array([(place, width) for _, place, width in actions], np.int64).reshape(-1, 2)

    def unix_ns(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ticks as ns since 1970; NOT_KNOWN where that cannot be."""
        start_ns = (self._start - _UNIX_EPOCH) * _NS_PER_START
        if not 0 <= start_ns < 1 << 62 or self._ticks_per_s > NS_PER_S * 8:
            return np.full(len(ticks), NOT_KNOWN, np.int64)
        seconds, rest = np.divmod(ticks, self._ticks_per_s)
        known = (ticks >= 0) & (seconds < 1 << 31)
        since_ns = np.where(known, seconds, 0) * NS_PER_S + rest * NS_PER_S // self._ticks_per_s
        return np.where(known, start_ns + since_ns, NOT_KNOWN)

    def is_over(self, opcodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell waits that are over from those that begin; all are where nothing says."""
        if self._over is None:
            return np.ones(len(opcodes), np.bool_)
        over: NDArray[np.bool_] = (opcodes < 0) | (opcodes == self._over)
        return over

    def wait_classes(self, types: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the classes of wait types."""
        found, codes = np.unique(types, return_inverse=True)
        return np.array([self._waits.get(value, 0) for value in found.tolist()], np.int64)[codes]


def _place(name: str) -> int | None:
    return _PLACES.get(_SAME.get(name, name))


def _width(dictionary: Dictionary, name: str, of: Field | Action) -> int:
    """Return the width of a field for the scan; 0 where it is of no use: a text where a number is wanted, or the other way round."""
    try:
        width = dictionary.width(of)
    except KeyError:
        return 0
    is_text = _SAME.get(name, name) in _WITH_TEXTS
    if is_text:
        return PLACE if width == 0 else 0
    return width if 0 < abs(width) <= 8 else 0
