"""What requests are for, concluded from how files are written and by whom, for sources that do not say."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiersim.grouping import rows_of_each
from tiersim.traces.bundle import Requests
from tiersim.traces.schema import (
    CHECKPOINT_WRITE,
    DATA_READ,
    DATA_WRITE,
    FLAG_SYNC,
    FLUSH,
    LOG_WRITE,
    READ,
    WRITE,
)
from tiersim.units import format_bytes

#: A log is flushed at least once for so many write commands, writes so little at a time, and goes on where it stopped.
WRITES_PER_FLUSH = 2
LOG_WRITE_BYTES = 256 << 10
APPENDING_SHARE = 0.5
#: Fewer write commands say nothing.
ENOUGH_WRITES = 16
#: A checkpointer writes pages in the order of their place (PostgreSQL since 9.6), many at a time, and flushes the file
#: itself when it is through. Background writers never flush, and kernel threads do not either.
CHECKPOINT_WRITES = 64
ASCENDING_SHARE = 0.95


#: Of so many files of a kind it is said one by one why they are taken for that.
_SAID_EACH = 20
_LOG, _DATA = "the log", "data"


class Purposes:
    """Gives each file its purpose once, from the first block in which it is written, and keeps to it."""

    def __init__(self) -> None:
        """Know nothing of any file."""
        self._said: list[str] = []
        self._files = {_LOG: 0, _DATA: 0}
        self._is_log: dict[int, bool] = {}
        self._checkpointers: set[tuple[int, int]] = set()  # stream and file

    @property
    def inferred(self) -> list[str]:
        """Return sentences of what was concluded up to now; of many files one together."""
        more = {what: count - _SAID_EACH for what, count in self._files.items()}
        return [
            *self._said,
            *(
                f"writes of {count:,} more files count as writes of {what}, for similar reasons"
                for what, count in more.items()
                if count > 0
            ),
        ]

    def fill(self, block: Requests, file_names: Sequence[str], stream_names: Sequence[str] = ()) -> None:
        """Set the column ``purpose`` of *block*: reads are data reads, writes and flushes of a log are log writes,
        writes of a checkpointer checkpoint writes, other writes data writes; other flushes, and discards, stay as they
        are.
        """
        block.purpose[block.op == READ] = DATA_READ
        self._tell_logs(block, file_names)
        logs = np.array([file for file, is_log in self._is_log.items() if is_log], np.int32)
        of_log = np.isin(block.file, logs)
        block.purpose[block.op == WRITE] = DATA_WRITE
        block.purpose[of_log & ((block.op == WRITE) | (block.op == FLUSH))] = LOG_WRITE
        self._find_checkpointers(block, np.flatnonzero((block.op == FLUSH) & ~of_log), file_names, stream_names)
        if self._checkpointers:
            own = np.isin(_pairs(block), [_pair(stream, file) for stream, file in self._checkpointers])
            block.purpose[own & (block.op == WRITE)] = CHECKPOINT_WRITE

    def _tell_logs(self, block: Requests, file_names: Sequence[str]) -> None:
        """Look at the files that *block* is the first to write to."""
        written = np.flatnonzero(np.bincount(block.file[block.op == WRITE]))
        new = np.array([file for file in written.tolist() if file not in self._is_log], np.int32)
        if not len(new):
            return
        rows = np.flatnonzero(np.isin(block.file, new) & ((block.op == WRITE) | (block.op == FLUSH)))
        for file, own in rows_of_each(block.file[rows]):
            self._is_log[file], why = looks_like_log(block, rows[own])
            what = _LOG if self._is_log[file] else _DATA
            self._files[what] += 1
            if self._files[what] <= _SAID_EACH:
                self._said.append(f"writes to {_named(file_names[file])} count as writes of {what}: {why}")

    def _find_checkpointers(
        self, block: Requests, flushes: NDArray[np.int64], file_names: Sequence[str], stream_names: Sequence[str]
    ) -> None:
        flushed = {(int(block.stream[row]), int(block.file[row])) for row in flushes if block.stream[row] >= 0}
        wanted = sorted(flushed - self._checkpointers)
        if not wanted:
            return
        pairs = _pairs(block)
        rows = np.flatnonzero(np.isin(pairs, [_pair(stream, file) for stream, file in wanted]))
        places = np.unique(pairs[rows], return_inverse=True)[1]  # in the order of those that are wanted
        for place, own in rows_of_each(places):
            stream, file = wanted[place]
            why = looks_like_checkpoint(block, rows[own])
            if why:
                self._checkpointers.add((stream, file))
                self._said.append(
                    f"writes of {_of_process(stream_names[stream])} to {_named(file_names[file])} count as"
                    f" checkpoint writes: {why}"
                )


def _pair(stream: int, file: int) -> int:
    """Return one number for a stream in a file."""
    return stream << 32 | file


def _pairs(block: Requests) -> NDArray[np.int64]:
    """Return the stream and file of each request as one number; it is negative where the stream is not known."""
    return block.stream.astype(np.int64) << 32 | block.file


def looks_like_log(block: Requests, rows: NDArray[np.int64]) -> tuple[bool, str]:
    """Tell whether *rows* of a block, writes and flushes of one file, are those of a log, and the
    numbers that say so.
    """
    writes = rows[block.op[rows] == WRITE]
    offsets, lengths = block.offset_bytes[writes], block.length_bytes[writes]
    commands = _commands(block.command[writes])
    flushes = len(rows) - len(writes)
    typical_bytes = float(np.median(lengths))
    # A log goes on behind its last write, or writes its last page anew.
    appending = (offsets[1:] >= offsets[:-1]) & (offsets[1:] <= offsets[:-1] + lengths[:-1])
    share = float(appending.mean()) if appending.size else 0.0
    is_log = (
        commands >= ENOUGH_WRITES
        and flushes * WRITES_PER_FLUSH >= commands
        and typical_bytes <= LOG_WRITE_BYTES
        and share >= APPENDING_SHARE
    )
    why = (
        f"{flushes:,} flushes for {commands:,} writes; median size {format_bytes(typical_bytes)}; "
        f"{share:.0%} of the writes continue the previous one"
    )
    return is_log, why


def _of_process(stream: str) -> str:
    """Return the name of a stream; where it ends in a number, that is a process."""
    name, _, pid = stream.rpartition(" ")
    return f"process {name} (PID {pid})" if name and pid.isdecimal() else stream


def _named(file: str) -> str:
    """Return the name of a file; what has the kernel's numbers alone is a block device."""
    return f"device {file}" if re.fullmatch(r"\d+,\d+", file) else file


def looks_like_checkpoint(block: Requests, rows: NDArray[np.int64]) -> str:
    """Return what says that *rows* of a block, a stream's in a file that it flushes, are those of a checkpointer;
    nothing where they are not.
    """
    writes = rows[block.op[rows] == WRITE]
    unwaited = np.count_nonzero(block.flags[writes] & FLAG_SYNC == 0)
    if unwaited < CHECKPOINT_WRITES or 2 * unwaited < len(rows):
        return ""
    ascending = float((np.diff(block.offset_bytes[writes]) > 0).mean())
    if ascending < ASCENDING_SHARE:
        return ""
    return f"no session waits for {unwaited:,} of them; {ascending:.0%} are in ascending order, then a flush follows"


def _commands(commands: NDArray[np.int64]) -> int:
    """Count distinct commands; requests without a number are one each."""
    known = np.sort(commands[commands >= 0], kind="stable")
    return len(commands) - int(np.count_nonzero(known[1:] == known[:-1]))
