"""Predict each measured cell from every other of its load, as a user would: ``python -m benchmarks.real_postgres.pairs OUT``.

OUT is what ``benchmarks.real_postgres.matrix`` measured; an empty folder, or none, gets what was measured and kept. A prediction sees the counters of one cell, how long a read of the device took before it, and
of the other cell its pool and its caps. What was predicted is kept in OUT/pairs, a file for each source, until the model changes: ``--again``.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.real_postgres.results import COUNTERS, MATRIX, unpack_cells
from tiersim.errors import TiersimError
from tiersim.scenarios.loading import load_scenario
from tiersim.scenarios.model_error import model_error_of
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace

_NO_CAP = 10_000_000
_DEVICE = """\
kind = "token-bucket"
name = "a loop device on a file in memory"
capacity = "8 GiB"
read_iops = {iops}
write_iops = {iops}
refill_interval = "100 ms"
carry_over = "0 s"
latency = "{latency_ns} ns"

[sources]
capacity = "measured: the file's size"
read_iops = "measured: as it was set"
write_iops = "measured: as it was set"
refill_interval = "measured: the kernel's throttle"
carry_over = "measured: the kernel's throttle"
latency = "measured: the median of 4,000 reads of 8 KiB, one after the other"
"""
_HOST = """\
[host]
cores = 2
clients = "here"
[engine]
buffer_pool = "{pool} MiB"
[volumes.data]
device = "data.toml"
[volumes.log]
device = "log.toml"
[placement]
default = "data"
log = "log"
"""
#: A cell whose caps leave it less than this share of what it does without any is saturated.
_SATURATED = 0.6
#: Pairs are compared that differ by more; a prediction is far off beyond; so few misses a transaction are none.
_DIFFERENT, _FAR, _NO_MISSES = 0.15, 0.25, 1e-4

#: What the server writes: pages, and its log with the flushes.
_WRITES = (
    "client backend/relation/normal.writes",
    "background writer/relation/normal.writes",
    "checkpointer/relation/normal.writes",
)
_LOG = (
    "client backend/wal/normal.writes",
    "client backend/wal/normal.fsyncs",
    "walwriter/wal/normal.writes",
    "walwriter/wal/normal.fsyncs",
)


@dataclass(frozen=True)
class Measured:
    """A cell, the means of its repeats."""

    name: str
    load: str
    pool_mib: int
    iops: int | None
    log_iops: int | None
    device_latency_ns: int
    run_s: float
    since_checkpoint_s: float
    figures: Mapping[str, float]
    folder: Path  # of the first repeat


def cells_of(out: Path) -> list[Measured]:
    """Return the cells of a measurement."""
    repeats: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for path in sorted(out.glob("*/result.json")):
        result = json.loads(path.read_text())
        name = path.parent.name
        repeats.setdefault(name.rpartition("-")[0] if name[-1:].isdigit() and name.count("-") > 2 else name, []).append(
            (path.parent, result)
        )
    return [_measured(name, found) for name, found in repeats.items()]


def _measured(name: str, found: Sequence[tuple[Path, dict[str, Any]]]) -> Measured:
    folder, first = found[0]
    cell = first["cell"]
    figures = {
        "tps": [one["transactions_per_s"] for _, one in found],
        "mean_ms": [one["mean_ms"] for _, one in found],
        "p95_ms": [one["quantiles_ms"]["0.95"] for _, one in found],
        "slow": [one["slow_share"] for _, one in found],
        "misses": [_counted(one, "client backend/relation/normal.reads") for _, one in found],
        "written": [_counted(one, *_WRITES) for _, one in found],
        "logged": [_counted(one, *_LOG) for _, one in found],
    }
    means = {key: float(np.mean(values)) for key, values in figures.items()}
    means["spread"] = (max(figures["tps"]) - min(figures["tps"])) / means["tps"]
    return Measured(
        name, cell["script"], int(cell["settings"]["shared_buffers"].removesuffix("MB")), cell["iops"], cell.get("log_iops"),
        first["device_latency_ns"], cell["run_s"], first["since_checkpoint_s"], means, folder,
    )  # fmt: skip


def _counted(result: Mapping[str, Any], *names: str) -> float:
    """Return how often the server counted these, a transaction."""
    return sum(float(result["counted"].get(name, 0)) for name in names) / float(result["transactions"])


def predict(source: Measured, targets: Sequence[Measured], *, ranges: bool) -> dict[str, Any]:
    """Predict *targets* from *source*, with what the product says of each."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        folder = Path(name)
        shutil.copytree(source.folder / COUNTERS, folder / "recorded")
        import_trace([folder / "recorded"], folder / "recorded.trace")
        recorded_on = _scenario(folder / "source", source, source)
        scenarios = [_scenario(folder / target.name, source, target) for target in targets]
        bundle = Bundle(folder / "recorded.trace")
        results = replay_statements_all(bundle, scenarios, recorded_on=recorded_on, ranges=ranges)
    return {target.name: _of(result) for target, result in zip(targets, results, strict=True)}


