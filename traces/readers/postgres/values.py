"""From rows of a view to values in the words of :mod:`tiersim.traces.counters`, as :mod:`~tiersim.traces.readers.postgres.views` says."""

import re
from collections.abc import Iterable
from decimal import Context, Decimal
from functools import lru_cache

from tiersim.traces.counters import SINCE, SUBJECTS
from tiersim.traces.readers.postgres.text_tables import Row
from tiersim.traces.readers.postgres.times import canonical
from tiersim.traces.readers.postgres.views import BY_NAME, Part, View
from tiersim.traces.readers.recorded import Key
from tiersim.traces.statistics import storable

#: Exact for any sum or product of numbers that can be stored.
_EXACT = Context(prec=120)
_NUMBER = re.compile(r"[+-]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_PLACE = re.compile(r"\{(\w+)\}")
_NO_NUMBERS = ("nan", "inf", "infinity")
#: Words whose texts are moments.
_MOMENTS = (SINCE, "minmax_since", "started_at")

_Sum = tuple[tuple[str, ...], ...]  # of products


@lru_cache
def _alternatives(formula: str) -> tuple[_Sum, ...]:
    """Return a formula of :class:`~tiersim.traces.readers.postgres.views.Part` taken apart."""
    return tuple(
        tuple(tuple(factor.strip() for factor in product.split("*")) for product in alternative.split("+"))
        for alternative in formula.split("|")
    )


def _chosen(formula: str, columns: Iterable[str]) -> _Sum | None:
    """Return the alternative whose columns are there."""
    there = set(columns)
    return next(
        (
            alternative
            for alternative in _alternatives(formula)
            if all(factor in there or factor.isdigit() for product in alternative for factor in product)
        ),
        None,
    )


@lru_cache(1 << 16)
def number(text: str) -> Decimal | None:
    """Return a number, to its last digit; None for NaN and infinity. Raises ValueError, a phrase, for all else."""
    if _NUMBER.fullmatch(text) is None:
        if text.lstrip("+-").lower() in _NO_NUMBERS:
            return None
        raise ValueError(f"{text[:40]!r} is no number")
    value = Decimal(text)
    if storable(value) is None:
        raise ValueError(f"{text[:40]!r} is beyond what 64 bits count")
    return value


def entity_of(part: Part, row: Row) -> str:
    """Return the name of what *part* of a row is about; the row has the columns that its view derives."""
    return _PLACE.sub(lambda place: row.get(place[1]) or "", part.entity)


class Gathered:
    """Takes rows of a view and holds what they say, by (subject, entity); ``repeated`` counts rows that came again."""

    def __init__(self, view: View) -> None:
        """Begin with no rows."""
        self.values: dict[Key, dict[str, Decimal | str]] = {}
        self.repeated = 0
        self._view = view
        self._bound: dict[frozenset[str], list[tuple[Part, list[tuple[str, _Sum]]]]] = {}

    def add(self, row: Row) -> Row | None:
        """Take in a row and return it with the columns that the view derives; None if it says nothing of anything.

        Raises ValueError, a phrase that names the column, when a value is not what it must be; nothing of the row is kept.
        """
        row = self._view.derive(row)
        if self._view.needs and row.get(self._view.needs) is None:
            return None
        said = [
            ((part.subject, entity_of(part, row)), self._said(part, row, numbers)) for part, numbers in self._parts(row)
        ]
        for key, values in said:
            known = self.values.get(key)
            if known is None:
                self.values[key] = values
            elif self._view.adds_up:
                for word, value in values.items():
                    before = known.get(word, value)
                    assert isinstance(before, Decimal)
                    assert isinstance(value, Decimal)
                    known[word] = _EXACT.add(before, value) if word in known else value
        if said and not self._view.adds_up and any(self.values[key] is not values for key, values in said):
            self.repeated += 1
        return row

    def _parts(self, row: Row) -> list[tuple[Part, list[tuple[str, _Sum]]]]:
        """Return the view's parts with the alternatives that the row's columns allow; without numbers if there are none."""
        columns = frozenset(row)
        if columns not in self._bound:
            parts = []
            for part in self._view.parts:
                chosen = [(word, _chosen(formula, columns)) for word, formula in part.numbers.items()]
                numbers = [(word, alternative) for word, alternative in chosen if alternative is not None]
                if numbers or not part.numbers:
                    parts.append((part, numbers))
            self._bound[columns] = parts
        return self._bound[columns]

    @staticmethod
    def _said(part: Part, row: Row, numbers: list[tuple[str, _Sum]]) -> dict[str, Decimal | str]:
        values: dict[str, Decimal | str] = {}
        for word, alternative in numbers:
            value = _value(alternative, row)
            if value is not None:
                values[word] = value
        gauges = SUBJECTS[part.subject].gauges
        for word, column in part.texts.items():
            text = row.get(column)
            if text:
                counts = word in gauges and _NUMBER.fullmatch(text)
                values[word] = Decimal(text) if counts else canonical(text) if word in _MOMENTS else text
        return values


def _value(alternative: _Sum, row: Row) -> Decimal | None:
    """Return the value of a formula; None if a column of it is null."""
    total: Decimal | None = None
    for product in alternative:
        value: Decimal | None = None
        for factor in product:
            text = factor if factor.isdigit() else row.get(factor)
            try:
                found = None if not text else number(text)
            except ValueError as error:
                raise ValueError(f"{factor}: {error}") from None
            if found is None:
                return None
            value = found if value is None else _EXACT.multiply(value, found)
        assert value is not None
        total = value if total is None else _EXACT.add(total, value)
    if total is not None and storable(total) is None:
        raise ValueError("its values together are beyond what 64 bits count")
    return total


def values_of(view_name: str, rows: Iterable[Row]) -> dict[Key, dict[str, Decimal | str]]:
    """Return what rows of a view say, by (subject, entity); *view_name* is that of one of VIEWS.

    Raises ValueError, a phrase that names the column, when a value is not what it must be.
    """
    gathered = Gathered(BY_NAME[view_name])
    for row in rows:
        gathered.add(row)
    return gathered.values
