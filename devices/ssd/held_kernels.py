"""A solid-state drive that holds commands back until their die can take them.

A die that has data to transfer takes no command, and none is sent while its channel is at work; of a channel's dies,
which have their turn one after the other, each takes a read before a write (MQSim, TSU_OutOfOrder.cpp and
NVM_PHY_ONFI_NVDDR2.cpp: a chip waits for its data to leave, and those of its neighbours go before its next command). So
dies of a busy channel sense together and transfer one after the other. What a buffer has taken waits for its die as
other writes do, as a request in the background. A request for several pages is sent when the die of its first can take
it, and all its parts are planned then.

A chip of several dies takes one command at a time for all of them (TSU_Base.cpp goes back after the first die), so a
chip is a die here. But one command reads or programs pages on several planes of a die, if these have the same number in
their blocks (ONFI 3.0, multi-plane operations; TSU_Base.cpp): what waits for the chip and fits goes with the first that
waits. Each plane fills its pages in their order; what is read of a fresh drive is placed when it is read, as in
MQSim's map (Address_Mapping_Unit_Page_Level.cpp), on any other its page might have each number. Simplified: a page that
is read again gets another number, and requests of several units join none.
"""

from tiersim.devices import requests
from tiersim.devices.requests import add_background, is_background
from tiersim.devices.ssd.flash_kernels import (
    CHANNELS,
    DIES,
    ENTRIES,
    PS_PER_NS,
    discard,
    flush,
    idle_from,
    into_registers,
    placed_die,
    program,
    read,
    reserve,
    sensing_ns,
    through_controller,
    through_link,
    to_buffer,
)
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ, WRITE


@kernel
def accept_held(p: Plant, flash: int, slot: int) -> int:
    """Take a request into the queue; what leaves the buffer is with its die at once."""
    f = p.flashes[flash]
    if is_background(p, slot):
        p.holds[slot]["position"] = 0
        _hold(p, flash, f["held_writes"], slot)
        return CALL
    requests.append(p, f["queue"], slot)
    return CALL if f["in_service"] < f["queue_depth"] else WAIT


@kernel
def choose_held(p: Plant, station: int, flash: int, now: int) -> tuple[int, int, int]:
    """Take commands from the host, writes into the buffer, and send one command to a die that can take it."""
    f = p.flashes[flash]
    slot = p.queues[f["held_joined"]]["head"]
    if slot != NONE:
        requests.remove(p, f["held_joined"], slot, NONE)
        return slot, p.holds[slot]["position"], NEVER
    slot = p.queues[f["queue"]]["head"]
    while slot != NONE and f["in_service"] < f["queue_depth"]:
        requests.remove(p, f["queue"], slot, NONE)
        f["in_service"] += 1
        started = through_controller(p, station, flash, now)
        request = p.requests[slot]
        op = request["op"]
        if op == FLUSH:
            return slot, max(flush(p, station, flash, now, started), now + 1), NEVER
        if op == DISCARD:
            done = discard(p, flash, started, request["offset_bytes"], request["length_bytes"])
            return slot, max(done, now + 1), NEVER
        if op == READ:
            p.holds[slot]["position"] = started
            _hold(p, flash, f["held_reads"], slot)
        else:
            p.holds[slot]["position"] = through_link(p, station, flash, started, request["length_bytes"], WRITE)
            if f["buffer_units"] > 0:
                requests.append(p, f["held_buffer"], slot)
            else:
                _hold(p, flash, f["held_writes"], slot)
        slot = p.queues[f["queue"]]["head"]
    slot = p.queues[f["held_buffer"]]["head"]
    if slot != NONE and (f["units_held"] == 0 or f["units_held"] + _units(p, flash, slot) <= f["buffer_units"]):
        requests.remove(p, f["held_buffer"], slot, NONE)
        f["units_held"] += _units(p, flash, slot)
        passed = max(p.holds[slot]["position"], now)
        done = to_buffer(p, flash, passed, p.requests[slot]["length_bytes"]) + f["write_latency_ns"]
        return slot, max(done, now + 1), NEVER
    return _send(p, station, flash, now)


@kernel
def finish_held(p: Plant, flash: int, slot: int) -> int:
    """Free the command's place in the drive's queue; what the buffer took is to be programmed, or is now."""
    f = p.flashes[flash]
    request = p.requests[slot]
    if is_background(p, slot):
        f["units_held"] -= _units(p, flash, slot)
        return 0
    f["in_service"] -= 1
    if request["op"] != WRITE or f["buffer_units"] == 0:
        return 0
    return add_background(p, 0, request["station"], WRITE, request["offset_bytes"], request["length_bytes"])


