"""Rows out of the texts that tables are saved as: CSV, JSON, and what psql prints (aligned, expanded, unaligned).

Rows are read one after the other, so that memory does not grow with their number. psql's own forms cannot tell an empty
text from null, which is what is taken, nor spaces at the ends of a value from those that fill a column.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

from tiersim.traces.readers.views import NumberedRow, Row, TextTable


class _Lines:
    """The lines of a text, one after the other, without their ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.number = 0  # of the line read last, from 1

    def next(self) -> str | None:
        """Return the next line; None at the end."""
        if self.place >= len(self.text):
            return None
        end = self.text.find("\n", self.place)
        end = len(self.text) if end < 0 else end
        line = self.text[self.place : end]
        self.place = end + 1
        self.number += 1
        return line.removesuffix("\r")

    def move_to(self, place: int) -> None:
        """Go on behind the line that *place* is in."""
        end = self.text.find("\n", place)
        end = len(self.text) if end < 0 else end
        self.number += self.text.count("\n", self.place, end + 1)
        self.place = max(self.place, end + 1)


_LONGEST_NAME = 64
_NAME = re.compile(r'[^\W\d][\w$]*|\?column\?|"[^"]*"')
#: psql's line style "unicode", and the signs of "ascii" that stand in the same places.
_UNICODE_SIGNS = ("──", "↵\n")
_ASCII = str.maketrans("│─┼┌┬┐├┤└┴┘↵…", "|-+++++++++" + "+.")
_DELIMITERS = ",;\t|"
_RULE = re.compile(r"\+?-+(?:[+ ]-+)*\+? *")
_RECORD = re.compile(r"\+?-\[ \w+ \d+ \][-+]*|\* \w+ \d+ *")
_FOOTER = re.compile(r"\(\d+ [^()]*\)")


def tables_of(text: str) -> Iterator[TextTable]:
    """Yield the tables of a text in turn; other lines before and between them are passed over."""
    for table in _json_tables(text) if text.lstrip()[:1] in ("{", "[") else _printed_tables(text):
        yield table
        for _ in table.rows:  # those that nobody asked for
            pass


def _printed_tables(text: str) -> Iterator[TextTable]:
    lines = _Lines(text.translate(_ASCII) if any(sign in text for sign in _UNICODE_SIGNS) else text)
    above = ""
    while (line := lines.next()) is not None:
        found = _table(lines, line, above)
        if found is not None:
            yield found
        above = line


def _table(lines: _Lines, line: str, above: str) -> TextTable | None:
    """Return the table that *line* begins, None if it begins none."""
    if _RECORD.fullmatch(line):
        return _expanded(lines, line)
    if _RULE.fullmatch(line):
        framed = line.startswith("+")
        if above.strip() and framed == above.startswith("|"):
            return _aligned(lines, above, line)
        return None
    for delimiter in _DELIMITERS:
        names = line.split(delimiter)
        if len(names) > 1 and all(_NAME.fullmatch(name) for name in names):
            columns = tuple(name.strip('"').lower() for name in names)
            rows = _unaligned(lines, columns) if delimiter == "|" else _delimited(lines, columns, delimiter)
            return TextTable(columns, rows, {})
    return None


def _row(line: int, columns: Sequence[str], values: Sequence[str | None]) -> NumberedRow:
    row = dict(zip(columns, values, strict=True)) if len(values) == len(columns) else None
    return NumberedRow(line, row)


# CSV: an empty value is null, an empty one in quotes is the empty text.


class _Csv(NamedTuple):
    """How the values of a row are written."""

    delimiter: str
    bare: re.Pattern[str]  # values without quotes, each with the delimiter behind it
    last: re.Pattern[str]  # one without it


_IN_QUOTES = re.compile(r'"((?:[^"]++|"")*+)"')


def _delimited(lines: _Lines, columns: Sequence[str], delimiter: str) -> Iterator[NumberedRow]:
    inside = rf'[^{delimiter}"\r\n]*+'
    shape = _Csv(delimiter, re.compile(f"(?:{inside}{delimiter})++"), re.compile(inside))
    while True:
        start, number = lines.place, lines.number + 1
        line = lines.next()
        if line is None:
            return
        if '"' in line:
            values = _quoted(lines, start, shape)
            yield NumberedRow(number, None) if values is None else _row(number, columns, values)
        elif line:
            yield _row(number, columns, [value or None for value in line.split(delimiter)])


