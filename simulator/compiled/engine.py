"""Feeds the event loop: blocks of arrivals in, room when it asks for it, progress out."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER, PER_SLOT, Plant
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.compiled import engine_state
from tiersim.simulator.compiled.engine_state import Arrivals, Engine
from tiersim.simulator.compiled.loop import advance, open_sessions, open_streams
from tiersim.simulator.database.build import NO_DATABASE
from tiersim.simulator.database.database_state import Database, with_slots
from tiersim.simulator.events import Calendar, new_calendar
from tiersim.simulator.metrics import Metrics, close
from tiersim.simulator.streams import Streams, no_streams

#: Events between two looks at the keyboard and two steps of the progress bar: some ms, a second where requests are
#: huge.
_EVENTS_PER_STEP = 100_000


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
    engine = _new_engine(plant, metrics, 0)
    nobody, database = no_streams(), NO_DATABASE
    done = np.zeros(0, np.int64)
    arrived = last_arrival_ns = 0
    status = engine_state.NEEDS_ARRIVALS
    source = iter(blocks)
    block = next(source, None)
    while block is not None:
        following = next(source, None)
        if keep_done:
            done = _with_room(done, arrived + len(block))
            done[arrived : arrived + len(block)] = NEVER
        arrivals = _arrivals(block, done, arrived)
        engine.control[engine_state.NEXT_ARRIVAL] = 0
        while True:
            status = advance(plant, engine, arrivals, nobody, database, following is None, NEVER, _EVENTS_PER_STEP)
            if status == engine_state.NEEDS_ROOM:
                plant, engine = _grow(plant, engine, 0)
            elif status != engine_state.PAUSED:
                break
            if progress is not None:
                progress(arrived + int(engine.control[engine_state.NEXT_ARRIVAL]))
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
    engine = _new_engine(plant, metrics, len(streams.streams))
    nothing, database = _arrivals(_no_commands(), np.zeros(0, np.int64), 0), NO_DATABASE
    engine.control[engine_state.EVENTS] = open_streams(streams, engine, 0)
    engine.control[engine_state.UNDONE] = streams.commands
    status = engine_state.PAUSED
    while status != engine_state.ENDED:
        status = advance(plant, engine, nothing, streams, database, True, NEVER, _EVENTS_PER_STEP)
        if status == engine_state.NEEDS_ROOM:
            plant, engine = _grow(plant, engine, len(streams.streams))
        if progress is not None:
            progress(int((streams.streams["next"].astype(np.int64) - streams.streams["first"]).sum()))
    outcome = _close(plant, engine, metrics, streams.commands, None)
    return plant, replace(outcome, last_arrival_ns=int(streams.started_ns.max(initial=0)))


def run_database(
    plant: Plant, database: Database, metrics: Metrics, *, progress: Callable[[int], None] | None = None
) -> tuple[Plant, Outcome]:
    """Run all sessions of *database* to their ends, as :func:`run` does; it holds when each statement was done.

    What arrives and leaves are the requests of sessions; *progress* is called with the statements that ended.
    """
    sessions, clients = len(database.sessions), int(database.first_helper[0])
    engine, database = _new_engine(plant, metrics, sessions), with_slots(database, plant.requests.size)
    nothing, nobody = _arrivals(_no_commands(), np.zeros(0, np.int64), 0), no_streams()
    engine.control[engine_state.EVENTS] = open_sessions(database, engine, 0)
    engine.control[engine_state.UNDONE] = clients
    first = database.sessions["next"].astype(np.int64)
    status = engine_state.PAUSED
    while status != engine_state.ENDED:
        status = advance(plant, engine, nothing, nobody, database, True, NEVER, _EVENTS_PER_STEP)
        if status == engine_state.NEEDS_ROOM:
            plant, engine = _grow(plant, engine, sessions)
            database = with_slots(database, plant.requests.size)
        if progress is not None:
            progress(int((database.sessions["next"].astype(np.int64) - first).sum()))
    return plant, _close(plant, engine, metrics, clients, None)


def _close(plant: Plant, engine: Engine, metrics: Metrics, arrived: int, done_ns: NDArray[np.int64] | None) -> Outcome:
    undone = int(engine.control[engine_state.UNDONE])
    close(metrics, int(engine.control[engine_state.INTERVAL]), plant.stations["outstanding"], plant.work_ns)
    taken = np.ones(plant.requests.size, np.bool_)
    taken[engine.free[: engine.control[engine_state.FREE]]] = False
    return Outcome(
        last_arrival_ns=0,
        end_ns=int(engine.control[engine_state.NOW]),
        arrived=arrived,
        left=arrived - undone,
        requests=int(engine.control[engine_state.NUMBER]),
        unfinished=np.flatnonzero(taken),
        done_ns=done_ns,
    )


def _new_engine(plant: Plant, metrics: Metrics, streams: int) -> Engine:
    slots, stations = plant.requests.size, plant.stations.size
    control = np.zeros(engine_state.CONTROL_SIZE, np.int64)
    control[engine_state.FREE] = slots
    control[engine_state.INTERVAL_END] = metrics.interval_ns[0]
    return Engine(
        calendar=_new_calendar(slots, stations, streams),
        metrics=metrics,
        free=np.arange(slots, dtype=np.uint32)[::-1].copy(),
        dispatches=np.zeros(stations, np.uint32),
        control=control,
    )


def _new_calendar(slots: int, stations: int, streams: int) -> Calendar:
    # every request in service and every stream has one event; timers that were overtaken stay until their time comes
    return new_calendar(2 * slots + 4 * stations + 2 * streams + 64)


def _grow(plant: Plant, engine: Engine, streams: int) -> tuple[Plant, Engine]:
    """Double the places for requests and events."""
    slots, stations = plant.requests.size, plant.stations.size
    doubled: dict[str, Any] = {name: _doubled(getattr(plant, name)) for name in PER_SLOT}
    plant = plant._replace(**doubled)
    calendar = _new_calendar(2 * slots, stations, streams)
    for name in Calendar._fields:
        held: NDArray[Any] = getattr(engine.calendar, name)
        getattr(calendar, name)[: held.size] = held
    free_count = int(engine.control[engine_state.FREE])
    free = np.zeros(2 * slots, np.uint32)
    free[:slots] = np.arange(2 * slots - 1, slots - 1, -1)
    free[slots : slots + free_count] = engine.free[:free_count]
    engine.control[engine_state.FREE] = slots + free_count
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
