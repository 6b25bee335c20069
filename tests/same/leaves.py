"""Numbers of nested things by name: fields of tables, keys of documents, columns of Arrow tables; each as a digest of
its bits.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

#: Arrays of one dimension that are no longer have a name for each place: a constant of the code says what is where.
_PLACES = 16


def leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and digests of all numbers in *value*, which is called *name*; nothing for texts and what is none of
    a number.
    """
    if isinstance(value, np.ndarray):
        yield from _of_array(value, name)
    elif isinstance(value, pa.Table):
        for column in value.column_names:
            yield from _of_column(value.column(column), f"{name}.{column}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from leaves(one, f"{name}.{key}")
    elif isinstance(value, bool | int | float | np.generic):
        yield name, _digest(np.asarray([value]))
    elif hasattr(value, "_fields"):
        for field in value._fields:
            yield from leaves(getattr(value, field), f"{name}.{field}")
    elif hasattr(value, "__dataclass_fields__"):
        for field in value.__dataclass_fields__:
            yield from leaves(getattr(value, field), f"{name}.{field}")
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        numbers = [one for one in value if isinstance(one, bool | int | float)]
        if numbers and len(numbers) == len(value):
            yield name, _digest(np.asarray(numbers))
        else:
            for place, one in enumerate(value):
                yield from leaves(one, f"{name}.{place}")


def _of_array(array: np.ndarray[Any, Any], name: str) -> Iterator[tuple[str, str]]:
    if array.dtype.names:
        for field in array.dtype.names:
            yield from _of_array(array[field], f"{name}.{field}")
    elif array.ndim == 1 and 0 < array.size <= _PLACES and array.dtype.kind in "biuf":
        for place, number in enumerate(array):
            yield f"{name}.{place}", _digest(np.asarray([number]))
    elif array.dtype.kind in "biuf":
        yield name, _digest(array)


def _of_column(column: pa.ChunkedArray, name: str) -> Iterator[tuple[str, str]]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.combine_chunks().dictionary_decode() if column.num_chunks else column
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        yield (
            name,
            _digest(
                np.asarray(column.is_null()), np.asarray(column.fill_null(False if pa.types.is_boolean(kind) else 0))
            ),
        )


def _digest(*arrays: np.ndarray[Any, Any]) -> str:
    """Return a digest of numbers, whatever the width of their type: integers as 64 bits, floats as doubles."""
    found = blake2b(digest_size=8)
    for array in arrays:
        if array.dtype.kind == "f":
            found.update(np.ascontiguousarray(array, np.float64).tobytes())
        elif array.dtype == np.uint64:
            found.update(np.ascontiguousarray(array).tobytes())
        else:
            found.update(np.ascontiguousarray(array, np.int64).tobytes())
    return found.hexdigest()
