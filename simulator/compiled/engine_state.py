"""What the event loop works on: arrivals, calendar, free slots, and the scalars that it keeps between calls."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import table_set
from tiersim.simulator.events import Calendar
from tiersim.simulator.metrics import Metrics

#: Why ``advance`` returned.
ENDED, NEEDS_ARRIVALS, NEEDS_ROOM, PAUSED = range(4)

#: Places in ``control``. UNDONE counts commands that have arrived, or will without being asked for, and are not done.
NOW, ROUND, NEXT_ARRIVAL, EVENTS, FREE, DISPATCHES, NUMBER, INTERVAL, INTERVAL_END, UNDONE, STARTS, CONTROL_SIZE = (
    range(12)
)


@table_set
class Arrivals(NamedTuple):
    """A block of commands in time order; ``times`` never fall, within it or against the block before."""

    time_ns: NDArray[np.int64]
    intended_ns: NDArray[np.int64]  # latency counts from here
    station: NDArray[np.uint32]
    op: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    category: NDArray[np.uint8]
    done_ns: NDArray[np.int64]  # (rows or 0,): completion by row, counted from the first block; empty: not kept
    first_row: NDArray[np.int64]  # (1,) number of the block's first row


@table_set
class Engine(NamedTuple):
    """Everything that the loop works on besides the plant."""

    calendar: Calendar
    # when the next command of each stream starts: apart, as with many streams an event of a device would go through all
    # levels of their heap; its front place is empty
    starts: Calendar
    metrics: Metrics
    free: NDArray[np.uint32]  # stack of free slots
    dispatches: NDArray[np.uint32]  # stations to dispatch at this instant, ascending
    control: NDArray[np.int64]
    addresses: NDArray[np.int64]  # (kinds, functions): see tiersim.simulator.station
