"""The rows of requests while they are open: a ring, and a hash table that finds a row by device and first sector.

The table's chains run from old to new. A row's number is its place in the order of creation; it stands in the ring at
that number modulo the ring's length (a power of two), so numbers stay good when the ring grows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.traces.schema import NOT_MEASURED

Table = NDArray[np.int64]

#: Columns of a row. R_START is the first sector not completed (or a place of FLUSH_PLACES); R_FIRST and R_END bound all
#: of it. R_STREAM is pid + (number of its name + 1) * 2^32. R_FLUSH is the flush row that a write waits for, or -1.
R_TIME, R_START, R_FIRST, R_END, R_DEVICE, R_OP, R_FLAGS, R_STREAM = range(8)
R_ISSUE, R_COMMAND, R_DONE, R_STATE, R_NEXT, R_PREVIOUS, R_ISSUED_SECTORS, R_FLUSH = range(8, 16)
ROW_COLUMNS = 16
QUEUED, ISSUED, ENDING, DONE, DROPPED = range(5)

#: Places that stand for a sector in the hash table: flushes not issued, issued, and bios that wait for their 0-byte C.
WAITING_PLACE, FLYING_PLACE, ENDING_PLACE = -1, -2, -3

#: Bits of R_FLAGS above those of the bundle: a request whose queue event is not known; a flush that a bio of its own
#: waits for; a write that is flushed before, or after.
GHOST, OWN_FLUSH, PREFLUSH, POSTFLUSH = 256, 512, 1024, 2048

#: How many rows of one chain are looked at: bounds the time that absurd input takes.
WALK_LIMIT = 4096


#: Places in ``scalars``: the rows from BASE to HEAD live; the number of the next command; times of the recording.
S_BASE, S_HEAD, S_COMMAND, S_START_NS, S_NOW_NS, S_FIRST_QUEUE_NS, S_FIRST_ISSUE_NS = range(7)
SCALARS = 7


@table_set
class Rows(NamedTuple):
    """The open rows."""

    ring: Table  # (power of 2, ROW_COLUMNS)
    ends: Table  # (power of 2, 2): first and last row of each chain, or -1
    scalars: Table  # (SCALARS,)


@kernel(checked=True)
def _bucket(device: int, place: int, buckets: int) -> int:
    mixed = (place ^ place >> 28 ^ device * 0x9E37) & 0x7FFFFFFF
    return (mixed * 0x9E3779B1 >> 20) & (buckets - 1)


@kernel(checked=True)
def link(r: Rows, index: int, place: int) -> None:
    """Put the row at the end of the chain for its device and *place*."""
    mask = len(r.ring) - 1
    row = index & mask
    bucket = _bucket(r.ring[row, R_DEVICE], place, len(r.ends))
    last = r.ends[bucket, 1]
    r.ring[row, R_START] = place
    r.ring[row, R_NEXT] = -1
    r.ring[row, R_PREVIOUS] = last
    if last < 0:
        r.ends[bucket, 0] = index
    else:
        r.ring[last & mask, R_NEXT] = index
    r.ends[bucket, 1] = index


@kernel(checked=True)
def unlink(r: Rows, index: int) -> None:
    """Take the row out of its chain."""
    mask = len(r.ring) - 1
    row = index & mask
    bucket = _bucket(r.ring[row, R_DEVICE], r.ring[row, R_START], len(r.ends))
    before, after = r.ring[row, R_PREVIOUS], r.ring[row, R_NEXT]
    if before < 0:
        r.ends[bucket, 0] = after
    else:
        r.ring[before & mask, R_NEXT] = after
    if after < 0:
        r.ends[bucket, 1] = before
    else:
        r.ring[after & mask, R_PREVIOUS] = before


@kernel(checked=True)
def close(r: Rows, index: int, state: int) -> None:
    """Take the row out of its chain for good."""
    unlink(r, index)
    r.ring[index & (len(r.ring) - 1), R_STATE] = state


@kernel(checked=True)
def chain(r: Rows, device: int, place: int) -> int:
    """Return the first open row at a place, or -1; :func:`following` goes on from there."""
    index = r.ends[_bucket(device, place, len(r.ends)), 0]
    return _same(r, index, device, place)


@kernel(checked=True)
def _same(r: Rows, index: int, device: int, place: int) -> int:
    mask = len(r.ring) - 1
    for _ in range(WALK_LIMIT):
        if index < 0:
            return -1
        row = index & mask
        if r.ring[row, R_START] == place and r.ring[row, R_DEVICE] == device:
            return index
        index = r.ring[row, R_NEXT]
    return -1


@kernel(checked=True)
def following(r: Rows, index: int) -> int:
    """Return the next open row at the place of row *index*, or -1."""
    row = index & (len(r.ring) - 1)
    return _same(r, r.ring[row, R_NEXT], r.ring[row, R_DEVICE], r.ring[row, R_START])


@kernel(checked=True)
def new_row(r: Rows, time_ns: int, device: int, op: int, first: int, end: int, place: int) -> int:
    """Make and link a queued row; returns it."""
    index = r.scalars[S_HEAD]
    row = index & (len(r.ring) - 1)
    r.ring[row, R_TIME] = time_ns
    r.ring[row, R_DEVICE] = device
    r.ring[row, R_OP] = op
    r.ring[row, R_FIRST] = first
    r.ring[row, R_END] = end
    r.ring[row, R_FLAGS] = 0
    r.ring[row, R_STREAM] = -1
    r.ring[row, R_ISSUE] = NOT_MEASURED
    r.ring[row, R_COMMAND] = NOT_MEASURED
    r.ring[row, R_DONE] = NOT_MEASURED
    r.ring[row, R_STATE] = QUEUED
    r.ring[row, R_ISSUED_SECTORS] = 0
    r.ring[row, R_FLUSH] = -1
    link(r, index, place)
    r.scalars[S_HEAD] = index + 1
    return int(index)
