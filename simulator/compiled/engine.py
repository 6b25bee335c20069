"""The compiled engine: the event loop, and what feeds it: arrivals in blocks, room when it asks for it, progress out.

The loop takes the first event, branches on its kind and calls one handler. It may stop after any event and go on later
(``advance`` again). Scalars live in its locals, which handlers take and return, and are packed into ``control`` only
between calls. The counts of free slots, of requests and of streams with a next start are always in ``control``.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.array_kernels import accept_array
from tiersim.devices.hdd.hdd_kernels import accept_drive, can_start, finish_drive
from tiersim.devices.station import ACCEPT, CHOOSE, FINISH, RESUME
from tiersim.devices.station_records import ARRAY, CALL, DRIVE, NEVER, NONE, PER_SLOT, Plant
from tiersim.kernel import call_at, kernel
from tiersim.simulator.categories import COUNT, LOG_SYNC, LOG_SYNC_DEVICE
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.compiled.engine_state import (
    CONTROL_SIZE,
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
    NUMBER,
    PAUSED,
    ROUND,
    STARTS,
    UNDONE,
    Arrivals,
    Engine,
)
from tiersim.simulator.database.build import NO_DATABASE, ended_statements, with_slots
from tiersim.simulator.database.checkpoint.checkpointer import note_history
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.database.sessions.sessions import ASKS, OVER, RESTS
from tiersim.simulator.events import (
    ARRIVAL,
    COMPLETION,
    DISPATCH,
    TIMER,
    Calendar,
    event_key,
    first,
    key_rank,
    key_round,
    key_station,
    new_calendar,
    pop,
    push,
    put_in_heap,
    round_for,
)
from tiersim.simulator.metrics import (
    Metrics,
    close,
    note_accepted,
    note_finished,
    note_warmup,
    record_arrival,
    record_completion,
    record_lag,
    record_sync,
)
from tiersim.simulator.sharing import note_begins, note_leaves, note_waits
from tiersim.simulator.station import STEP, station_addresses
from tiersim.simulator.streams import (
    NO_STREAMS,
    Running,
    Streams,
    fetch_next,
    gathered_before_ns,
    lets_committers_go,
    lets_followers_go,
    next_start,
    note_ended,
    note_started,
    running,
    wake_committer,
    wake_follower,
)
from tiersim.simulator.taps import note_tapped


@kernel(hot=True)
def accept(p: Plant, e: Engine, d: Database, station: int, slot: int, now: int) -> int:
    """Hand a request to a station, see :class:`tiersim.devices.station.StationKind`."""
    s = p.stations[station]
    if s["kind"] == DRIVE:
        return accept_drive(p, s["row"], slot, now)
    if s["kind"] == ARRAY:
        return accept_array(p, s["row"], now)
    return call_at(e.addresses[s["kind"], ACCEPT], p, d, station, slot, now, 0)[0]


@kernel(hot=True)
def choose(p: Plant, e: Engine, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Let a station start a request."""
    s = p.stations[station]
    if s["kind"] == DRIVE and not can_start(p, s["row"]):
        return NONE, NEVER, NEVER
    return call_at(e.addresses[s["kind"], CHOOSE], p, d, station, NONE, now, 0)


@kernel(hot=True)
def finish(p: Plant, e: Engine, d: Database, station: int, slot: int, now: int) -> int:
    """End a service at a station."""
    s = p.stations[station]
    if s["kind"] == DRIVE:
        return finish_drive(p, s["row"], slot)
    return call_at(e.addresses[s["kind"], FINISH], p, d, station, slot, now, 0)[0]


@kernel(hot=True)
def resume(p: Plant, e: Engine, d: Database, station: int, slot: int, now: int) -> int:
    """Let a station go on with a request, if it has that function."""
    address = e.addresses[p.stations[station]["kind"], RESUME]
    return 0 if address == 0 else call_at(address, p, d, station, slot, now, 0)[0]


