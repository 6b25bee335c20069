"""How many sessions there were, and when each runs what: transactions one after the other, never two at once, with
pauses for what time is left.

An interval counts what *ended* in it. So intervals are laid out from the last to the first, and a statement that is
longer than its interval reaches back into those before, where its session is then busy.

Transactions are made of executions in their order, as far as that is told, and run at the times that a load generator
logged, or at synthetic ones.
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.grouping import order_by
from tiersim.scenarios.calibration.synthesis.counted import CountedQuery, Interval, QueryNames, Role, Samples
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.simulator.verdict import ALWAYS_BUSY
from tiersim.traces.differences import Differences, EntityChange
from tiersim.traces.query_text import NamedTables
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_KINDS
from tiersim.traces.statistics import read_statements
from tiersim.units import NS_PER_MS, NS_PER_S

#: A query that misses less than this share of what another of its table does, in a call, finds the other's pages, and
#: so comes after it.
_FINDS = 0.05

#: What queries are sorted by: the load generator's script, when they were first seen, the size of their table, whether
#: they find pages.
Place = tuple[int, str, Decimal, bool, str]


def places(entities: Sequence[str], names: QueryNames, found: Differences) -> Mapping[str, Place]:
    """Return by entity what to sort queries by.

    Where nobody noted an order, those of large tables come first, and of a table those that miss pages: applications
    change the rows that many want last, to keep them from others for a short time.
    """
    script = _script(found)
    rows = {name: change.number("rows") or Decimal(0) for name, change in _tables(found).items()}
    tables = NamedTables(rows)
    named = {entity: _named(names.texts.get(entity, ""), tables, rows) for entity in entities}
    missed = {entity: _missed(found.of("query").get(entity)) for entity in entities}
    most: dict[str, float] = {}
    for entity, table in named.items():
        most[table] = max(most.get(table, 0.0), missed[entity])
    keys: dict[str, Place] = {}
    for entity, table in named.items():
        change = found.of("query").get(entity)
        since = "" if change is None else str(change.last.get("since", ""))
        finds = missed[entity] < _FINDS * most[table]
        keys[entity] = script.get(names.query(entity), len(script)), since, -rows.get(table, Decimal(0)), finds, entity
    return keys


def _script(found: Differences) -> dict[str, int]:
    """Return the place of queries in the script of the one load generator that told it."""
    told = [
        str(change.last["statements"]).split() for change in found.of("client").values() if "statements" in change.last
    ]
    return {query: place for place, query in reversed(list(enumerate(told[0])))} if len(told) == 1 else {}


def _tables(found: Differences) -> dict[str, EntityChange]:
    return {name: change for name, change in found.of("relation").items() if change.last.get("kind") == "table"}


def _named(text: str, tables: NamedTables, rows: Mapping[str, Decimal]) -> str:
    """Return the largest table that a text names, '' for none."""
    return max(tables.within(text), key=lambda name: (rows[name], name), default="")


def _missed(change: EntityChange | None) -> float:
    calls = 0 if change is None else change.number("calls") or 0
    return float((change.number("pages_read") or 0) / calls) if change is not None and calls else 0.0


#: Statements exceed transactions by more than this share before transactions of several statements are inferred from
#: it: maintenance commits, too, and statistics of databases are late.
_MANY = 1.02
#: Calls of COMMIT and ROLLBACK that are a smaller share of all statements are somebody's beside those that commit by
#: themselves.
_ENDS = 0.01
#: So much more than counted transactions may be committed for others: maintenance, monitoring.
_OTHERS = 0.1

_FIRST, _LAST = -1, 1 << 30


@dataclass(frozen=True)
class Grouping:
    """How many explicit transactions there were, how many of one statement besides, and what that was taken from."""

    explicit: int
    single: int
    sessions: int  # ends of the interval cut that many transactions in two at most
    basis: str


COUNTED = "transactions with several statements are counted by calls of BEGIN"
COMMITTED = (
    "transactions with several statements are counted by commits and rollbacks, because PostgreSQL counts a prepared"
    " BEGIN only once a session"
)
ENDED = (
    "transactions with several statements are counted by calls of COMMIT and ROLLBACK, as most of them began without a"
    " BEGIN (autocommit is off)"
)
ALONE = "every statement is a transaction of its own: there are as many transactions as statements, and no BEGIN"


def grouping(
    queries: Sequence[CountedQuery], role: Callable[[str], Role], transactions: int | None, sessions: int
) -> Grouping:
    """Tell how the statements of an interval fall into transactions.

    *transactions* were committed or rolled back, None when nobody counted; *sessions* that many ran them.
    """
    inside = [q.calls for q in queries if role(q.entity) is Role.INSIDE]
    begun = sum(q.calls for q in queries if role(q.entity) is Role.OPENS)
    if transactions is not None and begun <= sessions and sum(inside) > transactions * _MANY:
        explicit = _as_often(inside, max(transactions, begun, 1))
        beside = sum(calls for calls in inside if not _in_each(calls, explicit, sessions))
        return Grouping(explicit, min(max(0, transactions - explicit), beside), sessions, COMMITTED)
    ended = sum(q.calls for q in queries if role(q.entity) in (Role.COMMITS, Role.ROLLS_BACK))
    beyond = ended - begun > max(sessions, (_MANY - 1) * begun)
    if transactions is None and beyond and ended >= _ENDS * sum(inside):
        return Grouping(ended, 0, sessions, ENDED)
    if not begun:
        return Grouping(0, sum(inside), sessions, ALONE)
    single = 0 if transactions is None else min(max(0, transactions - begun), sum(inside))
    if single <= _OTHERS * begun:
        single = min(single, sum(calls for calls in inside if not _in_each(calls, begun, sessions)))
    return Grouping(begun, single, sessions, COUNTED)


def _in_each(calls: int, transactions: int, sessions: int) -> bool:
    """Say whether a query ran as often in each transaction, but for those that an end of the interval cut in two."""
    times = max(1, round(calls / transactions))
    return abs(calls - times * transactions) <= max(sessions, (_MANY - 1) * transactions)


def _as_often(calls: Sequence[int], transactions: int) -> int:
    """Return the number of calls that most queries have among those called about once a transaction; *transactions* if
    none is.

    Databases commit for others than those who are watched, too: maintenance, monitoring.
    """
    near = Counter(n for n in calls if transactions / _MANY <= n <= transactions * _MANY)
    return max(near, key=lambda n: (near[n], n), default=transactions)


def grouped(
    queries: Sequence[CountedQuery],
    role: Callable[[str], Role],
    order: Mapping[str, Place],
    found: Grouping,
    draws: Draws,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for all executions, query after query, the number of their transaction and their place in it, as *order*
    sorts them.

    A query that runs in explicit transactions runs as evenly in them as its calls allow. Which statements stand alone
    is chosen first among queries whose calls are no multiple of the transactions: the others are part of each.
    """
    alone = _alone(queries, role, found)
    places = _places(queries, role, order)
    numbers, ranks = [], []
    next_single = found.explicit
    for query in queries:
        inside = query.calls - alone[query.entity]
        own = np.empty(query.calls, np.int64)
        if inside:
            whole, rest = divmod(inside, found.explicit)
            chosen = draws.order(found.explicit, query.entity)[:rest]
            own[:inside] = np.concatenate([np.tile(np.arange(found.explicit), whole), chosen])
        own[inside:] = np.arange(next_single, next_single + alone[query.entity])
        next_single += alone[query.entity]
        numbers.append(own)
        ranks.append(np.full(query.calls, places[query.entity], np.int64))
    return np.concatenate(numbers), np.concatenate(ranks)


