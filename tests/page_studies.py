"""Made-up sweeps, miss-ratio curves, load curves and searches, as the commands write them."""

import copy
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.page_samples import CARD, DISKS, SSDS, Hardware
from tests.page_statements import MIB, statement_sample
from tiersim.simulator.result import Result, save_result
from tiersim.units import format_bytes

GIB = 1 << 30
DEVICES = {"seagate-cheetah-15k7-300": DISKS, "micron-s650dc-800": SSDS, "intel-p3700-800": CARD}
POOLS = tuple(size * MIB for size in (64, 256, 1024, 4096))
LOADS = (0.5, 1.0, 2.0, 4.0)
TRACE = {"name": "shop", "hash": "77ab0123456789abcdef"}
#: A row holds these keys of a result's summary.
_KEPT = (
    "name",
    "level",
    "verdict",
    "load",
    "bottleneck",
    "throughput_per_s",
    "throughput_shortfall_pct",
    "hit_ratio",
    "latency_ns",
    "commit_breakdown_ns",
    "queries",
    "checkpoints",
    "checkpoint_impact",
    "log",
    "stations",
    "extrapolated",
)
_LATENCY_KEYS = ("mean", "p50", "p95", "p99", "p999")


def size_text(size_bytes: int) -> str:
    return format_bytes(size_bytes).replace(" ", "")


@cache
def _sample(hardware: str, pool: int) -> Result:
    return statement_sample(next(one for one in (DISKS, SSDS, CARD) if one.name == hardware), pool)


