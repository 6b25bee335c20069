"""Eviction by PostgreSQL's clock sweep: a page has a usage count, the hand takes one from each page that it passes and
evicts a page that has none.

storage/freelist.c, StrategyGetBuffer; storage/bufmgr.c, PinBuffer.
"""

from tiersim.kernel import kernel
from tiersim.simulator.database.database_state import FREE, HAND, LAPS, VALID, Database

#: Uses of a page count up to 5 (storage/buf_internals.h).
MOST_USED = 5


@kernel
def use(d: Database, frame: int) -> None:
    """Count the use of a page."""
    if d.used[frame] < MOST_USED:
        d.used[frame] += 1


@kernel
def use_once(d: Database, frame: int) -> None:
    """Count the use of a page by one who reads through a ring."""
    if d.used[frame] == 0:
        d.used[frame] = 1


@kernel
def enter(d: Database, frame: int) -> None:
    """A page comes, and is used."""
    d.used[frame] = 1


@kernel
def choose(d: Database) -> int:
    """Return the first frame under the hand whose page has no use left; -1 if all are being read."""
    frames = len(d.page_of)
    hand = d.pool_state[HAND]
    for _ in range((MOST_USED + 2) * frames):
        frame = hand
        hand += 1
        if hand == frames:
            hand = 0
            d.pool_state[LAPS] += 1
        if d.state[frame] == FREE or (d.state[frame] == VALID and d.used[frame] == 0):
            d.pool_state[HAND] = hand
            return int(frame)
        if d.state[frame] == VALID:
            d.used[frame] -= 1
    d.pool_state[HAND] = hand
    return -1
