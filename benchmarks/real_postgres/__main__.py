"""Measure what checkpoints do to a real PostgreSQL on a device with a cap; README.md beside this
says how. Needs root.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.processes import interrupt_once, told
from benchmarks.real_postgres.campaign import campaign
from benchmarks.real_postgres.dips import scatter
from benchmarks.real_postgres.plan import cells, read_plan
from benchmarks.real_postgres.results import keep

_HERE = Path(__file__).parent


def main() -> int:
    """Measure what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres", description=__doc__)
    parser.add_argument("out", type=Path, help="a folder for the results; cells that it has are not measured again")
    parser.add_argument("--cells", type=Path, default=_HERE / "cells.toml", help="what to measure")
    parser.add_argument("--short", action="store_true", help="a try of two minutes in place of --cells")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="where the devices' files lie meanwhile")
    arguments = parser.parse_args()
    cells_file = _HERE / "short.toml" if arguments.short else arguments.cells
    with told():
        plan = read_plan(cells_file)
        interrupt_once()
        with campaign(arguments.out.resolve(), arguments.scratch.resolve(), plan, _say) as measure_cells:
            for together in cells(plan):
                measure_cells(together)
    print(f"results: {keep(arguments.out)}")
    for line in _dips([json.loads(path.read_text()) for path in sorted(arguments.out.glob("*/result.json"))]):
        print(line)
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


def _dips(results: list[dict[str, Any]]) -> list[str]:
    """Say of each kind how deep checkpoints cut, and how far repeats of one measurement differ."""
    lines = []
    for kind in sorted({result["cell"]["kind"] for result in results}):
        repeats = [result["dips"] for result in results if result["cell"]["kind"] == kind and result["dips"]]
        every = [dip for one in repeats for dip in one]
        if every:
            means = scatter([mean(one) for one in repeats])
            lines.append(
                f"{kind}: {len(every)} checkpoints: throughput falls to {mean(every):.1%} of the run's mean,"
                f" {min(every):.1%} to {max(every):.1%}; means of {len(repeats)} repeats are up to {100 * means:.1f}"
                " points apart"
            )
    return lines


if __name__ == "__main__":
    sys.exit(main())