def _scenario(folder: Path, source: Measured, target: Measured) -> Any:
    folder.mkdir()
    for name, iops in (("data", target.iops), ("log", target.log_iops)):
        text = _DEVICE.format(iops=iops or _NO_CAP, latency_ns=source.device_latency_ns)
        (folder / f"{name}.toml").write_text(text)
    path = folder / f"{folder.name}.toml"
    path.write_text(_HOST.format(pool=target.pool_mib))
    return load_scenario(str(path), [f"replay.since_checkpoint={source.since_checkpoint_s} s"])


def _of(result: Result) -> dict[str, Any]:
    summary = result.summary
    transaction = summary["latency_ns"]["transaction"]
    count = sum(query["count"] * query["physical_reads_per_call"] for query in summary["queries"].values())
    rate = summary["throughput_per_s"]["transactions"]
    return {
        "tps": rate["value"], "tps_low": rate["low"], "tps_high": rate["high"],
        "mean_ms": (transaction["mean"]["value"] or 0) / 1e6,
        "p95_ms": (transaction["p95"]["value"] or 0) / 1e6,
        "misses": count / max(transaction["count"], 1),
        "calibration": summary["verdict"]["calibration"],
        "model_error": model_error_of(summary["verdict"]["calibration"]),
        "costs_ns": summary["host"]["costs_ns"],
        "classes": summary["calibration"]["classes"],
        "caveats": summary["caveats"],
        "reasons": summary["calibration"]["reasons"],
        "range": summary.get("range"),
        "costs_from": summary["settings_from"]["host.costs"],
    }  # fmt: skip


def _predict_targets(out: Path, source: Measured, targets: Sequence[Measured], again: bool, ranges: bool) -> str:
    path = out / "pairs" / f"{source.name}.json"
    if again or not path.exists():
        try:
            path.write_text(json.dumps(predict(source, targets, ranges=ranges)))
        except TiersimError as error:
            return f"{source.name}: {error}"
    return f"{source.name}: predicted"


def kind_of(cell: Measured, cells: Iterable[Measured]) -> str:
    """Say what bounds a cell: nothing (free), a cap a little (mild), or a cap (saturated)."""
    if cell.iops is None and cell.log_iops is None:
        return "free"
    free = [c for c in cells if (c.load, c.pool_mib, c.iops, c.log_iops) == (cell.load, cell.pool_mib, None, None)]
    return "saturated" if not free or cell.figures["tps"] < _SATURATED * free[0].figures["tps"] else "mild"


def scaled_by_cap(source: Measured, target: Measured) -> float:
    """Return the throughput that one would guess who knows the caps: with so many requests a transaction as the source, as many as the target's caps allow.

    Without a cap at the target it is that of the source.
    """
    found = [source.figures["tps"]] if target.iops is None and target.log_iops is None else []
    for cap, was, each in (
        (target.iops, source.iops, max(source.figures["misses"], source.figures["written"])),
        (target.log_iops, source.log_iops, source.figures["logged"]),
    ):
        if cap is not None and was is not None:
            found.append(source.figures["tps"] * cap / was)
        elif cap is not None and each > 0:
            found.append(min(source.figures["tps"], cap / each))
    return min(found, default=source.figures["tps"])


@dataclass(frozen=True)
class Pair:
    """How far a prediction is off, as shares of what was measured; *pools* says how the target's compares with the source's."""

    load: str
    kinds: str
    pools: str
    error: float
    spread: float  # of the target's repeats
    unchanged: float
    scaled: float
    misses: float
    p95: float
    held: bool  # within the interval that a result states
    factor: float  # of its ends
    underdetermined: bool
    calibrated: bool


def pairs_of(out: Path, cells: Sequence[Measured]) -> list[Pair]:
    """Return the pairs that were predicted and differ by more than 15 % in what was measured."""
    by_name = {cell.name: cell for cell in cells}
    found = []
    for source in cells:
        path = out / "pairs" / f"{source.name}.json"
        for name, said in json.loads(path.read_text()).items() if path.exists() else ():
            target = by_name.get(name)
            if target is not None and abs(target.figures["tps"] / source.figures["tps"] - 1) > _DIFFERENT:
                found.append(_pair(source, target, said, f"{kind_of(source, cells)} to {kind_of(target, cells)}"))
    return found


