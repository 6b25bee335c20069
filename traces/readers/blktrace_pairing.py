"""The pairing of blktrace events into requests: one pass over events in time order, resumable after any event.

Every queued bio (and every half of a split one) is a *row* in a ring of rows. An open row is found by the device and the
first sector of what is not completed of it, through a chained hash table whose chains run from old to new:

* Q makes a row; X cuts one in two that share the queue time. M and F need no care: see D.
* D issues the queued rows that lie in its range, one after the other; they become one command. A D without any (the
  recording began later, or has no queue events at all) makes a row of its own, a *ghost*.
* R puts the rows of a command back into the queue; the next D issues them anew, so the last issue is the one that counts.
* C completes the issued rows in its range; a row that it cuts stays open from there on. Where no D is known (device
  mapper, md) it completes queued rows.

A flush goes Q(FLUSH, 0 bytes) → D(FLUSH) → C(FLUSH) → C of the waiting bio (0 bytes). The kernel gives one flush command to
all who wait, so D takes all of them; a D that finds nobody waiting belongs to another hardware queue and takes over
the youngest of a command that several share. A write with data and the FLUSH flag gets a flush row of its own, in front of
it, for the flush before its data, and, when it was queued with FUA and issued without, another one behind it for the
flush after. Such a write is complete with a C of 0 bytes after its data. A flush row that no command was issued for
when its write goes on is dropped: then the device did without.

Equal candidates are taken first come, first served; one that fills the range exactly comes before them.
"""

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
    WAITING_PLACE,
    WALK_LIMIT,
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

#: Scalars that live from call to call.
S_BASE, S_HEAD, S_COMMAND, S_START_NS, S_NOW_NS, S_FIRST_QUEUE_NS, S_FIRST_ISSUE_NS = range(7)
SCALARS = 7

#: What pairing counts: queued commands without data that are no flushes, completions with an error, and events without a
#: partner, by the number of binary digits of their time since the recording began: those that miss a command (C or R
#: without D), and those that miss a bio (D without Q, the C of a flushed bio without Q).
EMPTY, FAILED, NO_COMMAND, NO_BIO = 0, 1, 2, 66
PAIR_COUNTS = 130


@kernel(checked=True)
def _bio(
    rows: Table,
    ends: Table,
    head: int,
    time_ns: int,
    device: int,
    op: int,
    first: int,
    end: int,
    flags: int,
    stream: int,
) -> int:
    """Make the row of a bio, and before it that of the flush that it begins with; return the new head."""
    mask = len(rows) - 1
    flush = -1
    if op == FLUSH or flags & PREFLUSH:
        flush = head
        head = new_row(rows, ends, head, time_ns, device, FLUSH, 0, 0, WAITING_PLACE, QUEUED)
        rows[flush & mask, R_STREAM] = stream
        rows[flush & mask, R_FLAGS] = flags & (FLAG_SYNC | FLAG_META) | (OWN_FLUSH if op == FLUSH else 0)
    if op != FLUSH:
        bio = head
        head = new_row(rows, ends, head, time_ns, device, op, first, end, first, QUEUED)
        rows[bio & mask, R_STREAM] = stream
        rows[bio & mask, R_FLAGS] = flags
        rows[bio & mask, R_FLUSH] = flush
    return head


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
def _split(rows: Table, ends: Table, head: int, device: int, sector: int, cut: int, op: int) -> int:
    """Cut the queued row at *sector* in two that share the queue time; return the new head."""
    mask = len(rows) - 1
    index = chain(rows, ends, device, sector)
    while index >= 0:
        row = index & mask
        end = rows[row, R_END]
        if rows[row, R_STATE] == QUEUED and rows[row, R_OP] == op and sector < cut < end:
            rows[row, R_END] = cut
            flags, stream = rows[row, R_FLAGS], rows[row, R_STREAM]
            return _bio(rows, ends, head, rows[row, R_TIME], device, op, cut, end, flags, stream)
        index = following(rows, index)
    return head


