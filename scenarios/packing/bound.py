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

A cut (J. F. Benders, Numerische Mathematik 4, 1962): for any values of items, boxes × the most that a box of each kind
holds, added up, are at least the value of all items. The bound is the cheapest whole numbers of boxes that meet all
cuts; if they cannot hold the items even divided, a further cut is sought.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.boxes import Packing
from tiersim.scenarios.packing.counts import Cut, least_cost
from tiersim.scenarios.packing.filling import SLACK
from tiersim.scenarios.packing.prices import prices_of, worth

#: Steps by subgradients, and primal-dual ones; after so many of these their mean is looked
#: at, and after so many it is gone on from. They decide how near the best bound it comes, never whether it is one.
_STEPS, _DUAL_STEPS, _LOOK, _RESTART = 2000, 6000, 50, 200
#: Of numbers of boxes that may not hold all items so many are looked into, with so many steps each, and up to so many
#: where no row is found by then; of each kind so many resources then count, those that cost most.
_LOOKED_INTO, _ROW_STEPS, _MOST_ROW_STEPS, _COUNTING = 60, 600, 1800, 32
#: Prices are also sought for kinds that are not bought: as if there were that share of what is bought of divided boxes.
_BESIDE = 0.01
#: A row is broken by that share at least: a lesser one hardly says more.
_LEAST_BROKEN = 1e-4
#: Values that say that items do not fit are no more than so many times those that bound what they cost.
_HIGHEST_VALUE = 4.0
#: Nodes of whole numbers that are looked at.
_MOST_NODES = 3000
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


class _Divided(NamedTuple):
    """Divided items in divided boxes: which share of each item is in boxes of each kind, how many of these there are;
    prices of resources, values of items, prices of one more box for an item, and tolls.
    """

    shares: NDArray[np.float64]  # (kinds, items)
    boxes: NDArray[np.float64]  # (kinds,)
    prices: NDArray[np.float64]  # (kinds, resources)
    values: NDArray[np.float64]  # (items,)
    over: NDArray[np.float64]  # (kinds, items)
    tolls: NDArray[np.float64]  # (rows,)


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
        nothing = np.zeros(self.there.shape)
        best, core = 0.0, _Divided(nothing, nothing[:, 0], prices, values, nothing, np.zeros(len(self.least)))
        for one in self.steps(core, _DUAL_STEPS):
            if (found := self._checked(one)) > best:
                best, core = found, one
        if not best:
            return 0.0
        rows = [self.cut(core), *map(Cut, self.counted, self.least.tolist())]
        if not core.values.any():  # tolls say it all
            core = core._replace(prices=prices, values=values)
        broken = _Broken(*self._narrowed(core))
        return max(best, least_cost(self.cost, rows, broken, _MOST_NODES) * (1 - SLACK))

    def steps(
        self,
        begin: _Divided,
        steps: int,
        held: NDArray[np.float64] | None = None,
        highest: float | NDArray[np.float64] = np.inf,
    ) -> Iterator[_Divided]:
        """Go on towards the cheapest boxes; of those that are *held*, towards the *highest* values that items have
        which they do not hold.
        """
        need, there, counted = self.need, self.there, self.counted
        step_of_share = np.where(there, 1 / (2 + need.sum(axis=2)), 0.0)
        step_of_boxes = 1 / (need.shape[2] + there.sum(axis=1) + counted.sum(axis=0))
        step_of_price = 1 / (1 + need.sum(axis=1))
        by_resource = need.transpose(0, 2, 1).copy()
        size = float(begin.values.mean())  # of a price; boxes and shares are of 1
        shares, boxes, prices, values, over, tolls = begin
        boxes_ahead = boxes = boxes if held is None else held
        sums, count = _Divided(*[np.zeros(1)] * 6), 0
        for step in range(1, steps + 1):
            dearer = worth(need, prices) + over - values
            new_shares = np.maximum(shares - step_of_share / size * dearer, 0)
            ahead, shares = 2 * new_shares - shares, new_shares
            if held is None:
                left = self.cost - prices.sum(axis=1) - over.sum(axis=1) - tolls @ counted
                new_boxes = np.maximum(boxes - step_of_boxes / size * left, 0)
                boxes_ahead, boxes = 2 * new_boxes - boxes, new_boxes
                tolls = np.maximum(tolls + size * (self.least - counted @ boxes_ahead) / counted.sum(axis=1), 0)
            short = worth(by_resource, ahead) - boxes_ahead[:, None]
            values = np.clip(values + size * (1 - ahead.sum(axis=0)) / there.sum(axis=0), 0, highest)
            prices = np.maximum(prices + size * step_of_price * short, 0)
            over = np.maximum(over + size * 0.5 * np.where(there, ahead - boxes_ahead[:, None], 0), 0)
            now = _Divided(shares, boxes, prices, values, over, tolls)
            sums, count = _Divided(*(total + one for total, one in zip(sums, now, strict=True))), count + 1
            if step % _LOOK == 0:
                yield now
                yield _Divided(*(total / count for total in sums))
            if step % _RESTART == 0:
                shares, boxes, prices, values, over, tolls = (total / count for total in sums)
                sums, count = _Divided(*[np.zeros(1)] * 6), 0

    def _checked(self, found: _Divided) -> float:
        """Return what such prices and tolls are a bound of; nothing, if tolls are more than a box costs."""
        left = self.cost - found.tolls @ self.counted
        row = self.cut(found)
        most = np.maximum(row.each, _NOTHING * _NOTHING)
        return float((left / most).min() * row.least + found.tolls @ self.least) if (left >= 0).all() else 0.0

    def cut(self, found: _Divided) -> Cut:
        """Return what a box of each kind holds is worth at most, and all items are."""
        beyond = np.where(self.there, np.maximum(found.values - worth(self.need, found.prices), 0), 0)
        return Cut(found.prices.sum(axis=1) + beyond.sum(axis=1), float(found.values.sum()))

    def _narrowed(self, core: _Divided) -> tuple["_Whole", _Divided]:
        """Return the same with fewer resources: less is needed then, and rows stay true."""
        chosen = np.argsort(-core.prices, axis=1, kind="stable")[:, :_COUNTING]
        need = np.take_along_axis(self.need, chosen[:, None, :], axis=2)
        return replace(self, need=need), core._replace(prices=np.take_along_axis(core.prices, chosen, axis=1))


class _Broken:
    """Finds cuts that numbers of boxes break, as these do not hold all items, even divided ones."""

    def __init__(self, whole: _Whole, core: _Divided) -> None:
        """Begin at the cheapest divided boxes."""
        self._whole, self._core, self._last, self._count = whole, core, core, 0

    def __call__(self, boxes: NDArray[np.float64]) -> list[Cut]:
        """Return a cut that *boxes* break by as much as is found; none, too, where enough were looked into."""
        self._count += 1
        if self._count > _LOOKED_INTO:
            return []
        core = self._core
        held, best, found = boxes + _BESIDE * core.boxes, 0.0, None
        looks = self._whole.steps(core, _MOST_ROW_STEPS, held, _HIGHEST_VALUE * core.values)
        for number, one in enumerate(looks):
            cut = self._whole.cut(one)
            broken = 1 - float(cut.each @ boxes) / max(cut.least, _NOTHING * _NOTHING)
            if broken > max(best, _LEAST_BROKEN):
                best, found = broken, cut
            if found is not None and number * _LOOK > 2 * _ROW_STEPS:
                break
        return [] if found is None else [found]
