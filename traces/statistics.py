"""Counter snapshots of a bundle, ``statistics.parquet``: one row a snapshot and counter, to the last digit of the
source.

While a recording goes on they are files of their own, in the folder ``statistics``, in order of their names.

Tables of a bundle that are read whole: columns checked, nulls as NOT_KNOWN, texts as codes into their words.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.parquet import DAMAGE, MOST_ROWS, as_type, batches, integers, open_parquet, part_of
from tiersim.traces.schema import NOT_KNOWN, QUERY_COLUMNS, STATEMENT_COLUMNS, STATISTICS_COLUMNS, Column

_TEXT = pa.dictionary(pa.int32(), pa.string())
_COLUMN_TYPES = {"int64": pa.int64(), "text": _TEXT}
_AGAIN = "import the recording again"


@dataclass(frozen=True)
class Table:
    """Columns of equal length by name: int64 with NOT_KNOWN (-1) for null, texts as int32 codes into ``words`` (-1:
    null).
    """

    columns: Mapping[str, NDArray[Any]]
    words: Mapping[str, Sequence[str]]

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(self.columns.values())))

    def texts(self, name: str) -> list[str | None]:
        """Return a column of texts as such."""
        words = [*self.words[name], None]
        return [words[code] for code in self.columns[name].tolist()]


def table_of(columns: Sequence[Column], rows: Sequence[Mapping[str, int | str | None]]) -> Table:
    """Return a table of rows that have names of *columns* for keys; what a row lacks is not known."""
    arrays: dict[str, NDArray[Any]] = {}
    words: dict[str, Sequence[str]] = {}
    for column in columns:
        values = [row.get(column.name) for row in rows]
        if column.kind == "text":
            codes: dict[str, int] = {}
            places = [-1 if value is None else codes.setdefault(str(value), len(codes)) for value in values]
            arrays[column.name], words[column.name] = np.array(places, np.int32), list(codes)
        else:
            arrays[column.name] = np.array([NOT_KNOWN if value is None else value for value in values], np.int64)
    return Table(arrays, words)


class TableWriter:
    """Writes tables of the same *columns* one behind the other to *path* as Parquet."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        """Open *path* for writing."""
        self._columns = columns
        self._schema = pa.schema([pa.field(c.name, _COLUMN_TYPES[c.kind], nullable=c.nullable) for c in columns])
        texts = [c.name for c in columns if c.kind == "text"]
        # Half the time of Parquet's defaults, and less space: numbers are stored as differences.
        differences = {c.name: "DELTA_BINARY_PACKED" for c in columns if c.kind != "text"}
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=texts,
            column_encoding=differences,
        )

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Write the Parquet footer."""
        self._writer.close()

    def append(self, table: Table) -> None:
        """Write the rows of *table*."""
        arrays = []
        for column in self._columns:
            values = table.columns[column.name]
            if column.kind == "text":
                codes = pa.array(values, mask=values < 0)
                arrays.append(pa.DictionaryArray.from_arrays(codes, pa.array(table.words[column.name], pa.string())))
            else:
                arrays.append(pa.array(values, mask=values == NOT_KNOWN if column.nullable else None))
        encoded = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(encoded, row_group_size=1 << 20)


def write_table(path: Path, columns: Sequence[Column], table: Table) -> None:
    """Write *table* to *path* as Parquet."""
    with TableWriter(path, columns) as writer:
        writer.append(table)


def read_table(path: Path, columns: Sequence[Column]) -> Table:
    """Read *columns* of the table at *path*, without rows if there is none; what can be cast without loss is cast.

    Raises TraceError naming the column that is missing or cannot be used, or that the file is damaged.
    """
    try:
        file = open_parquet(path, _AGAIN)
    except FileNotFoundError:
        return table_of(columns, [])
    if file.metadata.num_rows > MOST_ROWS:
        raise TraceError(
            f"{path}: has {file.metadata.num_rows:,} rows, more than {MOST_ROWS:,}; import parts of the recording"
        )
    wanted = [column.name for column in columns if column.name in file.schema_arrow.names]
    try:
        found = file.read(columns=wanted, use_threads=False)
        found.validate(full=True)  # indices beyond their words are passed on by pyarrow
    except MemoryError:
        raise
    except DAMAGE:
        raise TraceError(f"{path}: is not a whole Parquet file; {_AGAIN}") from None
    arrays: dict[str, NDArray[Any]] = {}
    words: dict[str, Sequence[str]] = {}
    for column in columns:
        if column.name not in found.column_names:
            if column.required:
                raise TraceError(f"{path}: the column {column.name!r} is required and not there; import again")
            nothing = np.full(found.num_rows, NOT_KNOWN, np.int32 if column.kind == "text" else np.int64)
            arrays[column.name], words[column.name] = nothing, []
            continue
        values = found[column.name].combine_chunks()
        if values.null_count and not column.nullable:
            row = int(np.flatnonzero(values.is_null())[0])
            raise TraceError(f"{path}: column {column.name!r}, row {row} is empty; every row needs a value")
        try:
            if column.kind == "text":
                encoded = as_type(values, pa.string()).dictionary_encode()
                arrays[column.name] = integers(encoded.indices, -1).astype(np.int32)
                words[column.name] = encoded.dictionary.to_pylist()
            else:
                arrays[column.name] = integers(as_type(values, pa.int64()), NOT_KNOWN)
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError):
            raise TraceError(
                f"{path}: column {column.name!r} is {values.type}, which cannot be turned into {column.kind} without"
                " loss; write it as that"
            ) from None
    return Table(arrays, words)


STATEMENTS = "statements.parquet"
QUERIES = "queries.parquet"


def read_statements(folder: Path, names: Collection[str] | None = None) -> Table:
    """Return the statements of the bundle in *folder*, in order of their starts; none if it has no such table.

    *names* are those of the columns that are wanted, all if it is None. Raises TraceError, see
    :func:`tiersim.traces.statistics.read_table`.
    """
    columns = [column for column in STATEMENT_COLUMNS if names is None or column.name in names]
    return read_table(part_of(folder, STATEMENTS), columns)


def read_queries(folder: Path) -> Table:
    """Return the queries of the bundle in *folder*; none if it has no such table. Raises TraceError."""
    return read_table(part_of(folder, QUERIES), QUERY_COLUMNS)


def texts_of_queries(folder: Path, by: str = "query") -> dict[str, str]:
    """Return the texts of queries of the bundle in *folder*, where they are known, *by* another column: ``entity`` is
    what counters call them. Raises TraceError.
    """
    table = read_queries(folder)
    pairs = zip(table.texts(by), table.texts("text"), strict=True)
    return {key: text for key, text in pairs if key is not None and text is not None}


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


def has_statements(path: Path) -> bool:
    """Tell whether the bundle at *path* has queries or counters, beside requests or alone."""
    return any((path / name).exists() for name in (NAME, PARTS, STATEMENTS))
