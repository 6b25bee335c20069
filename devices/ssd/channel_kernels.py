"""What a channel has been promised to: a short calendar of busy times, in order and apart.

A transfer takes all time that is left from when its data are there, in pieces if it must (a controller can pause a
transfer and go on with it), so one that was planned early and is ready late does not keep others from the bus, and no
gap is lost.
"""

from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel

#: Busy times that a calendar holds; when there are more, the two that lie farthest ahead become one, as long as both.
_MOST = 96
#: Entries of a calendar in the pool: how many times there are, then begin and end of each.
ENTRIES = 1 + 2 * _MOST


@kernel
def idle_from(p: Plant, calendar: int, at_ns: int) -> int:
    """When the channel is idle first, at *at_ns* or later."""
    place = calendar + 1
    end = place + 2 * p.pool[calendar]
    while place < end and p.pool[place] <= at_ns:
        at_ns = max(at_ns, p.pool[place + 1])
        place += 2
    return at_ns


@kernel
def reserve(p: Plant, calendar: int, now: int, at_ns: int, length_ns: int) -> int:
    """Promise what is left of the channel from *at_ns* on, *length_ns* of it; returns when that ends."""
    end = _forget(p, calendar, now)
    place = calendar + 1
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
    p.pool[calendar] = (end - calendar) // 2
    return done


@kernel
def _forget(p: Plant, calendar: int, now: int) -> int:
    """Drop what is over and make room for one more; returns where the calendar ends then."""
    first = calendar + 1
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
