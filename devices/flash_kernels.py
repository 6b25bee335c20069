"""A solid-state drive as a passive machine: controller, link, channels, dies, a write buffer.

Each resource keeps the time from which it is free (as FEMU and the analytic models of flash do), so a command's
completion is known when it is chosen. Reads overtake queued programs but not the one in progress, which a read may
suspend; a die is occupied until its page has left over the channel. Writes end in the buffer; programs drain it behind
them, over the dies in turn as a page-mapped FTL writes; when the buffer is full a write waits for the oldest page in it.
"""

from tiersim.devices import queue
from tiersim.devices.tables import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ

PS_PER_NS = 1_000
#: Resources in ``work_ns``.
CONTROLLER, CHANNELS, DIES = 0, 1, 2


@kernel
def residual_program_ns(at_ns: int, program_free_ns: int, program_ns: int) -> int:
    """How long the program in progress at a time still takes: programs of one die run back to back."""
    backlog = program_free_ns - at_ns
    return backlog % program_ns if backlog > 0 else 0


@kernel
def read_page(p: Plant, station: int, flash: int, page: int, length_bytes: int, at_ns: int) -> int:
    """Read part of a page: wait for the die, sense, send over the channel; returns when the data is out."""
    f = p.flashes[flash]
    die = page % f["dies"]
    channel = f["channel_free"] + page % f["channels"]
    read_free = f["read_free"] + die
    program_free = f["program_free"] + die
    start = max(at_ns, p.pool[read_free])
    start += min(residual_program_ns(start, p.pool[program_free], f["program_ns"]), f["suspend_ns"])
    transfer = length_bytes * f["channel_ps_per_byte"] // PS_PER_NS
    # channel time is taken in order of choice; what overtakes inside the drive is not modelled
    p.pool[channel] = max(p.pool[channel], at_ns) + transfer
    end = max(start + f["read_ns"] + transfer, p.pool[channel])
    if p.pool[program_free] > start:
        p.pool[program_free] += end - start
        f["last_program_ns"] = max(f["last_program_ns"], p.pool[program_free])
    p.pool[read_free] = end
    p.work_ns[station, CHANNELS] += transfer
    p.work_ns[station, DIES] += end - start
    return end


@kernel
def buffer_page(p: Plant, station: int, flash: int, length_bytes: int, at_ns: int) -> int:
    """Put a page into the write buffer and plan its program; returns when the buffer took it."""
    f = p.flashes[flash]
    count = f["pages_buffered"]
    f["pages_buffered"] = count + 1
    place = f["buffer_free"] + count % f["buffer_pages"]
    program_free = f["program_free"] + count % f["dies"]
    channel = f["channel_free"] + count % f["channels"]
    admitted = max(at_ns, p.pool[place])
    transfer = length_bytes * f["channel_ps_per_byte"] // PS_PER_NS
    p.pool[channel] = max(p.pool[channel], admitted) + transfer
    start = max(p.pool[channel], p.pool[program_free], p.pool[f["read_free"] + count % f["dies"]])
    end = start + f["program_ns"]
    p.pool[program_free] = end
    p.pool[place] = end
    f["last_program_ns"] = max(f["last_program_ns"], end)
    p.work_ns[station, CHANNELS] += transfer
    p.work_ns[station, DIES] += f["program_ns"]
    return admitted


@kernel
def accept_flash(p: Plant, flash: int, slot: int) -> int:
    """Take a request into the queue."""
    f = p.flashes[flash]
    queue.append(p, f["queue"], slot)
    return CALL if f["in_service"] < f["queue_depth"] else WAIT


@kernel
def choose_flash(p: Plant, station: int, flash: int, now: int) -> tuple[int, int, int]:
    """Take the oldest command if one more fits into the drive's queue, and plan it over the resources."""
    f = p.flashes[flash]
    slot = p.queues[f["queue"]]["head"]
    if slot == NONE or f["in_service"] >= f["queue_depth"]:
        return NONE, NEVER, NEVER
    queue.remove(p, f["queue"], slot, NONE)
    f["in_service"] += 1
    request = p.requests[slot]
    op = request["op"]
    started = max(now, f["controller_free_ns"]) + f["controller_ns"]
    f["controller_free_ns"] = started
    p.work_ns[station, CONTROLLER] += f["controller_ns"]
    if op == FLUSH:
        done = started + f["flush_ns"]
        if not f["protected"]:
            done = max(done, f["last_program_ns"] + f["flush_ns"])
    elif op == DISCARD:
        done = started + f["flush_ns"]
    else:
        length = request["length_bytes"]
        on_link = length * f["link_ps_per_byte"] // PS_PER_NS
        f["link_free_ns"] = max(f["link_free_ns"], started) + on_link
        first = request["offset_bytes"]
        position = first
        end = first + length
        page_bytes = f["page_bytes"]
        ready = started
        at = started if op == READ else f["link_free_ns"]
        while position < end:
            page = position // page_bytes
            part = min(end, (page + 1) * page_bytes) - position
            if op == READ:
                ready = max(ready, read_page(p, station, flash, page, part, at))
            else:
                ready = max(ready, buffer_page(p, station, flash, part, at))
            position += part
        if op == READ:
            done = max(ready + on_link, f["link_free_ns"]) + f["read_latency_ns"]
        else:
            done = ready + f["write_latency_ns"]
    return slot, max(done, now + 1), NEVER


@kernel
def finish_flash(p: Plant, flash: int) -> int:
    """Free a place in the drive's queue; flash makes no children."""
    p.flashes[flash]["in_service"] -= 1
    return 0
