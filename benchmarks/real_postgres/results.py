"""The results of a measurement as they are kept: small, and enough to predict it again."""

import shutil
import tarfile
from pathlib import Path

#: Folder of a cell with what a recording needs, and the archive of those of all cells without a cap.
COUNTERS, RECORDINGS = "counters", "recordings.tar.xz"


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


def unpack(results: Path, folder: Path) -> None:
    """Unpack the recordings into *folder*, each into one with the name of its cell."""
    with tarfile.open(results / RECORDINGS) as archive:
        archive.extractall(folder, filter="data")


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
