"""A result's tables → what is drawn of them: percentile curves, series over time, stations over time, checkpoints; and
numbers as a page carries them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiersim.simulator.categories import PERCENTILES, REQUEST_CATEGORIES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tiersim.simulator.result import Result


def five_digits(value: float | None) -> float | None:
    """Five significant digits."""
    return None if value is None else float(f"{value:.5g}")


def short_us(values_ns: Sequence[float]) -> list[float]:
    """Nanoseconds as microseconds, of five significant digits."""
    return [float(f"{value / 1e3:.5g}") for value in values_ns]


def rounded(values: np.ndarray, digits: int) -> list[float | None]:
    """Significant digits only; whole numbers without a point, unknown ones as None."""
    found: list[float | None] = []
    for value in values.tolist():
        if value == 0.0:  # most of them, where little waits
            found.append(0)
        elif math.isfinite(value):
            short = float(f"{value:.{digits}g}")
            found.append(int(short) if short.is_integer() else short)
        else:
            found.append(None)
    return found


def whole(values: np.ndarray) -> list[int]:
    """Counts."""
    return [int(value) for value in values.tolist()]


def finite(value: Any) -> Any:
    """The same with None in place of what JSON cannot say."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list) else value


#: How many numbers may be drawn over time, all scenarios together; intervals are merged until they fit.
MOST_NUMBERS = 150_000

#: What a buffer pool serves: it takes time of processors, not of the pool, which is never busy.
_TIMELESS = "lookups"

#: Stations shown per scenario: the busiest ones.
MOST_STATIONS = 64

#: A percentile curve ends where fewer requests than this lie beyond it.
FEWEST_BEYOND = 10

CURVE_POINTS_PER_DECADE = 24

#: Whose latency in an interval is that of what ends in it; of all other classes, of what arrives in it.
MEASURED_AT_END = "transaction"

#: Percentiles that a summary holds, as 1/(1-p).
RANKS = {key: float(round(1 / (1 - share))) for key, share in PERCENTILES.items()}


def intervals_to_merge(results: Sequence[Result]) -> int:
    """How many neighbouring intervals become one, so that the page stays small."""
    numbers: int = sum(result.timeline.num_rows * 5 + result.stations.num_rows * 2 for result in results)
    return max(1, math.ceil(numbers / MOST_NUMBERS))


def counted_ns(summary: dict[str, Any]) -> tuple[int, int]:
    """Begin and end of the time that a result counts: the recording's, behind a warm-up."""
    counted = (summary.get("replay") or {}).get("counted_ns")
    return (counted["from"], counted["until"]) if counted else (0, summary["trace"]["span_ns"])


def _closed(timeline: pa.Table, summary: dict[str, Any]) -> pa.Table:
    """The intervals that are counted: the one after the recording is open, as long as the last requests took."""
    from_ns, until_ns = counted_ns(summary)
    start_ns = timeline["start_ns"].to_numpy()
    inside = timeline.filter((start_ns >= from_ns) & (start_ns < until_ns))
    return inside if inside.num_rows else timeline


def curves(result: Result) -> dict[str, dict[str, list[Any]]]:
    """Latency by percentile for each class.

    ``rank`` is 1/(1-p), ``us`` the latency at or below which p end, ``resolved`` 1 where the sample resolves it.
    """
    import numpy as np

    if not result.latency.num_rows:
        return {}
    classes = np.asarray(result.latency["class"].to_pylist(), dtype=object)
    high_ns, count = result.latency["high_ns"].to_numpy(), result.latency["count"].to_numpy()
    found: dict[str, dict[str, list[Any]]] = {}
    for name in sorted(set(classes)):
        of_class = np.flatnonzero(classes == name)
        of_class = of_class[np.argsort(high_ns[of_class], kind="stable")]
        edges_ns, below = high_ns[of_class], np.cumsum(count[of_class])
        requests = int(below[-1])
        decades = math.log10(max(requests / FEWEST_BEYOND, 1.0))
        grid = np.power(10.0, np.linspace(0, decades, max(2, math.ceil(decades * CURVE_POINTS_PER_DECADE) + 1)))
        ranks = np.union1d(grid, [rank for rank in RANKS.values() if rank < grid[-1]])
        bins = np.searchsorted(below, np.maximum(requests * (1 - 1 / ranks), 1) - 1e-6)
        figures = result.summary["latency_ns"].get(name, {})
        found[name] = {
            "rank": rounded(ranks, 4),
            "us": rounded(np.minimum(edges_ns[bins], figures.get("max") or np.inf) / 1e3, 3),
            "resolved": _resolved(ranks, edges_ns, below, figures),
        }
    return found


