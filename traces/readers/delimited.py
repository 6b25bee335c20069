"""Delimited text: a table of columns turns lines into arrays, by pyarrow; where a line is damaged, line by line."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from tiersim.traces.readers.opened import Opened

#: What is parsed at a time, and a line that is longer than any could be.
CHUNK_BYTES = 4 << 20
LONGEST_LINE_BYTES = 1 << 20
#: Text around a damaged line that is parsed line by line.
SLOW_BYTES = 1 << 16
#: What is looked at to tell a format.
HEAD_BYTES = 1 << 16

#: Where an optional column is empty.
MISSING = -(2**63)

WHOLE, HEX, DECIMAL, WORD = "whole", "hex", "decimal", "word"
_WORDS = pa.dictionary(pa.int32(), pa.binary())
_WHOLE = re.compile(rb"-?\d{1,40}|(0[xX][0-9a-fA-F]{1,16})")
_DECIMAL = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?")
_DECIMAL_DIGITS = 38
_BOM = b"\xef\xbb\xbf"


class Field(NamedTuple):
    """One column: what it is called here, how it is written, and what one of its units is (ns or bytes).

    ``whole`` numbers stay in the source's unit; ``decimal`` ones are turned into the unit 1 / *factor* (a power of
    ten), rounded half up. A column without a name is not read.
    """

    name: str = ""
    kind: str = WORD
    factor: int = 1
    optional: bool = False


class Words(NamedTuple):
    """A column of words: for each row the place of its word in a list (one word may stand at several places)."""

    codes: NDArray[np.int32]
    words: list[bytes]

    def map(self, value: Callable[[bytes], int]) -> NDArray[np.int64]:
        """Return *value* of each row's word."""
        return np.array([*map(value, self.words), 0], np.int64)[self.codes]


@dataclass(frozen=True)
class Lines:
    """What was parsed of a piece of text; rows are the lines that could be read."""

    line: NDArray[np.int64]  # its number in the file, from 1
    numbers: dict[str, NDArray[np.int64]]
    words: dict[str, Words]
    damaged: list[int]  # numbers of the lines that could not be read

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.line)


def as_is(text: bytes) -> bytes:
    """Leave the text alone."""
    return text


def without_blanks(text: bytes) -> bytes:
    """Take out blanks and tabs, where they are allowed everywhere and mean nothing."""
    return text.translate(None, b" \t")


def single_blanks(text: bytes) -> bytes:
    """Leave one blank between two words, none around a line, where columns are apart by any number of them."""
    if b"\t" in text or b"  " in text or b"\n " in text or text[:1] == b" " or b" \n" in text or b" \r" in text:
        text = re.sub(rb"[ \t]+", b" ", text)
        text = re.sub(rb"(?m)^ | (?=\r?$)", b"", text)
    return text


def _nothing(_line: bytes) -> bool:
    return False


