"""Boxes that hold all items as trials confirm, and cost little: proposed, tried, and mended by what trials say.

A box of each kind is tried first: how busy it may be. Then boxes are proposed, and all that are new are tried. One that
fails gives up items until the limits that were learned allow the rest, which is tried anew. What was given up goes into
other boxes. When all hold, the search goes on from there to something cheaper, until some rounds find nothing.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.boxes import Box, Packing, filled_boxes, pack
from tiersim.scenarios.packing.filling import SLACK
from tiersim.scenarios.packing.limits import BoxLimits

#: Boxes of each kind that are tried before the first proposal.
_FIRST_TRIALS = 2
#: How cautious proposals are (see :meth:`BoxLimits.most`), if so many before them led to nothing cheaper; and how many
#: there are at most.
_CAUTION, _MOST_PROPOSALS = (0.75, 0.5, 0.25, 0.0), 30


@dataclass(frozen=True)
class TriedBox:
    """What a trial of a box says: ``why`` it does not hold its items, and which share of its targets each item used;
    nothing where it could not be tried at all.
    """

    why: str | None
    used: Mapping[int, float]


class Search:
    """What is known of boxes: *trial* tries several at a time. Trials of a kind say the same of all that have the same
    *first* one.
    """

    def __init__(
        self,
        packing: Packing,
        first: Sequence[int],
        limits: BoxLimits,
        trial: Callable[[Sequence[Box]], Sequence[TriedBox]],
    ) -> None:
        """Begin with no box tried."""
        self._packing, self._first, self._limits, self._trial = packing, list(first), limits, trial
        self._tried: dict[Box, TriedBox] = {}
        self._caution = _CAUTION[0]
        packing.most = limits.most(self._caution)[self._first]

    def find(self) -> tuple[list[Box], list[int]]:
        """Return boxes that hold all items, or the items that no box holds."""
        for _ in range(_FIRST_TRIALS):
            self._try(filled_boxes(self._packing))
            if homeless := self._packing.homeless():
                return [], homeless
        best: list[Box] = []
        dearer = 0
        for number in range(_MOST_PROPOSALS):
            self._caution = _CAUTION[dearer]
            self._packing.most = self._limits.most(self._caution)[self._first]
            boxes = self._cheaper(pack(self._packing, number, best), self._packing.total(best) or math.inf)
            homeless = self._packing.homeless()
            if homeless:
                return [], homeless
            best, dearer = (boxes, 0) if boxes else (best, dearer + 1)
            if dearer == len(_CAUTION):
                break
        return best, []

    def hoped(self, boxes: Iterable[Box]) -> Packing:
        """Return the packing where boxes may be as busy as trials let hope at most, and as *boxes* that held are."""
        most = self._limits.most(0.0)
        for box in boxes:
            own = (self._first[box.kind], list(box.items))
            most[own] = np.maximum(most[own], self._packing.busiest(box.kind, box.items))
        return replace(self._packing, most=most[self._first])

    def _cheaper(self, boxes: Sequence[Box], than: float) -> list[Box]:
        """Return boxes that hold all items, from a proposal; nothing if they are not cheaper, or an item turns out to
        have no place.
        """
        while self._packing.total(boxes) < (1 - SLACK) * than:
            good = self._held(boxes)
            if sum(len(box.items) for box in good) == self._packing.need.shape[1]:
                return good
            if self._packing.homeless():
                break
            boxes = pack(self._packing, len(self._tried), good)
        return []

    def _held(self, boxes: Iterable[Box]) -> list[Box]:
        """Return those boxes that hold their items, and what the others hold without some of them."""
        good, left, values = [], list(boxes), self._packing.values()
        while left:
            held = [one.why is None for one in self._try(left)]
            good += [box for box, holds in zip(left, held, strict=True) if holds]
            less = [self._less(box, values) for box, holds in zip(left, held, strict=True) if not holds]
            left = [box for box in less if box.items]
        return good

    def _try(self, boxes: Sequence[Box]) -> list[TriedBox]:
        """Return what trials say of boxes; new ones are tried, and learned from."""
        new = [box for box in dict.fromkeys(boxes) if box not in self._tried]
        for box, tried in zip(new, self._trial(new), strict=True):
            self._tried[box] = tried
            first = self._first[box.kind]
            self._limits.note(first, self._packing.busiest(box.kind, box.items), tried.used)
            for kind, other in enumerate(self._first):
                if tried.why is not None and other == first:
                    self._packing.refuse(kind, frozenset(box.items))
        self._packing.most = self._limits.most(self._caution)[self._first]
        return [self._tried[box] for box in boxes]

    def _less(self, box: Box, values: NDArray[np.float64]) -> Box:
        """Return a box that failed without the items whose leaving costs least and helps most."""
        items = list(box.items)
        while items and not self._packing.holds(box.kind, items):
            excess = self._excess(box.kind, items)
            gains = []
            for item in items:
                left = self._excess(box.kind, [one for one in items if one != item])
                enough = left <= SLACK
                gains.append((enough, (1 if enough else excess - left) / values[item]))
            del items[max(range(len(items)), key=gains.__getitem__)]
        return Box(box.kind, tuple(items))

    def _excess(self, kind: int, items: Sequence[int]) -> float:
        """Return how much busier a box is than its items' limits allow."""
        if not items:
            return 0.0
        return self._packing.busiest(kind, items) - float(self._packing.most[kind, items].min())
