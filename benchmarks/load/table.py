"""The table of docs/performance.md, from what was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.load.growth import exponent

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
_BEGIN, _END = "<!-- load: begin -->\n", "\n<!-- load: end -->"
_HEAD = ("what", "step", "size", "CPU", "clock", "peak memory", "growth of CPU", "of memory")


def table_of(results: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table: a row for each size, the growth in the last of each step."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|---|---|{'---:|' * (len(_HEAD) - 2)}"]
    for case in results["cases"].values():
        for step, runs in case["steps"].items():
            lines += _rows(case["unit"], step, runs, case["start"])
    return lines


def table_on_page() -> list[str]:
    """Return the lines of the table that the page has."""
    return PAGE.read_text(encoding="utf-8").partition(_BEGIN)[2].partition(_END)[0].splitlines()


def write_on_page(results: Mapping[str, Any]) -> None:
    """Put the table into the page, in place of the one that is there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    behind = rest.partition(_END)[2]
    PAGE.write_text(before + _BEGIN + "\n".join(table_of(results)) + _END + behind, encoding="utf-8")


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
    return "–" if found is None else f"{found:.2f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s"
