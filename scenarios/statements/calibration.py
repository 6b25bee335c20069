"""Costs of a recorded load's statements, from simulating it on a model of the hardware that it was recorded on."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tiersim.devices.tables import RESOURCES, Plant
from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.processor import (
    ProcessorCosts,
    Run,
    calibrate_processor,
    pace_of,
    recorded_pace,
)
from tiersim.scenarios.calibration.synthesis.time_split import MEASURED
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.assembly import assemble_load
from tiersim.scenarios.statements.load import Load, begins
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.costs import Costs
from tiersim.simulator.database.tables import Database
from tiersim.simulator.metrics import new_metrics
from tiersim.traces.schema import DATA_READ

#: So many executions of each session tell how fast a load runs: of 8 sessions 10,000 transactions.
_EXECUTIONS = 80_000
_COLUMNS = ("session", "transaction", "query", "start_ns", "duration_ns", "cpu_ns", "physical_reads", "log_bytes")
#: Places for requests that a run begins with.
_SLOTS = 256

_Arrays = TypeVar("_Arrays", Database, Plant)


def calibrate(load: Load, recorded_on: NamedScenario) -> ProcessorCosts:
    """Return what the statements of *load* cost the processors of *recorded_on*, a scenario of the recorded hardware.

    Raises ScenarioError when that scenario differs from the recording in what its engine and replay are.
    """
    _refuse_changes(recorded_on)
    recorded = recorded_pace(load.path)
    here = recorded_on.model.host is not None and recorded_on.model.host.clients == "here"
    if here and recorded.pause_ns is None:
        raise ScenarioError(
            f'{recorded_on.name}: host.clients: "here" needs what the load generator measured, which {load.path} does not have; import its '
            'output, too, or write "elsewhere"'
        )
    model = _Model(_first(load, _EXECUTIONS), recorded_on, recorded.pause_ns if here else None)
    found = calibrate_processor(recorded, model.start, model.run)
    return replace(found, statement_ns=statement_ns(load, found.costs))


def statement_ns(load: Load, costs: Costs) -> dict[str, int]:
    """Return the CPU of one execution of each query besides its pages.

    What was measured contains the reads, whose *costs* are taken off; what is left of the time of execution has none in it.
    """
    calls = np.bincount(load.query, minlength=len(load.queries))
    cpu_ns = np.bincount(load.query, load.cpu_ns, len(load.queries))
    reads = np.bincount(load.query, load.physical_reads, len(load.queries))
    measured = np.array([MEASURED in load.cpu_basis.get(query, MEASURED) for query in load.queries])
    own_ns = np.maximum(cpu_ns - measured * reads * costs.read_ns, 0) / np.maximum(calls, 1)
    return dict(zip(load.queries, np.rint(own_ns).astype(np.int64).tolist(), strict=True))


class _Model:
    """The load on the recorded hardware: a pool that was warmed once, and runs with other costs."""

    def __init__(self, load: Load, scenario: NamedScenario, pause_ns: int | None) -> None:
        costs = assemble_load(load, scenario).settings.costs
        self.start = ProcessorCosts(
            statement_ns(load, costs), 0, costs, f"simulating the recorded load on {scenario.name}", pause_ns
        )
        self._load = load
        self._assembled = assemble_load(load, scenario, self.start)
        self._plant = self._assembled.builder.build(_SLOTS)

    def run(self, costs: ProcessorCosts) -> Run:
        """Run the load once, with *costs*."""
        program, stations = self._assembled.program, self._assembled.builder.stations
        database = _copied(self._assembled.database)
        database.costs[:] = costs.costs
        database.client_ns[program.executed] = costs.client_ns
        own_ns = statement_ns(self._load, costs.costs)
        by_class = np.array([own_ns.get(program.names[name], -1) for name in program.category])[
            database.statement_class
        ]
        database.cpu_ns[by_class >= 0] = by_class[by_class >= 0]
        metrics = new_metrics(FIRST_CLASS + len(program.names), len(stations), RESOURCES, 2, 1 << 60)
        plant, outcome = engine.run_database(_copied(self._plant), database, metrics)
        processors = next(place for place, station in enumerate(stations) if station.kind == "processors")
        worked_ns = int(plant.work_ns[processors, 0])
        cores = self._assembled.settings.cores
        return Run(
            pace=pace_of(database, metrics, worked_ns),
            busy=worked_ns / (cores * max(outcome.end_ns, 1)),
            cores=cores,
            sessions=len(database.sessions),
            reads_per_transaction=int(metrics.completions[:, DATA_READ].sum()) / program.transactions,
            statements_per_transaction=int(program.executed.sum()) / program.transactions,
        )


def _copied(arrays: _Arrays) -> _Arrays:
    copies: dict[str, Any] = {name: np.array(getattr(arrays, name)) for name in arrays._fields}
    return arrays._replace(**copies)


def _first(load: Load, executions: int) -> Load:
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


def _refuse_changes(scenario: NamedScenario) -> None:
    """Refuse what makes a scenario one of other hardware or another load than the recorded."""
    host, replay = scenario.model.host, scenario.model.replay
    changed = []
    if host is not None and host.core_speed not in (None, 1.0):
        changed.append(f"host.core_speed = {host.core_speed}")
    if replay.load != 1.0:
        changed.append(f"replay.load = {replay.load}")
    if replay.clients is not None:
        changed.append(f"replay.clients = {replay.clients}")
    if replay.cache_state == "cold":
        changed.append('replay.cache_state = "cold"')
    if changed:
        raise ScenarioError(
            f"{scenario.name}: {changed[0]}: a scenario of the recorded hardware runs the recorded load; leave it out"
        )
