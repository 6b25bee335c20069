"""Tables of a bundle that are read whole: columns checked, nulls as NOT_KNOWN, texts as codes into their words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.parquet import DAMAGE, MOST_ROWS, open_parquet, part_of
from tiersim.traces.schema import NOT_KNOWN, QUERY_COLUMNS, STATEMENT_COLUMNS, Column

_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {"int64": pa.int64(), "text": _TEXT}
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
        self._schema = pa.schema([pa.field(c.name, _TYPES[c.kind], nullable=c.nullable) for c in columns])
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
                encoded = pc.dictionary_encode(values.cast(pa.string()))
                arrays[column.name] = np.asarray(pc.fill_null(encoded.indices, -1)).astype(np.int32)
                words[column.name] = encoded.dictionary.to_pylist()
            else:
                arrays[column.name] = np.asarray(pc.fill_null(values.cast(pa.int64()), NOT_KNOWN))
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
    :func:`tiersim.traces.bundle_tables.read_table`.
    """
    columns = [column for column in STATEMENT_COLUMNS if names is None or column.name in names]
    return read_table(part_of(folder, STATEMENTS), columns)


def read_queries(folder: Path) -> Table:
    """Return the queries of the bundle in *folder*; none if it has no such table. Raises TraceError."""
    return read_table(part_of(folder, QUERIES), QUERY_COLUMNS)
