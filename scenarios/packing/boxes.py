"""The search for the cheapest boxes that hold all items: vector bin packing with several kinds of box.

Boxes are filled one after the other, each time the kind that holds most value for its cost (a greedy cover); an item's
value is what its share of a box costs, and is changed at random. Then some boxes are emptied and filled anew, as long
as that makes the whole cheaper (ruin and recreate: G. Schrimpf and others, J. Computational Physics 159(2), 2000). It
is a heuristic: what it finds holds, but a cheaper answer may exist. Prices where items may be divided find what is 1 %
cheaper where boxes may be full, and 5 to 12 % dearer where trials have taught how busy they may be (200 drawn items,
three draws; tests/test_packing.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.filling import SLACK, Filling

#: Boxes that are emptied at a time, at most; how often that is tried for each item, and at least.
_MOST_EMPTIED, _TRIES_AN_ITEM, _LEAST_TRIES = 4, 8, 600


@dataclass(frozen=True)
class Box:
    """A box of a kind, with what it holds."""

    kind: int
    items: tuple[int, ...]


@dataclass
class Packing:
    """What is to be packed; ``refused`` are sets of items, by kind, that a box does not hold for other reasons: neither
    does it hold more.

    The first ``fixed`` resources are there to be used up. How busy the others may be is for the items to say: none of
    them busier than ``most`` of each item in a box.
    """

    cost: NDArray[np.float64]  # (kinds,)
    need: NDArray[np.float64]  # (kinds, items, resources): share of what a box has; inf: it cannot hold the item
    apart: NDArray[np.bool_]  # (items, items): not in one box
    refused: dict[int, list[frozenset[int]]] = field(default_factory=dict)
    fixed: int = 0
    most: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))  # (kinds, items)

    def __post_init__(self) -> None:
        """Let a box be full where nothing else is said."""
        self.most = np.broadcast_to(self.most, self.need.shape[:2])

    def busiest(self, kind: int, items: Sequence[int]) -> float:
        """Return how busy the busiest resource is that is not used up."""
        return float(self.need[kind, list(items), self.fixed :].sum(axis=0).max(initial=0.0))

    def holds(self, kind: int, items: Sequence[int]) -> bool:
        """Tell whether a box of a kind holds *items*."""
        chosen = list(items)
        if not (self.need[kind, chosen, : self.fixed].sum(axis=0) <= 1 + SLACK).all():
            return False
        if not self.busiest(kind, chosen) <= self.most[kind, chosen].min(initial=1.0) + SLACK:
            return False
        if self.apart[np.ix_(chosen, chosen)].any():
            return False
        return not any(refused.issubset(chosen) for refused in self.refused.get(kind, ()))

    def refuse(self, kind: int, items: frozenset[int]) -> None:
        """Take note of items that a box does not hold, nor any more than these."""
        smaller = [one for one in self.refused.get(kind, ()) if not one.issuperset(items)]
        self.refused[kind] = [*smaller, items]

    def homeless(self) -> list[int]:
        """Return the items that no box holds, not even alone."""
        kinds = range(len(self.cost))
        return [item for item in range(self.need.shape[1]) if not any(self.holds(kind, [item]) for kind in kinds)]

    def total(self, boxes: Sequence[Box]) -> float:
        """Return what *boxes* cost."""
        return float(sum(self.cost[box.kind] for box in boxes))

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return which share of a box each item takes of what it may take, and which kinds can hold it."""
        need = self.need.copy()
        need[:, :, self.fixed :] /= self.most[:, :, None]
        there: NDArray[np.bool_] = np.isfinite(need.sum(axis=2))
        need[~there] = 0.0
        return need, there

    def values(self) -> NDArray[np.float64]:
        """Return what each item costs where it is cheapest, as its largest share of a box."""
        taken = self.need[:, :, : self.fixed].max(axis=2, initial=0.0)
        busy = self.need[:, :, self.fixed :].max(axis=2, initial=0.0) / self.most
        found: NDArray[np.float64] = (self.cost[:, None] * np.maximum(taken, busy)).min(axis=0)
        return np.maximum(found, 1e-12)


