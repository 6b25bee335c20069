"""What of a closed loop's time was a wait for the storage that was recorded, which a run on other storage has again.

A client's cycle is what its statements execute, what it waits for its commit, and what it takes itself. Executions are
counted; commits mostly are not, as PostgreSQL flushes its log after it took the time of the statement. A commit waits
for a write and a flush, and before them for those that are under way. How long is in no counter, but servers count how
long sessions were active (PostgreSQL from 14 on): what these did besides executing is waiting for commits, parsing,
planning, sending. Where that is more than a flush and all that clients may take, sessions waited. Then the wait is what
is left beside what clients are assumed to take; it lies between what is left beside the most that they take, and all of
it. Nobody waits for the log while it is idle. Where sessions may have executed statements that nobody counted, the wait
may be as little as a write and a flush.

Who waits for its commit holds its rows that long, and who wants them waits in an execution, where it looks like CPU.
Transactions of others that change a row come X times a second, a share sum p^2 of them to the same row; each holds it
for H, so that the share X H sum p^2, at most all, finds it held and waits for what is left: H / 2 if all hold it
equally long, else longer (the residual life of a renewal process, E[H^2] / 2 E[H]).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.cpu_and_waits import assumed_client_ns, most_client_ns
from tiersim.scenarios.statements.schedule import LoadTransactions
from tiersim.scenarios.statements.statement_load import LEAST_WAITS, MOST_WAITS, StatementLoad, fastest_ns_of
from tiersim.simulator.popularity import same_row_chance
from tiersim.units import NS_PER_S

#: Bounds that rise by less are met.
_NEAR = 0.001

Column = NDArray[np.int64]
Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class RecordedWaits:
    """Waits in ns: of a commit; by code of the query, of an execution for rows that others held.

    ``cpu_share`` is what of its CPU as recorded was none of that, by query. ``told``: the time of sessions shows them.
    ``unseen_ns`` is how much of a transaction may be a wait or none.
    """

    commit_ns: float
    locked_ns: Amounts
    cpu_share: Amounts
    told: bool = True
    unseen_ns: float = 0.0


def waits_of(load: StatementLoad, found: LoadTransactions, unseen: NDArray[np.bool_]) -> RecordedWaits:
    """Return the waits of a load whose transactions are *found*, of which the *unseen* ones make the log durable in no
    execution.
    """
    none = RecordedWaits(0.0, np.zeros(len(load.queries)), np.ones(len(load.queries)), told=False)
    if not (load.closed and load.synthetic and unseen.any()):
        return none
    times = _Times(load, found, unseen)
    least, most = times.waits(most_client_ns), times.most()
    if least is None:
        one = most if load.waits == MOST_WAITS else replace(none, commit_ns=load.commit_wait_ns)
        return replace(one, told=False, unseen_ns=times.unseen_ns())
    if not load.all_tracked:  # sessions may have executed in that time
        least = replace(none, commit_ns=load.commit_wait_ns, told=True)
    one = {LEAST_WAITS: least, MOST_WAITS: most}.get(load.waits) or times.waits(assumed_client_ns) or least
    apart_ns = times.commits * (most.commit_ns - least.commit_ns) + times.taken_ns(most) - times.taken_ns(least)
    return replace(one, unseen_ns=apart_ns / len(found.rows))


class _Times:
    """Where the time of a load's sessions went, in ns of all transactions together."""

    def __init__(self, load: StatementLoad, found: LoadTransactions, unseen: NDArray[np.bool_]) -> None:
        self._load, self._found, self.commits = load, found, int(unseen.sum())
        self._calls, self._cpu_ns, self._sampled_ns = (
            np.bincount(load.query, column, len(load.queries)).astype(np.float64)
            for column in (None, load.cpu_ns, load.lock_wait_ns)
        )
        self._least_cpu_ns = np.minimum(self._calls * fastest_ns_of(load), self._cpu_ns)
        executed_ns, self._between_ns = int(load.duration_ns.sum()), between_ns(load, found)
        self._outside_ns = None
        if load.active is not None and load.commit_wait_ns > 0:
            outside_ns = load.active * load.span_ns - executed_ns
            # less than all commits waited at least: sessions were not counted, as with track_activities = off
            self._outside_ns = outside_ns if outside_ns >= self.commits * load.commit_wait_ns else None
        rest_ns = self._between_ns if self._outside_ns is None else min(self._outside_ns, self._between_ns)
        self._most_ns = min(rest_ns, load.log_busy * (executed_ns + self._between_ns))
        self._rest_ns = rest_ns - self.commits * load.commit_wait_ns

    def waits(self, own: Callable[[float], float]) -> RecordedWaits | None:
        """Return the waits if clients, and what serves them, take their *own* time for a statement of so much CPU; None
        where nothing shows that commits waited for more than a write and a flush.
        """
        if self._outside_ns is None:
            return None
        found, before_ns = self._held(0.0), -1.0
        while found.commit_ns > before_ns * (1 + _NEAR):  # who waits for commits waits for rows, and needs less CPU
            before_ns = found.commit_ns
            left_ns = self._outside_ns - self._own_ns(own, self.taken_ns(found))
            commit_ns = min(left_ns, self._most_ns) / self.commits
            if commit_ns <= self._load.commit_wait_ns:
                return None
            found = self._held(commit_ns)
        return found

    def most(self) -> RecordedWaits:
        """Return the waits if nothing was a pause that can be one, and no execution that locks rows needed more CPU
        than the fastest.
        """
        locks = np.array([asked.locks for asked in self._load.asked])
        locked_ns = np.where(locks, (self._cpu_ns + self._sampled_ns) / np.maximum(self._calls, 1), 0.0)
        return RecordedWaits(self._most_ns / self.commits, locked_ns, self._cpu_share(locked_ns))

    def unseen_ns(self) -> float:
        """Return how much of a transaction's pauses may be waits where nothing shows it; pauses that a client may need
        for itself are none.
        """
        if self._rest_ns <= self._own_ns(most_client_ns, 0.0):
            return 0.0
        return max(self._most_ns - self.commits * self._load.commit_wait_ns, 0.0) / len(self._found.rows)

    def taken_ns(self, waits: RecordedWaits) -> float:
        """Return how much of what looks like CPU was a wait."""
        return float((self._cpu_ns * (1 - waits.cpu_share)).sum())

    def _held(self, commit_ns: float) -> RecordedWaits:
        """Return the waits of a load whose commits wait so long."""
        locked_ns = self._locked_ns(commit_ns) if commit_ns else np.zeros(len(self._load.queries))
        return RecordedWaits(commit_ns, locked_ns, self._cpu_share(locked_ns))

    def _cpu_share(self, locked_ns: Amounts) -> Amounts:
        """Return what is left of the CPU of executions by query if each waited so long for locked rows: at least what
        all take that are as fast as the fastest one. Waits that were sampled are in no CPU.
        """
        waited_ns = np.maximum(self._calls * locked_ns - self._sampled_ns, 0.0)
        left_ns = np.maximum(self._cpu_ns - waited_ns, self._least_cpu_ns)
        return np.where(self._cpu_ns > 0, left_ns / np.maximum(self._cpu_ns, 1), 1.0)

    def _own_ns(self, own: Callable[[float], float], taken_ns: float) -> float:
        return len(self._load) * own((float(self._cpu_ns.sum()) - taken_ns) / len(self._load))

    def _locked_ns(self, commit_ns: float) -> Amounts:
        """Return by query how long an execution waited for rows whose transactions wait so long for their commit.

        Nobody waits for a row of its own session, and rows are held for all of the time at most.
        """
        load, found = self._load, self._found
        ended_ns = np.repeat(found.start_ns + found.length_ns, found.rows)
        after_ns = np.bincount(load.query, ended_ns - load.start_ns - load.duration_ns, len(load.queries))
        held_ns = after_ns / np.maximum(self._calls, 1) + commit_ns
        sessions = load.sessions
        a_second = self._calls / (load.span_ns / NS_PER_S) * (1 - 1 / sessions)  # of others
        locks = [code for code, asked in enumerate(load.asked) if asked.locks and asked.changes > 0]
        locked_ns = np.zeros(len(load.queries))
        for place, (table, law) in enumerate(zip(load.fitted.tables, load.fitted.laws, strict=True)):
            rows = {code: load.asked[code].lookups[place] + load.asked[code].again[place] for code in locks}
            same = same_row_chance(law.table(table.rows))
            held = same * sum(a_second[code] * count * held_ns[code] for code, count in rows.items()) / NS_PER_S
            left_ns = sum(a_second[code] * count * held_ns[code] ** 2 for code, count in rows.items()) / 2 / NS_PER_S
            for code, count in rows.items():
                locked_ns[code] += count * same * left_ns / max(held, 1.0)
        return locked_ns


def between_ns(load: StatementLoad, found: LoadTransactions) -> int:
    """Return the time between executions of all sessions."""
    gaps_ns = gaps(load)
    return int(gaps_ns.sum() - gaps_ns[found.first_row].sum() + found.pause_ns.sum())


def gaps(load: StatementLoad) -> Column:
    """Return the time between an execution and the one before it in its transaction."""
    gap_ns = np.zeros(len(load), np.int64)
    gap_ns[1:] = np.maximum(load.start_ns[1:] - load.start_ns[:-1] - load.duration_ns[:-1], 0)
    return gap_ns
