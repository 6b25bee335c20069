"""A real PostgreSQL, recorded once for each load, on a device with a limit: point reads on other buffer pools; changes
of rows with commits, a checkpoint and row locks.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces import samples
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace


@dataclass(frozen=True)
class _Cell:
    """A measured run: the pool, how many reads and as many writes the kernel let the device do in a second, and what
    pgbench and the server said.
    """

    pool: str
    requests_per_s: int
    transactions_per_s: float
    mean_ms: float
    p95_ms: float
    settings: tuple[str, ...]
    pages_read: float | None = None  # a transaction
    commits_a_flush: float | None = None


_LOOKUPS = (
    _Cell("64 MiB", 500, 605.967, 13.1733, 96.069, ("engine.buffer_pool=64 MiB",), pages_read=20_109 / 24_285),
    _Cell("1 GiB", 2000, 21_347.5, 0.334085, 0.702, ("engine.buffer_pool=1 GiB",), pages_read=74_458 / 853_795),
)
#: 75 s; a CHECKPOINT by hand, then the cap, then 5 s of load, then the run.
_CHANGES = (
    _Cell(
        "512 MiB", 300, 313.640, 25.4701, 96.465, ("replay.warmup=5 s", "replay.since_checkpoint=5 s"),
        commits_a_flush=23_531 / (9065 + 68),
    ),
)  # fmt: skip


def point_reads() -> Experiment:
    """Throughput, latency and misses of cells that were not fitted."""
    return Experiment(
        "point-reads",
        "Point reads of PostgreSQL 18: one recording, other buffer pools, a capped device",
        "our own runs of pgbench: 10 million rows by Zipf's law, 2 cores, 8 clients on them",
        "the recorded cell (256 MiB, no cap): popularity to its misses, CPU of reads and clients to its pace",
        tuple(_claims(samples.reads, _LOOKUPS)),
        basis="calibrated",
    )


def updates() -> Experiment:
    """Throughput, latency and shared flushes of a cell that was not fitted."""
    return Experiment(
        "updates",
        "Updates of PostgreSQL 18: one recording, a capped device, a checkpoint",
        "our own runs of pgbench: UPDATE and SELECT of a row by Zipf's law, 8 clients on 2 cores; data and log on one"
        " device",
        "the recorded cell (no cap): popularity to its misses, CPU of reads, of the log and of clients to its pace",
        tuple(_claims(samples.updates, _CHANGES)),
        basis="calibrated",
    )


def _claims(unpack: Callable[[Path], Path], cells: Sequence[_Cell]) -> Iterator[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = unpack(Path(place))
        trace = folder / "recorded.trace"
        import_trace([folder / "counters"], trace)
        recorded_on = load_scenario(str(folder / "host" / "recorded.toml"))
        capped = [_capped(folder / "host", cell) for cell in cells]
        results = replay_statements_all(Bundle(trace), capped, recorded_on=recorded_on, ranges=False)
    for cell, result in zip(cells, results, strict=True):
        yield from _of(cell, result.summary)


def _capped(host: Path, cell: _Cell) -> NamedScenario:
    """Write a scenario of the recorded host, its device with a cap."""
    uncapped = (host / "device.toml").read_text(encoding="utf-8")
    device = uncapped.replace("iops = 10000000", f"iops = {cell.requests_per_s}")  # of reads, and as many of writes
    (host / f"device-{cell.requests_per_s}.toml").write_text(device, encoding="utf-8")
    settings = [*cell.settings, f"volumes.data.device=device-{cell.requests_per_s}.toml"]
    return load_scenario(str(host / "recorded.toml"), settings)


def _of(cell: _Cell, summary: Mapping[str, Any]) -> Iterator[Claim]:
    where = f"{cell.pool}, {cell.requests_per_s} requests/s"
    transaction, rate = summary["latency_ns"]["transaction"], summary["throughput_per_s"]["transactions"]["value"]
    if cell.pages_read is not None:
        pages = sum(query["physical_reads_per_call"] * query["count"] for query in summary["queries"].values())
        read = pages / transaction["count"]
        yield Claim(f"{where}: pages read", "a transaction", cell.pages_read, read, 10, figure="count")
    yield Claim(f"{where}: transactions", "per s", cell.transactions_per_s, rate, 10, figure="throughput")
    yield Claim(f"{where}: mean", "ms", cell.mean_ms, transaction["mean"]["value"] / 1e6, 10, figure="mean")
    yield Claim(f"{where}: p95", "ms", cell.p95_ms, transaction["p95"]["value"] / 1e6, 25, figure="tail")
    if cell.commits_a_flush is not None:
        shared = summary["log"]["commits_per_flush"]
        yield Claim(f"{where}: commits a flush", "", cell.commits_a_flush, shared, 10, figure="count")
