"""How plots look in a notebook; a page draws the same traces in the colours of its theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Okabe and Ito's colours for all kinds of sight, in the order of ``--series-0`` … of the pages' light theme.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
INK, SOFT = "#1b1d22", "#5a606b"
_GRID = "#EBF0F8"
_AXIS = {
    "gridcolor": _GRID,
    "linecolor": _GRID,
    "zerolinecolor": _GRID,
    "zerolinewidth": 2,
    "ticks": "",
    "title": {"standoff": 15},
    "automargin": True,
}
#: What the template "plotly_white" says of what is drawn here; plotly copies a template for each figure, and of the
#: whole one, which knows every kind of chart, that takes most of the time of a figure.
_LOOK = {
    "layout": {
        "title": {"x": 0.05},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hoverlabel": {"align": "left"},
        "autotypenumbers": "strict",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    },
    "data": {
        "bar": [{"marker": {"line": {"color": "white", "width": 0.5}}}],
        "heatmap": [{"colorbar": {"outlinewidth": 0, "ticks": ""}}],
    },
}


def series(index: int, **line: Any) -> dict[str, Any]:
    """Colour and dash of the series with this number; ``meta`` tells a page which one it is."""
    dash = DASHES[(index + index // len(PALETTE)) % len(DASHES)]
    return {"meta": {"series": index}, "line": {"color": colour(index), "dash": dash, "width": 2, **line}}


def line(index: int, name: object, x: Sequence[Any], y: Sequence[Any], **more: Any) -> dict[str, Any]:
    """Draw a series as a line."""
    return {**series(index), "type": "scatter", "mode": "lines", "name": plain(name), "x": x, "y": y, **more}


def colour(index: int) -> str:
    """Colour of the series with this number."""
    return PALETTE[index % len(PALETTE)]


def plain(text: object) -> str:
    """Text for plotly, which reads some HTML and ``%{...}`` in names and labels."""
    escaped = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("%{", "% {")


def figure(traces: Sequence[dict[str, Any]], title: str, x: dict[str, Any], y: dict[str, Any], **layout: Any) -> Figure:
    """Make a figure of traces and two axes; without traces it says so."""
    import plotly.graph_objects as go

    nothing = {"text": "nothing to draw", "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
    return go.Figure(
        data=list(traces),
        layout={
            "template": _LOOK,
            "title": {"text": plain(title)},
            "xaxis": x,
            "yaxis": y,
            "font": {"color": INK},
            "hovermode": "closest",
            "annotations": [] if traces else [nothing],
            **layout,
        },
    )
