"""What statements cost the processors, where nobody measured it: the load is simulated on the recorded hardware until
it runs as recorded.

Three things are looked for. ``read_ns``, what a page that is read costs: so that a read takes as long as the server
saw, from the start of the read until its process is served again; ``log_io_ns`` likewise, of the writes and flushes of
the log. ``client_ns``, what a statement costs besides itself where clients share the host, to be sent and answered: so
that as many transactions end in a second as were recorded. What it costs by itself is known (``docs/synthesis.md``).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import FINE_EDGES_NS
from tiersim.scenarios.calibration.cpu_and_waits import LONG_NS
from tiersim.simulator.categories import PROCESSOR, TRANSACTION
from tiersim.simulator.database.database_state import COUNTED_FROM, LOG_IO_NS, READ_NS, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.metrics import Metrics
from tiersim.traces.differences import Differences, of_log
from tiersim.traces.schema import DATA_READ
from tiersim.units import NS_PER_MS, NS_PER_S

#: Most simulations; fewer when transactions a second and reads are met so closely.
_MOST_RUNS, _NEAR = 24, 0.002
#: What sessions do, among the entities of ``io``, and what is done with tables.
_OF_SESSIONS, _OF_TABLES = "client backend/", "/relation/"
#: A session with less than this share of the statements of the busiest one is none of those that the load was measured
#: by.
_TAKES_PART = 0.1
#: Processors that are busy for so much of the time limit what is done in a second: in a simulation, and as recorded,
#: where clients pause a little.
_BUSY, LIMITING = 0.95, 0.9
#: Who has read a page waits for a processor to go on, however little it costs.
_LEAST_READ_NS = 1


@dataclass(frozen=True)
class Pace:
    """How fast a load ran: transactions a second, and how long a page took to read, None if no page was, or nobody
    noted it.

    ``log_sync_ns`` is how long a write of the log and the flush behind it took together. ``pause_ns`` is the time of a
    client of a closed loop between transactions, which is in no latency; None where nobody measured it.
    """

    transactions_per_s: float | None
    read_ns: float | None
    pause_ns: int | None = None
    log_sync_ns: float | None = None


@dataclass(frozen=True)
class ProcessorCosts:
    """CPU in ns on a core of the recorded host.

    ``statement_ns`` is that of one execution by query, besides what ``costs`` charge for its pages. ``client_ns`` is
    what it takes besides to be sent and answered, if the clients ran on the same cores; ``pause_ns`` then is the time
    of a client between transactions. None: they ran elsewhere, and their time is think time. ``basis`` says what it was
    found from.
    """

    statement_ns: Mapping[str, int]
    client_ns: int
    costs: Costs
    basis: str
    pause_ns: int | None = None
    recorded: Pace | None = None
    simulated: Pace | None = None
    unhindered: float = 1.0  # of the CPU that was recorded of a statement, what it takes where no other core is busy
    assumed: tuple[str, ...] = ()  # costs that nothing recorded tells, a sentence each
    cpu_range: tuple[float, float] = (1.0, 1.0)  # multiples between which the CPU of statements and clients lies
    read_range: tuple[float, float] = (1.0, 1.0)  # and that of a read
    cores: int | None = None  # of the recorded host, where a scenario of it says so
    cpu_order: int | None = None  # whom a core serves next where the operating system chooses; None: as it was recorded


@dataclass(frozen=True)
class CalibrationRun:
    """A simulation of the recorded load on the recorded hardware."""

    pace: Pace
    busy: float  # of the processors, 0 to 1
    cores: int
    sessions: int
    reads_per_transaction: float
    statements_per_transaction: float
    long_waits: float = 0.0  # transactions that took longer than any that is not waiting, as a share


def recorded_pace(found: Differences) -> Pace:
    """Return how fast a load ran, of what was counted."""
    rates = [float(change.number("transactions_per_s") or 0) for change in found.of("client").values()]
    timed = [
        (float(read), float(took))
        for change in found.of("query").values()
        if (read := change.number("pages_read")) and (took := change.number("read_ms")) is not None
    ]
    pages, took_ms = (sum(column) for column in zip(*timed, strict=True)) if timed else (0.0, 0.0)
    read_ns = took_ms / pages * NS_PER_MS if took_ms else None
    return Pace(sum(rates) or None, read_ns, _pause_ns(found), _log_sync_ns(found))


def _log_sync_ns(found: Differences) -> float | None:
    """Return how long a write and a flush of the log took together, where both were timed."""
    flushes, flush_ms, write_ms = (of_log(found, name) for name in ("flushes", "flush_ms", "write_ms"))
    return (flush_ms + write_ms) * NS_PER_MS / flushes if flushes and flush_ms and write_ms else None


def recorded_flushes(found: Differences) -> int:
    """Return how often the log was flushed, as far as that was counted."""
    return int(of_log(found, "flushes"))


def recorded_ios(found: Differences) -> tuple[float, float] | None:
    """Return how many reads, writes and flushes the sessions did themselves, and all processes of the server; None
    where nobody counted them by process.
    """
    of_sessions = everybody = 0.0
    for entity, change in found.of("io").items():
        count = sum(float(change.number(name) or 0) for name in ("reads", "writes", "extends", "flushes"))
        everybody += count
        of_sessions += count if entity.startswith(_OF_SESSIONS) else 0.0
    return (of_sessions, everybody) if everybody else None


def written_by_sessions(found: Differences) -> float:
    """Return how many pages of tables the sessions wrote themselves, to have their frames; 0 where nobody counted them
    by process.
    """
    return sum(pages for entity, pages in _written(found) if entity.startswith(_OF_SESSIONS))


def written_by_others(found: Differences) -> float:
    """Return how many pages of tables the server's other processes wrote; 0 where nobody counted them by process."""
    return sum(pages for entity, pages in _written(found) if not entity.startswith(_OF_SESSIONS))


