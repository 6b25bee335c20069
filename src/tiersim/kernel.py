"""The only module that touches numba: the decorator of every compiled function, and where its machine code is kept.

numba does not notice that a function which another file defines has changed, so the cache folder is named by a hash of
every source that a kernel may come from. Where no folder can be written the cache is off for this process.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_PARTS = (".", "traces", "devices", "simulator", "scenarios")
_KEPT_FOLDERS = 3


def _sources_hash() -> str:
    root = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=8)
    for part in _PARTS:
        pattern = "*.py" if part == "." else "**/*.py"
        for path in sorted((root / part).resolve().glob(pattern)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _cache_folder() -> Path | None:
    """Make this version's folder, drop all but the newest few, or return None where nothing can be written."""
    try:
        own = os.environ.get("NUMBA_CACHE_DIR")
        base = Path(own or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiersim" / "kernels"
        folder = base / _sources_hash()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        probe = folder / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
        by_age = sorted((f for f in base.iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime, reverse=True)
        for old in by_age[_KEPT_FOLDERS:]:
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, RuntimeError):  # RuntimeError: no home at all
        return None
    return folder


_config: Any = numba.config
#: Where machine code is kept; None: nowhere can be written, so each process compiles anew.
cache_folder = _cache_folder()
if cache_folder is not None:
    _config.CACHE_DIR = str(cache_folder)

F = TypeVar("F", bound=Callable[..., Any])
#: Every kernel by qualified name; the warm-up and the tests go through it.
registry: dict[str, Any] = {}


def kernel(function: F) -> F:
    """Compile *function* on first use; type checkers keep seeing the plain Python signature.

    Kernels call each other with tables of many arrays. Left alone, numba passes every array by value and counts a
    reference to each at every call: the event loop was 14 times slower (0.23 against 3.2 million requests/s). So helpers
    are inlined by LLVM, and the reference counting of numba's runtime is off; a kernel therefore cannot allocate, and
    what it returns is made by its caller.

    Taking the arrays out of Python objects is a quarter of the compilation. A kernel whose name begins with an underscore
    does without: only kernels can call it.
    """
    return _compiled(function, inlined=True)


def kernel_apart(function: F) -> F:
    """Compile *function* as :func:`kernel` does, but do not take it into those that call it.

    For what is large and seldom called: a call takes about a microsecond, and the event loop, which holds all others, is compiled
    in less time.
    """
    return _compiled(function, inlined=False)


def _compiled(function: F, *, inlined: bool) -> F:
    njit: Any = numba.njit  # its types do not know the switch of the runtime
    compiled = njit(
        cache=cache_folder is not None,
        nogil=True,
        error_model="numpy",
        forceinline=inlined,
        _nrt=False,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=function.__name__.startswith("_"),
    )(function)
    registry[f"{function.__module__}.{function.__qualname__}"] = compiled
    return cast(F, compiled)


def jit_enabled() -> bool:
    """Whether kernels are compiled at all (``NUMBA_DISABLE_JIT`` unset)."""
    return not _config.DISABLE_JIT


def is_compiled(name: str) -> bool:
    """Whether the machine code of the kernel function *name* is in the cache folder."""
    return cache_folder is not None and any(cache_folder.glob(f"**/*.{name}-*.nbi"))
