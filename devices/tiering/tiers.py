"""Extents that migrate between two tiers, as a passive machine.

The volume is a row of extents; each lies in a place of the fast or the slow tier. Accesses are counted by extent. At
the end of every interval the heat of an extent decays, and the accesses since are added; then extents move one after
the other, as long as one in the slow tier is hotter than one in the fast tier: the hottest goes into a free place of
the fast tier; if there is none, the coldest there leaves first. A free place there always is: one more than there are
extents. An extent that nobody has used yet is taken to be empty and leaves at once.

An extent is copied piece by piece, each not before its time. Until all is copied, it is read in its old place. What is
written meanwhile goes to the old place, and to the new one as well if that piece has been copied or is the next one.

Pieces and the clock are background requests of the station to itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import NONE, PASS_ON_NS, TIERS, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ, WRITE
from tiersim.units import NS_PER_S

#: A request of more extents goes on when the first so many are done: children are written to a table of fixed size.
EXTENTS_AT_ONCE = 64
#: What an extent keeps of its heat is counted in 2^-20.
DECAY_BITS = 20
#: One access is this much heat, so that decay is seen.
_ACCESS = 256

#: Background requests by their operation.
_COPY, _REBALANCE = READ, FLUSH
_READING, _WRITING = range(2)


@kernel
def accept_tiers(p: Plant, tiers: int, slot: int, now: int) -> int:
    """Pass a request on; a rebalance waits for the end of the interval, a piece of a copy for its time."""
    t = p.tiers[tiers]
    if is_background(p, slot):
        if p.requests[slot]["op"] == _REBALANCE:
            return (now // t["interval_ns"] + 1) * t["interval_ns"]
        start = max(now + PASS_ON_NS, t["next_copy_ns"])
        t["next_copy_ns"] = start + t["copy_ns"]
        return start
    return now + PASS_ON_NS


@kernel
def _add_in_place(p: Plant, tiers: int, made: int, place: int, op: int, within_bytes: int, length_bytes: int) -> int:
    """Make a child for a part of what lies in a place."""
    t = p.tiers[tiers]
    if place < t["fast_places"]:
        return add_child(p, made, t["fast"], op, place * t["extent_bytes"] + within_bytes, length_bytes)
    place -= t["fast_places"]
    return add_child(p, made, t["slow"], op, place * t["extent_bytes"] + within_bytes, length_bytes)


@kernel
def _parts(p: Plant, tiers: int, slot: int) -> int:
    """Make the next parts of a request, one for each extent; two for what is written to an extent that moves."""
    t = p.tiers[tiers]
    request = p.requests[slot]
    op = request["op"]
    size = t["extent_bytes"]
    position = p.holds[slot]["position"]
    end = request["offset_bytes"] + request["length_bytes"]
    made = 0
    for _ in range(EXTENTS_AT_ONCE):
        if position >= end:
            break
        extent = position // size
        within = position - extent * size
        length = min(end - position, size - within)
        place = p.pool[t["place"] + extent]
        made = _add_in_place(p, tiers, made, place, op, within, length)
        if op != DISCARD:
            p.pool[t["accesses"] + extent] += 1
            t["all_bytes"] += length
            if place < t["fast_places"]:
                t["fast_bytes"] += length
        if op == WRITE and extent == t["moving"] and within < t["copied_bytes"] + t["copy_bytes"]:
            made = _add_in_place(p, tiers, made, t["target"], op, within, length)
        position += length
    p.holds[slot]["position"] = position
    return made


@kernel
def _cool(p: Plant, tiers: int) -> None:
    """End an interval: what was hot before counts less, what was used in it counts."""
    t = p.tiers[tiers]
    for extent in range(t["places"] - 1):
        heat = p.pool[t["heat"] + extent] * t["decay"] >> DECAY_BITS
        p.pool[t["heat"] + extent] = heat + p.pool[t["accesses"] + extent] * _ACCESS
        p.pool[t["accesses"] + extent] = 0


@kernel
def _put(p: Plant, tiers: int, extent: int, place: int) -> None:
    """Let an extent lie in a free place, and its old one be free."""
    t = p.tiers[tiers]
    p.pool[t["extent"] + p.pool[t["place"] + extent]] = NONE
    p.pool[t["extent"] + place] = extent
    p.pool[t["place"] + extent] = place


@kernel
def _begin_move(p: Plant, station: int, tiers: int, made: int) -> int:
    """Choose the next extent that moves, if there is one, and make the first piece of its copy."""
    t = p.tiers[tiers]
    free_fast = free_slow = coldest = hottest = -1
    for place in range(t["places"]):
        extent = p.pool[t["extent"] + place]
        if place < t["fast_places"]:
            if extent == NONE:
                free_fast = place
            elif coldest < 0 or p.pool[t["heat"] + extent] < p.pool[t["heat"] + coldest]:
                coldest = extent
        elif extent == NONE:
            free_slow = place
        elif hottest < 0 or p.pool[t["heat"] + extent] > p.pool[t["heat"] + hottest]:
            hottest = extent
    t["moving"] = NONE
    if hottest < 0 or p.pool[t["heat"] + hottest] == 0:
        return made
    if free_fast < 0 and coldest >= 0 and p.pool[t["heat"] + coldest] + p.pool[t["accesses"] + coldest] == 0:
        free_fast = p.pool[t["place"] + coldest]
        _put(p, tiers, coldest, free_slow)
    if free_fast >= 0:
        t["moving"] = hottest
        t["target"] = free_fast
    elif coldest >= 0 and p.pool[t["heat"] + coldest] < p.pool[t["heat"] + hottest]:
        t["moving"] = coldest
        t["target"] = free_slow
    else:
        return made
    t["copied_bytes"] = 0
    return add_background(p, made, station, _COPY, 0, min(t["copy_bytes"], t["extent_bytes"]))


@kernel
def _go_on_copying(p: Plant, station: int, tiers: int, slot: int) -> int:
    """Write what was read; then make the next piece, or let the extent be where it has been copied to."""
    t = p.tiers[tiers]
    request = p.requests[slot]
    if p.holds[slot]["phase"] == _READING:
        p.holds[slot]["phase"] = _WRITING
        return _add_in_place(p, tiers, 0, t["target"], WRITE, t["copied_bytes"], request["length_bytes"])
    t["copied_bytes"] += request["length_bytes"]
    t["moved_bytes"] += request["length_bytes"]
    left = t["extent_bytes"] - t["copied_bytes"]
    if left > 0:
        return add_background(p, 0, station, _COPY, t["copied_bytes"], min(t["copy_bytes"], left))
    _put(p, tiers, t["moving"], t["target"])
    return _begin_move(p, station, tiers, 0)


@kernel
def finish_tiers(p: Plant, station: int, tiers: int, slot: int) -> int:
    """Make the parts of a request. A flush goes to both tiers. The first request starts the clock of the rebalances."""
    t = p.tiers[tiers]
    request = p.requests[slot]
    op = request["op"]
    if is_background(p, slot):
        if op == _COPY:
            p.holds[slot]["phase"] = _READING
            place = p.pool[t["place"] + t["moving"]]
            return _add_in_place(p, tiers, 0, place, READ, request["offset_bytes"], request["length_bytes"])
        _cool(p, tiers)
        made = add_background(p, 0, station, _REBALANCE, 0, 0)
        return _begin_move(p, station, tiers, made) if t["moving"] == NONE else made
    if op == FLUSH:
        made = add_child(p, add_child(p, 0, t["fast"], op, 0, 0), t["slow"], op, 0, 0)
    else:
        p.holds[slot]["position"] = request["offset_bytes"]
        made = _parts(p, tiers, slot)
    if t["started"] == 0:
        t["started"] = 1
        made = add_background(p, made, station, _REBALANCE, 0, 0)
    return made


@kernel
def resume_tiers(p: Plant, station: int, tiers: int, slot: int) -> int:
    """Go on with a copy, or with a request of very many extents."""
    if is_background(p, slot):
        return _go_on_copying(p, station, tiers, slot)
    request = p.requests[slot]
    if request["op"] == FLUSH or p.holds[slot]["position"] >= request["offset_bytes"] + request["length_bytes"]:
        return 0
    return _parts(p, tiers, slot)


#: An access counts half after this time. Source: Dell KB 000019457, FAST VP theory of operation: after approximately 24
#: hours.
_HALF_LIFE_NS = 24 * 3600 * NS_PER_S
#: Extents are copied in pieces of this length. Source: Linux drivers/md/dm-kcopyd.c, DEFAULT_SUB_JOB_SIZE_KB.
COPY_BYTES = 512 << 10


@dataclass(frozen=True)
class Migration:
    """How extents move; ``docs/tiers.md`` says what each means."""

    extent_bytes: int
    interval_ns: int
    rate_bytes_per_s: int


def tiers_capacity_bytes(fast_bytes: int, slow_bytes: int, extent_bytes: int) -> int:
    """What can be stored in both tiers: all whole extents but the one whose place is free for moves; 0 or less:
    nothing.
    """
    return (fast_bytes // extent_bytes + slow_bytes // extent_bytes - 1) * extent_bytes


def add_tiers(
    builder: PlantBuilder, name: str, migration: Migration, fast: int, fast_bytes: int, slow: int, slow_bytes: int
) -> int:
    """Put two tiers into the plant and return the station of both; the extents begin in the slow one as far as they
    fit.
    """
    size = migration.extent_bytes
    fast_places, slow_places = fast_bytes // size, slow_bytes // size
    extents = np.arange(fast_places + slow_places - 1)
    # the first extents lie in the slow tier, the rest in the first places of the fast one; its last place is free
    place = np.where(extents < slow_places, extents + fast_places, extents - slow_places)
    extent = np.full(fast_places + slow_places, NONE, np.int64)
    extent[place] = extents
    row = builder.row(
        "tiers",
        fast=fast,
        slow=slow,
        extent_bytes=size,
        fast_places=fast_places,
        places=fast_places + slow_places,
        place=builder.table(place),
        extent=builder.table(extent),
        heat=builder.table(np.zeros(len(extents), np.int64)),
        accesses=builder.table(np.zeros(len(extents), np.int64)),
        interval_ns=migration.interval_ns,
        decay=round(2 ** (DECAY_BITS - migration.interval_ns / _HALF_LIFE_NS)),
        copy_bytes=COPY_BYTES,
        copy_ns=COPY_BYTES * NS_PER_S // migration.rate_bytes_per_s,
        moving=NONE,
    )
    # two for each extent that is written to, and the clock
    return builder.station(TIERS, row, name, {}, children=2 * EXTENTS_AT_ONCE + 1)


def tiers_figures(plant: Plant, row: int) -> dict[str, Any]:
    """What tiers did in a run: the share of the first one by bytes, None if there were none; bytes that moved."""
    t = plant.tiers[row]
    return {
        "fast_share": int(t["fast_bytes"]) / int(t["all_bytes"]) if t["all_bytes"] else None,
        "moved_bytes": int(t["moved_bytes"]),
    }
