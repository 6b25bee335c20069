"""A solid-state drive as a passive machine: driver, controller, link, channels, dies, a write buffer, collection.

Each resource keeps the time from which it is free (as FEMU and the analytic models of flash do), so a command's
completion is known when it is chosen. Reads overtake queued programs but not the one in progress, which a read may
suspend; a die is occupied until its page has left over the channel, and a command to a die needs the channel, too.
Writes end in the buffer; programs drain it behind them, over the dies in turn as a page-mapped FTL writes; when the
buffer is full a write waits for the oldest unit in it.

A channel keeps a short calendar of busy times, in order and apart. A transfer takes all time that is left from when its
data are there, in pieces if it must (a controller can pause a transfer and go on with it), so one that was planned
early and is ready late does not keep others from the bus, and no gap is lost. What begins later than one program time
from now has no place there yet: it has what is left between, in order, and reads do not wait for it. What gets a place
after that overtakes it: dies are free and units leave the buffer so much later, unless they wait for other things
anyway. So a channel is never busy for longer than time has passed. The exception: the end of a write that already waits
is fixed, and what overtakes it does not move it.
"""

from typing import NamedTuple

from tiersim.devices import requests
from tiersim.devices.ssd.ftl_kernels import die_of, place_of, trim_unit, write_unit
from tiersim.devices.ssd.slc_cache_kernels import choose_cells, fold_idle, take_room
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ, WRITE
from tiersim.random_numbers import FLASH_PLACE, bits_from, random_bits

#: Busy times that a calendar holds; when there are more, the two that lie farthest ahead become one, as long as both.
_MOST = 96
#: Entries of a calendar in the pool: how many times there are; when all that has no place yet will have passed; how
#: much was ever promised so; then begin and end of each time.
_PASSED, _UNPLACED, CALENDAR_HEAD = 1, 2, 3
ENTRIES = CALENDAR_HEAD + 2 * _MOST
#: Entries of a unit of the buffer: when its program ends; how much its channel had promised without a place when it was
#: promised to that, or 0; its die.
_PROMISED, _DIE, UNIT_ENTRIES = 1, 2, 3


@kernel
def idle_from(p: Plant, calendar: int, at_ns: int) -> int:
    """When the channel is idle first, at *at_ns* or later."""
    place = calendar + CALENDAR_HEAD
    end = place + 2 * p.pool[calendar]
    while place < end and p.pool[place] <= at_ns:
        at_ns = max(at_ns, p.pool[place + 1])
        place += 2
    return at_ns


@kernel
def reserve(p: Plant, calendar: int, now: int, at_ns: int, length_ns: int) -> int:
    """Promise what is left of the channel from *at_ns* on, *length_ns* of it; returns when that ends."""
    end = _forget(p, calendar, now)
    place = calendar + CALENDAR_HEAD
    while place < end and p.pool[place + 1] < at_ns:
        place += 2
    begin = at_ns
    last = place
    if place < end and p.pool[place] <= at_ns:
        begin = p.pool[place]
        at_ns = p.pool[place + 1]
        last += 2
    done = at_ns + length_ns
    while last < end and p.pool[last] < done:
        done += p.pool[last + 1] - p.pool[last]
        last += 2
    busy_until = done
    if last < end and p.pool[last] == done:
        busy_until = p.pool[last + 1]
        last += 2
    if last == place:  # nothing that was promised touches it
        for entry in range(end - 1, place - 1, -1):
            p.pool[entry + 2] = p.pool[entry]
        end += 2
    else:
        _move(p, last, end, place + 2)
        end -= last - place - 2
    p.pool[place] = begin
    p.pool[place + 1] = busy_until
    p.pool[calendar] = (end - calendar - CALENDAR_HEAD) // 2
    return done


@kernel
def idle_for(p: Plant, calendar: int, at_ns: int, length_ns: int) -> int:
    """When the channel has been idle for so long from a time on."""
    done = at_ns + length_ns
    place = calendar + CALENDAR_HEAD
    end = place + 2 * p.pool[calendar]
    while place < end and p.pool[place] < done:
        if p.pool[place + 1] > at_ns:
            done += p.pool[place + 1] - max(p.pool[place], at_ns)
        place += 2
    return done