def _resolved(ranks: np.ndarray, edges_ns: np.ndarray, below: np.ndarray, figures: dict[str, Any]) -> list[int]:
    """Where on a curve its sample resolves it: 1, or 0.

    Between two percentiles of the summary what it says of the upper one holds. Beyond the last of them order statistics
    decide, with the dependence between requests that the interval of that last one shows.
    """
    import numpy as np

    from tiersim.simulator.result import NORMAL_90, RESOLVED_HALF_WIDTH

    known = [key for key in RANKS if figures.get(key)]
    anchors = np.array([RANKS[key] for key in known])
    verdicts = [bool(figures[key]["resolved"]) for key in known]
    resolved = [verdicts[i] if i < len(known) else False for i in np.searchsorted(anchors, ranks * (1 - 1e-9)).tolist()]
    last = figures[known[-1]] if known else None
    if last is None or not last["resolved"] or last["low"] is None or last["high"] is None:
        return [int(one) for one in resolved]
    requests, share = int(below[-1]), 1 - 1 / float(anchors[-1])
    first, end = np.searchsorted(edges_ns, [last["low"], last["high"]])
    held = below[min(int(end), len(below) - 1)] - (below[first - 1] if first else 0)
    inflation = max(1.0, float(held / 2 / NORMAL_90) ** 2 / max(requests * share * (1 - share), 1e-9))
    for i in np.flatnonzero(ranks > anchors[-1]).tolist():
        p = 1 - 1 / float(ranks[i])
        half = NORMAL_90 * math.sqrt(requests * p * (1 - p) * inflation)
        if requests * p + half <= requests:
            low, value, high = edges_ns[
                np.searchsorted(below, [requests * p - half, requests * p, requests * p + half])
            ]
            resolved[i] = bool(high - low <= 2 * RESOLVED_HALF_WIDTH * value)
    return [int(one) for one in resolved]


