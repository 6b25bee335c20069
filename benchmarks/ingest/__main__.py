"""Measure what one more request costs, import and replay: ``python -m benchmarks.ingest`` prints the table.

Each step is a command of its own, on 1 million and on 4 million requests: the difference, by 3 million, is the cost of
a request, without that of starting. CPU time, user and system, the median of the rounds. A quarter of an hour, and 6 GB
of disk.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.ingest.made import FORMATS, requests
from benchmarks.load.cases import TIERSIM
from benchmarks.load.measure import run_once

_SMALL, _LARGE = 1_000_000, 4_000_000
#: Scenarios, and a load that each carries: requests a second.
_SCENARIOS = {"pcie-flash": 20_000.0, "15k-raid10-bare": 1_000.0}
#: Without latencies nobody knows who waited for what: then requests come by the clock.
_MODES = {"blktrace": ("partly-open", "open"), "disksim": ("open",), "bundle": ("partly-open", "open")}


def main() -> None:
    """Measure what the arguments ask for, and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("formats", nargs="*", help=f"of {', '.join(FORMATS)}; all by default")
    parser.add_argument("--on", action="append", help=f"of {', '.join(_SCENARIOS)}; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", type=Path, help="where inputs and outputs lie meanwhile")
    arguments = parser.parse_args()
    print("| recording | scenario | mode | import | replay | together |\n|---|---|---|---:|---:|---:|", flush=True)
    for form in arguments.formats or FORMATS:
        for scenario in arguments.on or _SCENARIOS:
            with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
                for line in _lines(form, scenario, Path(folder), arguments.rounds):
                    print(line, flush=True)


def _lines(form: str, scenario: str, folder: Path, rounds: int) -> Iterator[str]:
    """Yield a row of the table for each mode: µs a request."""
    write, recorded = FORMATS[form]
    steps: dict[str, tuple[str, ...]] = {}
    if recorded:
        steps["import"] = ("import", recorded, "-o", "requests.trace", "--force")
    for mode in _MODES[form]:
        chosen = ("--set", f"replay.mode={mode}")
        steps[mode] = ("replay", "requests.trace", "--on", scenario, *chosen, "-o", "out", "--force", "--json")
    for size in (_SMALL, _LARGE):
        place = folder / str(size)
        place.mkdir()
        write(requests(size, _SCENARIOS[scenario]), place)
    costs: dict[str, list[float]] = {step: [] for step in steps}
    for _ in range(rounds):
        for step, command in steps.items():
            small, large = (run_once((*TIERSIM, *command), folder / str(size)).cpu_s for size in (_SMALL, _LARGE))
            costs[step].append((large - small) / (_LARGE - _SMALL) * 1e6)
    imported = median(costs.pop("import", [0.0]))
    for mode, of_mode in costs.items():
        replayed = median(of_mode)
        yield f"| {form} | {scenario} | {mode} | {imported:.2f} | {replayed:.2f} | {imported + replayed:.2f} |"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[2]))
    main()
