"""The handlers of the event loop: what an arrival, a completion and a dispatch do to stations and requests.

Most scalars live in the loop's locals; these functions take and return them.
"""

import numpy as np

from tiersim.devices.station_records import CALL, NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.compiled.engine_state import FREE, NUMBER, Arrivals, Engine
from tiersim.simulator.database.checkpoint.checkpointer import note_history
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.events import COMPLETION, DISPATCH, TIMER, event_key, push, round_for
from tiersim.simulator.metrics import Metrics, note_accepted, note_finished, record_arrival, record_completion
from tiersim.simulator.station import accept, choose, resume


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


@kernel(hot=True)
def new_request(p: Plant, e: Engine, parent: int, station: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Take a free slot for a request to a station, a part of *parent* or of none; returns it."""
    left, number = e.control[FREE] - 1, e.control[NUMBER]
    e.control[FREE], e.control[NUMBER] = left, number + 1
    slot = e.free[left]
    request = p.requests[slot]
    request["number"] = number
    request["station"] = station
    request["op"] = op
    request["offset_bytes"] = offset_bytes
    request["length_bytes"] = length_bytes
    request["parent"] = parent
    return int(np.int64(slot))


@kernel(hot=True)
def begin_command(
    p: Plant, e: Engine, slot: int, row: int, stream: int, intended_ns: int, category: int, interval: int
) -> None:
    """Say what a request is accounted under, and count it: it is a command of its own."""
    request = p.requests[slot]
    request["row"] = row
    request["stream"] = stream
    request["intended_ns"] = intended_ns
    request["category"] = category
    request["interval"] = interval
    record_arrival(e.metrics, category, interval)


@kernel(hot=True)
def enter(
    p: Plant, e: Engine, d: Database, slot: int, events: int, dispatches: int, now: int, round_: int, rank: int
) -> tuple[int, int]:
    """Hand a request to its station; returns the new counts of events and dispatches."""
    request = p.requests[slot]
    station = request["station"]
    request["accepted_ns"] = now
    note_accepted(p, station, now)
    answer = accept(p, d, station, slot, now)
    if answer > now:
        key = event_key(round_for(now, round_, rank, answer, COMPLETION), COMPLETION, station, request["number"])
        return push(e.calendar, events, answer, key, slot), dispatches
    p.stations[station]["waiting"] += 1
    if answer == CALL:
        dispatches = call_dispatch(p, e, dispatches, station)
    return events, dispatches


@kernel
def arrive(p: Plant, e: Engine, a: Arrivals, row: int, interval: int) -> int:
    """Make a request of an arrival; returns its slot."""
    slot = new_request(p, e, NONE, a.station[row], a.op[row], a.offset_bytes[row], a.length_bytes[row])
    begin_command(p, e, slot, a.first_row[0] + row, NONE, a.intended_ns[row], a.category[row], interval)
    return slot


@kernel
def make_children(
    p: Plant, e: Engine, d: Database, parent: int, made: int, events: int, dispatches: int, now: int, round_: int
) -> tuple[int, int, bool]:
    """Turn what a station left in ``children`` into requests.

    Returns (events, dispatches, whether the parent waits for any of them).
    """
    background = 0
    for index in range(made):
        background += p.children[index]["background"]
    p.requests[parent]["pending"] = made - background
    for index in range(made):
        child = p.children[index]
        whole = NONE if child["background"] else parent
        slot = new_request(p, e, whole, child["station"], child["op"], child["offset_bytes"], child["length_bytes"])
        if child["background"]:
            p.requests[slot]["row"] = NONE
        events, dispatches = enter(p, e, d, slot, events, dispatches, now, round_, COMPLETION)
    if background == made and p.stations[p.requests[parent]["station"]]["waiting"] > 0:  # it leaves its station
        dispatches = call_dispatch(p, e, dispatches, p.requests[parent]["station"])
    return events, dispatches, background < made


@kernel
def leave(
    p: Plant, e: Engine, d: Database, a: Arrivals, slot: int, interval: int, dispatches: int, now: int
) -> tuple[int, int, int, bool]:
    """A request is done, and with it every parent whose last part it was and whose station makes no more of it.

    Returns (number of children that a parent goes on with, that parent, dispatches, whether an arrival ended).
    """
    while True:
        request = p.requests[slot]
        note_finished(p, request["station"], now, request["accepted_ns"])
        e.free[e.control[FREE]] = slot
        e.control[FREE] += 1
        parent = request["parent"]
        if parent == NONE:
            if request["row"] == NONE:  # background
                return 0, slot, dispatches, False
            latency = now - request["intended_ns"]
            record_completion(
                e.metrics, request["category"], request["interval"], interval, latency, request["length_bytes"]
            )
            if a.done_ns.size > 0:
                a.done_ns[request["row"]] = now
            return 0, slot, dispatches, True
        p.requests[parent]["pending"] -= 1
        if p.requests[parent]["pending"] > 0:
            return 0, slot, dispatches, False
        made = resume(p, d, p.requests[parent]["station"], parent, now)
        if made > 0:
            return made, parent, dispatches, False
        slot = parent
        if p.stations[p.requests[parent]["station"]]["waiting"] > 0:
            dispatches = call_dispatch(p, e, dispatches, p.requests[parent]["station"])


@kernel
def dispatch(p: Plant, e: Engine, d: Database, events: int, station: int, now: int, round_: int) -> int:
    """Let a station start what it can; returns the new count of events."""
    p.stations[station]["marked"] = 0
    while True:
        slot, done, wake = choose(p, d, station, now)
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
def close_intervals(
    p: Plant, m: Metrics, d: Database, interval: int, interval_end: int, time_ns: int
) -> tuple[int, int]:
    """Write the stations' state at each interval end up to a time; returns the current interval and its end.

    The last interval is open and closed by the caller of the loop.
    """
    while time_ns >= interval_end and interval < m.outstanding.shape[0] - 1:
        for station in range(p.stations.size):
            m.outstanding[interval, station] = p.stations[station]["outstanding"]
            for resource in range(p.work_ns.shape[1]):
                m.work_ns[interval, station, resource] = p.work_ns[station, resource]
        note_history(d, interval)
        interval += 1
        interval_end += m.interval_ns[0]
    return interval, interval_end
