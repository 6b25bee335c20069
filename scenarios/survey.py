"""What must be known of a trace before it can be replayed anywhere: found in one pass, shared by all scenarios.

All commands of a trace in memory, as they were recorded: what dependencies are inferred from.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.grouping import rows_of_each
from tiersim.histogram import FINE_BITS, bins, count_durations
from tiersim.kernel import kernel, table_set
from tiersim.operations import OPERATIONS
from tiersim.simulator.categories import CATEGORIES, categorise
from tiersim.simulator.result import measured_latencies
from tiersim.traces.bundle import Bundle, Manifest, Requests
from tiersim.traces.holes import MOST_HOLES, quiet
from tiersim.traces.schema import CHECKPOINT_WRITE, FLAG_FUA, FLUSH, LOG_WRITE, NOT_MEASURED, REQUEST_COLUMNS, WRITE

_CODES = {"op": np.uint8, "file": np.int32, "stream": np.int32, "purpose": np.uint8, "flags": np.uint8}


@dataclass(frozen=True)
class RecordedCommands:
    """Commands in order of arrival, columns of equal length; times in ns of the recording.

    ``stream`` is the code of who queued it, -1 if that was not recorded; ``latency_ns`` counts from ``intended_ns`` and
    is -1 where it was not measured.
    """

    time_ns: NDArray[np.int64]
    intended_ns: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    op: NDArray[np.uint8]
    file: NDArray[np.int32]
    stream: NDArray[np.int32]
    purpose: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]

    def __len__(self) -> int:
        """Count the commands."""
        return len(self.time_ns)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns, each once."""
        return sum(int(column.nbytes) for column in {id(column): column for column in vars(self).values()}.values())

    @property
    def columns(self) -> "CommandColumns":
        """The columns as kernels take them."""
        return CommandColumns(**vars(self))

    def take(self, rows: NDArray[Any]) -> "RecordedCommands":
        """The commands at *rows* (a mask or indices), in that order."""
        return RecordedCommands(**{name: getattr(self, name)[rows] for name in RecordedCommands.__dataclass_fields__})

    @property
    def is_log_write(self) -> NDArray[np.bool_]:
        """Whether each command writes to the log."""
        found: NDArray[np.bool_] = (self.op == WRITE) & (self.purpose == LOG_WRITE)
        return found

    @property
    def is_log_flush(self) -> NDArray[np.bool_]:
        """Whether each command flushes the log."""
        found: NDArray[np.bool_] = (self.op == FLUSH) & (self.purpose == LOG_WRITE)
        return found


@table_set
class CommandColumns(NamedTuple):
    """The columns of :class:`RecordedCommands`, in its order; kernels take no dataclass."""

    time_ns: NDArray[np.int64]
    intended_ns: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    op: NDArray[np.uint8]
    file: NDArray[np.int32]
    stream: NDArray[np.int32]
    purpose: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]


class JoinedCommands:
    """Takes the blocks of a trace, of *rows* requests at most, and joins what went to the device as one command (about
    60 bytes a command).
    """

    def __init__(self, rows: int) -> None:
        """Make room; memory that is not used yet costs nothing."""
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty(rows, np.int64 if name.endswith(("_ns", "_bytes")) else _CODES[name])
            for name in RecordedCommands.__dataclass_fields__
        }
        self._commands = 0
        self._are_joined = False  # until then commands arrive when they should, and one column has both times

    def add(self, block: Requests) -> None:
        """Take the next block."""
        arrival, joined, intended = merge_commands(block)
        if arrival is not intended and not self._are_joined:
            self._are_joined = True
            self._columns["intended_ns"][: self._commands] = self._columns["time_ns"][: self._commands]
        own = slice(self._commands, self._commands + len(joined))
        special = {"time_ns": arrival, "intended_ns": intended if self._are_joined else None}
        for name, column in self._columns.items():
            values = special[name] if name in special else getattr(joined, name)
            if values is not None:
                column[own] = values
        self._commands = own.stop

    def all(self) -> RecordedCommands:
        """Return the commands of all blocks."""
        columns = {name: column[: self._commands] for name, column in self._columns.items()}
        if not self._are_joined:
            columns["intended_ns"] = columns["time_ns"]
        whole = RecordedCommands(**columns)
        if (whole.time_ns[1:] < whole.time_ns[:-1]).any():  # a command that was gathered across two blocks
            whole = whole.take(np.argsort(whole.time_ns, kind="stable"))
        return whole


