"""The blocks of a cache: which are there, in what state, and which was used longest ago.

A block is found by its number modulo the number of places: neighbours on the volume have neighbouring lists, so memory
is touched only where the volume is used. Clean and dirty blocks stand in a ring each, in the order of their last use; a
block that is being copied stands in none, so it is never chosen. The heads of the rings are the first two rows of a
cache; the others are places, counted from FIRST_PLACE, in the order in which they lie on the flash volume.
"""

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel

#: CLEANING: it is being written back; REDIRTIED: and was written to meanwhile. FILLING: it is being read from the
#: backing volume; STALE: and was written to meanwhile. The lists of clean and dirty blocks bear the numbers of those
#: states.
CLEAN, DIRTY, CLEANING, REDIRTIED, FILLING, STALE = range(6)
NOWHERE = 0
FIRST_PLACE = 2


@kernel
def find(p: Plant, cache: int, block: int) -> int:
    """Place of a block, or NOWHERE."""
    c = p.flash_caches[cache]
    place = p.cached_blocks[c["first"] + block % c["blocks"]]["head"]
    while place != NOWHERE and p.cached_blocks[c["first"] + place]["block"] != block:
        place = p.cached_blocks[c["first"] + place]["chain"]
    return place


@kernel
def readable(p: Plant, cache: int, place: int) -> bool:
    """Whether a place holds its block."""
    return bool(place != NOWHERE and p.cached_blocks[p.flash_caches[cache]["first"] + place]["state"] < FILLING)


@kernel
def state_of(p: Plant, cache: int, place: int) -> int:
    """State of a block."""
    return p.cached_blocks[p.flash_caches[cache]["first"] + place]["state"]


@kernel
def oldest(p: Plant, cache: int, state: int) -> int:
    """Place of the clean, or dirty, block that was used longest ago; FIRST_PLACE or more, if there is one."""
    return p.cached_blocks[p.flash_caches[cache]["first"] + state]["newer"]


@kernel
def _insert(p: Plant, cache: int, after: int, place: int) -> None:
    """Put a place before another one, on its older side."""
    first = p.flash_caches[cache]["first"]
    older = p.cached_blocks[first + after]["older"]
    p.cached_blocks[first + place]["older"] = older
    p.cached_blocks[first + place]["newer"] = after
    p.cached_blocks[first + older]["newer"] = place
    p.cached_blocks[first + after]["older"] = place


@kernel
def _unlink(p: Plant, cache: int, place: int) -> None:
    first = p.flash_caches[cache]["first"]
    older = p.cached_blocks[first + place]["older"]
    newer = p.cached_blocks[first + place]["newer"]
    p.cached_blocks[first + older]["newer"] = newer
    p.cached_blocks[first + newer]["older"] = older


@kernel
def set_state(p: Plant, cache: int, place: int, state: int) -> None:
    """Change the state of a block; among the clean or the dirty ones it is the one used last."""
    c = p.flash_caches[cache]
    old = p.cached_blocks[c["first"] + place]["state"]
    if old <= DIRTY:
        _unlink(p, cache, place)
    c["dirty"] += int(state == DIRTY) - int(old == DIRTY)
    p.cached_blocks[c["first"] + place]["state"] = state
    if state <= DIRTY:
        _insert(p, cache, state, place)


@kernel
def mark(p: Plant, cache: int, place: int, state: int) -> None:
    """Change the state of a block that stays in its ring."""
    c = p.flash_caches[cache]
    block = p.cached_blocks[c["first"] + place]
    c["dirty"] += int(state == DIRTY) - int(block["state"] == DIRTY)
    block["state"] = state


@kernel(hot=True)
def touch(p: Plant, cache: int, place: int) -> None:
    """Use a block."""
    set_state(p, cache, place, state_of(p, cache, place))


@kernel
def take_off(p: Plant, cache: int, place: int) -> None:
    """Take a place out of the ring that it stands in, so that nothing finds it there."""
    _unlink(p, cache, place)
    p.cached_blocks[p.flash_caches[cache]["first"] + place]["newer"] = place


@kernel
def is_off(p: Plant, cache: int, place: int) -> bool:
    """Tell whether a place was taken out of its ring and not put back."""
    return bool(p.cached_blocks[p.flash_caches[cache]["first"] + place]["newer"] == place)


@kernel
def put_back(p: Plant, cache: int, place: int, first_to_go: bool) -> None:
    """Put a place that was taken off among the clean ones: as the one used longest ago, or last."""
    head = p.cached_blocks[p.flash_caches[cache]["first"] + CLEAN]
    _insert(p, cache, head["newer"] if first_to_go else CLEAN, place)


@kernel
def _forget(p: Plant, cache: int, place: int) -> None:
    """Take the block of a place off the list that it is looked up in."""
    c = p.flash_caches[cache]
    home = c["first"] + p.cached_blocks[c["first"] + place]["block"] % c["blocks"]
    after = p.cached_blocks[c["first"] + place]["chain"]
    ahead = p.cached_blocks[home]["head"]
    if ahead == place:
        p.cached_blocks[home]["head"] = after
        return
    while p.cached_blocks[c["first"] + ahead]["chain"] != place:
        ahead = p.cached_blocks[c["first"] + ahead]["chain"]
    p.cached_blocks[c["first"] + ahead]["chain"] = after


@kernel
def take_place(p: Plant, cache: int, block: int, state: int, now: int) -> int:
    """Put a block that is not there into a place, one not used yet or the oldest clean one's;
    NOWHERE if all are dirty.
    """
    c = p.flash_caches[cache]
    if c["used"] < c["blocks"]:
        if c["used"] == 0:  # rows begin as zeros: the ring of dirty blocks has to be closed
            p.cached_blocks[c["first"] + DIRTY]["newer"] = DIRTY
            p.cached_blocks[c["first"] + DIRTY]["older"] = DIRTY
        place = FIRST_PLACE + c["used"]
        c["used"] += 1
        if c["used"] == c["blocks"]:
            c["filled_ns"] = now
            c["filled_read_bytes"] = c["read_bytes"]
            c["filled_read_hit_bytes"] = c["read_hit_bytes"]
    else:
        place = oldest(p, cache, CLEAN)
        if place < FIRST_PLACE:
            return NOWHERE
        _unlink(p, cache, place)
        if p.cached_blocks[c["first"] + place]["block"] != NONE:
            _forget(p, cache, place)
    home = c["first"] + block % c["blocks"]
    row = p.cached_blocks[c["first"] + place]
    row["block"] = block
    row["chain"] = p.cached_blocks[home]["head"]
    p.cached_blocks[home]["head"] = place
    row["state"] = FILLING  # in no list
    set_state(p, cache, place, state)
    return place


@kernel
def drop(p: Plant, cache: int, place: int) -> None:
    """Give up a block that is being copied: its place is the next to be taken."""
    first = p.flash_caches[cache]["first"]
    _forget(p, cache, place)
    p.cached_blocks[first + place]["block"] = NONE
    p.cached_blocks[first + place]["state"] = CLEAN
    _insert(p, cache, p.cached_blocks[first + CLEAN]["newer"], place)
