"""How many boxes of each kind, in whole numbers, at least cost: as cuts demand, which are added as they are found.

Branch and cut: nodes are solved without whole numbers by the dual simplex method (C. E. Lemke, Naval Research Logistics
1(1), 1954), and the one that costs least is branched first (A. H. Land and A. G. Doig, Econometrica 28(3), 1960).
"""

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Rounding errors are no fraction of a box.
_NOTHING = 1e-7
#: Nor are they less than nothing, or something, of what is reckoned.
_ROUNDING = 1e-9
#: A node is solved in so many pivots, or left as it is: what it costs by then is a bound, too.
_MOST_PIVOTS = 500


class Cut(NamedTuple):
    """Boxes × *each*, added up, are at least *least*."""

    each: NDArray[np.float64]  # (kinds,)
    least: float


def least_cost(
    cost: NDArray[np.float64], cuts: list[Cut], broken: Callable[[NDArray[np.float64]], list[Cut]], most_nodes: int
) -> float:
    """Return a bound of what whole numbers of boxes cost that meet *cuts*, and those that *broken* says of numbers.

    It is the least cost, unless there are more than *most_nodes* to look at.
    """
    cuts = list(cuts)
    solved = _solved(_with_cuts(_nothing_bought(cost), cuts))
    nodes = [] if solved is None else [(float(solved[0, 0]), 0, solved, len(cuts))]
    number, bound = 0, 0.0
    while nodes:
        bound, _, node, known = nodes[0]
        number += 1
        if number > most_nodes:
            return bound
        heapq.heappop(nodes)
        new: list[NDArray[np.float64] | None] = []
        boxes = node[1 : 1 + len(cost), 0]
        fraction = np.abs(boxes - np.rint(boxes))
        if known < len(cuts):
            new = [_solved(_with_cuts(node, cuts[known:]))]
        elif fraction.max() > _NOTHING:
            kind = int(fraction.argmax())
            up = np.zeros(len(cost))
            up[kind] = 1.0
            limits = Cut(up, float(np.ceil(boxes[kind]))), Cut(-up, -float(np.floor(boxes[kind])))
            new = [_solved(_with_cuts(node, [limit])) for limit in limits]
        else:
            found = broken(np.rint(boxes))
            if not found:
                return bound
            cuts += found
            new = [_solved(_with_cuts(node, found))]
        for place, one in enumerate(new):
            if one is not None:
                heapq.heappush(nodes, (max(bound, float(one[0, 0])), 2 * number + place, one, len(cuts)))
    return bound  # no numbers are enough, as reckoned: nothing more is said


def _nothing_bought(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the tableau of no boxes: what is paid, then a row for each kind."""
    kinds = len(cost)
    return np.concatenate(
        [np.concatenate([[0.0], cost])[None], np.concatenate([np.zeros((kinds, 1)), np.eye(kinds)], axis=1)]
    )


def _with_cuts(node: NDArray[np.float64], cuts: list[Cut]) -> NDArray[np.float64]:
    """Add a row for each of *cuts*: how much more there is than it demands."""
    each = np.array([cut.each for cut in cuts])
    more = each @ node[1 : 1 + each.shape[1]]
    more[:, 0] -= [cut.least for cut in cuts]
    return np.concatenate([node, more])


def _solved(node: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Pivot, by the dual simplex method, until no basic variable is negative; None if it is infeasible."""
    for _ in range(_MOST_PIVOTS):
        row = 1 + int(node[1:, 0].argmin())
        if node[row, 0] >= -_ROUNDING:
            break
        gives = node[row, 1:] > _ROUNDING
        if not gives.any():
            return None
        prices = np.where(gives, node[0, 1:] / np.where(gives, node[row, 1:], 1.0), np.inf)
        column = 1 + int(prices.argmin())
        moved = node[:, column] / node[row, column]
        pivot = node[row].copy()
        node = node - np.outer(moved, pivot)
        node[:, column] = moved
        node[row] = 0.0
        node[row, column] = 1.0
    return node
