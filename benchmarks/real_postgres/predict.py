"""Predict the measured cells from the recordings without a cap, and compare:
``python -m benchmarks.real_postgres.predict``.

What a prediction sees: the counters of one run on the device without a cap, the cap, how long the last checkpoint was
ago, and, of the buffered kind, how large the page cache was in that run. Nothing is fitted to the measured cells.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_postgres.dips import Span, dips, scatter, throughput
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.loads import load_of
from tiersim.scenarios.validation.cell_simulation import simulate
from tiersim.simulator.database.database_state import Database
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import CELLS, unpack

_HERE = Path(__file__).parent
HOST = _HERE / "host"
KINDS = ("direct", "buffered")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that ended, and how many pages it wrote."""

    span: Span
    pages: int


@dataclass(frozen=True)
class Run:
    """What is compared of a run, measured or predicted."""

    transactions_per_s: float
    mean_ms: float
    p95_ms: float
    windows_per_s: NDArray[np.float64]
    checkpoints: tuple[Checkpoint, ...]

    @classmethod
    def of(cls, ended_s: list[NDArray[np.float64]], run_s: float, checkpoints: tuple[Checkpoint, ...]) -> "Run":
        """Make it of the ends of the transactions of each client; its clients do not think, so what lies between two is
        a latency.
        """
        within = [one[one <= run_s] for one in ended_s]
        latency_ms = np.concatenate([np.diff(one, prepend=0.0) for one in within]) * 1e3
        together = np.concatenate(within)
        return cls(
            len(together) / run_s, float(latency_ms.mean()), float(np.quantile(latency_ms, 0.95)),
            throughput(together, run_s), checkpoints,
        )  # fmt: skip

    @property
    def dips(self) -> list[float]:
        """The least throughput of each checkpoint as a share of the run's mean."""
        return dips(self.windows_per_s, [one.span for one in self.checkpoints])


def measured(kind: str, results: Path) -> list[tuple[Mapping[str, Any], Run]]:
    """Return the repeats of a kind's capped cell, each with its document."""
    documents = [json.loads(path.read_text()) for path in sorted(results.glob(f"{kind}-capped-*.json"))]
    return [(document, _of(document)) for document in documents]


def _of(document: Mapping[str, Any]) -> Run:
    return Run(
        document["transactions_per_s"],
        document["mean_ms"],
        document["quantiles_ms"]["0.95"],
        np.array(document["windows_per_s"]),
        tuple(
            Checkpoint(Span(one["start_s"], one["end_s"]), one["buffers"])
            for one in document["checkpoints"]
            if one["end_s"] is not None
        ),
    )


def predicted(kind: str, document: Mapping[str, Any], results: Path) -> Run:
    """Predict a measured cell from the recording of its kind."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        folder = Path(name)
        unpack(results, folder)
        trace = folder / "recorded.trace"
        import_trace([folder / f"{kind}-free"], trace)
        recorded = json.loads((results / f"{kind}-free.json").read_text())
        recorded_on, capped = _scenarios(folder, recorded, document)
        load = load_of(trace, seed=1)
        run_s = document["cell"]["run_s"]
        simulated = simulate(load, capped, calibrate(load, recorded_on), run_s)
    return Run.of(simulated.ended_s, run_s, _checkpoints(simulated.database))


def _checkpoints(database: Database) -> tuple[Checkpoint, ...]:
    rows = database.checkpoints[: database.checkpointer["count"][0]]
    return tuple(
        Checkpoint(Span(row["start_ns"] / 1e9, row["end_ns"] / 1e9), int(row["written_pages"])) for row in rows
    )


def _scenarios(
    folder: Path, recorded: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[NamedScenario, NamedScenario]:
    """Return the recorded host, and that with the cap, as long as it was measured."""
    for file in (*(CELLS / "host").iterdir(), *HOST.iterdir()):
        (folder / file.name).write_text(file.read_text())
    cell = document["cell"]
    cache_mb = mean(recorded["device"]["page_cache_mb"])
    cache = [] if cell["memory_bytes"] is None else [f"engine.os_cache={cache_mb:.0f} MB"]
    changes = [
        "volumes.data.device=capped.toml",
        f"replay.since_checkpoint={document['since_checkpoint_s']} s",
        # clients go round for as long as was recorded behind the warm-up
        f"replay.warmup={cell['run_s'] - recorded['cell']['run_s']} s",
    ]
    path = str(folder / "recorded.toml")
    return load_scenario(path, cache), load_scenario(path, [*cache, *changes])


def table(kind: str, runs: list[Run], prediction: Run) -> list[str]:
    """Return lines of Markdown: the means of the repeats, how far these are apart, and the prediction."""
    lines = []
    for name, unit, values, foreseen in (
        ("throughput", "/s", [run.transactions_per_s for run in runs], prediction.transactions_per_s),
        ("mean", "ms", [run.mean_ms for run in runs], prediction.mean_ms),
        ("p95", "ms", [run.p95_ms for run in runs], prediction.p95_ms),
        ("pages of a checkpoint", "", [_mean_pages(run) for run in runs], _mean_pages(prediction)),
        ("length of a checkpoint", "s", [_mean_length_s(run) for run in runs], _mean_length_s(prediction)),
    ):
        found = mean(values)
        lines.append(
            f"| {kind} | {name} | {_number(found)} {unit} | {_number(scatter(values))} | {_number(foreseen)} |"
            f" {foreseen / found - 1:+.1%} |"
        )
    found, foreseen = 100 * mean(mean(run.dips) for run in runs), 100 * mean(prediction.dips)
    apart = 100 * scatter([mean(run.dips) for run in runs])
    lines.append(
        f"| {kind} | dip to | {found:.1f} % of the mean | {apart:.1f} | {foreseen:.1f} | {foreseen - found:+.1f}"
        " points |"
    )
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _mean_pages(run: Run) -> float:
    return mean(one.pages for one in run.checkpoints)


def _mean_length_s(run: Run) -> float:
    return mean(one.span.end_s - one.span.start_s for one in run.checkpoints)


def main() -> None:
    """Print how the prediction of each kind compares with its repeats."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres.predict", description=__doc__)
    parser.add_argument(
        "results", type=Path, nargs="?", default=_HERE / "results", help="the folder of a measurement's results"
    )
    results = parser.parse_args().results
    print("| server | | measured | repeats apart | predicted | error |\n|---|---|--:|--:|--:|--:|")
    for kind in KINDS:
        repeats = measured(kind, results)
        prediction = predicted(kind, repeats[0][0], results)
        for line in table(kind, [run for _, run in repeats], prediction):
            print(line, flush=True)


if __name__ == "__main__":
    main()
