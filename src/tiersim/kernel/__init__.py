"""Kernels: functions over tables that are compiled when Python first calls them. This module imports nothing that
compiles.

Read :mod:`tiersim.kernel.calls` next: what a call does. What a table is for a kernel stands in `blocks` (memory) and
`values`, how a kernel becomes machine code in `translate`, with `expressions` and `arithmetic`, and `machine_code`
(LLVM), where that is kept in `reach` (under which key) and `store`. `plain` and `types` are numba's way.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C")


#: Of files with kernels, as they were loaded: what is compiled later is the same text.
stamps: dict[str, tuple[int, int] | None] = {}


def stamp(file: str) -> tuple[int, int] | None:
    """Return when a file was written, and its size; None for what is no file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


class Kernel:
    """A function that Python calls as machine code; other kernels call it within theirs."""

    def __init__(self, function: Callable[..., Any], *, hot: bool, checked: bool, vectorized: bool) -> None:
        """Compile nothing yet."""
        self.__name__, self.__qualname__, self.__module__ = (
            function.__name__,
            function.__qualname__,
            function.__module__,
        )
        self.__doc__, self.function = function.__doc__, function
        self.hot, self.checked, self.vectorized = hot, checked, vectorized
        file = function.__code__.co_filename
        if file not in stamps:
            stamps[file] = stamp(file)
        self._call: Callable[[tuple[Any, ...]], Any] = self._first_call

    def __call__(self, *arguments: Any) -> Any:
        """Run it on numbers, arrays and sets of tables. Raises IndexError for an index outside a table where that is
        checked.
        """
        return self._call(arguments)

    def _first_call(self, arguments: tuple[Any, ...]) -> Any:
        from tiersim.kernel.calls import Caller

        self._call = Caller(self)
        return self._call(arguments)

    def address(self, *arguments: Any) -> int:
        """Return where its machine code for such arguments is."""
        from tiersim.kernel.calls import Caller

        if not isinstance(self._call, Caller):
            self._call = Caller(self)
        return self._call.address(arguments)


#: Every kernel by qualified name.
registry: dict[str, Kernel] = {}


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, hot: bool = False, checked: bool = False, vectorized: bool = False) -> Callable[[F], F]: ...
def kernel(
    function: F | None = None, *, hot: bool = False, checked: bool = False, vectorized: bool = False
) -> F | Callable[[F], F]:
    """Compile *function* when Python first calls it; type checkers keep seeing the plain Python signature.

    A kernel takes and returns numbers; it takes arrays and sets of tables (:func:`table_set`), and cannot allocate.
    Its indices are never negative: a constant one counts from the end.

    *hot*: it is inlined wherever it is called. It is small, and called often from many places.
    *checked*: an index outside a table raises IndexError, in this kernel and in all that it calls; for what parses
    foreign bytes.
    *vectorized*: loops take several numbers at a time, in this kernel and in all that it calls; for what goes over rows
    of them. The event loop,
    whose loops are short, is a tenth slower with it.
    """

    def made(function: F) -> F:
        if not jit_enabled():
            return function
        one = registry[f"{function.__module__}.{function.__qualname__}"] = Kernel(
            function, hot=hot, checked=checked, vectorized=vectorized
        )
        return cast(F, one)

    return made if function is None else made(function)


#: What has an address where nothing is compiled: its place here.
_functions: list[Callable[..., Any]] = []


def address_of(function: Callable[..., Any], *arguments: Any) -> int:
    """Return an address for :func:`call_at`: that of a kernel for arguments like these, six of them, which returns up
    to three integers. A set of tables that it does not look at may be 0. The address is good for this process.
    """
    if isinstance(function, Kernel):
        return function.address(*arguments)
    if function not in _functions:
        _functions.append(function)
    return _functions.index(function)


def call_at(address: int, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> tuple[int, int, int]:
    """Call a kernel at an address within another kernel, which does not hold its code: a change of the one does not
    compile the other. Returns what it returns; the integers that it does not return mean nothing.
    """
    found = _functions[address](a, b, c, d, e, f)
    first, second, third = found if isinstance(found, tuple) else (found, 0, 0)
    return first, second, third


def fetch(table: Any, index: int) -> None:
    """Say that a row of a table is needed soon: the processor loads it into its cache meanwhile. The index may lie
    behind the end.
    """


def table_set(cls: type[C]) -> type[C]:
    """Let kernels take a NamedTuple of arrays, or of such NamedTuples, as one argument.

    Its tuples keep what kernels are given (:func:`tiersim.kernel.blocks.of_tables`). A NamedTuple has no room for it,
    so a subclass takes its place.
    """
    names = {name: getattr(cls, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(cls.__name__, (cls,), names | {"__getstate__": lambda self: None})  # copies have blocks of their own


def jit_enabled() -> bool:
    """Whether kernels are compiled at all (``NUMBA_DISABLE_JIT`` unset or 0)."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def checks_all() -> bool:
    """Whether indices of all kernels are checked (``NUMBA_BOUNDSCHECK`` set and not 0)."""
    return os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
