"""How many sessions there were, and when each runs what: transactions one after the other, never two at once, with
pauses for what time is left.

An interval counts what *ended* in it. So intervals are laid out from the last to the first, and a statement that is
longer than its interval reaches back into those before, where its session is then busy.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.counted import Interval
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.time_split import Samples
from tiersim.traces.differences import Differences
from tiersim.units import NS_PER_MS, NS_PER_S

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
        paced = any((c.number("rate_per_s") or 0) > 0 for c in clients)
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
        f" {_HEADROOM:g} times its square root; record samples of pg_stat_activity to know it"
    )
    return Population(tuple(sessions), False, None, idle_inside, basis)


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
        part unless
        they have not enough time for all.
        """
        transaction, duration_ns, place = work.transaction, work.duration_ns, work.place
        count = int(transaction.max()) + 1
        work_ns = np.bincount(transaction, weights=duration_ns, minlength=count).astype(np.int64)
        room_ns = self._rooms(start_ns, end_ns, work_ns, sessions)
        owner = _owners(work_ns, room_ns, draws)
        turn = draws.order(count, "turn")
        session = owner[transaction]
        order = np.lexsort((np.arange(len(place)), place, turn[transaction], session))
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
