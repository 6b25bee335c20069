"""The way of flush commands through the device, for :mod:`tiersim.traces.readers.blktrace_pairing`, whose words are used."""

from tiersim.kernel import kernel
from tiersim.traces.readers.blktrace_rows import (
    DONE,
    DROPPED,
    ENDING,
    ENDING_PLACE,
    FLYING_PLACE,
    GHOST,
    ISSUED,
    OWN_FLUSH,
    QUEUED,
    R_COMMAND,
    R_DONE,
    R_END,
    R_FIRST,
    R_FLAGS,
    R_FLUSH,
    R_ISSUE,
    R_OP,
    R_STATE,
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
from tiersim.traces.schema import FLUSH, NOT_MEASURED


@kernel(checked=True)
def take_back(rows: Table, row: int) -> None:
    """Let the row in this place of the ring be queued again."""
    rows[row, R_STATE] = QUEUED
    rows[row, R_ISSUE] = NOT_MEASURED
    rows[row, R_COMMAND] = NOT_MEASURED


@kernel(checked=True)
def drop_unissued_flush(rows: Table, ends: Table, base: int, index: int) -> None:
    """Drop the flush row of a write that goes on without a flush command."""
    mask = len(rows) - 1
    flush = rows[index & mask, R_FLUSH]
    if flush >= base and rows[flush & mask, R_STATE] == QUEUED:
        close(rows, ends, flush, DROPPED)


@kernel(checked=True)
def _start_flush(rows: Table, ends: Table, index: int, time_ns: int, command: int) -> None:
    row = index & (len(rows) - 1)
    unlink(rows, ends, index)
    rows[row, R_STATE] = ISSUED
    rows[row, R_ISSUE] = time_ns
    rows[row, R_COMMAND] = command
    link(rows, ends, index, FLYING_PLACE)


@kernel(checked=True)
def issue_flush(rows: Table, ends: Table, head: int, time_ns: int, device: int, command: int) -> tuple[int, bool]:
    """Give a flush command to all who wait; return the new head and whether somebody did."""
    mask = len(rows) - 1
    found = False
    index = chain(rows, ends, device, WAITING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        after = following(rows, index)
        _start_flush(rows, ends, index, time_ns, command)
        found = True
        index = after
    if found:
        return head, True
    shared = -1
    before = -1  # the command of the flush before in the chain
    index = chain(rows, ends, device, FLYING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        if rows[index & mask, R_COMMAND] == before:
            shared = index
        before = rows[index & mask, R_COMMAND]
        index = following(rows, index)
    if shared >= 0:
        _start_flush(rows, ends, shared, time_ns, command)
        return head, True
    ghost = head
    head = new_row(rows, ends, head, time_ns, device, FLUSH, 0, 0, WAITING_PLACE, QUEUED)
    rows[ghost & mask, R_FLAGS] = GHOST
    _start_flush(rows, ends, ghost, time_ns, command)
    return head, False


@kernel(checked=True)
def requeue_flush(rows: Table, ends: Table, device: int) -> bool:
    """Let the flushes of the command issued last wait again; return whether there was one."""
    mask = len(rows) - 1
    command = -1
    index = chain(rows, ends, device, FLYING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        command = max(command, rows[index & mask, R_COMMAND])
        index = following(rows, index)
    index = chain(rows, ends, device, FLYING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        after = following(rows, index)
        if rows[index & mask, R_COMMAND] == command:
            unlink(rows, ends, index)
            take_back(rows, index & mask)
            link(rows, ends, index, WAITING_PLACE)
        index = after
    return command >= 0


@kernel(checked=True)
def complete_flush(rows: Table, ends: Table, device: int, time_ns: int) -> bool:
    """Complete the flush command issued first; return whether there was one."""
    mask = len(rows) - 1
    index = chain(rows, ends, device, FLYING_PLACE)
    if index < 0:
        return False
    command = rows[index & mask, R_COMMAND]
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        after = following(rows, index)
        row = index & mask
        if rows[row, R_COMMAND] == command:
            rows[row, R_DONE] = time_ns
            if rows[row, R_FLAGS] & OWN_FLUSH:
                unlink(rows, ends, index)
                rows[row, R_STATE] = ENDING
                link(rows, ends, index, ENDING_PLACE)
            else:
                close(rows, ends, index, DONE)
        index = after
    return True


@kernel(checked=True)
def end_bio(
    rows: Table, ends: Table, base: int, device: int, sector: int, time_ns: int, alone: bool, command: int
) -> tuple[bool, bool]:
    """End the bio that a completion without data means; return whether there is one, and whether it became *command*.

    A write that begins or ends at *sector* comes first, then the oldest flush whose command is through, then, if *alone*
    (device mapper shows no command), the oldest that has none.
    """
    mask = len(rows) - 1
    chosen = -1
    issued = False
    index = chain(rows, ends, device, ENDING_PLACE)
    for _ in range(WALK_LIMIT):
        if index < 0:
            break
        row = index & mask
        if rows[row, R_OP] == FLUSH:
            if chosen < 0:
                chosen = index
        elif rows[row, R_FIRST] == sector or rows[row, R_END] == sector:
            chosen = index
            break
        index = following(rows, index)
    if chosen < 0 and alone:
        index = chain(rows, ends, device, WAITING_PLACE)
        for _ in range(WALK_LIMIT):
            if index < 0:
                break
            if rows[index & mask, R_FLAGS] & OWN_FLUSH:
                chosen = index
                rows[index & mask, R_COMMAND] = command
                issued = True
                break
            index = following(rows, index)
    if chosen >= 0:
        rows[chosen & mask, R_DONE] = time_ns
        drop_unissued_flush(rows, ends, base, chosen)
        close(rows, ends, chosen, DONE)
    return chosen >= 0, issued
