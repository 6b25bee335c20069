"""The event loop: pop, branch on the kind, call one handler.

It may stop after any event and go on later (``advance`` again): for more arrivals, for more room, for a progress bar.
Scalars live in locals and small functions take and return them; they are packed into ``control`` only between calls.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station import accept, choose, finish
from tiersim.devices.tables import CALL, NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.compiled.calendar import Calendar, first, pop, push
from tiersim.simulator.events import (
    ARRIVAL,
    COMPLETION,
    DISPATCH,
    TIMER,
    event_key,
    key_rank,
    key_round,
    key_station,
    round_for,
)
from tiersim.simulator.metrics import Metrics, record_completion
from tiersim.simulator.statistics_kernels import note_accepted, note_finished

#: Why ``advance`` returned.
ENDED, NEEDS_ARRIVALS, NEEDS_ROOM, PAUSED = range(4)

#: Places in ``control``.
NOW, ROUND, NEXT_ARRIVAL, EVENTS, FREE, DISPATCHES, NUMBER, INTERVAL, INTERVAL_END, IN_PLANT, CONTROL_SIZE = range(11)


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


class Engine(NamedTuple):
    """Everything that the loop works on besides the plant."""

    calendar: Calendar
    metrics: Metrics
    free: NDArray[np.uint32]  # stack of free slots
    dispatches: NDArray[np.uint32]  # stations to dispatch at this instant, ascending
    control: NDArray[np.int64]


@kernel
def call_dispatch(p: Plant, e: Engine, count: int, station: int) -> int:
    """Put a station on the list of this instant's dispatches, in order; returns the new count."""
    s = p.stations[station]
    if s["marked"]:
        return count
    s["marked"] = 1
    i = count
    while i > 0 and e.dispatches[i - 1] > station:
        e.dispatches[i] = e.dispatches[i - 1]
        i -= 1
    e.dispatches[i] = station
    return count + 1


@kernel
def enter(
    p: Plant, e: Engine, events: int, dispatches: int, slot: int, station: int, now: int, round_: int, rank: int
) -> tuple[int, int]:
    """Hand a request to a station; returns the new counts of events and dispatches."""
    request = p.requests[slot]
    request["station"] = station
    request["accepted_ns"] = now
    note_accepted(p, station, now)
    answer = accept(p, station, slot, now)
    if answer > now:
        key = event_key(round_for(now, round_, rank, answer, COMPLETION), COMPLETION, station, request["number"])
        return push(e.calendar, events, answer, key, slot), dispatches
    p.stations[station]["waiting"] += 1
    if answer == CALL:
        dispatches = call_dispatch(p, e, dispatches, station)
    return events, dispatches


@kernel
def arrive(
    p: Plant, e: Engine, a: Arrivals, row: int, slot: int, number: int, interval: int, events: int, dispatches: int
) -> tuple[int, int]:
    """Make a request of an arrival; returns the new counts of events and dispatches."""
    request = p.requests[slot]
    request["number"] = number
    request["op"] = a.op[row]
    request["offset_bytes"] = a.offset_bytes[row]
    request["length_bytes"] = a.length_bytes[row]
    request["parent"] = NONE
    request["row"] = a.first_row[0] + row
    request["intended_ns"] = a.intended_ns[row]
    request["category"] = a.category[row]
    request["interval"] = interval
    e.metrics.arrivals[interval, a.category[row]] += 1
    return enter(p, e, events, dispatches, slot, a.station[row], a.time_ns[row], 0, ARRIVAL)


@kernel
def make_children(
    p: Plant,
    e: Engine,
    parent: int,
    made: int,
    free: int,
    number: int,
    events: int,
    dispatches: int,
    now: int,
    round_: int,
) -> tuple[int, int]:
    """Turn what ``finish`` left in ``children`` into requests; returns the new counts of events and dispatches."""
    p.requests[parent]["pending"] = made
    for index in range(made):
        child = p.children[index]
        slot = e.free[free - 1 - index]
        request = p.requests[slot]
        request["number"] = number + index
        request["op"] = child["op"]
        request["offset_bytes"] = child["offset_bytes"]
        request["length_bytes"] = child["length_bytes"]
        request["parent"] = parent
        events, dispatches = enter(p, e, events, dispatches, slot, child["station"], now, round_, COMPLETION)
    return events, dispatches


@kernel
def leave(p: Plant, e: Engine, a: Arrivals, slot: int, free: int, interval: int, now: int) -> tuple[int, bool]:
    """A request is done, and with it any parent whose last part it was; returns (free slots, whether an arrival ended)."""
    while True:
        request = p.requests[slot]
        note_finished(p, request["station"], now, request["accepted_ns"])
        e.free[free] = slot
        free += 1
        parent = request["parent"]
        if parent == NONE:
            latency = now - request["intended_ns"]
            record_completion(
                e.metrics, request["category"], request["interval"], interval, latency, request["length_bytes"]
            )
            if a.done_ns.size > 0:
                a.done_ns[request["row"]] = now
            return free, True
        p.requests[parent]["pending"] -= 1
        if p.requests[parent]["pending"] > 0:
            return free, False
        slot = parent


