"""Where machine code is kept: one file for each kernel and key, of the user alone, whole or not there, checked before
it is loaded. A wheel can bring such files (``make wheel``) for a level of processors.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tiersim.errors import OutputError
from tiersim.files import whole_file
from tiersim.kernel import checks_all
from tiersim.operating_system import is_own, lock

#: Files that are kept of one kernel, and of marks of versions that are ready: those that were used last.
_KEPT = 8
_FORMAT = "tiersim kernel 1"
_READY = "ready"
#: Letters of a key.
KEY_LENGTH = 24
_LOOKS_AGAIN_S = 0.1
#: What a wheel brings: a folder for each level.
_SHIPPED = Path(__file__).parent / "shipped"


class Code(NamedTuple):
    """Machine code of one kernel: its name in it, what it returns ('i', 'b' or 'f' a number, after '(' for a tuple),
    and an object file.
    """

    symbol: str
    results: str
    machine_code: bytes


@cache
def folder() -> Path | None:
    """Return the folder that everything is kept in, or None where there is none that only this user can write."""
    try:
        own = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        found = Path(own) / "tiersim" / "kernels"
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = found / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # RuntimeError: no home at all
        return None
    return found if is_own(found) else None


def _path(name: str, key: str) -> Path | None:
    place = folder()
    return None if place is None else place / f"{name}.{key}"


def find(name: str, key: str) -> Code | None:
    """Return what is kept, None where there is nothing, or nothing that can be trusted."""
    path = _path(name, key)
    try:
        if path is None or not is_own(path):
            return None
        code = _read(path)
        os.utime(path)
    except OSError:
        return None
    return code


def shipped(level: str, name: str, key: str) -> Code | None:
    """Return what came with the package, None where that is nothing, or damaged."""
    return _read(_SHIPPED / level / f"{name}.{key}")


def _read(path: Path) -> Code | None:
    try:
        head, _, machine_code = path.read_bytes().partition(b"\n")
        said = json.loads(head)
        code = Code(said["symbol"], said["results"], machine_code)
        return code if said["format"] == _FORMAT and said["digest"] == _digest(code) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(code: Code) -> str:
    digest = hashlib.blake2b(f"{code.symbol} {code.results}\n".encode(), digest_size=32)
    digest.update(code.machine_code)
    return digest.hexdigest()


def keep(name: str, key: str, code: Code) -> None:
    """Keep machine code, and drop what was not used for longest; where nothing can be written nothing is kept."""
    path = _path(name, key)
    if path is None:
        return
    head = {"format": _FORMAT, "symbol": code.symbol, "results": code.results, "digest": _digest(code)}
    with suppress(OSError, OutputError):
        with whole_file(path, force=True) as partial:
            partial.write_bytes(json.dumps(head).encode() + b"\n" + code.machine_code)
            partial.chmod(0o600)
        _drop_old(path.parent, name)


def _drop_old(place: Path, name: str) -> None:
    by_age = sorted(place.glob(f"{name}.{'?' * KEY_LENGTH}"), key=lambda file: -file.stat().st_mtime)
    for old in by_age[_KEPT:]:
        old.unlink(missing_ok=True)


def is_ready() -> bool:
    """Whether all kernels that commands need have code: it was made (:func:`mark_ready`), or came with the package."""
    from tiersim.kernel.machine_code import level_here
    from tiersim.kernel.reach import compiler_text, shipped_text

    level = level_here()
    if level is not None and (_SHIPPED / level / f"{_READY}.{_version(shipped_text(level))}").exists():
        return True
    place = folder()
    return place is not None and (place / f"{_READY}.{_version(compiler_text())}").exists()


def mark_ready() -> None:
    """Remember that all kernels that commands need have code, for the sources as they lie there."""
    from tiersim.kernel.reach import compiler_text

    place = folder()
    if place is not None:
        with suppress(OSError):
            (place / f"{_READY}.{_version(compiler_text())}").touch()
            _drop_old(place, _READY)


def _version(compiler: str) -> str:
    """Return a hash of what code is made from, which takes no reading: files by name and size, and what compiles them.

    It says what is likely to be there; what is used is found by its own key.
    """
    digest = hashlib.blake2b(compiler.encode(), digest_size=KEY_LENGTH // 2)
    digest.update(f"{checks_all()}".encode())
    root = Path(__file__).parents[1]
    for place, folders, files in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                size = os.stat(os.path.join(place, name)).st_size
                digest.update(f"{place[len(str(root)) :]}/{name} {size}\n".encode())
    return digest.hexdigest()


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time make the code of a kernel: the others wait, and then find it."""
    place = folder()
    if place is None:
        yield
        return
    with (place / f"{name}.lock").open("ab") as file:
        while True:
            try:
                lock(file.fileno())
                break
            except BlockingIOError:
                time.sleep(_LOOKS_AGAIN_S)
            except OSError:
                break  # a file system without locks: at worst two do the same
        yield
