"""A flash volume as the cache of a slower one, as a passive machine.

What is in the cache is read from flash. What is not is read from the backing volume, and then put into the cache: a
block that was read whole is written to flash, one that was read in part is first read whole. In write-back mode a write
ends in flash if its block is there or is overwritten whole; else it ends on the backing volume, and its block follows.
Otherwise writes end on the backing volume, and on flash as well where the block is there.

Copies between the volumes are background requests of the station to itself; what they do is told by their operation.
"""

import numpy as np

from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.devices.tiering.cached_blocks_kernels import (
    CLEAN,
    CLEANING,
    DIRTY,
    FILLING,
    FIRST_PLACE,
    NOWHERE,
    REDIRTIED,
    STALE,
    drop,
    find,
    oldest,
    readable,
    set_state,
    state_of,
    take_place,
    touch,
)
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

#: A request of more blocks goes on when the first so many are done: children are written to a table of fixed size.
BLOCKS_AT_ONCE = 256
#: Most copies between the volumes under way. Source: bcache, drivers/md/bcache/writeback.c,
#: bch_cached_dev_writeback_init.
MOST_COPIES = 64
#: Dirty blocks that follow each other are written back together up to this length. Source: dm-cache's
#: migration_threshold, Documentation/admin-guide/device-mapper/cache.rst: 2048 sectors.
WRITE_BACK_BYTES = 1 << 20
#: How many streams of sequential requests are remembered. Source: bcache, Documentation/admin-guide/bcache.rst.
STREAMS = 128

#: Copies by their operation. INSERT writes to flash what a request has read.
_FILL, _WRITE_BACK, _INSERT = READ, WRITE, DISCARD
_READING, _WRITING = range(2)


@kernel
def accept_flash_cache(now: int) -> int:
    """Pass a request on; requests do not wait for each other here."""
    return now + PASS_ON_NS


@kernel
def _is_admitted(p: Plant, cache: int, slot: int) -> bool:
    """Whether a request may put blocks into the cache: not when the stream that it goes on with has become too long."""
    c = p.flash_caches[cache]
    if c["cutoff_bytes"] == 0:
        return True
    request = p.requests[slot]
    length = request["length_bytes"]
    stream = c["streams"]
    last = stream + 2 * STREAMS
    while stream < last and p.pool[stream] != request["offset_bytes"]:
        stream += 2
    if stream == last:
        stream = c["streams"] + 2 * c["next_stream"]
        c["next_stream"] = (c["next_stream"] + 1) % STREAMS
        p.pool[stream + 1] = 0
    p.pool[stream] = request["offset_bytes"] + length
    p.pool[stream + 1] += length
    return bool(p.pool[stream + 1] < c["cutoff_bytes"])


