"""What sessions were seen doing and waiting for, sampled."""

from dataclasses import dataclass, field
from decimal import Decimal

from tiersim.traces.differences import Differences
from tiersim.traces.statistics import Snapshot
from tiersim.units import NS_PER_MS

#: What a session waits for, by the class of the wait; what begins with _OF_THE_LOG is the log's, whatever its class.
LOCK, LOG, CLIENT, IO, OTHER = "lock", "log", "client", "io", "other"
_KINDS = {"": "", "Lock": LOCK, "LWLock": LOCK, "BufferPin": LOCK, "IO": IO, "Client": CLIENT}
_OF_THE_LOG = "WAL"
#: Of an active session, but before and after its statement is executed.
_OUTSIDE = "ClientRead"
#: States of sessions that have a statement or a transaction.
_BUSY = ("active", "idle in transaction", "fastpath")
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
            if not isinstance(number, Decimal) or not state.startswith(_BUSY):
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
