"""Non-HOT updates: of each page the row that was updated first moves to another page, since a full page has no room for
its new version.

PostgreSQL writes the new version of a row to another page where its own is full (``heap_update``). What was left behind
is pruned, and the page has room for the next update, whichever row that is of (heap-only tuples; PostgreSQL's
README.HOT). So a page that was filled to the brim gives one row away, most likely its hottest, and these come to lie
together at the end of the heap in the order in which they were updated first: the hottest rows of all on few pages.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.simulator.popularity import Popularity, scattered

#: Ranks that are looked at; of a larger table colder rows are taken to have stayed.
_MOST_RANKS = 1 << 24
#: Of all updates: the least that a row takes, where steep laws leave it no share that a float can hold.
_HARDLY_EVER = 1e-30
#: More updates than any table has seen, and how closely their number is looked for: a part in 2^-20.
_LONGEST, _HALVINGS = 1e18, 20


class MovedRows(NamedTuple):
    """Rows of one table that moved, by rank, and on which of the pages behind those that the table
    had each lies now.
    """

    ranks: NDArray[np.int64]  # rising
    pages: NDArray[np.int64]  # from 0

    @property
    def added_pages(self) -> int:
        """Return how many pages the moved rows take."""
        return int(self.pages.max()) + 1 if len(self.pages) else 0


NONE_MOVED = MovedRows(np.zeros(0, np.int64), np.zeros(0, np.int64))


def moved_rows(law: Popularity, rows: int, heap_pages: int, share: float, seed: int, table: int) -> MovedRows:
    """Return the rows that moved when a *share* of the *heap_pages* of a table have seen an update, each by *law*.

    The rows lie where the permutation of *seed* and *table* scatters them.
    """
    mass = _by_rank(law, rows)
    page = np.empty(len(mass), np.int64)
    scatter(page, rows, seed, table)
    page = page * heap_pages // rows
    waits = np.random.default_rng((seed, table)).exponential(size=len(mass))
    moved = first_updated(waits, mass, page, round(share * heap_pages))
    by_rank = np.argsort(moved)
    return MovedRows(moved[by_rank], by_rank // max(rows // heap_pages, 1))


def first_updated(
    waits: NDArray[np.float64], mass: NDArray[np.float64], page: NDArray[np.int64], pages: int
) -> NDArray[np.int64]:
    """Return the row of each of the first *pages* pages that see an update, in that order; rows lie on *page*.

    A row that takes the share *mass* of all updates is updated first after *waits* / *mass*: *waits* are drawn from an
    exponential distribution of mean 1.
    """
    after = waits / np.maximum(mass, _HARDLY_EVER)
    soonest = np.full(int(page.max(initial=-1)) + 1, np.inf)
    np.minimum.at(soonest, page, after)
    rows = np.flatnonzero(after == soonest[page])
    return rows[np.argsort(after[rows])[:pages]]


def _by_rank(law: Popularity, rows: int) -> NDArray[np.float64]:
    """Return the share of all accesses that each of the hottest ranks has."""
    ranks = np.arange(min(rows, _MOST_RANKS) + 1)
    return np.diff(np.interp(ranks, law.first, np.concatenate([[0.0], law.reach / law.reach[-1]])))


def share_of_pages(
    law: Popularity, rows: int, heap_pages: int, moved: MovedRows, recent: bool, seed: int, table: int
) -> NDArray[np.float64]:
    """Return the share of all updates that goes to rows on each of the *heap_pages*; *moved* rows lie behind them.

    Colder rows than are looked at are spread evenly.
    """
    mass = _by_rank(law, rows)
    rest = 1 - mass.sum()
    mass[moved.ranks] = 0.0
    if recent:
        place = rows - 1 - np.arange(len(mass))
    else:
        place = np.empty(len(mass), np.int64)
        scatter(place, rows, seed, table)
    share = np.bincount(place * heap_pages // rows, weights=mass, minlength=heap_pages)
    return np.asarray(share + max(rest, 0.0) / heap_pages)


def first_updates(share: NDArray[np.float64], before: float, updates: float) -> float:
    """Return how many of so many *updates* are expected to be the first of their page when there were some *before*.

    >>> round(first_updates(np.array([0.5, 0.5]), 0, 1000))
    2
    """
    return float((np.exp(-before * share) * -np.expm1(-updates * share)).sum())


def updates_before(share: NDArray[np.float64], updates: float, first: float) -> float | None:
    """Return after how many updates so many of the next *updates* are the *first* of their page; None if fewer always
    are.
    """
    if first_updates(share, 0.0, updates) < first:
        return None
    low, high = 0.0, updates
    while first_updates(share, high, updates) > first and high < _LONGEST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if first_updates(share, middle, updates) > first else (low, middle)
    return high


def pages_with_room(share: NDArray[np.float64], updates: float, seed: int, table: int) -> NDArray[np.bool_]:
    """Draw which pages were updated by so many *updates*: each leaves room for the next one."""
    waits = np.random.default_rng((seed, table, 1)).exponential(size=len(share))
    return np.asarray(waits < updates * share)


@kernel
def scatter(places: NDArray[np.int64], rows: int, seed: int, entity: int) -> None:
    """Write for each rank where its row lies among *rows*."""
    for rank in range(len(places)):
        places[rank] = scattered(rank, rows, seed, entity)