@dataclass(frozen=True)
class Delimited:
    """How the lines of a format are written.

    *clean* is applied to the text first and must keep its lines; a line that *skips* is true of is a heading or
    comment.
    With *more*, lines may have columns behind those that are known.
    """

    fields: Sequence[Field]
    delimiter: bytes = b","
    decimal_point: bytes = b"."
    quoted: bool = False
    more: bool = False
    clean: Callable[[bytes], bytes] = as_is
    skips: Callable[[bytes], bool] = _nothing
    used: list[int] = field(init=False, default_factory=list)  # places of the columns that are read

    def __post_init__(self) -> None:
        """Find the columns to read."""
        self.used.extend(place for place, column in enumerate(self.fields) if column.name)

    def parse(self, text: bytes, first_line: int) -> Iterator[Lines]:
        """Parse whole lines, the first of which has the number *first_line*."""
        yield from self._parse(self.clean(text), first_line)

    def _parse(self, text: bytes, first_line: int) -> Iterator[Lines]:
        while text and self.skips(text[: _end_of_line(text)]):
            text = text[_end_of_line(text) + 1 :]
            first_line += 1
        lines = self._at_once(text, first_line)
        if lines is not None:
            yield lines
            return
        half = text.find(b"\n", len(text) // 2) + 1
        if half in (0, len(text)) or len(text) < SLOW_BYTES:
            yield self._one_by_one(text, first_line)
            return
        yield from self._parse(text[:half], first_line)
        yield from self._parse(text[half:], first_line + text.count(b"\n", 0, half))

    def parse_slowly(self, text: bytes) -> Lines:
        """Do what :meth:`parse` does, line by line: the one meaning of a line."""
        return self._one_by_one(self.clean(text), 1)

    def _at_once(self, text: bytes, first_line: int) -> Lines | None:
        """Parse lines that are all well; None when one is not."""
        columns = text[: _end_of_line(text)].count(self.delimiter) + 1
        if not text or columns < len(self.fields) or (columns > len(self.fields) and not self.more):
            return None
        names = [str(place) for place in range(columns)]
        used = [names[place] for place in self.used]
        types = {name: _arrow_type(self.fields[int(name)]) for name in used}
        try:
            table = pa_csv.read_csv(
                pa.py_buffer(text),
                pa_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
                pa_csv.ParseOptions(
                    delimiter=self.delimiter.decode(),
                    quote_char='"' if self.quoted else False,
                    double_quote=self.quoted,
                ),
                pa_csv.ConvertOptions(
                    check_utf8=False,
                    column_types=types,
                    include_columns=used,
                    null_values=[""],
                    decimal_point=self.decimal_point.decode(),
                ),
            )
        except pa.ArrowException:
            return None
        line = _line_numbers(text, first_line, table.num_rows)
        if line is None:
            return None
        numbers: dict[str, NDArray[np.int64]] = {}
        words: dict[str, Words] = {}
        for place in self.used:
            column = self.fields[place]
            values = table.column(str(place)).combine_chunks()
            if isinstance(values, pa.ChunkedArray):
                return None
            if column.kind == WORD:
                words[column.name] = Words(
                    np.asarray(values.indices), [word.strip() for word in values.dictionary.to_pylist()]
                )
                continue
            found = _integers(values, column)
            if found is None:
                return None
            numbers[column.name] = found
        return Lines(line, numbers, words, [])

    def _one_by_one(self, text: bytes, first_line: int) -> Lines:
        rows: list[list[Any]] = []
        line_numbers, damaged = [], []
        for number, line in enumerate(text.split(b"\n"), first_line):
            line = line.strip(b"\r")
            if not line.strip() or self.skips(line):
                continue
            try:
                rows.append(self._values(line))
                line_numbers.append(number)
            except (ValueError, InvalidOperation, csv.Error):
                damaged.append(number)
        numbers, words = {}, {}
        for place, name in enumerate(self.fields[used].name for used in self.used):
            found = [row[place] for row in rows]
            if self.fields[self.used[place]].kind == WORD:
                distinct = list(dict.fromkeys(found))
                codes = {word: code for code, word in enumerate(distinct)}
                words[name] = Words(np.array([codes[word] for word in found], np.int32), distinct)
            else:
                numbers[name] = np.array(found, np.int64)
        return Lines(np.array(line_numbers, np.int64), numbers, words, damaged)

    def _values(self, line: bytes) -> list[Any]:
        if self.quoted and b'"' in line:
            texts = next(csv.reader([line.decode("latin-1")], delimiter=self.delimiter.decode(), strict=True))
            parts = [text.encode("latin-1") for text in texts]
        else:
            parts = line.split(self.delimiter)
        if len(parts) < len(self.fields) or (len(parts) > len(self.fields) and not self.more):
            raise ValueError("the number of columns")
        return [self._value(parts[place].strip(), self.fields[place]) for place in self.used]

    def _value(self, text: bytes, column: Field) -> Any:
        if column.kind == WORD:
            return text
        if not text and column.optional:
            return MISSING
        if column.kind == DECIMAL:
            text = text.replace(self.decimal_point, b".")
            value = Decimal(text.decode()) if _DECIMAL.fullmatch(text) else None
            if value is None or value.adjusted() > _DECIMAL_DIGITS:
                raise ValueError("not a number")
            number = int((value * column.factor).quantize(Decimal(1), ROUND_HALF_UP))
        else:
            match = _WHOLE.fullmatch(text)
            if match is None:
                raise ValueError("not a number")
            number = int(text, 16 if match[1] else 10)
            if match[1] or column.kind == HEX:  # 64 bits, the highest of which is the sign
                number -= (number >> 63 == 1) << 64
        if not -(2**63) < number < 2**63:
            raise ValueError("too large")
        return number


def chunks(source: Opened) -> Iterator[tuple[bytes, int]]:
    """Yield the text of a file as chunks of whole lines, each with the number of its first line.

    The last line may have no end, unless the file ends too early: then it is left out, for its last number may be cut.
    """
    pieces: list[bytes] = []
    size, line = 0, 1
    while piece := source.read():
        pieces.append(piece)
        size += len(piece)
        if size < CHUNK_BYTES:
            continue
        text = b"".join(pieces)
        stop = text.rfind(b"\n") + 1 or (len(text) if len(text) > LONGEST_LINE_BYTES else 0)
        if stop:
            yield _without_bom(text[:stop], line), line
            line += text.count(b"\n", 0, stop)
        pieces, size = [text[stop:]], len(text) - stop
    text = b"".join(pieces)
    if source.damage:
        text = text[: text.rfind(b"\n") + 1]
    if text:
        yield _without_bom(text, line), line


def sniffed_lines(first_bytes: bytes, most: int) -> bytes:
    """Return the first whole lines of what a file begins with, at most so many; less than
    HEAD_BYTES are all of a file.
    """
    lines = _without_bom(first_bytes, 1).split(b"\n")
    if len(first_bytes) >= HEAD_BYTES and len(lines) > 1:
        lines.pop()  # it may go on
    return b"\n".join(lines[:most])


def _without_bom(text: bytes, line: int) -> bytes:
    return text.removeprefix(_BOM) if line == 1 else text


def _end_of_line(text: bytes) -> int:
    end = text.find(b"\n")
    return len(text) if end < 0 else end


def _line_numbers(text: bytes, first_line: int, rows: int) -> NDArray[np.int64] | None:
    if rows == text.count(b"\n") + (not text.endswith(b"\n")):
        return np.arange(first_line, first_line + rows)
    # Blank lines are no rows; anything else that does not match is for the slow way.
    filled = [number for number, line in enumerate(text.split(b"\n"), first_line) if line.strip()]
    return np.array(filled, np.int64) if len(filled) == rows else None


def _arrow_type(column: Field) -> pa.DataType:
    if column.kind == DECIMAL:
        return pa.decimal128(_DECIMAL_DIGITS, len(str(column.factor)) - 1)
    return {WHOLE: pa.int64(), HEX: pa.uint64(), WORD: _WORDS}[column.kind]


def _integers(values: pa.Array, column: Field) -> NDArray[np.int64] | None:
    """Return a column as int64; None where one is missing that must not be, or does not fit."""
    if values.null_count and not column.optional:
        return None
    if column.kind == DECIMAL:
        halves = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
        numbers = halves[0::2].copy()
        missing = np.asarray(values.is_null())
        if ((halves[1::2] != numbers >> 63) & ~missing).any():
            return None
    else:
        missing = np.asarray(values.is_null())
        numbers = np.asarray(values.fill_null(0)).view(np.int64).copy()
    numbers[missing] = MISSING
    return numbers
