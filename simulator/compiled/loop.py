"""The event loop: pop, branch on the kind, call one handler.

It may stop after any event and go on later (``advance`` again): for more arrivals, for more room, for a progress bar.
Scalars live in locals and are packed into ``control`` only between calls, but for the counts of free slots and of
requests.
"""

from tiersim.devices.station_records import NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.compiled.engine_state import (
    DISPATCHES,
    ENDED,
    EVENTS,
    FREE,
    INTERVAL,
    INTERVAL_END,
    NEEDS_ARRIVALS,
    NEEDS_ROOM,
    NEXT_ARRIVAL,
    NOW,
    PAUSED,
    ROUND,
    UNDONE,
    Arrivals,
    Engine,
)
from tiersim.simulator.compiled.sources import end_command, go_on, start_command, wake_session
from tiersim.simulator.compiled.stations import (
    arrive,
    call_dispatch,
    close_intervals,
    dispatch,
    enter,
    leave,
    make_children,
)
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.database.sessions.sessions import OVER
from tiersim.simulator.events import (
    ARRIVAL,
    COMPLETION,
    DISPATCH,
    event_key,
    first,
    key_rank,
    key_round,
    key_station,
    pop,
)
from tiersim.simulator.station import finish
from tiersim.simulator.streams import Streams

#: How many of the requests that a request is a part of can belong to stations that make background requests: at one
#: event each may make its children, and there must be room for them.
_MOST_NESTED = 8


@kernel
def advance(
    p: Plant, e: Engine, a: Arrivals, s: Streams, d: Database, last_block: bool, until_ns: int, most_events: int
) -> int:
    """Process events in order until none is left, something is needed, or a bound is reached; returns why it stopped.

    Commands come by the clock from *a*, in blocks, or from the streams *s*, all of which are there; the other is empty.
    Events at *until_ns* and later, and all but *most_events*, are left for the next call. With more blocks to come,
    nothing after the last known arrival is touched.
    """
    c = e.calendar
    now, round_, row = e.control[NOW], e.control[ROUND], e.control[NEXT_ARRIVAL]
    events, dispatches, undone = e.control[EVENTS], e.control[DISPATCHES], e.control[UNDONE]
    interval, interval_end = e.control[INTERVAL], e.control[INTERVAL_END]
    rows = a.time_ns.size
    room = _MOST_NESTED * p.children.size + 1
    status = PAUSED
    for _ in range(most_events):
        if row == rows:
            if not last_block:
                status = NEEDS_ARRIVALS
                break
            if undone == 0:  # what nobody waits for is left
                status = ENDED
                break
        if e.control[FREE] < room or events + p.requests.size + s.streams.size + d.sessions.size > c.key.size:
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
                events = dispatch(p, e, d, events, e.dispatches[i], now, round_)
            dispatches = 0
            continue
        if time_ns == NEVER:
            status = ENDED
            break
        if time_ns >= until_ns:
            break
        if time_ns >= interval_end:
            interval, interval_end = close_intervals(p, e.metrics, d, interval, interval_end, time_ns)
        now = time_ns
        round_ = key_round(key)
        station = key_station(key)
        slot = c.slot[place]
        entering = NONE  # the slot of a command that arrives
        if from_calendar:
            events = pop(c, events, place)
        if not from_calendar:
            entering = arrive(p, e, a, row, interval)
            row += 1
            undone += 1
        elif key_rank(key) == COMPLETION:
            made = finish(p, d, station, slot)
            if p.stations[station]["waiting"] > 0:
                dispatches = call_dispatch(p, e, dispatches, station)
            while True:
                if made > 0:
                    events, dispatches, waits = make_children(p, e, d, slot, made, events, dispatches, now, round_)
                    if waits:
                        break
                made, slot, dispatches, ended = leave(p, e, d, a, slot, interval, dispatches, now)
                if ended and d.sessions.size > 0:
                    events = wake_session(e, p.requests[slot]["stream"], events, now, now, round_, COMPLETION)
                elif ended:
                    undone -= 1
                    if s.streams.size > 0:
                        events = end_command(p, e, s, slot, interval, events, now, round_)
                if made == 0:
                    break
        elif key_rank(key) == ARRIVAL and d.sessions.size > 0:
            events, answer, entering = go_on(p, e, d, slot, interval, events, now, round_)
            if answer == OVER:
                undone -= 1
        elif key_rank(key) == ARRIVAL:
            events, entering = start_command(p, e, s, slot, interval, events, now, round_)
        elif p.stations[station]["timer_ns"] == now:
            p.stations[station]["timer_ns"] = NEVER
            dispatches = call_dispatch(p, e, dispatches, station)
        if entering != NONE:
            events, dispatches = enter(p, e, d, entering, events, dispatches, now, round_, ARRIVAL)
    e.control[NOW], e.control[ROUND], e.control[NEXT_ARRIVAL] = now, round_, row
    e.control[EVENTS], e.control[DISPATCHES], e.control[UNDONE] = events, dispatches, undone
    e.control[INTERVAL], e.control[INTERVAL_END] = interval, interval_end
    return status
