"""The pairing of blktrace events into requests: one pass over events in time order, resumable after any event.

Every queued bio (and every half of a split one) is a *row* in a ring of rows. An open row is found by the device and
the first sector of what is not completed of it, through a chained hash table whose chains run from old to new:

* Q makes a row; X cuts one in two that share the queue time. M and F need no care: see D.
* D issues the queued rows that lie in its range, one after the other; they become one command. A D without any (the
  recording began later, or has no queue events at all) makes a row of its own, a *ghost*.
* R puts the rows of a command back into the queue; the next D issues them anew, so the last issue is the one that
  counts.
* C completes the issued rows in its range; a row that it cuts stays open from there on. Where no D is known (device
  mapper, md) it completes queued rows.

A flush goes Q(FLUSH, 0 bytes) → D(FLUSH) → C(FLUSH) → C of the waiting bio (0 bytes). The kernel gives one flush
command to all who wait, so D takes all of them; a D that finds nobody waiting belongs to another hardware queue and
takes over the youngest of a command that several share. A write with data and the FLUSH flag gets a flush row of its
own, in front of it, for the flush before its data, and, when it was queued with FUA and issued without, another one
behind it for the flush after. Such a write is complete with a C of 0 bytes after its data. A flush row that no command
was issued for when its write goes on is dropped: then the device did without.

Equal candidates are taken first come, first served; one that fills the range exactly comes before them.

Open rows stand in a ring, and a hash table finds a row by device and first sector. The table's chains run from old to
new. A row's number is its place in the order of creation; it stands in the ring at that number modulo the ring's length
(a power of two), so numbers stay good when the ring grows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.traces.readers.blktrace_kernels import (
    ACTION,
    BYTES,
    CAT_AHEAD,
    CAT_DISCARD,
    CAT_FLUSH,
    CAT_FUA,
    CAT_META,
    CAT_SYNC,
    CAT_WRITE,
    CATEGORIES,
    COMPLETE,
    DEVICE,
    EXTRA,
    ISSUE,
    NAME,
    PID,
    QUEUE,
    REQUEUE,
    SECTOR,
    SPLIT,
    TIME_NS,
)
from tiersim.traces.schema import (
    DISCARD,
    FLAG_FUA,
    FLAG_META,
    FLAG_READAHEAD,
    FLAG_SYNC,
    FLUSH,
    NOT_MEASURED,
    READ,
    WRITE,
)

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


@kernel(checked=True)
def take_back(r: Rows, row: int) -> None:
    """Let the row in this place of the ring be queued again."""
    r.ring[row, R_STATE] = QUEUED
    r.ring[row, R_ISSUE] = NOT_MEASURED
    r.ring[row, R_COMMAND] = NOT_MEASURED


@kernel(checked=True)
def drop_unissued_flush(r: Rows, index: int) -> None:
    """Drop the flush row of a write that goes on without a flush command."""
    mask = len(r.ring) - 1
    flush = r.ring[index & mask, R_FLUSH]
    if flush >= r.scalars[S_BASE] and r.ring[flush & mask, R_STATE] == QUEUED:
        close(r, flush, DROPPED)


@kernel(checked=True)
def _start_flush(r: Rows, index: int, time_ns: int) -> None:
    """Issue the flush with the command whose number is next."""
    row = index & (len(r.ring) - 1)
    unlink(r, index)
    r.ring[row, R_STATE] = ISSUED
    r.ring[row, R_ISSUE] = time_ns
    r.ring[row, R_COMMAND] = r.scalars[S_COMMAND]
    link(r, index, FLYING_PLACE)


@kernel(checked=True)
def issue_flush(r: Rows, time_ns: int, device: int) -> bool:
    """Give a flush command to all who wait; return whether somebody did."""
    mask = len(r.ring) - 1
    found = False
    index = chain(r, device, WAITING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        after = following(r, index)
        _start_flush(r, index, time_ns)
        found = True
        index = after
    if found:
        return True
    shared = -1
    before = -1  # the command of the flush before in the chain
    index = chain(r, device, FLYING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        if r.ring[index & mask, R_COMMAND] == before:
            shared = index
        before = r.ring[index & mask, R_COMMAND]
        index = following(r, index)
    if shared >= 0:
        _start_flush(r, shared, time_ns)
        return True
    ghost = new_row(r, time_ns, device, FLUSH, 0, 0, WAITING_PLACE)
    r.ring[ghost & mask, R_FLAGS] = GHOST
    _start_flush(r, ghost, time_ns)
    return False


@kernel(checked=True)
def requeue_flush(r: Rows, device: int) -> bool:
    """Let the flushes of the command issued last wait again; return whether there was one."""
    mask = len(r.ring) - 1
    command = -1
    index = chain(r, device, FLYING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        command = max(command, r.ring[index & mask, R_COMMAND])
        index = following(r, index)
    index = chain(r, device, FLYING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        after = following(r, index)
        if r.ring[index & mask, R_COMMAND] == command:
            unlink(r, index)
            take_back(r, index & mask)
            link(r, index, WAITING_PLACE)
        index = after
    return command >= 0


@kernel(checked=True)
def complete_flush(r: Rows, device: int, time_ns: int) -> bool:
    """Complete the flush command issued first; return whether there was one."""
    mask = len(r.ring) - 1
    index = chain(r, device, FLYING_PLACE)
    if index < 0:
        return False
    command = r.ring[index & mask, R_COMMAND]
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        after = following(r, index)
        row = index & mask
        if r.ring[row, R_COMMAND] == command:
            r.ring[row, R_DONE] = time_ns
            if r.ring[row, R_FLAGS] & OWN_FLUSH:
                unlink(r, index)
                r.ring[row, R_STATE] = ENDING
                link(r, index, ENDING_PLACE)
            else:
                close(r, index, DONE)
        index = after
    return True


@kernel(checked=True)
def end_bio(r: Rows, device: int, sector: int, time_ns: int, alone: bool) -> bool:
    """End the bio that a completion without data means; return whether there is one.

    A write that begins or ends at *sector* comes first, then the oldest flush whose command is through, then, if
    *alone* (device mapper shows no command), the oldest that has none, which becomes a command.
    """
    mask = len(r.ring) - 1
    chosen = -1
    index = chain(r, device, ENDING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        row = index & mask
        if r.ring[row, R_OP] == FLUSH:
            if chosen < 0:
                chosen = index
        elif r.ring[row, R_FIRST] == sector or r.ring[row, R_END] == sector:
            chosen = index
            break
        index = following(r, index)
    if chosen < 0 and alone:
        index = chain(r, device, WAITING_PLACE)
        for _ in range(WALK_LIMIT):
            if index < 0:
                break
            if r.ring[index & mask, R_FLAGS] & OWN_FLUSH:
                chosen = index
                r.ring[index & mask, R_COMMAND] = r.scalars[S_COMMAND]
                r.scalars[S_COMMAND] += 1
                break
            index = following(r, index)
    if chosen >= 0:
        r.ring[chosen & mask, R_DONE] = time_ns
        drop_unissued_flush(r, chosen)
        close(r, chosen, DONE)
    return chosen >= 0


#: How many holes of one range are looked at: bounds the time that absurd input takes.
HOLE_LIMIT = 512
HOLE_SECTORS = 8  # bios are pages

#: An event is paired only while the ring has room for this many rows more; it makes no more than there is room for.
ROOM = 4

#: What pairing counts: queued commands without data that are no flushes, completions with an error, and events without
#: a partner, by the number of binary digits of their time since the recording began: those that miss a command (C or R
#: without D), and those that miss a bio (D without Q, the C of a flushed bio without Q).
EMPTY, FAILED, NO_COMMAND, NO_BIO = 0, 1, 2, 66
PAIR_COUNTS = 130


class Bio(NamedTuple):
    """What is queued."""

    time_ns: int
    device: int
    op: int
    first: int  # sector
    end: int
    flags: int
    stream: int


@kernel(checked=True)
def _queue(r: Rows, bio: Bio) -> None:
    """Make the row of a bio, and before it that of the flush that it begins with."""
    mask = len(r.ring) - 1
    flush = -1
    if bio.op == FLUSH or bio.flags & PREFLUSH:
        flush = new_row(r, bio.time_ns, bio.device, FLUSH, 0, 0, WAITING_PLACE)
        r.ring[flush & mask, R_STREAM] = bio.stream
        r.ring[flush & mask, R_FLAGS] = bio.flags & (FLAG_SYNC | FLAG_META) | (OWN_FLUSH if bio.op == FLUSH else 0)
    if bio.op != FLUSH:
        row = new_row(r, bio.time_ns, bio.device, bio.op, bio.first, bio.end, bio.first) & mask
        r.ring[row, R_STREAM] = bio.stream
        r.ring[row, R_FLAGS] = bio.flags
        r.ring[row, R_FLUSH] = flush


@kernel(checked=True)
def operation_of(categories: int) -> int:
    """Return the operation of a command with data that these category bits mean."""
    if categories & CAT_DISCARD:
        return DISCARD
    return WRITE if categories & CAT_WRITE else READ


@kernel(checked=True)
def flags_of(categories: int) -> int:
    """Return the bundle's flags that these category bits mean."""
    flags = 0
    if categories & CAT_SYNC:
        flags |= FLAG_SYNC
    if categories & CAT_FUA:
        flags |= FLAG_FUA
    if categories & CAT_AHEAD:
        flags |= FLAG_READAHEAD
    if categories & CAT_META:
        flags |= FLAG_META
    return flags


