"""Rows of RAID 5 and RAID 6 that are written in part, as a passive machine with two phases: read, then write.

New parity needs old data. *Read-modify-write* reads what will be overwritten, and the parity; *reconstruct-write* reads
what will not. The way with fewer reads is taken, and the second when they are equal: as Linux md does unless told
otherwise (drivers/md/raid5.c, handle_stripe_dirtying: rmw_level is PARITY_ENABLE_RMW). Every unit of parity is one IO,
from the lowest to the highest offset that is touched within the row's units.

A way that needs what a failed member held is not possible. If neither way is, all that is there is read, as in md
(need_this_block). If the row has no parity left, nothing needs to be read: there md still reads what the write leaves.

The stripe lock: of two writes whose parity overlaps the later one waits until the earlier one is done (md locks the
pages of a stripe). Whole rows take no part: whoever writes a row whole writes all its bytes, and no host has
two writes of the same bytes under way.

Some controllers lock more: a region of rows from the start of a write to its end (the region lock of MegaRAID firmware,
which Linux computes in drivers/scsi/megaraid/megaraid_sas_fp.c). Such an array has a station of this kind in front,
which locks rows and does nothing else; reads, flushes and discards pass it.
"""

from tiersim.devices import requests
from tiersim.devices.array.array_kernels import add_part, holds_data
from tiersim.devices.array.parity_kernels import LOCKS, following, parity_member, touched_units
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE

_READING, _WRITING, _PASSING = range(3)
#: What is read before a row is written in part: what will be overwritten and parity, what will not be, all, nothing.
_MODIFY, _RECONSTRUCT, _EVERYTHING, _NOTHING = range(4)
#: More reads than any row takes.
_IMPOSSIBLE = 1 << 20


@kernel
def _overwritten(unit_bytes: int, unit: int, first: int, last: int, start: int, stop: int) -> bool:
    """Whether a write leaves nothing of a unit, within the offsets at which parity changes."""
    if first == last:
        return unit == first
    return first <= unit <= last and (unit > first or start == 0) and (unit < last or stop == unit_bytes)


@kernel
def reads_to_modify(units: int, parities: int) -> int:
    """Reads of a read-modify-write: the units that will be overwritten, and the parity."""
    return units + parities


@kernel
def reads_to_reconstruct(unit_bytes: int, columns: int, first: int, last: int, start: int, stop: int) -> int:
    """Reads of a reconstruct-write: the other units, and what is left of the first and the last."""
    reads = columns - (last - first + 1)
    if last > first:
        if start > 0:
            reads += 1
        if stop < unit_bytes:
            reads += 1
    return reads


@kernel
def _way(p: Plant, array: int, row: int, first: int, last: int, start: int, stop: int) -> int:
    """What to read before these units of a row are written."""
    a = p.parities[array]
    unit_bytes = a["stripe_bytes"]
    members = a["members"]
    parities = a["parities"]
    modify = reads_to_modify(last - first + 1, parities)
    reconstruct = reads_to_reconstruct(unit_bytes, members - parities, first, last, start, stop)
    if a["degraded"]:
        parity = parity_member(members, row)
        parity_there = False
        for place in range(members):
            member = following(parity, place, members)
            unit = place - parities
            if unit < 0 and p.pool[a["first_member"] + member] != NONE:
                parity_there = True
            if holds_data(p, a["filled"], member, (row + 1) * unit_bytes):
                continue
            if unit < 0 or first <= unit <= last:
                modify = _IMPOSSIBLE
            if unit >= 0 and not _overwritten(unit_bytes, unit, first, last, start, stop):
                reconstruct = _IMPOSSIBLE
        if not parity_there:
            return _NOTHING
        if modify == _IMPOSSIBLE and reconstruct == _IMPOSSIBLE:
            return _EVERYTHING
    return _MODIFY if modify < reconstruct else _RECONSTRUCT


@kernel
def _overlap(p: Plant, one: int, other: int) -> bool:
    a = p.holds[one]
    b = p.holds[other]
    return bool(a["row"] == b["row"] and a["low_bytes"] < b["high_bytes"] and b["low_bytes"] < a["high_bytes"])


@kernel
def _block(p: Plant, station: int, array: int, more: int, now: int) -> None:
    """Count writes that wait for others, and add up the time in which there are some."""
    a = p.parities[array]
    if a["blocked"] > 0:
        p.work_ns[station, 0] += now - a["changed_ns"]
    a["changed_ns"] = now
    a["blocked"] += more


@kernel
def _region(unit_bytes: int, columns: int, offset: int, end: int) -> tuple[int, int]:
    """What a write locks: (low, high) in bytes, of every row as many as a unit has.

    A write to one unit locks what it writes, a longer one whole rows; but of its first row only the end if it begins in
    the row's last unit, and of its last row only the beginning if it ends in that row's first unit.
    """
    first = offset // unit_bytes
    last = max(end - 1, offset) // unit_bytes
    first_row = first // columns
    last_row = last // columns
    low = first_row * unit_bytes
    high = (last_row + 1) * unit_bytes
    if first == last or (first_row < last_row and first % columns == columns - 1):
        low += offset - first * unit_bytes
    if first == last or (first_row < last_row and last % columns == 0):
        high = last_row * unit_bytes + end - last * unit_bytes
    return low, high


