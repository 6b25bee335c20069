"""Holes of a recording: long stretches of it in which nothing came, or hardly anything."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

#: A hole is a twentieth of the recording or more, so there are no more than so many.
MOST_HOLES = 20
#: A gap between two requests is a hole if it is so many times as long as the mean of the other gaps: a load that is
#: thin everywhere has none. Of what is counted in intervals, those are holes in which so many times less came.
_LONG, _LESS = 100, 10


def quiet(gaps_ns: NDArray[np.int64], requests: int, span_ns: int) -> int:
    """Return how long nothing came in a recording with holes, by the longest of the gaps between its requests.

    >>> quiet(np.array([20_000_000, 3_540_000_000_000]), 12_001, 3_660_000_000_000)
    3540000000000
    """
    holes_ns = gaps_ns[gaps_ns * MOST_HOLES >= span_ns]
    other_ns, others = span_ns - int(holes_ns.sum()), requests - 1 - len(holes_ns)
    if not len(holes_ns) or _LONG * other_ns >= int(holes_ns.min()) * others:
        return 0
    return int(holes_ns.sum())


def quiet_starts(times_ns: NDArray[np.int64]) -> int:
    """Return the same of all times at which something came, in any order."""
    if len(times_ns) < 2:
        return 0
    sorted_ns = np.sort(times_ns)
    gaps_ns = sorted_ns[1:] - sorted_ns[:-1]
    return quiet(np.sort(gaps_ns)[-MOST_HOLES:], len(times_ns), int(gaps_ns.sum()))


def quiet_intervals(intervals: Sequence[tuple[int, int]]) -> int:
    """Return how long hardly anything came, by how long each of the *intervals* was and how much came in it.

    >>> quiet_intervals([(30, 3000), (1800, 3000), (30, 3000)])
    1800
    """
    length, came = (sum(one[part] for one in intervals) for part in (0, 1))
    if not came:
        return 0
    whole, limit = length, -1.0
    for own_length, own in sorted(intervals, key=_rate):
        length, came = length - own_length, came - own
        if length and _LESS * own * length <= came * own_length:
            limit = own / own_length
    stretches = groupby(intervals, key=lambda one: _rate(one) <= limit)
    lengths = [sum(own for own, _ in stretch) for is_quiet, stretch in stretches if is_quiet]
    return sum(own for own in lengths if own * MOST_HOLES >= whole)


def from_first_to_last(intervals: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Return the intervals without those before and behind all in which anything came."""
    busy = [place for place, (_, count) in enumerate(intervals) if count]
    return intervals[busy[0] : busy[-1] + 1] if busy else ()


def _rate(interval: tuple[int, int]) -> float:
    return interval[1] / interval[0]
