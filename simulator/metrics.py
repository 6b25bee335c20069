"""What is measured while time moves: latency histograms, the timeline and what stations did, written by both engines
through the same kernels.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import Plant
from tiersim.histogram import COARSE_BITS, FINE_BITS, bin_of, bins
from tiersim.kernel import kernel, table_set
from tiersim.operating_system import sparse_bytes
from tiersim.simulator.categories import COUNT

#: A request that left a station that is watched, see :mod:`tiersim.simulator.taps`.
TAP: np.dtype[Any] = np.dtype(
    [
        ("came_ns", np.int64),
        ("done_ns", np.int64),
        ("offset_bytes", np.int64),
        ("length_bytes", np.int64),
        ("op", np.int64),
        ("place", np.int64),  # of its station among those that are watched
        ("asked_by", np.int64),  # session that it is a part of a request of
        ("category", np.int64),  # of that request
        ("through", np.int64),  # station that it is a part at
    ],
    align=True,
)


#: Less than that is memory of an earlier run, with glibc; more comes from the system anew (mallopt(3),
#: M_MMAP_THRESHOLD).
_LARGE_BYTES = 32 << 20

#: A station whose waiting is divided, see :mod:`tiersim.simulator.sharing`.
SHARED_STATION: np.dtype[Any] = np.dtype(
    [
        ("since_ns", np.int64),  # up to when it is divided
        ("waiting", np.int64),  # owners that have any that wait
        ("started", np.int64),  # requests of all of them
        ("served", np.int64),  # owners that have any that were started
        ("last", np.int64),  # whose was started last
    ],
    align=True,
)


@table_set
class Metrics(NamedTuple):
    """Counts by category (see the replay) and interval; every interval has the same length but the
    last, which is open.
    """

    interval_ns: NDArray[np.int64]  # (1,) length of an interval
    first_counted: NDArray[np.int64]  # (1,) interval; requests that arrive before it are part of a warm-up
    latency: NDArray[np.int64]  # (categories, fine bins)
    latency_over_time: NDArray[np.int32]  # (intervals, categories, coarse bins), by intended start: now is one place
    latency_sum_ns: NDArray[np.int64]  # (intervals, categories), by intended start
    latency_max_ns: NDArray[np.int64]  # (categories,)
    arrivals: NDArray[np.int64]  # (intervals, categories)
    completions: NDArray[np.int64]  # (intervals, categories), by completion
    completed_bytes: NDArray[np.int64]  # (intervals, categories), by completion
    lag_sum_ns: NDArray[np.int64]  # (intervals,) start against recorded start, summed over arrivals
    lag_max_ns: NDArray[np.int64]  # (1,)
    outstanding: NDArray[np.int64]  # (intervals, stations) at the end of the interval
    work_ns: NDArray[np.int64]  # (intervals, stations, resources) since time 0, at the end of the interval
    warmup_area_ns: NDArray[np.int64]  # (stations,) outstanding over time, before the first interval that is counted
    warmup_finished: NDArray[np.int64]  # (stations,) requests that left before it
    # who waits for whom (see sharing); owners: as ``owner_of`` has them, and background work; no stations if not asked
    owner_of: NDArray[np.int64]  # (categories,)
    waiting: NDArray[np.int32]  # (stations, owners) requests that the station has not started
    started: NDArray[np.int32]  # (stations, owners) and those that it has, and that are there
    owners_waiting: NDArray[np.int32]  # (stations, owners) first those that have any that wait
    owners_served: NDArray[np.int32]  # (stations, owners) first those that have any that were started
    waiting_place: NDArray[np.int32]  # (stations, owners) where in ``owners_waiting`` one is that has any there
    served_place: NDArray[np.int32]  # (stations, owners) likewise in ``owners_served``
    shared: NDArray[Any]  # SHARED_STATION[stations]
    behind_ns: NDArray[np.float64]  # (stations, owners and nobody, owners): behind the one's, waiting of the other's
    # requests to some stations (see taps)
    tapped: NDArray[np.int64]  # those stations
    taps: NDArray[Any]  # TAP[rows]
    tap_count: NDArray[np.int64]  # (1,) how many there were


def new_metrics(
    categories: int,
    stations: int,
    resources: int,
    intervals: int,
    interval_ns: int,
    owner_of: NDArray[np.int64] | None = None,
    counted_from_ns: int = 0,
) -> Metrics:
    """Make empty metrics; who waits for whom is noted where it is given whose requests of each category are. Requests
    are counted from the interval on that *counted_from_ns* lies in.
    """
    watched, owners = (0, 0) if owner_of is None else (stations, int(owner_of.max()) + 2)
    shared = np.zeros(watched, SHARED_STATION)
    shared["last"] = owners
    return Metrics(
        interval_ns=np.array([interval_ns], np.int64),
        first_counted=np.array([counted_from_ns // interval_ns], np.int64),
        latency=_sparse((categories, bins(FINE_BITS)), np.int64),
        latency_over_time=_sparse((intervals, categories, bins(COARSE_BITS)), np.int32),
        latency_sum_ns=np.zeros((intervals, categories), np.int64),
        latency_max_ns=np.zeros(categories, np.int64),
        arrivals=np.zeros((intervals, categories), np.int64),
        completions=np.zeros((intervals, categories), np.int64),
        completed_bytes=np.zeros((intervals, categories), np.int64),
        lag_sum_ns=np.zeros(intervals, np.int64),
        lag_max_ns=np.zeros(1, np.int64),
        outstanding=np.zeros((intervals, stations), np.int64),
        work_ns=np.zeros((intervals, stations, resources), np.int64),
        warmup_area_ns=np.zeros(stations, np.int64),
        warmup_finished=np.zeros(stations, np.int64),
        owner_of=np.zeros(0, np.int64) if owner_of is None else owner_of.astype(np.int64),
        waiting=np.zeros((watched, owners), np.int32),
        started=np.zeros((watched, owners + min(watched, 1)), np.int32),
        owners_waiting=np.zeros((watched, owners), np.int32),
        owners_served=np.zeros((watched, owners), np.int32),
        waiting_place=np.zeros((watched, owners), np.int32),
        served_place=np.zeros((watched, owners), np.int32),
        shared=shared,
        behind_ns=np.zeros((watched, owners + min(watched, 1), owners)),
        tapped=np.zeros(0, np.int64),
        taps=np.zeros(0, TAP),
        tap_count=np.zeros(1, np.int64),
    )


def _sparse(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros few of which will be written: of 16 recordings, latencies over time have 150 MB, a quarter used."""
    if math.prod(shape) * np.dtype(kind).itemsize < _LARGE_BYTES:
        return np.zeros(shape, kind)
    return np.frombuffer(sparse_bytes(math.prod(shape) * np.dtype(kind).itemsize), kind).reshape(shape)


