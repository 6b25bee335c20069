"""Results → the compact numbers that the page draws: percentile curves, series over time, stations over time."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tiersim.simulator.result import Result

SCHEMA = "tiersim.page/1"

#: Purposes in the order in which the page lists them; others follow in the order of their names.
PURPOSES = (
    "log write", "log flush", "data read", "data write", "checkpoint write", "flush", "temp", "backup", "discard",
    "unknown",
)  # fmt: skip

#: How many numbers may be drawn over time, all scenarios together; intervals are merged until they fit.
MOST_NUMBERS = 150_000

#: Stations shown per scenario: the busiest ones.
MOST_STATIONS = 64

#: A percentile curve ends where fewer requests than this lie beyond it.
FEWEST_BEYOND = 10

CURVE_POINTS_PER_DECADE = 24

#: Parts of a summary that go to the page as they are.
_COPIED = (
    "description", "verdict", "bottleneck", "commands", "throughput_per_s", "throughput_shortfall_pct", "conservation",
    "assumed", "seed", "tool_version",
)  # fmt: skip


def page_payload(results: Sequence[Result], title: str) -> dict[str, Any]:
    """Everything that the page knows, ready for JSON; the same for the same results."""
    merged = _intervals_to_merge(results)
    names = _unique([result.summary["name"] for result in results])
    scenarios = [_scenario(result, name, merged) for result, name in zip(results, names, strict=True)]
    present = {purpose for scenario in scenarios for purpose in scenario["latency_ns"]}
    return {
        "schema": SCHEMA,
        "title": title,
        "purposes": sorted(present, key=lambda p: (PURPOSES.index(p) if p in PURPOSES else len(PURPOSES), p)),
        "traces": _traces(results),
        "merged_intervals": merged,
        "scenarios": scenarios,
    }


def embedded_json(payload: dict[str, Any]) -> str:
    """JSON that may stand inside a ``<script>`` element: nothing in it can end the element or begin another."""
    text = json.dumps(payload, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def sentence(text: str) -> str:
    """The same with a capital letter, unless it begins with a name such as ``data.1``, and a full stop."""
    first = text.split(" ", 1)[0].rstrip(",:;")
    return (text[:1].upper() + text[1:] if first.isalpha() else text) + ("" if text.endswith((".", "!", "?")) else ".")


def _unique(names: Iterable[str]) -> list[str]:
    """Names with a number behind those that came before."""
    seen: Counter[str] = Counter()
    taken: set[str] = set()
    unique = []
    for name in names:
        candidate = name
        while candidate in taken:
            seen[name] += 1
            candidate = f"{name} ({seen[name] + 1})"
        taken.add(candidate)
        unique.append(candidate)
    return unique


def _traces(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The traces that were replayed, each once, with what was measured on the recorded hardware."""
    traces: dict[str, dict[str, Any]] = {}
    for result in results:
        trace = result.summary["trace"]
        entry = traces.setdefault(trace["hash"], {**trace, "measured_latency_ns": {}})
        entry["measured_latency_ns"].update(_finite(result.summary.get("measured_latency_ns") or {}))
    return list(traces.values())


def _scenario(result: Result, name: str, merged: int) -> dict[str, Any]:
    summary = result.summary
    saturated = summary["verdict"]["load"] == "saturated"
    return {
        "name": name,
        "trace": summary["trace"]["hash"],
        **_finite({key: summary.get(key) for key in _COPIED}),
        "latency_ns": _finite(_without_numbers(summary["latency_ns"]) if saturated else summary["latency_ns"]),
        "curves": {} if saturated else _curves(result.latency),
        "load": {**_finite(summary["load"]), "explanation": sentence(summary["load"]["explanation"])},
        "time": _time(_closed(result.timeline, summary["trace"]["span_ns"]), merged, with_percentiles=not saturated),
        "stations": _stations(result, merged),
        "toml": result.scenario_toml,
    }


def _without_numbers(latency_ns: dict[str, Any]) -> dict[str, Any]:
    """How many there were: of a system whose backlog grows nothing else can be said."""
    return {purpose: {"count": figures["count"]} for purpose, figures in latency_ns.items()}


