"""The state of a replacement policy, and doubly linked lists of pages within it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set

#: A page that is in no list.
NOWHERE = -1
#: So many lists at most; their heads stand behind the pages.
LISTS = 4


@table_set
class PolicyState(NamedTuple):
    """What a policy remembers; each uses what it needs of it."""

    next: NDArray[np.int32]  # (pages + LISTS,): towards the tail; NOWHERE when a page is in no list
    previous: NDArray[np.int32]
    where: NDArray[np.int8]  # (pages,): the list, or the part of the cache, that a page is in
    used: NDArray[np.uint8]  # (pages,): reference bits; usage counts, by frame where these are a ring
    frame: NDArray[np.int32]  # (pages,): where a page lies in ``frames``
    frames: NDArray[np.int32]  # (capacity,): ring or heap of pages
    times: NDArray[np.int64]  # (3, pages) for policies that know when
    lengths: NDArray[np.int64]  # (LISTS,)


def new_state(pages: int, capacity: int, *, timed: bool) -> PolicyState:
    """Return the state of an empty cache of *capacity* pages, in memory that grows with both."""
    heads = np.arange(pages, pages + LISTS, dtype=np.int32)
    links = np.concatenate([np.full(pages, NOWHERE, np.int32), heads])
    return PolicyState(
        next=links,
        previous=links.copy(),
        where=np.full(pages, NOWHERE, np.int8),
        used=np.zeros(pages, np.uint8),
        frame=np.full(pages, NOWHERE, np.int32),
        frames=np.full(capacity, NOWHERE, np.int32),
        times=np.zeros((3, pages if timed else 0), np.int64),
        lengths=np.zeros(LISTS, np.int64),
    )


@kernel
def _unlink(state: PolicyState, page: int) -> None:
    """Take a page out of the list that it is in."""
    before, behind = state.previous[page], state.next[page]
    state.next[before] = behind
    state.previous[behind] = before


@kernel
def _push(state: PolicyState, head: int, page: int) -> None:
    """Put a page at the head of a list."""
    behind = state.next[head]
    state.next[head] = page
    state.previous[page] = head
    state.next[page] = behind
    state.previous[behind] = page


@kernel
def _enter(state: PolicyState, pages: int, queue: int, page: int) -> None:
    """Put a page at the head of the list *queue*, of a cache of so many *pages*, and count it there."""
    _push(state, pages + queue, page)
    state.where[page] = queue
    state.lengths[queue] += 1


@kernel
def _leave(state: PolicyState, page: int) -> None:
    """Take a page out of the list that it is in and counted in."""
    _unlink(state, page)
    state.lengths[state.where[page]] -= 1
    state.where[page] = NOWHERE


@kernel
def _tail(state: PolicyState, pages: int, queue: int) -> int:
    """Return the page at the tail of a list."""
    return int(state.previous[pages + queue])
