"""The results of a measurement as they are kept: small, and enough to predict it again."""

import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from tiersim.traces.samples import RECORDINGS

#: Folder of a cell with what a recording needs.
COUNTERS = "counters"
#: The cells of the matrix.
MATRIX = Path(__file__).parent / "results" / "matrix.tar.xz"
_PLACE = re.compile(r"/\S*/")


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


def pack_cells(out: Path, target: Path) -> None:
    """Put every cell of *out*, its figures and its counters, into the archive *target*; places on this machine are left out of what pgbench said."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name, tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(out.glob("*/result.json")):
            folder = Path(name) / path.parent.name
            shutil.copytree(path.parent / COUNTERS, folder / COUNTERS)
            shutil.copy(path, folder)
            printed = folder / COUNTERS / "pgbench.txt"
            printed.write_text(_PLACE.sub("", printed.read_text()))
            archive.add(folder, folder.name, filter=_nobodys)


def unpack_cells(archive: Path, target: Path) -> None:
    """Take the cells out again."""
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
