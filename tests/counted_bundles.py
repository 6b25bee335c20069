"""Bundles of counters made up for tests: executions with known truth, counted as pg_stat_statements counts them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis import SnapshotEvidence, Synthesis, synthesise
from tiersim.traces.differences import read_counters
from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS
from tiersim.traces.statistics import QUERIES, STATEMENTS, Snapshot, StatisticsWriter, Values, table_of, write_table
from tiersim.units import NS_PER_MS


@dataclass
class Truth:
    """Executions of one query, as they were."""

    duration_ns: NDArray[np.int64]
    read_ns: NDArray[np.int64]
    reads: NDArray[np.int64]
    more: Mapping[str, int] = field(default_factory=dict)  # sums of other counters

    def values(self, **texts: str) -> Values:
        """Return the counters of all of them."""
        ms = [Decimal(ns) / NS_PER_MS for ns in self.duration_ns.tolist()]
        mean = sum(ms, Decimal(0)) / len(ms)
        variance = sum(((x - mean) ** 2 for x in ms), Decimal(0)) / len(ms)
        counted = {name: Decimal(value) for name, value in self.more.items()}
        return {
            "calls": Decimal(len(ms)),
            "exec_ms": sum(ms, Decimal(0)),
            "exec_mean_ms": mean,
            "exec_stddev_ms": variance.sqrt(),
            "exec_min_ms": min(ms),
            "exec_max_ms": max(ms),
            "pages_read": Decimal(int(self.reads.sum())),
            "read_ms": Decimal(int(self.read_ns.sum())) / NS_PER_MS,
            **counted,
            **texts,
        }

    def and_then(self, later: "Truth") -> "Truth":
        """Return these executions and later ones."""
        both = {name: self.more.get(name, 0) + value for name, value in later.more.items()}
        return Truth(
            np.concatenate([self.duration_ns, later.duration_ns]),
            np.concatenate([self.read_ns, later.read_ns]),
            np.concatenate([self.reads, later.reads]),
            both,
        )


def executions(
    calls: int, seed: int, mean_us: float = 100, read_us: float = 200, reads: float = 0.5, **more: int
) -> Truth:
    """Make up executions with a long tail, some of which read pages."""
    luck = np.random.default_rng(seed)
    pages = luck.poisson(reads, calls)
    read_ns = (luck.gamma(0.5, 2 * read_us * 1000, calls) * pages).astype(np.int64)
    base_ns = (luck.lognormal(0, 0.7, calls) * mean_us * 1000).astype(np.int64) + 1000
    return Truth(base_ns + read_ns, read_ns, pages, {"pages_hit": 4 * calls, **more})


#: A row of statements.parquet.
Row = dict[str, int | str | None]


def simple(calls: int, exec_ms: str = "10", **more: str) -> Values:
    """Counters of a source that has hardly any."""
    return {"calls": Decimal(calls), "exec_ms": Decimal(exec_ms), **{k: Decimal(v) for k, v in more.items()}}


def bundle(
    folder: Path,
    snapshots: Sequence[tuple[int | None, Mapping[tuple[str, str], Values]]],
    texts: Mapping[str, str] | None = None,
    statements: Sequence[Row] = (),
) -> Path:
    """Write a bundle of counters; *texts* are by entity of the query."""
    folder.mkdir(exist_ok=True)
    writer = StatisticsWriter(folder)
    for time_ns, values in snapshots:
        writer.append(Snapshot(time_ns, values))
    writer.close()
    rows = [{"query": f"print of {text}", "entity": entity, "text": text} for entity, text in (texts or {}).items()]
    write_table(folder / QUERIES, QUERY_COLUMNS, table_of(QUERY_COLUMNS, rows))
    if statements:
        write_table(folder / STATEMENTS, STATEMENT_COLUMNS, table_of(STATEMENT_COLUMNS, statements))
    return folder


def synthesised(path: Path, seed: int) -> Synthesis:
    """Executions from the counters of a bundle."""
    evidence = SnapshotEvidence(path)
    return synthesise(read_counters(path, evidence), evidence, seed)