@kernel
def _hold(p: Plant, flash: int, queues: int, slot: int) -> None:
    """Let a request wait for its die, in one of *queues*; what one command could take with others gets its page."""
    f = p.flashes[flash]
    die = _first_die(p, flash, slot)
    planes = f["chip_dies"] * f["chip_planes"]
    if planes > 1:
        hold = p.holds[slot]
        hold["phase"] = NONE
        if _units(p, flash, slot) == 1:
            hold["phase"] = p.requests[slot]["offset_bytes"] // f["unit_bytes"] // f["dies"] % planes
            filled = f["filled_pages"] + die * planes + hold["phase"]
            hold["row"] = p.pool[filled]
            p.pool[filled] = (p.pool[filled] + 1) % f["block_pages"]
    requests.append(p, queues + die, slot)


@kernel
def _join(p: Plant, flash: int, queue: int, slot: int, now: int) -> int:
    """Take what one command takes with a request, of those behind it in its queue; returns how many these are."""
    f = p.flashes[flash]
    if f["chip_planes"] == 1 or p.holds[slot]["phase"] == NONE:
        return 0
    first = p.holds[slot]
    taken = 1 << first["phase"]
    joined = 0
    before = NONE
    other = p.queues[queue]["head"]
    while other != NONE:
        after = p.links[other]["next"]
        hold = p.holds[other]
        fits = hold["phase"] != NONE and hold["row"] == first["row"] and hold["position"] <= now
        if fits and (hold["phase"] - first["phase"]) % f["chip_dies"] == 0 and taken >> hold["phase"] & 1 == 0:
            taken |= 1 << hold["phase"]
            joined += 1
            requests.remove(p, queue, other, before)
            requests.append(p, f["held_joined"], other)
        else:
            before = other
        other = after
    return joined


@kernel
def _send(p: Plant, station: int, flash: int, now: int) -> tuple[int, int, int]:
    """Send the next command to a die that can take it, or say when one might."""
    f = p.flashes[flash]
    channels = f["channels"]
    dies = f["dies"] // channels
    wake = NEVER
    for channel in range(channels):
        idle = idle_from(p, f["calendars"] + channel * ENTRIES, now)
        slot = p.queues[f["held_sensed"] + channel]["head"]
        if slot != NONE:
            at = max(idle, p.holds[slot]["position"])
            if at <= now:
                requests.remove(p, f["held_sensed"] + channel, slot, NONE)
                return slot, max(_transfer_held(p, station, flash, slot, now), now + 1), NEVER
            wake = min(wake, at)
        turn = p.pool[f["turns"] + channel]
        for step in range(turn, turn + dies):
            die = channel + step % dies * channels
            slot, ready = _first_held(p, flash, die, now)
            if slot == NONE or p.pool[f["with_data"] + die] > 0:
                continue
            at = max(idle, ready, p.pool[f["read_free"] + die], p.pool[f["program_free"] + die])
            if at > now:
                wake = min(wake, at)
                continue
            p.pool[f["turns"] + channel] = (step + 1) % dies
            request = p.requests[slot]
            if request["op"] == READ:
                requests.remove(p, f["held_reads"] + die, slot, NONE)
                if _is_of_a_page(p, flash, slot):
                    wake = min(wake, _sense(p, station, flash, slot, now))
                    continue
                done = read(p, station, flash, now, now, request["offset_bytes"], request["length_bytes"])
            else:
                requests.remove(p, f["held_writes"] + die, slot, NONE)
                done = _program_all(p, station, flash, slot, now)
            return slot, max(done, now + 1), NEVER
    return NONE, NEVER, wake


@kernel
def _first_held(p: Plant, flash: int, die: int, now: int) -> tuple[int, int]:
    """What a die would take next, and when that is there: a read that is there, or else what is there first."""
    f = p.flashes[flash]
    read_slot = p.queues[f["held_reads"] + die]["head"]
    write_slot = p.queues[f["held_writes"] + die]["head"]
    if read_slot == NONE and write_slot == NONE:
        return NONE, NEVER
    read_at = NEVER if read_slot == NONE else p.holds[read_slot]["position"]
    write_at = NEVER if write_slot == NONE else p.holds[write_slot]["position"]
    if read_at <= max(now, write_at):
        return read_slot, read_at
    return write_slot, write_at


