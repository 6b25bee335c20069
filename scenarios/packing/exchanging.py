"""Items change boxes until none of the boxes that are bought is too full: simulated annealing.

An item moves to another box, or two change places. What makes boxes less full is done; what makes them fuller is done
with a probability that falls with the steps (S. Kirkpatrick and others, Science 220, 1983).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.random_numbers import PACKED_ITEMS, below_from, bits_from, random_source
from tiersim.scenarios.packing.boxes import Box, Packing, filling_of
from tiersim.scenarios.packing.filling import BITS, SLACK, is_within

#: A step makes boxes fuller by that much of a median item at most: at first, and less and less until the last.
_HEAT = 0.25
#: Two items that are not to be together count as that much of a box too many, and an item that a box cannot hold.
_TOGETHER, _NO_PLACE = 0.1, 1.5
#: So many steps move an item, of so many; the others change two. These and the others are choices: they decide how soon
#: boxes fit, never what fits.
_MOVES, _OF_STEPS = 2, 5


@table_set
class ExchangeTables(NamedTuple):
    """What is packed, and boxes with what is in them."""

    need: NDArray[np.float64]  # (kinds, items, resources): share of what a box has
    width: NDArray[np.int64]  # (kinds,) resources of a kind; the others are of no use
    fixed: NDArray[np.int64]  # (1,) resources that are used up; how busy the others may be is for the items to say
    most: NDArray[np.float64]  # (kinds, items) so busy
    apart: NDArray[np.uint8]  # (items, items)
    refused: NDArray[np.int64]  # (sets, words): items that are not together in a box, nor with more
    first_refused: NDArray[np.int64]  # (kinds + 1,) those of a kind
    kind: NDArray[np.int64]  # (boxes,)
    home: NDArray[np.int64]  # (items,) box
    place: NDArray[np.int64]  # (items,) in it
    held: NDArray[np.int64]  # (boxes, items)
    held_count: NDArray[np.int64]  # (boxes,)
    load: NDArray[np.float64]  # (boxes, resources)
    over: NDArray[np.float64]  # (boxes,) how much too full, as a share
    next_load: NDArray[np.float64]  # (2, resources) of the boxes that a step changes
    best_home: NDArray[np.int64]  # (items,) where boxes were least too full
    words: NDArray[np.int64]  # (words,)


@kernel
def exchange(t: ExchangeTables, steps: int, first_heat: float, seed: int) -> float:
    """Take up to so many steps; return how much too full boxes are where that is least."""
    items, boxes = t.home.size, t.kind.size
    total = 0.0
    for box in range(boxes):
        for resource in range(t.width[t.kind[box]]):
            for place in range(t.held_count[box]):
                t.load[box, resource] += t.need[t.kind[box], t.held[box, place], resource]
        t.over[box] = _changed(t, 0, box, -1, -1, math.inf) + _together(t, box, -1, -1)
        total += t.over[box]
    best = total
    _keep(t)
    source = random_source(seed, PACKED_ITEMS, 0)
    for step in range(steps):
        if best <= SLACK:
            break
        one = below_from(items, source, 3 * step)
        draw = bits_from(source, 6 * step + 2)
        heat = first_heat * (1.0 - step / steps) * bits_from(source, 6 * step + 3) / 4294967296.0
        at = t.home[one]
        other = -1
        if draw % _OF_STEPS < _MOVES:
            to = below_from(boxes, source, 3 * step + 2)
            if t.held_count[at] == 1:
                continue
        else:
            other = below_from(items, source, 3 * step + 2)
            to = t.home[other]
        if to == at:
            continue
        was = t.over[at] + t.over[to]
        most = was + heat
        left = _changed(t, 0, at, one, other, most)
        if left > most:
            continue
        come = _changed(t, 1, to, other, one, most)
        if left + come > most:
            continue
        left += _together(t, at, one, other)
        come += _together(t, to, other, one)
        if left + come > most:
            continue
        _move(t, one, at, to, other)
        t.over[at], t.over[to] = left, come
        for resource in range(t.width[t.kind[at]]):
            t.load[at, resource] = t.next_load[0, resource]
        for resource in range(t.width[t.kind[to]]):
            t.load[to, resource] = t.next_load[1, resource]
        total += left + come - was
        if total < best - SLACK:
            best = total
            _keep(t)
    return best


@kernel
def _keep(t: ExchangeTables) -> None:
    """Keep where items are."""
    for item in range(t.home.size):
        t.best_home[item] = t.home[item]


@kernel
def _changed(t: ExchangeTables, row: int, box: int, out: int, into: int, most: float) -> float:
    """Reckon the next load of a box without item *out* and with *into*, of -1 none; return how much too full it is,
    added up over what is used up and what is busiest; if it is more than *most*, it may be more than what is returned.
    """
    kind, over, busiest = t.kind[box], 0.0, 0.0
    lowest = t.most[kind, into] if into >= 0 else 1.0
    for place in range(t.held_count[box]):
        if t.held[box, place] != out:
            lowest = min(lowest, t.most[kind, t.held[box, place]])
    for resource in range(t.width[kind]):
        load = t.load[box, resource]
        if out >= 0:
            load -= t.need[kind, out, resource]
        if into >= 0:
            load += t.need[kind, into, resource]
        t.next_load[row, resource] = load
        if resource >= t.fixed[0]:
            busiest = max(busiest, load)
            if busiest - lowest > most:
                break
        elif load > 1.0 + SLACK:
            over += load - 1.0
    return over + (busiest - lowest if busiest > lowest + SLACK else 0.0)


@kernel
def _together(t: ExchangeTables, box: int, out: int, into: int) -> float:
    """Return how much too full a box counts for items that are not to be together."""
    found, kind = 0.0, t.kind[box]
    for word in range(t.words.size):
        t.words[word] = 0
    for place in range(t.held_count[box] + 1):
        item = into if place == t.held_count[box] else t.held[box, place]
        if item < 0 or item == out:
            continue
        for before in range(place):
            if t.held[box, before] != out and t.apart[item, t.held[box, before]] != 0:
                found += _TOGETHER
        t.words[item // BITS] |= 1 << (item % BITS)
    for row in range(t.first_refused[kind], t.first_refused[kind + 1]):
        if is_within(t.refused, row, t.words):
            found += _TOGETHER
    return found


@kernel
def _move(t: ExchangeTables, item: int, at: int, to: int, other: int) -> None:
    """Move an item from a box to another, and the *other* item, if there is one, into its place."""
    place = t.place[item]
    if other >= 0:
        t.held[to, t.place[other]], t.held[at, place] = item, other
        t.place[item], t.place[other] = t.place[other], place
        t.home[other] = at
    else:
        last = t.held[at, t.held_count[at] - 1]
        t.held[at, place], t.place[last] = last, place
        t.held_count[at] -= 1
        t.held[to, t.held_count[to]], t.place[item] = item, t.held_count[to]
        t.held_count[to] += 1
    t.home[item] = to


class Exchange:
    """Exchanges items of a packing."""

    def __init__(self, packing: Packing) -> None:
        """Take what a packing says by now."""
        there: NDArray[np.bool_] = np.isfinite(packing.need.sum(axis=2))
        need = np.where(there[:, :, None], packing.need, 0.0)
        need[~there, 0] = _NO_PLACE
        filling = filling_of(packing).tables._asdict()
        self._shared = {name: filling[name] for name in ExchangeTables._fields if name in filling} | {"need": need}
        self._heat = _HEAT * float(np.median(packing.need.max(axis=2)[there]))

    def run(self, boxes: Sequence[Box], steps: int, seed: int) -> tuple[float, list[Box]]:
        """Return by how much boxes of these kinds are too full, as shares of a box, added up, where that is least in so
        many steps; and these boxes. All items are in one to begin with.
        """
        _, items, resources = self._shared["need"].shape
        held = np.zeros((len(boxes), items), np.int64)
        home, place = np.zeros(items, np.int64), np.zeros(items, np.int64)
        for number, box in enumerate(boxes):
            chosen = list(box.items)
            held[number, : len(chosen)] = chosen
            home[chosen], place[chosen] = number, np.arange(len(chosen))
        own = {
            "kind": np.array([box.kind for box in boxes], np.int64),
            "home": home,
            "place": place,
            "held": held,
            "held_count": np.array([len(box.items) for box in boxes], np.int64),
            "load": np.zeros((len(boxes), resources)),
            "over": np.zeros(len(boxes)),
            "next_load": np.zeros((2, resources)),
            "best_home": home.copy(),
        }
        tables = ExchangeTables(**self._shared | own)
        over = exchange(tables, steps, self._heat, seed)
        return over, [
            Box(box.kind, tuple(np.flatnonzero(tables.best_home == number).tolist()))
            for number, box in enumerate(boxes)
        ]
