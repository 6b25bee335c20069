"""How often flash writes each unit that the host writes, at steady state: closed forms for drives that are full and
overwritten at random places.

Spare space is over-provisioning rho: physical units = (1 + rho) x logical units, without blocks that are open or kept
in reserve. A cleaned block gives the host the room of its stale units: with x valid units of b left, WA = b / (b - x).

Sources: P. Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012 (LRU cleaning, greedy cleaning); L. Xiang
and B. M. Kurkoski, An improved analytic expression for write amplification in NAND flash, arXiv:1110.4245 (LRU); B. Van
Houdt, A mean field model for a class of garbage collection algorithms in flash-based solid state drives, SIGMETRICS
2013 (greedy, as the limit of many choices).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Halvings of an interval until a double does not change any more.
_HALVINGS = 60


def lru(over_provisioning: float, classes: Sequence[tuple[float, float]] = ((1.0, 1.0),)) -> float:
    """Write amplification when the block that was filled longest ago is cleaned, *over_provisioning* > 0.

    *classes* are (share of the logical units, share of the writes) of units that are written alike; one class is
    uniform.
    """
    return (1 + over_provisioning) / _turn(over_provisioning, classes)


def _turn(over_provisioning: float, classes: Sequence[tuple[float, float]]) -> float:
    """Host writes, in multiples of the logical units, in which the log is written from end to end.

    A unit with rate r is valid after a turn of t with probability exp(-r t), and is then written again; so it is
    written r / (1 - exp(-r t)) times per host write. These add up to WA, and WA x t is all that is there: 1 + rho. For
    one class WA = a / (a + W(-a exp(-a))) with a = 1 + rho and Lambert's W.
    """

    def written(turn: float) -> float:
        lengths = [(units, writes / units * turn) for units, writes in classes]
        return sum(units * (length / -math.expm1(-length) if length > 0 else 1) for units, length in lengths)

    low, high = 0.0, 1 + over_provisioning
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if written(middle) < 1 + over_provisioning else (low, middle)
    return (low + high) / 2


def greedy(over_provisioning: float, block_units: int) -> float:
    """Write amplification when the block with the fewest valid units is cleaned, *over_provisioning* > 0."""
    level, share, flow = _greedy_state(over_provisioning, block_units)
    return block_units / (block_units - level + level * share / flow)


def _greedy_state(over_provisioning: float, block_units: int) -> tuple[int, float, float]:
    """Lowest level j with blocks, the share of blocks with j valid units, and c; shares above j are f(i) = c / i.

    A block with i valid units loses the next one at a rate proportional to i, and what reaches a level above j leaves
    it again: i f(i) = c. Of the blocks that reach j, as many as fall on to j - 1 (j f(j) of c) are cleaned there, the
    others at j: x = j - j f(j) / c. The shares add up to 1, and the valid units, of b in a block, to b / (1 + rho).
    """
    j = np.arange(block_units)
    inverse = 1 / np.arange(1, block_units + 1)
    tail = np.cumsum(inverse[::-1])[::-1]  # sum of 1 / i over i = j + 1 .. b
    flow = (block_units / (1 + over_provisioning) - j) / (block_units - j - j * tail)
    share = 1 - flow * tail
    level = int(np.argmin(np.maximum(-share, j * share - flow)))  # the only one with 0 <= j f(j) <= c
    return level, max(float(share[level]), 0.0), float(flow[level])


def greedy_valid_units(over_provisioning: float, block_units: int, blocks: int) -> NDArray[np.int64]:
    """Valid units of *blocks* blocks in the steady state of greedy cleaning: equally likely ones, in rising order."""
    level, share, flow = _greedy_state(over_provisioning, block_units)
    shares = np.append(share, flow / np.arange(level + 1, block_units + 1))
    drawn = np.searchsorted(np.cumsum(shares), (np.arange(blocks) + 0.5) / blocks)
    return np.minimum(level + drawn, block_units)


def lru_valid_units(over_provisioning: float, block_units: int, blocks: int) -> NDArray[np.int64]:
    """Valid units of *blocks* blocks in the steady state of LRU cleaning, oldest first: exp(-age) of each are valid."""
    turn = _turn(over_provisioning, ((1.0, 1.0),))
    expected = block_units * np.exp(-turn * (np.arange(blocks)[::-1] + 0.5) / blocks)
    valid: NDArray[np.int64] = np.diff(np.rint(np.cumsum(expected)).astype(np.int64), prepend=0)
    return valid
