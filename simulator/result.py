"""Results: what a run left behind becomes one, which is kept on disk (``NAME.result/``).

Figures come with what is known about them: values, 80 % intervals, and whether the sample resolves them. Order
statistics give the interval of a percentile; requests that come in bursts are not independent, so the variance is
inflated by what batches of the run show (batch means; Law, "Simulation Modeling and Analysis", 5th ed., section 9.5).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiersim import __version__
from tiersim.devices.plant import INSTANCE, Station
from tiersim.devices.station_records import Plant
from tiersim.errors import TraceError, reason
from tiersim.files import checksums_of, sealed, whole_folder
from tiersim.histogram import COARSE_EDGES_NS, FINE_EDGES_NS, coarse_quantiles_ns, quantile_ns
from tiersim.simulator import verdict
from tiersim.simulator.categories import CATEGORIES, PERCENTILES, REQUESTS
from tiersim.simulator.commands import Outcome
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.verdict import LoadVerdict, Sessions, counted_utilisation, judge, judge_waiting
from tiersim.traces.parquet import part_of
from tiersim.units import NS_PER_S

SCHEMA = "tiersim.result/1"
RUN = "run.json"
_TABLES = ("latency", "timeline", "stations")
#: Tables that not every result has.
_MORE = ("requests", "database")


@dataclass(frozen=True)
class Result:
    """One run of one trace on one scenario; ``docs/result.md`` lists every column and key.

    ``summary`` is the JSON document, of :class:`tiersim.simulator.summary_model.Summary`; ``latency`` the histogram by
    class (low_ns, high_ns, count); ``timeline`` rates and latencies by interval and class; ``stations`` utilisation and
    queue by interval, station and resource. Columns that hold no interval's requests are null. ``requests`` (row,
    done_ns of every command) is there only when it was asked for, ``database`` (dirty pages, log and checkpoints by
    interval) only where statements ran.
    """

    summary: dict[str, Any]
    latency: pa.Table
    timeline: pa.Table
    stations: pa.Table
    scenario_toml: str
    requests: pa.Table | None = None
    database: pa.Table | None = None


def save_result(result: Result, target: Path, run_facts: dict[str, Any], *, force: bool = False) -> None:
    """Write a result bundle; wall-clock facts of the run go into ``run.json``, so that the rest is reproducible, with
    checksums of it.
    """
    with whole_folder(target, force=force) as folder:
        for name in _TABLES:
            pq.write_table(getattr(result, name), folder / f"{name}.parquet", compression="zstd")
        for name in _MORE:
            if getattr(result, name) is not None:
                pq.write_table(getattr(result, name), folder / f"{name}.parquet", compression="zstd")
        (folder / "summary.json").write_bytes((json.dumps(result.summary, indent=1, sort_keys=True) + "\n").encode())
        (folder / "scenario.toml").write_bytes(result.scenario_toml.encode())
        (folder / RUN).write_bytes(sealed(run_facts, checksums_of(folder, RUN)))


def load_result(path: Path) -> Result:
    """Read a result bundle; raises TraceError when it is not a whole one."""
    try:
        summary = json.loads(part_of(path, "summary.json").read_bytes())
        if not isinstance(summary, dict) or summary.get("schema") != SCHEMA:
            raise TraceError(f"{path / 'summary.json'}: schema is not {SCHEMA!r}; run the replay again")
        tables = {name: pq.read_table(part_of(path, f"{name}.parquet")) for name in _TABLES}
        kept = {name: part_of(path, f"{name}.parquet") for name in _MORE}
        more = {name: pq.read_table(file) if file.exists() else None for name, file in kept.items()}
        return Result(
            summary, **tables, scenario_toml=part_of(path, "scenario.toml").read_text(encoding="utf-8"), **more
        )
    except OSError as error:
        if inside := sorted(path.glob("*.result")):
            raise TraceError(f"{path}: is a folder of results; name one of them, such as {inside[0]}") from None
        parts = ("summary.json", *(f"{name}.parquet" for name in _TABLES), "scenario.toml")
        gone = next((name for name in parts if path.is_dir() and not (path / name).exists()), None)
        why = reason(error) if gone is None else f"it has no {gone}"
        raise TraceError(f"{path}: is not a result bundle ({why}); give a folder that replay wrote") from None
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is damaged ({str(error).splitlines()[0]}); run the replay again") from None


#: A figure whose 80 % half-width is a larger share of it is not resolved.
RESOLVED_HALF_WIDTH = 0.25
#: Batches that the run is cut into to see how far requests depend on each other.
BATCHES = 30
NORMAL_90 = 1.2815515655446004  # quantiles for two-sided 80 %
#: Those of Student's distribution, by the batches that anything came in, from two on.
_STUDENT_90 = (
    *(3.077684, 1.885618, 1.637744, 1.533206, 1.475884, 1.439756, 1.414924, 1.396815, 1.383029, 1.372184),
    *(1.363430, 1.356217, 1.350171, 1.345030, 1.340606, 1.336757, 1.333379, 1.330391, 1.327728, 1.325341),
    *(1.323188, 1.321237, 1.319460, 1.317836, 1.316345, 1.314972, 1.313703, 1.312527, 1.311434),
)
#: What comes at one time alone: whether another time would give the same nobody knows, however many they are.
ONE_BATCH = f"all in one of the {BATCHES} parts of the run"


class Figure(TypedDict):
    """One predicted figure; ``value`` is None when the sample cannot resolve it."""

    value: float | None
    low: float | None
    high: float | None
    resolved: bool
    basis: str


def percentile(
    histogram: NDArray[np.int64], over_time: "Clusters", probability: float, most_ns: float = math.inf
) -> Figure:
    """Percentile of a latency histogram, whose largest is *most_ns*; *over_time* shows how its samples cluster."""
    count = int(histogram.sum())
    basis = "simulated, 80 % order-statistic interval"
    if count == 0:
        return Figure(value=None, low=None, high=None, resolved=False, basis="no such request")
    rank = probability * count
    value = quantile_ns(histogram, rank, most_ns)
    spread = NORMAL_90 * np.sqrt(count * probability * (1 - probability) * _inflation(over_time, value))
    low = quantile_ns(histogram, max(rank - spread, 0.0), most_ns)
    if rank + spread > count:
        return Figure(value=None, low=low, high=None, resolved=False, basis=f"too few samples ({count})")
    high = quantile_ns(histogram, rank + spread, most_ns)
    resolved = (high - low) / 2 <= RESOLVED_HALF_WIDTH * value
    if over_time.used < 2:
        resolved, basis = False, ONE_BATCH
    return Figure(value=value if resolved else None, low=low, high=high, resolved=resolved, basis=basis)


def mean(counts: NDArray[np.int64], sums_ns: NDArray[np.int64]) -> Figure:
    """Mean latency from counts and sums by interval."""
    count = int(counts.sum())
    if count == 0:
        return Figure(value=None, low=None, high=None, resolved=False, basis="no such request")
    value = float(sums_ns.sum()) / count
    batch_counts, batch_sums = _batches(counts), _batches(sums_ns)
    used = int(np.count_nonzero(batch_counts))
    if used < 2:
        return Figure(value=None, low=value, high=value, resolved=False, basis=ONE_BATCH)
    deviation = batch_sums - value * batch_counts
    error = float(np.sqrt((deviation**2).sum() * used / (used - 1))) / count
    half = _STUDENT_90[used - 2] * error
    least = float((sums_ns[counts > 0] / counts[counts > 0]).min())  # however intervals are weighted
    resolved = half <= RESOLVED_HALF_WIDTH * value and count >= BATCHES
    return Figure(
        value=value if resolved else None,
        low=max(value - half, least),
        high=value + half,
        resolved=resolved,
        basis="simulated, 80 % interval of batch means",
    )


def withheld(reason: str) -> Figure:
    """A figure without its value: a saturated run has no steady state."""
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
    observed = ((above - share * counts) ** 2).sum() * over_time.used / max(over_time.used - 1, 1)
    return max(1.0, float(observed / independent))


class Clusters:
    """How the samples of a run cluster: their histograms by batch, from those by interval."""

    def __init__(self, over_time: NDArray[np.int32]) -> None:
        """Add up *over_time* (intervals, coarse bins)."""
        used = np.flatnonzero(over_time.any(axis=0))
        self._first = int(used[0]) if used.size else 0
        self._batches = _batches(over_time[:, self._first : int(used[-1]) + 1 if used.size else 0])
        self.counts = self._batches.sum(axis=1)
        self.used = int(np.count_nonzero(self.counts))

    def above(self, threshold_ns: float) -> NDArray[np.float64]:
        """Samples of each batch in bins above a threshold."""
        first = int(np.searchsorted(COARSE_EDGES_NS, threshold_ns, "left"))
        found: NDArray[np.float64] = self._batches[:, max(first - self._first, 0) :].sum(axis=1)
        return found


def summarise(
    name: str,
    plant: Plant,
    stations: Sequence[Station],
    metrics: Metrics,
    outcome: Outcome,
    span_ns: int,
    described: Mapping[str, Any],
    scenario_toml: str,
    *,
    sessions: Sessions | None = None,
    tables: bool = True,
    own: Outcome | None = None,
) -> Result:
    """Make the result of one run over a recording of *span_ns*; *described* goes into the summary as it is.

    *sessions* is there when commands waited for others. *own* is what the run left of this recording, where others ran
    beside it, and *metrics* are its own. Without *tables* they are empty, for who wants the summary
    alone: they take as long as it does.
    """
    own = own or outcome
    from tiersim.devices.station import balances  # nobody needs the devices for a result that is there

    if sessions is None:
        load = judge(metrics, stations, span_ns, own.end_ns)
    else:
        load = judge_waiting(metrics, stations, span_ns, own.end_ns, own.arrived, sessions)
    balance = [one for one in balances(plant, outcome.end_ns) if one.resource in stations[one.station].resources]
    intervals = len(metrics.arrivals) - 1
    busiest = verdict.describe_busiest(metrics, stations, intervals - 1, outcome.end_ns)
    peak = verdict.describe_peak(metrics, stations, intervals - 1, busiest["utilisation"], outcome.end_ns)
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "name": name,
        "tool_version": __version__,
        **described,
        "verdict": (
            {"load": load.verdict, "calibration": "none", "cache": "not modelled", "locks": "not modelled"}
            | dict(described.get("verdict", {}))
            | ({"credits": verdict.credits_state(balance)} if balance else {})
        ),
        "load": verdict.describe_load(load, balance, stations, outcome.end_ns),
        "bottleneck": busiest | ({"peak": peak} if peak else {}),
        "commands": own.arrived,
        "throughput_per_s": {
            "requests": _throughput(metrics, span_ns if sessions is None else min(span_ns, own.end_ns))
        },
        "throughput_shortfall_pct": load.shortfall_pct,
        "lag_ns": None if sessions is None else _lag(metrics, own, span_ns),
        "latency_ns": latencies(metrics, load, CATEGORIES),
        "stations": station_figures(plant, stations, metrics, outcome, intervals),
        "conservation": conservation(plant, stations, outcome),
    }
    if balance:
        summary["credits"] = verdict.describe_credits(balance, stations, outcome.end_ns)
    return Result(
        summary=summary,
        latency=latency_table(metrics, CATEGORIES) if tables else pa.table({}),
        timeline=timeline(metrics, CATEGORIES) if tables else pa.table({}),
        stations=station_timeline(metrics, stations) if tables else pa.table({}),
        scenario_toml=scenario_toml,
        requests=None if outcome.done_ns is None else pa.table({"done_ns": outcome.done_ns}),
    )


def conservation(plant: Plant, stations: Sequence[Station], outcome: Outcome) -> dict[str, Any]:
    """What every sound run satisfies: all that went in came out, Little's law holds exactly, nothing was busier than
    time.

    Little's law in integers: the integral of the number at a station equals the sum of the times spent there.
    Background work may be left at the end, and nothing else.
    """
    table = plant.stations
    left = plant.requests[outcome.unfinished]
    count = np.bincount(left["station"], minlength=len(table))
    since_ns = np.zeros(len(table), np.int64)
    np.add.at(since_ns, left["station"], outcome.end_ns - left["accepted_ns"])
    area_ns = table["area_ns"] + table["outstanding"] * (outcome.end_ns - table["changed_ns"])
    little = bool((area_ns == table["residence_ns"] + since_ns).all())
    accounted = bool((table["accepted"] - table["finished"] == count).all() and (table["outstanding"] == count).all())
    # flash plans programs, and the collection behind them, beyond the last completion, and the arm of a drive with a
    # buffer writes beyond it: their time runs until the last of them is done
    arms_free_ns = int(plant.drives["arm_free_ns"].max(initial=0))
    end_ns = max([outcome.end_ns, arms_free_ns, *(_dies_free_ns(plant, flash) for flash in plant.flashes)])
    busy = all(
        int(plant.work_ns[index, resource]) <= servers * end_ns
        for index, station in enumerate(stations)
        # an allowance may be spent before it is earned, and background work may be in service at the end
        if station.kind not in ("token bucket", INSTANCE) and not count[index]
        for resource, servers in enumerate(station.servers)
    )
    return {
        "requests_in": outcome.arrived,
        "requests_out": outcome.left,
        "accounted_for": accounted,
        "little": little,
        "busy": busy,
    }


def _dies_free_ns(plant: Plant, flash: np.void) -> int:
    """Return when the last die of a flash device has done what is planned for it."""
    first = int(flash["program_free"])
    return int(plant.pool[first : first + int(flash["dies"])].max(initial=0))


def measured_latencies(
    histograms: NDArray[np.int64], sums_ns: NDArray[np.int64], most_ns: NDArray[np.int64]
) -> dict[str, Any]:
    """Mean and percentiles of recorded latencies by category; *histograms* (categories, fine bins), and their largest
    ones.
    """
    result = {}
    for index, category in enumerate(CATEGORIES):
        count = int(histograms[index].sum())
        if count:
            result[category] = {"count": count, "mean": float(sums_ns[index]) / count} | {
                key: quantile_ns(histograms[index], probability * count, int(most_ns[index]))
                for key, probability in PERCENTILES.items()
            }
    return result


def _throughput(metrics: Metrics, span_ns: int) -> Figure:
    """Requests a second over the recording's time, or the run's if that was over sooner."""
    completed = int(metrics.completions[:-1, REQUESTS].sum())
    rate = completed * NS_PER_S / span_ns if span_ns else 0.0
    return Figure(value=rate, low=rate, high=rate, resolved=True, basis="completed within the recording's time")


def _lag(metrics: Metrics, outcome: Outcome, span_ns: int) -> dict[str, float]:
    """How much later than recorded commands started: on average, at most, and the last of them."""
    return {
        "mean": float(metrics.lag_sum_ns.sum()) / max(outcome.arrived, 1),
        "max": float(metrics.lag_max_ns[0]),
        "at_end": float(outcome.last_arrival_ns - (span_ns - 1)),
    }


def latencies(metrics: Metrics, load: LoadVerdict, names: Sequence[str]) -> dict[str, Any]:
    """Figures of each category that something was counted under; *names* are by column of the metrics, "" for those
    left out.
    """
    result: dict[str, Any] = {}
    for index, category in enumerate(names):
        count = int(metrics.latency[index].sum())
        if not count or not category:
            continue
        by_interval = metrics.latency_over_time[:, index]
        over_time, most_ns = Clusters(by_interval), int(metrics.latency_max_ns[index])
        # of those that are done: background work may be left when the run ends
        by_key: dict[str, Figure] = {"mean": mean(by_interval.sum(axis=1), metrics.latency_sum_ns[:, index])} | {
            key: percentile(metrics.latency[index], over_time, probability, most_ns)
            for key, probability in PERCENTILES.items()
        }
        if load.verdict == "saturated":
            by_key = {key: withheld("saturated: no steady state") for key in by_key}
        result[category] = {"count": count, **by_key, "max": most_ns}
        if load.verdict == "saturated":
            result[category]["max"] = None
    return result


def station_figures(
    plant: Plant, stations: Sequence[Station], metrics: Metrics, outcome: Outcome, intervals: int
) -> dict[str, Any]:
    """What each station did, by name, without the warm-up; utilisation over the first *intervals* of the timeline, or
    until the run ended: clients that wait for answers may be through long before the recording was.
    """
    from tiersim.devices.station import own_figures

    shares: dict[int, dict[str, float]] = {index: {} for index in range(len(stations))}
    for share, index, resource in counted_utilisation(metrics, stations, intervals - 1, outcome.end_ns):
        shares[index][stations[index].resources[resource]] = share
    warmup_ns = int(metrics.first_counted[0] * metrics.interval_ns[0])
    counted_ns = outcome.end_ns - warmup_ns if outcome.end_ns > warmup_ns else outcome.end_ns  # over before: all of it
    area_ns = plant.stations["area_ns"] - metrics.warmup_area_ns
    finished = plant.stations["finished"] - metrics.warmup_finished
    return {
        station.name: {
            "kind": station.kind,
            "utilisation": shares[index],
            "queue_mean": float(area_ns[index]) / max(counted_ns, 1),
            "requests": int(finished[index]),
            "time_ns": float(area_ns[index]) / int(finished[index]) if finished[index] else None,
            **own_figures(plant, index),
        }
        for index, station in enumerate(stations)
    }


def latency_table(metrics: Metrics, names: Sequence[str]) -> pa.Table:
    """The histogram of every category of *names*, "" for those left out."""
    category, index = np.nonzero(metrics.latency)
    kept = np.array([bool(name) for name in names])[category]
    category, index = category[kept], index[kept]
    return pa.table(
        {
            "class": pa.array([names[c] for c in category], pa.string()),
            "low_ns": np.ceil(FINE_EDGES_NS[index]).astype(np.int64),
            "high_ns": np.ceil(FINE_EDGES_NS[index + 1]).astype(np.int64),
            "count": metrics.latency[category, index],
        }
    )


def bounds(intervals: int, interval_ns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and end of every interval of a timeline."""
    start = np.arange(intervals, dtype=np.int64) * interval_ns
    return start, start + interval_ns