@kernel
def _is_of_a_page(p: Plant, flash: int, slot: int) -> bool:
    """Whether what a request reads lies on one die and in one page."""
    f = p.flashes[flash]
    request = p.requests[slot]
    first = request["offset_bytes"] // f["unit_bytes"]
    last = (request["offset_bytes"] + request["length_bytes"] - 1) // f["unit_bytes"]
    return bool(first == last or (f["spread"] == 1 and first // f["page_units"] == last // f["page_units"]))


@kernel
def _sense(p: Plant, station: int, flash: int, slot: int, now: int) -> int:
    """Let a die sense a page for a request, and what one command reads with it; returns when that is over."""
    f = p.flashes[flash]
    unit = p.requests[slot]["offset_bytes"] // f["unit_bytes"]
    die = placed_die(p, flash, unit)
    page = unit // (f["page_units"] * f["spread"])
    took = sensing_ns(p, flash, die, page)
    into_registers(p, flash, die, page, (1 << f["planes"]) - 1)
    joined = _join(p, flash, f["held_reads"] + die, slot, now)
    p.pool[f["with_data"] + die] = 1 + joined
    transfers = (_units(p, flash, slot) + joined) * f["unit_channel_ns"]
    p.pool[f["read_free"] + die] = now + took + transfers  # at the earliest
    p.work_ns[station, DIES] += took
    while slot != NONE:
        _wait_for_channel(p, f["held_sensed"] + die % f["channels"], slot, now + took)
        slot = p.queues[f["held_joined"]]["head"]
        if slot != NONE:
            requests.remove(p, f["held_joined"], slot, NONE)
    return now + took


@kernel
def _wait_for_channel(p: Plant, waiting: int, slot: int, at_ns: int) -> None:
    """Put what a die has sensed at a time where it waits for its channel, behind what was sensed before."""
    p.holds[slot]["position"] = at_ns
    before = NONE
    after = p.queues[waiting]["head"]
    while after != NONE and p.holds[after]["position"] <= at_ns:
        before = after
        after = p.links[after]["next"]
    if before == NONE:
        requests.prepend(p, waiting, slot)
    elif after == NONE:
        requests.append(p, waiting, slot)
    else:
        p.links[before]["next"] = slot
        p.links[slot]["next"] = after
        p.queues[waiting]["length"] += 1


@kernel
def _transfer_held(p: Plant, station: int, flash: int, slot: int, now: int) -> int:
    """Take what a die has sensed over its idle channel and the link; returns when the host has it."""
    f = p.flashes[flash]
    request = p.requests[slot]
    die = _first_die(p, flash, slot)
    transfer = _units(p, flash, slot) * f["unit_channel_ns"]
    end = reserve(p, f["calendars"] + die % f["channels"] * ENTRIES, now, now, transfer)
    p.pool[f["with_data"] + die] -= 1
    p.pool[f["read_free"] + die] = max(p.pool[f["read_free"] + die], end)
    p.work_ns[station, CHANNELS] += transfer
    if p.pool[f["with_data"] + die] == 0:  # the last of those that were sensed together, which began at one time
        p.work_ns[station, DIES] += end - p.holds[slot]["position"]
    on_link = request["length_bytes"] * f["link_ps_per_byte"] // PS_PER_NS
    passed = through_link(p, station, flash, now, request["length_bytes"], READ)
    return int(max(end + on_link, passed) + f["read_latency_ns"])


@kernel
def _program_all(p: Plant, station: int, flash: int, slot: int, now: int) -> int:
    """Program the units of a write, each on its die, and what one command programs with it; returns when it is done."""
    f = p.flashes[flash]
    request = p.requests[slot]
    unit = request["offset_bytes"] // f["unit_bytes"]
    done = now
    for number in range(_units(p, flash, slot)):
        die = placed_die(p, flash, unit + number)
        f["filled_ns"] = now
        f["filled_units"] = 1
        f["patched_units"] = _is_patched(p, flash, slot, unit + number)
        if _join(p, flash, f["held_writes"] + die, slot, now) > 0:
            other = p.queues[f["held_joined"]]["head"]
            while other != NONE:
                f["filled_units"] += 1
                f["patched_units"] += _is_patched(p, flash, other, p.requests[other]["offset_bytes"] // f["unit_bytes"])
                other = p.links[other]["next"]
        if f["program_command_ns"] > 0:
            reserve(p, f["calendars"] + die % f["channels"] * ENTRIES, now, now, f["program_command_ns"])
            p.work_ns[station, CHANNELS] += f["program_command_ns"]
        done = max(done, program(p, station, flash, now, die))
    done = max(done if is_background(p, slot) else done + f["write_latency_ns"], now + 1)
    other = p.queues[f["held_joined"]]["head"]
    while other != NONE:  # for the host or behind the buffer, all of them
        p.holds[other]["position"] = done
        other = p.links[other]["next"]
    return done


@kernel
def _is_patched(p: Plant, flash: int, slot: int, unit: int) -> int:
    """1 if a write changes a part of a unit only, so that the rest is read first; else 0."""
    request, unit_bytes = p.requests[slot], p.flashes[flash]["unit_bytes"]
    begin = request["offset_bytes"]
    return int(unit * unit_bytes < begin or (unit + 1) * unit_bytes > begin + request["length_bytes"])


@kernel
def _first_die(p: Plant, flash: int, slot: int) -> int:
    return placed_die(p, flash, p.requests[slot]["offset_bytes"] // p.flashes[flash]["unit_bytes"])


@kernel
def _units(p: Plant, flash: int, slot: int) -> int:
    """How many units a request touches."""
    request, unit_bytes = p.requests[slot], p.flashes[flash]["unit_bytes"]
    last = (request["offset_bytes"] + request["length_bytes"] - 1) // unit_bytes
    return int(last - request["offset_bytes"] // unit_bytes + 1)
