"""Whole numbers that add up: a total handed out by weights, within bounds, to the last unit."""

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.apportion_kernels import Shares, hand_out, make_up
from tiersim.scenarios.calibration.synthesis.draws import Draws

#: Up to so many page lookups an execution, those that miss are drawn one by one; beyond, from a normal law.
_MOST_DRAWN = 64
_LOOKUPS_AT_ONCE = 1 << 22
_NONE = np.empty(0)


def apportion(
    total: int,
    weights: NDArray[np.float64],
    most: NDArray[np.int64] | None = None,
    chance: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Hand out *total* ≥ 0 in proportion to *weights* (evenly when all are 0), at most ``most[i]`` to each.

    What is left after rounding down goes to the largest remainders; with *chance*, uniform numbers, to some at random,
    each as likely as its remainder is large (:mod:`.apportion_kernels`). Raises ValueError when *most* adds up to less
    than the total.
    """
    count = len(weights)
    given, rank, scratch = np.empty(count, np.int64), np.empty(count), np.empty(count)
    bounds = np.full(count, total) if most is None else most
    if not hand_out(total, Shares(weights, bounds, _NONE if chance is None else chance, given, rank, scratch)):
        raise ValueError(f"{total} is more than {count} take")
    return given


def scattered(total: int, lookups: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
    """Draw which of the *lookups* of each execution miss, *total* of them all: every lookup is as likely to."""
    chance = draws.uniform(len(lookups), "misses left")
    all_lookups = int(lookups.sum())
    if all_lookups > _MOST_DRAWN * len(lookups):
        share = total / all_lookups
        expected = lookups * share
        drawn = np.rint(expected + np.sqrt(expected * (1 - share)) * draws.normal(len(lookups), "misses"))
        missed: NDArray[np.int64] = np.clip(drawn, 0, lookups).astype(np.int64)
        make_up(total, lookups, chance, missed, np.empty(len(lookups)))
        return missed
    ends = np.cumsum(lookups)
    blocks = np.searchsorted(ends, np.arange(_LOOKUPS_AT_ONCE, all_lookups, _LOOKUPS_AT_ONCE))
    edges = np.unique([0, *blocks.tolist(), len(lookups)])
    sizes = np.add.reduceat(lookups, edges[:-1])
    misses = apportion(total, sizes.astype(np.float64), sizes)
    missed = np.zeros(len(lookups), np.int64)
    for block, (start, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        drawn_in = draws.order(int(sizes[block]), "misses", block)[: misses[block]]
        owners = np.searchsorted(np.cumsum(lookups[start:end]), drawn_in, side="right")
        missed[start:end] = np.bincount(owners, minlength=end - start)
    return missed


def exact_sum(values: NDArray[np.int64]) -> int:
    """Return the sum of numbers ≥ 0 that int64 may not hold."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFF_FFFF).sum())
