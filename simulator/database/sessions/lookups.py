"""Many rows that a statement looks up, each through the index: one by one, or with the reads of their pages ahead (SQL
Server).

With reads ahead the session goes through the index for as many rows as may be under way and starts to read their pages;
rows are then taken as pages come, in no order. Below the threshold each row is waited for before the next.
"""

from tiersim.kernel import kernel
from tiersim.operations import READ
from tiersim.simulator.database.buffer_pool.pages import change, draw_row, is_there, page_at, references, touch, want
from tiersim.simulator.database.database_state import AWAIT, CHANGE_NS, LOOKUP_NS, OF_MANY, PAGE_NS, PREFETCH, Database
from tiersim.simulator.database.sessions.read_stream import NO_MORE, REFERRED, WANTS

_ROW_BITS = 24


@kernel
def look_up_rows(d: Database, session: int, place: int, counter: int, now: int) -> int:
    """Let a session go on with the rows of a demand, or through the index to the first of rows that it takes in order.

    Of its stream ``ahead`` counts the rows whose index pages it went through, ``position`` those that it is done with.
    Returns NO_MORE, WANTS or REFERRED.
    """
    s, r, demand = d.sessions[session], d.read_streams[session], d.demands[place]
    table, rows = demand["table"], demand["rows"]
    heap = references(d, table) - 1
    prefetches = demand["depth"] > 0 and rows >= demand["threshold"] and not demand["in_order"]
    prefetches = prefetches and demand["changed"] == 0  # these lie in the pool
    if not r["open"] and not demand["in_order"]:
        r["open"] = 1
        r["position"] = r["ahead"] = s["reference"] = 0
    number, reference = (0 if demand["in_order"] else r["position"]), s["reference"]
    if number == rows:
        return NO_MORE
    goes_ahead = prefetches and r["ahead"] < rows and s["in_flight"] < demand["depth"]
    if goes_ahead:
        number = r["ahead"]
    elif prefetches:
        if number >= r["ahead"] - s["in_flight"]:
            want(d, session, AWAIT, 0, s["in_flight"])
            return WANTS
        reference = heap
    page = _page_of_row(d, session, place, counter << _ROW_BITS | number, reference)
    if goes_ahead and reference == heap:
        s["reference"] = 0
        r["ahead"] += 1
        if touch(d, page, now):
            return REFERRED
        want(d, session, PREFETCH, page, 1)
        return WANTS
    s["charge_ns"] += d.costs[PAGE_NS]
    dirties = 0
    if reference < heap:
        s["reference"] = reference + 1
    else:
        r["position"] += 1
        if not prefetches:
            s["reference"] = 0
        dirties = demand["dirties"]
        s["charge_ns"] += d.costs[LOOKUP_NS] + (d.costs[CHANGE_NS] if dirties else 0)
    if prefetches and reference == heap and is_there(d, page):  # a use that has been counted
        if dirties:
            change(d, page, demand["log_bytes"])
        return REFERRED
    if touch(d, page, now):
        if dirties:
            change(d, page, demand["log_bytes"])
        return REFERRED
    held = d.frame_of[page]
    if held > 0 and d.ahead_for[held - 1] == session + 1:  # another row's page has come in its place
        return REFERRED
    want(d, session, READ, page, 1)
    s["dirties"], s["change_bytes"] = dirties, demand["log_bytes"]
    return WANTS


@kernel
def _page_of_row(d: Database, session: int, place: int, counter: int, reference: int) -> int:
    s, demand = d.sessions[session], d.demands[place]
    table, changed = demand["table"], demand["changed"]
    if changed == 0 or reference == 0:  # the latest changes are others by the next page
        s["looked_up"] = draw_row(d, table, OF_MANY, counter, changed)
    return page_at(d, table, int(s["looked_up"]), reference)