@kernel(hot=True)
def is_divided(p: Plant, e: Engine, station: int) -> bool:
    """Whether it is noted who waits for whom at a station: nobody waits where nothing is chosen."""
    return e.metrics.waiting.size > 0 and e.addresses[p.stations[station]["kind"], CHOOSE] != 0


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
    answer = accept(p, e, d, station, slot, now)
    if is_divided(p, e, station):
        if answer > now:
            note_begins(p, e.metrics, station, slot, now, False)
        else:
            note_waits(p, e.metrics, station, slot, now)
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
        p.requests[slot]["category"] = NONE if child["background"] else p.requests[parent]["category"]
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
        if is_divided(p, e, request["station"]):
            note_leaves(p, e.metrics, request["station"], slot, now)
        if e.metrics.tapped.size > 0:
            note_tapped(p, e.metrics, slot, now)
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
        made = resume(p, e, d, p.requests[parent]["station"], parent, now)
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
        slot, done, wake = choose(p, e, d, station, now)
        if slot == NONE:
            s = p.stations[station]
            if wake != NEVER and wake != s["timer_ns"]:
                s["timer_ns"] = wake  # an earlier timer in the calendar is now void
                key = event_key(round_for(now, round_, DISPATCH, wake, TIMER), TIMER, station, 0)
                events = push(e.calendar, events, wake, key, NONE)
            return events
        if e.metrics.waiting.size > 0:
            note_begins(p, e.metrics, station, slot, now, True)
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
        if d.sessions.size > 0:
            note_history(d, interval)
        interval += 1
        if interval == m.first_counted[0]:
            note_warmup(p, m, interval_end)
        interval_end += m.interval_ns[0]
    return interval, interval_end


@kernel
def first_column(s: Running, d: Database, m: Metrics) -> int:
    """Return where the columns of metrics of the first recording begin: behind those of a database."""
    return 0 if d.sessions.size == 0 else m.latency.shape[0] - COUNT * s.groups.size


@kernel
def consider(s: Running, d: Database, e: Engine, stream: int, now: int, round_: int, rank: int) -> None:
    """Give a stream's next command its time, if it has one. Streams are numbered behind the sessions of a database."""
    start = next_start(s, stream, now)
    if start == NEVER:
        return
    number = d.sessions.size + int(np.int64(stream))
    key = event_key(round_for(now, round_, rank, start, ARRIVAL), ARRIVAL, 0, number)
    e.control[STARTS] = put_in_heap(e.starts, e.control[STARTS], start, key, number)


@kernel
def open_streams(s: Running, d: Database, e: Engine) -> None:
    """Give every stream's first command its time."""
    for stream in range(s.streams.size):
        consider(s, d, e, stream, 0, 0, COMPLETION)


@kernel
def start_command(
    p: Plant, e: Engine, s: Running, d: Database, stream: int, interval: int, now: int, round_: int
) -> int:
    """Make a request of a stream's next command; returns its slot."""
    row = note_started(s, stream, now)
    command = s.commands[row]
    slot = new_request(p, e, NONE, command["station"], command["op"], command["offset_bytes"], command["length_bytes"])
    number = d.sessions.size + int(np.int64(stream))
    category = first_column(s, d, e.metrics) + int(np.int64(command["category"]))
    begin_command(p, e, slot, row, number, now - gathered_before_ns(s, row), category, interval)
    if d.sessions.size == 0:
        record_lag(e.metrics, interval, now - command["recorded_ns"])
    if lets_followers_go(s, stream):
        group = s.groups[s.streams[stream]["group"]]
        for place in range(group["first_follower"], group["end_follower"]):
            follower = s.followers[place]
            if wake_follower(s, follower):
                consider(s, d, e, follower, now, round_, ARRIVAL)
    consider(s, d, e, stream, now, round_, ARRIVAL)
    return slot


@kernel
def end_command(p: Plant, e: Engine, s: Running, d: Database, slot: int, interval: int, now: int, round_: int) -> None:
    """A command ended: its stream may go on."""
    request = p.requests[slot]
    stream: Any = np.uint32(request["stream"] - d.sessions.size)
    whole, device = note_ended(s, stream, request["row"], now)
    if whole > 0:
        before = first_column(s, d, e.metrics)
        first = before + (request["category"] - before) // COUNT * COUNT  # of its recording
        record_sync(e.metrics, first + LOG_SYNC, interval, whole)
        record_sync(e.metrics, first + LOG_SYNC_DEVICE, interval, device)
    if lets_committers_go(s, stream, request["row"], now):
        group = s.groups[s.streams[stream]["group"]]
        for other in range(group["first_stream"], group["end_stream"]):
            if wake_committer(s, other):
                consider(s, d, e, other, now, round_, COMPLETION)
    consider(s, d, e, stream, now, round_, COMPLETION)


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
    answer, _, _ = call_at(e.addresses[STEP, 0], d, e.metrics, session, interval, now, 0)
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


