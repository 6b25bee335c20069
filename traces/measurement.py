"""What a load generator measured: one direction of one job at one setting."""

from dataclasses import dataclass
from typing import Literal

#: Latency by percentage of the requests that took no longer, rising: ((99.0, 123_456), ...), nanoseconds.
Percentiles = tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class MeasuredPoint:
    """One point of a measurement. What is not known is None, never 0; percentiles that are not known are ()."""

    file: str  # that was read
    job: str  # its name in the file
    operation: Literal["read", "write"]
    iops: float | None
    pattern: Literal["random", "sequential"] | None = None
    block_bytes: int | None = None
    depth: int | None = None  # most requests outstanding: those of all jobs together
    jobs: int | None = None  # processes, threads
    read_share: float | None = None  # of the requests asked for: 1.0 reads only, 0.7 reads to writes 70:30
    sync_every: int | None = None  # made durable after so many writes; 0 never
    sync: str | None = (
        None  # how: fsync, fdatasync; O_SYNC, O_DSYNC, write-through: then it is part of the write's latency
    )
    beside: str = ""  # what ran at the same time, so that what was measured is of both
    pauses: bool = False  # between requests, so that fewer than *depth* are outstanding
    rate_limit_iops: float | None = None  # of this direction, all jobs together; None: as fast as it can
    requests: int | None = None
    seconds: float | None = None  # that were measured
    mean_ns: float | None = None
    stddev_ns: float | None = None
    least_ns: int | None = None
    most_ns: int | None = None
    percentiles: Percentiles = ()
    completion_only: bool | None = (
        None  # latencies begin when a request has been submitted; otherwise when submitting begins
    )
    submission_mean_ns: float | None = None  # from there to there
    sync_mean_ns: float | None = None  # of the fsync or fdatasync alone
    sync_percentiles: Percentiles = ()
    direct: bool | None = None  # past the page cache
    engine: str | None = None
    warnings: tuple[str, ...] = ()  # what makes the point other than it seems, a sentence each
