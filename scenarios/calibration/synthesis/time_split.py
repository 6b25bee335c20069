"""Where the time of a query went: processor, reads and writes of pages, waits for locks, the log, the client; and what
sessions were seen waiting for, sampled."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from tiersim.scenarios.calibration.synthesis.counted import Counted, Interval, Role
from tiersim.traces.differences import Differences
from tiersim.traces.recorders.processes import BACKENDS
from tiersim.traces.statistics import Snapshot
from tiersim.units import NS_PER_MS

#: What a session waits for, by the class of the wait; what begins with _OF_THE_LOG is the log's, whatever its class.
LOCK, LOG, CLIENT, IO, OTHER = "lock", "log", "client", "io", "other"
_KINDS = {"": "", "Lock": LOCK, "LWLock": LOCK, "BufferPin": LOCK, "IO": IO, "Client": CLIENT}
_OF_THE_LOG = "WAL"
#: Of an active session, but before and after its statement is executed.
_OUTSIDE = "ClientRead"
#: States of sessions that have a statement or a transaction.
_WORKING = ("active", "idle in transaction", "fastpath")
#: Fewer samples, such as one of each snapshot, or of a wait, say nothing of the time in between.
_FEW = 10
#: Setting of pg_wait_sampling, and its default in ms.
_PERIOD, _PERIOD_MS = "pg_wait_sampling.profile_period", 10


@dataclass
class Samples:
    """Counts of sessions: how many times they were taken, and what they add up to."""

    count: int = 0
    waiting: dict[str, Decimal] = field(default_factory=dict)  # active ones by kind of wait
    busy: Decimal = Decimal(0)  # active, or in a transaction
    busy_most: Decimal = Decimal(0)

    @property
    def enough(self) -> bool:
        """Say whether they tell of the recording."""
        return self.count >= _FEW

    def add(self, snapshot: Snapshot) -> None:
        """Add the sessions of a snapshot, if it counted them."""
        sessions = [(entity, values) for (subject, entity), values in snapshot.values.items() if subject == "session"]
        busy = Decimal(0)
        for entity, values in sessions:
            state, wait_class, wait = (*entity.split("/", 2), "", "")[:3]
            number = values.get("sessions")
            if not isinstance(number, Decimal) or not state.startswith(_WORKING):
                continue
            busy += number
            if state == "active":
                kind = _kind(wait_class, wait)
                self.waiting[kind] = self.waiting.get(kind, Decimal(0)) + number
        if sessions:
            self.count += 1
            self.busy += busy
            self.busy_most = max(self.busy_most, busy)


@dataclass
class Waits:
    """Sampled waits in ns by kind: of single queries (their identifier), and of all sessions."""

    of_query: dict[str, dict[str, float]] = field(default_factory=dict)
    of_all: dict[str, float] = field(default_factory=dict)


def sampled_waits(found: Differences, samples: Samples, span_ns: int) -> Waits:
    """Return the waits that were sampled, as time: sessions that wait on average × *span_ns*, or samples × their
    period.
    """
    period = found.of("setting").get(_PERIOD)
    period_ns = int((period and period.number("setting")) or _PERIOD_MS) * NS_PER_MS
    waits = Waits()
    for entity, change in found.of("wait").items():
        query, wait_class, wait = ("", *entity.split("/"))[-3:]
        kind, count = _kind(wait_class, wait), float(change.number("samples") or 0)
        of = waits.of_query.setdefault(query, {}) if query else waits.of_all
        of[kind] = of.get(kind, 0.0) + count * period_ns
    if samples.enough:
        waits.of_all = {kind: float(n / samples.count) * span_ns for kind, n in samples.waiting.items() if n >= _FEW}
    return waits


def _kind(wait_class: str, wait: str) -> str:
    if wait == _OUTSIDE:
        return ""
    return LOG if wait.startswith(_OF_THE_LOG) else _KINDS.get(wait_class, OTHER)


MEASURED = "measured (user and system time)"
LEFT = "execution time minus reads, writes and sampled waits (an upper bound)"
NOT_TIMED = "unknown: reads and writes of pages were not timed (track_io_timing)"
FASTEST_COMMIT = "that of the fastest commit; the rest is the wait for the WAL"
COMMIT_ALONE = (
    "their execution time; it holds no wait for the WAL, because the flushes took longer than all commits together"
)
LOG_NOT_TIMED = "unknown: flushes of the WAL were not timed (track_wal_io_timing)"

#: Time of a processor that was spent on something.
_BUSY = ("user_ms", "nice_ms", "system_ms", "interrupt_ms", "soft_interrupt_ms")


@dataclass(frozen=True)
class Split:
    """Parts of ``exec_ns`` of one query in one interval; None is what is not known."""

    io_ns: int | None
    lock_ns: int | None
    log_ns: int | None
    client_ns: int | None
    other_ns: int  # waits for anything else
    cpu_ns: int | None
    basis: str  # of cpu_ns


def split_times(
    intervals: Sequence[Interval], role: Callable[[str], Role], waits: Waits, found: Differences
) -> dict[tuple[int, str], Split]:
    """Return where the time of each query went, by interval and entity; *role* is that of an entity.

    Waits that are known of all sessions together are taken from each query in proportion to what reads and writes leave
    of it. Processor time that was not measured is cut, everywhere alike, to what the host's processors had.
    """
    io_timed, flushes_ns = _io_was_timed(intervals, found), _flushes_ns(found)
    counted = [(interval.number, query) for interval in intervals for query in interval.queries]
    commits = {query.entity for _, query in counted if role(query.entity) is Role.COMMITS}
    commits_ns = sum(query.exec_ns for _, query in counted if query.entity in commits)
    rest_ns = {
        key: max(0, q.exec_ns - (_io_ns(q, io_timed) or 0)) for number, q in counted if (key := (number, q.entity))
    }
    total_ns: dict[str, int] = {}
    least_ns: dict[str, int] = {}  # if all executions had been as the fastest one
    for number, query in counted:
        if query.entity not in commits:
            identifier, rest = _identifier(query.entity), rest_ns[number, query.entity]
            total_ns[identifier] = total_ns.get(identifier, 0) + rest
            least_ns[identifier] = least_ns.get(identifier, 0) + min(rest, query.calls * (query.least_ns or 0))
    of_all = _shares(waits.of_all, sum(total_ns.values()), sum(least_ns.values()))
    splits: dict[tuple[int, str], Split] = {}
    for number, query in counted:
        key = number, query.entity
        if query.entity in commits:
            splits[key] = _split_commit(query, flushes_ns, commits_ns)
            continue
        shares = of_all
        if waits.of_query:
            identifier = _identifier(query.entity)
            shares = _shares(waits.of_query.get(identifier, {}), total_ns[identifier], least_ns[identifier])
        splits[key] = _split(query, rest_ns[key], shares, io_timed, bool(waits.of_query or waits.of_all))
    return _cut(splits, _busy_ns(found))


def _identifier(entity: str) -> str:
    return entity.rpartition("/")[2]


def _io_ns(query: Counted, io_timed: bool) -> int | None:
    if not io_timed and query.moves_pages:
        return None
    pages_ns = (query.read_ns or 0) + (query.write_ns or 0)
    return min(query.exec_ns, pages_ns)  # those of workers may take longer than the query


def _shares(waits_ns: Mapping[str, float], of_ns: int, least_ns: int) -> dict[str, float]:
    """Return what part of *of_ns* each kind of wait but IO is; of statements, the log's is at their commits.

    A few samples may come to more time than there was. The fastest execution of a query waited for none of these, so
    what all would have taken like that, *least_ns*, is left to the processors.
    """
    kinds = {kind: waits_ns.get(kind, 0.0) for kind in (LOCK, CLIENT, OTHER)}
    sampled = sum(kinds.values())
    if not of_ns or not sampled:
        return dict.fromkeys(kinds, 0.0)
    fits = min(1.0, (of_ns - least_ns) / sampled)
    return {kind: ns * fits / of_ns for kind, ns in kinds.items()}


def _split(query: Counted, rest_ns: int, shares: Mapping[str, float], io_timed: bool, sampled: bool) -> Split:
    lock_ns, client_ns, other_ns = (int(rest_ns * shares[kind]) for kind in (LOCK, CLIENT, OTHER))
    io_ns = _io_ns(query, io_timed)
    left_ns = rest_ns - lock_ns - client_ns - other_ns
    if query.cpu_ns is not None:
        cpu, basis = query.cpu_ns, MEASURED
    elif io_ns is None:
        cpu, basis = None, NOT_TIMED
    else:
        cpu, basis = left_ns, LEFT
    return Split(io_ns, lock_ns if sampled else None, None, client_ns if sampled else None, other_ns, cpu, basis)


def _split_commit(query: Counted, flushes_ns: int, commits_ns: int) -> Split:
    """Divide the time of a COMMIT, given that of all of them. PostgreSQL flushes the log after it took the time of the
    statement.
    """
    if commits_ns < flushes_ns:
        cpu_ns = query.exec_ns if query.cpu_ns is None else query.cpu_ns
        return Split(0, None, None, None, 0, cpu_ns, COMMIT_ALONE if query.cpu_ns is None else MEASURED)
    if not flushes_ns:
        return Split(0, None, None, None, 0, query.cpu_ns, LOG_NOT_TIMED if query.cpu_ns is None else MEASURED)
    fastest_ns = query.calls * (query.least_ns or 0)
    cpu_ns = min(query.exec_ns, fastest_ns if query.cpu_ns is None else query.cpu_ns)
    return Split(0, None, query.exec_ns - cpu_ns, None, 0, cpu_ns, FASTEST_COMMIT if query.cpu_ns is None else MEASURED)


def _cut(splits: dict[tuple[int, str], Split], busy_ns: int | None) -> dict[tuple[int, str], Split]:
    measured = sum(s.cpu_ns or 0 for s in splits.values() if s.basis == MEASURED)
    inferred = sum(s.cpu_ns or 0 for s in splits.values() if s.basis != MEASURED)
    if busy_ns is None or measured + inferred <= busy_ns:
        return splits
    share = max(0, busy_ns - measured) / inferred if inferred else 1.0
    return {
        key: s if s.cpu_ns is None or s.basis == MEASURED else replace(s, cpu_ns=int(s.cpu_ns * share))
        for key, s in splits.items()
    }


def _io_was_timed(intervals: Iterable[Interval], found: Differences) -> bool:
    """Say whether reads and writes of pages were timed; where none were made there was nothing to time."""
    queries = [query for interval in intervals for query in interval.queries]
    if any(query.read_ns or query.write_ns for query in queries):
        return True
    setting = found.of("setting").get("track_io_timing")
    return (setting is not None and setting.last.get("setting") == "on") or not any(q.moves_pages for q in queries)


def _flushes_ns(found: Differences) -> int:
    """Return how long flushes of the log took, 0 where they were not timed. Commits wait for them, several for one."""
    flushes = [*found.of("log").values(), *(c for entity, c in found.of("io").items() if "/wal/" in entity)]
    return int(max((change.number("flush_ms") or Decimal(0) for change in flushes), default=Decimal(0)) * NS_PER_MS)


def _busy_ns(found: Differences) -> int | None:
    """Return how long the host's processors were busy, with sessions where that is known; None when nobody counted."""
    sessions = found.of("process").get(BACKENDS)
    if sessions is not None and (cpu_ms := sessions.number("cpu_ms")) is not None:
        return int(cpu_ms * NS_PER_MS)
    host = list(found.of("processor").values())
    if not host or found.snapshots.get("processor", 0) < 2:
        return None
    return int(sum((change.number(name) or Decimal(0)) for change in host for name in _BUSY) * NS_PER_MS)
