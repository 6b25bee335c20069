"""A file system between a database and a volume, as a passive machine.

A flush takes ``overhead_ns`` here before it goes down: file system, journal and scheduler, all put before the device,
for nobody knows how much of it comes after. Everything else passes at once. With an ordered journal a flush waits
first, until all writes that came before it are done, whatever file they belong to.
"""

from typing import Literal

from tiersim.devices import requests
from tiersim.devices.host.gate import add_gate
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import FILES, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, WRITE


@kernel
def _list_write(p: Plant, files: int, slot: int) -> None:
    f = p.files[files]
    p.holds[slot]["chain"] = NONE
    p.holds[slot]["ahead"] = f["youngest_write"]
    if f["oldest_write"] == NONE:
        f["oldest_write"] = slot
    else:
        p.holds[f["youngest_write"]]["chain"] = slot
    f["youngest_write"] = slot


@kernel
def _strike_write(p: Plant, files: int, slot: int) -> None:
    f = p.files[files]
    ahead = p.holds[slot]["ahead"]
    after = p.holds[slot]["chain"]
    if ahead == NONE:
        f["oldest_write"] = after
    else:
        p.holds[ahead]["chain"] = after
    if after == NONE:
        f["youngest_write"] = ahead
    else:
        p.holds[after]["ahead"] = ahead


@kernel
def accept_files(p: Plant, files: int, slot: int, now: int) -> int:
    """Pass a request on; a flush after its overhead, and, with an ordered journal, after the writes before it."""
    f = p.files[files]
    op = p.requests[slot]["op"]
    if op == FLUSH:
        if f["oldest_write"] == NONE and p.queues[f["flushes"]]["head"] == NONE:
            return now + f["overhead_ns"]
        requests.append(p, f["flushes"], slot)
        return WAIT
    if op == WRITE and f["ordered"] == 1:
        _list_write(p, files, slot)
    return now + PASS_ON_NS


@kernel
def choose_files(p: Plant, files: int, now: int) -> tuple[int, int, int]:
    """Start the oldest flush when no write is left that came before it."""
    f = p.files[files]
    slot = p.queues[f["flushes"]]["head"]
    write = f["oldest_write"]
    if slot == NONE or (write != NONE and p.requests[write]["number"] < p.requests[slot]["number"]):
        return NONE, NEVER, NEVER
    requests.remove(p, f["flushes"], slot, NONE)
    return slot, now + f["overhead_ns"], NEVER


@kernel
def finish_files(p: Plant, files: int, slot: int) -> int:
    """Send a request on: flushes to where they are joined."""
    f = p.files[files]
    request = p.requests[slot]
    op = request["op"]
    below = f["flush_below"] if op == FLUSH else f["below"]
    return add_child(p, 0, below, op, request["offset_bytes"], request["length_bytes"])


@kernel
def resume_files(p: Plant, files: int, slot: int) -> int:
    """A write is done: no flush waits for it any more."""
    if p.requests[slot]["op"] == WRITE and p.files[files]["ordered"] == 1:
        _strike_write(p, files, slot)
    return 0


#: Whether a flush waits for the writes that the volume accepted before it.
Journal = Literal["none", "ordered"]


def add_files(builder: PlantBuilder, name: str, below: int, overhead_ns: int, journal: Journal) -> int:
    """Put a file system over station *below* into the plant and return its station.

    Every flush takes *overhead_ns* before it goes down. One flush is under way at a time; those that come meanwhile
    share the next one, as in Linux (block/blk-flush.c: "only one flush shall be in progress", and all that are pending
    go with the next).
    """
    row = builder.row(
        "files",
        overhead_ns=max(overhead_ns, PASS_ON_NS),
        ordered=int(journal == "ordered"),
        oldest_write=NONE,
        youngest_write=NONE,
        flushes=builder.queue(),
        below=below,
        flush_below=add_gate(builder, f"{name}.flushes", 1, below, joins_flushes=True),
    )
    return builder.station(FILES, row, f"{name}.files", {}, children=1)
