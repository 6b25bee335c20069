"""From rows of a view to values in the words of :mod:`tiersim.traces.counters`, as :mod:`~tiersim.traces.readers.postgres.views` says."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache, partial

from tiersim.traces.counters import SINCE, SUBJECTS
from tiersim.traces.readers.postgres.text_tables import Row
from tiersim.traces.readers.postgres.times import canonical
from tiersim.traces.readers.postgres.views import BY_NAME, Part, View
from tiersim.traces.readers.recorded import Key
from tiersim.traces.statistics import storable

#: Exact for any sum or product of numbers that can be stored.
_EXACT = Context(prec=120)
_ZERO = Decimal(0)
_NUMBER = re.compile(r"[+-]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_PLACE = re.compile(r"\{(\w+)\}")
_BEYOND = "is beyond what 64 bits count"
_NO_NUMBERS = ("nan", "inf", "infinity")
#: Words whose texts are moments.
_MOMENTS = (SINCE, "minmax_since", "started_at")

#: Takes a value from a row; None if it has none. Raises ValueError, a phrase that names the column.
_Formula = Callable[[Row], Decimal | None]


@lru_cache(1024)
def _formula(text: str, columns: frozenset[str]) -> _Formula | None:
    """Return the first alternative of a formula, see :class:`~tiersim.traces.readers.postgres.views.Part`, whose columns are there."""
    for alternative in text.split("|"):
        products = [[factor.strip() for factor in product.split("*")] for product in alternative.split("+")]
        if all(factor in columns or factor.isdigit() for product in products for factor in product):
            if len(products) == len(products[0]) == 1:
                return partial(_factor, products[0][0])
            return partial(_sum, products)
    return None


def _factor(name: str, row: Row) -> Decimal | None:
    """Return the value of a column, or a number of a formula."""
    text = name if name.isdigit() else row.get(name)
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
        self._bound: dict[frozenset[str], list[tuple[Part, list[tuple[str, _Formula]]]]] = {}
        self._alike: dict[tuple[str | None, ...], tuple[Row, list[tuple[Key, dict[str, Decimal | str]]]]] = {}

    def add(self, row: Row) -> Row | None:
        """Take in a row and return it with the columns that the view derives; None if it says nothing of anything.

        Raises ValueError, a phrase that names the column, when a value is not what it must be; nothing of the row is kept.
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

    def _parts(self, row: Row) -> list[tuple[Part, list[tuple[str, _Formula]]]]:
        """Return the view's parts with the formulas that the row's columns allow, without those that none is left of."""
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

    @staticmethod
    def _said(part: Part, row: Row, numbers: list[tuple[str, _Formula]]) -> dict[str, Decimal | str]:
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
                values[word] = Decimal(text) if counts else canonical(text) if word in _MOMENTS else text
        return values


def _add_up(known: dict[str, Decimal | str], more: Mapping[str, Decimal | str]) -> None:
    for word, value in more.items():
        before = known.get(word, _ZERO)
        assert isinstance(before, Decimal)
        assert isinstance(value, Decimal)  # such views have no texts
        known[word] = _EXACT.add(before, value)


def values_of(view_name: str, rows: Iterable[Row]) -> dict[Key, dict[str, Decimal | str]]:
    """Return what rows of a view say, by (subject, entity); *view_name* is that of one of VIEWS.

    Raises ValueError, a phrase that names the column, when a value is not what it must be.
    """
    gathered = Gathered(BY_NAME[view_name])
    for row in rows:
        gathered.add(row)
    return gathered.values
