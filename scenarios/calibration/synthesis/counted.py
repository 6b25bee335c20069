"""What counters say of each query in each interval between two snapshots, in whole nanoseconds, pages and bytes; which
queries sessions execute, and their places in a transaction (the recording's own statements are left out); and where
their time went: processor, reads and writes of pages, waits for locks, the log, the client, and what sessions were seen
waiting for, sampled.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from enum import Enum
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.counters import is_nested
from tiersim.traces.differences import Differences, SnapshotStep, Stepping
from tiersim.traces.query_text import Kind, tokens
from tiersim.traces.recorders.processes import BACKENDS
from tiersim.traces.statistics import Snapshot, Values, read_queries
from tiersim.units import NS_PER_MS

#: Larger numbers are damage: 36 years in ns, an exbibyte in bytes, or in pages.
_MOST, _MOST_PAGES = 1 << 60, 1 << 47
_ZERO = Decimal(0)


@dataclass(frozen=True)
class CountedQuery:
    """One query in one interval; None is what the source did not count.

    ``least_ns`` and ``most_ns`` bound every duration: they are of the life of the query's entry. ``least_reached``,
    ``most_reached``: they were set in this interval.
    """

    entity: str
    calls: int
    exec_ns: int
    stddev_ns: float | None
    least_ns: int | None
    most_ns: int | None
    least_reached: bool
    most_reached: bool
    read_ns: int | None  # of exec_ns, reading pages, of temporary files, too
    write_ns: int | None
    cpu_ns: int | None
    pages_hit: int | None
    pages_read: int | None
    pages_dirtied: int | None
    pages_written: int | None
    temp_pages: int | None
    rows: int | None
    log_bytes: int | None
    log_page_images: int | None
    log_records: int | None
    workers: int | None
    since: str  # when its entry was made, as far as known: queries are first seen in the order of a transaction

    @property
    def moves_pages(self) -> bool:
        """Say whether it read or wrote pages."""
        return bool(self.pages_read or self.pages_written or self.temp_pages)


@dataclass(frozen=True)
class Interval:
    """From one snapshot of the queries to the next; ``transactions`` (of all databases) None if they were not counted
    then. ``whole``: no counts of queries were lost in it.
    """

    number: int
    start_ns: int
    end_ns: int
    queries: tuple[CountedQuery, ...]
    transactions: int | None
    whole: bool = True


class QueryIntervals:
    """Makes the intervals of a recording from its snapshots.

    Snapshots without a time are skipped: what was counted up to them is found in the next.
    """

    def __init__(self, path: Path) -> None:
        """Begin without any of the bundle at *path*."""
        self._path = path
        self._stepping = Stepping()
        self._found: list[tuple[int, int, tuple[CountedQuery, ...], bool]] = []
        self._databases: list[tuple[int, int, int]] = []

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; raises TraceError for a value that cannot be."""
        for step in self._stepping.to(snapshot) if snapshot.time_ns is not None else ():
            if step.then is None or step.start_ns is None or step.end_ns is None:
                continue
            if step.subject == "database" and any("commits" in grown for grown in step.grown.values()):
                self._databases.append((step.start_ns, step.end_ns, _transactions(step)))
            if step.subject == "query":
                if step.end_ns <= step.start_ns:
                    raise TraceError(
                        f"{self._path}: two snapshots of the queries are both of {step.end_ns} ns; leave out one of"
                        " them"
                    )
                queries = tuple(c for entity in step.grown if (c := _counted(self._path, step, entity)).calls)
                self._found.append((step.start_ns, step.end_ns, queries, not step.reset))

    def made(self) -> list[Interval]:
        """Return them in order of time."""
        intervals = []
        for number, (start_ns, end_ns, queries, whole) in enumerate(self._found):
            inside = [count for start, end, count in self._databases if start_ns <= start and end <= end_ns]
            transactions = sum(inside) if inside else None
            intervals.append(Interval(number, start_ns, end_ns, queries, transactions, whole))
        return intervals


def _transactions(step: SnapshotStep) -> int:
    return int(sum((g.get("commits", _ZERO) + g.get("rollbacks", _ZERO) for g in step.grown.values()), _ZERO))


