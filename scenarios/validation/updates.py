"""A real PostgreSQL that changes rows, recorded once, on a device with a limit: commits, a checkpoint, row locks."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import updates

#: What pgbench and the server said of 75 s with 300 reads and 300 writes a second: per s, ms, ms; commits for each
#: flush of the log.
_RATE, _MEAN_MS, _P95_MS = 313.640, 25.4701, 96.465
_COMMITS_A_FLUSH = 23_531 / (9065 + 68)
#: A CHECKPOINT by hand, then the cap, then 5 s of load, then the run.
_SETTINGS = ("replay.warmup=5 s", "replay.since_checkpoint=5 s")


def experiment() -> Experiment:
    """Throughput, latency and shared flushes of a cell that was not fitted."""
    return Experiment(
        "updates",
        "Updates of PostgreSQL 18: one recording, a capped device, a checkpoint",
        "our own runs of pgbench: UPDATE and SELECT of a row by Zipf's law, 8 clients on 2 cores; data and log on one"
        " device",
        "the recorded cell (no cap): popularity to its misses, CPU of reads, of the log and of clients to its pace",
        tuple(_claims()),
        basis="calibrated",
    )


def _claims() -> list[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = updates(Path(place))
        host = folder / "host"
        trace = folder / "updates.trace"
        import_trace([folder / "counters"], trace)
        device = (host / "device.toml").read_text(encoding="utf-8").replace("iops = 10000000", "iops = 300")
        (host / "device-300.toml").write_text(device, encoding="utf-8")
        capped = load_scenario(str(host / "recorded.toml"), ["volumes.data.device=device-300.toml", *_SETTINGS])
        recorded_on = load_scenario(str(host / "recorded.toml"))
        (result,) = replay_statements_all(Bundle(trace), [capped], recorded_on=recorded_on, ranges=False)
    return _of(result.summary)


def _of(summary: Mapping[str, Any]) -> list[Claim]:
    where = "512 MiB, 300 requests/s"
    transaction = summary["latency_ns"]["transaction"]
    return [
        Claim(
            f"{where}: transactions",
            "per s",
            _RATE,
            summary["throughput_per_s"]["transactions"]["value"],
            10,
            figure="throughput",
        ),
        Claim(f"{where}: mean", "ms", _MEAN_MS, transaction["mean"]["value"] / 1e6, 10, figure="mean"),
        Claim(f"{where}: p95", "ms", _P95_MS, transaction["p95"]["value"] / 1e6, 25, figure="tail"),
        Claim(
            f"{where}: commits a flush", "", _COMMITS_A_FLUSH, summary["log"]["commits_per_flush"], 10, figure="count"
        ),
    ]
