"""The buffer pool as a station: reads pages that are not there, writes those that have to go first.

Sessions touch pages that are there by themselves (:func:`tiersim.simulator.database.pages.touch`); what they miss is a request here,
for the page at ``offset_bytes``. A page that is being read is read once: later requests for it wait for the first. A dirty page that has to go is
written by the request that takes its frame.
"""

from tiersim.devices import queue
from tiersim.devices.children import add_child
from tiersim.devices.tables import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE
from tiersim.simulator.database.pages import loaded, ring_victim, station_of, victim
from tiersim.simulator.database.tables import EVICT_CLEAN_NS, EVICT_DIRTY_NS, NO_RING, READING, READY, VALID, Database

#: What a request does with its frame (``phase`` of its hold): nothing, the page was there; writes the old page; reads its own.
_NOTHING, _WRITING, _READING = range(3)


@kernel
def accept_pool(p: Plant, d: Database, slot: int) -> int:
    """Take a request for a page."""
    held = d.frame_of[p.requests[slot]["offset_bytes"] // d.page_bytes[0]]
    if held > 0 and d.state[held - 1] == READING:
        _wait_for(p, d, slot, held - 1)
        return WAIT
    queue.append(p, d.pool_state[READY], slot)
    return CALL


@kernel
def _wait_for(p: Plant, d: Database, slot: int, frame: int) -> None:
    p.holds[slot]["chain"] = d.chain[frame]
    d.chain[frame] = slot


@kernel
def choose_pool(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start the first request whose page nobody reads, with a frame if it needs one."""
    while True:
        slot = p.queues[d.pool_state[READY]]["head"]
        if slot == NONE:
            return NONE, NEVER, NEVER
        page = p.requests[slot]["offset_bytes"] // d.page_bytes[0]
        held = d.frame_of[page]
        if held > 0 and d.state[held - 1] == READING:
            queue.remove(p, d.pool_state[READY], slot, NONE)
            _wait_for(p, d, slot, held - 1)
            continue
        hold = p.holds[slot]
        hold["phase"] = _NOTHING
        if held == 0:
            session = p.requests[slot]["stream"]
            ring = session + 1 if d.sessions[session]["ring"] != NO_RING else 0
            frame = ring_victim(d, session, now) if ring else victim(d, now)
            if frame < 0:
                return NONE, NEVER, NEVER
            old = d.page_of[frame]
            hold["row"] = old if old >= 0 and d.dirty[frame] else -1
            if old >= 0:
                d.frame_of[old] = 0
            d.page_of[frame] = page
            d.frame_of[page] = frame + 1
            d.state[frame] = READING
            d.dirty[frame] = 0
            loaded(d, frame, page, ring, now)
            hold["phase"] = _WRITING if hold["row"] >= 0 else _READING
            hold["position"] = frame
            s = d.sessions[p.requests[slot]["stream"]]
            s["evicting_ns"] = now + PASS_ON_NS
            if s["started_ns"] >= d.counted_from_ns[0]:
                d.pages_read[d.statement_class[s["next"]]] += 1
            if old >= 0:
                s["charge_ns"] += d.costs[EVICT_CLEAN_NS if hold["row"] < 0 else EVICT_DIRTY_NS]
        queue.remove(p, d.pool_state[READY], slot, NONE)
        p.work_ns[station, 0] += PASS_ON_NS
        return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_pool(p: Plant, d: Database, slot: int) -> int:
    """Write the page that has to go, or read the one that was asked for."""
    hold = p.holds[slot]
    if hold["phase"] == _NOTHING:
        return 0
    if hold["phase"] == _WRITING:
        return _transfer(p, d, WRITE, hold["row"])
    return _transfer(p, d, READ, p.requests[slot]["offset_bytes"] // d.page_bytes[0])


@kernel
def _transfer(p: Plant, d: Database, op: int, page: int) -> int:
    size = d.page_bytes[0]
    return add_child(p, 0, station_of(d, page), op, page * size, size)


@kernel
def resume_pool(p: Plant, d: Database, slot: int, now: int) -> int:
    """Read after the write; after the read the page is there for all that wait for it."""
    hold = p.holds[slot]
    if hold["phase"] == _WRITING:
        hold["phase"] = _READING
        s = d.sessions[p.requests[slot]["stream"]]
        s["part_ns"] = now - s["evicting_ns"]
        return _transfer(p, d, READ, p.requests[slot]["offset_bytes"] // d.page_bytes[0])
    if hold["phase"] == _READING:
        frame = hold["position"]
        d.state[frame] = VALID
        # the chain holds the last comer first: turned round, they go on in the order in which they came
        turned = NONE
        other = d.chain[frame]
        while other != NONE:
            behind = p.holds[other]["chain"]
            p.holds[other]["chain"] = turned
            turned = other
            other = behind
        while turned != NONE:
            queue.append(p, d.pool_state[READY], turned)
            turned = p.holds[turned]["chain"]
        d.chain[frame] = NONE
    return 0