def _counted(path: Path, step: SnapshotStep, entity: str) -> CountedQuery:
    grown, now = step.grown[entity], step.now[entity]
    then: Values = {} if entity in step.reset or step.then is None else step.then.get(entity, {})

    def whole(*names: str, scale: int = 1) -> int | None:
        found = [grown[name] for name in names if name in grown]
        if not found:
            return None
        value = sum(found, _ZERO) * scale
        if not 0 <= value <= (_MOST_PAGES if "pages" in names[0] else _MOST):
            raise TraceError(
                f"{path}: query {entity}: {names[0]} grew by {value / scale}, which cannot be; import it again"
            )
        return round(value)

    calls = whole("calls") or 0
    parts_ns = whole("cpu_user_ms", "cpu_system_ms", scale=NS_PER_MS)
    least_ns, most_ns = _ns(now, "exec_min_ms"), _ns(now, "exec_max_ms")
    if not most_ns:  # reset, and not called since; or the source does not have it
        least_ns = most_ns = None
    least_then, most_then = _ns(then, "exec_min_ms"), _ns(then, "exec_max_ms")
    anew = not then or then.get("minmax_since") != now.get("minmax_since")
    return CountedQuery(
        entity=entity,
        calls=calls,
        exec_ns=whole("exec_ms", scale=NS_PER_MS) or 0,
        stddev_ns=_stddev_ns(then, now),
        least_ns=least_ns,
        most_ns=most_ns,
        least_reached=least_ns is not None and (anew or least_then is None or least_ns < least_then),
        most_reached=most_ns is not None and (anew or most_then is None or most_ns > most_then),
        read_ns=whole("read_ms", "local_read_ms", "temp_read_ms", scale=NS_PER_MS),
        write_ns=whole("write_ms", "local_write_ms", "temp_write_ms", scale=NS_PER_MS),
        cpu_ns=whole("cpu_ms", scale=NS_PER_MS) if parts_ns is None else parts_ns,
        pages_hit=whole("pages_hit"),
        pages_read=whole("pages_read"),
        pages_dirtied=whole("pages_dirtied"),
        pages_written=whole("pages_written"),
        temp_pages=whole("temp_pages_read", "temp_pages_written"),
        rows=whole("rows"),
        log_bytes=whole("log_bytes"),
        log_page_images=whole("log_full_page_images"),
        log_records=whole("log_records"),
        workers=whole("workers_launched"),
        since=str(now.get("since", "")),
    )


def _ns(values: Values, name: str) -> int | None:
    value = values.get(name)
    return round(value * NS_PER_MS) if isinstance(value, Decimal) and 0 <= value * NS_PER_MS <= _MOST else None


def _stddev_ns(then: Values, now: Values) -> float | None:
    """Return the standard deviation of the calls in between.

    What pg_stat_statements says is of all calls since its reset, divided by their number; so calls × (stddev² + mean²)
    is the sum of the squares of their durations, and sums can be subtracted.
    """
    sums = [_sums(now), _sums(then) if then else (_ZERO, _ZERO, _ZERO)]
    if sums[0] is None or sums[1] is None:
        return None
    calls, total, squares = (now_ - then_ for now_, then_ in zip(*sums, strict=True))
    if calls <= 0:
        return None
    with localcontext(prec=60):
        variance = squares / calls - (total / calls) ** 2
    return math.sqrt(max(variance, _ZERO)) * NS_PER_MS  # rounding of the source's digits may leave less than nothing


def _sums(values: Values) -> tuple[Decimal, Decimal, Decimal] | None:
    """Return the number of calls, and the sums of their durations in ms and of the squares of these."""
    calls, total, stddev = (values.get(name) for name in ("calls", "exec_ms", "exec_stddev_ms"))
    if not (isinstance(calls, Decimal) and isinstance(total, Decimal) and isinstance(stddev, Decimal)):
        return None
    if calls <= 0:
        return _ZERO, _ZERO, _ZERO
    with localcontext(prec=60):
        return calls, total, calls * stddev**2 + total**2 / calls


#: First words of what is no utility.
_LANGUAGE = frozenset(
    ["select", "insert", "update", "delete", "merge", "with", "values", "table", "(", "exec", "execute"]
)
_OPENS = frozenset(["begin", "start"])
_COMMITS = frozenset(["commit", "end"])
_ROLLS_BACK = frozenset(["rollback", "abort"])

#: Names of what snapshots are taken from. Nothing but monitoring asks for them.
_STATISTICS = (
    "pg_stat",
    "pg_buffercache",
    "pg_control_",
    "pg_settings",
    "pg_wait_sampling",
    "pg_current_wal_",
    "pg_last_wal_",
    "pg_postmaster_start_time",
    "pg_is_in_recovery",
    "pg_relation_size",
    "pg_table_size",
    "pg_relation_filenode",
    "pg_has_role",
    "pg_available_extensions",
    "pg_extension",
)


