"""One recording of statements on one scenario, from the bundle to the result."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiersim.devices.tables import RESOURCES
from tiersim.scenarios.calibration.popularity import fit
from tiersim.scenarios.calibration.popularity.recorded import recorded_accesses
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.calibration.synthesis import synthesise
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import INTERVALS
from tiersim.scenarios.statements.assembly import assemble_load
from tiersim.scenarios.statements.load import Load, read_load, recorded_statements
from tiersim.scenarios.statements.result import summarise_statements
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.statistics import read_snapshots

#: Places for requests that a run begins with; there are more when it needs them.
_SLOTS = 1024


def load_of(path: Path, seed: int) -> Load:
    """Return the load of the bundle at *path*: as recorded statement by statement, or synthesised from its counters by *seed*.

    Raises TraceError naming what is lacking.
    """
    accesses = recorded_accesses(path)
    synthesis = None if recorded_statements(path) is not None else synthesise(path, seed)
    load = read_load(path, synthesis, fit(accesses.tables, accesses.frames))
    return load.with_said(accesses.inferred)


def replay_statements(
    path: Path,
    scenario: NamedScenario,
    *,
    processor: ProcessorCosts | None = None,
    load: Load | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Replay the statements of the bundle at *path*, recorded or synthesised, as the scenario says (``docs/statements.md``).

    *processor* says what they cost the recorded host's processors; without it they cost what was recorded. *load* is that of the bundle, where it has been
    read. *progress* is called with the number of statements that have ended. Raises ScenarioError or TraceError.
    """
    load = load_of(path, scenario.model.replay.seed) if load is None else load
    assembled = assemble_load(load, scenario, processor)
    interval_ns = max(-(-assembled.span_ns // INTERVALS), 1)
    columns = FIRST_CLASS + len(assembled.program.names)
    metrics = new_metrics(columns, len(assembled.builder.stations), RESOURCES, INTERVALS + 1, interval_ns)
    plant, outcome = engine.run_database(assembled.builder.build(_SLOTS), assembled.database, metrics, progress=progress)
    return summarise_statements(scenario, assembled, plant, metrics, outcome, _trace(load))


def _trace(load: Load) -> dict[str, Any]:
    return {
        "name": load.path.absolute().name.removesuffix(".trace"),
        "hash": _hash(load),
        "requests": Bundle(load.path).rows,
        "statements": len(load),
        "transactions": load.transactions,
        "span_ns": load.span_ns,
        "source_format": load.manifest.source_format,
        "inferred": list(load.manifest.inferred),
        "warnings": list(load.manifest.warnings),
        "checkpoints": [],
    }


def _hash(load: Load) -> str:
    """Return a hash of what was recorded: the same trace has the same anywhere."""
    digest = hashlib.blake2b(digest_size=16)
    for snapshot in read_snapshots(load.path):
        digest.update(json.dumps([snapshot.time_ns, sorted((*key, sorted((k, str(v)) for k, v in values.items())) for key, values in snapshot.values.items())]).encode())
    if not load.synthetic:
        for column in (load.start_ns, load.duration_ns, load.session, load.query, load.physical_reads):
            digest.update(column.tobytes())
    return digest.hexdigest()
