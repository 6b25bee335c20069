"""From a schedule to the simulator's statements: which class each is of, what the class demands, how much CPU it uses.

A query whose calls look up 0.3 rows on average has a class that looks up none and one that looks up a row; each call is drawn to be of one
of them. Besides the executions there are commits, where a transaction has to make its log durable and no COMMIT was counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.texts import Role, role_of
from tiersim.scenarios.statements.load import Load
from tiersim.scenarios.statements.queries import Asked, pages_of
from tiersim.scenarios.statements.schedule import Schedule, Transactions
from tiersim.scenarios.statements.settings import Settings
from tiersim.simulator.database.build import Demand, Statements
from tiersim.simulator.database.tables import AGAIN, COMPUTE, LOCK, LOG, LOOKUP, OWN

#: Queries that are counted by themselves, the most expensive ones; the others are counted together.
MOST_QUERIES = 200
#: Names of what is no query: ends of transactions whose log is made durable, queries beyond the most expensive.
COMMIT, OTHERS = "commit", "others"
#: Numbers of rows that are drawn from call to call: of so many tables of a query, those that vary most.
_MOST_DRAWN = 8
#: Lengths of logs are told apart to an eighth.
_LOG_STEPS = 8
#: The record of a commit: header of 24 bytes, of its data 2, the time 8 (access/xlogrecord.h, xact.h).
_COMMIT_BYTES = 34

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Program:
    """Everything that sessions will do.

    ``names`` are of the columns of metrics, behind those of all databases: queries, OTHERS, COMMIT; ``category`` is the column of
    each class. By class, ``pages`` are those that a statement looks up, ``other_pages`` those that it finds besides, on average. ``executed`` tells recorded executions
    from what was added to them.
    """

    classes: tuple[tuple[Demand, ...], ...]
    category: tuple[int, ...]
    names: tuple[str, ...]
    pages: tuple[int, ...]
    other_pages: tuple[float, ...]
    statements: Statements
    executed: NDArray[np.bool_]
    length_ns: Column  # of each transaction when it was recorded

    @property
    def locks_rows(self) -> bool:
        """Tell whether statements lock the rows that they change."""
        return any(demand.kind == LOCK for one in self.classes for demand in one)

    @property
    def sessions(self) -> int:
        """Count the sessions."""
        return len(self.statements.session_ends)

    @property
    def transactions(self) -> int:
        """Count the transactions."""
        return len(self.length_ns)


class _Classes:
    """Classes as they are needed, each once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.demands: list[tuple[Demand, ...]] = []
        self.category: list[int] = []
        self.other_pages: list[float] = []
        self.pages: list[int] = []
        self._categories = {name: place for place, name in enumerate(names)}
        self._codes: dict[tuple[int, tuple[Demand, ...], float], int] = {}

    def code(self, name: str, demands: Sequence[Demand], pages: int = 0, other_pages: float = 0.0) -> int:
        """Return the number of a class of statements that is counted under *name*, or with others."""
        category = self._categories[name if name in self._categories else OTHERS]
        key = category, tuple(demands), other_pages
        if key not in self._codes:
            self._codes[key] = len(self.demands)
            self.demands.append(tuple(demands))
            self.category.append(category)
            self.pages.append(pages)
            self.other_pages.append(other_pages)
        return self._codes[key]


def write_program(
    load: Load, found: Transactions, plan: Schedule, settings: Settings, processor: ProcessorCosts | None, seed: int
) -> Program:
    """Write what the sessions of *plan* do, on the host and engine of *settings*."""
    names = _names(load)
    classes = _Classes(names)
    durable, ends_itself = _endings(load, found)
    number = plan.transaction
    behind = (durable & ~ends_itself)[number].astype(np.int64)
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
    own_kind, own_cpu_ns = _executions(load, execution, classes, settings, processor, Draws(seed), ranks)
    kind[place], cpu_ns[place] = own_kind, own_cpu_ns
    think_ns[place] = _gaps(load)[execution]
    waits_for = np.full(total, OWN, np.uint8)
    waits_for[first], start_ns[first], think_ns[first] = plan.waits_for, plan.start_ns, plan.think_ns
    think_ns = np.rint(think_ns * _without_commits(load, found, durable)).astype(np.int64)
    if processor is not None and processor.pause_ns is not None:
        client_ns[place] = round(processor.client_ns / settings.core_speed)
        if load.closed:  # the time outside of executions was the client's, and waiting for a core
            think_ns[:] = 0
            think_ns[first] = processor.pause_ns
    committed = np.flatnonzero(durable[number])
    last = first + size - 1
    kind[last[committed]] = _end_durably(load, found, number[committed], classes, settings)
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
        length_ns=found.length_ns[number],
    )


