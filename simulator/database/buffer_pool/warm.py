"""A pool as a server has it that has been running for long: filled by the statements of the database, without time.

Whole transactions are drawn, each as likely as another; their lookups refer to pages as a run would, but to rows that
the run does not draw. What is missed comes at once; pages are changed and counted as used, and are clean again only
after they have gone: checkpoints and the background writer do not run meanwhile. Lookups fill the pool, and scans that
are not through a ring. The operating system's page cache is filled by what the pool misses and by the changed pages
that it gives up, and holds them clean.

Pools that were filled once, for databases that begin alike: scenarios that differ in devices alone are filled by the
same statements.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import Plant
from tiersim.kernel import fetch, kernel, table_set
from tiersim.random_numbers import WARMING_TRANSACTION, below_from, random_source
from tiersim.simulator.database.buffer_pool.flush_list import age, note_clean
from tiersim.simulator.database.buffer_pool.midpoint import free_frame, let_go, tail
from tiersim.simulator.database.buffer_pool.pages import (
    WARMING,
    change,
    draw_row,
    extend,
    has_extension,
    is_extended,
    loaded,
    note_row,
    page_at,
    references,
    touch,
    victim,
)
from tiersim.simulator.database.buffer_pool.rings import scans_in_ring
from tiersim.simulator.database.database_state import (
    AGAIN,
    CLOCK_NS,
    DIRTY_PAGES,
    LOCK,
    LOOKUP,
    LOOKUPS,
    ORIGIN_NS,
    POLICY,
    SCAN,
    SWEEP,
    TAKEN,
    TO_WARM,
    UNUSED,
    VALID,
    Database,
)
from tiersim.simulator.database.page_cache import keep
from tiersim.simulator.database.sessions.index_entries import puts_entry
from tiersim.simulator.database.sessions.read_stream import heap_pages, page_in, pages_of
from tiersim.simulator.database.wal.log import begin_positions, insert

#: The first window has so many references, or one for each frame if those are more; every other is twice as long as the
#: one before.
_LEAST_REFERENCES = 16_384
#: No more than so many, unless somebody says otherwise.
MOST_REFERENCES = 200_000_000
#: A window's misses have fallen when there are fewer than in the one before by more than this part and more than so
#: many standard deviations of their difference, taken as counts that know nothing of each other.
_FALL, _DEVIATIONS = 0.01, 2.0
#: Places in what `walk` has counted.
_TRANSACTIONS, _REFERENCES, _READ = range(3)


class Warmed(NamedTuple):
    """How a pool was filled; misses are those of the last window."""

    references: int  # of all windows
    transactions: int  # of the last one
    missed: NDArray[np.int64]  # (levels,): pages of each level of each table
    read: int  # from volumes: pages that the page cache missed, too
    stationary: bool  # no fewer pages are missed than before


@kernel
def refer(d: Database, page: int, dirties: int, now: int) -> bool:
    """Refer to a page outside a run: if it is not there, it comes at once; tell whether it was."""
    if touch(d, page, now):
        if dirties:
            change(d, page, 0)
        return True
    _fetch(d, page, dirties, now)
    return False


@kernel
def _fetch(d: Database, page: int, dirties: int, now: int) -> int:
    """Let a page come that is not there; returns the changed page that had to go for it, -1 if none had."""
    frame = victim(d, now)
    old = d.page_of[frame]
    changed = -1
    if old >= 0:
        if d.dirty[frame]:
            changed = int(old)
            d.pool_state[DIRTY_PAGES] -= 1
            if d.page_cleaner.size > 0:
                note_clean(d, frame)
        d.frame_of[old] = 0
        if has_extension(d):
            extend(d, old)
            d.lazy_writer[0]["extended_pages"] = 0
    d.page_of[frame] = page
    d.frame_of[page] = frame + 1
    d.state[frame] = VALID
    d.dirty[frame] = 0
    if dirties:
        change(d, page, 0)
    loaded(d, frame, page, 0, now)
    return changed


@kernel
def hold_all(p: Plant, d: Database) -> None:
    """Let every page be where there is room for all: in the pool, in the page cache."""
    for page in range(len(d.frame_of)):
        if len(d.frame_of) <= len(d.page_of):
            refer(d, page, 0, 0)
        if d.page_cache.size > 0 and len(d.frame_of) <= p.flash_caches[d.page_cache[0]["cache"]]["blocks"]:
            keep(p, d, page)


@kernel
def _read(p: Plant, d: Database, page: int, changed: int, was_extended: bool) -> bool:
    """Read a page that the pool has missed, which gave up a changed page for it; tell whether the volume was read."""
    if d.page_cache.size == 0:
        return not was_extended
    if changed >= 0:
        keep(p, d, changed)
    return not keep(p, d, page)


@kernel
def _look_at(p: Plant, d: Database, page: int, dirties: int, now: int, level: int, missed: NDArray[np.int64]) -> int:
    """Refer to a page of a level; returns how many the volume was read for: 0 or 1."""
    if touch(d, page, now):
        if dirties:
            change(d, page, 0)
        return 0
    missed[level] += 1
    was_extended = is_extended(d, page)
    return int(_read(p, d, page, _fetch(d, page, dirties, now), was_extended))


@kernel
def _look_at_indexes(
    p: Plant, d: Database, place: int, row: int, heap_page: int, counter: int, now: int, missed: NDArray[np.int64]
) -> int:
    """Refer to the pages of the other indexes that get an entry when a *row* is changed; returns how many the volume
    was read for. Pages of the heap without room keep having none, since the run begins with them.
    """
    demand = d.demands[place]
    index = d.next_index[demand["table"]]
    crowded = demand["needs_room"] and not d.has_room[heap_page]
    if index < 0 or not (crowded or puts_entry(d, demand["entry_share"], demand["table"] + WARMING, counter)):
        return 0
    read = 0
    while index >= 0:
        levels = references(d, index)
        for reference in range(levels):
            page = page_at(d, index, row % d.rows[index], reference)
            read += _look_at(p, d, page, int(reference + 1 == levels), now, d.first_level[index] + reference, missed)
        index = d.next_index[index]
    return int(read)


@table_set
class TransactionStarts(NamedTuple):
    """Where in the statements each transaction begins, and where the last ends; by session, which of them is its first,
    and which of all that are planned.
    """

    begins: NDArray[np.int64]  # (transactions + 1,)
    first: NDArray[np.int64]  # (sessions + 1,)
    first_planned: NDArray[np.int64]  # (sessions + 1,)


@kernel
def _there(transactions: TransactionStarts, planned: int) -> int:
    """Return which transaction is one of all that are planned: a session goes through those that it has again and
    again.
    """
    session, behind = 0, len(transactions.first) - 1
    while behind - session > 1:
        middle = (session + behind) // 2
        if transactions.first_planned[middle] <= planned:
            session = middle
        else:
            behind = middle
    first = transactions.first[session]
    turn = transactions.first[session + 1] - first
    return int(first + (planned - transactions.first_planned[session]) % turn)


@kernel
def walk(
    p: Plant,
    d: Database,
    transactions: TransactionStarts,
    transaction_ns: int,
    enough: int,
    counted: NDArray[np.int64],
    missed: NDArray[np.int64],
) -> None:
    """Draw transactions until they have made *enough* references, or are as many themselves; InnoDB's log is as long as
    they are many.
    """
    count, source = transactions.first_planned[-1], random_source(d.seed[0], WARMING_TRANSACTION, 0)
    drawn, referred, read = counted[_TRANSACTIONS], counted[_REFERENCES], counted[_READ]
    end, last = referred + enough, drawn + enough
    row = 0
    ahead = _there(transactions, below_from(count, source, drawn))
    further = _there(transactions, below_from(count, source, drawn + 1))
    while referred < end and drawn < last:
        chosen, ahead = ahead, further
        # what is drawn lies anywhere in tables of many MB: they are asked for it two and one transactions ahead
        further = _there(transactions, below_from(count, source, drawn + 2))
        fetch(transactions.begins, further)
        fetch(d.statement_class, transactions.begins[ahead])
        now = drawn * transaction_ns
        drawn += 1
        if d.page_cleaner.size > 0:
            insert(d, 1)
        for statement in range(transactions.begins[chosen], transactions.begins[chosen + 1]):
            class_ = d.statement_class[statement]
            for place in range(d.first_demand[class_], d.first_demand[class_ + 1]):
                demand = d.demands[place]
                kind, table = demand["kind"], demand["table"]
                if kind == SCAN and not (d.replacement[POLICY] == SWEEP and scans_in_ring(d, heap_pages(d, table))):
                    for number in range(pages_of(d, place)):
                        page = page_in(d, place, 0, number)
                        read += _look_at(p, d, page, demand["dirties"], now, d.first_level[table + 1] - 1, missed)
                        referred += 1
                if kind == LOCK and demand["dirties"]:
                    note_row(d, table, row % d.rows[table])
                    page = page_at(d, table, row % d.rows[table], references(d, table) - 1)
                    if d.page_cleaner.size > 0:  # changed pages stay so in InnoDB
                        change(d, page, 0)
                    read += _look_at_indexes(p, d, place, row, page, referred, now, missed)
                if kind not in (LOOKUP, AGAIN, LOOKUPS):
                    continue
                pages = references(d, table)
                for _ in range(demand["rows"] if kind == LOOKUPS else 1):
                    if kind != AGAIN:
                        row = draw_row(d, table, TO_WARM, referred, demand["changed"])
                    for reference in range(pages):
                        page = page_at(d, table, row % d.rows[table], reference)
                        dirties = demand["dirties"] if reference + 1 == pages else 0
                        read += _look_at(p, d, page, dirties, now, d.first_level[table] + reference, missed)
                    if kind != LOOKUPS and demand["dirties"]:
                        note_row(d, table, row % d.rows[table])
                        read += _look_at_indexes(p, d, place, row, page, referred, now, missed)
                    referred += pages
    counted[_TRANSACTIONS], counted[_REFERENCES], counted[_READ] = drawn, referred, read


@kernel
def begin_log(d: Database) -> None:
    """Let the log begin here: what was changed before a run lies before it."""
    before = begin_positions(d)
    for frame in range(len(d.page_of)):
        d.oldest_position[frame] -= before


def warm(
    d: Database, plant: Plant | None = None, *, transaction_ns: int = 0, most_references: int = MOST_REFERENCES
) -> Warmed:
    """Fill the pool of a database that has not run yet, and the page cache of its *plant* if that is given.

    Ends when both are full and a window of references misses no fewer pages than the window before, which was half as
    long; or, not stationary, when the next window would lead beyond *most_references*. Transactions are
    *transaction_ns* apart, which LRU-2 looks at. What there is room for as a whole is there as a whole.
    """
    p = PlantBuilder(0).build(1) if plant is None else plant
    if plant is None:
        d = d._replace(page_cache=d.page_cache[:0])
    hold_all(p, d)
    transactions = _transactions(d)
    counted, missed = np.zeros(3, np.int64), np.zeros(len(d.level_pages), np.int64)
    drawn = read = 0
    before, window = -1.0, max(len(d.page_of), _LEAST_REFERENCES)
    stationary = not len(d.statement_class) or not np.isin(d.demands["kind"], (LOOKUP, AGAIN, LOOKUPS, SCAN)).any()
    while not stationary and counted[_REFERENCES] + window <= most_references:
        missed[:] = 0
        drawn, read = int(counted[_TRANSACTIONS]), int(counted[_READ])
        walk(p, d, transactions, transaction_ns, window, counted, missed)
        misses, expected = float(missed.sum() + counted[_READ] - read), 2 * before
        noise = (
            _DEVIATIONS * (misses + 4 * before) ** 0.5 if before >= 0 else 0.0
        )  # twice a count deviates twice as far
        stationary = bool(before >= 0 and expected - misses <= max(noise, _FALL * expected) and _is_full(p, d))
        before = misses
        window *= 2
    if d.page_cleaner.size > 0:
        begin_log(d)
    d.pool_state[TAKEN] = 0  # of what was taken before, the background writer knows nothing
    d.pool_state[ORIGIN_NS] = d.pool_state[CLOCK_NS]
    transactions_of_last = int(counted[_TRANSACTIONS]) - drawn
    return Warmed(int(counted[_REFERENCES]), transactions_of_last, missed, int(counted[_READ]) - read, stationary)


def _is_full(p: Plant, d: Database) -> bool:
    """Tell whether pool and page cache have no room left, or hold all pages."""
    pages, frames = len(d.frame_of), len(d.page_of)
    if d.pool_state[UNUSED] < min(frames, pages):
        return False
    if pages <= frames or not d.page_cache.size:
        return True
    cache = p.flash_caches[d.page_cache[0]["cache"]]
    return bool(cache["used"] == min(cache["blocks"], pages))


def fill(d: Database, frames: int, *, most_references: int = MOST_REFERENCES) -> None:
    """Fill *frames* frames of the pool of a database that has not run yet, or as many as that
    number of references do.
    """
    d, p = d._replace(page_cache=d.page_cache[:0]), PlantBuilder(0).build(1)
    transactions = _transactions(d)
    counted, missed = np.zeros(3, np.int64), np.zeros(len(d.level_pages), np.int64)
    while d.pool_state[UNUSED] < min(frames, len(d.frame_of)) and counted[_REFERENCES] < most_references:
        before = counted[_REFERENCES]
        walk(
            p, d, transactions, 0, int(frames - d.pool_state[UNUSED]), counted, missed
        )  # a reference takes one frame at most
        if counted[_REFERENCES] == before:  # nothing looks anything up
            break
    if d.page_cleaner.size > 0:
        begin_log(d)
    d.pool_state[ORIGIN_NS] = d.pool_state[CLOCK_NS]


def settle(d: Database, free: int, dirty_pages: int, age_bytes: int, transaction_bytes: int) -> None:
    """Let the pool of a database that was filled have *free* frames more, and no more than *dirty_pages* changed pages,
    the latest, the first of which was changed so much of the log ago: as page cleaners leave it. Transactions have so
    many bytes in the log; without any all pages lie evenly over it. The run begins when the last page came.
    """
    _leave_free(d, free)
    age(d, dirty_pages, age_bytes, transaction_bytes)


@kernel
def _leave_free(d: Database, free: int) -> None:
    latest_ns = 0
    for frame in range(d.pool_state[UNUSED]):
        latest_ns = max(latest_ns, d.midpoint_frames[frame]["first_ns"])
    for frame in range(d.pool_state[UNUSED]):
        d.midpoint_frames[frame]["first_ns"] -= latest_ns
    to_free = free - (len(d.page_of) - d.pool_state[UNUSED])
    for _ in range(min(to_free, d.midpoint[0]["young"] + d.midpoint[0]["old"])):
        frame = tail(d)
        if d.dirty[frame]:
            note_clean(d, frame)
            d.dirty[frame] = 0
            d.pool_state[DIRTY_PAGES] -= 1
        let_go(d, frame)
        free_frame(d, frame)


def _transactions(d: Database) -> TransactionStarts:
    """Return the transactions of all sessions, and statements outside of any by themselves."""
    clients = d.sessions[: d.first_helper[0]]
    begins = d.begins.astype(np.bool_)
    begins[1:] |= d.ends[:-1].astype(np.bool_)
    begins[clients["first"][clients["first"] < clients["end"]]] = True
    places = np.append(np.flatnonzero(begins), len(begins))
    first = np.searchsorted(places, np.append(clients["first"], len(begins)))
    there = np.maximum(clients["end"].astype(np.int64) - clients["first"], 1)
    planned = np.diff(first) * np.diff(d.first_number) // there
    return TransactionStarts(places, first, np.concatenate([[0], np.cumsum(planned)]))
