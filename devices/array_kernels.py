"""Striped and mirrored arrays as passive machines: ``finish`` makes a request for each member that holds a part.

A member's parts of one request lie next to each other on it (unit u of a stripe over n columns is unit u // n of column
u mod n), so each member gets one request. RAID 10 keeps ``copies`` members a column: a write goes to all of them, a read
to the one with the fewest outstanding requests, and to the other than last time when they are equal.
"""

from tiersim.devices.children import add_child
from tiersim.devices.tables import Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ


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
def choose_copy(p: Plant, array: int, column: int) -> int:
    """Which member of a mirrored column reads: the least busy one; among equals the one after the last that read."""
    a = p.arrays[array]
    copies = a["copies"]
    first = a["first_member"] + column * copies
    last_read = a["first_member"] + a["members"] + column
    best = next_copy(p.pool[last_read], copies)
    copy = best
    for _ in range(1, copies):
        copy = next_copy(copy, copies)
        if p.stations[p.pool[first + copy]]["outstanding"] < p.stations[p.pool[first + best]]["outstanding"]:
            best = copy
    p.pool[last_read] = best
    return p.pool[first + best]


@kernel
def add_column(p: Plant, array: int, made: int, column: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Make what one column has to do: one copy reads, all copies write; returns how many children there are now."""
    a = p.arrays[array]
    copies = a["copies"]
    if op == READ and copies > 1:
        return add_child(p, made, choose_copy(p, array, column), op, offset_bytes, length_bytes)
    for copy in range(copies):
        member = p.pool[a["first_member"] + column * copies + copy]
        made = add_child(p, made, member, op, offset_bytes, length_bytes)
    return made


@kernel
def accept_array(p: Plant, array: int, now: int) -> int:
    """Pass a request on after the controller's overhead; requests do not wait for each other here."""
    return now + p.arrays[array]["overhead_ns"]


@kernel
def finish_array(p: Plant, array: int, slot: int) -> int:
    """Make the members' requests; returns how many. A flush goes to every member."""
    a = p.arrays[array]
    request = p.requests[slot]
    op = request["op"]
    made = 0
    if op == FLUSH:
        for member in range(a["members"]):
            made = add_child(p, made, p.pool[a["first_member"] + member], op, 0, 0)
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
