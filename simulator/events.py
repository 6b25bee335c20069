"""The total order of events, which both engines keep: (time, round, rank, station, request number).

The order of insertion never matters. Within an instant, completions come first and dispatches last, so a station
chooses among everything that has reached it by then. An event set for the present instant with a rank that is not after
the current one belongs to the next round of that instant.
"""

from typing import Any

import numpy as np

from tiersim.kernel import kernel

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
