"""Pages that a session goes through in order, and how far ahead of it they are read: scans, and rows of many pages in
the order of the heap.

How far is decided as in PostgreSQL 18 (storage/aio/read_stream.c). The distance begins at one page. It doubles with
every read that the session comes to, and shrinks by one with every page that was there already; so it is short where
pages are in the pool and long where they are not. It is never longer than (reads ahead + 1) blocks, and no longer than
a quarter of the pool, or than the ring that a large table is read through. Neighbours are read as one, up to a block.
The last read, which is short, starts when the session asks for a page behind the last, as far ahead as the distance
lets. Reads that the session has not come to count as under way although they may have ended: what is read ahead is
taken in order.

A scan may be held to a pace: while the pool has unused frames, each page that it reads takes so long at least (founding
document 002: what SQL Server 2008 scanned at READ COMMITTED with an empty pool, though the disks could do twice as
much).

A scan may be shared. Each of those who share it takes the next pages that nobody has taken, in chunks as PostgreSQL
makes them (access/table/tableam.c, table_block_parallelscan_nextpage): a 2048th of the table, the last ones shorter and
shorter. Here nobody reads ahead beyond its chunk.
"""

from tiersim.kernel import kernel
from tiersim.operations import READ
from tiersim.random_numbers import PICKED_PAGE, random_below
from tiersim.simulator.database.buffer_pool.pages import change, is_there, touch, touch_in_ring, want
from tiersim.simulator.database.buffer_pool.rings import close_ring, scans_in_ring
from tiersim.simulator.database.database_state import (
    BULK_READ,
    CHANGE_NS,
    LOOKUP_NS,
    MOST_PAGES,
    NO_RING,
    PAGE_NS,
    POLICY,
    PREFETCH,
    SCAN,
    SCAN_PAGE_NS,
    SCAN_ROW_NS,
    SWEEP,
    UNUSED,
    Database,
)

#: tableam.c: PARALLEL_SEQSCAN_NCHUNKS, PARALLEL_SEQSCAN_RAMPDOWN_CHUNKS, PARALLEL_SEQSCAN_MAX_CHUNK_SIZE.
_CHUNKS, _LAST_CHUNKS, _MOST_CHUNK_PAGES = 2048, 64, 8192
#: A process has no more reads under way (storage/aio/aio_init.c: io_max_concurrency is at most 64).
_MOST_IOS = 64
#: No read, and no distance, is longer than this part of the pool.
_POOL_PART = 4
#: What a session may do next: nothing, all pages are taken; ask the pool, see `want`; go on after the page that it has
#: looked at; go on when the pages of its next read are due.
NO_MORE, WANTS, REFERRED, PACED = range(4)
#: Bits of the number of a page within a demand, where it is drawn.
_PAGE_BITS = 24


@kernel
def heap_pages(d: Database, table: int) -> int:
    """Return how many pages the heap of a table has."""
    return int(d.level_pages[d.first_level[table + 1] - 1])


@kernel
def pages_of(d: Database, place: int) -> int:
    """Return how many pages a demand goes through."""
    demand = d.demands[place]
    whole = heap_pages(d, demand["table"])
    wanted = demand["pages"] if demand["kind"] == SCAN else demand["rows"]
    return int(whole if wanted == 0 or wanted > whole else wanted)


@kernel
def page_in(d: Database, place: int, counter: int, number: int) -> int:
    """Return a page that a demand goes through: the next ones of a scan; of rows anywhere one page of each part of the
    heap.
    """
    demand = d.demands[place]
    table = demand["table"]
    whole = heap_pages(d, table)
    first = d.level_start[d.first_level[table + 1] - 1]
    if demand["kind"] == SCAN:
        return int(first + (demand["start_page"] + number) % whole)
    pages = pages_of(d, place)
    low, high = number * whole // pages, (number + 1) * whole // pages
    return int(first + low + random_below(high - low, d.seed[0], PICKED_PAGE, table, counter << _PAGE_BITS | number))


@kernel
def open_stream(d: Database, session: int, place: int) -> None:
    """Begin to go through the pages of a demand: at first none are allotted, and the distance is short."""
    demand = d.demands[place]
    r = d.read_streams[session]
    r["open"] = 1
    r["allotted"] = r["position"] = r["ahead"] = r["pending"] = r["end"] = r["ended"] = 0
    pages = pages_of(d, place)
    r["chunk_pages"] = pages
    r["due_ns"] = 0
    if demand["kind"] == SCAN and demand["degree"] > 1:
        chunk = 1
        while chunk * _CHUNKS < pages and chunk < _MOST_CHUNK_PAGES:
            chunk *= 2
        r["chunk_pages"] = chunk
    swept = d.replacement[POLICY] == SWEEP  # rings are PostgreSQL's, too
    if swept and demand["kind"] == SCAN and scans_in_ring(d, heap_pages(d, demand["table"])):
        d.sessions[session]["ring"] = BULK_READ
    r["distance"] = _block(d, session, place) if demand["full"] else 1


@kernel
def close_stream(d: Database, session: int) -> None:
    """The session has gone through all pages."""
    d.read_streams[session]["open"] = 0
    close_ring(d, session)
    d.sessions[session]["ring"] = NO_RING


