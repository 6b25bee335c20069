"""``python -m benchmarks.real_postgres OUT``: measures all cells of a plan, as root."""

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean

from benchmarks.real_postgres import device
from benchmarks.real_postgres.dips import scatter
from benchmarks.real_postgres.errors import BenchError
from benchmarks.real_postgres.measure import make_template, measure
from benchmarks.real_postgres.plan import cells, read_plan
from benchmarks.real_postgres.server import find_programs
from tiersim.errors import TiersimError

_HERE = Path(__file__).parent
_CONTEXT = multiprocessing.get_context("fork")


def main() -> int:
    """Measure what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres", description=__doc__)
    parser.add_argument("out", type=Path, help="a new folder, or one whose cells are to be completed; needs 20 GiB")
    parser.add_argument("--cells", type=Path, default=_HERE / "cells.toml")
    parser.add_argument("--short", action="store_true", help="the plan of a minute or two in place of --cells")
    arguments = parser.parse_args()
    try:
        _measure_all(arguments.out.resolve(), _HERE / "short.toml" if arguments.short else arguments.cells)
    except TiersimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; what was made for the measurement is gone, finished cells stay", file=sys.stderr)
        return 130
    _print_dips(arguments.out)
    return 0


def _measure_all(out: Path, path: Path) -> None:
    plan = read_plan(path)
    if os.getuid():
        raise BenchError("loop devices and caps need root; run it as root")
    device.check()
    programs = find_programs()
    _interrupt_once()
    out.mkdir(parents=True, exist_ok=True)
    # servers run as another user, who has to get at their sockets
    with tempfile.TemporaryDirectory(prefix="tiersim-bench-", dir=out) as place:
        _open(Path(place))
        template = Path(place) / "template"
        _together([(Path(place) / "filling", partial(make_template, programs, plan, template))])
        for number, together in enumerate(cells(plan)):
            waiting = [cell for cell in together if not (out / cell.name / "result.json").exists()]
            folders = [Path(place) / f"{number}-{cell.name}" for cell in waiting]
            _together(
                [
                    (folder, lambda folder, cell=cell: measure(programs, cell, template, folder, _say))  # type: ignore[misc]
                    for folder, cell in zip(folders, waiting, strict=True)
                ]
            )
            for folder, cell in zip(folders, waiting, strict=True):
                shutil.move(folder, out / cell.name)


def _together(tasks: list[tuple[Path, Callable[[Path], None]]]) -> None:
    """Do tasks at the same time, each in a process and a folder of its own; raises BenchError if one fails."""
    processes = []
    try:
        for folder, task in tasks:
            folder.mkdir()
            _open(folder)
            process = _CONTEXT.Process(target=_guarded, args=(task, folder))
            process.start()
            processes.append(process)
        for process in processes:
            process.join()
    finally:
        for process in processes:
            if process.is_alive():
                os.kill(process.pid or 0, signal.SIGTERM)
        for process in processes:
            process.join()
    if any(process.exitcode for process in processes):
        raise BenchError("a measurement failed; its sentence stands above")


def _guarded(task: Callable[[Path], None], folder: Path) -> None:
    _interrupt_once()
    try:
        task(folder)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _interrupt_once() -> None:
    """Let the first signal end the work, and none disturb the cleaning up after it."""

    def interrupt(number: int, frame: object) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, interrupt)


def _open(folder: Path) -> None:
    folder.chmod(0o755)


def _say(text: str) -> None:
    print(text, flush=True)


def _print_dips(out: Path) -> None:
    results = [json.loads(path.read_text()) for path in sorted(out.glob("*/result.json"))]
    for kind in sorted({result["cell"]["kind"] for result in results}):
        repeats = [result["dips"] for result in results if result["cell"]["kind"] == kind and result["dips"]]
        every = [dip for one in repeats for dip in one]
        if every:
            means = [mean(one) for one in repeats]
            _say(
                f"{kind}: {len(every)} checkpoints, mean dip to {mean(every):.1%} of mean throughput, "
                f"from {min(every):.1%} to {max(every):.1%}; repeats scatter by {100 * scatter(means):.1f} points"
            )


if __name__ == "__main__":
    sys.exit(main())
