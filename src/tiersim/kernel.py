"""The only module that touches numba: the decorator of every compiled function, and where its machine code is kept.

numba does not notice that a function which another file defines has changed, so the cache folder is named by a hash of
every source that a kernel may come from. Where no folder can be written the cache is off for this process.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.extending import typeof_impl

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


class Kernel:
    """A kernel in its two compiled forms: ``inner``, for other kernels, and ``outer``, for Python.

    Taking arrays out of Python objects is a third of the compilation, so only those kernels have code for it that Python calls.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Compile nothing yet."""
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.inner = _compiled(function, for_python=False)
        named = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
        named.__module__ = function.__module__
        named.__qualname__ = f"for_python.{function.__qualname__}"  # what its file in the cache is called
        self.outer = _compiled(named, for_python=True)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python."""
        return self.outer(*arguments)

    @property
    def signatures(self) -> list[Any]:
        """Types that it was compiled for, in either form."""
        return [*self.inner.signatures, *self.outer.signatures]


#: Every kernel by qualified name; the warm-up and the tests go through it.
registry: dict[str, Kernel] = {}


def kernel(function: F) -> F:
    """Compile *function* on first use; type checkers keep seeing the plain Python signature.

    Kernels call each other with tables of many arrays. Left alone, numba passes every array by value and counts a
    reference to each at every call: the event loop was 14 times slower (0.23 against 3.2 million requests/s). So helpers
    are inlined by LLVM, and the reference counting of numba's runtime is off; a kernel therefore cannot allocate, and
    what it returns is made by its caller.
    """
    if not jit_enabled():
        return function
    made = registry[f"{function.__module__}.{function.__qualname__}"] = Kernel(function)
    return cast(F, made)


def _compiled(function: Callable[..., Any], *, for_python: bool) -> Any:
    njit: Any = numba.njit  # its types do not know the switch of the runtime
    return njit(
        cache=cache_folder is not None,
        nogil=True,
        error_model="numpy",
        forceinline=True,
        _nrt=False,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not for_python,
    )(function)


@typeof_impl.register(Kernel)
def _type_inside_kernels(made: Kernel, _: Any) -> Any:
    """Tell numba what a kernel is where another one calls it."""
    return types.Dispatcher(made.inner)


def jit_enabled() -> bool:
    """Whether kernels are compiled at all (``NUMBA_DISABLE_JIT`` unset)."""
    return not _config.DISABLE_JIT


def is_compiled(name: str) -> bool:
    """Whether the machine code of the kernel function *name* is in the cache folder."""
    return cache_folder is not None and any(cache_folder.glob(f"**/*.{name}-*.nbi"))
