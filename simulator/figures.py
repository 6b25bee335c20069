"""Figures with what is known about them: values, 80 % intervals, and whether the sample resolves them.

Order statistics give the interval of a percentile; requests that come in bursts are not independent, so the variance is
inflated by what batches of the run show (batch means; Law, "Simulation Modeling and Analysis", 5th ed., section 9.5).
"""

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import COARSE_EDGES_NS, quantile_ns

#: Percentiles that every table shows, by their key.
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
#: A figure whose 80 % half-width is a larger share of it is not resolved.
RESOLVED_HALF_WIDTH = 0.25
#: Batches that the run is cut into to see how far requests depend on each other.
BATCHES = 30
NORMAL_90 = 1.2815515655446004  # quantiles for two-sided 80 %
_STUDENT_90_29 = 1.311434


class Figure(TypedDict):
    """One predicted figure; ``value`` is None when the sample cannot resolve it."""

    value: float | None
    low: float | None
    high: float | None
    resolved: bool
    basis: str


def percentile(histogram: NDArray[np.int64], over_time: "Clusters", probability: float) -> Figure:
    """Percentile of a latency histogram; *over_time* shows how its samples cluster."""
    count = int(histogram.sum())
    basis = "simulated, 80 % order-statistic interval"
    if count == 0:
        return Figure(value=None, low=None, high=None, resolved=False, basis="no such request")
    rank = probability * count
    value = quantile_ns(histogram, rank)
    spread = NORMAL_90 * np.sqrt(count * probability * (1 - probability) * _inflation(over_time, value))
    low = quantile_ns(histogram, max(rank - spread, 0.0))
    if rank + spread > count:
        return Figure(value=None, low=low, high=None, resolved=False, basis=f"too few samples ({count})")
    high = quantile_ns(histogram, rank + spread)
    resolved = (high - low) / 2 <= RESOLVED_HALF_WIDTH * value
    return Figure(value=value if resolved else None, low=low, high=high, resolved=resolved, basis=basis)


def mean(counts: NDArray[np.int64], sums_ns: NDArray[np.int64]) -> Figure:
    """Mean latency from counts and sums by interval."""
    count = int(counts.sum())
    if count == 0:
        return Figure(value=None, low=None, high=None, resolved=False, basis="no such request")
    value = float(sums_ns.sum()) / count
    batch_counts, batch_sums = _batches(counts), _batches(sums_ns)
    deviation = batch_sums - value * batch_counts
    error = float(np.sqrt((deviation**2).sum() * BATCHES / (BATCHES - 1))) / count
    half = _STUDENT_90_29 * error
    resolved = half <= RESOLVED_HALF_WIDTH * value and count >= BATCHES
    return Figure(
        value=value if resolved else None,
        low=max(value - half, 0.0),
        high=value + half,
        resolved=resolved,
        basis="simulated, 80 % interval of batch means",
    )


def withheld(figure: Figure, reason: str) -> Figure:
    """The same figure without its value: a saturated run has no steady state."""
    return Figure(value=None, low=None, high=None, resolved=False, basis=reason)


def _batches(by_interval: NDArray[Any]) -> NDArray[np.float64]:
    """Sums over the intervals of each batch, along the first axis."""
    edges = np.linspace(0, len(by_interval), BATCHES + 1).astype(np.int64)
    until = np.zeros((len(by_interval) + 1, *by_interval.shape[1:]), np.int64)
    np.cumsum(by_interval, axis=0, out=until[1:])
    return np.diff(until[edges], axis=0).astype(np.float64)


def _inflation(over_time: "Clusters", threshold_ns: float) -> float:
    """Variance of the number of samples above a threshold against that of independent samples; at least 1."""
    above = over_time.above(threshold_ns)
    counts = over_time.counts
    share = above.sum() / counts.sum()
    independent = counts.sum() * share * (1 - share)
    if independent <= 0:
        return 1.0
    observed = ((above - share * counts) ** 2).sum() * BATCHES / (BATCHES - 1)
    return max(1.0, float(observed / independent))


class Clusters:
    """How the samples of a run cluster: their histograms by batch, from those by interval."""

    def __init__(self, over_time: NDArray[np.int32]) -> None:
        """Add up *over_time* (intervals, coarse bins)."""
        used = np.flatnonzero(over_time.any(axis=0))
        self._first = int(used[0]) if used.size else 0
        self._batches = _batches(over_time[:, self._first : int(used[-1]) + 1 if used.size else 0])
        self.counts = self._batches.sum(axis=1)

    def above(self, threshold_ns: float) -> NDArray[np.float64]:
        """Samples of each batch in bins above a threshold."""
        first = int(np.searchsorted(COARSE_EDGES_NS, threshold_ns, "left"))
        found: NDArray[np.float64] = self._batches[:, max(first - self._first, 0) :].sum(axis=1)
        return found
