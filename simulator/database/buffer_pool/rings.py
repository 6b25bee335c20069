"""Rings of frames: who reads many pages once uses a few frames again and again, and leaves the rest of the pool alone.

PostgreSQL: storage/freelist.c, GetAccessStrategy and GetBufferFromRing. A ring grows by frames that the pool gives up
for it; when it is full its oldest frame is used again, unless somebody else has used the page meanwhile: then the frame
stays in the pool and the ring gets another. Each session has one ring, empty until it is used.
"""

from tiersim.kernel import kernel
from tiersim.simulator.database.buffer_pool.frame_lists import _push, _unlink
from tiersim.simulator.database.database_state import VALID, Database
from tiersim.simulator.database.wal.log import must_flush_for

#: Size of a ring of a bulk read (freelist.c, GetAccessStrategy). PostgreSQL 18 adds io_combine_limit x
#: effective_io_concurrency pages.
RING_BYTES = 256 << 10
#: A ring takes no more than this part of the pool.
POOL_PART = 8
#: A scan of a table that is larger than this part of the pool reads through a ring (access/heap/heapam.c, initscan).
_SCANNED_PART = 4


@kernel
def scans_in_ring(d: Database, pages: int) -> bool:
    """Tell whether a scan of a table of so many pages reads through a ring."""
    return bool(pages > len(d.page_of) // _SCANNED_PART)


@kernel
def choose(d: Database, session: int) -> int:
    """Take the oldest frame out of a session's ring and return it if it may be used again; -1: the pool has to give
    one.

    A frame stays in the pool when somebody else used its page (a count above 1), and when its page was changed and the
    log must be flushed before it can be written (bufmgr.c, GetVictimBuffer; freelist.c, StrategyRejectBuffer).
    """
    if d.ring_length[session] == 0 or d.ring_length[session] < d.ring_pages[d.sessions[session]["ring"]]:
        return -1
    frame = int(d.ring_newer[len(d.page_of) + session])
    leave(d, frame)
    if d.state[frame] != VALID or d.used[frame] > 1 or (d.dirty[frame] and must_flush_for(d, d.page_of[frame])):
        return -1
    return frame


@kernel
def join(d: Database, session: int, frame: int) -> None:
    """Put a frame into a session's ring, if there is room for one."""
    if d.ring_pages[d.sessions[session]["ring"]] == 0:
        return
    _push(d.ring_newer, d.ring_older, len(d.page_of) + session, frame)
    d.ring_of[frame] = session + 1
    d.ring_length[session] += 1


@kernel
def leave(d: Database, frame: int) -> None:
    """Take a frame out of the ring that it is in, if it is in one."""
    if d.ring_of[frame] > 0:
        _unlink(d.ring_newer, d.ring_older, frame)
        d.ring_length[d.ring_of[frame] - 1] -= 1
        d.ring_of[frame] = 0


@kernel
def close_ring(d: Database, session: int) -> None:
    """End the use of a session's ring: its frames are frames like others."""
    head = len(d.page_of) + session
    while d.ring_length[session] > 0:
        leave(d, d.ring_newer[head])
