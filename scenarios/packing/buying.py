"""The search for the cheapest boxes that hold all items: vector bin packing with several kinds of box.

At first boxes are filled one after the other, each time the kind that holds most value for its cost (a greedy cover);
an item's value is what its share of a box costs. Then simulated annealing over the kinds of boxes (S. Kirkpatrick and
others, Science 220, 1983): some become of another kind, one more or one less is bought, and items change boxes until
all fit, see ``exchanging``. What is too full counts as cost. It is a heuristic: what it finds holds, but a cheaper
answer may exist.
"""

import math
from collections.abc import Sequence

import numpy as np

from tiersim.scenarios.packing.boxes import Box, Packing, filling_of
from tiersim.scenarios.packing.exchanging import Exchange
from tiersim.scenarios.packing.filling import SLACK

#: Changes of boxes that are tried, for each item, and at least. These and the others are choices: they decide how near
#: the cheapest answer it comes, never what holds.
_TRIES_AN_ITEM, _LEAST_TRIES = 5, 600
#: Steps of items, for each of them, in which boxes have to become no more than so much too full; then so many more, and
#: many more if very little is too full by then.
_FIRST_STEPS, _HOPED, _STEPS, _LITTLE, _MOST_STEPS = 25, 0.6, 250, 0.1, 1250
#: What it costs that a box is too full by all it holds, and what dearer boxes cost more that are gone on from with a
#: probability of 1/e, at first and at last: in mean boxes.
_TOO_FULL, _FIRST_HEAT, _COOLING = 3.0, 1.5, 0.03
#: Boxes that become of another kind at a time, at most; in one of so many tries there is one less, in one one more.
_MOST_CHANGED, _NUMBERS = 3, 8


def pack(packing: Packing, seed: int = 1, begin: Sequence[Box] = (), below: float = math.inf) -> list[Box]:
    """Return boxes that hold all items, as cheap as the search finds; each item must fit into some box alone.

    The search goes on from boxes to *begin* with, if there are any: they have all items, and may be too full. Then what
    is found costs less than *below*, and is nothing where the search finds nothing.
    """
    generator, exchange = np.random.default_rng(seed), Exchange(packing)
    items = packing.need.shape[1]
    now = list(begin) or _cover(packing)
    best = [] if begin else now
    below = min(below, packing.total(now)) if best else below
    worth, mean = math.inf, max(packing.total(now) / len(now), SLACK)
    first = mean * _FIRST_HEAT / len(now)
    tries = max(_LEAST_TRIES, _TRIES_AN_ITEM * items)
    for number in range(tries):
        asked = _changed(packing, now, generator) if number else now
        cost, heat = packing.total(asked), first * _COOLING ** (number / tries)
        most = (worth - cost - heat * math.log(1 - generator.random())) / (_TOO_FULL * mean)
        if most < 0:
            continue
        over, found = _fitted(exchange, asked, items, generator, most + _HOPED, cost < below)
        if over <= most:
            now, worth = found, cost + _TOO_FULL * mean * over
        cost = packing.total(found)
        if over <= SLACK and cost < below * (1 - SLACK):
            best, below = found, cost
    return sorted((Box(box.kind, tuple(sorted(box.items))) for box in best), key=lambda box: box.items)


def _fitted(
    exchange: Exchange, boxes: Sequence[Box], items: int, generator: np.random.Generator, most: float, wanted: bool
) -> tuple[float, list[Box]]:
    """Return the boxes with their items exchanged, and how much too full they are then; what stays fuller than *most*
    is given up early, and most steps are for what is *wanted*.
    """
    over, found = exchange.run(boxes, _FIRST_STEPS * items, int(generator.integers(1 << 31)))
    for steps, limit in ((_STEPS, most), (_MOST_STEPS, _LITTLE if wanted else SLACK)):
        if SLACK < over <= limit:
            less, again = exchange.run(found, steps * items, int(generator.integers(1 << 31)))
            over, found = (less, again) if less < over else (over, found)
    return over, [box for box in found if box.items]


def _changed(packing: Packing, boxes: Sequence[Box], generator: np.random.Generator) -> list[Box]:
    """Return boxes of which some are of other kinds, and which may be one more or one less."""
    changed = [boxes[place] for place in generator.permutation(len(boxes))]
    number = int(generator.integers(_NUMBERS))
    if number == 0 and len(changed) > 1:
        first, second, *others = changed
        changed = [Box(second.kind, (*first.items, *second.items)), *others]
    elif number == 1:
        changed = [Box(0, ()), *changed]
    for place in range(min(int(generator.integers(1, _MOST_CHANGED + 1)), len(changed))):
        changed[place] = Box(int(generator.integers(len(packing.cost))), changed[place].items)
    return changed


def _cover(packing: Packing) -> list[Box]:
    """Fill boxes until all items are in them."""
    filling, values, items = filling_of(packing), packing.values(), np.arange(packing.need.shape[1])
    good = 1 / np.maximum(packing.cost, 1e-12)
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
