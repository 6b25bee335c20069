"""The host's processors as a station: c cores and one queue, in slices that are not interrupted.

Who is next: *in order of arrival*, as an engine serves its own threads; or, where sessions are processes, as an
operating system chooses. Linux has a queue for each processor, and what it takes from there depends on what each
process has had (kernel/sched/fair.c). Of 127,000 choices that it made for a PostgreSQL with 8 clients on 2 processors
it took the process that had waited longest in 70, 49, 43 and 35 % where 2, 3, 4 and 5 waited, the one that came last in
30, 15, 9 and 5 % (docs/processors.md). The one of two drawn at random that has waited longer: 75, 56, 44, 36 and 25,
11, 6, 4 %. It matters: in order of arrival sessions that one flush of the log let go take turns, come to the log
together again, and too many commits share a flush.

What a process does between a write and a flush of the log goes before all that waits: it has slept and uses next to
nothing, and such a process is served first (check_preempt_wakeup_fair).

A slice is slowed down by the cores that are busy when it starts, itself included: what shared caches, memory and locks
cost.
"""

from tiersim.devices import queue
from tiersim.devices.children import charge
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.random_numbers import CHOSEN_PROCESS, random_bits
from tiersim.simulator.database.database_state import ARE_PROCESSES, CHOICES, URGENT, WAITING_SLICES, Database

#: Of so many that wait longest one is chosen, lest a choice among thousands take long.
_MOST_ASKED = 64


@kernel
def accept_processors(p: Plant, d: Database, slot: int) -> int:
    """Take a slice; its length in ns is the length of the request."""
    if p.requests[slot]["op"] == URGENT:
        queue.prepend(p, d.cpu_queue[0], slot)
    else:
        queue.append(p, d.cpu_queue[0], slot)
    d.cpu_order[WAITING_SLICES] += 1
    return CALL if d.in_service[0] < d.cores[0] else WAIT


@kernel
def choose_processors(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start the slice that is next if a core is free."""
    slot = p.queues[d.cpu_queue[0]]["head"]
    if slot == NONE or d.in_service[0] >= d.cores[0]:
        return NONE, NEVER, NEVER
    before = NONE
    if d.cpu_order[ARE_PROCESSES] and d.cpu_order[WAITING_SLICES] > 1 and p.requests[slot]["op"] != URGENT:
        for _ in range(_passed_by(d)):
            before, slot = slot, p.links[slot]["next"]
    queue.remove(p, d.cpu_queue[0], slot, before)
    d.cpu_order[WAITING_SLICES] -= 1
    d.in_service[0] += 1
    service = max(p.requests[slot]["length_bytes"] * d.slowdown[d.in_service[0]] // 1000, 1)
    charge(p, station, 0, service)
    if p.requests[slot]["parent"] == NONE:  # not of a reader
        d.sessions[p.requests[slot]["stream"]]["part_ns"] = service
    return slot, now + service, NEVER


@kernel
def _passed_by(d: Database) -> int:
    """Return how many that have waited longer the operating system passes by: two are drawn, and the one goes that has
    waited longer.
    """
    d.cpu_order[CHOICES] += 1
    drawn = random_bits(d.seed[0], CHOSEN_PROCESS, 0, d.cpu_order[CHOICES])
    waiting = min(d.cpu_order[WAITING_SLICES], _MOST_ASKED)
    return int(min((drawn & 0xFFFF) * waiting, (drawn >> 16) * waiting) >> 16)


@kernel
def finish_processors(d: Database) -> int:
    """Free a core."""
    d.in_service[0] -= 1
    return 0