@kernel
def idle_within(p: Plant, calendar: int, begin: int, end: int) -> int:
    """How long the channel is idle between two times."""
    idle = max(end - begin, 0)
    place = calendar + CALENDAR_HEAD
    last = place + 2 * p.pool[calendar]
    while place < last and p.pool[place] < end:
        idle -= max(min(p.pool[place + 1], end) - max(p.pool[place], begin), 0)
        place += 2
    return idle


@kernel
def promise(p: Plant, calendar: int, now: int, length_ns: int) -> int:
    """Promise time without a place, behind all of that kind; returns when it will have passed."""
    passed = calendar + _PASSED
    p.pool[calendar + _UNPLACED] += length_ns
    p.pool[passed] = idle_for(p, calendar, max(p.pool[passed], now), length_ns)
    return p.pool[passed]


@kernel
def _forget(p: Plant, calendar: int, now: int) -> int:
    """Drop what is over and make room for one more; returns where the calendar ends then."""
    first = calendar + CALENDAR_HEAD
    end = first + 2 * p.pool[calendar]
    past = first
    while past < end and p.pool[past + 1] <= now:
        past += 2
    if past > first:
        _move(p, past, end, first)
        end -= past - first
    elif end == first + 2 * _MOST:
        end -= 2
        p.pool[end - 1] += p.pool[end + 1] - p.pool[end]
    return end


@kernel
def _move(p: Plant, start: int, end: int, target: int) -> None:
    for entry in range(start, end):
        p.pool[target + entry - start] = p.pool[entry]


PS_PER_NS = 1_000
#: Resources in ``work_ns``; LINK has what is read, and what is written, too, if the link is half duplex.
CONTROLLER, CHANNELS, DIES, LINK, HOST_CPU = 0, 1, 2, 3, 4


class PagePart(NamedTuple):
    """What is read of a page."""

    die: int
    page: int
    units: int
    planes: int  # that they lie on, a bit for each


@kernel
def residual_program_ns(at_ns: int, program_free_ns: int, program_ns: int) -> int:
    """How long the program in progress at a time still takes: programs of one die run back to back."""
    backlog = program_free_ns - at_ns
    return backlog % program_ns if backlog > 0 else 0


@kernel
def accept_flash(p: Plant, flash: int, slot: int) -> int:
    """Take a request into the queue."""
    f = p.flashes[flash]
    requests.append(p, f["queue"], slot)
    return CALL if f["in_service"] < f["queue_depth"] else WAIT


@kernel
def choose_flash(p: Plant, station: int, flash: int, now: int) -> tuple[int, int, int]:
    """Take the oldest command if one more fits into the drive's queue, and plan it over the resources."""
    f = p.flashes[flash]
    slot = p.queues[f["queue"]]["head"]
    if slot == NONE or f["in_service"] >= f["queue_depth"]:
        return NONE, NEVER, NEVER
    request = p.requests[slot]
    op = request["op"]
    if f["flushes_alone"] and f["in_service"] > 0 and (op == FLUSH or f["flushing"]):
        return NONE, NEVER, NEVER
    f["flushing"] = int(op == FLUSH)
    requests.remove(p, f["queue"], slot, NONE)
    if f["slc_units"] > 0 and f["in_service"] == 0:
        fold_idle(p, flash, now)
    f["in_service"] += 1
    started = through_controller(p, station, flash, now)
    if op == FLUSH:
        done = flush(p, station, flash, now, started)
    elif op == DISCARD:
        done = discard(p, flash, started, request["offset_bytes"], request["length_bytes"])
    elif op == READ:
        done = read(p, station, flash, now, started, request["offset_bytes"], request["length_bytes"])
    else:
        done = _write(p, station, flash, now, started, request["offset_bytes"], request["length_bytes"])
    if f["slc_units"] > 0:
        f["busy_until_ns"] = max(f["busy_until_ns"], done)
    return slot, max(done, now + 1), NEVER


@kernel
def finish_flash(p: Plant, flash: int) -> int:
    """Free a place in the drive's queue; flash makes no children."""
    p.flashes[flash]["in_service"] -= 1
    return 0