def _quoted(lines: _Lines, start: int, shape: _Csv) -> list[str | None] | None:
    """Return the values of a row with quotes that begins at *start* and may go on over several lines; None if it is
    none.
    """
    values: list[str | None] = []
    while True:
        if found := shape.bare.match(lines.text, start):
            values += [value or None for value in found[0][:-1].split(shape.delimiter)]
            start = found.end()
        if found := _IN_QUOTES.match(lines.text, start):
            values.append(found[1].replace('""', '"'))
        elif found := shape.last.match(lines.text, start):
            values.append(found[0] or None)
        assert found is not None  # the last takes nothing, too
        end = lines.text[found.end() : found.end() + 1]
        if end != shape.delimiter:
            break
        start = found.end() + 1
    if end not in ("", "\n", "\r"):
        return None
    if found.end() >= lines.place:
        lines.move_to(found.end())
    return values


# psql -A: nothing is quoted, so that a row goes on over lines until it has enough values.


def _unaligned(lines: _Lines, columns: Sequence[str]) -> Iterator[NumberedRow]:
    parts: list[str] = []
    first = bars = 0
    while (line := lines.next()) is not None and not _FOOTER.fullmatch(line):
        if bars + line.count("|") >= len(columns) and parts:  # what was begun does not end
            yield NumberedRow(first, None)
            parts, bars = [], 0
        if not parts:
            first = lines.number
            if not line:
                continue
        parts.append(line)
        bars += line.count("|")
        if bars >= len(columns) - 1:
            values = [value or None for value in "\n".join(parts).split("|")]
            # lines in the first value are the end of the last value above: which, nobody can tell
            yield NumberedRow(first, None) if "\n" in (values[0] or "") else _row(first, columns, values)
            parts, bars = [], 0
    if parts:
        yield NumberedRow(first, None)


# psql's aligned form: the line below the names shows where each column begins and ends.


class _Span(NamedTuple):
    """Where a column stands: its value, and behind it the sign that the value goes on in the next line."""

    start: int
    sign: int


def _aligned(lines: _Lines, heading: str, rule: str) -> TextTable:
    bare = " " in rule.strip()  # border 0: columns with nothing between them but the sign's place
    spans = [
        _Span(found.start(), found.end()) if bare else _Span(found.start() + 1, found.end() - 1)
        for found in re.finditer("-+", rule)
    ]
    columns = tuple(_cell(heading, span).strip().lower() for span in spans)
    return TextTable(columns, _aligned_rows(lines, columns, spans), {})


def _aligned_rows(lines: _Lines, columns: Sequence[str], spans: Sequence[_Span]) -> Iterator[NumberedRow]:
    parts: list[list[str]] = []  # of each value
    signs = [""] * len(spans)
    first = 0
    while (line := lines.next()) is not None:
        goes_on = any(signs)
        if not goes_on and (not line.strip() or _FOOTER.fullmatch(line) or _RULE.fullmatch(line)):
            break
        shown = line if line.isascii() else _by_place(line)
        cells = [_cell(shown, span) for span in spans]
        if goes_on:
            for value, sign, cell in zip(parts, signs, cells, strict=True):
                if sign:
                    value += ["\n" if sign == "+" else "", cell.rstrip(" ")]
        else:
            if parts:
                yield _row(first, columns, ["".join(value) or None for value in parts])
            first, parts = lines.number, [[cell.strip(" ")] for cell in cells]
        signs = [_sign(shown, span) for span in spans]
    if parts:
        yield _row(first, columns, ["".join(value) or None for value in parts])


def _cell(shown: str | Sequence[str], span: _Span) -> str:
    return "".join(shown[span.start : span.sign])


def _sign(shown: str | Sequence[str], span: _Span) -> str:
    sign = "".join(shown[span.sign : span.sign + 1])
    return sign if sign in ("+", ".") else ""


def _by_place(line: str) -> list[str]:
    """Return what stands in each place of a line on the screen: wide characters take two, marks on others none."""
    places: list[str] = []
    for character in line:
        if combining(character) and places:
            places[-1] += character
        else:
            places.append(character)
            if east_asian_width(character) in "WF":
                places.append("")
    return places


# psql's expanded form: a line a column; names are padded to the longest, a value may go on below itself.

