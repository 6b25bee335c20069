"""From a schedule to the simulator's statements: which class each is of, what the class demands, how much CPU it uses.

Besides the executions there are commits, where a transaction has to make its log durable and no COMMIT was counted; SQL
Server's are part of the last statement, whose duration holds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.calibration.synthesis.counted import MEASURED, Role, role_of
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.recorded_waits import RecordedWaits, between_ns, gaps, waits_of
from tiersim.scenarios.statements.schedule import LoadTransactions, TransactionSchedule
from tiersim.scenarios.statements.statement_load import COMMIT, StatementLoad
from tiersim.scenarios.statements.variants import drawn_variants, pages_in, recorded_variants
from tiersim.simulator.database.build import Demand, Statements
from tiersim.simulator.database.database_state import AGAIN, COMPUTE, LOCK, LOG, LOOKUP, LOOKUPS, OWN, SCAN
from tiersim.simulator.database.sessions.processors import Costs

#: Queries that are counted by themselves, the most expensive ones; the others are counted together.
MOST_QUERIES = 200
#: Name of the queries beyond the most expensive.
OTHERS = "others"
#: Lengths of logs are told apart to an eighth.
_LOG_STEPS = 8

Column = NDArray[np.int64]


class SessionRules(NamedTuple):
    """What of the host and the engine decides what sessions do."""

    commits_apart: bool  # a commit is no part of the last statement, as its duration was recorded
    commit_record_bytes: int  # of the log, for the commit by itself
    core_speed: float  # against a core of the recorded host
    costs: Costs  # on a core of this host
    message_ns: int = 0  # of a client, besides executions, on a core of the recorded host; where that was not counted


@dataclass(frozen=True)
class Program:
    """Everything that sessions will do.

    ``names`` are of the columns of metrics, behind those of all databases: queries, OTHERS, COMMIT; ``category`` is the
    column of each class. By class, ``pages`` are those that a statement looks up, ``other_pages`` those that it finds
    besides, on average. ``executed`` tells recorded executions from what was added to them. ``anew_ns`` is the pause of
    each session before it begins anew, none where none does.
    """

    classes: tuple[tuple[Demand, ...], ...]
    category: tuple[int, ...]
    names: tuple[str, ...]
    pages: tuple[int, ...]
    other_pages: tuple[float, ...]
    statements: Statements
    executed: NDArray[np.bool_]
    transactions: int  # of all sessions
    length_ns: Column  # of each transaction when it was recorded, if it was
    anew_ns: Column
    rounds: int = 1
    waits_told: bool = False  # the recorded sessions waited for their commits: pauses are what was assumed of clients
    unseen_waits_ns: float = 0.0  # of a transaction: what may have been a wait for that storage, or none
    kept_waits_ns: float = 0.0  # of a transaction: its wait for its commit, as far as no pause holds it

    def in_rounds(self, rounds: int, span_ns: int) -> "Program":
        """Return what sessions do that go round so often, *span_ns* apart by the clock."""
        one = self.statements
        ends = np.array(one.session_ends, np.int64)
        sizes = np.diff(ends, prepend=0)
        later = np.arange(1, rounds)
        anew = (rounds * (ends - sizes)[:, None] + sizes[:, None] * later).ravel()
        waits_for, think_ns = _in_rounds(one.waits_for, ends, rounds), _in_rounds(one.think_ns, ends, rounds)
        waits_for[anew], think_ns[anew] = OWN, np.repeat(self.anew_ns, len(later))
        begins = _in_rounds(one.begins, ends, rounds)
        start_ns = _in_rounds(one.start_ns, ends, rounds)
        round_of = np.repeat(np.tile(np.arange(rounds), len(ends)), np.repeat(sizes, rounds))
        start_ns += begins * (round_of * span_ns)
        transactions = np.cumsum(one.begins, dtype=np.int64)[ends - 1]
        return replace(
            self,
            statements=replace(
                one,
                session_ends=(rounds * ends).tolist(),
                classes=_in_rounds(one.classes, ends, rounds),
                waits_for=waits_for,
                start_ns=start_ns,
                think_ns=think_ns,
                cpu_ns=_in_rounds(one.cpu_ns, ends, rounds),
                begins=begins,
                ends=_in_rounds(one.ends, ends, rounds),
                client_ns=None if one.client_ns is None else _in_rounds(one.client_ns, ends, rounds),
            ),
            executed=_in_rounds(self.executed, ends, rounds),
            transactions=rounds * self.transactions,
            rounds=rounds,
            length_ns=_in_rounds(self.length_ns, transactions, rounds),
        )

    @property
    def locks_rows(self) -> bool:
        """Tell whether statements lock the rows that they change."""
        return any(demand.kind == LOCK for one in self.classes for demand in one)

    def changes_rows(self, *, described: bool) -> bool:
        """Tell whether a statement makes a page dirty; in a recording, one that writes log, for reads set hint bits."""
        return any(demand.dirties and (described or demand.log_bytes) for one in self.classes for demand in one)

    @property
    def sessions(self) -> int:
        """Count the sessions."""
        return len(self.statements.session_ends)


class _Classes:
    """Classes as they are needed, each once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.demands: list[tuple[Demand, ...]] = []
        self.category: list[int] = []
        self.other_pages: list[float] = []
        self.pages: list[int] = []
        self.unattached_bytes: list[float] = []  # of the log, that no demand has
        self._categories = {name: place for place, name in enumerate(names)}
        self._codes: dict[tuple[int, tuple[Demand, ...], float, float], int] = {}

    def code(
        self,
        name: str,
        demands: Sequence[Demand],
        pages: int = 0,
        other_pages: float = 0.0,
        unattached_bytes: float = 0.0,
    ) -> int:
        """Return the number of a class of statements that is counted under *name*, or with others."""
        category = self._categories[name if name in self._categories else OTHERS]
        return self._code(category, tuple(demands), pages, other_pages, unattached_bytes)

    def committing(self, code: int, log_bytes: int) -> int:
        """Return the number of the class that does what another does, and then makes its log durable, of which
        *log_bytes* are its own.
        """
        demands = (*self.demands[code], Demand(LOG, log_bytes=log_bytes))
        return self._code(self.category[code], demands, self.pages[code], self.other_pages[code], 0.0)

    def _code(
        self, category: int, demands: tuple[Demand, ...], pages: int, other_pages: float, unattached_bytes: float
    ) -> int:
        key = category, demands, other_pages, unattached_bytes
        if key not in self._codes:
            self._codes[key] = len(self.demands)
            self.demands.append(demands)
            self.category.append(category)
            self.pages.append(pages)
            self.other_pages.append(other_pages)
            self.unattached_bytes.append(unattached_bytes)
        return self._codes[key]


