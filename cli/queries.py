"""Queries and transactions of results: where their time goes, by part, what of a transaction is in none of its queries
(its commit, and the client between queries), and what the page knows of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.series import finite, five_digits, short_us
from tiersim.cli.terminal import shortened
from tiersim.cli.verdicts import Summary
from tiersim.simulator.categories import ELSEWHERE, STATISTICS, middle_of
from tiersim.units import NS_PER_S, format_ns

if TYPE_CHECKING:
    from tiersim.simulator.result import Result

#: A figure of which nothing is known.
_NOT_KNOWN = dict.fromkeys(("value", "low", "high"))
#: A smaller share of a transaction's time is none.
LEAST_SHARE = 0.05


def known_parts(breakdown_ns: Mapping[str, float | None]) -> dict[str, float]:
    """Return the parts of a time, 0 where nothing is known."""
    return {part: ns or 0.0 for part, ns in breakdown_ns.items()}


def spent_ns(query: Mapping[str, Any]) -> float:
    """Return the time of all calls of a query, or of all commits."""
    return float(query["count"] * sum(known_parts(query["breakdown_ns"]).values()))


def time_of_transaction(summary: Summary) -> dict[str, float]:
    """Mean time of a transaction by part: of its queries and its commit, each as often as it ran; the rest is outside
    of them.
    """
    count = summary["latency_ns"]["transaction"]["count"] or 1
    found: dict[str, float] = {}
    commits = (summary["latency_ns"].get("commit") or {}).get("count", 0)
    each = [(one["count"], one["breakdown_ns"]) for one in summary["queries"].values()]
    for calls, breakdown in [*each, (commits, summary.get("commit_breakdown_ns") or {})]:
        for part, ns in known_parts(breakdown).items():
            found[part] = found.get(part, 0.0) + calls * ns / count
    mean = middle_of(summary["latency_ns"]["transaction"].get("mean") or _NOT_KNOWN)
    if mean is not None and mean > sum(found.values()):
        found[ELSEWHERE] = mean - sum(found.values())
    return found


def recorded_rest_ns(summary: Summary) -> float | None:
    """Return what of a recorded transaction was in none of its queries; None where one of the means is not known."""
    means_ns = summary.get("recorded_mean_ns", {})
    known = "transaction" in means_ns and means_ns.keys() >= summary["queries"].keys()
    return _rest_ns(summary, means_ns["transaction"], means_ns) if known else None


def predicted_rest_ns(summary: Summary) -> float | None:
    """Return the same of a predicted transaction."""
    mean_ns = (summary["latency_ns"].get("transaction", {}).get("mean") or {}).get("value")
    if mean_ns is None:
        return None
    means_ns = {name: sum(known_parts(one["breakdown_ns"]).values()) for name, one in summary["queries"].items()}
    return _rest_ns(summary, mean_ns, means_ns)


def _rest_ns(summary: Summary, transaction_ns: float, means_ns: Mapping[str, float]) -> float:
    """Return what of a transaction is in none of its queries, which take *means_ns* a call, as often as they ran."""
    count = summary["latency_ns"]["transaction"]["count"] or 1
    queries_ns = sum(one["count"] / count * means_ns[name] for name, one in summary["queries"].items())
    return float(transaction_ns - queries_ns)


def faster_outside(summaries: Sequence[Summary], query: str) -> str:
    """Say why transactions can be faster than recorded though a *query* is slower."""
    rest_ns, recorded = recorded_rest_ns(summaries[0]), summaries[0].get("recorded_mean_ns", {})
    found = []
    for summary in summaries if rest_ns is not None else ():
        mean_ns = (summary["latency_ns"]["transaction"]["mean"] or {}).get("value")
        own_ns = (summary["queries"].get(query, {}).get("mean") or {}).get("value")
        now_ns = predicted_rest_ns(summary)
        if mean_ns and own_ns and now_ns and mean_ns < recorded["transaction"] and own_ns > recorded[query]:
            found.append(f"{format_ns(now_ns)} on {summary['name']}")
    if not found or rest_ns is None:
        return ""
    return (
        " This query takes longer than recorded, but the whole transaction is faster. Its other parts (commit, client)"
        f" took {format_ns(rest_ns)} in the recording; they take {', '.join(found)}."
    )


def notes_of_rest(summaries: Sequence[Summary]) -> list[str]:
    """Say which predicted transactions have none of what recorded ones spent outside of their queries."""
    found: dict[str, list[str]] = {}
    for summary in summaries:
        recorded_ns = recorded_rest_ns(summary)
        if recorded_ns is not None and _leaves_out(summary, recorded_ns):
            found.setdefault(format_ns(recorded_ns), []).append(str(summary["name"]))
    return [
        f"{', '.join(names)}: a predicted transaction leaves out {rest} that a recorded one spent outside of its"
        " queries, in the client, the network or waiting for a core. It comes between transactions here: compare"
        " queries and transactions/s."
        for rest, names in found.items()
    ]


def _leaves_out(summary: Summary, recorded_ns: float) -> bool:
    """Tell whether a predicted transaction has none of the *recorded_ns* outside of its queries; or, where it is one
    query and waits for nothing else but a core, whether its session spends them between transactions (Little's law).
    """
    predicted_ns = predicted_rest_ns(summary)
    if predicted_ns is None:
        return False
    if predicted_ns < LEAST_SHARE * recorded_ns:
        return True
    replay = summary.get("replay", {})
    transactions, sessions = summary["latency_ns"]["transaction"], replay.get("sessions")
    rate = (summary.get("throughput_per_s", {}).get("transactions") or {}).get("value")
    queries = sum(one["count"] for one in summary["queries"].values())
    if "commit" in summary["latency_ns"] or queries > transactions["count"] or not sessions or not rate:
        return False
    if replay.get("keeps") == "rate":  # who comes by the clock has no session that waits between
        return False
    return bool(sessions / rate * NS_PER_S - transactions["mean"]["value"] >= (1 - LEAST_SHARE) * recorded_ns > 0)


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
            time_ns[trace, name] = time_ns.get((trace, name), 0.0) + spent_ns(one)
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
    mean = middle_of(figures["mean"])
    return short_us([*each, 0.0 if mean is None else max(mean - sum(each), 0.0)])


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
    return {"count": one["count"], "per_s": five_digits(one["count"] * _per_s(result)), "reads": None, **timed}


def _commits(result: Result) -> list[dict[str, Any]]:
    figures, spent = (result.summary.get(key, {}) for key in ("latency_ns", "commit_breakdown_ns"))
    return (
        [{"count": figures["commit"]["count"], "breakdown_ns": finite(spent)}] if spent and "commit" in figures else []
    )


def _total_ns(result: Result) -> float:
    """Time of all queries and commits."""
    return sum(map(spent_ns, (*_queries(result).values(), *_commits(result))))


def _per_s(result: Result) -> float:
    """A second's share of what was counted."""
    transactions = (result.summary["latency_ns"].get("transaction") or {}).get("count")
    rate = (result.summary["throughput_per_s"].get("transactions") or {}).get("value")
    return float(rate / transactions if transactions and rate else 1e9 / max(result.summary["trace"]["span_ns"], 1))


def _saturated(result: Result) -> bool:
    return bool(result.summary["verdict"]["load"] == "saturated")


def described(name: str, given: str | None) -> dict[str, Any]:
    """Text and label of a query, cut; what a page cannot carry replaced."""
    text = (given or "").encode("utf-8", "replace").decode()
    label = " ".join(text[:MOST_TEXT].split()) or name
    return {
        "id": name,
        "label": shortened(label, LABEL),
        "text": text[:MOST_TEXT] or None,
        "left_out": max(len(text) - MOST_TEXT, 0),
    }


def _of_result(result: Result, place: dict[tuple[str, str], int]) -> dict[str, Any]:
    queries, per_s, total_ns = _queries(result), _per_s(result), _total_ns(result)
    return {
        str(place[result.summary["trace"]["hash"], name]): {
            "count": one["count"],
            "per_s": five_digits(one["count"] * per_s),
            "reads": five_digits(one["physical_reads_per_call"]),
            **({} if _saturated(result) else _timed(one, total_ns)),
        }
        for name, one in queries.items()
    }


def _timed(one: dict[str, Any], total_ns: float) -> dict[str, Any]:
    """Figures ``[value, low, high]`` in ns by statistic, with the reason of a range behind them where there is one;
    parts of the mean in microseconds; share of the time of all queries and commits.
    """
    breakdown = one["breakdown_ns"]
    return {
        "share": five_digits(spent_ns(one) / total_ns) if total_ns else None,
        "us": short_us([breakdown.get(part) or 0.0 for part in parts()[:-1]]),
        "ns": {
            key: [*(five_digits(found[end]) for end in ("value", "low", "high")), *filter(None, [found.get("why")])]
            for key in STATISTICS
            if (found := one.get(key))
        },
    }
