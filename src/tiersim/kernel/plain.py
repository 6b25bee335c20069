"""numba left alone: the second way of compiling kernels, which ours is held against, and which takes its place with a
version of llvmlite that was not tried (:mod:`tiersim.kernel.versions`). The results are the same; it compiles for
minutes.
"""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import typeof_impl

from tiersim.kernel import Kernel
from tiersim.kernel.blocks import Kind
from tiersim.kernel.machine_code import Translated
from tiersim.kernel.types import type_of


def translate(kernel: Kernel, kinds: tuple[Kind, ...], *, checked: bool) -> Translated:
    """Translate and optimise a kernel with all that it calls."""
    arguments = tuple(type_of(kind, checked=checked) for kind in kinds)
    returned = _compile(kernel, arguments).signature.return_type
    results, entry = _entry(kernel, len(kinds), returned)
    signature = (types.CPointer(types.int64), *arguments)
    symbol = _compile(entry, signature).fndesc.llvm_func_name
    return Translated(_dispatcher(entry).inspect_llvm(signature), symbol, results, is_optimised=True)


def _compile(kernel: Kernel, signature: tuple[Any, ...]) -> Any:
    """Return what numba says of a kernel for arguments of these types."""
    dispatcher = _dispatcher(kernel)
    dispatcher.compile(signature)
    return dispatcher.overloads[signature]


def _entry(kernel: Kernel, arguments: int, returned: Any) -> tuple[str, Kernel]:
    """Return what a kernel returns, and one that writes it as words."""
    is_tuple = isinstance(returned, types.BaseTuple)
    parts = list(returned) if is_tuple else [] if returned is types.none else [returned]
    letters = "".join("b" if p is types.boolean else "f" if isinstance(p, types.Float) else "i" for p in parts)
    names = ", ".join(f"a{place}" for place in range(arguments))
    lines = [f"def entry(words, {names}):", f"    result = kernel({names})"]
    for place, letter in enumerate(letters):
        value = f"result[{place}]" if is_tuple else "result"
        lines.append(
            f"    words[{place}] = " + (f"float64({value}).view(int64)" if letter == "f" else f"int64({value})")
        )
    scope: dict[str, Any] = {"kernel": kernel, "float64": np.float64, "int64": np.int64}
    # numba compiles functions, not texts, and its tuples of arguments have no names; nothing foreign is in these lines
    exec("\n".join(lines), scope)  # noqa: S102
    return "(" * is_tuple + letters, Kernel(scope["entry"], hot=False, checked=False, vectorized=False)


_dispatchers: dict[Kernel, Any] = {}


@typeof_impl.register(Kernel)
def _type_inside_kernels(made: Kernel, _: Any) -> Any:
    """Tell numba what a kernel is where another one calls it."""
    return types.Dispatcher(_dispatcher(made))


def _dispatcher(kernel: Kernel) -> Any:
    if kernel not in _dispatchers:
        njit: Any = numba.njit  # its types do not know all options
        # Without numba's runtime no references to arrays are counted; a kernel cannot allocate then.
        made = njit(
            nogil=True,
            error_model="numpy",
            _nrt=False,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=True,
            forceinline=True,
        )(kernel.function)
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template(
            tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()}
        )
        _dispatchers[kernel] = made
    return _dispatchers[kernel]


def _plain(kind: Any) -> Any:
    """Return the type that a kernel is compiled for where another one calls it with *kind*: int64 for integers of any
    width, and for constants.

    Otherwise numba compiles a kernel once for each mixture of integer widths. LLVM still propagates constants when it
    inlines.
    """
    plain = getattr(kind, "literal_type", kind)
    return types.int64 if isinstance(plain, types.Integer) and plain.maxval <= types.int64.maxval else plain
