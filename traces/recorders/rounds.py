"""The rounds of a recording of a server: snapshots at intervals, samples of its sessions in between, into a bundle that
grows.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from threading import Event
from typing import Any, Generic, TypeVar

from tiersim.errors import RecordingError
from tiersim.traces.bundle import Manifest
from tiersim.traces.readers.recorded import Key, Recorded
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.recorders.local_host import host_values
from tiersim.traces.recorders.steady_clock import SteadyClock, steady_ns
from tiersim.traces.statistics import Snapshot, Values
from tiersim.units import NS_PER_S

Row = dict[str, str | None]
Said = dict[Key, dict[str, Decimal | str]]
#: A view of a server, by ``name``; ``at_ends``: that is asked for in the first and the last snapshot alone.
View = TypeVar("View", bound=Any)
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


def unix_ns(row: Row) -> int:
    """Return when a server said *row*, by its own clock."""
    return int(Decimal(row["unix_s"] or 0) * NS_PER_S)


class ServerSnapshots(ABC, Generic[View]):
    """Takes snapshots of a server; ``recorded`` has its queries, and what was lost and why.

    A view that the first snapshot cannot read is not asked again. When one fails later, that snapshot says nothing of
    its subjects: counters that come and go would be taken for new ones that count from 0.
    """

    def __init__(self, ask: Callable[[str], list[Row]], views: list[View], *, local: bool) -> None:
        """Prepare snapshots of *views*, and of the host of a *local* server.

        *ask* returns what SQL gives, and raises NotShownError when that is nothing, RecordingError when it is lost.
        """
        self.recorded = Recorded()
        self.local = local
        self._ask = ask
        self._views = views
        self._clock = SteadyClock()
        self._first = True
        self._subjects: dict[str, set[str]] = {}  # of each view

    @abstractmethod
    def take(self, *, at_end: bool = False) -> Snapshot:
        """Take a snapshot; raises RecordingError when the server is gone."""

    @abstractmethod
    def sample(self) -> Snapshot | None:
        """Count the sessions by what they do and wait for; None when the server does not say."""

    @abstractmethod
    def _values_of(self, view: View) -> Said:
        """Return what a view says; raises NotShownError."""

    def _counted(self, *, at_end: bool) -> tuple[list[tuple[Key, Values]], set[str]]:
        """Return what all views say that are due, and the host; and the subjects that a view failed to say."""
        found: list[tuple[Key, Values]] = []
        lost: set[str] = set()
        for view in [view for view in self._views if self._first or at_end or not view.at_ends]:
            try:
                said = self._values_of(view)
            except NotShownError as refusal:
                lost |= self._subjects.get(view.name, set())
                self._lose(view, refusal.why)
                continue
            self._subjects.setdefault(view.name, set()).update(subject for subject, _ in said)
            found += said.items()
        if self.local:
            found += host_values().items()
        return found, lost

    def _lose(self, view: View, why: str) -> None:
        if self._first:
            self._views.remove(view)
            self.recorded.warnings.append(f"{view.name} is not recorded: {why}")
        else:
            self.recorded.lose(f"snapshots of {view.name}: {why}", 1)

    def _rows_or_loss(self, sql: str, what: str) -> list[Row]:
        try:
            return self._ask(sql)
        except NotShownError as refusal:
            self.recorded.lose(f"{what}: {refusal.why}", 1)
            return []

    def _sampled(self, sql: str, values_of: Callable[[list[Row]], Said]) -> Snapshot | None:
        """Return what *sql* says of sessions; None when it says nothing."""
        asked_ns = steady_ns(local=self.local)
        rows = self._rows_or_loss(sql, "samples of sessions")
        return Snapshot(self._time_ns(rows[0], asked_ns), values_of(rows)) if rows else None

    def _moment(self, sql: str) -> tuple[int, list[Row]]:
        """Return when the server answered *sql*, and what."""
        asked_ns = steady_ns(local=self.local)
        rows = self._ask(sql)
        return self._time_ns(rows[0], asked_ns), rows

    def _time_ns(self, row: Row, asked_ns: int) -> int:
        """Return when the server said *row*, and note it where its clock was set."""
        said = len(self._clock.steps)
        time_ns = self._clock.read(unix_ns(row), asked_ns, steady_ns(local=self.local))
        self.recorded.warnings += self._clock.steps[said:]
        return time_ns


def record_rounds(
    first: Snapshot,
    snapshots: ServerSnapshots[Any],
    bundle: GrowingBundle,
    plan: Plan,
    ended: Event,
    progress: Progress | None,
) -> Manifest:
    """Record from the *first* snapshot on until the time of *plan* is over, or *ended*; returns the manifest.

    Raises RecordingError when the server is lost; *bundle* holds what was recorded until then.
    """
    try:
        _do_rounds(first, snapshots, bundle, plan, ended, progress)
    except RecordingError as error:
        sentence = f"{error} before the recording was over; it ends there"
        snapshots.recorded.warnings.append(sentence)
        bundle.fields |= known(snapshots)
        bundle.end()
        raise RecordingError(f"{sentence}, and {bundle.folder} holds it") from None
    return bundle.end()


def _do_rounds(
    first: Snapshot,
    snapshots: ServerSnapshots[Any],
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


def _keep(bundle: GrowingBundle, taken: list[Snapshot], snapshots: ServerSnapshots[Any]) -> None:
    bundle.fields |= known(snapshots)
    bundle.add(taken, list(snapshots.recorded.queries.values()))
    taken.clear()


def known(snapshots: ServerSnapshots[Any]) -> dict[str, Any]:
    """Return what the manifest says of what was lost, and why."""
    recorded = snapshots.recorded
    return {"dropped": dict(recorded.dropped), "warnings": list(recorded.warnings)}
