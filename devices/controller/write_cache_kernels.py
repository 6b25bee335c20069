"""The battery-backed write-back cache of a controller as a passive machine: a write is done when the cache has it.

Dirty lines are destaged by background requests: one waits here until a volume has something to destage, and makes its
successor when it goes. Destaging starts when more than the high mark of the lines are used and goes on down to the low
mark (high/low mark destaging: Varma and Jacobson, IEEE Transactions on Computers 47(2), 1998); lines that have been
dirty for the flush interval are destaged whatever the marks say. The volume with the oldest dirty line comes first.
With that line goes what is dirty around it: whole rows of a parity array, which need no old data, if the row is dirty
as a whole, else the run within the row.
"""

from tiersim.devices import requests
from tiersim.devices.controller.lines_kernels import (
    LINE_BYTES,
    SECTOR_BYTES,
    clean,
    covered,
    dirty_before,
    dirty_from,
    first_dirty,
    put,
    send,
)
from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE

#: Where a request goes from here: it is done, or the device does it.
_DONE, _DEVICE = range(2)


@kernel
def _volume_of(p: Plant, slot: int) -> int:
    """The volume that a request is for: the route that it came by knows."""
    route = p.requests[p.requests[slot]["parent"]]["station"]
    return p.routes[p.stations[route]["row"]]["cached"]


@kernel
def _end_sector(p: Plant, slot: int) -> int:
    request = p.requests[slot]
    return (request["offset_bytes"] + request["length_bytes"] + SECTOR_BYTES - 1) // SECTOR_BYTES


@kernel
def _account(p: Plant, station: int, cache: int, now: int) -> None:
    """Add up how long lines have been used."""
    c = p.write_caches[cache]
    p.work_ns[station, 0] += c["used"] * (now - c["changed_ns"])
    c["changed_ns"] = now


@kernel
def _put_on(p: Plant, station: int, cache: int, slot: int, now: int) -> bool:
    """Take in as much of a write as there is room for; returns whether that was the rest of it."""
    _account(p, station, cache, now)
    hold = p.holds[slot]
    end = _end_sector(p, slot)
    hold["position"] = put(p, cache, _volume_of(p, slot), hold["position"], end, now)
    return bool(hold["position"] == end)


@kernel
def accept_write_cache(p: Plant, station: int, cache: int, slot: int, now: int) -> int:
    """Take a request: a write waits for room, first come, first served; one of half the cache or more goes past it."""
    c = p.write_caches[cache]
    if is_background(p, slot):
        requests.append(p, c["destager"], slot)
        return CALL
    request = p.requests[slot]
    hold = p.holds[slot]
    hold["phase"] = _DONE
    if request["length_bytes"] == 0 and request["op"] != FLUSH:
        return now + PASS_ON_NS
    first = request["offset_bytes"] // SECTOR_BYTES
    if request["op"] == READ:
        if not covered(p, cache, _volume_of(p, slot), first, _end_sector(p, slot)):
            hold["phase"] = _DEVICE
    elif request["op"] == WRITE:
        if 2 * request["length_bytes"] > c["lines"] * LINE_BYTES:
            hold["phase"] = _DEVICE
            return now + PASS_ON_NS
        hold["position"] = first
        if p.queues[c["waiting"]]["head"] != NONE:
            requests.append(p, c["waiting"], slot)
            return WAIT
        if not _put_on(p, station, cache, slot, now):
            requests.append(p, c["waiting"], slot)
            return CALL
    elif request["op"] != FLUSH:
        hold["phase"] = _DEVICE
    return now + PASS_ON_NS


