"""How deep throughput falls while a checkpoint runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Seconds over which throughput is counted: shorter ones show the slices of the cap, longer ones hide a stall.
WINDOW_S = 5.0


@dataclass(frozen=True)
class Span:
    """A checkpoint, in seconds after the run began."""

    start_s: float
    end_s: float


def throughput(ended_s: NDArray[np.float64], run_s: float) -> NDArray[np.float64]:
    """Return transactions per second in each whole window of a run, from when each transaction ended."""
    windows = int(run_s / WINDOW_S)
    counts, _ = np.histogram(ended_s, bins=windows, range=(0.0, windows * WINDOW_S))
    return counts / WINDOW_S


def dips(per_s: NDArray[np.float64], checkpoints: Sequence[Span]) -> list[float]:
    """Return for each checkpoint the least throughput of a window between its start and its end, as a share of the
    run's mean.

    Windows that lie wholly between start and end count; a checkpoint without one has no dip and is left out, and so is
    one that the run does not see end.
    """
    begins = np.arange(len(per_s)) * WINDOW_S
    found = []
    for one in checkpoints:
        within = (begins >= one.start_s) & (begins + WINDOW_S <= one.end_s)
        if one.end_s <= len(per_s) * WINDOW_S and within.any():
            found.append(float(per_s[within].min() / per_s.mean()))
    return found


def scatter(values: Sequence[float]) -> float:
    """Return the difference of the largest and the least, 0 of none."""
    return max(values) - min(values) if values else 0.0