def summary_of(hardware: Hardware, pool: int, texts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a row says of the recorded load, to be changed at will; *texts* are those of more queries."""
    summary = _sample(hardware.name, pool).summary
    queries = summary["queries"] | {
        name: {**summary["queries"]["902"], "text": text} for name, text in (texts or {}).items()
    }
    return copy.deepcopy({key: summary[key] for key in _KEPT if key in summary} | {"queries": queries})


def scaled(summary: dict[str, Any], load: float, slow: bool) -> dict[str, Any]:
    """The same at another load: latencies grow with it, and what is slow is saturated at four
    times the recorded one.
    """
    found = copy.deepcopy(summary)
    factor = 1 + 0.2 * load**2
    for figures in (*found["latency_ns"].values(), *found["queries"].values()):
        for key in _LATENCY_KEYS:
            for end in ("value", "low", "high"):
                if figures[key][end] is not None:
                    figures[key][end] *= factor
    for rate in found["throughput_per_s"].values():
        for end in ("value", "low", "high"):
            if rate and rate[end] is not None:
                rate[end] *= load
    if slow and load >= 4:
        found["verdict"]["load"] = "saturated"
    return found


def row(point: int, settings: Mapping[str, str], summary: dict[str, Any], replication: int = 0) -> dict[str, Any]:
    return {
        "point": point,
        "replication": replication,
        "settings": dict(settings),
        "status": "done",
        "error": None,
        "summary": summary,
    }


def axis(key: str, values: Sequence[str], numbers: Sequence[float] | None, unit: str | None) -> dict[str, Any]:
    return {"key": key, "values": list(values), "numbers": None if numbers is None else list(numbers), "unit": unit}


def write_sweep(
    folder: Path,
    *,
    name: str = "shop",
    pools: Sequence[int] = POOLS,
    loads: Sequence[float] = LOADS,
    devices: Mapping[str, Hardware] = DEVICES,
    texts: Mapping[str, str] | None = None,
    keep: bool = False,
) -> Path:
    """Write a sweep over buffer pool, device and load; its last point failed, the one before it was screened."""
    target = folder / f"{name}.sweep"
    for part in ("points", "results"):
        (target / part).mkdir(parents=True)
    axes = [
        axis("engine.buffer_pool", [size_text(pool) for pool in pools], pools, "bytes"),
        axis("volumes.data.device", list(devices), None, None),
        axis("replay.load", [f"{load:g}" for load in loads], loads, "count"),
    ]
    rows: list[dict[str, Any]] = []
    for pool in pools:
        for device, hardware in devices.items():
            summary = summary_of(hardware, pool, texts)
            for load in loads:
                settings = {
                    "engine.buffer_pool": size_text(pool),
                    "volumes.data.device": device,
                    "replay.load": f"{load:g}",
                }
                if keep:
                    save_result(_sample(hardware.name, pool), target / "results" / f"{len(rows):06d}.result", {})
                rows.append(row(len(rows), settings, scaled(summary, load, hardware is DISKS)))
    rows[-1] |= {"status": "failed", "error": "volumes.data: 1.2 TB of the trace do not fit", "summary": {}}
    rows[-2] |= {
        "status": "screened",
        "summary": {},
        "screened": {"by_point": rows[-3]["point"], "why": "no more misses than there."},
    }
    for one in rows:
        (target / "points" / f"{one['point']:06d}.json").write_text(json.dumps(one))
    document = {
        "schema": "tiersim.sweep/1",
        "trace": TRACE,
        "scenario": "shop-now",
        "axes": axes,
        "replications": 1,
        "points": len(rows),
        "tool": "0.1.0",
    }
    (target / "sweep.json").write_text(json.dumps(document))
    return target


def miss_ratio_document(policy: str = "lru", *, error: float | None = 0.004) -> dict[str, Any]:
    sizes = [int(32 * MIB * 2 ** (step / 2)) for step in range(19)]

    def curve(scale: float) -> list[dict[str, Any]]:
        return [
            {
                "cache_bytes": size,
                "miss_ratio": min(0.04 + scale * (64 * MIB / size) ** 0.5 * 0.41, 1.0),
                "error": None if error is None else error * 4,
            }
            for size in sizes
        ]

    return {
        "schema": "tiersim.mrc/1",
        "trace": TRACE,
        "policy": policy,
        "method": "shards" if error else "exact",
        "page_bytes": 8192,
        "references": 2_000_000,
        "distinct_pages": 1_200_000,
        "compulsory_miss_ratio": 0.04,
        "points": curve(1.0 if policy == "lru" else 0.7),
        "curves": [
            {"kind": "relation", "name": "orders", "references": 900_000, "points": curve(1.5)},
            {"kind": "query", "name": "SELECT <b>bold</b>", "references": 500_000, "points": curve(0.3)},
            {"kind": "operation", "name": "writes", "references": 400_000, "points": curve(2.0)},
        ],
        "knees": [{"cache_bytes": sizes[8], "miss_ratio": curve(1.0)[8]["miss_ratio"]}],
        "recorded": {"cache_bytes": 1 * GIB, "beyond": "larger than recorded: hits of that cache were never seen"},
    }


def load_document(hardware: Hardware = SSDS, loads: Sequence[float] = (0.25, 0.5, 1, 1.5, 2, 3, 4)) -> dict[str, Any]:
    base = summary_of(hardware, 256 * MIB)
    points = []
    for place, load in enumerate(loads):
        summary = scaled(base, load, slow=False)
        if load >= 4:
            summary["verdict"]["load"] = "saturated"
        points.append(row(place, {"replay.load": f"{load:g}"}, summary))
    return {
        "schema": "tiersim.load/1",
        "trace": TRACE,
        "scenario": "shop-on-ssds",
        "points": points,
        "knee": {"load": 2.0, "basis": "p99 doubles"},
        "largest_sustainable": {"value": 3.2, "low": 3.0, "high": 3.5, "resolved": True, "basis": "bisection"},
        "limited_by": "data.drive-1",
    }


def size_document(count: int = 24) -> dict[str, Any]:
    candidates: list[dict[str, Any]] = []
    rows = {device: summary_of(hardware, 256 * MIB) for device, hardware in DEVICES.items()}
    prices = {"seagate-cheetah-15k7-300": 180.0, "micron-s650dc-800": 650.0, "intel-p3700-800": 1400.0}
    for place in range(count):
        device = list(DEVICES)[place % 3]
        drives = 2 + place // 3
        summary = scaled(rows[device], 4 / drives, slow=False)
        price = prices[device] * drives + 900
        p99 = summary["latency_ns"]["transaction"]["p99"]["value"]
        meets = p99 < 9e6
        simulated = place % 5 != 4
        why = [] if meets else [f"p99(transaction) is {p99 / 1e6:.1f} ms, the target is 9 ms"]
        candidates.append(
            {
                "name": f"{drives} × {device}",
                "settings": {"volumes.data.device": device, "volumes.data.count": str(drives)},
                "cost": {
                    "capex": price,
                    "monthly": price / 60,
                    "currency": "USD",
                    "price_date": "2016-03",
                    "parts": [
                        {
                            "what": device,
                            "count": drives,
                            "each": prices[device],
                            "per": "once",
                            "source": "list price",
                        },
                        {"what": "energy, kWh", "count": 90.4, "each": 0.125, "per": "month", "source": "[power]"},
                    ],
                },
                "power_w": 9.0 * drives,
                "capacity_bytes": drives * 400 * GIB,
                "survives_drive_failure": drives % 2 == 0,
                "endurance_years": {
                    "value": 3.0 * drives,
                    "low": 2.5 * drives,
                    "high": 4.0 * drives,
                    "resolved": True,
                    "basis": "x",
                },
                "status": ("meets" if meets else "fails") if simulated else "not simulated",
                "why": why if simulated else ["a cheaper one of the same drives meets the targets"],
                "row": row(place, {}, summary) if simulated else None,
            }
        )
    met = [one for one in candidates if one["status"] == "meets"]
    best = min(met, key=lambda one: one["cost"]["capex"])
    best["status"] = "chosen"
    tried = [one for one in candidates if one["row"]]
    latency = {one["name"]: one["row"]["summary"]["latency_ns"]["transaction"]["p99"]["value"] for one in tried}
    front = [
        one["name"]
        for one in tried
        if not any(
            other["cost"]["capex"] < one["cost"]["capex"] and latency[other["name"]] <= latency[one["name"]]
            for other in tried
        )
    ]
    return {
        "schema": "tiersim.size/1",
        "trace": TRACE,
        "targets": [{"text": "p99(transaction) < 9ms", "kind": "latency", "limit": 9e6}],
        "candidates": candidates,
        "chosen": best["name"],
        "simulated": len(tried),
        "pareto": front,
    }


def pack_document(**more: Any) -> dict[str, Any]:
    """Five databases on two arrays; three that cannot share one."""
    target = {"text": "p99(data read) < 12 ms", "used": 0.83}
    one = {
        "candidate": "4 × seagate-cheetah-15k7-300, raid10",
        "cost": 480.0,
        "tenants": ["shop", "bill", "crm"],
        "busiest": 0.87,
        "filled": {
            "busiest part": {"shop": 0.5, "bill": 0.25, "crm": 0.12},
            "room": {"shop": 0.1, "bill": 0.2, "crm": 0.05},
        },
        "doubts": [{"tenants": ["shop", "bill"], "why": "without a calibration, the error of p99 is unknown"}],
        "targets": {"shop": [target, {"text": "p99(log write) < 5 ms", "used": 0.1}], "bill": [target], "crm": []},
    }
    two = {
        "candidate": "2 × micron-s650dc-800, raid1",
        "cost": 1800.0,
        "tenants": ["mail", "wiki"],
        "busiest": 0.3,
        "filled": {"busiest part": {"mail": 0.2, "wiki": 0.1}, "memory": {"mail": 0.5, "wiki": 0.5}},
        "targets": {"mail": [target], "wiki": [{"text": "throughput >= 1x", "used": 0.0}]},
    }
    refused = {"candidate": one["candidate"], "tenants": ["mail", "shop"], "why": "shop: p99(data read) is 14 ms"}
    document = {
        "schema": "tiersim.pack/1",
        "fits": True,
        "growth": 0.3,
        "failed_drive": True,
        "currency": "USD",
        "cost": 2280.0,
        "arrays": [one, two],
        "does_not_fit": [],
        "refused": [refused],
        "assumed": "one more tenant on an array makes nobody faster",
    }
    return document | more


def write_document(folder: Path, name: str, document: dict[str, Any]) -> Path:
    """Write a document under the name that its command gives it."""
    kind = document["schema"].split(".")[1].split("/")[0]
    target = folder / f"{name}.{kind}.json"
    target.write_text(json.dumps(document))
    return target


def write_all(folder: Path, **how: Any) -> list[Path]:
    """One of each."""
    return [
        write_sweep(folder, **how),
        write_document(folder, "shop", miss_ratio_document()),
        write_document(folder, "shop", load_document()),
        write_document(folder, "shop", size_document()),
        write_document(folder, "databases", pack_document()),
    ]
