"""The table of docs/performance.md, from what was measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.load.growth import exponent

_HEAD = ("what", "step", "size", "CPU", "clock", "peak memory", "growth of CPU", "of memory")


def table_of(results: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table: a row for each size, the growth in the last of each step."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|---|---|{'---:|' * (len(_HEAD) - 2)}"]
    for case in results["cases"].values():
        for step, runs in case["steps"].items():
            lines += _rows(case["unit"], step, runs, case["start"])
    return lines


def _rows(unit: str, step: str, runs: Sequence[Mapping[str, Any]], start: int) -> list[str]:
    first = next((run for run in runs if run["size"] == start), None)
    larger = [run for run in runs if run["size"] != start]
    lines = []
    for run in larger:
        growth = ["", ""]
        if run is larger[-1] and first is not None:
            growth = [_growth(larger, key, float(first[key])) for key in ("cpu_s", "peak_bytes")]
        memory = f"{run['peak_bytes'] / 2**20:,.0f} MiB"
        cells = (unit, step, f"{run['size']:,}", _seconds(run["cpu_s"]), _seconds(run["wall_s"]), memory, *growth)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _growth(runs: Sequence[Mapping[str, Any]], key: str, start: float) -> str:
    found = exponent([run["size"] for run in runs], [float(run[key]) for run in runs], start)
    return "constant" if found is None else f"{found:.2f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s"
