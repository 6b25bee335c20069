"""What happens when Python calls a kernel: its arguments become words, and its machine code for their kinds is found,
or made, and run.

The code is a C function. It runs without the lock of the interpreter; numba is imported only where code has to be made.
"""

import ctypes
import struct
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiersim.kernel import checks_all, store
from tiersim.kernel.blocks import Block, Kind, of_array, of_tables
from tiersim.kernel.versions import plain_numba

if TYPE_CHECKING:
    from tiersim.kernel import Kernel

_WORD = ctypes.c_int64
_C_TYPES = {"int": _WORD, "bool": _WORD, "float": ctypes.c_double}
#: Kinds of numbers by their type.
_NUMBERS: dict[type, str] = {int: "int", bool: "bool", float: "float", np.float64: "float", np.bool_: "bool"} | {
    np.dtype(code).type: "int" for code in "bBhHiIlLqQ"
}
_compiling = RLock()


class Caller:
    """Calls one kernel from Python."""

    def __init__(self, kernel: "Kernel") -> None:
        """Find and make nothing yet."""
        self._kernel = kernel
        self._entries: dict[tuple[Kind, ...], _Entry] = {}

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Run the kernel, which is compiled first if it has to be."""
        words: list[Any] = []
        held: list[Block] = []  # blocks must live until the kernel returns
        return self._entry(arguments, words, held).run(words)

    def address(self, arguments: tuple[Any, ...]) -> int:
        """Return where the code for such arguments is; the kernel is compiled first if it has to be."""
        return self._entry(arguments, [], []).address

    def _entry(self, arguments: tuple[Any, ...], words: list[Any], held: list[Block]) -> "_Entry":
        """Return the code for *arguments*; appends them as words, and their blocks."""
        kinds: list[Kind] = []
        for argument in arguments:
            kind = _NUMBERS.get(type(argument))
            if kind is not None:
                kinds.append(kind)
                words.append(bool(argument) if kind == "bool" else argument)
                continue
            block = of_array(argument) if isinstance(argument, np.ndarray) else of_tables(argument)
            held.append(block)
            kinds.append(block.kind)
            words.append(block.address)
        key = tuple(kinds)
        entry = self._entries.get(key)
        if entry is None:
            with _compiling:
                entry = self._entries.get(key)
                if entry is None:
                    entry = self._entries[key] = _entry(self._kernel, key)
        return entry


class _Entry(NamedTuple):
    """A kernel for arguments of some kinds."""

    run: Callable[[list[Any]], Any]  # takes words
    address: int


def _entry(kernel: "Kernel", kinds: tuple[Kind, ...]) -> _Entry:
    """Find or make the code of a kernel for such arguments."""
    from tiersim.kernel import machine_code
    from tiersim.kernel.reach import code_key, code_text, compiler_text, shipped_text

    checked = kernel.checked or checks_all()
    name = f"{kernel.__module__}.{kernel.__qualname__}"
    text, level = code_text(kernel, kinds, checked=checked), machine_code.level_here()
    code = None if level is None else store.shipped(level, name, code_key(text, shipped_text(level)))
    if code is None:
        key = code_key(text, compiler_text())
        code = store.find(name, key)
    if code is None:
        with store.locked(name):
            code = store.find(name, key)  # another process may have made it meanwhile
            if code is None:
                if plain_numba():
                    from tiersim.kernel.plain import translate
                else:
                    from tiersim.kernel.translate import translate

                translated = translate(kernel, kinds, checked=checked)
                code = machine_code.compiled(translated, f"kernel_{key}", vectorized=kernel.vectorized)
                store.keep(name, key, code)
    address = machine_code.load(code)
    types = [_C_TYPES[kind] if isinstance(kind, str) else _WORD for kind in kinds]
    return _Entry(_callable(name, code, address, types), address)


def _callable(name: str, code: store.Code, address: int, types: list[Any]) -> Callable[[list[Any]], Any]:
    # numba's calling convention: where a result and an error would go, then the arguments; the status is returned
    call = ctypes.CFUNCTYPE(ctypes.c_int32, _WORD, _WORD, ctypes.c_void_p, *types)(address)
    scratch = (_WORD * 8)()
    nowhere = ctypes.addressof(scratch)
    letters, is_tuple = code.results.lstrip("("), code.results.startswith("(")
    results_type = _WORD * max(len(letters), 1)
    read, whole = [_READ[letter] for letter in letters], set(letters) <= {"i"}

    def run(words: list[Any], scratch: Any = scratch) -> Any:
        found = results_type()
        if call(nowhere, nowhere, found, *words):
            raise IndexError(f"{name}: an index lies outside its table")
        if is_tuple:
            return tuple(found) if whole else tuple([one(word) for one, word in zip(read, found, strict=True)])
        return read[0](found[0]) if read else None

    return run


def _as_float(word: int) -> float:
    value: float = struct.unpack("d", struct.pack("q", word))[0]
    return value


_READ: dict[str, Callable[[int], Any]] = {"i": int, "b": bool, "f": _as_float}
