"""What tiersim says of servers that share a device, from a recording of each alone: a file, before any are measured
together.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.commands import run
from benchmarks.errors import BenchError
from benchmarks.real_tenants.plan import Plan
from tiersim.cli.tenants import replay_tenants
from tiersim.scenarios.library import load_scenario
from tiersim.simulator.result import Result

PREDICTION = "prediction.json"
_DEVICE = """\
kind = "token-bucket"
name = "a device with one allowance"
capacity = "{capacity} B"
iops = {iops}
refill_interval = "{slice_ns} ns"
carry_over = "0 s"
latency = "{latency_ns} ns"

[sources]
capacity = "document: the plan"
iops = "document: the plan"
refill_interval = "document: the plan"
carry_over = "document: the plan"
latency = "measured: the median of the reads of the first server, recorded alone, behind the allowance"
"""
_SHARED = """\
description = "one device with one allowance, a core for each server with its clients"

[host]
cores = 1

[engine]

[volumes.data]
device = "device.toml"
"""
#: The clients are known: so many, and none of them thinks.
_TENANT = """\
[tenants.{name}]
recording = "{name}.trace"
recorded_on = "shared.toml"
replay = {{ mode = "closed", clients = {clients}, think = "0 s", since_checkpoint = "{since_ns} ns" }}

"""


def predict(plan: Plan, out: Path) -> None:
    """Write into *out* what is predicted, and from what; raises TiersimError."""
    if (out / PREDICTION).exists():
        raise BenchError(f"{out / PREDICTION} is there; a prediction is made once: take another folder")
    folder = out / "prediction"
    folder.mkdir(exist_ok=True)
    recorded = {name: alone(out, name) for name in plan.tenants}
    latency_ms = next(iter(recorded.values()))["requests"]["read"]["after_grant_ms"]
    device = _DEVICE.format(
        capacity=plan.capacity, iops=plan.iops, slice_ns=plan.slice, latency_ns=round(latency_ms * 1e6)
    )
    (folder / "device.toml").write_text(device)
    (folder / "shared.toml").write_text(_SHARED)
    text = ""
    for name in plan.tenants:
        shutil.copytree(out / f"alone-{name}" / f"{name}.trace", folder / f"{name}.trace", dirs_exist_ok=True)
        text += _TENANT.format(name=name, clients=plan.load.clients, since_ns=plan.load.settle)
    (folder / "tenants.toml").write_text(text)
    shared = load_scenario(str(folder / "shared.toml"))
    results = replay_tenants(folder / "tenants.toml", [shared], folder / "results", force=True)
    source = str(Path(__file__).parent)
    document = {
        "commit": run(["git", "-C", source, "rev-parse", "HEAD"]).strip(),
        "changed": bool(run(["git", "-C", source, "status", "--porcelain", "--untracked-files=no"]).strip()),
        "tenants": {name: _predicted(plan, *results[name]) for name in plan.tenants},
    }
    (out / PREDICTION).write_text(json.dumps(document, indent=1) + "\n")


def alone(out: Path, name: str) -> Mapping[str, Any]:
    """Return what a server did alone; raises BenchError."""
    path = out / f"alone-{name}" / "result.json"
    if not path.exists():
        raise BenchError(f"{path} is not there; record first")
    found: Mapping[str, Any] = json.loads(path.read_text())["tenants"][name]
    return found


def _predicted(plan: Plan, by_itself: Result, together: Result) -> dict[str, Any]:
    rates = together.summary["shared"]["transactions_per_s"]
    return {
        "alone": {"transactions_per_s": rates["alone"], "requests": _requests(by_itself)},
        "together": {
            "transactions_per_s": rates["together"],
            "mean_ms": rates["together"] and 1e3 * plan.load.clients / rates["together"],  # Little: they do not think
            "requests": _requests(together),
            "expected_per_s": (together.summary.get("range") or {}).get("transactions_per_s"),
            "per_s": _per_s(together, round(plan.run / 1e9)),
            "checkpoints": [
                {"start_s": one["start_ns"] / 1e9, "end_s": one["end_ns"] / 1e9}
                for one in together.summary.get("checkpoints") or ()
            ],
            "waits_ns": together.summary["shared"]["waits_ns"],
            "without_ns": together.summary["shared"]["without"],
        },
    }


def _requests(result: Result) -> dict[str, dict[str, float | None]]:
    """Mean and p95 by class; the mean is that of the recorded time, even where its interval is too wide to be printed.
    The p95 is that of all requests, also of those behind that time, when another server may be through.
    """
    p95_ns = {name: figures["p95"]["value"] for name, figures in result.summary["latency_ns"].items()}
    rows = result.timeline.to_pydict()
    classes, counts = np.array(rows["class"]), np.array(rows["completions"])
    counts = np.where(np.array(rows["start_ns"]) < max(rows["start_ns"]), counts, 0)  # the last interval is open
    sums_ns = np.array(rows["mean_ns"], float) * counts
    return {
        name: {
            "mean_ms": float(np.nansum(sums_ns[classes == name]) / max(counts[classes == name].sum(), 1)) / 1e6,
            "p95_ms": None if ns is None else ns / 1e6,
        }
        for name, ns in p95_ns.items()
        if (classes == name).any()
    }


def _per_s(result: Result, run_s: int) -> list[float]:
    """Data reads that end in each second, those of an interval spread over it; transactions are in proportion to
    them.
    """
    rows = result.timeline.to_pydict()
    own = np.array(rows["class"]) == "data read"
    ends_s, reads = np.array(rows["end_ns"])[own] / 1e9, np.cumsum(np.array(rows["completions"])[own])
    so_far = np.interp(np.arange(run_s + 1), np.append(0, ends_s), np.append(0, reads))
    found: list[float] = np.diff(so_far).tolist()
    return found
