"""Whether the hardware carries the load: steady, behind, or saturated, where and since when; and what it spent of its
volumes' burst credits: a load that lives on them is not one that a volume carries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import INSTANCE, Balance, Station
from tiersim.devices.station_records import NEVER
from tiersim.simulator.categories import REQUESTS
from tiersim.simulator.metrics import Metrics
from tiersim.units import NS_PER_S, format_ns

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
#: A part that is busy for less of the time is not what limits a run.
BUSY = 0.8
#: Share of the recording at its end whose mean is "the backlog at the end".
_TAIL = 0.05
#: Share of time from which something works all the time.
ALWAYS_BUSY = 0.95
#: Share from which on a queue behind what works so much has no length of its own: at 0.99 the mean queue of random
#: arrivals is of a hundred requests, and takes thousands to settle.
_NEVER_SETTLES = 0.99
#: Kinds of station that hold requests but do not serve them; the first remembers for long.
STORING = "write cache"
HOLDING = ("gate", "shares", "stripes", STORING)

#: What a resource of a station is called; one that is not here keeps its own name.
_NAMES = {
    "actuator": "disk arm",
    "interface": "disk interface",
    "dies": "flash dies",
    "channels": "flash channels",
    "controller": "flash controller",
    "link": "flash link",
    "write link": "flash link (writes)",
    "host cpu": "driver CPU",
    "credits": "burst credits",
    "byte credits": "burst credits (bytes)",
    "lines": "write-back cache",
}
#: What stations with nothing else have: their own name says it all.
_SERVERS = "servers"
#: Resources that a server has once: the name says it all.
_ONCE = {"cores": "CPU", "workers": "I/O workers", "lookups": "buffer pool"}


def part_name(station: str, resource: str) -> str:
    """Return the name of a resource of a station, such as ``disk arm of data.9`` or ``CPU``."""
    if resource == _SERVERS:
        return station
    return _ONCE.get(resource) or f"{_NAMES.get(resource, resource)} of {station}"


@dataclass(frozen=True)
class LoadVerdict:
    """The verdict on load; station, resource and time are None for a steady run."""

    verdict: Literal["steady", "behind", "saturated"]
    explanation: str
    shortfall_pct: float
    station: str | None = None
    resource: str | None = None
    since_ns: int | None = None
    sustainable_load: float | None = None
    burst: Mapping[str, Any] | None = None
    grows_from_ns: int | None = None  # a queue that is worked off soon: the load is carried


def limits(share: float, *, waits_known: bool) -> bool:
    """Tell whether a part that is busy for a *share* of the time limits a run: for most of it; where it is known what
    the run waits for, for all of it, as one that is idle at times lets more through.
    """
    return share >= (ALWAYS_BUSY if waits_known else BUSY)


def utilisation(
    metrics: Metrics, stations: Sequence[Station], first: int, last: int, end_ns: int = NEVER
) -> list[tuple[float, int, int]]:
    """Busy share of every resource over the intervals *first* to *last*, or until the run ended at *end_ns* if that was
    sooner: (share, station, resource).

    Work is booked when it begins. What ends after the last interval would make more than all of the time.
    """
    interval_ns = int(metrics.interval_ns[0])
    elapsed = max(min((last + 1) * interval_ns, end_ns) - first * interval_ns, 1)
    work = metrics.work_ns[last] - (metrics.work_ns[first - 1] if first else 0)
    return [
        (min(float(work[index, resource]) / (servers * elapsed), 1.0), index, resource)
        for index, station in enumerate(stations)
        for resource, servers in enumerate(station.servers)
    ]


def counted_utilisation(
    metrics: Metrics, stations: Sequence[Station], last: int, end_ns: int = NEVER
) -> list[tuple[float, int, int]]:
    """Busy share of every resource from the end of the warm-up to the interval *last*, or until the run ended at
    *end_ns*: (share, station, resource).
    """
    return utilisation(metrics, stations, min(int(metrics.first_counted[0]), last), last, end_ns)


@dataclass(frozen=True)
class Flow:
    """What comes and is done by interval of the timeline, without the last, which is open.

    ``begun_share``: of what comes, before a run stops that begins nothing more after its time.
    """

    what: str
    arrivals: NDArray[np.int64]
    completions: NDArray[np.int64]
    begun_share: float = 1.0


def requests_of(metrics: Metrics) -> Flow:
    """Return the requests of a run."""
    arrivals, completions = (counts[:-1, REQUESTS].sum(axis=1) for counts in (metrics.arrivals, metrics.completions))
    return Flow("requests", arrivals, completions)


def judge(
    metrics: Metrics, stations: Sequence[Station], span_ns: int, end_ns: int, flow: Flow | None = None
) -> LoadVerdict:
    """Judge a run by the *flow* of what comes by the clock, its requests unless another is given.

    The timeline has one interval more than the recording's *span_ns* needs; the run ended at *end_ns*.
    """
    flow = flow or requests_of(metrics)
    intervals = len(flow.arrivals)
    arrivals, completions, what_comes = flow.arrivals, flow.completions, flow.what
    arrived, completed = int(arrivals.sum()), int(completions.sum())
    if arrived == 0:
        return LoadVerdict("steady", "the recording has no requests", 0.0)
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
                f"too slow: {100 * shortfall:.1f} % of the {what_comes} are not done when the recording ends. "
                f"They take {format_ns(drain_ns)} longer. Bottleneck: {part_name(name, what)}"
            )
            return LoadVerdict("behind", text, 100 * shortfall, name, what)
        burst = _burst(metrics, stations) if flow.what == "requests" else None
        grows_ns, how = _never_settles(metrics, stations, in_plant, what_comes)
        text = f"every {what_comes.removesuffix('s')} is done in time{how or '; no backlog grows'}"
        if burst is not None:
            text += f"{'' if how else ' at the end'}. {explain_burst(burst)}"
        return LoadVerdict("steady", text, 100 * shortfall, burst=burst, grows_from_ns=grows_ns)
    index, resource = _culprit(metrics, stations, since, intervals - 1)
    name, what = stations[index].name, stations[index].resources[resource]
    offered, done = int(arrivals[since:].sum()), int(completions[since:].sum())
    since_ns = _begins(in_plant, since) * int(metrics.interval_ns[0])
    growing_ns = (intervals - since) * int(metrics.interval_ns[0])
    # of what runs side by side little is done before all is: then the time that all takes tells
    sustainable = max(done / offered, flow.begun_share * growing_ns / (growing_ns + drain_ns))
    text = (
        f"saturated: about {sustainable:.2f} of this load can be sustained. The backlog grows from"
        f" {format_ns(since_ns)} to the end, where {int(in_plant[-1]):,} {what_comes} wait. Bottleneck:"
        f" {part_name(name, what)}"
    )
    shortfall = min(shortfall, 1 - sustainable)
    return LoadVerdict("saturated", text, 100 * shortfall, name, what, since_ns, sustainable)


def _never_settles(
    metrics: Metrics, stations: Sequence[Station], in_plant: NDArray[np.int64], what_comes: str
) -> tuple[int | None, str]:
    """Return from when on the queue behind a part grows that works all the time, though it is soon worked off, and what
    to say of that; None and nothing if it does not.
    """
    interval_ns = int(metrics.interval_ns[0])
    since = _grows_since(in_plant, None, interval_ns)
    if since is None:
        return None, ""
    share, index, resource = max(to_blame(utilisation(metrics, stations, since, len(in_plant) - 1), stations))
    if share < _NEVER_SETTLES:
        return None, ""
    grows_ns = _begins(in_plant, since) * interval_ns
    part = part_name(stations[index].name, stations[index].resources[resource])
    return grows_ns, (
        f", but {what_comes} wait longer and longer from {format_ns(grows_ns)} on, as {part} is {100 * share:.0f} %"
        " busy: how long they take depends on how long the recording is"
    )


def _burst(metrics: Metrics, stations: Sequence[Station]) -> dict[str, Any] | None:
    """The time in which requests come that take longest, until they are done, and the part that is busiest then; None
    if they do not take long.
    """
    interval_ns = int(metrics.interval_ns[0])
    arrivals, sums_ns = (some[:-1, REQUESTS].sum(axis=1) for some in (metrics.arrivals, metrics.latency_sum_ns))
    means_ns = sums_ns / np.maximum(arrivals, 1)
    longest = int(means_ns.argmax())
    if means_ns[longest] <= _LEAST_LAG_NS:
        return None
    first, last = longest, min(longest + int(means_ns[longest]) // interval_ns, len(arrivals) - 1)
    while first and means_ns[first - 1] > _LEAST_LAG_NS:
        first -= 1
    share, index, resource = max(to_blame(utilisation(metrics, stations, first, last), stations))
    return {
        "from_ns": first * interval_ns,
        "until_ns": (last + 1) * interval_ns,
        "mean_ns": float(sums_ns[first : last + 1].sum() / arrivals[first : last + 1].sum()),
        "station": stations[index].name,
        "resource": stations[index].resources[resource],
        "utilisation": share,
    }


def explain_burst(burst: Mapping[str, Any]) -> str:
    """Say how late requests of a burst are, and what is busy then."""
    from_ns, until_ns = burst["from_ns"], burst["until_ns"]
    return (
        f"But requests of a burst take {format_ns(burst['mean_ns'])} in the mean: for {format_ns(until_ns - from_ns)}"
        f" from {format_ns(from_ns)} on, {part_name(burst['station'], burst['resource'])} is"
        f" {100 * burst['utilisation']:.0f} % busy"
    )


@dataclass(frozen=True)
class Sessions:
    """What a run whose commands wait for others is judged by, besides its metrics."""

    sessions: int
    inferred: int  # of them, made up because the recording does not tell threads apart
    late_ns: NDArray[np.int64]  # of each session's last command: start against recorded start
    recorded_ns: NDArray[np.int64] | None = None  # that recorded start, where it is known
    names: NDArray[np.str_] | None = None  # of their processes, empty where not recorded
    stopped: bool = False  # when the recording's time was over, something was left that they did not begin any more


def late_sessions(late_ns: NDArray[np.int64], span_ns: int) -> NDArray[np.int64]:
    """The delays of those sessions that end late: by over a twentieth of the recording."""
    return late_ns[late_ns > (1 - BEHIND_THROUGHPUT) * span_ns]


def judge_waiting(
    metrics: Metrics,
    stations: Sequence[Station],
    span_ns: int,
    end_ns: int,
    recorded: int,
    sessions: Sessions,
    flow: Flow | None = None,
    wait: str | None = None,
) -> LoadVerdict:
    """Judge a run whose *flow*, requests or what is given, waits for others: by how much of the recording it gets
    through in its time; *wait* says what it waits for most.

    *recorded* of it took *span_ns* when they were recorded. A queue cannot grow without bound here, and latency alone
    looks fine: what a slower device costs is throughput. A negative shortfall is a faster run. It is behind, too, when
    most sessions end late. Sessions that were stopped with the recording would have needed as much longer for all of it
    as they were slower.
    """
    flow = flow or requests_of(metrics)
    intervals = len(flow.completions)
    completed = int(flow.completions.sum())
    if sessions.stopped:
        end_ns = max(span_ns, round(span_ns * recorded / max(completed, 1)))
    elapsed_ns = max(1, min(span_ns, end_ns))
    shortfall = 1 - (completed / elapsed_ns) / (recorded / span_ns) if recorded else 0.0
    late = late_sessions(sessions.late_ns, span_ns)
    drain_ns = max(0, end_ns - span_ns)
    slow = shortfall > 1 - BEHIND_THROUGHPUT and drain_ns > min(_LEAST_LAG_NS, (1 - BEHIND_THROUGHPUT) * span_ns)
    if not slow and 2 * late.size <= sessions.sessions:
        return LoadVerdict("steady", _pace(sessions, late, span_ns), 100 * shortfall)
    share, index, resource = max(to_blame(counted_utilisation(metrics, stations, intervals - 1), stations))
    name, what = stations[index].name, stations[index].resources[resource]
    if limits(share, waits_known=wait is not None):
        why = f"Bottleneck: {part_name(name, what)}, busy {100 * share:.0f} % of the time"
    elif wait is not None:
        why = f"{wait}. Busiest part: {part_name(name, what)}, {100 * share:.0f} %"
    else:
        why = (
            f"Each request takes longer, though no part is short of capacity. Busiest part: {part_name(name, what)},"
            f" {100 * share:.0f} %"
        )
        if sessions.inferred:
            why += (
                f". The recording shows at most {sessions.inferred} sessions at a time. "
                'If there were more, set clients under [replay]; if nobody waits, set mode = "open"'
            )
    text = (
        f"too slow: {_per_s(completed, elapsed_ns)} {flow.what}/s instead of {_per_s(recorded, span_ns)}. "
        f"The whole workload {'would take' if sessions.stopped else 'takes'} {format_ns(drain_ns)} longer. {why}"
    )
    return LoadVerdict("behind", text, 100 * shortfall, name, what, None, 1 - shortfall)


def _pace(sessions: Sessions, late_ns: NDArray[np.int64], span_ns: int) -> str:
    """Say how many sessions end when they did in the recording, and where in its time the latest of the others ends."""
    if not late_ns.size:
        return "no session ends later than recorded"
    latest = int(sessions.late_ns.argmax())
    name = "" if sessions.names is None else str(sessions.names[latest])
    one, latest_of = (f" ({name})", f" (the latest: {name})") if name else ("", "")
    finish = f"One{one} ends" if late_ns.size == 1 else f"{late_ns.size}{latest_of} end up to"
    text = (
        f"{sessions.sessions - late_ns.size} of {sessions.sessions} sessions end on time. "
        f"{finish} {format_ns(int(late_ns.max()))} later than recorded"
    )
    if sessions.recorded_ns is not None:
        due_ns = int(sessions.recorded_ns[latest])
        ended_ns = due_ns + int(sessions.late_ns[latest])
        text += f" (at {format_ns(ended_ns)}, not {format_ns(due_ns)})"
    return f"{text}. In a session, each request waits for the one before"


def _per_s(count: int, time_ns: int) -> str:
    rate = count * NS_PER_S / time_ns
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _grows_since(in_plant: NDArray[np.int64], drain_ns: int | None, interval_ns: int) -> int | None:
    """Interval since which the backlog has been growing to the end of the recording, or None; where *drain_ns* is
    given, one that takes a share of that time to work off.
    """
    intervals = len(in_plant)
    tail = max(1, round(_TAIL * intervals))
    at_end = float(in_plant[-tail:].mean())
    low = np.flatnonzero(in_plant <= at_end / 10)
    since = int(low[-1]) + 1 if low.size else 0
    grown = in_plant[since:].astype(np.float64)
    if len(grown) < max(3, _LONGEST_BURST * intervals):
        return None
    if drain_ns is not None and drain_ns < _LEAST_DRAIN * len(grown) * interval_ns:
        return None
    first, second, third = (float(part.mean()) for part in np.array_split(grown, 3))
    if second < _GROWTH * first or third < _GROWTH * second:
        return None
    return since


def _begins(in_plant: NDArray[np.int64], since: int) -> int:
    """Interval in which a backlog began that is a tenth of the last one at *since*: behind the last hundredth of it."""
    low = np.flatnonzero(in_plant[:since] <= in_plant[-1] / 100)
    return int(low[-1]) + 1 if low.size else 0


def to_blame(uses: Sequence[tuple[float, int, int]], stations: Sequence[Station]) -> list[tuple[float, int, int]]:
    """Leave out what is only held up by something else.

    Places of a queue are taken, rows of an array are locked, and lines of a write cache are dirty, for as long as those
    behind them need. They are to blame if nothing that serves always works; and of several that are always full the one
    that lies behind the others, which is the first in the plant. A cache that is not full holds nobody up. The limits
    of an instance are to blame if nothing behind them always works.
    """
    serving = [use for use in uses if stations[use[1]].kind not in HOLDING]
    behind = [use for use in serving if stations[use[1]].kind != INSTANCE]
    for candidates in (behind, serving):
        if any(share >= ALWAYS_BUSY for share, _, _ in candidates):
            return candidates
    full = [use for use in uses if use[0] >= ALWAYS_BUSY]
    return [min(full, key=lambda use: use[1])] if full else [use for use in uses if stations[use[1]].kind != STORING]


def _culprit(metrics: Metrics, stations: Sequence[Station], first: int, last: int) -> tuple[int, int]:
    """Station with the longest queue at the end among those that serve, and of these among those that always work, if
    any does; and the busiest of its resources.
    """
    queues = metrics.outstanding[last]
    uses = to_blame(utilisation(metrics, stations, first, last), stations)
    busy = [use for use in uses if use[0] >= ALWAYS_BUSY] or uses
    _, index, resource = max(busy, key=lambda use: (int(queues[use[1]]), use[0]))
    return index, resource


#: A balance that is lower by less than this share of a full one has not fallen: the last burst has just not been earned
#: back.
_LEAST_FALL = 0.001

Credits = Literal["kept", "falling", "ran out"]


def credits_state(balances: Sequence[Balance]) -> Credits:
    """The verdict on several balances together: the worst of them."""
    if any(balance.ran_out_ns is not None for balance in balances):
        return "ran out"
    return "falling" if any(_fell(balance) for balance in balances) else "kept"


def lasts_ns(balance: Balance, end_ns: int) -> float | None:
    """How long what is left after a run of *end_ns* lasts if it goes on falling as it did; None if it did not fall."""
    return balance.end * end_ns / (balance.start - balance.end) if _fell(balance) else None


def explain_credits(credits: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a clause for each balance of a summary that fell or ran out."""
    clauses = []
    for one in credits:
        name = part_name(one["station"], one["resource"])
        if one["ran_out_ns"] is not None:
            clauses.append(
                f"{name} run out after {format_ns(one['ran_out_ns'])}: from then on the baseline rate applies"
            )
        elif one["lasts_ns"] is not None:
            clauses.append(
                f"{name} fall from {100 * one['start']:.1f} % to {100 * one['end']:.1f} % "
                f"and run out after another {format_ns(one['lasts_ns'])} of this load"
            )
    return clauses


