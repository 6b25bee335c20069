"""What the executions of one query do, in a few variants that each stands for many of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.queries import Asked
from tiersim.simulator.database.build import Demand
from tiersim.simulator.database.database_state import AGAIN, COMPUTE, LOCK, LOOKUP

#: Numbers of rows that are drawn from call to call: of so many tables of a query, those that vary most.
_MOST_DRAWN = 8

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Variants:
    """Which variant each execution is; by variant its demands, the pages that it finds besides, and those that it
    missed when it was recorded, 0 where executions themselves know.
    """

    chosen: Column
    demands: Sequence[Sequence[Demand]]
    other_pages: Sequence[float]
    reads: Sequence[float]
    unattached_bytes: Sequence[float]  # of records in the log that belong to no row that a run changes


_Rows = tuple[tuple[int, ...], tuple[int, ...], bool]


def drawn_variants(asked: Asked, calls: int, draws: Draws, lock_ranks: Sequence[int]) -> Variants:
    """Draw how many rows each of the *calls* of a query looks up, of which only the mean is known."""
    chosen, rows = _drawn(asked, calls, draws)
    demands = [_demands(lookups, again, changes, asked, lock_ranks) for lookups, again, changes in rows]
    unattached = 0.0 if change_bytes(asked) else asked.record_bytes
    count = len(rows)
    return Variants(chosen, demands, [asked.other_pages] * count, [0.0] * count, [unattached] * count)


def _drawn(asked: Asked, calls: int, draws: Draws) -> tuple[Column, list[_Rows]]:
    """Draw how many rows each call looks up: (which variant each is, the variants)."""
    rows = np.array([*asked.lookups, *asked.again])
    share = rows - np.floor(rows)
    varied = np.argsort(-share * (1 - share), kind="stable")[:_MOST_DRAWN]
    varied = varied[share[varied] > 0]
    whole = np.rint(rows)
    whole[varied] = np.floor(rows[varied])
    bits = np.zeros(calls, np.int64)
    for bit, column in enumerate(varied.tolist()):
        bits |= (draws.uniform(calls, "rows", column) < share[column]).astype(np.int64) << bit
    sometimes = 0 < asked.changes < 1
    if sometimes:
        bits |= (draws.uniform(calls, "changes") < asked.changes).astype(np.int64) << len(varied)
    used, chosen = np.unique(bits, return_inverse=True)
    variants: list[_Rows] = []
    for value in used.tolist():
        counts = whole.astype(np.int64)
        counts[varied] += value >> np.arange(len(varied)) & 1
        changes = bool(value >> len(varied) & 1) if sometimes else asked.changes > 0
        tables = len(asked.lookups)
        variants.append((tuple(counts[:tables].tolist()), tuple(counts[tables:].tolist()), changes))
    return chosen.astype(np.int64), variants


def _demands(
    lookups: Sequence[int], again: Sequence[int], changes: bool, asked: Asked, lock_ranks: Sequence[int]
) -> list[Demand]:
    """Return what a statement does: it looks rows up; those that it changes it locks first, if others may have them."""
    log_bytes = change_bytes(asked) if changes else 0
    demands = [Demand(COMPUTE)]
    for kind, counts in ((LOOKUP, lookups), (AGAIN, again)):
        for table, count in enumerate(counts):
            one = [Demand(kind, table=table, dirties=changes, log_bytes=log_bytes)]
            if changes and asked.locks:
                rank = lock_ranks[table]
                one = [
                    Demand(kind, table=table),
                    Demand(LOCK, table=table, dirties=True, log_bytes=log_bytes, rank=rank),
                ]
            demands += one * count
    return demands


def change_bytes(asked: Asked) -> int:
    """Return the bytes of records in the log for one changed row; changes that only note what is known of rows have
    none.
    """
    changed = asked.changes * (sum(asked.lookups) + sum(asked.again))
    return max(round(asked.record_bytes / changed), 1) if asked.durable and changed else 0
