"""Intervals of predictions that hold 80 % of what is measured, learned from how far off other experiments were.

An error is log(measured / predicted). Of a prediction that was given a range over what is assumed, what counts is how
far the measured figure lies beyond the middle 80 % of that range, each value in it as likely as another (the
rectangular distribution of JCGM 100:2008, 4.3.7); within it the distance is negative. That is the conformity score of a
conformalised interval (Y. Romano, E. Patterson, E. Candès, NeurIPS 2019), and of split conformal prediction where there
is no range (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World, 2005; J. Lei and others, JASA
113, 2018). The interval reaches as far beyond its own range as 80 % of the scores do.

Figures of one experiment share hardware, load and assumptions, so each is judged by the other experiments alone. Every
figure weighs the same. (With the same weight for every experiment, as in two layers of R. Dunn, L. Wasserman, A.
Ramdas, JASA 118, 2023, the few easy figures of small experiments made intervals of the others narrow: of InnoDB's
figures 70 % were held, in place of 76 to 78 %, and the score of no basis was better. Their correction for few
experiments, a level of 0.8 (k + 1) / k in place of 0.8, holds 91 %, by intervals that are too wide for their score.)

Intervals are scored by their width and 2 / 0.2 times how far what was measured lies outside, in logs (R. Winkler, JASA
67, 1972; T. Gneiting, A. Raftery, JASA 102, 2007, equation 43): less is better, and neither width nor coverage alone
helps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, sinh

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.validation.claims import Basis, Figure

#: Share of what is measured that an interval is to hold.
COVERAGE = 0.8
#: Fewer experiments have no interval of this coverage whatever the errors are: the ceil(0.8 (k + 1))-th of k has to
#: exist.
LEAST_EXPERIMENTS = 4
#: What somebody would take who had learned nothing: 20 % to either side.
CONSTANT = (log(0.8), log(1.2))
_RESAMPLES, _SEED = 10_000, 1


@dataclass(frozen=True)
class Measurement:
    """A measured figure that was predicted: log(measured / predicted), and the logs of the ends of the prediction's
    range over it.
    """

    experiment: str
    basis: Basis
    figure: Figure
    error: float
    low: float = 0.0
    high: float = 0.0

    @property
    def beyond(self) -> float:
        """How far it lies beyond the range; negative within."""
        return max(self.low - self.error, self.error - self.high)


@dataclass(frozen=True)
class Learned:
    """How far beyond their ranges 80 % of the measured figures lie, as a log, and of how many."""

    beyond: float
    measurements: int
    experiments: int
    figure: Figure | None  # None: all kinds together, as too few experiments measured this one


@dataclass(frozen=True)
class JudgedMeasurement:
    """A measurement and the interval that the other experiments give it, as logs over what was predicted."""

    measurement: Measurement
    low: float
    high: float

    @property
    def held(self) -> bool:
        """Whether it lies within."""
        return self.low <= self.measurement.error <= self.high

    @property
    def half_width(self) -> float:
        """Half of the width, as a share of the prediction; of equal ends it is sinh of their log."""
        return sinh(self.high) if self.low == -self.high else (exp(self.high) - exp(self.low)) / 2

    @property
    def score(self) -> float:
        """Interval score; less is better."""
        return _score(self.low, self.high, self.measurement.error)

    @property
    def constant_score(self) -> float:
        """That of 20 % to either side."""
        return _score(*CONSTANT, self.measurement.error)


def of_range(predicted: float, low: float, high: float) -> tuple[float, float]:
    """Return the middle 80 % of a range of a prediction, that included, as logs over it; all are positive."""
    rest = (1 - COVERAGE) / 2 * (high - low)
    return min(log((low + rest) / predicted), 0.0), max(log((high - rest) / predicted), 0.0)


def learn(known: Iterable[Measurement], basis: Basis, figure: Figure) -> Learned:
    """Return how far off predictions of a kind of figure on such a basis are: of that kind where enough experiments
    measured it, else of all.
    """
    alike = [one for one in known if one.basis == basis]
    own = [one for one in alike if one.figure == figure]
    if _count(own) >= LEAST_EXPERIMENTS:
        return Learned(_quantile(own), len(own), _count(own), figure)
    return Learned(_quantile(alike), len(alike), _count(alike), None)


def judge(measurements: Sequence[Measurement]) -> list[JudgedMeasurement]:
    """Return each measurement with the interval that follows from all other experiments."""
    judged = []
    for one in measurements:
        others = (other for other in measurements if other.experiment != one.experiment)
        beyond = learn(others, one.basis, one.figure).beyond
        judged.append(JudgedMeasurement(one, min(one.low - beyond, 0.0), max(one.high + beyond, 0.0)))
    return judged


def coverage_interval(judged: Sequence[JudgedMeasurement], *, by_experiment: bool) -> tuple[float, float, float]:
    """Return the share that was held, and the 95 % interval of it: experiments drawn anew, with replacement, intervals
    as they are.

    Of all measurements together, or the mean of the experiments' own shares.
    """
    names = sorted({one.measurement.experiment for one in judged})
    held = np.array([sum(one.held for one in judged if one.measurement.experiment == name) for name in names])
    counts = np.array([sum(one.measurement.experiment == name for one in judged) for name in names])
    drawn = np.random.default_rng(_SEED).integers(len(names), size=(_RESAMPLES, len(names)))

    def share(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        if by_experiment:
            return np.asarray((held / counts)[rows].mean(axis=-1))
        return np.asarray(held[rows].sum(axis=-1) / counts[rows].sum(axis=-1))

    low, high = np.quantile(share(drawn), (0.025, 0.975))
    return float(share(np.arange(len(names)))), float(low), float(high)


def _score(low: float, high: float, error: float) -> float:
    return high - low + 2 / (1 - COVERAGE) * (max(low - error, 0.0) + max(error - high, 0.0))


def _count(measurements: Iterable[Measurement]) -> int:
    return len({one.experiment for one in measurements})


def _quantile(measurements: Sequence[Measurement]) -> float:
    """Return what 80 % of the scores do not exceed; infinite where there is none."""
    beyond = sorted(one.beyond for one in measurements)
    return beyond[ceil(COVERAGE * len(beyond) - 1e-9) - 1] if beyond else inf