def describe_load(
    judged: LoadVerdict, balances: Sequence[Balance], stations: Sequence[Station], end_ns: int
) -> dict[str, Any]:
    """The verdict on load for a summary."""
    return {
        "explanation": "; ".join([judged.explanation, *explain_credits(describe_credits(balances, stations, end_ns))]),
        "station": judged.station,
        "resource": judged.resource,
        "since_ns": judged.since_ns,
        "sustainable_load": judged.sustainable_load,
        **({} if judged.burst is None else {"burst": judged.burst}),
        **({} if judged.grows_from_ns is None else {"grows_from_ns": judged.grows_from_ns}),
    }


def describe_busiest(metrics: Metrics, stations: Sequence[Station], last: int, end_ns: int = NEVER) -> dict[str, Any]:
    """The busiest resource of the intervals up to *last*, or until the run ended at *end_ns*, for a summary."""
    uses = to_blame(counted_utilisation(metrics, stations, last, end_ns), stations)
    share, index, resource = max(uses, default=(0.0, 0, 0))
    return {"station": stations[index].name, "resource": stations[index].resources[resource], "utilisation": share}


#: Of so many stretches of a run the busiest counts as its peak,
_STRETCHES = 30
#: if a part is so many times as busy there as the busiest in the whole run: the scatter of a steady load, even on one
#: of many disks (1.8 times in the recording of the tests), makes no peak.
_PEAK = 2.0


