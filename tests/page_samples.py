"""Synthetic results that look like real ones: the page is tested, and looked at, with these."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
import pyarrow as pa

from tiersim.scenarios.caveats import model_error_of
from tiersim.simulator.result import Result

_P = ParamSpec("_P")

SPAN_NS = 120_000_000_000
INTERVALS = 240
SECONDS = SPAN_NS / 1e9 / INTERVALS

#: Requests per second of each class; the checkpoint writes only between its first and last second.
RATES = {
    "data read": 620.0,
    "data write": 34.0,
    "log write": 150.0,
    "log flush": 150.0,
    "checkpoint write": 260.0,
    "flush": 2.0,
}
CHECKPOINT_S = (42.0, 71.0)

#: Recorded requests that went to the device together with another one.
JOINED = 339


@dataclass(frozen=True)
class Hardware:
    """What distinguishes one sample from the next."""

    name: str
    description: str
    kind: str
    stations: int
    resource: str
    typical_ms: dict[str, float]
    spread: float
    utilisation: float
    burst: float  # how much the checkpoint slows the others down
    load: str = "steady"


def _latency_ms(
    data_read: float, data_write: float, log_write: float, log_flush: float, checkpoint: float, flush: float
) -> dict[str, float]:
    return dict(zip(RATES, (data_read, data_write, log_write, log_flush, checkpoint, flush), strict=True))


DISKS = Hardware(
    "15k-raid10", "16 × 15K SAS drives, RAID 10", "hdd", 16, "actuator",
    _latency_ms(4.1, 3.2, 1.1, 1.9, 9.0, 6.5), 0.55, 0.31, 1.6,
)  # fmt: skip
SSDS = Hardware(
    "sas-ssd-x4", "4 × SAS SSD, RAID 10", "ssd", 4, "die",
    _latency_ms(0.19, 0.09, 0.07, 0.025, 0.35, 0.4), 0.42, 0.12, 0.5,
)  # fmt: skip
CARD = Hardware(
    "pcie-p3700", "One PCIe flash card, 800 GB", "nvme", 1, "channel",
    _latency_ms(0.088, 0.031, 0.024, 0.012, 0.11, 0.06), 0.3, 0.06, 0.25,
)  # fmt: skip
TOO_FEW_DISKS = Hardware(
    "7k2-raid1", "2 × 7.2K SATA drives, RAID 1", "hdd", 2, "actuator",
    _latency_ms(11.0, 14.0, 9.0, 12.0, 30.0, 22.0), 0.6, 0.97, 1.0, load="saturated",
)  # fmt: skip


def _arrivals(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Arrivals per interval; the same for every sample, because they all replay one trace."""
    middle_s = (np.arange(INTERVALS) + 0.5) * SECONDS
    tide = 1 + 0.25 * np.sin(middle_s / 19)
    in_checkpoint = (middle_s >= CHECKPOINT_S[0]) & (middle_s < CHECKPOINT_S[1])
    return {
        name: rng.poisson(rate * SECONDS * tide) * (in_checkpoint if name == "checkpoint write" else 1)
        for name, rate in RATES.items()
    }


