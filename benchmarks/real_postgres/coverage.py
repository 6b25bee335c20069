"""What the 80 % intervals of predicted pairs are worth: how many hold what was measured, and whether widths that are
the same for every pair would do as well.

Pairs from one cell share its faults, so it is recorded cells that are drawn anew for the interval of a coverage
(:mod:`tiersim.scenarios.validation.intervals`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from statistics import mean

import numpy as np

from tiersim.scenarios.validation.intervals import COVERAGE, JudgedMeasurement, Measurement, coverage_interval
from tiersim.scenarios.validation.pair_figures import Pair

_COLUMNS = ("results", "pairs", "from cells", "held", "of 95 %", "score", "of ±20 %", "of one width from other loads")


def coverage_table(pairs: Sequence[Pair]) -> list[str]:
    """Return lines of Markdown: a row for each kind of result that there is, and one for all."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|---|" + "--:|" * (len(_COLUMNS) - 1)]
    kinds = [(kind, [one for one in pairs if kind_of_result(one) == kind]) for kind in _KINDS]
    return lines + [_row(kind, found) for kind, found in [*kinds, ("all", list(pairs))] if found]


_KINDS = ("calibrated", "calibrated, extrapolating", "uncalibrated, transactions met", "uncalibrated")


def kind_of_result(pair: Pair) -> str:
    """Say what a result says of itself, and of an uncalibrated one whether it is so for single queries alone."""
    if not pair.calibrated:
        return "uncalibrated" if pair.basis == "assumed" else "uncalibrated, transactions met"
    return "calibrated, extrapolating" if pair.basis == "extrapolated" else "calibrated"


def _row(kind: str, pairs: Sequence[Pair]) -> str:
    judged = [_judged(one) for one in pairs]
    share, low, high = coverage_interval(judged, by_experiment=False)
    fixed = list(_of_one_width(pairs))
    cells = [
        kind,
        f"{len(pairs)}",
        f"{len({one.measurement.experiment for one in judged})}",
        f"{share:.0%}",
        f"{low:.0%} .. {high:.0%}",
        f"{mean(one.score for one in judged):.2f}",
        f"{mean(one.constant_score for one in judged):.2f}",
        f"{mean(one.score for one in fixed):.2f}" if fixed else "",
    ]
    return "| " + " | ".join(cells) + " |"


def _judged(pair: Pair) -> JudgedMeasurement:
    """Return a pair with its interval, as logs over what was predicted."""
    predicted = 1 + pair.error
    one = Measurement(pair.source, "calibrated", "throughput", -log(predicted))
    return JudgedMeasurement(one, log(pair.low / predicted), log(pair.high / predicted))


def _of_one_width(pairs: Sequence[Pair]) -> Iterator[JudgedMeasurement]:
    """Return pairs with as much to either side as holds 80 % of the other loads; none if there are no others."""
    for load in sorted({one.load for one in pairs}):
        others = [abs(log(1 + one.error)) for one in pairs if one.load != load]
        if others:
            width = float(np.quantile(others, COVERAGE))
            yield from (replace(_judged(one), low=-width, high=width) for one in pairs if one.load == load)
