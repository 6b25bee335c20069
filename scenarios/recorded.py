"""All commands of a trace in memory, as they were recorded: what dependencies are inferred from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.schema import FLUSH, LOG_WRITE, WRITE

_CODES = {"op": np.uint8, "file": np.int32, "stream": np.int32, "purpose": np.uint8, "flags": np.uint8}


@dataclass(frozen=True)
class Recorded:
    """Commands in order of arrival, columns of equal length; times in ns of the recording.

    ``stream`` is the code of who queued it, -1 if that was not recorded; ``latency_ns`` counts from ``intended_ns`` and
    is
    -1 where it was not measured.
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
        """Bytes of all columns."""
        return sum(int(getattr(self, name).nbytes) for name in Recorded.__dataclass_fields__)

    def take(self, rows: NDArray[Any]) -> "Recorded":
        """The commands at *rows* (a mask or indices), in that order."""
        return Recorded(**{name: getattr(self, name)[rows] for name in Recorded.__dataclass_fields__})

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


class Gathered:
    """Takes the blocks of a trace, of *rows* requests at most, and joins what went to the device as one command (about
    60 bytes a command).
    """

    def __init__(self, rows: int) -> None:
        """Make room; memory that is not used yet costs nothing."""
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty(rows, np.int64 if name.endswith(("_ns", "_bytes")) else _CODES[name])
            for name in Recorded.__dataclass_fields__
        }
        self._commands = 0

    def add(self, block: Requests) -> None:
        """Take the next block."""
        arrival, joined, intended = merge_commands(block)
        own = slice(self._commands, self._commands + len(joined))
        for name, column in self._columns.items():
            column[own] = arrival if name == "time_ns" else intended if name == "intended_ns" else getattr(joined, name)
        self._commands = own.stop

    def all(self) -> Recorded:
        """Return the commands of all blocks."""
        whole = Recorded(**{name: column[: self._commands] for name, column in self._columns.items()})
        if (whole.time_ns[1:] < whole.time_ns[:-1]).any():  # a command that was gathered across two blocks
            whole = whole.take(np.argsort(whole.time_ns, kind="stable"))
        return whole


def load_recorded(bundle: Bundle) -> Recorded:
    """Read the whole trace, see :class:`Gathered`."""
    gathered = Gathered(bundle.rows)
    for block in bundle.blocks():
        gathered.add(block)
    return gathered.all()


class Merged(NamedTuple):
    """A block of commands: when each arrives, the rows that it was joined of, and when it should have started."""

    arrival_ns: NDArray[np.int64]
    rows: Requests
    intended_ns: NDArray[np.int64]


def merged_blocks(bundle: Bundle) -> Iterator[Merged]:
    """Yield the trace as blocks of commands."""
    return (Merged(*merge_commands(block)) for block in bundle.blocks())


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
