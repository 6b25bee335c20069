"""A buffer pool that accesses to rows walk over, page by page: what the closed form of its misses is held against."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.random_numbers import ACCESSED_TABLE, random_bits
from tiersim.scenarios.calibration.popularity.occupancy import AccessedTable, Law, levels
from tiersim.simulator.policies.lists import PolicyState, new_state
from tiersim.simulator.policies.simple import _enter_clock
from tiersim.simulator.popularity import Laws, drawn_rank, laws_of, part_source, rank_source, rounds_of, scattered_by

#: PostgreSQL's sweep: a page begins with a usage count of 1 and keeps up to 5 (storage/buf_internals.h).
_FIRST, _MOST = 1, 5
#: Columns of what is missed, and counted: accesses to a table, pages of its index, of its heap.
ACCESSES, INDEX, HEAP = range(3)
#: Entities of the permutation of an index whose order is not that of the heap.
_OTHER_ORDER = 1 << 20


@table_set
class Shape(NamedTuple):
    """Tables as the sweep walks over them: page numbers count through all of them."""

    rows: NDArray[np.int64]  # (tables,)
    touches: NDArray[np.int64]
    ordered: NDArray[np.int64]
    first_level: NDArray[np.int64]  # (tables + 1,): its levels, from root to leaf and then the heap
    level_start: NDArray[np.int64]  # (levels,): first page
    level_pages: NDArray[np.int64]


def shape_of(tables: list[AccessedTable]) -> tuple[Shape, int]:
    """Return the shape of all tables together, and how many pages they have."""
    first, starts, pages = [0], [], []
    page = 0
    for table in tables:
        for count in [*levels(table.index_pages), max(table.heap_pages, 1)]:
            starts.append(page)
            pages.append(count)
            page += count
        first.append(len(starts))
    columns = ([t.rows for t in tables], [t.touches for t in tables], [t.ordered for t in tables], first, starts, pages)
    return Shape(*(np.array(column, np.int64) for column in columns)), page


@kernel
def sweep_rows(
    shape: Shape,
    share: NDArray[np.int64],
    laws: Laws,
    recent: NDArray[np.int64],
    state: PolicyState,
    seed: int,
    begin: int,
    end: int,
    missed: NDArray[np.int64],
) -> None:
    """Walk over the accesses *begin* to *end*, and count what they miss in *missed*, (tables, 3).

    ``share`` is up to where 32 random bits choose a table, ``laws`` those of the tables. The hand of the sweep lies in
    the first place of ``state.lengths``.
    """
    hand = int(state.lengths[0])
    for counter in range(begin, end):
        table = 0
        chosen = random_bits(seed, ACCESSED_TABLE, 0, counter)
        while chosen >= share[table]:
            table += 1
        rows = shape.rows[table]
        rank = drawn_rank(laws, table, part_source(seed, table), rank_source(seed, table), counter)
        row = rows - 1 - rank if recent[table] else scattered_by(rank, rows, rounds_of(seed, table))
        missed[table, ACCESSES] += 1
        heap = shape.first_level[table + 1] - 1
        for level in range(shape.first_level[table], heap + 1):
            place = row
            if level < heap and not shape.ordered[table] and not recent[table]:
                place = scattered_by(rank, rows, rounds_of(seed, table + _OTHER_ORDER))
            page = shape.level_start[level] + place * shape.level_pages[level] // rows
            for _ in range(shape.touches[table]):
                frame = state.frame[page]
                if frame >= 0:
                    state.used[frame] += state.used[frame] < _MOST
                else:
                    missed[table, HEAP if level == heap else INDEX] += 1
                    hand = _enter_clock(state, page, hand, _FIRST)
    state.lengths[0] = hand


def walked(
    shape: Shape,
    pages: int,
    laws: Sequence[Law],
    weights: NDArray[np.int64],
    frames: int,
    seed: int,
    warm: int,
    accesses: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return accesses and misses of each table, (tables, 3), of a pool of *frames* pages, and each page's usage count
    at the end, or -1.

    *weights* are how often each table is accessed. The first *warm* accesses fill the pool and are not counted.
    """
    share = (np.cumsum(weights) * (1 << 32) // weights.sum()).astype(np.int64)
    drawn = laws_of([law.table(int(rows)) for law, rows in zip(laws, shape.rows, strict=True)])
    recent = np.array([law.recent for law in laws], np.int64)
    state = new_state(pages, frames, timed=False)
    counted = np.zeros((len(laws), 3), np.int64)
    sweep_rows(shape, share, drawn, recent, state, seed, 0, warm, counted)
    counted[:] = 0
    sweep_rows(shape, share, drawn, recent, state, seed, warm, warm + accesses, counted)
    return counted, np.where(state.frame >= 0, state.used[np.maximum(state.frame, 0)].astype(np.int64), -1)
