"""The rows of requests while they are open: a ring, and a hash table that finds a row by device and first sector.

The table's chains run from old to new. A row's number is its place in the order of creation; it stands in the ring at
that number modulo the ring's length (a power of two), so numbers stay good when the ring grows.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
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

#: Bits of R_FLAGS above those of the bundle: a request whose queue event is not known; a flush that a bio of its own waits for; a write that is flushed
#: before, or after.
GHOST, OWN_FLUSH, PREFLUSH, POSTFLUSH = 256, 512, 1024, 2048

#: How many rows of one chain are looked at: bounds the time that absurd input takes.
WALK_LIMIT = 4096


@kernel(checked=True)
def _bucket(device: int, place: int, buckets: int) -> int:
    mixed = (place ^ place >> 28 ^ device * 0x9E37) & 0x7FFFFFFF
    return (mixed * 0x9E3779B1 >> 20) & (buckets - 1)


@kernel(checked=True)
def link(rows: Table, ends: Table, index: int, place: int) -> None:
    """Put the row at the end of the chain for its device and *place*."""
    mask = len(rows) - 1
    row = index & mask
    bucket = _bucket(rows[row, R_DEVICE], place, len(ends))
    last = ends[bucket, 1]
    rows[row, R_START] = place
    rows[row, R_NEXT] = -1
    rows[row, R_PREVIOUS] = last
    if last < 0:
        ends[bucket, 0] = index
    else:
        rows[last & mask, R_NEXT] = index
    ends[bucket, 1] = index


@kernel(checked=True)
def unlink(rows: Table, ends: Table, index: int) -> None:
    """Take the row out of its chain."""
    mask = len(rows) - 1
    row = index & mask
    bucket = _bucket(rows[row, R_DEVICE], rows[row, R_START], len(ends))
    before, after = rows[row, R_PREVIOUS], rows[row, R_NEXT]
    if before < 0:
        ends[bucket, 0] = after
    else:
        rows[before & mask, R_NEXT] = after
    if after < 0:
        ends[bucket, 1] = before
    else:
        rows[after & mask, R_PREVIOUS] = before


@kernel(checked=True)
def close(rows: Table, ends: Table, index: int, state: int) -> None:
    """Take the row out of its chain for good."""
    unlink(rows, ends, index)
    rows[index & (len(rows) - 1), R_STATE] = state


@kernel(checked=True)
def chain(rows: Table, ends: Table, device: int, place: int) -> int:
    """Return the first open row at a place, or -1; :func:`following` goes on from there."""
    index = ends[_bucket(device, place, len(ends)), 0]
    return _same(rows, index, device, place)


@kernel(checked=True)
def _same(rows: Table, index: int, device: int, place: int) -> int:
    mask = len(rows) - 1
    for _ in range(WALK_LIMIT):
        if index < 0:
            return -1
        row = index & mask
        if rows[row, R_START] == place and rows[row, R_DEVICE] == device:
            return index
        index = rows[row, R_NEXT]
    return -1


@kernel(checked=True)
def following(rows: Table, index: int) -> int:
    """Return the next open row at the place of row *index*, or -1."""
    row = index & (len(rows) - 1)
    return _same(rows, rows[row, R_NEXT], rows[row, R_DEVICE], rows[row, R_START])


@kernel(checked=True)
def new_row(
    rows: Table,
    ends: Table,
    head: int,
    time_ns: int,
    device: int,
    op: int,
    first: int,
    end: int,
    place: int,
    state: int,
) -> int:
    """Make and link a row at *head*; return the new head."""
    row = head & (len(rows) - 1)
    rows[row, R_TIME] = time_ns
    rows[row, R_DEVICE] = device
    rows[row, R_OP] = op
    rows[row, R_FIRST] = first
    rows[row, R_END] = end
    rows[row, R_FLAGS] = 0
    rows[row, R_STREAM] = -1
    rows[row, R_ISSUE] = NOT_MEASURED
    rows[row, R_COMMAND] = NOT_MEASURED
    rows[row, R_DONE] = NOT_MEASURED
    rows[row, R_STATE] = state
    rows[row, R_ISSUED_SECTORS] = 0
    rows[row, R_FLUSH] = -1
    link(rows, ends, head, place)
    return head + 1
