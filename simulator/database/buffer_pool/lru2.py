"""LRU-2, which SQL Server's pool is said to resemble: the page whose last use but one is longest ago has to go.

O'Neil, O'Neil, Weikum: The LRU-K page replacement algorithm for database disk buffering (SIGMOD 1993), figure 2.1, with
K = 2, as :mod:`tiersim.simulator.policies.lru2` has it, with time in place of a count of references. Uses of a page
within the correlated period of the one before are one. A page is not evicted within that period of its last use; if all
were used within it, the one goes whose last use is longest ago. What is known of a page that left is used again if it
comes back within the retained period.

A page that was used within the correlated period stands in a list by its last use; when the period is over it is in a
heap alone, whose top goes first. A page that is used there joins the list, but keeps its place in the heap, which is
that of an earlier use: uses only make a page younger, so nothing that is older than the top is missed. Who comes to the
top is taken out if it is in the list, and sinks to where it belongs if its place is of an earlier use. So uses cost
next to nothing, and an eviction looks at few frames.
"""

import numpy as np

from tiersim.kernel import kernel
from tiersim.simulator.database.buffer_pool.frame_lists import _push, _unlink
from tiersim.simulator.database.database_state import (
    CLOCK_NS,
    CORRELATED_NS,
    GOING,
    IN_HEAP,
    ORIGIN_NS,
    READING,
    RETAINED_NS,
    Database,
)

#: Columns of ``times_ns``, all after 0, which is never: the last two uses that were not correlated, and the last of any
#: kind.
_LAST_BUT_ONE, _LAST, _USED = range(3)


@kernel
def _time_of(d: Database, now: int) -> int:
    """Return the time of the next use; no two uses have the same."""
    return int(max(d.pool_state[ORIGIN_NS] + now, d.pool_state[CLOCK_NS]) + 1)


@kernel
def use(d: Database, frame: int, page: int, now: int) -> None:
    """A page is used."""
    at = _time_of(d, now)
    if _is_listed(d, frame):
        _unlink(d.newer, d.older, frame)
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
    """Take a frame out of the list and the heap."""
    if _is_listed(d, frame):
        _take_off(d, frame)
    if d.heap_place[frame] != 0:
        _take_out(d, int(np.int64(d.heap_place[frame])) - 1)


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
    while d.pool_state[IN_HEAP] > 0:
        frame = int(np.int64(d.heap[0]))
        if _is_listed(d, frame):
            _take_out(d, 0)  # and it comes back when its period is over
        elif _is_of_earlier_use(d, frame):
            _note_uses(d, 0, frame)
            _sink(d, 0)
        else:
            _take_out(d, 0)
            return frame
    return -1


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
    """Move frames whose correlated period is over from the list into the heap; pages that are being read, or written to
    go, stay.
    """
    head = len(d.page_of)
    frame = int(np.int64(d.newer[head]))
    while frame != head and at - d.times_ns[d.page_of[frame], _USED] > d.replacement[CORRELATED_NS]:
        behind = int(np.int64(d.newer[frame]))
        if _may_go(d, frame):
            _take_off(d, frame)
            if d.heap_place[frame] == 0:
                place = d.pool_state[IN_HEAP]
                d.pool_state[IN_HEAP] = place + 1
                d.heap[place] = frame
                _note_uses(d, place, frame)
                _rise(d, place)
        frame = behind


@kernel
def _is_listed(d: Database, frame: int) -> bool:
    """Tell whether a frame is in the list; one that is not is its own neighbour."""
    return bool(d.newer[frame] != frame)


@kernel
def _take_off(d: Database, frame: int) -> None:
    """Take a frame out of the list."""
    _unlink(d.newer, d.older, frame)
    d.newer[frame] = frame


@kernel
def _take_out(d: Database, place: int) -> None:
    """Take the frame of a place out of the heap."""
    last = d.pool_state[IN_HEAP] - 1
    d.pool_state[IN_HEAP] = last
    d.heap_place[d.heap[place]] = 0
    if place < last:
        _move(d, last, place)
        _rise(d, place)
        _sink(d, place)


@kernel
def _is_of_earlier_use(d: Database, frame: int) -> bool:
    """Tell whether the page of the frame at the top was used since its place was found."""
    page = d.page_of[frame]
    return bool(
        d.heap_ns[0, _LAST_BUT_ONE] != d.times_ns[page, _LAST_BUT_ONE] or d.heap_ns[0, _LAST] != d.times_ns[page, _LAST]
    )


@kernel
def _note_uses(d: Database, place: int, frame: int) -> None:
    """Go by the last uses of the page of a frame at its place in the heap."""
    page = d.page_of[frame]
    d.heap_ns[place, _LAST_BUT_ONE] = d.times_ns[page, _LAST_BUT_ONE]
    d.heap_ns[place, _LAST] = d.times_ns[page, _LAST]


@kernel
def _goes_before(d: Database, place: int, last_but_one: int, last: int) -> bool:
    """Tell whether what is at a place of the heap goes before a page of such uses: by its last use but one, then by its
    last.
    """
    other = d.heap_ns[place, _LAST_BUT_ONE]
    return bool(other < last_but_one or (other == last_but_one and d.heap_ns[place, _LAST] < last))


@kernel
def _move(d: Database, place: int, to: int) -> None:
    """Copy what is at a place of the heap to another."""
    frame = d.heap[place]
    d.heap[to] = frame
    d.heap_ns[to, _LAST_BUT_ONE] = d.heap_ns[place, _LAST_BUT_ONE]
    d.heap_ns[to, _LAST] = d.heap_ns[place, _LAST]
    d.heap_place[frame] = to + 1


@kernel
def _put(d: Database, place: int, frame: int, last_but_one: int, last: int) -> None:
    d.heap[place] = frame
    d.heap_ns[place, _LAST_BUT_ONE] = last_but_one
    d.heap_ns[place, _LAST] = last
    d.heap_place[frame] = place + 1


@kernel
def _rise(d: Database, place: int) -> None:
    """Restore the heap above a place."""
    frame, last_but_one, last = d.heap[place], d.heap_ns[place, _LAST_BUT_ONE], d.heap_ns[place, _LAST]
    while place > 0:
        above = (place - 1) // 2
        if _goes_before(d, above, last_but_one, last):
            break
        _move(d, above, place)
        place = above
    _put(d, place, frame, last_but_one, last)


@kernel
def _sink(d: Database, place: int) -> None:
    """Restore the heap below a place."""
    size = d.pool_state[IN_HEAP]
    frame, last_but_one, last = d.heap[place], d.heap_ns[place, _LAST_BUT_ONE], d.heap_ns[place, _LAST]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _goes_before(d, child + 1, d.heap_ns[child, _LAST_BUT_ONE], d.heap_ns[child, _LAST]):
            child += 1
        if not _goes_before(d, child, last_but_one, last):
            break
        _move(d, child, place)
        place = child
    _put(d, place, frame, last_but_one, last)
