"""Arguments of kernels in memory: an array, or a NamedTuple of arrays, is a block of 64-bit words.

An array has the address of its data, its lengths, and unless it is C-contiguous its strides in bytes. A NamedTuple has
the words of its fields in order, those of a NamedTuple within it included. A kernel takes the address of the block.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


class ArrayKind(NamedTuple):
    """What kernels are compiled for of an array."""

    dtype: np.dtype[Any]
    ndim: int
    contiguous: bool
    writable: bool

    @property
    def words(self) -> int:
        """How many words its block has."""
        return 1 + self.ndim * (1 if self.contiguous else 2)

    @property
    def digest(self) -> str:
        """A short name, which is the same in every process."""
        return _digest(self)

    def __str__(self) -> str:
        """Say all of it."""
        return f"{_layout(self.dtype)} {self.ndim} {self.contiguous:d} {self.writable:d}"


class SetKind(NamedTuple):
    """What kernels are compiled for of a NamedTuple of arrays."""

    name: str
    fields: tuple[tuple[str, Any], ...]  # names and kinds

    @property
    def words(self) -> int:
        """How many words its block has."""
        return sum(kind.words for _, kind in self.fields)

    @property
    def digest(self) -> str:
        """A short name, which is the same in every process."""
        return _digest(self)

    def places(self) -> Iterator[tuple[str, Any, int]]:
        """Yield name, kind and first word of each field."""
        place = 0
        for name, kind in self.fields:
            yield name, kind, place
            place += kind.words

    def __str__(self) -> str:
        """Say all of it."""
        return f"{self.name}({', '.join(f'{name} {kind}' for name, kind in self.fields)})"

    def __hash__(self) -> int:
        """Of the name alone, which few kinds share: each call of a kernel looks kinds up."""
        return hash(self.name)


#: Of an argument; a number is "int", "bool" or "float".
Kind: TypeAlias = ArrayKind | SetKind | str


@cache
def _digest(kind: ArrayKind | SetKind) -> str:
    return hashlib.blake2b(str(kind).encode(), digest_size=6).hexdigest()


@cache
def _layout(dtype: np.dtype[Any]) -> str:
    if dtype.fields is None:
        return dtype.str
    fields = ", ".join(f"{name} {_layout(field[0])} {field[1]}" for name, field in dtype.fields.items())
    return f"({fields} in {dtype.itemsize})"


class Block:
    """The words of an array or of a set of tables. It holds addresses only: the caller keeps the arrays alive."""

    __slots__ = ("address", "kind", "words")

    def __init__(self, kind: ArrayKind | SetKind, words: list[int]) -> None:
        """Take the words."""
        self.kind, self.words = kind, np.array(words, np.int64)
        self.address = self.words.ctypes.data


@cache
def _array_kind(dtype: np.dtype[Any], ndim: int, contiguous: bool, writable: bool) -> ArrayKind:
    return ArrayKind(dtype, ndim, contiguous, writable)


def of_array(array: NDArray[Any]) -> Block:
    """Return the block of an array. The array must live as long as the block is used. Raises TypeError for one whose
    items are not aligned.
    """
    return Block(*_array(array))


def _array(array: NDArray[Any]) -> tuple[ArrayKind, list[int]]:
    flags = array.flags
    contiguous = bool(flags.c_contiguous)
    if not flags.aligned:
        raise TypeError(f"an array of {array.dtype} is not aligned; copy it before a kernel takes it")
    words = [array.ctypes.data, *array.shape]
    if not contiguous:
        words += array.strides
    return _array_kind(array.dtype, array.ndim, contiguous, bool(flags.writeable)), words


def _tables(tables: Any) -> tuple[ArrayKind | SetKind, list[int]]:
    block = of_tables(tables)
    return block.kind, block.words.tolist()


def of_tables(tables: Any) -> Block:
    """Return the block of a set of tables, which is made once. Raises TypeError for what is none."""
    try:
        known: Block = tables._block
    except AttributeError:
        if not hasattr(tables, "_fields") or not hasattr(tables, "__dict__"):
            raise TypeError(
                f"a kernel cannot take {type(tables).__name__}; give numbers, arrays, or a NamedTuple under @table_set"
            ) from None
        parts = [_array(field) if isinstance(field, np.ndarray) else _tables(field) for field in tables]
        kind = _set_kind(type(tables).__name__, tables._fields, tuple(kind for kind, _ in parts))
        known = tables._block = Block(kind, [word for _, words in parts for word in words])
    return known


@cache
def _set_kind(name: str, fields: tuple[str, ...], kinds: tuple[ArrayKind | SetKind, ...]) -> SetKind:
    return SetKind(name, tuple(zip(fields, kinds, strict=True)))
