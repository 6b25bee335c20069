"""Measure the cells of a real MariaDB, each alone, repeats in blocks, each block in an order that is drawn; README.md
beside this says how. Needs root and an idle machine; may be ended and begun again.
"""

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path

from benchmarks import processes
from benchmarks.campaign import new_folder, prepared
from benchmarks.processes import interrupt_once, told
from benchmarks.real_mysql.measure import make_template, measure
from benchmarks.real_mysql.plan import Plan, blocks, read_plan
from benchmarks.real_mysql.server import find_programs
from benchmarks.results import pack_cells
from tiersim.traces.samples import MARIADB

_HERE = Path(__file__).parent


def main() -> int:
    """Measure what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_mysql", description=__doc__)
    parser.add_argument("out", type=Path, help="a folder for the cells; those that it has are not measured again")
    parser.add_argument("--cells", type=Path, default=_HERE / "cells.toml", help="what to measure")
    parser.add_argument("--short", action="store_true", help="a try of two minutes in place of --cells")
    parser.add_argument("--keep", action="store_true", help="put what was measured in place of what is kept")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="where the device's file lies meanwhile")
    arguments = parser.parse_args()
    with told():
        interrupt_once()
        plan = read_plan(_HERE / "short.toml" if arguments.short else arguments.cells)
        measure_all(plan, arguments.out.resolve(), arguments.scratch.resolve())
    if arguments.keep:
        pack_cells(arguments.out, MARIADB)
    return 0


def measure_all(plan: Plan, out: Path, scratch: Path) -> None:
    """Measure the cells of *plan* that *out* does not have; raises BenchError.

    Each gets a folder in *out*. The device's file lies in *scratch* meanwhile.
    """
    with prepared(out, scratch) as place:
        programs = find_programs()
        template = place / "template"
        for cell in (cell for block in blocks(plan) for cell in block):
            if (out / cell.name / "result.json").exists():
                continue
            if not template.exists():
                processes.together([partial(make_template, programs, plan, template, new_folder(place / "filling"))])
            folder = new_folder(place / cell.name)
            processes.together([partial(measure, programs, cell, template, folder, _say)])
            shutil.copytree(folder, out / cell.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("s.sock"))
            shutil.rmtree(folder)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
