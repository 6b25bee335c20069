"""From rows of a server's views to values in the words of :mod:`tiersim.traces.counters`, as a table of views says.

A view is told by its columns, whatever its file is called; columns that the table does not name are ignored.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from tiersim.errors import TraceError
from tiersim.traces.counters import SINCE, SUBJECTS
from tiersim.traces.readers.recorded import Key, Recorded
from tiersim.traces.readers.timestamps import moment_of
from tiersim.traces.statistics import storable

#: One row: text by the name of its column, None for null.
Row = dict[str, str | None]


class NumberedRow(NamedTuple):
    """A row and the line that it begins in; a row that cannot be told is None."""

    line: int
    row: Row | None


class TextTable(NamedTuple):
    """A table of a text. Its rows have to be read before the next table is asked for."""

    columns: tuple[str, ...]
    rows: Iterator[NumberedRow]
    beside: Row  # what JSON says beside the rows, such as the time


class RowPart(NamedTuple):
    """What a row says of one thing.

    ``entity`` names it by columns in braces. ``numbers`` gives for each word where its value comes from: alternatives
    apart by ``|``, the first counts whose columns are there; each is a column, or columns and numbers with ``*`` or
    ``+`` between them. ``texts`` gives a column for each word.
    """

    subject: str
    entity: str
    numbers: Mapping[str, str]
    texts: Mapping[str, str] = {}


class View(NamedTuple):
    """A view: it is the first of VIEWS with all columns of one of ``told_by``."""

    name: str
    told_by: tuple[str, ...]
    parts: tuple[RowPart, ...] = ()  # none: known, and nothing of it is kept
    derive: Callable[[Row], Row] = lambda row: row  # adds columns
    needs: str = ""  # rows without this column's value say nothing
    adds_up: bool = False  # rows of one entity are added up; otherwise one that comes again is not counted
    uses: str = ""  # the only columns that count, of a view with so many rows that most say the same


#: Exact for any sum or product of numbers that can be stored.
_EXACT = Context(prec=120)
_ZERO = Decimal(0)
_NUMBER = re.compile(r"[+-]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_CONSTANT = re.compile(r"\d+(?:\.\d+)?", re.ASCII)  # of a formula
_PLACE = re.compile(r"\{(\w+)\}")
_BEYOND = "is beyond what 64 bits count"
_NO_NUMBERS = ("nan", "inf", "infinity")
#: Words whose texts are moments.
_MOMENTS = (SINCE, "minmax_since", "started_at")

#: Takes a value from a row; None if it has none. Raises ValueError, a phrase that names the column.
_Formula = Callable[[Row], Decimal | None]


@lru_cache(1024)
def _formula(text: str, columns: frozenset[str]) -> _Formula | None:
    """Return the first alternative of a formula, see :class:`RowPart`, whose columns are there."""
    for alternative in text.split("|"):
        products = [[factor.strip() for factor in product.split("*")] for product in alternative.split("+")]
        if all(factor in columns or _CONSTANT.fullmatch(factor) for product in products for factor in product):
            if len(products) == len(products[0]) == 1:
                return partial(_factor, products[0][0])
            return partial(_sum, products)
    return None


def _factor(name: str, row: Row) -> Decimal | None:
    """Return the value of a column, or a number of a formula."""
    text = name if _CONSTANT.fullmatch(name) else row.get(name)
    try:
        return number(text) if text else None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _sum(products: Sequence[Sequence[str]], row: Row) -> Decimal | None:
    """Return a sum of products; None if a column of it is null."""
    total = _ZERO
    for product in products:
        value = Decimal(1)
        for name in product:
            factor = _factor(name, row)
            if factor is None:
                return None
            value = _EXACT.multiply(value, factor)
        total = _EXACT.add(total, value)
    if storable(total) is None:
        raise ValueError(f"{products[0][0]}: {_BEYOND}")
    return total


@lru_cache(1 << 16)
def number(text: str) -> Decimal | None:
    """Return a number, to its last digit; None for NaN and infinity. Raises ValueError, a phrase, for all else."""
    if _NUMBER.fullmatch(text) is None:
        if text.lstrip("+-").lower() in _NO_NUMBERS:
            return None
        raise ValueError(f"{text[:40]!r} is no number")
    value = Decimal(text)
    if storable(value) is None:
        raise ValueError(f"{text[:40]!r} {_BEYOND}")
    return value


def entity_of(part: RowPart, row: Row) -> str:
    """Return the name of what *part* of a row is about; the row has the columns that its view derives."""
    return _PLACE.sub(lambda place: row.get(place[1]) or "", part.entity)


class GatheredRows:
    """Takes rows of a view and holds what they say, by (subject, entity); ``repeated`` counts rows that came again."""

    def __init__(self, view: View, canonical: Callable[[str], str] = str) -> None:
        """Begin with no rows; *canonical* makes one text of what a source prints for one moment."""
        self.values: dict[Key, dict[str, Decimal | str]] = {}
        self.repeated = 0
        self._view = view
        self._canonical = canonical
        self._bound: dict[frozenset[str], list[tuple[RowPart, list[tuple[str, _Formula]]]]] = {}
        self._alike: dict[tuple[str | None, ...], tuple[Row, list[tuple[Key, dict[str, Decimal | str]]]]] = {}

    def add(self, row: Row) -> Row | None:
        """Take in a row and return it with the columns that the view derives; None if it says nothing of anything.

        Raises ValueError, a phrase that names the column, when a value is not what it must be; nothing of the row is
        kept.
        """
        mark = tuple(map(row.get, self._view.uses.split()))
        if mark and mark in self._alike:
            row, said = self._alike[mark]
        else:
            row = self._view.derive(row)
            if self._view.needs and row.get(self._view.needs) is None:
                return None
            said = [
                ((part.subject, entity_of(part, row)), self._said(part, row, numbers))
                for part, numbers in self._parts(row)
            ]
            self._alike |= {mark: (row, said)} if mark else {}
        again = False
        for key, values in said:
            known = self.values.get(key)
            if known is None:
                self.values[key] = dict(values)
            elif self._view.adds_up:
                _add_up(known, values)
            else:
                again = True
        self.repeated += again
        return row

    def _parts(self, row: Row) -> list[tuple[RowPart, list[tuple[str, _Formula]]]]:
        """Return the view's parts with the formulas that the row's columns allow, without those
        that none is left of.
        """
        columns = frozenset(row)
        if columns not in self._bound:
            parts = []
            for part in self._view.parts:
                chosen = [(word, _formula(text, columns)) for word, text in part.numbers.items()]
                numbers = [(word, formula) for word, formula in chosen if formula is not None]
                if numbers or not part.numbers:
                    parts.append((part, numbers))
            self._bound[columns] = parts
        return self._bound[columns]

    def _said(self, part: RowPart, row: Row, numbers: list[tuple[str, _Formula]]) -> dict[str, Decimal | str]:
        values: dict[str, Decimal | str] = {}
        for word, formula in numbers:
            value = formula(row)
            if value is not None:
                values[word] = value
        gauges = SUBJECTS[part.subject].gauges
        for word, column in part.texts.items():
            text = row.get(column)
            if text:
                counts = word in gauges and _NUMBER.fullmatch(text)
                values[word] = Decimal(text) if counts else self._canonical(text) if word in _MOMENTS else text
        return values


def _add_up(known: dict[str, Decimal | str], more: Mapping[str, Decimal | str]) -> None:
    """Add the numbers of another row of the same entity; least and greatest are those of both, of texts the first
    counts.
    """
    for word, value in more.items():
        before = known.get(word)
        if before is None:
            known[word] = value
        elif isinstance(before, Decimal) and isinstance(value, Decimal):
            if "_min_" in word:
                known[word] = min(before, value)
            elif "_max_" in word:
                known[word] = max(before, value)
            else:
                known[word] = _EXACT.add(before, value)


def view_among(views: Iterable[View], columns: Iterable[str]) -> View | None:
    """Return the first of *views* that has such columns; None when none has."""
    there = set(columns)
    return next((view for view in views if any(_words(told) <= there for told in view.told_by)), None)


@cache
def _words(told: str) -> frozenset[str]:
    return frozenset(told.split())


_DAMAGED = "damaged rows"
#: With more damage than rows after so many, a file is something else.
_ENOUGH = 1000


class RowsOfViews:
    """Counts the rows of one file: a few damaged ones are left out and said; a file of which most are damaged is
    refused, with *remedy*.
    """

    def __init__(self, path: Path, remedy: str) -> None:
        """Begin with none."""
        self._path, self._remedy = path, remedy
        self._damaged = 0
        self._first_damage = ""
        self.read = 0

    def damage(self, line: int, what: str) -> None:
        """Count a row that cannot be read; raises TraceError when most cannot."""
        self._damaged += 1
        self._first_damage = self._first_damage or f"line {line}: {what}"
        if self._damaged > _ENOUGH and self._damaged > self.read:
            raise TraceError(f"{self._path}: {self._first_damage}, as are most other rows; {self._remedy}")

    def finish(self, recorded: Recorded, *, views: bool) -> None:
        """Say what was lost; raises TraceError when there were no *views*, or more rows are damaged than not."""
        if self._damaged > self.read:
            raise TraceError(
                f"{self._path}: {self._damaged:,} of {self._damaged + self.read:,} rows cannot be read "
                f"({self._first_damage}); {self._remedy}"
            )
        if not views:
            raise TraceError(
                f"{self._path}: has no table with the columns of a view that is known; save one view a file"
            )
        if self._damaged:
            recorded.lose(_DAMAGED, self._damaged)
            recorded.warnings.append(
                f"{self._path.name}: {self._damaged:,} damaged rows are left out, the first: {self._first_damage}"
            )


class MomentsOfViews:
    """Names the moments of the tables of one file: what psql's \\watch prints, or a file that was appended to, has
    several without a time.
    """

    def __init__(self, path: Path) -> None:
        """Begin with none."""
        self._path = path
        self._undated: Counter[str] = Counter()

    def name(self, view: str, moment_ns: int | None) -> str:
        """Return the name of the moment of the next table of *view*."""
        moment = moment_of(self._path, view)
        if moment_ns is not None:
            return moment
        self._undated[view] += 1
        return moment if self._undated[view] == 1 else f"{moment} {self._undated[view]}"
