"""LRU-2 with a correlated reference period and a history of pages that left."""

from tiersim.kernel import kernel
from tiersim.simulator.policies.lists import NOWHERE, PolicyState
from tiersim.simulator.policies.simple import Pages

#: Rows of ``times``, counted from 1; 0 is never: the last two uncorrelated references, and the last of any kind.
_LAST_BUT_ONE, _LAST, _TOUCHED = 0, 1, 2


@kernel
def _older(state: PolicyState, a: int, b: int) -> bool:
    """Tell whether page *a* is to be evicted before *b*: by its last reference but one, then by its last."""
    times = state.times
    if times[_LAST_BUT_ONE, a] != times[_LAST_BUT_ONE, b]:
        return bool(times[_LAST_BUT_ONE, a] < times[_LAST_BUT_ONE, b])
    return bool(times[_LAST, a] < times[_LAST, b])


@kernel
def _place(state: PolicyState, slot: int, page: int) -> None:
    state.frames[slot] = page
    state.frame[page] = slot


@kernel
def _sink(state: PolicyState, slot: int, size: int) -> None:
    """Restore the heap below a slot whose page became younger."""
    page = state.frames[slot]
    while 2 * slot + 1 < size:
        child = 2 * slot + 1
        if child + 1 < size and _older(state, state.frames[child + 1], state.frames[child]):
            child += 1
        if not _older(state, state.frames[child], page):
            break
        _place(state, slot, state.frames[child])
        slot = child
    _place(state, slot, page)


@kernel
def _rise(state: PolicyState, slot: int) -> None:
    """Restore the heap above a slot whose page is new there."""
    page = state.frames[slot]
    while slot > 0 and _older(state, page, state.frames[(slot - 1) // 2]):
        _place(state, slot, state.frames[(slot - 1) // 2])
        slot = (slot - 1) // 2
    _place(state, slot, page)


@kernel
def _evict(state: PolicyState, size: int, now: int, correlated: int) -> None:
    """Take the oldest page that was not touched within the correlated period out of the heap; the
    oldest if all were.
    """
    heap = size
    while heap > 0 and now - state.times[_TOUCHED, state.frames[0]] <= correlated:
        heap -= 1  # set aside behind the heap
        page, last = state.frames[0], state.frames[heap]
        _place(state, heap, page)
        _place(state, 0, last)
        _sink(state, 0, heap)
    if heap == 0:
        for slot in range(size):
            _rise(state, slot)
        heap = size
    heap -= 1
    state.frame[state.frames[0]] = NOWHERE
    if heap > 0:
        _place(state, 0, state.frames[heap])
        _sink(state, 0, heap)
    for slot in range(heap, size - 1):  # back again
        _place(state, slot, state.frames[slot + 1])
        _rise(state, slot)


@kernel
def lru2_misses(pages: Pages, capacity: int, state: PolicyState, correlated: int, retained: int) -> int:
    """O'Neil, O'Neil, Weikum: LRU-K (SIGMOD 1993), figure 2.1, K = 2; periods in references.

    References of a page within *correlated* of the one before are one; a page that left is remembered for *retained*
    references after its last. Ties (pages seen once) go by the last reference. If all pages were touched within the
    correlated period, the oldest goes.
    """
    size, missed = 0, 0
    times = state.times
    for place in range(len(pages)):
        page, now = pages[place], place + 1
        if state.frame[page] >= 0:
            if now - times[_TOUCHED, page] > correlated:
                times[_LAST_BUT_ONE, page] = times[_TOUCHED, page]  # what was correlated took no time
                times[_LAST, page] = now
                _sink(state, state.frame[page], size)
            times[_TOUCHED, page] = now
            continue
        missed += 1
        if size == capacity:
            _evict(state, size, now, correlated)
            size -= 1
        forgotten = times[_TOUCHED, page] == 0 or now - times[_TOUCHED, page] > retained
        times[_LAST_BUT_ONE, page] = 0 if forgotten else times[_LAST, page]
        times[_LAST, page] = now
        times[_TOUCHED, page] = now
        _place(state, size, page)
        size += 1
        _rise(state, size - 1)
    return missed
