"""Synthetic results of statements: three tiers of storage at several sizes of the buffer pool."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.page_samples import (
    CARD,
    CHECKPOINT_S,
    DISKS,
    INTERVALS,
    SPAN_NS,
    SSDS,
    Hardware,
    _bins,
    _series,
    _summary_of,
    made_once,
    sample,
)
from tiersim.simulator.result import Result

MIB = 1 << 20
POOLS = tuple(size * MIB for size in (64, 256, 1024, 4096))
RECORDED = 64 * MIB
TRANSACTIONS_PER_S = 200.0

#: Queries of a transaction: calls in it, CPU in µs, pages that a call asks for.
QUERIES = {
    "7123": (1.0, 180.0, 3.0),
    "-4711": (2.0, 90.0, 4.0),
    "902": (0.05, 12_000.0, 40.0),
}
TEXTS = {
    "7123": "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
    "-4711": "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
    "902": "SELECT count(*)\n  FROM pgbench_history h\n  JOIN pgbench_tellers t USING (tid)\n WHERE h.mtime > $1",
}

#: Texts of queries that a page might run, or break at.
HOSTILE_TEXTS = {
    "script": "</script><script>alert(1)</script><img src=x onerror=alert(2)> SELECT '\"&amp;%{x}'",
    "right to left": (
        "SELECT \u202e\u05e9\u05dc\u05d5\u05dd FROM \u0627\u0644\u0639\u0645\u0644\u0627\u0621 \u2028 WHERE a = $1"
    ),
    "emoji": "SELECT '\U0001f468\u200d\U0001f469\u200d\U0001f467' " * 60,
    "=1+2": "\ud800 broken \x00 bytes",
    "long": "SELECT " + "x" * 1_000_000,
}


COMMIT_SHARES = {
    "cpu": 0.05,
    "cpu queue": 0.05,
    "data read": 0.0,
    "eviction": 0.0,
    "log": 0.9,
    "lock": 0.0,
    "temp": 0.0,
    "copy": 0.0,
}


def _miss_ratio(pool_bytes: int) -> float:
    return 0.45 * float(np.sqrt(RECORDED / pool_bytes))


def _query(
    name: str, hardware: Hardware, miss_ratio: float, transactions: int, rng: np.random.Generator
) -> dict[str, Any]:
    calls_per, cpu_us, pages = QUERIES[name]
    calls = max(int(calls_per * transactions), 40)
    reads = rng.poisson(pages * miss_ratio, calls)
    read_ns = reads * hardware.typical_ms["data read"] * 1e6
    latency_ns = (rng.exponential(cpu_us * 1e3, calls) + read_ns + 1000).astype(np.int64)
    figures = _summary_of(latency_ns, hardware.load == "saturated")
    mean_ns = float(latency_ns.mean())
    spent = {
        "cpu": mean_ns - float(read_ns.mean()) * 0.98, "cpu queue": 0.0, "data read": float(read_ns.mean()) * 0.95,
        "eviction": float(read_ns.mean()) * 0.03, "log": 0.0, "lock": 0.0, "temp": 0.0, "copy": 0.0,
    }  # fmt: skip
    return {
        **figures,
        "breakdown_ns": spent,
        "physical_reads_per_call": float(reads.mean()),
        "text": TEXTS[name],
        "executions": "synthesised from counters",
        "cpu": "what is left of the execution time after its reads",
    }


#: When checkpoints begin and have written, in seconds; the first ends with that of the samples of requests, the second
#: is under way at the end.
WRITTEN_S, SECOND_S = 69.5, 112.0
PAGES, LOG_BYTES = 41_000, 3_200


def _checkpoints(timeline: pa.Table) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Checkpoints, and throughput and latency inside and outside of them, as the timeline has them."""
    start_s = timeline["start_ns"].to_numpy() / 1e9
    first = (start_s >= CHECKPOINT_S[0]) & (start_s < CHECKPOINT_S[1])
    second = (start_s >= SECOND_S) & (start_s < SPAN_NS / 1e9)

    def latency(chosen: np.ndarray) -> dict[str, Any]:
        found = {}
        for name in ("transaction", "commit"):
            own = chosen & (np.array(timeline["class"].to_pylist()) == name)
            arrivals = timeline["arrivals"].to_numpy()[own]
            mean = float((timeline["mean_ns"].to_numpy()[own] * arrivals).sum() / arrivals.sum())
            found[name] = {"count": int(arrivals.sum()), "mean": mean, "p95": 2.1 * mean}
        return found

    def side(chosen: np.ndarray, seconds: float) -> dict[str, Any]:
        found = latency(chosen)
        per_s = found["transaction"]["count"] / seconds
        return {"duration_ns": round(seconds * 1e9), "transactions_per_s": per_s, "latency_ns": found}

    common = {"pages": PAGES, "basis": "simulated", "log_bytes": 700 * MIB}
    begun = {
        "start_ns": round(CHECKPOINT_S[0] * 1e9),
        "end_ns": round(CHECKPOINT_S[1] * 1e9),
        "trigger": "time",
        "dip_pct": 21.5,
    }
    times = {
        "write_ns": round((WRITTEN_S - CHECKPOINT_S[0]) * 1e9),
        "sync_ns": round((CHECKPOINT_S[1] - WRITTEN_S) * 1e9),
    }
    pages = {"written_pages": PAGES - 7, "writes": PAGES - 7, "bytes": (PAGES - 7) * 8192}
    under_way = {
        "start_ns": round(SECOND_S * 1e9),
        "end_ns": None,
        "write_ns": None,
        "sync_ns": None,
        "trigger": "log",
        "dip_pct": -0.5,
    }
    few = {"written_pages": 9000, "writes": 9000, "bytes": 9000 * 8192}
    seconds = CHECKPOINT_S[1] - CHECKPOINT_S[0] + SPAN_NS / 1e9 - SECOND_S
    inside, outside = first | second, ~(first | second) & (start_s < SPAN_NS / 1e9)
    return [
        {**common, **begun, **times, **pages, "latency_ns": latency(first)},
        {**common, **under_way, **few, "latency_ns": latency(second)},
    ], {"inside": side(inside, seconds), "outside": side(outside, SPAN_NS / 1e9 - seconds)}


