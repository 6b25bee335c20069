"""A description → the page of a trace: charts, what is to be seen in them, tables, and how sure all that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tiersim.cli.page import trace_counters, trace_figures, trace_readings
from tiersim.cli.page.series import finite
from tiersim.cli.page.trace_tables import GROUP_TABLES, chart_tables, group_table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SCHEMA = "tiersim.page.trace/1"

#: Charts in the order of the page; those whose part of the description is absent are left out.
_CHARTS: dict[str, Callable[[dict[str, Any]], Figure]] = {
    "rates": trace_figures.rates,
    "sizes": trace_figures.sizes,
    "latency-cdf": trace_figures.latency_cdf,
    "latency-by-size": trace_figures.latency_by_size,
    "depth-over-time": trace_figures.depth_over_time,
    "depth": trace_figures.depth,
    "burstiness": trace_figures.burstiness,
    "working-set": trace_figures.working_set,
    "re-reference": trace_figures.re_reference,
}
_READINGS = {**trace_counters.READINGS, **trace_readings.READINGS}
_OVER_TIME = ("rates", "depth-over-time", "working-set")


def trace_payload(description: dict[str, Any], title: str) -> dict[str, Any]:
    """Everything that the page of a trace knows, ready for JSON; what is null in the description counts as absent."""
    description = {key: value for key, value in description.items() if value is not None}
    drawn = {**trace_counters.CHARTS, **(_CHARTS if trace_counters.of_requests(description) else {})}
    charts = [_chart(name, draw(description), description) for name, draw in drawn.items()]
    payload: dict[str, Any] = finite(
        {
            "schema": SCHEMA,
            "title": title,
            "span_s": description["span_ns"] / 1e9,
            "facts": trace_readings.facts(description),
            "lead": trace_readings.lead(description),
            "charts": [chart for chart in charts if chart["data"]],
            "absent": [chart["title"] for chart in charts if not chart["data"] and chart["id"] in _CHARTS],
            "groups": [
                *trace_counters.groups(description),
                *(group_table(description, key) for key in GROUP_TABLES if description.get(key)),
            ],
            "inferred": list(description.get("inferred") or []),
            "warnings": list(description.get("warnings") or []),
            "known": trace_readings.known(description),
        }
    )
    return payload


def _chart(name: str, drawn: Figure, description: dict[str, Any]) -> dict[str, Any]:
    """One chart as the page's script takes it; the look is the page's, so only the axes' meaning goes along."""
    figure = drawn.to_plotly_json()
    layout = figure["layout"]
    data = [_plain(trace) for trace in figure["data"]]
    return {
        "id": name,
        "title": layout["title"]["text"],
        "over_time": name in _OVER_TIME,
        "data": data,
        "layout": {key: layout[key] for key in ("xaxis", "yaxis", "barmode", "bargap", "hovermode") if key in layout},
        "reading": _READINGS[name](description) if data else "",
        "numbers": (
            (trace_counters.chart_tables if name in trace_counters.CHARTS else chart_tables)(name, description)
            if data
            else []
        ),
    }


def _plain(value: Any) -> Any:
    """The same of lists and dicts only."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value