def _in_rounds(column: NDArray[Any], ends: Column, rounds: int) -> NDArray[Any]:
    """Return a column of rows that end so by session, those of each session so often one behind the other.

    >>> _in_rounds(np.array([5, 6, 7]), np.array([2, 3]), 2)
    array([5, 6, 5, 6, 7, 7])
    """
    return np.concatenate([np.tile(part, rounds) for part in np.split(column, ends[:-1])])


def write_program(
    load: StatementLoad,
    found: LoadTransactions,
    plan: TransactionSchedule,
    rules: SessionRules,
    processor: ProcessorCosts | None,
    seed: int,
) -> Program:
    """Write what the sessions of *plan* do, by the *rules* of host and engine."""
    names = _names(load)
    classes = _Classes(names)
    durable, ends_itself = _endings(load, found)
    number = plan.transaction
    apart = ends_itself | rules.commits_apart  # a commit is a statement of its own
    behind = (durable & apart & ~ends_itself)[number].astype(np.int64)
    rows = found.rows[number]
    size = rows + behind
    first = np.cumsum(size) - size
    total = int(size.sum())

    within = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)
    execution = np.repeat(found.first_row[number], rows) + within
    place = np.repeat(first, rows) + within
    kind, cpu_ns = np.zeros(total, np.int32), np.zeros(total, np.int64)
    think_ns, start_ns, client_ns = (np.zeros(total, np.int64) for _ in range(3))
    ranks = _lock_ranks(load, found)
    unseen = durable if load.commit_wait_ns else durable & ~ends_itself  # commits whose wait no execution holds
    waits = waits_of(load, found, unseen)
    if processor is None and (waits.cpu_share < 1).any():
        load = replace(load, cpu_ns=np.rint(load.cpu_ns * waits.cpu_share[load.query]).astype(np.int64))
    own_kind, own_cpu_ns = _executions(load, execution, classes, rules, processor, Draws(seed), ranks)
    kind[place], cpu_ns[place] = own_kind, own_cpu_ns
    waits_for = np.full(total, OWN, np.uint8)
    inside_ns, before_ns, anew_ns, kept_ns = _pauses(load, found, plan, waits, int(unseen.sum()))
    keeps_pauses = processor is None or processor.pause_ns is None
    think_ns[place] = inside_ns[execution]
    waits_for[first], start_ns[first], think_ns[first] = plan.waits_for, plan.start_ns, before_ns
    besides_ns, served_ns = _besides(load, rules, processor)
    if besides_ns or processor is not None:
        client_ns[place] = round(besides_ns / rules.core_speed)
        if processor is None or processor.pause_ns is None:
            recorded = np.zeros(total, np.bool_)
            recorded[place], recorded[first] = True, (plan.waits_for == OWN) & (not plan.is_asked)
            share = share_of_clients(served_ns, think_ns[recorded])
            think_ns[recorded] = _shortened(think_ns[recorded], share)
            anew_ns = anew_ns if plan.is_asked else _shortened(anew_ns, share)
        elif load.closed:  # that time was the client's, and waiting for a core
            think_ns[:] = 0
            think_ns[first] = before_ns if plan.is_asked else processor.pause_ns
            anew_ns = anew_ns if plan.is_asked else np.full_like(anew_ns, processor.pause_ns)
    committed = np.flatnonzero(durable[number])
    last = first + size - 1
    unattached = np.array(classes.unattached_bytes)[own_kind]
    own_bytes = rules.commit_record_bytes + round(load.upkeep_log_bytes / max(int(durable.sum()), 1))
    log_bytes = np.add.reduceat(unattached, np.cumsum(rows) - rows)[committed] + own_bytes
    log_bytes = _in_steps(np.maximum(np.rint(log_bytes), 1).astype(np.int64))
    kind[last[committed]] = _end_durably(kind[last[committed]], apart[number[committed]], log_bytes, classes)
    begins, ends, executed = np.zeros(total, np.uint8), np.zeros(total, np.uint8), np.zeros(total, np.bool_)
    begins[first], ends[last], executed[place] = 1, 1, True
    last_of_session = np.diff(plan.session, append=-1) != 0
    return Program(
        classes=tuple(classes.demands),
        category=tuple(classes.category),
        names=names,
        pages=tuple(classes.pages),
        other_pages=tuple(classes.other_pages),
        statements=Statements(
            session_ends=(first + size)[last_of_session].tolist(),
            classes=kind,
            waits_for=waits_for,
            start_ns=start_ns,
            think_ns=think_ns,
            cpu_ns=cpu_ns,
            begins=begins,
            ends=ends,
            client_ns=client_ns,
        ),
        executed=executed,
        transactions=len(number),
        length_ns=found.length_ns[number],
        anew_ns=anew_ns,
        waits_told=waits.told and keeps_pauses,
        unseen_waits_ns=waits.unseen_ns if processor is None else 0.0,
        kept_waits_ns=kept_ns if keeps_pauses else 0.0,
    )