@kernel
def through_controller(p: Plant, station: int, flash: int, now: int) -> int:
    """When driver and controller have worked on a command."""
    f = p.flashes[flash]
    started = max(_through_driver(p, station, flash, now), f["controller_free_ns"]) + f["controller_ns"]
    f["controller_free_ns"] = started
    p.work_ns[station, CONTROLLER] += f["controller_ns"]
    return int(started)


@kernel
def _through_driver(p: Plant, station: int, flash: int, now: int) -> int:
    """When a driver that keeps the drive's map on the host has worked on a command."""
    f = p.flashes[flash]
    if f["host_cpu_ns"] == 0:
        return now
    earliest = f["host_free"]
    for thread in range(f["host_free"] + 1, f["host_free"] + f["host_threads"]):
        if p.pool[thread] < p.pool[earliest]:
            earliest = thread
    p.pool[earliest] = max(p.pool[earliest], now) + f["host_cpu_ns"]
    p.work_ns[station, HOST_CPU] += f["host_cpu_ns"]
    return p.pool[earliest]


@kernel
def flush(p: Plant, station: int, flash: int, now: int, started: int) -> int:
    """When a flush is done that the controller has understood."""
    f = p.flashes[flash]
    done = started + f["flush_ns"]
    if not f["protected"]:
        if f["filled_units"] > 0:
            f["filled_ns"] = max(f["filled_ns"], started)  # nothing had asked for the program before
            program(p, station, flash, now, f["programs"] % f["dies"])
        done = max(started, f["last_program_ns"]) + f["flush_ns"]
    done = max(done, f["last_flush_ns"] + f["flush_interval_ns"])
    f["last_flush_ns"] = done
    return done


@kernel
def read(p: Plant, station: int, flash: int, now: int, started: int, offset: int, length: int) -> int:
    """Read units: those of a page that lie on one die are sensed together. Returns when the host has them."""
    f = p.flashes[flash]
    on_link = length * f["link_ps_per_byte"] // PS_PER_NS
    through_link(p, station, flash, started, length, READ)
    unit = offset // f["unit_bytes"]
    end = (offset + length - 1) // f["unit_bytes"] + 1
    if f["ahead_units"] > 0:
        ready = _read_stream(p, station, flash, now, started, unit, end)
    else:
        ready = _read_units(p, station, flash, now, started, unit, end)
    return max(ready + on_link, f["link_free_ns"]) + f["read_latency_ns"]


@kernel
def _read_units(p: Plant, station: int, flash: int, now: int, at_ns: int, unit: int, end: int) -> int:
    """Read units from the dies; returns when the last has left its die."""
    if p.flashes[flash]["ftl"] == NONE:
        return _read_placed(p, station, flash, now, at_ns, unit, end)
    return _read_mapped(p, station, flash, now, at_ns, unit, end)


@kernel
def _read_stream(p: Plant, station: int, flash: int, now: int, at_ns: int, unit: int, end: int) -> int:
    """Read units of a drive that reads ahead into its memory; returns when the last is there.

    A read that begins behind the last one goes on with a stream: the drive reads on until its memory for that is full,
    unless it has other commands. What comes takes the place of what has left for the host. Any other read ends the
    stream.
    """
    f = p.flashes[flash]
    if unit != f["stream_end"]:
        f["stream_end"] = f["ahead_end"] = end
        return _read_units(p, station, flash, now, at_ns, unit, end)
    size = f["ahead_units"]
    there = min(end, f["ahead_end"])
    ready = at_ns
    for one in range(unit, there):
        ready = max(ready, p.pool[f["ahead_ready"] + one % size])
    left = ready + max(there - unit, 0) * f["unit_bytes"] * f["link_ps_per_byte"] // PS_PER_NS
    if there < end:
        ready = max(ready, _read_units(p, station, flash, now, at_ns, there, end))
    first = limit = max(end, f["ahead_end"])
    if f["in_service"] == 1 and p.queues[f["queue"]]["head"] == NONE:
        limit = max(first, min(end + size, f["units"]))
    if first < limit:
        came = _read_units(p, station, flash, now, left, first, limit)
        for one in range(first, limit):
            p.pool[f["ahead_ready"] + one % size] = came
    f["stream_end"] = end
    f["ahead_end"] = limit
    return ready