@kernel(checked=True)
def _split(r: Rows, device: int, sector: int, cut: int, op: int) -> None:
    """Cut the queued row at *sector* in two that share the queue time."""
    mask = len(r.ring) - 1
    index = chain(r, device, sector)
    while index >= 0:
        row = index & mask
        end = r.ring[row, R_END]
        if r.ring[row, R_STATE] == QUEUED and r.ring[row, R_OP] == op and sector < cut < end:
            r.ring[row, R_END] = cut
            _queue(r, Bio(r.ring[row, R_TIME], device, op, cut, end, r.ring[row, R_FLAGS], r.ring[row, R_STREAM]))
            return
        index = following(r, index)


@kernel(checked=True)
def _choose(r: Rows, device: int, sector: int, op: int, state: int, command: int, sectors: int) -> int:
    """Return the open row at *sector* that an event over *sectors* means, or -1.

    QUEUED rows have to end within the event. ISSUED rows have to be of *command*, if one is given.
    """
    mask = len(r.ring) - 1
    first = -1
    index = chain(r, device, sector)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        row = index & mask
        if r.ring[row, R_STATE] == state and r.ring[row, R_OP] == op:
            if state == QUEUED:
                fits = r.ring[row, R_END] <= sector + sectors
                exact = r.ring[row, R_END] == sector + sectors
            else:
                fits = command < 0 or r.ring[row, R_COMMAND] == command
                exact = command >= 0 or r.ring[row, R_ISSUED_SECTORS] == sectors
            if fits and exact:
                return index
            if fits and first < 0:
                first = index
        index = following(r, index)
    return first


