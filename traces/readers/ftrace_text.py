"""Reader of the kernel's block tracepoints as text: ``trace`` of tracefs, ``trace-cmd report``, ``perf script``.

Requests are paired from ``block_bio_queue``, ``block_split``, ``block_rq_issue``, ``block_rq_requeue``,
``block_rq_complete`` and ``block_bio_complete``, which are the Q, X, D, R and C of blktrace. Where no
``block_bio_queue`` was recorded, a request begins at its ``block_rq_insert``, and one that was given to the device
directly at its issue. Their times are whole microseconds unless the tool was told otherwise.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.traces.bundle import RequestWriter
from tiersim.traces.readers.blktrace_kernels import (
    ACTION,
    BYTES,
    COMPLETE,
    DEVICE,
    ISSUE,
    PID,
    QUEUE,
    REQUEUE,
    SECTOR,
    SPLIT,
    Table,
)
from tiersim.traces.readers.event_text import BlockEvent, Progress, categories_of, read_event_text
from tiersim.traces.readers.opened import Opened

#: Process and number, CPU, flags, time, event. Bounded, so that no line takes long.
_LINE = re.compile(
    rb"[- ](\d{1,10})(?:/\d{1,10})?[ \t]{1,16}(?:\( {0,7}[-\d]{1,10}\)[ \t]{1,4})?\[\d{1,6}\][ \t]{1,8}"
    rb"(?:[^\s:\[\]]{1,16}[ \t]{1,8})?(\d{1,10})\.(\d{6,9}):[ \t]{1,8}(?:\w{1,40}:)?(\w{1,80}):[ \t]*(.*)"
)
_REQUEST = re.compile(
    rb"(\d{1,9}),(\d{1,9}) (\S+) (?:\d+ )?\([^)]*\) (\d{1,20}) \+ (\d{1,10})(?: \S+,\d+,\d+)? \[(.*)\]"
)
_BIO = re.compile(rb"(\d{1,9}),(\d{1,9}) (\S+) (\d{1,20}) \+ (\d{1,10}) \[(.*)\]")
_CUT = re.compile(rb"(\d{1,9}),(\d{1,9}) (\S+) (\d{1,20}) / (\d{1,20}) \[(.*)\]")
_LOST = re.compile(rb".{0,40}\[(?:LOST )?(\d{1,12}) EVENTS(?: DROPPED)?\]")
_ENTRIES = re.compile(rb"# entries-in-buffer/entries-written: (\d{1,15})/(\d{1,15})\b")

INSERT = 12
_EVENTS = {
    b"block_bio_queue": (QUEUE, _BIO),
    b"block_split": (SPLIT, _CUT),
    b"block_rq_insert": (INSERT, _REQUEST),
    b"block_rq_issue": (ISSUE, _REQUEST),
    b"block_rq_requeue": (REQUEUE, _REQUEST),
    b"block_rq_complete": (COMPLETE, _REQUEST),
    b"block_bio_complete": (COMPLETE, _BIO),
}
_HOLE_SECTORS = 8
#: Requests inserted and never issued, of a damaged text; more are forgotten.
_MOST_INSERTED = 1 << 16

INSERTS = (
    "no queue event is recorded: times and latencies begin when a request was inserted into the scheduler, or, for"
    " those that never were, when the device got it; processes are not known"
)


class _Ftrace:
    """The lines of block tracepoints."""

    source_format = "ftrace"
    remedy = "record the events block_bio_queue, block_rq_issue and block_rq_complete (block:*), and give their text"

    def __init__(self, bios: bool) -> None:
        self.bios = bios
        self.lost_events = 0
        self.inferred: list[str] = []
        self._inserted: dict[tuple[int, int], int] = {}  # device and first sector → sectors
        self._requeued: set[tuple[int, int]] = set()

    def parse(self, line: bytes) -> BlockEvent | bool:
        match = _LINE.search(line)
        if not match:
            return self._is_note(line)
        pid, seconds, fraction, name, tail = match.groups()
        if name not in _EVENTS:
            return True
        action, grammar = _EVENTS[name]
        found = grammar.fullmatch(tail.rstrip())
        categories = categories_of(found[3]) if found else None
        if not found or categories is None or int(found[2]) >= 1 << 20:
            return False
        time_ns = int(seconds) * 1_000_000_000 + int(fraction) * 10 ** (9 - len(fraction))
        device, sector = int(found[1]) << 20 | int(found[2]), int(found[4])
        if action == SPLIT:
            return BlockEvent(time_ns, sector, 0, SPLIT, categories, int(pid), device, int(found[5]))
        sectors, about = int(found[5]), found[6]
        if not sectors:
            sector = 0 if sector >= 1 << 63 else sector  # a flush command has no place
        if action == INSERT:
            return (
                BlockEvent(time_ns, sector, sectors << 9, INSERT, categories, -1, device)
                if sectors and not self.bios
                else True
            )
        error = 0
        if action == COMPLETE:
            if not about.lstrip(b"-").isdigit() or len(about) > 9:
                return False
            error = abs(int(about))
        process = about if action == QUEUE else b""
        return BlockEvent(time_ns, sector, sectors << 9, action, categories, int(pid), device, error, process)

    def refine(self, events: Table) -> Table:
        """Let requests be queued when they were inserted; what was merged into one since, when it was issued."""
        if not self._inserted and not np.any(events[:, ACTION] == INSERT):
            return events
        self.inferred = [INSERTS]
        refined = []
        for event in events:
            action, key = int(event[ACTION]), (int(event[DEVICE]), int(event[SECTOR]))
            if action == INSERT:
                if key in self._requeued:
                    self._requeued.discard(key)
                    continue
                event = event.copy()
                event[ACTION] = QUEUE
                self._inserted[key] = int(event[BYTES]) >> 9
                if len(self._inserted) > _MOST_INSERTED:
                    del self._inserted[next(iter(self._inserted))]
            elif action == REQUEUE and len(self._requeued) < _MOST_INSERTED:
                self._requeued.add(key)
            elif action == ISSUE:
                refined += self._merged(event)
            refined.append(event)
        return np.array(refined, np.int64).reshape(-1, events.shape[1])

    def _merged(self, issue: Table) -> list[Table]:
        """Return queue events for the parts of an issued request that were not inserted, when another part was."""
        device, begin, sectors = int(issue[DEVICE]), int(issue[SECTOR]), int(issue[BYTES]) >> 9
        if self._inserted.get((device, begin)) == sectors:
            del self._inserted[device, begin]
            return []
        holes = []
        place = hole = begin
        end = begin + sectors
        while place < min(end, begin + (1 << 16)):  # bounds the time that absurd input takes
            inserted = self._inserted.pop((device, place), 0)
            if inserted:
                holes += [(hole, place)] if hole < place else []
                place = hole = place + inserted
            else:
                place += _HOLE_SECTORS
        if hole == begin:
            return []
        holes += [(hole, end)] if hole < end else []
        queued = []
        for first, stop in holes:
            event = issue.copy()
            event[ACTION], event[PID], event[SECTOR], event[BYTES] = QUEUE, -1, first, (stop - first) << 9
            queued.append(event)
        return queued

    def _is_note(self, line: bytes) -> bool:
        lost, entries = _LOST.match(line), _ENTRIES.match(line)
        if lost:
            self.lost_events += int(lost[1])
        elif entries:
            self.lost_events += max(int(entries[2]) - int(entries[1]), 0)
        return bool(lost) or not line.strip() or line.startswith((b"#", b"cpus=", b"version = "))


def looks_like_ftrace(first_bytes: bytes) -> bool:
    """Tell whether the text has the header of tracefs, or a block tracepoint in one of its first lines."""
    if first_bytes.startswith(b"# tracer:"):
        return True
    matches = (_LINE.search(line[:2048]) for line in first_bytes.split(b"\n")[:200])
    return any(match and match[4].startswith(b"block_") for match in matches)


def read_ftrace(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of one text to *writer* and return what the manifest says of it, see
    :func:`read_event_text`.
    """
    return read_event_text(paths, writer, progress, _Ftrace(bios=_holds(paths[0], b"block_bio_queue:")))


def _holds(path: Path, word: bytes) -> bool:
    """Tell whether *word* stands in a file."""
    with Opened(path) as file:
        before = b""
        while chunk := file.read():
            chunk = before + chunk
            if word in chunk:
                return True
            before = chunk[-len(word) :]
    return False
