"""The handlers of the event loop for commands that wait for others: when a stream goes on, and what its commands do."""

import numpy as np

from tiersim.devices.station_records import NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.categories import LOG_SYNC, LOG_SYNC_DEVICE
from tiersim.simulator.compiled.engine_state import Engine
from tiersim.simulator.compiled.stations import begin_command, new_request
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.database.sessions.sessions import ASKS, OVER, RESTS, step
from tiersim.simulator.events import ARRIVAL, COMPLETION, event_key, push, round_for
from tiersim.simulator.metrics import record_lag, record_sync
from tiersim.simulator.streams import (
    Streams,
    lets_followers_go,
    next_start,
    note_ended,
    note_started,
    wake_follower,
)


@kernel
def consider(s: Streams, e: Engine, events: int, stream: int, now: int, round_: int, rank: int) -> int:
    """Give a stream's next command its time, if it has one; returns the new count of events."""
    start = next_start(s, stream, now)
    if start == NEVER:
        return events
    key = event_key(round_for(now, round_, rank, start, ARRIVAL), ARRIVAL, 0, int(np.int64(stream)))
    return push(e.calendar, events, start, key, stream)


@kernel
def open_streams(s: Streams, e: Engine, events: int) -> int:
    """Give every stream's first command its time; returns the new count of events."""
    for stream in range(s.streams.size):
        events = consider(s, e, events, stream, 0, 0, COMPLETION)
    return events


@kernel
def start_command(
    p: Plant, e: Engine, s: Streams, stream: int, interval: int, events: int, now: int, round_: int
) -> tuple[int, int]:
    """Make a request of a stream's next command; returns the new count of events and the request's slot."""
    row = note_started(s, stream, now)
    slot = new_request(p, e, NONE, s.station[row], s.op[row], s.offset_bytes[row], s.length_bytes[row])
    begin_command(p, e, slot, row, stream, now - s.gathered_ns[row], s.category[row], interval)
    record_lag(e.metrics, interval, now - s.recorded_ns[row])
    if lets_followers_go(s, stream):
        for place in range(s.followers.size):
            follower = s.followers[place]
            if wake_follower(s, follower):
                events = consider(s, e, events, follower, now, round_, ARRIVAL)
    return consider(s, e, events, stream, now, round_, ARRIVAL), slot


@kernel
def end_command(p: Plant, e: Engine, s: Streams, slot: int, interval: int, events: int, now: int, round_: int) -> int:
    """A command ended: its stream may go on; returns the new count of events."""
    request = p.requests[slot]
    stream = request["stream"]
    whole, device = note_ended(s, stream, request["row"], now)
    if whole > 0:
        record_sync(e.metrics, LOG_SYNC, interval, whole)
        record_sync(e.metrics, LOG_SYNC_DEVICE, interval, device)
    return consider(s, e, events, stream, now, round_, COMPLETION)


@kernel
def wake_session(e: Engine, session: int, events: int, at_ns: int, now: int, round_: int, rank: int) -> int:
    """Let a session go on at a time; returns the new count of events."""
    key = event_key(round_for(now, round_, rank, at_ns, ARRIVAL), ARRIVAL, 0, int(np.int64(session)))
    return push(e.calendar, events, at_ns, key, session)


@kernel
def open_sessions(d: Database, e: Engine, events: int) -> int:
    """Wake every session at time 0; returns the new count of events."""
    for session in range(d.first_helper[0]):
        events = wake_session(e, session, events, 0, 0, 0, COMPLETION)
    return events


@kernel
def go_on(
    p: Plant, e: Engine, d: Database, session: int, interval: int, events: int, now: int, round_: int
) -> tuple[int, int, int]:
    """Let a session do what it does next; returns (events, what it answered, the slot of its request or NONE)."""
    answer = step(d, e.metrics, session, interval, now)
    for place in range(d.called[0]):
        events = wake_session(e, d.called[1 + place], events, now, now, round_, ARRIVAL)
    if answer in (OVER, RESTS):
        return events, answer, NONE
    if answer != ASKS:
        return wake_session(e, session, events, answer, now, round_, ARRIVAL), answer, NONE
    asked = d.asked[session]
    slot = new_request(p, e, NONE, asked["station"], asked["op"], asked["offset_bytes"], asked["length_bytes"])
    begin_command(p, e, slot, session, session, now, asked["category"], interval)
    return events, answer, slot