def timeline(metrics: Metrics, names: Sequence[str]) -> pa.Table:
    """Rates and latencies by interval of every category of *names*, "" for those left out."""
    intervals, categories = metrics.arrivals.shape
    start, end = bounds(intervals, int(metrics.interval_ns[0]))
    there = [c for c in range(categories) if names[c] and metrics.arrivals[:, c].any()]
    tables = []
    for c in there:
        counts = metrics.latency_over_time[:, c].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = metrics.latency_sum_ns[:, c] / counts
        quantiles = {
            key: coarse_quantiles_ns(
                metrics.latency_over_time[:, c], metrics.latency[c], PERCENTILES[key], int(metrics.latency_max_ns[c])
            )
            for key in ("p50", "p99")
        }
        columns: dict[str, Any] = {
            "start_ns": start,
            "end_ns": end,
            "class": pa.array([names[c]] * intervals, pa.string()),
            "arrivals": metrics.arrivals[:, c],
            "completions": metrics.completions[:, c],
            "bytes": metrics.completed_bytes[:, c],
            "mean_ns": pa.array(means, from_pandas=True),
            "p50_ns": pa.array(quantiles["p50"], from_pandas=True),
            "p99_ns": pa.array(quantiles["p99"], from_pandas=True),
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables) if tables else pa.table({"start_ns": pa.array([], pa.int64())})


def station_timeline(metrics: Metrics, stations: Sequence[Station]) -> pa.Table:
    """Utilisation and queue by interval, station and resource."""
    intervals = len(metrics.arrivals)
    start, end = bounds(intervals, int(metrics.interval_ns[0]))
    tables = []
    for index, station in enumerate(stations):
        for resource, servers in enumerate(station.servers):
            work = np.diff(metrics.work_ns[:, index, resource], prepend=0)
            columns: dict[str, Any] = {
                "start_ns": start,
                "end_ns": end,
                "station": pa.array([station.name] * intervals, pa.string()),
                "resource": pa.array([station.resources[resource]] * intervals, pa.string()),
                "utilisation": np.minimum(work / (servers * (end - start)), 1.0),
                "outstanding": metrics.outstanding[:, index],
            }
            # the last interval is open: how long it was is not known here
            tables.append(pa.table(columns).slice(0, intervals - 1))
    return pa.concat_tables(tables)
