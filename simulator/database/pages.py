"""Which pages a lookup touches, and what the pool does with them: the part that sessions and the pool's station share.

Three modules know which page has to go (:mod:`tiersim.simulator.database.sweep`, ``lru``, ``lru2``); here the one is asked that the
host has.
"""

import numpy as np

from tiersim.devices.tables import NONE
from tiersim.kernel import kernel
from tiersim.simulator.database import lru, lru2, rings, sweep
from tiersim.simulator.database.tables import INDEPENDENT, LRU, POLICY, RECENT, SWEEP, TAKEN, UNUSED, VALID, Database
from tiersim.simulator.popularity import draw_rank, scattered

#: Entities of the permutation of an index whose order is not that of the heap.
_OTHER_ORDER = 1 << 20


@kernel
def draw_row(d: Database, table: int, entity: int, counter: int) -> int:
    """Return the rank of the row that an access to a table looks up."""
    reach = d.reach[d.law[table] : d.law[table + 1]]
    first = d.first_rank[d.law[table] + table : d.law[table + 1] + table + 1]
    return draw_rank(reach, first, d.seed[0], entity, counter)


@kernel
def references(d: Database, table: int) -> int:
    """Return how many pages a lookup refers to: one of each level of the index, and one of the heap."""
    return int(d.first_level[table + 1] - d.first_level[table])


@kernel
def page_at(d: Database, table: int, rank: int, reference: int) -> int:
    """Return the page that a lookup refers to, root first, heap last."""
    rows = d.rows[table]
    level = d.first_level[table] + reference
    heap = d.first_level[table + 1] - 1
    if d.ordered[table] == RECENT:
        place = rows - 1 - rank
    elif level < heap and d.ordered[table] == INDEPENDENT:
        place = scattered(rank, rows, d.seed[0], table + _OTHER_ORDER)
    else:
        place = scattered(rank, rows, d.seed[0], table)
    return int(d.level_start[level] + place * d.level_pages[level] // rows)


@kernel
def station_of(d: Database, page: int) -> int:
    """Return the station that a page is read from and written to: the page cache, or its volume."""
    if d.page_cache.size > 0:
        return int(np.int64(d.page_cache[0]["station"]))
    return volume_of(d, page)


@kernel
def volume_of(d: Database, page: int) -> int:
    """Return the station of the volume that a page lies on."""
    low, high = 0, len(d.level_start) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if d.level_start[middle] <= page:
            low = middle
        else:
            high = middle - 1
    return int(np.int64(d.level_station[low]))


@kernel
def touch(d: Database, page: int, dirties: int, now: int) -> bool:
    """Refer to a page: tell whether it is in the pool; if it is, count the use."""
    held = d.frame_of[page]
    if held == 0 or d.state[held - 1] != VALID:
        return False
    frame = held - 1
    if d.replacement[POLICY] == SWEEP:
        sweep.use(d, frame)
    elif d.replacement[POLICY] == LRU:
        lru.use(d, frame)
    else:
        lru2.use(d, frame, now)
    if dirties:
        d.dirty[frame] = 1
    return True


@kernel
def touch_in_ring(d: Database, page: int, now: int) -> bool:
    """Refer to a page as who uses a ring does, which makes it no hotter than a page that was read just now."""
    held = d.frame_of[page]
    if d.replacement[POLICY] != SWEEP:
        return touch(d, page, 0, now)
    if held == 0 or d.state[held - 1] != VALID:
        return False
    sweep.use_once(d, held - 1)
    return True


@kernel
def set_dirty(d: Database, page: int) -> None:
    """Change a page that is in the pool."""
    held = d.frame_of[page]
    if held > 0:
        d.dirty[held - 1] = 1


@kernel
def victim(d: Database, now: int) -> int:
    """Return a frame for another page, one that was never used or whose page has to go; -1 if all are being read."""
    unused = d.pool_state[UNUSED]
    if unused < len(d.page_of):
        d.pool_state[UNUSED] = unused + 1
        d.page_of[unused] = -1
        d.chain[unused] = NONE
        frame = unused
    else:
        if d.replacement[POLICY] == SWEEP:
            frame = sweep.choose(d)
        elif d.replacement[POLICY] == LRU:
            frame = lru.choose(d)
        else:
            frame = lru2.choose(d, now)
        if frame < 0:
            return -1
        rings.leave(d, frame)
    d.pool_state[TAKEN] += 1
    return int(frame)


@kernel
def ring_victim(d: Database, session: int, now: int) -> int:
    """Return a frame for a page that a session reads through its ring: the ring's oldest, or another if that must stay."""
    frame = rings.choose(d, session)
    if frame < 0:
        return victim(d, now)
    if d.replacement[POLICY] == LRU:
        lru.leave(d, frame)
    elif d.replacement[POLICY] != SWEEP:
        lru2.leave(d, frame)
    return frame


@kernel
def loaded(d: Database, frame: int, page: int, ring: int, now: int) -> None:
    """A frame that `victim` gave gets a page, for its first use; *ring*: of session + 1, 0 for none."""
    if d.replacement[POLICY] == SWEEP:
        sweep.enter(d, frame)
    elif d.replacement[POLICY] == LRU:
        lru.enter(d, frame)
    else:
        lru2.enter(d, frame, page, now)
    if ring > 0:
        rings.join(d, ring - 1, frame)
