"""Ready scenarios and workloads, one TOML file each, and which other files describe workloads."""

import re
from importlib.resources import files
from pathlib import Path

#: What fitting a device needs, measured with each load generator.
JOBS = {"fio": "fit.fio", "diskspd": "fit-diskspd.cmd"}


def _folder() -> Path:
    return Path(str(files("tiersim.scenarios.library")))


def names() -> list[str]:
    """Names of all ready scenarios, sorted."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def path_of(name: str) -> Path:
    """File of a ready scenario."""
    return _folder() / f"{name}.toml"


def job_of(generator: str) -> str:
    """Text of the job file for a load generator of JOBS."""
    return (_folder() / JOBS[generator]).read_text(encoding="utf-8")


def workload_names() -> list[str]:
    """Names of all ready workloads, sorted."""
    return sorted(path.stem for path in (_folder() / "workloads").glob("*.toml"))


def workload_path_of(name: str) -> Path:
    """File of a ready workload."""
    return _folder() / "workloads" / f"{name}.toml"


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
