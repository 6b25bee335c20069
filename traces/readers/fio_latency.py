"""fio's latencies: one object of its JSON, and several of them as one.

Source: ``stat.c`` of fio, 2.0 to 3.33. Up to 2.x objects are called ``clat`` and are in microseconds, from 3.0 on
``clat_ns``. A list of percentiles that is shorter than 20 is filled up with ``"0.00": 0``. Without samples all is 0.
Bins are the middles of intervals.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiersim.traces.measurement import Percentiles
from tiersim.units import NS_PER_US

_MOST = 2.0**63


@dataclass(frozen=True)
class FioLatency:
    """Moments, percentiles and bins of some requests, nanoseconds; bins are there in json+ only."""

    requests: int
    mean_ns: float
    stddev_ns: float | None
    least_ns: int | None
    most_ns: int | None
    percentiles: Percentiles
    bins: Mapping[int, int]  # middle of an interval → requests
    exact: bool = True  # whether percentiles are those of the requests


def number(values: Any, key: str) -> float | None:
    """Return a number from an object of JSON; None when it is not there, or cannot be a count or a duration."""
    value = values.get(key) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST:
        return None
    return value


def latency(direction: Mapping[str, Any], name: str) -> FioLatency | None:
    """Return the latency ``clat``, ``slat`` or ``lat`` of a direction; None when it was not measured."""
    for key, unit_ns in ((f"{name}_ns", 1), (name, NS_PER_US)):
        values = direction.get(key)
        mean, most = number(values, "mean"), number(values, "max")
        samples = number(values, "N")
        if mean is None or not isinstance(values, dict) or samples == 0 or (mean == 0 and not most):
            continue
        stddev = number(values, "stddev")
        return FioLatency(
            requests=max(1, round(samples or number(direction, "total_ios") or 1)),
            mean_ns=mean * unit_ns,
            stddev_ns=None if stddev is None else stddev * unit_ns,
            least_ns=_ns(number(values, "min"), unit_ns),
            most_ns=_ns(most, unit_ns),
            percentiles=_percentiles(values.get("percentile"), unit_ns),
            bins=_bins(values.get("bins"), unit_ns),
        )
    return None


def _ns(value: float | None, unit_ns: int) -> int | None:
    return None if value is None else round(value * unit_ns)


def _percentiles(values: Any, unit_ns: int) -> Percentiles:
    found = {}
    for key in values if isinstance(values, dict) else ():
        try:
            percent = float(key)
        except ValueError:
            continue
        value = number(values, key)
        if 0 < percent <= 100 and value is not None:
            found[percent] = round(value * unit_ns)
    return tuple(sorted(found.items()))


def _bins(values: Any, unit_ns: int) -> dict[int, int]:
    found = {}
    for key in values if isinstance(values, dict) else ():
        count = number(values, key)
        if not key.isascii() or not key.isdigit() or len(key) > 18 or count is None:
            return {}
        found[int(key) * unit_ns] = round(count)
    return found


def merged(latencies: Sequence[FioLatency | None]) -> FioLatency | None:
    """Return the latency of all requests together; None when one of them was not measured.

    When all have bins, percentiles are fio's own: the first bin that the share reaches. Otherwise they are means of the
    percentiles, weighted with the requests, and not exact.
    """
    parts = [part for part in latencies if part is not None]
    if not parts or len(parts) < len(latencies):
        return None
    if len(parts) == 1:
        return parts[0]
    requests = sum(part.requests for part in parts)
    mean_ns = math.fsum(part.requests * part.mean_ns for part in parts) / requests
    exact = all(part.bins for part in parts)
    bins: Counter[int] = Counter()
    for part in parts:
        bins.update(part.bins if exact else {})
    stated = [dict(part.percentiles) for part in parts]
    shared = sorted(set(stated[0]).intersection(*stated[1:]))
    if exact:
        percentiles = _from_bins(bins, shared)
    else:
        weighed = [(part.requests, values) for part, values in zip(parts, stated, strict=True)]
        percentiles = tuple(
            (percent, round(sum(weight * values[percent] for weight, values in weighed) / requests))
            for percent in shared
        )
    return FioLatency(
        requests,
        mean_ns,
        _stddev(parts, mean_ns, requests),
        min((part.least_ns for part in parts if part.least_ns is not None), default=None),
        max((part.most_ns for part in parts if part.most_ns is not None), default=None),
        percentiles,
        bins,
        exact or not shared,
    )


def _stddev(parts: Sequence[FioLatency], mean_ns: float, requests: int) -> float | None:
    """Pool deviations of samples: fio divides by one less than there are."""
    squares = 0.0
    for part in parts:
        if part.stddev_ns is None:
            return None
        squares += (part.requests - 1) * part.stddev_ns**2 + part.requests * (part.mean_ns - mean_ns) ** 2
    return math.sqrt(squares / (requests - 1))


def _from_bins(bins: Mapping[int, int], percents: Sequence[float]) -> Percentiles:
    """Return fio's percentiles: of each the first bin at which its share of the requests is reached."""
    total = sum(bins.values())
    found = []
    reached = 0
    wanted = iter(percents)
    percent = next(wanted, None)
    for middle, count in sorted(bins.items()):
        reached += count
        while percent is not None and reached >= percent / 100 * total:
            found.append((percent, middle))
            percent = next(wanted, None)
    return tuple(found)