def load_recorded(bundle: Bundle) -> RecordedCommands:
    """Read the whole trace, see :class:`JoinedCommands`."""
    gathered = JoinedCommands(bundle.rows)
    for block in bundle.blocks():
        gathered.add(block)
    return gathered.all()


class Merged(NamedTuple):
    """A block of commands: when each arrives, when it should have started, and what it does."""

    arrival_ns: NDArray[np.int64]
    intended_ns: NDArray[np.int64]
    op: NDArray[np.uint8]
    file: NDArray[np.int32]
    purpose: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]


def merged_blocks(blocks: Iterable[Requests]) -> Iterator[Merged]:
    """Yield requests as blocks of commands."""
    for block in blocks:
        arrival, rows, intended = merge_commands(block)
        yield Merged(arrival, intended, rows.op, rows.file, rows.purpose, rows.offset_bytes, rows.length_bytes)


def merge_commands(block: Requests) -> tuple[NDArray[np.int64], Requests, NDArray[np.int64]]:
    """Join the rows that went to the device as one command: (arrival, joined rows, intended start).

    A command can arrive when the last of its rows was queued; latency counts from the first. Rows of a command lie next
    to each other on the device, so the joined row reaches from the lowest to the highest address.
    """
    single = Requests(**{name: getattr(block, name) for name in Requests.__dataclass_fields__})
    numbered = block.command >= 0
    commands, first, counts = np.unique(block.command[numbered], return_index=True, return_counts=True)
    if not (counts > 1).any():
        return single.time_ns, single, single.time_ns
    rows = np.flatnonzero(numbered)
    group = np.searchsorted(commands, block.command[rows])
    low, end, last = (np.zeros(len(commands), np.int64) for _ in range(3))
    low[:] = np.iinfo(np.int64).max
    np.minimum.at(low, group, block.offset_bytes[rows])
    np.maximum.at(end, group, block.offset_bytes[rows] + block.length_bytes[rows])
    np.maximum.at(last, group, block.time_ns[rows])
    offset, length, arrival = block.offset_bytes.copy(), block.length_bytes.copy(), block.time_ns.copy()
    leaders = rows[first]
    offset[leaders], length[leaders], arrival[leaders] = low, end - low, last
    kept = np.ones(len(block), bool)
    kept[rows] = False
    kept[leaders] = True
    order = np.flatnonzero(kept)
    order = order[np.argsort(arrival[order], kind="stable")]
    columns: dict[str, Any] = {name: getattr(block, name)[order] for name in Requests.__dataclass_fields__}
    columns |= {"offset_bytes": offset[order], "length_bytes": length[order]}
    return arrival[order], Requests(**columns), block.time_ns[order]


#: A pause in a checkpoint's writes is a nap between two bursts (PostgreSQL: 0.1 s); a longer one is the time until the
#: next.
PAUSE_NS = 1_000_000_000
#: Fewer writes together are not called a checkpoint.
FEWEST_WRITES = 32


@dataclass(frozen=True)
class Checkpoint:
    """The span of one checkpoint's writes."""

    start_ns: int
    end_ns: int
    writes: int


class CheckpointTimes:
    """Collects the times of checkpoint writes, block by block in time order."""

    def __init__(self) -> None:
        """Know of no write yet."""
        self._found: list[Checkpoint] = []

    def add(self, time_ns: NDArray[np.int64]) -> None:
        """Take the times of more writes."""
        if not len(time_ns):
            return
        for part in np.split(time_ns, np.flatnonzero(np.diff(time_ns) > PAUSE_NS) + 1):
            start, end, writes = int(part[0]), int(part[-1]), len(part)
            if self._found and start - self._found[-1].end_ns <= PAUSE_NS:
                last = self._found.pop()
                start, writes = last.start_ns, last.writes + writes
            self._found.append(Checkpoint(start, end, writes))

    def all(self) -> tuple[Checkpoint, ...]:
        """What counts as a checkpoint, in order."""
        return tuple(found for found in self._found if found.writes >= FEWEST_WRITES)


#: Touched addresses are noted, and packed, in extents of this size.
_EXTENT_BITS = 20
EXTENT_BYTES = 1 << _EXTENT_BITS
#: Extents between the first and the last that are touched, for each request.
_DENSE = 4


@dataclass(frozen=True)
class FileUse:
    """What a trace does with one of its files."""

    name: str
    end_bytes: int  # behind the last byte touched
    is_log: bool  # its writes are log writes
    extents: NDArray[np.int64]  # numbers of the touched extents, ascending


