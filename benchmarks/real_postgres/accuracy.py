"""Record a real PostgreSQL once, predict it on other pools and other caps, then measure these and say how far off the
predictions are.

README.md beside this says how. Measuring needs root.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.processes import interrupt_once, told
from benchmarks.real_postgres.campaign import campaign
from benchmarks.real_postgres.plan import Cell, cells, read_plan
from benchmarks.real_postgres.runs import conditions_of, keep_runs
from benchmarks.real_postgres.scores import Compared, document, scatters, table, verdicts
from tiersim.scenarios.validation.cell_figures import Conditions, Figures, MeasuredRun, read_runs
from tiersim.scenarios.validation.cells import foresee
from tiersim.traces.samples import CELLS

_HERE = Path(__file__).parent
#: Folders of what is kept, each with a plan of that name beside this.
PLANS = ("reads", "updates")
_SHORT = ("accuracy-short",)


def main() -> int:
    """Do what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres.accuracy", description=__doc__)
    parser.add_argument(
        "out",
        type=Path,
        nargs="?",
        help=(
            "a folder for the results; cells that it has are not measured again; without it, "
            "what was measured and kept is predicted"
        ),
    )
    parser.add_argument("--short", action="store_true", help="a try of a few minutes on a small table")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="where the devices' files lie meanwhile")
    arguments = parser.parse_args()
    with told():
        if arguments.out is None:
            compared = [one for name in PLANS for one in _compared(CELLS / name)]
        else:
            compared = _measure(arguments.out, arguments.scratch.resolve(), _SHORT if arguments.short else PLANS)
    compared.sort(key=lambda one: one.place)
    text = "\n".join([*table(compared), "", *verdicts(compared), "", scatters(compared)])
    print(text)
    if arguments.out is not None:
        results = arguments.out / "results"
        (results / "accuracy.md").write_text(text + "\n")
        (results / "accuracy.json").write_text(json.dumps(document(compared), indent=1) + "\n")
    return 0


def _measure(out: Path, scratch: Path, names: Sequence[str]) -> list[Compared]:
    """Record, predict, measure each plan in this order; returns how predictions and measurements compare."""
    interrupt_once()
    compared = []
    for name in names:
        plan = read_plan(_HERE / f"{name}.toml")
        recordings, to_predict = recordings_first(cells(plan))
        with campaign(out.resolve() / name, scratch, plan, _say) as measure_cells:
            for together in recordings:
                measure_cells(together)
            wanted = [conditions_of(cell) for together in to_predict for cell in together]
            predictions = _predict(keep_runs(out / name, out / "results" / name), wanted)
            _say(f"{name}: predicted {len(predictions)} cells; now they are measured")
            for together in to_predict:
                measure_cells(together)
        keep_runs(out / name, out / "results" / name)
        compared += _compare(read_runs(out / "results" / name), predictions)
    return compared


def recordings_first(rounds: Sequence[list[Cell]]) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """Return the rounds without a cap, and the others."""
    free = [together for together in rounds if all(cell.iops is None for cell in together)]
    return free, [together for together in rounds if any(cell.iops is not None for cell in together)]


def _compared(results: Path) -> list[Compared]:
    """Predict what is kept."""
    runs = read_runs(results)
    wanted = [run.conditions for run in runs if run.conditions.iops is not None]
    return _compare(runs, _predict(results, wanted))


def _predict(results: Path, wanted: Sequence[Conditions]) -> dict[Conditions, Figures]:
    """Predict runs from the recordings of *results*, each from that of its load."""
    recordings = [run for run in read_runs(results) if run.conditions.iops is None]
    return {
        conditions: figures
        for recorded in recordings
        for conditions, figures in foresee(
            recorded, [one for one in dict.fromkeys(wanted) if one.script == recorded.conditions.script], results
        )
    }


def _compare(runs: Sequence[MeasuredRun], predictions: Mapping[Conditions, Figures]) -> list[Compared]:
    return [
        Compared(conditions, tuple(run.figures for run in runs if run.conditions == conditions), figures)
        for conditions, figures in predictions.items()
    ]


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
