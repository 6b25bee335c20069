"""What somebody measured, what is predicted for it, how far apart the two may lie, and what is made of that."""

from dataclasses import dataclass
from math import inf
from typing import Literal

#: ``figure`` is compared with its tolerance; ``arithmetic`` has nothing in it that could be otherwise; of
#: ``qualitative`` ones only words were published.
Kind = Literal["figure", "arithmetic", "qualitative"]
#: What was measured, where somebody measured it: a rate or a bandwidth, a mean latency, a percentile from the 95th on,
#: or how often and how much something is done.
Figure = Literal["throughput", "mean", "tail", "count"]
#: What a prediction stands on: numbers fitted to or measured on the very hardware; such of a recording that does not
#: reach as far; those of data sheets and guesses; what counters of statements say of CPU and clients, where these
#: decide; or, whatever they are, a model of InnoDB, whose errors are its own.
Basis = Literal["calibrated", "extrapolated", "assumed", "clients", "counted", "innodb"]
Verdict = Literal["exact", "holds", "fails", "underdetermined", "qualitative holds", "qualitative fails"]


@dataclass(frozen=True)
class Claim:
    """One figure of an experiment.

    ``low`` and ``high`` are the ends of what is predicted over the range of whatever is assumed
    (:mod:`~tiersim.scenarios.validation.ranges`).
    """

    what: str
    unit: str
    published: float
    predicted: float
    tolerance_pct: float
    fitted: bool = False  # it was used to choose a number of the model, so it proves nothing
    underdetermined: bool = False  # what was not told could make it anything, though nobody has said between which ends
    at_most: bool = False  # less is better than what was published, as of an error of somebody else's
    id: str = ""  # of the founding claim that it belongs to
    kind: Kind = "figure"
    low: float | None = None
    high: float | None = None
    widest: float = inf  # how many times its low end the high one may be: beyond, nothing is predicted
    within: tuple[float, float] | None = None  # where it may lie, in place of the tolerance
    note: str = ""  # a contradiction of its source, a suspected mechanism
    #: What was measured; None: a rule, an equation, another simulator, what follows from other claims.
    figure: Figure | None = None

    @property
    def error_pct(self) -> float:
        """Predicted against published, in percent."""
        return 100 * (self.predicted / self.published - 1)

    @property
    def allowed(self) -> tuple[float, float]:
        """Between which ends it may lie."""
        if self.within is not None:
            return self.within
        width = self.tolerance_pct / 100 * abs(self.published)
        return -inf if self.at_most else self.published - width, self.published + width

    @property
    def met(self) -> bool:
        """Whether it lies there."""
        low, high = self.allowed
        return low <= self.predicted <= high

    @property
    def verdict(self) -> Verdict:
        """What is made of it.

        It fails when nothing in its range is allowed, or its range is wider than it may be. Else it is underdetermined
        when it was fitted to, or when an end of its range lies further from the prediction than the tolerance reaches,
        or is not allowed where a bound stands in place of a tolerance.
        """
        (low, high), (least, most) = self._reach(), self.allowed
        if self.fitted or self.underdetermined:
            return "underdetermined"
        lost = most < low or high < least or high > self.widest * low
        if not lost and self._is_wide(low, high):
            return "underdetermined"
        met = self.met and not lost
        if self.kind == "qualitative":
            return "qualitative holds" if met else "qualitative fails"
        if not met:
            return "fails"
        return "exact" if self.kind == "arithmetic" else "holds"

    def _reach(self) -> tuple[float, float]:
        """Return the ends of the range, or twice what is predicted."""
        low = self.predicted if self.low is None else min(self.low, self.predicted)
        return low, self.predicted if self.high is None else max(self.high, self.predicted)

    def _is_wide(self, low: float, high: float) -> bool:
        least, most = self.allowed
        if self.at_most or self.within is not None:
            return not least <= low <= high <= most and low < high
        return max(self.predicted - low, high - self.predicted) > (most - least) / 2


@dataclass(frozen=True)
class HeatMap:
    """How far off, in percent, the prediction of each column is from the recording of each row; None where nothing is
    predicted.
    """

    title: str
    labels: tuple[str, ...]  # of the rows
    columns: tuple[str, ...]
    off_pct: tuple[tuple[float | None, ...], ...]
    is_guess: bool = False  # of somebody who has no model


@dataclass(frozen=True)
class Experiment:
    """Claims that belong together; ``missing``: why they were not tried."""

    name: str
    title: str
    source: str
    fitted: str  # what was chosen, and to which figure; or "nothing", and what is assumed
    claims: tuple[Claim, ...] = ()
    missing: str | None = None
    fits: int = 0  # numbers of the model that were chosen to meet a claim
    assumed: tuple[str, ...] | None = None  # what nobody told, with its range; None: not counted
    basis: Basis = "assumed"
    hardware_range: bool = False  # ranges are over numbers of the hardware, over which results have none
    maps: tuple[HeatMap, ...] = ()
