"""LRU with a midpoint, as InnoDB's buffer pool has it: a list of young pages, and behind it one of old pages.

A page that is read comes to the second place of the old part. It becomes young when it is used *old_time_ns* or later
after its first use. A young page moves to the head when a quarter of the young part was evicted since it last did; one
that only the midpoint made young, as soon as so many were evicted at all. Nothing moves before the first eviction
(buf0buf.ic, buf_page_peek_if_too_old, buf_page_peek_if_young).

The old part has its share of all pages, give or take a tolerance, after each page that comes or goes. A list of less
than *least_pages* has no old part: pages come to its head (buf0lru.cc, buf_LRU_old_adjust_len, buf_LRU_remove_block,
buf_LRU_add_block_low, buf_LRU_old_init).

Page cleaners keep the tail free (:mod:`tiersim.simulator.database.buffer_pool.page_cleaner`); a page that is being
written stays.
"""

from dataclasses import dataclass

from tiersim.devices.plant import settings_of
from tiersim.kernel import kernel
from tiersim.simulator.database.buffer_pool import rings
from tiersim.simulator.database.buffer_pool.frame_lists import _push, _unlink
from tiersim.simulator.database.database_state import FREE, FREE_FRAMES, VALID, Database, record

#: Which part of the list a frame is in.
NOWHERE, YOUNG, OLD = range(3)
#: What ``used`` says of a frame whose page is being written: it stays, or goes when it is written. A ring leaves frames
#: of more than one use alone.
WRITTEN, LEAVES = 2, 3
#: A young page moves when this part of the young ones has gone since it last did.
_QUARTER = 4
#: The share of old pages is kept in so many parts (buf0lru.h, BUF_LRU_OLD_RATIO_DIV).
_PARTS = 1024


@dataclass(frozen=True)
class Midpoint:
    """Settings: innodb_old_blocks_pct, innodb_old_blocks_time; and BUF_LRU_OLD_TOLERANCE and BUF_LRU_OLD_MIN_LEN
    (buf0lru.h), which tests of small pools make smaller: of the fewest pages, more than the tolerance are old.
    """

    old_percent: int = 37
    old_time_ns: int = 1_000_000_000
    tolerance_pages: int = 20
    least_pages: int = 512


#: The list as a whole.
MIDPOINT_ROW = record(
    *settings_of(Midpoint),
    "young",  # pages
    "old",
    "evicted",  # so far
    "made_young",  # old pages that became young
    "made_not_young",  # uses of old pages that came too early
)
#: A frame in it: its part, when its page was first used, and how many pages were evicted when it last came to the head.
MIDPOINT_FRAME = record("part", "first_ns", "moved")


@kernel
def use(d: Database, frame: int, now: int) -> None:
    """A page is used."""
    m, row = d.midpoint[0], d.midpoint_frames[frame]
    if m["evicted"] == 0:
        return
    if row["part"] == OLD and m["old_time_ns"] > 0:
        if now - row["first_ns"] < m["old_time_ns"]:
            m["made_not_young"] += 1
            return
    elif m["evicted"] - row["moved"] < len(d.page_of) * (_PARTS - _old_parts(d)) // (_PARTS * _QUARTER):
        return
    m["made_young"] += row["part"] == OLD
    leave(d, frame)
    _put_first(d, frame)


@kernel
def enter(d: Database, frame: int, now: int) -> None:
    """A page comes, and is used."""
    m, row, old = d.midpoint[0], d.midpoint_frames[frame], len(d.page_of) + 1
    row["first_ns"] = now
    row["moved"] = 0
    if m["young"] + m["old"] < m["least_pages"]:
        _put_first(d, frame)
        return
    _push(d.newer, d.older, int(d.older[old]), frame)  # behind the first of the old
    row["part"] = OLD
    m["old"] += 1
    _lengthened(d)


@kernel
def leave(d: Database, frame: int) -> None:
    """A page goes from the part that it is in. The last of the young takes the place of the first of the old."""
    m, row = d.midpoint[0], d.midpoint_frames[frame]
    if row["part"] == OLD and int(d.older[len(d.page_of) + 1]) == frame:
        _make_old(d)
    _unlink(d.newer, d.older, frame)
    if row["part"] == YOUNG:
        m["young"] -= 1
    else:
        m["old"] -= 1
    row["part"] = NOWHERE
    if m["young"] + m["old"] >= m["least_pages"]:
        _balance(d)
        return
    while m["old"] > 0:
        _make_young(d)


