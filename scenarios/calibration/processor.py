"""What statements cost the processors, where nobody measured it: the load is simulated on the recorded hardware until
it runs as recorded.

Three things are looked for. ``read_ns``, what a page that is read costs: so that a read takes as long as the server
saw, from the start of the read until its process is served again; ``log_io_ns`` likewise, of the writes and flushes of
the log. ``client_ns``, what a statement costs besides itself where clients share the host, to be sent and answered: so
that as many transactions end in a second as were recorded. What it costs by itself is known (``docs/synthesis.md``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import FINE_EDGES_NS
from tiersim.scenarios.calibration.cpu_and_waits import COUNTED_RANGE, LONG_NS, MOST_LOG_NS
from tiersim.simulator.categories import PROCESSOR, STATEMENT, TRANSACTION
from tiersim.simulator.database.database_state import COUNTED_FROM, LOG_IO_NS, READ_NS, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.verdict import ALWAYS_BUSY
from tiersim.traces.differences import Differences, of_log
from tiersim.traces.schema import DATA_READ
from tiersim.units import NS_PER_MS, NS_PER_S

#: Most simulations; fewer when all times that were recorded are met so closely.
_MOST_RUNS, _NEAR = 24, 0.002
#: What is left of a transaction beside its reads is a small difference of large times, and groups of commits are so
#: many: they are met so closely.
_AWAKE_NEAR = GROUPS_NEAR = 0.01
#: So many changes correct the next; one that leads so many times as far away is taken back. What two changes achieved
#: is the same up to such a share: runs whose costs differ by a nanosecond are some thousandths apart.
_REMEMBERED, _WORSE, _SAME = 3, 2.0, 0.05
#: What sessions do, among the entities of ``io``, and what is done with tables.
_OF_SESSIONS, _OF_TABLES = "client backend/", "/relation/"
#: A session with less than this share of the statements of the busiest one is none of those that the load was measured
#: by.
_TAKES_PART = 0.1
#: Recorded processors that are busy for so much of the time limit what is done in a second, as clients pause a little;
#: simulated ones always work then.
LIMITING = 0.9
#: Who has read a page, or written the log, waits for a processor to go on, however little that costs.
LEAST_NS = 1
_LESS = (
    "CPU of clients: {:,.0f} µs a statement, {}; the recording's pace gives {:,.0f} µs: sessions also waited for"
    " something else"
)


@dataclass(frozen=True)
class Pace:
    """How fast a load ran: transactions a second, and how long a page took to read, None if no page was, or nobody
    noted it.

    ``log_sync_ns`` is how long a write of the log and the flush behind it took together. ``pause_ns`` is the time of a
    client of a closed loop between transactions, which is in no latency; None where nobody measured it.
    ``awake_ns`` is what a transaction took without its reads, ``gaps_ns`` how long its session waited in it for the
    client. ``groups`` are the flushes of the log for groups of commits, of a transaction: the longer one takes, the
    more come along with the next.
    """

    transactions_per_s: float | None
    read_ns: float | None
    pause_ns: int | None = None
    log_sync_ns: float | None = None
    awake_ns: float | None = None
    gaps_ns: float | None = None
    groups: float | None = None


@dataclass(frozen=True)
class ProcessorCosts:
    """CPU in ns on a core of the recorded host.

    ``statement_ns`` is that of one execution by query, besides what ``costs`` charge for its pages. ``client_ns`` is
    what it takes besides to be sent and answered: of clients that ran on the same cores, too; ``pause_ns`` then is the
    time of a client between transactions. None: they ran elsewhere, and their time is think time, but ``served_ns`` of
    each pause, which the server took. ``basis`` says what it was found from.
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
    log_range: tuple[float, float] = (1.0, 1.0)  # and that of a write of the log, at the same place as a read's
    cores: int | None = None  # of the recorded host, where a scenario of it says so
    cpu_order: int | None = None  # whom a core serves next where the operating system chooses; None: as it was recorded
    hot: float = 1.0  # share of its recorded CPU that a statement takes on a busy host
    least_ns: Mapping[str, float] = field(default_factory=dict)  # of CPU by query, where the fastest execution tells
    is_counted: bool = False  # the host's processors counted that CPU: no wait is in it
    served_ns: int = 0  # of a pause before a statement: the server's CPU for it, and its wait for a processor

    def with_clients(self, client_ns: int, why: str) -> Self:
        """Return costs whose clients take less than the recording's pace gives them: *why* that is counted."""
        return replace(
            self,
            client_ns=client_ns,
            cpu_range=COUNTED_RANGE,
            assumed=(*self.assumed, _LESS.format(client_ns / 1e3, why, self.client_ns / 1e3)),
        )


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

    @property
    def cpu_ns(self) -> float:
        """Busy time of all processors, divided by the transactions."""
        return self.busy * self.cores * NS_PER_S / (self.pace.transactions_per_s or float("inf"))


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
    awake_ns = _awake_ns(found, took_ms) if read_ns else None
    return Pace(sum(rates) or None, read_ns, _pause_ns(found), _log_sync_ns(found), awake_ns)


