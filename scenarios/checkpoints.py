"""When checkpoints ran, from the writes that were taken for theirs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
