"""Page references of a bundle, ``references.parquet``: which pages were asked for, in which order; what cache studies
need.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.parquet import DAMAGE, as_type, batches, integers, open_parquet, part_of
from tiersim.traces.schema import NOT_KNOWN, REFERENCE_COLUMNS, REFERENCE_KINDS

NAME = "references.parquet"
ROWS_PER_GROUP = 1 << 20

_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {"int64": pa.int64(), "text": _TEXT}
_SCHEMA = pa.schema([pa.field(c.name, _TYPES[c.kind], nullable=c.nullable) for c in REFERENCE_COLUMNS])
_DELTA_COLUMNS = [c.name for c in REFERENCE_COLUMNS if c.kind == "int64"]
_DICTIONARY_COLUMNS = [c.name for c in REFERENCE_COLUMNS if c.kind == "text"]


@dataclass(frozen=True)
class References:
    """A block of references in their order, as columns of equal length.

    int64 ``time_ns``, ``statement`` and ``length_bytes`` hold NOT_KNOWN (-1) where nothing was recorded; ``page`` may
    be any number; ``relation`` and ``kind`` are int32 codes into the names and REFERENCE_KINDS (-1: not known).
    """

    time_ns: NDArray[np.int64]
    statement: NDArray[np.int64]
    relation: NDArray[np.int32]
    page: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    kind: NDArray[np.int32]

    def __len__(self) -> int:
        """Count the references."""
        return len(self.page)


def pages_only(page: NDArray[np.int64], **known: NDArray[Any]) -> References:
    """Return references to pages of the first relation of which nothing else is known than *known*."""
    nothing = np.full(len(page), NOT_KNOWN, np.int64)
    columns: dict[str, Any] = {
        "time_ns": nothing,
        "statement": nothing,
        "relation": np.zeros(len(page), np.int32),
        "length_bytes": nothing,
        "kind": np.full(len(page), -1, np.int32),
    }
    return References(page=page, **{**columns, **known})


class ReferenceWriter:
    """Takes blocks of references and writes ``references.parquet``; without any there is no file.

    ``relation_names`` may grow between blocks: a code is an index into them.
    """

    def __init__(self, folder: Path) -> None:
        """Write into *folder*."""
        self.relation_names: list[str] = []
        self.rows = 0
        self.last_ns = 0
        self._path = folder / NAME
        self._writer: pq.ParquetWriter | None = None

    def append(self, block: References) -> None:
        """Write one block."""
        if not len(block):
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path,
                _SCHEMA,
                compression="zstd",
                compression_level=1,
                use_dictionary=_DICTIONARY_COLUMNS,
                column_encoding=dict.fromkeys(_DELTA_COLUMNS, "DELTA_BINARY_PACKED"),
            )
        arrays = {
            "time_ns": _nullable(block.time_ns),
            "statement": _nullable(block.statement),
            "relation": _dictionary(block.relation, self.relation_names),
            "page": pa.array(block.page),
            "length_bytes": _nullable(block.length_bytes),
            "kind": _dictionary(block.kind, REFERENCE_KINDS),
        }
        table = pa.Table.from_arrays([arrays[name] for name in _SCHEMA.names], schema=_SCHEMA)
        self._writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        self.rows += len(block)
        self.last_ns = max(self.last_ns, int(block.time_ns.max()))

    def close(self) -> None:
        """Write the Parquet footer, if there is anything."""
        if self._writer is not None:
            self._writer.close()


class ReferenceTable:
    """The references of the bundle at *path*, opened for reading."""

    def __init__(self, path: Path) -> None:
        """Open them; raises TraceError when the bundle has none or they are no table of references."""
        self._path = part_of(path, NAME)
        try:
            self._file = open_parquet(self._path, "import the trace again")
        except FileNotFoundError:
            raise TraceError(f"{path}: holds no page references; give a bundle with references.parquet") from None
        there = self._file.schema_arrow
        for name in ("relation", "page"):
            if name not in there.names:
                raise TraceError(f"{self._path}: the column {name!r} is required and not there; import again")
        self.relation_names: list[str] = []
        self._codes: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Number of references."""
        return int(self._file.metadata.num_rows)

    def blocks(self, rows: int = ROWS_PER_GROUP) -> Iterator[References]:
        """Yield the references in blocks of at most *rows*; raises TraceError naming a column that cannot be used."""
        try:
            for batch in batches(self._file, rows):
                columns: dict[str, Any] = {}
                for column in REFERENCE_COLUMNS:
                    found = batch.column(column.name) if column.name in batch.schema.names else None
                    columns[column.name] = self._read(column.name, column.kind, column.nullable, found, batch.num_rows)
                yield References(**columns)
        except MemoryError:
            raise
        except DAMAGE as error:
            what = str(error).splitlines()[0]
            raise TraceError(f"{self._path}: is damaged ({what}); import the trace again") from None

    def _read(self, name: str, type_: str, nullable: bool, found: pa.Array | None, rows: int) -> NDArray[Any]:
        is_text = type_ == "text"
        if found is None:
            return np.full(rows, NOT_KNOWN, np.int32 if is_text else np.int64)
        if found.null_count and not nullable:
            raise TraceError(f"{self._path}: column {name!r} is empty in some rows; every row needs a value")
        if not is_text:
            return integers(as_type(found, pa.int64()), NOT_KNOWN)
        encoded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
        words = as_type(encoded.dictionary, pa.string()).to_pylist()
        if name == "kind":
            codes = [REFERENCE_KINDS.index(word) if word in REFERENCE_KINDS else -1 for word in words]
        else:
            codes = [self._code_of(word) for word in words]
        result: NDArray[Any] = np.array([*codes, -1], np.int32)[integers(encoded.indices, len(words))]
        return result

    def _code_of(self, word: str) -> int:
        if word not in self._codes:
            self._codes[word] = len(self._codes)
            self.relation_names.append(word)
        return self._codes[word]


def _dictionary(codes: NDArray[np.int32], names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(names, pa.string()))


def _nullable(values: NDArray[np.int64]) -> pa.Array:
    return pa.array(values, mask=values == NOT_KNOWN)
