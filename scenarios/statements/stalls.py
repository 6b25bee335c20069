"""How often and how long a run stalled.

A stall is a time of more than 1 s throughout which fewer than a tenth of the mean transactions a second end, in any
window of 1 s that lies in it. Windows begin every 100 ms. Where fewer than 20 transactions end in an average second
chance alone makes some, so nothing is said (with 20 a window of 1 s has no more than two in one case of two million).

How many stalls a run of the same length has with other random numbers: a Poisson variable, whose mean the exact
interval holds in 90 % of all cases (F. Garwood, Biometrika 28, 1936).
"""

from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.units import NS_PER_S

#: Of windows in which stalls are looked for: when one begins, and how many such steps it has.
_WINDOW_STEP_NS, _WINDOW_STEPS = NS_PER_S // 10, 10
_STALLED_SHARE, _FEWEST_PER_S = 0.1, 20
#: What an interval leaves out at either end, and how closely its ends are looked for: a part in 2^-40.
_TAIL, _HALVINGS = 0.05, 40


def stalls_of(ends_ns: NDArray[np.int64], from_ns: int, until_ns: int) -> dict[str, Any] | None:
    """Return number, length and depth of the stalls between two times, of sorted ends of transactions; None where these
    are too few to tell stalls from chance.

    ``low`` and ``high`` are the interval of the number; ``depth_pct`` is how far throughput in stalls lies below the
    mean.
    """
    steps = (until_ns - from_ns) // _WINDOW_STEP_NS
    counted = ends_ns[(ends_ns >= from_ns) & (ends_ns < from_ns + steps * _WINDOW_STEP_NS)]
    per_step = len(counted) / max(steps, 1)
    if steps < _WINDOW_STEPS or per_step * _WINDOW_STEPS < _FEWEST_PER_S:
        return None
    sums = np.concatenate([[0], np.cumsum(np.bincount((counted - from_ns) // _WINDOW_STEP_NS, minlength=steps))])
    slow = sums[_WINDOW_STEPS:] - sums[:-_WINDOW_STEPS] < _STALLED_SHARE * per_step * _WINDOW_STEPS
    edges = np.flatnonzero(np.diff(np.concatenate([[0], slow.astype(np.int8), [0]])))
    # steps of the windows of a stall, from the first to the last
    first, behind = edges[::2], edges[1::2] + _WINDOW_STEPS - 1
    lengths = behind - first
    long = lengths > _WINDOW_STEPS
    first, behind, lengths = first[long], behind[long], lengths[long]
    low, high = poisson_interval(len(first))
    ended = int((sums[behind] - sums[first]).sum())
    return {
        "count": len(first),
        "low": low,
        "high": high,
        "longest_ns": int(lengths.max(initial=0)) * _WINDOW_STEP_NS,
        "total_ns": int(lengths.sum()) * _WINDOW_STEP_NS,
        "depth_pct": 100 * (1 - ended / (per_step * int(lengths.sum()))) if len(first) else None,
    }


def poisson_interval(count: int) -> tuple[float, float]:
    """Return between which means of a Poisson variable *count* is no surprise, at 5 % on either side.

    >>> [round(end, 2) for end in poisson_interval(0)]
    [0.0, 3.0]
    """
    low = _mean_where(count - 1, 1 - _TAIL) if count else 0.0
    return low, _mean_where(count, _TAIL)


def _mean_where(count: int, share: float) -> float:
    """Return the mean with which so many or fewer come with a probability of *share*."""
    low, high = 0.0, 10.0 + 2 * count
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(count, middle) > share else (low, middle)
    return high


def _at_most(count: int, mean: float) -> float:
    """Return the probability that a Poisson variable of this *mean* is no more than *count*."""
    total, term = 0.0, exp(-mean)
    for value in range(count + 1):
        total += term
        term *= mean / (value + 1)
    return total
