"""Ready scenarios, one TOML file each."""

from importlib.resources import files
from pathlib import Path


def _folder() -> Path:
    return Path(str(files("tiersim.scenarios.library")))


def names() -> list[str]:
    """Names of all ready scenarios, sorted."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def path_of(name: str) -> Path:
    """File of a ready scenario."""
    return _folder() / f"{name}.toml"
