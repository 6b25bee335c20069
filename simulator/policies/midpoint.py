"""LRU with a midpoint, as InnoDB's buffer pool has it (:mod:`tiersim.simulator.database.buffer_pool.midpoint`)."""

from tiersim.kernel import kernel
from tiersim.simulator.policies.lists import PolicyState, _enter, _leave, _push, _tail
from tiersim.simulator.policies.simple import Pages

_YOUNG, _OLD = 0, 1
#: Rows of ``times``: when an old page was first asked for, how many pages had been evicted when a page last moved to
#: the head.
_FIRST, _MOVED = 0, 1
#: The share of old pages is kept in so many parts (buf0lru.h, BUF_LRU_OLD_RATIO_DIV).
_PARTS = 1024


@kernel
def _make_old(state: PolicyState, count: int) -> None:
    """The midpoint moves: the last of the young is the first of the old."""
    page = _tail(state, count, _YOUNG)
    _leave(state, page)
    _enter(state, count, _OLD, page)


@kernel
def _make_young(state: PolicyState, count: int) -> None:
    """The midpoint moves: the first of the old is the last of the young."""
    page = int(state.next[count + _OLD])
    _leave(state, page)
    _put_behind(state, _tail(state, count, _YOUNG), page, _YOUNG)


@kernel
def _put_behind(state: PolicyState, other: int, page: int, part: int) -> None:
    """Put a page behind another, or behind the head of a list."""
    _push(state, other, page)
    state.where[page] = part
    state.lengths[part] += 1


@kernel
def _adjust(state: PolicyState, count: int, old_parts: int, tolerance: int) -> None:
    """Move pages over the midpoint until the old part is its share of all, give or take the tolerance."""
    lengths = state.lengths
    wanted = (lengths[_YOUNG] + lengths[_OLD]) * old_parts // _PARTS
    while lengths[_OLD] + tolerance < wanted:
        _make_old(state, count)
    while lengths[_OLD] > wanted + tolerance:
        _make_young(state, count)


@kernel
def _remove(state: PolicyState, page: int, old_parts: int, tolerance: int, least: int) -> None:
    """Take a page out of the list. The last of the young takes the place of the first of the old."""
    count = len(state.where)
    if state.where[page] == _OLD and state.next[count + _OLD] == page:
        _make_old(state, count)
    _leave(state, page)
    if state.lengths[_YOUNG] + state.lengths[_OLD] >= least:
        _adjust(state, count, old_parts, tolerance)
        return
    while state.lengths[_OLD] > 0:
        _make_young(state, count)


@kernel
def _add(state: PolicyState, page: int, part: int, old_parts: int, tolerance: int, least: int) -> None:
    """Put a page at the head of the list, or behind the first of the old; with *least* pages that part begins."""
    count, lengths = len(state.where), state.lengths
    _put_behind(state, count + _YOUNG if part == _YOUNG else int(state.next[count + _OLD]), page, part)
    pages = lengths[_YOUNG] + lengths[_OLD]
    if pages > least:
        _adjust(state, count, old_parts, tolerance)
    elif pages == least:
        while lengths[_OLD] < pages * old_parts // _PARTS + tolerance:
            _make_old(state, count)


@kernel
def midpoint_misses(
    pages: Pages, capacity: int, state: PolicyState, old_percent: int, old_references: int, tolerance: int, least: int
) -> int:
    """Insert at the midpoint; an old page becomes young when it is asked for *old_references* or more after the first
    time (InnoDB: buf0lru.cc, buf0buf.ic; innodb_old_blocks_pct, innodb_old_blocks_time, here in references).

    A young page moves to the head when a quarter of the young part was evicted since it last did. The old part has its
    share of all pages, give or take the *tolerance*; a list of less than *least* pages has none.
    """
    old_parts, missed, evicted = old_percent * _PARTS // 100, 0, 0
    still = capacity * (_PARTS - old_parts) // (_PARTS * 4)
    for now in range(len(pages)):
        page = pages[now]
        part = state.where[page]
        if part in (_YOUNG, _OLD):
            if evicted == 0:
                continue
            if part == _OLD and old_references > 0:
                moves = now - state.times[_FIRST, page] >= old_references
            else:
                moves = evicted - state.times[_MOVED, page] >= still
            if moves:
                _remove(state, page, old_parts, tolerance, least)
                _add(state, page, _YOUNG, old_parts, tolerance, least)
                state.times[_MOVED, page] = evicted
            continue
        missed += 1
        if state.lengths[_YOUNG] + state.lengths[_OLD] == capacity:
            last = _tail(state, len(state.where), _OLD if state.lengths[_OLD] > 0 else _YOUNG)
            _remove(state, last, old_parts, tolerance, least)
            evicted += 1
        is_short = state.lengths[_YOUNG] + state.lengths[_OLD] < least
        _add(state, page, _YOUNG if is_short else _OLD, old_parts, tolerance, least)
        state.times[_FIRST, page] = now
        state.times[_MOVED, page] = evicted if is_short else 0
    return missed
