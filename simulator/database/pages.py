"""Which pages a lookup touches, and what the pool does with them: the part that sessions and the pool's station share."""

from tiersim.kernel import kernel
from tiersim.simulator.database.tables import FREE, HAND, INDEPENDENT, RECENT, UNUSED, VALID, Database
from tiersim.simulator.popularity import draw_rank, scattered

#: PostgreSQL's sweep: a page keeps a usage count up to 5 (storage/buf_internals.h).
MOST_USED = 5
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
    """Return the station of the volume that a page lies on."""
    low, high = 0, len(d.level_start) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if d.level_start[middle] <= page:
            low = middle
        else:
            high = middle - 1
    return int(d.level_station[low])


@kernel
def touch(d: Database, page: int, dirties: int) -> bool:
    """Refer to a page: tell whether it is in the pool; if it is, count the use."""
    held = d.frame_of[page]
    if held == 0 or d.state[held - 1] != VALID:
        return False
    frame = held - 1
    if d.used[frame] < MOST_USED:
        d.used[frame] += 1
    if dirties:
        d.dirty[frame] = 1
    return True


@kernel
def set_dirty(d: Database, page: int) -> None:
    """Change a page that is in the pool."""
    held = d.frame_of[page]
    if held > 0:
        d.dirty[held - 1] = 1


@kernel
def victim(d: Database) -> int:
    """Return a frame for another page: one that was never used, or the first under the hand without a use; -1 if all are taken."""
    frames = len(d.page_of)
    unused = d.pool_state[UNUSED]
    if unused < frames:
        d.pool_state[UNUSED] = unused + 1
        return int(unused)
    hand = d.pool_state[HAND]
    for _ in range((MOST_USED + 2) * frames):
        frame = hand
        hand = hand + 1 if hand + 1 < frames else 0
        if d.state[frame] == FREE:
            d.pool_state[HAND] = hand
            return int(frame)
        if d.state[frame] == VALID:
            if d.used[frame] == 0:
                d.pool_state[HAND] = hand
                return int(frame)
            d.used[frame] -= 1
    d.pool_state[HAND] = hand
    return -1
