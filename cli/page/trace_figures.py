"""Plots of a trace, from its description alone (``tiersim.description/1``, see docs/description.md).

What a description does not hold gives an empty figure. Time is in seconds, latency in microseconds, sizes in bytes.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.figure_style import SOFT, colour, figure, line, plain, series
from tiersim.units import format_bytes, format_ns, format_times

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SECONDS = {"title": {"text": "time"}, "ticksuffix": " s"}


def rates(description: dict[str, Any]) -> Figure:
    """Requests per second over time, one band for each class, one on top of the other."""
    timeline = description.get("timeline") or {}
    _, middles, widths = intervals(description)
    traces = [
        {
            **series(class_index(description, name), width=0.8, dash="solid"),
            "type": "scatter", "name": plain(name), "x": middles, "stackgroup": "all", "mode": "lines",
            "fillcolor": colour(class_index(description, name)),
            "y": [count / width for count, width in zip(one["count"], widths, strict=True)],
            "hovertemplate": "%{y:.4~g}/s",
        }
        for name, one in by_requests(timeline.get("by_class") or {})
    ]  # fmt: skip
    return figure(
        traces, "Requests over time", _SECONDS, {"ticksuffix": "/s", "rangemode": "tozero"}, hovermode="x unified"
    )


def intervals(description: dict[str, Any]) -> tuple[list[float], list[float], list[float]]:
    """Start, middle and width of the intervals of the timeline in seconds; the last may be cut short."""
    timeline = description.get("timeline") or {}
    starts_ns = timeline.get("start_ns") or []
    if not starts_ns:
        return [], [], []
    end_ns = min(max(description["span_ns"], starts_ns[-1] + 1), starts_ns[-1] + timeline["interval_ns"])
    pairs = list(zip(starts_ns, [*starts_ns[1:], end_ns], strict=True))
    return [a / 1e9 for a, _ in pairs], [(a + b) / 2e9 for a, b in pairs], [(b - a) / 1e9 for a, b in pairs]


def by_requests(by_class: dict[str, Any]) -> list[tuple[str, Any]]:
    """Classes, those with most requests first."""
    return sorted(by_class.items(), key=lambda item: (-sum(item[1]["count"]), item[0]))


def class_index(description: dict[str, Any], name: str) -> int:
    """Number of a class, so that it has the same colour in all plots."""
    names = [group["name"] for group in description.get("classes", [])]
    return names.index(name) if name in names else len(names)


def sizes(description: dict[str, Any]) -> Figure:
    """Requests by length, one colour for each class; of each class the lengths that the description lists."""
    groups = [group for group in description.get("classes", []) if any(size for size, _ in group.get("sizes", []))]
    lengths = sorted({size for group in groups for size, _ in group["sizes"] if size})
    labels = [format_bytes(size) for size in lengths]
    traces = []
    for group in groups:
        index = class_index(description, group["name"])
        counts = dict(map(tuple, group["sizes"]))
        traces.append(
            {
                "type": "bar",
                "name": plain(group["name"]),
                "x": labels,
                "y": [counts.get(size, 0) for size in lengths],
                "meta": {"series": index},
                "marker": {"color": colour(index)},
                "hovertemplate": "%{x}: %{y:,}",
            }
        )
    return figure(traces, "Requests by size", {"type": "category"}, {}, barmode="stack", bargap=0.25)


def latency_cdf(description: dict[str, Any]) -> Figure:
    """Share of requests done within a latency, for each class with a measured one."""
    latency = description.get("latency") or {}
    order = [group["name"] for group in description.get("classes", []) if group["name"] in latency]
    traces = []
    for name in [*order, *sorted(latency.keys() - set(order))]:
        index = class_index(description, name)
        low_us, high_us, share = cumulative(latency[name])
        traces.append(
            line(
                index,
                name,
                [low_us, *high_us],
                [0.0, *(100 * one for one in share)],
                hovertemplate="%{text}",
                text=[
                    f"{100 * one:.3g} % within {format_ns(us * 1e3)}"
                    for us, one in zip([low_us, *high_us], [0.0, *share], strict=True)
                ],
            )
        )
    return figure(
        traces,
        "Measured latency",
        {"type": "log", "title": {"text": "latency (µs)"}},
        {"ticksuffix": " %", "range": [0, 102]},
    )


def cumulative(bins: list[list[float]]) -> tuple[float, list[float], list[float]]:
    """Lowest latency, and for the upper end of each bin (microseconds) the share of requests at or below it."""
    total = sum(count for _, _, count in bins)
    below = list(accumulate(count for _, _, count in bins))
    return bins[0][0] / 1e3, [high / 1e3 for _, high, _ in bins], [one / total for one in below]


def latency_by_size(description: dict[str, Any]) -> Figure:
    """Mean measured latency by length, for each operation."""
    found = description.get("latency_by_size") or {}
    traces = [
        {
            **series(index),
            "type": "scatter",
            "mode": "lines+markers",
            "name": plain(operation),
            "x": [format_bytes(low) for low, *_ in rows],
            "y": [mean / 1e3 for *_, mean in rows],
            "text": [
                f"{format_bytes(low)} to below {format_bytes(high)}: {format_ns(mean)}, {count:,} requests"
                for low, high, count, mean in rows
            ],
            "hovertemplate": "%{text}",
            "marker": {"color": colour(index), "size": 7},
        }
        for index, (operation, rows) in enumerate(sized(found))
    ]
    lengths = sorted({row[0] for _, rows in sized(found) for row in rows})
    labels = [format_bytes(length) for length in lengths]
    x = {"type": "category", "categoryorder": "array", "categoryarray": labels, "title": {"text": "length, from"}}
    return figure(traces, "Measured latency by size", x, {"type": "log", "title": {"text": "mean latency (µs)"}})


def sized(found: dict[str, Any]) -> list[tuple[str, list[list[float]]]]:
    """Operations with lengths: a flush has none."""
    rows = {operation: [row for row in rows if row[0] > 0] for operation, rows in found.items()}
    return [(operation, kept) for operation, kept in rows.items() if kept]


def working_set(description: dict[str, Any]) -> Figure:
    """Distinct bytes touched before each time: a line that still climbs at the end is a working
    set not yet seen whole.
    """
    found = description.get("working_set") or {}
    curve = found.get("curve") or {"time_ns": [], "bytes": []}
    times_s = [0.0, *(time / 1e9 for time in curve["time_ns"])]
    touched = [0, *curve["bytes"]]
    trace = {
        **series(0, dash="dash" if found.get("estimated") else "solid"),
        "type": "scatter",
        "mode": "lines",
        "name": "touched",
        "x": times_s,
        "y": touched,
        "text": [format_bytes(one) for one in touched],
        "hovertemplate": "%{text}",
    }
    ticks = byte_ticks(max(touched))
    y = {"tickvals": ticks, "ticktext": [format_bytes(one) for one in ticks], "rangemode": "tozero"}
    return figure([trace] if curve["time_ns"] else [], "Working set", _SECONDS, y)


def byte_ticks(top: float) -> list[int]:
    """Round sizes from nothing to *top*, five or so of them."""
    if top <= 0:
        return [0]
    step = 1
    while top / step > 6:
        step *= 2
    return list(range(0, int(top) + 1, step))


def depth(description: dict[str, Any]) -> Figure:
    """Share of time by the number of requests in flight."""
    share = (description.get("depth") or {}).get("share") or []
    trace = {
        "type": "bar",
        "name": "share of time",
        "x": depth_labels(share),
        "y": [100 * one for _, one in share],
        "meta": {"series": 0},
        "marker": {"color": colour(0)},
        "hovertemplate": "%{x} in flight: %{y:.3~g} % of the time",
    }
    return figure(
        [trace] if share else [], "Requests in flight", {"type": "category"}, {"ticksuffix": " %"}, bargap=0.25
    )


def depth_labels(share: list[list[float]]) -> list[str]:
    """Each range of depths as text: ``0``, ``1``, ``2–3``, …"""
    starts = [int(start) for start, _ in share]
    return [str(start) if start < 2 else f"{start}–{2 * start - 1}" for start in starts]


def depth_over_time(description: dict[str, Any]) -> Figure:
    """Mean number of requests in flight over time."""
    means = (description.get("timeline") or {}).get("depth_mean")
    trace = {
        **series(0, width=1.5), "type": "scatter", "mode": "lines", "name": "in flight", "fill": "tozeroy",
        "x": intervals(description)[1], "y": means, "hovertemplate": "%{y:.3~g} in flight",
    }  # fmt: skip
    return figure([trace] if means else [], "Requests in flight over time", _SECONDS, {"rangemode": "tozero"})


def burstiness(description: dict[str, Any]) -> Figure:
    """Index of dispersion of the number of requests by length of window; independent (Poisson) arrivals have 1."""
    found = [(window, one) for window, one in (description.get("burstiness") or {}).get("dispersion", []) if one]
    windows = [window / 1e9 for window, _ in found]
    trace = {
        **series(0),
        "type": "scatter",
        "mode": "lines+markers",
        "name": "this trace",
        "x": windows,
        "y": [one for _, one in found],
        "text": [f"windows of {format_ns(window)}: {format_times(one)}" for window, one in found],
        "hovertemplate": "%{text}",
        "marker": {"color": colour(0), "size": 8},
    }
    poisson = {
        "type": "scatter", "mode": "lines", "name": "Poisson arrivals", "x": windows, "y": [1.0 for _ in windows],
        "line": {"color": SOFT, "dash": "dot", "width": 1.5}, "hoverinfo": "skip",
    }  # fmt: skip
    x = {
        "type": "log",
        "tickvals": windows,
        "ticktext": [format_ns(window) for window, _ in found],
        "title": {"text": "window"},
    }
    return figure(
        [trace, poisson] if found else [],
        "Burstiness by time scale",
        x,
        {"type": "log", "title": {"text": "variance ÷ mean"}},
    )


def re_reference(description: dict[str, Any]) -> Figure:
    """Pages by the time since they were last touched, reads and writes apart."""
    found = description.get("re_reference") or {}
    keys = {"reads": "reads_since_last_ns", "writes": "writes_since_last_ns"}
    rows = {name: found.get(key) or [] for name, key in keys.items()}
    lows = sorted({row[0] for one in rows.values() for row in one})
    labels = [format_ns(low) for low in lows]
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": labels,
            "y": [{row[0]: row[2] for row in one}.get(low, 0) for low in lows],
            "meta": {"series": index},
            "marker": {"color": colour(index)},
            "hovertemplate": "from %{x}: %{y:,} pages",
        }
        for index, (name, one) in enumerate(rows.items())
        if one
    ]
    return figure(
        traces,
        "Time since a page was last touched",
        {"type": "category", "title": {"text": "at least"}},
        {},
        barmode="group",
        bargap=0.2,
    )
