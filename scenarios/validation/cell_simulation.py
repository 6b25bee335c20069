"""A recorded load, simulated for as long as a cell was measured."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.assembly import assemble
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.database_state import COUNTED_FROM, Database
from tiersim.simulator.metrics import new_metrics
from tiersim.units import NS_PER_S

_SLOTS = 1024  # for requests, to begin with


@dataclass(frozen=True)
class SimulatedCell:
    """What happened in the simulation of a cell."""

    ended_s: list[NDArray[np.float64]]  # by client: when each of its transactions did
    misses: float  # pages read into the pool, a transaction
    database: Database


def simulate(load: StatementLoad, scenario: NamedScenario, processor: ProcessorCosts, run_s: float) -> SimulatedCell:
    """Run *load* on *scenario* for *run_s*; raises ScenarioError when it has too few transactions for that."""
    assembled = assemble(load, scenario, processor)
    columns = FIRST_CLASS + len(assembled.program.names)
    metrics = new_metrics(columns, len(assembled.builder.stations), RESOURCES, 2, round(run_s * NS_PER_S))
    engine.run_database(assembled.builder.build(_SLOTS), assembled.database, metrics)
    database, statements = assembled.database, assembled.program.statements
    ends = np.flatnonzero(statements.ends)
    done_ns = database.done_ns[ends]
    if done_ns.min() > 0 and done_ns.max() < NS_PER_S * run_s:
        raise ScenarioError(
            f"{scenario.name}: the {len(ends)} recorded transactions do not last for {run_s:g} s; record for longer"
        )
    session = np.searchsorted(statements.session_ends, ends, side="right")
    counted = int((done_ns > database.counted_ns[COUNTED_FROM]).sum())
    return SimulatedCell(
        [done_ns[(session == one) & (done_ns > 0)] / 1e9 for one in range(assembled.program.sessions)],
        int(database.pages_read.sum()) / max(counted, 1),
        database,
    )
