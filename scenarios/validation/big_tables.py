"""A real PostgreSQL whose tables are larger than its pool and than its memory, with autovacuum and six checkpoints: its
device with and without a cap, each predicted from the counters of the other.

What a prediction sees: the counters of one cell, how large the page cache was in it, how long a read of the device
without a cap and a write of the log with fdatasync took before it, how long the last checkpoint was ago; of the other
cell its cap. ``benchmarks/real_postgres`` (``writes.toml``) measures.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of, repeats_of
from tiersim.scenarios.validation.pair_figures import FAR, SLOW_APART, Predicted
from tiersim.scenarios.validation.pairs import LOADS, others_of, results_of
from tiersim.simulator.result import Result
from tiersim.traces.samples import big_tables
from tiersim.units import NS_PER_MS

#: So much may these be off: in percent, and dips in points.
_OFF_PCT, _TAIL_PCT, _WAL_PCT, PAGES_PCT, _DIP_POINTS = 10.0, 20.0, 5.0, 15.0, 6.0
#: Recorded with sched_switch and sched_wakeup (PostgreSQL 18, 8 clients on 2 processors): updates that take 2.5 to 7
#: times the median are blocked longer, 40 to 60 % of that while a thread of the kernel that serves the loop device
#: waits for a processor that server and load generator have.
_WAITING_KERNEL = "the kernel's threads for the loop device wait for processors behind the server: not simulated"
#: With the cap all sessions wait for DataFileWrite in 30 and 41 of 920 looks, in half an hour in 85 to 136 of 3,556,
#: for 0.5 to 3 s at a time, mostly while a checkpoint runs; without it in none. Eight readers and writers of one file
#: in such a group, behind a pool of their own and the same cap, stop in the same way: one waits in
#: folio_wait_writeback below try_to_free_mem_cgroup_pages (/proc/PID/stack), the others for the file's lock, which it
#: has. Groups of cgroup v1 alone wait there, for a page under write-back that has PG_reclaim (mm/vmscan.c,
#: shrink_folio_list). That bit is PG_readahead, too (include/linux/page-flags.h): a read that finds two pages before
#: its own cached reads as many behind it and marks the last (mm/readahead.c, page_cache_sync_ra), and the mark stays
#: when the page is written. Stops in 160 s: 8 (111 looks); with POSIX_FADV_RANDOM, which marks no page, none in 95 s.
STOPPED = (
    "for 2 to 4 % of the time all writes stop: a full group of cgroup v1 waits for the write-back of pages that"
    " readahead marked: not simulated"
)


def experiment() -> Experiment:
    """How far off throughput, latency and writes are."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        big_tables(Path(name))
        cells = cells_of(Path(name))
        claims = [
            claim
            for source in cells
            for target, result in results_from(source, others_of(source, cells))
            for claim in (*claims_of(source, target, result), _pages_of(source, target, result))
        ]
    return Experiment(
        "big-tables",
        "PostgreSQL 18 with tables larger than memory: a device with and without a cap, each from the other",
        "our own runs of pgbench (benchmarks/real_postgres): 6 million rows, 768 MiB, a pool of 256 and some 250 MiB of"
        " page cache, a cap of 1,000 reads and 1,000 writes/s, 480 s, 8 clients on 2 cores",
        "the recorded cell: popularity to its misses, CPU to what its processors did. Rules that came after these cells"
        " were known: what VACUUM and ANALYZE put into the WAL, how long they work on a page and what CPU it takes,"
        " after how many changes ANALYZE runs; leaves with dead entries; a checkpoint writes tables before their"
        " indexes; the WAL takes places in the page cache",
        tuple(claims),
        basis="calibrated",
    )


def results_from(source: Cell, targets: Sequence[Cell], *asked: str) -> Iterator[tuple[Cell, Result]]:
    """Yield *targets* with what is predicted of each as it is *asked*; the page cache is as large as in *source*."""
    cached_mb = mean(repeats_of(source)[0]["device"]["page_cache_mb"])
    changes = [f"engine.os_cache={cached_mb:.0f} MB"]
    found = results_of(source, targets, ranges=False, changes=changes, asked=asked)
    for target in targets:
        yield target, found[target.name]


