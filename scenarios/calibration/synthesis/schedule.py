"""When every execution runs: at the times of transactions that a load generator logged, or at synthetic ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.counted import Interval
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.selection import Role
from tiersim.scenarios.calibration.synthesis.sessions import Population, Timetable, Turns, Work
from tiersim.scenarios.calibration.synthesis.transactions import Grouping, Place, grouped, grouping
from tiersim.traces.bundle_tables import read_statements
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_KINDS

#: Of the transactions that were counted, at least so many must have been logged.
_NEARLY_ALL = 0.98

Times = NDArray[np.int64]


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


class Schedule:
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
