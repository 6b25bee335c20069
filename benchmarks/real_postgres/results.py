"""The results of a measurement as they are kept: small, and enough to predict it again."""

import shutil
import tarfile
from pathlib import Path

from benchmarks.results import nobodys
from tiersim.scenarios.validation.matrix_cells import COUNTERS
from tiersim.traces.samples import RECORDINGS


def keep(out: Path) -> Path:
    """Write ``OUT/results``: the figures of each cell, and the recordings of the cells without a cap; returns the
    folder.
    """
    target = out / "results"
    target.mkdir(exist_ok=True)
    for path in out.glob("*/result.json"):
        shutil.copy(path, target / f"{path.parent.name}.json")
    pack(out, target)
    return target


def pack(out: Path, target: Path) -> None:
    """Put the recordings into an archive in *target*: the counters of the cells without a cap."""
    with tarfile.open(target / RECORDINGS, "w:xz", preset=9) as archive:
        for folder in sorted(out.glob(f"*-free/{COUNTERS}")):
            archive.add(folder, folder.parent.name, filter=nobodys)
