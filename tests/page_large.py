"""Large traces for the pages, made up in blocks: memory does not grow with their length."""

from pathlib import Path

import numpy as np

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.survey import survey
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.schema import DATA_READ, DATA_WRITE, LOG_WRITE, READ, WRITE

BLOCK = 1_000_000


def write_large_trace(target: Path, count: int, per_s: float) -> Path:
    """Write a bundle of reads, writes and log writes as a Poisson process, with measured latencies."""
    now_ns = 0
    with write_bundle(target) as (writer, fields):
        writer.file_names += ["data", "log"]
        for seed in range(-(-count // BLOCK)):
            rows = min(BLOCK, count - seed * BLOCK)
            generator = np.random.default_rng(seed)
            times = now_ns + np.cumsum(generator.exponential(1e9 / per_s, rows)).astype(np.int64)
            now_ns = int(times[-1])
            kind = generator.choice(3, rows, p=[0.6, 0.25, 0.15])
            log = kind == 2
            nothing = np.full(rows, -1, np.int64)
            writer.append(
                Requests(
                    time_ns=times,
                    op=np.where(kind == 0, READ, WRITE).astype(np.uint8),
                    file=log.astype(np.int32),
                    offset_bytes=np.where(log, np.cumsum(log) % 100_000, generator.integers(0, 2_000_000, rows)) * 8192,
                    length_bytes=np.full(rows, 8192),
                    stream=np.full(rows, -1, np.int32),
                    purpose=np.array([DATA_READ, DATA_WRITE, LOG_WRITE], np.uint8)[kind],
                    issue_ns=nothing,
                    command=nothing,
                    latency_ns=generator.integers(50_000, 500_000, rows),
                    flags=np.zeros(rows, np.uint8),
                )
            )
        fields["source_format"] = "made up"
    return target


def large_result(folder: Path, count: int, per_s: float, scenario: str = "pcie-flash") -> Result:
    """Replay such a trace."""
    trace = write_large_trace(folder / "large.trace", count, per_s)
    return replay(survey(Bundle(trace)), load_scenario(scenario))
