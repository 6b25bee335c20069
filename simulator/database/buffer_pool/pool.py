"""The buffer pool as a station: reads pages that are not there, writes those that have to go first.

Sessions touch pages that are there by themselves (:func:`tiersim.simulator.database.buffer_pool.pages.touch`); what
they miss is a request here, for one or more pages in a row. Frames are taken for all that are missing, and neighbours
are read as one. A page that is being read is read once: other requests for it wait for that read. A dirty page that has
to go is written by the request that takes its frame.

A READ waits until all its pages are there. A PREFETCH returns at once; its reads go on in the background, or at the
processes that read for the sessions (:mod:`tiersim.simulator.database.buffer_pool.readers`). Where frames run out (all
are being read into), a READ goes on with the pages that it has frames for and then asks for the others, which avoids a
hold-and-wait deadlock; a PREFETCH leaves the others alone.

With a lazy writer (:mod:`tiersim.simulator.database.buffer_pool.lazy_writer`) frames come from a free list. Its rounds
are background requests of the station to itself that are FLUSH, runs of pages that are to go WRITE, pages that go into
the extension EXTEND.
"""

import numpy as np

from tiersim.devices import requests
from tiersim.devices.requests import add_background, add_child, charge, is_background
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.buffer_pool.background_writer import wake_writer
from tiersim.simulator.database.buffer_pool.data_files import flush_doublewrite, flush_file_of
from tiersim.simulator.database.buffer_pool.gather_write import last_position
from tiersim.simulator.database.buffer_pool.lazy_writer import (
    begin_round,
    end_run,
    examine,
    next_round_ns,
    post_runs,
    wake_lazy_writer,
    wanted_frames,
)
from tiersim.simulator.database.buffer_pool.page_cleaner import tell_pool, wake_cleaner
from tiersim.simulator.database.buffer_pool.pages import clean, frame_for, is_extended, loaded, station_of
from tiersim.simulator.database.buffer_pool.readers import has_room, read_ahead_ns
from tiersim.simulator.database.database_state import (
    AT_EXTENSION,
    AT_LOG,
    AT_POOL,
    AT_READERS,
    AWAIT,
    COUNTED_FROM,
    EVICT_CLEAN_NS,
    EVICT_DIRTY_NS,
    EVICTED_DIRTY,
    EXTEND,
    FILL,
    NO_RING,
    PREFETCH,
    READ_NS,
    READ_PAGE_NS,
    READERS_COUNT,
    READING,
    READY,
    RUNNING,
    VALID,
    Database,
)
from tiersim.simulator.database.sessions.sessions import leader_of

#: What a request does (``phase`` of its hold): waits for parts of it; flushes the log up to the pages that have to go;
#: writes them to the doublewrite file, which MySQL 5.7 flushes; writes them to their places, which is followed by a
#: flush; reads its own.
_PARTS, _LOGGING, _DOUBLING, _DOUBLED, _WRITING, _SYNCING, _READING = range(7)


