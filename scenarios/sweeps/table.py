"""All rows of a sweep as one Parquet table."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiersim.scenarios.sweeps.axes import Axis
from tiersim.scenarios.sweeps.rows import Row

#: Rows that are in memory at a time.
_ROWS_PER_GROUP = 256
#: What stays in the rows' own files: how figures were come by, and texts that may be long.
_LEFT_OUT = ("basis", "resolved", "text")
_FIRST = {
    "point": pa.int64(),
    "replication": pa.int64(),
    "status": pa.string(),
    "error": pa.string(),
}
_TYPES: tuple[tuple[type, pa.DataType], ...] = (
    (bool, pa.bool_()),
    (int, pa.int64()),
    (float, pa.float64()),
)


def write_table(rows: Callable[[], Iterable[Row]], axes: Sequence[Axis], target: Path) -> None:
    """Write what *rows* yields, each time it is called, in its order.

    Columns are the paths to the values of a row, joined by dots: ``settings.KEY``, ``numbers.KEY`` of axes that are
    numbers, and then the summary's, sorted; lists are JSON. A value that a row does not have is null.
    """
    kinds: dict[str, set[type]] = {}
    for row in rows():
        for path, value in _flat(row, axes):
            if value is not None:
                kinds.setdefault(path, set()).add(type(value))
    first = {**_FIRST, **{f"settings.{axis.key}": pa.string() for axis in axes}}
    first |= {f"numbers.{axis.key}": pa.float64() for axis in axes if axis.numbers is not None}
    found = {path: _type(kinds[path]) for path in sorted(kinds) if path not in first}
    schema = pa.schema([*first.items(), *found.items()])
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in _batches(rows(), _ROWS_PER_GROUP):
            flat = [dict(_flat(row, axes)) for row in batch]
            columns = [pa.array([_cast(row.get(f.name), f.type) for row in flat], f.type) for f in schema]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _flat(row: Row, axes: Sequence[Axis]) -> Iterator[tuple[str, Any]]:
    for key in (*_FIRST, "screened"):
        yield from _leaves(key, row.get(key))
    for axis in axes:
        value = row["settings"][axis.key]
        yield f"settings.{axis.key}", value
        if axis.numbers is not None:
            yield f"numbers.{axis.key}", axis.numbers[axis.values.index(value)]
    for key, value in row["summary"].items():
        yield from _leaves(key, value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _LEFT_OUT:
                yield from _leaves(f"{path}.{key}", inner)
    else:
        yield path, json.dumps(value, sort_keys=True) if isinstance(value, list) else value


def _type(kinds: set[type]) -> pa.DataType:
    if kinds == {int, float}:
        return pa.float64()
    return next((arrow for kind, arrow in _TYPES if kinds == {kind}), pa.string())


def _cast(value: Any, wanted: pa.DataType) -> Any:
    if value is None or wanted != pa.string():
        return value
    return value if isinstance(value, str) else json.dumps(value)