def _names(load: StatementLoad) -> tuple[str, ...]:
    spent = np.bincount(load.query, weights=load.duration_ns, minlength=len(load.queries))
    most = np.argsort(-spent, kind="stable")[:MOST_QUERIES]
    more = [OTHERS] if len(load.queries) > MOST_QUERIES else []
    return (*(load.queries[code] for code in sorted(most.tolist())), *more, COMMIT)


def _pauses(
    load: StatementLoad, found: LoadTransactions, plan: TransactionSchedule, waits: RecordedWaits, commits: int
) -> tuple[Column, Column, Column, float]:
    """Return the pauses within transactions, before them, and before sessions begin anew, without the *waits* of so
    many *commits*, which a run has again; and how much longer than these pauses the waits of a transaction were.

    Where the time of sessions tells how long these were, pauses within transactions were counted, too, and hold none.
    """
    inside_ns = gaps(load)
    hold_ns = int(found.pause_ns.sum()) if waits.told else between_ns(load, found)
    waited_ns = commits * waits.commit_ns
    share = max(0.0, 1 - waited_ns / hold_ns) if hold_ns else 1.0
    inside_ns = inside_ns if waits.told else _shortened(inside_ns, share)
    kept_ns = max(waited_ns - hold_ns, 0.0) / len(found.rows)
    between = 1.0 if plan.is_asked else share
    return inside_ns, _shortened(plan.think_ns, between), _shortened(plan.anew_ns, between), kept_ns