def _database(transactions: np.ndarray) -> pa.Table:
    """Dirty pages that grow and that a checkpoint writes, and a log that grows faster behind its begin."""
    step = SPAN_NS // INTERVALS
    start = np.arange(INTERVALS) * step
    at_s = start / 1e9
    phase = [
        (
            "writing"
            if CHECKPOINT_S[0] <= at < WRITTEN_S or at >= SECOND_S
            else "syncing"
            if WRITTEN_S <= at < CHECKPOINT_S[1]
            else "none"
        )
        for at in at_s
    ]
    writing = np.array([name == "writing" for name in phase])
    dirty = np.maximum(np.cumsum(np.where(writing, -500, 350)) + 12_000, 3000)
    images = 4 * np.exp(-((at_s - CHECKPOINT_S[0]) % (SECOND_S - CHECKPOINT_S[0])) / 8)
    log_bytes = (transactions * LOG_BYTES * (1 + images)).astype(np.int64)
    columns = {
        "start_ns": start, "end_ns": start + step, "dirty_pages": dirty.astype(np.int64), "log_bytes": log_bytes,
        "log_flushes": transactions // 2, "checkpoint_pages": np.where(writing, 700, 0), "checkpoint_phase": phase,
        "transactions": transactions,
    }  # fmt: skip
    return pa.table(columns)


