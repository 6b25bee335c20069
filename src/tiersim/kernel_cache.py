"""Where the machine code of kernels is kept, and when it is stale.

numba asks whether the file that defines a kernel has changed; a kernel also contains the helpers and constants of other
files. So its folder is named by a hash of its file and of all files that it imports, directly or not: an edit of one
file leaves what does not come from it. The place of the sources plays no part: copies of one version share their code.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.caching import FunctionCache

_ROOT = Path(__file__).parent
_IMPORTS = re.compile(rb"^from +(tiersim[\w.]*) +import +(\([^)]*\)|[^\n]*)|^import +(tiersim[\w.]*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")
#: Folders of a module that are kept: those of the versions in use.
_KEPT_FOLDERS = 3
#: Holds an empty folder for each version whose kernels are all there.
_READY = "ready"


def _find_folder() -> Path | None:
    """Return the folder that everything is kept in, or None where nothing can be written."""
    try:
        own = os.environ.get("NUMBA_CACHE_DIR")
        folder = Path(own or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiersim" / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # RuntimeError: no home at all
        return None
    return folder


#: None: nowhere can be written, so each process compiles anew.
folder = _find_folder()


@cache
def _file_of(module: str) -> Path | None:
    path = _ROOT.joinpath(*module.split(".")[1:])
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file.resolve() for file in files if file.is_file()), None)


@cache
def _imported(file: Path) -> frozenset[Path]:
    """Return the files of this package that *file* imports when it is loaded."""
    names = set()
    for source, parts, whole in _IMPORTS.findall(file.read_bytes()):
        module = (source or whole).decode()
        names.add(module)
        names |= {f"{module}.{part.decode()}" for part in _WORD.findall(parts)}
    return frozenset(found for found in map(_file_of, names) if found is not None)


@cache
def sources_hash(file: Path) -> str:
    """Return a hash of the contents of *file* and of all that it imports of this package, directly or not."""
    found, left = {file}, [file]
    while left:
        new = _imported(left.pop()) - found
        found |= new
        left += new
    digest = hashlib.blake2b(digest_size=8)
    for content in sorted(hashlib.blake2b(path.read_bytes()).digest() for path in found):
        digest.update(content)
    return digest.hexdigest()


def place_of(module: str, file: Path) -> Path | None:
    """Return the folder for the code of *module*, made if need be; older versions but a few are dropped."""
    if folder is None:
        return None
    own = folder / module / sources_hash(file)
    try:
        if own.is_dir():
            os.utime(own)
            return own
        own.mkdir(parents=True, exist_ok=True)
        by_age = sorted(own.parent.iterdir(), key=lambda f: f.stat().st_mtime, reverse=True)
        for old in by_age[_KEPT_FOLDERS:]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        return None
    return own


def is_ready(module: str) -> bool:
    """Return whether all that *module* compiles was compiled, see `mark_ready`."""
    file = _file_of(module)
    return folder is not None and file is not None and (folder / _READY / sources_hash(file)).is_dir()


def mark_ready(module: str) -> None:
    """Remember that all that *module* compiles, from the sources as they are, was compiled."""
    if (file := _file_of(module)) is not None:
        place_of(_READY, file)


class _Locator:
    """Tells numba the folder; what it is named by says all about freshness."""

    def __init__(self, place: Path, line: int) -> None:
        self._place, self._line = place, line

    def ensure_cache_path(self) -> None:
        self._place.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._place)

    def get_source_stamp(self) -> str:
        return self._place.name

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> "_Locator | None":
        place = place_of(function.__module__, Path(file).resolve())
        return None if place is None else cls(place, function.__code__.co_firstlineno)


_Function: Any = FunctionCache  # numba has no types


class _Contents(_Function._impl_class):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class KernelCache(_Function):  # type: ignore[misc]
    """numba's cache of one function, kept in the folder that its sources name."""

    _impl_class = _Contents

    def __init__(self, function: Callable[..., Any]) -> None:
        """Find the folder of *function*."""
        super().__init__(function)
