"""The only module that compiles: the decorator of every kernel. Where machine code is kept: `kernel_cache`."""

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.extending import typeof_impl

from tiersim import kernel_cache

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
    compiled = njit(
        nogil=True,
        error_model="numpy",
        forceinline=True,
        _nrt=False,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not for_python,
    )(function)
    if not for_python:
        template = compiled.get_call_template
        compiled.get_call_template = lambda args, kws: template(
            tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()}
        )
    if kernel_cache.place_of(function.__module__, Path(function.__code__.co_filename).resolve()) is not None:
        compiled._cache = kernel_cache.KernelCache(function)
    return compiled


def _plain(kind: Any) -> Any:
    """Return the type that a kernel is compiled for where another one calls it with *kind*: int64 for integers of any width, and for constants.

    Else each mixture of them is compiled by itself: one helper was compiled 58 times. What follows from a constant is found all the same, since helpers
    are inlined.
    """
    plain = getattr(kind, "literal_type", kind)
    return types.int64 if isinstance(plain, types.Integer) and plain.maxval <= types.int64.maxval else plain


@typeof_impl.register(Kernel)
def _type_inside_kernels(made: Kernel, _: Any) -> Any:
    """Tell numba what a kernel is where another one calls it."""
    return types.Dispatcher(made.inner)


def jit_enabled() -> bool:
    """Whether kernels are compiled at all (``NUMBA_DISABLE_JIT`` unset)."""
    config: Any = numba.config
    return not config.DISABLE_JIT
