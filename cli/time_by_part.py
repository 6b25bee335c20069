"""Where the time of queries and transactions goes, by part, and what of a transaction is in none of its queries: its
commit, and the client between queries.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tiersim.cli.verdicts import Summary
from tiersim.simulator.categories import ELSEWHERE, middle_of
from tiersim.units import NS_PER_S, format_ns

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
