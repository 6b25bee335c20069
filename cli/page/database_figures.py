"""Plots of the database under statements, from the same numbers as the report: transactions, commits, dirty pages, the
log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.figure_style import figure, line
from tiersim.cli.page.payload import page_payload
from tiersim.cli.page.result_figures import checkpoint_shapes, middles

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tiersim.simulator.result import Result

#: What is drawn one below the other.
_ROWS = ("transactions/s", "commits, mean (µs)", "dirty pages", "log (bytes/s)")
_GAP = 0.05


def database_over_time(results: Result | Sequence[Result]) -> Figure:
    """Transactions a second, mean latency of commits, dirty pages and log a second, result upon result; checkpoints of
    the first are shaded.

    Raises ValueError when no result is one of statements.
    """
    from tiersim.simulator.result import Result

    payload = page_payload([results] if isinstance(results, Result) else list(results), "")
    drawn = [(index, one) for index, one in enumerate(payload["scenarios"]) if one["database"]]
    if not drawn:
        raise ValueError("these results say nothing of a database; replay a recording of statements")
    traces = []
    for index, scenario in drawn:
        for row, (x, y) in enumerate(_series(scenario)):
            axis = {"yaxis": f"y{row + 1}" if row else "y", "legendgroup": str(index), "showlegend": row == 0}
            traces.append(line(index, scenario["name"], x, y, **axis))
    height = (1 - _GAP * (len(_ROWS) - 1)) / len(_ROWS)
    axes = []
    for row, title in enumerate(_ROWS):
        bottom = 1 - (row + 1) * height - row * _GAP
        axes.append({"domain": [max(bottom, 0), bottom + height], "rangemode": "tozero", "title": {"text": title}})
    below = {f"yaxis{row + 1}": axis for row, axis in enumerate(axes) if row}
    seconds = {"title": {"text": "time"}, "ticksuffix": " s", "anchor": f"y{len(_ROWS)}"}
    return figure(
        traces, "The database over time", seconds, axes[0], height=720, shapes=checkpoint_shapes(payload), **below
    )


def _series(scenario: dict[str, Any]) -> list[tuple[list[float], list[float | None]]]:
    """Times and values of each row."""
    time, database = scenario["time"], scenario["database"]
    widths = [end - start for start, end in zip(time["start_s"], time["end_s"], strict=True)]
    none = [0] * len(widths)
    completions = time["by_class"].get("transaction", {}).get("completions", none)
    return [
        (middles(time), [count / width for count, width in zip(completions, widths, strict=True)]),
        (middles(time), time["by_class"].get("commit", {}).get("mean_us", none)),
        (middles(database), database["dirty_pages"]),
        (middles(database), database["log_bytes_per_s"]),
    ]