@kernel
def let_go(d: Database, frame: int) -> None:
    """A page is evicted."""
    leave(d, frame)
    d.midpoint[0]["evicted"] += 1


@kernel
def free_frame(d: Database, frame: int) -> None:
    """Free the frame of a clean page that was evicted."""
    rings.leave(d, frame)
    d.frame_of[d.page_of[frame]] = 0
    d.page_of[frame] = -1
    d.state[frame] = FREE
    d.used[frame] = 0
    d.free_frames[d.pool_state[FREE_FRAMES]] = frame
    d.pool_state[FREE_FRAMES] += 1


@kernel
def tail(d: Database) -> int:
    """Return the frame that has to go first, or what :func:`before` returns behind the last."""
    frame = int(d.newer[len(d.page_of) + 1])
    return frame if frame < len(d.page_of) else int(d.newer[len(d.page_of)])


@kernel
def before(d: Database, frame: int) -> int:
    """Return the frame that goes after a frame has; no frame but a larger number when there is none."""
    following = int(d.newer[frame])
    return int(d.newer[len(d.page_of)]) if following == len(d.page_of) + 1 else following


@kernel
def choose(d: Database, most: int, clean: bool) -> int:
    """Evict the first of the *most* frames at the tail whose page is there and is not being written; if *clean*, that
    need not be written first. Return it; -1 if there is none.
    """
    frame = tail(d)
    for _ in range(most):
        if frame >= len(d.page_of):
            return -1
        if d.state[frame] == VALID and d.used[frame] < WRITTEN and not (clean and d.dirty[frame]):
            let_go(d, frame)
            return frame
        frame = before(d, frame)
    return -1


@kernel
def _put_first(d: Database, frame: int) -> None:
    """Put a frame at the head of the list."""
    m, row = d.midpoint[0], d.midpoint_frames[frame]
    _push(d.newer, d.older, len(d.page_of), frame)
    row["part"], row["moved"] = YOUNG, m["evicted"]
    m["young"] += 1
    _lengthened(d)


@kernel
def _lengthened(d: Database) -> None:
    """The list has a page more: with *least_pages* it gets an old part, as long as one may be."""
    m = d.midpoint[0]
    if m["young"] + m["old"] > m["least_pages"]:
        _balance(d)
    elif m["young"] + m["old"] == m["least_pages"]:
        most = _wanted(d) + m["tolerance_pages"]
        while m["old"] < most:
            _make_old(d)


@kernel
def _balance(d: Database) -> None:
    """Move pages over the midpoint until the old part is its share of all, give or take the tolerance."""
    m, wanted = d.midpoint[0], _wanted(d)
    while m["old"] + m["tolerance_pages"] < wanted:
        _make_old(d)
    while m["old"] > wanted + m["tolerance_pages"]:
        _make_young(d)


@kernel
def _wanted(d: Database) -> int:
    """Return how many pages the old part should have."""
    m = d.midpoint[0]
    return int((m["young"] + m["old"]) * _old_parts(d) // _PARTS)


@kernel
def _old_parts(d: Database) -> int:
    """Return the share of the old part."""
    return int(d.midpoint[0]["old_percent"] * _PARTS // 100)


@kernel
def _make_old(d: Database) -> None:
    """The midpoint moves: the last of the young is the first of the old."""
    m, young = d.midpoint[0], len(d.page_of)
    frame = int(d.newer[young])
    _unlink(d.newer, d.older, frame)
    _push(d.newer, d.older, young + 1, frame)
    d.midpoint_frames[frame]["part"] = OLD
    m["young"] -= 1
    m["old"] += 1


@kernel
def _make_young(d: Database) -> None:
    """The midpoint moves: the first of the old is the last of the young."""
    m, young = d.midpoint[0], len(d.page_of)
    frame = int(d.older[young + 1])
    _unlink(d.newer, d.older, frame)
    _push(d.newer, d.older, int(d.newer[young]), frame)  # behind the last of the young, the list being a ring
    d.midpoint_frames[frame]["part"] = YOUNG
    m["young"] += 1
    m["old"] -= 1
