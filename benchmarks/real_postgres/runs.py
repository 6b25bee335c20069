"""Measured runs as they are kept."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.real_postgres.plan import Cell
from benchmarks.real_postgres.results import pack
from tiersim.scenarios.validation.cell_figures import RUNS, Conditions, Figures, MeasuredRun


def conditions_of(cell: Cell) -> Conditions:
    """Return what a cell of a plan asks for."""
    return Conditions(cell.script, cell.settings["shared_buffers"], cell.iops, cell.run_s)


def measured_of(result: dict[str, Any]) -> MeasuredRun:
    """Take a run from a cell's ``result.json``."""
    cell = result["cell"]
    conditions = Conditions(cell["script"], cell["settings"]["shared_buffers"], cell["iops"], cell["run_s"])
    return MeasuredRun(
        cell["name"], conditions, result["since_checkpoint_s"], result["device_latency_ns"], Figures.measured(result)
    )  # fmt: skip


def keep_runs(out: Path, target: Path) -> Path:
    """Write into *target* a line for each run in *out*, and the recordings of those without a cap; returns it."""
    target.mkdir(parents=True, exist_ok=True)
    runs = [measured_of(json.loads(path.read_text())) for path in sorted(out.glob("*/result.json"))]
    (target / RUNS).write_text("[\n" + ",\n".join(json.dumps(asdict(run)) for run in runs) + "\n]\n")
    pack(out, target)
    return target
