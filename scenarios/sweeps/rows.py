"""A row: one simulated point in few words, as a sweep, a load curve and a search for hardware keep it
(``docs/sweeps.md``).
"""

from collections.abc import Mapping
from typing import Any, Literal

from tiersim.scenarios.caveats import in_doubt
from tiersim.scenarios.load_steps import as_called
from tiersim.simulator.result import Result

#: What a row says of a result, where the result says it; the keys and shapes are those of ``docs/result.md``.
SUMMARY_KEYS = (
    "name",
    "seed",
    "level",
    "verdict",
    "load",
    "credits",
    "bottleneck",
    "throughput_per_s",
    "throughput_shortfall_pct",
    "hit_ratio",
    "latency_ns",
    "relative_latency_ns",
    "commit_breakdown_ns",
    "queries",
    "checkpoints",
    "checkpoint_impact",
    "log",
    "stations",
    "streams",
    "extrapolated",
    "cost",
    "caveats",
    "load_not_run",
)
#: What of each query is left out besides: how its executions came about is the same in all points.
_NOT_OF_QUERIES = ("executions", "cpu")
#: What of each station is left out: the number of its requests is in the bundle.
_NOT_OF_STATIONS = ("kind", "requests")

Row = dict[str, Any]


def row_of(result: Result, *, point: int = 0, replication: int = 0, settings: Mapping[str, str] | None = None) -> Row:
    """Return the row of a point that was simulated; *settings* are those of the point, by key, as text."""
    summary = {key: result.summary[key] for key in SUMMARY_KEYS if key in result.summary}
    for table, left_out in (("queries", _NOT_OF_QUERIES), ("stations", _NOT_OF_STATIONS)):
        if table in summary:
            summary[table] = {name: _without(found, left_out) for name, found in summary[table].items()}
    if "load_reached" in (replay := result.summary.get("replay", {})):
        summary["load_reached"] = as_called(replay["load"], replay["load_reached"])
    summary["in_doubt"] = in_doubt(result.summary)
    return _row(point, replication, settings, "done", None, summary)


def failed_row(error: str, *, point: int = 0, replication: int = 0, settings: Mapping[str, str] | None = None) -> Row:
    """Return the row of a point that cannot be simulated, with the sentence that says why."""
    return _row(point, replication, settings, "failed", error, {})


def screened_row(
    stands_for_it: int,
    why: str,
    whole: str = "",
    *,
    point: int = 0,
    replication: int = 0,
    settings: Mapping[str, str] | None = None,
) -> Row:
    """Return the row of a point that was not simulated because the point *stands_for_it* gives the same, with the
    sentence that says why; *whole* is what loads have whole numbers of, where it is that.
    """
    row = _row(point, replication, settings, "screened", None, {})
    return {**row, "screened": {"by_point": stands_for_it, "why": why} | ({"load_in_whole": whole} if whole else {})}


def _row(
    point: int,
    replication: int,
    settings: Mapping[str, str] | None,
    status: Literal["done", "failed", "screened"],
    error: str | None,
    summary: dict[str, Any],
) -> Row:
    return {
        "point": point,
        "replication": replication,
        "settings": dict(settings or {}),
        "status": status,
        "error": error,
        "summary": summary,
    }


def _without(found: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in keys}
