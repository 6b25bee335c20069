"""Which pages a lookup touches, and what the pool does with them: the part that sessions and the pool's station share.

Four modules of this folder know which page has to go (``sweep``, ``lru``, ``lru2``, ``midpoint``); here the one is
asked that the host has.

SQL Server's buffer pool extension keeps clean pages that leave the pool in a file on faster storage than theirs.
Microsoft, "Buffer pool extension" (2014 and later): a second level for clean pages, which the lazy writer and the
workers fill as they free frames. What makes room in it is not published; here its places are used in turn, so that
pages which leave together are written together. A page that is changed in the pool is no longer good there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NONE
from tiersim.kernel import kernel
from tiersim.random_numbers import below_from
from tiersim.simulator.database.buffer_pool import lru, lru2, midpoint, rings, sweep
from tiersim.simulator.database.buffer_pool.adaptive_flushing import MYSQL
from tiersim.simulator.database.buffer_pool.flush_list import note_changed, note_clean
from tiersim.simulator.database.database_state import (
    CHECKPOINT_PENDING,
    CHECKPOINT_WRITTEN,
    DIRTY_PAGES,
    FREE_FRAMES,
    INDEPENDENT,
    LRU,
    LRU2,
    MIDPOINT,
    NO_RING,
    OF_MANY,
    OF_ONE,
    PAGES_A_FILE,
    POLICY,
    RECENT,
    SWEEP,
    TAKEN,
    UNUSED,
    VALID,
    Database,
)
from tiersim.simulator.database.wal.log import HINT, log_change, log_hint
from tiersim.simulator.popularity import Rounds, drawn_rank, part_source, rank_source, rounds_of, scattered_by

#: InnoDB: pages that a session looks at for one that it need not write.
_SEARCHED = 100


#: Entities of rows that are drawn for something else than one lookup, behind those of the tables; and of the
#: permutation of an index whose order is not that of the heap.
_MANY, WARMING, _OTHER_ORDER = 1 << 20, 1 << 33, 1 << 20


@kernel
def has_extension(d: Database) -> bool:
    """Tell whether the pool has one."""
    return d.extension_page.size > 0


@kernel
def extend(d: Database, page: int) -> None:
    """Give a clean page that leaves the pool the next place, unless it has one still."""
    if d.extension_place[page] > 0:
        return
    w = d.lazy_writer[0]
    place = w["extended_place"]
    old = d.extension_page[place]
    if old > 0:
        d.extension_place[old - 1] = 0
    d.extension_page[place] = page + 1
    d.extension_place[page] = place + 1
    w["extended_place"] = (place + 1) % len(d.extension_page)
    w["extended_pages"] = min(w["extended_pages"] + 1, len(d.extension_page))


@kernel
def is_extended(d: Database, page: int) -> bool:
    """Tell whether a page can be read from the extension."""
    return bool(d.extension_page.size > 0 and d.extension_place[page] > 0)


@kernel
def outdate(d: Database, page: int) -> None:
    """A page is changed in the pool: what the extension holds of it is old."""
    if is_extended(d, page):
        d.extension_page[d.extension_place[page] - 1] = 0
        d.extension_place[page] = 0


@kernel
def note_sources(row_sources: NDArray[Any], placed: NDArray[Any], seed: int) -> None:
    """Write what the rows of all tables and their places are drawn from."""
    for table in range(len(row_sources)):
        for purpose in range(row_sources.shape[1]):
            entity = table + (0 if purpose == OF_ONE else _MANY if purpose == OF_MANY else WARMING)
            row_sources[table, purpose]["of_part"] = part_source(seed, entity)
            row_sources[table, purpose]["within"] = rank_source(seed, entity)
        for of_index in range(2):
            rounds = rounds_of(seed, table + of_index * _OTHER_ORDER)
            place = placed[table, of_index]
            place["first"], place["second"] = rounds.first, rounds.second
            place["third"], place["fourth"] = rounds.third, rounds.fourth


@kernel(hot=True)
def draw_row(d: Database, table: int, purpose: int, counter: int, changed: int) -> int:
    """Return the rank of the row that an access to a table looks up: of one row, of many, or to fill the pool; of the
    last *changed* changes, if that many are asked for and there were any.
    """
    source = d.row_sources[table, purpose]
    behind = min(changed, d.changes[table])
    if behind > 0:
        first = d.first_changed[table]
        number = d.changes[table] - 1 - below_from(behind, source["within"], counter)
        return int(d.changed_rank[first + number % (d.first_changed[table + 1] - first)])
    return drawn_rank(d.laws, table, source["of_part"], source["within"], counter)


@kernel
def note_row(d: Database, table: int, rank: int) -> None:
    """Note that a row was changed, where demands ask for such."""
    first = d.first_changed[table]
    length = d.first_changed[table + 1] - first
    if length > 0:
        d.changed_rank[first + d.changes[table] % length] = rank
        d.changes[table] += 1


@kernel
def references(d: Database, table: int) -> int:
    """Return how many pages a lookup refers to: one of each level of the index, and one of the heap."""
    return int(d.first_level[table + 1] - d.first_level[table])


@kernel(hot=True)
def page_at(d: Database, table: int, rank: int, reference: int) -> int:
    """Return the page that a lookup refers to, root first, heap last."""
    level = d.first_level[table] + reference
    heap = d.first_level[table + 1] - 1
    kept = d.level_pages[level]
    if level == heap and d.first_moved[table + 1] > d.first_moved[table]:
        kept -= d.moved_pages[table]
        moved = _moved(d, table, rank)
        if moved != NONE:
            return int(d.level_start[level] + kept + d.moved_page[moved])
    place = _place_of(d, table, rank, level < heap and d.ordered[table] == INDEPENDENT)
    return int(d.level_start[level] + place * kept // d.rows[table])


@kernel
def _moved(d: Database, table: int, rank: int) -> int:
    """Return which of the rows that updates moved is that of a rank, or NONE."""
    low, behind = d.first_moved[table], d.first_moved[table + 1]
    high = behind
    while low < high:
        middle = (low + high) // 2
        if d.moved_rank[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return int(low) if low < behind and d.moved_rank[low] == rank else NONE


@kernel
def _place_of(d: Database, table: int, rank: int, of_index: bool) -> int:
    """Return where the row of a rank lies in the heap, or in an index of another order; it is known for the row that
    was asked for last.
    """
    if d.ordered[table] == RECENT:
        return int(d.rows[table] - 1 - rank)
    known = d.placed[table, int(of_index)]
    if known["rank_after"] != rank + 1:
        known["rank_after"] = rank + 1
        rounds = Rounds(known["first"], known["second"], known["third"], known["fourth"])
        known["place"] = scattered_by(rank, d.rows[table], rounds)
    return int(known["place"])


@kernel
def station_of(d: Database, page: int) -> int:
    """Return the station that a page is read from and written to: the page cache, or its volume."""
    if d.page_cache.size > 0:
        return int(np.int64(d.page_cache[0]["station"]))
    return volume_of(d, page)


@kernel
def volume_of(d: Database, page: int) -> int:
    """Return the station of the volume that a page lies on."""
    return int(np.int64(d.level_station[level_of(d, page)]))


@kernel
def level_of(d: Database, page: int) -> int:
    """Return the level of its table that a page belongs to."""
    low, high = 0, len(d.level_start) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if d.level_start[middle] <= page:
            low = middle
        else:
            high = middle - 1
    return int(low)


@kernel
def is_temporary(d: Database, page: int) -> bool:
    """Tell whether a page is of a temporary database."""
    return bool(d.level_temp[level_of(d, page)])


@kernel
def is_there(d: Database, page: int) -> bool:
    """Tell whether a page is in the pool, without referring to it."""
    held = d.frame_of[page]
    return bool(held > 0 and d.state[held - 1] == VALID)


@kernel(hot=True)
def touch(d: Database, page: int, now: int) -> bool:
    """Refer to a page: tell whether it is in the pool; if it is, count the use."""
    held = d.frame_of[page]
    if held == 0 or d.state[held - 1] != VALID:
        return False
    frame = held - 1
    if d.replacement[POLICY] == SWEEP:
        sweep.use(d, frame)
    elif d.replacement[POLICY] == LRU:
        lru.use(d, frame)
    elif d.replacement[POLICY] == LRU2:
        lru2.use(d, frame, page, now)
    else:
        midpoint.use(d, frame, now)
    return True


@kernel
def want(d: Database, session: int, op: int, page: int, pages: int) -> None:
    """Let a session ask the pool for pages as soon as the CPU that it has used is charged."""
    s = d.sessions[session]
    s["missing"] = page
    s["missing_pages"] = pages
    s["missing_op"] = op


@kernel
def touch_in_ring(d: Database, page: int, now: int) -> bool:
    """Refer to a page as who uses a ring does, which makes it no hotter than a page that was read just now."""
    held = d.frame_of[page]
    if d.replacement[POLICY] != SWEEP:
        return touch(d, page, now)
    if held == 0 or d.state[held - 1] != VALID:
        return False
    sweep.use_once(d, held - 1)
    return True


@kernel(hot=True)
def change(d: Database, page: int, log_bytes: int) -> None:
    """Change a page if it is in the pool, with a record in the log if that has any bytes (hints about rows are changed
    without). A HINT changes nothing in a page that is to be written anyway.
    """
    held = d.frame_of[page]
    if held == 0:
        return
    before = d.log[0]["inserted"] if d.page_cleaner.size > 0 else 0
    if log_bytes > 0 and not is_temporary(d, page):
        log_change(d, page, log_bytes)
    elif log_bytes == HINT and not d.dirty[held - 1]:
        log_hint(d, page)
    outdate(d, page)
    if not d.dirty[held - 1]:
        d.dirty[held - 1] = 1
        d.pool_state[DIRTY_PAGES] += 1
        if d.page_cleaner.size > 0:
            note_changed(d, held - 1, before)


@kernel
def clean(d: Database, frame: int) -> None:
    """The changed page of a frame is being written: it is clean, and its file is to be synced by
    the next checkpoint; InnoDB syncs it when it is written.
    """
    page = d.page_of[frame]
    d.dirty[frame] = 0
    d.pool_state[DIRTY_PAGES] -= 1
    if d.page_cleaner.size > 0:
        note_clean(d, frame)
    else:
        d.written_files[file_of(d, page)] = 1
    if d.checkpoint_mark[page] == CHECKPOINT_PENDING:
        d.checkpoint_mark[page] = CHECKPOINT_WRITTEN


@kernel
def file_of(d: Database, page: int) -> int:
    """Return the file that a page lies in."""
    first = d.level_file[level_of(d, page)]
    return int(first + (page - d.file_start[first]) // PAGES_A_FILE)


@kernel
def victim(d: Database, now: int) -> int:
    """Return a frame for another page, one that was never used or whose page has to go; -1 if all are being read."""
    unused = d.pool_state[UNUSED]
    if unused < len(d.page_of):
        d.pool_state[UNUSED] = unused + 1
        d.page_of[unused] = -1
        d.chain[unused] = NONE
        frame = unused
    elif d.pool_state[FREE_FRAMES] > 0:
        d.pool_state[FREE_FRAMES] -= 1
        frame = int(d.free_frames[d.pool_state[FREE_FRAMES]])
        d.chain[frame] = NONE
    else:
        if d.replacement[POLICY] == SWEEP:
            frame = sweep.choose(d)
        elif d.replacement[POLICY] == LRU:
            frame = lru.choose(d)
        elif d.replacement[POLICY] == LRU2:
            frame = lru2.choose(d, now)
        else:
            frame = _choose_at_midpoint(d)
        if frame < 0:
            return -1
        rings.leave(d, frame)
    d.pool_state[TAKEN] += 1
    return int(frame)


@kernel
def _choose_at_midpoint(d: Database) -> int:
    """Return the frame of the page that has to go. While page cleaners run, a session looks for a clean one near the
    tail; without any it waits for the cleaner in MariaDB, and in MySQL writes a page itself (buf0lru.cc,
    buf_LRU_get_free_block), or waits until fewer sessions do (buf0dblwr.cc, buf_dblwr_write_single_page).
    """
    frames = len(d.page_of)
    if d.page_cleaner.size == 0 or not d.page_cleaner[0]["armed"]:
        return midpoint.choose(d, frames, False)
    c = d.page_cleaner[0]
    frame = midpoint.choose(d, _SEARCHED, True)
    if frame < 0 and c["form"] == MYSQL and (c["most_singles"] == 0 or c["singles"] < c["most_singles"]):
        frame = midpoint.choose(d, frames, False)
    return frame


@kernel
def frame_for(d: Database, session: int, now: int) -> int:
    """Return a frame for a page that a session reads: of its ring, if it has one, the oldest that may go; else as
    :func:`victim`.
    """
    frame = -1
    if d.sessions[session]["ring"] != NO_RING:
        frame = rings.choose(d, session)
    if frame < 0:
        return victim(d, now)
    if d.replacement[POLICY] == LRU:
        lru.leave(d, frame)
    elif d.replacement[POLICY] == LRU2:
        lru2.leave(d, frame)
    elif d.replacement[POLICY] == MIDPOINT:
        midpoint.let_go(d, frame)
    return frame


@kernel
def loaded(d: Database, frame: int, page: int, ring: int, now: int) -> None:
    """A frame that `victim` gave gets a page, for its first use; *ring*: of session + 1, 0 for none."""
    if d.replacement[POLICY] == SWEEP:
        sweep.enter(d, frame)
    elif d.replacement[POLICY] == LRU:
        lru.enter(d, frame)
    elif d.replacement[POLICY] == LRU2:
        lru2.enter(d, frame, page, now)
    else:
        midpoint.enter(d, frame, now)
    if ring > 0:
        rings.join(d, ring - 1, frame)


def clean_all(d: Database) -> None:
    """Let no page be changed, as at the end of a checkpoint."""
    used = int(d.pool_state[UNUSED])
    d.dirty[:used] = 0
    d.pool_state[DIRTY_PAGES] = 0
