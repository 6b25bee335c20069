"""How many bits of a word are set: one instruction, where kernels are compiled."""

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.extending import intrinsic

from tiersim.kernel import jit_enabled

_WORD = (1 << 64) - 1


def _in_machine_code(_typing: Any, word: Any) -> tuple[Any, Any]:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _in_python(word: int) -> int:
    return (int(word) & _WORD).bit_count()


#: Counts the bits of an int64; callable from kernels.
count_bits = cast("Callable[[int], int]", intrinsic(_in_machine_code) if jit_enabled() else _in_python)
