"""Puts executions in order of their starts, however many there are: sorted runs on disk, merged, so that memory does
not grow.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiersim.traces.bundle_tables import Table
from tiersim.traces.readers.ordered import OrderedRows
from tiersim.traces.schema import STATEMENT_COLUMNS

#: One execution: 132 bytes. Texts are places among all words of their column.
_ROW = np.dtype([(c.name, np.int32 if c.kind == "text" else np.int64) for c in STATEMENT_COLUMNS])
_TEXTS = tuple(c.name for c in STATEMENT_COLUMNS if c.kind == "text")
#: Sorting takes three times the memory of so many rows, 53 MB.
ROWS_PER_RUN = 1 << 17


class OrderedStatements:
    """Takes tables of STATEMENT_COLUMNS in any order and gives them back in order of ``time_ns``; ties keep theirs.

    Memory grows with distinct words alone, by their length. Where *scratch* is no folder, all rows stay in memory.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        """Begin with no row; *scratch* must outlive this."""
        self._scratch = scratch
        self._begin()

    def _begin(self) -> None:
        self.first_ns: int | None = None  # the earliest start
        self._rows = 0
        self._folder: Path | None = None
        self._ordered: OrderedRows | None = None
        self._words: dict[str, list[pa.StringArray]] = {name: [] for name in _TEXTS}
        self._counts = dict.fromkeys(_TEXTS, 0)

    def _runs(self) -> OrderedRows:
        if self._ordered is None:
            if self._scratch is not None:
                self._folder = Path(tempfile.mkdtemp(prefix="statements-", dir=self._scratch))
            self._ordered = OrderedRows(self._folder or Path(), ROWS_PER_RUN if self._folder else sys.maxsize)
        return self._ordered

    def __len__(self) -> int:
        """Count the rows."""
        return self._rows

    def add(self, table: Table) -> None:
        """Take executions; raises OSError when they cannot be stored."""
        if not len(table):
            return
        rows = np.empty(len(table), _ROW)
        for column in STATEMENT_COLUMNS:
            rows[column.name] = table.columns[column.name]
            if column.kind == "text":
                codes = rows[column.name]
                codes[codes >= 0] += self._add_words(column.name, table.words[column.name])
        first_ns = int(rows["time_ns"].min())
        self.first_ns = first_ns if self.first_ns is None else min(first_ns, self.first_ns)
        self._rows += len(rows)
        self._runs().add(rows)

    def tables(self) -> Iterator[Table]:
        """Yield all executions in order of their starts, once, in tables of about ``ROWS_PER_RUN`` rows."""
        if not self._rows:
            return
        words = {name: pa.chunked_array(parts, pa.string()).combine_chunks() for name, parts in self._words.items()}
        for rows in self._runs().blocks():
            columns: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(rows[name]) for name in _ROW.names or ()}
            of_table: dict[str, Sequence[str]] = {}
            for name in _TEXTS:
                columns[name], of_table[name] = _distinct(columns[name], words[name])
            yield Table(columns, of_table)

    def close(self) -> None:
        """Forget everything, on disk too."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._begin()

    def _add_words(self, name: str, words: Sequence[str]) -> int:
        """Keep words, and return the place of the first among all of their column."""
        place = self._counts[name]
        self._words[name].append(pa.array(words, pa.string()))
        self._counts[name] += len(words)
        return place


def _distinct(codes: NDArray[np.int32], words: pa.StringArray) -> tuple[NDArray[np.int32], Sequence[str]]:
    """Return codes into the distinct words that *codes* into *words* mean, and these words."""
    places, own = np.unique(codes, return_inverse=True)
    missing = int(len(places) > 0 and places[0] < 0)
    encoded = pc.dictionary_encode(words.take(pa.array(places[missing:])))
    again = np.concatenate([np.full(missing, -1, np.int32), np.asarray(encoded.indices, np.int32)])
    return again[own].astype(np.int32, copy=False), encoded.dictionary.to_pylist()
