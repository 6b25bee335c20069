"""What remains between a measurement and a fitted model, as one number, and how far each parameter
could lie elsewhere.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tiersim.scenarios.calibration.fitting.model import PARAMETERS, bounded

#: How much the misfit may grow before a move has left a trace.
TRACE = 0.01
#: A parameter that can move by the last of these factors without a trace cannot be told from the measurement.
_PROBES = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0)
_COUNT_PROBES = (2.0, 4.0)
#: From this error on (of the logarithm) only the size of an error counts.
_LARGE = 0.2


@dataclass(frozen=True)
class Residual:
    """A measured figure and what a model gives for it, ns (or requests/s where it says ``rate``)."""

    what: str
    operation: str
    figure: str
    measured: float
    fitted: float
    weight: float

    @property
    def error_pct(self) -> float:
        """Fitted against measured."""
        return 100 * (self.fitted / self.measured - 1)


@dataclass(frozen=True)
class FitRange:
    """Within what a fitted number could lie: beyond, the measurement would be missed by a percentage point more."""

    low: float
    high: float
    identified: bool  # the measurement holds it on both sides


Evaluate = Callable[[Mapping[str, float]], Sequence[Residual]]
Misfit = Callable[[Mapping[str, float]], float]


def misfit(found: Sequence[Residual]) -> float:
    """What a search makes small: of the logarithm of fitted over measured, the root of the weighted mean loss.

    Not an error to read: weights differ, and of a large error, that the model has no means to mend, only its size
    counts (Huber, Annals of Mathematical Statistics 35(1), 1964).
    """
    losses = [one.weight * _loss(abs(math.log(one.fitted / one.measured))) for one in found]
    return math.sqrt(sum(losses) / sum(one.weight for one in found))


def said_of_errors(found: Sequence[Residual]) -> str:
    """Return the median and the largest error of figures, signs apart, as the tables of them show."""
    errors = [abs(one.error_pct) for one in found]
    return f"median {median(errors):.1f} %, largest {max(errors):.1f} %"


def _loss(error: float) -> float:
    return error * error if error < _LARGE else _LARGE * (2 * error - _LARGE)


def measure(evaluate: Evaluate) -> Misfit:
    """The misfit of numbers; infinite for what no drive can have."""

    def found(values: Mapping[str, float]) -> float:
        return misfit(evaluate(values)) if bounded(values) else math.inf

    return found


def ranges(values: Mapping[str, float], names: set[str], found: Misfit) -> dict[str, FitRange]:
    """How far each of *names* can move alone, up and down, before the misfit shows it."""
    least = found(values)
    every = {}
    for name in sorted(names):
        ends, held = [], []
        probes = _COUNT_PROBES if PARAMETERS[name].count else _PROBES
        for direction in (-1, 1):
            moved = [values[name] * probe**direction for probe in probes]
            first = next((place for place in moved if found({**values, name: place}) > least + TRACE), None)
            ends.append(moved[-1] if first is None else first)
            held.append(first is not None)
        every[name] = FitRange(ends[0], ends[1], all(held))
    return every
