"""Sweeps of a made-up recording for tests: begun, interrupted, and what is in their folders."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.recordings import closed_recording, rows_of, write_recording
from tiersim.cli.main import main
from tiersim.scenarios.sweeps.axes import parse_axes
from tiersim.scenarios.sweeps.folder import Plan, SweepFolder, open_folder
from tiersim.scenarios.sweeps.grid import Grid
from tiersim.scenarios.sweeps.runner import Threads, look_over, plan_of, run_sweep
from tiersim.scenarios.sweeps.sources import SweepSource, open_source

#: Two axes, of which one asks for a thing that there is not.
SETTINGS = ("volumes.data.device=intel-p3700-800,nosuch,micron-s650dc-800", "replay.load=1,2")


def write_trace(folder: Path, requests: int, seed: int = 1) -> Path:
    """Write a recording of four streams that read and write at random."""
    luck = np.random.default_rng(seed)
    columns = closed_recording(4, requests // 4, 150_000, 2_000_000.0, seed)
    offsets, op = luck.integers(0, 10**6, requests) * 8192, luck.random(requests) < 0.3
    folder.mkdir(exist_ok=True)
    return write_recording(folder, rows_of(**columns, offset_bytes=offsets, op=op), streams=list("abcd"))


def grid_of(*settings: str, on: str = "pcie-flash", replications: int = 1) -> Grid:
    """Make a grid as the command line does."""
    return Grid.of(on, parse_axes(settings or SETTINGS), replications)


def begin(trace: Path, grid: Grid, *, keep: bool = False) -> tuple[Plan, SweepSource]:
    """Read the trace and make the plan."""
    overview = look_over(grid)
    source = open_source(trace, overview.first, None, None)
    return plan_of(grid, overview, source, keep=keep), source


def run_in(
    folder: Path,
    trace: Path,
    grid: Grid,
    *,
    workers: int = 1,
    keep: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Run what is missing of a sweep in *folder* and end it; return how many points that were."""
    plan, source = begin(trace, grid, keep=keep)
    with open_folder(folder, plan, force=False) as opened:
        ran = run_sweep(grid, opened, Threads(source, workers, keep=keep), None, progress)
        opened.finish(len(grid), grid.axes, {"workers": workers})
    return ran


def whole(folder: Path) -> SweepFolder:
    """Return the folder for reading."""
    return SweepFolder(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files that must not depend on who ran what when: all but the facts of the run."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if name != "run.json"}


def command(arguments: Sequence[str], log: str) -> None:
    """Run the command line in a process of its own, which says nothing but into *log*; importable by one that is
    started.
    """
    with open(log, "a") as said:
        sys.stdout = sys.stderr = said
        sys.argv = ["tiersim", *arguments]
        main()
