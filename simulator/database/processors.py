"""The host's processors as a station: c cores, first come first served, in slices that are not interrupted. What a process does between a write
and a flush of the log goes before all that waits: it has slept and uses next to nothing, and such a process is served first (Linux:
kernel/sched/fair.c, check_preempt_wakeup_fair).

A slice is slowed down by the cores that are busy when it starts, itself included: what shared caches, memory and locks cost.
"""

from tiersim.devices import queue
from tiersim.devices.tables import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.simulator.database.tables import URGENT, Database


@kernel
def accept_processors(p: Plant, d: Database, slot: int) -> int:
    """Take a slice; its length in ns is the length of the request."""
    if p.requests[slot]["op"] == URGENT:
        queue.prepend(p, d.cpu_queue[0], slot)
    else:
        queue.append(p, d.cpu_queue[0], slot)
    return CALL if d.in_service[0] < d.cores[0] else WAIT


@kernel
def choose_processors(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start the oldest slice if a core is free."""
    slot = p.queues[d.cpu_queue[0]]["head"]
    if slot == NONE or d.in_service[0] >= d.cores[0]:
        return NONE, NEVER, NEVER
    queue.remove(p, d.cpu_queue[0], slot, NONE)
    d.in_service[0] += 1
    service = max(p.requests[slot]["length_bytes"] * d.slowdown[d.in_service[0]] // 1000, 1)
    p.work_ns[station, 0] += service
    if p.requests[slot]["parent"] == NONE:  # not of a reader
        d.sessions[p.requests[slot]["stream"]]["part_ns"] = service
    return slot, now + service, NEVER


@kernel
def finish_processors(d: Database) -> int:
    """Free a core."""
    d.in_service[0] -= 1
    return 0
