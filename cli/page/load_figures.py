"""Latency of a device alone against load: a plot, and a page that holds it and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from tiersim.cli.page.figure_style import INK, SOFT, colour, figure
from tiersim.units import format_ns

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tiersim.scenarios.load_curve import LoadCurve

_STATISTICS = (("mean", "mean_ns", "solid"), ("p50", "p50_ns", "dash"), ("p99", "p99_ns", "dot"))
_STYLE = f"""
body {{ margin: 1.5rem auto; max-width: 70rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: {INK}; }}
table {{ border-collapse: collapse; margin: 1rem 0 2rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding: .4rem 0; }}
th, td {{ text-align: right; padding: .15rem .9rem .15rem 0; border-bottom: 1px solid #d9dce2; font-weight: 400; }}
th {{ color: {SOFT}; }}
p {{ color: {SOFT}; }}
"""


def load_latency(curves: Sequence[LoadCurve], title: str = "") -> Figure:
    """Latency of reads against requests per second: mean, median and 99th percentile for every mix."""
    traces = []
    for index, curve in enumerate(curves):
        mix = "reads alone" if curve.read_share == 1 else f"reads, {1 - curve.read_share:.0%} writes beside them"
        for name, key, dash in _STATISTICS:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"{mix}: {name}",
                    "x": [point.per_s for point in curve.points],
                    "y": [getattr(point.reads, key) / 1e3 for point in curve.points],
                    "line": {"color": colour(index), "dash": dash, "width": 2},
                    "marker": {"size": 6},
                    "hovertemplate": "%{x:,.0f}/s: %{y:,.4~g} µs",
                }
            )
    x = {"title": {"text": "random 8 KiB requests per second"}, "rangemode": "tozero"}
    y = {"type": "log", "title": {"text": "latency (µs)"}}
    return figure(traces, title, x, y, legend={"orientation": "h", "y": -0.2})


def build_load_page(curves: Sequence[LoadCurve], name: str) -> str:
    """One HTML file that needs no network: the plot of *curves* and their numbers; the same for the same curves."""
    drawn = load_latency(curves, f"{name}: latency against load")
    drawn.update_layout(height=560)
    plot = drawn.to_html(full_html=False, include_plotlyjs=True, div_id="load", config={"displaylogo": False})
    tables = "".join(_table(curve) for curve in curves)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(name)}: latency against load</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>
<body>{plot}
<p>One device alone, simulated by tiersim.
Arrivals are Poisson, from 5 to 95 % of the highest rate that it keeps up with.</p>
{tables}</body></html>
"""


def _table(curve: LoadCurve) -> str:
    from tiersim.scenarios.load_curve import title

    sides = ("reads", "writes") if curve.points[0].writes else ("reads",)
    head = ["load", "requests/s", *(f"{side}, {name}" for side in sides for name, _, _ in _STATISTICS)]
    rows = []
    for point in curve.points:
        times = [format_ns(getattr(getattr(point, side), key)) for side in sides for _, key, _ in _STATISTICS]
        rows.append([f"{point.load:.0%}", f"{point.per_s:,.0f}", *times])
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    caption = f"<caption>{escape(title(curve.read_share))}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>\n"
