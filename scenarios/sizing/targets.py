"""What a buyer asks of hardware: ``p99(query:checkout) < 20ms``, ``throughput >= 1.5x``,
``capacity growth 40%/year for 3 years``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from tiersim.errors import ScenarioError, did_you_mean
from tiersim.simulator.categories import CATEGORIES, OF_DATABASES
from tiersim.units import parse_bytes, parse_ns

Kind = Literal["latency", "load", "throughput", "capacity", "drive failures", "endurance"]

#: Statistics of a latency by the words for them.
_STATISTICS = {
    "mean": "mean",
    "p50": "p50",
    "median": "p50",
    "p95": "p95",
    "p99": "p99",
    "p999": "p999",
    "p99.9": "p999",
}
#: Latency classes besides those of single queries; "query" is each query.
_CLASSES = ("transaction", "commit", "query", *(name for name in (*CATEGORIES, *OF_DATABASES) if name != "processor"))
_AT_MOST, _AT_LEAST = ("<", "<=", "≤"), (">", ">=", "≥")
_FORMS = "mean(query) < 20 ms, throughput >= 1.5x, capacity >= 2 TB, survives drive failure or endurance >= 5 years"


@dataclass(frozen=True)
class Target:
    """One thing that hardware must do; ``limit`` in ns, times the load, per second, bytes, drives or years."""

    text: str
    kind: Kind
    limit: float
    statistic: str = ""  # of a latency: mean, p50, p95, p99, p999
    of: str = ""  # latency class, "query" for each query, or "query:NAME"
    growth: float = 0.0  # of the data, as a share a year
    years: float = 0.0

    @property
    def query(self) -> str | None:
        """Name of the one query that it is of."""
        return self.of.partition(":")[2] if self.of.startswith("query:") else None


def parse_target(text: str) -> Target:
    """Parse one target; raises ScenarioError naming the place in it and the nearest valid thing."""
    return _Reader(text).target()


class _Reader:
    """Reads a target from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def target(self) -> Target:
        start = self._skip()
        word = self._match(r"[A-Za-z][A-Za-z0-9.]*")
        if word is None:
            self._fail(start, f"a target begins with a word; write for example {_FORMS}")
        readers: dict[str, Callable[[], Target]] = {
            "throughput": self._throughput,
            "capacity": self._capacity,
            "survives": self._survives,
            "endurance": self._endurance,
        }
        if word.lower() in _STATISTICS:
            found = self._latency(_STATISTICS[word.lower()])
        elif word.lower() in readers:
            found = readers[word.lower()]()
        else:
            nearest = did_you_mean(word, [*_STATISTICS, *readers])
            self._fail(start, f"{word!r} is no target{nearest or f'; write for example {_FORMS}'}")
        rest = self._skip()
        if rest < len(self.text):
            self._fail(rest, f"{self.text[rest:]!r} is left over; give each target as a --slo of its own")
        return found

    def _latency(self, statistic: str) -> Target:
        self._need(r"\(", "'(' and what it is of, such as (transaction), (commit) or (query:NAME)")
        start = self._skip()
        of = self._match(r"query\s*:\s*[^)]+|[A-Za-z][A-Za-z ]*")
        if of is None:
            self._fail(start, f"what the latency is of is not there; it is {', '.join(_CLASSES[:3])} or query:NAME")
        name = " ".join(of.split())
        if name.startswith("query") and ":" in name:
            name = f"query:{name.partition(':')[2].strip()}"
        elif name not in _CLASSES:
            nearest = did_you_mean(name, _CLASSES)
            self._fail(start, f"{name!r} has no latency{nearest or '; it is transaction, commit, query or query:NAME'}")
        self._need(r"\)", "')'")
        self._compare(_AT_MOST, "a latency is held below a limit")
        limit = self._quantity(parse_ns)
        if limit <= 0:
            self._fail(len(self.text) - 1, "a latency is more than nothing; write for example 20 ms")
        return Target(self.text.strip(), "latency", limit, statistic, name)

    def _throughput(self) -> Target:
        self._compare(_AT_LEAST, "a throughput is held above a limit")
        start = self._skip()
        value = self._number("such as 1.5x or 4000/s")
        unit = self._match(r"x|×|/\s*s")
        if unit is None:
            self._fail(self._skip(), "what the number counts is not there: x (times the load) or /s (a second)")
        if value <= 0:
            self._fail(start, "a throughput is more than 0")
        return Target(self.text.strip(), "throughput" if unit.startswith("/") else "load", value)

    def _capacity(self) -> Target:
        size, growth, years = 0.0, 0.0, 0.0
        compared = self._match("|".join(map(re.escape, sorted((*_AT_LEAST, *_AT_MOST), key=len, reverse=True))))
        if compared in _AT_MOST:
            self._fail(self.place - len(compared), "a capacity is held above a limit; write >=")
        if compared:
            size = self._quantity(parse_bytes, r"[0-9][0-9_.]*\s*[A-Za-z]+")
        at = self._skip()
        if self._match(r"grow(?:th|s|ing)\b"):
            growth = self._number("a share, such as 40%/year") / 100
            self._need(r"%\s*(?:/|a|per)\s*(?:year|yr|a)\b", "'%/year'")
            self._need(r"for\b", "'for' and how many years")
            years = self._years()
        elif not compared:
            self._fail(at, "write capacity >= 2 TB, or capacity growth 40%/year for 3 years")
        return Target(self.text.strip(), "capacity", size, growth=growth, years=years)

    def _survives(self) -> Target:
        count = self._match(r"[0-9]+")
        self._need(r"(?:drive|disk|device)\s+failures?\b", "'drive failure'")
        return Target(self.text.strip(), "drive failures", float(count or 1))

    def _endurance(self) -> Target:
        self._compare(_AT_LEAST, "an endurance is held above a limit")
        return Target(self.text.strip(), "endurance", self._years())

    def _years(self) -> float:
        value = self._number("a number of years")
        self._need(r"(?:years?|yr|a)\b", "'years'")
        return value

    def _compare(self, allowed: tuple[str, ...], why: str) -> None:
        at = self._skip()
        found = self._match("|".join(map(re.escape, sorted((*_AT_LEAST, *_AT_MOST), key=len, reverse=True))))
        if found not in allowed:
            what = "is not there" if found is None else f"is {found!r}"
            self._fail(at, f"the comparison {what}; {why}: write {allowed[0]}")

    def _number(self, what: str) -> float:
        at = self._skip()
        found = self._match(r"[0-9][0-9,_]*(?:\.[0-9]+)?")
        if found is None:
            self._fail(at, f"a number is not there; write {what}")
        return float(found.replace(",", "").replace("_", ""))

    def _quantity(self, parse: Callable[[object], int], pattern: str = r".+") -> float:
        at = self._skip()
        found = self._match(pattern)
        try:
            return float(parse((found or "").strip()))
        except ValueError as error:
            self._fail(at, str(error))

    def _need(self, pattern: str, what: str) -> None:
        at = self._skip()
        if self._match(pattern) is None:
            self._fail(at, f"{what} is not there")

    def _skip(self) -> int:
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1
        return self.place

    def _match(self, pattern: str) -> str | None:
        self._skip()
        found = re.compile(pattern, re.IGNORECASE).match(self.text, self.place)
        if found is None or not found[0]:
            return None
        self.place = found.end()
        return found[0]

    def _fail(self, place: int, what: str) -> NoReturn:
        raise ScenarioError(f"--slo {self.text!r}: character {place + 1}: {what}")
