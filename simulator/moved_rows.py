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
    looked_at = min(rows, _MOST_RANKS)
    page = np.empty(looked_at, np.int64)
    scatter(page, rows, seed, table)
    page = page * heap_pages // rows
    mass = np.diff(np.interp(np.arange(looked_at + 1), law.first, np.concatenate([[0.0], law.reach / law.reach[-1]])))
    waits = np.random.default_rng((seed, table)).exponential(size=looked_at)
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


@kernel
def scatter(places: NDArray[np.int64], rows: int, seed: int, entity: int) -> None:
    """Write for each rank where its row lies among *rows*."""
    for rank in range(len(places)):
        places[rank] = scattered(rank, rows, seed, entity)