class Role(Enum):
    """What a query does in a transaction."""

    INSIDE = 0
    OPENS = 1
    COMMITS = 2
    ROLLS_BACK = 3


def role_of(text: str) -> Role:
    """Return what a query does in its transaction."""
    words = _first_words(text)
    if not words:
        return Role.INSIDE
    if words[0] in _OPENS:
        return Role.OPENS
    if "prepared" in words or "to" in words[1:]:  # the second phase of another transaction; back to a savepoint
        return Role.INSIDE
    if words[0] in _COMMITS:
        return Role.COMMITS
    return Role.ROLLS_BACK if words[0] in _ROLLS_BACK else Role.INSIDE


def kind_of(text: str) -> str:
    """Return ``utility`` or ``language``."""
    words = _first_words(text)
    return "language" if not words or words[0] in _LANGUAGE else "utility"


def is_of_the_recording(text: str) -> bool:
    """Say whether a query takes statistics, as those that took the snapshots do."""
    return any(kind is not Kind.LITERAL and word.lower().startswith(_STATISTICS) for kind, word in tokens(text))


def _first_words(text: str) -> list[str]:
    words: list[str] = []
    for _, word in tokens(text):
        if len(words) == 4:
            break
        words.append(word.lower())
    return words


#: More executions are not made: their table would not fit into memory.
MOST_EXECUTIONS = 10_000_000
#: 73 years; sums of more are damage, and would not fit into 64 bits.
_MOST_EXEC_NS = 1 << 61


@dataclass
class QueryNames:
    """What is known of queries by their names in the source."""

    queries: dict[str, str] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    of_the_recording: set[str] = field(default_factory=set)

    def query(self, entity: str) -> str:
        """Return the fingerprint of a query, or its name where its text is not known."""
        return self.queries.get(entity, entity)

    def role(self, entity: str) -> Role:
        """Return what a query does in its transaction."""
        return self.roles.get(entity, Role.INSIDE)

    def kind(self, entity: str) -> str:
        """Return what kind of statement a query is."""
        return self.kinds.get(entity, "language")


def names_of(path: Path) -> QueryNames:
    """Read the queries of the bundle at *path*."""
    table = read_queries(path)
    names = QueryNames()
    columns = (table.texts(name) for name in ("entity", "query", "text"))
    for entity, query, text in zip(*columns, strict=True):
        if entity is None or query is None:
            continue
        names.queries[entity] = query
        if text is not None:
            names.texts[entity] = text
            names.roles[entity], names.kinds[entity] = role_of(text), kind_of(text)
            if is_of_the_recording(text):
                names.of_the_recording.add(entity)
    return names


def select(path: Path, intervals: Iterable[Interval], names: QueryNames) -> tuple[list[Interval], list[str]]:
    """Return the intervals with what sessions executed by themselves, and sentences of what was left out.

    A transaction of each statement that took statistics is left out, too. Raises TraceError when nothing is left, or
    too much.
    """
    kept: list[Interval] = []
    own = nested = 0
    for interval in intervals:
        taking = sum(q.calls for q in interval.queries if q.entity in names.of_the_recording)
        inside = sum(q.calls for q in interval.queries if is_nested(q.entity))
        queries = tuple(
            q for q in interval.queries if not is_nested(q.entity) and q.entity not in names.of_the_recording
        )
        committed = None if interval.transactions is None else max(0, interval.transactions - taking)
        kept.append(replace(interval, queries=queries, transactions=committed))
        own, nested = own + taking, nested + inside
    said = []
    if own:
        said.append(f"{own:,} executions of the recorder or of monitoring are left out")
    if nested:
        said.append(
            f"{nested:,} executions inside functions are left out: the calling statements include their time and pages"
        )
    _check(path, kept)
    return kept, said


def _check(path: Path, kept: Sequence[Interval]) -> None:
    queries = [query for interval in kept for query in interval.queries]
    calls = sum(query.calls for query in queries)
    if not calls:
        raise TraceError(
            f"{path}: only the recorder's own queries ran between snapshots; take the second snapshot after the load"
        )
    if calls > MOST_EXECUTIONS:
        raise TraceError(
            f"{path}: {calls:,} executions are more than the {MOST_EXECUTIONS:,} that can be synthesised at once;"
            " import the snapshots of a shorter time"
        )
    if sum(query.exec_ns for query in queries) > _MOST_EXEC_NS:
        raise TraceError(f"{path}: its queries say more than 73 years of execution, which cannot be; import it again")


