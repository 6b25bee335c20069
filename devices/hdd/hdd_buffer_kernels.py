"""A disk drive with a buffer on board: segments that reads are served from, read-ahead, writes that end before the
platter.

The arm has work of its own: it reads ahead and writes what waits in the buffer. Nobody waits for that, so it makes no
events: before a command is chosen, :func:`catch_up` works out what the arm did since the last one. It writes first, the
nearest first, then reads ahead until a command comes; a command waits for a write in progress, and
interrupts the read-ahead.

After the buffers of SCSI drives as DiskSim's parameters describe them (DiskSim 4.0 reference manual, CMU-PDL-08-101,
disk buffer). Where measured response times contradict it, the model follows these: ``docs/disks.md``.
"""

from tiersim.devices import requests
from tiersim.devices.hdd.hdd_geometry import SECTOR_BYTES, angle_at, locate, passage, place_of_request, transfer
from tiersim.devices.hdd.hdd_kernels import (
    can_start,
    choose_plain,
    cost_of,
    drawn_turns_ns,
    expected_turns_ns,
    go_to,
    go_to_end,
    move_ns,
    overhead_ns,
    rotation_ns,
)
from tiersim.devices.station_records import NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ, WRITE
from tiersim.units import PS_PER_NS

#: How far a drive reads ahead: not; to the end of the track; of the next track if the segment began before this one; of
#: the cylinder; until the segment is full.
AHEAD_NONE, AHEAD_TRACK, AHEAD_NEXT_TRACK, AHEAD_CYLINDER, AHEAD_SEGMENT = range(5)

#: Where the times of commands lie. Of those that the buffer serves, and of those that need the arm: a read after a
#: read, a read after a write, a write after a read, a write after a write. Before data pass; to reconnect, and to do so
#: after an extra disconnect; to disconnect: a read after a read, a read after a write, a write; at the end of a read
#: and of a write. Of an extra disconnect: to understand the command, until the arm moves, to disconnect, until the
#: drive reconnects, to disconnect again.
HIT, MISS, DATA, RECONNECT, DISCONNECT, COMPLETION = 0, 4, 8, 9, 11, 14
EXTRA_COMMAND, EXTRA_SEEK, EXTRA_DISCONNECT, EXTRA_PAUSE, EXTRA_SECOND = range(16, 21)
#: A drive with extra disconnects begins to write when so many sectors are there, more of a long write (DiskSim 4.0,
#: disksim_diskcache.c, disk_buffer_block_available).
_LEAD, _LONG_LEAD, _LONG = 10, 15, 45
MILLION = 1_000_000
#: Segments are chosen by rank << this | count of uses, so by rank first and then by when they were used.
_RANK_SHIFT = 56


@kernel
def _rotate(p: Plant, drive: int, at_ns: int, target_ps: int) -> int:
    """The first time, at *at_ns* or later, at which an angle is under the heads."""
    d = p.drives[drive]
    wait_ps = target_ps - angle_at(at_ns, d["revolution_ps"], d["phase_ps"])
    return at_ns + (wait_ps if wait_ps >= 0 else wait_ps + d["revolution_ps"]) // PS_PER_NS


