"""Whole numbers that add up: a total handed out by weights, within bounds, to the last unit."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
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


#: Of a remainder, so that what has none comes last.
_LEAST = 1e-300


@table_set
class Shares(NamedTuple):
    """Who is given something, and how much."""

    weights: NDArray[np.float64]
    most: NDArray[np.int64]
    chance: NDArray[np.float64]  # uniform numbers, or none
    given: NDArray[np.int64]
    rank: NDArray[np.float64]  # of these two nothing is kept
    scratch: NDArray[np.float64]


@kernel
def hand_out(total: int, s: Shares) -> bool:
    """Fill ``given`` with parts of *total* ≥ 0 in proportion to ``weights``, at most ``most[i]`` each; False where
    these add up to less.

    What is left after rounding down goes to the largest remainders (Hamilton's method); with ``chance`` to some at
    random, each as likely as its remainder is large (Efraimidis and Spirakis, Inf. Proc. Lett. 97, 2006). All evenly
    when all weights are 0.
    """
    room = 0
    for index in range(s.given.size):
        if room < total:  # all of them may be more than 64 bits hold
            room += min(s.most[index], total)
    if room < total:
        return False
    _share(total, s.weights, s.most, s.rank)
    for index in range(s.given.size):
        share = s.rank[index]
        s.given[index] = min(math.floor(share), min(s.most[index], total))
        remainder = share - s.given[index]
        s.rank[index] = math.log(s.chance[index]) / max(remainder, _LEAST) if s.chance.size else remainder
    make_up(total, s.most, s.rank, s.given, s.scratch)
    return True


@kernel
def _share(total: int, weights: Any, most: Any, shares: Any) -> None:
    """Fill *shares* in proportion to *weights*; what exceeds a bound goes to the others."""
    for index in range(shares.size):
        shares[index] = -1.0  # not known yet
    left = float(total)
    while left > 0:
        weight, free = 0.0, 0
        for index in range(shares.size):
            if shares[index] < 0:
                weight += weights[index]
                free += 1
        if not free:
            break
        full = 0
        for index in range(shares.size):
            if shares[index] < 0:
                part = weights[index] / weight if weight > 0 else 1 / free
                if left * part >= min(most[index], total):
                    # marked, and not counted before all have been looked at
                    shares[index] = -2.0
                    full += 1
        for index in range(shares.size):
            if shares[index] == -2.0:
                shares[index] = min(most[index], total)
            elif not full and shares[index] < 0:
                shares[index] = left * (weights[index] / weight if weight > 0 else 1 / free)
        if not full:
            break
        left = float(total)
        for index in range(shares.size):
            share = shares[index]
            left -= max(share, 0.0)
    for index in range(shares.size):
        shares[index] = max(shares[index], 0.0)


@kernel
def make_up(total: int, most: Any, rank: Any, given: Any, scratch: Any) -> None:
    """Add or take away units until *given* adds up to *total*, first where *rank* is highest, never below 0 or above
    *most*.

    Of equal ranks the first comes first. The bounds must allow for the total. given, most : int64[n]; rank, scratch :
    float64[n].
    """
    missing = total
    for index in range(given.size):
        value = given[index]
        missing -= value
    while missing != 0:
        places = 0
        for index in range(given.size):
            if (min(most[index], total) - given[index] if missing > 0 else given[index]) > 0:
                scratch[places] = rank[index]
                places += 1
        each = max(1, abs(missing) // places)
        above, equal = -math.inf, places
        if places > abs(missing):
            above = _largest(scratch, places, abs(missing))
            equal = abs(missing)
            for place in range(places):
                equal -= scratch[place] > above
        left = missing
        for index in range(given.size):
            room = min(most[index], total) - given[index] if missing > 0 else given[index]
            if room > 0 and (rank[index] > above or (rank[index] == above and equal > 0)):
                equal -= rank[index] == above
                change = min(room, each)
                given[index] += change if missing > 0 else -change
                left -= change if missing > 0 else -change
        missing = left


@kernel
def _largest(values: Any, count: int, number: int) -> float:
    """Return the *number*-th largest of the first *count* values, which are put into another order (Hoare's FIND, Comm.
    ACM 4, 1961).
    """
    low, high, wanted = 0, count - 1, number - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if right < wanted:
            low = left
        if left > wanted:
            high = right
    return float(values[wanted])
