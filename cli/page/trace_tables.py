"""The numbers of a trace's charts as tables: ``{caption, head, rows, overTime}`` with units in the head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiersim.cli.page.trace_figures import by_requests, cumulative, depth_labels, intervals, sized
from tiersim.units import format_bytes, format_ns

Table = dict[str, Any]
#: A column: its head, its key in the description, how it is written.
Columns = tuple[tuple[str, str, Callable[[Any], str]], ...]

#: Tables of groups below the charts, by their key in a description.
GROUP_TABLES = {"classes": "By class", "files": "By file", "streams": "By stream"}


def chart_tables(name: str, description: dict[str, Any]) -> list[Table]:
    """The tables of one chart."""
    return [_TABLES[name](description)]


def column_table(name: str, caption: str, columns: Columns, rows: list[dict[str, Any]]) -> Table:
    """A table as texts for the eye and as numbers for the copy."""
    return {
        "id": name,
        "caption": caption,
        "head": [head for head, _, _ in columns],
        "rows": [[written(row.get(key)) for _, key, written in columns] for row in rows],
        "copy": {
            "head": [key for _, key, _ in columns],
            "rows": [[row.get(key) for _, key, _ in columns] for row in rows],
        },
    }


def group_table(description: dict[str, Any], key: str) -> Table:
    """Classes, files or streams."""
    rows = [{**group, "name": _name(group), "requests": group["count"]} for group in description[key]]
    return column_table(key, GROUP_TABLES[key], _GROUP, rows)


def _count(value: int | None) -> str:
    return f"{value or 0:,}"


def _bytes(value: float | None) -> str:
    return format_bytes(value or 0)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _time(value: float | None) -> str:
    return "not known" if value is None else format_ns(value)


_GROUP: Columns = (
    ("Name", "name", str), ("Requests", "requests", _count), ("Bytes", "bytes", _bytes), ("Reads", "reads", _count),
    ("Writes", "writes", _count), ("Median size", "median_bytes", lambda size: format_bytes(size) if size else "–"),
    ("Sequential", "sequential", _share), ("by stream", "sequential_by_stream", _share), ("Random", "random", _share),
    ("Mean", "mean_ns", _time), ("p50", "p50_ns", _time), ("p99", "p99_ns", _time),
)  # fmt: skip


def _name(group: dict[str, Any]) -> str:
    if group["name"] is None:
        return "not recorded"
    members = group.get("members") or 1
    return f"{group['name']} ({members:,})" if members > 1 else str(group["name"])


def _digits(values: list[Any]) -> list[Any]:
    return [float(f"{value:.6g}") if isinstance(value, float) else value for value in values]


def _rates(description: dict[str, Any]) -> Table:
    starts, _, widths = intervals(description)
    classes = by_requests(description["timeline"]["by_class"])
    columns = [[count / width for count, width in zip(one["count"], widths, strict=True)] for _, one in classes]
    columns += [[size / width for size, width in zip(one["bytes"], widths, strict=True)] for _, one in classes]
    head = [*(f"{name} (requests/s)" for name, _ in classes), *(f"{name} (bytes/s)" for name, _ in classes)]
    return _over_time("Rates", starts, head, columns)


def _over_time(caption: str, starts: list[float], head: list[str], columns: list[list[Any]]) -> Table:
    rows = [_digits(list(row)) for row in zip(starts, *columns, strict=True)]
    return {"caption": caption, "head": ["From (s)", *head], "rows": rows, "overTime": True}


def _sizes(description: dict[str, Any]) -> Table:
    rows = [[group["name"], size, count] for group in description["classes"] for size, count in group.get("sizes", [])]
    return {
        "caption": "Most frequent lengths of each class",
        "head": ["Class", "Length (bytes)", "Requests"],
        "rows": rows,
    }


def _latency_cdf(description: dict[str, Any]) -> Table:
    rows = []
    for name, bins in description["latency"].items():
        _, high_us, share = cumulative(bins)
        rows += [[name, *_digits([us, 100 * one, row[2]])] for us, one, row in zip(high_us, share, bins, strict=True)]
    return {
        "caption": "Measured latency",
        "head": ["Class", "Latency up to (µs)", "Share done (%)", "Requests"],
        "rows": rows,
    }


def _latency_by_size(description: dict[str, Any]) -> Table:
    rows = [
        [operation, low, high, count, *_digits([mean / 1e3])]
        for operation, found in sized(description["latency_by_size"])
        for low, high, count, mean in found
    ]
    head = ["Operation", "From (bytes)", "To below (bytes)", "Requests", "Mean latency (µs)"]
    return {"caption": "Mean measured latency by length", "head": head, "rows": rows}


def _depth_over_time(description: dict[str, Any]) -> Table:
    starts, _, _ = intervals(description)
    return _over_time("Requests in flight", starts, ["Mean in flight"], [description["timeline"]["depth_mean"]])


def _depth(description: dict[str, Any]) -> Table:
    share = description["depth"]["share"]
    rows = [[label, *_digits([100 * one])] for label, (_, one) in zip(depth_labels(share), share, strict=True)]
    return {"caption": "Time by requests in flight", "head": ["In flight", "Share of time (%)"], "rows": rows}


def _burstiness(description: dict[str, Any]) -> Table:
    rows = [[window / 1e9, *_digits([one])] for window, one in description["burstiness"]["dispersion"]]
    return {"caption": "Index of dispersion", "head": ["Window (s)", "Variance ÷ mean"], "rows": rows}


def _working_set(description: dict[str, Any]) -> Table:
    curve = description["working_set"]["curve"]
    rows = [_digits([time / 1e9, size]) for time, size in zip(curve["time_ns"], curve["bytes"], strict=True)]
    return {"caption": "Distinct bytes touched", "head": ["Before (s)", "Touched (bytes)"], "rows": rows}


def _re_reference(description: dict[str, Any]) -> Table:
    found = description["re_reference"]
    rows = [
        [name, low, high, count]
        for name, key in (("reads", "reads_since_last_ns"), ("writes", "writes_since_last_ns"))
        for low, high, count in found.get(key) or []
    ]
    return {
        "caption": "Pages touched again",
        "head": ["Touched by", "After (ns)", "To below (ns)", "Pages"],
        "rows": rows,
    }


_TABLES: dict[str, Callable[[dict[str, Any]], Table]] = {
    "rates": _rates, "sizes": _sizes, "latency-cdf": _latency_cdf, "latency-by-size": _latency_by_size,
    "depth-over-time": _depth_over_time, "depth": _depth, "burstiness": _burstiness, "working-set": _working_set,
    "re-reference": _re_reference,
}  # fmt: skip
