"""The results of a measurement as they are kept: small, and enough to predict it again."""

import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from tiersim.scenarios.validation.matrix_cells import COUNTERS
from tiersim.traces.samples import RECORDINGS

_PLACE = re.compile(r"/\S*/")


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
            archive.add(folder, folder.parent.name, filter=_nobodys)


def pack_cells(out: Path, target: Path) -> None:
    """Put every cell of *out* into the archive *target*: the figures of each repeat, the counters of the first; without
    places on this machine in what pgbench said.
    """
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name, tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(out.glob("*/result.json")):
            folder = Path(name) / path.parent.name
            folder.mkdir()
            shutil.copy(path, folder)
            if folder.name.endswith("-1"):
                shutil.copytree(path.parent / COUNTERS, folder / COUNTERS)
                printed = folder / COUNTERS / "pgbench.txt"
                printed.write_text(_PLACE.sub("", printed.read_text()))
            archive.add(folder, folder.name, filter=_nobodys)


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