@kernel
def dispatch(p: Plant, e: Engine, events: int, station: int, now: int, round_: int) -> int:
    """Let a station start what it can; returns the new count of events."""
    p.stations[station]["marked"] = 0
    while True:
        slot, done, wake = choose(p, station, now)
        if slot == NONE:
            s = p.stations[station]
            if wake != NEVER and wake != s["timer_ns"]:
                s["timer_ns"] = wake  # an earlier timer in the calendar is now void
                key = event_key(round_for(now, round_, DISPATCH, wake, TIMER), TIMER, station, 0)
                events = push(e.calendar, events, wake, key, NONE)
            return events
        p.stations[station]["waiting"] -= 1
        number = p.requests[slot]["number"]
        key = event_key(round_for(now, round_, DISPATCH, done, COMPLETION), COMPLETION, station, number)
        events = push(e.calendar, events, done, key, slot)


@kernel
def close_intervals(p: Plant, m: Metrics, interval: int, interval_end: int, time_ns: int) -> tuple[int, int]:
    """Write the stations' state at each interval end up to a time; returns the current interval and its end.

    The last interval is open and closed by the caller of the loop.
    """
    while time_ns >= interval_end and interval < m.outstanding.shape[0] - 1:
        for station in range(p.stations.size):
            m.outstanding[interval, station] = p.stations[station]["outstanding"]
            for resource in range(p.work_ns.shape[1]):
                m.work_ns[interval, station, resource] = p.work_ns[station, resource]
        interval += 1
        interval_end += m.interval_ns[0]
    return interval, interval_end


@kernel
def advance(p: Plant, e: Engine, a: Arrivals, last_block: bool, until_ns: int, most_events: int) -> int:
    """Process events in order until none is left, something is needed, or a bound is reached; returns why it stopped.

    Events at *until_ns* and later, and all but *most_events*, are left for the next call. With more blocks to come,
    nothing after the last known arrival is touched.
    """
    c = e.calendar
    now, round_, row = e.control[NOW], e.control[ROUND], e.control[NEXT_ARRIVAL]
    events, free, dispatches = e.control[EVENTS], e.control[FREE], e.control[DISPATCHES]
    number, in_plant = e.control[NUMBER], e.control[IN_PLANT]
    interval, interval_end = e.control[INTERVAL], e.control[INTERVAL_END]
    rows = a.time_ns.size
    room = p.children.size + 1
    status = PAUSED
    for _ in range(most_events):
        if row == rows and not last_block:
            status = NEEDS_ARRIVALS
            break
        if free < room or events + p.requests.size > c.key.size:
            status = NEEDS_ROOM
            break
        # the first of: calendar, arrivals, this instant's dispatches
        place = first(c)
        time_ns = c.time_ns[place]
        key = c.key[place]
        from_calendar = True
        if row < rows:
            arrival_key = event_key(0, ARRIVAL, 0, 0)
            if a.time_ns[row] < time_ns or (a.time_ns[row] == time_ns and arrival_key < key):
                time_ns = a.time_ns[row]
                key = arrival_key
                from_calendar = False
        if dispatches > 0 and (time_ns > now or key > event_key(round_, DISPATCH, e.dispatches[0], 0)):
            # what they set at this instant belongs to the next round, so they all come now
            for i in range(dispatches):
                events = dispatch(p, e, events, e.dispatches[i], now, round_)
            dispatches = 0
            continue
        if time_ns == NEVER:
            status = ENDED
            break
        if time_ns >= until_ns:
            break
        if time_ns >= interval_end:
            interval, interval_end = close_intervals(p, e.metrics, interval, interval_end, time_ns)
        now = time_ns
        round_ = key_round(key)
        if not from_calendar:
            free -= 1
            events, dispatches = arrive(p, e, a, row, e.free[free], number, interval, events, dispatches)
            number += 1
            row += 1
            in_plant += 1
            continue
        station = key_station(key)
        slot = c.slot[place]
        events = pop(c, events, place)
        if key_rank(key) == COMPLETION:
            made = finish(p, station, slot)
            if made > 0:
                events, dispatches = make_children(p, e, slot, made, free, number, events, dispatches, now, round_)
                free -= made
                number += made
            else:
                free, ended = leave(p, e, a, slot, free, interval, now)
                if ended:
                    in_plant -= 1
            if p.stations[station]["waiting"] > 0:
                dispatches = call_dispatch(p, e, dispatches, station)
        elif p.stations[station]["timer_ns"] == now:
            p.stations[station]["timer_ns"] = NEVER
            dispatches = call_dispatch(p, e, dispatches, station)
    e.control[NOW], e.control[ROUND], e.control[NEXT_ARRIVAL] = now, round_, row
    e.control[EVENTS], e.control[FREE], e.control[DISPATCHES] = events, free, dispatches
    e.control[NUMBER], e.control[IN_PLANT] = number, in_plant
    e.control[INTERVAL], e.control[INTERVAL_END] = interval, interval_end
    return status
