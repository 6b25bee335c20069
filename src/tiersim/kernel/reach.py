"""What a kernel's machine code depends on: its own code, the kernels and constants that it reaches, its arguments, and
what compiles it.

Comments, documentation and what no kernel reads play no part, nor does the place of the sources: copies of one version
share their code.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from sys import implementation
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tiersim.kernel.blocks import Kind
from tiersim.kernel.store import KEY_LENGTH
from tiersim.kernel.versions import plain_numba

if TYPE_CHECKING:
    from tiersim.kernel import Kernel


def code_text(kernel: "Kernel", kinds: tuple[Kind, ...], *, checked: bool) -> str:
    """Return all that a kernel's machine code for arguments of these kinds is made of."""
    parts = [f"{kernel.__module__}.{kernel.__qualname__}", str(checked), str(kernel.vectorized), *map(str, kinds)]
    parts += sorted(own_digest(one) for one in reached(kernel))
    return "\n".join(parts)


def code_key(text: str, compiler: str) -> str:
    """Return a key under which machine code that a compiler makes of *text* is kept."""
    return hashlib.blake2b(f"{compiler}\n{text}".encode(), digest_size=KEY_LENGTH // 2).hexdigest()


def reached(kernel: "Kernel") -> "set[Kernel]":
    """Return a kernel and all that it calls, directly or not."""
    found, left = {kernel}, [kernel]
    while left:
        new = {value for _, value in _globals(left.pop().function) if _is_kernel(value)} - found
        found |= new
        left += new
    return found


def _is_kernel(value: Any) -> bool:
    from tiersim.kernel import Kernel

    return isinstance(value, Kernel)


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function reads beside its arguments: globals, globals of modules of this package, and what it closes
    over; name and value.
    """
    names = set(function.__code__.co_names)
    known = function.__globals__
    yield from zip(
        function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True
    )
    yield "defaults", function.__defaults__
    for name in sorted(names & known.keys()):
        value = known[name]
        yield name, value
        if isinstance(value, ModuleType) and value.__name__.startswith("tiersim"):
            yield from ((f"{name}.{part}", getattr(value, part)) for part in sorted(names) if hasattr(value, part))


@cache
def own_digest(kernel: "Kernel") -> str:
    """Return a digest of a kernel's own code and of the constants that it reads."""
    digest = hashlib.blake2b(f"{kernel.__module__}.{kernel.__qualname__} {kernel.hot}".encode(), digest_size=12)
    digest.update(_code_text(kernel.function.__code__, kernel.function.__doc__).encode())
    for name, value in _globals(kernel.function):
        digest.update(f"{name} = {_text(value)}\n".encode())
    return digest.hexdigest()


def _code_text(code: CodeType, doc: str | None) -> str:
    constants = [None if constant is doc or constant == doc else constant for constant in code.co_consts]
    return "\n".join(
        map(
            repr,
            (
                code.co_code,
                constants,
                code.co_names,
                code.co_varnames,
                code.co_freevars,
                code.co_argcount,
                code.co_flags,
                code.co_exceptiontable,
            ),
        )
    )


def _text(value: Any) -> str:
    """Return what a kernel sees of a global.

    Names of attributes are among the names that a function reads, so a global may be here that no kernel reads; one
    that a kernel cannot take is refused when it is translated.
    """
    if isinstance(value, bool | int | float | str | bytes | np.generic | np.dtype | type(None)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.blake2b(value.tobytes(), digest_size=12).hexdigest()}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type) and issubclass(value, tuple):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', ())}"
    if isinstance(value, type | FunctionType | BuiltinFunctionType) or _is_kernel(value):
        return f"{value.__module__}.{value.__qualname__}"
    return type(value).__qualname__


@cache
def compiler_text() -> str:
    """Return all that makes machine code out of kernels here."""
    from tiersim.kernel.machine_code import level_wanted, target_text

    level = level_wanted()
    if level is not None and not plain_numba():
        return shipped_text(level)
    names = ("numba", "llvmlite", "numpy") if plain_numba() else ("llvmlite",)
    packages = " ".join(f"{name} {version(name)}" for name in names)
    return f"{_compiler_digest()} {packages} {target_text()} {plain_numba()}"


def shipped_text(level: str) -> str:
    """Return what made the code that is shipped for a level of processors. It is whole: no version of a package that
    is installed beside it plays a part.
    """
    return f"{_compiler_digest()} {level}"


@cache
def _compiler_digest() -> str:
    """Return a digest of our own part, and the version of Python, whose bytecode kernels are known by."""
    own = Path(__file__).parent
    sources = hashlib.blake2b(digest_size=12)
    for name in ("values", "arithmetic", "expressions", "translate", "plain", "types", "machine_code"):
        sources.update((own / f"{name}.py").read_bytes())
    return f"{implementation.cache_tag} {sources.hexdigest()}"
