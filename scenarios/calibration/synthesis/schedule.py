"""When every execution runs: at the times of logged transactions, or at synthetic ones."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.counted import Interval
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.logged_transactions import Logged, LoggedTimetable
from tiersim.scenarios.calibration.synthesis.order import Place
from tiersim.scenarios.calibration.synthesis.population import Population
from tiersim.scenarios.calibration.synthesis.sessions import Timetable, Turns, Work
from tiersim.scenarios.calibration.synthesis.texts import Role
from tiersim.scenarios.calibration.synthesis.transactions import Grouping, grouped, grouping


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
