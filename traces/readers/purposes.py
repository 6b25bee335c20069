"""What requests are for, concluded from how files are written and by whom, for sources that do not say."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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


class Purposes:
    """Gives each file its purpose once, from the first block in which it is written, and keeps to it."""

    def __init__(self) -> None:
        """Know nothing of any file."""
        self.inferred: list[str] = []
        self._is_log: dict[int, bool] = {}
        self._checkpointers: set[tuple[int, int]] = set()  # stream and file

    def fill(self, block: Requests, file_names: Sequence[str], stream_names: Sequence[str] = ()) -> None:
        """Set the column ``purpose`` of *block*: reads are data reads, writes and flushes of a log are log writes, writes of
        a checkpointer checkpoint writes, other writes data writes; other flushes, and discards, stay as they are.
        """
        block.purpose[block.op == READ] = DATA_READ
        for file in map(int, np.flatnonzero(np.bincount(block.file[block.op == WRITE]))):
            if file not in self._is_log:
                self._is_log[file], why = looks_like_log(block, file)
                what = "the log" if self._is_log[file] else "data"
                self.inferred.append(f"{file_names[file]}: writes are taken for writes of {what} ({why})")
        logs = np.array([file for file, is_log in self._is_log.items() if is_log], np.int32)
        of_log = np.isin(block.file, logs)
        block.purpose[block.op == WRITE] = DATA_WRITE
        block.purpose[of_log & ((block.op == WRITE) | (block.op == FLUSH))] = LOG_WRITE
        self._find_checkpointers(block, np.flatnonzero((block.op == FLUSH) & ~of_log), file_names, stream_names)
        for stream, file in self._checkpointers:
            own = (block.stream == stream) & (block.file == file) & (block.op == WRITE)
            block.purpose[own] = CHECKPOINT_WRITE

    def _find_checkpointers(
        self, block: Requests, flushes: NDArray[np.int64], file_names: Sequence[str], stream_names: Sequence[str]
    ) -> None:
        flushed = {(int(block.stream[row]), int(block.file[row])) for row in flushes if block.stream[row] >= 0}
        for stream, file in sorted(flushed - self._checkpointers):
            own = (block.stream == stream) & (block.file == file)
            writes = own & (block.op == WRITE)
            unwaited = np.count_nonzero(writes & (block.flags & FLAG_SYNC == 0))
            if unwaited < CHECKPOINT_WRITES or 2 * unwaited < np.count_nonzero(own):
                continue
            ascending = float((np.diff(block.offset_bytes[writes]) > 0).mean())
            if ascending >= ASCENDING_SHARE:
                self._checkpointers.add((stream, file))
                self.inferred.append(
                    f"{file_names[file]}: writes of {stream_names[stream]} are taken for checkpoint writes ({unwaited:,} that "
                    f"nobody waits for, {ascending:.0%} in ascending order, then flushes)"
                )


def looks_like_log(block: Requests, file: int) -> tuple[bool, str]:
    """Tell whether the writes of *file* in *block* are those of a log, and the numbers that say so."""
    here = block.file == file
    writes = here & (block.op == WRITE)
    offsets, lengths = block.offset_bytes[writes], block.length_bytes[writes]
    commands = _commands(block.command[writes])
    flushes = int(np.count_nonzero(here & (block.op == FLUSH)))
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
        f"{flushes:,} flushes to {commands:,} write commands, median {format_bytes(typical_bytes)}, "
        f"{share:.0%} go on where the one before stopped"
    )
    return is_log, why


def _commands(commands: NDArray[np.int64]) -> int:
    """Count distinct commands; requests without a number are one each."""
    known = np.sort(commands[commands >= 0], kind="stable")
    return len(commands) - int(np.count_nonzero(known[1:] == known[:-1]))