@kernel
def _destage(p: Plant, drive: int, at_ns: int) -> None:
    """Write the nearest of the waiting writes; the arm is free, and one is there, at *at_ns*."""
    d = p.drives[drive]
    angle = angle_at(at_ns, d["revolution_ps"], d["phase_ps"])
    best = NONE
    least = NEVER
    move = wait = 0
    for index in range(d["first_write"], d["first_write"] + d["writes"]):
        if p.dirty[index]["ready_ns"] <= at_ns:
            at = locate(p, drive, p.dirty[index]["first_sector"])
            moved = move_ns(p, drive, at.cylinder, at.track, WRITE)
            waited = rotation_ns(p, drive, at.angle_ps, angle, moved)
            cost = moved + waited + expected_turns_ns(p, drive, moved, waited)
            if cost < least:
                least, move, wait = cost, moved, waited
                best = index
    first = p.dirty[best]["first_sector"]
    at = locate(p, drive, first)
    took, end_track = transfer(p, drive, first, p.dirty[best]["sectors"], at)
    start = at_ns + move + wait + drawn_turns_ns(p, drive, move, wait)
    if p.dirty[best]["data_ns"] > start:  # the head is there before the data
        start = _rotate(p, drive, p.dirty[best]["data_ns"], at.angle_ps)
    end = start + took // PS_PER_NS
    go_to(p, drive, end_track)
    d["arm_free_ns"] = end
    d["destage_ns"] += end - at_ns
    last = d["first_write"] + d["writes"] - 1
    for index in range(best, last):  # they keep their order
        p.dirty[index]["first_sector"] = p.dirty[index + 1]["first_sector"]
        p.dirty[index]["sectors"] = p.dirty[index + 1]["sectors"]
        p.dirty[index]["ready_ns"] = p.dirty[index + 1]["ready_ns"]
        p.dirty[index]["data_ns"] = p.dirty[index + 1]["data_ns"]
    d["writes"] -= 1


@kernel
def _earliest_write(p: Plant, drive: int) -> int:
    """When the first of the waiting writes was in the buffer; NEVER when none waits."""
    d = p.drives[drive]
    earliest = NEVER
    for index in range(d["first_write"], d["first_write"] + d["writes"]):
        earliest = min(earliest, p.dirty[index]["ready_ns"])
    return earliest


@kernel(hot=True)
def _flow(p: Plant, drive: int, at_ns: int, cylinder: int, track: int, angle_ps: int) -> int:
    """When the next sector of a stream is under a head: the skew hides the switch to a neighbouring track."""
    if abs(cylinder - p.drives[drive]["cylinder"]) > 1:
        at_ns += move_ns(p, drive, cylinder, track, READ)
    return _rotate(p, drive, at_ns, angle_ps)


