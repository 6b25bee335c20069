"""RAID 5 and RAID 6 as passive machines: requests are cut into reads, whole rows and rows written in part.

A row holds one stripe unit of every member. Parity rotates as in Linux md's left-symmetric layout (drivers/md/raid5.c,
raid5_compute_sector): P of row r is on member n - 1 - r mod n, Q of RAID 6 on the next one, and data follow them in
turn. A row that is written whole needs no old data; one that is written in part goes to the station for that
(:mod:`tiersim.devices.array.stripes_kernels`). A discard reaches whole rows only, as in md's make_discard_request.
"""

from tiersim.devices.array.array_kernels import add_part, begin_rebuild, holds_data
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ

#: A read that spans more rows goes on when the first so many are done: children are written to a table of fixed size.
ROWS_AT_ONCE = 64
#: Lists in which the rows that are being written are looked up, by row: two in each when 250,000 wait.
LOCKS = 1 << 17


@kernel
def parity_member(members: int, row: int) -> int:
    """Which member holds P of a row."""
    return members - 1 - row % members


@kernel
def following(member: int, steps: int, members: int) -> int:
    """The member that lies *steps* < members after another, in turn."""
    member += steps
    return member if member < members else member - members


@kernel
def _to_all(p: Plant, array: int, made: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    a = p.parities[array]
    for member in range(a["members"]):
        made = add_part(p, made, a["first_member"], member, op, offset_bytes, length_bytes)
    return made


@kernel
def touched_units(unit_bytes: int, begin: int, end: int) -> tuple[int, int, int, int]:
    """Units of a row that its bytes *begin* to *end* lie in: (first, last, where in the first, up to where in the
    last).
    """
    first = begin // unit_bytes
    last = (end - 1) // unit_bytes
    return first, last, begin - first * unit_bytes, end - last * unit_bytes


@kernel
def _add_read(p: Plant, array: int, made: int, member: int, offset_bytes: int, length_bytes: int) -> int:
    """Make a member's read, or make its last one longer if this begins where that ends."""
    a = p.parities[array]
    last_part = a["last_part"] + member
    last = p.pool[last_part]
    if last != NONE and p.children[last]["offset_bytes"] + p.children[last]["length_bytes"] == offset_bytes:
        p.children[last]["length_bytes"] += length_bytes
        return made
    p.pool[last_part] = made
    return add_child(p, made, p.pool[a["first_member"] + member], READ, offset_bytes, length_bytes)


@kernel
def _read_row(p: Plant, array: int, made: int, row: int, begin: int, end: int) -> int:
    """Read bytes *begin* to *end* of a row when members lack data.

    What a member lacks is computed from all the others, as in md (need_this_block): each reads once, from the lowest to
    the highest offset that is wanted of it.
    """
    a = p.parities[array]
    unit_bytes = a["stripe_bytes"]
    members = a["members"]
    parities = a["parities"]
    parity = parity_member(members, row)
    row_end = (row + 1) * unit_bytes
    first, last, start, stop = touched_units(unit_bytes, begin, end)
    lost_low = unit_bytes
    lost_high = 0
    for unit in range(first, last + 1):
        if not holds_data(p, a["filled"], following(parity, parities + unit, members), row_end):
            lost_low = min(lost_low, start if unit == first else 0)
            lost_high = max(lost_high, stop if unit == last else unit_bytes)
    for place in range(members):
        member = following(parity, place, members)
        low = lost_low
        high = lost_high
        if first <= place - parities <= last:
            low = min(low, start if place - parities == first else 0)
            high = max(high, stop if place - parities == last else unit_bytes)
        if low < high and holds_data(p, a["filled"], member, row_end):
            made = _add_read(p, array, made, member, row * unit_bytes + low, high - low)
    return made


@kernel
def _read_on(p: Plant, array: int, slot: int) -> int:
    """Make the members' reads from where the request has come to; a member's parts that touch are one."""
    a = p.parities[array]
    request = p.requests[slot]
    unit_bytes = a["stripe_bytes"]
    members = a["members"]
    parities = a["parities"]
    columns = members - parities
    position = p.holds[slot]["position"]
    unit = position // unit_bytes
    row = unit // columns
    end = min(request["offset_bytes"] + request["length_bytes"], (row + ROWS_AT_ONCE) * columns * unit_bytes)
    p.holds[slot]["position"] = end
    for member in range(members):
        p.pool[a["last_part"] + member] = NONE
    made = 0
    if a["degraded"]:
        row_bytes = columns * unit_bytes
        while position < end:
            row_end = min(end, (row + 1) * row_bytes)
            made = _read_row(p, array, made, row, position - row * row_bytes, row_end - row * row_bytes)
            position = row_end
            row += 1
        return made
    place = parities + unit - row * columns
    parity = parity_member(members, row)
    while position < end:
        part_end = min(end, (unit + 1) * unit_bytes)
        member = following(parity, place, members)
        offset = row * unit_bytes + position - unit * unit_bytes
        made = _add_read(p, array, made, member, offset, part_end - position)
        position = part_end
        unit += 1
        place += 1
        if place == members:
            place = parities
            row += 1
            parity = parity - 1 if parity > 0 else members - 1
    return made


@kernel
def _write(p: Plant, array: int, slot: int) -> int:
    """Whole rows go to the members at once, in one piece each; what is left at both ends to the station of stripes."""
    a = p.parities[array]
    request = p.requests[slot]
    op = request["op"]
    begin = request["offset_bytes"]
    end = begin + request["length_bytes"]
    unit_bytes = a["stripe_bytes"]
    row_bytes = unit_bytes * (a["members"] - a["parities"])
    first_whole = (begin + row_bytes - 1) // row_bytes
    after_whole = end // row_bytes
    if op == DISCARD:
        if first_whole >= after_whole:
            return 0
        return _to_all(p, array, 0, op, first_whole * unit_bytes, (after_whole - first_whole) * unit_bytes)
    if first_whole > after_whole:  # all within a row
        return add_child(p, 0, a["stripes"], op, begin, end - begin)
    made = 0
    if begin < first_whole * row_bytes:
        made = add_child(p, made, a["stripes"], op, begin, first_whole * row_bytes - begin)
    if first_whole < after_whole:
        made = _to_all(p, array, made, op, first_whole * unit_bytes, (after_whole - first_whole) * unit_bytes)
    if after_whole * row_bytes < end:
        made = add_child(p, made, a["stripes"], op, after_whole * row_bytes, end - after_whole * row_bytes)
    return made


@kernel
def accept_parity(p: Plant, array: int, now: int) -> int:
    """Pass a request on after the controller's overhead; requests do not wait for each other here."""
    return now + p.parities[array]["overhead_ns"]


@kernel
def _parts(p: Plant, array: int, slot: int) -> int:
    request = p.requests[slot]
    if request["op"] == FLUSH:
        return _to_all(p, array, 0, request["op"], 0, 0)
    if request["op"] == READ:
        p.holds[slot]["position"] = request["offset_bytes"]
        return _read_on(p, array, slot)
    return _write(p, array, slot)


@kernel
def finish_parity(p: Plant, array: int, slot: int) -> int:
    """Make the parts of a request; returns how many. A flush goes to every member. The first
    request begins a rebuild.
    """
    made = _parts(p, array, slot)
    a = p.parities[array]
    if a["rebuild"] != NONE:
        made = begin_rebuild(p, made, a["rebuild"])
        a["rebuild"] = NONE
    return made


@kernel
def resume_parity(p: Plant, array: int, slot: int) -> int:
    """Go on with a read of very many rows."""
    request = p.requests[slot]
    if request["op"] != READ or p.holds[slot]["position"] >= request["offset_bytes"] + request["length_bytes"]:
        return 0
    return _read_on(p, array, slot)