def _besides(load: StatementLoad, rules: SessionRules, processor: ProcessorCosts | None) -> tuple[int, int]:
    """Return what a statement costs besides its execution, and how much of the pause before it the server took, in ns
    on the recorded host.
    """
    if processor is not None:
        return processor.client_ns, processor.served_ns
    each_ns = round(rules.message_ns * load.messages / max(len(load), 1)) if rules.message_ns else 0
    return each_ns, each_ns


def share_of_clients(served_ns: int, pauses_ns: Column) -> float:
    """Return which share of recorded pauses clients took that ran elsewhere: the server took *served_ns* of each."""
    return max(1 - served_ns * len(pauses_ns) / max(int(pauses_ns.sum()), 1), 0.0)


def _shortened(pauses_ns: Column, share: float) -> Column:
    shortened_ns: Column = np.rint(pauses_ns * share).astype(np.int64)
    return shortened_ns


def _endings(load: StatementLoad, found: LoadTransactions) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of each transaction whether it makes its log durable when it ends, and whether its last execution is that
    end.
    """
    durable = np.array([one.durable for one in load.asked])
    commits = np.array([role_of(load.texts.get(query, "")) is Role.COMMITS for query in load.queries])
    changed = np.logical_or.reduceat(durable[load.query], found.first_row)
    return changed, commits[load.query[found.first_row + found.rows - 1]]


def _executions(
    load: StatementLoad,
    execution: Column,
    classes: _Classes,
    rules: SessionRules,
    processor: ProcessorCosts | None,
    draws: Draws,
    lock_ranks: Sequence[int],
) -> tuple[NDArray[np.int32], Column]:
    """Return class and CPU of executions in the order of a run."""
    kind, cpu_ns = np.zeros(len(execution), np.int32), np.zeros(len(execution), np.int64)
    query = load.query[execution]
    order = np.argsort(query, kind="stable")
    ends = np.cumsum(np.bincount(query, minlength=len(load.queries)))
    for code, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        rows = order[start:end]
        if not len(rows):
            continue
        name, asked = load.queries[code], load.asked[code]
        if load.logical_reads is None:
            variants = drawn_variants(asked, len(rows), draws.about(name), lock_ranks, load.entries)
        else:
            begins = int(1e9 * draws.about(name).uniform(1, "scan")[0])
            variants = recorded_variants(
                asked, load.logical_reads[execution[rows]], len(load.queries), load.fitted, begins
            )
        fixed = None if processor is None else processor.statement_ns.get(name)
        own_ns, share = load.cpu_ns[execution[rows]], 1 / rules.core_speed
        if fixed is not None:
            own_ns = spread(own_ns, fixed)
        elif processor is not None:
            share *= processor.unhindered
        own_ns = np.rint(own_ns * share).astype(np.int64)
        costs_ns = np.zeros(len(rows))
        if fixed is None:  # it holds what the model charges by itself
            holds_reads = MEASURED in load.cpu_basis.get(name, MEASURED)  # not what reads left of the time
            read_ns = (rules.costs.read_ns if holds_reads else 0) + rules.costs.evict_clean_ns
            charged_ns = [_charge(demands, load, rules) for demands in variants.demands]
            reads = np.array(variants.reads)[variants.chosen]
            reads = load.physical_reads[execution[rows]] if load.logical_reads is None else reads
            costs_ns = np.array(charged_ns)[variants.chosen] + reads * read_ns
        codes = [
            classes.code(name, demands, pages_in(demands, load.fitted), other_pages, unattached)
            for demands, other_pages, unattached in zip(
                variants.demands, variants.other_pages, variants.unattached_bytes, strict=True
            )
        ]
        kind[rows] = np.array(codes)[variants.chosen]
        cpu_ns[rows] = np.maximum(own_ns - np.rint(costs_ns).astype(np.int64), 0)
    return kind, cpu_ns


def spread(cpu_ns: Column, mean_ns: float) -> Column:
    """Return times of so much on average, each as much longer or shorter than others as *cpu_ns* are.

    >>> spread(np.array([1, 3]), 10)
    array([ 5, 15])
    """
    mean = float(cpu_ns.mean()) if len(cpu_ns) else 0.0
    found: Column = np.rint(cpu_ns * (mean_ns / mean) if mean else np.full(len(cpu_ns), mean_ns)).astype(np.int64)
    return found


def _lock_ranks(load: StatementLoad, found: LoadTransactions) -> list[int]:
    """Return by table in which order transactions lock their rows, as they come in them on average."""
    place = np.arange(len(load)) - np.repeat(found.first_row, found.rows)
    tables = len(load.fitted.tables)
    sums, counts = np.zeros(tables), np.zeros(tables)
    calls = np.bincount(load.query, minlength=len(load.asked))
    places = np.bincount(load.query, weights=place, minlength=len(load.asked))
    for code, asked in enumerate(load.asked):
        if asked.locks:
            used = np.array(asked.lookups) + np.array(asked.again) > 0
            sums[used] += places[code]
            counts[used] += calls[code]
    order = np.argsort(sums / np.maximum(counts, 1), kind="stable")
    ranks: list[int] = np.argsort(order, kind="stable").tolist()
    return ranks


def _charge(demands: Sequence[Demand], load: StatementLoad, rules: SessionRules) -> float:
    """Return the CPU that the model charges for lookups whose pages are there, and for scans."""
    costs = rules.costs
    rows = sum(one.rows for one in demands if one.kind in (LOOKUP, AGAIN, LOOKUPS))
    pages = pages_in([one for one in demands if one.kind != SCAN], load.fitted)
    changed = sum(one.dirties * one.rows for one in demands)
    scans_ns = 0.0
    for scan in (one for one in demands if one.kind == SCAN):
        table, held = load.fitted.tables[scan.table], load.fitted.heap_held[scan.table]
        read = 1 - held / table.heap_pages
        row_ns = costs.scan_row_ns * table.rows / table.heap_pages
        scans_ns += scan.pages * (costs.scan_page_ns + row_ns + read * (costs.scan_read_ns + costs.evict_clean_ns))
    return rows * costs.lookup_ns + pages * costs.page_ns + changed * costs.change_ns + scans_ns


def _end_durably(
    kind: NDArray[np.int32], apart: NDArray[np.bool_], log_bytes: Column, classes: _Classes
) -> NDArray[np.int32]:
    """Return the class of the last statement of transactions that make their log durable: a commit by itself where it
    is *apart*, else what it was, of the class *kind*, with the commit behind it. *log_bytes* are those that no changed
    row stands for.
    """
    lengths, length = np.unique(log_bytes, return_inverse=True)
    pairs, chosen = np.unique(
        np.where(apart, 0, kind.astype(np.int64) + 1) * len(lengths) + length, return_inverse=True
    )
    codes = []
    for code, place in zip(*np.divmod(pairs, max(len(lengths), 1)), strict=True):
        own = int(lengths[place])
        commit = [Demand(COMPUTE), Demand(LOG, log_bytes=own)]
        codes.append(classes.committing(int(code) - 1, own) if code else classes.code(COMMIT, commit))
    return np.array(codes, np.int32)[chosen]


def _in_steps(sizes: Column) -> Column:
    """Return numbers rounded to an eighth of the power of two below them, so that few are different.

    >>> _in_steps(np.array([1, 9, 17, 100, 1000]))
    array([   1,    9,   18,  104, 1024])
    """
    step = np.maximum(2 ** np.floor(np.log2(sizes)).astype(np.int64) // _LOG_STEPS, 1)
    rounded: Column = (sizes + step // 2) // step * step
    return rounded
