"""The results of a measurement as they are kept: small, and enough to predict it again."""

import shutil
import tarfile
from pathlib import Path

from tiersim.traces.samples import RECORDINGS

#: Folder of a cell with what a recording needs.
COUNTERS = "counters"


def keep(out: Path) -> Path:
    """Write ``OUT/results``: the figures of each cell, and the recordings of the cells without a cap; returns the folder."""
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
            archive.add(folder, folder.parent.name, filter=_nobodys)


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
