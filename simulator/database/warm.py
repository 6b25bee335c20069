"""A pool as a server has it that has been running for long: filled by the statements of the database, without time.

Whole transactions are drawn, each as likely as another; their lookups refer to pages as a run would, but to rows that the run does not
draw. What is missed comes at once; pages are changed and counted as used, and are clean again only after they have gone: checkpoints
and the background writer do not run meanwhile. Only lookups fill the pool.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.random_numbers import WARMING_TRANSACTION, random_below
from tiersim.simulator.database.pages import draw_row, loaded, page_at, references, touch, victim
from tiersim.simulator.database.tables import (
    AGAIN,
    CLOCK_NS,
    LOOKUP,
    ORIGIN_NS,
    UNUSED,
    VALID,
    Database,
)

#: Rows are drawn for entities that no session draws for.
_ENTITY = 1 << 33
#: The first window has so many references, or one for each frame if those are more; every other is twice as long as the one before.
_LEAST_REFERENCES = 16_384
#: A window's misses have fallen when there are fewer than in the one before by more than this part and more than so many standard
#: deviations of their difference, taken as counts that know nothing of each other.
_FALL, _DEVIATIONS = 0.01, 2.0
#: Places in what `walk` has counted.
_TRANSACTIONS, _REFERENCES = range(2)


class Warmed(NamedTuple):
    """How a pool was filled; misses are those of the last window."""

    references: int  # of all windows
    transactions: int  # of the last one
    missed: NDArray[np.int64]  # (levels,): pages of each level of each table
    stationary: bool  # the pool misses no fewer pages than before


@kernel
def refer(d: Database, page: int, dirties: int, now: int) -> bool:
    """Refer to a page outside a run: if it is not there, it comes at once; tell whether it was."""
    if touch(d, page, dirties, now):
        return True
    frame = victim(d, now)
    old = d.page_of[frame]
    if old >= 0:
        d.frame_of[old] = 0
    d.page_of[frame] = page
    d.frame_of[page] = frame + 1
    d.state[frame] = VALID
    d.dirty[frame] = dirties
    loaded(d, frame, page, 0, now)
    return False


@kernel
def refer_to_all(d: Database) -> None:
    """Refer to every page of the database once."""
    for page in range(len(d.frame_of)):
        refer(d, page, 0, 0)


@kernel
def walk(
    d: Database,
    transactions: NDArray[np.int64],
    transaction_ns: int,
    enough: int,
    counted: NDArray[np.int64],
    missed: NDArray[np.int64],
) -> None:
    """Draw transactions until they have made *enough* references, or are as many themselves.

    ``transactions`` is where in the statements each begins, and where the last ends.
    """
    count = len(transactions) - 1
    drawn, referred = counted[_TRANSACTIONS], counted[_REFERENCES]
    end, last = referred + enough, drawn + enough
    row = 0
    while referred < end and drawn < last:
        chosen = random_below(count, d.seed[0], WARMING_TRANSACTION, 0, drawn)
        now = drawn * transaction_ns
        drawn += 1
        for statement in range(transactions[chosen], transactions[chosen + 1]):
            class_ = d.statement_class[statement]
            for place in range(d.first_demand[class_], d.first_demand[class_ + 1]):
                demand = d.demands[place]
                if demand["kind"] != LOOKUP and demand["kind"] != AGAIN:
                    continue
                table = demand["table"]
                if demand["kind"] == LOOKUP:
                    row = draw_row(d, table, table + _ENTITY, referred)
                pages = references(d, table)
                for reference in range(pages):
                    page = page_at(d, table, row % d.rows[table], reference)
                    dirties = demand["dirties"] if reference + 1 == pages else 0
                    if not refer(d, page, dirties, now):
                        missed[d.first_level[table] + reference] += 1
                referred += pages
    counted[_TRANSACTIONS], counted[_REFERENCES] = drawn, referred


def warm(d: Database, *, transaction_ns: int = 0, most_references: int = 200_000_000) -> Warmed:
    """Fill the pool of a database that has not run yet.

    Ends when the pool is full and a window of references misses no fewer pages than the window before, which was half as long; or, not
    stationary, when the next window would lead beyond *most_references*. Transactions are *transaction_ns* apart, which LRU-2 looks at.
    If the pool holds all pages, all are there.
    """
    frames, pages = len(d.page_of), len(d.frame_of)
    whole = pages <= frames
    if whole:
        refer_to_all(d)
    transactions = _transactions(d)
    counted, missed = np.zeros(2, np.int64), np.zeros(len(d.level_pages), np.int64)
    drawn, before, window = 0, -1.0, max(frames, _LEAST_REFERENCES)
    stationary = not len(d.statement_class) or not np.isin(d.demands["kind"], (LOOKUP, AGAIN)).any()
    while not stationary and counted[_REFERENCES] + window <= most_references:
        missed[:] = 0
        drawn = int(counted[_TRANSACTIONS])
        walk(d, transactions, transaction_ns, window, counted, missed)
        misses, expected = float(missed.sum()), 2 * before
        fall = expected - misses
        noise = (
            _DEVIATIONS * (misses + 4 * before) ** 0.5 if before >= 0 else 0.0
        )  # twice a count deviates twice as far
        full = whole or d.pool_state[UNUSED] == frames
        stationary = bool(full and before >= 0 and fall <= max(noise, _FALL * expected))
        before = misses
        window *= 2
    d.pool_state[ORIGIN_NS] = d.pool_state[CLOCK_NS]
    return Warmed(int(counted[_REFERENCES]), int(counted[_TRANSACTIONS]) - drawn, missed, stationary)


def fill(d: Database, frames: int, *, most_references: int = 200_000_000) -> None:
    """Fill *frames* frames of the pool of a database that has not run yet, or as many as that number of references do."""
    transactions = _transactions(d)
    counted, missed = np.zeros(2, np.int64), np.zeros(len(d.level_pages), np.int64)
    while d.pool_state[UNUSED] < min(frames, len(d.frame_of)) and counted[_REFERENCES] < most_references:
        before = counted[_REFERENCES]
        walk(d, transactions, 0, int(frames - d.pool_state[UNUSED]), counted, missed)  # a reference takes one frame at most
        if counted[_REFERENCES] == before:  # nothing looks anything up
            break
    d.pool_state[ORIGIN_NS] = d.pool_state[CLOCK_NS]


def _transactions(d: Database) -> NDArray[np.int64]:
    """Return where transactions begin, statements outside of any by themselves, and the end of the last."""
    begins = d.begins.astype(np.bool_)
    begins[1:] |= d.ends[:-1].astype(np.bool_)
    begins[d.sessions["next"][d.sessions["next"] < d.sessions["end"]]] = True
    return np.append(np.flatnonzero(begins), len(begins))
