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

from tiersim.traces.counters import NOTHING, OTHERS, SINCE, SUBJECTS, Subject
from tiersim.traces.statistics import Snapshot, Values, read_snapshots
from tiersim.units import format_bytes

_ZERO, _OF_32_BITS = Decimal(0), Decimal(1 << 32)
_STORE = "query store"  # where queries are kept
#: Executions that are not told apart are said from this share of all on.
_FEW = Decimal("0.01")
#: Of settings that changed so many are named.
_NAMED = 3
#: The first version whose pg_stat_statements tells statements inside functions from others (release notes of 14).
_TELLS_NESTED = 140_000


@dataclass
class EntityChange:
    """One entity over a recording: what its counters grew by, and what it said last and first of all else."""

    grown: dict[str, Decimal] = field(default_factory=dict)
    last: dict[str, Decimal | str] = field(default_factory=dict)
    first: dict[str, Decimal | str] = field(default_factory=dict)

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
            *self.changed_settings(),
            *self.counted_twice(),
            *self.replayed(),
            *(
                f"{subject}: {_named(entities)} left the view between snapshots (evicted or reset): their counts since"
                " the last snapshot that has them are lost"
                for subject, entities in sorted(self.evicted.items())
            ),
        ]

    def replayed(self) -> list[str]:
        """Say what a replica of PostgreSQL did to replay the log of its primary (16 and later), if it did."""
        own = [change for entity, change in self.of("io").items() if entity.startswith("startup/")]
        read, written = (
            sum(float(change.number(name) or 0) for change in own) for name in ("read_bytes", "written_bytes")
        )
        if not read and not written:
            return []
        return [
            (
                f"a replica: it read {format_bytes(read)} and wrote {format_bytes(written)} to replay the WAL of its"
                " primary, beside its queries; that is not simulated, and leaves the volumes to these"
            )
        ]

    def changed_settings(self) -> list[str]:
        """Say which settings ended as others than they began: what was counted is of both."""
        changed = [
            f"{name} from {_shown(change.first)} to {_shown(change.last)}"
            for name, change in sorted(self.of("setting").items())
            if "setting" in change.first and change.first["setting"] != change.last["setting"]
        ]
        if not changed:
            return []
        more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
        return [
            (
                f"settings were changed between snapshots ({', '.join(changed[:_NAMED])}{more}): counts and times are"
                " of both, and what was counted or timed in a part of the time is too low; record again without a"
                " change"
            )
        ]

    def counted_twice(self) -> list[str]:
        """Say that statements inside functions count beside those that call them, where nothing tells them apart."""
        track, version = (
            self.of("setting").get(name, EntityChange()).last.get("setting")
            for name in ("pg_stat_statements.track", "server_version_num")
        )
        if track != "all" or not isinstance(version, Decimal) or version >= _TELLS_NESTED:
            return []
        return [
            (
                "pg_stat_statements.track is all: before version 14 nothing tells statements inside functions from"
                " others, so that their calls, time and pages count twice if there are any; record with track = top"
            )
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
        if evictions := sum(change.number("evictions") or _ZERO for change in self.of("query store").values()):
            said.append(
                f"pg_stat_statements was full and dropped its least used statements {evictions:,.0f} times between"
                " snapshots: what these did is not counted; raise pg_stat_statements.max"
            )
        calls = {entity: change.number("calls") or _ZERO for entity, change in self.of("query").items()}
        others = sum(count for entity, count in calls.items() if entity.rpartition("/")[2] == OTHERS)
        if others > _FEW * sum(calls.values()):
            said.append(
                f"{others / sum(calls.values()):.0%} of the executions are in no digest of their own, as there was no"
                " place for more: what they did is not told apart; raise performance_schema_digests_size"
            )
        return said


def _shown(setting: Values) -> str:
    value = setting["setting"]
    text = f"{value.normalize():f}" if isinstance(value, Decimal) else value or "nothing"
    return f"{text} {setting.get('unit', '')}".strip()


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


@dataclass(frozen=True)
class _Before:
    """What was said last of a track, by entity, and when; ``told`` are the counters that any entity had until then,
    None: there was nothing of it, so that all that comes is new.
    """

    time_ns: int | None = None
    entities: Mapping[str, Values] = field(default_factory=dict)
    told: frozenset[str] | None = None

    def start_of(self, entity: str, counter: str, value: Decimal) -> Decimal | str:
        """Return what a *counter* of an *entity* counts from: what it was, else 0; from now where no entity had it."""
        were = self.entities.get(entity, {})
        unread = bool(were) and self.told is not None and counter not in self.told
        return were.get(counter, value if unread else _ZERO)


def steps(snapshots: Iterable[Snapshot]) -> Iterator[SnapshotStep]:
    """Yield what the counters of each subject grew by, snapshot by snapshot; memory is that of two snapshots.

    What began anew between two snapshots (its ``since``, or that of the store of queries, is another, or a counter
    fell) counts from 0 in the later one. A query that was not there before counts from 0, too: it is new, or was
    evicted before it came back. A counter that no entity had, this one among them, was not read then, and nobody knows
    what it grew by; one that none has now is compared with what it was before when it comes again.
    """
    stepping = Stepping()
    for snapshot in snapshots:
        yield from stepping.to(snapshot)


class Stepping:
    """Goes from snapshot to snapshot, see :func:`steps`; holds the last that was said of each subject."""

    def __init__(self) -> None:
        """Begin before the first."""
        self._before: dict[_Track, _Before] = {}

    def to(self, snapshot: Snapshot) -> Iterator[SnapshotStep]:
        """Yield the steps to the next snapshot; all of them have to be taken."""
        return _steps_to(snapshot, self._before)


def _steps_to(snapshot: Snapshot, before: dict[_Track, _Before]) -> Iterator[SnapshotStep]:
    """Yield the steps to *snapshot*, which *before* then holds in place of the one before."""
    now: dict[str, dict[str, Values]] = {}
    nothing: set[str] = set()
    for (subject, entity), values in snapshot.values.items():
        known = now.setdefault(subject, {})
        if values != NOTHING:
            known[entity] = values
        else:
            nothing.add(subject)
    store = before.get((_STORE, _counts(_STORE, now.get(_STORE, {}))), _Before()).entities
    emptied = _changed(store, now.get(_STORE, {}), "statements", SINCE)
    for subject, entities in now.items():
        track = subject, _counts(subject, entities)
        was = before.get(track)
        step = _step(*track, was, snapshot.time_ns, entities, emptied=emptied and subject == "query")
        yield step
        before[track] = _kept(was, step, told=subject not in nothing)


def _kept(was: _Before | None, step: SnapshotStep, *, told: bool) -> _Before:
    """Return what the next step goes from: all that this snapshot says, and counters that it had no place for."""
    counters = SUBJECTS[step.subject].counters if step.subject in SUBJECTS else frozenset[str]()
    names = frozenset(name for values in step.now.values() for name in values if name in counters)
    unread = frozenset[str]() if was is None or was.told is None or not told else was.told - names
    if was is None or not unread:
        return _Before(step.end_ns, step.now, names if told else None)
    entities: dict[str, Values] = {}
    for entity in {**was.entities, **step.now}:
        values = {name: one for name, one in was.entities.get(entity, {}).items() if name in unread}
        if entity in step.now or values:
            entities[entity] = {**values, **step.now.get(entity, {})}
    return _Before(step.end_ns, entities, names | unread)


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
            said = {name: value for name, value in values.items() if name not in grown}
            change.first = said | change.first
            change.last.update(said)
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
    name: str, counts: bool, was: _Before | None, end_ns: int | None, now: Mapping[str, Values], *, emptied: bool
) -> SnapshotStep:
    """Return what a subject's entities grew by since what *was* said before, None: nothing.

    *emptied*: all of them were removed in between, and those that do not say themselves since when they count began
    anew.
    """
    subject = SUBJECTS.get(name, Subject("", frozenset()))
    grown: dict[str, dict[str, Decimal]] = {}
    reset: list[str] = []
    for entity, values in now.items():
        numbers = {key: one for key, one in values.items() if key in subject.counters and isinstance(one, Decimal)}
        if was is None:
            grown[entity] = dict.fromkeys(numbers, _ZERO)
            continue
        were = was.entities.get(entity, {})
        anew = _anew(subject, were, values, numbers, emptied=emptied and SINCE not in values)
        reset += [entity] if anew else []
        starts = {key: _ZERO if key in anew else was.start_of(entity, key, one) for key, one in numbers.items()}
        grown[entity] = {
            key: max(one - start, min(one, _ZERO))  # what is below 0 cannot be, and is for the reader to refuse
            for key, one in numbers.items()
            if isinstance(start := _before_wrap(subject, key, starts[key], one), Decimal)
        }
    evicted = _evicted(subject, was, now) if counts and was is not None else ()
    start_ns, then = (None, None) if was is None else (was.time_ns, was.entities)
    return SnapshotStep(name, counts, start_ns, end_ns, then, now, grown, tuple(reset), evicted)


