"""What varies in a sweep: ``KEY=8GiB..64GiB`` and the like, as lists of values (``docs/sweeps.md`` has the grammar)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from tiersim.errors import ScenarioError, did_you_mean
from tiersim.units import parse_bytes, parse_bytes_per_s, parse_ns

#: More values of one key are a slip of the finger: a step that is too small.
MOST_VALUES = 1000
#: Digits to which a value of a range is written; one that needs more is written in the base unit.
_DIGITS = 12
_RANGE = re.compile(r"\s*(?P<first>\d[^*+]*?)\s*\.\.\s*(?P<last>[^*+]*?)\s*(?:(?P<how>[*+])\s*(?P<by>.*?))?\s*")
_QUANTITY = re.compile(r"(?P<number>\d[\d_]*(?:\.\d+)?)\s*(?P<unit>[A-Za-zµ/]*)")
#: How a unit is parsed, the base unit of what it measures, and what that is called as a suffix.
_KINDS = (
    (parse_bytes, "bytes", "B"),
    (parse_ns, "ns", "ns"),
    (parse_bytes_per_s, "bytes/s", "B/s"),
)
#: Units that a mistyped one is compared with.
_UNITS = (
    "B",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "kB",
    "MB",
    "GB",
    "TB",
    "ns",
    "us",
    "ms",
    "s",
    "min",
    "h",
    "MiB/s",
    "MB/s",
    "GB/s",
)
_EXAMPLES = "8GiB..64GiB (doubles), 4..24+4, 1..8*1.5, or a,b,c"


@dataclass(frozen=True)
class Axis:
    """One key and its values, in the order in which they were given.

    ``values`` are texts as a scenario takes them; ``numbers`` the same in ``unit`` ("bytes", "bytes/s", "ns" or
    "count"), None where one is not a number.
    """

    key: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None
    unit: str | None


@dataclass(frozen=True)
class _Quantity:
    """A number with the unit that it was written in ("" for none); ``factor`` base units make one of it."""

    number: Fraction
    unit: str
    kind: str  # of the base unit
    factor: int

    @property
    def base(self) -> Fraction:
        return self.number * self.factor


def parse_axis(setting: str) -> Axis:
    """Read ``KEY=VALUES``; raises ScenarioError naming the text and what to write."""
    key, equals, text = setting.partition("=")
    key = key.strip()
    if not equals or not key or not text.strip():
        raise ScenarioError(f"--set {setting}: is not KEY=VALUES, such as engine.buffer_pool=8GiB..64GiB")
    return parse_values(f"--set {setting}", key, text)


def parse_values(said: str, key: str, text: str) -> Axis:
    """Read the values of *key*, ranges and single ones; raises ScenarioError that begins with *said*, how they were
    given.
    """
    values = [value for part in _split(said, text) for value in _values(said, part)]
    quantities = [_quantity(value) for value in values]
    _refuse_twice(said, values, quantities)
    known = [one for one in quantities if one is not None]
    kinds = {one.kind for one in known}
    if len(known) < len(values) or len(kinds) > 1:
        return Axis(key, tuple(values), None, None)
    return Axis(key, tuple(values), tuple(float(one.base) for one in known), kinds.pop())


def parse_axes(settings: Sequence[str]) -> list[Axis]:
    """Read several, whose keys must differ; raises ScenarioError."""
    axes = [parse_axis(setting) for setting in settings]
    keys = [axis.key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise ScenarioError(f"--set {key}: is given twice; write all its values in one, such as {key}=a,b,c")
    return axes


def _split(said: str, text: str) -> list[str]:
    """Cut at commas that are not within quotes or brackets: values may be lists of TOML."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign in "[{") - (sign in "]}")
        if sign == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    if quote or depth:
        raise ScenarioError(f"{said}: {'a quote' if quote else 'a bracket'} is not closed; close it")
    found = [part.strip() for part in parts]
    if "" in found:
        raise ScenarioError(f"{said}: there is no value beside one of its commas; leave the comma out")
    return found