def _written(found: Differences) -> Iterator[tuple[str, float]]:
    for entity, change in found.of("io").items():
        if _OF_TABLES in entity:
            yield entity, float(change.number("writes") or 0)


def _pause_ns(found: Differences) -> int | None:
    """Return what the load generator's clients took between transactions: N clients do N /
    (latency + pause) a second.
    """
    one = list(found.of("client").values())
    if len(one) != 1:
        return None
    clients, rate, mean_ms = (one[0].number(name) for name in ("clients", "transactions_per_s", "mean_ms"))
    if not clients or not rate or mean_ms is None:
        return None
    return max(round(float(clients / rate) * NS_PER_S - float(mean_ms) * NS_PER_MS), 0)


def pace_of(database: Database, metrics: Metrics, processor_ns: int) -> Pace:
    """Return how fast a simulated load ran; *processor_ns* is how long its processors worked.

    A page that is read costs CPU, is waited for, and then its session waits for a processor, as long as any slice of a
    session does. What the log takes of the processors, behind each write and each flush, goes before all that waits.
    """
    slices, waited_ns = _sums(metrics, PROCESSOR)
    reads, read_ns = _sums(metrics, DATA_READ)
    log = database.log[0]
    of_log_ns = 2 * int(log["flushes"]) * int(database.costs[LOG_IO_NS])
    queued_ns = (waited_ns - processor_ns + of_log_ns) / max(slices, 1)
    return Pace(
        transactions_per_s=_transactions_per_s(database),
        read_ns=float(database.costs[READ_NS]) + read_ns / reads + queued_ns if reads else None,
        log_sync_ns=int(log["sync_ns"]) / int(log["flushes"]) if log["flushes"] else None,
    )


def _sums(metrics: Metrics, category: int) -> tuple[int, int]:
    return int(metrics.completions[:, category].sum()), int(metrics.latency_sum_ns[:, category].sum())


def long_waits_of(metrics: Metrics) -> float:
    """Return which share of the transactions of a simulated load took longer than ``LONG_NS``, so that each waited."""
    took = metrics.latency[TRANSACTION]
    return float(took[FINE_EDGES_NS[: len(took)] >= LONG_NS].sum() / max(took.sum(), 1))


def loop_sessions(database: Database) -> NDArray[np.int64]:
    """Return the last statement of each session that takes part in the load: others do little beside it, or help."""
    ends = database.sessions["end"][: database.first_helper[0]].astype(np.int64)
    statements = np.diff(np.sort(ends), prepend=0)
    last: NDArray[np.int64] = np.sort(ends)[statements >= _TAKES_PART * statements.max(initial=0)] - 1
    return last


