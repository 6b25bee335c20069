"""The scan of ``.trc`` files, the binary form of SQL Trace since SQL Server 2005: bytes in, columns of events out.

Behind the header a file is one flat list of entries ``[id u16][length u8, or 0xFF and u32][value]``, little-endian. An
event is an entry of id 0xFFF6 whose six bytes are its class (u16) and the length of all its columns (u32), which follow
as entries by the numbers of ``events.COLUMN_NAMES``. Found in two files of versions 13 and 14 and told by public
readers of the format; Microsoft does not document it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set

Bytes = NDArray[np.uint8]
Table = NDArray[np.int64]

EVENT = 0xFFF6
_EVENT_BYTES = 9
#: Other entries, of schemas, filters and traces, have ids from here on, and are short.
_FIRST_MARK, _MOST_MARK_BYTES = 0xFB00, 1 << 16
_MOST_COLUMN = 0xFF
#: An event has each column once.
_MOST_COLUMNS = 256
#: No event is longer: texts and plans of some megabytes have been seen.
MOST_EVENT_BYTES = 32 << 20

#: How a column is read: as a number of 4 or 8 bytes, a SYSTEMTIME (ns since 1970, as if in UTC), or place << 32 |
#: length of its bytes.
NUMBER, MOMENT, PLACE = 0, 1, 2
#: Where an event does not have a column, or an impossible value in it.
MISSING = -(1 << 62)

#: What the scan counts.
LOST_BYTES, DAMAGED_PLACES, EVENTS, IN_DAMAGE = range(4)
SCAN_COUNTS = 4

_NS_PER_MS, _MS_PER_DAY = 1_000_000, 86_400_000


@kernel(checked=True)
def _u16(data: Bytes, at: int) -> int:
    return int(np.int64(data[at])) | int(np.int64(data[at + 1])) << 8


@kernel(checked=True)
def _u32(data: Bytes, at: int) -> int:
    return _u16(data, at) | _u16(data, at + 2) << 16


@kernel(checked=True)
def _value(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return where the value of the entry at *at* begins and how long it is; a place behind *end* when not all of its
    head is there.
    """
    if at + 3 > end:
        return end + 1, 0
    length = int(np.int64(data[at + 2]))
    if length < 0xFF:
        return at + 3, length
    if at + 7 > end:
        return end + 1, 0
    return at + 7, _u32(data, at + 3)


@kernel(checked=True)
def _event_end(data: Bytes, at: int, end: int) -> int:
    """Return where the event at *at* ends; -1 when none stands there, 0 when it may go on behind *end*."""
    if at + _EVENT_BYTES > end:
        return 0
    if _u16(data, at) != EVENT or data[at + 2] != 6:
        return -1
    total = _u32(data, at + 5)
    if total > MOST_EVENT_BYTES:
        return -1
    place = at + _EVENT_BYTES
    stop = place + total
    for _ in range(_MOST_COLUMNS):
        if place == stop:
            return stop
        if place + 3 > min(stop, end):
            return -1 if place + 3 > stop else 0
        if not 0 < _u16(data, place) <= _MOST_COLUMN:
            return -1
        start, length = _value(data, place, min(stop, end))
        if start > min(stop, end):
            return -1 if stop <= end else 0
        place = start + length
        if place > stop:
            return -1
        if place > end:
            return 0
    return -1


@kernel(checked=True)
def _find_event(data: Bytes, at: int, end: int, final: bool) -> int:
    """Return the first place from *at* on where a whole event stands; without any, how far there is none for sure."""
    while at + 1 < end:
        if data[at] == 0xF6 and data[at + 1] == 0xFF:
            stop = _event_end(data, at, end)
            if stop > 0 or (stop == 0 and not final):
                return at
        at += 1
    return end if final else max(end - 1, 0)


@table_set
class WantedColumns(NamedTuple):
    """What is read of each column, by its number."""

    slots: Table  # (256,): its place in a row of values; -1: it is not wanted
    kinds: Table  # (256,): NUMBER, MOMENT or PLACE


@kernel(checked=True)
def scan(data: Bytes, at: int, final: bool, wanted: WantedColumns, values: Table, counts: Table) -> tuple[int, int]:
    """Read entries of *data* from *at* on, and return how far they are done with and how many events were read.

    ``values`` int64[n, 1 + wanted] gets the class, then the columns. Stops when it is full, or, unless *final*, before
    an entry that may not be there as a whole. ``counts`` int64[SCAN_COUNTS] goes on from call to call.
    """
    end, row = len(data), 0
    while at < end and row < len(values):
        stop = _event_end(data, at, end)
        if stop > 0:
            _read_event(data, at, stop, wanted, values, row)
            row += 1
            counts[EVENTS] += 1
            counts[IN_DAMAGE] = 0
            at = stop
            continue
        if stop == 0 and not final:
            break
        if stop < 0:
            start, length = _value(data, at, end)
            if _u16(data, at) >= _FIRST_MARK and _u16(data, at) != EVENT and length <= _MOST_MARK_BYTES:
                if start + length <= end:
                    at = start + length
                    counts[IN_DAMAGE] = 0
                    continue
                if not final:
                    break
        counts[DAMAGED_PLACES] += 1 - counts[IN_DAMAGE]
        counts[IN_DAMAGE] = 1
        following = _find_event(data, at + 1, end, final)
        counts[LOST_BYTES] += following - at
        at = following
    return at, row


@kernel(checked=True)
def _read_event(data: Bytes, at: int, stop: int, wanted: WantedColumns, values: Table, row: int) -> None:
    values[row, 0] = _u16(data, at + 3)
    for slot in range(1, values.shape[1]):
        values[row, slot] = MISSING
    place = at + _EVENT_BYTES
    while place < stop:
        column = _u16(data, place)
        start, length = _value(data, place, stop)
        slot = wanted.slots[column]
        if slot >= 0:
            if wanted.kinds[column] == PLACE:
                values[row, slot] = start << 32 | length
            elif wanted.kinds[column] == MOMENT:
                values[row, slot] = _moment(data, start) if length == 16 else MISSING
            elif length == 4:
                number = _u32(data, start)
                values[row, slot] = number - (1 << 32) if number >= 1 << 31 else number
            elif length == 8:
                low, high = _u32(data, start), _u32(data, start + 4)
                values[row, slot] = ((high - (1 << 32) if high >= 1 << 31 else high) << 32) + low
        place = start + length


@kernel(checked=True)
def _moment(data: Bytes, at: int) -> int:
    """Return a SYSTEMTIME as ns since 1970; MISSING when there is no such time after that."""
    year, month, day = _u16(data, at), _u16(data, at + 2), _u16(data, at + 6)
    hour, minute, second, ms = _u16(data, at + 8), _u16(data, at + 10), _u16(data, at + 12), _u16(data, at + 14)
    if not (
        1970 <= year < 2116
        and 1 <= month <= 12
        and 1 <= day <= 31
        and hour < 24
        and minute < 60
        and second < 60
        and ms < 1000
    ):
        return MISSING
    # days since 1970 of the proleptic Gregorian calendar, years beginning in March
    march_year = year - (1 if month < 3 else 0)
    march_day = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = march_year * 365 + march_year // 4 - march_year // 100 + march_year // 400 + march_day - 719_468
    return (days * _MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + ms) * _NS_PER_MS