#: What a session waits for, by the class of the wait; what begins with _OF_THE_LOG is the log's, whatever its class.
LOCK, LOG, CLIENT, IO, OTHER = "lock", "log", "client", "io", "other"
_KINDS = {"": "", "Activity": "", "Lock": LOCK, "LWLock": LOCK, "BufferPin": LOCK, "IO": IO, "Client": CLIENT}
_OF_THE_LOG = "WAL"
#: A commit's wait for a synchronous replica, after its statement was executed, as that for the log.
_OF_A_REPLICA = "SyncRep"
#: Of an active session, but before and after its statement is executed; of no session.
_OUTSIDE = ("ClientRead", "CheckpointWriteDelay")
#: What sessions of MySQL and MariaDB are said to do while they commit, most of which is a wait for the log: with
#: flushes of 2 s, sessions of MariaDB 10.11 were in one of the first two whenever they were seen. MySQL 8.0 Reference
#: Manual, 10.14.3, has the others.
_COMMITTING = frozenset(["commit", "updating status", "waiting for handler commit", "query end"])
#: States of sessions that have a statement or a transaction.
_WORKING = ("active", "idle in transaction", "fastpath")
#: State of processes that help a session with its query.
_HELPING = "parallel worker"
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
    connected_most: Decimal = Decimal(0)  # those of clients, idle ones too
    workers: Decimal = Decimal(0)  # no sessions: they help these
    replicating: Decimal = Decimal(0)  # active ones that waited for a replica

    @property
    def enough(self) -> bool:
        """Say whether they tell of the recording."""
        return self.count >= _FEW

    @property
    def helping(self) -> float:
        """Return which share of all that was at work helped sessions; 0 where hardly anything was seen to."""
        return float(self.workers / (self.busy + self.workers)) if self.enough and self.workers >= _FEW else 0.0

    def add(self, snapshot: Snapshot) -> None:
        """Add the sessions of a snapshot, if it counted them."""
        sessions = [(entity, values) for (subject, entity), values in snapshot.values.items() if subject == "session"]
        busy = connected = Decimal(0)
        for entity, values in sessions:
            state, wait_class, wait = (*entity.split("/", 2), "", "")[:3]
            number = values.get("sessions")
            if not isinstance(number, Decimal):
                continue
            self.workers += number if state == _HELPING else 0
            connected += number if state.startswith((*_WORKING, "idle")) else 0
            if not state.startswith(_WORKING):
                continue
            busy += number
            if state == "active":
                kind = _kind(wait_class, wait)
                self.replicating += number if wait == _OF_A_REPLICA else 0
                self.waiting[kind] = self.waiting.get(kind, Decimal(0)) + number
        if sessions:
            self.count += 1
            self.busy += busy
            self.busy_most = max(self.busy_most, busy)
            self.connected_most = max(self.connected_most, connected)


@dataclass
class Waits:
    """Sampled waits in ns by kind: of single queries (their identifier), and of all sessions."""

    of_query: dict[str, dict[str, float]] = field(default_factory=dict)
    of_all: dict[str, float] = field(default_factory=dict)
    active: float = 0.0  # sessions that were seen active, all samples together; 0: too few
    committing: float = 0.0  # those of them that committed


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
        if sum(samples.waiting.values()) >= _FEW:
            waits.active = float(sum(samples.waiting.values()))
            waits.committing = float(samples.waiting.get(LOG, _ZERO))
    return waits


def _kind(wait_class: str, wait: str) -> str:
    if wait in _OUTSIDE:
        return ""
    if not wait_class and wait.lower() in _COMMITTING:
        return LOG
    return LOG if wait.startswith((_OF_THE_LOG, _OF_A_REPLICA)) else _KINDS.get(wait_class, OTHER)


MEASURED = "measured (user and system time)"
LEFT = "execution time minus reads, writes and sampled waits (an upper bound)"
NOT_TIMED = "unknown: reads and writes of pages were not timed (track_io_timing)"
FASTEST_COMMIT = "that of the fastest commit; the rest is the wait for the WAL"
FASTEST_CHANGE = "at most that of the fastest execution; the rest is the wait for the log (autocommit)"
COMMITTED_INSIDE = "execution time minus reads and the sampled wait for the log (autocommit)"
COMMIT_ALONE = "their whole execution time (at most that; PostgreSQL flushes the WAL after it)"
LOG_NOT_TIMED = "unknown: flushes of the WAL were not timed (track_wal_io_timing)"

