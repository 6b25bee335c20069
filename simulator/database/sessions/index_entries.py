"""Entries of indexes: a new version of a row needs one in every index where it does not fit on the page of the old
(access/heap/heapam.c, heap_update; executor/execIndexing.c, ExecInsertIndexTuples). The index that the row was looked
up through is changed on the leaf that was just referred to. Another one is gone through from its root. Rows lie in it
in an order of its own, so entries scatter over its leaves; where the latest rows are hottest, they come to its end.
Their CPU is in the costs of a change, and in those of the pages that a statement finds besides.

The entry of the old version stays. The next lookup of the row by another transaction finds that it leads to a version
that nobody sees, and marks it as dead, so the leaf is dirty once more (access/index/indexam.c, index_fetch_heap;
access/nbtree/nbtutils.c, _bt_killitems; storage/bufmgr.c, MarkBufferDirtyHint). A page of the heap remembers one such
row, the last. Other indexes than that of lookups are not gone through again.
"""

from tiersim.kernel import kernel
from tiersim.operations import READ
from tiersim.random_numbers import INDEX_ENTRY, random_below
from tiersim.simulator.database.buffer_pool.pages import change, is_there, page_at, references, touch, want
from tiersim.simulator.database.database_state import LOOKUP, NO_PAGE, Database
from tiersim.simulator.database.wal.log import ENTRY_BYTES

_MILLION = 1_000_000


@kernel
def note_entries(d: Database, session: int, place: int, row: int, page: int, counter: int) -> None:
    """Note into which indexes a session's demand at *place* puts an entry when it changes *row* on a *page* of the
    heap: all of the table or none.
    """
    s = d.sessions[session]
    demand = d.demands[place]
    table = demand["table"]
    s["leaf"] = s["index"] = NO_PAGE
    levels = references(d, table) - 1
    if levels == 0 and d.next_index[table] == NO_PAGE:
        return
    if demand["needs_room"] and not d.has_room[page]:
        d.has_room[page] = 1
    elif not puts_entry(d, demand["entry_share"], table, counter):
        return
    if levels > 0:
        if demand["needs_room"]:  # of an update: an inserted row leaves no old version
            d.dead_entry[page] = row + 1
        s["leaf"] = page_at(d, table, row, levels - 1)
    s["index"] = d.next_index[table]
    s["level"] = 0


@kernel
def meets_dead_entry(d: Database, session: int, place: int) -> bool:
    """Tell whether the next page of a session's lookup is a leaf with the entry of an old version of its row, and note
    that the entry has been met.
    """
    s = d.sessions[session]
    demand = d.demands[place]
    table, row = demand["table"], s["row"]
    heap = references(d, table) - 1
    if d.dead_entry.size == 0 or demand["kind"] != LOOKUP or s["reference"] != heap - 1:
        return False
    page = page_at(d, table, row, heap)
    if d.dead_entry[page] != row + 1:
        return False
    d.dead_entry[page] = 0
    return True


@kernel
def puts_entry(d: Database, share: int, table: int, counter: int) -> bool:
    """Tell whether a change is one of the *share*, in millionths, that put in entries though there is room."""
    return share > 0 and share > random_below(_MILLION, d.seed[0], INDEX_ENTRY, table, counter)


@kernel
def put_entries(d: Database, session: int, now: int) -> None:
    """Put in the entries that were noted, as far as the pages are there; the session asks the pool for the next that is
    not, and goes on when it has come.
    """
    s = d.sessions[session]
    leaf = s["leaf"]
    if leaf != NO_PAGE:
        s["leaf"] = NO_PAGE
        if not is_there(d, leaf):  # it has left the pool while the session waited
            _fetch(d, session, leaf, True)
            return
        change(d, leaf, ENTRY_BYTES)
    while s["index"] != NO_PAGE:
        index = s["index"]
        is_leaf = s["level"] + 1 == references(d, index)
        page = page_at(d, index, s["looked_up"] % d.rows[index], s["level"])
        s["level"] += 1
        if is_leaf:
            s["index"], s["level"] = d.next_index[index], 0
        if not touch(d, page, now):
            _fetch(d, session, page, is_leaf)
            return
        if is_leaf:
            change(d, page, ENTRY_BYTES)


@kernel
def _fetch(d: Database, session: int, page: int, dirties: bool) -> None:
    s = d.sessions[session]
    want(d, session, READ, page, 1)
    s["dirties"], s["change_bytes"] = int(dirties), ENTRY_BYTES
