"""FIFO, clock with usage counts, LRU, SIEVE."""

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.simulator.policies.lists import NOWHERE, PolicyState, _push, _unlink

Pages = NDArray[np.int32]


@kernel
def fifo_misses(pages: Pages, capacity: int, state: PolicyState) -> int:
    """Evict the page that came first."""
    hand, missed = 0, 0
    for reference in range(pages.size):
        page = pages[reference]
        if state.frame[page] >= 0:
            continue
        missed += 1
        old = state.frames[hand]
        if old >= 0:
            state.frame[old] = NOWHERE
        state.frames[hand] = page
        state.frame[page] = hand
        hand = hand + 1 if hand + 1 < capacity else 0
    return missed


@kernel
def _enter_clock(state: PolicyState, page: int, hand: int, first: int) -> int:
    """Put a page where the first one under the hand lies that has no use left; returns where the hand is then."""
    capacity = len(state.frames)
    while state.used[hand] > 0:  # not of a frame that is still empty
        state.used[hand] -= 1
        hand = hand + 1 if hand + 1 < capacity else 0
    old = state.frames[hand]
    if old >= 0:
        state.frame[old] = NOWHERE
    state.frames[hand] = page
    state.frame[page] = hand
    state.used[hand] = first
    return hand + 1 if hand + 1 < capacity else 0


@kernel
def clock_misses(pages: Pages, capacity: int, state: PolicyState, first: int, most: int) -> int:
    """Evict the first page under the hand whose usage count is 0; others lose one as the hand passes.

    A page begins with a count of *first*, and each hit adds one up to *most*: 0 and 1 are the clock with a reference
    bit, 1 and 5 PostgreSQL's sweep (BM_MAX_USAGE_COUNT in storage/buf_internals.h).
    """
    hand, missed = 0, 0
    for reference in range(pages.size):
        page = pages[reference]
        frame = state.frame[page]
        if frame >= 0:
            state.used[frame] += state.used[frame] < most  # no branch: whether it is full is anybody's guess
            continue
        missed += 1
        hand = _enter_clock(state, page, hand, first)
    return missed


@kernel
def lru_misses(pages: Pages, capacity: int, state: PolicyState) -> int:
    """Evict the page whose last reference is longest ago."""
    head, cached, missed = len(state.where), 0, 0
    for reference in range(pages.size):
        page = pages[reference]
        if state.next[page] < 0:
            missed += 1
            if cached == capacity:
                old = state.previous[head]
                _unlink(state, old)
                state.next[old] = NOWHERE
            else:
                cached += 1
            _push(state, head, page)
        elif state.next[head] != page:  # with one push for hits and misses LLVM makes a hit wait, 1.4 times as slow
            _unlink(state, page)
            _push(state, head, page)
    return missed


@kernel
def sieve_misses(pages: Pages, capacity: int, state: PolicyState) -> int:
    """Evict the first page that was not hit since the hand passed it; the hand goes from tail to head, pages stay in
    place.

    Zhang et al., SIEVE is simpler than LRU, NSDI 2024.
    """
    head, cached, missed = len(state.where), 0, 0
    hand = head
    for reference in range(pages.size):
        page = pages[reference]
        if state.next[page] >= 0:
            state.used[page] = 1
            continue
        missed += 1
        if cached == capacity:
            old = hand if hand != head else state.previous[head]
            while state.used[old]:
                state.used[old] = 0
                old = state.previous[old]
                if old == head:
                    old = state.previous[head]
            hand = state.previous[old]
            _unlink(state, old)
            state.next[old] = NOWHERE
        else:
            cached += 1
        state.used[page] = 0
        _push(state, head, page)
    return missed
