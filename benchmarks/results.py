"""Cells of a real server as they are kept: small, and enough to predict each from the others again."""

import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from tiersim.scenarios.validation.matrix_cells import COUNTERS

_PLACE = re.compile(r"/\S*/")
#: The end of the name of a repeat behind the first.
_LATER = re.compile(r"-(?!1$)\d+$")


def pack_cells(out: Path, target: Path) -> None:
    """Put every cell of *out* into the archive *target*: the figures of each repeat, the counters of the first; without
    places on this machine in what pgbench said.
    """
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name, tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(out.glob("*/result.json")):
            folder = Path(name) / path.parent.name
            folder.mkdir()
            shutil.copy(path, folder)
            if not _LATER.search(folder.name):
                shutil.copytree(path.parent / COUNTERS, folder / COUNTERS)
                for printed in folder.glob(f"{COUNTERS}/pgbench.txt"):
                    printed.write_text(_PLACE.sub("", printed.read_text()))
            archive.add(folder, folder.name, filter=nobodys)


def nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry of an archive that belongs to nobody."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
