"""Recordings that ship with the project."""

import io
import lzma
import tarfile
from importlib.resources import files
from pathlib import Path


def pgbench() -> bytes:
    """A recorded pgbench run as a blktrace stream; ``README.md`` beside it says how it was made."""
    return lzma.decompress((files("tiersim.traces.samples") / "pgbench.blktrace.xz").read_bytes())


def reads(folder: Path) -> Path:
    """Unpack a PostgreSQL server's counters before and after 30 s of point reads into *folder*; returns the folder ``reads`` in it.

    PostgreSQL 18.4 on 2 cores, the 8 clients of pgbench beside it: 462,253 SELECTs by key of 10 million rows, drawn by Zipf's law with
    exponent 1.05 over a fixed permutation, 256 MiB of shared buffers, direct IO. ``counters`` is what was recorded, ``host/recorded.toml`` a
    scenario of the hardware. Recorded for this project.
    """
    packed = (files("tiersim.traces.samples") / "reads.tar.xz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "reads"
