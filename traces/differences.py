"""What counters grew by from snapshot to snapshot, and what happened to them in between: resets,
evictions, restarts.

The counters of a bundle are read once: what they come to over the recording, and whether the load changed in it.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import sqrt
from pathlib import Path
from typing import Protocol

from tiersim.traces.counters import NOTHING, SINCE, SUBJECTS
from tiersim.traces.statistics import Snapshot, Values, read_snapshots

_ZERO = Decimal(0)
_STORE = "query store"  # where queries are kept


@dataclass
class EntityChange:
    """One entity over a recording: what its counters grew by, and what it said last of all else."""

    grown: dict[str, Decimal] = field(default_factory=dict)
    last: dict[str, Decimal | str] = field(default_factory=dict)

    def number(self, counter: str) -> Decimal | None:
        """Return what a counter grew by, or what a gauge said last; None when the source did not say."""
        found = self.grown.get(counter, self.last.get(counter))
        return found if isinstance(found, Decimal) else None


@dataclass
class Differences:
    """A recording's snapshots taken together.

    ``span_ns`` is the time between the first and the last snapshot that counts of each subject, None when it was not
    noted; ``snapshots`` how many there were of it. Of a subject that was seen once nothing has grown.
    """

    changes: dict[str, dict[str, EntityChange]] = field(default_factory=dict)
    snapshots: dict[str, int] = field(default_factory=dict)
    span_ns: dict[str, int | None] = field(default_factory=dict)
    resets: dict[str, list[str]] = field(
        default_factory=dict
    )  # subject → entities whose counters began anew in between
    evicted: dict[str, list[str]] = field(default_factory=dict)  # were there and are not
    restarts: int = 0

    def of(self, subject: str) -> dict[str, EntityChange]:
        """Return the changes of a subject by entity."""
        return self.changes.get(subject, {})

    def findings(self) -> list[str]:
        """Say what happened to the counters, a sentence each."""
        return [
            *self.lost_counts(),
            *(
                f"{subject}: {_named(entities)} left the view between snapshots (evicted or reset): their counts since"
                " the last snapshot that has them are lost"
                for subject, entities in sorted(self.evicted.items())
            ),
        ]

    def lost_counts(self) -> list[str]:
        """Say which counts are lost of all that was counted then, so that rates are too low, a sentence each."""
        said = []
        if self.restarts:
            times = "once" if self.restarts == 1 else f"{self.restarts} times"
            said.append(
                f"the server was restarted {times} between snapshots: counts between the last snapshot before and the"
                " restart are lost"
            )
        if self.resets:
            said.append(
                f"the counters of {', '.join(_counted(*reset) for reset in sorted(self.resets.items()))} were reset"
                " between snapshots: counts between the last snapshot before and the reset are lost, so their rates are"
                " too low; record again without a reset"
            )
        return said


def _named(entities: list[str]) -> str:
    distinct = sorted(set(entities))
    return distinct[0] if len(distinct) == 1 else f"{len(distinct):,} entities, such as {distinct[0]},"


def _counted(subject: str, entities: list[str]) -> str:
    distinct = set(entities)
    return f"{subject} ({entities[0] if len(distinct) == 1 else f'{len(distinct):,}'})"


@dataclass(frozen=True)
class SnapshotStep:
    """One subject from a snapshot to the next one that has it; before the first there is none (``then`` is None).

    Snapshots that count and those of gauges alone, which another tool took in between, follow each other apart.
    """

    subject: str
    counts: bool  # whether these snapshots hold counters
    start_ns: int | None
    end_ns: int | None
    then: Mapping[str, Values] | None  # by entity
    now: Mapping[str, Values]
    grown: Mapping[str, Mapping[str, Decimal]]  # by entity and counter
    reset: tuple[str, ...]  # entities whose counters began anew in between
    evicted: tuple[str, ...]  # were there and are not


#: A subject, and whether snapshots of it count.
_Track = tuple[str, bool]
#: The last that was said of each, by entity, and when.
_Before = dict[_Track, tuple[int | None, dict[str, Values]]]


def steps(snapshots: Iterable[Snapshot]) -> Iterator[SnapshotStep]:
    """Yield what the counters of each subject grew by, snapshot by snapshot; memory is that of two snapshots.

    What began anew between two snapshots (its ``since``, or that of the store of queries, is another, or a counter
    fell) counts from 0 in the later one. A query that was not there before counts from 0, too: it is new, or was
    evicted before it came back.
    """
    stepping = Stepping()
    for snapshot in snapshots:
        yield from stepping.to(snapshot)


class Stepping:
    """Goes from snapshot to snapshot, see :func:`steps`; holds the last that was said of each subject."""

    def __init__(self) -> None:
        """Begin before the first."""
        self._before: _Before = {}

    def to(self, snapshot: Snapshot) -> Iterator[SnapshotStep]:
        """Yield the steps to the next snapshot; all of them have to be taken."""
        return _steps_to(snapshot, self._before)


def _steps_to(snapshot: Snapshot, before: _Before) -> Iterator[SnapshotStep]:
    """Yield the steps to *snapshot*, which *before* then holds in place of the one before."""
    now: dict[str, dict[str, Values]] = {}
    for (subject, entity), values in snapshot.values.items():
        known = now.setdefault(subject, {})
        if values != NOTHING:
            known[entity] = values
    store = before.get((_STORE, _counts(_STORE, now.get(_STORE, {}))), (None, {}))[1]
    emptied = _changed(store, now.get(_STORE, {}), "statements", SINCE)
    for subject, entities in now.items():
        track = subject, _counts(subject, entities)
        start_ns, then = before.get(track, (None, None))
        yield _step(*track, start_ns, snapshot.time_ns, then, entities, emptied=emptied and subject == "query")
        before[track] = (snapshot.time_ns, entities)


class Differencing:
    """Adds up the differences of snapshots that come one after the other; ``found`` is the sum up to now."""

    def __init__(self) -> None:
        """Begin without any."""
        self.found = Differences()
        self._stepping = Stepping()
        self._first_ns: dict[_Track, int | None] = {}
        self._seen: dict[_Track, int] = {}

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot."""
        for step in self._stepping.to(snapshot):
            self._add(step)

    def _add(self, step: SnapshotStep) -> None:
        found, subject, track = self.found, step.subject, (step.subject, step.counts)
        found.restarts += subject == "server" and _changed(step.then or {}, step.now, "server", "started_at")
        self._seen[track] = self._seen.get(track, 0) + 1
        start_ns = self._first_ns.setdefault(track, step.end_ns)
        if step.counts or (subject, True) not in self._seen:  # rates are those of what counts
            found.snapshots[subject] = self._seen[track]
            found.span_ns[subject] = None if start_ns is None or step.end_ns is None else step.end_ns - start_ns
        changes = found.changes.setdefault(subject, {})
        if subject in SUBJECTS and SUBJECTS[subject].complete:
            for gone in changes.keys() - step.now.keys():
                del changes[gone]
        for entity, values in step.now.items():
            change = changes.setdefault(entity, EntityChange())
            grown = step.grown[entity]
            change.last.update({name: value for name, value in values.items() if name not in grown})
            for name, value in grown.items():
                change.grown[name] = change.grown.get(name, _ZERO) + value
        if step.reset:
            found.resets.setdefault(subject, []).extend(step.reset)
        if step.evicted:
            found.evicted.setdefault(subject, []).extend(step.evicted)


