"""Damage inside binary files whose lengths stay true, so that what lies behind the lengths is reached."""

import struct
from collections.abc import Callable

from tests.fuzz.damage import Drawn, damaged
from tests.sqlserver_files import xel_block

_TRC_EVENT, _MOST_BYTES = 0xFFF6, 0xFE
_XEL_HEADER_BYTES, _XEL_BLOCK = 0x200, struct.Struct("<IIIHHIHHII")


def _entries(data: bytes, at: int, end: int) -> list[tuple[int, bytes]]:
    """Return the entries of a trace file, id and value, as far as they can be told."""
    found = []
    while at + 3 <= end:
        number, length = struct.unpack_from("<HB", data, at)
        at += 3
        if length == 0xFF:
            if at + 4 > end:
                break
            (length,) = struct.unpack_from("<I", data, at)
            at += 4
        found.append((number, data[at : min(at + length, end)]))
        at += length
    return found


def _entry(number: int, value: bytes) -> bytes:
    if len(value) > _MOST_BYTES:
        return struct.pack("<HBI", number, 0xFF, len(value)) + value
    return struct.pack("<HB", number, len(value)) + value


def _changed(items: list[tuple[int, bytes]], numbers: int, drawn: Drawn) -> None:
    """Delete, double, exchange, renumber or damage one of *items*."""
    chance = drawn.chance
    if not items:
        return
    one, other, kind = chance.randrange(len(items)), chance.randrange(len(items)), chance.randrange(6)
    number, value = items[one]
    if kind == 0:
        del items[one]
    elif kind == 1:
        items.insert(other, items[one])
    elif kind == 2:
        items[one], items[other] = items[other], items[one]
    elif kind == 3:
        items[one] = chance.randrange(numbers), value
    else:
        items[one] = number, damaged(value, drawn)


def trc_changed(data: bytes, drawn: Drawn) -> bytes:
    """Return a trace file with changed events or columns, all lengths true."""
    start = max(int.from_bytes(data[2:4], "little") - 2, 0)
    if data[start : start + 2] == b"\xfa\xfb":
        start += 5
    events: list[tuple[int, bytes]] = []  # class and columns; marks are classes from 1 << 16 on
    at = start
    while at + 9 <= len(data):
        number, length = struct.unpack_from("<HB", data, at)
        if number == _TRC_EVENT and length == 6:
            kind, total = struct.unpack_from("<HI", data, at + 3)
            events.append((kind, data[at + 9 : at + 9 + total]))
            at += 9 + total
        else:
            found = _entries(data, at, len(data))
            if not found:
                break
            events.append((1 << 16 | found[0][0], found[0][1]))
            at += len(_entry(*found[0]))
    if drawn.chance.randrange(2) or not events:
        _changed(events, 256, drawn)
    else:
        place = drawn.chance.randrange(len(events))
        kind, inside = events[place]
        if kind < 1 << 16:
            columns = _entries(inside, 0, len(inside))
            _changed(columns, 70, drawn)
            events[place] = kind, b"".join(_entry(*column) for column in columns)
    written = [data[:start]]
    for kind, inside in events:
        if kind < 1 << 16:
            written.append(struct.pack("<HBHI", _TRC_EVENT, 6, kind, len(inside)) + inside)
        else:
            written.append(_entry(kind & 0xFFFF, inside))
    return b"".join(written)


def xel_changed(data: bytes, drawn: Drawn) -> bytes:
    """Return a file of Extended Events with changed insides of blocks, the lengths of all blocks true."""
    blocks: list[tuple[int, bytes]] = []
    at = _XEL_HEADER_BYTES
    while at + _XEL_BLOCK.size <= len(data):
        _, _, _, _, kind, size, _, header, used, _ = _XEL_BLOCK.unpack_from(data, at)
        blocks.append((kind, data[at + header : at + header + used]))
        at += max(size, _XEL_BLOCK.size)
    _changed(blocks, 3, drawn)
    return data[:_XEL_HEADER_BYTES] + b"".join(
        xel_block(kind, inside, number) for number, (kind, inside) in enumerate(blocks)
    )


#: By format, what changes its files so.
CHANGED: dict[str, Callable[[bytes, Drawn], bytes]] = {"sqlserver-trc": trc_changed, "sqlserver-xel": xel_changed}
