"""The calendar: a 4-ary heap of (time, key) with the slot that each event is about."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel


class Calendar(NamedTuple):
    """Heap arrays; the number of events is a local of the loop."""

    time_ns: NDArray[np.int64]
    key: NDArray[np.int64]
    slot: NDArray[np.int64]


@kernel
def push(c: Calendar, count: int, time_ns: int, key: int, slot: int) -> int:
    """Add an event; returns the new count."""
    i = count
    while i > 0:
        parent = (i - 1) >> 2
        if c.time_ns[parent] > time_ns or (c.time_ns[parent] == time_ns and c.key[parent] > key):
            c.time_ns[i] = c.time_ns[parent]
            c.key[i] = c.key[parent]
            c.slot[i] = c.slot[parent]
            i = parent
        else:
            break
    c.time_ns[i] = time_ns
    c.key[i] = key
    c.slot[i] = slot
    return count + 1


@kernel
def pop(c: Calendar, count: int) -> int:
    """Drop the first event, which is at index 0; returns the new count."""
    count -= 1
    time_ns = c.time_ns[count]
    key = c.key[count]
    slot = c.slot[count]
    i = 0
    while True:
        least = 4 * i + 1
        if least >= count:
            break
        for j in range(least + 1, min(least + 4, count)):
            if c.time_ns[j] < c.time_ns[least] or (c.time_ns[j] == c.time_ns[least] and c.key[j] < c.key[least]):
                least = j
        if c.time_ns[least] < time_ns or (c.time_ns[least] == time_ns and c.key[least] < key):
            c.time_ns[i] = c.time_ns[least]
            c.key[i] = c.key[least]
            c.slot[i] = c.slot[least]
            i = least
        else:
            break
    c.time_ns[i] = time_ns
    c.key[i] = key
    c.slot[i] = slot
    return count