def differences(snapshots: Iterable[Snapshot]) -> Differences:
    """Take the differences of consecutive snapshots and add them up, see :func:`steps`."""
    differencing = Differencing()
    for snapshot in snapshots:
        differencing.add(snapshot)
    return differencing.found


def _changed(then: Mapping[str, Values], now: Mapping[str, Values], entity: str, word: str) -> bool:
    """Tell whether an entity says something else than before; False where one of both does not say it."""
    were, are = (values.get(entity, {}).get(word) for values in (then, now))
    return were is not None and are is not None and were != are


def _counts(subject: str, entities: Mapping[str, Values]) -> bool:
    """Tell whether a subject's entities hold counters; a view without rows counts none yet."""
    counters = SUBJECTS[subject].counters if subject in SUBJECTS else frozenset[str]()
    return bool(counters) and (not entities or any(name in counters for values in entities.values() for name in values))


def _step(
    subject: str,
    counts: bool,
    start_ns: int | None,
    end_ns: int | None,
    then: Mapping[str, Values] | None,
    now: Mapping[str, Values],
    *,
    emptied: bool,
) -> SnapshotStep:
    """Return what a subject's entities grew by since the snapshot before, of which there may be none.

    *emptied*: all of them were removed in between, and those that do not say themselves since when they count began
    anew.
    """
    counters = SUBJECTS[subject].counters if subject in SUBJECTS else frozenset[str]()
    grown: dict[str, dict[str, Decimal]] = {}
    reset = []
    for entity, values in now.items():
        numbers = {name: value for name, value in values.items() if name in counters and isinstance(value, Decimal)}
        if then is None:
            grown[entity] = dict.fromkeys(numbers, _ZERO)
            continue
        were = then.get(entity, {})
        anew = bool(were) and (_began_anew(were, values, numbers) or (emptied and SINCE not in values))
        if anew:
            reset.append(entity)
        starts = {name: _ZERO if anew else were.get(name, _ZERO) for name in numbers}
        grown[entity] = {
            name: max(value - start, min(value, _ZERO))  # what is below 0 cannot be, and is for the reader to refuse
            for name, value in numbers.items()
            if isinstance(start := starts[name], Decimal)
        }
    gone = (entity for entity in then or () if entity not in now)
    evicted = tuple(entity for entity in gone if counts and not counters.isdisjoint((then or {})[entity]))
    return SnapshotStep(subject, counts, start_ns, end_ns, then, now, grown, tuple(reset), evicted)


