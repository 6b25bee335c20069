"""Policies of several queues, with ghosts: 2Q, ARC, S3-FIFO."""

from tiersim.kernel import kernel
from tiersim.simulator.policies.lists import PolicyState, _enter, _leave, _push, _tail, _unlink
from tiersim.simulator.policies.simple import Pages

#: Queues of 2Q: new pages in order of arrival, pages that came back in order of reference, ghosts of the first.
_IN, _MAIN, _OUT = 0, 1, 2
#: Lists of ARC: seen once, seen again, and the ghosts of both.
_ONCE, _AGAIN, _GHOST_ONCE, _GHOST_AGAIN = 0, 1, 2, 3
#: Queues of S3-FIFO.
_SMALL, _LARGE, _GHOST = 0, 1, 2
_MOST_USED, _ENOUGH_USED = 3, 2


@kernel
def two_queue_misses(pages: Pages, capacity: int, state: PolicyState) -> int:
    """Johnson & Shasha, 2Q (VLDB 1994), full version: Kin a quarter of the cache, Kout half as many ghosts as it has
    pages.
    """
    count, missed = len(state.where), 0
    most_in, most_out = capacity // 4, capacity // 2
    for reference in range(pages.size):
        page = pages[reference]
        queue = state.where[page]
        if queue == _MAIN:
            _unlink(state, page)
            _push(state, count + _MAIN, page)
            continue
        if queue == _IN:
            continue
        missed += 1
        if queue == _OUT:
            _leave(state, page)
        if state.lengths[_IN] + state.lengths[_MAIN] >= capacity:
            if state.lengths[_IN] > most_in or state.lengths[_MAIN] == 0:
                old = _tail(state, count, _IN)
                _leave(state, old)
                _enter(state, count, _OUT, old)
                if state.lengths[_OUT] > most_out:
                    _leave(state, _tail(state, count, _OUT))
            else:
                _leave(state, _tail(state, count, _MAIN))
        _enter(state, count, _MAIN if queue == _OUT else _IN, page)
    return missed


@kernel
def arc_misses(pages: Pages, capacity: int, state: PolicyState) -> int:
    """Megiddo & Modha, ARC (FAST 2003), figure 4; the target of the list of pages seen once moves by ratios that are
    not rounded.
    """
    count, missed, target = len(state.where), 0, 0.0
    lengths = state.lengths
    for reference in range(pages.size):
        page = pages[reference]
        queue = state.where[page]
        if queue in (_ONCE, _AGAIN):
            _leave(state, page)
            _enter(state, count, _AGAIN, page)
            continue
        missed += 1
        if queue == _GHOST_ONCE:
            target = min(target + max(lengths[_GHOST_AGAIN] / lengths[_GHOST_ONCE], 1.0), float(capacity))
            _leave(state, page)
        elif queue == _GHOST_AGAIN:
            target = max(target - max(lengths[_GHOST_ONCE] / lengths[_GHOST_AGAIN], 1.0), 0.0)
            _leave(state, page)
        elif lengths[_ONCE] + lengths[_GHOST_ONCE] == capacity:
            _leave(state, _tail(state, count, _GHOST_ONCE if lengths[_ONCE] < capacity else _ONCE))
        elif lengths[_ONCE] + lengths[_AGAIN] + lengths[_GHOST_ONCE] + lengths[_GHOST_AGAIN] == 2 * capacity:
            _leave(state, _tail(state, count, _GHOST_AGAIN))
        if lengths[_ONCE] + lengths[_AGAIN] >= capacity:
            first = lengths[_ONCE] > target or (queue == _GHOST_AGAIN and lengths[_ONCE] == target)
            if lengths[_ONCE] > 0 and first:
                old = _tail(state, count, _ONCE)
                _leave(state, old)
                _enter(state, count, _GHOST_ONCE, old)
            else:
                old = _tail(state, count, _AGAIN)
                _leave(state, old)
                _enter(state, count, _GHOST_AGAIN, old)
        _enter(state, count, _AGAIN if queue >= 0 else _ONCE, page)
    return missed


@kernel
def _evict_large(state: PolicyState, count: int) -> None:
    while True:
        old = _tail(state, count, _LARGE)
        if state.used[old] == 0:
            _leave(state, old)
            return
        state.used[old] -= 1
        _unlink(state, old)
        _push(state, count + _LARGE, old)


@kernel
def _evict_small(state: PolicyState, count: int, most_ghosts: int) -> None:
    """Evict one page of the small queue; those on the way that were used move to the large one."""
    while state.lengths[_SMALL] > 0:
        old = _tail(state, count, _SMALL)
        _leave(state, old)
        if state.used[old] >= _ENOUGH_USED:
            state.used[old] = 0
            _enter(state, count, _LARGE, old)
            continue
        _enter(state, count, _GHOST, old)
        if state.lengths[_GHOST] > most_ghosts:
            _leave(state, _tail(state, count, _GHOST))
        return


@kernel
def s3_fifo_misses(pages: Pages, capacity: int, state: PolicyState) -> int:
    """Yang et al., FIFO queues are all you need (SOSP 2023): a tenth of the cache small, ghosts for nine tenths.

    Until something is evicted for the first time, what no longer fits the small queue goes to the large one.
    """
    count, missed, evicted = len(state.where), 0, False
    small = capacity // 10
    most_ghosts = capacity * 9 // 10
    for reference in range(pages.size):
        page = pages[reference]
        queue = state.where[page]
        if queue in (_SMALL, _LARGE):
            state.used[page] = min(state.used[page] + 1, _MOST_USED)
            continue
        missed += 1
        if queue == _GHOST:
            _leave(state, page)
        while state.lengths[_SMALL] + state.lengths[_LARGE] >= capacity:
            evicted = True
            if state.lengths[_LARGE] > capacity - small or state.lengths[_SMALL] == 0:
                _evict_large(state, count)
            else:
                _evict_small(state, count, most_ghosts)
        state.used[page] = 0
        large = queue == _GHOST or (not evicted and state.lengths[_SMALL] >= small)
        _enter(state, count, _LARGE if large else _SMALL, page)
    return missed