@kernel(checked=True)
def _issue(r: Rows, time_ns: int, device: int, sector: int, sectors: int, categories: int) -> bool:
    """Issue the queued rows in the range as one command; return whether there were any."""
    mask = len(r.ring) - 1
    op = operation_of(categories)
    end = sector + sectors
    found = False
    holes = 0
    place = sector
    while place < end and holes < HOLE_LIMIT:
        index = _choose(r, device, place, op, QUEUED, -1, end - place)
        if index < 0:
            place += HOLE_SECTORS
            holes += 1
            continue
        row = index & mask
        found = True
        r.ring[row, R_STATE] = ISSUED
        r.ring[row, R_ISSUE] = time_ns
        r.ring[row, R_COMMAND] = r.scalars[S_COMMAND]
        r.ring[row, R_ISSUED_SECTORS] = sectors
        flags = r.ring[row, R_FLAGS] & ~POSTFLUSH
        if categories & CAT_FLUSH:  # the device takes the flag along with the data
            flags &= ~PREFLUSH
        if flags & FLAG_FUA and not categories & CAT_FUA:
            flags |= POSTFLUSH
        r.ring[row, R_FLAGS] = flags
        drop_unissued_flush(r, index)
        place = r.ring[row, R_END]
    if not found:
        ghost = new_row(r, time_ns, device, op, sector, end, sector) & mask
        r.ring[ghost, R_STATE] = ISSUED
        r.ring[ghost, R_FLAGS] = GHOST
        r.ring[ghost, R_ISSUE] = time_ns
        r.ring[ghost, R_COMMAND] = r.scalars[S_COMMAND]
        r.ring[ghost, R_ISSUED_SECTORS] = sectors
    r.scalars[S_COMMAND] += 1
    return found