def _values(said: str, part: str) -> Iterator[str]:
    """Yield the values of one part: a range, or one value as it is."""
    if ".." not in part or not part[0].isdigit():  # a path such as ../drive.toml is no range
        yield part
        return
    found = _RANGE.fullmatch(part)
    if not found or not found["last"] or (found["how"] and not found["by"]):
        raise ScenarioError(f"{said}: {part!r} is not a range; write for example {_EXAMPLES}")
    first, last = _bounds(said, part, found["first"], found["last"])
    if first.base > last.base:
        raise ScenarioError(f"{said}: {part!r} ends below its beginning; write the smaller one first")
    value, steps = first.base, 0
    by = _by(said, part, first, found["how"], found["by"])
    while value <= last.base:
        steps += 1
        if steps > MOST_VALUES:
            raise ScenarioError(f"{said}: {part!r} has more than {MOST_VALUES:,} values; take larger steps")
        yield _written(value, first)
        value = value + by if found["how"] == "+" else value * by


def _bounds(said: str, part: str, first_text: str, last_text: str) -> tuple[_Quantity, _Quantity]:
    """Return both ends; one without a unit has that of the other."""
    first, last = (_needed(said, part, text) for text in (first_text, last_text))
    if not first.unit and last.unit:
        first = _needed(said, part, first_text + last.unit)
    elif first.unit and not last.unit:
        last = _needed(said, part, last_text + first.unit)
    if first.kind != last.kind:
        raise ScenarioError(f"{said}: {part!r} goes from {first.kind} to {last.kind}; give both ends one unit")
    return first, last


def _by(said: str, part: str, first: _Quantity, how: str | None, text: str | None) -> Fraction:
    """Return the step, in base units, or the factor of a range; the factor is 2 where none is written."""
    if how != "+":
        factor = Fraction(2)
        if how == "*":
            found = _needed(said, part, str(text))
            if found.unit or found.number <= 1:
                raise ScenarioError(f"{said}: the factor {text!r} is not a number above 1, such as *2")
            factor = found.number
        if not first.number:
            raise ScenarioError(f"{said}: {part!r} begins at 0, which times anything is 0; write A..B+STEP")
        return factor
    step = _needed(said, part, str(text))
    if not step.unit and first.unit:
        step = _needed(said, part, str(text) + first.unit)
    if step.kind != first.kind or not step.number:
        raise ScenarioError(f"{said}: the step {text!r} is not {first.kind} above 0, such as +1{first.unit}")
    return step.base


def _needed(said: str, part: str, text: str) -> _Quantity:
    found = _quantity(text)
    if found is None:
        unit = _QUANTITY.fullmatch(text)
        hint = did_you_mean(unit["unit"], _UNITS) if unit else ""
        raise ScenarioError(
            f"{said}: {text!r} in the range {part!r} is not a number with a unit that is known"
            f"{hint or f'; write for example {_EXAMPLES}'}"
        )
    return found


def _quantity(text: str) -> _Quantity | None:
    """Return the number that *text* is, None if it is none."""
    found = _QUANTITY.fullmatch(text.strip())
    if not found:
        return None
    number = Fraction(found["number"].replace("_", ""))
    unit = found["unit"]
    if not unit:
        return _Quantity(number, "", "count", 1)
    for parse, kind, _ in _KINDS:
        try:
            factor = parse(f"1 {unit}")
        except ValueError:
            continue
        return _Quantity(number, unit, kind, factor)
    return None


def _written(value: Fraction, like: _Quantity) -> str:
    """Write *value*, in base units, in the unit of *like*; sizes and durations are whole bytes and ns."""
    if like.unit:
        value = Fraction(round(value))
    number = _decimal(value / like.factor)
    if like.unit and Fraction(number) * like.factor != value:
        suffix = next(suffix for _, kind, suffix in _KINDS if kind == like.kind)
        return f"{value}{suffix}"
    return f"{number}{like.unit}"


def _decimal(value: Fraction) -> str:
    with localcontext() as context:
        context.prec = _DIGITS
        return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():f}"


def _refuse_twice(said: str, values: Sequence[str], quantities: Sequence[_Quantity | None]) -> None:
    seen: set[object] = set()
    for value, quantity in zip(values, quantities, strict=True):
        what = value if quantity is None else (quantity.kind, quantity.base)
        if what in seen:
            raise ScenarioError(f"{said}: {value} is there twice; leave one out")
        seen.add(what)
