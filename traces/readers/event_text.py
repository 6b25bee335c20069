"""Text of block events, one a line: read in blocks of lines, turned into the events that the pairing of blktrace takes.

What a line says is told by a *grammar*, one for each tool; from there on a request is paired, dated and named as one of
a binary blktrace recording is, see :mod:`tiersim.traces.readers.blktrace`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from tiersim.errors import TraceError
from tiersim.traces.bundle import RequestWriter
from tiersim.traces.readers.blktrace import ISSUES_ONLY, ProcessNames, QueueWindow, write_rows
from tiersim.traces.readers.blktrace_kernels import (
    CAT_AHEAD,
    CAT_DISCARD,
    CAT_FLUSH,
    CAT_FUA,
    CAT_META,
    CAT_SYNC,
    CAT_WRITE,
    EVENT_COLUMNS,
    LEAP_NS,
    MAX_DISORDER_NS,
    MAX_SECTOR,
    NAME,
    QUEUE,
    TIME_NS,
    Table,
)
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.purposes import Purposes

Progress = Callable[[int, int], None]

#: No tool writes longer lines; what is longer is no text of events.
MAX_LINE_BYTES = 2048
_NOTHING = np.empty((0, EVENT_COLUMNS), np.int64)
#: As the kernel and blkparse spell it: preflush, operation, then forced access, read-ahead, synchronous, metadata,
#: atomic.
_LETTERS = re.compile(rb"(F?)(DE|ZA|[RWDNF])([FASMU]*)")
_CAT_READ = 0x1
_OPERATIONS = {
    b"R": _CAT_READ,
    b"W": CAT_WRITE,
    b"ZA": CAT_WRITE,  # zone append
    b"D": CAT_DISCARD,
    b"DE": CAT_DISCARD,  # secure erase
    b"F": CAT_FLUSH,
}
_MODIFIERS = {ord("F"): CAT_FUA, ord("A"): CAT_AHEAD, ord("S"): CAT_SYNC, ord("M"): CAT_META}


class BlockEvent(NamedTuple):
    """What one line says: the columns of an event, and the name of the process where it has queued."""

    time_ns: int
    sector: int
    length_bytes: int
    action: int
    categories: int
    pid: int  # -1: not known
    device: int
    extra: int = 0  # the new sector of a split, the error of a completion
    process: bytes = b""


class Grammar(Protocol):
    """Tells what the lines of one tool mean."""

    lost_events: int  # that it says are missing
    remedy: str

    def parse(self, line: bytes) -> BlockEvent | bool:
        """Return the event of a line; True when it has none that matters, False when no such tool has written it."""


class PairingGrammar(Grammar, Protocol):
    """One whose events go to the pairing of blktrace."""

    source_format: str
    bios: bool  # whether it has to show when requests were queued
    inferred: list[str]

    def refine(self, events: Table) -> Table:
        """Return events, which are in order of time, as the pairing needs them."""


@lru_cache(4096)
def categories_of(letters: bytes) -> int | None:
    """Return the category bits of an RWBS string such as ``FWFSM``, None when it is none."""
    match = _LETTERS.fullmatch(letters)
    if not match:
        return None
    found = (CAT_FLUSH if match[1] else 0) | _OPERATIONS.get(match[2], 0)
    for letter in match[3]:
        found |= _MODIFIERS.get(letter, 0)
    return found


def read_event_text(
    paths: Sequence[Path], writer: RequestWriter, progress: Progress | None, grammar: PairingGrammar
) -> dict[str, Any]:
    """Write the requests of one text to *writer* and return what the manifest says of it.

    Memory does not grow with its length. Raises TraceError when there are several, or nothing in it can be used.
    """
    lines, names, purposes = EventLines(paths, grammar), ProcessNames(), Purposes()
    window = QueueWindow(bios=grammar.bios)
    for events in lines.events(names, progress):
        ready = grammar.refine(events)
        for block in window.add(ready, np.arange(len(ready))):
            write_rows(block, writer, window, names, purposes)
    if not window.begun:
        lines.refuse()
    for block in window.end():
        write_rows(block, writer, window, names, purposes)
    unmatched, dropped, warnings = window.losses()
    dropped |= lines.dropped()
    return {
        "source_format": grammar.source_format,
        "source_files": lines.source_files(),
        "unmatched": unmatched,
        "dropped": {why: count for why, count in dropped.items() if count},
        "inferred": [
            *([ISSUES_ONLY] if window.issues_only and not grammar.inferred else []),
            *grammar.inferred,
            *purposes.inferred,
        ],
        "warnings": lines.warnings() + warnings,
        "host": {"clock_start_ns": window.zero_ns},
    }


class EventLines:
    """The lines of one file, as events in order of time, and what of them was lost."""

    def __init__(self, paths: Sequence[Path], grammar: Grammar) -> None:
        """Take the only one of *paths*; raises TraceError when there are more."""
        if len(paths) != 1:
            raise TraceError(f"{paths[1]}: only one text of events can be imported at a time; {grammar.remedy}")
        self.path = paths[0]
        self._hash = self._damage = ""
        self._grammar = grammar
        self._read_bytes = self._count = self._understood = 0
        self._damaged = self._impossible = self._disordered = 0
        self._first_damaged: tuple[int, bytes] | None = None
        self._highest_ns = -1
        self._held = _NOTHING  # what a line to come may still go before
        self._processes: dict[int, bytes] = {}

    def events(self, names: ProcessNames, progress: Progress | None) -> Iterator[Table]:
        """Yield the events, in order of time."""
        for lines in self._blocks_of_lines(progress):
            events = self._in_order([event for line in lines if (event := self._event(line))])
            rows = np.array(list(self._rows(events, names)), np.int64).reshape(-1, EVENT_COLUMNS)
            self._held = np.concatenate([self._held, rows])
            self._held = self._held[np.argsort(self._held[:, TIME_NS], kind="stable")]
            ready = int(np.searchsorted(self._held[:, TIME_NS], self._highest_ns - MAX_DISORDER_NS, "right"))
            yield self._held[:ready]
            self._held = self._held[ready:]
        yield self._held

    def refuse(self) -> None:
        """Raise TraceError for a file without one request."""
        if not self._read_bytes:
            raise TraceError(f"{self.path}: is empty; {self._grammar.remedy}")
        if not self._understood:
            line, text = self._first_damaged or (1, b"")
            raise TraceError(
                f"{self.path}: line {line}: {text[:60]!r} is no event, nor is any other; {self._grammar.remedy}"
            )
        raise TraceError(
            f"{self.path}: holds {self._understood:,} lines of events but no queued or issued request;"
            f" {self._grammar.remedy}"
        )

    def source_files(self) -> list[dict[str, str]]:
        """Return name and hash of the file, once it is read."""
        return [{"name": self.path.name, "sha256": self._hash}]

    def dropped(self) -> dict[str, int]:
        """Count what was left out, by why."""
        return {
            "events lost while recording": self._grammar.lost_events,
            "lines that are no events": self._damaged,
            "events with impossible values": self._impossible,
            "events out of time order": self._disordered,
        }

    def warnings(self) -> list[str]:
        """Return a sentence for each loss."""
        said = [f"{self.path.name}: {self._damage}: what came after that is lost"] if self._damage else []
        if self._grammar.lost_events:
            said.append(
                f"{self._grammar.lost_events:,} events were lost while recording; record again with larger buffers"
            )
        if self._first_damaged:
            line, text = self._first_damaged
            said.append(
                f"{self.path.name}: {self._damaged:,} lines are no events and were left out, the first is line"
                f" {line:,}: {text[:60].decode(errors='replace')!r}"
            )
        if self._impossible:
            said.append(f"{self.path.name}: {self._impossible:,} events have impossible values and were left out")
        if self._disordered:
            said.append(
                f"{self.path.name}: {self._disordered:,} events lie more than {MAX_DISORDER_NS / 1e9} s before those"
                " above them and were left out; are these several recordings in one file?"
            )
        return said

    def _blocks_of_lines(self, progress: Progress | None) -> Iterator[list[bytes]]:
        def report(read_bytes: int) -> None:
            if progress:
                progress(read_bytes, self.path.stat().st_size)

        with Opened(self.path, report) as file:
            rest = b""
            while chunk := file.read():
                self._read_bytes += len(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                # the end of what is too long for a line is of no use, and must not grow
                rest = rest[: MAX_LINE_BYTES + 1]
                yield lines
            yield [rest] if rest else []
            self._damage = file.damage
            self._hash = file.sha256()

    def _event(self, line: bytes) -> BlockEvent | None:
        self._count += 1
        found = self._grammar.parse(line) if len(line) <= MAX_LINE_BYTES else False
        if found is True:
            self._understood += 1
            return None
        if found is False:
            self._damaged += 1
            self._first_damaged = self._first_damaged or (self._count, line[:MAX_LINE_BYTES])
            return None
        self._understood += 1
        if (
            found.time_ns >= 1 << 62
            or found.sector + (found.length_bytes >> 9) >= MAX_SECTOR
            or found.extra >= MAX_SECTOR
            or found.pid >= 1 << 31
            or found.device >= 1 << 32
            or (found.length_bytes and not found.categories & (_CAT_READ | CAT_WRITE | CAT_DISCARD))
        ):
            self._impossible += 1
            return None
        return found

    def _in_order(self, events: list[BlockEvent]) -> list[BlockEvent]:
        """Leave out events far back in time, and leaps of the clock that the next event takes back."""
        kept = []
        following = [*(event.time_ns for event in events[1:]), 1 << 62]
        for event, next_ns in zip(events, following, strict=False):
            time_ns = event.time_ns
            leaps = (
                self._highest_ns >= 0 and time_ns > self._highest_ns + LEAP_NS and next_ns < time_ns - MAX_DISORDER_NS
            )
            if leaps or time_ns < self._highest_ns - MAX_DISORDER_NS:
                self._disordered += 1
            else:
                self._highest_ns = max(self._highest_ns, time_ns)
                kept.append(event)
        return kept

    def _rows(self, events: list[BlockEvent], names: ProcessNames) -> Iterator[tuple[int | bytes, ...]]:
        for event in events:
            if event.action == QUEUE and event.process and self._processes.get(event.pid) != event.process:
                self._processes[event.pid] = event.process
                yield event.time_ns, 0, 0, NAME, 0, event.pid, event.device, names.number(event.process)
            *columns, _ = event
            yield tuple(columns)