@kernel
def accept_stripe(p: Plant, station: int, array: int, slot: int, now: int) -> int:
    """Take a write; it waits for all earlier ones whose parity, or rows, it touches."""
    a = p.parities[array]
    request = p.requests[slot]
    hold = p.holds[slot]
    unit_bytes = a["stripe_bytes"]
    row_bytes = unit_bytes * (a["members"] - a["parities"])
    row = 0
    if a["locks_rows"]:
        if request["op"] != WRITE:
            hold["phase"] = _PASSING
            return now + PASS_ON_NS
        offset = request["offset_bytes"]
        hold["phase"] = _WRITING
        low, high = _region(unit_bytes, a["members"] - a["parities"], offset, offset + request["length_bytes"])
        hold["low_bytes"] = low
        hold["high_bytes"] = high
    else:
        row = request["offset_bytes"] // row_bytes
        begin = request["offset_bytes"] - row * row_bytes
        first, last, start, stop = touched_units(unit_bytes, begin, begin + request["length_bytes"])
        hold["phase"] = _READING
        hold["low_bytes"] = start if first == last else 0
        hold["high_bytes"] = stop if first == last else unit_bytes
    hold["row"] = row
    hold["chain"] = NONE
    lock = a["locks"] + row % LOCKS
    ahead = NONE
    blockers = 0
    other = p.pool[lock]
    while other != NONE:
        if _overlap(p, other, slot):
            blockers += 1
        ahead = other
        other = p.holds[other]["chain"]
    if ahead == NONE:
        p.pool[lock] = slot
    else:
        p.holds[ahead]["chain"] = slot
    hold["blockers"] = blockers
    if blockers > 0:
        _block(p, station, array, 1, now)
        return WAIT
    return now + PASS_ON_NS


@kernel
def choose_stripe(p: Plant, array: int, now: int) -> tuple[int, int, int]:
    """Start the oldest write whose parity has become free."""
    ready = p.parities[array]["ready"]
    slot = p.queues[ready]["head"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    requests.remove(p, ready, slot, NONE)
    return slot, now + PASS_ON_NS, NEVER


@kernel
def _unlock(p: Plant, station: int, array: int, slot: int, now: int) -> None:
    a = p.parities[array]
    lock = a["locks"] + p.holds[slot]["row"] % LOCKS
    after = p.holds[slot]["chain"]
    if p.pool[lock] == slot:
        p.pool[lock] = after
    else:
        ahead = p.pool[lock]
        while p.holds[ahead]["chain"] != slot:
            ahead = p.holds[ahead]["chain"]
        p.holds[ahead]["chain"] = after
    while after != NONE:
        if _overlap(p, slot, after):
            p.holds[after]["blockers"] -= 1
            if p.holds[after]["blockers"] == 0:
                _block(p, station, array, -1, now)
                requests.append(p, a["ready"], after)
        after = p.holds[after]["chain"]


@kernel
def _parts(p: Plant, array: int, slot: int, op: int) -> int:
    """Make the members' reads of the first phase, or the writes of the second: those of the new data and of parity."""
    a = p.parities[array]
    request = p.requests[slot]
    hold = p.holds[slot]
    unit_bytes = a["stripe_bytes"]
    members = a["members"]
    parities = a["parities"]
    columns = members - parities
    row = hold["row"]
    begin = request["offset_bytes"] - row * unit_bytes * columns
    first, last, start, stop = touched_units(unit_bytes, begin, begin + request["length_bytes"])
    way = _way(p, array, row, first, last, start, stop) if op == READ else _MODIFY
    if way == _NOTHING:
        return 0
    parity = parity_member(members, row)
    base = row * unit_bytes
    made = 0
    for place in range(members):
        unit = place - parities
        low = hold["low_bytes"]
        high = hold["high_bytes"]
        if way == _RECONSTRUCT:
            if unit < 0:
                continue
            if first < unit < last or first == last == unit:
                continue
            if unit == first:  # what the new data leave of it
                high = start
            elif unit == last:
                low = stop
        elif way == _MODIFY and unit >= 0:
            if unit < first or unit > last:
                continue
            if unit == first:
                low = start
            if unit == last:
                high = stop
        member = following(parity, place, members)
        if way == _EVERYTHING and not holds_data(p, a["filled"], member, base + unit_bytes):
            continue
        if low < high:
            made = add_part(p, made, a["first_member"], member, op, base + low, high - low)
    return made


@kernel
def finish_stripe(p: Plant, array: int, slot: int) -> int:
    """Make the reads of the first phase; where there is no parity to keep, the writes; of one that locks rows, all."""
    if p.parities[array]["locks_rows"]:
        request = p.requests[slot]
        return add_child(
            p, 0, p.parities[array]["stripes"], request["op"], request["offset_bytes"], request["length_bytes"]
        )
    made = _parts(p, array, slot, READ)
    if made > 0:
        return made
    p.holds[slot]["phase"] = _WRITING
    return _parts(p, array, slot, WRITE)


@kernel
def resume_stripe(p: Plant, station: int, array: int, slot: int, now: int) -> int:
    """Make the writes of the second phase; after them, let those go on that waited for this one."""
    if p.holds[slot]["phase"] == _READING:
        p.holds[slot]["phase"] = _WRITING
        return _parts(p, array, slot, WRITE)
    if p.holds[slot]["phase"] == _WRITING:
        _unlock(p, station, array, slot, now)
    return 0
