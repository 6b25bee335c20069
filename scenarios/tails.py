"""The interval of a 99th percentile: how far recorded ones lay from predicted ones, learned from cells (set-ups) of a
real PostgreSQL, the sampling error of the run, and the spread of runs that draw what a recording leaves open.

Latencies of transactions have one hump or two: those that waited for a device, and those that did not. A percentile on
the second hump is as certain as the device's wait; one on the first is made by the scheduler and the processors, and
far less certain. So each has a reach of its own, to either side: the 80 % quantile of the size of
log(recorded ÷ predicted), every experiment with the same weight. The cells are in ``validation/p99.csv``;
``benchmarks/real_postgres/tails.py`` writes it, and measures what intervals from other experiments hold.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import exp, hypot, inf, log
from typing import Any

from tiersim.scenarios.caveats import CLIENTS, COUNTED, INNODB, model_error_of, multiples_of
from tiersim.simulator.result import Result

#: A 99th percentile of more than so many medians is that of transactions which waited for a device.
HUMPS_APART = 10.0
#: Share of recorded percentiles that an interval is to hold.
SHARE = 0.8
#: Errors of predictions of which nobody recorded percentiles.
_NOT_RECORDED = (CLIENTS, COUNTED, INNODB, "unknown")
#: An interval whose ends are further apart decides nothing.
WIDE = 2.0


@dataclass(frozen=True)
class TailCell:
    """A 99th percentile of transactions that was predicted, from the counters of the cell *source*, and recorded; the
    predicted 95th is 0 where it was not kept.
    """

    experiment: str
    source: str
    target: str
    p50_ms: float
    p99_ms: float
    recorded_p99_ms: float
    p95_ms: float = 0.0

    @property
    def waits(self) -> bool:
        """Whether the predicted percentile is of those that waited."""
        return waits(self.p50_ms, self.p99_ms)

    @property
    def off(self) -> float:
        """How far the recorded one lies from the predicted, as a log without its sign."""
        return abs(log(self.recorded_p99_ms / self.p99_ms))


def waits(p50: float, p99: float) -> bool:
    """Tell whether a 99th percentile is of those that waited for a device."""
    return p99 > HUMPS_APART * p50


def reach(cells: Iterable[TailCell], *, waiting: bool) -> float:
    """Return how far, as a log, 80 % of the percentiles of one hump lie off at most; infinite where there are none."""
    alike = sorted((one for one in cells if one.waits == waiting), key=lambda one: one.off)
    counts = Counter(one.experiment for one in alike)
    reached = 0.0
    for one in alike:
        reached += 1 / counts[one.experiment] / len(counts)
        if reached >= SHARE - 1e-9:  # sums of thirds
            return one.off
    return inf


@cache
def cells() -> tuple[TailCell, ...]:
    """Return the cells that the project ships."""
    text = (files("tiersim.scenarios.validation") / "p99.csv").read_text(encoding="utf-8")
    return read_cells(text)


def read_cells(text: str) -> tuple[TailCell, ...]:
    """Return the cells of a table."""
    return tuple(
        TailCell(row["experiment"], row["source"], row["target"], *(float(row.get(name, 0)) for name in _NUMBERS))
        for row in csv.DictReader(text.splitlines())
    )


_NUMBERS = ("p50_ms", "p99_ms", "recorded_p99_ms", "p95_ms")


def with_tails(result: Result) -> Result:
    """Add to the *result* of a recorded load of PostgreSQL the interval of each 99th percentile."""
    summary, error = result.summary, model_error_of(result.summary["verdict"])
    if error["basis"] in _NOT_RECORDED:
        return result
    drawn = (summary.get("range") or {}).get("p99_ns", {})
    median = summary["latency_ns"]["transaction"]["p50"]["value"]
    unchecked = None if multiples_of(error, "p99") else multiples_of(error, "mean")
    tails = {name: _tail(one, median, drawn.get(name), unchecked) for name, one in tail_figures(summary).items()}
    return replace(result, summary=summary | {"tails": {"share": SHARE, "p99_ns": tails}})


def tail_figures(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the figures of transactions, commits and queries that there were, by name."""
    latencies, queries = summary["latency_ns"], summary["queries"]
    named = {name: latencies[name] for name in ("transaction", "commit") if name in latencies}
    return named | {f"query {name}": one for name, one in queries.items()}


def _tail(
    figures: Mapping[str, Any],
    median: float | None,
    drawn: Mapping[str, float] | None,
    unchecked: tuple[float, float] | None,
) -> dict[str, Any]:
    """Return the interval of one: what the run's own requests leave open, what *drawn* runs do, and what was measured,
    which are independent. It does not begin below the predicted 95th percentile. *unchecked*: between which
    multiples means lay, where percentiles of such predictions were never compared with recorded ones. There none is
    resolved, and an interval is at least as wide as that: no percentile is known better than the mean.

    The *median* of transactions decides whether a commit or a query waited for the device. Its own median would not do:
    a query of microseconds that waits for a core has a percentile many times as long.
    """
    p99 = figures["p99"]
    low, high = p99["low"], p99["high"]
    if p99["value"] is None or median is None or not low or not high:
        return {"value": None, "low": None, "high": None, "verdict": "not resolved", "of": None}
    value, waiting = p99["value"], waits(median, p99["value"])
    measured = reach(cells(), waiting=waiting)
    least_multiple, most_multiple = unchecked or (1.0, 1.0)
    lower, upper = max(measured, -log(least_multiple)), max(measured, log(most_multiple))
    ends = drawn or {"low": value, "high": value}
    below = hypot(lower, log(value / low), log(value / min(ends["low"], value)))
    above = hypot(upper, log(high / value), log(max(ends["high"], value) / value))
    p95 = (figures["p95"]["value"] or 0.0) * min(ends["low"] / value, 1.0)  # where draws have a lower p99, p95 is lower
    least, most = _interval(p95, value, below, above)
    return {
        "value": value,
        "low": least,
        "high": most,
        "verdict": "not checked" if unchecked else "resolved" if most <= least * WIDE else "not resolved",
        "of": "waits" if waiting else "processors",
    }


def held(known: Sequence[TailCell]) -> list[bool]:
    """Tell of each cell whether the interval that all other experiments give it holds what was recorded."""
    found = []
    for one in known:
        others = (other for other in known if other.experiment != one.experiment)
        low, high = _interval(one.p95_ms, one.p99_ms, *[reach(others, waiting=one.waits)] * 2)
        found.append(low <= one.recorded_p99_ms <= high)
    return found


def _interval(p95: float, p99: float, below: float, above: float) -> tuple[float, float]:
    """Return what lies so far below and above a predicted 99th percentile, as logs, and not below the 95th, which no
    99th is below.
    """
    return max(p99 * exp(-below), p95), p99 * exp(above)