def _awake_ns(found: Differences, reading_ms: float) -> float | None:
    """Return what a transaction took without its reads, which took *reading_ms* in all."""
    one = list(found.of("client").values())
    mean_ms, count = (one[0].number(name) if len(one) == 1 else None for name in ("mean_ms", "transactions"))
    return max(float(mean_ms) - reading_ms / float(count), 0.0) * NS_PER_MS if mean_ms and count else None


def _log_sync_ns(found: Differences) -> float | None:
    """Return how long a write and a flush of the log took together, where both were timed."""
    flushes, flush_ms, write_ms = (of_log(found, name) for name in ("flushes", "flush_ms", "write_ms"))
    return (flush_ms + write_ms) * NS_PER_MS / flushes if flushes and flush_ms and write_ms else None


def recorded_flushes(found: Differences) -> int:
    """Return how often the log was flushed, as far as that was counted."""
    return int(of_log(found, "flushes"))


def recorded_ios(found: Differences, page_bytes: int) -> tuple[float, float] | None:
    """Return how many reads, writes and flushes the sessions did themselves, and all processes of the server; None
    where nobody counted them by process, or the pages of operations are unknown (op_bytes, read_bytes not exported).

    A page that is read, or added, counts: PostgreSQL 18 counts operations, of up to 16 of them.
    """
    of_sessions = everybody = 0.0
    for entity, change in found.of("io").items():
        sized = (("reads", "read_bytes"), ("extends", "extended_bytes"))
        if any(change.number(ios) and change.number(size) is None for ios, size in sized):
            return None
        count = sum(float(change.number(name) or 0) / page_bytes for name in ("read_bytes", "extended_bytes"))
        count += sum(float(change.number(name) or 0) for name in ("writes", "flushes"))
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
    session does.
    """
    slices, waited_ns = _sums(metrics, PROCESSOR)
    reads, read_ns = _sums(metrics, DATA_READ)
    log = database.log[0]
    of_log_ns = 2 * int(log["flushes"]) * int(database.costs[LOG_IO_NS])
    queued_ns = (waited_ns - processor_ns + of_log_ns) / max(slices, 1)
    each_ns = float(database.costs[READ_NS]) + read_ns / reads + queued_ns if reads else None
    transactions, took_ns = _sums(metrics, TRANSACTION)
    return Pace(
        transactions_per_s=_transactions_per_s(database),
        read_ns=each_ns,
        log_sync_ns=int(log["sync_ns"]) / int(log["flushes"]) if log["flushes"] else None,
        awake_ns=(took_ns - reads * (each_ns or 0.0)) / transactions if transactions else None,
        gaps_ns=(took_ns - _sums(metrics, STATEMENT)[1]) / transactions if transactions else None,
        groups=int(log["flushes"]) / transactions if transactions else None,
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
    """Return the costs with which *simulate* runs as *recorded*, beginning at *start*: of all runs the nearest.

    What was not recorded is not looked for: *start* has it. A page that takes longer to read than recorded even if it
    costs no CPU at all, or transactions that are too few even if clients need none, leave a difference between
    ``recorded`` and ``simulated`` of the answer.
    """
    tried: list[_Tried] = []
    nearest: _Tried | None = None
    costs, share = _within(_costs_of(start), recorded, start), 1.0
    for _ in range(_MOST_RUNS):
        one = _tried(recorded, _with_costs(start, costs), simulate)
        if nearest is None or one.far < nearest.far:
            nearest, share = one, min(2 * share, 1.0)
        elif one.far > _WORSE * nearest.far:  # a step that led away: a smaller one, from where it began
            tried, one, share = [], nearest, share / 2
        if nearest.far <= 1:
            break
        tried = [*(before for before in tried[-_REMEMBERED:] if before.sharing == one.sharing), one]
        costs = _within(_costs_of(one.found) + share * _step(tried), recorded, start)
    assert nearest is not None
    return replace(nearest.found, recorded=recorded, simulated=nearest.run.pace)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A run with costs of reads, of writes of the log and of clients, and what to change after it."""

    found: ProcessorCosts
    run: CalibrationRun
    change: NDArray[np.float64]  # ns that each cost lacks, if the others stay as they are
    missing: NDArray[np.float64]  # of the three recorded times, in units of what counts as met
    sharing: int  # by how many the time between transactions is shared; runs are compared where it is the same

    @property
    def far(self) -> float:
        """Return what is missing most; up to 1 all times are met."""
        return float(np.abs(self.missing).max())


