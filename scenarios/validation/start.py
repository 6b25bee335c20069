"""A real PostgreSQL from its start on, recorded once, on a device with a limit of its reads: how fast it is while its
caches fill.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import start


@dataclass(frozen=True)
class _Cell:
    """A run with 400 reads a second: transactions a second of each 5 s, commits for each flush of the log, images of
    pages and bytes of log a transaction (``pg_stat_wal``).
    """

    name: str
    per_s: tuple[float, ...]
    commits_a_flush: float | None = None
    images: float | None = None
    log_bytes: float | None = None


_CELLS = (
    _Cell("select", (199.6, 214.7, 221.1, 229.2, 241.9)),
    _Cell("tpcb", (194.2, 214.0, 222.8, 229.9, 232.9), 5476 / 2613, 9021 / 5476, 73_277_816 / 5476),
)


def experiment() -> Experiment:
    """Throughput over time and shared flushes of runs that were not fitted."""
    return Experiment(
        "start",
        "PostgreSQL 15 from its start: one recording of a load, its device limited to 400 reads a second",
        "our own runs of pgbench, lookups and TPC-B: scale 50, 8 clients on 2 cores, caches empty",
        "the recorded runs (no limit): popularity to their misses, CPU of reads, of the log and of clients to their"
        " pace; the device's medians",
        tuple(claim for cell in _CELLS for claim in _claims(cell)),
        basis="calibrated",
    )


def _claims(cell: _Cell) -> Iterator[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        folder = start(Path(place))
        host, trace = folder / "host", folder / "one.trace"
        import_trace([folder / cell.name], trace)
        limited = (host / "data.toml").read_text(encoding="utf-8").replace("read_iops = 10000000", "read_iops = 400")
        (host / "data-400.toml").write_text(limited, encoding="utf-8")
        on = load_scenario(str(host / "recorded.toml"), ["volumes.data.device=data-400.toml"])
        recorded_on = load_scenario(str(host / "recorded.toml"))
        (result,) = replay_statements_all(Bundle(trace), [on], recorded_on=recorded_on, ranges=False)
    over_time = result.summary["throughput_over_time"]
    step_s = over_time["step_ns"] / 1e9
    for number, (measured, found) in enumerate(zip(cell.per_s, over_time["transactions_per_s"], strict=True)):
        until_s = (number + 1) * step_s
        yield Claim(
            f"{cell.name}: transactions, {until_s - step_s:.0f} to {until_s:.0f} s",
            "per s",
            measured,
            found,
            10,
            figure="throughput",
        )
    log = result.summary["log"]
    for what, unit, wanted, logged in (
        ("full-page images a transaction", "", cell.images, log["full_page_images"]),
        ("log a transaction", "bytes", cell.log_bytes, log["bytes"]),
    ):
        if wanted is not None:
            yield Claim(f"{cell.name}: {what}", unit, wanted, logged / log["commits"], 10)
    if cell.commits_a_flush is not None:
        shared = log["relative_commits_per_flush"]
        yield Claim(f"{cell.name}: commits a flush, relative", "", cell.commits_a_flush, shared, 10, figure="count")
