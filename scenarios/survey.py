"""What must be known of a trace before it can be replayed anywhere: found in one pass, shared by all scenarios."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.grouping import rows_of_each
from tiersim.histogram import FINE_BITS, bins, count_durations
from tiersim.operations import OPERATIONS
from tiersim.simulator.categories import CATEGORIES, categorise
from tiersim.simulator.summary import measured_latencies
from tiersim.traces.bundle import Bundle, Manifest, Requests
from tiersim.traces.schema import CHECKPOINT_WRITE, LOG_WRITE, REQUEST_COLUMNS

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


class Checkpoints:
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


def moved(
    checkpoints: tuple[Checkpoint, ...],
    recorded_ns: NDArray[np.int64],
    started_ns: NDArray[np.int64],
    done_ns: NDArray[np.int64],
) -> list[Checkpoint]:
    """The same checkpoints in a run that started and ended their writes (columns of equal length) at other times."""
    found = []
    for checkpoint in checkpoints:
        own = (recorded_ns >= checkpoint.start_ns) & (recorded_ns <= checkpoint.end_ns)
        if own.any():
            found.append(Checkpoint(int(started_ns[own].min()), int(done_ns[own].max()), int(np.count_nonzero(own))))
    return found


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
class Survey:
    """One trace, surveyed."""

    path: Path
    manifest: Manifest
    requests: int
    span_ns: int  # over which requests were queued; what came after the last of them is not load
    content_hash: str  # of the rows and of nothing else: the same trace has the same hash anywhere
    measured: dict[str, Any]  # latencies of the recorded hardware by category
    files: tuple[FileUse, ...]  # by file code
    stream_names: tuple[str, ...]  # by stream code
    checkpoints: tuple[Checkpoint, ...]


def survey(
    bundle: Bundle,
    *,
    progress: Callable[[int, int], None] | None = None,
    also: Callable[[Requests], None] | None = None,
) -> Survey:
    """Read a trace once; raises TraceError when it holds no requests or is damaged.

    *progress* is called with the rows read and the rows there are, *also* with each block.
    """
    bundle.refuse_without_requests()
    digest = hashlib.blake2b(digest_size=16)
    histograms = np.zeros((len(CATEGORIES), bins(FINE_BITS)), np.int64)
    sums = np.zeros(len(CATEGORIES), np.int64)
    files, checkpoints = _Files(), Checkpoints()
    rows, last_ns = 0, -1
    for block in bundle.blocks():
        for column in REQUEST_COLUMNS:
            digest.update(np.ascontiguousarray(getattr(block, column.name)).data)
        count_durations(histograms, sums, categorise(block.op, block.purpose), block.latency_ns)
        files.add(block)
        checkpoints.add(block.time_ns[block.purpose == CHECKPOINT_WRITE])
        last_ns = int(block.time_ns[-1]) if len(block) else last_ns
        rows += len(block)
        if also is not None:
            also(block)
        if progress is not None:
            progress(rows, bundle.rows)
    if last_ns < 0:
        raise TraceError(f"{bundle.path}: holds no requests; import a recording that does")
    digest.update(json.dumps([bundle.file_names, bundle.stream_names]).encode())
    return Survey(
        path=bundle.path,
        manifest=bundle.manifest,
        requests=bundle.rows,
        span_ns=last_ns + 1,
        content_hash=digest.hexdigest(),
        measured=measured_latencies(histograms, sums),
        files=tuple(files.use(code, name) for code, name in enumerate(bundle.file_names)),
        stream_names=tuple(bundle.stream_names),
        checkpoints=checkpoints.all(),
    )


class _Files:
    """Running account of what is touched in each file."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._logs: set[int] = set()
        self._touched: dict[int, NDArray[np.int64]] = {}

    def add(self, block: Requests) -> None:
        data = np.flatnonzero(block.length_bytes > 0)
        for code, own in rows_of_each(block.file[data]):
            rows = data[own]
            first, end = block.offset_bytes[rows], block.offset_bytes[rows] + block.length_bytes[rows]
            self._ends[code] = max(self._ends.get(code, 0), int(end.max()))
            touched = self._touched.get(code, np.zeros(0, np.int64))
            self._touched[code] = np.union1d(touched, _extents(first, end))
            if (block.purpose[rows] == LOG_WRITE).any():
                self._logs.add(code)

    def use(self, code: int, name: str) -> FileUse:
        extents = self._touched.get(code, np.zeros(0, np.int64))
        return FileUse(name, self._ends.get(code, 0), code in self._logs, extents)


def latencies_of_files(bundle: Bundle) -> dict[int, NDArray[np.int64]]:
    """Measured latencies by file code: histograms (operations, fine bins)."""
    found: dict[int, NDArray[np.int64]] = {}
    for block in bundle.blocks():
        for code, own in rows_of_each(block.file):
            histograms = found.setdefault(code, np.zeros((len(OPERATIONS), bins(FINE_BITS)), np.int64))
            count_durations(histograms, np.zeros(len(OPERATIONS), np.int64), block.op[own], block.latency_ns[own])
    return found


def _extents(first_byte: NDArray[np.int64], end_byte: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of all extents that requests touch, with those between their first and last byte."""
    first, last = first_byte >> _EXTENT_BITS, (end_byte - 1) >> _EXTENT_BITS
    lowest = int(first.min())
    behind = int(last.max()) - lowest + 1
    if behind <= _DENSE * len(first):  # to count the requests at each extent of the range takes less than to sort them
        begun, ended = (np.bincount(of - lowest, minlength=behind + 1) for of in (first, last + 1))
        return np.flatnonzero(np.cumsum(begun - ended)) + lowest
    order = np.argsort(first)
    first, reached = first[order], np.maximum.accumulate(last[order])
    starts = np.flatnonzero(np.append(True, first[1:] > reached[:-1]))  # of what hangs together
    counts = np.append(reached[starts[1:] - 1], reached[-1]) - first[starts] + 1
    before = np.cumsum(counts) - counts  # extents of those above
    found: NDArray[np.int64] = np.repeat(first[starts] - before, counts) + np.arange(counts.sum())
    return found