@dataclass(frozen=True)
class TraceSurvey:
    """One trace, surveyed."""

    path: Path
    manifest: Manifest
    requests: int
    first_ns: int  # when the first request was queued
    span_ns: int  # over which requests were queued; what came after the last of them is not load
    quiet_ns: int  # of them in holes, see :func:`tiersim.traces.holes.quiet`
    content_hash: str  # of the rows and of nothing else: the same trace has the same hash anywhere
    measured: dict[str, Any]  # latencies of the recorded hardware by category: of commands, as a run counts them
    measured_requests: int  # those whose latency was measured
    files: tuple[FileUse, ...]  # by file code
    stream_names: tuple[str, ...]  # by stream code
    checkpoints: tuple[Checkpoint, ...]
    stable_writes: tuple[int, ...] = ()  # by file code: writes that had to be on stable storage when they ended (FUA)


def survey(
    bundle: Bundle,
    *,
    progress: Callable[[int, int], None] | None = None,
    also: Callable[[Requests], None] | None = None,
) -> TraceSurvey:
    """Read a trace once; raises TraceError when it holds no requests or is damaged.

    *progress* is called with the rows read and the rows there are, *also* with each block.
    """
    bundle.refuse_without_requests()
    digest = hashlib.blake2b(digest_size=16)
    histograms = np.zeros((len(CATEGORIES), bins(FINE_BITS)), np.int64)
    sums, most_ns = np.zeros((2, len(CATEGORIES)), np.int64)
    files, checkpoints = _Files(), CheckpointTimes()
    rows, first_ns, last_ns, measured = 0, 0, -1, 0
    gaps_ns = np.zeros(0, np.int64)
    stable = np.zeros(0, np.int64)
    for block in bundle.blocks():
        for column in REQUEST_COLUMNS:
            digest.update(np.ascontiguousarray(getattr(block, column.name)).data)
        _, joined, _ = merge_commands(block)
        count_durations(histograms, sums, most_ns, categorise(joined.op, joined.purpose), joined.latency_ns)
        measured += int(np.count_nonzero(block.latency_ns != NOT_MEASURED))
        files.add(block)
        own = np.bincount(block.file[(block.op == WRITE) & (block.flags & FLAG_FUA != 0)], minlength=len(stable))
        own[: len(stable)] += stable
        stable = own
        checkpoints.add(block.time_ns[block.purpose == CHECKPOINT_WRITE])
        if len(block):
            first_ns = first_ns if rows else int(block.time_ns[0])
            own_ns = np.diff(block.time_ns, prepend=last_ns if rows else first_ns)
            longer_ns = own_ns[own_ns > gaps_ns[0]] if len(gaps_ns) == MOST_HOLES else own_ns
            gaps_ns = np.sort(np.concatenate([gaps_ns, longer_ns]))[-MOST_HOLES:]
            last_ns = int(block.time_ns[-1])
        rows += len(block)
        if also is not None:
            also(block)
        if progress is not None:
            progress(rows, bundle.rows)
    if last_ns < 0:
        raise TraceError(f"{bundle.path}: holds no requests; import a recording that does")
    digest.update(json.dumps([bundle.file_names, bundle.stream_names]).encode())
    return TraceSurvey(
        path=bundle.path,
        manifest=bundle.manifest,
        requests=bundle.rows,
        first_ns=first_ns,
        span_ns=last_ns + 1,
        quiet_ns=quiet(gaps_ns, bundle.rows, last_ns - first_ns),
        content_hash=digest.hexdigest(),
        measured=measured_latencies(histograms, sums, most_ns),
        measured_requests=measured,
        files=tuple(files.use(code, name) for code, name in enumerate(bundle.file_names)),
        stream_names=tuple(bundle.stream_names),
        checkpoints=checkpoints.all(),
        stable_writes=tuple(stable.tolist()),
    )


@table_set
class Touched(NamedTuple):
    """What requests with data do with each file."""

    requests: NDArray[np.int64]
    end_bytes: NDArray[np.int64]  # behind the last byte
    first: NDArray[np.int64]  # number of the first extent
    last: NDArray[np.int64]
    is_log: NDArray[np.bool_]


@kernel
def touch(
    offset_bytes: NDArray[np.int64],
    length_bytes: NDArray[np.int64],
    file: NDArray[np.int32],
    purpose: NDArray[np.uint8],
    t: Touched,
) -> None:
    """Fill *t*, which is zeros."""
    for row in range(file.size):
        if length_bytes[row] <= 0:
            continue
        own, end_bytes = file[row], offset_bytes[row] + length_bytes[row]
        first = offset_bytes[row] >> _EXTENT_BITS
        t.first[own] = min(t.first[own], first) if t.requests[own] > 0 else first
        t.last[own] = max(t.last[own], (end_bytes - 1) >> _EXTENT_BITS)
        t.end_bytes[own] = max(t.end_bytes[own], end_bytes)
        t.requests[own] += 1
        if purpose[row] == LOG_WRITE:
            t.is_log[own] = True


