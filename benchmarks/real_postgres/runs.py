"""Measured runs as they are kept: what was asked for, and what came out."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.real_postgres.figures import Figures
from benchmarks.real_postgres.plan import Cell, Script
from benchmarks.real_postgres.results import pack

_RUNS = "runs.json"


@dataclass(frozen=True)
class Conditions:
    """What a run was asked for; without *iops* the device had no cap."""

    script: Script
    shared_buffers: str  # as PostgreSQL writes it
    iops: int | None
    run_s: float

    @classmethod
    def of(cls, cell: Cell) -> "Conditions":
        """Return those of a cell of a plan."""
        return cls(cell.script, cell.settings["shared_buffers"], cell.iops, cell.run_s)


@dataclass(frozen=True)
class Measured:
    """A run; when it began, the last checkpoint had begun ``since_checkpoint_s`` ago."""

    name: str
    conditions: Conditions
    since_checkpoint_s: float
    device_latency_ns: int  # of a read without a cap, before the run
    figures: Figures

    @classmethod
    def of(cls, result: dict[str, Any]) -> "Measured":
        """Take it from a cell's ``result.json``."""
        cell = result["cell"]
        conditions = Conditions(cell["script"], cell["settings"]["shared_buffers"], cell["iops"], cell["run_s"])
        return cls(
            cell["name"], conditions, result["since_checkpoint_s"], result["device_latency_ns"], Figures.measured(result)
        )  # fmt: skip


def keep_runs(out: Path, target: Path) -> Path:
    """Write into *target* a line for each run in *out*, and the recordings of those without a cap; returns it."""
    target.mkdir(parents=True, exist_ok=True)
    runs = [Measured.of(json.loads(path.read_text())) for path in sorted(out.glob("*/result.json"))]
    (target / _RUNS).write_text("[\n" + ",\n".join(json.dumps(asdict(run)) for run in runs) + "\n]\n")
    pack(out, target)
    return target


def read_runs(results: Path) -> list[Measured]:
    """Read what :func:`keep_runs` wrote."""
    return [
        Measured(**one | {"conditions": Conditions(**one["conditions"]), "figures": Figures(**one["figures"])})
        for one in json.loads((results / _RUNS).read_text())
    ]
