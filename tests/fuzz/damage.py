"""Damage that files come to, and hostile contents: in bytes, in binary numbers, in numbers, fields, lines and words of
texts.
"""

import bz2
import gzip
import lzma
import random
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

#: A file that has grown beyond this is cut, so that executions stay short.
LONGEST = 1 << 13

# fmt: off
_TOKENS = (
    b"", b"\0", b"\n", b"\r\n", b"\t", b",", b'"', b'""', b"'", b"|", b";", b"=", b"{", b"}", b"[", b"]",
    b":", b"\\N", b"\\", b"#",
    b"NaN", b"-Infinity", b"null", b"NULL", b"true", b"(0 rows)\n", b" (3 rows affected)\n",
    b" ms  plan:\n", b"LOG:  duration: ",
    b"-[ RECORD 1 ]-\n", b"----+----\n", b"----,----\n", b"\x1f\x8b", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80",
    b"\xed\xa0\x80",
    b"2026-02-30 25:61:61", b"1970-01-01 00:00:00+00", b"9999-12-31 23:59:59", b"0001-01-01", b"12/31/2026",
    b"12:00:01 AM",
    b"2026-11-22T07:00:00.88+99:99", b"&#0;", b"&b;", b"<![CDATA[", b"]]>", b"<!--", b"<!DOCTYPE x>",
    b"<?xml?>", b"<a>" * 80,
    b"exec sp_executesql N'", b"sp_execute 1", b"A" * 300, b"(" * 200, b"[" * 1200, b'{"a":' * 100,
    b"-" * 80, b"\xd9\xa3", b"\xc2\xb2",
)
_NUMBERS = (
    b"0", b"-1", b"1", b"7", b"255", b"65535", b"65536", b"2147483647", b"2147483648", b"4294967295", b"4294967296",
    b"9007199254740993", b"1152921504606846976", b"4611686018427387904", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808", b"-9223372036854775809", b"18446744073709551615",
    b"99999999999999999999999999", b"1e18", b"1e999",
    b"-1e999", b"1e-999", b"0.0000000001", b"1.5", b"1,5", b"1_000", b"0x7fffffff", b"007", b"1" * 400, b"1e400000000",
)
# fmt: on
_INTEGERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
_LARGE = (1 << 32, 1 << 60, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_WIDTHS = (1, 2, 2, 4, 4, 8)
_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(rb"[A-Za-z_][\w.]{2,30}")
_FIELD_ENDS = re.compile(rb'[,;\t| \n"<>=:{}\[\]()]')
_LINE = re.compile(rb"[^\n]*\n?")
_SPANS = (0, 1, 1, 2, 8, 64, 512)


class Drawn(NamedTuple):
    """What damage is drawn from: chance, another file, and words of the format."""

    chance: random.Random
    other: bytes
    words: Sequence[bytes]


def words_of(files: Sequence[bytes]) -> list[bytes]:
    """Return the words in files of a format: names of columns, tags, keys, operations."""
    return sorted({word for data in files for word in _WORD.findall(data)}) or [b"x"]


def damaged(data: bytes, drawn: Drawn) -> bytes:
    """Return *data* with some damage in it; now and then as UTF-16, or packed, and the packed file damaged, too."""
    chance = drawn.chance
    for _ in range(chance.choice((1, 1, 1, 2, 2, 4, 8))):
        data = chance.choice(_KINDS)(data, drawn)
    data = data[:LONGEST]
    packs = chance.randrange(512)
    if packs == 0:
        return b"\xff\xfe" + data.decode("latin-1").encode("utf-16-le")
    if packs <= 3:
        packed = (gzip.compress, bz2.compress, _xz)[packs - 1](data)
        return _bytes_changed(packed, drawn) if chance.randrange(2) else packed
    return data


def _xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


def _place(data: bytes, drawn: Drawn) -> tuple[int, int]:
    start = drawn.chance.randrange(len(data) + 1)
    return start, min(start + drawn.chance.choice(_SPANS), len(data))


def _replaced(data: bytes, drawn: Drawn) -> bytes:
    start, end = _place(data, drawn)
    return data[:start] + drawn.chance.choice(_TOKENS) + data[end:]


def _deleted(data: bytes, drawn: Drawn) -> bytes:
    start, end = _place(data, drawn)
    return data[:start] + data[end:]


def _repeated(data: bytes, drawn: Drawn) -> bytes:
    start, end = _place(data, drawn)
    return data[:start] + data[start:end] * drawn.chance.choice((1, 2, 10)) + data[start:]


def _bytes_changed(data: bytes, drawn: Drawn) -> bytes:
    start, end = _place(data, drawn)
    return data[:start] + drawn.chance.randbytes(end - start) + data[end:]


def _bit_changed(data: bytes, drawn: Drawn) -> bytes:
    if not data:
        return data
    at = drawn.chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << drawn.chance.randrange(8)]) + data[at + 1 :]