def describe_peak(
    metrics: Metrics, stations: Sequence[Station], last: int, mean: float, end_ns: int = NEVER
) -> dict[str, Any] | None:
    """The busiest resource of the busiest stretch of the intervals up to *last*, or until the run ended at *end_ns*,
    for a summary; None where the busiest of the whole run, *mean* of its time, is not much less busy.
    """
    interval_ns = int(metrics.interval_ns[0])
    first = min(int(metrics.first_counted[0]), last)
    edges = np.unique(np.linspace(first, last + 1, _STRETCHES + 1).astype(np.int64)).tolist()
    found: list[tuple[float, int, int, int, int]] = []
    for begin, end in pairwise(edges):
        if end * interval_ns > end_ns:
            break
        uses = to_blame(utilisation(metrics, stations, begin, end - 1), stations)
        share, index, resource = max(uses, default=(0.0, 0, 0))
        found.append((share, -begin, index, resource, end))
    share, begin, index, resource, end = max(found, default=(0.0, 0, 0, 0, 0))
    if share < _PEAK * mean:
        return None
    return {
        "from_ns": -begin * interval_ns,
        "until_ns": end * interval_ns,
        "station": stations[index].name,
        "resource": stations[index].resources[resource],
        "utilisation": share,
    }


def describe_credits(balances: Sequence[Balance], stations: Sequence[Station], end_ns: int) -> list[dict[str, Any]]:
    """The balances for a summary."""
    return [
        {
            "station": stations[balance.station].name,
            "resource": balance.resource,
            "start": balance.start,
            "end": balance.end,
            "ran_out_ns": balance.ran_out_ns,
            "lasts_ns": lasts_ns(balance, end_ns),
        }
        for balance in balances
    ]


def _fell(balance: Balance) -> bool:
    return balance.ran_out_ns is None and balance.start - balance.end > _LEAST_FALL
