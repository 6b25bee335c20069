"""What goes into one box of each kind: first what is worth most for what it takes of what is scarce."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set

#: Shares add up to 1 with rounding errors.
SLACK = 1e-9
#: Items for each word of a set of them.
BITS = 62
#: What is nearly full is not scarce without end; what takes nothing is not worth it without end.
_BEYOND_FULL, _LEAST_SHARE = 1.02, 1e-9


@table_set
class FillingTables(NamedTuple):
    """What may go into boxes, and what goes in."""

    need: NDArray[np.float64]  # (kinds, items, resources): share of what a box has; inf: it cannot hold the item
    width: NDArray[np.int64]  # (kinds,) resources of a kind; the others are of no use
    fixed: NDArray[np.int64]  # (1,) resources that are used up; how busy the others may be is for the items to say
    most: NDArray[np.float64]  # (kinds, items) so busy
    apart: NDArray[np.uint8]  # (items, items)
    refused: NDArray[np.int64]  # (sets, words): items that are not together in a box, nor with more
    first_refused: NDArray[np.int64]  # (kinds + 1,) those of a kind
    items: NDArray[np.int64]  # (items,) numbers of those that are to go into boxes
    item_count: NDArray[np.int64]  # (1,) how many these are
    values: NDArray[np.float64]  # (items,)
    held: NDArray[np.int64]  # (kinds, items) what goes in, in order
    held_count: NDArray[np.int64]  # (kinds,)
    load: NDArray[np.float64]  # (resources,) of the box that is being filled
    scarce: NDArray[np.float64]  # (resources,)
    words: NDArray[np.int64]  # (words,)
    may: NDArray[np.uint8]  # (items,)


@kernel
def fill_kinds(t: FillingTables) -> None:
    """Fill a box of each kind with what may go in."""
    for kind in range(t.width.size):
        _fill(t, kind)


@kernel
def _fill(t: FillingTables, kind: int) -> None:
    """Fill a box of one kind."""
    width, fixed, count = t.width[kind], t.fixed[0], t.item_count[0]
    for resource in range(width):
        t.load[resource] = 0.0
    for word in range(t.words.size):
        t.words[word] = 0
    t.held_count[kind] = 0
    full = 1.0
    for place in range(count):
        item = t.items[place]
        t.may[item] = 1
    while True:
        for resource in range(width):
            limit = 1.0 if resource < fixed else full
            t.scarce[resource] = 1.0 / (_BEYOND_FULL * limit - min(t.load[resource], limit))
        best, best_worth = -1, -1.0
        for place in range(count):
            item = t.items[place]
            if t.may[item] == 0:
                continue
            lowest = min(full, t.most[kind, item])
            largest = 0.0
            for resource in range(width):
                need = t.need[kind, item, resource]
                if t.load[resource] + need > (1.0 if resource < fixed else lowest) + SLACK:
                    t.may[item] = 0
                    break
                largest = max(largest, need * t.scarce[resource])
            if t.may[item] == 0:
                continue
            worth = lowest * t.values[item] / (largest + _LEAST_SHARE)
            if worth > best_worth:
                best, best_worth = item, worth
        if best < 0:
            return
        t.may[best] = 0
        word = best // BITS
        t.words[word] |= 1 << (best % BITS)
        if _refused(t, kind):
            t.words[word] ^= 1 << (best % BITS)
            continue
        t.held[kind, t.held_count[kind]] = best
        t.held_count[kind] += 1
        full = min(full, t.most[kind, best])
        for resource in range(width):
            t.load[resource] += t.need[kind, best, resource]
        for place in range(count):
            if t.apart[best, t.items[place]] != 0:
                t.may[t.items[place]] = 0


@kernel
def _refused(t: FillingTables, kind: int) -> bool:
    """Tell whether a box of a kind does not hold the items of ``words``."""
    refused = False
    for row in range(t.first_refused[kind], t.first_refused[kind + 1]):
        if is_within(t.refused, row, t.words):
            refused = True
            break
    return refused


@kernel
def is_within(sets: NDArray[np.int64], row: int, words: NDArray[np.int64]) -> bool:
    """Tell whether all items of a set are in *words*."""
    within = True
    for word in range(words.size):
        if sets[row, word] & ~words[word] != 0:
            within = False
            break
    return within


class Filling:
    """Fills boxes of each kind with items that are worth something."""

    def __init__(
        self,
        need: NDArray[np.float64],
        fixed: int,
        most: NDArray[np.float64],
        apart: NDArray[np.bool_],
        refused: Mapping[int, Sequence[frozenset[int]]],
    ) -> None:
        """Take what a packing says, see :class:`tiersim.scenarios.packing.boxes.Packing`."""
        kinds, items, resources = need.shape
        words = -(-items // BITS)
        by_kind = [refused.get(kind, ()) for kind in range(kinds)]
        sets = np.zeros((sum(map(len, by_kind)), words), np.int64)
        for row, one in enumerate(each for own in by_kind for each in own):
            for item in one:
                sets[row, item // BITS] |= 1 << (item % BITS)
        there: NDArray[np.bool_] = (np.isfinite(need) & (need != 0)).any(axis=1)
        width = np.maximum(resources - there[:, ::-1].argmax(axis=1), 1)
        self.tables = FillingTables(
            need=np.ascontiguousarray(need),
            width=width.astype(np.int64),
            fixed=np.array([fixed], np.int64),
            most=np.ascontiguousarray(most),
            apart=apart.astype(np.uint8),
            refused=sets,
            first_refused=np.cumsum([0, *map(len, by_kind)]).astype(np.int64),
            items=np.zeros(items, np.int64),
            item_count=np.zeros(1, np.int64),
            values=np.zeros(items),
            held=np.zeros((kinds, items), np.int64),
            held_count=np.zeros(kinds, np.int64),
            load=np.zeros(resources),
            scarce=np.zeros(resources),
            words=np.zeros(words, np.int64),
            may=np.zeros(items, np.uint8),
        )

    def fill(self, items: NDArray[np.int64], values: NDArray[np.float64]) -> list[list[int]]:
        """Return what of *items* goes into a box of each kind."""
        t = self.tables
        t.items[: len(items)] = items
        t.item_count[0] = len(items)
        t.values[:] = values
        fill_kinds(t)
        return [t.held[kind, :count].tolist() for kind, count in enumerate(t.held_count.tolist())]
