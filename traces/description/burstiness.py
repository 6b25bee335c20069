"""How unevenly requests arrive: times between them, and counts in windows.

The index of dispersion for counts is the variance of the number of requests in a window divided by its mean; a Poisson
process has 1 in every window, correlated bursts make it grow with the window (Gusella, IEEE JSAC 9(2), 1991).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.traces.bundle import Requests
from tiersim.units import NS_PER_MS, NS_PER_S

Table = NDArray[np.int64]

WINDOWS_NS = np.array([1, 10, 100, 1000, 10_000], np.int64) * NS_PER_MS
#: A variance of fewer counts says little: its own relative error is about √(2/30), a quarter.
ENOUGH_WINDOWS = 30

#: Columns of a window's figures; the window that is open does not count yet.
OPEN, COUNT_IN_OPEN, REQUESTS, SQUARES, PEAK = range(5)
#: Moments of the times between requests.
GAPS, MEAN_NS, SQUARED_DEVIATIONS = range(3)


@kernel
def count_arrivals(
    time_ns: Table, before_ns: int, first_ns: int, windows_ns: Table, counts: Table, gaps: NDArray[np.float64]
) -> None:
    """Add arrivals, whose times do not fall, to the windows and to the moments of their gaps (Welford's update).

    ``before_ns`` is the arrival before them, -1 for none; ``counts`` int64[windows, 5]; ``gaps`` float64[3].
    """
    for row in range(len(time_ns)):
        now_ns = time_ns[row]
        if before_ns >= 0:
            gap = float(now_ns - before_ns)
            gaps[GAPS] += 1
            deviation = gap - gaps[MEAN_NS]
            gaps[MEAN_NS] += deviation / gaps[GAPS]
            gaps[SQUARED_DEVIATIONS] += deviation * (gap - gaps[MEAN_NS])
        before_ns = now_ns
        for window in range(len(windows_ns)):
            number = (now_ns - first_ns) // windows_ns[window]
            if number != counts[window, OPEN]:
                count = counts[window, COUNT_IN_OPEN]
                counts[window, REQUESTS] += count
                counts[window, SQUARES] += count * count
                counts[window, PEAK] = max(counts[window, PEAK], count)
                counts[window, OPEN] = number
                counts[window, COUNT_IN_OPEN] = 0
            counts[window, COUNT_IN_OPEN] += 1


class Burstiness:
    """Figures of the arrivals of a trace."""

    def __init__(self, tick_ns: int) -> None:
        """Know no arrival; *tick_ns* is the resolution of their times."""
        self._tick_ns = tick_ns
        self._first_ns = self._last_ns = -1
        self._counts = np.zeros((len(WINDOWS_NS), 5), np.int64)
        self._gaps = np.zeros(3)

    def add(self, block: Requests) -> None:
        """Count the arrivals of *block*."""
        if self._first_ns < 0:
            self._first_ns = int(block.time_ns[0])
        count_arrivals(block.time_ns, self._last_ns, self._first_ns, WINDOWS_NS, self._counts, self._gaps)
        self._last_ns = int(block.time_ns[-1])

    def document(self) -> dict[str, Any]:
        """Return the key ``burstiness``."""
        gaps, mean_ns, squared = self._gaps.tolist()
        second = self._counts[int(np.searchsorted(WINDOWS_NS, NS_PER_S))].tolist()
        return {
            "interarrival_cv": (squared / (gaps - 1)) ** 0.5 / mean_ns
            if gaps >= 2 and mean_ns > self._tick_ns
            else None,
            "dispersion": [
                [int(window_ns), _dispersion(*counts[:4]) if window_ns >= self._tick_ns else None]
                for window_ns, counts in zip(WINDOWS_NS, self._counts.tolist(), strict=True)
            ],
            "peak_to_mean": second[PEAK] * second[OPEN] / second[REQUESTS] if second[OPEN] >= 2 else None,
        }


def _dispersion(windows: int, _: int, requests: int, squares: int) -> float | None:
    """Return variance by mean; the open window's number is how many whole ones there are."""
    if windows < ENOUGH_WINDOWS:
        return None
    return (windows * squares - requests * requests) / ((windows - 1) * requests)
