"""Plots of results, from the same numbers as the report.

Time is in seconds, latency in microseconds. Of a saturated run no percentile is drawn: it has no steady state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.figure_style import INK, SYMBOLS, colour, figure, line, plain, series
from tiersim.cli.page.payload import page_payload
from tiersim.cli.page.series import RANKS
from tiersim.simulator.categories import STATISTICS
from tiersim.units import format_ns

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tiersim.simulator.result import Result

_LATENCY = {"type": "log", "title": {"text": "latency (µs)"}}
_SECONDS = {"title": {"text": "time"}, "ticksuffix": " s"}


def payload_of(results: Result | Sequence[Result]) -> dict[str, Any]:
    """Numbers of *results*; raises ValueError without any."""
    from tiersim.simulator.result import Result

    given = [results] if isinstance(results, Result) else list(results)
    if not given:
        raise ValueError("a plot needs at least one result")
    return page_payload(given, "")


def _payload(results: Result | Sequence[Result], purpose: str | None = None) -> tuple[dict[str, Any], str]:
    """Numbers of *results* and the purpose to draw: the one asked for, or the first that people wait for."""
    payload = payload_of(results)
    there = payload["purposes"]
    if purpose is not None and purpose not in there:
        raise ValueError(f"no {purpose!r} in these results; there are {', '.join(there) or 'none at all'}")
    return payload, purpose or (there[0] if there else "")


def latency_percentiles(results: Result | Sequence[Result], purpose: str | None = None) -> Figure:
    """Latency by percentile of each result, dotted where the sample does not resolve it, and what was measured."""
    payload, purpose = _payload(results, purpose)
    traces = []
    for trace in payload["traces"]:
        measured = trace["measured_latency_ns"].get(purpose) or {}
        known = [(rank, measured[key] / 1e3) for key, rank in RANKS.items() if measured.get(key) is not None]
        if known:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": plain(f"recorded: {trace['name']}"),
                    "x": [rank for rank, _ in known],
                    "y": [us for _, us in known],
                    "line": {"color": INK, "dash": "dot"},
                    "marker": {"symbol": "diamond-open", "size": 9, "color": INK},
                }
            )
    for index, scenario in enumerate(payload["scenarios"]):
        curve = scenario["curves"].get(purpose)
        if curve:
            traces += _curve(index, scenario["name"], curve)
    ticks = {
        1: "0 %",
        2: "50 %",
        10: "90 %",
        100: "99 %",
        1e3: "99.9 %",
        1e4: "99.99 %",
        1e5: "99.999 %",
        1e6: "99.9999 %",
    }
    x = {"type": "log", "tickvals": list(ticks), "ticktext": list(ticks.values())}
    return figure(traces, f"Latency by percentile: {purpose}", x, _LATENCY)


def _curve(index: int, name: str, curve: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """A curve, and its unresolved parts: each from the last point that is resolved to the next one."""
    resolved = [bool(one) for one in curve["resolved"]]
    before, after = [True, *resolved[:-1]], [*resolved[1:], True]
    inner = [all(three) for three in zip(before, resolved, after, strict=True)]
    text = [
        f"{100 - 100 / rank:.6g} %: {format_ns(us * 1e3)}" for rank, us in zip(curve["rank"], curve["us"], strict=True)
    ]
    common = {
        "type": "scatter",
        "x": curve["rank"],
        "text": text,
        "hovertemplate": "%{text}",
        "name": plain(name),
        "legendgroup": str(index),
    }
    strong = [us if one else None for us, one in zip(curve["us"], resolved, strict=True)]
    faint = [None if one else us for us, one in zip(curve["us"], inner, strict=True)]
    marker = {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 7, "maxdisplayed": 9, "color": colour(index)}
    drawn = [{**common, **series(index), "y": strong, "mode": "lines+markers", "marker": marker}]
    if all(resolved):
        return drawn
    dotted = {**common, **series(index, dash="dot", width=1.25), "y": faint, "mode": "lines", "opacity": 0.55}
    return [*drawn, {**dotted, "name": plain(f"{name}: not resolved")}]


def latency_over_time(results: Result | Sequence[Result], purpose: str | None = None) -> Figure:
    """99th percentile of each interval, of saturated results the mean, with the checkpoints of the
    first result shaded.
    """
    payload, purpose = _payload(results, purpose)
    traces = []
    for index, scenario in enumerate(payload["scenarios"]):
        found = scenario["time"]["by_class"].get(purpose)
        if found:
            key = "p99_us" if "p99_us" in found else "mean_us"
            name = f"{scenario['name']}: {key.removesuffix('_us')}"
            traces.append(line(index, name, middles(scenario["time"]), found[key]))
    return figure(traces, f"Latency over time: {purpose}", _SECONDS, _LATENCY, shapes=checkpoint_shapes(payload))


def throughput(results: Result | Sequence[Result]) -> Figure:
    """Requests completed per second over time, and those that arrived at the first result."""
    payload = payload_of(results)
    traces = []
    for index, scenario in enumerate(payload["scenarios"]):
        time = scenario["time"]
        if index == 0:
            arrived = {
                "line": {"color": INK, "dash": "dot", "width": 1},
                "name": "arrivals",
                "y": _per_second(payload, time, "arrivals"),
            }
            traces.append({"type": "scatter", "mode": "lines", "x": middles(time), **arrived})
        traces.append(line(index, scenario["name"], middles(time), _per_second(payload, time, "completions")))
    return figure(
        traces,
        "Requests completed",
        _SECONDS,
        {"ticksuffix": "/s", "rangemode": "tozero"},
        shapes=checkpoint_shapes(payload),
    )


def utilisation(results: Result | Sequence[Result]) -> Figure:
    """Utilisation over time of the busiest station of each result."""
    payload = payload_of(results)
    traces = []
    for index, scenario in enumerate(payload["scenarios"]):
        stations = scenario["stations"]
        if stations["rows"]:
            row = max(stations["rows"], key=lambda one: one["utilisation"] or 0.0)
            name = f"{scenario['name']}: {row['name']}, {row['resource']}"
            traces.append(line(index, name, stations["start_s"], row["busy_pct"]))
    return figure(
        traces,
        "The busiest part of each",
        _SECONDS,
        {"ticksuffix": " %", "rangemode": "tozero"},
        shapes=checkpoint_shapes(payload),
    )


def comparison(a: Result, b: Result) -> Figure:
    """Latency of *a* divided by that of *b* for every purpose and statistic that is resolved on both, with its
    interval.

    Raises ValueError when they replayed different traces, or otherwise than each other.
    """
    payload = payload_of([b, a])
    if "0:1" in payload["no_ratios"]:
        raise ValueError(payload["no_ratios"]["0:1"])
    found = payload["ratios"]["0:1"]["latency"]
    purposes = [purpose for purpose in payload["purposes"] if purpose in found]
    traces = []
    for index, statistic in enumerate(STATISTICS):
        rows = [(p, found[p][statistic]) for p in purposes if found[p].get(statistic, {}).get("value") is not None]
        if not rows:
            continue
        above, below = (
            [abs(row[end] - row["value"]) if row[end] is not None else 0.0 for _, row in rows]
            for end in ("high", "low")
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": statistic,
                "x": [row["value"] for _, row in rows],
                "y": [p for p, _ in rows],
                "error_x": {"type": "data", "symmetric": False, "array": above, "arrayminus": below},
                "marker": {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 9, "color": colour(index)},
                "meta": {"series": index},
            }
        )
    names = " ÷ ".join(plain(one["name"]) for one in reversed(payload["scenarios"]))
    one = {"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1, "line": {"dash": "dot", "color": INK}}
    return figure(
        traces, f"Latency of {names}", {"type": "log", "ticksuffix": " ×"}, {"autorange": "reversed"}, shapes=[one]
    )


def middles(time: dict[str, Any]) -> list[float]:
    """Middles of intervals, in seconds."""
    return [(start + end) / 2 for start, end in zip(time["start_s"], time["end_s"], strict=True)]


def _per_second(payload: dict[str, Any], time: dict[str, Any], key: str) -> list[float]:
    widths = [end - start for start, end in zip(time["start_s"], time["end_s"], strict=True)]
    counted = [one[key] for name, one in time["by_class"].items() if name not in payload["derived"]]
    return [sum(one[i] for one in counted) / width for i, width in enumerate(widths)]


def checkpoint_shapes(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Checkpoints of the first result, shaded."""
    found = payload["scenarios"][0]["checkpoints"]
    return [
        {
            "type": "rect",
            "layer": "below",
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "x0": start,
            "x1": end,
            "fillcolor": "#f1e9d8",
            "line": {"width": 0},
        }
        for start, end in (found["spans_s"] if found else [])
    ]