def _alone(queries: Sequence[CountedQuery], role: Callable[[str], Role], found: Grouping) -> dict[str, int]:
    """Return how many calls of each query stand alone."""
    alone = dict.fromkeys((q.entity for q in queries), 0)
    if not found.explicit:
        return {q.entity: q.calls for q in queries}
    inside = [q for q in queries if role(q.entity) is Role.INSIDE]
    left = found.single
    for some in (
        [q for q in inside if not _in_each(q.calls, found.explicit, found.sessions)],
        [q for q in inside if _in_each(q.calls, found.explicit, found.sessions)],
    ):
        calls = sum(q.calls for q in some)
        taken = min(left, calls)
        handed_out = 0
        passed = 0
        for query in some:  # each in proportion to its calls, rounded so that they add up
            passed += query.calls
            until = taken * passed // calls
            alone[query.entity] = until - handed_out
            handed_out = until
        left -= taken
    return alone


def _places(queries: Sequence[CountedQuery], role: Callable[[str], Role], order: Mapping[str, Place]) -> dict[str, int]:
    """Return the place of each query in a transaction."""
    ordered = sorted(queries, key=lambda query: order[query.entity])
    places = {query.entity: place for place, query in enumerate(ordered)}
    ends = {Role.OPENS: _FIRST, Role.COMMITS: _LAST, Role.ROLLS_BACK: _LAST}
    return {entity: ends.get(role(entity), place) for entity, place in places.items()}


