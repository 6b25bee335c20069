"""The load on a model of the recorded hardware, run with one guess of its costs after the other; and what of these is
known, or assumed, before any run.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER, RESOURCES, Plant
from tiersim.scenarios.calibration.cpu_and_waits import (
    CLIENT_NS,
    COMMIT_NS,
    LEAST_COMMIT_NS,
    LOG_NS,
    READ_NS,
    assumed_client_ns,
)
from tiersim.scenarios.calibration.processor import (
    CalibrationRun,
    Pace,
    ProcessorCosts,
    long_waits_of,
    loop_sessions,
    pace_of,
    recorded_pace,
)
from tiersim.scenarios.calibration.synthesis.counted import MEASURED
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.assembly import Shared, assemble, cache_state_of, charge_upkeep
from tiersim.scenarios.statements.programs import Program, share_of_clients, spread
from tiersim.scenarios.statements.settings import settings_of_load
from tiersim.scenarios.statements.statement_load import StatementLoad, begins, fastest_ns_of
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.database_state import FOR_CPU, FOR_LOCK, OWN, UNTIL, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.metrics import new_metrics
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.schema import DATA_READ
from tiersim.units import NS_PER_MS

#: So many executions of all sessions tell how fast a load runs; of 8 sessions 10,000 each.
_EXECUTIONS = 80_000
#: Reads, and writes of the log, of more time tell nothing of their CPU: of nine cells with caps of reads a simulated
#: read took 0.3 to 64 % less or more than a recorded one, in the median 2 % (benchmarks/real_postgres), which of such
#: reads is as much CPU as any. Behind such storage few executions wait for rows of others, but these wait long.
TELLING_NS = NS_PER_MS
#: Queries that read so many pages a call wait for a processor behind their reads, which is counted with these.
READS = 0.01
_COLUMNS = (
    "session",
    "transaction",
    "query",
    "start_ns",
    "duration_ns",
    "cpu_ns",
    "lock_wait_ns",
    "physical_reads",
    "log_bytes",
)

_Arrays = TypeVar("_Arrays", Database, Plant)


def statement_ns(
    load: StatementLoad,
    costs: Costs,
    locked_ns: Mapping[str, float],
    hot: float = 1.0,
    least_ns: Mapping[str, float] = MappingProxyType({}),
    *,
    is_counted: bool = False,
) -> dict[str, int]:
    """Return the CPU of one execution of each query besides its pages.

    What was measured contains the reads, whose *costs* are taken off; what is left of the time of execution has none in
    it, but what an execution waits for rows that others have locked: *locked_ns* by query. On a busy host it takes the
    share *hot* of that, and *least_ns* by query at least. Where the processors counted the CPU of all, and storage is
    slow, it takes no more than :func:`by_fastest_ns`: the rest is a wait that too few samples of sessions saw.
    """
    calls = np.bincount(load.query, minlength=len(load.queries))
    cpu_ns = np.bincount(load.query, load.cpu_ns, len(load.queries))
    if is_counted and _waits_long(load) and (most := by_fastest_ns(load)) is not None:
        told = most.alone | [MEASURED in load.cpu_basis.get(query, "") for query in load.queries]
        cpu_ns = np.where(told, cpu_ns, np.minimum(cpu_ns, calls * most.each_ns))
    reads = np.bincount(load.query, load.physical_reads, len(load.queries))
    measured = np.array([MEASURED in load.cpu_basis.get(query, MEASURED) for query in load.queries])
    locked = calls * np.array([locked_ns.get(query, 0.0) for query in load.queries])
    taken_off = np.where(measured, reads * costs.read_ns, locked)
    own_ns = hot * np.maximum(cpu_ns - taken_off, 0) / np.maximum(calls, 1)
    own_ns = np.maximum(own_ns, [least_ns.get(query, 0.0) for query in load.queries])
    return dict(zip(load.queries, np.rint(own_ns).astype(np.int64).tolist(), strict=True))


def _waits_long(load: StatementLoad) -> bool:
    """Tell whether reads, or writes and flushes of the log, took longer than tells their CPU."""
    recorded = recorded_pace(load.counters.found)
    return max(recorded.read_ns or 0.0, recorded.log_sync_ns or 0.0) > TELLING_NS


class ByFastest(NamedTuple):
    """What the fastest execution of each query tells: whether its executions are *alone*, which is to wait for nobody,
    and the CPU of one of the others in ns.
    """

    alone: NDArray[np.bool_]
    each_ns: NDArray[np.float64]


def by_fastest_ns(load: StatementLoad) -> ByFastest | None:
    """Return the CPU of executions by how long the fastest one of their query took; None where nothing tells it.

    One that neither reads pages nor changes or locks rows waits for nobody that waits for storage: all that it took is
    CPU. What it takes in the mean is some times what the fastest takes, whose caches are warm. All others are taken to
    take as many times that of their fastest.
    """
    calls, took_ns, reads = (
        np.bincount(load.query, weights, len(load.queries))
        # samples do not say whose wait for a lock they are
        for weights in (None, load.cpu_ns + load.lock_wait_ns, load.physical_reads)
    )
    fastest_ns = np.maximum(fastest_ns_of(load), 1)
    alone = (reads < READS * calls) & np.array([one.changes < READS and not one.locks for one in load.asked])
    if not calls[alone].any():
        return None
    times = max(took_ns[alone].sum() / (calls * fastest_ns)[alone].sum(), 1.0)
    return ByFastest(alone, times * fastest_ns)


def statement_ns_of(load: StatementLoad, found: ProcessorCosts, locked_ns: Mapping[str, float]) -> dict[str, int]:
    """Return :func:`statement_ns` by the costs *found*; what the processors counted holds no wait for locks."""
    locked_ns = {} if found.is_counted else locked_ns
    return statement_ns(load, found.costs, locked_ns, found.hot, found.least_ns, is_counted=found.is_counted)


class RecordedHost:
    """The load on the recorded hardware: a pool that was filled once, and runs with other costs."""

    def __init__(
        self, load: StatementLoad, scenario: NamedScenario, pause_ns: int | None, shared: Shared | None
    ) -> None:
        """Fill the pool of *scenario* for *load*; clients that are here pause *pause_ns* between transactions."""
        costs = settings_of_load(scenario, load).costs
        self.start = ProcessorCosts(
            statement_ns(load, costs, {}),
            0,
            costs,
            f"fitted by a simulation of the recorded load on scenario '{scenario.name}'",
            pause_ns,
        )
        self.locked_ns: Mapping[str, float] = {}  # by query, what executions waited for locked rows
        # their CPU and time of a statement have its commit in them, or that of a COMMIT
        within = load.manifest.host.get("engine") in INNODB_ENGINES
        self._commits = 0.0 if within else load.commits / max(len(load), 1)  # a statement
        self._load = load
        self._assembled = assemble(load, scenario, self.start, shared=shared)
        self._assembled.database.counted_ns[UNTIL] = NEVER  # a part of the load, to its end
        self._plant = self._assembled.plant
        program, thinks = self._assembled.program.statements, scenario.model.replay.think is None
        self._pauses = self._assembled.program.executed.copy()  # that were recorded, before each statement
        self._pauses &= (program.begins == 0) | ((program.waits_for == OWN) & thinks)
        self._last: tuple[object, CalibrationRun] | None = None  # what was run last, and how it went
        self.waited_ns: Mapping[str, float] = {}  # the same, in that run

    @property
    def least_client_ns(self) -> int:
        """What a statement costs at least besides its execution, where clients are here; a part of its commit, too."""
        return round(CLIENT_NS + self._commits * LEAST_COMMIT_NS)

    def assumed_client_ns(self, mean_ns: float) -> int:
        """Return what is assumed of that for a statement whose execution takes *mean_ns*."""
        return round(assumed_client_ns(mean_ns) + self._commits * COMMIT_NS)

    @property
    def cores(self) -> int:
        """How many processors the recorded host has."""
        return self._assembled.settings.cores

    def run(self, costs: ProcessorCosts) -> CalibrationRun:
        """Run the load once, with *costs*, and learn how long its executions wait for locked rows: the next run takes
        that off what they took.
        """
        found = self.run_as_locked(costs)
        self.locked_ns = self.waited_ns
        return found

    def run_as_locked(self, costs: ProcessorCosts) -> CalibrationRun:
        """Run the load once, with *costs*, and learn nothing: again with the same ones it would run the same."""
        own_ns = statement_ns_of(self._load, costs, self.locked_ns)
        wanted = (costs.costs, costs.client_ns, costs.served_ns, own_ns)
        if self._last is None or self._last[0] != wanted:
            self._last = wanted, self._run(*wanted)
        return self._last[1]

    def _run(self, costs: Costs, client_ns: int, served_ns: int, own_ns: Mapping[str, int]) -> CalibrationRun:
        program, stations = self._assembled.program, self._assembled.builder.stations
        database = _copied(self._assembled.database)
        database.costs[:] = costs
        database.client_ns[program.executed] = client_ns
        if served_ns:
            pauses_ns = database.think_ns[self._pauses]
            database.think_ns[self._pauses] = np.rint(pauses_ns * share_of_clients(served_ns, pauses_ns))
        names = np.array(program.category)[database.statement_class]
        for place, name in enumerate(program.names):
            if name in own_ns:
                database.cpu_ns[names == place] = spread(database.cpu_ns[names == place], own_ns[name])
        metrics = new_metrics(FIRST_CLASS + len(program.names), len(stations), RESOURCES, 2, 1 << 60)
        plant = _copied(self._plant)
        charge_upkeep(plant, database)
        plant, outcome = engine.run_database(plant, database, metrics)
        self.waited_ns = _locked_ns(program, database)
        processors = next(place for place, station in enumerate(stations) if station.kind == "processors")
        worked_ns = int(plant.work_ns[processors, 0])
        cores = self._assembled.settings.cores
        return CalibrationRun(
            pace=pace_of(database, metrics, worked_ns),
            busy=worked_ns / (cores * max(outcome.end_ns, 1)),
            cores=cores,
            sessions=len(loop_sessions(database)),
            reads_per_transaction=int(metrics.completions[:, DATA_READ].sum()) / program.transactions,
            statements_per_transaction=int(program.executed.sum()) / program.transactions,
            long_waits=long_waits_of(metrics),
        )


def assumed_costs(model: RecordedHost) -> Costs:
    """Return what reads and writes cost where nothing tells: what the server writes takes as much as what it reads."""
    costs = model.start.costs
    return costs._replace(read_ns=READ_NS, evict_dirty_ns=costs.evict_clean_ns + READ_NS, log_io_ns=LOG_NS)


def least_ns_of(load: StatementLoad, recorded: Pace) -> dict[str, float]:
    """Return by query how long its fastest execution took, which is no more than its CPU; of those that read nothing:
    they are faster than a read, or where these were not timed there are fewer reads than executions.
    """
    fastest_ns = fastest_ns_of(load)
    calls, reads = (np.bincount(load.query, weights, len(load.queries)) for weights in (None, load.physical_reads))
    read_nothing = reads < calls if recorded.read_ns is None else fastest_ns < recorded.read_ns
    found = zip(load.queries, fastest_ns.tolist(), read_nothing.tolist(), strict=True)
    return {query: took for query, took, is_told in found if is_told}


def executed_ns_of(load: StatementLoad, found: ProcessorCosts, locked_ns: Mapping[str, float]) -> tuple[float, float]:
    """Return the CPU in ns of all executions, each of which waited *locked_ns* for locked rows, by query: by what they
    took in the mean, and if each took as little as the fastest of its query, or what *found* says it takes at least.
    """
    calls = np.bincount(load.query, minlength=len(load.queries))
    own = statement_ns_of(load, found, locked_ns)
    own_ns = np.array([own[query] for query in load.queries], np.float64)
    least_ns = np.maximum(fastest_ns_of(load), [found.least_ns.get(query, 0.0) for query in load.queries])
    return float(calls @ own_ns), float(calls @ np.minimum(least_ns, own_ns))


def _locked_ns(program: Program, database: Database) -> dict[str, float]:
    """Return how long an execution of each query waited for locked rows, and then for a processor."""
    names = len(program.names)
    calls = np.maximum(np.bincount(program.category, database.calls, names), 1)  # a warm-up is in none of these
    locked, queued = (np.bincount(program.category, database.spent[:, part], names) for part in (FOR_LOCK, FOR_CPU))
    reads = np.bincount(program.category, database.pages_read, names) >= READS * calls
    waits = (locked + np.where(reads, 0, np.minimum(queued, locked))) / calls
    return dict(zip(program.names, waits.tolist(), strict=True))


def _copied(arrays: _Arrays) -> _Arrays:
    """Copy a set of tables, and the sets within it."""
    copies: dict[str, Any] = {
        name: values.copy() if isinstance(values, np.ndarray) else _copied(cast("Any", values))
        for name, values in zip(arrays._fields, arrays, strict=True)
    }
    return arrays._replace(**copies)


def part_of(load: StatementLoad, scenario: NamedScenario) -> StatementLoad:
    """Return as much of a load as tells how fast it runs; all of it where the pool fills, and runs are faster and
    faster.
    """
    return first_of(load, _EXECUTIONS) if cache_state_of(scenario, load) == "warm" else load


def first_of(load: StatementLoad, executions: int) -> StatementLoad:
    """Return the transactions that begin first, as many as make so many executions."""
    first = np.flatnonzero(begins(load.session, load.transaction))
    rows = np.diff(first, append=len(load))
    order = np.argsort(load.start_ns[first], kind="stable")
    taken = np.zeros(len(first), np.bool_)
    taken[order[np.cumsum(rows[order]) - rows[order] < executions]] = True
    kept = np.repeat(taken, rows)
    columns = {name: getattr(load, name)[kept] for name in _COLUMNS}
    span_ns = int((columns["start_ns"] + columns["duration_ns"]).max())
    return replace(load, **columns, span_ns=span_ns)