def _bins(latency_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-linear histogram: 128 bins per power of two."""
    exponent = np.maximum(np.floor(np.log2(np.maximum(latency_ns, 1))).astype(np.int64), 7)
    width = np.left_shift(1, exponent - 7)
    low, count = np.unique(latency_ns // width * width, return_counts=True)
    exponent = np.maximum(np.floor(np.log2(np.maximum(low, 1))).astype(np.int64), 7)
    return low, low + np.left_shift(1, exponent - 7), count


def _figure(sorted_ns: np.ndarray, share: float, saturated: bool) -> dict[str, Any]:
    basis = "simulated, 80 % order-statistic interval"
    n = len(sorted_ns)
    half = 1.2816 * np.sqrt(n * share * (1 - share))
    low = float(sorted_ns[max(int(n * share - half), 0)])
    high = float(sorted_ns[min(int(n * share + half), n - 1)])
    value = float(sorted_ns[int(n * share)])
    if saturated:
        return {"value": None, "low": None, "high": None, "resolved": False, "basis": "saturated: no steady state"}
    if n * share + half > n:
        return {"value": None, "low": low, "high": None, "resolved": False, "basis": f"too few samples ({n})"}
    if high - low > 0.5 * value:
        return {"value": None, "low": low, "high": high, "resolved": False, "basis": basis}
    return {"value": value, "low": low, "high": high, "resolved": True, "basis": basis}


def _summary_of(latency_ns: np.ndarray, saturated: bool) -> dict[str, Any]:
    ordered = np.sort(latency_ns)
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    mean = _figure(ordered, 0.5, saturated) | ({} if saturated else {"value": float(ordered.mean())})
    if not saturated:
        error = 1.2816 * float(ordered.std()) / np.sqrt(len(ordered))
        mean |= {"low": mean["value"] - error, "high": mean["value"] + error}
    percentiles = {name: _figure(ordered, share, saturated) for name, share in shares.items()}
    return {"count": len(ordered), "mean": mean, **percentiles, "max": int(ordered[-1])}


def _series(
    hardware: Hardware, rng: np.random.Generator, arrivals: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], pa.Table]:
    """Latencies by class, and the timeline."""
    saturated = hardware.load == "saturated"
    during = arrivals["checkpoint write"] > 0
    backlog_ns = np.arange(INTERVALS) * SECONDS * 1e9 * 0.17 if saturated else np.zeros(INTERVALS)
    rows: dict[str, list[Any]] = {
        name: []
        for name in ("start_ns", "end_ns", "class", "arrivals", "completions", "bytes", "mean_ns", "p50_ns", "p99_ns")
    }
    samples: dict[str, np.ndarray] = {}
    step = SPAN_NS // INTERVALS
    for name, counts in arrivals.items():
        parts = []
        before = 0
        for i, count in enumerate(counts):
            slow = 1 + hardware.burst * bool(during[i])
            typical_ns = hardware.typical_ms[name] * 1e6 * slow
            part = rng.lognormal(np.log(typical_ns), hardware.spread, count).astype(np.int64) + int(backlog_ns[i])
            parts.append(part)
            values = [part.mean(), np.median(part), np.percentile(part, 99)] if count else [None] * 3
            under_way = int(rng.poisson(part.sum() / step)) if count else 0  # Little's law
            completions = int(count * 0.83) if saturated else max(int(count) + before - under_way, 0)
            before += int(count) - completions
            row = [i * step, (i + 1) * step, name, int(count), completions, int(count) * 8192, *values]
            for column, value in zip(rows.values(), row, strict=True):
                column.append(value)
        after = [SPAN_NS, SPAN_NS + step, name, 0, before, 0, None, None, None]  # open: takes all that is left
        for column, value in zip(rows.values(), after, strict=True):
            column.append(value)
        samples[name] = np.concatenate(parts)
    types = {"class": pa.string(), "mean_ns": pa.float64(), "p50_ns": pa.float64(), "p99_ns": pa.float64()}
    return samples, pa.table({k: pa.array(v, types.get(k, pa.int64())) for k, v in rows.items()})


def _stations(hardware: Hardware, rng: np.random.Generator, during: np.ndarray) -> tuple[dict[str, Any], pa.Table]:
    step = SPAN_NS // INTERVALS
    starts = np.arange(INTERVALS) * step
    base = hardware.utilisation * (1 + 0.55 * hardware.burst * during)
    described, parts = {}, []
    for i in range(hardware.stations):
        name = f"data.drive-{i}" if hardware.stations > 1 else "data"
        busy = np.clip(base * (1 + 0.12 * ((i * 7) % 5 - 2)) + rng.normal(0, 0.03, INTERVALS), 0, 1)
        growing = np.arange(INTERVALS) * 40 if hardware.load == "saturated" else 0
        outstanding = rng.poisson(busy / np.maximum(1.02 - busy, 0.02) * 0.8) + growing
        for resource, share in ((hardware.resource, 1.0), ("link", 0.12)):
            parts.append(
                pa.table(
                    {
                        "start_ns": starts,
                        "end_ns": starts + step,
                        "station": [name] * INTERVALS,
                        "resource": [resource] * INTERVALS,
                        "utilisation": busy * share,
                        "outstanding": outstanding.astype(np.int64),
                    }
                )
            )
        described[name] = {
            "kind": hardware.kind,
            "utilisation": {hardware.resource: float(busy.mean()), "link": float(busy.mean() * 0.12)},
            "queue_mean": float(outstanding.mean()),
            "requests": int(90_000 / hardware.stations),
            "time_ns": float(outstanding.mean()) * SPAN_NS * hardware.stations / 90_000,
        }
    return described, pa.concat_tables(parts)


def made_once(make: Callable[_P, Result]) -> Callable[_P, Result]:
    """Makes each result once; who is given it may change its summary."""
    made: dict[str, Result] = {}

    @wraps(make)
    def result(*given: _P.args, **named: _P.kwargs) -> Result:
        key = repr((given, named))
        if key not in made:
            made[key] = make(*given, **named)
        return replace(made[key], summary=deepcopy(made[key].summary))

    return result


@made_once
def sample(hardware: Hardware, *, measured: bool = True) -> Result:
    """One result on such hardware."""
    arrivals = _arrivals(np.random.default_rng(1))
    rng = np.random.default_rng(sum(hardware.name.encode()))
    saturated = hardware.load == "saturated"
    latencies, timeline = _series(hardware, rng, arrivals)
    stations, station_table = _stations(hardware, rng, arrivals["checkpoint write"] > 0)
    bins = [(name, *_bins(values)) for name, values in latencies.items()]
    histogram = pa.table(
        {
            "class": [name for name, low, _, _ in bins for _ in low],
            "low_ns": np.concatenate([low for _, low, _, _ in bins]),
            "high_ns": np.concatenate([high for _, _, high, _ in bins]),
            "count": np.concatenate([count for _, _, _, count in bins]),
        }
    )
    requests = int(sum(counts.sum() for counts in arrivals.values()))
    busiest = max(stations, key=lambda name: stations[name]["utilisation"][hardware.resource])
    utilisation = stations[busiest]["utilisation"][hardware.resource]
    steady_text = f"nothing waits longer at the end than at the start; {busiest} is {utilisation:.0%} busy"
    saturated_text = f"{busiest} cannot keep up from second 12 on: about 0.83 of this load could be sustained"
    summary = {
        "schema": "tiersim.result/1",
        "name": hardware.name,
        "description": hardware.description,
        "trace": {
            "name": "pgbench",
            "hash": "5d0c8ff2a9b14e7c",
            "requests": requests + JOINED,
            "span_ns": SPAN_NS,
            "source_format": "blktrace",
            "inferred": [
                "Log writes were recognised by their file, which only ever grows.",
                "Checkpoint writes were recognised by the process that issued them.",
            ],
            "warnings": ["37 completions had no request and were dropped."],
        },
        "verdict": {
            "load": hardware.load,
            "calibration": "none",
            "cache": "not modelled",
            "arrivals": "recorded",
            "locks": "not modelled",
        },
        "model_error": model_error_of({"calibration": "none"}),
        "load": {
            "explanation": saturated_text if saturated else steady_text,
            "station": busiest if saturated else None,
            "resource": hardware.resource if saturated else None,
            "since_ns": 12_000_000_000 if saturated else None,
            "sustainable_load": 0.83 if saturated else None,
        },
        "bottleneck": {"station": busiest, "resource": hardware.resource, "utilisation": utilisation},
        "commands": requests,
        "throughput_per_s": {
            "requests": {
                "value": requests / SPAN_NS * 1e9 * (0.83 if saturated else 1),
                "low": None,
                "high": None,
                "resolved": True,
                "basis": "simulated",
            }
        },
        "throughput_shortfall_pct": 17.0 if saturated else 0.0,
        "latency_ns": {name: _summary_of(values, saturated) for name, values in latencies.items()},
        "measured_latency_ns": (
            {
                name: {
                    "count": int(arrivals[name].sum()),
                    "mean": ms * 1.3e6,
                    "p50": ms * 1.1e6,
                    "p95": ms * 3e6,
                    "p99": ms * 4.6e6,
                    "p999": ms * 8e6,
                }
                for name, ms in DISKS.typical_ms.items()
            }
            if measured
            else {}
        ),
        "stations": stations,
        "conservation": {"requests_in": requests, "requests_out": requests, "little": True, "busy": True},
        "assumed": [
            {
                "what": f"data: {hardware.description}, command_overhead",
                "value": "0.2 ms",
                "source": "datasheet: product manual, rev. C",
            },
            {"what": f"data: {hardware.description}, queue_depth", "value": "32", "source": "assumed: 16..64"},
        ],
        "seed": 1,
        "tool_version": "0.1.0",
    }
    toml = (
        f'[volumes.data]\ndevice = "{hardware.kind}"\ncount = {hardware.stations}\nlayout = "raid10"\n\n[replay]\nmode'
        ' = "open"\nseed = 1\n'
    )
    return Result(summary, histogram, timeline, station_table, toml)


def checked(result: Result) -> Result:
    """The same result, of whose percentiles the error is known: they come first on its page."""
    result.summary["model_error"] = model_error_of({"calibration": "calibrated"})
    return result


def samples(hardware: Sequence[Hardware] = (DISKS, SSDS, CARD, TOO_FEW_DISKS)) -> list[Result]:
    """A steady array of disks, an array of SSDs, one card, and two disks that saturate."""
    return [sample(one) for one in hardware]