def _intervals_to_merge(results: Sequence[Result]) -> int:
    """How many neighbouring intervals become one, so that the page stays small."""
    numbers: int = sum(result.timeline.num_rows * 5 + result.stations.num_rows * 2 for result in results)
    return max(1, math.ceil(numbers / MOST_NUMBERS))


def _closed(timeline: pa.Table, span_ns: int) -> pa.Table:
    """The intervals within the recording: the one after it is open, as long as the last requests took."""
    inside = timeline.filter(timeline["start_ns"].to_numpy() < span_ns)
    return inside if inside.num_rows else timeline


def _curves(latency: pa.Table) -> dict[str, dict[str, list[float | None]]]:
    """Latency by percentile for each class: ``rank`` is 1/(1-p), ``us`` the latency at or below which p end."""
    import numpy as np

    classes = np.asarray(latency["class"].to_pylist(), dtype=object)
    high_ns, count = latency["high_ns"].to_numpy(), latency["count"].to_numpy()
    curves = {}
    for name in sorted(set(classes)):
        of_class = np.flatnonzero(classes == name)
        of_class = of_class[np.argsort(high_ns[of_class], kind="stable")]
        below = np.cumsum(count[of_class])
        requests = int(below[-1])
        decades = math.log10(max(requests / FEWEST_BEYOND, 1.0))
        ranks = np.power(10.0, np.linspace(0, decades, max(2, math.ceil(decades * CURVE_POINTS_PER_DECADE) + 1)))
        bins = np.searchsorted(below, np.maximum(requests * (1 - 1 / ranks), 1) - 1e-6)
        curves[name] = {"rank": _rounded(ranks, 4), "us": _rounded(high_ns[of_class][bins] / 1e3, 3)}
    return curves


def _time(timeline: pa.Table, merged: int, *, with_percentiles: bool) -> dict[str, Any]:
    """Requests and latencies per interval and class; of merged intervals the worst p99 and the average of the others."""
    import numpy as np

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

    by_class = {}
    for name in sorted(set(classes)):
        mask = classes == name
        arrivals, completions = column("arrivals", mask, 0.0), column("completions", mask, 0.0)
        series = {
            "arrivals": _whole(np.add.reduceat(arrivals, groups)),
            "completions": _whole(np.add.reduceat(completions, groups)),
            "mean_us": _rounded(average(column("mean_ns", mask, np.nan) / 1e3, arrivals), 3),
        }
        if with_percentiles:
            p99 = np.fmax.reduceat(column("p99_ns", mask, np.nan), groups)
            series["p50_us"] = _rounded(average(column("p50_ns", mask, np.nan) / 1e3, arrivals), 3)
            series["p99_us"] = _rounded(p99 / 1e3, 3)
        by_class[name] = series
    return {
        "start_s": _rounded(starts[groups] / 1e9, 7),
        "end_s": _rounded(np.maximum.reduceat(ends, groups) / 1e9, 7) if len(starts) else [],
        "by_class": by_class,
    }


def _stations(result: Result, merged: int) -> dict[str, Any]:
    """The busiest resource of each station over time; of too many stations the busiest ones, in their own order."""
    import numpy as np

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

    chosen = {name: busiest(name) for name in dict.fromkeys(station)}
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
                "utilisation": described.get("utilisation", {}).get(kind),
                "queue_mean": described.get("queue_mean"),
                "requests": described.get("requests"),
                "busy_pct": _rounded(np.add.reduceat(busy, groups) / widths * 100, 3),
                "outstanding": _rounded(np.maximum.reduceat(waiting, groups), 4),
            }
        )
    return {
        "start_s": _rounded(starts[groups] / 1e9, 7),
        "rows": _finite(rows),
        "left_out": len(chosen) - len(kept),
    }


def _rounded(values: np.ndarray, digits: int) -> list[float | None]:
    """Significant digits only; whole numbers without a point, unknown ones as None."""
    rounded = (float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist())
    return [int(value) if value is not None and value.is_integer() else value for value in rounded]


def _whole(values: np.ndarray) -> list[int]:
    return [int(value) for value in values.tolist()]


def _finite(value: Any) -> Any:
    """The same with None in place of what JSON cannot say."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
