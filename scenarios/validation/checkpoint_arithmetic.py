"""Checkpoints of PostgreSQL as servers logged them: how much log lies between them, and how long they write.

T. Vondra, pg-fs-benchmark (2022: version 16 in development, checkpoint_timeout = 15 min) and flushing-benchmark (2016:
9.6 in development).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.log_volume import (
    TIMEOUT_S,
    VERSION,
    distance_bytes,
    record_bytes,
    transactions_until,
)
from tiersim.simulator.database.checkpoint.checkpointer import (
    SEGMENT_BYTES,
    completion_target,
    distance_segments,
    write_phase_ns,
)
from tiersim.units import NS_PER_S

_GIB, _KIB = 1 << 30, 1 << 10
#: Version, max_wal_size in GiB, and the distance that was logged, in kB.
_DISTANCES = ((VERSION, 64, 35_307_545), (VERSION, 128, 70_631_420), (90600, 64, 26_836_971))
#: Of 139 checkpoints that the time asked for: the median of how long they wrote.
_TIMED_WRITE_S = 809.49


@dataclass(frozen=True)
class _Run:
    """Checkpoints that the log asked for: when each began, in seconds of the run, and how long it wrote."""

    host: str
    scale: int
    tps: float
    began_s: tuple[float, ...]
    wrote_s: tuple[float, ...]  # all but the last, whose end another one did not follow


_RUNS = (
    _Run("i5", 5000, 5_891, (700.1, 1436.0, 2187.9), (640.696, 654.782)),
    _Run(
        "xeon", 10_000, 30_977,
        (288.1, 622.8, 933.4, 1258.5, 1591.8, 1933.6, 2287.5, 2643.8, 3006.1),
        (297.520, 271.877, 283.912, 289.409, 298.363, 307.613, 310.838, 314.582),
    ),
    _Run(
        "xeon", 10_000, 20_284, (398.6, 853.7, 1296.8, 1773.1, 2284.1, 2820.2),
        (397.831, 383.552, 413.356, 442.733, 461.600),
    ),
)  # fmt: skip


def experiment() -> Experiment:
    """Distances, and write phases by trigger."""
    return Experiment(
        "checkpoint-arithmetic",
        "Checkpoints of PostgreSQL: their distance, and how long they write",
        "T. Vondra, pg-fs-benchmark and flushing-benchmark (server logs)",
        "nothing here; the rate is the published one, and how the log comes over an interval is as above",
        (*_distances(), *_writes()),
        basis="calibrated",
    )


def _distances() -> Iterator[Claim]:
    for version, size, logged_kb in _DISTANCES:
        target = 0.9 if version == VERSION else completion_target(version)
        segments = distance_segments(version, size * _GIB, target)
        major = version // 10_000 if version >= 100_000 else f"{version // 10_000}.{version // 100 % 100}"
        what = f"max_wal_size {size} GB, version {major}: distance"
        yield Claim(what, "GB", logged_kb * _KIB / 1e9, segments * SEGMENT_BYTES / 1e9, 0.1)


def _writes() -> Iterator[Claim]:
    """What time asks for writes its share of the time, what the log asks for until its share of the log is there.

    The log comes faster at first, when it has the images of pages.
    """
    target = completion_target(VERSION)
    timed_s = write_phase_ns(target, TIMEOUT_S * NS_PER_S) / NS_PER_S
    yield Claim("each 900 s: writes, median of 139", "s", _TIMED_WRITE_S, timed_s, 1)
    records = record_bytes()
    for run in _RUNS:
        where = f"{run.host}, scale {run.scale:,}, {run.tps:,.0f} per s"
        distance = distance_bytes(run.host)
        done = transactions_until(run.scale, 0, distance, records)
        for (began_s, next_s), wrote_s in zip(pairwise(run.began_s), run.wrote_s, strict=True):
            every = transactions_until(run.scale, done, distance, records)
            share = transactions_until(run.scale, done, target * distance, records) / every
            yield Claim(
                f"{where}, after {began_s:,.0f} s: writes", "s", wrote_s, share * (next_s - began_s), 5, figure="count"
            )
            done += every
        yield Claim(
            f"{where}: number {len(run.began_s)} begins after", "s", run.began_s[-1], done / run.tps, 5, figure="count"
        )
