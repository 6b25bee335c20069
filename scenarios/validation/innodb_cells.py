"""A real MariaDB, recorded once for each load without a cap, on other buffer pools and a capped device.

A prediction sees the counters of the run without a cap, what sysbench printed of it, how long the kernel says that
requests of the device took in it, and of what is predicted its pool and its cap. The device of the model takes as long
for a write as for a read: what writes took longer is with the flushes, so that a write and a flush of the log together
take as long as recorded.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import CELLS, innodb

#: A recording, and what is predicted from it.
_RUNS = {
    "select_zipf_bp256_free": ("select_zipf_bp64_r500", "select_zipf_bp1024_r2000"),
    "update_zipf_bp512_free": ("update_zipf_bp512_rw300",),
    "mixed_bp512_free": ("mixed_bp256_rw1000",),
}
_LOADS = {"select_zipf": "lookups", "update_zipf": "updates", "mixed": "mixed"}
_NOTES = {
    "select_zipf_bp1024_r2000": (
        "the load spreads ranks over pages as evenly as can be (id = rank x 2,472,137 mod rows), the model at random;"
        " LRU in a pool of 83 % of the pages misses 0.025 to 0.029 of the one and 0.041 of the other"
    )
}
_NO_CAP = 10_000_000
#: Between refills of what is no throttle: writes pass one behind the other.
_NO_WAIT_MS = 0.1
#: Limits of blocks of cells of a real server: throughput and mean, 95th percentile, pages, flushes.
_MEAN_PCT, _TAIL_PCT, _PAGES_PCT, _FLUSHES_PCT = 10, 25, 10, 15


def experiment() -> Experiment:
    """Throughput, latency, misses, flushes of the log and page writes of cells that were not fitted."""
    return Experiment(
        "innodb-cells",
        "InnoDB of MariaDB 10.11: one recording of each load, other buffer pools, a capped device",
        "our own runs of sysbench: 4 million rows by Zipf's law, 2 cores, 8 clients on them",
        "the recorded run of each load (no cap): popularity to its misses, CPU to its pace. Three rules (age of the"
        " checkpoint at the start, MariaDB's low mark of adaptive flushing, flushes timed by what COMMITs waited) were"
        " chosen after updates and mixed were seen",
        tuple(_claims()),
        basis="innodb",
    )


def _claims() -> Iterator[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = Path(place)
        innodb(folder)
        runs = {run["name"]: run for run in json.loads((folder / "runs.json").read_text(encoding="utf-8"))}
        for recorded, names in _RUNS.items():
            trace = folder / f"{recorded}.trace"
            import_trace([folder / recorded / "counters"], trace)
            device = runs[recorded]["device_ms"]
            scenarios = [
                scenario_of(folder, device, runs[name], pool_mib=runs[name]["buffer_pool_mb"]) for name in names
            ]
            recorded_on = scenario_of(folder, device, runs[recorded])
            results = replay_statements_all(Bundle(trace), scenarios, recorded_on=recorded_on, ranges=False)
            for name, result in zip(names, results, strict=True):
                yield from _of(runs[name], result.summary)


def scenario_of(
    folder: Path,
    device_ms: Mapping[str, float],
    run: Mapping[str, Any],
    pool_mib: int | None = None,
    writes_per_s: int = _NO_CAP,
) -> NamedScenario:
    """Write the recorded host with a run's cap into *folder*, and with another pool than was recorded, if one is given.

    *device_ms* is how long a read, a write and a flush of the device took, *writes_per_s* how many writes it takes
    where nothing caps it.
    """
    device = (CELLS / "host" / "device.toml").read_text(encoding="utf-8")
    flush_ms = device_ms["flush"] + device_ms["write"] - device_ms["read"]
    for was, now in (
        ('latency = "0.005 ms"', f'latency = "{device_ms["read"]:.4f} ms"\nflush = "{max(flush_ms, 0.001):.4f} ms"'),
        ("[sources]", '[sources]\nflush = "measured: a write and a flush less a read, diskstats of the recording"'),
        (f"read_iops = {_NO_CAP}", f"read_iops = {run['read_iops'] or _NO_CAP}"),
        (f"write_iops = {_NO_CAP}", f"write_iops = {run['read_iops'] or writes_per_s}"),  # a cap is of both
        ('refill_interval = "100 ms"', f'refill_interval = "{100 if run["read_iops"] else _NO_WAIT_MS} ms"'),
    ):
        device = device.replace(was, now)
    (folder / f"device-{run['name']}.toml").write_text(device, encoding="utf-8")
    (folder / "host.toml").write_text((CELLS / "host" / "recorded.toml").read_text(encoding="utf-8"), encoding="utf-8")
    settings = [f"volumes.data.device=device-{run['name']}.toml"]
    if pool_mib is not None:
        settings.append(f"engine.buffer_pool={pool_mib} MiB")
    return load_scenario(str(folder / "host.toml"), settings)


def _of(run: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[Claim]:
    load = next(words for name, words in _LOADS.items() if run["name"].startswith(name))
    where = f"{load}, {run['buffer_pool_mb']} MiB, {run['read_iops']:,}/s"
    transaction, log = summary["latency_ns"]["transaction"], summary["log"]
    count = transaction["count"]
    pages = sum(query["physical_reads_per_call"] * query["count"] for query in summary["queries"].values())
    rate = summary["throughput_per_s"]["transactions"]["value"]
    yield Claim(f"{where}: transactions", "per s", run["tps"], rate, _MEAN_PCT, figure="throughput")
    yield Claim(f"{where}: mean", "ms", run["mean_ms"], _ms(transaction["mean"]), _MEAN_PCT, figure="mean")
    yield Claim(f"{where}: p95", "ms", run["p95_ms"], _ms(transaction["p95"]), _TAIL_PCT, figure="tail")
    yield Claim(
        f"{where}: pages read",
        "a transaction",
        run["misses_per_tx"],
        pages / count,
        _PAGES_PCT,
        note=_NOTES.get(run["name"], ""),
        figure="count",
    )
    if not run["log_writes_per_tx"]:
        return
    for what, measured, predicted in (
        ("flushes of the redo log", run["log_fsyncs_per_tx"], log["flushes"] / count),
        ("pages flushed", run["pages_flushed_per_tx"], log["pages_flushed"] / count),
    ):
        yield Claim(f"{where}: {what}", "a transaction", measured, predicted, _FLUSHES_PCT, figure="count")


def _ms(figure: Mapping[str, Any]) -> float:
    """Return a figure, of few samples the middle of its interval."""
    value = figure["value"] if figure["value"] is not None else (figure["low"] + (figure["high"] or 0)) / 2
    return float(value) / 1e6