@kernel
def accept_pool(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request for pages."""
    op = p.requests[slot]["op"]
    if op in (FILL, WRITE, EXTEND):
        return now + PASS_ON_NS
    if op == FLUSH:
        return next_round_ns(d, now)
    if op == READ and _waits_for_reader(p, d, slot):
        return WAIT
    requests.append(p, d.pool_state[READY], slot)
    return CALL


@kernel
def _waits_for_reader(p: Plant, d: Database, slot: int) -> bool:
    """If a request is for one page, and that is being read, let it wait for that read; tell whether it does."""
    request = p.requests[slot]
    if request["length_bytes"] > d.page_bytes[0]:
        return False
    held = d.frame_of[request["offset_bytes"] // d.page_bytes[0]]
    if held == 0 or d.state[held - 1] != READING:
        return False
    d.holds[slot]["chain"] = d.chain[held - 1]
    d.chain[held - 1] = slot
    return True


@kernel
def choose_pool(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start the first request that need not wait for somebody else's read, with frames for what it lacks."""
    while True:
        slot = p.queues[d.pool_state[READY]]["head"]
        if slot == NONE:
            return NONE, NEVER, NEVER
        op = p.requests[slot]["op"]
        if op == AWAIT:
            s = d.sessions[p.requests[slot]["stream"]]
            if s["in_flight"] >= p.requests[slot]["length_bytes"]:
                s["awaiting"] = slot
                requests.remove(p, d.pool_state[READY], slot, NONE)
                continue
        elif op == READ and _waits_for_reader(p, d, slot):
            requests.remove(p, d.pool_state[READY], slot, NONE)
            continue
        elif not _take_frames(p, d, slot, now):
            return NONE, NEVER, NEVER
        requests.remove(p, d.pool_state[READY], slot, NONE)
        charge(p, station, 0, PASS_ON_NS)
        return slot, now + PASS_ON_NS, NEVER


@kernel
def _take_frames(p: Plant, d: Database, slot: int, now: int) -> bool:
    """Take a frame for each missing page of a request, while there are any; tell whether it can go
    on with what it got.
    """
    request = p.requests[slot]
    size = d.page_bytes[0]
    first = request["offset_bytes"] // size
    page = first
    end = first + request["length_bytes"] // size
    session = 0 if is_background(p, slot) else _session_of(p, slot)
    s = d.sessions[session]
    asking = d.sessions[leader_of(d, session)]
    counted = asking["phase"] == RUNNING and asking["started_ns"] >= d.counted_ns[COUNTED_FROM]
    while page < end:
        if d.frame_of[page] == 0:
            frame = frame_for(d, session, now)
            if frame < 0:
                break
            old = d.page_of[frame]
            dirty = old >= 0 and d.dirty[frame] > 0
            if old >= 0:
                d.frame_of[old] = 0
                s["charge_ns"] += d.costs[EVICT_DIRTY_NS if dirty else EVICT_CLEAN_NS]
            d.leaving[frame] = old + 1 if dirty else 0
            if dirty:
                clean(d, frame)
                d.pool_state[EVICTED_DIRTY] += 1
                if d.page_cleaner.size > 0:
                    d.page_cleaner[0]["singles"] += 1
            d.page_of[frame] = page
            d.frame_of[page] = frame + 1
            d.state[frame] = READING
            d.starting[frame] = 1
            loaded(d, frame, page, session + 1 if s["ring"] != NO_RING else 0, now)
            if counted:
                d.pages_read[d.statement_class[asking["next"]]] += 1
            if request["op"] == PREFETCH:
                d.ahead_for[frame] = session + 1
                s["in_flight"] += 1
        page += 1
    d.holds[slot]["position"] = page
    if d.lazy_writer.size == 0:
        return bool(page > first or request["op"] == PREFETCH)
    wanted = wanted_frames(d, is_background(p, slot))
    if wanted > 0:
        freed = examine(d, wanted, now)
        if not is_background(p, slot):
            s["charge_ns"] += freed * d.costs[EVICT_CLEAN_NS]
    return bool(page > first or request["op"] == PREFETCH or d.lazy_writer[0]["runs"] > 0)


@kernel
def _session_of(p: Plant, slot: int) -> int:
    """Return the session whose request a request is, or is a part of."""
    return int(np.int64(p.requests[_root(p, slot)]["stream"]))


@kernel
def _root(p: Plant, slot: int) -> int:
    while p.requests[slot]["parent"] != NONE:
        slot = p.requests[slot]["parent"]
    return slot


@kernel
def finish_pool(p: Plant, d: Database, slot: int) -> int:
    """Start what a request asks for; post what has to be written for frames to become free."""
    op = p.requests[slot]["op"]
    d.holds[slot]["phase"] = _PARTS
    if op == AWAIT:
        return 0
    if op == FLUSH:
        return begin_round(p, d)
    if op == WRITE:
        return _write_run(p, d, slot)
    if op == EXTEND:
        request = p.requests[slot]
        return add_child(p, 0, d.stations[AT_EXTENSION], WRITE, request["offset_bytes"], request["length_bytes"])
    made = 0
    if d.lazy_writer.size > 0:
        if d.lazy_writer[0]["runs"] + d.lazy_writer[0]["extended_pages"] > 0:
            made = post_runs(p, d)
        made = wake_lazy_writer(p, d, made)
    return _start_reads(p, d, slot, made)


@kernel
def _start_reads(p: Plant, d: Database, slot: int, made: int) -> int:
    """Start the reads of the pages that got frames; join those that others have started."""
    request = p.requests[slot]
    op, size = request["op"], d.page_bytes[0]
    hold = d.holds[slot]
    page = request["offset_bytes"] // size
    end = page + request["length_bytes"] // size
    if op == FILL:
        return _write_or_read(p, d, slot, made)
    behind = _take_over(d, page, end)
    if op == READ and behind == end:
        d.sessions[_session_of(p, slot)]["charge_ns"] += d.costs[READ_NS] + (end - page - 1) * d.costs[READ_PAGE_NS]
        return _write_or_read(p, d, slot, made)
    while page < hold["position"]:
        if behind > page:
            made = _add_fill(p, d, slot, made, page, behind - page)
            page = behind
        else:
            held = d.frame_of[page]
            if op == READ and held > 0 and d.state[held - 1] == READING:
                made = add_child(p, made, d.stations[AT_POOL], READ, page * size, size)
            page += 1
        behind = _take_over(d, page, hold["position"])
    if op == READ and page < end:
        made = add_child(p, made, d.stations[AT_POOL], READ, page * size, (end - page) * size)
    return made


@kernel
def _take_over(d: Database, page: int, end: int) -> int:
    """Start the read of pages that have frames from *page* on; returns the page behind them."""
    while page < end and d.frame_of[page] > 0 and d.starting[d.frame_of[page] - 1]:
        d.starting[d.frame_of[page] - 1] = 0
        page += 1
    return page


@kernel
def _add_fill(p: Plant, d: Database, slot: int, made: int, page: int, pages: int) -> int:
    """Make the request that reads pages: of a PREFETCH in the background or at a reader, and by itself if there is no
    room at those.
    """
    size = d.page_bytes[0]
    s = d.sessions[_session_of(p, slot)]
    if p.requests[slot]["op"] == READ:
        s["charge_ns"] += d.costs[READ_NS] + (pages - 1) * d.costs[READ_PAGE_NS]
        return add_child(p, made, d.stations[AT_POOL], FILL, page * size, pages * size)
    if d.readers[READERS_COUNT] == 0:
        s["charge_ns"] += read_ahead_ns(d, pages)
        return add_background(p, made, d.stations[AT_POOL], FILL, page * size, pages * size)
    if has_room(p, d, made):
        return add_background(p, made, d.stations[AT_READERS], FILL, page * size, pages * size)
    s["charge_ns"] += read_ahead_ns(d, pages)
    return add_child(p, made, d.stations[AT_POOL], FILL, page * size, pages * size)


@kernel
def _write_run(p: Plant, d: Database, slot: int) -> int:
    """Write pages that have to go, the log up to them before."""
    request, hold = p.requests[slot], d.holds[slot]
    size = d.page_bytes[0]
    first = request["offset_bytes"] // size
    if hold["phase"] == _PARTS:
        position = last_position(d, first, request["length_bytes"] // size)
        if position > d.log[0]["flushed"]:
            hold["phase"] = _LOGGING
            return add_child(p, 0, d.stations[AT_LOG], FLUSH, position, 0)
    hold["phase"] = _WRITING
    return add_child(p, 0, station_of(d, first), WRITE, request["offset_bytes"], request["length_bytes"])


@kernel
def _write_or_read(p: Plant, d: Database, slot: int, made: int) -> int:
    """Write the pages that have to go for those of a request, the log before them, or, if there
    are none, read its own.
    """
    request = p.requests[slot]
    hold = d.holds[slot]
    size = d.page_bytes[0]
    first = request["offset_bytes"] // size
    end = first + request["length_bytes"] // size
    if hold["phase"] == _PARTS:
        position = 0
        for page in range(first, end):
            frame = d.frame_of[page] - 1
            if d.leaving[frame] > 0:
                position = max(position, d.page_position[d.leaving[frame] - 1])
        if position > d.log[0]["flushed"]:
            hold["phase"] = _LOGGING
            return add_child(p, made, d.stations[AT_LOG], FLUSH, position, 0)
    posted = made
    if hold["phase"] in (_PARTS, _LOGGING) and d.page_cleaner.size > 0:
        leaving = _pages_that_leave(d, first, end)
        hold["position"] = leaving
        d.page_cleaner[0]["single_pages"] += leaving
        if leaving > 0 and d.page_cleaner[0]["doublewrite"]:
            hold["phase"] = _DOUBLING
            return add_child(p, made, d.page_cleaner[0]["doublewrite_station"], WRITE, 0, leaving * size)
    if hold["phase"] not in (_WRITING, _SYNCING):
        for page in range(first, end):
            frame = d.frame_of[page] - 1
            if d.leaving[frame] > 0:
                old = d.leaving[frame] - 1
                d.leaving[frame] = 0
                hold["start_bytes"] = old * size
                made = add_child(p, made, station_of(d, old), WRITE, old * size, size)
    if made > posted:
        hold["phase"] = _WRITING
        return made
    hold["phase"] = _READING
    if d.page_cleaner.size > 0 and hold["position"] > 0:
        d.page_cleaner[0]["singles"] -= hold["position"]
        hold["position"] = 0
        made = tell_pool(p, d, made)
    if end - first == 1 and is_extended(d, first):
        d.lazy_writer[0]["extension_reads"] += 1
        return add_child(p, made, d.stations[AT_EXTENSION], READ, (d.extension_place[first] - 1) * size, size)
    return add_child(p, made, station_of(d, first), READ, request["offset_bytes"], request["length_bytes"])


@kernel
def _pages_that_leave(d: Database, first: int, end: int) -> int:
    """Return how many pages have to be written for those of a request."""
    leaving = 0
    for page in range(first, end):
        if d.leaving[d.frame_of[page] - 1] > 0:
            leaving += 1
    return leaving


@kernel
def finish_page(p: Plant, d: Database, slot: int) -> int:
    """End a page's read or write in the pool, and wake who cleans pages."""
    made = finish_pool(p, d, slot)
    if d.writer.size > 0:
        made = wake_writer(p, d, made)
    return wake_cleaner(p, d, made) if d.page_cleaner.size > 0 else made


@kernel
def resume_pool(p: Plant, d: Database, slot: int, now: int) -> int:
    """Read after the writes; after the read the pages are there for all that wait for them."""
    phase = d.holds[slot]["phase"]
    op = p.requests[slot]["op"]
    if op == WRITE and phase == _LOGGING:
        return _write_run(p, d, slot)
    if op == WRITE:
        request = p.requests[slot]
        size = d.page_bytes[0]
        end_run(d, request["offset_bytes"] // size, request["length_bytes"] // size, request["accepted_ns"])
        return 0
    if phase == _PARTS:
        return 0
    if phase == _DOUBLING and d.page_cleaner[0]["flush_doublewrite"]:
        d.holds[slot]["phase"] = _DOUBLED
        return flush_doublewrite(p, d, now)
    if phase in (_LOGGING, _DOUBLING, _DOUBLED):
        return _write_or_read(p, d, slot, 0)
    if phase == _WRITING and d.page_cleaner.size > 0 and d.page_cleaner[0]["flush_data"]:
        d.holds[slot]["phase"] = _SYNCING
        return flush_file_of(p, d, d.holds[slot]["start_bytes"] // d.page_bytes[0], now)
    if phase in (_WRITING, _SYNCING):
        root = _root(p, slot)
        if not is_background(p, root):  # a session waits: until here for pages that had to go
            s = d.sessions[p.requests[root]["stream"]]
            s["part_ns"] = now - s["asked_ns"]
        return _write_or_read(p, d, slot, 0)
    size = d.page_bytes[0]
    first = p.requests[slot]["offset_bytes"] // size
    for page in range(first, first + p.requests[slot]["length_bytes"] // size):
        _arrive(p, d, d.frame_of[page] - 1)
    return 0


@kernel
def _arrive(p: Plant, d: Database, frame: int) -> None:
    """The page of a frame is there: who waits for it may go on."""
    d.state[frame] = VALID
    if d.ahead_for[frame] > 0:
        s = d.sessions[d.ahead_for[frame] - 1]
        d.ahead_for[frame] = 0
        s["in_flight"] -= 1
        if s["awaiting"] != NONE:
            requests.append(p, d.pool_state[READY], s["awaiting"])
            s["awaiting"] = NONE
    # the chain holds the last comer first: turned round, they go on in the order in which they came
    turned = NONE
    other = d.chain[frame]
    while other != NONE:
        behind = d.holds[other]["chain"]
        d.holds[other]["chain"] = turned
        turned = other
        other = behind
    while turned != NONE:
        requests.append(p, d.pool_state[READY], turned)
        turned = d.holds[turned]["chain"]
    d.chain[frame] = NONE
