"""What kernels compute with: kinds of values, which kind an operation has, and LLVM's words for numbers.

Numbers follow numba's rules, which are those of a machine: an operation on integers is one of 64 bits, without a sign
if neither side has one; where two kinds meet in a variable numpy's promotion says what it holds.
"""

import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tiersim.kernel.blocks import ArrayKind, SetKind


class Number:
    """A number of a kind that numpy has. There is one object for each kind."""

    def __init__(self, name: str) -> None:
        """*name* as numpy has it."""
        dtype = np.dtype(name)
        self.name, self.dtype, self.letter = name, dtype, dtype.kind
        self.bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
        self.is_int, self.is_float, self.signed = dtype.kind in "iu", dtype.kind == "f", dtype.kind == "i"
        self.llvm = {"float32": "float", "float64": "double"}.get(name, f"i{self.bits}")
        #: As it lies in memory.
        self.stored = "i8" if self.bits == 1 else self.llvm
        self.bytes = dtype.itemsize


class Row:
    """A row of a table with named fields: its address."""

    llvm = "ptr"
    name: str

    def __init__(self, dtype: np.dtype[Any]) -> None:
        """*dtype* names the fields."""
        self.dtype, self.name = dtype, f"row {dtype}"
        self.fields: dict[str, tuple[Number | Row, int]] = {
            name: (kind_of(field[0]), field[1]) for name, field in (dtype.fields or {}).items()
        }


class TableKind:
    """An array: the address of its words."""

    llvm = "ptr"

    def __init__(self, kind: ArrayKind) -> None:
        """*kind* as in blocks."""
        self.item, self.ndim, self.contiguous, self.writable = (
            kind_of(kind.dtype),
            kind.ndim,
            kind.contiguous,
            kind.writable,
        )
        self.words, self.name, self.bytes = kind.words, f"table {kind.digest}", kind.dtype.itemsize


class TableSetKind:
    """A set of tables: the address of its block."""

    llvm = "ptr"

    def __init__(self, kind: SetKind) -> None:
        """*kind* as in blocks."""
        self.words, self.name = kind.words, f"tables {kind.name} {kind.digest}"
        self.fields: dict[str, tuple[TableKind | TableSetKind, int]] = {
            name: (table_of(one), at) for name, one, at in kind.places()
        }


class Several:
    """Several values together: a tuple, or a NamedTuple if *names* are given. It has no value of its own in LLVM."""

    def __init__(self, kinds: "tuple[Kind, ...]", names: tuple[str, ...] | None) -> None:
        """There is one object for the same kinds and names: see :func:`several`."""
        self.kinds, self.names = kinds, names
        self.name: str = f"({', '.join(kind.name for kind in kinds)})"


class Nothing:
    """None."""

    name = "none"


Kind: TypeAlias = Number | Row | TableKind | TableSetKind | Several | Nothing
NOTHING = Nothing()
BOOL, INT, UNSIGNED, FLOAT = Number("bool"), Number("int64"), Number("uint64"), Number("float64")
_NUMBERS = {one.dtype: one for one in (BOOL, INT, UNSIGNED, FLOAT)}


@cache
def kind_of(dtype: np.dtype[Any]) -> "Number | Row":
    """Return the kind of an item of an array."""
    if dtype.fields is not None:
        return Row(dtype)
    if dtype.kind not in "biuf" or not dtype.isnative:
        raise TypeError(f"a kernel has no {dtype}")
    return _NUMBERS.get(dtype) or _NUMBERS.setdefault(dtype, Number(dtype.name))


@cache
def table_of(kind: ArrayKind | SetKind) -> TableKind | TableSetKind:
    """Return the kind of an array, or of a set of them."""
    return TableKind(kind) if isinstance(kind, ArrayKind) else TableSetKind(kind)


@cache
def several(kinds: "tuple[Kind, ...]", names: tuple[str, ...] | None = None) -> Several:
    """Return the kind of several values together."""
    return Several(kinds, names)


class Value(NamedTuple):
    """A value in a kernel: LLVM's name of it, or the values in it, or what Python says that it always is."""

    kind: Any  # Kind; None: an object of Python, such as a function, that is no number
    text: str = ""
    parts: "tuple[Value, ...]" = ()
    constant: Any = None


def constant(value: Any) -> Value:
    """Return what Python knows of: a number, a tuple of numbers, or any other object."""
    if isinstance(value, bool | np.bool_):
        return Value(BOOL, "true" if value else "false", (), bool(value))
    if isinstance(value, int):
        return Value(INT if value < 2**63 else UNSIGNED, str(value), (), value)
    if isinstance(value, np.integer):
        return Value(kind_of(value.dtype), str(int(value)), (), int(value))
    if isinstance(value, float):  # np.float64 is one
        return Value(FLOAT, float_text(value), (), float(value))
    if isinstance(value, tuple) and not isinstance(value, type):
        parts = tuple(constant(one) for one in value)
        if all(one.kind is not None for one in parts):
            return Value(several(tuple(one.kind for one in parts), getattr(value, "_fields", None)), "", parts)
    return Value(NOTHING) if value is None else Value(None, "", (), value)


def float_text(value: float) -> str:
    """Return LLVM's word for a double, bit by bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@cache
def both(one: Any, other: Any) -> Any:
    """Return the kind of a variable that holds the one or the other, None if there is none."""
    if one is other:
        return one
    if isinstance(one, Number) and isinstance(other, Number):
        return kind_of(np.promote_types(one.dtype, other.dtype))
    if isinstance(one, Several) and isinstance(other, Several) and len(one.kinds) == len(other.kinds):
        kinds = tuple(both(a, b) for a, b in zip(one.kinds, other.kinds, strict=True))
        return None if None in kinds else several(kinds, one.names if one.names == other.names else None)
    return None


def as_argument(kind: Any) -> Any:
    """Return the kind that a kernel is compiled for where another one calls it with *kind*: integers are wide, or it
    would be compiled once for each mixture of them.
    """
    return INT if isinstance(kind, Number) and kind.is_int and kind is not UNSIGNED else kind


def flat(kind: Any) -> list[Any]:
    """Return the kinds of all values that have one in LLVM."""
    if isinstance(kind, Several):
        return [part for one in kind.kinds for part in flat(one)]
    return [] if kind is NOTHING else [kind]


def together(values: Iterable[Value], names: tuple[str, ...] | None = None) -> Value:
    """Return several values as one."""
    parts = tuple(values)
    return Value(several(tuple(one.kind for one in parts), names), "", parts)


def leaves(value: Value) -> list[Value]:
    """Return the values that have one in LLVM."""
    if isinstance(value.kind, Several):
        return [leaf for part in value.parts for leaf in leaves(part)]
    return [] if value.kind is NOTHING else [value]


def whole(kind: Any, texts: Iterator[str]) -> Value:
    """Return a value of LLVM's names of its leaves."""
    if isinstance(kind, Several):
        return Value(kind, "", tuple(whole(one, texts) for one in kind.kinds))
    return Value(kind) if kind is NOTHING else Value(kind, next(texts))
