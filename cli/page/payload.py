"""Results → what the page knows of them: every number that it, or a plot in a notebook, draws.

A result's tables → what is drawn of them: percentile curves, series over time, stations over time.
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tiersim.cli.verdicts import expected_multiples, meaning
from tiersim.cli.verdicts import sentence as error_sentence
from tiersim.simulator.categories import ELSEWHERE, PERCENTILES, REQUEST_CATEGORIES, STATISTICS, WAIT_NAMES
from tiersim.units import format_bytes

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tiersim.simulator.result import Result


#: How many numbers may be drawn over time, all scenarios together; intervals are merged until they fit.
MOST_NUMBERS = 150_000

#: Stations shown per scenario: the busiest ones.
MOST_STATIONS = 64

#: A percentile curve ends where fewer requests than this lie beyond it.
FEWEST_BEYOND = 10

CURVE_POINTS_PER_DECADE = 24

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
        found[name] = {
            "rank": rounded(ranks, 4),
            "us": rounded(edges_ns[bins] / 1e3, 3),
            "resolved": _resolved(ranks, edges_ns, below, result.summary["latency_ns"].get(name, {})),
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
        series = {
            "arrivals": whole(np.add.reduceat(arrivals, groups)),
            "completions": whole(np.add.reduceat(completions, groups)),
            "mean_us": rounded(average(column("mean_ns", mask, np.nan) / 1e3, arrivals), 3),
        }
        if name in counted:
            area_ns += np.add.reduceat(np.nan_to_num(column("mean_ns", mask, np.nan)) * arrivals, groups)
            backlog += np.cumsum(np.add.reduceat(arrivals - completions, groups))
        if with_percentiles:
            p99 = np.fmax.reduceat(column("p99_ns", mask, np.nan), groups)
            series["p50_us"] = rounded(average(column("p50_ns", mask, np.nan) / 1e3, arrivals), 3)
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


SCHEMA = "tiersim.page/1"

#: Purposes in the order in which the page lists them; others follow in the order of their names.
PURPOSES = (
    "transaction",
    "commit",
    "log sync",
    "log sync on device",
    "log write",
    "log flush",
    "data read",
    "data write",
    "checkpoint write",
    "flush",
    "temp",
    "backup",
    "discard",
    "unknown",
)

#: Parts of a summary that go to the page as they are.
_COPIED = (
    "description", "verdict", "commands", "throughput_per_s", "throughput_shortfall_pct", "conservation",
    "assumed", "synthesised", "replay", "lag_ns", "seed", "tool_version", "credits",
)  # fmt: skip
#: Further parts of results of statements.
_OF_STATEMENTS = ("level", "hit_ratio", "host", "engine", "settings_from", "extrapolated", "inferred", "log")


def page_payload(results: Sequence[Result], title: str) -> dict[str, Any]:
    """Everything that the page knows, ready for JSON; the same for the same results."""
    results = [replace(one, summary=_with_tails(one.summary)) for one in results]
    queries, asked = query_payload(results)
    drawn = [
        replace(one, latency=without_queries(one.latency), timeline=without_queries(one.timeline)) for one in results
    ]
    merged = intervals_to_merge(drawn)
    grouped = _tiers(results)
    names = {index: name for tier in grouped for index, name in zip(tier["members"], tier["names"], strict=True)}
    scenarios = [_scenario(result, names[index], merged) for index, result in enumerate(drawn)]
    for scenario, result, found in zip(scenarios, results, asked, strict=True):
        scenario |= (
            {"queries": found, "transaction_us": transaction_us(result), "commits": commits(result)} if found else {}
        )
    traces = _traces(results)
    present = {purpose for result in results for purpose in _purposes(result.summary)}
    return {
        "schema": SCHEMA,
        "title": title,
        "derived": sorted(present - set(REQUEST_CATEGORIES), key=_place),
        "purposes": sorted(present, key=_place),
        "traces": traces,
        "merged_intervals": merged,
        "scenarios": scenarios,
        "tiers": [{"name": tier["name"], "members": tier["members"]} for tier in grouped],
        "queries": queries,
        "sharing": _sharing(results) if any(result.summary.get("shared") for result in results) else [],
        "parts": parts(),
        "wait_names": WAIT_NAMES,
        "meaning_of_error": meaning(result.summary for result in results),
        "ratios": all_ratios(scenarios, {hashed["hash"]: hashed["measured_latency_ns"] for hashed in traces}),
    }


def _sharing(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return who waits for whom where recordings shared hardware."""
    from tiersim.cli.page.sharing import sharing_payload

    return list(finite(sharing_payload(results)))