@kernel
def _next_volume(p: Plant, cache: int, now: int) -> tuple[int, int]:
    """Volume that is to destage, or NONE and when to look again."""
    c = p.write_caches[cache]
    if c["used"] > c["high_lines"]:
        c["draining"] = 1
    elif c["used"] <= c["low_lines"]:
        c["draining"] = 0
    best = NONE
    oldest = NEVER
    wake = NEVER
    for volume in range(c["first_volume"], c["first_volume"] + c["volumes"]):
        v = p.cached[volume]
        if v["oldest"] == NONE or v["in_flight"] >= v["most_in_flight"]:
            continue
        since = p.lines[v["oldest"]]["since_ns"]
        if c["draining"] == 1 or since + c["flush_interval_ns"] <= now:
            if since < oldest:
                oldest = since
                best = volume
        else:
            wake = min(wake, since + c["flush_interval_ns"])
    return best, wake


@kernel
def _gather(p: Plant, cache: int, volume: int, slot: int) -> None:
    """Send a volume's oldest dirty line with what is dirty around it; background request *slot* stands for that."""
    v = p.cached[volume]
    sector = first_dirty(p, v["oldest"])
    group = sector // v["group_sectors"] * v["group_sectors"]
    first = dirty_before(p, cache, volume, sector, group)
    end = dirty_from(p, cache, volume, sector, group + v["group_sectors"])
    if v["parities"] > 0:
        row = v["row_sectors"]
        begin = sector // row * row
        if first <= begin and end >= begin + row:
            first = (first + row - 1) // row * row
            end = end // row * row
        else:
            first = max(first, begin)
            end = min(end, begin + row)
    send(p, cache, volume, first, end)
    units = (end - 1) // v["unit_sectors"] - first // v["unit_sectors"] + 1
    writes = (min(units, v["columns"]) + v["parities"]) * v["copies"]
    v["in_flight"] += writes
    hold = p.holds[slot]
    hold["row"] = volume
    hold["position"] = first
    hold["carried_bytes"] = (end - first) * SECTOR_BYTES
    hold["blockers"] = writes


@kernel
def choose_write_cache(p: Plant, station: int, cache: int, now: int) -> tuple[int, int, int]:
    """Take in the oldest write that waits, if there is room; then let the destager go, if there is something for it."""
    c = p.write_caches[cache]
    slot = p.queues[c["waiting"]]["head"]
    if slot != NONE and _put_on(p, station, cache, slot, now):
        requests.remove(p, c["waiting"], slot, NONE)
        return slot, now + PASS_ON_NS, NEVER
    slot = p.queues[c["destager"]]["head"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    volume, wake = _next_volume(p, cache, now)
    if volume == NONE:
        return NONE, NEVER, wake
    requests.remove(p, c["destager"], slot, NONE)
    _gather(p, cache, volume, slot)
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_write_cache(p: Plant, station: int, cache: int, slot: int) -> int:
    """Send what the device has to do; the first write calls the destager, and that its successor."""
    c = p.write_caches[cache]
    hold = p.holds[slot]
    if is_background(p, slot):
        below = p.cached[hold["row"]]["below"]
        made = add_child(p, 0, below, WRITE, hold["position"] * SECTOR_BYTES, hold["carried_bytes"])
        return add_background(p, made, station, WRITE, 0, 0)
    request = p.requests[slot]
    if hold["phase"] == _DEVICE:
        below = p.cached[_volume_of(p, slot)]["below"]
        return add_child(p, 0, below, request["op"], request["offset_bytes"], request["length_bytes"])
    if request["op"] == WRITE and c["started"] == 0:
        c["started"] = 1
        return add_background(p, 0, station, WRITE, 0, 0)
    return 0


@kernel
def resume_write_cache(p: Plant, station: int, cache: int, slot: int, now: int) -> int:
    """A destage is done: its lines are free."""
    if is_background(p, slot):
        _account(p, station, cache, now)
        hold = p.holds[slot]
        end = hold["position"] + hold["carried_bytes"] // SECTOR_BYTES
        clean(p, cache, hold["row"], hold["position"], end, now)
        p.cached[hold["row"]]["in_flight"] -= hold["blockers"]
    return 0
