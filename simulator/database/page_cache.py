"""The operating system's page cache between the buffer pool and the volumes, as a passive machine.

A page that it holds is read at once. One that it does not is read from its volume and stays. A page that is written is
dirty and done at once; it is written back later: when more than *background_pages* are dirty, as long as they are; and
by a flusher that comes every 5 s when it has been dirty for 30 s. Writers wait while *most_pages* are dirty or being
written back (Linux: mm/page-writeback.c, vm.dirty_background_ratio, vm.dirty_ratio, vm.dirty_expire_centisecs,
vm.dirty_writeback_centisecs). The kernel slows writers down before that limit; here they stop at it. A write of more
pages than find room goes on with those that do and then asks for the others.

Which page makes room: :mod:`tiersim.simulator.database.cached_pages`.

A FLUSH syncs a range: dirty pages of it are written back and waited for, one that changed while it was being written
back once that is done; so are those that others write back (mm/filemap.c, file_write_and_wait_range); then the volume
is flushed. A FILL begins to write back a range and waits only while too many write-backs are under way
(sync_file_range, SYNC_FILE_RANGE_WRITE).

Pages are those of the pool: requests that are not whole pages do not come here. The log lies beside, and what it writes
takes places here (:mod:`tiersim.simulator.database.wal.log`); each write is followed by a flush, which has nothing but
the log to write.

Write-backs and the flusher are background requests of the station to itself, told by their operation. What a sync waits
for are children of it: AWAIT, pages that it has written back; PREFETCH, pages that others write back.

PostgreSQL's ScheduleBufferTagForWriteback and IssuePendingWritebacks (storage/buffer/bufmgr.c): in the order of files
and of pages, neighbours together.
The checkpointer has such a list, and the background writer. With direct IO there is nothing to write back.
"""

from tiersim.devices import requests
from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.devices.tiering.cached_blocks_kernels import (
    CLEAN,
    CLEANING,
    DIRTY,
    NOWHERE,
    REDIRTIED,
    find,
    state_of,
    take_place,
)
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.buffer_pool.pages import file_of, level_of, volume_of
from tiersim.simulator.database.cached_pages import be_written, change_state, take_page, use
from tiersim.simulator.database.database_state import AWAIT, FILL, PREFETCH, Database, record

#: Dirty pages in percent of the cache: from where on they are written back, and where writers wait
#: (vm.dirty_background_ratio, vm.dirty_ratio).
BACKGROUND_PERCENT, MOST_PERCENT = 10, 20
#: How often the flusher comes, and for how long a page has been dirty that it writes back.
_FLUSHER_NS, _EXPIRE_NS = 5_000_000_000, 30_000_000_000
#: Most write-backs under way (include/linux/blkdev.h, BLKDEV_DEFAULT_RQ), and how much one writes at most
#: (BLK_DEF_MAX_SECTORS).
MOST_WRITE_BACKS, _WRITE_BACK_BYTES = 128, 1280 << 10
#: A read of more pages goes on when the first so many are there: children are written to a table of fixed size.
PAGES_AT_ONCE = 64

_WRITE_BACK, _FLUSHER, _OTHERS = WRITE, FLUSH, PREFETCH
#: What a sync does (``phase`` of its hold): it has dirty pages written back; waits for those that others write back;
#: flushes the volume.
_BEGINS, _WAITS, _FLUSHES = range(3)
#: So many pieces of a sync are under way at once.
_PIECES = 32

#: The operating system's page cache
PAGE_CACHE_ROW = record(
    "station",
    "cache",  # row of flash_caches, whose lists it has
    "waiting",  # queue of writes
    "syncing",  # queue of waits for pages that others write back
    "background_pages",  # more dirty ones are written back
    "most_pages",  # dirty or being written back, when writers wait
    "flusher",  # it has come or will
    "expired_ns",  # what has been dirty since then is written back
    "cleaning",  # pages that are being written back
    "write_backs",
    "written_back_pages",
    "read_pages",
    "hit_pages",
    indices=("station", "cache", "waiting", "syncing"),
)


