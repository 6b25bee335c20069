"""Measure the matrix: each cell alone, repeats in blocks, each block in an order that is drawn:
``python -m benchmarks.real_postgres.matrix OUT``.

Needs root and an idle machine; may be ended and begun again: cells that OUT has are not measured again.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.processes import interrupt_once, told
from benchmarks.real_postgres.campaign import campaign
from benchmarks.real_postgres.plan import Cell, Plan, cells, read_plan
from benchmarks.results import pack_cells
from tiersim.traces.samples import MATRIX

_PLAN = Path(__file__).parent / "matrix.toml"


def main() -> int:
    """Measure what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres.matrix", description=__doc__)
    parser.add_argument("out", type=Path, help="a folder for the cells")
    parser.add_argument("--plan", type=Path, default=_PLAN)
    parser.add_argument("--blocks", type=int, help="no more than so many of the repeats")
    parser.add_argument("--load", action="append", help="of reads, updates, tpcb; all by default")
    parser.add_argument("--seconds", type=float, help="how long a cell is measured, in place of what the plan says")
    parser.add_argument("--keep", action="store_true", help="put what was measured in place of what is kept")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="where the devices' files lie meanwhile")
    arguments = parser.parse_args()
    with told():
        interrupt_once()
        plan = read_plan(arguments.plan)
        with campaign(arguments.out.resolve(), arguments.scratch.resolve(), plan, _say) as measure_cells:
            for block in blocks(plan)[: arguments.blocks]:
                for cell in chosen(block, arguments.load, arguments.seconds):
                    measure_cells([cell])
    if arguments.keep:
        pack_cells(arguments.out, MATRIX)
    return 0


def blocks(plan: Plan) -> list[list[Cell]]:
    """Return the first repeat of all cells in an order that is drawn, then the second, and so on."""
    by_repeat: dict[str, list[Cell]] = {}
    for together in cells(plan):
        for cell in together:
            by_repeat.setdefault(cell.name.rpartition("-")[2], []).append(cell)
    return [random.Random(number).sample(block, len(block)) for number, block in sorted(by_repeat.items())]


def chosen(block: Sequence[Cell], loads: Sequence[str] | None, run_s: float | None) -> list[Cell]:
    """Return the cells of *loads* in their order, each measured for *run_s*; None: of all, as long as planned."""
    cells = [cell for cell in block if loads is None or cell.script in loads]
    return cells if run_s is None else [replace(cell, run_s=run_s) for cell in cells]


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
