"""What every campaign on a real server begins with: a machine that can measure, a folder for its files."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import device, processes
from benchmarks.errors import BenchError


@contextmanager
def prepared(out: Path, scratch: Path) -> Iterator[Path]:
    """Make *out*, and give a folder in *scratch* that is gone when the block ends; raises BenchError where this machine
    cannot measure.
    """
    if os.getuid():
        raise BenchError("loop devices and caps need root; run it as root")
    device.check()
    processes.check()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tiersim-bench-", dir=scratch) as name:
        place = Path(name)
        place.chmod(0o755)  # servers run as another user
        yield place


def new_folder(path: Path) -> Path:
    """Make a folder, and return it."""
    path.mkdir()
    return path
