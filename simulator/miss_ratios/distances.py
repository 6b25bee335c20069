"""LRU stack distances, one reference after the other, in memory that grows with the pages and not with the references.

A reference at distance d hits in every LRU cache of d pages or more, and misses in smaller ones (Mattson, Gecsei,
Slutz, Traiger, IBM Systems Journal 9, 1970). The distance is the number of distinct pages since the last reference to
the same one, that one included: of the positions of references those bits are set that are the last of their page
(Bennett and Kruskal, IBM J. Res. Dev. 19, 1975), and counted from there on: word by word within a block of 512
positions, and beyond it from suffix sums over blocks, groups of 64 blocks, and sections of 32 groups. A reference that
is not the last of its page any more takes one off the sums before its block, a whole row at a time; what the newest
block holds is added when it is full. When no position is left, the positions that are set are numbered anew in their
order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.kernel import jit_enabled, kernel, table_set
from tiersim.simulator.miss_ratios.numbering import Pages


@kernel
def _in_machine_code(word: int) -> int:
    # LLVM knows this sum by its form, and makes one instruction of it
    pairs = word - (word >> 1 & 0x5555_5555_5555_5555)
    nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333)
    octets = nibbles + (nibbles >> 4) & 0x0F0F_0F0F_0F0F_0F0F
    return octets * 0x0101_0101_0101_0101 >> 56 & 0x7F


def _in_python(word: int) -> int:
    return (int(word) & (1 << 64) - 1).bit_count()


#: Counts the bits of an int64; callable from kernels.
count_bits = _in_machine_code if jit_enabled() else _in_python


#: The distance of a first reference.
FIRST = 0
#: Positions in a block; words in it; blocks in a group; groups in a section.
_BLOCK, _WORDS, _GROUP, _SECTION = 512, 8, 64, 32
#: Positions for each page when they are numbered anew: fewer are exhausted sooner, more lie further apart in memory.
_POSITIONS_PER_PAGE, _FEWEST_POSITIONS = 8, 1 << 14
#: Positions are int32.
MOST_PAGES = (1 << 31) // _POSITIONS_PER_PAGE - _BLOCK
_NEVER = -1

#: By place within a word: its bit, and all bits behind it.
_BIT = (np.uint64(1) << np.arange(64, dtype=np.uint64)).view(np.int64)
_BEHIND = (~np.uint64(0) << np.arange(64, dtype=np.uint64) << np.uint64(1)).view(np.int64)
#: By place k within a group or a section: ones before k.
_BEFORE_IN_GROUP = np.tri(_GROUP, k=-1, dtype=np.uint16)
_BEFORE_IN_SECTION = np.tri(_SECTION, k=-1, dtype=np.int32)


@table_set
class Stack(NamedTuple):
    """Positions of last references; sums are of the bits behind a block in its group, behind a group in its section,
    and behind a section.

    The sums leave out the newest block.
    """

    words: NDArray[np.int64]  # (blocks, 8)
    behind_block: NDArray[np.uint16]  # (groups, 64)
    behind_group: NDArray[np.int32]  # (sections, 32)
    behind_section: NDArray[np.int32]  # (sections,)


@kernel
def _take(stack: Stack, then: int, newest: int) -> tuple[int, int]:
    """Clear a position that is set; returns how many behind it are, without those of the newest block if it is of
    another, and 1 if it is of that.
    """
    block, word, bit = then >> 9, then >> 6 & 7, then & 63
    count = count_bits(stack.words[block, word] & _BEHIND[bit])
    stack.words[block, word] ^= _BIT[bit]
    for other in range(word + 1, _WORDS):
        count += count_bits(stack.words[block, other])
    if block == newest:
        return count, 1
    group, section = block >> 6, block >> 11
    in_group, in_section = block & (_GROUP - 1), group & (_SECTION - 1)
    count += (
        int(stack.behind_block[group, in_group])
        + int(stack.behind_group[section, in_section])
        + int(stack.behind_section[section])
    )
    for place in range(_GROUP):
        stack.behind_block[group, place] -= _BEFORE_IN_GROUP[in_group, place]
    for place in range(_SECTION):
        stack.behind_group[section, place] -= _BEFORE_IN_SECTION[in_section, place]
    for place in range(section):
        stack.behind_section[place] -= 1
    return count, 0


@kernel
def _close(stack: Stack, block: int, pages: int) -> None:
    """Add what a block holds, the newest until now, to the sums before it."""
    group, section = block >> 6, block >> 11
    for place in range(block & (_GROUP - 1)):
        stack.behind_block[group, place] += np.uint16(pages)
    for place in range(group & (_SECTION - 1)):
        stack.behind_group[section, place] += pages
    for place in range(section):
        stack.behind_section[place] += pages


@kernel(vectorized=True)
def measure_distances(
    pages: Pages, first: int, last: NDArray[np.int32], stack: Stack, position: int, newest: int, distances: Pages
) -> tuple[int, int, int]:
    """Write the distances of *pages*, from the *first* on, until no position is left.

    *last* has the position of the last reference to each page; the next is *position*, in a block that holds *newest*
    pages.
    Returns at which page it stopped, and these two.
    """
    positions = stack.words.size * 64
    for place in range(first, len(pages)):
        if position == positions:
            return place, position, newest
        page = pages[place]
        then = int(last[page])
        block = position >> 9
        distance = FIRST
        if then >= 0:
            count, of_newest = _take(stack, then, block)
            distance = count + 1 + (0 if of_newest else newest)
            newest -= of_newest
        distances[place] = distance
        stack.words[block, position >> 6 & 7] |= _BIT[position & 63]
        last[page] = position
        newest += 1
        position += 1
        if position & (_BLOCK - 1) == 0:
            _close(stack, block, newest)
            newest = 0
    return len(pages), position, newest


class StackDistances:
    """Takes references to pages, numbered from 0 on as they come, and says their distances."""

    def __init__(self) -> None:
        """Begin with an empty stack."""
        self._last = np.full(0, _NEVER, np.int32)
        self._position = self._newest = 0
        self._begin()

    def add(self, pages: Pages, count: int) -> Pages:
        """Return the distance of each reference in turn, FIRST where there was none to its page; *count* pages are
        known by now.

        Raises TraceError when these are more than can be told apart.
        """
        if count > MOST_PAGES:
            raise TraceError(
                f"more than {MOST_PAGES:,} pages are asked for, which distances are not counted of one by one; take a"
                " sample of them (--sample 0.01)"
            )
        if count > len(self._last):
            more = np.full(max(count, 2 * len(self._last)) - len(self._last), _NEVER, np.int32)
            self._last = np.concatenate([self._last, more])
        distances = np.empty(len(pages), np.int32)
        place = 0
        while True:
            place, self._position, self._newest = measure_distances(
                pages, place, self._last, self._stack, self._position, self._newest, distances
            )
            if place == len(pages):
                return distances
            self._begin()

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget all pages but those *kept*, by number; these are numbered anew in their order."""
        self._last = self._last[: len(kept)][kept]
        self._begin()

    def _begin(self) -> None:
        """Number the positions anew, in room for as many again."""
        known = np.flatnonzero(self._last != _NEVER)
        order = known[np.argsort(self._last[known])]
        self._last[order] = np.arange(len(order), dtype=np.int32)
        blocks = max(_POSITIONS_PER_PAGE * len(order), _FEWEST_POSITIONS) // _BLOCK
        self._stack = _stack_of(len(order), blocks)
        self._position = len(order)
        self._newest = len(order) % _BLOCK


def _stack_of(pages: int, blocks: int) -> Stack:
    """Return a stack whose first *pages* positions are set."""
    groups = -(-blocks // _GROUP)
    sections = -(-groups // _SECTION)
    bits = np.zeros(blocks * _BLOCK, np.uint8)
    bits[:pages] = 1
    words = np.packbits(bits, bitorder="little").view("<i8").astype(np.int64)
    held = np.zeros(sections * _SECTION * _GROUP, np.int64)
    held[: pages // _BLOCK] = _BLOCK
    by_group = held.reshape(sections, _SECTION, _GROUP)
    by_section = by_group.sum(axis=2)
    return Stack(
        words.reshape(blocks, _WORDS),
        _behind(by_group).reshape(-1, _GROUP)[:groups].astype(np.uint16),
        _behind(by_section).astype(np.int32),
        _behind(by_section.sum(axis=1)).astype(np.int32),
    )


def _behind(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums of what is behind each, along the last axis."""
    sums: NDArray[np.int64] = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1] - counts
    return sums
