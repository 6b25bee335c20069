"""Reader of Linux block traces: the per-CPU files of blktrace(8), a ``blkparse -d`` dump, a tracefs ``blk`` stream.

One row is one queued bio; a split bio is two rows of the same queue time, merged bios share ``command`` and
``issue_ns``. ``issue_ns`` is the last time that the device got the command, null where a device shows no issue (device
mapper, md). A recording without queue events (blktrace -a issue -a complete) has one row for each issued command, whose
time is that of the issue, without a stream. ``latency_ns`` is from queue to completion, null when the recording has
none. ``stream`` is the process that queued it. ``file`` is the device, ``major,minor``.

Flushes are rows of length 0. What fsync waited for is one row: queued → last completion, ``issue_ns`` of the device's
flush command. Several that one flush command served share its number. A write that asks for a flush before its data is
the row of the write, with its latency up to the end of everything, behind a flush row of the same queue time, whose
latency is up to the end of that flush command. A write that must be on stable storage (FUA) on a device that has no
such write is followed by another flush row of the same queue time. Both kinds are there only if the device got the
command, so the distinct commands among the flush rows are the flush commands that the device got.

The window of open requests hands on the rows that are finished, in the order of their queue times. A row may leave when
no row that is open, or was made later, is to come before it. A row that stays open longer than GIVE_UP_NS, or while the
window is full, is given up: it leaves without a latency.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import NoRequestError, TraceError, reason
from tiersim.kernel import kernel, table_set
from tiersim.traces.bundle import MOST, ROWS_PER_GROUP, RequestColumns, Requests, RequestWriter
from tiersim.traces.readers.blktrace_kernels import (
    ACTION,
    DAMAGED_PLACES,
    EVENT_COLUMNS,
    EXTRA,
    HEADER_BYTES_7,
    HIGHEST_NS,
    IMPOSSIBLE,
    IN_DAMAGE,
    LOST_BYTES,
    MAGIC,
    MAX_CPUS,
    MAX_DISORDER_NS,
    MAX_RECORD_BYTES,
    NAME,
    OUT_OF_ORDER,
    RECORDS,
    SCAN_COUNTS,
    TIME_NS,
    WORD_BYTES,
    Bytes,
    Table,
    find_header,
    scan,
    words_of,
)
from tiersim.traces.readers.blktrace_pairing import (
    DONE,
    DROPPED,
    EMPTY,
    FAILED,
    GHOST,
    NO_BIO,
    NO_COMMAND,
    PAIR_COUNTS,
    R_COMMAND,
    R_DEVICE,
    R_DONE,
    R_END,
    R_FIRST,
    R_FLAGS,
    R_ISSUE,
    R_OP,
    R_STATE,
    R_STREAM,
    R_TIME,
    ROW_COLUMNS,
    S_BASE,
    S_COMMAND,
    S_FIRST_ISSUE_NS,
    S_FIRST_QUEUE_NS,
    S_HEAD,
    S_NOW_NS,
    SCALARS,
    Rows,
    close,
    name_slot,
    pair,
)
from tiersim.traces.readers.opened import find_parts
from tiersim.traces.readers.purposes import Purposes
from tiersim.traces.schema import UNKNOWN

FIRST_ROWS, MAX_ROWS = 1 << 14, 1 << 21
BUCKETS = 1 << 15
#: So many requests issued before the first is queued mean that the recording has no queue events.
ENOUGH_ISSUES = 4096
GIVE_UP_NS = 60_000_000_000
#: A request is taken for cut off by the recording's start or end only if it would not have lasted longer than twice the
#: longest that was seen whole, or than this.
CUT_OFF_NS = 1_000_000_000
#: Fewer requests of a device say nothing of what it is.
ENOUGH_DONE = 16


@table_set
class Codes(NamedTuple):
    """A table of values and their codes, which count from 0."""

    slots: Table  # (power of 2, 2): value + 2, code
    known: Table  # (1,): how many values

    @property
    def full(self) -> bool:
        """Whether it is to grow."""
        return bool(self.known[0] * 2 > len(self.slots))


def _codes(slots: int) -> Codes:
    return Codes(np.zeros((slots, 2), np.int64), np.zeros(1, np.int64))


def _columns(rows: int) -> RequestColumns:
    wide, code, small = np.int64, np.int32, np.uint8
    kinds: list[Any] = [wide, small, code, wide, wide, code, small, wide, wide, wide, small]
    return RequestColumns._make(np.empty(rows, kind) for kind in kinds)


@kernel(checked=True)
def give_up(r: Rows, stop: int, before_ns: int, all_rows: bool, ghosts: bool) -> int:
    """Close the open rows up to *stop* that were queued before *before_ns*; return how many never completed.

    Ghosts count only if *ghosts*. The scan ends at the first row that is younger, unless *all_rows*.
    """
    mask = len(r.ring) - 1
    given_up = 0
    for index in range(r.scalars[S_BASE], stop):
        row = index & mask
        if r.ring[row, R_TIME] >= before_ns:
            if all_rows:
                continue
            break
        if r.ring[row, R_STATE] >= DONE:
            continue
        if r.ring[row, R_DONE] < 0 and (ghosts or not r.ring[row, R_FLAGS] & GHOST):
            given_up += 1
        close(r, index, DONE)
    return given_up


@kernel(checked=True)
def finished(r: Rows) -> int:
    """Return how far the rows are closed and not later than any row that stays."""
    base, head = int(r.scalars[S_BASE]), int(r.scalars[S_HEAD])
    mask = len(r.ring) - 1
    stop = base
    while stop < head and r.ring[stop & mask, R_STATE] >= DONE:
        stop += 1
    if stop == base:  # one that never completes holds up all behind it, until it is given up
        return base
    earliest_ns = np.int64(2**63 - 1)
    examined = head
    while True:
        for index in range(stop, examined):
            earliest_ns = min(earliest_ns, r.ring[index & mask, R_TIME])
        examined = stop
        fits = base
        while fits < stop and r.ring[fits & mask, R_TIME] <= earliest_ns:
            fits += 1
        if fits == stop:
            return stop
        stop = fits


@kernel(checked=True)
def _intern(codes: Codes, value: int) -> int:
    """Return the code of *value*, a new one if it has none."""
    mask = len(codes.slots) - 1
    slot = ((value ^ value >> 31) & 0x3FFFFFFF) * 0x9E3779B1 >> 16 & mask
    while codes.slots[slot, 0] != 0:
        if codes.slots[slot, 0] == value + 2:
            return int(codes.slots[slot, 1])
        slot = (slot + 1) & mask
    codes.slots[slot, 0] = value + 2
    codes.slots[slot, 1] = codes.known[0]
    codes.known[0] += 1
    return int(codes.slots[slot, 1])


@kernel(checked=True)
def copy_out(
    r: Rows,
    order: Table,
    start: int,
    zero_ns: int,
    ghosts: bool,
    block: RequestColumns,
    filled: int,
    devices: Codes,
    streams: Codes,
) -> tuple[int, int, int]:
    """Copy the rows at the places ``order[start:]`` of the ring to the end of *block*, without those dropped and,
    unless *ghosts*, the ghosts.

    Returns where in *order* it stopped (block or a table of codes full), rows in the block and the longest latency.
    """
    longest_ns = 0
    at = start
    while at < len(order):
        if filled == len(block.time_ns):
            break
        if devices.known[0] * 2 > len(devices.slots) or streams.known[0] * 2 > len(streams.slots):
            break
        row = order[at]
        at += 1
        if r.ring[row, R_STATE] == DROPPED or (not ghosts and r.ring[row, R_FLAGS] & GHOST):
            continue
        device = _intern(devices, r.ring[row, R_DEVICE])
        stream = -1
        if r.ring[row, R_STREAM] >= 0:
            stream = _intern(streams, r.ring[row, R_STREAM])
        time_ns, issue_ns, done_ns = r.ring[row, R_TIME], r.ring[row, R_ISSUE], r.ring[row, R_DONE]
        block.time_ns[filled] = time_ns - zero_ns
        block.op[filled] = r.ring[row, R_OP]
        block.file[filled] = device
        block.offset_bytes[filled] = r.ring[row, R_FIRST] << 9
        block.length_bytes[filled] = (r.ring[row, R_END] - r.ring[row, R_FIRST]) << 9
        block.stream[filled] = stream
        block.purpose[filled] = UNKNOWN
        block.issue_ns[filled] = issue_ns - zero_ns if issue_ns >= 0 else -1
        block.command[filled] = r.ring[row, R_COMMAND]
        block.latency_ns[filled] = done_ns - time_ns if done_ns >= 0 else -1
        block.flags[filled] = r.ring[row, R_FLAGS] & 0xFF
        longest_ns = max(longest_ns, done_ns - time_ns)
        filled += 1
    return at, filled, longest_ns


def _with_room(codes: Codes) -> Codes:
    """Return *codes*, or the same in a table of four times its size when it is half full."""
    if not codes.full:
        return codes
    grown = _codes(4 * len(codes.slots))
    for value in _values(codes):
        _intern(grown, value)
    return grown


def _values(codes: Codes) -> list[int]:
    """List the values of a table of codes in the order of their codes."""
    used = codes.slots[codes.slots[:, 0] != 0]
    values = np.empty(len(used), np.int64)
    values[used[:, 1]] = used[:, 0] - 2
    return [int(value) for value in values]


def device_name(device: int) -> str:
    """Return the name of a device, its kernel's numbers.

    >>> device_name(8 << 20 | 16)
    '8,16'
    """
    return f"{device >> 20},{device & 0xFFFFF}"


class QueueWindow:
    """Takes events in time order and gives requests in the order in which they were queued."""

    def __init__(self, *, bios: bool = True) -> None:
        """Begin with nothing queued. Without *bios* it is known beforehand that what is issued need not have been
        queued.
        """
        self.counts = np.zeros(PAIR_COUNTS, np.int64)
        self.given_up = 0  # requests whose completion should have come
        self.in_flight = 0  # requests that the recording's end cut off
        self.decades_late = 0  # events so long after the first that no bundle holds their time
        self._latest_ns = -1  # what it holds
        self.issues_only = not bios  # no queue event is recorded: then a request begins when it is issued
        self._decided = not bios  # whether that is known
        self._longest_ns = 0
        self._rows = Rows(
            ring=np.empty((FIRST_ROWS, ROW_COLUMNS), np.int64),
            ends=np.full((BUCKETS, 2), -1, np.int64),
            scalars=np.full(SCALARS, -1, np.int64),
        )
        self._scalars = self._rows.scalars
        self._scalars[: S_COMMAND + 1] = 0
        self._names = np.zeros((1 << 10, 2), np.int64)
        self._devices, self._streams = _codes(1 << 6), _codes(1 << 12)
        self._block = _columns(ROWS_PER_GROUP)
        self._filled = 0
        self._done, self._issued = np.zeros(0, np.int64), np.zeros(0, np.int64)  # requests, by device

    @property
    def zero_ns(self) -> int:
        """The recording's clock at time 0 of the rows: when the first was queued, or issued; -1 before that."""
        first_issue_ns, first_queue_ns = int(self._scalars[S_FIRST_ISSUE_NS]), int(self._scalars[S_FIRST_QUEUE_NS])
        if not self.issues_only or first_issue_ns < 0:
            return first_queue_ns
        return first_issue_ns if first_queue_ns < 0 else min(first_queue_ns, first_issue_ns)

    @property
    def begun(self) -> bool:
        """Whether any request was queued or issued."""
        return bool(max(self._scalars[S_FIRST_QUEUE_NS], self._scalars[S_FIRST_ISSUE_NS]) >= 0)

    @property
    def devices(self) -> list[int]:
        """The device number of each code in the column ``file``."""
        return _values(self._devices)

    @property
    def streams(self) -> list[tuple[int, int]]:
        """The process (pid, number of its name or -1) of each code in the column ``stream``."""
        return [(v & 0xFFFFFFFF, (v >> 32) - 1) for v in _values(self._streams)]

    def add(self, events: Table, order: NDArray[np.intp]) -> Iterator[Requests]:
        """Pair *events* in this *order*; yield each block of finished requests that became full, to be used before
        going on.
        """
        self._make_room_for_names(events)
        order = self._within_decades(events, order)
        at = 0
        while at < len(order):
            at = pair(events, order, at, self._rows, self._names, self.counts)
            base, head = int(self._scalars[S_BASE]), int(self._scalars[S_HEAD])
            before_ns = int(self._scalars[S_NOW_NS]) - GIVE_UP_NS
            if not self._decided and (self._scalars[S_FIRST_QUEUE_NS] >= 0 or head - base >= ENOUGH_ISSUES):
                self._decide()
            self.given_up += give_up(self._rows, head, before_ns, False, self.issues_only)
            if self._decided:
                yield from self._hand_on()
            if at < len(order):
                yield from self._make_room_for_rows()

    def end(self) -> Iterator[Requests]:
        """Close what is open and yield the last block; ``given_up`` and ``in_flight`` are final then."""
        head = int(self._scalars[S_HEAD])
        self._decide()
        cut_off_ns = int(self._scalars[S_NOW_NS]) - self._cut_off_ns()
        self.given_up += give_up(self._rows, head, cut_off_ns, True, self.issues_only)
        self.in_flight += give_up(self._rows, head, 2**63 - 1, True, self.issues_only)
        yield from self._hand_on()
        if self._filled:
            yield self._take_block()

    def orphans(self) -> tuple[int, int]:
        """Count the events that found no partner: those of requests queued before the recording, and the rest."""
        digits = self._cut_off_ns().bit_length()
        orphans = self.counts[NO_COMMAND:NO_BIO] + (0 if self.issues_only else self.counts[NO_BIO:])
        return int(orphans[: digits + 1].sum()), int(orphans[digits + 1 :].sum())

    def losses(self) -> tuple[int, dict[str, int], list[str]]:
        """Return the events without a partner, what is lost by why, and a sentence for each loss that should not be."""
        orphans_of_start, orphans = self.orphans()
        dropped = {
            "in flight when the recording began": orphans_of_start,
            "in flight when the recording ended": self.in_flight,
            "commands without data": int(self.counts[EMPTY]),
            "events 36 years or more after the first": self.decades_late,
        }
        warnings = []
        if self.counts[FAILED]:
            warnings.append(f"{self.counts[FAILED]:,} completions report an error of the device")
        if self.decades_late:
            warnings.append(f"{self.decades_late:,} events are 36 years or more after the first and were left out")
        if self.given_up:
            warnings.append(f"{self.given_up:,} requests never completed; their latency is not known")
        warnings += self._twice()
        return orphans + self.given_up, dropped, warnings

    def _twice(self) -> list[str]:
        """Say which devices complete requests that none of them was issued, beside some that were: device mapper and
        md hand theirs on.
        """
        names = map(device_name, self.devices)
        devices = list(zip(names, self._done.tolist(), self._issued.tolist(), strict=True))
        issuing = ", ".join(name for name, _, issued in devices if issued)
        return [
            f"device {name}: none of its {done:,} requests shows an issue, as of device mapper or md, which hand them"
            f" on: if {issuing} got them, each is counted twice; record one of these devices"
            for name, done, issued in devices
            if done >= ENOUGH_DONE and not issued and issuing
        ]

    def _decide(self) -> None:
        if self._decided:
            return
        self._decided = True
        self.issues_only = bool(self._scalars[S_FIRST_QUEUE_NS] < 0)

    def _cut_off_ns(self) -> int:
        return max(2 * self._longest_ns, CUT_OFF_NS)

    def _within_decades(self, events: Table, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the part of *order* whose times a bundle holds, and count the others."""
        if not len(order):
            return order
        if self._latest_ns < 0:
            self._latest_ns = min(int(events[order[0], TIME_NS]), 2**62) + MOST
        if events[order[-1], TIME_NS] <= self._latest_ns:
            return order
        kept = int(np.searchsorted(events[order, TIME_NS], self._latest_ns, "right"))
        self.decades_late += len(order) - kept
        return order[:kept]

    def _make_room_for_names(self, events: Table) -> None:
        known = np.count_nonzero(self._names[:, 0])
        wanted = 2 * (known + np.count_nonzero(events[:, ACTION] == NAME)) + 2
        if wanted > len(self._names):
            old = self._names[self._names[:, 0] != 0]
            self._names = np.zeros((1 << int(2 * wanted).bit_length(), 2), np.int64)
            for entry in old:
                self._names[name_slot(self._names, int(entry[0]) - 1)] = entry

    def _make_room_for_rows(self) -> Iterator[Requests]:
        base, head, size = int(self._scalars[S_BASE]), int(self._scalars[S_HEAD]), len(self._rows.ring)
        if head - base <= size - size // 4:
            return
        if size < MAX_ROWS:
            grown = np.empty((2 * size, ROW_COLUMNS), np.int64)
            numbers = np.arange(base, head)
            grown[numbers & (2 * size - 1)] = self._rows.ring[numbers & (size - 1)]
            self._rows = self._rows._replace(ring=grown)
        else:
            self.given_up += give_up(self._rows, base + size // 4, 2**63 - 1, False, self.issues_only)
            yield from self._hand_on()

    def _hand_on(self) -> Iterator[Requests]:
        ring, base, stop = self._rows.ring, int(self._scalars[S_BASE]), finished(self._rows)
        order = np.arange(base, stop) & (len(ring) - 1)
        times = ring[order, R_TIME]
        if np.any(times[1:] < times[:-1]):
            order = order[np.argsort(times, kind="stable")]
        at = 0
        while at < len(order):
            self._devices, self._streams = _with_room(self._devices), _with_room(self._streams)
            at, self._filled, longest_ns = copy_out(
                self._rows,
                order,
                at,
                self.zero_ns,
                self.issues_only,
                self._block,
                self._filled,
                self._devices,
                self._streams,
            )
            self._longest_ns = max(self._longest_ns, int(longest_ns))
            if self._filled == len(self._block.time_ns):
                yield self._take_block()
        self._scalars[S_BASE] = stop

    def _take_block(self) -> Requests:
        filled, self._filled = self._filled, 0
        block = Requests(**{name: column[:filled] for name, column in self._block._asdict().items()})
        devices = int(self._devices.known[0])
        done, issued = (
            np.bincount(block.file[ns >= 0], minlength=devices) for ns in (block.latency_ns, block.issue_ns)
        )
        done[: len(self._done)] += self._done
        issued[: len(self._issued)] += self._issued
        self._done, self._issued = done, issued
        return block


NAME_BYTES = 16
_NOTHING = np.empty((0, EVENT_COLUMNS), np.int64)


class ProcessNames:
    """The process names of a recording, by number in the order in which they were met."""

    def __init__(self) -> None:
        """Know no name yet."""
        self.texts: list[str] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, raw: bytes) -> int:
        """Return the number of a NUL-padded name; what cannot be printed becomes a question mark."""
        raw = raw.split(b"\0", 1)[0]
        if raw not in self._numbers:
            self._numbers[raw] = len(self.texts)
            text = raw.decode(errors="replace")
            self.texts.append("".join(letter if letter.isprintable() else "?" for letter in text))
        return self._numbers[raw]


class EventFile:
    """The events of one file, in time order.

    ``reach_ns`` is how far in time it is read: no event before ``reach_ns - MAX_DISORDER_NS`` is to come.
    """

    def __init__(self, path: Path, chunk_bytes: int, names: ProcessNames, hashing: Executor) -> None:
        """Open *path*; raises TraceError when it cannot be."""
        self.path = path
        self.finished = False
        self.read_bytes = 0
        self.readable = False
        self.counts = np.zeros(SCAN_COUNTS, np.int64)
        self.counts[HIGHEST_NS] = -1
        self._chunk_bytes = chunk_bytes
        self._names = names
        self._hashing = hashing
        self._hash = hashlib.sha256()
        self._hashed: Future[None] | None = None
        self._sequences = np.zeros((MAX_CPUS, 3), np.int64)
        self._events = _NOTHING
        self._buffer = np.empty(chunk_bytes + MAX_RECORD_BYTES + WORD_BYTES, np.uint8)
        self._words = words_of(self._buffer)
        self._rest = self._buffer[:0]  # what of it is not scanned yet
        self._big = False
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise _unreadable(path, error) from None

    @property
    def reach_ns(self) -> int:
        """The latest time read."""
        return int(self.counts[HIGHEST_NS])

    @property
    def lost_events(self) -> int:
        """How many events the kernel could not keep: the holes in the sequence numbers of each CPU.

        A file of several devices (each counts on its own) can hide such holes.
        """
        lowest, highest, seen = self._sequences.T
        return int(np.maximum(highest - lowest + 1 - seen, 0)[seen > 0].sum())

    def hash(self) -> str:
        """Return the hash of the whole file, once it is read (SHA-256, hexadecimal)."""
        if self._hashed:
            self._hashed.result()
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read_chunk(self) -> None:
        """Read and scan the next chunk; at the end of the file set ``finished``."""
        if self._hashed:
            self._hashed.result()  # the buffer is free again
        self._buffer[: self._rest.size] = self._rest.copy()
        begin = self._rest.size
        try:
            count = self._file.readinto(self._buffer[begin : begin + self._chunk_bytes].data)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        chunk = self._buffer[begin : begin + count]
        self._hashed = self._hashing.submit(self._hash.update, chunk.data)
        if self.read_bytes == 0:
            self._begin(chunk)
        self.read_bytes += count
        self.finished = count == 0 or not self.readable
        if self.readable and begin + count > 0:  # an empty array is of another type, and would be compiled for
            self._scan(self._buffer[: begin + count])

    def take_until(self, limit_ns: int) -> Table:
        """Hand over the events up to *limit_ns*."""
        stop = int(np.searchsorted(self._events[:, TIME_NS], limit_ns, side="right"))
        taken, self._events = self._events[:stop], self._events[stop:]
        return taken

    def _begin(self, chunk: Bytes) -> None:
        """Find out whether there is any record, and the byte order of the first."""
        words = self._words[: chunk.size]
        little = find_header(words, 0, False)
        big = find_header(words if little < 0 else words[:little], 0, True)
        self.readable, self._big = max(little, big) >= 0, big >= 0
        if not self.readable:
            self.counts[LOST_BYTES] += self.path.stat().st_size
            self.counts[DAMAGED_PLACES] += chunk.size > 0

    def _scan(self, data: Bytes) -> None:
        events = np.empty((data.size // HEADER_BYTES_7 + 1, EVENT_COLUMNS), np.int64)
        done, written, names, behind = scan(
            self._words[: data.size], self.finished, self._big, self._sequences, events, self.counts
        )
        events = events[:written]
        if names:
            rows = np.flatnonzero(events[:, ACTION] == NAME)
            texts = (data[at : at + NAME_BYTES].tobytes() for at in events[rows, EXTRA].tolist())
            events[rows, EXTRA] = [self._names.number(text) for text in texts]
        self._rest = data[done:]
        self._events = np.concatenate([self._events, events]) if len(self._events) else events
        if behind:
            self._events = self._events[np.argsort(self._events[:, TIME_NS], kind="stable")]


def _unreadable(path: Path, error: OSError) -> TraceError:
    return TraceError(f"{path}: cannot be read ({reason(error)}); give a file that blktrace wrote and you may read")


Order = NDArray[np.intp]
Progress = Callable[[int, int], None]

#: How files of the known versions begin, in either byte order.
MAGICS = tuple((MAGIC | version).to_bytes(4, order) for version in (7, 8) for order in ("little", "big"))
#: All files together are read so much at a time.
CHUNK_BYTES = 4 << 20
MIN_CHUNK_BYTES = 256 << 10
_REMEDY = "give the files that blktrace wrote, or a dump that `blkparse -d` wrote"


ISSUES_ONLY = (
    "no queue event is recorded: times and latencies begin when the device got the command, processes are not known"
)


def read_blktrace(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of one recording to *writer* and return what the manifest says of it.

    *paths* are its files or base names, see :func:`find_parts`. Memory does not grow with their length. *progress* is
    called with the bytes read and the bytes there are. Raises TraceError when nothing in them is readable.
    """
    parts = list(dict.fromkeys(part for path in paths for part in find_parts(path)))
    names, window, purposes = ProcessNames(), QueueWindow(), Purposes()
    chunk_bytes = max(CHUNK_BYTES // max(len(parts), 1), MIN_CHUNK_BYTES)
    with ExitStack() as stack:
        hashing = stack.enter_context(ThreadPoolExecutor(1, "blktrace-hash"))
        files = [EventFile(part, chunk_bytes, names, hashing) for part in parts]
        for file in files:
            stack.callback(file.close)
        for events, order in _merged(files, progress):
            for block in window.add(events, order):
                write_rows(block, writer, window, names, purposes)
        _refuse_nothing(files, window)
        for block in window.end():
            write_rows(block, writer, window, names, purposes)
        source_files = [{"name": file.path.name, "sha256": file.hash()} for file in files if file.readable]
    unmatched, dropped, warnings = _losses(files, window)
    return {
        "source_format": "blktrace",
        "source_files": source_files,
        "unmatched": unmatched,
        "dropped": dropped,
        "inferred": [ISSUES_ONLY] * window.issues_only + purposes.inferred,
        "warnings": warnings,
        "host": {"clock_start_ns": window.zero_ns},
    }


def _merged(files: Sequence[EventFile], progress: Progress | None) -> Iterator[tuple[Table, Order]]:
    """Yield events of all files, and their order in time; at one time, those of the first file come first."""
    total_bytes = sum(file.path.stat().st_size for file in files)
    while True:
        unfinished = [file for file in files if not file.finished]
        if unfinished:
            min(unfinished, key=lambda file: file.reach_ns).read_chunk()
            unfinished = [file for file in files if not file.finished]
        limit_ns = min((file.reach_ns - MAX_DISORDER_NS for file in unfinished), default=2**63 - 1)
        taken = [events for file in files if len(events := file.take_until(limit_ns))]
        if taken:
            events = taken[0] if len(taken) == 1 else np.concatenate(taken)
            yield events, np.arange(len(events)) if len(taken) == 1 else np.argsort(events[:, TIME_NS], kind="stable")
        if progress:
            progress(sum(file.read_bytes for file in files), total_bytes)
        if not unfinished:
            return


def write_rows(
    block: Requests, writer: RequestWriter, window: QueueWindow, names: ProcessNames, purposes: Purposes
) -> None:
    """Write one block that *window* yielded, with the names of its devices and processes, and its purposes."""
    for device in window.devices[len(writer.file_names) :]:
        writer.file_names.append(device_name(device))
    for pid, name in window.streams[len(writer.stream_names) :]:
        writer.stream_names.append(f"{names.texts[name]} {pid}" if name >= 0 else f"pid {pid}")
    purposes.fill(block, writer.file_names, writer.stream_names)
    writer.append(block)


def _refuse_nothing(files: Sequence[EventFile], window: QueueWindow) -> None:
    """Raise TraceError when there is not one request to write."""
    if window.begun:
        return
    first = files[0].path
    if not any(file.read_bytes for file in files):
        raise TraceError(f"{first}: is empty; {_REMEDY}")
    if not any(file.counts[RECORDS] for file in files):
        with first.open("rb") as file:
            begins = file.read(8)
        raise TraceError(f"{first}: at byte 0 is {begins!r}, and no blktrace record follows; {_REMEDY}")
    records = sum(int(file.counts[RECORDS]) for file in files)
    raise NoRequestError(
        f"{first}: holds {records:,} records but no queued or issued request (Q or D); record again without an action"
        " mask"
    )


def _losses(files: Sequence[EventFile], window: QueueWindow) -> tuple[int, dict[str, int], list[str]]:
    """Return the events without a partner, what is lost by why, and a sentence for each loss that should not be."""
    unmatched, of_window, more_warnings = window.losses()
    counted = np.sum([file.counts for file in files], axis=0)
    lost_events = sum(file.lost_events for file in files)
    everything = {
        **of_window,
        "events lost while recording": lost_events,
        "bytes that are no records": int(counted[LOST_BYTES]),
        "events with impossible values": int(counted[IMPOSSIBLE]),
        "events out of time order": int(counted[OUT_OF_ORDER]),
    }
    warnings = []
    if lost_events:
        warnings.append(f"{lost_events:,} events were lost while recording; record again with larger buffers (-b, -n)")
    for file in files:
        if file.counts[DAMAGED_PLACES]:
            warnings.append(
                f"{file.path.name}: {file.counts[LOST_BYTES]:,} bytes at {file.counts[DAMAGED_PLACES]:,} places are no "
                "records and were left out"
                + "; it ends within a record: give the whole file"
                * int(file.counts[IN_DAMAGE])
            )
        if file.counts[IMPOSSIBLE]:
            warnings.append(
                f"{file.path.name}: {file.counts[IMPOSSIBLE]:,} events have impossible values and were left out"
            )
        if file.counts[OUT_OF_ORDER]:
            warnings.append(
                f"{file.path.name}: {file.counts[OUT_OF_ORDER]:,} events lie more than {MAX_DISORDER_NS / 1e9} s before"
                " those above them and were left out; are these several recordings in one file?"
            )
    return unmatched, {why: count for why, count in everything.items() if count}, warnings + more_warnings
