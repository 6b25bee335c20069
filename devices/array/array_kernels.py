"""Striped and mirrored arrays as passive machines: ``finish`` makes a request for each member that holds a part.

A member's parts of one request lie next to each other on it (stripe unit u over n columns is unit u // n of column
u mod n), so each member gets one request. RAID 10 keeps ``copies`` members a column: a write goes to all of them, a
read to the one with the fewest outstanding requests, and to the one after the last that read when they are equal.
Copies that have failed, or do not hold the data yet, are left out of reads; writes go to all members that are there.

Of every array, parity or not: a member holds all its data, none, or, on a replacement that is being filled, the first
part.
"""

from tiersim.devices.requests import add_background, add_child
from tiersim.devices.station_records import NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE

#: Which copy of a mirror reads (ReadBalance): the one with the fewest requests, or the nearest.
FEWEST, NEAREST = range(2)


@kernel
def column_part(offset_bytes: int, length_bytes: int, stripe_bytes: int, columns: int, column: int) -> tuple[int, int]:
    """Where the part of a request on one column lies: (offset, length) within a member; length 0 if there is none."""
    first_unit = offset_bytes // stripe_bytes
    last_unit = (offset_bytes + length_bytes - 1) // stripe_bytes
    first_own = first_unit + (column - first_unit) % columns
    last_own = last_unit - (last_unit - column) % columns
    if first_own > last_own:
        return 0, 0
    start = first_own // columns * stripe_bytes
    if first_own == first_unit:
        start += offset_bytes % stripe_bytes
    end = (last_own // columns + 1) * stripe_bytes
    if last_own == last_unit:
        end -= stripe_bytes - 1 - (offset_bytes + length_bytes - 1) % stripe_bytes
    return start, end - start


@kernel
def next_copy(copy: int, copies: int) -> int:
    """The copy after one, in turn."""
    return copy + 1 if copy + 1 < copies else 0


@kernel
def _cost(p: Plant, array: int, member: int, offset_bytes: int) -> int:
    """What speaks against a copy: the requests that it has, or, after Linux md, how far away its last one was.

    md (drivers/md/raid1.c, choose_best_rdev): the copy that read up to here goes on, else one that is idle reads, else
    the nearest. It learns the place of the arm from the end of a request; here it is where the last one was sent to.
    """
    a = p.arrays[array]
    outstanding = p.stations[p.pool[a["first_member"] + member]]["outstanding"]
    if a["balance"] == FEWEST:
        return int(outstanding)
    distance = abs(p.pool[a["ends"] + member] - offset_bytes)
    if distance == 0:
        return -2
    return -1 if outstanding == 0 else int(distance)


@kernel
def choose_copy(p: Plant, array: int, column: int, offset_bytes: int, end_bytes: int) -> int:
    """Which member of a mirrored column reads: the one with the least cost; among equals the one after the last that
    read.
    """
    a = p.arrays[array]
    copies = a["copies"]
    place = column * copies
    copy = p.pool[a["last_read"] + column]
    best = copy
    least = NEVER
    for _ in range(copies):
        copy = next_copy(copy, copies)
        if holds_data(p, a["filled"], place + copy, end_bytes):
            cost = _cost(p, array, place + copy, offset_bytes)
            if cost < least:
                least = cost
                best = copy
    p.pool[a["last_read"] + column] = best
    return place + best


@kernel(hot=True)
def add_column(p: Plant, array: int, made: int, column: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Make what one column has to do: one copy reads, all copies write; returns how many children there are now."""
    a = p.arrays[array]
    copies = a["copies"]
    first = column * copies
    end = first + copies
    if op == READ and copies > 1:
        first = choose_copy(p, array, column, offset_bytes, offset_bytes + length_bytes)
        end = first + 1
    for member in range(first, end):
        made = add_part(p, made, a["first_member"], member, op, offset_bytes, length_bytes)
        if a["balance"] == NEAREST:
            p.pool[a["ends"] + member] = offset_bytes + length_bytes
    return made


@kernel
def accept_array(p: Plant, array: int, now: int) -> int:
    """Pass a request on after the controller's overhead; requests do not wait for each other here."""
    return now + p.arrays[array]["overhead_ns"]


@kernel
def _parts(p: Plant, array: int, slot: int) -> int:
    a = p.arrays[array]
    request = p.requests[slot]
    op = request["op"]
    made = 0
    if op == FLUSH:
        for member in range(a["members"]):
            made = add_part(p, made, a["first_member"], member, op, 0, 0)
        return made
    stripe = a["stripe_bytes"]
    columns = a["columns"]
    unit = request["offset_bytes"] // stripe
    row = unit // columns
    column = unit - row * columns
    within = request["offset_bytes"] - unit * stripe
    if within + request["length_bytes"] <= stripe:
        return add_column(p, array, 0, column, op, row * stripe + within, request["length_bytes"])
    units = (within + request["length_bytes"] - 1) // stripe + 1
    for _ in range(min(units, columns)):
        offset, length = column_part(request["offset_bytes"], request["length_bytes"], stripe, columns, column)
        made = add_column(p, array, made, column, op, offset, length)
        column = column + 1 if column + 1 < columns else 0
    return made


@kernel
def finish_array(p: Plant, array: int, slot: int) -> int:
    """Make the members' requests; returns how many. A flush goes to every member. The first
    request begins a rebuild.
    """
    made = _parts(p, array, slot)
    a = p.arrays[array]
    if a["rebuild"] != NONE:
        made = begin_rebuild(p, made, a["rebuild"])
        a["rebuild"] = NONE
    return made


@kernel
def holds_data(p: Plant, filled: int, member: int, end_bytes: int) -> bool:
    """Whether a member can be read up to *end_bytes*; *filled* is the column of that name of its array."""
    return bool(p.pool[filled + member] >= end_bytes)


@kernel
def add_part(p: Plant, made: int, first_member: int, member: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Make a child for a member, if there is one: a failed member that nobody has replaced gets none."""
    station = p.pool[first_member + member]
    return made if station == NONE else add_child(p, made, station, op, offset_bytes, length_bytes)


@kernel
def begin_rebuild(p: Plant, made: int, station: int) -> int:
    """Make the first step of the rebuild at *station*."""
    r = p.rebuilds[p.stations[station]["row"]]
    filled = r["end_bytes"]
    for member in range(r["members"]):
        filled = min(filled, p.pool[r["filled"] + member])
    if filled >= r["end_bytes"]:
        return made
    return add_background(p, made, station, WRITE, filled, min(r["step_bytes"], r["end_bytes"] - filled))