def _tried(recorded: Pace, found: ProcessorCosts, simulate: Callable[[ProcessorCosts], CalibrationRun]) -> _Tried:
    run = simulate(found)
    read, log = _read_change(recorded, run, found), _log_change(recorded, run, found)
    client = 0.0 if found.pause_ns is None else _client_change(recorded, run, found, read)
    late_ns = 0.0 if found.pause_ns is None else _late_ns(recorded, run)
    lasts_ns = _per_transaction_ns(recorded)
    rest_ns = recorded.awake_ns if recorded.gaps_ns is None else recorded.gaps_ns
    if lasts_ns is None and rest_ns is not None:
        lasts_ns = _AWAKE_NEAR / _NEAR * rest_ns / run.sessions
    missing = (
        _missing(recorded.read_ns, _lacking_ns(recorded.read_ns, run.pace.read_ns), read),
        _missing_groups(recorded, run, log)
        if tells_by_groups(recorded)
        else _missing(recorded.log_sync_ns, _lacking_ns(recorded.log_sync_ns, run.pace.log_sync_ns), log),
        _missing(lasts_ns, -late_ns, client),
    )
    return _Tried(found, run, np.array([read, log, client]), np.array(missing), _sharing(recorded, run))


def _missing(wanted_ns: float | None, lacking_ns: float, change_ns: float) -> float:
    """Return what a time lacks, in units of the share ``_NEAR`` of it; none where its cost should be less and is as
    little as any.
    """
    return lacking_ns / (_NEAR * wanted_ns) if wanted_ns and (lacking_ns > 0 or change_ns) else 0.0


def _step(tried: Sequence[_Tried]) -> NDArray[np.float64]:
    """Return by how much costs change next: as the last run says, corrected by what the changes before it achieved.

    Anderson, "Iterative procedures for nonlinear integral equations", Journal of the ACM 12(4), 1965.
    """
    last = tried[-1]
    if len(tried) == 1:
        return last.change
    achieved = np.array([after.missing - before.missing for before, after in pairwise(tried)]).T
    led_to = np.array([_led_to(after) - _led_to(before) for before, after in pairwise(tried)]).T
    weights = np.linalg.lstsq(achieved, last.missing, rcond=_SAME)[0]
    step: NDArray[np.float64] = last.change - led_to @ weights
    return step


def _led_to(one: _Tried) -> NDArray[np.float64]:
    return _costs_of(one.found) + one.change


def _costs_of(found: ProcessorCosts) -> NDArray[np.float64]:
    return np.array([found.costs.read_ns, found.costs.log_io_ns, found.client_ns], np.float64)


def _with_costs(start: ProcessorCosts, costs: NDArray[np.float64]) -> ProcessorCosts:
    read_ns, log_io_ns, client_ns = np.rint(costs).astype(np.int64).tolist()
    return replace(start, costs=start.costs._replace(read_ns=read_ns, log_io_ns=log_io_ns), client_ns=client_ns)


