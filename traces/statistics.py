"""Counter snapshots of a bundle, ``statistics.parquet``: one row a snapshot and counter, to the last digit of the
source.

While a recording goes on they are files of their own, in the folder ``statistics``, in order of their names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiersim.errors import TraceError
from tiersim.traces.parquet import DAMAGE, batches, open_parquet, part_of
from tiersim.traces.schema import STATISTICS_COLUMNS

NAME = "statistics.parquet"
PARTS = "statistics"
#: What one entity says in one snapshot: numbers by the names of counters and gauges, texts by theirs.
Values = Mapping[str, Decimal | str]

#: 19 digits before the point hold any int64, 18 behind it the digits that a double is printed with.
_PRECISION, _SCALE = 37, 18
_LEAST = Decimal(1).scaleb(-_SCALE)
_MOST = Decimal(10) ** (_PRECISION - _SCALE)
_ROUNDING = Context(prec=60, rounding=ROUND_HALF_EVEN)

#: A row group ends with the snapshot that reaches so many rows.
_ROWS_PER_GROUP = 1 << 16
_Row = tuple[int, int | None, str, str, str, Decimal | str]
_Cells = tuple[Any, ...]

_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {"int64": pa.int64(), "decimal": pa.decimal128(_PRECISION, _SCALE), "text": _TEXT}
_SCHEMA = pa.schema([pa.field(c.name, _TYPES[c.kind], nullable=c.nullable) for c in STATISTICS_COLUMNS])


@dataclass(frozen=True)
class Snapshot:
    """What was counted at one moment: values by (subject, entity), in the words of :mod:`tiersim.traces.counters`.

    ``time_ns`` is None when nobody noted it. Which zero it counts from is for whoever makes it to say.
    """

    time_ns: int | None
    values: Mapping[tuple[str, str], Values]


class StatisticsWriter:
    """Takes snapshots in order of time and writes ``statistics.parquet``; without any there is no file."""

    def __init__(self, folder: Path, name: str = NAME, first: int = 0) -> None:
        """Write into *folder*, under another *name* if it is a part, whose snapshots are counted from *first*."""
        self.snapshots = first
        self.last_ns = 0
        self._path = folder / name
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[_Row] = []

    def append(self, snapshot: Snapshot) -> None:
        """Write one snapshot."""
        self._rows += [
            (self.snapshots, snapshot.time_ns, subject, entity, counter, value)
            for (subject, entity), values in snapshot.values.items()
            for counter, value in values.items()
        ]
        self.snapshots += 1
        self.last_ns = max(self.last_ns, snapshot.time_ns or 0)
        if len(self._rows) >= _ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write what is left, and the Parquet footer."""
        if self._rows:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, _SCHEMA, compression="zstd")
        number, time_ns, subject, entity, counter, value = zip(*self._rows, strict=True)
        columns = {
            "snapshot": pa.array(number, pa.int64()),
            "time_ns": pa.array(time_ns, pa.int64()),
            "subject": pa.array(subject, pa.string()).dictionary_encode(),
            "entity": pa.array(entity, pa.string()).dictionary_encode(),
            "counter": pa.array(counter, pa.string()).dictionary_encode(),
            "value": pa.array([None if isinstance(v, str) else storable(v) for v in value], _TYPES["decimal"]),
            "text": pa.array([v if isinstance(v, str) else None for v in value], pa.string()).dictionary_encode(),
        }
        self._writer.write_table(pa.Table.from_arrays([columns[name] for name in _SCHEMA.names], schema=_SCHEMA))
        self._rows.clear()


def part_paths(folder: Path) -> list[Path]:
    """Return the parts of the bundle in *folder*, in order of time."""
    parts = part_of(folder, PARTS)
    return sorted(part_of(parts, path.name) for path in parts.glob("*.parquet"))


def write_joined(folder: Path, target: Path) -> None:
    """Write the parts of the bundle in *folder* to *target* as one table; the parts stay."""
    with pq.ParquetWriter(target, _SCHEMA, compression="zstd") as writer:
        for group in _row_groups(part_paths(folder)):
            writer.write_table(group)


def _row_groups(parts: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the rows of parts in groups that are not small."""
    gathered: list[pa.Table] = []
    for path in parts:
        gathered.append(pq.read_table(path, memory_map=False, use_threads=False).cast(_SCHEMA))
        if sum(map(len, gathered)) >= _ROWS_PER_GROUP:
            yield pa.concat_tables(gathered)
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered)


def is_storable(value: Decimal) -> bool:
    """Tell whether the table can hold a number: it is one, and has no more than 19 digits before the point."""
    return value.is_finite() and -_MOST < value < _MOST


def storable(value: Decimal) -> Decimal | None:
    """Return a number as the table holds it, with 18 digits behind the point; None for one that it cannot hold."""
    if not is_storable(value):
        return None
    return value.quantize(_LEAST, context=_ROUNDING)


def read_snapshots(folder: Path) -> Iterator[Snapshot]:
    """Yield the snapshots of the bundle in *folder*, none if it has no such table; raises TraceError naming what is
    wrong.

    The parts count where a recording did not come to its end, and left them instead of the table.
    """
    path = part_of(folder, NAME)
    for table in [path] if path.exists() else part_paths(folder):
        yield from _grouped(_opened(table), table)


def _opened(path: Path) -> pq.ParquetFile:
    file = open_parquet(path, "import the recording again")
    for column in STATISTICS_COLUMNS:
        if column.required and column.name not in file.schema_arrow.names:
            raise TraceError(f"{path}: the column {column.name!r} is required and not there; import again")
    return file


def _grouped(file: pq.ParquetFile, path: Path) -> Iterator[Snapshot]:
    """Yield the snapshots of an opened table; rows of one snapshot stand together."""
    number, time_ns = -1, None
    values: dict[tuple[str, str], dict[str, Decimal | str]] = {}
    for snapshot, taken_ns, subject, entity, counter, value, text in _rows(file, path):
        if snapshot != number:
            if snapshot < number:
                raise TraceError(f"{path}: snapshot {snapshot} stands behind {number}; sort by snapshot")
            if values:
                yield Snapshot(time_ns, values)
            number, time_ns, values = snapshot, taken_ns, {}
        said = text if value is None else value
        if said is not None:
            values.setdefault((subject, entity), {})[counter] = said
    if values:
        yield Snapshot(time_ns, values)


def _rows(file: pq.ParquetFile, path: Path) -> Iterator[_Cells]:
    """Yield rows, in the order of STATISTICS_COLUMNS."""
    try:
        for batch in batches(file, 1 << 16):
            there = {f.name: batch.column(f.name).cast(_plain(f.type)) for f in _SCHEMA if f.name in batch.schema.names}
            for column in STATISTICS_COLUMNS:
                if column.required and there[column.name].null_count:
                    raise TraceError(f"{path}: column {column.name!r} is empty in some rows; every row needs a value")
            nothing = [None] * len(batch)
            columns = [_cells(there[name]) if name in there else nothing for name in _SCHEMA.names]
            yield from zip(*columns, strict=True)
    except MemoryError:
        raise
    except DAMAGE as error:
        what = str(error).splitlines()[0]
        raise TraceError(
            f"{path}: is damaged, or a column has another type ({what}); import the recording again"
        ) from None


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if kind == _TEXT else kind


def _cells(column: pa.Array) -> list[Any]:
    """Return a column as Python objects, of which equal ones are one: most are a few words, or 0."""
    coded = column.dictionary_encode()
    words = [*coded.dictionary.to_pylist(), None]
    return [words[code] for code in coded.indices.fill_null(len(words) - 1).to_pylist()]
