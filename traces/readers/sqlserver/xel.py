"""Reader of ``.xel`` files, as the file target of Extended Events writes them: names, types and offsets are the files'
own.

Completed batches, calls and statements become executions; waits and page reads are counted to the execution of their
session that ends next; reads and writes of files become requests.
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
    XE_NUMBERS,
    What,
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
from tiersim.traces.readers.sqlserver.xel_dictionary import Dictionary
from tiersim.traces.readers.sqlserver.xel_kernels import (
    BLOCK_HEADER_BYTES,
    DAMAGED_PLACES,
    DICTIONARY,
    FIRST_FIELD,
    KNOWN,
    LOST_BYTES,
    RECORDS,
    SCAN_COUNTS,
    TICKS,
    UNKNOWN_EVENTS,
    block_of,
    find_block,
    is_block,
    scan,
)
from tiersim.traces.readers.sqlserver.xel_layout import FIELDS, Layout
from tiersim.units import NS_PER_MS

MAGIC = b"\x5a\x37\xab\xef\x0a\0\0\x02"
_HEADER_BYTES = 0x200
#: A file has one dictionary, or a few as packages are loaded; more are damage.
_MOST_DICTIONARIES = 256
#: Rows that the scan fills at a time.
_ROWS = 1 << 14


def read_xel(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what a file of Extended Events tells; raises TraceError when it has no dictionary."""
    window = Window(source)
    file = _File(path, recorded)
    window.read_on(min(_HEADER_BYTES, len(window.data)), file.take)
    file.finish(source.damage)


class _File:
    """Takes the blocks of one file."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._executions = recorded.of(Executions)
        self._texts = CodedTexts(self._executions)
        self._dictionary = Dictionary()
        self._dictionaries = 0
        self._layout: Layout | None = None
        self._counts = np.zeros(SCAN_COUNTS, np.int64)
        self._values = np.empty((_ROWS, FIRST_FIELD + len(FIELDS)), np.int64)
        self._rows = 0
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
                self._layout = Layout(self._dictionary)
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
                f"{counts[LOST_BYTES]:,} bytes at {counts[DAMAGED_PLACES]:,} places are no whole events and were left"
                f" out; {counts[RECORDS]:,} events were read"
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

    def _scan(self, data: NDArray[np.uint8], at: int, stop: int, layout: "Layout") -> None:
        while at < stop:
            at, self._rows = scan(data, at, stop, layout.wanted, self._values, self._rows, self._counts)
            if self._rows == _ROWS:
                self._add(data)

    def _add(self, data: NDArray[np.uint8]) -> None:
        """Hand over the rows that were read."""
        values, self._rows = self._values[: self._rows], 0
        layout = self._layout
        if layout is None or not len(values):
            return
        what = layout.whats[values[:, KNOWN]]
        of_files = np.isin(what, (What.FILE_READ, What.FILE_WRITE))
        if of_files.any():
            self._add_file_io(data, values[of_files], what[of_files] == What.FILE_READ, layout)
        system = (values[:, FIELDS["is_system"]] == 1) & ~of_files
        self._recorded.lose("events of system sessions", int(np.count_nonzero(system)))
        begun = (what == What.WAIT) & ~layout.is_over(values[:, FIELDS["opcode"]])
        kept = np.flatnonzero(~(of_files | system | begun))
        # each processor may have a buffer of its own, and a session be on several of them
        kept = kept[np.argsort(values[kept, TICKS], kind="stable")]
        self._add_events(data, values[kept], what[kept], layout)

    def _add_file_io(
        self, data: NDArray[np.uint8], values: NDArray[np.int64], reads: NDArray[np.bool_], layout: Layout
    ) -> None:
        names = ("duration", "session_id", "database_id", "file_id", "offset", "size")
        columns = {name: values[:, FIELDS[name]] for name in names}
        end_ns = layout.unix_ns(values[:, TICKS])
        paths = values[:, FIELDS["path"]]
        self._recorded.of(FileIo).add(reads, end_ns, columns, layout.duration_said, lambda row: _text(data, paths[row]))

    def _add_events(
        self, data: NDArray[np.uint8], values: NDArray[np.int64], what: NDArray[np.int64], layout: Layout
    ) -> None:
        events = new_events(len(values))
        events[:, WHAT], events[:, END_NS] = what, layout.unix_ns(values[:, TICKS])
        for name, (place, unit) in XE_NUMBERS.items():
            events[:, NUMBER_COLUMNS[place]] = plausible(values[:, FIELDS[name]], unit)
        waits = what == What.WAIT
        events[waits, DURATION_NS] = plausible(values[waits, FIELDS["duration"]], NS_PER_MS)
        events[waits, WAIT_CLASS] = layout.wait_classes(values[waits, FIELDS["wait_type"]])
        databases, users = values[:, FIELDS["database"]], values[:, FIELDS["user"]]
        self._texts.fill(
            events, data, values[:, FIELDS["text"]], lambda row: (_text(data, databases[row]), _text(data, users[row]))
        )
        self._executions.add(events)


def _text(data: NDArray[np.uint8], place: np.int64) -> str | None:
    """Return the text at place << 32 | bytes of *data*; None where there is none."""
    return text_at(data, int(place)) if place >= 0 else None
