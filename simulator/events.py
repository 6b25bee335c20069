"""The total order of events, which both engines keep, (time, round, rank, station, request number), and the calendar.

The order of insertion never matters. Within an instant, completions come first and dispatches last, so a station
chooses among everything that has reached it by then. An event set for the present instant with a rank that is not after
the current one belongs to the next round of that instant.

The calendar of the compiled engine is a 4-ary heap of (time, key) with the slot that each event is about, and a front
place before it. An event that is earlier than all others waits in the front place (index 0) and never enters the heap:
what a controller passes on within a nanosecond costs no sifting. The heap lies at the indices from 1 on.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.kernel import kernel, table_set

COMPLETION, TIMER, ARRIVAL, DISPATCH = 0, 1, 2, 4  # by which events are ordered

_NUMBER_BITS = 40
_STATION_BITS = 16
_RANK_SHIFT = _NUMBER_BITS + _STATION_BITS
_ROUND_SHIFT = _RANK_SHIFT + 3

#: Most stations and requests that a key can tell apart.
MOST_STATIONS = 1 << _STATION_BITS
MOST_REQUESTS = 1 << _NUMBER_BITS


@kernel
def event_key(round_: int, rank: int, station: int, number: int) -> int:
    """Everything after the time, packed so that comparing integers compares the order."""
    return round_ << _ROUND_SHIFT | rank << _RANK_SHIFT | int(np.int64(station)) << _NUMBER_BITS | number


@kernel
def key_rank(key: int) -> int:
    """Rank of a key."""
    return key >> _RANK_SHIFT & 7


@kernel
def key_round(key: int) -> int:
    """Round of a key."""
    return key >> _ROUND_SHIFT


@kernel
def key_station(key: int) -> Any:
    """Station of a key, unsigned as every index of a table."""
    return np.uint32(key >> _NUMBER_BITS & (MOST_STATIONS - 1))


@kernel
def round_for(now: int, round_: int, rank: int, at: int, new_rank: int) -> int:
    """Round of an event set at (*now*, *round_*, *rank*) for the time *at* with rank *new_rank*."""
    if at > now:
        return 0
    return round_ if new_rank > rank else round_ + 1


@table_set
class Calendar(NamedTuple):
    """Times, keys and slots by place; the number of events in the heap is a local of the loop."""

    time_ns: NDArray[np.int64]
    key: NDArray[np.int64]
    slot: NDArray[np.uint32]


def new_calendar(places: int) -> Calendar:
    """Make an empty calendar for *places* events; an empty front place and an empty heap read as NEVER."""
    return Calendar(np.full(places, NEVER), np.zeros(places, np.int64), np.zeros(places, np.uint32))


@kernel
def before(c: Calendar, i: int, j: int) -> bool:
    """Whether the event at place *i* comes before the one at place *j*."""
    return bool(c.time_ns[i] < c.time_ns[j] or (c.time_ns[i] == c.time_ns[j] and c.key[i] < c.key[j]))


@kernel
def _earlier(c: Calendar, i: int, j: int) -> int:
    """The one of two places whose event comes first, without a branch: recordings that run side by side from the same
    instant have many events at one time.
    """
    one, other = c.time_ns[i], c.time_ns[j]
    return i + (j - i) * int((other < one) | ((other == one) & (c.key[j] < c.key[i])))


@kernel(hot=True)
def _first_of_four(c: Calendar, i: int) -> int:
    """The one of four places from *i* on whose event comes first: without a branch, as that is anybody's guess, unless
    two are at the same time.
    """
    first, second, third, fourth = c.time_ns[i], c.time_ns[i + 1], c.time_ns[i + 2], c.time_ns[i + 3]
    low_ns, high_ns = min(first, second), min(third, fourth)
    if (first == second) | (third == fourth) | (low_ns == high_ns):
        return _earlier(c, _earlier(c, i, i + 1), _earlier(c, i + 2, i + 3))
    low, high = i + int(second < first), i + 2 + int(fourth < third)
    return low if low_ns < high_ns else high


@kernel(hot=True)
def first(c: Calendar) -> int:
    """Place of the first event: the front or the root of the heap; its time is NEVER if there is none."""
    return 1 if before(c, 1, 0) else 0


@kernel(hot=True)
def push(c: Calendar, count: int, time_ns: int, key: int, slot: int) -> int:
    """Add an event; returns the new count of the heap."""
    place = first(c)
    if time_ns < c.time_ns[place] or (time_ns == c.time_ns[place] and key < c.key[place]):
        if c.time_ns[0] != NEVER:
            count = put_in_heap(c, count, c.time_ns[0], c.key[0], c.slot[0])
        _put(c, 0, time_ns, key, slot)
        return count
    return put_in_heap(c, count, time_ns, key, slot)


@kernel(hot=True)
def pop(c: Calendar, count: int, place: int) -> int:
    """Drop the first event, which is at *place*; returns the new count of the heap."""
    if place == 0:
        c.time_ns[0] = NEVER
        return count
    time_ns = c.time_ns[count]
    key = c.key[count]
    slot = c.slot[count]
    c.time_ns[count] = NEVER
    count -= 1
    if count == 0:
        return count
    i = 1
    while True:
        least = 4 * i - 2
        if least > count:
            break
        # behind the last event there are empty places, which read as NEVER
        least = _first_of_four(c, least)
        if c.time_ns[least] < time_ns or (c.time_ns[least] == time_ns and c.key[least] < key):
            _move(c, least, i)
            i = least
        else:
            break
    _put(c, i, time_ns, key, slot)
    return count


@kernel(hot=True)
def put_in_heap(c: Calendar, count: int, time_ns: int, key: int, slot: int) -> int:
    """Add an event behind the front place; returns the new count of the heap."""
    count += 1
    i = count
    while i > 1:
        parent = (i + 2) >> 2
        if c.time_ns[parent] > time_ns or (c.time_ns[parent] == time_ns and c.key[parent] > key):
            _move(c, parent, i)
            i = parent
        else:
            break
    _put(c, i, time_ns, key, slot)
    return count


@kernel
def _put(c: Calendar, place: int, time_ns: int, key: int, slot: int) -> None:
    c.time_ns[place] = time_ns
    c.key[place] = key
    c.slot[place] = slot


@kernel
def _move(c: Calendar, source: int, target: int) -> None:
    _put(c, target, c.time_ns[source], c.key[source], c.slot[source])
