"""LRU with a midpoint, as InnoDB's buffer pool has it."""

from tiersim.kernel import kernel
from tiersim.simulator.policies.lists import PolicyState, _enter, _leave, _push, _tail, _unlink
from tiersim.simulator.policies.simple import Pages

_YOUNG, _OLD = 0, 1
#: Rows of ``times``: when an old page was first asked for, how many pages had been evicted when a young one last moved.
_FIRST, _MOVED = 0, 1


@kernel
def _balance(state: PolicyState, count: int, old_percent: int) -> None:
    """Move pages over the midpoint until the old part is its percentage of all."""
    lengths = state.lengths
    wanted = (lengths[_YOUNG] + lengths[_OLD]) * old_percent // 100
    while lengths[_OLD] < wanted:
        page = _tail(state, count, _YOUNG)
        _leave(state, page)
        _enter(state, count, _OLD, page)
    while lengths[_OLD] > wanted:
        page = int(state.next[count + _OLD])
        _leave(state, page)
        behind = count + _YOUNG  # at the tail of the young: before its head, the list being a ring
        _push(state, int(state.previous[behind]), page)
        state.where[page] = _YOUNG
        lengths[_YOUNG] += 1


@kernel
def midpoint_misses(pages: Pages, capacity: int, state: PolicyState, old_percent: int, old_references: int) -> int:
    """Insert at the midpoint; an old page becomes young when it is asked for *old_references* or more after the first
    time.

    A young page moves to the head only when more than a quarter of the young part was evicted since it last did
    (InnoDB: buf0lru.cc, buf0buf.ic; innodb_old_blocks_pct 37, innodb_old_blocks_time, here in references). Without
    InnoDB's tolerance of 20 pages around the midpoint.
    """
    count, missed, evicted = len(state.where), 0, 0
    still = capacity * (100 - old_percent) // 400
    for now in range(len(pages)):
        page = pages[now]
        part = state.where[page]
        if part == _YOUNG:
            if evicted - state.times[_MOVED, page] > still:
                _unlink(state, page)
                _push(state, count + _YOUNG, page)
                state.times[_MOVED, page] = evicted
            continue
        if part == _OLD:
            if now - state.times[_FIRST, page] >= old_references:
                _leave(state, page)
                _enter(state, count, _YOUNG, page)
                state.times[_MOVED, page] = evicted
                _balance(state, count, old_percent)
            continue
        missed += 1
        if state.lengths[_YOUNG] + state.lengths[_OLD] == capacity:
            _leave(state, _tail(state, count, _OLD if state.lengths[_OLD] > 0 else _YOUNG))
            evicted += 1
        _enter(state, count, _OLD, page)
        state.times[_FIRST, page] = now
        state.times[_MOVED, page] = evicted
        _balance(state, count, old_percent)
    return missed
