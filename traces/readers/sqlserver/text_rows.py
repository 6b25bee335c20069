"""Rows out of the texts that results are saved as: SSMS's "Save Results As", ``sqlcmd -s``, ``Export-Csv``, bcp with a
heading.

They differ in the delimiter, in quotes (SSMS has none unless it is told to, sqlcmd has none at all), in the word for
null, in blanks that fill columns, and in lines that are no rows: ``#TYPE``, rules of dashes, ``(12 rows affected)``.
Rows are read one after the other, so that memory does not grow with their number.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tiersim.traces.readers.recorded import LONGEST_LINE
from tiersim.traces.readers.views import NumberedRow, TextTable

_DELIMITERS = ",;\t|"
#: A row that is longer has a quote that is never closed, and is given up.
LONGEST_VALUE = 1 << 20
#: What stands where there is no value.
NULLS = frozenset(("", "NULL"))
#: A longer line is no heading.
_LONGEST_HEADING = 1 << 14
_FOOTER = re.compile(r"\(\d[^()]*\)")
_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,40},\d{1,20}(?:[eE][+-]?\d{1,3})?", re.ASCII)
#: Columns whose texts may hold delimiters; where such a column is the last, what is too much of a row is part of it.
TEXT_COLUMNS = frozenset(
    ("text", "query_text", "statement_text", "sql_text", "query_sql_text", "textdata", "event_data")
)


class RawTable(NamedTuple):
    """A table of a text, its values as they are written. Its rows have to be read before the next
    table is asked for.
    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[int, list[str] | None]]  # the line that a row begins in; None for one that cannot be told


def tables_of(lines: Iterator[str], is_known: Callable[[tuple[str, ...]], bool]) -> Iterator[TextTable]:
    """Yield the tables that have columns for which *is_known* is true, in turn; other lines are passed over.

    *lines* are without their ends. The rows of a table have to be read before the next table is asked for.
    """
    for table in raw_tables_of(lines, is_known):
        yield TextTable(table.columns, _read_rows(table), {})


def _read_rows(table: RawTable) -> Iterator[NumberedRow]:
    for line, values in table.rows:
        row = None if values is None else dict(zip(table.columns, map(plain, values), strict=True))
        yield NumberedRow(line, row)


def raw_tables_of(lines: Iterator[str], is_known: Callable[[tuple[str, ...]], bool]) -> Iterator[RawTable]:
    """Yield tables as :func:`tables_of` does, their values as they are written, see :func:`plain`."""
    numbered = _Lines(lines)
    while (line := next(numbered, None)) is not None:
        found = _heading(line, is_known)
        if found is not None:
            delimiter, columns = found
            table = RawTable(columns, _rows(numbered, columns, delimiter, line))
            yield table
            for _ in table.rows:  # those that nobody asked for
                pass


def _heading(line: str, is_known: Callable[[tuple[str, ...]], bool]) -> tuple[str, tuple[str, ...]] | None:
    """Return the delimiter and the columns of a line that is a known heading."""
    if len(line) > _LONGEST_HEADING:
        return None
    for delimiter in _DELIMITERS:
        if delimiter in line:
            columns = tuple(column_name(name) for name in line.rstrip("\r\n").split(delimiter))
            if is_known(columns):
                return delimiter, columns
    columns = (column_name(line),)
    return (",", columns) if is_known(columns) else None


def column_name(text: str) -> str:
    """Return a heading as columns are named here: ``[Total Reads]`` and ``"total_reads"`` are ``total_reads``."""
    return text.strip().strip('"[]').strip().lower().replace(" ", "_")


class _Lines:
    """Lines with their ends, counted, of which one can be given back."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: str | None = None
        self.number = 0  # of the line read last, from 1

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.number += 1
        if self._again is not None:
            line, self._again = self._again, None
            return line
        return next(self._lines) + "\n"

    def push(self, line: str) -> None:
        self._again = line
        self.number -= 1


def _rows(
    lines: _Lines, columns: Sequence[str], delimiter: str, heading: str
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the rows up to an empty line, a footer, or the same heading again."""
    csv.field_size_limit(LONGEST_VALUE)
    width, first = len(columns), column_name(heading.split(delimiter)[0])
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        start = lines.number + 1
        try:
            values = next(reader, None)
        except csv.Error:  # a value that does not end, or a NUL
            yield start, None
            continue
        if values is None:
            return
        if len(values) < 2:
            if width == 1 and values:
                yield start, values
                continue
            if not values or not values[0].strip() or _FOOTER.fullmatch(values[0].strip()):
                return
        if values[0][:1] == "-" and not any(value.strip("- ") for value in values):
            continue  # sqlcmd's rule below the heading
        if (
            column_name(values[0]) == first
            and len(values) == width
            and tuple(map(column_name, values)) == tuple(columns)
        ):
            lines.push(heading)
            return
        if len(values) > width and columns[-1] in TEXT_COLUMNS:
            values[width - 1 :] = [delimiter.join(values[width - 1 :])]
        yield start, values if len(values) == width else None


def plain(value: str) -> str | None:
    """Return a value without the blanks that fill its column, null for the word; decimals have a point, not a comma."""
    value = value.strip()
    if value in NULLS:
        return None
    return value.replace(",", ".") if "," in value and _DECIMAL_COMMA.fullmatch(value) else value


assert LONGEST_LINE <= LONGEST_VALUE
