"""Whether the hardware carries the load: steady, behind, or saturated - and then where and since when."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import Station
from tiersim.simulator.metrics import Metrics
from tiersim.units import format_ns

#: Share of the recorded throughput below which a run is behind.
BEHIND_THROUGHPUT = 0.95
#: A shorter lag cannot be told from the requests that happen to be in flight when a recording ends.
_LEAST_LAG_NS = 1_000_000_000
#: A backlog counts as growing to the end only if it has done so for this share of the recording,
_LONGEST_BURST = 0.10
#: if working it off takes this share of the time that it grew,
_LEAST_DRAIN = 0.02
#: and if each third of that time holds this much more than the one before.
_GROWTH = 1.15
#: Share of the recording at its end whose mean is "the backlog at the end".
_TAIL = 0.05
#: Share of time from which something works all the time.
_ALWAYS = 0.95
#: Kinds of station that hold requests but do not serve them.
_HOLDING = ("gate", "stripes")


@dataclass(frozen=True)
class Load:
    """The verdict on load; station, resource and time are None for a steady run."""

    verdict: Literal["steady", "behind", "saturated"]
    explanation: str
    shortfall_pct: float
    station: str | None = None
    resource: str | None = None
    since_ns: int | None = None
    sustainable_load: float | None = None


def utilisation(metrics: Metrics, stations: Sequence[Station], first: int, last: int) -> list[tuple[float, int, int]]:
    """Busy share of every resource over the intervals *first* to *last*: (share, station, resource)."""
    elapsed = (last - first + 1) * int(metrics.interval_ns[0])
    work = metrics.work_ns[last] - (metrics.work_ns[first - 1] if first else 0)
    return [
        (float(work[index, resource]) / (servers * elapsed), index, resource)
        for index, station in enumerate(stations)
        for resource, servers in enumerate(station.servers)
    ]


def judge(metrics: Metrics, stations: Sequence[Station], span_ns: int, end_ns: int) -> Load:
    """Judge a run whose timeline has one interval more than the recording's *span_ns* needs; it ended at *end_ns*."""
    intervals = len(metrics.arrivals) - 1
    arrivals = metrics.arrivals[:intervals].sum(axis=1)
    completions = metrics.completions[:intervals].sum(axis=1)
    arrived, completed = int(arrivals.sum()), int(completions.sum())
    if arrived == 0:
        return Load("steady", "nothing was asked of it", 0.0)
    in_plant = np.cumsum(arrivals - completions)
    shortfall = 1 - completed / arrived
    drain_ns = max(0, end_ns - span_ns)
    since = _grows_since(in_plant, drain_ns, int(metrics.interval_ns[0]))
    if since is None:
        late = shortfall > 1 - BEHIND_THROUGHPUT or drain_ns > (1 - BEHIND_THROUGHPUT) * span_ns
        if late and drain_ns > _LEAST_LAG_NS:
            index, resource = _culprit(metrics, stations, 0, intervals - 1)
            name, what = stations[index].name, stations[index].resources[resource]
            text = (
                f"behind the recording: {100 * shortfall:.1f} % of the requests were not done when it ended, "
                f"{format_ns(drain_ns)} more were needed; {what} of {name} held them up"
            )
            return Load("behind", text, 100 * shortfall, name, what)
        return Load("steady", "every request was done in time; no backlog grows", 100 * shortfall)
    index, resource = _culprit(metrics, stations, since, intervals - 1)
    name, what = stations[index].name, stations[index].resources[resource]
    offered, done = int(arrivals[since:].sum()), int(completions[since:].sum())
    since_ns = since * int(metrics.interval_ns[0])
    text = (
        f"saturated: the backlog grows from {format_ns(since_ns)} to the end, where {int(in_plant[-1]):,} requests wait; "
        f"{what} of {name} is the bottleneck; about {done / offered:.2f} of this load could be sustained"
    )
    return Load("saturated", text, 100 * shortfall, name, what, since_ns, done / offered)


def _grows_since(in_plant: NDArray[np.int64], drain_ns: int, interval_ns: int) -> int | None:
    """Interval since which the backlog has been growing to the end of the recording, or None."""
    intervals = len(in_plant)
    tail = max(1, round(_TAIL * intervals))
    at_end = float(in_plant[-tail:].mean())
    low = np.flatnonzero(in_plant <= at_end / 10)
    since = int(low[-1]) + 1 if low.size else 0
    grown = in_plant[since:].astype(np.float64)
    if len(grown) < max(3, _LONGEST_BURST * intervals):
        return None
    if drain_ns < _LEAST_DRAIN * len(grown) * interval_ns:
        return None
    first, second, third = (float(part.mean()) for part in np.array_split(grown, 3))
    if second < _GROWTH * first or third < _GROWTH * second:
        return None
    return since


def to_blame(uses: Sequence[tuple[float, int, int]], stations: Sequence[Station]) -> list[tuple[float, int, int]]:
    """Leave out what is only held up by something else.

    Places of a queue are taken, and rows of an array are locked, for as long as those behind them need. They are to
    blame if nothing that serves always works; and of several that are always full the one that lies behind the others,
    which is the first in the plant.
    """
    serving = [use for use in uses if stations[use[1]].kind not in _HOLDING]
    if any(share >= _ALWAYS for share, _, _ in serving):
        return serving
    full = [use for use in uses if use[0] >= _ALWAYS]
    return [min(full, key=lambda use: use[1])] if full else list(uses)


def _culprit(metrics: Metrics, stations: Sequence[Station], first: int, last: int) -> tuple[int, int]:
    """Station with the longest queue at the end among those that serve, and the busiest of its resources."""
    queues = metrics.outstanding[last]
    busy = to_blame(utilisation(metrics, stations, first, last), stations)
    _, index, resource = max(busy, key=lambda use: (int(queues[use[1]]), use[0]))
    return index, resource
