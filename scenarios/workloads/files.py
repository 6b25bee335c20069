"""Which files describe workloads."""

import re
from pathlib import Path

from tiersim.scenarios.library import workload_names, workload_path_of

_HEADER = re.compile(rb"^\s*\[workload\]", re.MULTILINE)


def is_workload(path: Path) -> bool:
    """Tell whether the file at *path* describes a workload: it is TOML and has a table of that name."""
    return path.suffix == ".toml" and path.is_file() and bool(_HEADER.search(path.read_bytes()))


def find_workload(path: Path) -> Path | None:
    """Return the file of the workload that *path* is or names in the library; None when it is something else."""
    if is_workload(path):
        return path
    name = str(path)
    return workload_path_of(name) if name in workload_names() and not path.exists() else None