def _transactions_per_s(database: Database) -> float | None:
    """Return how many ended in a second, from when all sessions have begun to count until the
    first has no more to do.
    """
    ends = database.ends > 0
    last = loop_sessions(database)
    until = int(database.done_ns[last].min()) if len(last) else 0
    since = int(database.counted_ns[COUNTED_FROM])
    count = int((ends & (database.done_ns > since) & (database.done_ns <= until)).sum())
    return count / (until - since) * NS_PER_S if until > since else None


def calibrate_processor(
    recorded: Pace, start: ProcessorCosts, simulate: Callable[[ProcessorCosts], CalibrationRun]
) -> ProcessorCosts:
    """Return the costs with which *simulate* runs as *recorded*, beginning at *start*.

    What was not recorded is not looked for: *start* has it. A page that takes longer to read than recorded even if it
    costs no CPU at all, or transactions that are too few even if clients need none, leave a difference between
    ``recorded`` and ``simulated`` of the answer.
    """
    found, run = start, simulate(start)
    share, late_before_ns = 1.0, 0.0
    for _ in range(_MOST_RUNS):
        read_change = _read_change(recorded, run, found)
        client_change = 0.0 if found.pause_ns is None else _client_change(recorded, run, found, read_change)
        late_ns = 0.0 if found.pause_ns is None else _late_ns(recorded, run)
        log_change = _log_change(recorded, run, found)
        near = _near(recorded.read_ns, read_change) and _near(recorded.log_sync_ns, log_change)
        if near and _near(_per_transaction_ns(recorded), late_ns):
            break
        if late_ns * late_before_ns < 0 and abs(late_ns) > abs(late_before_ns) / 2:  # too fast and too slow in turn
            share /= 2
        late_before_ns = late_ns
        costs = found.costs._replace(
            read_ns=found.costs.read_ns + round(share * read_change),
            log_io_ns=found.costs.log_io_ns + round(share * log_change),
        )
        found = replace(found, costs=costs, client_ns=found.client_ns + round(share * client_change))
        run = simulate(found)
    return replace(found, recorded=recorded, simulated=run.pace)


def _read_change(recorded: Pace, run: CalibrationRun, found: ProcessorCosts) -> float:
    if recorded.read_ns is None or run.pace.read_ns is None:
        return 0.0
    return max((recorded.read_ns - run.pace.read_ns) / 2, _LEAST_READ_NS - found.costs.read_ns)


def _log_change(recorded: Pace, run: CalibrationRun, found: ProcessorCosts) -> float:
    """Return how much more CPU each of the two has to take, the write and the flush; half of what is missing, as of
    reads.
    """
    if recorded.log_sync_ns is None or run.pace.log_sync_ns is None:
        return 0.0
    return max((recorded.log_sync_ns - run.pace.log_sync_ns) / 4, -found.costs.log_io_ns)


def _client_change(recorded: Pace, run: CalibrationRun, found: ProcessorCosts, read_change: float) -> float:
    """Return how much more CPU a transaction has to take: all that is missing on busy processors, a share of it on
    others.

    Time between transactions falls by the cores where these are busy, and otherwise by the sessions; what reads take
    more is taken off.
    """
    late_ns = _late_ns(recorded, run)
    together = run.cores if run.busy >= _BUSY or late_ns > 0 else run.sessions
    change = -late_ns * together - run.reads_per_transaction * read_change
    return max(change / run.statements_per_transaction, -found.client_ns)


def _late_ns(recorded: Pace, run: CalibrationRun) -> float:
    """Return how much longer one transaction after the other takes than recorded."""
    wanted, had = _per_transaction_ns(recorded), _per_transaction_ns(run.pace)
    return 0.0 if wanted is None or had is None else had - wanted


def _per_transaction_ns(pace: Pace) -> float | None:
    return NS_PER_S / pace.transactions_per_s if pace.transactions_per_s else None


def _near(wanted: float | None, change: float) -> bool:
    return wanted is None or abs(change) <= _NEAR * wanted
