"""The specification: one SimPy process per actor, readable from top to bottom, slow.

An actor is the stream of arrivals, a station, or a stream whose commands wait for others. A station waits to be called,
then starts whatever its device chooses; each service is an event whose end finishes the request, which may make
children at other stations. Anybody's device in plain Python can stand in for a station: it has the methods of
:class:`Device`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Protocol

import numpy as np
from simpy import Environment
from simpy.events import Event, EventPriority

from tiersim.devices.station_records import CALL, NEVER, NONE, PER_SLOT, Plant
from tiersim.simulator import station as kernels
from tiersim.simulator.categories import COUNT, LOG_SYNC, LOG_SYNC_DEVICE
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.database.build import NO_DATABASE, with_slots
from tiersim.simulator.database.checkpoint.checkpointer import note_history
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.database.sessions.sessions import ASKS, OVER, RESTS, step
from tiersim.simulator.events import ARRIVAL, COMPLETION, DISPATCH, TIMER, event_key, key_round, round_for
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
from tiersim.simulator.streams import (
    NO_STREAMS,
    Streams,
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


class Wake(Event):
    """An event that waits until :meth:`set` gives it a time and a key."""

    def __init__(self, env: Environment) -> None:
        """Make an event that is not in the calendar yet."""
        super().__init__(env)
        self._ok = True
        self._value: Any = None

    def set(self, at_ns: int, key: int) -> "Wake":
        """Put it into the calendar; SimPy sorts by (time, priority), and the key is the priority."""
        self.env.schedule(self, priority=EventPriority(key), delay=at_ns - self.env.now)
        return self


@dataclass(frozen=True)
class Part:
    """A request that a device makes of another: it goes to *station* and must end before its parent does."""

    station: int
    op: int
    offset_bytes: int
    length_bytes: int
    background: int = 0  # 1: nobody waits for it


_FIELDS = tuple(Part.__dataclass_fields__)


class Device(Protocol):
    """A passive machine. ``slot`` is the number of a row of ``engine.plant.requests``, which it may read."""

    def accept(self, now: int, slot: int) -> int:
        """Take a request: when it will be done, or CALL, or WAIT; see :func:`tiersim.devices.station.StationKind`."""

    def choose(self, now: int) -> tuple[int, int, int]:
        """Start one request: (slot, done_ns, wake_ns), see :func:`tiersim.devices.station.StationKind`."""

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        """End the service of a request; returns its children, if there are any."""

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        """All children of a request are done: returns more of them; none (unless a device says
        otherwise): it leaves.
        """
        return ()


class KernelDevice:
    """The device of a station as the tables and kernels of :mod:`tiersim.devices` describe it."""

    def __init__(self, engine: "ReferenceEngine", station: int) -> None:
        """Stand for *station* of the engine's plant."""
        self._engine, self._station = engine, station

    def accept(self, now: int, slot: int) -> int:
        """Take a request."""
        return kernels.accept(self._engine.plant, self._engine.database, self._station, slot, now)

    def choose(self, now: int) -> tuple[int, int, int]:
        """Start one request."""
        return kernels.choose(self._engine.plant, self._engine.database, self._station, now)

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        """End the service of a request."""
        return self._parts(kernels.finish(self._engine.plant, self._engine.database, self._station, slot))

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        """Go on with a request whose children are done."""
        return self._parts(kernels.resume(self._engine.plant, self._engine.database, self._station, slot, now))

    def _parts(self, made: int) -> list[Part]:
        return [Part(**{name: int(row[name]) for name in _FIELDS}) for row in self._engine.plant.children[:made]]


