"""Sweeps, miss-ratio curves, load curves and searches for hardware → every number that their part of a page draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.payload import PURPOSES
from tiersim.cli.page.series import checkpoint_payload, finite, intervals_to_merge, over_time, whole
from tiersim.cli.page.study_models import CandidateCostModel
from tiersim.cli.page.study_points import digits, figure_of, point_of
from tiersim.cli.queries import described

if TYPE_CHECKING:
    from tiersim.cli.page import Studies, WrittenSweep
    from tiersim.cli.page.study_models import (
        CandidateModel,
        CurvePointModel,
        LoadModel,
        MissRatiosModel,
        PackModel,
        QueryModel,
        RowModel,
        SizeModel,
    )
    from tiersim.simulator.result import Result

#: Latencies of queries that a page holds: points × queries, so that it stays small however many points there are.
MOST_OF_QUERIES = 6_000
#: However many points there are, so many queries are shown.
LEAST_QUERIES = 5
#: Classes of a kept result that are drawn over time, those that people wait for first, and how many.
DRAWN_FIRST, MOST_CLASSES = ("transaction", "commit", "log sync", "log write", "data read"), 4


def study_payload(studies: Studies) -> dict[str, Any]:
    """Everything that the part of the page knows, ready for JSON; the same for the same files."""
    from tiersim.simulator.database.database_state import SPENT

    rows = list(_rows(studies))
    queries = _queries(rows)
    places = {query["id"]: place for place, query in enumerate(queries)}
    classes = {name for row in rows if row.summary for name in row.summary.latency_ns}
    payload: dict[str, Any] = finite(
        {
            "classes": sorted(classes, key=lambda name: (_place(name), name)),
            "queries": queries,
            "parts": list(SPENT),
            "sweeps": [_sweep(folder, places, SPENT) for folder in studies.sweeps],
            "mrcs": [_curves(name, document) for name, document in studies.mrcs],
            "loads": [_load(name, document, places, SPENT) for name, document in studies.loads],
            "sizes": [_size(name, document, places, SPENT) for name, document in studies.sizes],
            "packs": [_pack(name, document) for name, document in studies.packs],
        }
    )
    return payload


def _place(purpose: str) -> int:
    return PURPOSES.index(purpose) if purpose in PURPOSES else len(PURPOSES)


def _rows(studies: Studies) -> Iterator[RowModel]:
    for folder in studies.sweeps:
        yield from folder.rows
    for _, load in studies.loads:
        yield from load.points
    for _, size in studies.sizes:
        yield from (candidate.row for candidate in size.candidates if candidate.row)


def _queries(rows: Sequence[RowModel]) -> list[dict[str, Any]]:
    """Return the queries that take most time over all points, each with its text once."""
    time_ns: dict[str, float] = {}
    seen: dict[str, QueryModel] = {}
    for row in rows:
        for name, query in (row.summary.queries if row.summary else {}).items():
            time_ns[name] = time_ns.get(name, 0.0) + query.count * sum(ns or 0.0 for ns in query.breakdown_ns.values())
            if name not in seen or (seen[name].text is None and query.text is not None):
                seen[name] = query
    most = max(LEAST_QUERIES, MOST_OF_QUERIES // max(len(rows), 1))
    order = sorted(seen, key=lambda name: (-time_ns[name], name))[:most]
    return [described(name, seen[name].text) for name in order]


def _sweep(folder: WrittenSweep, places: Mapping[str, int], parts: Sequence[str]) -> dict[str, Any]:
    sweep = folder.sweep
    replications: dict[tuple[int, ...], list[RowModel]] = {}
    for row in folder.rows:
        at = tuple(axis.values.index(row.settings[axis.key]) for axis in sweep.axes)
        replications.setdefault(at, []).append(row)
    settings_of = {row.point: at for at, rows in replications.items() for row in rows}
    merged = intervals_to_merge(list(folder.kept.values()))
    points = []
    for at, rows in sorted(replications.items()):
        point: dict[str, Any] = {"at": list(at), "number": rows[0].point, **point_of(rows, places, parts)}
        by_point = rows[0].screened.by_point if rows[0].screened and point["status"] == "screened" else None
        point["stands_for_it"] = list(settings_of[by_point]) if by_point in settings_of else None
        if rows[0].point in folder.kept:
            point["time"] = _over_time(folder.kept[rows[0].point], merged)
        points.append(point)
    return {
        "name": folder.name,
        "scenario": sweep.scenario,
        "trace": sweep.trace.model_dump(),
        "replications": sweep.replications,
        "axes": [axis.model_dump() for axis in sweep.axes],
        "points": points,
    }


def _over_time(result: Result, merged: int) -> dict[str, Any]:
    """Return latencies over time and the checkpoints of a whole result."""
    summary = result.summary
    saturated = summary["verdict"]["load"] == "saturated"
    time = over_time(result, merged, with_percentiles=not saturated, as_backlog=False)
    others = sorted(time["by_class"], key=lambda name: (_place(name), name))
    classes = dict.fromkeys(name for name in (*DRAWN_FIRST, *others) if name in time["by_class"])
    shown = [name for name in classes if not name.startswith("query ")][:MOST_CLASSES]
    checkpoints = checkpoint_payload(summary, result.timeline) or {}
    return {
        "start_s": time["start_s"],
        "end_s": time["end_s"],
        "by_class": {
            name: {key: time["by_class"][name].get(key) for key in ("mean_us", "p99_us")} for name in shown
        },
        "dirty_pages": _dirty_pages(result, merged),
        "spans_s": checkpoints.get("spans_s", []),
        "syncing_s": checkpoints.get("syncing_s", []),
    }  # fmt: skip


def _dirty_pages(result: Result, merged: int) -> dict[str, list[float]] | None:
    if result.database is None:
        return None
    table = result.database
    return {
        "s": [round(ns / 1e9, 3) for ns in table["end_ns"].to_pylist()[merged - 1 :: merged]],
        "pages": [*map(float, whole(table["dirty_pages"].to_numpy()[merged - 1 :: merged]))],
    }


def _curves(name: str, document: MissRatiosModel) -> dict[str, Any]:
    whole_curve = {
        "kind": "all",
        "name": "all references",
        "references": document.references,
        **_curve(document.points),
    }
    parts = [
        {
            "kind": curve.kind,
            "name": described(curve.name, curve.text)["label"],
            "references": curve.references,
            **_curve(curve.points),
        }
        for curve in document.curves
        if any(point.miss_ratio is not None for point in curve.points)
    ]
    return {
        "name": name,
        "trace": document.trace.model_dump(),
        "policy": document.policy,
        "method": document.method,
        "page_bytes": document.page_bytes,
        "references": document.references,
        "distinct_pages": document.distinct_pages,
        "compulsory": digits(document.compulsory_miss_ratio),
        "curves": [whole_curve, *parts],
        "knees": [knee.model_dump() for knee in document.knees],
        "recorded": document.recorded.model_dump(),
        "behind": document.is_behind,
        "notes": document.notes,
    }


def _curve(points: Sequence[CurvePointModel]) -> dict[str, list[float | None]]:
    known = (point for point in points if point.miss_ratio is not None)
    ordered = sorted(known, key=lambda point: point.cache_bytes)
    return {
        "bytes": [point.cache_bytes for point in ordered],
        "miss": [digits(point.miss_ratio) for point in ordered],
        "error": [digits(point.error) for point in ordered],
    }


def _load(name: str, document: LoadModel, places: Mapping[str, int], parts: Sequence[str]) -> dict[str, Any]:
    from tiersim.scenarios.sizing.load_limit import SPENT

    largest = document.largest_sustainable
    by_load: dict[float, list[RowModel]] = {}
    for row in document.points:
        by_load.setdefault(_load_of(row), []).append(row)
    return {
        "name": name,
        "scenario": document.scenario,
        "trace": document.trace.model_dump(),
        "loads": sorted(by_load),
        "points": [point_of(rows, places, parts) for _, rows in sorted(by_load.items())],
        "knee": document.knee.model_dump() if document.knee else None,
        "largest": figure_of(largest) if largest else None,
        "largest_basis": largest.basis if largest else None,
        "spent": SPENT if largest and largest.basis.endswith(SPENT) else None,
        "limited_by": document.limited_by,
    }


def _load_of(row: RowModel) -> float:
    """Return the multiple of the recorded load that was run; the recorded one where the row does not say."""
    if row.summary is not None and row.summary.load_reached is not None:
        return row.summary.load_reached
    try:
        return float(row.settings.get("replay.load", 1.0))
    except ValueError:
        return 1.0


def _size(name: str, document: SizeModel, places: Mapping[str, int], parts: Sequence[str]) -> dict[str, Any]:
    candidates = [_candidate(candidate, places, parts) for candidate in document.candidates]
    price = next((one["cost"]["price"] for one in candidates if one["name"] == document.chosen), None)
    met = [one["cost"]["price"] for one in candidates if one["status"] == "meets"]
    return {
        "name": name,
        "trace": document.trace.model_dump(),
        "targets": [target.text for target in document.targets],
        "chosen": document.chosen,
        "cheapest": price is None or all(other is None or other >= price for other in met),  # else of the best value
        "simulated": document.simulated,
        "pareto_of": document.pareto_of,
        "candidates": candidates,
    }


def _pack(name: str, document: PackModel) -> dict[str, Any]:
    said = document.model_dump(
        include={"growth", "failed_drive", "currency", "cost", "years", "arrays", "refused", "assumed"}
    )
    return {"name": name, **said, "homeless": [one.model_dump() for one in document.does_not_fit]}


def _candidate(candidate: CandidateModel, places: Mapping[str, int], parts: Sequence[str]) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "settings": candidate.settings,
        "cost": _bill(candidate.cost),
        "power_w": digits(candidate.power_w),
        "endurance_years": figure_of(candidate.endurance_years) if candidate.endurance_years else None,
        "capacity_bytes": candidate.capacity_bytes,
        "survives": candidate.survives_drive_failure,
        "status": candidate.status,
        "why": [*candidate.why, *candidate.doubts],
        "in_doubt": bool(candidate.doubts),
        "point": point_of([candidate.row], places, parts) if candidate.row else None,
    }


def _bill(cost: CandidateCostModel | None) -> dict[str, Any]:
    """Return what a candidate costs; ``price`` is what it is judged by: all that is paid over its years of use, or
    once where the document has no sum; None if a part of it has no price.
    """
    found: dict[str, Any] = (cost or CandidateCostModel()).model_dump()
    is_known = all(part["each"] is not None for part in found["parts"])
    return {**found, "price": found["capex"] if found["total"] is None and is_known else found["total"]}


def spoken(payload: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Names and sentences for readers whose browser runs no scripts."""
    for sweep in payload["sweeps"]:
        done = sum(point["status"] == "done" for point in sweep["points"])
        yield sweep["name"], f"a sweep of {len(sweep['points'])} points, {done} of them simulated."
    for mrc in payload["mrcs"]:
        yield mrc["name"], f"miss ratios of {mrc['policy']} at {len(mrc['curves'][0]['bytes'])} sizes of the cache."
    for load in payload["loads"]:
        largest = (load["largest"] or [None])[0]
        said = load["largest_basis"] or "no load is too much for clients that wait"
        if largest is not None:
            spent = f" ({load['spent']})" if load["spent"] else ""
            said = f"the largest sustainable one is {largest:g} times the recorded{spent}"
        yield load["name"], f"{len(load['points'])} loads; {said}."
    for size in payload["sizes"]:
        chosen = size["chosen"]
        doubt = any(one["in_doubt"] for one in size["candidates"] if one["name"] == chosen)
        best = "is the cheapest that meets"
        if not size["cheapest"]:
            best = "has most throughput for its cost of those that meet"
        met = "none meets the targets" if chosen is None else f"{chosen} {best} the targets"
        met += ", in doubt" if doubt else ""
        yield size["name"], f"{len(size['candidates'])} candidates; {met}."
    for pack in payload["packs"]:
        for one in pack["arrays"]:
            yield pack["name"], f"{', '.join(one['tenants'])} on {one['candidate']}."
        for one in pack["homeless"]:
            yield pack["name"], f"{one['tenant']} does not fit on any candidate."
