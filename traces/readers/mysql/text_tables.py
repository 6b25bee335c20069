"""Rows out of the texts that tables of MySQL are saved as: tab-separated (``mysql -B``), in a frame (``mysql -t``), one
value a line (``\\G``), CSV and JSON.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from tiersim.traces.readers.postgres.text_tables import tables_of as framed_tables_of
from tiersim.traces.readers.views import NumberedRow, Row, TextTable

_RECORD = re.compile(r"\*{3,} \d{1,9}\. row \*{3,}")
_FIELD = re.compile(r" *(\w{1,64}): ?(.*)", re.ASCII)
_NAME = re.compile(r"[^\W\d]\w{0,63}")
_ESCAPE = re.compile(r"\\([0ntb\\])")
_ESCAPED = {"0": "\0", "n": "\n", "t": "\t", "b": "\b", "\\": "\\"}

_NAMES, _ENOUGH = ("variable_name", "value"), 10

Known = Callable[[tuple[str, ...]], bool]


def tables_of(text: str, is_known: Known) -> Iterator[TextTable]:
    """Yield the tables of a text in turn; of those apart by tabs alone the ones whose columns are known."""
    if _RECORD.search(text, 0, 1 << 12):
        yield from _vertical(text.split("\n"))
    elif text.lstrip()[:1] not in ("{", "[") and "\t" in text[: 1 << 14]:
        yield from _by_tabs(text.split("\n"), is_known)
    else:
        for table in framed_tables_of(text):
            yield TextTable(table.columns, _without_nulls(table.rows), table.beside)


def _without_nulls(rows: Iterator[NumberedRow]) -> Iterator[NumberedRow]:
    for line, row in rows:
        null = None if row is None else {name: None if text == "NULL" else text for name, text in row.items()}
        yield NumberedRow(line, null)


def _by_tabs(lines: Sequence[str], is_known: Known) -> Iterator[TextTable]:
    """Yield tables that follow each other without anything between them: a heading that is known begins the next."""
    starts = []
    for number, line in enumerate(lines):
        names = tuple(line.rstrip("\r").lower().split("\t"))
        if len(names) > 1 and all(map(_NAME.fullmatch, names)) and is_known(names):
            starts.append((number, names))
    if not starts and is_known(_NAMES) and sum(map(_tells_innodb, lines)) > _ENOUGH:  # mysql -N: without a heading
        starts.append((-1, _NAMES))
    ends = [*(number for number, _ in starts), len(lines)]
    for (start, names), end in zip(starts, ends[1:], strict=True):
        yield TextTable(names, _tab_rows(lines, start + 1, end, names), {})


def _tells_innodb(line: str) -> bool:
    return line[:7].lower() == "innodb_" and line.count("\t") == 1


def _tab_rows(lines: Sequence[str], start: int, end: int, names: Sequence[str]) -> Iterator[NumberedRow]:
    for number in range(start, end):
        line = lines[number].removesuffix("\r")
        if not line:
            continue
        values = [_unescaped(value) for value in line.split("\t")]
        row = dict(zip(names, values, strict=True)) if len(values) == len(names) else None
        yield NumberedRow(number + 1, row)


def _unescaped(value: str) -> str | None:
    if value == "NULL":
        return None
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], value) if "\\" in value else value


def _vertical(lines: Sequence[str]) -> Iterator[TextTable]:
    """Yield one table for all rows that have the same columns as the first of them."""
    found: list[NumberedRow] = []
    row: Row | None = None
    last = ""
    for number, line in enumerate(lines, 1):
        if _RECORD.fullmatch(line.strip()):
            row, last = {}, ""
            found.append(NumberedRow(number, row))
        elif row is not None and (field := _FIELD.fullmatch(line.removesuffix("\r"))):
            last = field[1].lower()
            row[last] = None if field[2] == "NULL" else field[2]
        elif row is not None and last and line.strip():
            row[last] = f"{row[last] or ''}\n{line}"
    while found and found[0].row is not None:
        columns = tuple(found[0].row)
        alike = [one for one in found if one.row is not None and tuple(one.row) == columns]
        found = [one for one in found if one.row is not None and tuple(one.row) != columns]
        yield TextTable(columns, iter(alike), {})
