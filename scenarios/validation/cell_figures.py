"""Runs of a real PostgreSQL with one pool and one cap each, cells of a measurement: what was asked for, and what is
compared of them, measured or predicted.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

#: A lookup of a row by its key; an update of one, and a lookup; pgbench's own transaction.
Script = Literal["reads", "updates", "tpcb"]
RUNS = "runs.json"
#: A transaction above this has waited for an allowance: a tenth of the 100 ms for which the kernel's cap gives one.
SLOW_MS = 10.0
#: So far apart are the median and the 99th percentile of a distribution with two humps: those that waited, and those
#: that did not.
_HUMPS_APART = 10.0
_READS = "client backend/relation/normal.reads"  # of pg_stat_io


@dataclass(frozen=True)
class Figures:
    """Of a run; ``misses`` are pages that clients read into the pool, a transaction."""

    transactions_per_s: float
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    slow_share: float
    misses: float

    @classmethod
    def measured(cls, result: Mapping[str, Any]) -> Self:
        """Take them from a cell's ``result.json``."""
        quantiles = result["quantiles_ms"]
        return cls(
            result["transactions_per_s"],
            result["mean_ms"],
            quantiles["0.5"],
            quantiles["0.95"],
            quantiles["0.99"],
            result["slow_share"],
            result["counted"].get(_READS, 0.0) / result["transactions"],
        )

    @classmethod
    def simulated(cls, ended_s: Sequence[NDArray[np.float64]], run_s: float, pause_s: float, misses: float) -> Self:
        """Make them of the ends of each client's transactions; a client pauses for *pause_s* before each."""
        within = [one[one <= run_s] for one in ended_s]
        latency_ms = np.concatenate([np.diff(one, prepend=0.0) - pause_s for one in within]) * 1e3
        p50, p95, p99 = (float(value) for value in np.quantile(latency_ms, (0.5, 0.95, 0.99)))
        return cls(len(latency_ms) / run_s, float(latency_ms.mean()), p50, p95, p99, slow_share(latency_ms), misses)

    @classmethod
    def mean(cls, repeats: Sequence[Self]) -> Self:
        """Average repeats of a run."""
        return cls(*np.mean([tuple(vars(one).values()) for one in repeats], axis=0).tolist())

    @property
    def two_humped(self) -> bool:
        """Tell whether the distribution of latencies has two humps."""
        return self.p99_ms > _HUMPS_APART * self.p50_ms


def slow_share(latency_ms: NDArray[np.float64]) -> float:
    """Return the share of transactions that took longer than ``SLOW_MS``."""
    return float((latency_ms > SLOW_MS).mean())


@dataclass(frozen=True)
class Conditions:
    """What a run was asked for; without *iops* the device had no cap."""

    script: Script
    shared_buffers: str  # as PostgreSQL writes it
    iops: int | None
    run_s: float

    @property
    def name(self) -> str:
        """Return it in short, for tables; it has a cap."""
        return f"{self.script}, {self.shared_buffers.replace('MB', ' MiB')}, {self.iops:,}/s"

    @property
    def place(self) -> tuple[str, int, int]:
        """Return where it stands in a table: by load, cap and pool."""
        return self.script, self.iops or 0, int(self.shared_buffers.removesuffix("MB"))


@dataclass(frozen=True)
class MeasuredRun:
    """A run; when it began, the last checkpoint had begun ``since_checkpoint_s`` ago."""

    name: str
    conditions: Conditions
    since_checkpoint_s: float
    device_latency_ns: int  # of a read without a cap, before the run
    figures: Figures


def read_runs(results: Path) -> list[MeasuredRun]:
    """Read the runs that are kept in a folder."""
    return [
        MeasuredRun(**one | {"conditions": Conditions(**one["conditions"]), "figures": Figures(**one["figures"])})
        for one in json.loads((results / RUNS).read_text(encoding="utf-8"))
    ]
