"""Pages as dense numbers in the order of their first reference, while references stream by: a hash table that grows."""

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel

Keys = NDArray[np.int64]
Pages = NDArray[np.int32]

_EMPTY = -1
_FEWEST_SLOTS = 1 << 10
#: Slots for each page at least: with linear probing a table that is half full takes 1.5 probes to find a page (Knuth,
#: TAOCP 3, 6.4).
_SLOTS_PER_PAGE = 2
_LOW = 0xFFFF_FFFF
#: Multipliers of both halves of a key: 2^32 less the golden section of it (Knuth, TAOCP 3, 6.4), and one of
#: `random_numbers`; no product exceeds 2^63.
_GOLDEN, _OTHER = 0x61C88647, 0x735A2D97


@kernel
def _slot_of(key: int, shift: int) -> int:
    """Return where a search for a key begins, in a table of 2^(32 - shift) slots."""
    return ((((key & _LOW) * _GOLDEN) ^ ((key >> 32 & _LOW) * _OTHER)) & _LOW) >> shift


@kernel
def number_keys(
    keys: Keys, first: int, table_keys: Keys, table_numbers: Pages, count: int, most: int, shift: int, pages: Pages
) -> tuple[int, int]:
    """Write the numbers of *keys*, from the *first* on, into *pages*, until one is new and *most* pages have a number.

    Returns how many pages have a number then, and at which key it stopped.
    """
    mask = len(table_keys) - 1
    for place in range(first, len(keys)):
        key = keys[place]
        slot = _slot_of(key, shift)
        while table_numbers[slot] >= 0 and table_keys[slot] != key:
            slot = (slot + 1) & mask
        if table_numbers[slot] < 0:
            if count == most:
                return count, place
            table_keys[slot] = key
            table_numbers[slot] = count
            count += 1
        pages[place] = table_numbers[slot]
    return count, len(keys)


class PageNumbers:
    """Numbers pages 0, 1, 2, … as they come, at most *most* of them; memory grows with their number."""

    def __init__(self, most: int) -> None:
        """Begin with none."""
        self.count = 0
        self._most = most
        self._make_table(_FEWEST_SLOTS)

    def number(self, keys: Keys) -> Pages:
        """Return the numbers of *keys*, as many as there are before the first that would be one page too many."""
        pages = np.empty(len(keys), np.int32)
        place = 0
        while True:
            room = min(len(self._keys) // _SLOTS_PER_PAGE, self._most)
            self.count, place = number_keys(
                keys, place, self._keys, self._numbers, self.count, room, self._shift, pages
            )
            if place == len(keys) or self.count == self._most:
                return pages[:place]
            self._grow()

    def keys(self) -> Keys:
        """Return the key of each page by its number."""
        used = self._numbers != _EMPTY
        found = np.empty(self.count, np.int64)
        found[self._numbers[used]] = self._keys[used]
        return found

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget all pages but those *kept*, by number; these are numbered anew in their order."""
        keys = self.keys()[kept]
        self.count = 0
        self._make_table(len(self._keys))
        self.number(keys)

    def _grow(self) -> None:
        keys = self.keys()
        self.count = 0
        self._make_table(2 * len(self._keys))
        self.number(keys)

    def _make_table(self, slots: int) -> None:
        self._keys = np.zeros(slots, np.int64)
        self._numbers = np.full(slots, _EMPTY, np.int32)
        self._shift = 33 - slots.bit_length()