@kernel
def take_page(d: Database, session: int, leader: int, place: int, counter: int, now: int) -> int:
    """Let a session go on: with the rows of the page in hand, or to the next page; *counter* names the demand among all
    that draw pages.

    Returns NO_MORE, WANTS, REFERRED or PACED.
    """
    r = d.read_streams[session]
    demand = d.demands[place]
    while True:
        if _look_ahead(d, session, place, counter, now):
            return WANTS
        if r["in_hand"]:
            r["in_hand"] = 0
            _look_at_rows(d, session, place, r["position"] - 1)
            return REFERRED
        if r["position"] == r["end"]:
            if not _take_chunk(d, session, leader, place):
                return NO_MORE
            continue
        number = r["position"]
        if r["ios"] > 0 and d.io_starts[session, r["first_io"]] == number:
            if demand["paced_ns"] > 0 and d.pool_state[UNUSED] < len(d.page_of):
                if now < r["due_ns"]:
                    return PACED
                r["due_ns"] = now + demand["paced_ns"] * _pages_read(d, session, place)
            r["ios"] -= 1
            r["first_io"] = (r["first_io"] + 1) % _most_ios(d, place)
            r["distance"] = min(2 * r["distance"], _most_distance(d, session, place))
        r["position"] = number + 1
        r["in_hand"] = 1
        page = page_in(d, place, counter, number)
        if not is_there(d, page):
            want(d, session, READ, page, 1)
            d.sessions[session]["dirties"] = demand["dirties"]
            d.sessions[session]["change_bytes"] = demand["log_bytes"]
            return WANTS
        if demand["dirties"]:
            change(d, page, demand["log_bytes"])


@kernel
def _pages_read(d: Database, session: int, place: int) -> int:
    """Return how many pages the oldest read is for that was started and not waited for."""
    r = d.read_streams[session]
    behind = r["ahead"]
    if r["ios"] > 1:
        behind = d.io_starts[session, (r["first_io"] + 1) % _most_ios(d, place)]
    return int(behind - r["position"])


@kernel
def _touch(d: Database, session: int, page: int, now: int) -> bool:
    """Refer to a page ahead, if it is there: that it is taken later is no other use, as who reads ahead keeps it
    pinned.
    """
    if d.sessions[session]["ring"] != NO_RING:
        return touch_in_ring(d, page, now)
    return touch(d, page, now)


@kernel
def _look_at_rows(d: Database, session: int, place: int, number: int) -> None:
    """Use the CPU that the rows on a page take."""
    demand = d.demands[place]
    s = d.sessions[session]
    if demand["kind"] == SCAN:
        whole, rows = heap_pages(d, demand["table"]), d.rows[demand["table"]]
        on_page = rows * (number + 1) // whole - rows * number // whole
        s["charge_ns"] += d.costs[SCAN_PAGE_NS] + on_page * d.costs[SCAN_ROW_NS] + demand["page_ns"]
    else:
        pages = pages_of(d, place)
        on_page = demand["rows"] * (number + 1) // pages - demand["rows"] * number // pages
        s["charge_ns"] += d.costs[PAGE_NS] + on_page * d.costs[LOOKUP_NS]
    if demand["dirties"]:
        s["charge_ns"] += d.costs[CHANGE_NS]


@kernel
def _take_chunk(d: Database, session: int, leader: int, place: int) -> bool:
    """Take the next pages of a demand that nobody has; tell whether there are any."""
    shared = d.read_streams[leader]
    pages = pages_of(d, place)
    if shared["allotted"] == pages:
        return False
    while shared["chunk_pages"] > 1 and d.demands[place]["degree"] > 1:
        if shared["allotted"] <= pages - _LAST_CHUNKS * shared["chunk_pages"]:
            break
        shared["chunk_pages"] //= 2
    r = d.read_streams[session]
    r["position"] = r["ahead"] = shared["allotted"]
    r["end"] = shared["allotted"] = min(shared["allotted"] + shared["chunk_pages"], pages)
    r["ended"] = 0
    return True


@kernel
def _block(d: Database, session: int, place: int) -> int:
    return int(min(d.demands[place]["block_pages"], MOST_PAGES, _room(d, session)))


@kernel
def _most_ios(d: Database, place: int) -> int:
    return int(min(max(d.demands[place]["depth"], 1), _MOST_IOS))


@kernel
def _most_distance(d: Database, session: int, place: int) -> int:
    return int(min((d.demands[place]["depth"] + 1) * _block(d, session, place), _room(d, session)))


@kernel
def _room(d: Database, session: int) -> int:
    """Return how many pages may be read ahead without driving out each other."""
    ring = d.ring_pages[d.sessions[session]["ring"]]
    part = max(len(d.page_of) // _POOL_PART, 1)
    return int(min(ring, part) if ring > 0 else part)


@kernel
def _look_ahead(d: Database, session: int, place: int, counter: int, now: int) -> bool:
    """Start the next read, if it is time for one; tell whether the session has to ask the pool for it."""
    r = d.read_streams[session]
    most_ios, block = _most_ios(d, place), _block(d, session, place)
    while r["ios"] < most_ios:
        ahead, pending = r["ahead"], r["pending"]
        taken = ahead - r["position"]
        starts = pending > 0 and (pending == block or r["ended"] or (pending >= r["distance"] and taken == 0))
        if not starts:
            if r["ended"] or taken + pending >= r["distance"]:
                return False
            if ahead + pending == r["end"]:
                r["ended"] = 1
                continue
            if pending == 0:
                r["pending"] = 1
                continue
        first = page_in(d, place, counter, ahead)
        if not starts and page_in(d, place, counter, ahead + pending) == first + pending:
            r["pending"] = pending + 1
            continue
        if _touch(d, session, first, now):
            r["ahead"] = ahead + 1
            r["pending"] = pending - 1
            r["distance"] = max(r["distance"] - 1, 1)
            continue
        run = 1
        while run < pending and not is_there(d, first + run):
            run += 1
        d.io_starts[session, (r["first_io"] + r["ios"]) % most_ios] = ahead
        r["ios"] += 1
        r["ahead"] = ahead + run
        r["pending"] = pending - run
        want(d, session, PREFETCH if d.demands[place]["depth"] > 0 else READ, first, run)
        return True
    return False