def _began_anew(then: Values, values: Values, numbers: dict[str, Decimal]) -> bool:
    since, since_then = values.get(SINCE), then.get(SINCE)
    if since is not None and since_then is not None:
        if since != since_then:
            return True
        calls, calls_then = numbers.get("calls"), then.get("calls")
        if calls is not None and isinstance(calls_then, Decimal):
            return calls < calls_then  # what was computed from two counters may fall
    return any(isinstance(was := then.get(name), Decimal) and value < was for name, value in numbers.items())


class Gathering(Protocol):
    """What takes in snapshots one after the other, in order of time."""

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot."""


class Counters:
    """What the snapshots of a bundle come to; none of them is kept.

    ``pool`` is what the buffer pool held when somebody first looked, by entity, ``log`` what was said of the log then;
    empty if nobody did. ``drift`` says whether the load changed.
    """

    def __init__(self, path: Path) -> None:
        """Begin without any."""
        self.path = path
        self.pool: Mapping[str, Values] = {}
        self.log: Values = {}
        self.drift = Drift()
        self._differencing = Differencing()
        self._digest = hashlib.blake2b(digest_size=16)

    @property
    def found(self) -> Differences:
        """What counters grew by over the whole recording."""
        return self._differencing.found

    def digest(self) -> "hashlib.blake2b":
        """Return a hash of all snapshots that can be continued."""
        return self._digest.copy()

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot."""
        self._differencing.add(snapshot)
        self.drift.add(snapshot)
        if not self.pool:
            self.pool = {entity: values for (subject, entity), values in snapshot.values.items() if subject == "pool"}
        if not self.log:
            self.log = snapshot.values.get(("log", "log"), {})
        said = sorted((*key, sorted((k, str(v)) for k, v in values.items())) for key, values in snapshot.values.items())
        self._digest.update(json.dumps([snapshot.time_ns, said]).encode())


def read_counters(
    path: Path, *others: Gathering, prepare: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot
) -> Counters:
    """Read the counters of the bundle at *path*, for *others*, too, as *prepare* gives each snapshot; raises TraceError
    naming what is wrong.
    """
    counters = Counters(path)
    for snapshot in map(prepare, read_snapshots(path)):
        counters.add(snapshot)
        for other in others:
            other.add(snapshot)
    return counters