def over_time(result: Result, merged: int, *, with_percentiles: bool, as_backlog: bool) -> dict[str, Any]:
    """Requests and latencies per interval and class; of merged intervals the worst p99 and the average of the others.

    ``outstanding`` is the mean number under way by Little's law, or with *as_backlog* what has piled up: of
    transactions where there are any, else of requests; ``of`` says which.
    """
    import numpy as np

    timeline = _closed(result.timeline, result.summary)
    if not timeline.num_rows:
        return {"start_s": [], "end_s": [], "by_class": {}, "outstanding": [], "of": "requests"}
    start_ns = timeline["start_ns"].to_numpy()
    starts, row_of = np.unique(start_ns, return_inverse=True)
    ends = np.zeros(len(starts), np.int64)
    np.maximum.at(ends, row_of, timeline["end_ns"].to_numpy())
    classes = np.asarray(timeline["class"].to_pylist(), dtype=object)
    groups = np.arange(0, len(starts), merged)

    def column(name: str, mask: np.ndarray, empty: float) -> np.ndarray:
        values = np.full(len(starts), empty)
        values[row_of[mask]] = timeline[name].to_numpy(zero_copy_only=False)[mask]
        return values

    def average(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
        known = ~np.isnan(values) & (weight > 0)
        total = np.add.reduceat(np.where(known, values * weight, 0.0), groups)
        weights = np.add.reduceat(np.where(known, weight, 0.0), groups)
        means = np.full(len(groups), np.nan)
        np.divide(total, weights, out=means, where=weights > 0)
        return means

    widths_ns = np.add.reduceat(ends - starts, groups)
    area_ns, backlog = np.zeros(len(groups)), np.zeros(len(groups))
    by_class = {}
    counted = ("transaction",) if "transaction" in classes else REQUEST_CATEGORIES
    for name in sorted(set(classes)):
        mask = classes == name
        arrivals, completions = column("arrivals", mask, 0.0), column("completions", mask, 0.0)
        measured = completions if name == MEASURED_AT_END else arrivals
        series = {
            "arrivals": whole(np.add.reduceat(arrivals, groups)),
            "completions": whole(np.add.reduceat(completions, groups)),
            "mean_us": rounded(average(column("mean_ns", mask, np.nan) / 1e3, measured), 3),
        }
        if name in counted:
            area_ns += np.add.reduceat(np.nan_to_num(column("mean_ns", mask, np.nan)) * measured, groups)
            backlog += np.cumsum(np.add.reduceat(arrivals - completions, groups))
        if with_percentiles:
            p99 = np.fmax.reduceat(column("p99_ns", mask, np.nan), groups)
            series["p50_us"] = rounded(average(column("p50_ns", mask, np.nan) / 1e3, measured), 3)
            series["p99_us"] = rounded(p99 / 1e3, 3)
        by_class[name] = series
    return {
        "start_s": rounded(starts[groups] / 1e9, 7),
        "end_s": rounded(np.maximum.reduceat(ends, groups) / 1e9, 7),
        "by_class": by_class,
        "outstanding": rounded(np.maximum(backlog, 0) if as_backlog else area_ns / np.maximum(widths_ns, 1), 4),
        "of": "transactions" if "transaction" in classes else "requests",
        "backlog": as_backlog,
    }


def stations(result: Result, merged: int) -> dict[str, Any]:
    """The busiest resource of each station over time; of too many stations the busiest ones, in their own order."""
    import numpy as np

    from tiersim.simulator.verdict import part_name

    table = result.stations
    start_ns = table["start_ns"].to_numpy()
    starts, column_of = np.unique(start_ns, return_inverse=True)
    groups = np.arange(0, len(starts), merged)
    station = np.asarray(table["station"].to_pylist(), dtype=object)
    resource = np.asarray(table["resource"].to_pylist(), dtype=object)
    utilisation, outstanding = table["utilisation"].to_numpy(), table["outstanding"].to_numpy()
    widths = np.add.reduceat(np.ones(len(starts)), groups) if len(starts) else np.zeros(0)

    def busiest(name: str) -> tuple[str, np.ndarray]:
        masks = {kind: (station == name) & (resource == kind) for kind in sorted(set(resource[station == name]))}
        kind = max(masks, key=lambda one: float(utilisation[masks[one]].mean()))
        return kind, masks[kind]

    chosen = {name: busiest(name) for name in dict.fromkeys(station[resource != _TIMELESS])}
    busy_first = sorted(chosen, key=lambda name: (-float(utilisation[chosen[name][1]].mean()), name))
    kept = sorted(busy_first[:MOST_STATIONS], key=list(chosen).index)
    rows = []
    for name in kept:
        kind, mask = chosen[name]
        busy, waiting = np.zeros(len(starts)), np.zeros(len(starts))
        busy[column_of[mask]], waiting[column_of[mask]] = utilisation[mask], outstanding[mask]
        described = result.summary["stations"].get(name, {})
        rows.append(
            {
                "name": name,
                "kind": described.get("kind"),
                "resource": kind,
                "part": part_name(str(name), str(kind)),
                "utilisation": finite(described.get("utilisation", {}).get(kind)),
                "queue_mean": finite(described.get("queue_mean")),
                "requests": described.get("requests"),
                "busy_pct": rounded(np.add.reduceat(busy, groups) / widths * 100, 3),
                "outstanding": rounded(np.maximum.reduceat(waiting, groups), 4),
            }
        )
    return {
        "start_s": rounded(starts[groups] / 1e9, 7),
        "rows": rows,
        "left_out": len(chosen) - len(kept),
    }


def database_payload(result: Result, merged: int) -> dict[str, Any] | None:
    """Dirty pages (the most of the merged intervals), bytes of the log a second, and its flushes a second on average,
    over the time that is counted; None where nobody ran any.
    """
    import numpy as np

    if result.database is None:
        return None
    from_ns, until_ns = counted_ns(result.summary)
    start_ns, end_ns = (result.database[name].to_numpy() for name in ("start_ns", "end_ns"))
    chosen = (start_ns >= from_ns) & (start_ns < until_ns)
    if not chosen.any():
        return None
    start_ns, end_ns = start_ns[chosen], end_ns[chosen]
    groups = np.arange(0, len(start_ns), merged)
    dirty, log_bytes, flushes = (
        result.database[name].to_numpy()[chosen] for name in ("dirty_pages", "log_bytes", "log_flushes")
    )
    widths_s = np.add.reduceat(end_ns - start_ns, groups) / 1e9
    return {
        "start_s": rounded(start_ns[groups] / 1e9, 7),
        "end_s": rounded(np.maximum.reduceat(end_ns, groups) / 1e9, 7),
        "dirty_pages": whole(np.maximum.reduceat(dirty, groups)),
        "log_bytes_per_s": whole(np.rint(np.add.reduceat(log_bytes, groups) / widths_s)),
        "flushes_per_s": five_digits(flushes.sum() / widths_s.sum()),
    }


#: So many checkpoints of a result are listed; all of them are shaded.
MOST_ROWS = 200


def checkpoint_payload(summary: dict[str, Any], timeline: pa.Table) -> dict[str, Any] | None:
    """When checkpoints ran, on what basis that is said, and mean latencies inside and outside; None without any.

    An interval of the timeline counts as inside when its middle lies in a checkpoint. A saturated run has no mean that
    means anything. Of simulated checkpoints there is more: their phases, a row for each, and what the result itself
    says of inside and outside.
    """
    import numpy as np

    found = summary.get("checkpoints") or summary["trace"].get("checkpoints") or []
    saturated = summary["verdict"]["load"] == "saturated"
    from_ns, until_ns = counted_ns(summary)
    spans_ns = [(one["start_ns"], one["end_ns"] or until_ns) for one in found if one.get("end_ns") or "trigger" in one]
    spans_ns = [(start, end) for start, end in spans_ns if start < end]
    if not spans_ns:
        return None
    payload: dict[str, Any] = {
        "spans_s": [[start / 1e9, end / 1e9] for start, end in spans_ns],
        "basis": sorted({one["basis"] for one in found if one.get("basis")}),
        "mean_us": {},
        **(_simulated(summary, until_ns, saturated=saturated) if "trigger" in found[0] else {}),
    }
    if not timeline.num_rows or saturated:
        return payload
    middle = (timeline["start_ns"].to_numpy() + timeline["end_ns"].to_numpy()) / 2
    inside = np.zeros(len(middle), bool)
    for start, end in spans_ns:
        inside |= (middle >= start) & (middle < end)
    in_recording = (timeline["start_ns"].to_numpy() >= from_ns) & (timeline["start_ns"].to_numpy() < until_ns)
    mean_us = np.nan_to_num(timeline["mean_ns"].to_numpy(zero_copy_only=False)) / 1e3
    classes = np.asarray(timeline["class"].to_pylist(), dtype=object)
    arrivals, completions = timeline["arrivals"].to_numpy(), timeline["completions"].to_numpy()
    measured = np.where(classes == MEASURED_AT_END, completions, arrivals)

    def weighted(chosen: np.ndarray) -> float | None:
        requests = int(measured[chosen].sum())
        return float((mean_us[chosen] * measured[chosen]).sum() / requests) if requests else None

    for name in sorted(set(classes)):
        own = (classes == name) & in_recording
        payload["mean_us"][name] = {"inside": weighted(own & inside), "outside": weighted(own & ~inside)}
    found_out: dict[str, Any] = finite(payload)
    return found_out


def _simulated(summary: dict[str, Any], until_ns: int, *, saturated: bool) -> dict[str, Any]:
    """What a result of statements says of its checkpoints; without latencies and dips where it is saturated."""
    hidden: dict[str, Any] = {"latency_ns": {}, "dip_pct": None} if saturated else {}
    # one that begins as the recording ends has no part in it
    rows = [{**one, **hidden} for one in summary["checkpoints"] if one["start_ns"] < until_ns]
    return {
        "syncing_s": [
            [(one["start_ns"] + one["write_ns"]) / 1e9, (one["end_ns"] or until_ns) / 1e9]
            for one in rows
            if one["write_ns"] is not None
        ],
        "rows": [{key: value for key, value in one.items() if key != "basis"} for one in rows[:MOST_ROWS]],
        "left_out": max(len(rows) - MOST_ROWS, 0),
        "impact": summary.get("checkpoint_impact"),
        "stalls": summary.get("stalls"),
    }
