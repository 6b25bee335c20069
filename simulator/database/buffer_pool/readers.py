"""Processes that read ahead for the sessions, as a station (PostgreSQL 18, io_method = worker:
storage/aio/method_worker.c).

Each reads one run of pages at a time: it uses CPU, which holds up no session, then waits for the device. So no more
reads ahead are under way than there are such processes, however many the sessions have asked for. What they are to read
waits in a queue of 64; whoever finds it full reads by itself.
"""

from tiersim.devices import requests
from tiersim.devices.requests import add_child, charge
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ
from tiersim.simulator.database.database_state import (
    ASYNC_READ_NS,
    AT_POOL,
    AT_PROCESSORS,
    FILL,
    READERS_BUSY,
    READERS_COUNT,
    READERS_QUEUE,
    SCAN_READ_NS,
    Database,
)

#: method_worker.c: io_worker_queue_size.
_QUEUE_LENGTH = 64
#: What a read does (``phase`` of its hold).
_COMPUTING, _READING = range(2)


@kernel
def read_ahead_ns(d: Database, pages: int) -> int:
    """Return the CPU that it takes to read pages ahead: one page somewhere, or several in a row as a scan does."""
    return int(d.costs[ASYNC_READ_NS] if pages == 1 else pages * d.costs[SCAN_READ_NS])


@kernel
def has_room(p: Plant, d: Database, more: int) -> bool:
    """Tell whether a read may wait here behind *more* that come at the same time."""
    return bool(p.queues[d.readers[READERS_QUEUE]]["length"] + more < _QUEUE_LENGTH)


@kernel
def accept_readers(p: Plant, d: Database, slot: int) -> int:
    """Take a run of pages to be read."""
    requests.append(p, d.readers[READERS_QUEUE], slot)
    return CALL if d.readers[READERS_BUSY] < d.readers[READERS_COUNT] else WAIT


@kernel
def choose_readers(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Let a free process take the oldest."""
    slot = p.queues[d.readers[READERS_QUEUE]]["head"]
    if slot == NONE or d.readers[READERS_BUSY] >= d.readers[READERS_COUNT]:
        return NONE, NEVER, NEVER
    requests.remove(p, d.readers[READERS_QUEUE], slot, NONE)
    d.readers[READERS_BUSY] += 1
    charge(p, station, 0, PASS_ON_NS)
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_readers(p: Plant, d: Database, slot: int) -> int:
    """Use the CPU that the read takes."""
    d.holds[slot]["phase"] = _COMPUTING
    cpu_ns = read_ahead_ns(d, p.requests[slot]["length_bytes"] // d.page_bytes[0])
    if cpu_ns == 0:
        return resume_readers(p, d, slot)
    return add_child(p, 0, d.stations[AT_PROCESSORS], READ, 0, cpu_ns)


@kernel
def resume_readers(p: Plant, d: Database, slot: int) -> int:
    """Let the pool read the pages; then the process is free."""
    if d.holds[slot]["phase"] == _COMPUTING:
        d.holds[slot]["phase"] = _READING
        return add_child(
            p, 0, d.stations[AT_POOL], FILL, p.requests[slot]["offset_bytes"], p.requests[slot]["length_bytes"]
        )
    d.readers[READERS_BUSY] -= 1
    return 0