@kernel
def _forget_ahead(p: Plant, flash: int, offset: int, length: int) -> None:
    """Forget what was read ahead from the first unit on that is written or discarded."""
    f = p.flashes[flash]
    unit = offset // f["unit_bytes"]
    end = (offset + length - 1) // f["unit_bytes"] + 1
    if unit < f["ahead_end"] and end > f["stream_end"]:
        f["ahead_end"] = max(unit, f["stream_end"])


@kernel
def _read_placed(p: Plant, station: int, flash: int, now: int, at_ns: int, unit: int, end: int) -> int:
    """Read units that lie where their address says; returns when the last has left its die."""
    f = p.flashes[flash]
    spread = f["spread"]
    group_units = f["page_units"] * spread
    ready = at_ns
    while unit < end:
        group = unit // group_units
        first = unit - group * group_units
        end_here = min(end - group * group_units, group_units)
        for place in range(first, min(end_here, first + spread)):
            units = 1 if end_here - place <= spread else (end_here - 1 - place) // spread + 1
            planes = _planes(p, flash, place // spread, units)
            part = PagePart(_die_of_page(p, flash, group * spread + place % spread), group, units, planes)
            ready = max(ready, _read_part(p, station, flash, now, at_ns, part))
        unit = group * group_units + end_here
    return ready


@kernel
def _planes(p: Plant, flash: int, first: int, units: int) -> int:
    """Planes that units of a page lie on from the *first* on, a bit for each."""
    f = p.flashes[flash]
    if f["planes"] == 1:
        return 1
    plane_units = f["page_units"] // f["planes"]
    return (2 << (first + units - 1) // plane_units) - (1 << first // plane_units)


@kernel
def _read_mapped(p: Plant, station: int, flash: int, now: int, at_ns: int, unit: int, end: int) -> int:
    """Read units that lie where the map says; what was never written needs no die. Returns when the last has left its
    die.
    """
    f = p.flashes[flash]
    page_units = f["page_units"]
    plane_units = page_units // f["planes"]
    ready = at_ns
    while unit < end:
        place = place_of(p, f["ftl"], unit)
        unit += 1
        if place != NONE:
            page = place // page_units
            planes = 1 << place % page_units // plane_units
            units = 1
            while unit < end and place_of(p, f["ftl"], unit) == place + units and (place + units) // page_units == page:
                planes |= 1 << (place + units) % page_units // plane_units
                units += 1
                unit += 1
            part = PagePart(die_of(p, f["ftl"], place), page, units, planes)
            ready = max(ready, _read_part(p, station, flash, now, at_ns, part))
    return ready


@kernel
def placed_die(p: Plant, flash: int, unit: int) -> int:
    """The die of a unit that lies where its address says."""
    f = p.flashes[flash]
    return _die_of_page(p, flash, unit // (f["page_units"] * f["spread"]) * f["spread"] + unit % f["spread"])


@kernel
def _die_of_page(p: Plant, flash: int, page: int) -> int:
    """The die of a page: groups of pages lie side by side over all dies, each row from another die on."""
    f = p.flashes[flash]
    dies = f["dies"]
    if f["held"]:  # as MQSim's static allocation: one after the other, in each row alike
        return page % dies
    return (page % dies + bits_from(f["place_source"], page // dies)) % dies


@kernel
def _read_part(p: Plant, station: int, flash: int, now: int, at_ns: int, part: PagePart) -> int:
    """Read a part of a page; returns when it has left over the channel.

    What the die sensed last is still in its registers. A read of other pages joins the last one that has not begun,
    when that leaves its planes alone; or else the die senses anew when it is free.
    """
    f = p.flashes[flash]
    die, page, units, planes = part
    calendar = f["calendars"] + die % f["channels"] * ENTRIES
    read_free = f["read_free"] + die
    program_free = f["program_free"] + die
    sensed = f["sensed"] + die
    sensing = f["sensing_planes"] + die
    start = p.pool[read_free]
    if _in_registers(p, flash, die, page, planes):
        start = max(start, at_ns)
    elif p.pool[f["sense_start"] + die] > at_ns and p.pool[sensing] & planes == 0:
        p.pool[sensing] |= planes
    else:
        start = max(start, at_ns)
        took = p.pool[f["program_took"] + die]
        start += min(residual_program_ns(start, p.pool[program_free], took), f["suspend_ns"])
        start = idle_from(p, calendar, start)  # data go before commands
        p.pool[f["sense_start"] + die] = start
        p.pool[sensed] = start + sensing_ns(p, flash, die, page)
        p.pool[sensing] = planes
    into_registers(p, flash, die, page, planes)
    transfer = units * f["unit_channel_ns"]
    programmed = p.pool[program_free]
    end = max(p.pool[read_free], _overtake(p, flash, die, now, max(at_ns, p.pool[sensed]), transfer))
    if programmed > start:
        p.pool[program_free] = max(p.pool[program_free], programmed + end - start)
        f["last_program_ns"] = max(f["last_program_ns"], p.pool[program_free])
    p.pool[read_free] = end
    p.work_ns[station, CHANNELS] += transfer
    p.work_ns[station, DIES] += end - start
    return end


@kernel
def _overtake(p: Plant, flash: int, die: int, now: int, at_ns: int, length_ns: int) -> int:
    """Reserve time of the channel of a die, ahead of what has no place yet and passes later; returns when that ends."""
    f = p.flashes[flash]
    channel = die % f["channels"]
    calendar = f["calendars"] + channel * ENTRIES
    done = reserve(p, calendar, now, at_ns, length_ns)
    if p.pool[calendar + _PASSED] > at_ns:
        last_end = p.pool[
            calendar + CALENDAR_HEAD + 2 * p.pool[calendar] - 1
        ]  # most pass behind it: nothing to look up
        p.pool[calendar + _PASSED] = idle_for(p, calendar, p.pool[calendar + _PASSED], length_ns)
        for other in range(channel, f["dies"], f["channels"]):
            passed = f["passed"] + other
            if p.pool[passed] > at_ns:
                if p.pool[passed] >= last_end:
                    p.pool[passed] += length_ns
                else:
                    p.pool[passed] = idle_for(p, calendar, p.pool[passed], length_ns)
                free = f["program_free"] + other
                p.pool[free] = max(p.pool[free], p.pool[passed] + p.pool[f["free_after"] + other])
                programmed = p.pool[passed] + p.pool[f["programmed_after"] + other]
                f["last_program_ns"] = max(f["last_program_ns"], programmed)
    return done


@kernel
def sensing_ns(p: Plant, flash: int, die: int, page: int) -> int:
    """Time to sense a page: which page of its cells it is decides."""
    f = p.flashes[flash]
    if f["read_kinds"] == 1:
        return p.pool[f["reads"]]
    return p.pool[f["reads"] + random_bits(p.seed[0], FLASH_PLACE, die, page) % f["read_kinds"]]


@kernel
def _in_registers(p: Plant, flash: int, die: int, page: int, planes: int) -> bool:
    f = p.flashes[flash]
    register = f["registers"] + die * f["planes"]
    while planes > 0:
        if planes & 1 and p.pool[register] != page:
            return False
        planes >>= 1
        register += 1
    return True


@kernel
def into_registers(p: Plant, flash: int, die: int, page: int, planes: int) -> None:
    """Put a page into the registers of some planes of a die."""
    f = p.flashes[flash]
    register = f["registers"] + die * f["planes"]
    while planes > 0:
        if planes & 1:
            p.pool[register] = page
        planes >>= 1
        register += 1


@kernel
def through_link(p: Plant, station: int, flash: int, at_ns: int, length: int, op: int) -> int:
    """When the data of a read or write have passed the link that they wait for from a time on.

    The directions of a full-duplex link have nothing to do with each other.
    """
    f = p.flashes[flash]
    on_link = length * f["link_ps_per_byte"] // PS_PER_NS
    if op == WRITE and f["write_link"] != LINK:
        f["write_link_free_ns"] = max(f["write_link_free_ns"], at_ns) + on_link
        p.work_ns[station, f["write_link"]] += on_link
        return int(f["write_link_free_ns"])
    f["link_free_ns"] = max(f["link_free_ns"], at_ns) + on_link
    p.work_ns[station, LINK] += on_link
    return int(f["link_free_ns"])


@kernel
def to_buffer(p: Plant, flash: int, at_ns: int, length: int) -> int:
    """When data that have passed the link are in the buffer."""
    f = p.flashes[flash]
    at_ns = max(at_ns, f["to_buffer_free_ns"])
    # what is being flushed takes nothing in: 16 writers wait as long for a write as for its flush (Crucial T500,
    # Samsung 990 PRO; fio of M. Callaghan, mytools)
    if not f["protected"]:
        at_ns = max(at_ns, f["last_flush_ns"])
    if f["buffer_ps_per_byte"] > 0:
        at_ns += length * f["buffer_ps_per_byte"] // PS_PER_NS
        f["to_buffer_free_ns"] = at_ns
    return at_ns


@kernel
def _write(p: Plant, station: int, flash: int, now: int, started: int, offset: int, length: int) -> int:
    """Put units into the write buffer, programs behind them; returns when the buffer, or flash without one, has all."""
    f = p.flashes[flash]
    at = to_buffer(p, flash, through_link(p, station, flash, started, length, WRITE), length)
    unit_bytes = f["unit_bytes"]
    if f["ahead_units"] > 0:
        _forget_ahead(p, flash, offset, length)
    ready = at
    for unit in range(offset // unit_bytes, (offset + length - 1) // unit_bytes + 1):
        patched = unit * unit_bytes < offset or (unit + 1) * unit_bytes > offset + length
        die = placed_die(p, flash, unit) if f["static"] else f["programs"] % f["dies"]
        if f["ftl"] != NONE:
            _map_unit(p, flash, die, unit)
        ready = max(ready, _write_unit(p, station, flash, now, at, die, patched))
    if f["buffer_units"] == 0 and f["filled_units"] > 0:
        ready = max(ready, program(p, station, flash, now, f["programs"] % f["dies"]))
    return ready + f["write_latency_ns"]


@kernel
def _map_unit(p: Plant, flash: int, die: int, unit: int) -> None:
    """Give a unit its next place, and owe what the collection behind it does."""
    f = p.flashes[flash]
    ftl = p.ftls[f["ftl"]]
    erased = ftl["erased_blocks"]
    p.pool[f["copies_owed"] + die] += write_unit(p, f["ftl"], die, unit) << 16
    p.pool[f["erases_owed"] + die] += (ftl["erased_blocks"] - erased) << 32


@kernel
def discard(p: Plant, flash: int, started: int, offset: int, length: int) -> int:
    """Forget whole units, where there is a map; it takes as long as a flush of nothing."""
    f = p.flashes[flash]
    if f["ahead_units"] > 0:
        _forget_ahead(p, flash, offset, length)
    if f["ftl"] != NONE:
        for unit in range(-(-offset // f["unit_bytes"]), (offset + length) // f["unit_bytes"]):
            trim_unit(p, f["ftl"], unit)
    return started + f["flush_ns"]


@kernel
def _write_unit(p: Plant, station: int, flash: int, now: int, at_ns: int, die: int, patched: bool) -> int:
    """Take a unit in, and plan the program when it is full; returns when the unit is safe as far as the drive says."""
    f = p.flashes[flash]
    admitted = at_ns
    if f["buffer_units"] > 0:
        place = f["buffer_free"] + f["units_buffered"] % f["buffer_units"] * UNIT_ENTRIES
        admitted = max(at_ns, p.pool[place])
        if p.pool[place + _PROMISED] > 0:
            admitted = max(admitted, _programmed(p, flash, now, p.pool[place + _DIE], p.pool[place + _PROMISED]))
        p.pool[place] = NEVER
        f["units_buffered"] += 1
    f["filled_ns"] = admitted if f["filled_units"] == 0 else max(f["filled_ns"], admitted)
    f["filled_units"] += 1
    f["patched_units"] += patched
    if f["filled_units"] < f["program_units"]:
        return admitted
    programmed = program(p, station, flash, now, die)
    return admitted if f["buffer_units"] > 0 else programmed


@kernel
def _programmed(p: Plant, flash: int, now: int, die: int, promised_ns: int) -> int:
    """When a program ends whose channel had promised so much without a place with it, by what overtakes it now."""
    f = p.flashes[flash]
    calendar = f["calendars"] + die % f["channels"] * ENTRIES
    left = idle_within(p, calendar, now, p.pool[calendar + _PASSED]) - p.pool[calendar + _UNPLACED] + promised_ns
    return idle_for(p, calendar, now, left) + p.pool[f["program_took"] + die] if left > 0 else now


@kernel
def program(p: Plant, station: int, flash: int, now: int, die: int) -> int:
    """Plan the program of the units that are gathered, and the collection that they cause; returns when it ends."""
    f = p.flashes[flash]
    units = f["filled_units"]
    program_free = f["program_free"] + die
    start = max(f["filled_ns"], p.pool[program_free], p.pool[f["read_free"] + die])
    soon = start <= now + f["program_ns"]
    calendar = f["calendars"] + die % f["channels"] * ENTRIES
    ready = start + f["patched_units"] * f["patch_ns"]
    length_ns = units * f["unit_channel_ns"]
    spare = promised = 0
    if soon:
        at = _overtake(p, flash, die, now, ready, length_ns)
    else:  # reads do not see it: nobody knows yet what lies between
        passed = promise(p, calendar, now, length_ns)
        at = max(passed, ready + length_ns)
        spare = at - passed
        promised = p.pool[calendar + _UNPLACED]
    end = at + f["program_ns"]
    into_registers(p, flash, die, NEVER, (1 << f["planes"]) - 1)
    if f["slc_units"] > 0:
        take_room(p, flash, die, units)
        choose_cells(p, flash)
    p.pool[program_free] = _collect(p, station, now, die, soon, end, units)
    if not soon:
        passed = p.pool[f["passed"] + die] = p.pool[calendar + _PASSED]
        p.pool[f["programmed_after"] + die] = end - spare - passed
        p.pool[f["free_after"] + die] = max(p.pool[program_free] - spare - passed, 0)
    for number in range(f["units_buffered"] - units, f["units_buffered"]):
        if f["buffer_units"] > 0:
            place = f["buffer_free"] + number % f["buffer_units"] * UNIT_ENTRIES
            p.pool[place] = end
            p.pool[place + _PROMISED] = promised
            p.pool[place + _DIE] = die
    f["last_program_ns"] = max(f["last_program_ns"], end)
    f["programs"] += 1
    f["filled_units"] = 0
    f["patched_units"] = 0
    p.work_ns[station, CHANNELS] += units * f["unit_channel_ns"]
    p.work_ns[station, DIES] += p.pool[program_free] - start
    return end


@kernel
def _collect(p: Plant, station: int, now: int, die: int, soon: bool, at_ns: int, units: int) -> int:
    """When a die that is free at a time has done the copies and erases that *units* written cause; the copies pass the
    channel, out and in.
    """
    flash = p.stations[station]["row"]
    f = p.flashes[flash]
    copies_owed = f["copies_owed"] + die
    erases_owed = f["erases_owed"] + die
    p.pool[copies_owed] += units * f["copies_q16"]
    p.pool[erases_owed] += units * f["erases_q32"]
    copies = p.pool[copies_owed] >> 16
    erases = p.pool[erases_owed] >> 32
    p.pool[copies_owed] &= 0xFFFF
    p.pool[erases_owed] &= 0xFFFF_FFFF
    unit_ns = f["unit_channel_ns"]
    done = at_ns + copies * f["copy_ns"] + erases * f["erase_ns"]
    calendar = f["calendars"] + die % f["channels"] * ENTRIES
    if soon and copies > 0:
        done = max(done, idle_for(p, calendar, at_ns, 2 * copies * unit_ns))
    elif copies > 0:
        done = max(done, promise(p, calendar, now, 2 * copies * unit_ns))
    copied = 0
    while soon and copied < copies:  # a page at a time, out of its block and into another
        part = min(copies - copied, f["page_units"])
        _overtake(p, flash, die, now, at_ns + copied * f["copy_ns"], part * unit_ns)
        copied += part
        _overtake(p, flash, die, now, at_ns + copied * f["copy_ns"], part * unit_ns)
    p.work_ns[station, CHANNELS] += 2 * copies * unit_ns
    return int(done)
