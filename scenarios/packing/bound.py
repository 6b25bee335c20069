"""What boxes that hold all items cost at least, however they are packed.

With prices of the resources of each kind of box that add up to what it costs, no packing is cheaper than all items
where their shares are cheapest: that is the dual of packing in which items and boxes may be divided.

It is more where no kind of box holds more of an item than there are boxes of it: a box that is needed for one item
alone is paid whole. Then items have values, too, and no box holds items worth more than it costs. Where a box of some
kind does, all values are as much less (A. A. Farley, Operations Research 38(5), 1990): values that are off are a bound,
too. What is worth most in a box is reckoned with divided items. Boxes are whole: where 9.5 are needed, 10 are, and a
toll on each that is part of its cost is paid 10 times (V. Chvatal, Discrete Mathematics 4, 1973). So it is with boxes
that are counted by their size.

The best prices are sought by subgradients, and from there by primal-dual steps (A. Chambolle and T. Pock, J.
Mathematical Imaging and Vision 40, 2011; their steps by row and column: ICCV 2011).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.boxes import Packing
from tiersim.scenarios.packing.prices import prices_of, worth

#: Steps by subgradients, and primal-dual ones; after so many of these their mean is looked
#: at, and after so many it is gone on from. They decide how near the best bound it comes, never whether it is one.
_STEPS, _DUAL_STEPS, _LOOK, _RESTART = 2000, 6000, 50, 200
#: Rounding errors are no part of a box.
_NOTHING = 1e-6


def lower_bound(packing: Packing) -> float:
    """Return a bound, 0 at the least, where boxes may be as busy as the items in them allow."""
    need, there = packing.shares()
    counted = _sizes(packing.fixed, need, there)
    least = [math.ceil(prices_of(row, need, there, _STEPS)[0] - _NOTHING) for row in counted]
    bound, prices, values = prices_of(packing.cost, need, there, _STEPS)
    if bound <= 0:
        return 0.0
    whole = _Whole(packing.cost / bound, need, there, counted, np.array(least, np.float64))
    return bound * max(1.0, whole.bound(prices / bound, values / bound))


def _sizes(fixed: int, need: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return whole numbers by kind of box, in rows: 1 for each, and how many times as much as the smallest it has of a
    resource that is used up, about.
    """
    rows = [np.ones(len(need))]
    for resource in range(fixed):
        own = need[:, :, resource]
        asked = own.max(axis=0)
        sizes = [
            np.rint(np.median(asked[some] / each[some])) if some.any() else 1.0
            for each, some in zip(own, there & (own > 0), strict=True)
        ]
        rows.append(np.array(sizes))
    return np.unique(rows, axis=0)


@dataclass(frozen=True)
class _Whole:
    """Boxes of which there are *least*, as each row of *counted* counts them; *there* says what a kind can hold."""

    cost: NDArray[np.float64]  # (kinds,)
    need: NDArray[np.float64]  # (kinds, items, resources)
    there: NDArray[np.bool_]  # (kinds, items)
    counted: NDArray[np.float64]  # (rows, kinds)
    least: NDArray[np.float64]  # (rows,)

    def bound(self, prices: NDArray[np.float64], values: NDArray[np.float64]) -> float:
        """Return the best bound that is found from such prices of resources and values of items."""
        need, there, counted = self.need, self.there, self.counted
        step_of_share = np.where(there, 1 / (2 + need.sum(axis=2)), 0.0)
        step_of_boxes = 1 / (need.shape[2] + there.sum(axis=1) + counted.sum(axis=0))
        step_of_price = 1 / (1 + need.sum(axis=1))
        by_resource = need.transpose(0, 2, 1).copy()
        size = float(values.mean())  # of a price; boxes and shares are of 1
        shares, boxes = np.zeros(there.shape), np.zeros(len(need))
        over, tolls = np.zeros(there.shape), np.zeros(len(counted))
        best, sums, count = 0.0, [np.zeros(1)] * 6, 0
        for step in range(1, _DUAL_STEPS + 1):
            dearer = worth(need, prices) + over - values
            left = self.cost - prices.sum(axis=1) - over.sum(axis=1) - tolls @ counted
            new_shares = np.maximum(shares - step_of_share / size * dearer, 0)
            new_boxes = np.maximum(boxes - step_of_boxes / size * left, 0)
            ahead, boxes_ahead = 2 * new_shares - shares, 2 * new_boxes - boxes
            shares, boxes = new_shares, new_boxes
            short = worth(by_resource, ahead) - boxes_ahead[:, None]
            values = np.maximum(values + size * (1 - ahead.sum(axis=0)) / there.sum(axis=0), 0)
            prices = np.maximum(prices + size * step_of_price * short, 0)
            over = np.maximum(over + size * 0.5 * np.where(there, ahead - boxes_ahead[:, None], 0), 0)
            tolls = np.maximum(tolls + size * (self.least - counted @ boxes_ahead) / counted.sum(axis=1), 0)
            sums = [total + one for total, one in zip(sums, (shares, boxes, over, prices, values, tolls), strict=True)]
            count += 1
            if step % _LOOK == 0:
                mean = [total / count for total in sums]
                best = max(best, self._checked(prices, values, tolls), self._checked(*mean[3:]))
            if step % _RESTART == 0:
                shares, boxes, over, prices, values, tolls = (total / count for total in sums)
                sums, count = [np.zeros(1)] * 6, 0
        return best

    def _checked(self, prices: NDArray[np.float64], values: NDArray[np.float64], tolls: NDArray[np.float64]) -> float:
        """Return what such prices and tolls are a bound of; nothing, if tolls are more than a box costs."""
        left = self.cost - tolls @ self.counted
        beyond = np.where(self.there, np.maximum(values - worth(self.need, prices), 0), 0)
        most = np.maximum(prices.sum(axis=1) + beyond.sum(axis=1), _NOTHING * _NOTHING)
        return float((left / most).min() * values.sum() + tolls @ self.least) if (left >= 0).all() else 0.0