@kernel(checked=True)
def _choose(rows: Table, ends: Table, device: int, sector: int, op: int, state: int, command: int, sectors: int) -> int:
    """Return the open row at *sector* that an event over *sectors* means, or -1.

    QUEUED rows have to end within the event. ISSUED rows have to be of *command*, if one is given.
    """
    mask = len(rows) - 1
    first = -1
    index = chain(rows, ends, device, sector)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        row = index & mask
        if rows[row, R_STATE] == state and rows[row, R_OP] == op:
            if state == QUEUED:
                fits = rows[row, R_END] <= sector + sectors
                exact = rows[row, R_END] == sector + sectors
            else:
                fits = command < 0 or rows[row, R_COMMAND] == command
                exact = command >= 0 or rows[row, R_ISSUED_SECTORS] == sectors
            if fits and exact:
                return index
            if fits and first < 0:
                first = index
        index = following(rows, index)
    return first


@kernel(checked=True)
def _issue(
    rows: Table,
    ends: Table,
    base: int,
    head: int,
    time_ns: int,
    device: int,
    sector: int,
    sectors: int,
    categories: int,
    command: int,
) -> tuple[int, bool]:
    """Issue the queued rows in the range as one command; return the new head and whether there were any."""
    mask = len(rows) - 1
    op = operation_of(categories)
    end = sector + sectors
    found = False
    holes = 0
    place = sector
    while place < end and holes < HOLE_LIMIT:
        index = _choose(rows, ends, device, place, op, QUEUED, -1, end - place)
        if index < 0:
            place += HOLE_SECTORS
            holes += 1
            continue
        row = index & mask
        found = True
        rows[row, R_STATE] = ISSUED
        rows[row, R_ISSUE] = time_ns
        rows[row, R_COMMAND] = command
        rows[row, R_ISSUED_SECTORS] = sectors
        flags = rows[row, R_FLAGS] & ~POSTFLUSH
        if categories & CAT_FLUSH:  # the device takes the flag along with the data
            flags &= ~PREFLUSH
        if flags & FLAG_FUA and not categories & CAT_FUA:
            flags |= POSTFLUSH
        rows[row, R_FLAGS] = flags
        drop_unissued_flush(rows, ends, base, index)
        place = rows[row, R_END]
    if not found:
        ghost = head & mask
        head = new_row(rows, ends, head, time_ns, device, op, sector, end, sector, ISSUED)
        rows[ghost, R_FLAGS] = GHOST
        rows[ghost, R_ISSUE] = time_ns
        rows[ghost, R_COMMAND] = command
        rows[ghost, R_ISSUED_SECTORS] = sectors
    return head, found


@kernel(checked=True)
def _requeue(rows: Table, ends: Table, device: int, sector: int, sectors: int, op: int) -> bool:
    """Put the rows of an issued command back into the queue; return whether there were any."""
    mask = len(rows) - 1
    command = -1
    holes = 0
    place = sector
    while place < sector + sectors and holes < HOLE_LIMIT:
        index = _choose(rows, ends, device, place, op, ISSUED, command, sector + sectors - place)
        if index < 0:
            place += HOLE_SECTORS
            holes += 1
            continue
        row = index & mask
        command = rows[row, R_COMMAND]
        take_back(rows, row)
        place = rows[row, R_END]
    return command >= 0


@kernel(checked=True)
def _finish(rows: Table, ends: Table, base: int, head: int, index: int, time_ns: int) -> int:
    """Note that all data of a row is through; return the new head."""
    mask = len(rows) - 1
    row = index & mask
    rows[row, R_DONE] = time_ns
    flags = rows[row, R_FLAGS]
    if rows[row, R_STATE] == ISSUED and flags & (PREFLUSH | POSTFLUSH):
        if flags & POSTFLUSH and head - base < len(rows):
            flush = head
            queue_ns, device = rows[row, R_TIME], rows[row, R_DEVICE]
            head = new_row(rows, ends, head, queue_ns, device, FLUSH, 0, 0, WAITING_PLACE, QUEUED)
            rows[flush & mask, R_STREAM] = rows[row, R_STREAM]
            rows[flush & mask, R_FLAGS] = flags & (FLAG_SYNC | FLAG_META)
            rows[row, R_FLUSH] = flush
        unlink(rows, ends, index)
        rows[row, R_STATE] = ENDING
        link(rows, ends, index, ENDING_PLACE)
    else:
        drop_unissued_flush(rows, ends, base, index)
        close(rows, ends, index, DONE)
    return head


