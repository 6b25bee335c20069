"""Reader of the CSV that a bpftrace script prints at ``block_io_start`` and ``block_io_done``.

The columns are ``TIME_NS,EVENT,DEV,SECTOR,NSECTORS,BYTES,RWBS,PID,COMM``. A line ``done`` has no length (the request is
taken apart already) and, in place of the process, the latency in whole microseconds: without the time that the script
itself takes to print ``start``, some 15 µs, so it is used and not the distance of the two lines. The script remembers
one request for each device and sector, so ``done`` belongs to the one that started there last; what it forgot has no
latency.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.traces.bundle import Requests, RequestWriter
from tiersim.traces.readers.blktrace import CUT_OFF_NS, GIVE_UP_NS, ProcessNames, device_name
from tiersim.traces.readers.blktrace_kernels import (
    ACTION,
    BYTES,
    CAT_FLUSH,
    CATEGORIES,
    COMPLETE,
    DEVICE,
    EXTRA,
    NAME,
    PID,
    QUEUE,
    SECTOR,
    TIME_NS,
    Table,
)
from tiersim.traces.readers.blktrace_pairing import flags_of, operation_of
from tiersim.traces.readers.event_text import BlockEvent, EventLines, Progress, categories_of
from tiersim.traces.readers.purposes import Purposes
from tiersim.traces.schema import FLUSH, NOT_MEASURED, UNKNOWN

HEADER = b"TIME_NS,EVENT,DEV,SECTOR,NSECTORS,BYTES,RWBS,"
_LINE = re.compile(
    rb"(\d{1,19}),(start|done),(\d{1,9}):(\d{1,9}),(\d{1,20}),(\d{1,10}),(\d{1,10}),([A-Z]{1,8}),(\d{1,10})(_us)?,(.{0,16})"
)

STARTS = (
    "times and latencies begin when the block layer starts to account for a request (block_io_start); when the device"
    " got it, what was merged into it later, and flushes that go with a write, are not known"
)
#: Rows are written so many at a time.
BLOCK_ROWS = 1 << 16
#: Behind a request that is never done so many wait, at most.
MOST_ROWS = 1 << 20


class _Bpftrace:
    """The lines of the script."""

    lost_events = 0
    remedy = f"give what a script prints that begins with the line {HEADER.decode()}PID,COMM"

    def parse(self, line: bytes) -> BlockEvent | bool:
        match = _LINE.fullmatch(line.rstrip(b"\r"))
        if not match:
            lost = re.match(rb"Lost (\d{1,12}) events", line)
            self.lost_events += int(lost[1]) if lost else 0
            return bool(lost) or not line.strip() or line.startswith((HEADER, b"Attaching "))
        time_ns, event, major, minor, sector, sectors, length, letters, number, unit, process = match.groups()
        categories = categories_of(letters)
        if categories is None or int(minor) >= 1 << 20 or int(length) not in (0, int(sectors) << 9):
            return False
        device = int(major) << 20 | int(minor)
        where = 0 if int(sector) >= 1 << 63 else int(sector)
        if event == b"done":
            latency_ns = int(number) * 1000 if unit else 0
            return BlockEvent(int(time_ns), where, 0, COMPLETE, categories, -1, device, latency_ns)
        return BlockEvent(int(time_ns), where, int(sectors) << 9, QUEUE, categories, int(number), device, 0, process)


@dataclass
class _Request:
    time_ns: int
    op: int
    file: int
    offset_bytes: int
    length_bytes: int
    stream: int
    flags: int
    latency_ns: int = NOT_MEASURED
    closed: bool = False


@dataclass
class _Starts:
    """The requests that started, the oldest first, until it and all before it are done."""

    writer: RequestWriter
    names: ProcessNames
    zero_ns: int = -1
    unmatched: int = 0  # done without a start, or never done
    in_flight: int = 0
    empty: int = 0
    _now_ns: int = 0
    _rows: deque[_Request] = field(default_factory=deque)
    _ready: list[_Request] = field(default_factory=list)
    _open: dict[tuple[int, int], _Request] = field(default_factory=dict)  # by device and sector
    _files: dict[int, int] = field(default_factory=dict)
    _streams: dict[tuple[int, int], int] = field(default_factory=dict)
    _processes: dict[int, int] = field(default_factory=dict)

    def see(self, event: Table) -> None:
        """Take one event in."""
        self._now_ns = int(event[TIME_NS])
        place = (int(event[DEVICE]), int(event[SECTOR]))
        if event[ACTION] == NAME:
            self._processes[int(event[PID])] = int(event[EXTRA])
        elif event[ACTION] == COMPLETE:
            started = self._open.pop(place, None)
            if started is None:
                self.unmatched += 1
            else:
                started.closed = True
                started.latency_ns = int(event[EXTRA]) if event[EXTRA] else self._now_ns - started.time_ns
        elif not event[BYTES] and not event[CATEGORIES] & CAT_FLUSH:
            self.empty += 1
        else:
            forgotten = self._open.get(place)
            if forgotten:
                forgotten.closed = True
                self.unmatched += 1
            self._open[place] = self._start(event)
            self._rows.append(self._open[place])

    def blocks(self, *, last: bool) -> Iterator[Requests]:
        """Yield the requests that none that may yet be done stands before; at the *last*, all."""
        while self._rows:
            row = self._rows[0]
            if not row.closed and not last and row.time_ns > self._now_ns - GIVE_UP_NS and len(self._rows) < MOST_ROWS:
                break
            if not row.closed:
                row.closed = True
                cut_off = last and row.time_ns > self._now_ns - CUT_OFF_NS
                self.in_flight += cut_off
                self.unmatched += not cut_off
                self._open = {place: other for place, other in self._open.items() if other is not row}
            self._ready.append(self._rows.popleft())
            if len(self._ready) == BLOCK_ROWS:
                yield self._block()
        if last and self._ready:
            yield self._block()

    def _start(self, event: Table) -> _Request:
        self.zero_ns = self._now_ns if self.zero_ns < 0 else self.zero_ns
        device, length, pid = int(event[DEVICE]), int(event[BYTES]), int(event[PID])
        if device not in self._files:
            self._files[device] = len(self._files)
            self.writer.file_names.append(device_name(device))
        name = self._processes.get(pid, -1)
        if (pid, name) not in self._streams:
            self._streams[pid, name] = len(self._streams)
            self.writer.stream_names.append(f"{self.names.texts[name]} {pid}" if name >= 0 else f"pid {pid}")
        return _Request(
            time_ns=self._now_ns,
            op=operation_of(int(event[CATEGORIES])) if length else FLUSH,
            file=self._files[device],
            offset_bytes=int(event[SECTOR]) << 9 if length else 0,
            length_bytes=length,
            stream=self._streams[pid, name],
            flags=flags_of(int(event[CATEGORIES])),
        )

    def _block(self) -> Requests:
        rows, self._ready = self._ready, []

        def column(name: str, kind: type[np.generic]) -> Any:
            return np.array([getattr(row, name) for row in rows], kind)

        unknown = np.full(len(rows), NOT_MEASURED, np.int64)
        return Requests(
            time_ns=column("time_ns", np.int64) - self.zero_ns,
            op=column("op", np.uint8),
            file=column("file", np.int32),
            offset_bytes=column("offset_bytes", np.int64),
            length_bytes=column("length_bytes", np.int64),
            stream=column("stream", np.int32),
            purpose=np.full(len(rows), UNKNOWN, np.uint8),
            issue_ns=unknown,
            command=unknown,
            latency_ns=column("latency_ns", np.int64),
            flags=column("flags", np.uint8),
        )


def looks_like_bpftrace(first_bytes: bytes) -> bool:
    """Tell whether the text begins with the header of the CSV, behind what bpftrace itself says."""
    return any(line.startswith(HEADER) for line in first_bytes[:4096].split(b"\n"))


def read_bpftrace(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of one CSV to *writer* and return what the manifest says of it.

    Memory does not grow with its length. Raises TraceError when there are several, or nothing in it can be used.
    """
    names, purposes = ProcessNames(), Purposes()
    lines, starts = EventLines(paths, _Bpftrace()), _Starts(writer, names)

    def write(last: bool) -> None:
        for block in starts.blocks(last=last):
            purposes.fill(block, writer.file_names)
            writer.append(block)

    for events in lines.events(names, progress):
        for event in events:
            starts.see(event)
        write(False)
    if starts.zero_ns < 0:
        lines.refuse()
    write(True)
    dropped = {
        "in flight when the recording ended": starts.in_flight,
        "commands without data": starts.empty,
        **lines.dropped(),
    }
    never = [f"{starts.unmatched:,} requests have a start or an end, but not both: those that started have no latency"]
    return {
        "source_format": "bpftrace",
        "source_files": lines.source_files(),
        "unmatched": starts.unmatched,
        "dropped": {why: count for why, count in dropped.items() if count},
        "inferred": [STARTS, *purposes.inferred],
        "warnings": lines.warnings() + never * bool(starts.unmatched),
        "host": {"clock_start_ns": starts.zero_ns},
    }