@kernel
def accept_page_cache(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request; a write waits if too many pages are dirty, a sync for its pages, the flusher for its time."""
    waiting = d.page_cache[0]["waiting"]
    op = p.requests[slot]["op"]
    if is_background(p, slot):
        return (now // _FLUSHER_NS + 1) * _FLUSHER_NS if op == _FLUSHER else now + PASS_ON_NS
    d.holds[slot]["phase"] = _BEGINS
    d.holds[slot]["position"] = p.requests[slot]["offset_bytes"]
    if op in (WRITE, FILL) and (p.queues[waiting]["head"] != NONE or not _may_begin(p, d, slot, now)):
        requests.append(p, waiting, slot)
        return WAIT
    if op == _OTHERS and not _is_written(p, d, slot):
        requests.append(p, d.page_cache[0]["syncing"], slot)
        return WAIT
    return now + PASS_ON_NS


@kernel
def choose_page_cache(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let the oldest write go on that waits, if it may; else a sync whose pages nobody writes back any more."""
    c = d.page_cache[0]
    slot = p.queues[c["waiting"]]["head"]
    if slot != NONE and _may_begin(p, d, slot, now):
        requests.remove(p, c["waiting"], slot, NONE)
        return slot, now + PASS_ON_NS, NEVER
    before = NONE
    slot = p.queues[c["syncing"]]["head"]
    while slot != NONE and not _is_written(p, d, slot):
        before = slot
        slot = p.links[slot]["next"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    requests.remove(p, c["syncing"], slot, before)
    return slot, now + PASS_ON_NS, NEVER


@kernel
def _is_written(p: Plant, d: Database, slot: int) -> bool:
    """Go through the pages of a sync up to one that is being written back; tell whether there is none."""
    c, size = d.page_cache[0], d.page_bytes[0]
    request, hold = p.requests[slot], d.holds[slot]
    while hold["position"] < request["offset_bytes"] + request["length_bytes"]:
        place = find(p, c["cache"], hold["position"] // size)
        if place != NOWHERE and state_of(p, c["cache"], place) in (CLEANING, REDIRTIED):
            return False
        hold["position"] += size
    return True


@kernel
def _may_begin(p: Plant, d: Database, slot: int, now: int) -> bool:
    """Let a write make its pages dirty, or tell whether another write-back may begin."""
    if p.requests[slot]["op"] == FILL:
        return bool(d.page_cache[0]["write_backs"] < MOST_WRITE_BACKS)
    return _absorb(p, d, slot, now)


@kernel
def finish_page_cache(p: Plant, d: Database, slot: int) -> int:
    """Read what is missing; begin to write back what has to be."""
    c = d.page_cache[0]
    request = p.requests[slot]
    op = request["op"]
    made = 0
    if is_background(p, slot):
        if op == _WRITE_BACK:
            return _write_range(p, d, slot)
        c["expired_ns"] = (request["accepted_ns"] // _FLUSHER_NS + 1) * _FLUSHER_NS - _EXPIRE_NS
        made = add_background(p, made, c["station"], _FLUSHER, 0, 0)
    elif op == READ:
        return _read_missing(p, d, slot)
    elif op == AWAIT:
        return _write_range(p, d, slot)
    elif op in (FLUSH, FILL):
        return _write_next(p, d, slot)
    elif op == _OTHERS:
        return 0
    else:
        rest_bytes = request["offset_bytes"] + request["length_bytes"] - d.holds[slot]["position"]
        if rest_bytes > 0:
            made = add_child(p, made, c["station"], WRITE, d.holds[slot]["position"], rest_bytes)
        if c["flusher"] == 0:
            c["flusher"] = 1
            made = add_background(p, made, c["station"], _FLUSHER, 0, 0)
    return _write_back(p, d, made)


@kernel
def resume_page_cache(p: Plant, d: Database, slot: int, now: int) -> int:
    """Keep what was read, and go on with a read of very many pages; what was written back is clean."""
    c = d.page_cache[0]
    request = p.requests[slot]
    size = d.page_bytes[0]
    end = request["offset_bytes"] + request["length_bytes"]
    op = request["op"]
    if op == FLUSH:
        if d.holds[slot]["phase"] == _BEGINS:
            return _write_next(p, d, slot)
        return _flush_volume(p, d, slot) if d.holds[slot]["phase"] == _WAITS else 0
    if not is_background(p, slot) and op == WRITE:
        return 0
    if not is_background(p, slot) and op != AWAIT:
        hold = d.holds[slot]
        for page in range(hold["start_bytes"] // size, hold["position"] // size):
            if find(p, c["cache"], page) == NOWHERE:
                take_page(p, d, page, now)
        return _read_missing(p, d, slot)
    for page in range(request["offset_bytes"] // size, end // size):
        be_written(p, d, find(p, c["cache"], page))
    c["cleaning"] -= request["length_bytes"] // size
    if op == AWAIT:
        return 0
    c["write_backs"] -= 1
    return _write_back(p, d, 0)


@kernel
def keep(p: Plant, d: Database, page: int) -> bool:
    """Use a page outside a run, when no page is dirty; tell whether it was there."""
    c = d.page_cache[0]
    place = find(p, c["cache"], page)
    if place == NOWHERE:
        take_place(p, c["cache"], page, CLEAN, 0)
        return False
    use(p, c["cache"], place)
    return True


@kernel
def _absorb(p: Plant, d: Database, slot: int, now: int) -> bool:
    """Make the pages of a write dirty that there is room for, if there may be more dirty ones;
    tell whether any were.
    """
    c = d.page_cache[0]
    request = p.requests[slot]
    size = d.page_bytes[0]
    if p.flash_caches[c["cache"]]["dirty"] + c["cleaning"] >= c["most_pages"]:
        return False
    first = request["offset_bytes"] // size
    for page in range(first, first + request["length_bytes"] // size):
        place = find(p, c["cache"], page)
        if place == NOWHERE:
            place = take_page(p, d, page, now)
            if place == NOWHERE:
                d.holds[slot]["position"] = page * size
                return bool(page > first)
        if state_of(p, c["cache"], place) == CLEAN:
            change_state(p, d, place, DIRTY)
        elif state_of(p, c["cache"], place) == CLEANING:
            change_state(p, d, place, REDIRTIED)
        else:
            continue
        d.dirty_since_ns[place] = now
    d.holds[slot]["position"] = request["offset_bytes"] + request["length_bytes"]
    return True


@kernel
def _read_missing(p: Plant, d: Database, slot: int) -> int:
    """Read the next pages of a request that are not there, if there are any left."""
    request = p.requests[slot]
    made = 0
    while made == 0 and d.holds[slot]["position"] < request["offset_bytes"] + request["length_bytes"]:
        made = _read_missing_part(p, d, slot)
    return made


@kernel
def _read_missing_part(p: Plant, d: Database, slot: int) -> int:
    """Look for the next pages of a request; read those that are not there, neighbours together."""
    c = d.page_cache[0]
    request = p.requests[slot]
    hold = d.holds[slot]
    size = d.page_bytes[0]
    first = hold["position"] // size
    end = min((request["offset_bytes"] + request["length_bytes"]) // size, first + PAGES_AT_ONCE)
    volume = volume_of(d, first)
    hold["start_bytes"] = hold["position"]
    hold["position"] = end * size
    c["read_pages"] += end - first
    made = 0
    run = 0  # pages before this one that are missing
    for page in range(first, end):
        place = find(p, c["cache"], page)
        if place == NOWHERE:
            run += 1
            continue
        c["hit_pages"] += 1
        use(p, c["cache"], place)
        if run > 0:
            made = add_child(p, made, volume, READ, (page - run) * size, run * size)
            run = 0
    if run > 0:
        made = add_child(p, made, volume, READ, (end - run) * size, run * size)
    return made


@kernel
def _write_back(p: Plant, d: Database, made: int) -> int:
    """Begin to write back dirty pages, those first that have been dirty for longest, each with those that follow it on
    its volume.
    """
    c = d.page_cache[0]
    row = p.flash_caches[c["cache"]]
    size = d.page_bytes[0]
    while c["write_backs"] < MOST_WRITE_BACKS:
        place = int(d.dirty_newer[NOWHERE])
        if place == NOWHERE:
            break
        if row["dirty"] <= c["background_pages"] and d.dirty_since_ns[place] > c["expired_ns"]:
            break
        page = int(p.cached_blocks[row["first"] + place]["block"])
        volume = volume_of(d, page)
        pages = 0
        while place != NOWHERE and state_of(p, c["cache"], place) == DIRTY:
            change_state(p, d, place, CLEANING)
            pages += 1
            if (pages + 1) * size > _WRITE_BACK_BYTES or page + pages == len(d.frame_of):
                break
            if volume_of(d, page + pages) != volume:
                break
            place = find(p, c["cache"], page + pages)
        c["cleaning"] += pages
        c["write_backs"] += 1
        c["written_back_pages"] += pages
        made = add_background(p, made, c["station"], _WRITE_BACK, page * size, pages * size)
    return made


@kernel
def _write_range(p: Plant, d: Database, slot: int) -> int:
    """Write the pages of a write-back to their volume."""
    request = p.requests[slot]
    volume = volume_of(d, request["offset_bytes"] // d.page_bytes[0])
    return add_child(p, 0, volume, WRITE, request["offset_bytes"], request["length_bytes"])


@kernel
def _write_next(p: Plant, d: Database, slot: int) -> int:
    """Begin to write back the next dirty pages of a range; of a sync, go on behind the last."""
    c = d.page_cache[0]
    request, hold = p.requests[slot], d.holds[slot]
    size = d.page_bytes[0]
    end = (request["offset_bytes"] + request["length_bytes"]) // size
    page = hold["position"] // size
    made = pages = 0  # of the piece before this page
    while page <= end and made < _PIECES:
        place = find(p, c["cache"], page) if page < end else NOWHERE
        if place != NOWHERE and state_of(p, c["cache"], place) == DIRTY and (pages + 1) * size <= _WRITE_BACK_BYTES:
            change_state(p, d, place, CLEANING)
            pages += 1
            page += 1
            continue
        if pages > 0:
            made = _add_piece(p, d, slot, made, page - pages, pages)
            pages = 0
            if place != NOWHERE and state_of(p, c["cache"], place) == DIRTY:  # the piece was long enough
                continue
        if request["op"] == FLUSH and place != NOWHERE and state_of(p, c["cache"], place) == REDIRTIED:
            made = add_child(p, made, c["station"], _OTHERS, page * size, size)  # then it is dirty
            break
        page += 1
    hold["position"] = page * size
    return _wait_for_others(p, d, slot) if made == 0 and request["op"] == FLUSH else made


@kernel
def _wait_for_others(p: Plant, d: Database, slot: int) -> int:
    """Wait until nobody writes back pages of a sync, then flush the volume."""
    request, hold = p.requests[slot], d.holds[slot]
    hold["phase"] = _WAITS
    hold["position"] = request["offset_bytes"]
    if _is_written(p, d, slot):
        return _flush_volume(p, d, slot)
    rest_bytes = request["offset_bytes"] + request["length_bytes"] - hold["position"]
    return add_child(p, 0, d.page_cache[0]["station"], _OTHERS, hold["position"], rest_bytes)


@kernel
def _flush_volume(p: Plant, d: Database, slot: int) -> int:
    d.holds[slot]["phase"] = _FLUSHES
    return add_child(p, 0, volume_of(d, p.requests[slot]["offset_bytes"] // d.page_bytes[0]), FLUSH, 0, 0)


@kernel
def _add_piece(p: Plant, d: Database, slot: int, made: int, page: int, pages: int) -> int:
    c = d.page_cache[0]
    size = d.page_bytes[0]
    c["cleaning"] += pages
    c["written_back_pages"] += pages
    if p.requests[slot]["op"] == FLUSH:
        return add_child(p, made, c["station"], AWAIT, page * size, pages * size)
    c["write_backs"] += 1
    return add_background(p, made, c["station"], _WRITE_BACK, page * size, pages * size)


def page_cache_fields(station: int, cache: int, waiting: int, syncing: int, pages: int) -> dict[str, int]:
    """Return what of the row of a cache of so many pages is not 0 at the start."""
    return {
        "station": station,
        "cache": cache,
        "waiting": waiting,
        "syncing": syncing,
        "background_pages": pages * BACKGROUND_PERCENT // 100,
        "most_pages": max(pages * MOST_PERCENT // 100, 1),
        "expired_ns": -1,
    }


#: Places in ``write_backs``: whose list it is. The first entry of a list says how many there are, the second after how
#: many they are handed on; 0: never.
BY_CHECKPOINTER, BY_WRITER = range(2)
_COUNT, _ENOUGH, _FIRST = range(3)
#: Pages whose writing back is asked for together are at most so many (checkpoint_flush_after is at most 2 MiB).
MOST_PAGES = 256


@kernel
def note_write_back(d: Database, who: int, page: int) -> None:
    """Remember that a page was written, if there is a page cache that has it now."""
    pending = d.write_backs
    if d.page_cache.size > 0 and pending[who, _ENOUGH] > 0:
        pending[who, _FIRST + pending[who, _COUNT]] = page
        pending[who, _COUNT] += 1


@kernel
def has_enough(d: Database, who: int) -> bool:
    """Tell whether the pages are to be handed on."""
    pending = d.write_backs
    return bool(pending[who, _COUNT] > 0 and pending[who, _COUNT] >= pending[who, _ENOUGH])


@kernel
def has_any(d: Database, who: int) -> bool:
    """Tell whether there are pages that were not handed on."""
    return bool(d.write_backs[who, _COUNT] > 0)


@kernel
def hand_on(p: Plant, d: Database, who: int, made: int) -> int:
    """Let the page cache write back the pages in their order, neighbours together."""
    _sort(d, who)
    pending = d.write_backs
    size = d.page_bytes[0]
    first, end = _FIRST, _FIRST + pending[who, _COUNT]
    for place in range(_FIRST + 1, end + 1):
        if place == end or not _goes_on(d, pending[who, place - 1], pending[who, place]):
            pages = pending[who, place - 1] - pending[who, first] + 1
            made = add_child(p, made, d.page_cache[0]["station"], FILL, pending[who, first] * size, pages * size)
            first = place
    pending[who, _COUNT] = 0
    return made


@kernel
def _sort(d: Database, who: int) -> None:
    """Put the pages in the order of their files, as those of a checkpoint are."""
    pending = d.write_backs
    for place in range(_FIRST + 1, _FIRST + pending[who, _COUNT]):
        page = pending[who, place]
        to = place
        while to > _FIRST and _goes_before(d, page, pending[who, to - 1]):
            pending[who, to] = pending[who, to - 1]
            to -= 1
        pending[who, to] = page


@kernel
def _goes_before(d: Database, page: int, other: int) -> bool:
    """Tell whether a page lies before another one: in a file that was made earlier, or in the same level."""
    level, its = level_of(d, page), level_of(d, other)
    if level == its:
        return bool(page < other)
    for place in range(len(d.file_order)):
        if d.file_order[place] == level or d.file_order[place] == its:
            return bool(d.file_order[place] == level)
    return False


@kernel
def _goes_on(d: Database, page: int, other: int) -> bool:
    """Tell whether one page goes together with the next: its neighbour, or itself, as it was written twice."""
    return bool(page <= other <= page + 1 and file_of(d, other) == file_of(d, page))
