"""Measuring cells, round after round."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import processes
from benchmarks.campaign import new_folder, prepared
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
    with prepared(out, scratch) as place:
        programs = find_programs()
        template = place / "template"

        def measure_cells(cells: Sequence[Cell]) -> None:
            folders = {cell: place / cell.name for cell in cells if not (out / cell.name / "result.json").exists()}
            if folders and not template.exists():
                processes.together([partial(make_template, programs, plan, template, new_folder(place / "filling"))])
            processes.together(
                [partial(measure, programs, cell, template, new_folder(folders[cell]), say) for cell in folders]
            )
            for cell, folder in folders.items():
                shutil.copytree(folder, out / cell.name, dirs_exist_ok=True)
                shutil.rmtree(folder)

        yield measure_cells
