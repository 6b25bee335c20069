"""Measuring cells, round after round."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import device, processes
from benchmarks.errors import BenchError
from benchmarks.real_postgres.measure import make_template, measure
from benchmarks.real_postgres.plan import Cell, Plan
from benchmarks.real_postgres.server import find_programs


@contextmanager
def campaign(
    out: Path, scratch: Path, plan: Plan, say: Callable[[str], None]
) -> Iterator[Callable[[Sequence[Cell]], None]]:
    """Give a function that measures cells of *plan* at the same time, those that *out* does not have; raises
    BenchError.

    Each cell gets a folder in *out*. The devices' files lie in *scratch* until the block ends.
    """
    if os.getuid():
        raise BenchError("loop devices and caps need root; run it as root")
    device.check()
    processes.check()
    programs = find_programs()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tiersim-bench-", dir=scratch) as name:
        place = Path(name)
        place.chmod(0o755)  # servers run as another user
        template = place / "template"

        def measure_cells(cells: Sequence[Cell]) -> None:
            folders = {cell: place / cell.name for cell in cells if not (out / cell.name / "result.json").exists()}
            if folders and not template.exists():
                processes.together([partial(make_template, programs, plan, template, _folder(place / "filling"))])
            processes.together(
                [partial(measure, programs, cell, template, _folder(folders[cell]), say) for cell in folders]
            )
            for cell, folder in folders.items():
                shutil.copytree(folder, out / cell.name, dirs_exist_ok=True)
                shutil.rmtree(folder)

        yield measure_cells


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