#: Statements that change rows commit by themselves where COMMITs are fewer than this share of them.
_FEW_COMMITS = 0.05

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
    intervals: Sequence[Interval],
    role: Callable[[str], Role],
    waits: Waits,
    found: Differences,
    changes: Callable[[str], bool] | None = None,
) -> dict[tuple[int, str], Split]:
    """Return where the time of each query went, by interval and entity; *role* is that of an entity.

    Waits that are known of all sessions together are taken from each query in proportion to what reads and writes leave
    of it. Processor time that was not measured is cut, everywhere alike, to what the host's processors had. *changes*
    tells which entities change rows, of an engine whose statements hold the wait for the log: InnoDB.
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
    changing = {query.entity for _, query in counted if changes is not None and changes(query.entity)}
    of_changes = _Changes.among(counted, changing, commits, rest_ns, waits)
    splits: dict[tuple[int, str], Split] = {}
    for number, query in counted:
        key = number, query.entity
        if query.entity in commits:
            splits[key] = of_changes.bounded(query, _split_commit(query, flushes_ns, commits_ns))
            continue
        shares = of_all
        if waits.of_query:
            identifier = _identifier(query.entity)
            shares = _shares(waits.of_query.get(identifier, {}), total_ns[identifier], least_ns[identifier])
        split = _split(query, rest_ns[key], shares, io_timed, bool(waits.of_query or waits.of_all))
        splits[key] = of_changes.committed(query, split) if query.entity in changing else split
    return _cut(splits, _busy_ns(found))


def _identifier(entity: str) -> str:
    return entity.rpartition("/")[2]


def _io_ns(query: CountedQuery, io_timed: bool) -> int | None:
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


def _split(query: CountedQuery, rest_ns: int, shares: Mapping[str, float], io_timed: bool, sampled: bool) -> Split:
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


def _split_commit(query: CountedQuery, flushes_ns: int, commits_ns: int) -> Split:
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


@dataclass(frozen=True)
class _Changes:
    """What statements of InnoDB that change rows tell of commits: how long the fastest of them took, whether they
    commit by themselves, and which share of their time is then the wait for the log; None: nobody knows.
    """

    fastest_ns: int | None
    commit_by_themselves: bool
    waiting: float | None

    @staticmethod
    def among(
        counted: Sequence[tuple[int, CountedQuery]],
        changing: Collection[str],
        commits: Collection[str],
        rest_ns: Mapping[tuple[int, str], int],
        waits: Waits,
    ) -> "_Changes":
        """Look at all that was *counted*, by interval: at *changing* entities and those that are *commits*."""
        own = [query for _, query in counted if query.entity in changing]
        committed = sum(query.calls for _, query in counted if query.entity in commits)
        waiting = None
        if waits.active and (own_ns := sum(rest_ns[number, q.entity] for number, q in counted if q.entity in changing)):
            executed_ns = sum(query.exec_ns for _, query in counted)
            most = waits.active / (waits.active + 1)  # some of it is the processors', seen or not
            waiting = min(waits.committing / waits.active * executed_ns / own_ns, most)
        return _Changes(
            fastest_ns=min((query.least_ns for query in own if query.least_ns is not None), default=None),
            commit_by_themselves=committed < _FEW_COMMITS * sum(query.calls for query in own),
            waiting=waiting,
        )

    def bounded(self, query: CountedQuery, split: Split) -> Split:
        """Return the *split* of a COMMIT: the fastest one waited for the log, too, where that is slow. It takes the
        processors no longer than a change.
        """
        if split.cpu_ns is None or split.log_ns is None or split.basis == MEASURED or self.fastest_ns is None:
            return split
        over_ns = max(split.cpu_ns - query.calls * self.fastest_ns, 0)
        return replace(split, cpu_ns=split.cpu_ns - over_ns, log_ns=split.log_ns + over_ns)

    def committed(self, query: CountedQuery, split: Split) -> Split:
        """Return the *split* of a change that may commit by itself. Where nobody saw for how long, it takes the
        processors as long as the fastest one.
        """
        if not self.commit_by_themselves or split.cpu_ns is None or split.basis == MEASURED:
            return split
        if self.waiting is not None:
            cpu_ns, basis = int(split.cpu_ns * (1 - self.waiting)), COMMITTED_INSIDE
        elif query.least_ns is not None:
            cpu_ns, basis = min(split.cpu_ns, query.calls * query.least_ns), FASTEST_CHANGE
        else:
            return split
        return replace(split, cpu_ns=cpu_ns, log_ns=split.cpu_ns - cpu_ns, basis=basis)


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
