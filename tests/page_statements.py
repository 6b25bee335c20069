"""Synthetic results of statements: three tiers of storage at several sizes of the buffer pool."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.page_samples import CARD, DISKS, INTERVALS, SPAN_NS, SSDS, Hardware, _bins, _series, _summary_of, sample
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
        "eviction": float(read_ns.mean()) * 0.03, "log": 0.0, "lock": 0.0, "temp": 0.0,
    }  # fmt: skip
    return {
        **figures,
        "breakdown_ns": spent,
        "physical_reads_per_call": float(reads.mean()),
        "text": TEXTS[name],
        "executions": "synthesised from counters",
        "cpu": "what is left of the execution time after its reads",
    }


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
    counts["checkpoint write"] = np.zeros(INTERVALS, np.int64)
    samples, timeline = _series(above, rng, counts)
    transactions = int(counts["transaction"].sum())
    below = sample(hardware, measured=False)
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
            **summary["trace"], "requests": 0, "statements": int(transactions * 3.05), "transactions": transactions,
            "inferred": ["Clients were taken from the log."], "source_format": "postgres-statistics", "hash": "77ab01",
        },
        verdict={**summary["verdict"], "cache": "warm", "arrivals": "synthetic"},
        commands=int(transactions * 3.05),
        throughput_per_s={
            **summary["throughput_per_s"],
            **{key: {"value": one, "low": one, "high": one, "resolved": True, "basis": "completed"} for key, one in rates.items()},
        },
        hit_ratio={"pool": 1 - miss_ratio, "os_cache": None},
        latency_ns={
            **{one: _summary_of(samples[one], saturated) for one in ("transaction", "commit")}, **summary["latency_ns"],
        },
        queries=queries,
        host={"cores": 8, "core_speed": 1.0, "utilisation": 0.23, "costs_ns": {"read_ns": 9000}},
        engine={"kind": "postgresql", "version": "18", "buffer_pool_bytes": pool_bytes, "frames": pool_bytes // 8192},
        settings_from={
            "host.cores": "recorded", "host.core_speed": "default: cores are as fast as the recorded ones",
            "engine.version": "recorded", "engine.buffer_pool": "scenario",
        },
        extrapolated=extrapolated,
        inferred=["Rows that a statement looks up were drawn from the popularity of their table."],
        caveats=[f"extrapolated: a pool of {size} is more than four times as large or small as the recorded one"] if extrapolated else [],
        replay={"mode": "partly-open", "load": 1.0, "sessions": 16, "transactions": transactions},
    )  # fmt: skip
    toml = below.scenario_toml + f'\n[engine]\nkind = "postgresql"\nbuffer_pool = "{size}"\n'
    return replace(
        below,
        summary=summary,
        latency=pa.concat_tables([latency, below.latency]),
        timeline=pa.concat_tables(
            [timeline.filter(pc.not_equal(timeline["class"], "checkpoint write")), below.timeline]
        ),
        scenario_toml=toml,
    )


def pool_samples(hardware: Sequence[Hardware] = (DISKS, SSDS, CARD), pools: Sequence[int] = POOLS) -> list[Result]:
    """Every tier at every size of the pool."""
    return [statement_sample(one, size) for one in hardware for size in pools]
