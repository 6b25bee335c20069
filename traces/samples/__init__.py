"""Recordings that ship with the project."""

import lzma
from importlib.resources import files


def pgbench() -> bytes:
    """A recorded pgbench run as a blktrace stream; ``README.md`` beside it says how it was made."""
    return lzma.decompress((files("tiersim.traces.samples") / "pgbench.blktrace.xz").read_bytes())
