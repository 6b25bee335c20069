"""What the executions of one query do, in a few variants that each stands for many of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.index_entries import NO_ENTRIES, IndexEntries
from tiersim.scenarios.statements.queries import Asked
from tiersim.simulator.database.build import Demand
from tiersim.simulator.database.database_state import AGAIN, COMPUTE, LOCK, LOOKUP
from tiersim.simulator.database.wal.log import ENTRY_BYTES

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


def drawn_variants(
    asked: Asked, calls: int, draws: Draws, lock_ranks: Sequence[int], entries: Sequence[IndexEntries] = ()
) -> Variants:
    """Draw how many rows each of the *calls* of a query looks up, of which only the mean is known; *entries* are those
    that updates put into the index of each table.
    """
    chosen, rows = _drawn(asked, calls, draws)
    demands = [_demands(lookups, again, changes, asked, lock_ranks, entries) for lookups, again, changes in rows]
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
    lookups: Sequence[int],
    again: Sequence[int],
    changes: bool,
    asked: Asked,
    lock_ranks: Sequence[int],
    entries: Sequence[IndexEntries],
) -> list[Demand]:
    """Return what a statement does: it looks rows up; those that it changes it locks first, if others may have them."""
    log_bytes = change_bytes(asked) if changes else 0
    demands = [Demand(COMPUTE)]
    for kind, counts in ((LOOKUP, lookups), (AGAIN, again)):
        for table, count in enumerate(counts):
            change = Demand(kind, table=table, dirties=changes, log_bytes=log_bytes)
            if changes:
                change = _with_entries(change, asked.verb, entries[table] if entries else NO_ENTRIES)
            one = [change]
            if changes and asked.locks:
                one = [Demand(kind, table=table), replace(change, kind=LOCK, rank=lock_ranks[table])]
            demands += one * count
    return demands


def _with_entries(change: Demand, verb: str, entries: IndexEntries) -> Demand:
    """Return a change of a row, of a statement that begins with *verb*, with the entries that it puts into the index of
    its table. Their records are part of those that were counted.
    """
    if verb == "insert":
        share, of_all = 1.0, 1.0
    elif verb == "update":
        share, of_all = entries.share, entries.of_updates
    else:
        return change
    return replace(
        change,
        log_bytes=max(change.log_bytes - round(of_all * ENTRY_BYTES), min(change.log_bytes, 1)),
        entry_share=round(share * 1_000_000),
        needs_room=verb == "update" and entries.updates is not None,
    )


def change_bytes(asked: Asked) -> int:
    """Return the bytes of records in the log for one changed row; changes that only note what is known of rows have
    none.
    """
    changed = asked.changes * (sum(asked.lookups) + sum(asked.again))
    return max(round(asked.record_bytes / changed), 1) if asked.durable and changed else 0
