"""What a synthesis gives."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.bundle_tables import Table


@dataclass(frozen=True)
class QuerySynthesis:
    """What became of one query: how far the spread of its durations was met, and what its processor time is."""

    query: str  # as in the executions: its fingerprint, or its name in the source where its text is not known
    entity: str  # its name in the source
    calls: int
    stddev_ns: float | None  # recorded, within intervals; None when the source has none
    synthetic_stddev_ns: float
    cpu_basis: str


@dataclass(frozen=True)
class Synthesis:
    """Executions made from counters. Nothing in it was recorded one by one.

    ``executions`` has STATEMENT_COLUMNS, in order of starts; ``pages_dirtied`` lies beside it, row by row, -1 where the
    source has none. ``sessions`` issued the load; what a load generator did not log runs in others besides.
    ``think_ns`` is the mean pause of a session between transactions. In a ``closed`` loop it is 0, and ``overhead_ns``
    is the mean time per execution outside of executions: round trips, planning, the client's own work, and commits that
    were not counted as statements. ``inferred`` are sentences for people.
    """

    executions: Table
    pages_dirtied: NDArray[np.int64]
    sessions: int
    closed: bool
    think_ns: float
    overhead_ns: float
    queries: tuple[QuerySynthesis, ...]
    inferred: tuple[str, ...]
