"""Whole numbers that add up: a total handed out by weights, within bounds, to the last unit."""

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.draws import Draws

#: Up to so many page lookups an execution, those that miss are drawn one by one; beyond, from a normal law.
_MOST_DRAWN = 64
_LOOKUPS_AT_ONCE = 1 << 22


def apportion(
    total: int,
    weights: NDArray[np.float64],
    most: NDArray[np.int64] | None = None,
    chance: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Hand out *total* ≥ 0 in proportion to *weights* (evenly when all are 0), at most ``most[i]`` to each.

    What is left after rounding down goes to the largest remainders (Hamilton's method); with *chance*, uniform numbers, to
    some at random, each as likely as its remainder is large. Raises ValueError when *most* adds up to less than the total.
    """
    ceiling = np.full(len(weights), total, np.int64) if most is None else np.minimum(most, total)
    if most is not None and exact_sum(ceiling) < total:
        raise ValueError(f"{total} is more than {len(weights)} take")
    exact = _shares(total, weights, ceiling)
    given = np.minimum(np.floor(exact).astype(np.int64), ceiling)
    remainder = exact - given
    if chance is not None:
        # Efraimidis and Spirakis, Inf. Proc. Lett. 97, 2006
        remainder = np.log(chance) / np.maximum(remainder, 1e-300)
    return _repaired(given, total, ceiling, remainder)


def scattered(total: int, lookups: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
    """Draw which of the *lookups* of each execution miss, *total* of them all: every lookup is as likely to."""
    chance = draws.uniform(len(lookups), "misses left")
    all_lookups = int(lookups.sum())
    if all_lookups > _MOST_DRAWN * len(lookups):
        share = total / all_lookups
        expected = lookups * share
        drawn = np.rint(expected + np.sqrt(expected * (1 - share)) * draws.normal(len(lookups), "misses"))
        missed = np.clip(drawn, 0, lookups).astype(np.int64)
        return _repaired(missed, total, lookups, chance)
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


def _shares(total: int, weights: NDArray[np.float64], ceiling: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return shares in proportion to *weights*; what exceeds a ceiling goes to the others."""
    shares = np.zeros(len(weights))
    free = np.ones(len(weights), np.bool_)
    left = float(total)
    while left > 0 and free.any():
        weight = weights[free].sum()
        part = weights[free] / weight if weight > 0 else 1 / free.sum()
        wanted = np.broadcast_to(left * part, int(free.sum()))
        full = wanted >= ceiling[free]
        places = np.flatnonzero(free)
        if not full.any():
            shares[places] = wanted
            break
        shares[places[full]] = ceiling[places[full]]
        free[places[full]] = False
        left = total - float(shares.sum())
    return shares


def _repaired(
    given: NDArray[np.int64], total: int, ceiling: NDArray[np.int64], rank: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Add or take away units until *given* adds up, first where *rank* is highest, never below 0 or above *ceiling*."""
    missing = total - int(given.sum())
    while missing:
        room = ceiling - given if missing > 0 else given
        places = np.flatnonzero(room)
        each = max(1, abs(missing) // len(places))
        if each == 1 and len(places) > abs(missing):
            places = places[np.argpartition(-rank[places], abs(missing) - 1)[: abs(missing)]]
        change = np.minimum(room[places], each)
        given[places] += change if missing > 0 else -change
        missing = total - int(given.sum())
    return given


def exact_sum(values: NDArray[np.int64]) -> int:
    """Return the sum of numbers ≥ 0 that int64 may not hold."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFF_FFFF).sum())
