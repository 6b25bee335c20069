"""Which pages the operating system's page cache keeps, and which of them are dirty.

The clean page whose last use is longest ago makes room. A use is a read, or the write that brings a page here: another
write is none since Linux 4.7 (mm/filemap.c, commit bbddabe2e436), and writing back is none. A page that is dirty or
being written back when its turn to go comes goes first once it is written (mm/vmscan.c, shrink_folio_list, PG_reclaim;
mm/swap.c, folio_rotate_reclaimable). The kernel has two lists, where a second use moves a page to the active one, and
brings a page back there at once that left too early (mm/workingset.c); what reaches this cache has missed the pool
above, seldom comes twice within a short time, and nothing measured says how far two lists differ from one for it.

All pages stand in the ring of clean blocks, but those whose turn to go has come before they are written; dirty ones
stand in a ring of their own, too, in the order in which they became so.
"""

from tiersim.devices.station_records import Plant
from tiersim.devices.tiering.cached_blocks_kernels import (
    CLEAN,
    DIRTY,
    FIRST_PLACE,
    NOWHERE,
    REDIRTIED,
    is_off,
    mark,
    oldest,
    put_back,
    state_of,
    take_off,
    take_place,
)
from tiersim.kernel import kernel
from tiersim.simulator.database.database_state import Database


@kernel
def take_page(p: Plant, d: Database, page: int, now: int) -> int:
    """Put a page that is not there into a place, clean; returns the place, NOWHERE if no page can go.

    Dirty pages whose turn to go comes before that of a clean one are taken off: they go when they are written.
    """
    cache = d.page_cache[0]["cache"]
    row = p.flash_caches[cache]
    if row["used"] == row["blocks"]:
        place = oldest(p, cache, CLEAN)
        while place >= FIRST_PLACE and state_of(p, cache, place) != CLEAN:
            take_off(p, cache, place)
            place = oldest(p, cache, CLEAN)
    return take_place(p, cache, page, CLEAN, now)


@kernel
def change_state(p: Plant, d: Database, place: int, state: int) -> None:
    """Change the state of a page, which stays where it is by its last use."""
    cache = d.page_cache[0]["cache"]
    if state_of(p, cache, place) == DIRTY:
        newer, older = d.dirty_newer[place], d.dirty_older[place]
        d.dirty_older[newer], d.dirty_newer[older] = older, newer
    if state == DIRTY:
        last = d.dirty_older[NOWHERE]
        d.dirty_newer[place], d.dirty_older[place] = NOWHERE, last
        d.dirty_newer[last] = d.dirty_older[NOWHERE] = place
    mark(p, cache, place, state)


@kernel
def be_written(p: Plant, d: Database, place: int) -> None:
    """Let a page be clean that was written back, or dirty if it changed meanwhile; one whose turn to go has come is the
    next, if it is clean.
    """
    cache = d.page_cache[0]["cache"]
    state = DIRTY if state_of(p, cache, place) == REDIRTIED else CLEAN
    change_state(p, d, place, state)
    if is_off(p, cache, place):
        put_back(p, cache, place, state == CLEAN)


@kernel
def use(p: Plant, cache: int, place: int) -> None:
    """Read a page that is there; one whose turn to go has come still goes."""
    if not is_off(p, cache, place):
        take_off(p, cache, place)
        put_back(p, cache, place, False)