def _within(costs: NDArray[np.float64], recorded: Pace, start: ProcessorCosts) -> NDArray[np.float64]:
    """Return costs of which none that is looked for is less than it can be."""
    least = [0 if time is None else LEAST_NS for time in (recorded.read_ns, recorded.log_sync_ns)]
    within: NDArray[np.float64] = np.maximum(costs, [*least, 0 if start.pause_ns is not None else start.client_ns])
    if tells_by_groups(recorded):
        within[1] = min(within[1], MOST_LOG_NS)
    return within


def _lacking_ns(recorded_ns: float | None, simulated_ns: float | None) -> float:
    return 0.0 if recorded_ns is None or simulated_ns is None else recorded_ns - simulated_ns


def _read_change(recorded: Pace, run: CalibrationRun, found: ProcessorCosts) -> float:
    """Return half of what a read lacks: who has read waits for a processor behind others that have."""
    return max(_lacking_ns(recorded.read_ns, run.pace.read_ns) / 2, min(LEAST_NS - found.costs.read_ns, 0))


def _log_change(recorded: Pace, run: CalibrationRun, found: ProcessorCosts) -> float:
    """Return how much more CPU each of the two has to take, the write and the flush; half of what is missing, as of
    reads.
    """
    lacking_ns, most_ns = _lacking_ns(recorded.log_sync_ns, run.pace.log_sync_ns), float("inf")
    if tells_by_groups(recorded):
        lacking_ns, most_ns = _grouping_ns(recorded, run), max(MOST_LOG_NS - found.costs.log_io_ns, 0)
    return max(min(lacking_ns / 4, most_ns), min(LEAST_NS - found.costs.log_io_ns, 0))


def tells_by_groups(recorded: Pace) -> bool:
    """Tell whether nobody timed the log, but groups of commits were counted."""
    return recorded.log_sync_ns is None and bool(recorded.groups)


def _grouping_ns(recorded: Pace, run: CalibrationRun) -> float:
    """Return how much longer a write and a flush of the log have to take together so that as many commits share them as
    were recorded: as if these came evenly.
    """
    if not recorded.groups or not run.pace.groups or not run.pace.log_sync_ns:
        return 0.0
    return run.pace.log_sync_ns * (run.pace.groups / recorded.groups - 1)


def _missing_groups(recorded: Pace, run: CalibrationRun, change_ns: float) -> float:
    """Return what that time lacks, in units of the share ``GROUPS_NEAR`` of it; none where its cost cannot change."""
    had_ns = run.pace.log_sync_ns
    return _grouping_ns(recorded, run) / (GROUPS_NEAR * had_ns) if had_ns and change_ns else 0.0


def _client_change(recorded: Pace, run: CalibrationRun, found: ProcessorCosts, read_change: float) -> float:
    """Return how much more CPU a transaction has to take: all that is missing on busy processors, a share of it on
    others.

    Time between transactions falls by the cores where these are busy, and otherwise by the sessions; what reads take
    more is taken off.
    """
    change = -_late_ns(recorded, run) * _sharing(recorded, run) - run.reads_per_transaction * read_change
    return max(change / run.statements_per_transaction, -found.client_ns)


def _sharing(recorded: Pace, run: CalibrationRun) -> int:
    """Return by how many the time from one transaction to the next is shared: cores, where these limit it."""
    return run.cores if run.busy >= ALWAYS_BUSY or _late_ns(recorded, run) > 0 else run.sessions


def _late_ns(recorded: Pace, run: CalibrationRun) -> float:
    """Return how much longer one transaction after the other takes than recorded; its waits for the client, or all
    besides its reads, where only these are asked.
    """
    if recorded.transactions_per_s is None:
        parts = ((recorded.gaps_ns, run.pace.gaps_ns), (recorded.awake_ns, run.pace.awake_ns))
        for was_ns, is_ns in parts:
            if was_ns is not None and is_ns is not None:
                return (is_ns - was_ns) / run.sessions
    wanted, had = _per_transaction_ns(recorded), _per_transaction_ns(run.pace)
    return 0.0 if wanted is None or had is None else had - wanted


def _per_transaction_ns(pace: Pace) -> float | None:
    return NS_PER_S / pace.transactions_per_s if pace.transactions_per_s else None