def of_recording(m: Metrics, number: int) -> Metrics:
    """Return what was measured of one of several recordings that shared the plant."""
    return of_columns(m, slice(number * COUNT, (number + 1) * COUNT))


def of_columns(m: Metrics, own: slice) -> Metrics:
    """Return what was measured of some categories."""
    return m._replace(
        latency=m.latency[own],
        latency_over_time=m.latency_over_time[:, own],
        latency_sum_ns=m.latency_sum_ns[:, own],
        latency_max_ns=m.latency_max_ns[own],
        arrivals=m.arrivals[:, own],
        completions=m.completions[:, own],
        completed_bytes=m.completed_bytes[:, own],
    )


def within(m: Metrics, first: int, end: int) -> Metrics:
    """Return what was measured in the intervals from *first* to before *end*, and then what came later; how late
    commands started stays that of all intervals.
    """
    if first == 0 and end == len(m.arrivals) - 1:
        return m

    def counted(by_interval: NDArray[Any]) -> NDArray[Any]:
        after = by_interval[end:].sum(axis=0, keepdims=True, dtype=by_interval.dtype)
        return np.concatenate([by_interval[first:end], after])

    names = ("latency_over_time", "latency_sum_ns", "arrivals", "completions", "completed_bytes")
    kept = [*range(first, end), len(m.arrivals) - 1]
    before = m.work_ns[first - 1] if first else np.zeros_like(m.work_ns[0])
    return m._replace(
        **{name: counted(getattr(m, name)) for name in names},
        outstanding=m.outstanding[kept],
        work_ns=m.work_ns[kept] - before,
    )


def by_recording(recordings: int) -> NDArray[np.int64]:
    """Return whose requests of each category are, where recordings share the plant: that recording's."""
    return np.repeat(np.arange(recordings), COUNT)


@kernel
def record_arrival(m: Metrics, category: int, interval: int) -> None:
    """Count one command that arrived, but not in a warm-up."""
    if interval >= m.first_counted[0]:
        m.arrivals[interval, category] += 1


@kernel
def record_completion(
    m: Metrics, category: int, arrival_interval: int, now_interval: int, latency_ns: int, length_bytes: int
) -> None:
    """Count one completed request, but not of a warm-up."""
    if arrival_interval < m.first_counted[0]:
        return
    fine = bin_of(latency_ns, FINE_BITS)
    m.latency[category, fine] += 1
    m.latency_over_time[arrival_interval, category, fine >> (FINE_BITS - COARSE_BITS)] += 1
    m.latency_sum_ns[arrival_interval, category] += latency_ns
    m.latency_max_ns[category] = max(m.latency_max_ns[category], latency_ns)
    m.completions[now_interval, category] += 1
    m.completed_bytes[now_interval, category] += length_bytes


@kernel
def record_lag(m: Metrics, interval: int, lag_ns: int) -> None:
    """Note how much later than recorded a command starts; earlier is negative."""
    m.lag_sum_ns[interval] += lag_ns
    m.lag_max_ns[0] = max(m.lag_max_ns[0], lag_ns)


@kernel
def record_sync(m: Metrics, category: int, interval: int, latency_ns: int) -> None:
    """Count a wait that is made of requests, which are counted by themselves."""
    record_arrival(m, category, interval)
    record_completion(m, category, interval, interval, latency_ns, 0)


def close(m: Metrics, interval: int, outstanding: NDArray[np.int64], work_ns: NDArray[np.int64]) -> None:
    """End the current interval and those that nothing happened in: the stations stay as they are."""
    m.outstanding[interval:] = outstanding
    m.work_ns[interval:] = work_ns


@kernel
def note_warmup(p: Plant, m: Metrics, now: int) -> None:
    """The warm-up ends: note what stations did in it."""
    for station in range(p.stations.size):
        s = p.stations[station]
        m.warmup_area_ns[station] = s["area_ns"] + s["outstanding"] * (now - s["changed_ns"])
        m.warmup_finished[station] = s["finished"]


@kernel
def note_accepted(p: Plant, station: int, now: int) -> None:
    """A request entered the station."""
    s = p.stations[station]
    s["area_ns"] += s["outstanding"] * (now - s["changed_ns"])
    s["changed_ns"] = now
    s["outstanding"] += 1
    s["accepted"] += 1


@kernel
def note_finished(p: Plant, station: int, now: int, accepted_ns: int) -> None:
    """A request that entered at *accepted_ns* left the station, with everything it caused below."""
    s = p.stations[station]
    s["area_ns"] += s["outstanding"] * (now - s["changed_ns"])
    s["changed_ns"] = now
    s["outstanding"] -= 1
    s["finished"] += 1
    s["residence_ns"] += now - accepted_ns
