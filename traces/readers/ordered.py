"""Puts requests in order of time, however many there are and however they were written: sorted runs on disk, merged."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.bundle import Requests
from tiersim.traces.schema import NOT_MEASURED, UNKNOWN
from tiersim.units import NS_PER_S

#: One request: its time on the source's clock, in ns from any origin, and what the source says of it.
ROW = np.dtype(
    [
        ("time_ns", np.int64),
        ("offset_bytes", np.int64),
        ("length_bytes", np.int64),
        ("latency_ns", np.int64),
        ("file", np.int32),
        ("stream", np.int32),
        ("op", np.uint8),
        ("flags", np.uint8),
    ]
)
Rows = NDArray[Any]

#: So many rows are sorted, and at most so many are read back, at a time; of many runs fewer of each.
ROWS_PER_RUN = 1 << 20
ROWS_PER_READ = 1 << 14
LEAST_ROWS_PER_READ = 1 << 8


def new_rows(count: int) -> Rows:
    """Return *count* rows with nothing in them: no stream, no latency, no flag."""
    rows = np.zeros(count, ROW)
    rows["stream"] = -1
    rows["latency_ns"] = NOT_MEASURED
    return rows


def requests_of(rows: Rows, zero_ns: int) -> Requests:
    """Return *rows* as requests, copied, with times since *zero_ns*; of unknown purpose, and nobody knows when they
    were issued.
    """
    count = len(rows)
    return Requests(
        time_ns=rows["time_ns"] - zero_ns,
        op=rows["op"].copy(),
        file=rows["file"].copy(),
        offset_bytes=rows["offset_bytes"].copy(),
        length_bytes=rows["length_bytes"].copy(),
        stream=rows["stream"].copy(),
        purpose=np.full(count, UNKNOWN, np.uint8),
        issue_ns=np.full(count, NOT_MEASURED, np.int64),
        command=np.full(count, NOT_MEASURED, np.int64),
        latency_ns=rows["latency_ns"].copy(),
        flags=rows["flags"].copy(),
    )


#: A row that is earlier than the one before it in its file, by from so much to so much, says that a clock was set:
#: writers are late by less, damage is by more. A file with more such steps is in no order of time.
_SET_BACK_NS, _DAY_NS, _MOST_STEPS_BACK = 60 * NS_PER_S, 86_400 * NS_PER_S, 3


class StepsBack:
    """By how much times go back in a file, which is written as things happen."""

    def __init__(self) -> None:
        """Begin at the first row of a file."""
        self._steps_ns: list[int] = []
        self._last_ns: int | None = None

    def watch(self, times_ns: NDArray[np.int64]) -> None:
        """Take in the next rows, in the order of the file."""
        if len(times_ns):
            back_ns = -np.diff(times_ns, prepend=times_ns[0] if self._last_ns is None else self._last_ns)
            steps_ns = back_ns[(back_ns >= _SET_BACK_NS) & (back_ns < _DAY_NS)]
            self._steps_ns += steps_ns[: _MOST_STEPS_BACK + 1].tolist()
            self._last_ns = int(times_ns[-1])

    def minutes(self) -> int:
        """Return by how many minutes a clock was set back at most; 0 where none was."""
        few = 0 < len(self._steps_ns) <= _MOST_STEPS_BACK
        return round(max(self._steps_ns) / (60 * NS_PER_S)) if few else 0


class OrderedRows:
    """Takes rows in any order and gives them back in order of time; of one time, in the order in which they came.

    Memory does not grow with their number: from *rows_per_run* (``ROWS_PER_RUN``) on they lie in *folder*, as they are.
    Rows have a field ``time_ns``.
    """

    def __init__(self, folder: Path, rows_per_run: int | None = None) -> None:
        """Begin with no row; *folder* must exist and outlive this."""
        self._folder = folder
        self._rows_per_run = rows_per_run or ROWS_PER_RUN
        self._held: list[Rows] = []
        self._held_rows = 0
        self._runs: list[_Run] = []

    def add(self, rows: Rows) -> None:
        """Take rows; raises OSError when they cannot be stored."""
        while len(rows):
            some = rows[: self._rows_per_run - self._held_rows]
            rows = rows[len(some) :]
            self._held.append(some)
            self._held_rows += len(some)
            if self._held_rows == self._rows_per_run:
                self._store()

    def blocks(self) -> Iterator[Rows]:
        """Yield all rows in order of time, in blocks of about *rows_per_run*; once, if any were stored."""
        if not self._runs:
            if self._held_rows:
                yield _sorted(self._held)
            return
        if self._held_rows:
            self._store()
        each = self._rows_per_run // len(self._runs)
        for run in self._runs:
            run.rows_per_read = min(max(each, LEAST_ROWS_PER_READ), ROWS_PER_READ)
        for block in _merged(self._runs):
            self._held.append(block)
            self._held_rows += len(block)
            if self._held_rows >= self._rows_per_run:
                yield self._take()
        if self._held_rows:
            yield self._take()

    def _store(self) -> None:
        number = len(self._runs)
        self._runs.append(_Run(self._folder / str(number), number, self._take()))

    def _take(self) -> Rows:
        rows = _sorted(self._held)
        self._held, self._held_rows = [], 0
        return rows


class _Run:
    """Sorted rows on disk, some of them read."""

    def __init__(self, path: Path, number: int, rows: Rows) -> None:
        self.number = number
        self.first = (int(rows["time_ns"][0]), number)
        self.last_read = self.first
        self.is_all_read = False
        self.rows_per_read = ROWS_PER_READ
        self._path = path
        self._read_rows = 0
        self._rows = rows[:0].copy()
        rows.tofile(path)

    def refill(self) -> bool:
        """Read on if no row is at hand; tell whether one is now."""
        if not len(self._rows) and not self.is_all_read:
            at = self._read_rows * self._rows.itemsize
            self._rows = np.fromfile(self._path, self._rows.dtype, self.rows_per_read, offset=at)
            self._read_rows += len(self._rows)
            self.is_all_read = len(self._rows) < self.rows_per_read
            if self.is_all_read:
                self._path.unlink()
            else:
                self.last_read = (int(self._rows["time_ns"][-1]), self.number)
        return len(self._rows) > 0

    def take(self, limit: tuple[int, int] | None) -> Rows:
        """Hand over the rows up to the last one read of the run that *limit* tells; without it, all."""
        if limit is None:
            stop = len(self._rows)
        else:
            its_time_too = self.number <= limit[1]
            stop = int(np.searchsorted(self._rows["time_ns"], limit[0], side="right" if its_time_too else "left"))
        taken, self._rows = self._rows[:stop], self._rows[stop:]
        return taken


def _merged(runs: list[_Run]) -> Iterator[Rows]:
    waiting = sorted(runs, key=lambda run: run.first)
    reading: list[_Run] = []
    while waiting or reading:
        # What lies on disk comes behind the limit: at a later time, or at its time in the same run or a later one.
        limit = min((run.last_read for run in reading if not run.is_all_read), default=None)
        if waiting and (limit is None or waiting[0].first <= limit):
            reading.append(waiting.pop(0))
            reading.sort(key=lambda run: run.number)
        else:
            yield _sorted([run.take(limit) for run in reading])
        reading = [run for run in reading if run.refill()]


def _sorted(parts: list[Rows]) -> Rows:
    rows = np.concatenate(parts)
    times = rows["time_ns"]
    return rows if (times[1:] >= times[:-1]).all() else rows[np.argsort(times, kind="stable")]