#: Of a number of busy sessions that comes and goes at random (Poisson), so many standard deviations above the mean hold
#: 99.9 %.
_HEADROOM = 3.0


@dataclass(frozen=True)
class Population:
    """``sessions`` by interval; ``closed``: each begins its next transaction when the one before is done.

    ``idle_inside`` is what share of the time one session of all was idle inside a transaction, added up over sessions;
    None when nobody counted.
    """

    sessions: tuple[int, ...]
    closed: bool
    load_ns: int | None  # how long the load generator ran, where one said so
    idle_inside: float | None
    basis: str

    def window(self, interval: Interval, only: bool) -> tuple[int, int]:
        """Return when the load of an interval ran: in the middle of the *only* one, as long as the
        load generator said.
        """
        spare_ns = interval.end_ns - interval.start_ns - (self.load_ns or 0)
        if not only or self.load_ns is None or spare_ns <= 0:
            return interval.start_ns, interval.end_ns
        start_ns = interval.start_ns + spare_ns // 2
        return start_ns, start_ns + self.load_ns

    def pauses(self, statements: int, transactions: int, length_ns: int, spare_ns: int) -> tuple[float, float]:
        """Return the mean pauses inside transactions and behind them in an interval in which
        sessions have *spare_ns*.
        """
        inside = statements - transactions
        if self.idle_inside is None or not inside:
            return (spare_ns / statements, spare_ns / statements) if self.closed else (0.0, spare_ns / transactions)
        inside_ns = min(self.idle_inside * length_ns, spare_ns)
        return inside_ns / inside, (spare_ns - inside_ns) / transactions


def population(intervals: Sequence[Interval], found: Differences, sampled: Samples) -> Population:
    """Tell the number of sessions: that of a load generator, else as sampled, else by Little's law."""
    idle_inside = _on_average(found, "idle_in_transaction_ms")
    clients = list(found.of("client").values())
    count = sum(int(c.number("clients") or 0) for c in clients)
    if count > 0:
        paced = any(map(_is_paced, clients))
        how = "paced by its rate" if paced else "in a closed loop, without pauses"
        seconds = max((c.number("seconds") or Decimal(0) for c in clients), default=Decimal(0))
        basis = f"{count:,} sessions: the clients of the load generator, {how}"
        return Population((count,) * len(intervals), not paced, int(seconds * NS_PER_S) or None, idle_inside, basis)
    busy = [max(_busy(interval), _active(found)) for interval in intervals]
    sessions = [max(1, math.ceil(b + _HEADROOM * math.sqrt(b))) for b in busy]
    if sampled.enough and sampled.busy_most >= max(sessions):
        mean, most = float(sampled.busy / sampled.count), int(sampled.busy_most)
        basis = (
            f"{most:,} sessions: the most that were active or in a transaction in one of {sampled.count:,} samples,"
            f" {mean:.3g} on average"
        )
        return Population((most,) * len(intervals), False, None, idle_inside, basis)
    basis = (
        f"up to {max(sessions):,} sessions, inferred: the mean number of busy sessions (Little's law) plus"
        f" {_HEADROOM:g} times its square root; sample the sessions (tiersim record) to know it"
    )
    return Population(tuple(sessions), False, None, idle_inside, basis)


def _is_paced(client: EntityChange) -> bool:
    """Tell whether a load generator sent transactions at a rate, by that rate or by how late it sent them. Who was at
    work all the time did not come to it: those are as in a closed loop.
    """
    if (client.number("rate_per_s") or 0) > 0:
        return True
    lag_ms = client.number("lag_mean_ms")
    if lag_ms is None:
        return False
    known = [client.number(name) for name in ("transactions_per_s", "mean_ms", "clients")]
    per_s, mean_ms, count = (float(one or 0) for one in known)  # the mean holds the lag
    return per_s * (mean_ms - float(lag_ms)) * NS_PER_MS < ALWAYS_BUSY * count * NS_PER_S