class ReferenceEngine:
    """One run; make it, then :meth:`run` it."""

    def __init__(
        self,
        plant: Plant,
        blocks: Iterable[Commands],
        metrics: Metrics,
        devices: Mapping[int, Callable[["ReferenceEngine"], Device]] | None = None,
        streams: Streams | None = None,
        database: Database | None = None,
    ) -> None:
        """Prepare a run of *blocks*, or of *streams* or a *database* in their place; *devices* gives stations that a
        device in plain Python stands in for.
        """
        self.env = Environment(initial_time=0)
        self.plant, self.metrics = plant, metrics
        # at which stations it is noted who waits for whom: nobody waits where nothing is chosen
        self._divided = [metrics.waiting.size > 0 and kernels.chooses(int(kind)) for kind in plant.stations["kind"]]
        self._blocks = list(blocks)
        self._streams = running(NO_STREAMS if streams is None else streams)
        self.database = NO_DATABASE if database is None else with_slots(database, plant.requests.size)
        own = devices or {}
        stations = range(plant.stations.size)
        self.devices: list[Device] = [own[s](self) if s in own else KernelDevice(self, s) for s in stations]
        self._called = [Wake(self.env) for _ in stations]
        self._free = list(range(plant.requests.size))[::-1]
        self._round = 0
        self._number = 0
        self._interval = 0
        self._arrived = self._left = 0
        self._done: list[int] = []

    def run(self) -> Outcome:
        """Run to the end."""
        sessions = int(self.database.first_helper[0]) if len(self.database.sessions) else 0
        self._done = [NEVER] * (sum(len(block) for block in self._blocks) or sessions or len(self._streams.commands))
        for station in range(len(self.devices)):
            self._start(self._station(station))
        self._start(self._arrivals())
        for session in range(sessions):
            self._arrived += 1
            self._wake(session, 0, COMPLETION)
        for stream in range(self._streams.streams.size):
            self._consider(stream, COMPLETION)
        while self._left < len(self._done) and self.env.peek() < inf:
            self.env.step()
        close(self.metrics, self._interval, self.plant.stations["outstanding"], self.plant.work_ns)
        times = [int(block.time_ns[-1]) for block in self._blocks if len(block)]
        return Outcome(
            last_arrival_ns=times[-1] if times else int(self._streams.started_ns.max(initial=0)),
            end_ns=int(self.now),
            arrived=self._arrived,
            left=self._left,
            requests=self._number,
            unfinished=np.setdiff1d(np.arange(self.plant.requests.size), self._free),
            done_ns=np.array(self._done, np.int64),
        )

    @property
    def now(self) -> int:
        """Simulated time in ns."""
        return int(self.env.now)

    # ---- actors

    def _arrivals(self) -> Generator[Event]:
        """Bring every command to its station at its time."""
        for block in self._blocks:
            for row in range(len(block)):
                yield Wake(self.env).set(int(block.time_ns[row]), event_key(0, ARRIVAL, 0, 0))
                self._reach(0)
                slot = self._new_request(
                    int(block.op[row]), int(block.offset_bytes[row]), int(block.length_bytes[row]), NONE
                )
                self._arrive(slot, self._arrived, int(block.intended_ns[row]), int(block.category[row]))
                self._enter(slot, int(block.station[row]), ARRIVAL)

    def _consider(self, stream: int, rank: int) -> None:
        """Give a stream's next command its time, if it has one."""
        start = next_start(self._streams, stream, self.now)
        if start != NEVER:
            number = len(self.database.sessions) + stream
            self._at(start, rank, ARRIVAL, 0, number, partial(self._start_command, stream))

    def _start_command(self, stream: int) -> None:
        """Bring a stream's next command to its station; the stream, and who keeps pace with it, may go on."""
        s = self._streams
        row = int(note_started(s, stream, self.now))
        c = s.commands[row]
        slot = self._new_request(int(c["op"]), int(c["offset_bytes"]), int(c["length_bytes"]), NONE)
        self._describe(slot, row, self.now - gathered_before_ns(s, row), self._first_column() + int(c["category"]))
        self.plant.requests[slot]["stream"] = len(self.database.sessions) + stream
        if not len(self.database.sessions):
            self._arrived += 1
            record_lag(self.metrics, self._interval, self.now - int(c["recorded_ns"]))
        self._enter(slot, int(c["station"]), ARRIVAL)
        if lets_followers_go(s, stream):
            group = s.groups[s.streams[stream]["group"]]
            for follower in s.followers[group["first_follower"] : group["end_follower"]].tolist():
                if wake_follower(s, follower):
                    self._consider(follower, ARRIVAL)
        self._consider(stream, ARRIVAL)

    def _first_column(self) -> int:
        """Return where the columns of metrics of the first recording begin: behind those of a database."""
        return len(self.metrics.latency) - COUNT * len(self._streams.groups) if len(self.database.sessions) else 0

    def _wake(self, session: int, at_ns: int, rank: int) -> None:
        """Let a session go on at a time."""
        self._at(at_ns, rank, ARRIVAL, 0, session, partial(self._go_on_session, session))

    def _go_on_session(self, session: int) -> None:
        """Let a session do what it does next: wait for a time, ask for something, or end."""
        answer = step(self.database, self.metrics, session, self._interval, self.now, 0)
        called = self.database.called
        for other in called[1 : 1 + called[0]].tolist():
            self._wake(other, self.now, ARRIVAL)
        if answer == RESTS:
            return
        if answer == OVER:
            self._done[session] = self.now
            self._left += 1
        elif answer != ASKS:
            self._wake(session, answer, ARRIVAL)
        else:
            asked = self.database.asked[session]
            slot = self._new_request(int(asked["op"]), int(asked["offset_bytes"]), int(asked["length_bytes"]), NONE)
            self._describe(slot, session, self.now, int(asked["category"]))
            self.plant.requests[slot]["stream"] = session
            self._enter(slot, int(asked["station"]), ARRIVAL)

    def _arrive(self, slot: int, row: int, intended_ns: int, category: int) -> None:
        self._describe(slot, row, intended_ns, category)
        self._arrived += 1

    def _describe(self, slot: int, row: int, intended_ns: int, category: int) -> None:
        request = self.plant.requests[slot]
        request["row"] = row
        request["stream"] = NONE
        request["intended_ns"] = intended_ns
        request["category"] = category
        request["interval"] = self._interval
        record_arrival(self.metrics, category, self._interval)

    def _station(self, station: int) -> Generator[Event]:
        """Wait to be called; start what the device chooses until it chooses nothing."""
        row = self.plant.stations[station]  # this table does not grow
        while True:
            yield self._called[station]
            self._called[station] = Wake(self.env)
            row["marked"] = 0
            while True:
                slot, done, wake = self.devices[station].choose(self.now)
                if slot == NONE:
                    break
                if self._divided[station]:
                    note_begins(self.plant, self.metrics, station, slot, self.now, True)
                row["waiting"] -= 1
                number = int(self.plant.requests[slot]["number"])
                self._at(done, DISPATCH, COMPLETION, station, number, partial(self._complete, station, slot))
            if wake not in (NEVER, row["timer_ns"]):
                row["timer_ns"] = wake
                self._at(wake, DISPATCH, TIMER, station, 0, partial(self._timer, station))

    # ---- what they do

    def _enter(self, slot: int, station: int, rank: int) -> None:
        """Hand a request to a station, at an event of a rank."""
        request = self.plant.requests[slot]
        request["station"] = station
        request["accepted_ns"] = self.now
        note_accepted(self.plant, station, self.now)
        answer = self.devices[station].accept(self.now, slot)
        if self._divided[station] and answer > self.now:
            note_begins(self.plant, self.metrics, station, slot, self.now, False)
        elif self._divided[station]:
            note_waits(self.plant, self.metrics, station, slot, self.now)
        if answer > self.now:
            self._at(answer, rank, COMPLETION, station, int(request["number"]), partial(self._complete, station, slot))
            return
        self.plant.stations[station]["waiting"] += 1
        if answer == CALL:
            self._call(station)

    def _call(self, station: int) -> None:
        """Let a station choose, after everything else of this round."""
        if not self.plant.stations[station]["marked"]:
            self.plant.stations[station]["marked"] = 1
            self._called[station].set(self.now, event_key(self._round, DISPATCH, station, 0))

    def _complete(self, station: int, slot: int) -> None:
        """End a service: the request waits for its children, or leaves."""
        parts = self.devices[station].finish(slot, self.now)
        if self.plant.stations[station]["waiting"]:
            self._call(station)
        self._go_on(slot, parts)

    def _go_on(self, slot: int, parts: Sequence[Part]) -> None:
        """Send the parts of a request to their stations; it leaves if it waits for none of them."""
        waited = sum(not part.background for part in parts)
        self.plant.requests[slot]["pending"] = waited
        for part in parts:
            child = self._new_request(part.op, part.offset_bytes, part.length_bytes, NONE if part.background else slot)
            requests = self.plant.requests  # which grows
            requests[child]["category"] = NONE if part.background else requests[slot]["category"]
            self._enter(child, part.station, COMPLETION)
        if not waited:
            self._leave(slot)

    def _leave(self, slot: int) -> None:
        """A request is done, and with it every parent whose last part it was and whose station makes no more of it."""
        request = self.plant.requests[slot]
        now = self.now
        station = int(request["station"])
        note_finished(self.plant, station, now, int(request["accepted_ns"]))
        if self._divided[station]:
            note_leaves(self.plant, self.metrics, station, slot, now)
        if self.metrics.tapped.size:
            note_tapped(self.plant, self.metrics, slot, now)
        if self.plant.stations[station]["waiting"]:
            self._call(station)
        self._free.append(slot)
        parent = int(request["parent"])
        if parent != NONE:
            self.plant.requests[parent]["pending"] -= 1
            if self.plant.requests[parent]["pending"] == 0:
                self._go_on(parent, self.devices[int(self.plant.requests[parent]["station"])].resume(parent, now))
            return
        if int(request["row"]) == NONE:  # background
            return
        record_completion(
            self.metrics,
            int(request["category"]),
            int(request["interval"]),
            self._interval,
            now - int(request["intended_ns"]),
            int(request["length_bytes"]),
        )
        stream, sessions = int(request["stream"]), len(self.database.sessions)
        if stream < sessions:
            self._wake(stream, now, COMPLETION)
            return
        if not sessions:  # which are through when they say so
            self._done[int(request["row"])] = now
            self._left += 1
        if stream != NONE:
            stream -= sessions
            whole, device = note_ended(self._streams, stream, int(request["row"]), now)
            if whole > 0:
                before = self._first_column()
                first = before + (int(request["category"]) - before) // COUNT * COUNT  # of its recording
                record_sync(self.metrics, first + LOG_SYNC, self._interval, whole)
                record_sync(self.metrics, first + LOG_SYNC_DEVICE, self._interval, device)
            if lets_committers_go(self._streams, stream, int(request["row"]), now):
                group = self._streams.groups[self._streams.streams[stream]["group"]]
                for other in range(int(group["first_stream"]), int(group["end_stream"])):
                    if wake_committer(self._streams, other):
                        self._consider(other, COMPLETION)
            self._consider(stream, COMPLETION)

    def _timer(self, station: int) -> None:
        """A timer that a later choice has not moved calls its station."""
        if self.plant.stations[station]["timer_ns"] == self.now:
            self.plant.stations[station]["timer_ns"] = NEVER
            self._call(station)

    # ---- time and places

    def _at(self, at_ns: int, current: int, rank: int, station: int, number: int, then: Callable[[], None]) -> None:
        """Do something at a time, in the total order; set by an event of rank *current*."""
        round_ = round_for(self.now, self._round, current, at_ns, rank)
        key = event_key(round_, rank, station, number)

        def fire(_: Event) -> None:
            self._reach(key_round(key))
            then()

        wake = Wake(self.env).set(at_ns, key)
        assert wake.callbacks is not None
        wake.callbacks.append(fire)

    def _reach(self, round_: int) -> None:
        """Note the round that time has come to, and close the intervals of the timeline that ended."""
        self._round = round_
        m = self.metrics
        while self.now >= (self._interval + 1) * m.interval_ns[0] and self._interval < len(m.outstanding) - 1:
            m.outstanding[self._interval] = self.plant.stations["outstanding"]
            m.work_ns[self._interval] = self.plant.work_ns
            if len(self.database.sessions):
                note_history(self.database, self._interval)
            self._interval += 1
            if self._interval == m.first_counted[0]:
                note_warmup(self.plant, m, self._interval * m.interval_ns[0])

    def _new_request(self, op: int, offset_bytes: int, length_bytes: int, parent: int) -> int:
        if not self._free:
            self._grow()
        slot = self._free.pop()
        request = self.plant.requests[slot]
        request["number"] = self._number
        request["op"] = op
        request["offset_bytes"] = offset_bytes
        request["length_bytes"] = length_bytes
        request["parent"] = parent
        request["pending"] = 0
        request["row"] = NONE
        self._number += 1
        return slot

    def _grow(self) -> None:
        """Double the places for requests."""
        slots = self.plant.requests.size
        held = {name: getattr(self.plant, name) for name in PER_SLOT}
        self.plant = self.plant._replace(**{n: np.concatenate([rows, np.zeros_like(rows)]) for n, rows in held.items()})
        self.database = with_slots(self.database, 2 * slots)
        self._free = list(range(slots, 2 * slots))[::-1]

    def _start(self, process: Generator[Event]) -> None:
        self.env.process(process)