@kernel
def _read_ahead(p: Plant, drive: int, until_ns: int) -> None:
    """Go on reading ahead up to a time."""
    d = p.drives[drive]
    segment = p.segments[d["ahead_segment"]]
    while d["ahead_sector"] < d["ahead_limit"]:
        sector = d["ahead_sector"]
        zone, cylinder, track, place, angle = locate(p, drive, sector)
        z = p.zones[zone]
        start = _flow(p, drive, d["ahead_ns"], cylinder, track, angle)
        if start > until_ns:  # the heads are on their way to the next track, or wait there
            d["switched_ns"] = max(d["switched_ns"], d["ahead_ns"] + move_ns(p, drive, cylinder, track, READ))
            go_to(p, drive, track)
            return
        whole = min(d["ahead_limit"] - sector, z["sectors_per_track"] - place, max(z["end_sector"] - sector, 1))
        taken = min((until_ns - start) * PS_PER_NS // z["sector_ps"], whole)
        go_to(p, drive, track)
        d["ahead_sector"] = sector + taken
        d["ahead_ns"] = start + taken * z["sector_ps"] // PS_PER_NS
        segment["end_sector"] = max(segment["end_sector"], sector + taken)
        segment["first_sector"] = max(segment["first_sector"], segment["end_sector"] - d["segment_sectors"])
        if taken < whole:
            return
    d["ahead_segment"] = NONE


@kernel
def _ahead_at(p: Plant, drive: int, sector: int) -> int:
    """When the read-ahead will have read up to a sector, if it goes on undisturbed."""
    d = p.drives[drive]
    track_now = d["track"]
    at_ns = d["ahead_ns"]
    reached = d["ahead_sector"]
    while reached < sector:
        zone, cylinder, track, place, angle = locate(p, drive, reached)
        z = p.zones[zone]
        at_ns = _flow(p, drive, at_ns, cylinder, track, angle)
        taken = min(sector - reached, z["sectors_per_track"] - place, max(z["end_sector"] - reached, 1))
        at_ns += taken * z["sector_ps"] // PS_PER_NS
        reached += taken
        go_to(p, drive, track)
    go_to(p, drive, track_now)
    return at_ns


@kernel
def catch_up(p: Plant, station: int, drive: int, now: int) -> None:
    """Work out what the arm did by itself up to now: writes, then reading ahead."""
    d = p.drives[drive]
    while d["writes"] > 0:
        start = max(d["arm_free_ns"], _earliest_write(p, drive))
        if start > now:
            break
        _destage(p, drive, start)
    p.work_ns[station, 0] += d["destage_ns"]
    d["destage_ns"] = 0
    if d["ahead_segment"] != NONE and d["arm_free_ns"] <= now:
        _read_ahead(p, drive, now)


@kernel(hot=True)
def _limit(p: Plant, drive: int, first: int, end: int) -> int:
    """How far to read ahead of a read that ends at sector *end*, into a segment that begins at sector *first*."""
    d = p.drives[drive]
    capacity = p.zones[d["first_zone"] + d["zones"] - 1]["end_sector"]
    kind = d["read_ahead"]
    if kind == AHEAD_NONE or end >= capacity:
        return end
    limit = end + (d["ahead_most_sectors"] if d["ahead_most_sectors"] > 0 else d["segment_sectors"])
    if kind != AHEAD_SEGMENT:
        zone, _, _, place, _ = locate(p, drive, end)
        per_track = p.zones[zone]["sectors_per_track"]
        if kind == AHEAD_CYLINDER:
            physical = p.zones[zone]["first_physical"] + end - p.zones[zone]["first_sector"]
            per_cylinder = per_track * d["surfaces"]
            limit = min(limit, end + per_cylinder - physical % per_cylinder)
        elif kind == AHEAD_NEXT_TRACK:
            limit = end + per_track - place
            if first < end - place:
                limit += per_track
        else:
            limit = min(limit, end + per_track - place)
    return min(limit, capacity)


@kernel
def _overlap(first: int, end: int, other_first: int, other_end: int) -> bool:
    """Whether two runs of sectors overlap, or one that is empty lies within the other.

    One comparison, not two: a processor can predict neither of the two.
    """
    return max(first - other_end, other_first - end) < 0


@kernel
def _search(p: Plant, drive: int, sector: int, end: int) -> tuple[int, int]:
    """Look for the segment that sectors are read from, or NONE, and for the one that is used anew.

    They are read from one that has all of them, then from one that is being read into, then from the one that was used
    longest ago. Used anew is an empty one, then the one that was used longest ago; last the one that is being read
    into (DiskSim 4.0, disksim_diskcache.c, disk_buffer_select_read_segment).
    """
    d = p.drives[drive]
    ahead = d["ahead_segment"]
    holder = free = NONE
    held_least = free_least = NEVER
    for index in range(d["first_segment"], d["first_segment"] + d["segments"]):
        s = p.segments[index]
        used = s["used"]
        first, last = s["first_sector"], s["end_sector"]
        if _overlap(first, last, sector, sector + 1):
            rank = (2 if last < end else 0) + (1 if index != ahead else 0)
            if (rank << _RANK_SHIFT) + used < held_least:
                held_least = (rank << _RANK_SHIFT) + used
                holder = index
        rank = (2 if index == ahead else 0) + (1 if first < last else 0)
        if (rank << _RANK_SHIFT) + used < free_least:
            free_least = (rank << _RANK_SHIFT) + used
            free = index
    return holder, free


@kernel
def _use(p: Plant, drive: int, segment: int) -> None:
    d = p.drives[drive]
    d["uses"] += 1
    p.segments[segment]["used"] = d["uses"]


@kernel
def _fill(p: Plant, drive: int, segment: int, first: int, end: int) -> None:
    """Put sectors into a segment, in the place of what was there."""
    s = p.segments[segment]
    s["first_sector"] = max(first, end - p.drives[drive]["segment_sectors"])
    s["end_sector"] = end
    s["asked_sector"] = end
    _use(p, drive, segment)


@kernel
def _count_read_ahead(p: Plant, station: int, drive: int, segment: int, first: int, end: int) -> None:
    """Count the time that the arm took to read ahead what the host asks for now, for the first time.

    What nobody asks for is not counted: the arm stops reading it for any command.
    """
    s = p.segments[segment]
    first = max(first, s["asked_sector"])
    if first < end:
        took_ps, _ = transfer(p, drive, first, end - first, locate(p, drive, first))
        p.work_ns[station, 0] += took_ps // PS_PER_NS
        s["asked_sector"] = end


@kernel
def _keep_written(p: Plant, drive: int, first: int, end: int) -> None:
    """What a write brings goes into a segment; what it makes out of date is emptied.

    By most drives that is the segment that was used last. Otherwise it is one that it empties, or one that is used
    anew as for a read.
    """
    d = p.drives[drive]
    stale = last = NONE
    stale_used, last_used = NEVER, -1
    for index in range(d["first_segment"], d["first_segment"] + d["segments"]):
        s = p.segments[index]
        used = s["used"]
        if _overlap(s["first_sector"], s["end_sector"], first, end):
            s["end_sector"] = s["first_sector"]
            if used < stale_used:
                stale_used = used
                stale = index
        if used > last_used:
            last_used = used
            last = index
    if d["write_apart"] == 0:
        if d["write_oldest"] == 1:
            last = stale if stale != NONE else _search(p, drive, first, end)[1]
        _fill(p, drive, last, first, end)
    d["ahead_segment"] = NONE


@kernel
def _soon_ahead(p: Plant, drive: int, sector: int) -> bool:
    """Whether a read waits for the read-ahead, as it comes to the sector within a track's length: that is as fast as to
    go there.
    """
    d = p.drives[drive]
    if d["awaits_ahead"] == 0 or not d["ahead_sector"] <= sector < d["ahead_limit"]:
        return False
    return bool(sector - d["ahead_sector"] <= p.zones[locate(p, drive, sector).zone]["sectors_per_track"])


@kernel
def _goes_on(p: Plant, drive: int, slot: int, first: int) -> bool:
    """Whether a read begins where the last one ended and was waiting when the arm came there: it reads on without a
    turn lost.
    """
    d = p.drives[drive]
    return bool(
        first == d["read_end"] and d["after_write"] == 0 and p.requests[slot]["accepted_ns"] <= d["arm_free_ns"]
    )


@kernel
def _waited(p: Plant, drive: int, now: int, overheads: int, disconnects: int) -> int:
    """Return when data pass of a command that the buffer serves, but not before the write in progress ends."""
    d = p.drives[drive]
    times = d["times"]
    told = now + p.pool[times + overheads + d["after_write"]] + p.pool[times + disconnects]
    return max(told, d["arm_free_ns"]) + p.pool[times + RECONNECT] + p.pool[times + DATA]


@kernel
def _read(p: Plant, station: int, drive: int, slot: int, now: int, first: int, sectors: int) -> int:
    """Serve a read: returns when it is done."""
    d = p.drives[drive]
    times = d["times"]
    end = first + sectors
    through_ns = sectors * d["interface_ps"] // PS_PER_NS
    last_ns = d["interface_ps"] // PS_PER_NS
    completion_ns = p.pool[times + COMPLETION]
    understood = now + p.pool[times + HIT + d["after_write"]] + p.pool[times + DATA]
    holder, free = _search(p, drive, first, end)
    ahead = d["ahead_segment"]
    if holder == NONE and ahead != NONE and _soon_ahead(p, drive, first):
        holder = ahead
    if holder != NONE and end <= p.segments[holder]["end_sector"]:
        _count_read_ahead(p, station, drive, holder, first, end)
        _use(p, drive, holder)
        limit = _limit(p, drive, p.segments[holder]["first_sector"], end)
        if holder == ahead:
            d["ahead_limit"] = max(d["ahead_limit"], limit)
        elif d["ahead_after_hit"] == 1 and d["writes"] == 0 and p.segments[holder]["end_sector"] < limit:
            d["ahead_segment"] = holder
            d["ahead_ns"] = max(understood, d["arm_free_ns"])
            d["ahead_sector"] = p.segments[holder]["end_sector"]
            d["ahead_limit"] = limit
        if d["hits_wait"] == 1 and d["arm_free_ns"] > now:
            understood = _waited(p, drive, now, MISS, DISCONNECT + d["after_write"])
        return understood + through_ns + completion_ns
    if holder != NONE and holder == ahead and d["arm_free_ns"] <= now:  # it is coming in
        _count_read_ahead(p, station, drive, holder, first, end)
        _use(p, drive, holder)
        d["ahead_limit"] = max(d["ahead_limit"], _limit(p, drive, p.segments[holder]["first_sector"], end), end)
        return max(understood + through_ns, _ahead_at(p, drive, end) + last_ns) + completion_ns
    taken_up = max(now, d["switched_ns"])  # heads that are switching tracks do so to the end
    miss = taken_up - now + p.pool[times + MISS + d["after_write"]]
    if holder == NONE:
        begin = first
        goes_on = _goes_on(p, drive, slot, first)
        link = p.links[slot]
        at = place_of_request(p, slot)
        took_ps = link["transfer_ps"]
    else:  # its first part is there
        begin = p.segments[holder]["end_sector"]
        _count_read_ahead(p, station, drive, holder, first, begin)
        goes_on = False
        at = locate(p, drive, begin)
        took_ps, _ = transfer(p, drive, begin, end - begin, at)
    if goes_on:
        start = _flow(p, drive, d["arm_free_ns"], at.cylinder, at.track, at.angle_ps)
    else:
        move = move_ns(p, drive, at.cylinder, at.track, READ)
        arrived = max(now + miss, d["arm_free_ns"]) + move
        start = _rotate(p, drive, arrived, at.angle_ps)
        start += drawn_turns_ns(p, drive, move, start - arrived)
    read = start + took_ps // PS_PER_NS
    go_to_end(p, drive, slot)
    d["arm_free_ns"] = read
    d["ahead_segment"] = NONE
    if holder == NONE:
        holder = free
        _fill(p, drive, holder, first, end)
        mark = max(d["mark_sectors"], min(d["segment_sectors"], sectors) * d["mark_millionths"] // MILLION, 1)
        marked_ps, passed_ps, _ = passage(p, drive, first, sectors, at, min(mark, sectors), d["interface_ps"])
        told = now if goes_on else now + miss + p.pool[times + DISCONNECT + d["after_write"]]
        sent = max(start + marked_ps // PS_PER_NS, told) + p.pool[times + RECONNECT] + p.pool[times + DATA]
    else:
        _fill(p, drive, holder, p.segments[holder]["first_sector"], end)
        _, passed_ps, _ = passage(p, drive, begin, end - begin, at, 1, d["interface_ps"])
        sent = understood
    if d["adaptive"] == 0 or first == d["read_end"]:
        limit = _limit(p, drive, p.segments[holder]["first_sector"], end)
        if limit > end:
            d["ahead_segment"] = holder
            d["ahead_ns"] = read
            d["ahead_sector"] = end
            d["ahead_limit"] = limit
    # data go to the host while they are read, a sector not before it was read; commands in order
    return max(sent + through_ns, start + passed_ps // PS_PER_NS) + completion_ns


@kernel
def _write_through(p: Plant, drive: int, slot: int, now: int, first: int, sectors: int) -> int:
    """Serve a write that ends on the platter: returns when it is done."""
    d = p.drives[drive]
    times = d["times"]
    link = p.links[slot]
    _, _, lead_ps = passage(p, drive, first, sectors, place_of_request(p, slot), 1, d["write_interface_ps"])
    reconnect = p.pool[times + RECONNECT]
    disconnect = p.pool[times + DISCONNECT + 2]
    taken_up = max(now, d["switched_ns"])
    begun = taken_up + p.pool[times + MISS + 2 + d["after_write"]]
    data = begun + p.pool[times + DATA]
    if d["extra_disconnect"] == 1:
        wanted = min(sectors, _LEAD) if sectors < _LONG else _LONG_LEAD
        lead_ps = max(lead_ps, wanted * d["write_interface_ps"])
        if d["after_write"] == 1 and first != d["write_end"]:
            decoded = taken_up + p.pool[times + EXTRA_COMMAND]
            begun = decoded + p.pool[times + EXTRA_SEEK]
            data = decoded + p.pool[times + EXTRA_DISCONNECT] + p.pool[times + EXTRA_PAUSE]
            data += reconnect + p.pool[times + DATA]
            reconnect = p.pool[times + RECONNECT + 1]
            disconnect = p.pool[times + EXTRA_SECOND]
    move = max(move_ns(p, drive, link["cylinder"], link["track"], WRITE), d["write_move_least_ns"])
    arrived = max(begun, d["arm_free_ns"]) + move
    came = data + lead_ps // PS_PER_NS
    start = _rotate(p, drive, max(arrived, came), link["angle_ps"])
    if came <= arrived:
        start += drawn_turns_ns(p, drive, move, start - arrived)
        if start < came:  # the head is there before the data
            start = _rotate(p, drive, came, link["angle_ps"])
    go_to_end(p, drive, slot)
    d["arm_free_ns"] = start + link["transfer_ps"] // PS_PER_NS
    told = data + sectors * d["write_interface_ps"] // PS_PER_NS + disconnect
    return max(d["arm_free_ns"], told) + reconnect + p.pool[times + COMPLETION + 1]


@kernel
def _write_behind(p: Plant, drive: int, slot: int, now: int, first: int, sectors: int) -> int:
    """Serve a write that is done when it is in the buffer: returns when that is.

    It waits for room, unless it goes on where the last one ended: it joins its segment then.
    """
    d = p.drives[drive]
    times = d["times"]
    completion_ns = p.pool[times + COMPLETION + 1]
    through_ns = sectors * d["write_interface_ps"] // PS_PER_NS
    understood = now + p.pool[times + HIT + 2 + d["after_write"]]
    done = understood + p.pool[times + DATA] + through_ns
    if d["writes"] > 0:
        last = p.dirty[d["first_write"] + d["writes"] - 1]
        if last["first_sector"] + last["sectors"] == first and last["sectors"] + sectors <= d["segment_sectors"]:
            last["sectors"] += sectors
            last["data_ns"] = done
            return done + completion_ns
    on_their_way = d["writes"] + (1 if d["arm_free_ns"] > now else 0)
    follows = first == d["write_end"] and d["writes"] < d["write_segments"]
    if on_their_way >= d["write_segments"] and not follows:
        if d["writes"] >= d["write_segments"]:
            _destage(p, drive, max(d["arm_free_ns"], now))
        done = max(done, d["arm_free_ns"] + d["write_interface_ps"] // PS_PER_NS)
    if d["writes_wait"] == 1 and d["arm_free_ns"] > now and first != d["write_end"]:
        done = max(done, _waited(p, drive, now, HIT + 2, DISCONNECT + 2) + through_ns)
    w = p.dirty[d["first_write"] + d["writes"]]
    w["first_sector"] = first
    w["sectors"] = sectors
    w["ready_ns"] = understood  # the arm goes there while data come
    _, _, lead_ps = passage(p, drive, first, sectors, place_of_request(p, slot), 1, d["write_interface_ps"])
    w["data_ns"] = done - through_ns + lead_ps // PS_PER_NS
    d["writes"] += 1
    return done + completion_ns


@kernel
def _flush(p: Plant, drive: int, now: int) -> int:
    """Write all that waits: returns when it is done."""
    d = p.drives[drive]
    while d["writes"] > 0:
        d["ahead_segment"] = NONE
        _destage(p, drive, max(d["arm_free_ns"], _earliest_write(p, drive), now))
    return max(d["arm_free_ns"], now) + d["flush_ns"]


@kernel(hot=True)
def _cost(p: Plant, drive: int, slot: int, angle_ps: int, least: int) -> int:
    """What the scheduler goes by (see :func:`tiersim.devices.hdd.hdd_kernels.cost_of`); what needs no arm goes first,
    and then the next of a stream.

    A stream of writes is kept in order although each of them has just missed its sector: drives behind a controller
    were measured to write 64 KB after 64 KB at the same rate with 1 command outstanding and with 128 (PERC 6,
    write-through; see docs/accuracy.md).
    """
    d = p.drives[drive]
    request = p.requests[slot]
    op = request["op"]
    if op in (FLUSH, DISCARD) or (op == WRITE and d["write_segments"] > 0):
        return 0
    first = request["offset_bytes"] // SECTOR_BYTES
    if op == WRITE and d["after_write"] == 1 and first == d["write_end"]:
        return 0
    if op == READ:
        if _goes_on(p, drive, slot, first):
            return 0
        if d["ahead_segment"] != NONE:
            ahead = p.segments[d["ahead_segment"]]
            if ahead["first_sector"] <= first <= ahead["end_sector"]:
                return 0
    return cost_of(p, drive, slot, angle_ps, least)


@kernel
def choose_buffered(p: Plant, station: int, drive: int, now: int) -> tuple[int, int, int]:
    """Take the command of least cost among those that the drive sees; an aged one goes first."""
    d = p.drives[drive]
    q = d["queue"]
    best = p.queues[q]["head"]
    catch_up(p, station, drive, now)
    before = NONE
    if p.links[best]["next"] != NONE and now - p.requests[best]["accepted_ns"] <= d["age_limit_ns"]:
        begun = max(max(now, d["switched_ns"]) + d["read_overhead_ns"], d["arm_free_ns"])
        angle = angle_at(begun, d["revolution_ps"], d["phase_ps"])
        # The search of the drive without a buffer, with other costs: code that is given a function is compiled in each
        # process anew.
        least = _cost(p, drive, best, angle, NEVER)
        previous = best
        candidate = p.links[best]["next"]
        seen = 1
        while candidate != NONE and seen < d["queue_depth"]:
            cost = _cost(p, drive, candidate, angle, least)
            if cost < least:
                least = cost
                best = candidate
                before = previous
            previous = candidate
            candidate = p.links[candidate]["next"]
            seen += 1
    requests.remove(p, q, best, before)
    request = p.requests[best]
    op = request["op"]
    arm_free = max(d["arm_free_ns"], now)
    through_ns = 0
    if op == FLUSH:
        done = _flush(p, drive, now)
    elif op == DISCARD or request["length_bytes"] == 0:
        done = now + overhead_ns(p, drive, op)
    else:
        first = request["offset_bytes"] // SECTOR_BYTES
        sectors = (request["offset_bytes"] + request["length_bytes"] - 1) // SECTOR_BYTES - first + 1
        through_ns = sectors * (d["interface_ps"] if op == READ else d["write_interface_ps"]) // PS_PER_NS
        if op == READ:
            done = _read(p, station, drive, best, now, first, sectors)
            d["read_end"] = first + sectors
            d["after_write"] = 0
        else:
            _keep_written(p, drive, first, first + sectors)
            if d["write_segments"] > 0:
                done = _write_behind(p, drive, best, now, first, sectors)
            else:
                done = _write_through(p, drive, best, now, first, sectors)
            d["write_end"] = first + sectors
            d["after_write"] = 1
    done = max(done, now + 1)
    d["busy"] = 1
    if op == READ or (op == WRITE and d["write_segments"] == 0):
        p.work_ns[station, 0] += max(d["arm_free_ns"] - arm_free, 0)
    p.work_ns[station, 1] += through_ns
    return best, done, NEVER


@kernel(hot=True)
def choose_drive(p: Plant, station: int, drive: int, now: int) -> tuple[int, int, int]:
    """Start a request of a drive, with a buffer or without."""
    if not can_start(p, drive):
        return NONE, NEVER, NEVER
    if p.drives[drive]["segments"] > 0:
        return choose_buffered(p, station, drive, now)
    return choose_plain(p, station, drive, now)
