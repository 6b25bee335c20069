"""What the executions of one query do: a few variants, each of which stands for many executions.

A query whose calls look up 0.3 rows on average has a variant that looks up none and one that looks up a row; each call
is drawn to be of one of them. Executions whose pages were recorded one by one have their own: those whose numbers of
pages are close are of one variant, which asks for their mean. So a whole hour has some thousand variants, and no page
too many or too few.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.popularity.recorded_files import SCAN_PAGES
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.queries import NO_ENTRIES, IndexEntries, QueryWork, pages_of
from tiersim.simulator.database.build import Demand
from tiersim.simulator.database.database_state import AGAIN, COMPUTE, LOCK, LOOKUP, LOOKUPS, SCAN
from tiersim.simulator.database.wal.log import ENTRY_BYTES

#: Numbers of rows that are drawn from call to call: of so many tables of a query, those that vary most.
_MOST_DRAWN = 8
#: Executions of a query have a class for each number of pages up to _EACH, and _STEPS classes for each power of two
#: above it; at most _MOST_STEPS of these.
_EACH, _STEPS, _MOST_STEPS = 16, 8, 128
#: Classes of all queries together, about.
_MOST_CLASSES = 4096
#: Fractional part of the golden ratio: its multiples fill the unit interval evenly (H. Weyl, Math. Ann. 77, 1916).
_GOLDEN = 0.6180339887498949
#: Reads ahead of a scan that are under way: 2 MB, of pieces of 512 KB (the window that a scan of SQL Server shows in
#: public traces).
_SCAN_DEPTH, _SCAN_BLOCK_PAGES = 4, 64

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
    asked: QueryWork, calls: int, draws: Draws, lock_ranks: Sequence[int], entries: Sequence[IndexEntries] = ()
) -> Variants:
    """Draw how many rows each of the *calls* of a query looks up, of which only the mean is known; *entries* are those
    that updates put into the index of each table.
    """
    chosen, rows = _drawn(asked, calls, draws)
    demands = [_demands(lookups, again, changes, asked, lock_ranks, entries) for lookups, again, changes in rows]
    unattached = 0.0 if change_bytes(asked) else asked.record_bytes
    count = len(rows)
    return Variants(chosen, demands, [asked.other_pages] * count, [0.0] * count, [unattached] * count)


def _drawn(asked: QueryWork, calls: int, draws: Draws) -> tuple[Column, list[_Rows]]:
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
    asked: QueryWork,
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
    """Return a change of a row, of a statement that begins with *verb*, with the entries that it puts into the indexes
    of its table. Their records are part of those that were counted.
    """
    if verb == "insert":
        share, of_all = 1.0, 1.0
    elif verb == "update":
        share, of_all = entries.share, entries.of_updates
    else:
        return change
    records = round(of_all * (1 + len(entries.others)) * ENTRY_BYTES)
    return replace(
        change,
        log_bytes=max(change.log_bytes - records, min(change.log_bytes, 1)),
        entry_share=round(share * 1_000_000),
        needs_room=verb == "update" and entries.updates is not None,
    )


def change_bytes(asked: QueryWork) -> int:
    """Return the bytes of records in the log for one changed row; changes that only note what is known of rows have
    none.
    """
    changed = asked.changes * (sum(asked.lookups) + sum(asked.again))
    return max(round(asked.record_bytes / changed), 1) if asked.durable and changed else 0


def recorded_variants(asked: QueryWork, pages: Column, queries: int, fitted: Fitted, start: int) -> Variants:
    """Return what executions of a query ask for that asked for so many *pages* each; *queries* share the number of
    classes.

    How many rows of each table one looks up is a whole number; they are dealt in turns that fill the unit interval
    evenly, so that sums are those of the means (systematic sampling). Scans begin at the page *start* of their table,
    counted round its end.
    """
    scans = pages >= SCAN_PAGES
    tables = [table for table, rows in enumerate(asked.lookups) if rows > 0]
    step = _steps(pages, max(_MOST_CLASSES // queries // (len(tables) + 1), 1))
    members = np.bincount(step)
    used = np.flatnonzero(members)
    mean = np.bincount(step, pages)[used] / members[used]
    place = np.zeros(len(members), np.int64)
    place[used] = np.arange(len(used))
    step = place[step]
    looked_up = float(pages[~scans].mean()) if not scans.all() else 1.0
    each = np.array([asked.lookups[table] for table in tables]) / max(looked_up, 1e-9)
    turn = np.arange(len(pages), dtype=np.float64) * _GOLDEN % 1.0
    exact = np.cumsum(np.outer(mean, each), axis=1)
    exact = np.concatenate([exact, np.full((len(mean), 1), asked.changed_rows)], axis=1)
    exact[mean >= SCAN_PAGES] = 0.0
    from_turn = 1.0 - exact % 1.0  # from which turn on one more is counted
    passed = np.zeros(len(pages), np.int64)
    for column in range(exact.shape[1]):
        passed += turn >= from_turn[step, column]
    _, first, chosen = np.unique(step * (exact.shape[1] + 1) + passed, return_index=True, return_inverse=True)
    demands, others, reads, unattached = [], [], [], []
    for one in first.tolist():
        row = step[one]
        upto = np.floor(exact[row] + turn[one]).astype(np.int64)
        rows = np.diff(upto[:-1], prepend=0).tolist()
        found = _recorded_demands(asked, tables, rows, int(upto[-1]), float(mean[row]), fitted, start)
        demands.append(found)
        others.append(max(float(mean[row]) - pages_in(found, fitted), 0.0))
        reads.append(_expected_reads(found, fitted))
        unattached.append(0.0 if any(demand.dirties for demand in found) else asked.record_bytes)
    return Variants(chosen.astype(np.int64), demands, others, reads, unattached)


def _steps(pages: Column, most: int) -> Column:
    """Return the number of the step that each number of pages is of, at most about *most* different ones.

    Scans are of steps of their own.
    """
    steps = _STEPS
    while True:
        found = np.minimum(pages, _EACH)
        beyond = pages > _EACH
        found[beyond] = _EACH + np.floor(steps * np.log2(pages[beyond] / _EACH)).astype(np.int64) + 1
        found = found * 2 + (pages >= SCAN_PAGES)
        if steps <= 1 or np.count_nonzero(np.bincount(found)) <= max(min(most, _MOST_STEPS), _EACH):
            return found
        steps //= 2


def _recorded_demands(
    asked: QueryWork, tables: Sequence[int], rows: Sequence[int], changed: int, pages: float, fitted: Fitted, start: int
) -> list[Demand]:
    demands = [Demand(COMPUTE)]
    if pages >= SCAN_PAGES and asked.scanned >= 0:
        table = fitted.tables[asked.scanned]
        through = min(round(pages * asked.scan_share), table.heap_pages)
        if through:
            begins = start % table.heap_pages
            demands.append(
                Demand(
                    SCAN,
                    asked.scanned,
                    pages=through,
                    start_page=begins,
                    depth=_SCAN_DEPTH,
                    block_pages=_SCAN_BLOCK_PAGES,
                )
            )
        return demands
    target = max(range(len(rows)), key=lambda place: rows[place], default=0)
    for place, (table_code, count) in enumerate(zip(tables, rows, strict=True)):
        dirty = min(changed, count) if place == target else 0
        log_bytes = max(round(asked.record_bytes / dirty), 1) if dirty and asked.durable else 0
        demands += _lookups(table_code, count - dirty, 0, dirties=False)
        demands += _lookups(table_code, dirty, log_bytes, dirties=True)
    return demands


def _lookups(table: int, rows: int, log_bytes: int, *, dirties: bool) -> list[Demand]:
    if rows < 1:
        return []
    if rows == 1:
        return [Demand(LOOKUP, table, dirties=dirties, log_bytes=log_bytes)]
    return [Demand(LOOKUPS, table, dirties=dirties, log_bytes=log_bytes, rows=rows, in_order=False)]


def pages_in(demands: Sequence[Demand], fitted: Fitted) -> int:
    """Return how many pages demands refer to."""
    return sum(
        one.pages if one.kind == SCAN else one.rows * pages_of(fitted.tables[one.table])
        for one in demands
        if one.kind in (LOOKUP, AGAIN, LOOKUPS, SCAN)
    )


def _expected_reads(demands: Sequence[Demand], fitted: Fitted) -> float:
    """Return how many pages lookups miss in the recorded pool, on average."""
    missed = [one.index + one.heap for one in fitted.missed]
    return sum(one.rows * missed[one.table] for one in demands if one.kind in (LOOKUP, LOOKUPS))