@kernel
def _add_piece(p: Plant, made: int, station: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Make a child, or make the last one longer if this piece follows it."""
    if made > 0:
        child = p.children[made - 1]
        if (
            child["station"] == station
            and child["op"] == op
            and child["background"] == 0
            and child["offset_bytes"] + child["length_bytes"] == offset_bytes
        ):
            child["length_bytes"] += length_bytes
            return made
    return add_child(p, made, station, op, offset_bytes, length_bytes)


@kernel
def _add_flash_piece(p: Plant, cache: int, made: int, place: int, op: int, within_bytes: int, length_bytes: int) -> int:
    c = p.flash_caches[cache]
    return _add_piece(p, made, c["flash"], op, (place - FIRST_PLACE) * c["block_bytes"] + within_bytes, length_bytes)


@kernel
def _add_copy(p: Plant, made: int, station: int, copy: int, offset_bytes: int, length_bytes: int) -> int:
    """Make a copy, or make the last one longer if these bytes follow it."""
    if made > 0:
        child = p.children[made - 1]
        if (
            child["background"] == 1
            and child["op"] == copy
            and child["offset_bytes"] + child["length_bytes"] == offset_bytes
        ):
            child["length_bytes"] += length_bytes
            return made
    return add_background(p, made, station, copy, offset_bytes, length_bytes)


@kernel
def _write_to_flash(p: Plant, cache: int, block: int, whole: bool, now: int) -> int:
    """Where in flash a write to a block ends in write-back mode; NOWHERE if it ends on the backing volume."""
    place = find(p, cache, block)
    if place == NOWHERE:
        if whole and block < p.flash_caches[cache]["backing_blocks"]:
            place = take_place(p, cache, block, DIRTY, now)
        return place
    state = state_of(p, cache, place)
    if state <= DIRTY:
        set_state(p, cache, place, DIRTY)
    elif state == CLEANING:
        set_state(p, cache, place, REDIRTIED)
    elif state == FILLING:
        set_state(p, cache, place, STALE)
    return place if readable(p, cache, place) else NOWHERE


@kernel
def _write_through(p: Plant, cache: int, block: int) -> int:
    """Where in flash a write to a block ends as well; NOWHERE if the block is not there."""
    place = find(p, cache, block)
    if place == NOWHERE:
        return NOWHERE
    if state_of(p, cache, place) != CLEAN:
        set_state(p, cache, place, STALE)
        return NOWHERE
    touch(p, cache, place)
    return place


@kernel
def _parts(p: Plant, cache: int, slot: int, made: int, now: int) -> int:
    """Make the next parts of a read or write."""
    c = p.flash_caches[cache]
    request = p.requests[slot]
    hold = p.holds[slot]
    op = request["op"]
    size = c["block_bytes"]
    begin = hold["position"]
    first = begin // size
    end = min(request["offset_bytes"] + request["length_bytes"], (first + BLOCKS_AT_ONCE) * size)
    hold["low_bytes"] = begin
    hold["position"] = end
    through = op == WRITE and c["write_back"] == 0
    if through:
        made = add_child(p, made, c["backing"], op, begin, end - begin)
    hits = 0
    for block in range(first, (end - 1) // size + 1):
        low = max(begin, block * size)
        length = min(end, (block + 1) * size) - low
        if through:
            place = _write_through(p, cache, block)
        elif op == WRITE:
            place = _write_to_flash(p, cache, block, hold["phase"] == 1 and length == size, now)
        else:
            place = find(p, cache, block)
            if not readable(p, cache, place):
                place = NOWHERE
            elif state_of(p, cache, place) <= DIRTY:
                touch(p, cache, place)
        if place != NOWHERE:
            hits += length
            made = _add_flash_piece(p, cache, made, place, op, low - block * size, length)
        elif not through:
            made = _add_piece(p, made, c["backing"], op, low, length)
    if op == READ:
        c["read_bytes"] += end - begin
        c["read_hit_bytes"] += hits
    else:
        c["written_bytes"] += end - begin
        if not through:
            c["write_hit_bytes"] += hits
    return made


@kernel
def _promote(p: Plant, station: int, cache: int, slot: int, made: int, now: int) -> int:
    """Put the blocks into the cache that a request has missed."""
    c = p.flash_caches[cache]
    hold = p.holds[slot]
    size = c["block_bytes"]
    reads = p.requests[slot]["op"] == READ
    for block in range(hold["low_bytes"] // size, (hold["position"] - 1) // size + 1):
        whole = hold["low_bytes"] <= block * size and (block + 1) * size <= hold["position"]
        if block >= c["backing_blocks"] or find(p, cache, block) != NOWHERE:
            continue
        if whole and reads:
            if take_place(p, cache, block, CLEAN, now) != NOWHERE:
                c["promoted_bytes"] += size
                made = _add_copy(p, made, station, _INSERT, block * size, size)
        elif not whole and c["copies"] < MOST_COPIES and take_place(p, cache, block, FILLING, now) != NOWHERE:
            before = made
            made = _add_copy(p, made, station, _FILL, block * size, size)
            c["copies"] += made - before
    return made


@kernel
def _write_back(p: Plant, station: int, cache: int, made: int) -> int:
    """Begin to write dirty blocks back, those first that were used longest ago, while there are too many of them."""
    c = p.flash_caches[cache]
    size = c["block_bytes"]
    while c["dirty"] > c["dirty_limit"] and c["copies"] < MOST_COPIES:
        place = oldest(p, cache, DIRTY)
        block = int(np.int64(p.cached_blocks[c["first"] + place]["block"]))
        blocks = 0
        while place != NOWHERE and state_of(p, cache, place) == DIRTY:
            set_state(p, cache, place, CLEANING)
            blocks += 1
            if blocks == BLOCKS_AT_ONCE or (blocks + 1) * size > WRITE_BACK_BYTES:
                break
            place = find(p, cache, block + blocks)
        c["cleaning"] += blocks
        c["copies"] += 1
        made = add_background(p, made, station, _WRITE_BACK, block * size, blocks * size)
    return made


@kernel
def _copy_flash(p: Plant, cache: int, slot: int, op: int) -> int:
    """Read or write the blocks of a copy on flash, those that are still there."""
    size = p.flash_caches[cache]["block_bytes"]
    request = p.requests[slot]
    first = request["offset_bytes"] // size
    made = 0
    for block in range(first, first + request["length_bytes"] // size):
        place = find(p, cache, block)
        if place != NOWHERE and state_of(p, cache, place) != STALE:
            made = _add_flash_piece(p, cache, made, place, op, 0, size)
    return made


@kernel
def _start_copy(p: Plant, cache: int, slot: int) -> int:
    request = p.requests[slot]
    p.holds[slot]["phase"] = _READING
    if request["op"] == _FILL:
        return add_child(p, 0, p.flash_caches[cache]["backing"], READ, request["offset_bytes"], request["length_bytes"])
    return _copy_flash(p, cache, slot, READ if request["op"] == _WRITE_BACK else WRITE)


@kernel
def _go_on_copying(p: Plant, station: int, cache: int, slot: int) -> int:
    """Write what a copy has read; after that its blocks are clean."""
    c = p.flash_caches[cache]
    request = p.requests[slot]
    if request["op"] == _INSERT:
        return 0
    if p.holds[slot]["phase"] == _READING:
        p.holds[slot]["phase"] = _WRITING
        if request["op"] == _WRITE_BACK:
            return add_child(p, 0, c["backing"], WRITE, request["offset_bytes"], request["length_bytes"])
        made = _copy_flash(p, cache, slot, WRITE)
        if made > 0:
            return made
    size = c["block_bytes"]
    first = request["offset_bytes"] // size
    for block in range(first, first + request["length_bytes"] // size):
        place = find(p, cache, block)
        state = state_of(p, cache, place)
        if state == STALE:
            drop(p, cache, place)
        else:
            set_state(p, cache, place, DIRTY if state == REDIRTIED else CLEAN)
            if state == FILLING:
                c["promoted_bytes"] += size
    if request["op"] == _WRITE_BACK:
        c["cleaning"] -= request["length_bytes"] // size
        c["written_back_bytes"] += request["length_bytes"]
    c["copies"] -= 1
    return _write_back(p, station, cache, 0)


@kernel
def finish_flash_cache(p: Plant, station: int, cache: int, slot: int) -> int:
    """Make the parts of a request. A flush goes to both volumes, as in bcache (drivers/md/bcache/request.c,
    cached_dev_nodata): some writes passed the cache by.
    """
    if is_background(p, slot):
        return _start_copy(p, cache, slot)
    c = p.flash_caches[cache]
    request = p.requests[slot]
    op = request["op"]
    if op == FLUSH:
        return add_child(p, add_child(p, 0, c["flash"], op, 0, 0), c["backing"], op, 0, 0)
    if op == DISCARD:
        return add_child(p, 0, c["backing"], op, request["offset_bytes"], request["length_bytes"])
    p.holds[slot]["position"] = request["offset_bytes"]
    p.holds[slot]["phase"] = int(_is_admitted(p, cache, slot))
    made = _parts(p, cache, slot, 0, request["accepted_ns"] + PASS_ON_NS)
    return _write_back(p, station, cache, made)


@kernel
def resume_flash_cache(p: Plant, station: int, cache: int, slot: int, now: int) -> int:
    """Put what was missed into the cache, and go on with a request of very many blocks; go on with a copy."""
    if is_background(p, slot):
        return _go_on_copying(p, station, cache, slot)
    request = p.requests[slot]
    op = request["op"]
    if op in (FLUSH, DISCARD):
        return 0
    made = 0
    if p.holds[slot]["phase"] == 1 and (op == READ or p.flash_caches[cache]["write_back"] == 1):
        made = _promote(p, station, cache, slot, made, now)
    if p.holds[slot]["position"] < request["offset_bytes"] + request["length_bytes"]:
        made = _parts(p, cache, slot, made, now)
    return _write_back(p, station, cache, made)