def _names(load: Load) -> tuple[str, ...]:
    spent = np.bincount(load.query, weights=load.duration_ns, minlength=len(load.queries))
    most = np.argsort(-spent, kind="stable")[:MOST_QUERIES]
    more = [OTHERS] if len(load.queries) > MOST_QUERIES else []
    return (*(load.queries[code] for code in sorted(most.tolist())), *more, COMMIT)


def _gaps(load: Load) -> Column:
    """Return the time between an execution and the one before it in its transaction."""
    gap_ns = np.zeros(len(load), np.int64)
    gap_ns[1:] = np.maximum(load.start_ns[1:] - load.start_ns[:-1] - load.duration_ns[:-1], 0)
    return gap_ns


def _without_commits(load: Load, found: Transactions, durable: NDArray[np.bool_]) -> float:
    """Return the share of the time between executions that is not the recorded wait for the log, which a run has again.

    Of a closed loop that is all time that nobody counted; other pauses are those of users.
    """
    between_ns = int(_gaps(load).sum() - _gaps(load)[found.first_row].sum() + found.pause_ns.sum())
    if not load.closed or not between_ns:
        return 1.0
    return max(0.0, 1 - load.commit_wait_ns * int(durable.sum()) / between_ns)


def _endings(load: Load, found: Transactions) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of each transaction whether it makes its log durable when it ends, and whether its last execution is that end."""
    durable = np.array([one.durable for one in load.asked])
    commits = np.array([role_of(load.texts.get(query, "")) is Role.COMMITS for query in load.queries])
    changed = np.logical_or.reduceat(durable[load.query], found.first_row)
    return changed, commits[load.query[found.first_row + found.rows - 1]]


def _executions(
    load: Load,
    execution: Column,
    classes: _Classes,
    settings: Settings,
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
        chosen, variants = _drawn(asked, len(rows), draws.about(name))
        fixed = None if processor is None else processor.statement_ns.get(name)
        own_ns = load.cpu_ns[execution[rows]]
        if fixed is not None:
            own_ns = spread(own_ns, fixed)
        own_ns = np.rint(own_ns / settings.core_speed).astype(np.int64)
        charged_ns = np.zeros(len(rows), np.int64)
        if fixed is None:  # it holds what the model charges by itself
            read_ns = settings.costs.read_ns + settings.costs.evict_clean_ns
            charged_ns += load.physical_reads[execution[rows]] * read_ns
        codes, costs_ns = [], []
        for lookups, again, changes in variants:
            demands = _demands(lookups, again, changes, asked, lock_ranks)
            found = [one for one in demands if one.kind in (LOOKUP, AGAIN)]
            pages = sum(pages_of(load.fitted.tables[one.table]) for one in found)
            codes.append(classes.code(name, demands, pages, asked.other_pages))
            costs_ns.append(_charge(demands, len(found), pages, settings) if fixed is None else 0)
        kind[rows] = np.array(codes)[chosen]
        cpu_ns[rows] = np.maximum(own_ns - charged_ns - np.array(costs_ns)[chosen], 0)
    return kind, cpu_ns


def spread(cpu_ns: Column, mean_ns: float) -> Column:
    """Return times of so much on average, each as much longer or shorter than others as *cpu_ns* are.

    >>> spread(np.array([1, 3]), 10)
    array([ 5, 15])
    """
    mean = float(cpu_ns.mean()) if len(cpu_ns) else 0.0
    found: Column = np.rint(cpu_ns * (mean_ns / mean) if mean else np.full(len(cpu_ns), mean_ns)).astype(np.int64)
    return found


_Variant = tuple[tuple[int, ...], tuple[int, ...], bool]


def _drawn(asked: Asked, calls: int, draws: Draws) -> tuple[Column, list[_Variant]]:
    """Draw how many rows each call looks up: (which variant each is, the variants)."""
    rows = np.array([*asked.lookups, *asked.again])
    share = rows - np.floor(rows)
    varied = np.argsort(-share * (1 - share), kind="stable")[:_MOST_DRAWN]
    varied = varied[share[varied] > 0]
    whole = np.rint(rows)
    whole[varied] = np.floor(rows[varied])
    bits = np.zeros(calls, np.int64)
    for bit, column in enumerate(varied.tolist()):
        bits |= (draws.uniform(calls, "rows", column) < share[column]).astype(np.int64) << bit
    sometimes = 0 < asked.changes < 1
    if sometimes:
        bits |= (draws.uniform(calls, "changes") < asked.changes).astype(np.int64) << len(varied)
    used, chosen = np.unique(bits, return_inverse=True)
    variants: list[_Variant] = []
    for value in used.tolist():
        counts = whole.astype(np.int64)
        counts[varied] += value >> np.arange(len(varied)) & 1
        changes = bool(value >> len(varied) & 1) if sometimes else asked.changes > 0
        tables = len(asked.lookups)
        variants.append((tuple(counts[:tables].tolist()), tuple(counts[tables:].tolist()), changes))
    return chosen.astype(np.int64), variants


def _demands(
    lookups: Sequence[int], again: Sequence[int], changes: bool, asked: Asked, lock_ranks: Sequence[int]
) -> list[Demand]:
    """Return what a statement does: it looks rows up; those that it changes it locks first, if others may have them."""
    log_bytes = _change_bytes(asked) if changes else 0
    demands = [Demand(COMPUTE)]
    for kind, counts in ((LOOKUP, lookups), (AGAIN, again)):
        for table, count in enumerate(counts):
            one = [Demand(kind, table=table, dirties=changes, log_bytes=log_bytes)]
            if changes and asked.locks:
                rank = lock_ranks[table]
                one = [
                    Demand(kind, table=table),
                    Demand(LOCK, table=table, dirties=True, log_bytes=log_bytes, rank=rank),
                ]
            demands += one * count
    return demands


def _change_bytes(asked: Asked) -> int:
    """Return the bytes of records in the log for one changed row; changes that only note what is known of rows have none."""
    changed = asked.changes * (sum(asked.lookups) + sum(asked.again))
    return max(round(asked.record_bytes / changed), 1) if asked.durable and changed else 0


def _unattached_bytes(asked: Asked) -> float:
    """Return the bytes of records of a call that belong to no row that a run changes."""
    return 0.0 if _change_bytes(asked) else asked.record_bytes


def _lock_ranks(load: Load, found: Transactions) -> list[int]:
    """Return by table in which order transactions lock their rows, as they come in them on average."""
    place = np.arange(len(load)) - np.repeat(found.first_row, found.rows)
    tables = len(load.fitted.tables)
    sums, counts = np.zeros(tables), np.zeros(tables)
    for code, asked in enumerate(load.asked):
        used = np.array(asked.lookups) + np.array(asked.again) > 0
        if asked.locks and used.any():
            rows = load.query == code
            sums[used] += place[rows].sum()
            counts[used] += rows.sum()
    order = np.argsort(sums / np.maximum(counts, 1), kind="stable")
    ranks: list[int] = np.argsort(order, kind="stable").tolist()
    return ranks


def _charge(demands: Sequence[Demand], rows: int, pages: int, settings: Settings) -> int:
    """Return the CPU that the model charges for lookups whose pages are there."""
    costs = settings.costs
    changed = sum(one.dirties for one in demands)
    return rows * costs.lookup_ns + pages * costs.page_ns + changed * costs.change_ns


def _end_durably(
    load: Load, found: Transactions, transaction: Column, classes: _Classes, settings: Settings
) -> NDArray[np.int32]:
    """Return the class of the commit of each *transaction*: its record, and what the transaction did that no changed row stands for."""
    unattached = np.array([_unattached_bytes(one) for one in load.asked])[load.query]
    own = np.rint(np.add.reduceat(unattached, found.first_row)).astype(np.int64)
    lengths, chosen = np.unique(_in_steps(own + _COMMIT_BYTES)[transaction], return_inverse=True)
    commits = [[Demand(COMPUTE), Demand(LOG, log_bytes=length)] for length in lengths.tolist()]
    return np.array([classes.code(COMMIT, commit) for commit in commits], np.int32)[chosen]


def _in_steps(sizes: Column) -> Column:
    """Return numbers rounded to an eighth of the power of two below them, so that few are different.

    >>> _in_steps(np.array([1, 9, 17, 100, 1000]))
    array([   1,    9,   18,  104, 1024])
    """
    step = np.maximum(2 ** np.floor(np.log2(sizes)).astype(np.int64) // _LOG_STEPS, 1)
    rounded: Column = (sizes + step // 2) // step * step
    return rounded
