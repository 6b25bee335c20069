"""Boxes of several kinds, and the items that are to be packed into them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.filling import SLACK, Filling


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

    def only(self, items: Sequence[int]) -> "Packing":
        """Return the packing of some items, which are numbered in that order."""
        chosen = list(items)
        number_of = {item: number for number, item in enumerate(chosen)}
        refused = {
            kind: [frozenset(map(number_of.__getitem__, one)) for one in own if number_of.keys() >= one]
            for kind, own in self.refused.items()
        }
        return replace(
            self,
            need=self.need[:, chosen],
            apart=self.apart[np.ix_(chosen, chosen)],
            refused=refused,
            most=self.most[:, chosen],
        )

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


def filled_boxes(packing: Packing) -> list[Box]:
    """Return a box of each kind with what is worth most in it."""
    filled = filling_of(packing).fill(np.arange(packing.need.shape[1]), packing.values())
    return [Box(kind, tuple(sorted(held))) for kind, held in enumerate(filled) if held]


def filling_of(packing: Packing) -> Filling:
    """Return what fills boxes of a packing, as far as it is known by now."""
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
