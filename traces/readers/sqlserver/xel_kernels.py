"""The scan of ``.xel`` files, the binary form of Extended Events: blocks of records in, wanted fields of events out.

Behind 512 bytes a file is a list of blocks: ``u32 0, u32 partition, u32 buffer, u16 0x000A, u16 kind (1 dictionary, 0
events), u32 size, u16 0, u16 header bytes, u32 used``, little-endian. A record is
``u8 package, u16 event, u8 0, u8 mark, 3 bytes, u32 0, u64 ticks, u32 bytes``, its data, its actions as
``u8 package, u16 action, u8 0x10, u32 bytes`` and value each, and eight bytes that close it. Where fields lie in the
data is told by the dictionary. Found in two files and told by public readers of the format; Microsoft does not document
it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.traces.readers.sqlserver.trc_kernels import MISSING

Bytes = NDArray[np.uint8]
Table = NDArray[np.int64]

EVENTS, DICTIONARY = 0, 1
BLOCK_HEADER_BYTES = 0x4C
_VERSION = 0x000A
_SECTOR_BYTES = 512
_RECORD_BYTES, _ACTION_BYTES, _CLOSING_BYTES = 24, 8, 8
#: Of the mark of a record; its other bits, and the three bytes behind it, are whatever was in memory.
_RECORD_MARK, _MARK_BITS = 0x0A, 0x3F
_ACTION, _CLOSING = 0x10, 0x60
#: An event has each action once.
_MOST_ACTIONS = 256
#: Larger blocks are damage: buffers are parts of a session's memory, megabytes at most times.
MOST_BLOCK_BYTES = 64 << 20

#: How a field or action is read: 1 to 8 bytes as a number, the same below 0 as one with a sign, or as place << 32 |
#: length.
PLACE = 16

#: What the scan counts.
LOST_BYTES, DAMAGED_PLACES, RECORDS, UNKNOWN_EVENTS = range(4)
SCAN_COUNTS = 4

#: The first columns of a row: the place of the event among the known ones, and its ticks.
KNOWN, TICKS = 0, 1
FIRST_FIELD = 2


@kernel(checked=True)
def _number(data: Bytes, at: int, count: int) -> int:
    """Return the number of so many bytes at *at*; MISSING where it does not fit."""
    value = np.int64(0)
    for place in range(count - 1, -1, -1):
        if place == 7 and data[at + 7] > 0x3F:
            return MISSING
        value = value << 8 | np.int64(data[at + place])
    return int(value)


@kernel(checked=True)
def is_block(data: Bytes, at: int, end: int) -> bool:
    """Tell whether the header of a block stands at *at*."""
    if at + BLOCK_HEADER_BYTES > end or data[at + 12] != _VERSION or data[at + 13] != 0 or data[at + 14] > 1:
        return False
    if _number(data, at, 4) != 0 or data[at + 15] != 0 or _number(data, at + 20, 2) != 0:
        return False
    size, header, used = _number(data, at + 16, 4), _number(data, at + 22, 2), _number(data, at + 24, 4)
    return BLOCK_HEADER_BYTES <= header <= _SECTOR_BYTES <= size <= MOST_BLOCK_BYTES and header + used <= size


@kernel(checked=True)
def find_block(data: Bytes, at: int, end: int) -> int:
    """Return the first place from *at* on with the header of a block, or -1."""
    while at + BLOCK_HEADER_BYTES <= end:
        if data[at + 12] == _VERSION and is_block(data, at, end):
            return at
        at += 1
    return -1


@kernel(checked=True)
def block_of(data: Bytes, at: int) -> tuple[int, int, int, int]:
    """Return kind, size, header bytes and used bytes of the block whose header stands at *at*."""
    return int(np.int64(data[at + 14])), _number(data, at + 16, 4), _number(data, at + 22, 2), _number(data, at + 24, 4)


@kernel(checked=True)
def _is_record(data: Bytes, at: int, end: int) -> bool:
    if at + _RECORD_BYTES > end or data[at + 3] != 0:
        return False
    return data[at + 4] & _MARK_BITS == _RECORD_MARK and _number(data, at + 8, 4) == 0


@kernel(checked=True)
def _record_end(data: Bytes, at: int, end: int) -> int:
    """Return where the record at *at* ends, or -1 when it is not whole."""
    if not _is_record(data, at, end):
        return -1
    place = at + _RECORD_BYTES + _number(data, at + 20, 4)
    for _ in range(_MOST_ACTIONS):
        if place + _CLOSING_BYTES > end:
            return -1
        if data[place + 3] != _ACTION:
            return place + _CLOSING_BYTES if data[place + 3] == _CLOSING and _number(data, place + 4, 4) == 0 else -1
        place += _ACTION_BYTES + _number(data, place + 4, 4)
    return -1


@kernel(checked=True)
def _find_record(data: Bytes, at: int, end: int) -> int:
    while at + _RECORD_BYTES <= end:
        if _is_record(data, at, end):
            stop = _record_end(data, at, end)
            if stop == end or (stop > 0 and _is_record(data, stop, end)):
                return at
        at += 1
    return end


@table_set
class WantedEvents(NamedTuple):
    """The wanted events, and where their fields and actions lie."""

    keys: Table  # (events,): package << 16 | event
    fields: Table  # (events, fields, 2): offset and width; width 0: it has none
    action_keys: Table  # (actions,)
    action_fields: Table  # (actions, 2): the field, and the width


@kernel(checked=True)
def scan(
    data: Bytes,
    at: int,
    end: int,
    wanted: WantedEvents,
    values: Table,
    row: int,
    counts: Table,
) -> tuple[int, int]:
    """Read the records of *data* from *at* to *end* into ``values`` from *row* on; return how far, and behind which
    row, it came.

    ``values`` int64[rows, 2 + wanted] gets KNOWN, TICKS and the wanted.fields. Stops when it is full.
    """
    while at < end and row < len(values):
        stop = _record_end(data, at, end)
        if stop < 0:
            following = _find_record(data, at + 1, end)
            counts[LOST_BYTES] += following - at
            counts[DAMAGED_PLACES] += 1
            at = following
            continue
        counts[RECORDS] += 1
        key = _number(data, at + 1, 2) | np.int64(data[at]) << 16
        known = -1
        for place in range(len(wanted.keys)):
            if wanted.keys[place] == key:
                known = place
        if known < 0:
            counts[UNKNOWN_EVENTS] += 1
        else:
            _read_record(data, at, known, wanted, values, row)
            row += 1
        at = stop
    return at, row


@kernel(checked=True)
def _read_record(data: Bytes, at: int, known: int, wanted: WantedEvents, values: Table, row: int) -> None:
    values[row, KNOWN] = known
    values[row, TICKS] = _number(data, at + 12, 8)
    first, length = at + _RECORD_BYTES, _number(data, at + 20, 4)
    for field in range(wanted.fields.shape[1]):
        offset, width = wanted.fields[known, field, 0], wanted.fields[known, field, 1]
        values[row, FIRST_FIELD + field] = MISSING
        if width == PLACE and offset + 8 <= length:
            inside, count = _number(data, first + offset, 4), _number(data, first + offset + 4, 4)
            if inside + count <= length:
                values[row, FIRST_FIELD + field] = first + inside << 32 | count
        elif width != 0 and width != PLACE and offset + abs(width) <= length:
            values[row, FIRST_FIELD + field] = _signed(data, first + offset, width)
    place = first + length
    while data[place + 3] == _ACTION:
        key = _number(data, place + 1, 2) | np.int64(data[place]) << 16
        count = _number(data, place + 4, 4)
        for action in range(len(wanted.action_keys)):
            if wanted.action_keys[action] == key:
                field, width = wanted.action_fields[action, 0], wanted.action_fields[action, 1]
                if values[row, FIRST_FIELD + field] == MISSING:
                    if width == PLACE:
                        values[row, FIRST_FIELD + field] = place + _ACTION_BYTES << 32 | count
                    elif abs(width) == count:
                        values[row, FIRST_FIELD + field] = _signed(data, place + _ACTION_BYTES, width)
        place += _ACTION_BYTES + count


@kernel(checked=True)
def _signed(data: Bytes, at: int, width: int) -> int:
    """Return a number of so many bytes, with a sign where *width* is below 0."""
    if width > 0:
        return _number(data, at, int(width))
    count = -int(width)
    if data[at + count - 1] < 0x80:
        return _number(data, at, count)
    value = np.int64(-1)
    for place in range(count - 1, -1, -1):
        value = (value << 8) + np.int64(data[at + place])
    return int(value)
