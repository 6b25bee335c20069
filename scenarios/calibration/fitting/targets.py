"""What a fit must come to: a load generator's settings, and the latencies that were measured with them.

Latencies count from when a request is handed over. Those of fio count from when it has been submitted; what lies
between follows from Little's law: a loop of depth N at rate X takes N/X for each request.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.traces.measurement import MeasuredPoint
from tiersim.units import format_bytes

#: Percentiles that count, where they were measured.
PERCENTS = (50.0, 95.0, 99.0)
MEDIAN = 50.0


@dataclass(frozen=True, order=True)
class Setting:
    """What a load generator was told to do, with nothing between one request and the next of a loop."""

    pattern: Literal["random", "sequential"]
    block_bytes: int
    depth: int  # outstanding, of all jobs together
    jobs: int
    read_share: float
    sync_every: int  # a flush after so many writes; 0: none

    def __str__(self) -> str:
        """Say it as a person would."""
        mix = {1.0: "reads", 0.0: "writes"}.get(self.read_share, f"{self.read_share:.0%} reads")
        synchronous = f", flushed after {self.sync_every}" if self.sync_every else ""
        return f"{self.pattern} {mix}, {format_bytes(self.block_bytes)}, depth {self.depth}{synchronous}"


@dataclass(frozen=True)
class Latencies:
    """Of one operation: mean, and percentiles by percent, ns."""

    mean_ns: float
    percentiles_ns: dict[float, float]


@dataclass(frozen=True)
class HostSpread:
    """What a host adds to a request alone: nothing to half of them, and to the slower ones so much more by percent.

    The drive serves a read from its memory always alike, so what such reads take beyond their median is the host's. A
    longer request than these takes the host longer to hand over, too.
    """

    percents: tuple[float, ...] = ()
    added_ns: tuple[float, ...] = ()
    ns_per_byte: float = 0.0
    block_bytes: int = 0  # from which on

    @classmethod
    def of_reads_from_memory(cls, latencies: Latencies) -> "HostSpread":
        """What they show; nothing without a median."""
        percents = tuple(percent for percent in sorted(latencies.percentiles_ns) if percent >= MEDIAN)
        if percents[:1] != (MEDIAN,):
            return cls()
        median_ns = latencies.percentiles_ns[MEDIAN]
        return cls(percents, tuple(latencies.percentiles_ns[percent] - median_ns for percent in percents))

    def drawn_ns(self, count: int, block_bytes: int) -> NDArray[np.float64]:
        """What it adds to each of *count* requests, the same every time: straight lines between the percentiles."""
        if not self.percents:
            return np.zeros(count)
        drawn_percent = 100 * np.random.default_rng(count).random(count)
        longer_ns = self.ns_per_byte * max(block_bytes - self.block_bytes, 0)
        return np.interp(drawn_percent, self.percents, self.added_ns) + longer_ns


@dataclass(frozen=True)
class FitTarget:
    """One setting and what was measured with it; *latencies* by operation."""

    setting: Setting
    requests_per_s: float
    latencies: dict[str, Latencies]
    runs: int  # that it is the mean of


#: A mean latency that is longer than a loop's depth over its rate by more than this share contradicts Little's law.
_CONTRADICTION = 0.05


def targets(measured: Iterable[MeasuredPoint]) -> tuple[list[FitTarget], list[str]]:
    """Bring points together: directions of one job, then runs of one setting; sorted by setting.

    Returns them and, in a sentence each, what was left out. Raises ScenarioError when there is none that a closed loop
    can repeat.
    """
    jobs: dict[tuple[str, str], list[MeasuredPoint]] = {}
    for point in measured:
        jobs.setdefault((point.file, point.job), []).append(point)
    runs: dict[Setting, list[tuple[float, dict[str, Latencies]]]] = {}
    left_out: list[str] = []
    for points in jobs.values():
        setting = _setting(points)
        if isinstance(setting, str):
            left_out.append(f"{points[0].file}, {points[0].job}: {setting}")
        else:
            runs.setdefault(setting, []).append(_run(setting, points))
    if not runs:
        raise ScenarioError(
            "nothing that was measured can be repeated: a point needs block size, depth, pattern, rate and mean"
            " latency, direct IO, no pauses, no limit to its rate, and no other job at the same time"
        )
    return [_mean(setting, runs[setting]) for setting in sorted(runs)], left_out


def _setting(points: Sequence[MeasuredPoint]) -> Setting | str:
    """What all directions of a job were told, or why a closed loop cannot repeat it."""
    first = points[0]
    if not first.pattern or not first.block_bytes or not first.depth or first.read_share is None:
        return "block size, depth, pattern or share of reads is not known"
    if first.direct is False:
        return "went through the page cache"
    if first.beside:  # nobody knows what either would have done alone
        return f"{first.beside} ran at the same time"
    if first.pauses:  # its rate tells how long it paused, and nothing of the drive
        return "it paused between requests"
    if any(point.rate_limit_iops for point in points):
        return "its rate was limited"
    synchronous = first.sync_every or 0
    if any(not point.iops or (point.mean_ns is None and not synchronous) for point in points):
        return "rate or mean latency is not known"
    outstanding = sum((point.iops or 0) * (point.mean_ns or 0) for point in points) / 1e9
    if not synchronous and outstanding > first.depth * (1 + _CONTRADICTION):
        return f"rate x latency is {outstanding:.1f}, more than the {first.depth} outstanding that its depth allows"
    return Setting(first.pattern, first.block_bytes, first.depth, first.jobs or 1, first.read_share, synchronous)


def _run(setting: Setting, points: Sequence[MeasuredPoint]) -> tuple[float, dict[str, Latencies]]:
    rate = sum(point.iops or 0.0 for point in points)
    if setting.sync_every:  # what a load generator counts into the latency of such a write differs: the rate tells
        return rate, {}
    completion_ns = sum((point.iops or 0) * (point.mean_ns or 0) for point in points) / rate
    submission_ns = 0.0
    if any(point.completion_only is not False for point in points):
        submission_ns = max(0.0, setting.depth * 1e9 / rate - completion_ns)
    latencies: dict[str, Latencies] = {}
    for point in points:
        percentiles = {percent: ns + submission_ns for percent, ns in point.percentiles if percent in PERCENTS}
        latencies[point.operation] = Latencies((point.mean_ns or 0) + submission_ns, percentiles)
    return rate, latencies


def _mean(setting: Setting, runs: list[tuple[float, dict[str, Latencies]]]) -> FitTarget:
    def average(values: list[float]) -> float:
        return sum(values) / len(values)

    latencies = {}
    for operation in runs[0][1]:
        own = [found[operation] for _, found in runs if operation in found]
        percents = [percent for percent in PERCENTS if all(percent in one.percentiles_ns for one in own)]
        latencies[operation] = Latencies(
            average([one.mean_ns for one in own]),
            {percent: average([one.percentiles_ns[percent] for one in own]) for percent in percents},
        )
    return FitTarget(setting, average([rate for rate, _ in runs]), latencies, len(runs))
