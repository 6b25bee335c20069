"""The way of flush commands through the device, for :mod:`tiersim.traces.readers.blktrace_pairing`, whose words are
used.
"""

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
    S_BASE,
    S_COMMAND,
    WAITING_PLACE,
    WALK_LIMIT,
    Rows,
    chain,
    close,
    following,
    link,
    new_row,
    unlink,
)
from tiersim.traces.schema import FLUSH, NOT_MEASURED


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
