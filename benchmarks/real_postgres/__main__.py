"""Measure what checkpoints do to a real PostgreSQL on a device with a cap; README.md beside this says how. Needs root."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.real_postgres import device
from benchmarks.real_postgres.dips import scatter
from benchmarks.real_postgres.errors import BenchError
from benchmarks.real_postgres.measure import make_template, measure
from benchmarks.real_postgres.plan import cells, read_plan
from benchmarks.real_postgres.processes import interrupt_once, together
from benchmarks.real_postgres.results import keep
from benchmarks.real_postgres.server import find_programs
from tiersim.errors import TiersimError

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
    try:
        _measure_all(arguments.out.resolve(), arguments.scratch.resolve(), cells_file)
    except TiersimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: servers, devices and groups are gone, finished cells stay", file=sys.stderr)
        return 130
    print(f"results: {keep(arguments.out)}")
    for line in _dips([json.loads(path.read_text()) for path in sorted(arguments.out.glob("*/result.json"))]):
        print(line)
    return 0


def _measure_all(out: Path, scratch: Path, cells_file: Path) -> None:
    plan = read_plan(cells_file)
    if os.getuid():
        raise BenchError("loop devices and caps need root; run it as root")
    device.check()
    programs = find_programs()
    interrupt_once()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tiersim-bench-", dir=scratch) as name:
        place = Path(name)
        place.chmod(0o755)  # servers run as another user
        template = place / "template"
        for rounds in cells(plan):
            folders = {cell: place / cell.name for cell in rounds if not (out / cell.name / "result.json").exists()}
            if folders and not template.exists():
                together([partial(make_template, programs, plan, template, _folder(place / "filling"))])
            together([partial(measure, programs, cell, template, _folder(folders[cell]), _say) for cell in folders])
            for cell, folder in folders.items():
                shutil.copytree(folder, out / cell.name, dirs_exist_ok=True)
                shutil.rmtree(folder)


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


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
                f"{kind}: {len(every)} checkpoints: throughput falls to {mean(every):.1%} of the run's mean, {min(every):.1%} to "
                f"{max(every):.1%}; means of {len(repeats)} repeats are up to {100 * means:.1f} points apart"
            )
    return lines


if __name__ == "__main__":
    sys.exit(main())