def interval_of(said: Mapping[str, Any]) -> tuple[float, float]:
    """Return between what a result says that transactions/s lie: what the recording leaves open, and the error of the models, which are independent."""
    found, off = said["range"], said["model_error"]["figures"]["throughput"]
    ends = []
    for end in ("low", "high"):
        drawn = 1.0 if found is None else found["transactions_per_s"][end] / said["tps"]
        away = float(np.hypot(np.log(off[end]), np.log(min(drawn, 1.0) if end == "low" else max(drawn, 1.0))))
        ends.append(said["tps"] * float(np.exp(away if end == "high" else -away)))
    return ends[0], ends[1]


def _pair(source: Measured, target: Measured, said: Mapping[str, Any], kinds: str) -> Pair:
    known, ratio = target.figures, target.pool_mib / source.pool_mib
    low, high = interval_of(said)
    return Pair(
        load=source.load,
        kinds=kinds,
        pools="smaller" if ratio < 1 else "same" if ratio == 1 else "2-4 x" if ratio <= 4 else "8-16 x",
        error=said["tps"] / known["tps"] - 1,
        spread=known["spread"],
        unchanged=source.figures["tps"] / known["tps"] - 1,
        scaled=scaled_by_cap(source, target) / known["tps"] - 1,
        misses=said["misses"] / known["misses"] - 1 if known["misses"] > _NO_MISSES else 0.0,
        p95=said["p95_ms"] / known["p95_ms"] - 1,
        held=low <= known["tps"] <= high,
        factor=high / low,
        underdetermined=(said["range"] or {}).get("verdict") == "underdetermined",
        calibrated=said["calibration"] == "calibrated",
    )


def table(pairs: Sequence[Pair], by: Sequence[str] = ("kinds", "pools")) -> list[str]:
    """Return lines of Markdown: a row for each block of pairs, and one for all."""
    blocks: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        blocks.setdefault(tuple(getattr(pair, key) for key in by), []).append(pair)
    heading = [
        *by,
        "pairs",
        "off, median",
        "worst",
        "within 25 %",
        "unchanged",
        "scaled with the cap",
        "misses off",
        "p95 off",
        "held",
        "factor",
        "underdetermined",
        "calibrated",
    ]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(by) + "--:|" * (len(heading) - len(by))]
    rows = [*sorted(blocks.items()), (("all", *[""] * (len(by) - 1)), list(pairs))] if pairs else []
    for key, found in rows:
        worst = max((one.error for one in found), key=abs)
        cells = [
            *key, f"{len(found)}", _median(found, "error"), f"{worst:+.0%}", f"{np.mean([abs(one.error) <= _FAR for one in found]):.0%}",
            _median(found, "unchanged"), _median(found, "scaled"), _median(found, "misses"), _median(found, "p95"),
            f"{sum(one.held for one in found)}", f"{median(one.factor for one in found):.2f}", f"{sum(one.underdetermined for one in found)}",
            f"{sum(one.calibrated for one in found)}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _median(pairs: Sequence[Pair], figure: str) -> str:
    return f"{median(abs(getattr(one, figure)) for one in pairs):.1%}"


def main() -> int:
    """Predict what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_postgres.pairs", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--load", action="append", help="of reads, updates, tpcb; all by default")
    parser.add_argument("--source", action="append", help="names of cells; all by default")
    parser.add_argument("--again", action="store_true", help="predict all anew")
    parser.add_argument("--ranges", action="store_true", help="also how far each may be off: ten times as long")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    (arguments.out / "pairs").mkdir(parents=True, exist_ok=True)
    if not cells_of(arguments.out):
        unpack_cells(MATRIX, arguments.out)
    cells = [cell for cell in cells_of(arguments.out) if not arguments.load or cell.load in arguments.load]
    sources = [cell for cell in cells if not arguments.source or cell.name in arguments.source]
    with ProcessPoolExecutor(arguments.workers) as pool:
        for said in pool.map(
            _predict_targets,
            [arguments.out] * len(sources),
            sources,
            [[one for one in cells if one.load == source.load and one != source] for source in sources],
            [arguments.again] * len(sources),
            [arguments.ranges] * len(sources),
        ):
            print(said, flush=True)
    found = pairs_of(arguments.out, cells)
    print("\n".join([*table(found, ("load", "kinds", "pools")), "", *table(found)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
