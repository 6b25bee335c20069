"""The search for the cheapest boxes: against all partitions where there are few items, against a bound where many."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tiersim.scenarios.packing.boxes import Box, Packing, pack


def least_cost(packing: Packing) -> float:
    """The cheapest partition, of all: by the sets of items that the cheapest boxes hold."""
    items = packing.need.shape[1]
    whole = (1 << items) - 1
    single = np.full(whole + 1, np.inf)
    for held in range(1, whole + 1):
        chosen = [item for item in range(items) if held >> item & 1]
        single[held] = min(
            (packing.cost[kind] for kind in range(len(packing.cost)) if packing.holds(kind, chosen)), default=np.inf
        )
    best = np.full(whole + 1, np.inf)
    best[0] = 0
    for held in range(1, whole + 1):
        lowest, part = held & -held, held
        while part:
            if part & lowest:
                best[held] = min(best[held], single[part] + best[held ^ part])
            part = (part - 1) & held
    return float(best[whole])


def drawn(seed: int, items: int, kinds: int, resources: int) -> Packing:
    generator = np.random.default_rng(seed)
    size = generator.uniform(0.5, 4, (kinds, 1)) * generator.uniform(0.7, 1.4, (kinds, resources))
    cost = size.mean(axis=1) ** 0.9 * generator.uniform(0.8, 1.25, kinds)
    demand = generator.uniform(0.05, 0.9, (items, resources)) * generator.uniform(0.2, 1, (items, 1)) / 2
    need = demand[None] / size[:, None]
    need = np.where((need > 1).any(axis=2, keepdims=True), np.inf, need)
    apart = np.triu(generator.random((items, items)) < 0.1, 1)
    return Packing(cost, need, apart | apart.T)


def check(packing: Packing, boxes: list[Box]) -> None:
    assert sorted(item for box in boxes for item in box.items) == list(range(packing.need.shape[1]))
    assert all(packing.holds(box.kind, box.items) for box in boxes)


def seeds(count: int) -> list[Any]:
    """Two draws of the default run, the others with the long tests."""
    return [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, count))]


@pytest.mark.parametrize(("items", "kinds"), [(2, 1), (5, 3), (7, 4), (8, 5)])
@pytest.mark.parametrize("seed", seeds(10))
def test_few_items_go_into_the_cheapest_boxes_of_all(seed: int, items: int, kinds: int) -> None:
    """The search is a heuristic: these draws are the same each time."""
    packing = drawn(seed, items, kinds, 3)
    if packing.homeless():
        return
    boxes = pack(packing)
    check(packing, boxes)
    assert packing.total(boxes) == pytest.approx(least_cost(packing))


def planted(seed: int, boxes: int, each: int, kinds: int, resources: int = 4) -> tuple[Packing, float]:
    """Items that fill some boxes of one kind to the brim; the other kinds are dearer for what they have."""
    generator = np.random.default_rng(seed)
    parts = generator.dirichlet(np.full(each, 3.0), (boxes, resources))  # of a box, a resource: shares of its items
    need = parts.transpose(0, 2, 1).reshape(boxes * each, resources)
    size = np.concatenate([[1.0], generator.uniform(0.6, 2.5, kinds - 1)])
    cost = np.concatenate([[1.0], size[1:] * generator.uniform(1.3, 2.0, kinds - 1)])
    scaled = need[None] / size[:, None, None]
    scaled = np.where((scaled > 1).any(axis=2, keepdims=True), np.inf, scaled)
    count = boxes * each
    return Packing(cost, scaled, np.zeros((count, count), bool)), float(boxes)


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(6))
def test_a_planted_optimum_is_found(seed: int) -> None:
    packing, cost = planted(seed, 3, 3, 4)
    boxes = pack(packing)
    check(packing, boxes)
    assert least_cost(packing) == pytest.approx(cost)
    assert packing.total(boxes) == pytest.approx(cost)


def lower_bound(packing: Packing, steps: int = 4000) -> float:
    """A bound by duality: with prices w of the resources of each kind that add up to the cost of a box, no packing is
    cheaper than each item where its share is cheapest (the dual of the fractional assignment, by subgradients).
    """
    kinds, _, resources = packing.need.shape
    finite = np.where(np.isfinite(packing.need), packing.need, 1e9)
    prices = np.full((kinds, resources), 1 / resources)
    best = 0.0
    for step in range(steps):
        price_of = np.einsum("kir,kr->ki", finite, prices) * packing.cost[:, None]
        chosen = price_of.argmin(axis=0)
        best = max(best, float(price_of.min(axis=0).sum()))
        gradient = np.zeros_like(prices)
        for kind in range(kinds):
            own = chosen == kind
            gradient[kind] = packing.cost[kind] * finite[kind][own].sum(axis=0)
        scale = np.abs(gradient).max()
        prices = _on_simplex(prices + gradient / scale * 0.5 / np.sqrt(step + 1))
    return best


def _on_simplex(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest rows of shares that add up to 1 (Duchi and others, ICML 2008)."""
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1
    count = np.arange(1, rows.shape[1] + 1)
    last = (ordered - sums / count > 0).sum(axis=1)
    theta = sums[np.arange(len(rows)), last - 1] / last
    found: NDArray[np.float64] = np.maximum(rows - theta[:, None], 0)
    return found


def test_the_bound_is_below_the_optimum() -> None:
    for seed in range(8):
        packing = drawn(seed, 7, 3, 3)
        if not packing.homeless():
            assert lower_bound(packing, 500) <= least_cost(packing) + 1e-9


@pytest.mark.long
def test_two_hundred_items_and_thirty_kinds_are_within_a_tenth_of_the_bound() -> None:
    generator = np.random.default_rng(11)
    items, kinds, hours = 200, 30, 24
    size = np.geomspace(1, 8, kinds)[:, None] * generator.uniform(0.85, 1.2, (kinds, 3))
    cost = size.mean(axis=1) ** 0.95 * generator.uniform(0.9, 1.15, kinds)
    fixed = generator.lognormal(-2.2, 0.6, (items, 2))
    peak = generator.lognormal(-2.2, 0.6, (items, 1))
    day = 0.3 + 0.7 * np.exp(-(((np.arange(hours)[None] - generator.normal(14, 4, (items, 1))) / 3) ** 2))
    demand = np.concatenate([fixed, peak * day], axis=1)
    limits = np.concatenate([size[:, :2], np.repeat(size[:, 2:], hours, axis=1)], axis=1)
    need = demand[None] / limits[:, None]
    need = np.where((need > 1).any(axis=2, keepdims=True), np.inf, need)
    packing = Packing(cost, need, np.zeros((items, items), bool))
    assert not packing.homeless()
    boxes = pack(packing)
    check(packing, boxes)
    bound = lower_bound(packing)
    assert packing.total(boxes) <= 1.1 * bound


def test_what_is_refused_is_not_packed_nor_is_more_of_it() -> None:
    packing = Packing(np.array([1.0, 1.5]), np.full((2, 4, 1), 0.25), np.zeros((4, 4), bool))
    assert packing.total(pack(packing)) == 1
    packing.refused[0] = [frozenset({0, 1})]
    boxes = pack(packing)
    check(packing, boxes)
    assert packing.total(boxes) == 1.5
    packing.refused[1] = [frozenset(pair) for pair in itertools.combinations(range(4), 2)]
    assert packing.total(pack(packing)) == 2


def test_an_item_that_no_box_holds_is_named() -> None:
    need = np.array([[[0.5], [1.5]], [[0.2], [np.inf]]])
    assert Packing(np.ones(2), need, np.zeros((2, 2), bool)).homeless() == [1]
