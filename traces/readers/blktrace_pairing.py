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
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.traces.readers.blktrace_flushes import (
    complete_flush,
    drop_unissued_flush,
    end_bio,
    issue_flush,
    requeue_flush,
    take_back,
)
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
from tiersim.traces.readers.blktrace_rows import (
    DONE,
    ENDING,
    ENDING_PLACE,
    GHOST,
    ISSUED,
    OWN_FLUSH,
    POSTFLUSH,
    PREFLUSH,
    QUEUED,
    R_COMMAND,
    R_DEVICE,
    R_DONE,
    R_END,
    R_FLAGS,
    R_FLUSH,
    R_ISSUE,
    R_ISSUED_SECTORS,
    R_OP,
    R_STATE,
    R_STREAM,
    R_TIME,
    S_BASE,
    S_COMMAND,
    S_FIRST_ISSUE_NS,
    S_FIRST_QUEUE_NS,
    S_HEAD,
    S_NOW_NS,
    S_START_NS,
    WAITING_PLACE,
    WALK_LIMIT,
    Rows,
    Table,
    chain,
    close,
    following,
    link,
    new_row,
    unlink,
)
from tiersim.traces.schema import (
    DISCARD,
    FLAG_FUA,
    FLAG_META,
    FLAG_READAHEAD,
    FLAG_SYNC,
    FLUSH,
    READ,
    WRITE,
)

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
