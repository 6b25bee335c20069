"""Results → what the page knows of them: every number that it, or a plot in a notebook, draws."""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.series import (
    checkpoint_payload,
    curves,
    database_payload,
    finite,
    intervals_to_merge,
    over_time,
    stations,
)
from tiersim.cli.queries import commits, parts, query_payload, transaction_us, without_queries
from tiersim.cli.verdicts import expected_multiples, incomparable, loads_not_run, meaning, undetermined
from tiersim.cli.verdicts import sentence as error_sentence
from tiersim.simulator.categories import REQUEST_CATEGORIES, STATISTICS, WAIT_NAMES, is_of_too_few
from tiersim.units import NS_PER_S, format_bytes

if TYPE_CHECKING:
    from tiersim.simulator.result import Result


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
    "description", "verdict", "throughput_per_s", "throughput_shortfall_pct", "conservation",
    "assumed", "synthesised", "replay", "lag_ns", "seed", "tool_version", "credits",
)  # fmt: skip
#: Further parts of results of statements.
_OF_STATEMENTS = ("level", "hit_ratio", "host", "engine", "settings_from", "extrapolated", "inferred", "log")


def page_payload(results: Sequence[Result], title: str, recorded: Sequence[Result] = ()) -> dict[str, Any]:
    """Everything that the page knows, ready for JSON; the same for the same results. What was recorded is told as the
    results say that have all of it, *recorded*: without them, as all say.
    """
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
    traces = _traces(recorded or results)
    apart = _apart([one.summary | {"name": names[index]} for index, one in enumerate(results)])
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
        "ratios": all_ratios(scenarios, {hashed["hash"]: hashed for hashed in traces}, apart),
        "no_ratios": apart,
    }