@kernel(checked=True)
def _complete(
    rows: Table,
    ends: Table,
    base: int,
    head: int,
    time_ns: int,
    device: int,
    sector: int,
    sectors: int,
    op: int,
    state: int,
    command: int,
) -> tuple[int, bool]:
    """Complete the rows in the range that are in *state*; return the new head and whether there were any.

    ISSUED rows are those of one command. QUEUED rows, of a device that shows no issue, become *command*.
    """
    mask = len(rows) - 1
    end = sector + sectors
    of_command = -1
    found = False
    holes = 0
    place = sector
    while place < end and holes < HOLE_LIMIT:
        index = _choose(rows, ends, device, place, op, state, of_command, end - place)
        if index < 0:
            place += HOLE_SECTORS
            holes += 1
            continue
        row = index & mask
        found = True
        if state == ISSUED:
            of_command = rows[row, R_COMMAND]
        else:
            rows[row, R_COMMAND] = command
        if rows[row, R_END] <= end:
            place = rows[row, R_END]
            head = _finish(rows, ends, base, head, index, time_ns)
        else:
            place = end
            unlink(rows, ends, index)
            link(rows, ends, index, end)
    return head, found


@kernel(checked=True)
def name_slot(names: Table, pid: int) -> int:
    """Return where *pid* stands, or would stand, in an open-addressing table (pid + 1, name + 1)."""
    mask = len(names) - 1
    slot = ((pid & 0x3FFFFFFF) * 0x9E3779B1 >> 16) & mask
    while names[slot, 0] != 0 and names[slot, 0] != pid + 1:
        slot = (slot + 1) & mask
    return slot


@kernel(checked=True)
def pair(
    events: Table,
    order: NDArray[np.intp],
    start: int,
    rows: Table,
    ends: Table,
    names: Table,
    scalars: Table,
    counts: Table,
) -> int:
    """Pair events from *start* on; return how far it came: the end, or the first event that has no room for its rows.

    ``events`` int64[n, EVENT_COLUMNS], int64 ``order`` of them in time; ``rows`` int64[power of 2, ROW_COLUMNS], a ring of which rows
    S_BASE to S_HEAD live; ``ends`` int64[power of 2, 2] holds -1 or a chain's first and last row; ``names`` int64[power of
    2, 2] has room for every NAME event; ``scalars`` int64[SCALARS]; ``counts`` int64[PAIR_COUNTS].
    """
    base, head, command = scalars[S_BASE], scalars[S_HEAD], scalars[S_COMMAND]
    at = start
    while at < len(order):
        if head - base + ROOM > len(rows):
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
                head = _bio(rows, ends, head, time_ns, device, op, sector, sector + sectors, flags, stream)
            elif flush:
                head = _bio(rows, ends, head, time_ns, device, FLUSH, 0, 0, flags, stream)
            else:
                counts[EMPTY] += 1
        elif action == ISSUE:
            if scalars[S_FIRST_ISSUE_NS] < 0:
                scalars[S_FIRST_ISSUE_NS] = time_ns
            if sectors > 0:
                head, found = _issue(rows, ends, base, head, time_ns, device, sector, sectors, categories, command)
                command += 1
            elif flush:
                head, found = issue_flush(rows, ends, head, time_ns, device, command)
                command += 1
        elif action == COMPLETE:
            counts[FAILED] += 1 if extra != 0 else 0
            if sectors > 0:
                op = operation_of(categories)
                head, found = _complete(rows, ends, base, head, time_ns, device, sector, sectors, op, ISSUED, -1)
                if not found:
                    head, found = _complete(
                        rows, ends, base, head, time_ns, device, sector, sectors, op, QUEUED, command
                    )
                    command += found
            elif flush and complete_flush(rows, ends, device, time_ns):
                found = True
            elif command_of_flush:
                found = False  # a flush command issued before the recording began
            else:
                found, issued = end_bio(rows, ends, base, device, sector, time_ns, flush != 0, command)
                command += issued
        elif action == REQUEUE:
            if sectors > 0:
                found = _requeue(rows, ends, device, sector, sectors, operation_of(categories))
            elif flush:
                found = requeue_flush(rows, ends, device)
        elif action == SPLIT:
            head = _split(rows, ends, head, device, sector, extra, operation_of(categories))
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
    scalars[S_HEAD], scalars[S_COMMAND] = head, command
    return at