def claims_of(source: Cell, target: Cell, result: Result) -> Iterator[Claim]:
    """Compare what is predicted of a cell with the means of its repeats."""
    name = _name(source, target)
    found, summary, repeats = Predicted.of(result), result.summary, repeats_of(target)
    spread = f"repeats are {100 * target.figures['spread']:.1f} % apart" if len(repeats) > 1 else ""
    yield Claim(f"{name}: transactions", "per s", target.figures["tps"], found.tps, _OFF_PCT, note=spread)
    yield Claim(f"{name}: mean", "ms", target.figures["mean_ms"], found.mean_ms, _OFF_PCT)
    yield _p95(name, target, found)
    tail_ms = mean(one["quantiles_ms"]["0.99"] for one in repeats)
    yield tail_of(name, tail_ms, summary["latency_ns"]["transaction"]["p99"])
    logged = mean(one["counted"]["pg_stat_wal.wal_bytes"] / one["transactions"] for one in repeats)
    yield Claim(f"{name}: WAL of a transaction", "bytes", logged, summary["log"]["bytes_per_transaction"], _WAL_PCT)
    deep = 100 * (1 - mean(dip for repeat in repeats for dip in repeat["dips"]))
    dip = _mean_of_checkpoints(result, "dip_pct")
    within = (deep - _DIP_POINTS, deep + _DIP_POINTS)
    note = f"outside of checkpoints the worst 5 s are {_least_outside(repeats):.0f} % below it"
    if target.iops:
        note = f"{note}; {STOPPED}"
    yield Claim(f"{name}: dip in checkpoints below the mean", "%", deep, dip, 0, within=within, note=note)


def _pages_of(source: Cell, target: Cell, result: Result) -> Claim:
    """Compare how many pages a checkpoint writes."""
    pages = mean(one["buffers"] for repeat in repeats_of(target) for one in repeat["checkpoints"] if one["buffers"])
    what = f"{_name(source, target)}: pages that a checkpoint writes"
    return Claim(what, "pages", pages, _mean_of_checkpoints(result, "written_pages"), PAGES_PCT)


def _name(source: Cell, target: Cell) -> str:
    return f"{LOADS[target.load]}, from {source.cap} to {target.cap}"


def _mean_of_checkpoints(result: Result, figure: str) -> float:
    """Return the mean of a figure of the checkpoints that were over; 0 where none was."""
    over = [one[figure] for one in result.summary["checkpoints"] if one["end_ns"] is not None]
    return mean(over) if over else 0.0


def tail_of(name: str, measured_ms: float, figure: Mapping[str, float | None]) -> Claim:
    """Compare the 99th percentile: where it lies between two humps of a run, the ends of its interval."""
    name = f"{name}: p99"
    if figure["value"] is not None:
        return Claim(name, "ms", measured_ms, figure["value"] / NS_PER_MS, _TAIL_PCT, note=_WAITING_KERNEL)
    low_ms = (figure["low"] or 0) / NS_PER_MS
    high_ms = (figure["high"] or 0) / NS_PER_MS or low_ms
    middle_ms = sqrt(low_ms * high_ms)
    return Claim(name, "ms", measured_ms, middle_ms, _TAIL_PCT, low=low_ms, high=high_ms, note=_WAITING_KERNEL)


def _least_outside(repeats: Sequence[Mapping[str, Any]]) -> float:
    """Return by how many percent throughput was below its mean in the worst window outside of all checkpoints."""
    least: list[float] = []
    for one in repeats:
        rates, window_s = one["windows_per_s"], one["window_s"]
        spans = [(check["start_s"], check["end_s"] or one["cell"]["run_s"]) for check in one["checkpoints"]]
        outside = [
            rate
            for place, rate in enumerate(rates)
            if all((place + 1) * window_s <= start_s or place * window_s >= end_s for start_s, end_s in spans)
        ]
        least.append(1 - min(outside) / mean(rates))
    return 100 * mean(least)


def _p95(name: str, target: Cell, found: Predicted) -> Claim:
    """Return the claim of the 95th percentile, or of the share of slow ones where that is near and the other is not."""
    measured_ms, slow = target.figures["p95_ms"], target.figures["slow"]
    if abs(found.p95_ms / measured_ms - 1) > FAR and abs(found.slow - slow) <= SLOW_APART:
        slow_pct, apart = 100 * slow, 100 * SLOW_APART
        within = (slow_pct - apart, slow_pct + apart)
        return Claim(f"{name}: slower than 10 ms", "%", slow_pct, 100 * found.slow, 0, within=within)
    return Claim(f"{name}: p95", "ms", measured_ms, found.p95_ms, 100 * FAR)
