"""SQL Server's free list: who fills it, and how pages go that are changed.

K. Delaney, "The free buffer list and the lazy writer" (Inside SQL Server): a worker that has posted a read looks
whether the free list is short; if so, it examines 64 buffers, frees those that are not used, and posts writes for
changed ones, whose frames are free when they have been written. The workers do most of this work; a lazy writer comes
every *interval* and fills a short list up. When a list is short is not published: here when it has fewer frames than a
worker examines, or than an eighth of the pool. Which pages go is LRU-2's choice
(:mod:`tiersim.simulator.database.buffer_pool.lru2`), so the CPU of evicting falls on the session that examines.

A changed page that has to go is written with its neighbours
(:mod:`tiersim.simulator.database.buffer_pool.gather_write`). If it is used meanwhile, it stays.
"""

from dataclasses import dataclass

from tiersim.devices.plant import settings_of
from tiersim.devices.requests import add_background
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, WRITE
from tiersim.simulator.database.buffer_pool import lru2, rings
from tiersim.simulator.database.buffer_pool.gather_write import GATHERED, gather
from tiersim.simulator.database.buffer_pool.pages import extend, has_extension
from tiersim.simulator.database.database_state import (
    AT_POOL,
    EXTEND,
    FREE,
    FREE_FRAMES,
    GOING,
    PREFETCH,
    TAKEN,
    UNUSED,
    VALID,
    Database,
    record,
)

#: Most runs that wait to be posted.
MOST_RUNS = 64
#: The free list is no larger than this part of the pool.
_POOL_PART = 8


@dataclass(frozen=True)
class LazyWriter:
    """Settings: how often it comes, how many buffers a worker examines when the free list is short, how many pages one
    write is for at most.
    """

    interval_ns: int = 1_000_000_000
    examined: int = 64
    gathered_pages: int = GATHERED


#: The lazy writer and the free list
LAZY_WRITER_ROW = record(
    *settings_of(LazyWriter),
    "awake",
    "taken",  # frames up to the last round
    "runs",  # in ``to_write`` that nobody has posted
    "written_pages",
    "freed_frames",
    "extended_place",  # of the extension: where the next page goes
    # that have left the pool and are not being written there yet; their places end at ``extended_place``
    "extended_pages",
    "extension_reads",
)


@kernel
def wanted_frames(d: Database, by_lazy_writer: bool) -> int:
    """Return how many frames the lazy writer, or a worker, is to provide now; none while there are some that were never
    used.
    """
    w = d.lazy_writer[0]
    if d.pool_state[UNUSED] < len(d.page_of):
        return 0
    most = len(d.page_of) // _POOL_PART
    if by_lazy_writer:
        return int(max(min(w["examined"], most) - d.pool_state[FREE_FRAMES], 0))
    return int(w["examined"]) if d.pool_state[FREE_FRAMES] < min(w["examined"], most) else 0


@kernel
def examine(d: Database, most: int, now: int) -> int:
    """Let up to *most* of the pages go that are to go first; changed ones are noted to be written. Returns how many
    were freed.
    """
    w = d.lazy_writer[0]
    freed = 0
    for _ in range(most):
        if w["runs"] == MOST_RUNS:
            break
        frame = lru2.choose_settled(d, now)
        if frame < 0:
            break
        page = d.page_of[frame]
        if d.dirty[frame]:
            d.used[frame] = GOING
            lru2.put_back(d, frame)
            first, pages = gather(d, page, w["gathered_pages"])
            d.to_write[w["runs"], 0] = first
            d.to_write[w["runs"], 1] = pages
            w["runs"] += 1
            w["written_pages"] += pages
        else:
            _free(d, frame)
            freed += 1
    return freed


@kernel
def _free(d: Database, frame: int) -> None:
    """Let the clean page of a frame go, which is in no list any more."""
    page = d.page_of[frame]
    rings.leave(d, frame)
    d.frame_of[page] = 0
    d.page_of[frame] = -1
    d.state[frame] = FREE
    d.used[frame] = 0
    d.free_frames[d.pool_state[FREE_FRAMES]] = frame
    d.pool_state[FREE_FRAMES] += 1
    d.lazy_writer[0]["freed_frames"] += 1
    if has_extension(d):
        extend(d, page)


@kernel
def post_runs(p: Plant, d: Database) -> int:
    """Have the pages written that were noted, and those that went into the extension."""
    w = d.lazy_writer[0]
    size = d.page_bytes[0]
    made = 0
    for run in range(w["runs"]):
        made = add_background(p, made, d.stations[AT_POOL], WRITE, d.to_write[run, 0] * size, d.to_write[run, 1] * size)
    w["runs"] = 0
    places = len(d.extension_page)
    while w["extended_pages"] > 0:  # in places one behind the other, which may begin anew once
        first = (w["extended_place"] - w["extended_pages"]) % places
        pages = min(w["extended_pages"], places - first)
        made = add_background(p, made, d.stations[AT_POOL], EXTEND, first * size, pages * size)
        w["extended_pages"] -= pages
    return made


@kernel
def wake_lazy_writer(p: Plant, d: Database, made: int) -> int:
    """Begin the rounds of the lazy writer when frames have been taken."""
    w = d.lazy_writer[0]
    if w["awake"] or w["taken"] == d.pool_state[TAKEN]:
        return made
    w["awake"] = 1
    return add_background(p, made, d.stations[AT_POOL], FLUSH, 0, 0)


@kernel
def next_round_ns(d: Database, now: int) -> int:
    """Return when the lazy writer comes next."""
    interval = d.lazy_writer[0]["interval_ns"]
    return int((now // interval + 1) * interval)


@kernel
def begin_round(p: Plant, d: Database) -> int:
    """Have a short free list filled up: by a request for no pages."""
    w = d.lazy_writer[0]
    w["awake"] = 0
    w["taken"] = d.pool_state[TAKEN]
    return add_background(p, 0, d.stations[AT_POOL], PREFETCH, 0, 0)


@kernel
def end_run(d: Database, first: int, pages: int, posted_ns: int) -> None:
    """Pages have been written: those that were to go, and that nobody has used or changed since they were *posted_ns*,
    go.
    """
    for page in range(first, first + pages):
        held = d.frame_of[page]
        if held == 0 or d.used[held - 1] != GOING or d.state[held - 1] != VALID:
            continue
        frame = held - 1
        d.used[frame] = 0
        if not d.dirty[frame] and not lru2.was_used_since(d, page, posted_ns):
            lru2.leave(d, frame)
            _free(d, frame)