_FRAMED = re.compile(r"\| ([^\s|]*) *\|[ .](.*)\|")
_BARRED = re.compile(r"([^\s|]*) *\|[ .]?(.*)")
_BARE = re.compile(r"\S+ +")


def _expanded(lines: _Lines, heading: str) -> TextTable:
    pattern = _FRAMED if heading.startswith("+") else _BARRED
    if heading.startswith("*"):  # border 0: values begin where the first one does
        name = _BARE.match(lines.text, lines.place)
        width = name.end() - name.start() if name else 1
        pattern = re.compile(rf"(\S*) *(?<=^.{{{min(width, _LONGEST_NAME)}}})(.*)")
    rows = _expanded_rows(lines, pattern)
    first = next(rows, NumberedRow(lines.number, None))
    return TextTable(tuple(first.row or ()), chain([first], rows), {})


def _expanded_rows(lines: _Lines, pattern: re.Pattern[str]) -> Iterator[NumberedRow]:
    number, values, name = lines.number, dict[str, list[str]](), ""
    damaged = False
    while (line := lines.next()) is not None and line.strip() and not _RULE.fullmatch(line):
        if _RECORD.fullmatch(line):
            yield NumberedRow(number, None if damaged else _joined(values))
            number, values, name, damaged = lines.number, {}, "", False
            continue
        found = pattern.fullmatch(line)
        if found is None or not (found[1] or name):
            damaged = True
        elif found[1]:
            name = found[1].lower()
            values[name] = [found[2].rstrip(" ")]
        else:
            values[name].append(found[2].rstrip(" "))
    yield NumberedRow(number, None if damaged or not values else _joined(values))


def _joined(values: dict[str, list[str]]) -> Row:
    """Put values together; each line but the last of a value ends with a sign that it goes on."""
    return {
        name: "".join(line[:-1].rstrip(" ") + ("\n" if line.endswith("+") else "") for line in begun) + end or None
        for name, (*begun, end) in values.items()
    }


# JSON: rows in a list, one a line, or lists of rows by the name of the view, with the time beside them.

_BETWEEN = re.compile(r"[\s,\[\]]*+")


def _json_tables(text: str) -> Iterator[TextTable]:
    objects = _objects(text)
    for line, value in objects:
        if value is not None and _is_document(value):
            yield from _tables_in(line, value, {})
        elif value is not None:
            columns = tuple(name.lower() for name in value)
            yield TextTable(columns, _json_rows(chain([(line, value)], objects)), {})
        else:
            yield TextTable((), iter([NumberedRow(line, None)]), {})


def _json_rows(objects: Iterable[tuple[int, dict[str, Any] | None]]) -> Iterator[NumberedRow]:
    for line, value in objects:
        yield NumberedRow(line, None if value is None else _json_row(value))


def _is_document(value: dict[str, Any]) -> bool:
    return any(isinstance(inner, dict) or _is_rows(inner) for inner in value.values())


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _tables_in(line: int, value: dict[str, Any], beside: Row) -> Iterator[TextTable]:
    """Yield the tables in a document: lists of rows and single rows, at any depth, with what stands beside them."""
    beside = beside | _json_row({name: inner for name, inner in value.items() if not isinstance(inner, dict | list)})
    for inner in value.values():
        if isinstance(inner, dict) and _is_document(inner):
            yield from _tables_in(line, inner, beside)
        elif isinstance(inner, dict) or _is_rows(inner):
            rows = [inner] if isinstance(inner, dict) else inner
            columns = tuple(name.lower() for name in rows[0])
            yield TextTable(columns, (NumberedRow(line, _json_row(row)) for row in rows), beside)


def _json_row(value: dict[str, Any]) -> Row:
    return {name.lower(): _json_text(inner) for name, inner in value.items()}


def _json_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    return json.dumps(value)


def _objects(text: str) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the objects of a text with their lines, None for one that cannot be read: the rest of its line is passed
    over.
    """
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    place, line, seen = 0, 1, 0
    while True:
        between = _BETWEEN.match(text, place)
        assert between is not None  # it takes nothing, too
        place = between.end()
        line, seen = line + text.count("\n", seen, place), place
        if place == len(text):
            return
        try:
            if text[place] != "{":
                raise ValueError
            value, place = decoder.raw_decode(text, place)
        except RecursionError:  # nobody's rows are so deep, and each line would be tried as long
            yield line, None
            return
        except ValueError:
            value = None
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        yield line, value
