"""How many sessions there were, and whether they paused between transactions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from tiersim.scenarios.calibration.synthesis.counted import Interval
from tiersim.scenarios.calibration.synthesis.waits import Samples
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