@made_once
def statement_sample(
    hardware: Hardware, pool_bytes: int = RECORDED, texts: Mapping[str, str] | None = None, *, name: str | None = None
) -> Result:
    """One result of statements on such hardware with a pool of this size."""
    miss_ratio = _miss_ratio(pool_bytes)
    typical = 1.0 + 13 * miss_ratio * hardware.typical_ms["data read"]
    commit = hardware.typical_ms["log write"] + hardware.typical_ms["log flush"]
    above = replace(hardware, typical_ms={**hardware.typical_ms, "transaction": typical, "commit": commit})
    rng = np.random.default_rng(pool_bytes % 1_000_003 + sum(hardware.name.encode()))
    counts = {
        one: rng.poisson(TRANSACTIONS_PER_S * SPAN_NS / 1e9 / INTERVALS, INTERVALS) for one in ("transaction", "commit")
    }
    middle_s = (np.arange(INTERVALS) + 0.5) * SPAN_NS / 1e9 / INTERVALS
    counts["checkpoint write"] = ((middle_s >= CHECKPOINT_S[0]) & (middle_s < CHECKPOINT_S[1])).astype(np.int64)
    samples, timeline = _series(above, rng, counts)
    transactions = int(counts["transaction"].sum())
    below = sample(hardware, measured=False)
    checkpoints, impact = _checkpoints(timeline)
    commit_ns = float(samples["commit"].mean())
    bins = [(one, *_bins(samples[one])) for one in ("transaction", "commit")]
    latency = pa.table(
        {
            "class": [one for one, low, _, _ in bins for _ in low],
            "low_ns": np.concatenate([low for _, low, _, _ in bins]),
            "high_ns": np.concatenate([high for _, _, high, _ in bins]),
            "count": np.concatenate([count for _, _, _, count in bins]),
        }
    )
    queries = {one: _query(one, hardware, miss_ratio, transactions, rng) for one in QUERIES}
    for one, text in (texts or {}).items():
        queries[one] = {**_query("902", hardware, miss_ratio, transactions, rng), "text": text}
    saturated = hardware.load == "saturated"
    rate = transactions / SPAN_NS * 1e9 * (0.83 if saturated else 1)
    size = f"{pool_bytes // MIB} MiB"
    extrapolated = not RECORDED / 4 <= pool_bytes <= RECORDED * 4
    summary = below.summary
    rates = {"transactions": rate, "statements": rate * 3.05}
    summary.update(
        name=name or hardware.name,
        level="statements",
        trace={
            **summary["trace"],
            "requests": 0,
            "statements": int(transactions * 3.05),
            "transactions": transactions,
            "inferred": ["Clients were taken from the log."],
            "source_format": "postgres-statistics",
            "hash": "77ab01",
        },
        verdict={**summary["verdict"], "cache": "warm", "arrivals": "synthetic"},
        commands=int(transactions * 3.05),
        throughput_per_s={
            **summary["throughput_per_s"],
            **{
                key: {"value": one, "low": one, "high": one, "resolved": True, "basis": "completed"}
                for key, one in rates.items()
            },
        },
        hit_ratio={"pool": 1 - miss_ratio, "os_cache": None},
        latency_ns={
            **{one: _summary_of(samples[one], saturated) for one in ("transaction", "commit")},
            **summary["latency_ns"],
        },
        queries=queries,
        commit_breakdown_ns={part: commit_ns * share for part, share in COMMIT_SHARES.items()},
        checkpoints=checkpoints,
        checkpoint_impact=None if saturated else impact,
        stalls={
            "count": 2,
            "low": 0.355,
            "high": 6.296,
            "longest_ns": 1_800_000_000,
            "total_ns": 3_000_000_000,
            "depth_pct": 97.0,
        },
        log={
            "flushes": transactions // 2,
            "commits": transactions,
            "commits_per_flush": 2.0,
            "bytes": transactions * LOG_BYTES,
            "written_bytes": transactions * 8192,
            "bytes_per_transaction": float(LOG_BYTES),
            "full_page_images": transactions // 5,
            "sync_mean_ns": commit_ns * 0.8,
        },
        host={"cores": 8, "core_speed": 1.0, "utilisation": 0.23, "costs_ns": {"read_ns": 9000}},
        engine={"kind": "postgresql", "version": "18", "buffer_pool_bytes": pool_bytes, "frames": pool_bytes // 8192},
        settings_from={
            "host.cores": "recorded",
            "host.core_speed": "default: cores are as fast as the recorded ones",
            "engine.version": "recorded",
            "engine.buffer_pool": "scenario",
        },
        extrapolated=extrapolated,
        inferred=["Rows that a statement looks up were drawn from the popularity of their table."],
        caveats=(
            [f"extrapolated: a pool of {size} is more than four times as large or small as the recorded one"]
            if extrapolated
            else []
        ),
        replay={
            "mode": "partly-open",
            "load": 1.0,
            "sessions": 16,
            "transactions": transactions,
            "counted_ns": {"from": 0, "until": SPAN_NS},
        },
    )
    toml = below.scenario_toml + f'\n[engine]\nkind = "postgresql"\nbuffer_pool = "{size}"\n'
    return replace(
        below,
        summary=summary,
        latency=pa.concat_tables([latency, below.latency]),
        timeline=pa.concat_tables(
            [timeline.filter(pc.not_equal(timeline["class"], "checkpoint write")), below.timeline]
        ),
        scenario_toml=toml,
        database=_database(counts["transaction"]),
    )


def pool_samples(hardware: Sequence[Hardware] = (DISKS, SSDS, CARD), pools: Sequence[int] = POOLS) -> list[Result]:
    """Every tier at every size of the pool."""
    return [statement_sample(one, size) for one in hardware for size in pools]
