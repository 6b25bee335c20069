"""First-come lists of request slots, threaded through LINK.

What a station writes for the engine: the requests that it makes, and how long it has worked.
"""

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel


@kernel
def append(p: Plant, queue: int, slot: int) -> None:
    """Put *slot* at the end of *queue*."""
    q = p.queues[queue]
    p.links[slot]["next"] = NONE
    if q["head"] == NONE:
        q["head"] = slot
    else:
        p.links[q["tail"]]["next"] = slot
    q["tail"] = slot
    q["length"] += 1


@kernel
def prepend(p: Plant, queue: int, slot: int) -> None:
    """Put *slot* before all others of *queue*."""
    q = p.queues[queue]
    p.links[slot]["next"] = q["head"]
    if q["head"] == NONE:
        q["tail"] = slot
    q["head"] = slot
    q["length"] += 1


@kernel
def remove(p: Plant, queue: int, slot: int, before: int) -> None:
    """Take *slot* out of *queue*; *before* is the slot ahead of it, NONE at the head."""
    q = p.queues[queue]
    after = p.links[slot]["next"]
    if before == NONE:
        q["head"] = after
    else:
        p.links[before]["next"] = after
    if after == NONE:
        q["tail"] = before
    q["length"] -= 1


@kernel
def add_child(p: Plant, made: int, station: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Write a child behind the *made* ones that are there: the request it is a part of waits for
    it; returns how many.
    """
    child = p.children[made]
    child["station"] = station
    child["op"] = op
    child["offset_bytes"] = offset_bytes
    child["length_bytes"] = length_bytes
    child["background"] = 0
    return made + 1


@kernel
def add_background(p: Plant, made: int, station: int, op: int, offset_bytes: int, length_bytes: int) -> int:
    """Write a request behind the *made* ones that nobody waits for, such as a destage; returns how many there are now.

    It has no parent and no row. It goes to the station that makes it, as a rule: that sees it in ``accept``, lets it
    wait as long as it likes, cuts it into children in ``finish`` and hears of its end in ``resume``.
    """
    made = add_child(p, made, station, op, offset_bytes, length_bytes)
    p.children[made - 1]["background"] = 1
    return made


@kernel
def charge(p: Plant, station: int, resource: int, ns: int) -> None:
    """Account for what a resource of a station has done."""
    p.work_ns[station, resource] += ns


@kernel
def is_background(p: Plant, slot: int) -> bool:
    """Whether a request is one that nobody waits for."""
    return bool(p.requests[slot]["parent"] == NONE and p.requests[slot]["row"] == NONE)