def _busy(interval: Interval) -> float:
    return sum(query.exec_ns for query in interval.queries) / (interval.end_ns - interval.start_ns)


def _active(found: Differences) -> float:
    """Return how many sessions were active or in a transaction on average, 0 where databases do not say so.

    It is more than their executions: sessions parse, plan, commit, and send results besides.
    """
    return (_on_average(found, "active_ms") or 0.0) + (_on_average(found, "idle_in_transaction_ms") or 0.0)


def _on_average(found: Differences, counter: str) -> float | None:
    span_ns = found.span_ns.get("database")
    times_ms = [time for change in found.of("database").values() if (time := change.number(counter)) is not None]
    return float(sum(times_ms)) * NS_PER_MS / span_ns if span_ns and times_ms else None


#: A transaction longer than this share of what a session has is given to the emptiest session; the others fill up what
#: is left.
_LONG = 0.01

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """Executions to lay out: how long each takes, its transaction, numbered from 0, and its place in it."""

    duration_ns: Times
    transaction: NDArray[np.int64]
    place: NDArray[np.int64]

    def __len__(self) -> int:
        """Count the executions."""
        return len(self.duration_ns)

    @property
    def transactions(self) -> int:
        """Count the transactions."""
        return int(np.count_nonzero(np.bincount(self.transaction)))

    def of(self, rows: NDArray[np.bool_]) -> "Work":
        """Return some of the executions, their transactions numbered anew."""
        numbers = np.unique(self.transaction[rows], return_inverse=True)[1]
        return Work(self.duration_ns[rows], numbers, self.place[rows])


@dataclass(frozen=True)
class Turns:
    """When each execution starts, in which session, and its place among all: those of a session do not fall in it."""

    start_ns: Times
    session: NDArray[np.int64]
    sequence: NDArray[np.int64]

    def put(self, rows: NDArray[np.bool_], part: "Turns") -> None:
        """Take the turns of some executions from *part*."""
        self.start_ns[rows], self.session[rows], self.sequence[rows] = part.start_ns, part.session, part.sequence


