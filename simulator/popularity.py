"""How accesses spread over the rows of a table: some rows are asked for far more often than others, and lie anywhere.

By rank the rows follow Zipf's law, of which a hot set may take a share; a random permutation says where the row of a
rank lies, or it is the distance from the end of the table. Both are tables and integers, so that kernels draw from them
and any machine draws the same.

Non-HOT updates move rows. PostgreSQL writes the new version of a row to another page where its own is full
(``heap_update``). What was left behind is pruned, and the page has room for the next update, whichever row that is of
(heap-only tuples; PostgreSQL's README.HOT). So a page that was filled to the brim gives one row away, most likely its
hottest, and these come to lie together at the end of the heap in the order in which they were updated first: the
hottest rows of all on few pages.

A row that moved left an entry behind in its index, which leads to a version that nobody sees. The next lookup of the
row by another transaction finds that out and marks the entry as dead (access/nbtree/nbtutils.c, _bt_killitems).
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.random_numbers import ACCESSED_ROW, SCATTERED_ROW, below_from, bits_from, random_source

#: The reach of all ranks together.
_WHOLE = 1 << 62
#: So many ranks are told apart; those behind them come in parts, each a 64th longer than the ranks before it are many.
_SINGLE, _GROWTH = 1024, 64
#: So many stretches of equal reach say where to look for a part.
_GUIDED, _STRETCH = 256, 54
_ROUNDS = 4


class Popularity(NamedTuple):
    """A law over ranks, cut into parts within which ranks are equally likely."""

    reach: NDArray[np.int64]  # (parts,): share of the accesses that go to a part or one before it, in 2^-62
    first: NDArray[np.int64]  # (parts + 1,): its first rank, counted from 0


@table_set
class Laws(NamedTuple):
    """Laws of several tables, one behind the other."""

    begin: NDArray[np.int64]  # (tables + 1,): the first part of each
    reach: NDArray[np.int64]
    first: NDArray[np.int64]  # those of a table lie one place further on for each table before it
    guide: NDArray[np.int32]  # (tables, _GUIDED + 1): of each stretch of all reaches, the first part that lies in it


def laws_of(each: Sequence[Popularity]) -> Laws:
    """Put laws one behind the other."""
    nothing = np.zeros(0, np.int64)
    begin = np.cumsum([0, *(len(law.reach) for law in each)], dtype=np.int64)
    guide = np.empty((len(each), _GUIDED + 1), np.int32)
    for place, law in enumerate(each):
        parts = np.searchsorted(law.reach, np.arange(_GUIDED + 1) << _STRETCH, "right")
        guide[place] = begin[place] + np.minimum(parts, len(law.reach) - 1)
    return Laws(
        begin,
        np.concatenate([nothing, *(law.reach for law in each)]),
        np.concatenate([nothing, *(law.first for law in each)]),
        guide,
    )


#: Levels of hot rows, the hottest first: how many rows each has, and its share of the accesses.
Hot = tuple[tuple[int, float], ...]


def zipf(rows: int, exponent: float, hot: Hot = ()) -> Popularity:
    """Return the law by which rank k, counted from 1, of *rows* is asked for in proportion to k^-*exponent*; 0 is
    uniform.

    Of all accesses the *hot* levels have their shares before that, from the first rank on; within a level each rank is
    asked for as often as the other. A part of many ranks weighs what the integral over them does (midpoint rule: its
    error is below 1e-6 from rank 1,024 on).
    """
    edges = list(range(min(rows, _SINGLE) + 1))
    while edges[-1] < rows:
        edges.append(min(edges[-1] + edges[-1] // _GROWTH, rows))
    ends = list(accumulate(count for count, _ in hot))
    edges = sorted({*edges, *ends})
    first = np.array(edges, np.int64)
    low, high = first[:-1].astype(np.float64), first[1:].astype(np.float64)
    if abs(exponent - 1) < 1e-9:
        weights = np.log((high + 0.5) / (low + 0.5))
    else:
        weights = ((high + 0.5) ** (1 - exponent) - (low + 0.5) ** (1 - exponent)) / (1 - exponent)
    singles = min(rows, _SINGLE)
    weights[:singles] = high[:singles] ** -exponent
    if hot:
        weights *= (1 - sum(share for _, share in hot)) / weights.sum()
        for (count, share), end in zip(hot, ends, strict=True):
            weights += share * (np.clip(high, end - count, end) - np.clip(low, end - count, end)) / count
    reach = np.cumsum(weights)
    scaled = np.rint(reach / reach[-1] * float(_WHOLE)).astype(np.int64)
    scaled[-1] = _WHOLE
    return Popularity(scaled, first)


def same_row_chance(law: Popularity) -> float:
    """Return the chance that two accesses ask for the same row.

    >>> same_row_chance(zipf(4, 0.0))
    0.25
    """
    shares = np.diff(law.reach, prepend=0) / float(_WHOLE)
    return float((shares * shares / np.diff(law.first)).sum())


@kernel
def part_source(seed: int, entity: int) -> int:
    """Return what the parts of the law are drawn from, for the accesses of an entity."""
    return random_source(seed, ACCESSED_ROW, entity)


@kernel
def rank_source(seed: int, entity: int) -> int:
    """Return what ranks within a part are drawn from."""
    return random_source(seed, ACCESSED_ROW, entity + (1 << 32))


@kernel
def drawn_rank(laws: Laws, table: int, of_part: int, within: int, counter: int) -> int:
    """Return the rank that the *counter*-th access of an entity asks for in a table, counted from 0; drawn from its
    :func:`part_source` and its :func:`rank_source`.
    """
    high = bits_from(of_part, 2 * counter) >> 1
    low = bits_from(of_part, 2 * counter + 1) >> 1
    drawn = high << 31 | low
    stretch = drawn >> _STRETCH  # a table of guides leaves little to halve (Chen and Asau, AIIE Transactions 6, 1974)
    left, right = laws.guide[table, stretch], laws.guide[table, stretch + 1]
    while left < right:
        middle = (left + right) // 2
        if drawn < laws.reach[middle]:
            right = middle
        else:
            left = middle + 1
    rank = laws.first[left + table]
    width = laws.first[left + table + 1] - rank
    if width == 1:
        return int(rank)
    return int(rank + below_from(width, within, counter))


class Rounds(NamedTuple):
    """What the rounds of a permutation draw from."""

    first: int
    second: int
    third: int
    fourth: int


@kernel
def rounds_of(seed: int, entity: int) -> Rounds:
    """Return the rounds of the permutation of a seed and an entity."""
    number = entity * _ROUNDS
    return Rounds(
        random_source(seed, SCATTERED_ROW, number),
        random_source(seed, SCATTERED_ROW, number + 1),
        random_source(seed, SCATTERED_ROW, number + 2),
        random_source(seed, SCATTERED_ROW, number + 3),
    )


@kernel
def scattered_by(rank: int, rows: int, rounds: Rounds) -> int:
    """Return where the row of a rank lies among *rows*: by the *rounds* of a permutation, which is different for each
    seed and entity.

    A Feistel network over the next even number of bits, walked on until it ends within the rows.
    """
    # rows - 1 has so many bits: the exponent of a float
    bits = int(np.float64(rows - 1).view(np.int64) >> 52) - 1022
    half = max((bits + 1) // 2, 1)
    mask = (1 << half) - 1
    place = rank
    while True:
        left, right = place >> half, place & mask
        left ^= bits_from(rounds.first, right) & mask
        right ^= bits_from(rounds.second, left) & mask
        left ^= bits_from(rounds.third, right) & mask
        right ^= bits_from(rounds.fourth, left) & mask
        place = left << half | right
        if place < rows:
            return place


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
    mass, page, colder = _on_pages(law, rows, heap_pages, moved, recent, seed, table)
    return np.asarray(np.bincount(page, weights=mass, minlength=heap_pages) + colder)


def _on_pages(
    law: Popularity, rows: int, heap_pages: int, moved: MovedRows, recent: bool, seed: int, table: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Return by rank which share of all updates goes to a row and on which page it lies, and the share of a page's
    colder rows.
    """
    mass = _by_rank(law, rows)
    colder = max(1 - float(mass.sum()), 0.0) / heap_pages
    mass[moved.ranks] = 0.0
    if recent:
        place = rows - 1 - np.arange(len(mass))
    else:
        place = np.empty(len(mass), np.int64)
        scatter(place, rows, seed, table)
    return mass, place * heap_pages // rows, colder


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


