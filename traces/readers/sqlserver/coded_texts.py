"""Gives events the queries of their texts, reading each distinct query once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.query_text import LONGEST
from tiersim.traces.readers.sqlserver.execution_kernels import KIND, PREPARES, QUERY, RESETS, RUNS, WHAT, Events
from tiersim.traces.readers.sqlserver.executions import WITH_TEXT, Executions
from tiersim.traces.readers.sqlserver.text_kernels import (
    HANDLE,
    KEY,
    NUMBER,
    PREPARED,
    RESET,
    SHAPE,
    UNDECIDED,
    read_texts,
    text_tables,
)

#: Of so many queries it is remembered what they are.
_MOST_KNOWN = 1 << 18
#: More of a text is not looked at: quotes and pairs of units make it longer than what is read of it.
_MOST_BYTES = 8 * LONGEST
#: The bits of a place that are the length.
_LENGTH = 0xFFFFFFFF

#: Returns the names of the database and the user of an event.
Names = Callable[[int], tuple[str | None, str | None]]


class CodedTexts:
    """Remembers which keys of texts are which queries."""

    def __init__(self, executions: Executions) -> None:
        """Know none yet."""
        self._executions = executions
        self._known: dict[int, tuple[int, int]] = {}  # by key and kind of event: query, kind of statement

    def fill(self, events: Events, data: NDArray[np.uint8], texts: NDArray[np.int64], names: Names) -> None:
        """Fill in the columns from QUERY to RESETS of *events*, whose *texts* are place << 32 | bytes in *data* (below
        0: none).
        """
        what = events[:, WHAT]
        rows = np.flatnonzero(np.isin(what, WITH_TEXT) & (texts >= 0) & (texts & _LENGTH != 0))
        found = np.empty((len(rows), 3), np.int64)
        read_texts(data, texts[rows], what[rows], text_tables(), found)
        decided = found[:, SHAPE] != UNDECIDED
        for row in rows[~decided].tolist():
            database, user = names(row)
            text = text_at(data, int(texts[row]))
            events[row, QUERY : RESETS + 1] = self._executions.ask(text, int(what[row]), database=database, user=user)
        rows, found = rows[decided], found[decided]
        keys, first, codes = np.unique(found[:, KEY], return_index=True, return_inverse=True)
        asked = [
            self._ask(key, row, data, events, texts, names)
            for key, row in zip(keys.tolist(), rows[first].tolist(), strict=True)
        ]
        events[rows[:, None], [[QUERY, KIND]]] = np.array(asked, np.int64).reshape(-1, 2)[codes]
        shape, number = found[:, SHAPE], found[:, NUMBER]
        events[rows, PREPARES] = np.where(shape == PREPARED, number, -1)
        events[rows, RUNS] = np.where(shape == HANDLE, number, -1)
        events[rows, RESETS] = shape == RESET

    def _ask(
        self, key: int, row: int, data: NDArray[np.uint8], events: Events, texts: NDArray[np.int64], names: Names
    ) -> tuple[int, int]:
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            database, user = names(row)
            text = text_at(data, int(texts[row]))
            asked = self._executions.ask(text, int(events[row, WHAT]), database=database, user=user)
            self._known[key] = asked.query, asked.kind
        return self._known[key]


def text_at(data: NDArray[np.uint8], place: int) -> str:
    """Return the text of *data* at place << 32 | bytes."""
    start, length = place >> 32, min(place & _LENGTH, _MOST_BYTES)
    return data[start : start + (length & ~1)].tobytes().decode("utf-16-le", errors="replace")