class Timetable:
    """Sessions, and until when each is still free, counted from the end of the recording backwards."""

    def __init__(self) -> None:
        """Begin without sessions."""
        self.free_until_ns = np.zeros(0, np.int64)

    def lay_out(
        self, start_ns: int, end_ns: int, work: Work, pauses: tuple[float, float], sessions: int, draws: Draws
    ) -> Turns:
        """Return when each execution of an interval starts, and where; later intervals were laid out before.

        *pauses* are the mean ones inside transactions and behind them, relative to each other. At most *sessions* take
        part unless they have not enough time for all.
        """
        transaction, duration_ns, place = work.transaction, work.duration_ns, work.place
        count = int(transaction.max()) + 1
        work_ns = np.bincount(transaction, weights=duration_ns, minlength=count).astype(np.int64)
        room_ns = self._rooms(start_ns, end_ns, work_ns, sessions)
        owner = _owners(work_ns, room_ns, draws)
        turn = draws.order(count, "turn")
        session = owner[transaction]
        rank = np.empty(count, np.int64)
        rank[np.argsort(owner * count + turn)] = np.arange(count)
        within = place - place.min()  # what opens a transaction may be at a place below 0
        order = order_by(rank[transaction] * (int(within.max()) + 1) + within)
        session_of = session[order]
        took_ns = duration_ns[order]
        first, behind = (np.searchsorted(session_of, np.arange(len(room_ns)), side) for side in ("left", "right"))
        done_ns = np.concatenate([[0], np.cumsum(took_ns)])
        busy_ns = done_ns[behind] - done_ns[first]
        spare_ns = np.maximum(room_ns - busy_ns, 0)

        ends = np.diff(transaction[order], append=-1) != 0
        weight = np.where(ends, pauses[1], pauses[0]) * -np.log(draws.uniform(len(order), "pauses"))
        lead = pauses[1] * -np.log(draws.uniform(len(room_ns), "lead"))
        total = np.bincount(session_of, weights=weight, minlength=len(room_ns)) + lead
        passed = np.cumsum(weight) - weight
        base = np.append(passed, 0.0)[first]
        share = (passed - base[session_of] + lead[session_of]) / np.where(total > 0, total, 1.0)[session_of]
        paused_ns = np.floor(spare_ns[session_of] * np.clip(share, 0, 1)).astype(np.int64)
        began_ns = self.free_until_ns - np.maximum(room_ns, busy_ns)
        start = (began_ns - done_ns[first])[session_of] + done_ns[:-1] + paused_ns
        used = np.flatnonzero(behind > first)
        self.free_until_ns[used] = start[first[used]]
        self.free_until_ns = np.minimum(self.free_until_ns, start_ns)
        turns = Turns(np.empty_like(start), session, np.empty_like(start))
        turns.start_ns[order], turns.sequence[order] = start, np.arange(len(order))
        return turns

    def _rooms(self, start_ns: int, end_ns: int, work_ns: Times, sessions: int) -> Times:
        """Return how much time each session has in the interval; sessions are added until they have enough."""
        length_ns = end_ns - start_ns
        sessions = min(sessions, len(work_ns))  # others would have nothing to do
        self.free_until_ns = np.minimum(self.free_until_ns, end_ns)
        room_ns = np.maximum(self.free_until_ns - start_ns, 0)
        if len(room_ns) > sessions:  # those that are freest
            closed = np.argsort(-room_ns, kind="stable")[sessions:]
            room_ns[closed] = 0
        missing_ns = int(np.minimum(work_ns, length_ns).sum()) - int(room_ns.sum())
        more = max(sessions - len(room_ns), -(-missing_ns // length_ns) if missing_ns > 0 else 0)
        if more > 0:
            ends = np.full(more, end_ns, np.int64)
            self.free_until_ns = np.concatenate([self.free_until_ns, ends])
            room_ns = np.concatenate([room_ns, np.full(more, length_ns, np.int64)])
        return room_ns


def _owners(work_ns: Times, room_ns: Times, draws: Draws) -> NDArray[np.int64]:
    """Return the session of each transaction, so that none has to do more than it has time for, as far as that goes."""
    owner = np.zeros(len(work_ns), np.int64)
    left_ns = room_ns.astype(np.float64)
    long = np.flatnonzero(work_ns > _LONG * room_ns.max(initial=0))
    emptiest = [(-float(room), session) for session, room in enumerate(left_ns) if room > 0]
    heapq.heapify(emptiest)
    for transaction in long[np.argsort(-work_ns[long], kind="stable")].tolist():
        room, session = heapq.heappop(emptiest)
        owner[transaction] = session
        left_ns[session] = -room - work_ns[transaction]
        heapq.heappush(emptiest, (room + float(work_ns[transaction]), session))
    short = np.setdiff1d(draws.order(len(work_ns), "owners"), long, assume_unique=True)
    ends = np.cumsum(np.maximum(left_ns, 0))
    if len(short):
        weight = work_ns[short] + 1.0
        middle = (np.cumsum(weight) - weight / 2) / weight.sum() * ends[-1]
        owner[short] = np.minimum(np.searchsorted(ends, middle, side="right"), len(ends) - 1)
    return owner


#: Of the transactions that were counted, at least so many must have been logged.
_NEARLY_ALL = 0.98


@dataclass(frozen=True)
class Logged:
    """Logged transactions by session and start; ``session`` is a code of ``names``. ``others`` are statements in the
    same table.
    """

    start_ns: Times
    end_ns: Times
    session: NDArray[np.int64]
    names: tuple[str, ...]
    others: int

    def ended(self, start_ns: int, end_ns: int) -> "Logged":
        """Return those that ended between two moments: an interval counts them then."""
        rows = (self.end_ns > start_ns) & (self.end_ns <= end_ns)
        return Logged(self.start_ns[rows], self.end_ns[rows], self.session[rows], self.names, self.others)

    def are_nearly(self, transactions: int) -> bool:
        """Say whether they are as many as were counted, but for a few."""
        return transactions > 0 and len(self.start_ns) >= _NEARLY_ALL * transactions

    def mean_pause_ns(self) -> float:
        """Return the mean time from the end of a transaction to the start of the next in its session."""
        same = self.session[1:] == self.session[:-1]
        pauses = (self.start_ns[1:] - self.end_ns[:-1])[same]
        return float(np.maximum(pauses, 0).mean()) if len(pauses) else 0.0

    def spare_ns(self, busy_ns: int) -> int:
        """Return how much of its sessions' time is left beside *busy_ns*."""
        whole_ns = len(np.unique(self.session)) * int(self.end_ns.max() - self.start_ns.min())
        return max(0, whole_ns - busy_ns)


def logged_transactions(path: Path) -> Logged:
    """Read the logged transactions of the bundle at *path*; there may be none."""
    table = read_statements(path)
    columns = table.columns
    kinds = np.array([word == STATEMENT_KINDS[-1] for word in table.words["kind"]] + [False])
    whole = kinds[columns["kind"]] & (columns["duration_ns"] != NOT_KNOWN) & (columns["session"] >= 0)
    start_ns, session = columns["time_ns"][whole], columns["session"][whole].astype(np.int64)
    end_ns = start_ns + columns["duration_ns"][whole]
    order = np.lexsort((start_ns, session))
    return Logged(
        start_ns[order],
        end_ns[order],
        session[order],
        tuple(table.words["session"]),
        int(np.count_nonzero(~kinds[columns["kind"]])),
    )


class LoggedTimetable:
    """Logged transactions and what ran in them, from the last interval to the first."""

    def __init__(self, logged: Logged) -> None:
        """Begin with sessions that may be busy to the end."""
        self._free_until_ns = np.full(len(logged.names), np.iinfo(np.int64).max)

    def lay_out(self, logged: Logged, work: Work) -> Turns:
        """Return when executions run whose transactions are as many as were logged, or fewer.

        The transaction that has most to do is taken for the one that lasted longest, and so on; its executions are
        spread evenly over its time. One that has more to do than it has time begins earlier, and so do those before it
        in its session.
        """
        work_ns = np.bincount(work.transaction, weights=work.duration_ns)
        slot = np.empty(len(work_ns), np.int64)
        longest = np.argsort(logged.start_ns - logged.end_ns, kind="stable")[: len(work_ns)]
        slot[np.argsort(-work_ns, kind="stable")] = longest
        order = np.lexsort((work.place, slot[work.transaction]))
        slots, first, count = np.unique(slot[work.transaction][order], return_index=True, return_counts=True)
        took_ns = work.duration_ns[order]
        done_ns = np.cumsum(took_ns) - took_ns
        busy_ns = np.add.reduceat(took_ns, first)
        session = logged.session[slots]
        begin_ns, until_ns = self._begin(logged.start_ns[slots], busy_ns, session)
        until_ns = np.minimum(until_ns, np.maximum(logged.end_ns[slots], begin_ns + busy_ns))
        of = np.repeat(np.arange(len(slots)), count)
        number = np.arange(len(order)) - first[of]
        paused_ns = (until_ns - begin_ns - busy_ns)[of] * ((number + 1) / (count[of] + 1))
        turns = Turns(np.empty_like(took_ns), np.empty_like(took_ns), np.empty_like(took_ns))
        turns.start_ns[order] = begin_ns[of] + done_ns - done_ns[first][of] + paused_ns.astype(np.int64)
        turns.session[order], turns.sequence[order] = session[of], np.arange(len(order))
        return turns

    def _begin(self, start_ns: Times, busy_ns: Times, session: NDArray[np.int64]) -> tuple[Times, Times]:
        """Return when each transaction begins, and until when its session is free for it."""
        begin_ns, until_ns = start_ns.copy(), np.empty_like(start_ns)
        edges = np.flatnonzero(np.diff(session, prepend=-1, append=-1))
        for first, behind in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            free_until_ns = int(self._free_until_ns[session[first]])
            begin_ns[behind - 1] = min(int(start_ns[behind - 1]), free_until_ns - int(busy_ns[behind - 1]))
            done_ns = np.cumsum(busy_ns[first:behind]) - busy_ns[first:behind]
            latest = np.minimum.accumulate((begin_ns[first:behind] - done_ns)[::-1])[::-1]
            begin_ns[first:behind] = latest + done_ns
            until_ns[first:behind] = np.append(begin_ns[first + 1 : behind], free_until_ns)
            self._free_until_ns[session[first]] = begin_ns[first]
        return begin_ns, until_ns


class IntervalSchedule:
    """Lays out intervals from the last to the first, and remembers what they add up to."""

    def __init__(
        self,
        who: Population,
        logged: Logged,
        role: Callable[[str], Role],
        order: Mapping[str, Place],
        *,
        only: bool,
    ) -> None:
        """Begin; *only*: there is one interval."""
        self.sessions = 0  # that were needed for all but logged transactions
        self.logged_transactions = 0
        self.beside = 0  # executions of intervals with logged transactions that are in none of them
        self.transactions = 0
        self.executions = 0
        self.spare_ns = 0
        self.pauses_ns = 0.0  # behind transactions
        self.bases: dict[str, None] = {}  # what transactions were taken from
        self._who, self._logged, self._role, self._order, self._only = who, logged, role, order, only
        self._timetable, self._logged_timetable = Timetable(), LoggedTimetable(logged)

    def lay_out(
        self, interval: Interval, duration_ns: NDArray[np.int64], draws: Draws
    ) -> tuple[NDArray[np.int64], Turns]:
        """Return the transaction of each execution of an interval, from 0, and when and where it runs.

        *duration_ns* are query after query. Sessions of logged transactions come first in the codes of sessions.
        """
        sessions = self._who.sessions[interval.number]
        group = grouping(interval.queries, self._role, interval.transactions, sessions)
        self.bases[group.basis] = None
        work = Work(duration_ns, *grouped(interval.queries, self._role, self._order, group, draws))
        self.executions += len(work)
        self.transactions += work.transactions
        logged = self._logged.ended(interval.start_ns, interval.end_ns)
        calls = np.repeat([query.calls for query in interval.queries], [query.calls for query in interval.queries])
        candidates = _most_frequent(work.transaction, calls, group)
        if logged.are_nearly(len(candidates)):
            chosen = np.isin(work.transaction, candidates[: len(logged.start_ns)])
            return work.transaction, self._as_logged(interval, logged, work, chosen, draws)
        return work.transaction, self._synthetic(interval, work, sessions, draws)

    def _as_logged(
        self, interval: Interval, logged: Logged, work: Work, chosen: NDArray[np.bool_], draws: Draws
    ) -> Turns:
        """Lay out those *chosen* at the times of logged transactions, and what nobody logged in a session besides."""
        inside, beside = work.of(chosen), work.of(~chosen)
        self.logged_transactions += inside.transactions
        self.beside += len(beside)
        self.pauses_ns += logged.mean_pause_ns() * inside.transactions
        self.spare_ns += logged.spare_ns(int(work.duration_ns.sum()))
        turns = Turns(*(np.zeros(len(work), np.int64) for _ in range(3)))
        turns.put(chosen, self._logged_timetable.lay_out(logged, inside))
        if len(beside):
            turns.put(
                ~chosen, self._timetable.lay_out(interval.start_ns, interval.end_ns, beside, (0.0, 1.0), 1, draws)
            )
            turns.session[~chosen] += len(self._logged.names)
        return turns

    def _synthetic(self, interval: Interval, work: Work, sessions: int, draws: Draws) -> Turns:
        start_ns, end_ns = self._who.window(interval, self._only)
        spare_ns = max(0, sessions * (end_ns - start_ns) - int(work.duration_ns.sum()))
        pauses = self._who.pauses(len(work), work.transactions, end_ns - start_ns, spare_ns)
        self.spare_ns += spare_ns
        self.pauses_ns += pauses[1] * work.transactions
        turns = self._timetable.lay_out(start_ns, end_ns, work, pauses, sessions, draws)
        turns.session[:] += len(self._logged.names)
        self.sessions = len(self._timetable.free_until_ns)
        return turns


def _most_frequent(transaction: NDArray[np.int64], calls: NDArray[np.int64], group: Grouping) -> NDArray[np.int64]:
    """Return the transactions that a load generator may have logged, those of the queries called most often first."""
    often = np.zeros(int(transaction.max()) + 1, np.int64)
    np.maximum.at(often, transaction, calls)
    some = np.flatnonzero(often[: group.explicit or len(often)])
    return some[np.argsort(-often[some], kind="stable")]
