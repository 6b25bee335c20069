"""LRU: the page whose last use is longest ago has to go."""

from tiersim.kernel import kernel
from tiersim.simulator.database.buffer_pool.frame_lists import _push, _unlink
from tiersim.simulator.database.database_state import READING, Database


@kernel
def use(d: Database, frame: int) -> None:
    """A page is used: it is the newest."""
    _unlink(d.newer, d.older, frame)
    _push(d.newer, d.older, len(d.page_of), frame)


@kernel
def enter(d: Database, frame: int) -> None:
    """A page comes, and is used."""
    _push(d.newer, d.older, len(d.page_of), frame)


@kernel
def leave(d: Database, frame: int) -> None:
    """A page goes."""
    _unlink(d.newer, d.older, frame)


@kernel
def choose(d: Database) -> int:
    """Take the oldest frame whose page is there out of the list and return it; -1 if all are being read."""
    head = len(d.page_of)
    frame = d.newer[head]
    while frame != head:
        if d.state[frame] != READING:
            _unlink(d.newer, d.older, frame)
            return int(frame)
        frame = d.newer[frame]
    return -1
