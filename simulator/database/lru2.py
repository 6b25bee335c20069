"""LRU-2, which SQL Server's pool is said to resemble: the page whose last use but one is longest ago has to go.

O'Neil, O'Neil, Weikum: The LRU-K page replacement algorithm for database disk buffering (SIGMOD 1993), figure 2.1, with K = 2, as
:mod:`tiersim.simulator.policies.lru2` has it, with time in place of a count of references. Uses of a page within the correlated period
of the one before are one. A page is not evicted within that period of its last use; if all were used within it, the one goes whose
last use is longest ago. What is known of a page that left is used again if it comes back within the retained period.

A page that was used within the correlated period stands in a list by its last use; when the period is over it moves to a heap, whose top
goes first. So no eviction looks at more frames than those whose period ended since the last one, and those that are being read.
"""

import numpy as np

from tiersim.kernel import kernel
from tiersim.simulator.database.frame_lists import _push, _unlink
from tiersim.simulator.database.tables import (
    CLOCK_NS,
    CORRELATED_NS,
    GOING,
    IN_HEAP,
    ORIGIN_NS,
    READING,
    RETAINED_NS,
    Database,
)

#: Columns of ``times_ns``, all after 0, which is never: the last two uses that were not correlated, and the last of any kind.
_LAST_BUT_ONE, _LAST, _USED = range(3)


@kernel
def _time_of(d: Database, now: int) -> int:
    """Return the time of the next use; no two uses have the same."""
    return int(max(d.pool_state[ORIGIN_NS] + now, d.pool_state[CLOCK_NS]) + 1)


@kernel
def use(d: Database, frame: int, page: int, now: int) -> None:
    """A page is used."""
    at = _time_of(d, now)
    leave(d, frame)
    if at - d.times_ns[page, _USED] > d.replacement[CORRELATED_NS]:
        d.times_ns[page, _LAST_BUT_ONE] = d.times_ns[page, _USED]  # what was correlated took no time
        d.times_ns[page, _LAST] = at
    d.times_ns[page, _USED] = at
    d.pool_state[CLOCK_NS] = at
    _push(d.newer, d.older, len(d.page_of), frame)


@kernel
def enter(d: Database, frame: int, page: int, now: int) -> None:
    """A page comes, and is used."""
    at = _time_of(d, now)
    used = d.times_ns[page, _USED]
    forgotten = used == 0 or at - used > d.replacement[RETAINED_NS]
    d.times_ns[page, _LAST_BUT_ONE] = 0 if forgotten else d.times_ns[page, _LAST]
    d.times_ns[page, _LAST] = at
    d.times_ns[page, _USED] = at
    d.pool_state[CLOCK_NS] = at
    d.heap_place[frame] = 0
    d.used[frame] = 0
    _push(d.newer, d.older, len(d.page_of), frame)


@kernel
def leave(d: Database, frame: int) -> None:
    """Take a frame out of the list or the heap, whichever it is in."""
    place = int(np.int64(d.heap_place[frame]))
    if place == 0:
        _unlink(d.newer, d.older, frame)
        return
    last = d.pool_state[IN_HEAP] - 1
    d.pool_state[IN_HEAP] = last
    d.heap_place[frame] = 0
    if place - 1 < last:
        _put(d, place - 1, d.heap[last])
        _rise(d, place - 1)
        _sink(d, place - 1)


@kernel
def choose(d: Database, now: int) -> int:
    """Take the frame whose page has to go out of where it is and return it; -1 if all are being read."""
    settled = choose_settled(d, now)
    if settled >= 0:
        return settled
    head = len(d.page_of)
    frame = int(np.int64(d.newer[head]))
    while frame != head:
        if _may_go(d, frame):
            leave(d, frame)
            return int(frame)
        frame = int(np.int64(d.newer[frame]))
    return -1


@kernel
def choose_settled(d: Database, now: int) -> int:
    """Do the same, but -1 if the correlated period of all pages is not over."""
    _settle(d, _time_of(d, now))
    if d.pool_state[IN_HEAP] == 0:
        return -1
    frame = int(np.int64(d.heap[0]))
    leave(d, frame)
    return int(frame)


@kernel
def put_back(d: Database, frame: int) -> None:
    """Put a frame that was chosen among those that were used last."""
    _push(d.newer, d.older, len(d.page_of), frame)


@kernel
def was_used_since(d: Database, page: int, since_ns: int) -> bool:
    """Tell whether a page has been used since a time of the run."""
    return bool(d.times_ns[page, _USED] > d.pool_state[ORIGIN_NS] + since_ns)


@kernel
def _may_go(d: Database, frame: int) -> bool:
    """Tell whether the page of a frame is neither being read nor written to go."""
    return bool(d.state[frame] != READING and d.used[frame] != GOING)


@kernel
def _settle(d: Database, at: int) -> None:
    """Move frames whose correlated period is over from the list into the heap; pages that are being read, or written to go, stay."""
    head = len(d.page_of)
    frame = int(np.int64(d.newer[head]))
    while frame != head and at - d.times_ns[d.page_of[frame], _USED] > d.replacement[CORRELATED_NS]:
        behind = int(np.int64(d.newer[frame]))
        if _may_go(d, frame):
            _unlink(d.newer, d.older, frame)
            place = d.pool_state[IN_HEAP]
            d.pool_state[IN_HEAP] = place + 1
            _put(d, place, frame)
            _rise(d, place)
        frame = behind


@kernel
def _before(d: Database, a: int, b: int) -> bool:
    """Tell whether the page of a frame goes before that of another: by its last use but one, then by its last."""
    one, other = d.page_of[a], d.page_of[b]
    if d.times_ns[one, _LAST_BUT_ONE] != d.times_ns[other, _LAST_BUT_ONE]:
        return bool(d.times_ns[one, _LAST_BUT_ONE] < d.times_ns[other, _LAST_BUT_ONE])
    return bool(d.times_ns[one, _LAST] < d.times_ns[other, _LAST])


@kernel
def _put(d: Database, place: int, frame: int) -> None:
    d.heap[place] = frame
    d.heap_place[frame] = place + 1


@kernel
def _rise(d: Database, place: int) -> None:
    """Restore the heap above a place."""
    frame = d.heap[place]
    while place > 0 and _before(d, frame, d.heap[(place - 1) // 2]):
        _put(d, place, d.heap[(place - 1) // 2])
        place = (place - 1) // 2
    _put(d, place, frame)


@kernel
def _sink(d: Database, place: int) -> None:
    """Restore the heap below a place."""
    size = d.pool_state[IN_HEAP]
    frame = d.heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _before(d, d.heap[child + 1], d.heap[child]):
            child += 1
        if not _before(d, d.heap[child], frame):
            break
        _put(d, place, d.heap[child])
        place = child
    _put(d, place, frame)