@kernel(checked=True)
def _requeue(r: Rows, device: int, sector: int, sectors: int, op: int) -> bool:
    """Put the rows of an issued command back into the queue; return whether there were any."""
    mask = len(r.ring) - 1
    command = -1
    holes = 0
    place = sector
    while place < sector + sectors and holes < HOLE_LIMIT:
        index = _choose(r, device, place, op, ISSUED, command, sector + sectors - place)
        if index < 0:
            place += HOLE_SECTORS
            holes += 1
            continue
        row = index & mask
        command = r.ring[row, R_COMMAND]
        take_back(r, row)
        place = r.ring[row, R_END]
    return command >= 0


@kernel(checked=True)
def _finish(r: Rows, index: int, time_ns: int) -> None:
    """Note that all data of a row is through."""
    mask = len(r.ring) - 1
    row = index & mask
    r.ring[row, R_DONE] = time_ns
    flags = r.ring[row, R_FLAGS]
    if r.ring[row, R_STATE] == ISSUED and flags & (PREFLUSH | POSTFLUSH):
        if flags & POSTFLUSH and r.scalars[S_HEAD] - r.scalars[S_BASE] < len(r.ring):
            flush = new_row(r, r.ring[row, R_TIME], r.ring[row, R_DEVICE], FLUSH, 0, 0, WAITING_PLACE)
            r.ring[flush & mask, R_STREAM] = r.ring[row, R_STREAM]
            r.ring[flush & mask, R_FLAGS] = flags & (FLAG_SYNC | FLAG_META)
            r.ring[row, R_FLUSH] = flush
        unlink(r, index)
        r.ring[row, R_STATE] = ENDING
        link(r, index, ENDING_PLACE)
    else:
        drop_unissued_flush(r, index)
        close(r, index, DONE)


@kernel(checked=True)
def _complete(r: Rows, time_ns: int, device: int, sector: int, sectors: int, op: int, state: int) -> bool:
    """Complete the rows in the range that are in *state*; return whether there were any.

    ISSUED rows are those of one command. QUEUED rows, of a device that shows no issue, become one.
    """
    mask = len(r.ring) - 1
    end = sector + sectors
    of_command = -1
    found = False
    holes = 0
    place = sector
    while place < end and holes < HOLE_LIMIT:
        index = _choose(r, device, place, op, state, of_command, end - place)
        if index < 0:
            place += HOLE_SECTORS
            holes += 1
            continue
        row = index & mask
        found = True
        if state == ISSUED:
            of_command = r.ring[row, R_COMMAND]
        else:
            r.ring[row, R_COMMAND] = r.scalars[S_COMMAND]
        if r.ring[row, R_END] <= end:
            place = r.ring[row, R_END]
            _finish(r, index, time_ns)
        else:
            place = end
            unlink(r, index)
            link(r, index, end)
    if found and state == QUEUED:
        r.scalars[S_COMMAND] += 1
    return found


