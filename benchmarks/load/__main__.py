"""Measure how cost grows with size: ``python -m benchmarks.load`` for all cases, or for those that are named.

Each command is a process of its own, in a folder that is gone afterwards; what it cost is kept in results.json beside
this, and put as a table into docs/performance.md by --table. About an hour and 15 GB of memory for all; --largest adds
the sizes that take long by themselves.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.load.cases import CASES, MADE, TIERSIM, Case
from benchmarks.load.measure import Cost, measured
from benchmarks.load.results import keep, read_results
from benchmarks.load.table import write_on_page

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Measure what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(case.name for case in CASES)}; all by default")
    parser.add_argument("--largest", action="store_true", help="a billion generated requests, too")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="leave out sizes above this")
    parser.add_argument(
        "--table",
        action="store_true",
        help="measure nothing: write the table of what was measured into docs/performance.md",
    )
    parser.add_argument("--scratch", type=Path, help="where inputs and outputs lie meanwhile")
    arguments = parser.parse_args()
    if arguments.table:
        write_on_page(read_results())
        return 0
    known = {case.name: case for case in CASES}
    unknown = [name for name in arguments.cases if name not in known]
    if unknown:
        print(f"error: {unknown[0]}: is no case; choose of {', '.join(known)}", file=sys.stderr)
        return 2
    # What is started in that folder is to find these modules.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        measured((*TIERSIM, "warmup"), Path(folder))
        for name in arguments.cases or known:
            case = known[name]
            more = (case.largest,) if arguments.largest and case.largest else ()
            for size in (case.start, *case.sizes, *more):
                if size <= arguments.most:
                    _measure(case, size, Path(folder))
    return 0


def _measure(case: Case, size: int, folder: Path) -> None:
    """Measure the steps of a case at one size, and keep what they cost."""
    place = folder / case.name
    place.mkdir(exist_ok=True)
    if case.made:
        subprocess.run([*MADE, case.made, str(size)], cwd=place, check=True)
    for step, command in case.steps(size):
        cost = measured(command, place)
        _say(case, size, step, cost)
        keep(case, step, {"size": size, **_rounded(cost)}, machine())


def _rounded(cost: Cost) -> dict[str, Any]:
    return asdict(cost) | {"cpu_s": round(cost.cpu_s, 3), "wall_s": round(cost.wall_s, 3)}


def _say(case: Case, size: int, step: str, cost: Cost) -> None:
    print(
        f"{size:>13,} {case.unit}, {step}: {cost.cpu_s:.2f} s CPU, {cost.wall_s:.2f} s, {cost.peak_bytes >> 20:,} MiB",
        flush=True,
    )


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    models = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "processor": models[0] if models else platform.processor(),
        "processors": os.cpu_count(),
        "memory_bytes": memory * 1024,
        "python": platform.python_version(),
    }


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
