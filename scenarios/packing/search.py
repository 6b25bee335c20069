"""Boxes that hold all items as trials confirm, and cost little: proposed, tried, and mended by what trials say.

A box of each kind is tried first: how busy it may be. Then boxes are proposed, and all that are new are tried. One that
fails gives up items until the limits that were learned allow the rest, which is tried anew. What was given up goes into
other boxes. When all hold, something cheaper is proposed for the items of some boxes; those that fail are mended with a
few that held, until many rounds find nothing.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.boxes import Box, Packing, filled_boxes
from tiersim.scenarios.packing.buying import pack
from tiersim.scenarios.packing.filling import SLACK
from tiersim.scenarios.packing.limits import BoxLimits

#: Boxes of each kind that are tried before the first proposal.
_FIRST_TRIALS = 2
#: How cautious proposals are (see :meth:`BoxLimits.most`), one after the other while they lead to nothing cheaper.
_CAUTION = (0.75, 0.5, 0.25, 0.0)
#: Rounds for each box: in all, and of those that find nothing cheaper; there are as many as cautions at least.
_ROUNDS_A_BOX, _FRUITLESS_A_BOX = 12, 3
#: Boxes that are proposed anew in a round, at least and at most.
_SOME_BOXES = 3, 7
#: Proposals of a round, and boxes that held that are proposed anew with those that failed.
_PROPOSALS, _BESIDE = 3, 2


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
        self._be_cautious(_CAUTION[0])

    def find(self) -> tuple[list[Box], list[int]]:
        """Return boxes that hold all items, or the items that no box holds."""
        for _ in range(_FIRST_TRIALS):
            self._try(filled_boxes(self._packing))
            if homeless := self._packing.homeless():
                return [], homeless
        best = self._held_by_all()
        fruitless = number = 0
        while fruitless < max(_FRUITLESS_A_BOX * len(best), len(_CAUTION)) and number < _ROUNDS_A_BOX * len(best):
            self._be_cautious(_CAUTION[fruitless % len(_CAUTION)])
            generator = np.random.default_rng(number)
            boxes = self._cheaper(best, int(generator.integers(_SOME_BOXES[0], _SOME_BOXES[1] + 1)), generator)
            best, fruitless, number = boxes or best, 0 if boxes else fruitless + 1, number + 1
        return best, [] if best else self._packing.homeless()

    def hoped(self, boxes: Iterable[Box]) -> Packing:
        """Return the packing where boxes may be as busy as trials let hope at most, and as *boxes* that held are."""
        most = self._limits.most(0.0)
        for box in boxes:
            own = (self._first[box.kind], list(box.items))
            most[own] = np.maximum(most[own], self._packing.busiest(box.kind, box.items))
        return replace(self._packing, most=most[self._first])

    def _held_by_all(self) -> list[Box]:
        """Return boxes that hold all items; nothing if an item turns out to have no place."""
        good: list[Box] = []
        while not self._packing.homeless():
            left = sorted({*range(self._packing.need.shape[1])} - {item for box in good for item in box.items})
            if not left:
                return good
            good += self._held(self._proposed(left, [], math.inf, len(self._tried)))
        return []

    def _cheaper(self, boxes: Sequence[Box], some: int, generator: np.random.Generator) -> list[Box]:
        """Return boxes that hold all items and cost less than *boxes*, of which so many are proposed anew; nothing if
        none are found.
        """
        below = self._packing.total(boxes) * (1 - SLACK)
        mixed = [boxes[place] for place in generator.permutation(len(boxes))]
        left, good = mixed[:some], mixed[some:]
        for _ in range(_PROPOSALS):
            items = sorted(item for box in left for item in box.items)
            left = self._proposed(items, left, below - self._packing.total(good), int(generator.integers(1 << 31)))
            held = [one.why is None for one in self._try(left)]
            good += [box for box, holds in zip(left, held, strict=True) if holds]
            left = [box for box, holds in zip(left, held, strict=True) if not holds]
            if not left:
                break
            self._held(left)  # for what that teaches
            mixed = [good[place] for place in generator.permutation(len(good))]
            left, good = left + mixed[:_BESIDE], mixed[_BESIDE:]
        return good if sum(len(box.items) for box in good) == self._packing.need.shape[1] else []

    def _proposed(self, items: Sequence[int], begin: Sequence[Box], below: float, seed: int) -> list[Box]:
        """Return boxes that may hold *items*, from some to begin with, and cost less; nothing if none are found."""
        number_of = {item: number for number, item in enumerate(items)}
        numbered = [Box(box.kind, tuple(number_of[item] for item in box.items)) for box in begin]
        found = pack(self._packing.only(items), seed, numbered, below)
        return [Box(box.kind, tuple(items[number] for number in box.items)) for box in found]

    def _be_cautious(self, caution: float) -> None:
        self._caution = caution
        self._packing.most = self._limits.most(caution)[self._first]

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
        self._be_cautious(self._caution)
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
