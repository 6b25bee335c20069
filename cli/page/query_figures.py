"""Plots of results of statements, from the same numbers as the report: queries, where their time goes, the size of the
buffer pool.

Latency is in microseconds. Of a saturated run nothing is drawn: it has no steady state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.figure_style import PALETTE, SOFT, SYMBOLS, colour, figure, plain, series
from tiersim.cli.page.result_figures import payload_of
from tiersim.cli.terminal import shortened
from tiersim.simulator.categories import STATISTICS, WAIT_NAMES
from tiersim.units import format_bytes

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tiersim.simulator.result import Result

_LABEL = 44
_LATENCY = {"type": "log", "title": {"text": "latency (µs)"}}


def query_latency(results: Result | Sequence[Result], statistic: str = "p95", most: int = 12) -> Figure:
    """Latency of the queries that take most time, with 80 % intervals; a query that is not resolved has no bar.

    Raises ValueError for a statistic other than mean, p50, p95, p99, p999, and when no result is one of statements.
    """
    payload = _payload(results, statistic)
    shown = list(enumerate(payload["queries"]))[:most]
    traces = []
    for index, scenario in enumerate(payload["scenarios"]):
        figures = [scenario.get("queries", {}).get(str(place), {}).get("ns", {}).get(statistic) for place, _ in shown]
        traces.append(
            {
                "type": "bar", "name": plain(scenario["name"]), "x": [_label(query) for _, query in shown],
                "marker": {"color": colour(index)}, "meta": {"series": index}, **_with_interval(figures),
            }
        )  # fmt: skip
    return figure(traces, f"Latency of queries: {statistic}", {"type": "category", "automargin": True}, _LATENCY)


def query_breakdown(results: Result | Sequence[Result], query: str | None = None) -> Figure:
    """Where the time of a call of *query* goes, or of a whole transaction, result beside result.

    Raises ValueError when there is no such query.
    """
    payload = _payload(results)
    place = _place(payload, query)
    traces = []
    each = [
        scenario.get("transaction_us") if place is None else scenario.get("queries", {}).get(place, {}).get("us")
        for scenario in payload["scenarios"]
    ]
    names = [plain(scenario["name"]) for scenario in payload["scenarios"]]
    for index, part in enumerate(payload["parts"]):
        times = [us[index] if us and index < len(us) else None for us in each]
        if any(times):
            look = {"color": PALETTE[index] if index < len(PALETTE) else SOFT}
            traces.append({"type": "bar", "name": WAIT_NAMES[part], "x": names, "y": times, "marker": look})
    what = "a transaction" if place is None else f"a call of {_label(payload['queries'][int(place)])}"
    return figure(
        traces, f"Where the time of {what} goes", {"type": "category"}, {"ticksuffix": " µs"}, barmode="stack"
    )


def latency_by_pool(results: Sequence[Result], query: str | None = None, statistic: str = "p95") -> Figure:
    """Latency of transactions, or of *query*, against the size of the buffer pool; below it the share of pages found in
    the pool.

    One line for each storage; extrapolated points are hollow, those that are not resolved are left out. Raises
    ValueError for an unknown statistic or query.
    """
    payload = _payload(results, statistic)
    place = _place(payload, query)
    traces: list[dict[str, Any]] = []
    for index, tier in enumerate(payload["tiers"]):
        points = [one for one in (payload["scenarios"][member] for member in tier["members"]) if _pool(one)]
        if not points:
            continue
        symbol = SYMBOLS[index % len(SYMBOLS)]
        common = {
            **series(index),
            "type": "scatter",
            "mode": "lines+markers",
            "name": plain(tier["name"]),
            "legendgroup": str(index),
            "x": [_pool(one) for one in points],
            "text": [format_bytes(_pool(one) or 0) for one in points],
            "marker": {
                "symbol": [f"{symbol}-open" if one["extrapolated"] else symbol for one in points],
                "size": 9,
                "color": colour(index),
            },
        }
        traces.append({**common, **_with_interval([_figure(one, place, statistic) for one in points])})
        hits = [(one["hit_ratio"] or {}).get("pool") for one in points]
        traces.append(
            {**common, "y": [None if hit is None else 100 * hit for hit in hits], "yaxis": "y2", "showlegend": False}
        )
    sizes = sorted({size for trace in traces for size in trace["x"]})
    what = "transactions" if place is None else _label(payload["queries"][int(place)])
    x = {
        "type": "log",
        "tickvals": sizes,
        "ticktext": [format_bytes(size) for size in sizes],
        "title": {"text": "buffer pool"},
        "anchor": "y2",
    }
    hit = {"domain": [0, 0.24], "ticksuffix": " %", "title": {"text": "in the pool"}}
    title = f"{statistic} of {what} against the size of the buffer pool"
    return figure(traces, title, x, {**_LATENCY, "domain": [0.34, 1]}, yaxis2=hit)


def _payload(results: Result | Sequence[Result], statistic: str = "mean") -> dict[str, Any]:
    if statistic not in STATISTICS:
        raise ValueError(f"no statistic {statistic!r}; there are {', '.join(STATISTICS)}")
    payload = payload_of(results)
    if not payload["queries"]:
        raise ValueError("these results are of requests and know no queries; replay a recording of statements")
    return payload


def _place(payload: dict[str, Any], query: str | None) -> str | None:
    """Place of a query, as a key; None for whole transactions."""
    if query is None:
        return None
    names = [one["id"] for one in payload["queries"]]
    if query not in names:
        raise ValueError(f"no query {query!r} in these results; there are {', '.join(names)}")
    return str(names.index(query))


def _pool(scenario: dict[str, Any]) -> int | None:
    found: int | None = (scenario.get("engine") or {}).get("buffer_pool_bytes")
    return found


def _figure(scenario: dict[str, Any], place: str | None, statistic: str) -> list[float | None] | None:
    """``[value, low, high]`` of a statistic in ns."""
    if place is not None:
        found: list[float | None] | None = scenario["queries"].get(place, {}).get("ns", {}).get(statistic)
        return found
    one = scenario["latency_ns"].get("transaction", {}).get(statistic)
    return one and [one["value"] if one["resolved"] else None, one["low"], one["high"]]


def _with_interval(figures: Sequence[list[float | None] | None]) -> dict[str, Any]:
    """Heights and error bars of figures ``[value, low, high]``, in microseconds."""
    values = [one[0] if one else None for one in figures]

    def away(end: int) -> list[float]:
        ends = [one[end] if one else None for one in figures]
        return [
            0.0 if value is None or there is None else abs(there - value) / 1e3
            for value, there in zip(values, ends, strict=True)
        ]

    return {
        "y": [None if value is None else value / 1e3 for value in values],
        "error_y": {"type": "data", "symmetric": False, "array": away(2), "arrayminus": away(1)},
    }


def _label(query: dict[str, Any]) -> str:
    """Label of a query for an axis; its id tells apart those that begin alike."""
    label = shortened(query["label"], _LABEL)
    return plain(label if label == query["id"] else f"{label} ({query['id']})")
