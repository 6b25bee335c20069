"""A real PostgreSQL, recorded once, on other buffer pools and other limits of its device."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import reads


@dataclass(frozen=True)
class _Cell:
    """A measured run: the pool, what the kernel let the device do in a second, and what pgbench and the server said."""

    pool: str
    requests_per_s: int
    transactions_per_s: float
    mean_ms: float
    p95_ms: float
    pages_read: float  # a transaction


_CELLS = (
    _Cell("64 MiB", 500, 605.967, 13.1733, 96.069, 20_109 / 24_285),
    _Cell("1 GiB", 2000, 21_347.5, 0.334085, 0.702, 74_458 / 853_795),
)


def experiment() -> Experiment:
    """Throughput, latency and misses of cells that were not fitted."""
    return Experiment(
        "point-reads",
        "Point reads of PostgreSQL 18: one recording, other buffer pools, a capped device",
        "our own runs of pgbench: 10 million rows by Zipf's law, 2 cores, 8 clients on them",
        "the recorded cell (256 MiB, no cap): popularity to its misses, CPU of reads and clients to its pace",
        tuple(_claims()),
        basis="calibrated",
    )


def _claims() -> list[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = reads(Path(place))
        trace = folder / "reads.trace"
        import_trace([folder / "counters"], trace)
        recorded_on = load_scenario(str(folder / "host" / "recorded.toml"))
        capped = [_capped(folder / "host", cell) for cell in _CELLS]
        results = replay_statements_all(Bundle(trace), capped, recorded_on=recorded_on, ranges=False)
    return [claim for cell, result in zip(_CELLS, results, strict=True) for claim in _of(cell, result.summary)]


def _capped(host: Path, cell: _Cell) -> NamedScenario:
    """Write a scenario of the recorded host with another pool, and its device with a cap."""
    uncapped = (host / "device.toml").read_text(encoding="utf-8")
    device = uncapped.replace("iops = 10000000", f"iops = {cell.requests_per_s}")  # of reads, and as many of writes
    (host / f"device-{cell.requests_per_s}.toml").write_text(device, encoding="utf-8")
    return load_scenario(
        str(host / "recorded.toml"),
        [f"engine.buffer_pool={cell.pool}", f"volumes.data.device=device-{cell.requests_per_s}.toml"],
    )


def _of(cell: _Cell, summary: Mapping[str, Any]) -> list[Claim]:
    where = f"{cell.pool}, {cell.requests_per_s} requests/s"
    transaction = summary["latency_ns"]["transaction"]
    pages = sum(query["physical_reads_per_call"] * query["count"] for query in summary["queries"].values())
    return [
        Claim(
            f"{where}: pages read", "a transaction", cell.pages_read, pages / transaction["count"], 10, figure="count"
        ),
        Claim(
            f"{where}: transactions",
            "per s",
            cell.transactions_per_s,
            summary["throughput_per_s"]["transactions"]["value"],
            10,
            figure="throughput",
        ),
        Claim(f"{where}: mean", "ms", cell.mean_ms, transaction["mean"]["value"] / 1e6, 10, figure="mean"),
        Claim(f"{where}: p95", "ms", cell.p95_ms, transaction["p95"]["value"] / 1e6, 25, figure="tail"),
    ]