#: How many of the requests that a request is a part of can belong to stations that make background requests: at one
#: event each may make its children, and there must be room for them.
_MOST_NESTED = 8
#: Where the next event comes from.
_CALENDAR, _BLOCK, _STARTS = range(3)


@kernel
def advance(
    p: Plant, e: Engine, a: Arrivals, s: Running, d: Database, last_block: bool, until_ns: int, most_events: int
) -> int:
    """Process events in order until none is left, something is needed, or a bound is reached; returns why it stopped.

    Commands come by the clock from *a*, in blocks, or from the streams *s*, all of which are there; the other is empty.
    Of a database and streams beside it the run ends with the sessions.
    Events at *until_ns* and later, and all but *most_events*, are left for the next call. With more blocks to come,
    nothing after the last known arrival is touched.
    """
    c, starts = e.calendar, e.starts
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
        if e.control[FREE] < room or events + p.requests.size + d.sessions.size > c.key.size:
            status = NEEDS_ROOM
            break
        # the first of: calendar, arrivals or starts of streams, this instant's dispatches
        place = first(c)
        time_ns = c.time_ns[place]
        key = c.key[place]
        source = _CALENDAR
        if row < rows:
            arrival_key = event_key(0, ARRIVAL, 0, 0)
            if a.time_ns[row] < time_ns or (a.time_ns[row] == time_ns and arrival_key < key):
                time_ns = a.time_ns[row]
                key = arrival_key
                source = _BLOCK
        elif starts.time_ns[1] < time_ns or (starts.time_ns[1] == time_ns and starts.key[1] < key):
            time_ns = starts.time_ns[1]
            key = starts.key[1]
            source = _STARTS
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
        if source == _CALENDAR:
            events = pop(c, events, place)
        if source == _BLOCK:
            entering = arrive(p, e, a, row, interval)
            row += 1
            undone += 1
        elif source == _STARTS:
            stream: Any = np.uint32(starts.slot[1] - d.sessions.size)
            e.control[STARTS] = pop(starts, e.control[STARTS], 1)
            following: Any = np.uint32(starts.slot[1] - d.sessions.size)
            fetch_next(s, following)
            entering = start_command(p, e, s, d, stream, interval, now, round_)
        elif key_rank(key) == COMPLETION:
            made = finish(p, e, d, station, slot, now)
            if p.stations[station]["waiting"] > 0:
                dispatches = call_dispatch(p, e, dispatches, station)
            while True:
                if made > 0:
                    events, dispatches, waits = make_children(p, e, d, slot, made, events, dispatches, now, round_)
                    if waits:
                        break
                made, slot, dispatches, ended = leave(p, e, d, a, slot, interval, dispatches, now)
                if ended and p.requests[slot]["stream"] < d.sessions.size:
                    events = wake_session(e, p.requests[slot]["stream"], events, now, now, round_, COMPLETION)
                elif ended:
                    undone -= d.sessions.size == 0  # sessions are through when they say so
                    if s.streams.size > 0:
                        end_command(p, e, s, d, slot, interval, now, round_)
                if made == 0:
                    break
        elif key_rank(key) == ARRIVAL:
            events, answer, entering = go_on(p, e, d, slot, interval, events, now, round_)
            if answer == OVER:
                undone -= 1
        elif p.stations[station]["timer_ns"] == now:
            p.stations[station]["timer_ns"] = NEVER
            dispatches = call_dispatch(p, e, dispatches, station)
        if entering != NONE:
            events, dispatches = enter(p, e, d, entering, events, dispatches, now, round_, ARRIVAL)
    e.control[NOW], e.control[ROUND], e.control[NEXT_ARRIVAL] = now, round_, row
    e.control[EVENTS], e.control[DISPATCHES], e.control[UNDONE] = events, dispatches, undone
    e.control[INTERVAL], e.control[INTERVAL_END] = interval, interval_end
    return status