def pack(packing: Packing, seed: int = 1, kept: Sequence[Box] = ()) -> list[Box]:
    """Return boxes that hold all items, as cheap as the search finds; each item must fit into some box alone.

    The search goes on from boxes that are *kept*, which give way to what is cheaper only.
    """
    items = packing.need.shape[1]
    generator = np.random.default_rng(seed)
    values = packing.values()
    held = [item for box in kept for item in box.items]
    filling, stays = _filling(packing), set(kept)
    best = [*kept, *_cover(packing, filling, np.setdiff1d(np.arange(items), held), values)]
    for _ in range(_LEAST_TRIES if kept else max(_LEAST_TRIES, _TRIES_AN_ITEM * items)):
        emptied = generator.permutation(len(best))[: generator.integers(1, _MOST_EMPTIED + 1)].tolist()
        again = np.array(sorted(item for place in emptied for item in best[place].items))
        changed, liked = values * generator.uniform(0.4, 1.6, items), generator.uniform(0.6, 1.4, len(packing.cost))
        found = _cover(packing, filling, again, changed, liked)
        was = packing.total([best[place] for place in emptied])
        slack = -SLACK * was if any(best[place] in stays for place in emptied) else SLACK
        if packing.total(found) <= was + slack:
            best = [box for place, box in enumerate(best) if place not in emptied] + found
    return sorted((Box(box.kind, tuple(sorted(box.items))) for box in best), key=lambda box: box.items)


def filled_boxes(packing: Packing) -> list[Box]:
    """Return a box of each kind with what is worth most in it."""
    filled = _filling(packing).fill(np.arange(packing.need.shape[1]), packing.values())
    return [Box(kind, tuple(sorted(held))) for kind, held in enumerate(filled) if held]


def _filling(packing: Packing) -> Filling:
    return Filling(packing.need, packing.fixed, packing.most, packing.apart, packing.refused)


def without_lesser(packing: Packing) -> Packing:
    """Return the same without resources of which, in a kind of box, no item takes more than of one of the others: they
    are never what is short.
    """
    fixed, kept = packing.fixed, []
    for own in packing.need:
        there = own[np.isfinite(own).all(axis=1), fixed:]
        found: list[int] = []
        for column in np.argsort(-there.sum(axis=0), kind="stable").tolist():
            if not (there[:, [column]] <= there[:, found]).all(axis=0).any():
                found.append(column)
        kept.append([*range(fixed), *(fixed + column for column in sorted(found))])
    need = np.zeros((*packing.need.shape[:2], max(map(len, kept))))
    for kind, columns in enumerate(kept):
        need[kind, :, : len(columns)] = packing.need[kind][:, columns]
        need[kind, ~np.isfinite(packing.need[kind]).all(axis=1)] = np.inf
    return replace(packing, need=need)


def _cover(
    packing: Packing,
    filling: Filling,
    items: NDArray[np.int64],
    values: NDArray[np.float64],
    liked: NDArray[np.float64] | None = None,
) -> list[Box]:
    """Fill boxes until *items* are in them; each kind counts as so many times as good as *liked* says."""
    liked = np.ones(len(packing.cost)) if liked is None else liked
    good = liked / np.maximum(packing.cost, 1e-12)
    boxes = []
    while items.size:
        kind, held = max(
            ((kind, held) for kind, held in enumerate(filling.fill(items, values)) if held),
            key=lambda one: (good[one[0]] * values[one[1]].sum(), -packing.cost[one[0]]),
        )
        boxes.append(Box(kind, tuple(held)))
        items = np.setdiff1d(items, held)
    return [_cheapest(packing, box) for box in boxes]


def _cheapest(packing: Packing, box: Box) -> Box:
    """Return the cheapest box that holds the same."""
    for kind in np.argsort(packing.cost, kind="stable").tolist():
        if packing.cost[kind] >= packing.cost[box.kind]:
            break
        if packing.holds(kind, box.items):
            return Box(kind, box.items)
    return box
