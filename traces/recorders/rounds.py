"""The rounds of a recording of a server: snapshots at intervals, samples of its sessions in between, into a bundle that
grows.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from tiersim.errors import RecordingError
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.statistics import Snapshot

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """How long a server is recorded, in seconds; ``sample_s`` 0 takes no samples."""

    length_s: float
    interval_s: float
    sample_s: float
    with_pool: bool = False


class NotShownError(RecordingError):
    """A query that the server did not answer; ``why`` is the recorder's phrase, not the server's text."""

    def __init__(self, why: str) -> None:
        """Say *why*."""
        super().__init__(f"the server did not answer: {why}")
        self.why = why


class RecordedServer(Protocol):
    """A server that is recorded; ``recorded`` has its queries, and what was lost and why."""

    recorded: Recorded

    def take(self, *, at_end: bool = False) -> Snapshot:
        """Take a snapshot; raises RecordingError when the server is gone."""

    def sample(self) -> Snapshot | None:
        """Count the sessions by what they do and wait for; None when the server does not say."""


def record_rounds(
    first: Snapshot,
    snapshots: RecordedServer,
    bundle: GrowingBundle,
    plan: Plan,
    ended: Event,
    progress: Progress | None,
) -> None:
    """Do what is due and wait for what is next; what was missed is not made up for."""
    start = time.monotonic()
    taken = [first]  # and not yet kept
    next_snapshot, next_sample = plan.interval_s, plan.sample_s or plan.length_s
    try:
        _keep(bundle, taken, snapshots)
        while not ended.is_set() and (now := time.monotonic() - start) < plan.length_s:
            if progress is not None:
                progress(int(now), int(plan.length_s))
            if now >= next_snapshot:
                taken.append(snapshots.take())
                _keep(bundle, taken, snapshots)
                next_snapshot = _next(now, plan.interval_s)
            elif now >= next_sample:
                sample = snapshots.sample()
                taken += [] if sample is None else [sample]
                next_sample = _next(now, plan.sample_s)
            else:
                ended.wait(min(next_snapshot, next_sample, plan.length_s) - now)
        taken.append(snapshots.take(at_end=True))
    finally:
        _keep(bundle, taken, snapshots)


def _next(now_s: float, every_s: float) -> float:
    return (now_s // every_s + 1) * every_s


def _keep(bundle: GrowingBundle, taken: list[Snapshot], snapshots: RecordedServer) -> None:
    bundle.fields |= known(snapshots)
    bundle.add(taken, list(snapshots.recorded.queries.values()))
    taken.clear()


def known(snapshots: RecordedServer) -> dict[str, Any]:
    """Return what the manifest says of what was lost, and why."""
    recorded = snapshots.recorded
    return {"dropped": dict(recorded.dropped), "warnings": list(recorded.warnings)}