def _before_wrap(subject: Subject, counter: str, start: Decimal | str, value: Decimal) -> Decimal | str:
    """Return a *start* below 0 where a counter of 32 bits has come to their end since."""
    wrapped = counter in subject.of_32_bits and isinstance(start, Decimal) and value < start < _OF_32_BITS
    return start - _OF_32_BITS if wrapped and isinstance(start, Decimal) else start


def _evicted(subject: Subject, was: _Before, now: Mapping[str, Values]) -> tuple[str, ...]:
    """Return the entities that left, of which counters are read now."""
    read = {key for values in now.values() for key in values}
    counters = subject.counters & read if was.told is not None and now else subject.counters
    return tuple(entity for entity, were in was.entities.items() if entity not in now and counters & were.keys())


def _anew(
    subject: Subject, then: Values, values: Values, numbers: Mapping[str, Decimal], *, emptied: bool
) -> frozenset[str]:
    """Return the counters of an entity that began anew since *then*."""
    fell = frozenset(key for key, one in numbers.items() if isinstance(was := then.get(key), Decimal) and one < was)
    fell -= subject.wavering | subject.of_32_bits
    since, since_then = values.get(SINCE), then.get(SINCE)
    if since is not None and since_then is not None:
        if since != since_then:
            return frozenset(numbers)
        calls = numbers.get("calls")
        if calls is not None and isinstance(then.get("calls"), Decimal):
            return frozenset(numbers) if "calls" in fell else frozenset()  # what was computed from two may fall
    others = frozenset(numbers) - subject.lasting
    if then and (emptied or (fell & others and not subject.apart)):
        return others | fell
    return fell


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
#: What a load is counted by, the first that there is: MySQL counts no transactions.
_COUNTED = {"commits": "transaction", "transactions": "transaction", "statements": "statement"}
#: So many snapshots have a first third and a last.
_SNAPSHOTS = 4


@dataclass
class Drift:
    """Takes in snapshots of a server's databases, one after the other: times in ns, and transactions, or statements,
    and pages missed until then.
    """

    _seen: list[tuple[int, float, float]] = field(default_factory=list)
    _counted: str = ""

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; one without databases or time says nothing."""
        databases = {entity: values for (subject, entity), values in snapshot.values.items() if subject == "database"}
        apart = [values for entity, values in databases.items() if entity != "*"] or list(databases.values())
        sums = {name: sum(_number(one, name) for one in apart) for name in _COUNTED}
        name = next((name for name, count in sums.items() if count), None)
        if name is not None and snapshot.time_ns is not None:
            self._counted = _COUNTED[name]
            self._seen.append((snapshot.time_ns, sums[name], sum(_number(one, "pages_read") for one in apart)))

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
            found.append(f"{rates[0]:,.0f} {self._counted}s/s in its first third, {rates[1]:,.0f} in its last")
        misses = [read / count for _, count, read in parts]
        if _differ(misses, [read for *_, read in parts]):
            found.append(
                f"{misses[0]:.3g} pages missed per {self._counted} in its first third, {misses[1]:.3g} in its last"
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
