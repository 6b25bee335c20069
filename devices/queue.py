"""First-come lists of request slots, threaded through LINK."""

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