def _apart(summaries: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the pairs of which no ratio means anything, and why: ``"0:2"`` is scenario 2 ÷ scenario 0."""
    return {
        f"{i}:{j}": why
        for (i, a), (j, b) in itertools.combinations(enumerate(summaries), 2)
        if (why := incomparable(b, a)) is not None
    }


def _sharing(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return who waits for whom where recordings shared hardware."""
    from tiersim.cli.page.sharing import sharing_payload

    return list(finite(sharing_payload(results)))


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


#: Why a range stands in place of a 99th percentile of statements.
_WIDE = "error of the model"


def _with_tails(summary: dict[str, Any]) -> dict[str, Any]:
    """Put the measured interval in place of each 99th percentile that is not known to a factor of 2; the 99.9th is then
    not known either.
    """
    tails = (summary.get("tails") or {}).get("p99_ns", {})

    def ranged(name: str, figures: dict[str, Any]) -> dict[str, Any]:
        found = tails.get(name)
        if not found or found["verdict"] != "not resolved" or found["low"] is None:
            return figures
        unknown = {"value": None, "resolved": False, "low": None, "high": None}
        ends = {"low": found["low"], "high": found["high"], "why": _WIDE}
        return figures | {"p99": figures["p99"] | unknown | ends, "p999": figures["p999"] | unknown}

    latencies = {name: ranged(name, one) for name, one in summary["latency_ns"].items()}
    queries = {name: ranged(f"query {name}", one) for name, one in (summary.get("queries") or {}).items()}
    return summary | {"latency_ns": latencies} | ({"queries": queries} if queries else {})


def _traces(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The traces that were replayed, each once, with what was measured on the recorded hardware."""
    traces: dict[str, dict[str, Any]] = {}
    for result in results:
        trace = result.summary["trace"]
        # joined requests are one command, which is what scenarios count
        own = {"commands": round((result.summary.get("commands") or 0) / _load(result.summary)) or None}
        own |= {key: {} for key in ("measured_latency_ns", "measured_queries_ns", "recorded_per_s")}
        entry = traces.setdefault(trace["hash"], {**trace, **own})
        entry["recorded_per_s"].update(_recorded_per_s(result.summary))
        entry["measured_latency_ns"].update(finite(_measured(result.summary)))
        entry["measured_queries_ns"].update(finite(_measured_queries(result.summary)))
    return list(traces.values())


def _measured_queries(summary: dict[str, Any]) -> dict[str, float]:
    """Return the recorded means of queries that ran."""
    queries = summary.get("queries") or {}
    return {name: ns for name, ns in summary.get("recorded_mean_ns", {}).items() if name in queries and ns}


def _measured(summary: dict[str, Any]) -> dict[str, Any]:
    """Latencies of the recorded hardware: of block requests; or the mean of transactions, as the load generator
    measured it, else as the server counted it.
    """
    if summary.get("level") != "statements":
        return {
            name: {key: None if is_of_too_few(key, figures["count"]) else value for key, value in figures.items()}
            for name, figures in (summary.get("measured_latency_ns") or {}).items()
        }
    mean_ns = summary.get("recorded_mean_ns", {}).get("transaction") or summary.get("in_transaction_ns")
    return {"transaction": {"mean": mean_ns}} if mean_ns else {}


def _scenario(result: Result, name: str, merged: int) -> dict[str, Any]:
    from tiersim.cli.explanation import helpful
    from tiersim.scenarios.caveats import in_doubt

    summary = result.summary
    saturated = summary["verdict"]["load"] == "saturated"
    time = over_time(result, merged, with_percentiles=not saturated, as_backlog=_piles_up(summary))
    latency_ns = summary["latency_ns"]
    if saturated:  # of a system whose backlog grows nothing else can be said
        latency_ns = {purpose: {"count": figures["count"]} for purpose, figures in latency_ns.items()}
    return {
        "name": name,
        "trace": summary["trace"]["hash"],
        **finite({key: summary.get(key) for key in _COPIED}),
        **finite({key: summary.get(key) for key in _OF_STATEMENTS if summary.get("level") == "statements"}),
        "latency_ns": finite(latency_ns),
        "model_error": error_sentence(summary),
        "expected": expected_multiples(summary) if summary.get("model_error") else None,
        "undetermined": undetermined(summary),
        "recorded_on": {key: summary.get("calibration", {}).get(key) for key in ("baseline", "described")},
        "in_doubt": in_doubt(summary),
        "has_tails": bool(summary.get("tails")),
        "caveats": [*loads_not_run([summary]), *summary.get("caveats", ())],
        "curves": {} if saturated else curves(result),
        "bottleneck": _with_part(finite(summary.get("bottleneck"))),
        "helps": finite(helpful(summary)),
        "load": {**_with_part(finite(summary["load"])), "explanation": sentence(summary["load"]["explanation"])},
        "completed_per_s": _completed_per_s(summary, time),
        "time": time,
        "checkpoints": checkpoint_payload(result.summary, result.timeline),
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


#: Where less of the recorded commands was measured, rates of the others are not known.
_NEARLY_ALL = 0.99


def _recorded_per_s(summary: dict[str, Any]) -> dict[str, float]:
    """Rate of each class on the recorded hardware; none where not nearly all of it was measured. Log syncs are counted
    at the load that was simulated.
    """
    trace, measured = summary["trace"], _measured(summary)
    seconds, load = trace["span_ns"] / NS_PER_S, _load(summary)
    if not seconds:
        return {}
    if summary.get("level") == "statements":
        return {"transaction": trace["transactions"] / seconds}
    counted = sum(one["count"] for name, one in measured.items() if name in REQUEST_CATEGORIES)
    if counted < _NEARLY_ALL * (summary.get("commands") or 0) / load:
        return {}
    return {
        name: one["count"] / seconds / (1 if name in REQUEST_CATEGORIES else load) for name, one in measured.items()
    }


def _load(summary: dict[str, Any]) -> float:
    """Multiple of the recorded load that ran. Sessions are whole, so it may differ from the load that was asked for."""
    replay = summary.get("replay") or {}
    return float(replay.get("load_reached") or replay.get("load") or 1.0)


def _completed_per_s(summary: dict[str, Any], time: dict[str, Any]) -> dict[str, float]:
    """Mean rate at which each class was done: while the run lasted, where a closed loop was over before the recording
    was. Of transactions that saturate, the rate that can be sustained, as few may end in the recording's time.
    """
    seconds = (time["end_s"][-1] - time["start_s"][0]) if time["start_s"] else 0.0
    rates = {name: sum(one["completions"]) / seconds for name, one in time["by_class"].items()} if seconds > 0 else {}
    kind = "transactions" if "transaction" in rates else "requests"
    counted = ("transaction",) if "transaction" in rates else REQUEST_CATEGORIES
    stated = (summary["throughput_per_s"].get(kind) or {}).get("value")
    drawn = sum(rates.get(name, 0.0) for name in counted)
    if not stated or not drawn:
        return rates
    if kind == "transactions" and summary["verdict"]["load"] == "saturated":
        return rates | {"transaction": stated}
    return {name: rate * stated / drawn for name, rate in rates.items()}


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


def all_ratios(
    scenarios: Sequence[dict[str, Any]], recorded: dict[str, dict[str, Any]], apart: Collection[str]
) -> dict[str, Any]:
    """Every pair that is not *apart*: ``"0:2"`` is scenario 2 ÷ scenario 0, ``"r:2"`` scenario 2 ÷ recorded.

    Each has ``latency`` and ``throughput``.
    """
    pairs = {
        f"{i}:{j}": {
            "latency": ratios(a["latency_ns"], b["latency_ns"]),
            "throughput": throughput_ratios(a["completed_per_s"], b["completed_per_s"]),
        }
        for (i, a), (j, b) in itertools.combinations(enumerate(scenarios), 2)
        if f"{i}:{j}" not in apart
    }
    return pairs | {
        f"r:{i}": {
            "latency": ratios(recorded[one["trace"]]["measured_latency_ns"], one["latency_ns"]),
            "throughput": throughput_ratios(recorded[one["trace"]]["recorded_per_s"], one["completed_per_s"]),
        }
        for i, one in enumerate(scenarios)
    }


def _parts(figure: Any) -> tuple[float | None, float | None, float | None]:
    if figure is None:
        return None, None, None
    if isinstance(figure, dict):
        return figure["value"] if figure.get("resolved") else None, figure.get("low"), figure.get("high")
    return figure, figure, figure
