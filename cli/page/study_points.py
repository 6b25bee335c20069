"""Rows of sweeps, load curves and searches → points of a page: few digits, short keys, replications put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiersim.simulator.categories import STATISTICS

if TYPE_CHECKING:
    from tiersim.cli.page.study_models import FigureModel, LatencyModel, RowModel, SummaryModel

#: Stations of a point that a page shows: the busiest ones.
MOST_STATIONS = 12
#: Checkpoints of a point that a page shows.
MOST_CHECKPOINTS = 60
_OF_CHECKPOINTS = ("start_ns", "end_ns", "write_ns", "sync_ns", "pages", "bytes", "trigger", "dip_pct")
#: From the best to the worst.
_LOADS = ("steady", "behind", "saturated")

#: Value, low and high end of a figure; value is None where it is not resolved.
Triple = list[float | None]


def point_of(rows: Sequence[RowModel], places: Mapping[str, int], parts: Sequence[str]) -> dict[str, Any]:
    """Return what a page shows of one point; *rows* are its replications, *places* says where each query stands."""
    done = [row for row in rows if row.status == "done" and row.summary is not None]
    if not done:
        failed = next((row for row in rows if row.status == "failed"), rows[0])
        why = failed.error or (failed.screened.why if failed.screened else "")
        return {"status": failed.status, "error": why, "replications": len(rows)}
    points = [_point(row.summary, places, parts) for row in done if row.summary is not None]
    point = points[0] if len(points) == 1 else _together(points)
    return {"status": "done", "replications": len(points), "failed": len(rows) - len(done), **point}


def figure_of(figure: FigureModel | None) -> Triple:
    """Return a figure as ``[value, low, high]``."""
    if figure is None:
        return [None, None, None]
    return [digits(figure.value if figure.resolved else None), digits(figure.low), digits(figure.high)]


def digits(value: float | None) -> float | None:
    """Return the number with as many digits as anybody looks at."""
    return None if value is None else float(f"{value:.6g}")


def _point(summary: SummaryModel, places: Mapping[str, int], parts: Sequence[str]) -> dict[str, Any]:
    steady = summary.verdict.get("load") != "saturated"
    return {
        "name": summary.name,
        "verdict": summary.verdict,
        "in_doubt": summary.in_doubt,
        "explanation": summary.load.explanation,
        "not_run": summary.load_not_run.model_dump() if summary.load_not_run else None,
        "bottleneck": summary.bottleneck.model_dump() if summary.bottleneck else None,
        "throughput": {kind: figure_of(figure) for kind, figure in summary.throughput_per_s.items() if figure},
        "shortfall": digits(summary.throughput_shortfall_pct),
        "hit": digits(summary.hit_ratio.pool) if summary.hit_ratio else None,
        "latency": {name: _latency(figures, steady=steady) for name, figures in summary.latency_ns.items()},
        "queries": {
            str(places[name]): {
                **_latency(query, steady=steady),
                "reads": digits(query.physical_reads_per_call),
                "us": _us(query.breakdown_ns, parts) if steady else None,
            }
            for name, query in summary.queries.items()
            if name in places
        },
        "commits_us": _us(summary.commit_breakdown_ns, parts) if steady and summary.commit_breakdown_ns else None,
        "stations": _stations(summary),
        "checkpoints": [
            {key: one.get(key) for key in _OF_CHECKPOINTS} for one in (summary.checkpoints or [])[:MOST_CHECKPOINTS]
        ],
        "extrapolated": summary.extrapolated,
        "cost": summary.cost.model_dump() if summary.cost else None,
    }


def _latency(figures: LatencyModel, *, steady: bool) -> dict[str, Any]:
    """Return how many there were and, of a system that has a steady state, how long they took."""
    found = {key: figure_of(getattr(figures, key)) for key in STATISTICS if getattr(figures, key) is not None}
    return {"count": figures.count, "ns": found if steady else {}}


def _us(breakdown_ns: Mapping[str, float | None], parts: Sequence[str]) -> list[float | None]:
    return [digits((breakdown_ns.get(part) or 0.0) / 1e3) for part in parts]


def _stations(summary: SummaryModel) -> list[list[Any]]:
    """Return name, busiest resource, its utilisation and the mean queue of the busiest stations."""
    rows: list[tuple[float, list[Any]]] = []
    for name, station in summary.stations.items():
        known = {resource: share for resource, share in station.utilisation.items() if share is not None}
        if known:
            resource = max(known, key=lambda one: known[one])
            rows.append((known[resource], [name, resource, digits(known[resource]), digits(station.queue_mean)]))
    return [row for _, row in sorted(rows, key=lambda one: -one[0])][:MOST_STATIONS]


def _together(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return replications as one point: the mean of their figures, and an interval that holds all of theirs.

    The verdict is the worst of theirs, in doubt where one that has it is; what is neither a figure nor a verdict is the
    first one's.
    """
    first = max(points, key=lambda point: _LOADS.index(load) if (load := point["verdict"].get("load")) in _LOADS else 0)

    def triples(found: Sequence[Triple]) -> Triple:
        values, lows, highs = ([end for end in ends if end is not None] for ends in zip(*found, strict=True))
        value = digits(sum(values) / len(found)) if len(values) == len(found) else None
        return [value, min(lows, default=None), max(highs, default=None)]

    def latencies(key: str, name: str) -> dict[str, Any]:
        found = [point[key][name] for point in points if name in point[key]]
        ns = {
            statistic: triples([one["ns"][statistic] for one in found if statistic in one["ns"]])
            for statistic in first[key][name]["ns"]
        }
        more = {part: means([one[part] for one in found]) for part in ("us",) if part in found[0]}
        return {**first[key][name], **more, "ns": ns}

    def means(found: Sequence[list[float | None] | None]) -> list[float | None] | None:
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        return [digits(sum(part or 0.0 for part in column) / len(known)) for column in zip(*known, strict=True)]

    def mean(key: str) -> float | None:
        known = [point[key] for point in points if point[key] is not None]
        return digits(sum(known) / len(known)) if known else None

    return {
        **first,
        "in_doubt": any(
            one["in_doubt"] for one in points if one["verdict"].get("load") == first["verdict"].get("load")
        ),
        "throughput": {
            kind: triples([point["throughput"][kind] for point in points if kind in point["throughput"]])
            for kind in first["throughput"]
        },
        "shortfall": mean("shortfall"),
        "hit": mean("hit"),
        "latency": {name: latencies("latency", name) for name in first["latency"]},
        "queries": {name: latencies("queries", name) for name in first["queries"]},
        "commits_us": means([point["commits_us"] for point in points]),
    }
