"""Results → what the page knows of them: every number that it, or a plot in a notebook, draws."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tiersim.cli.model_error import sentence as error_sentence
from tiersim.cli.page.checkpoints import checkpoint_payload
from tiersim.cli.page.numbers import finite
from tiersim.cli.page.pools import pool_bytes, tier_name, tiers
from tiersim.cli.page.queries import commits, parts, query_payload, transaction_us, without_queries
from tiersim.cli.page.ratios import all_ratios
from tiersim.cli.page.series import curves, intervals_to_merge, over_time, stations
from tiersim.simulator.categories import REQUEST_CATEGORIES
from tiersim.simulator.part_names import part_name
from tiersim.units import format_bytes

if TYPE_CHECKING:
    from tiersim.simulator.result import Result
from typing import TYPE_CHECKING

from tiersim.cli.page.numbers import rounded, whole
from tiersim.cli.page.series import counted_ns

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
    "description", "verdict", "commands", "throughput_per_s", "throughput_shortfall_pct", "conservation",
    "assumed", "synthesised", "replay", "lag_ns", "seed", "tool_version",
)  # fmt: skip
#: Further parts of results of statements.
_OF_STATEMENTS = ("level", "hit_ratio", "host", "engine", "settings_from", "extrapolated", "inferred", "caveats", "log")


def page_payload(results: Sequence[Result], title: str) -> dict[str, Any]:
    """Everything that the page knows, ready for JSON; the same for the same results."""
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
    present = {purpose for scenario in scenarios for purpose in scenario["latency_ns"]}
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
        "parts": parts(),
        "ratios": all_ratios(scenarios, {hashed["hash"]: hashed["measured_latency_ns"] for hashed in traces}),
    }


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


def _traces(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The traces that were replayed, each once, with what was measured on the recorded hardware."""
    traces: dict[str, dict[str, Any]] = {}
    for result in results:
        trace = result.summary["trace"]
        entry = traces.setdefault(trace["hash"], {**trace, "measured_latency_ns": {}})
        entry["measured_latency_ns"].update(finite(result.summary.get("measured_latency_ns") or {}))
    return list(traces.values())


def _scenario(result: Result, name: str, merged: int) -> dict[str, Any]:
    summary = result.summary
    saturated = summary["verdict"]["load"] == "saturated"
    time = over_time(result, merged, with_percentiles=not saturated, as_backlog=summary["verdict"]["load"] != "steady")
    return {
        "name": name,
        "trace": summary["trace"]["hash"],
        **finite({key: summary.get(key) for key in _COPIED}),
        **finite({key: summary.get(key) for key in _OF_STATEMENTS if summary.get("level") == "statements"}),
        "latency_ns": finite(_without_numbers(summary["latency_ns"]) if saturated else summary["latency_ns"]),
        "model_error": error_sentence(summary),
        "curves": {} if saturated else curves(result),
        "bottleneck": _with_part(finite(summary.get("bottleneck"))),
        "load": {**_with_part(finite(summary["load"])), "explanation": sentence(summary["load"]["explanation"])},
        "arrived_per_s": _per_second(time, "arrivals"),
        "completed_per_s": _completed_per_s(summary, time),
        "time": time,
        "checkpoints": checkpoint_payload(summary, result.timeline),
        "database": database_payload(result, merged),
        "stations": stations(result, merged),
        "toml": result.scenario_toml,
    }


def _with_part(found: dict[str, Any] | None) -> dict[str, Any]:
    """Add the name that people use to what holds a station and its resource."""
    if not found or not found.get("station"):
        return found or {}
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