#: Events between two looks at the keyboard and two steps of the progress bar: some 20 ms, seconds where requests are
#: huge.
_EVENTS_PER_STEP = 250_000


def run(
    plant: Plant,
    blocks: Iterable[Commands],
    metrics: Metrics,
    *,
    keep_done: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[Plant, Outcome]:
    """Run all commands to their completion; *metrics* is filled, the plant is returned (its tables may have grown).

    *progress* is called with the number of commands that have arrived so far.
    """
    engine = _new_engine(plant, NO_DATABASE, metrics, 0)
    nobody, database = running(NO_STREAMS), NO_DATABASE
    done = np.zeros(0, np.int64)
    arrived = last_arrival_ns = 0
    status = NEEDS_ARRIVALS
    source = iter(blocks)
    block = next(source, None)
    while block is not None:
        following = next(source, None)
        if keep_done:
            done = _with_room(done, arrived + len(block))
            done[arrived : arrived + len(block)] = NEVER
        arrivals = _arrivals(block, done, arrived)
        engine.control[NEXT_ARRIVAL] = 0
        while True:
            status = advance(plant, engine, arrivals, nobody, database, following is None, NEVER, _EVENTS_PER_STEP)
            if status == NEEDS_ROOM:
                plant, engine = _grow(plant, engine, database)
            elif status != PAUSED:
                break
            if progress is not None:
                progress(arrived + int(engine.control[NEXT_ARRIVAL]))
        arrived += len(block)
        if len(block):
            last_arrival_ns = int(block.time_ns[-1])
        block = following
    outcome = _close(plant, engine, metrics, arrived, done[:arrived] if keep_done else None)
    return plant, replace(outcome, last_arrival_ns=last_arrival_ns)


def run_streams(
    plant: Plant, streams: Streams, metrics: Metrics, *, progress: Callable[[int], None] | None = None
) -> tuple[Plant, Outcome]:
    """Run all commands of *streams* to their completion, as :func:`run` does; the streams are used up, and hold when
    each command started and was done.
    """
    engine = _new_engine(plant, NO_DATABASE, metrics, len(streams.streams))
    nothing, database = _arrivals(_no_commands(), np.zeros(0, np.int64), 0), NO_DATABASE
    run = running(streams)
    open_streams(run, database, engine)
    engine.control[UNDONE] = streams.commands
    status = PAUSED
    while status != ENDED:
        status = advance(plant, engine, nothing, run, database, True, NEVER, _EVENTS_PER_STEP)
        if status == NEEDS_ROOM:
            plant, engine = _grow(plant, engine, database)
        if progress is not None:
            progress(int((streams.streams["next"].astype(np.int64) - streams.streams["first"]).sum()))
    outcome = _close(plant, engine, metrics, streams.commands, None)
    return plant, replace(outcome, last_arrival_ns=int(streams.started_ns.max(initial=0)))


def run_database(
    plant: Plant,
    database: Database,
    metrics: Metrics,
    *,
    progress: Callable[[int], None] | None = None,
    more: Callable[[Database, int], Database] | None = None,
    beside: Streams = NO_STREAMS,
) -> tuple[Plant, Outcome]:
    """Run all sessions of *database* to their ends, as :func:`run` does; it holds when each statement was done. The
    streams *beside* it are on the same plant; the last columns of *metrics* are theirs.

    What arrives and leaves are the requests of sessions; *progress* is called with the statements that ended. *more* is
    called with the database and the time after every so many events, and returns it, with more statements or not.
    """
    clients = int(database.first_helper[0])
    database = with_slots(database, plant.requests.size)
    engine = _new_engine(plant, database, metrics, len(beside.streams))
    nothing = _arrivals(_no_commands(), np.zeros(0, np.int64), 0)
    others = running(beside)
    engine.control[EVENTS] = open_sessions(database, engine, 0)
    open_streams(others, database, engine)
    engine.control[UNDONE] = clients
    status = PAUSED
    while status != ENDED:
        status = advance(plant, engine, nothing, others, database, True, NEVER, _EVENTS_PER_STEP)
        if status == NEEDS_ROOM:
            plant, engine = _grow(plant, engine, database)
            database = with_slots(database, plant.requests.size)
        if more is not None and status == PAUSED:
            database = more(database, int(engine.control[NOW]))
        if progress is not None:
            progress(ended_statements(database))
    return plant, _close(plant, engine, metrics, clients, None)


def _close(plant: Plant, engine: Engine, metrics: Metrics, arrived: int, done_ns: NDArray[np.int64] | None) -> Outcome:
    undone = int(engine.control[UNDONE])
    close(metrics, int(engine.control[INTERVAL]), plant.stations["outstanding"], plant.work_ns)
    taken = np.ones(plant.requests.size, np.bool_)
    taken[engine.free[: engine.control[FREE]]] = False
    return Outcome(
        last_arrival_ns=0,
        end_ns=int(engine.control[NOW]),
        arrived=arrived,
        left=arrived - undone,
        requests=int(engine.control[NUMBER]),
        unfinished=np.flatnonzero(taken),
        done_ns=done_ns,
    )


def _new_engine(plant: Plant, database: Database, metrics: Metrics, streams: int) -> Engine:
    slots, stations = plant.requests.size, plant.stations.size
    control = np.zeros(CONTROL_SIZE, np.int64)
    control[FREE] = slots
    control[INTERVAL_END] = metrics.interval_ns[0]
    return Engine(
        calendar=_new_calendar(slots, stations, database),
        starts=new_calendar(streams + 8),
        metrics=metrics,
        free=np.arange(slots, dtype=np.uint32)[::-1].copy(),
        dispatches=np.zeros(stations, np.uint32),
        control=control,
        addresses=station_addresses(plant, database, metrics),
    )


def _new_calendar(slots: int, stations: int, database: Database) -> Calendar:
    # every request in service and every session has one event; timers that were overtaken stay until their time comes
    return new_calendar(2 * slots + 4 * stations + 2 * len(database.sessions) + 64)


def _grow(plant: Plant, engine: Engine, database: Database) -> tuple[Plant, Engine]:
    """Double the places for requests and events."""
    slots, stations = plant.requests.size, plant.stations.size
    doubled: dict[str, Any] = {name: _doubled(getattr(plant, name)) for name in PER_SLOT}
    plant = plant._replace(**doubled)
    calendar = _new_calendar(2 * slots, stations, database)
    for name in Calendar._fields:
        held: NDArray[Any] = getattr(engine.calendar, name)
        getattr(calendar, name)[: held.size] = held
    free_count = int(engine.control[FREE])
    free = np.zeros(2 * slots, np.uint32)
    free[:slots] = np.arange(2 * slots - 1, slots - 1, -1)
    free[slots : slots + free_count] = engine.free[:free_count]
    engine.control[FREE] = slots + free_count
    return plant, engine._replace(calendar=calendar, free=free)


def _with_room(column: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return a column for *size* rows at least; it doubles, so that copying it costs no more than filling it."""
    if size <= len(column):
        return column
    longer = np.zeros(max(size, 2 * len(column)), np.int64)  # memory that is not used yet costs nothing
    longer[: len(column)] = column
    return longer


def _doubled(rows: NDArray[np.void]) -> NDArray[np.void]:
    doubled = np.zeros(2 * rows.size, rows.dtype)  # memory that is not used yet costs nothing
    doubled[: rows.size] = rows
    return doubled


def _no_commands() -> Commands:
    wide, small = np.zeros(0, np.int64), np.zeros(0, np.uint8)
    return Commands(wide, wide, np.zeros(0, np.int32), small, wide, wide, small)


def _own(values: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """Return *values* as kernels are compiled for them; what is read from a file may not be written to, which is
    another type to them.
    """
    return np.require(values, kind, ["C", "W"])


def _arrivals(block: Commands, done: NDArray[np.int64], first_row: int) -> Arrivals:
    return Arrivals(
        time_ns=_own(block.time_ns, np.int64),
        intended_ns=_own(block.intended_ns, np.int64),
        station=_own(block.station, np.uint32),
        op=_own(block.op, np.uint8),
        offset_bytes=_own(block.offset_bytes, np.int64),
        length_bytes=_own(block.length_bytes, np.int64),
        category=_own(block.category, np.uint8),
        done_ns=done,
        first_row=np.array([first_row], np.int64),
    )
