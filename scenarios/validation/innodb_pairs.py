"""A real MariaDB from anywhere to anywhere: each cell of a load, a pool and a cap predicted from the counters of every
other of its load.

What a prediction sees: the counters of one cell, what sysbench printed of it, its pool and its cap; how long requests
of the device took without a cap; of the other cell its pool and its cap. Its range is the result's: draws of what the
counters do not tell, and the error of InnoDB's models. Beside it stand two guesses: the rate that was recorded, and
that which the cap lets with the requests of a recorded transaction, if it is less.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.innodb_bench import MISSING
from tiersim.scenarios.validation.innodb_cells import scenario_of
from tiersim.scenarios.validation.pair_figures import Predicted
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import innodb

#: A folder of cells: what was measured of each; what it recorded lies in a folder of its name.
FILE = "lab/cells.json"
_COUNTERS = ("*.before.*", "*.after.*", "global_variables.tsv", "sysbench.txt")
_NEAR_PCT, _MEDIAN_PCT, _HELD_PCT = 25, 10, 80


def experiment(folder: Path | None) -> Experiment:
    """Throughput of each ordered pair of cells of a load, and medians by where it is predicted from and to."""
    title = "InnoDB of MariaDB 10.11 from anywhere to anywhere: pairs of cells"
    source = "our own runs of sysbench (cells of the experiment before), each predicted from each other of its load"
    fitted = "of each source: popularity to its misses, CPU to its pace"
    places = [] if folder is None else sorted(folder.rglob(FILE))
    if not places:
        return Experiment("innodb-pairs", title, source, fitted, missing=MISSING)
    claims = tuple(_claims(places[0].parent))
    return Experiment("innodb-pairs", title, source, fitted, claims, basis="innodb")


def _claims(lab: Path) -> Iterator[Claim]:
    cells = json.loads((lab / "cells.json").read_text(encoding="utf-8"))
    errors: dict[str, list[tuple[float, float, float]]] = {}
    held: list[bool] = []
    for source in cells:
        targets = [one for one in cells if one["workload"] == source["workload"] and one is not source]
        for target, (rate, low, high) in zip(targets, _predicted(lab, source, targets), strict=True):
            known = target["tps"]
            held.append(low <= known <= high)
            unchanged, scaled = source["tps"], _as_the_cap_lets(source, target)
            kinds = f"{_kind(source)} to {_kind(target)}"
            errors.setdefault(kinds, []).append(
                (abs(rate / known - 1), abs(unchanged / known - 1), abs(scaled / known - 1))
            )
            yield Claim(
                f"{_said(source)} to {_said(target)}: transactions", "per s", known, rate, _NEAR_PCT,
                note=f"range {low:,.0f} .. {high:,.0f}; guesses:"
                f" the recorded rate {100 * (unchanged / known - 1):+.0f} %,"
                f" as the cap lets {100 * (scaled / known - 1):+.0f} %",
                figure="throughput",
            )  # fmt: skip
    for kinds, found in errors.items():
        off, unchanged_off, scaled_off = (100 * median(column) for column in zip(*found, strict=True))
        yield Claim(
            f"{kinds}, {len(found)} pairs: median error", "%", _MEDIAN_PCT, off, 0, at_most=True,
            note=f"of the guesses {unchanged_off:.0f} and {scaled_off:.0f} %",
        )  # fmt: skip
    yield Claim(
        f"measurements within the ranges of {len(held)} predictions", "%", _HELD_PCT, 100 * sum(held) / len(held), 0,
        within=(_HELD_PCT, 100),
    )  # fmt: skip


def _predicted(lab: Path, source: Mapping[str, Any], targets: Sequence[Mapping[str, Any]]) -> list[Sequence[float]]:
    """Return the transactions a second of each target, and between what they lie."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = Path(place)
        counters, trace = folder / "counters", folder / "source.trace"
        counters.mkdir()
        for pattern in _COUNTERS:
            for path in (lab / source["name"]).glob(pattern):
                shutil.copy(path, counters)
        import_trace([counters], trace)
        device_ms = _device_ms(source["workload"])
        recorded_on = scenario_of(folder, device_ms, source)
        scenarios = [scenario_of(folder, device_ms, target, pool_mib=target["buffer_pool_mb"]) for target in targets]
        results = replay_statements_all(Bundle(trace), scenarios, recorded_on=recorded_on)
        found = [Predicted.of(one) for one in results]
        return [(one.tps, one.tps_low, one.tps_high) for one in found]


def _device_ms(load: str) -> Mapping[str, float]:
    """Return how long requests took in the run of a load without a cap."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        innodb(Path(place))
        runs = json.loads((Path(place) / "runs.json").read_text(encoding="utf-8"))
    found: Mapping[str, float] = next(
        run["device_ms"] for run in runs if run["name"].startswith(load) and "device_ms" in run
    )
    return found


def _as_the_cap_lets(source: Mapping[str, Any], target: Mapping[str, Any]) -> float:
    """Return the recorded rate, or what the target's cap lets with the requests of a recorded transaction."""
    found = float(source["tps"])
    writes = source["pages_flushed_per_tx"] + source["log_writes_per_tx"] + source["log_fsyncs_per_tx"]
    for cap, each in ((target["read_iops"], source["misses_per_tx"]), (target["write_iops"], writes)):
        if cap and each:
            found = min(found, cap / each)
    return found


def _kind(cell: Mapping[str, Any]) -> str:
    return "capped" if cell["read_iops"] or cell["write_iops"] else "free"


def _said(cell: Mapping[str, Any]) -> str:
    cap = f"{cell['write_iops']:,}/s" if _kind(cell) == "capped" else "free"
    return f"{cell['workload']}, {cell['buffer_pool_mb']} MiB, {cap}"