@kernel(checked=True)
def name_slot(names: Table, pid: int) -> int:
    """Return where *pid* stands, or would stand, in an open-addressing table (pid + 1, name + 1)."""
    mask = len(names) - 1
    slot = ((pid & 0x3FFFFFFF) * 0x9E3779B1 >> 16) & mask
    while names[slot, 0] != 0 and names[slot, 0] != pid + 1:
        slot = (slot + 1) & mask
    return slot


@kernel(checked=True)
def pair(events: Table, order: NDArray[np.intp], start: int, r: Rows, names: Table, counts: Table) -> int:
    """Pair events from *start* on; return how far it came: the end, or the first event that has no room for its rows.

    ``events`` int64[n, EVENT_COLUMNS], int64 ``order`` of them in time; ``names`` int64[power of 2, 2] has room for
    every NAME event; ``counts`` int64[PAIR_COUNTS].
    """
    scalars = r.scalars
    at = start
    while at < len(order):
        if scalars[S_HEAD] - scalars[S_BASE] + ROOM > len(r.ring):
            break
        event = order[at]
        at += 1
        time_ns, sector, sectors = events[event, TIME_NS], events[event, SECTOR], events[event, BYTES] >> 9
        action, categories = events[event, ACTION], events[event, CATEGORIES]
        pid, device, extra = events[event, PID], events[event, DEVICE], events[event, EXTRA]
        if scalars[S_START_NS] < 0:
            scalars[S_START_NS] = time_ns
        scalars[S_NOW_NS] = time_ns
        flush = categories & CAT_FLUSH
        command_of_flush = flush != 0 and not categories & CAT_WRITE
        found = True
        if action == QUEUE:
            if scalars[S_FIRST_QUEUE_NS] < 0:
                scalars[S_FIRST_QUEUE_NS] = time_ns
            stream = pid | names[name_slot(names, pid), 1] << 32
            flags = flags_of(categories)
            if sectors > 0:
                if flush:
                    flags |= PREFLUSH
                op = operation_of(categories)
                _queue(r, Bio(time_ns, device, op, sector, sector + sectors, flags, stream))
            elif flush:
                _queue(r, Bio(time_ns, device, FLUSH, 0, 0, flags, stream))
            else:
                counts[EMPTY] += 1
        elif action == ISSUE:
            if scalars[S_FIRST_ISSUE_NS] < 0:
                scalars[S_FIRST_ISSUE_NS] = time_ns
            if sectors > 0:
                found = _issue(r, time_ns, device, sector, sectors, categories)
            elif flush:
                found = issue_flush(r, time_ns, device)
                scalars[S_COMMAND] += 1
        elif action == COMPLETE:
            counts[FAILED] += 1 if extra != 0 else 0
            if sectors > 0:
                op = operation_of(categories)
                found = _complete(r, time_ns, device, sector, sectors, op, ISSUED) or _complete(
                    r, time_ns, device, sector, sectors, op, QUEUED
                )
            elif flush and complete_flush(r, device, time_ns):
                found = True
            elif command_of_flush:
                found = False  # a flush command issued before the recording began
            else:
                found = end_bio(r, device, sector, time_ns, flush != 0)
        elif action == REQUEUE:
            if sectors > 0:
                found = _requeue(r, device, sector, sectors, operation_of(categories))
            elif flush:
                found = requeue_flush(r, device)
        elif action == SPLIT:
            _split(r, device, sector, extra, operation_of(categories))
        elif action == NAME:
            slot = name_slot(names, pid)
            names[slot, 0] = pid + 1
            names[slot, 1] = extra + 1
        if not found:
            missing = (
                NO_BIO
                if action == ISSUE or (action == COMPLETE and sectors == 0 and not command_of_flush)
                else NO_COMMAND
            )
            since_ns = time_ns - scalars[S_START_NS]
            digits = 0
            while since_ns > 0:
                since_ns >>= 1
                digits += 1
            counts[missing + digits] += 1
    return at
