"""LRU with a midpoint, as InnoDB's buffer pool has it: a list of young pages, and behind it one of old pages.

A page that is read comes to the head of the old part. It becomes young when it is used *old_time_ns* or later after its
first use. A young page moves to the head only when more than a quarter of the young part was evicted since it last did
(buf0lru.cc, buf0buf.ic; without InnoDB's tolerance of 20 pages around the midpoint). Page cleaners keep the tail free
(:mod:`tiersim.simulator.database.buffer_pool.page_cleaner`); a page that is being written stays.
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
#: A young page moves when more than this part of the young ones has gone since it last did.
_QUARTER = 4


@dataclass(frozen=True)
class Midpoint:
    """Settings: innodb_old_blocks_pct, innodb_old_blocks_time."""

    old_percent: int = 37
    old_time_ns: int = 1_000_000_000


#: The list as a whole.
MIDPOINT_ROW = record(
    *settings_of(Midpoint),
    "young",  # pages
    "old",
    "evicted",  # so far
    "made_young",  # old pages that became young
    "made_not_young",  # uses of old pages that came too early
)
#: A frame in it: its part, when its page was first used, and how many pages were evicted when it last moved.
MIDPOINT_FRAME = record("part", "first_ns", "moved")


@kernel
def use(d: Database, frame: int, now: int) -> None:
    """A page is used."""
    m, row = d.midpoint[0], d.midpoint_frames[frame]
    if row["part"] == YOUNG:
        still = len(d.page_of) * (100 - m["old_percent"]) // (100 * _QUARTER)
        if m["evicted"] - row["moved"] > still:
            _unlink(d.newer, d.older, frame)
            _push(d.newer, d.older, len(d.page_of), frame)
            row["moved"] = m["evicted"]
    elif now - row["first_ns"] >= m["old_time_ns"]:
        m["made_young"] += 1
        leave(d, frame)
        _put(d, frame, YOUNG)
        row["moved"] = m["evicted"]
        balance(d)
    else:
        m["made_not_young"] += 1


@kernel
def enter(d: Database, frame: int, now: int) -> None:
    """A page comes, and is used."""
    row = d.midpoint_frames[frame]
    row["first_ns"] = now
    row["moved"] = d.midpoint[0]["evicted"]
    _put(d, frame, OLD)
    balance(d)


@kernel
def leave(d: Database, frame: int) -> None:
    """A page goes from the part that it is in."""
    m, row = d.midpoint[0], d.midpoint_frames[frame]
    _unlink(d.newer, d.older, frame)
    if row["part"] == YOUNG:
        m["young"] -= 1
    else:
        m["old"] -= 1
    row["part"] = NOWHERE


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
def _put(d: Database, frame: int, part: int) -> None:
    """Put a frame at the head of a part."""
    m = d.midpoint[0]
    if part == YOUNG:
        _push(d.newer, d.older, len(d.page_of), frame)
        m["young"] += 1
    else:
        _push(d.newer, d.older, len(d.page_of) + 1, frame)
        m["old"] += 1
    d.midpoint_frames[frame]["part"] = part


@kernel
def balance(d: Database) -> None:
    """Move pages over the midpoint until the old part is its share of all."""
    m, young = d.midpoint[0], len(d.page_of)
    wanted = (m["young"] + m["old"]) * m["old_percent"] // 100
    while m["old"] < wanted:
        frame = int(d.newer[young])
        leave(d, frame)
        _put(d, frame, OLD)
    while m["old"] > wanted:
        frame = int(d.older[young + 1])
        leave(d, frame)
        _push(d.newer, d.older, int(d.newer[young]), frame)  # behind the last of the young, the list being a ring
        m["young"] += 1
        d.midpoint_frames[frame]["part"] = YOUNG