def _checkpoints(result: Result) -> dict[str, Any] | None:
    """Return when checkpoints ran; None where nothing is known of any."""
    if not (result.summary.get("checkpoints") or result.summary["trace"].get("checkpoints")):
        return None
    from tiersim.cli.page.checkpoints import checkpoint_payload

    return checkpoint_payload(result.summary, result.timeline)


def _purposes(summary: Mapping[str, Any]) -> set[str]:
    """Return what latencies are shown of: no log syncs where 99 % and more are waits of commits, which are shown. The
    others are of pages that are evicted before their log is durable.
    """
    latency_ns = summary["latency_ns"]
    waits, commits_there = (latency_ns.get(name, {}).get("count", 0) for name in ("log sync", "commit"))
    return set(latency_ns) - ({"log sync"} if math.isclose(waits, commits_there, rel_tol=0.01) else set())


def _place(purpose: str) -> tuple[int, str]:
    return PURPOSES.index(purpose) if purpose in PURPOSES else len(PURPOSES), purpose


def _tiers(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Members and names of the tiers; a tier of several results has the pool's size in the names of these."""
    members = tiers(results)
    of_tiers = _unique([tier_name([results[index].summary["name"] for index in tier]) for tier in members])
    return [
        {
            "name": name,
            "members": tier,
            "names": (
                [f"{name}, {format_bytes(pool_bytes(results[index]) or 0)}" for index in tier]
                if len(tier) > 1
                else [name]
            ),
        }
        for name, tier in zip(of_tiers, members, strict=True)
    ]


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


def _with_tails(summary: dict[str, Any]) -> dict[str, Any]:
    """Put the measured interval in place of each 99th percentile that is not known to a factor of 2, or not checked;
    the 99.9th is then not known either.
    """
    tails = (summary.get("tails") or {}).get("p99_ns", {})

    def ranged(name: str, figures: dict[str, Any]) -> dict[str, Any]:
        found = tails.get(name)
        if not found or found["verdict"] == "resolved" or found["low"] is None:
            return figures
        unknown = {"value": None, "resolved": False, "low": None, "high": None}
        ends = {"low": found["low"], "high": found["high"]}
        return figures | {"p99": figures["p99"] | unknown | ends, "p999": figures["p999"] | unknown}

    latencies = {name: ranged(name, one) for name, one in summary["latency_ns"].items()}
    queries = {name: ranged(f"query {name}", one) for name, one in (summary.get("queries") or {}).items()}
    return summary | {"latency_ns": latencies} | ({"queries": queries} if queries else {})


def _traces(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The traces that were replayed, each once, with what was measured on the recorded hardware."""
    traces: dict[str, dict[str, Any]] = {}
    for result in results:
        trace = result.summary["trace"]
        entry = traces.setdefault(trace["hash"], {**trace, "measured_latency_ns": {}, "measured_queries_ns": {}})
        entry["measured_latency_ns"].update(finite(_measured(result.summary)))
        entry["measured_queries_ns"].update(finite(_measured_queries(result.summary)))
    return list(traces.values())


def _measured_queries(summary: dict[str, Any]) -> dict[str, float]:
    """Return the recorded means of queries that ran."""
    queries = summary.get("queries") or {}
    return {name: ns for name, ns in summary.get("recorded_mean_ns", {}).items() if name in queries and ns}


def _measured(summary: dict[str, Any]) -> dict[str, Any]:
    """Latencies of the recorded hardware: of block requests, or of counted transactions the mean alone."""
    if summary.get("level") != "statements":
        return summary.get("measured_latency_ns") or {}
    mean_ns = summary.get("recorded_mean_ns", {}).get("transaction")
    return {"transaction": {"mean": mean_ns}} if mean_ns else {}


def _scenario(result: Result, name: str, merged: int) -> dict[str, Any]:
    from tiersim.cli.explanation import helpful
    from tiersim.scenarios.caveats import in_doubt

    summary = result.summary
    saturated = summary["verdict"]["load"] == "saturated"
    time = over_time(result, merged, with_percentiles=not saturated, as_backlog=_piles_up(summary))
    return {
        "name": name,
        "trace": summary["trace"]["hash"],
        **finite({key: summary.get(key) for key in _COPIED}),
        **finite({key: summary.get(key) for key in _OF_STATEMENTS if summary.get("level") == "statements"}),
        "latency_ns": finite(_without_numbers(summary["latency_ns"]) if saturated else summary["latency_ns"]),
        "model_error": error_sentence(summary),
        "expected": expected_multiples(summary) if summary.get("model_error") else None,
        "recorded_on": {key: summary.get("calibration", {}).get(key) for key in ("baseline", "described")},
        "in_doubt": in_doubt(summary),
        "has_tails": bool(summary.get("tails")),
        "caveats": [*(summary.get("calibration") or {}).get("doubts", ()), *summary.get("caveats", ())],
        "curves": {} if saturated else curves(result),
        "bottleneck": _with_part(finite(summary.get("bottleneck"))),
        "helps": finite(helpful(summary)),
        "load": {**_with_part(finite(summary["load"])), "explanation": sentence(summary["load"]["explanation"])},
        "arrived_per_s": _per_second(time, "arrivals"),
        "completed_per_s": _completed_per_s(summary, time),
        "time": time,
        "checkpoints": _checkpoints(result),
        "database": database_payload(result, merged),
        "stations": stations(result, merged),
        "caches": finite({name: one["cache"] for name, one in summary["stations"].items() if "cache" in one}),
        "toml": result.scenario_toml,
    }


def _piles_up(summary: Mapping[str, Any]) -> bool:
    """Tell whether what is outstanding is a backlog: of a load that comes by the clock and is not carried. Sessions
    that wait for each answer have none.
    """
    replay = summary.get("replay") or {}
    by_the_clock = "open" in (replay.get("mode"), replay.get("played")) or replay.get("keeps") == "rate"
    return summary["verdict"]["load"] == "saturated" or (summary["verdict"]["load"] == "behind" and by_the_clock)


def _with_part(found: dict[str, Any] | None) -> dict[str, Any]:
    """Add the name that people use to what holds a station and its resource."""
    if not found or not found.get("station"):
        return found or {}
    from tiersim.simulator.verdict import part_name

    return {**found, "part": part_name(found["station"], found["resource"])}


def _per_second(time: dict[str, Any], key: str) -> dict[str, float]:
    """Mean rate of each class while the recording ran."""
    seconds = (time["end_s"][-1] - time["start_s"][0]) if time["start_s"] else 0.0
    return {name: sum(one[key]) / seconds for name, one in time["by_class"].items()} if seconds > 0 else {}


def _completed_per_s(summary: dict[str, Any], time: dict[str, Any]) -> dict[str, float]:
    """Mean rate at which each class was done: while the run lasted, where a closed loop was over before the recording
    was.
    """
    rates = _per_second(time, "completions")
    stated = (summary["throughput_per_s"].get("transactions") or {}).get("value")
    scale = stated / rates["transaction"] if stated and rates.get("transaction") else 1.0
    return {name: rate * scale for name, rate in rates.items()}


def _without_numbers(latency_ns: dict[str, Any]) -> dict[str, Any]:
    """How many there were: of a system whose backlog grows nothing else can be said."""
    return {purpose: {"count": figures["count"]} for purpose, figures in latency_ns.items()}


def database_payload(result: Result, merged: int) -> dict[str, Any] | None:
    """Dirty pages (the most of the merged intervals) and bytes of the log a second, over the time that is counted; None
    where nobody ran any.
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
    dirty, log_bytes = (result.database[name].to_numpy()[chosen] for name in ("dirty_pages", "log_bytes"))
    widths_s = np.add.reduceat(end_ns - start_ns, groups) / 1e9
    return {
        "start_s": rounded(start_ns[groups] / 1e9, 7),
        "end_s": rounded(np.maximum.reduceat(end_ns, groups) / 1e9, 7),
        "dirty_pages": whole(np.maximum.reduceat(dirty, groups)),
        "log_bytes_per_s": whole(np.rint(np.add.reduceat(log_bytes, groups) / widths_s)),
    }


def pool_bytes(result: Result) -> int | None:
    """Size of the simulated buffer pool; None where there was none."""
    found: int | None = (result.summary.get("engine") or {}).get("buffer_pool_bytes")
    return found


def tiers(results: Sequence[Result]) -> list[list[int]]:
    """Indices of the results of each tier, by size of the pool; tiers in the order of their first results."""
    found: dict[tuple[str, int], dict[int | None, int]] = {}
    for index, result in enumerate(results):
        size, twin = pool_bytes(result), 0
        key = f"{index}" if size is None else _apart_from_the_pool(result)
        while size in found.get((key, twin), {}):  # the same run given twice
            twin += 1
        found.setdefault((key, twin), {})[size] = index
    return [[index for _, index in sorted(members.items(), key=lambda one: one[0] or 0)] for members in found.values()]


def tier_name(names: Sequence[str]) -> str:
    """What the names of a tier's results have in common: of ``flash-1GiB`` and ``flash-16GiB``, ``flash``."""
    if len(set(names)) == 1:
        return names[0]
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    common = "".join(letters[0] for letters in same)
    return common.rstrip("0123456789").rstrip(" -_,.:(@") or names[0]


def _apart_from_the_pool(result: Result) -> str:
    """Trace and scenario without what the pool's size changes."""
    try:
        scenario: dict[str, Any] = tomllib.loads(result.scenario_toml)
    except tomllib.TOMLDecodeError:
        scenario = {"file": result.scenario_toml}
    scenario.pop("description", None)
    engine = scenario.pop("engine", {})
    engine.pop("buffer_pool", None)
    return json.dumps([result.summary["trace"]["hash"], scenario, engine], sort_keys=True, default=str)


def ratio(a: Any, b: Any) -> dict[str, float | None] | None:
    """b ÷ a of two figures (or plain numbers, which are exact): ``value``, ``low``, ``high``; None when nothing is
    known.

    ``low`` and ``high`` come from the ends of both intervals. ``value`` is None unless both figures are resolved.
    """
    (a_value, a_low, a_high), (b_value, b_low, b_high) = _parts(a), _parts(b)
    low = b_low / a_high if b_low is not None and a_high else None
    high = b_high / a_low if b_high is not None and a_low else None
    value = b_value / a_value if b_value is not None and a_value else None
    if value is None and low is None and high is None:
        return None
    return {
        key: None if one is None else float(f"{one:.4g}")
        for key, one in zip(("value", "low", "high"), (value, low, high), strict=True)
    }


def ratios(a_latency_ns: dict[str, Any], b_latency_ns: dict[str, Any]) -> dict[str, Any]:
    """b ÷ a for every purpose and statistic that both have: ``{purpose: {statistic: ratio}}``."""
    return {
        purpose: {
            key: found
            for key in STATISTICS
            if (found := ratio(a_latency_ns[purpose].get(key), b_latency_ns[purpose].get(key))) is not None
        }
        for purpose in sorted(a_latency_ns.keys() & b_latency_ns.keys())
    }


def throughput_ratios(a_per_s: dict[str, float], b_per_s: dict[str, float]) -> dict[str, Any]:
    """b ÷ a of what was completed, for every purpose that both have."""
    return {purpose: ratio(a_per_s[purpose], b_per_s[purpose]) for purpose in sorted(a_per_s.keys() & b_per_s.keys())}


def all_ratios(scenarios: Sequence[dict[str, Any]], recorded_ns: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Every pair that replayed the same trace: ``"0:2"`` is scenario 2 ÷ scenario 0, ``"r:2"`` scenario 2 ÷ recorded.

    Each has ``latency`` and ``throughput``; what arrived counts as the throughput of the recorded hardware.
    """
    pairs = {
        f"{i}:{j}": {
            "latency": ratios(a["latency_ns"], b["latency_ns"]),
            "throughput": throughput_ratios(a["completed_per_s"], b["completed_per_s"]),
        }
        for (i, a), (j, b) in itertools.combinations(enumerate(scenarios), 2)
        if a["trace"] == b["trace"]
    }
    return pairs | {
        f"r:{i}": {
            "latency": ratios(recorded_ns[one["trace"]], one["latency_ns"]),
            "throughput": throughput_ratios(one["arrived_per_s"], one["completed_per_s"]),
        }
        for i, one in enumerate(scenarios)
    }


def _parts(figure: Any) -> tuple[float | None, float | None, float | None]:
    if figure is None:
        return None, None, None
    if isinstance(figure, dict):
        return figure["value"] if figure.get("resolved") else None, figure.get("low"), figure.get("high")
    return figure, figure, figure


#: Class of a query in the tables of a result, before its id.
_CLASS = "query "
#: Characters (code points) of a query's text that a page holds, and of its label.
MOST_TEXT, LABEL = 10_000, 160


def parts() -> list[str]:
    """What the time of statements goes into, in order; last what is outside of the queries of a transaction."""
    from tiersim.simulator.database.database_state import SPENT

    return [*SPENT, ELSEWHERE]


def without_queries(table: Any) -> Any:
    """Leave out the rows of queries, which a page does not draw by percentile or over time."""
    import pyarrow.compute as pc

    if "class" not in table.column_names:
        return table
    return table.filter(pc.invert(pc.starts_with(table["class"], _CLASS)))


def query_payload(results: Sequence[Result]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Queries of all results, those that take most time first; and by result what is known of each, by place in that
    list.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    time_ns: dict[tuple[str, str], float] = {}
    for result in results:
        trace = result.summary["trace"]["hash"]
        for name, one in _queries(result).items():
            more = {key: one.get(key) for key in ("executions", "cpu")}
            found.setdefault((trace, name), {**described(name, one.get("text")), **more})
            time_ns[trace, name] = time_ns.get((trace, name), 0.0) + _time_ns(one)
    order = sorted(found, key=lambda key: (-time_ns[key], key))
    place = {key: index for index, key in enumerate(order)}
    return [found[key] for key in order], [_of_result(result, place) for result in results]


def transaction_us(result: Result) -> list[float] | None:
    """Time of a transaction by part, in microseconds; None where it has no steady mean."""
    figures = result.summary["latency_ns"].get("transaction")
    if not _queries(result) or _saturated(result) or not figures or not figures["count"]:
        return None
    counted = [*_queries(result).values(), *_commits(result)]
    each = [
        sum((one["breakdown_ns"].get(part) or 0.0) * one["count"] for one in counted) / figures["count"]
        for part in parts()[:-1]
    ]
    mean = figures["mean"]["value"]
    return _short([*each, 0.0 if mean is None else max(mean - sum(each), 0.0)])


def _queries(result: Result) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = finite(result.summary.get("queries") or {})
    return found


def commits(result: Result) -> dict[str, Any] | None:
    """Commits as a query of their own, whose latency stands among those of purposes; None where the result does not
    divide their time.
    """
    found = _commits(result)
    if not found:
        return None
    (one,) = found
    timed = {} if _saturated(result) else _timed(one, _total_ns(result))
    return {"count": one["count"], "per_s": _digits(one["count"] * _per_s(result)), "reads": None, **timed}


def _commits(result: Result) -> list[dict[str, Any]]:
    figures, spent = (result.summary.get(key, {}) for key in ("latency_ns", "commit_breakdown_ns"))
    return (
        [{"count": figures["commit"]["count"], "breakdown_ns": finite(spent)}] if spent and "commit" in figures else []
    )


def _total_ns(result: Result) -> float:
    """Time of all queries and commits."""
    return sum(map(_time_ns, (*_queries(result).values(), *_commits(result))))


def _per_s(result: Result) -> float:
    """A second's share of what was counted."""
    transactions = (result.summary["latency_ns"].get("transaction") or {}).get("count")
    rate = (result.summary["throughput_per_s"].get("transactions") or {}).get("value")
    return float(rate / transactions if transactions and rate else 1e9 / max(result.summary["trace"]["span_ns"], 1))


def _saturated(result: Result) -> bool:
    return bool(result.summary["verdict"]["load"] == "saturated")


def _time_ns(one: dict[str, Any]) -> float:
    return float(one["count"] * sum(value or 0.0 for value in one["breakdown_ns"].values()))


def described(name: str, given: str | None) -> dict[str, Any]:
    """Text and label of a query, cut; what a page cannot carry replaced."""
    text = (given or "").encode("utf-8", "replace").decode()
    label = " ".join(text[:MOST_TEXT].split()) or name
    return {
        "id": name,
        "label": label if len(label) <= LABEL else f"{label[: LABEL - 1]}…",
        "text": text[:MOST_TEXT] or None,
        "left_out": max(len(text) - MOST_TEXT, 0),
    }


def _of_result(result: Result, place: dict[tuple[str, str], int]) -> dict[str, Any]:
    queries, per_s, total_ns = _queries(result), _per_s(result), _total_ns(result)
    return {
        str(place[result.summary["trace"]["hash"], name]): {
            "count": one["count"],
            "per_s": _digits(one["count"] * per_s),
            "reads": _digits(one["physical_reads_per_call"]),
            **({} if _saturated(result) else _timed(one, total_ns)),
        }
        for name, one in queries.items()
    }


def _timed(one: dict[str, Any], total_ns: float) -> dict[str, Any]:
    """Figures ``[value, low, high]`` in ns by statistic, parts of the mean in microseconds, share of the time of all
    queries and commits.
    """
    breakdown = one["breakdown_ns"]
    return {
        "share": _digits(_time_ns(one) / total_ns) if total_ns else None,
        "us": _short([breakdown.get(part) or 0.0 for part in parts()[:-1]]),
        "ns": {key: [_digits(one[key][end]) for end in ("value", "low", "high")] for key in STATISTICS if one.get(key)},
    }


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _short(values_ns: Sequence[float]) -> list[float]:
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