def _cut(data: bytes, drawn: Drawn) -> bytes:
    return data[: drawn.chance.randrange(len(data) + 1)]


def _mixed(data: bytes, drawn: Drawn) -> bytes:
    start, end = _place(data, drawn)
    at = drawn.chance.randrange(len(drawn.other) + 1)
    return data[:start] + drawn.other[at : at + drawn.chance.choice((1, 16, 256))] + data[end:]


def _integer(data: bytes, drawn: Drawn) -> bytes:
    """Overwrite a binary number, or change it by a little."""
    chance = drawn.chance
    width = chance.choice(_WIDTHS)
    if len(data) < width:
        return data
    at = chance.randrange(len(data) - width + 1)
    order: Literal["little", "big"] = "little" if chance.randrange(4) else "big"
    if chance.randrange(2):
        value = chance.choice(_INTEGERS + _LARGE if width == 8 else _INTEGERS)
    else:
        value = int.from_bytes(data[at : at + width], order) + chance.randrange(-16, 17)
    return data[:at] + (value % (1 << 8 * width)).to_bytes(width, order) + data[at + width :]


def _number(data: bytes, drawn: Drawn) -> bytes:
    """Replace a number of a text, or change it by a little."""
    found = _NUMBER.search(data, drawn.chance.randrange(len(data) + 1))
    if found is None:
        return _integer(data, drawn)
    if drawn.chance.randrange(3) or len(found[0]) > 30:
        new = drawn.chance.choice(_NUMBERS)
    else:
        new = str(int(found[0]) + drawn.chance.randrange(-2, 3)).encode()
    return data[: found.start()] + new + data[found.end() :]


def _field(data: bytes, drawn: Drawn) -> bytes:
    """Empty, double, move or replace what stands between two marks."""
    chance = drawn.chance
    first = _FIELD_ENDS.search(data, chance.randrange(len(data) + 1))
    if first is None:
        return data
    following = _FIELD_ENDS.search(data, first.end())
    end = len(data) if following is None else following.start()
    field = data[first.end() : end]
    kind = chance.randrange(5)
    if kind == 0:
        return data[: first.end()] + data[end:]
    if kind == 1:
        return data[:end] + first[0] + field + data[end:]
    if kind == 2:
        at = chance.randrange(len(data) + 1)
        return data[:at] + first[0] + field + data[at:]
    if kind == 3:
        return data[: first.end()] + chance.choice(_TOKENS) + data[end:]
    return data[: first.start()] + data[end:]  # with its mark


def _lines(data: bytes, drawn: Drawn) -> bytes:
    """Delete, double or exchange lines."""
    lines = _LINE.findall(data)
    if len(lines) < 2:
        return data
    one, other = drawn.chance.randrange(len(lines)), drawn.chance.randrange(len(lines))
    kind = drawn.chance.randrange(3)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _word(data: bytes, drawn: Drawn) -> bytes:
    """Put a word of the format where another stands, or anywhere."""
    word = drawn.chance.choice(drawn.words)
    at = drawn.chance.randrange(len(data) + 1)
    found = _WORD.search(data, at)
    if found is None:
        return data[:at] + word + data[at:]
    return data[: found.start()] + word + data[found.end() :]


_KINDS: tuple[Callable[[bytes, Drawn], bytes], ...] = (
    _replaced,
    _deleted,
    _repeated,
    _bytes_changed,
    _bit_changed,
    _cut,
    _mixed,
    _integer,
    _integer,
    _number,
    _number,
    _field,
    _field,
    _lines,
    _word,
)
