"""What an engine is fed: blocks of commands in the order in which they arrive."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Commands:
    """A block of commands, columns of equal length in time order.

    ``time_ns`` and ``intended_ns`` (when it should have started; latency counts from there), ``offset_bytes`` and
    ``length_bytes`` are int64; ``station`` int32; ``op`` and ``category`` uint8.
    """

    time_ns: NDArray[np.int64]
    intended_ns: NDArray[np.int64]
    station: NDArray[np.int32]
    op: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    category: NDArray[np.uint8]

    def __len__(self) -> int:
        """Count the commands."""
        return len(self.time_ns)


@dataclass(frozen=True)
class Outcome:
    """What an engine leaves behind besides metrics and plant."""

    last_arrival_ns: int
    end_ns: int  # when the last request was done
    arrived: int
    left: int  # requests that came out; equal to arrived in a sound run
    requests: int  # commands and everything that stations made of them
    unfinished: NDArray[np.int64]  # slots of the requests that are left: nobody waits for them
    done_ns: NDArray[np.int64] | None  # completion of each command, in arrival order, when it was kept
