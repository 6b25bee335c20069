"""The search for the cheapest boxes that hold all items: vector bin packing with several kinds of box.

Boxes are filled one after the other, each time the kind that holds most value for its cost (a greedy cover); an item's
value is what its share of a box costs, and is changed at random. Then some boxes are emptied and filled anew, as long
as that makes the whole cheaper (ruin and recreate: G. Schrimpf and others, J. Computational Physics 159(2), 2000). It
is a heuristic: what it finds holds, but a cheaper answer may exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Shares add up to 1 with rounding errors.
SLACK = 1e-9
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
    """

    cost: NDArray[np.float64]  # (kinds,)
    need: NDArray[np.float64]  # (kinds, items, resources): share of what a box has; inf: it cannot hold the item
    apart: NDArray[np.bool_]  # (items, items): not in one box
    refused: dict[int, list[frozenset[int]]] = field(default_factory=dict)

    def holds(self, kind: int, items: Sequence[int]) -> bool:
        """Tell whether a box of a kind holds *items*."""
        chosen = list(items)
        if not (self.need[kind, chosen].sum(axis=0) <= 1 + SLACK).all():
            return False
        if self.apart[np.ix_(chosen, chosen)].any():
            return False
        return not any(refused.issubset(chosen) for refused in self.refused.get(kind, ()))

    def homeless(self) -> list[int]:
        """Return the items that no box holds, not even alone."""
        kinds = range(len(self.cost))
        return [item for item in range(self.need.shape[1]) if not any(self.holds(kind, [item]) for kind in kinds)]

    def total(self, boxes: Sequence[Box]) -> float:
        """Return what *boxes* cost."""
        return float(sum(self.cost[box.kind] for box in boxes))


def pack(packing: Packing, seed: int = 1, kept: Sequence[Box] = ()) -> list[Box]:
    """Return boxes that hold all items, as cheap as the search finds; each item must fit into some box alone.

    The search goes on from boxes that are *kept*, of an answer of which others were refused.
    """
    items = packing.need.shape[1]
    generator = np.random.default_rng(seed)
    values = _values(packing)
    held = [item for box in kept for item in box.items]
    best = [*kept, *_cover(packing, np.setdiff1d(np.arange(items), held), values)]
    for _ in range(_LEAST_TRIES if kept else max(_LEAST_TRIES, _TRIES_AN_ITEM * items)):
        emptied = generator.permutation(len(best))[: generator.integers(1, _MOST_EMPTIED + 1)].tolist()
        again = np.array(sorted(item for place in emptied for item in best[place].items))
        changed, liked = values * generator.uniform(0.4, 1.6, items), generator.uniform(0.6, 1.4, len(packing.cost))
        found = _cover(packing, again, changed, liked)
        if packing.total(found) <= packing.total([best[place] for place in emptied]) + SLACK:
            best = [box for place, box in enumerate(best) if place not in emptied] + found
    return sorted((Box(box.kind, tuple(sorted(box.items))) for box in best), key=lambda box: box.items)


def _values(packing: Packing) -> NDArray[np.float64]:
    """Return what each item costs where it is cheapest, as its largest share of a box."""
    share = packing.need.max(axis=2)
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = (packing.cost[:, None] * share).min(axis=0)
    return np.maximum(found, 1e-12)


def _cover(
    packing: Packing,
    items: NDArray[np.int64],
    values: NDArray[np.float64],
    liked: NDArray[np.float64] | None = None,
) -> list[Box]:
    """Fill boxes until *items* are in them; each kind counts as so many times as good as *liked* says."""
    liked = np.ones(len(packing.cost)) if liked is None else liked
    left = np.zeros(packing.need.shape[1], np.bool_)
    left[items] = True
    boxes = []
    while left.any():
        kind, held = max(
            ((kind, held) for kind, held in enumerate(_fill(packing, left, values)) if held),
            key=lambda one: (
                liked[one[0]] * values[one[1]].sum() / max(packing.cost[one[0]], 1e-12),
                -packing.cost[one[0]],
            ),
        )
        boxes.append(Box(kind, tuple(held)))
        left[held] = False
    return [_cheapest(packing, box) for box in boxes]


def _fill(packing: Packing, left: NDArray[np.bool_], values: NDArray[np.float64]) -> list[list[int]]:
    """Return what goes into one box of each kind: first what is worth most for what it takes of what is scarce."""
    open_items = np.flatnonzero(left)
    apart = packing.apart[np.ix_(open_items, open_items)]
    held: list[list[int]] = [[] for _ in packing.cost]
    need = np.ascontiguousarray(packing.need[:, open_items].transpose(2, 0, 1))  # many kinds and items at a time
    may = np.asarray(np.isfinite(need).all(axis=0))
    need = np.where(may, need, 0.0)
    kinds = np.arange(len(may))  # that hold more; the tables below are of these
    load = np.zeros(need.shape[:2])

    def refused(kind: int, item: int) -> bool:
        return any(one.issubset({*held[kind], item}) for one in packing.refused.get(kind, ()))

    while True:
        may &= (need <= (1 - load + SLACK)[:, :, None]).all(axis=0)
        more = may.any(axis=1)
        if not more.all():
            kinds, need, load, may = kinds[more], need[:, more], load[:, more], may[more]
        if not len(kinds):
            return held
        scarce = 1 / (1.02 - np.minimum(load, 1))
        worth = np.where(may, values[open_items] / ((need * scarce[:, :, None]).max(axis=0) + 1e-9), -1)
        rows, places = np.arange(len(kinds)), worth.argmax(axis=1)
        may[rows, places] = False
        if packing.refused:
            items = open_items[places]
            rows = rows[[not refused(kind, item) for kind, item in zip(kinds.tolist(), items.tolist(), strict=True)]]
        chosen = places[rows]
        for kind, item in zip(kinds[rows].tolist(), open_items[chosen].tolist(), strict=True):
            held[kind].append(item)
        load[:, rows] += need[:, rows, chosen]
        may[rows] &= ~apart[chosen]


def _cheapest(packing: Packing, box: Box) -> Box:
    """Return the cheapest box that holds the same."""
    for kind in np.argsort(packing.cost, kind="stable").tolist():
        if packing.cost[kind] >= packing.cost[box.kind]:
            break
        if packing.holds(kind, box.items):
            return Box(kind, box.items)
    return box