#: What differs by a smaller share, or by fewer standard deviations of its count, did not change.
_CHANGED, _DEVIATIONS = 0.15, 3.0
#: So many snapshots have a first third and a last.
_SNAPSHOTS = 4


@dataclass
class Drift:
    """Takes in snapshots of a server's databases, one after the other: times in ns, and transactions and pages missed
    until then.
    """

    _seen: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; one without databases or time says nothing."""
        databases = {entity: values for (subject, entity), values in snapshot.values.items() if subject == "database"}
        apart = [values for entity, values in databases.items() if entity != "*"] or list(databases.values())
        transactions = sum(_number(one, "commits") or _number(one, "transactions") for one in apart)
        if transactions and snapshot.time_ns is not None:
            self._seen.append((snapshot.time_ns, transactions, sum(_number(one, "pages_read") for one in apart)))

    @property
    def said(self) -> tuple[str, ...]:
        """Say what changed from the first third to the last; nothing where nobody looked in between, or counters began
        anew.
        """
        if len(self._seen) < _SNAPSHOTS or any(
            b[place] < a[place] for a, b in zip(self._seen, self._seen[1:], strict=False) for place in (1, 2)
        ):
            return ()
        begun, ended = self._seen[0], self._seen[-1]
        third_ns = (ended[0] - begun[0]) / 3
        until = min(self._seen[1:], key=lambda one: abs(one[0] - begun[0] - third_ns))
        since = min(self._seen[:-1], key=lambda one: abs(ended[0] - one[0] - third_ns))
        parts = [
            (until[0] - begun[0], until[1] - begun[1], until[2] - begun[2]),
            (ended[0] - since[0], ended[1] - since[1], ended[2] - since[2]),
        ]
        if until[0] > since[0] or not all(count and span for span, count, _ in parts):
            return ()
        found = []
        rates = [count / span * 1e9 for span, count, _ in parts]
        if _differ(rates, [count for _, count, _ in parts]):
            found.append(f"{rates[0]:,.0f} transactions/s in its first third, {rates[1]:,.0f} in its last")
        misses = [read / count for _, count, read in parts]
        if _differ(misses, [read for *_, read in parts]):
            found.append(
                f"{misses[0]:.3g} pages missed per transaction in its first third, {misses[1]:.3g} in its last"
            )
        remedy = "; it is simulated as one steady load: record while the load is steady"
        return (f"the recorded load changed: {'; '.join(found)}{remedy}",) if found else ()


def _number(values: Values, name: str) -> float:
    return float(values.get(name) or 0)


def _differ(both: list[float], counts: list[float]) -> bool:
    """Tell whether two figures differ by more than chance, and by enough to matter."""
    if not all(both):
        return any(count > _DEVIATIONS**2 for count in counts)
    apart = abs(both[1] / both[0] - 1)
    return apart > max(_CHANGED, _DEVIATIONS * sqrt(sum(1 / max(count, 1) for count in counts)))


#: Counts of VACUUM and ANALYZE over a table, by a session or by autovacuum.
UPKEEP_RUNS = ("vacuums", "autovacuums", "analyzes", "autoanalyzes")
#: How long they took.
UPKEEP_MS = ("vacuum_ms", "autovacuum_ms", "analyze_ms", "autoanalyze_ms")


def of_upkeep(found: Differences, counter: str) -> tuple[float, float]:
    """Return an io *counter* of tables and indexes for VACUUM and ANALYZE, and for everybody else (pg_stat_io)."""
    own = others = 0.0
    for entity, change in found.of("io").items():
        who, what, context = entity.split("/")
        value = float(change.number(counter) or 0) if what == "relation" else 0.0
        if who == "autovacuum worker" or context == "vacuum":
            own += value
        else:
            others += value
    return own, others


def of_log(found: Differences, name: str) -> float:
    """Return how much a counter of the log grew, whichever view had it: pg_stat_wal, or pg_stat_io
    from version 18 on.
    """
    changes = [*found.of("log").values(), *(c for entity, c in found.of("io").items() if "/wal/" in entity)]
    return sum(float(change.number(name) or 0) for change in changes)
