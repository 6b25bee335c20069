"""Queries of results → what the page knows of them: text, calls, latency and where their time goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.series import finite, five_digits, short_us
from tiersim.cli.terminal import shortened
from tiersim.cli.time_by_part import spent_ns
from tiersim.simulator.categories import ELSEWHERE, STATISTICS, middle_of

if TYPE_CHECKING:
    from tiersim.simulator.result import Result

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