@kernel
def count_steps(
    offset_bytes: NDArray[np.int64],
    length_bytes: NDArray[np.int64],
    file: NDArray[np.int32],
    t: Touched,
    starts: NDArray[np.int64],
    steps: NDArray[np.int32],
) -> None:
    """Count in *steps* by how many more requests touch each extent than touch the one before.

    Those of a file are from its first extent on, and begin at *starts*, which is -1 where they are not wanted.
    """
    for row in range(file.size):
        own = file[row]
        if length_bytes[row] <= 0 or starts[own] < 0:
            continue
        place = starts[own] - t.first[own]
        steps[place + (offset_bytes[row] >> _EXTENT_BITS)] += 1
        steps[place + ((offset_bytes[row] + length_bytes[row] - 1) >> _EXTENT_BITS) + 1] -= 1


class _Files:
    """Running account of what is touched in each file."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._logs: set[int] = set()
        self._touched: dict[int, NDArray[np.int64]] = {}

    def add(self, block: Requests) -> None:
        requests, end_bytes, first, last = np.zeros((4, int(block.file.max(initial=-1)) + 1), np.int64)
        t = Touched(requests, end_bytes, first, last, np.zeros(len(requests), np.bool_))
        touch(block.offset_bytes, block.length_bytes, block.file, block.purpose, t)
        behind = last - first + 1
        # to count the requests at each extent of the range takes less than to sort them
        room = np.where(behind <= _DENSE * requests, behind + 1, 0)
        starts = np.where(room > 0, np.cumsum(room) - room, -1)
        steps = np.zeros(int(room.sum()), np.int32)
        count_steps(block.offset_bytes, block.length_bytes, block.file, t, starts, steps)
        sparse = {}
        if (requests[room == 0] > 0).any():
            rows = np.flatnonzero((block.length_bytes > 0) & (room[block.file] == 0))
            for code, own in rows_of_each(block.file[rows]):
                sparse[code] = _extents(block.offset_bytes[rows[own]], block.length_bytes[rows[own]])
        for code in np.flatnonzero(requests).tolist():
            own_steps = steps[starts[code] : starts[code] + room[code]]
            extents = sparse[code] if code in sparse else np.flatnonzero(np.cumsum(own_steps)) + first[code]
            self._ends[code] = max(self._ends.get(code, 0), int(end_bytes[code]))
            known = self._touched.get(code)
            self._touched[code] = extents if known is None else np.union1d(known, extents)
            if t.is_log[code]:
                self._logs.add(code)

    def use(self, code: int, name: str) -> FileUse:
        extents = self._touched.get(code, np.zeros(0, np.int64))
        return FileUse(name, self._ends.get(code, 0), code in self._logs, extents)


def latencies_of_files(bundle: Bundle) -> dict[int, NDArray[np.int64]]:
    """Measured latencies of commands by file code: histograms (operations, fine bins)."""
    found: dict[int, NDArray[np.int64]] = {}
    for block in bundle.blocks():
        _, joined, _ = merge_commands(block)
        for code, own in rows_of_each(joined.file):
            histograms = found.setdefault(code, np.zeros((len(OPERATIONS), bins(FINE_BITS)), np.int64))
            sums, most_ns = np.zeros((2, len(OPERATIONS)), np.int64)
            count_durations(histograms, sums, most_ns, joined.op[own], joined.latency_ns[own])
    return found


def _extents(offset_bytes: NDArray[np.int64], length_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of all extents that requests touch, with those between their first and last byte."""
    first, last = offset_bytes >> _EXTENT_BITS, (offset_bytes + length_bytes - 1) >> _EXTENT_BITS
    order = np.argsort(first)
    first, reached = first[order], np.maximum.accumulate(last[order])
    starts = np.flatnonzero(np.append(True, first[1:] > reached[:-1]))  # of what hangs together
    counts = np.append(reached[starts[1:] - 1], reached[-1]) - first[starts] + 1
    before = np.cumsum(counts) - counts  # extents of those above
    found: NDArray[np.int64] = np.repeat(first[starts] - before, counts) + np.arange(counts.sum())
    return found