class UpdatedPages(NamedTuple):
    """Pages of a heap that was full, after updates of its rows."""

    has_room: NDArray[np.bool_]  # it was updated, which leaves room for the next new version
    #: Rank + 1 of the row that was updated first and not looked up since; 0: there is none. The colder rows of a large
    #: table are taken to have been looked up.
    dead_entry: NDArray[np.int64]


def updated_pages(
    law: Popularity,
    rows: int,
    heap_pages: int,
    moved: MovedRows,
    recent: bool,
    updates: float,
    lookups: float,
    seed: int,
    table: int,
) -> UpdatedPages:
    """Draw what so many *updates* did to the pages of a table, each row of which is looked up *lookups* times for each
    of its updates.
    """
    mass, page, colder = _on_pages(law, rows, heap_pages, moved, recent, seed, table)
    draw = np.random.default_rng((seed, table, 1))
    after = draw.exponential(size=len(mass)) / np.maximum(mass, _HARDLY_EVER)
    soonest = draw.exponential(size=heap_pages) / max(colder, _HARDLY_EVER)
    np.minimum.at(soonest, page, after)
    first = np.flatnonzero((after == soonest[page]) & (after < updates))
    met = after[first] + draw.exponential(size=len(first)) / (lookups * mass[first])
    left = first[met >= updates]
    dead_entry = np.zeros(heap_pages, np.int64)
    dead_entry[page[left]] = left + 1
    return UpdatedPages(np.asarray(soonest < updates), dead_entry)


@kernel
def scatter(places: NDArray[np.int64], rows: int, seed: int, entity: int) -> None:
    """Write for each rank where its row lies among *rows*."""
    rounds = rounds_of(seed, entity)
    for rank in range(len(places)):
        places[rank] = scattered_by(rank, rows, rounds)
