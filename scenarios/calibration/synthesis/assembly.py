"""The table of executions, from the pieces of intervals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.executions import Executions
from tiersim.scenarios.calibration.synthesis.sessions import Turns
from tiersim.traces.bundle_tables import Table
from tiersim.traces.schema import STATEMENT_COLUMNS, STATEMENT_KINDS

Column = NDArray[np.int64]


class Assembly:
    """Takes the executions of intervals in any order."""

    def __init__(self) -> None:
        """Begin without any."""
        self._pieces: dict[str, list[Column]] = {}
        self._transactions = 0

    def add(self, executions: Sequence[Executions], entities: Column, transaction: Column, turns: Turns) -> None:
        """Take in an interval; the code of the entity and the transaction (from 0) are by execution."""
        columns = {name: np.concatenate([e[name] for e in executions]) for name in executions[0]}
        columns |= {
            "time_ns": turns.start_ns,
            "session": turns.session,
            "sequence": turns.sequence,
            "transaction": transaction + self._transactions,
            "entity": entities,
        }
        self._transactions += int(transaction.max()) + 1
        for name, values in columns.items():
            self._pieces.setdefault(name, []).append(values)

    def table(self, queries: Sequence[str], kinds: Sequence[str], sessions: Sequence[str]) -> tuple[Table, Column]:
        """Return all in order of time, and pages dirtied by row; this can be asked once, for memory's sake.

        *queries* and *kinds* are by code of the entity; *sessions* are names of the first sessions, others are
        numbered.
        """
        order = np.lexsort([np.concatenate(self._pieces[name]) for name in ("sequence", "session", "time_ns")])
        columns = {name: np.concatenate(self._pieces.pop(name))[order] for name in list(self._pieces)}
        words = list(dict.fromkeys(queries))
        places = {query: place for place, query in enumerate(words)}
        entities = columns["entity"]
        columns["query"] = np.array([places[query] for query in queries])[entities]
        columns["kind"] = np.array([STATEMENT_KINDS.index(kind) for kind in kinds])[entities]
        columns["transaction"] = _by_appearance(columns["transaction"])
        used, columns["session"] = np.unique(columns["session"], return_inverse=True)
        numbered = (code - len(sessions) for code in used.tolist())
        names = [f"session {number + 1}" if number >= 0 else sessions[number] for number in numbered]
        table = Table(
            {c.name: columns[c.name].astype(np.int32 if c.kind == "text" else np.int64) for c in STATEMENT_COLUMNS},
            {"session": names, "kind": STATEMENT_KINDS, "query": words},
        )
        return table, columns["pages_dirtied"]


def _by_appearance(numbers: Column) -> Column:
    """Return numbers renamed to 0, 1, 2 … in the order in which they first come."""
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place]
