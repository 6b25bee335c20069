"""From a bundle's counters to executions, interval by interval; this module only puts the parts together.

What a synthesis gives.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.counters import Counters
from tiersim.scenarios.calibration.synthesis.counted import Counted, Intervals, Names, names_of, select
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.executions import Assembly, draw_executions
from tiersim.scenarios.calibration.synthesis.sessions import Schedule, logged_transactions, places, population
from tiersim.scenarios.calibration.synthesis.time_split import Samples, Split, sampled_waits, split_times
from tiersim.traces.differences import Differences
from tiersim.traces.statistics import Snapshot, Table
from tiersim.units import NS_PER_S


@dataclass(frozen=True)
class QuerySynthesis:
    """What became of one query: how far the spread of its durations was met, and what its processor time is."""

    query: str  # as in the executions: its fingerprint, or its name in the source where its text is not known
    entity: str  # its name in the source
    calls: int
    stddev_ns: float | None  # recorded, within intervals; None when the source has none
    synthetic_stddev_ns: float
    cpu_basis: str


@dataclass(frozen=True)
class Synthesis:
    """Executions made from counters. Nothing in it was recorded one by one.

    ``executions`` has STATEMENT_COLUMNS, in order of starts; ``pages_dirtied`` lies beside it, row by row, -1 where the
    source has none. ``sessions`` issued the load; what a load generator did not log runs in others besides.
    ``think_ns`` is the mean pause of a session between transactions. In a ``closed`` loop it is 0, and ``overhead_ns``
    is the mean time per execution outside of executions: round trips, planning, the client's own work, and commits that
    were not counted as statements. ``inferred`` are sentences for people.
    """

    executions: Table
    pages_dirtied: NDArray[np.int64]
    sessions: int
    closed: bool
    think_ns: float
    overhead_ns: float
    queries: tuple[QuerySynthesis, ...]
    inferred: tuple[str, ...]


class Evidence:
    """Takes in the snapshots of a bundle; memory is that of its intervals and of two snapshots."""

    def __init__(self, path: Path) -> None:
        """Begin without any of the bundle at *path*."""
        self.path = path
        self.intervals = Intervals(path)
        self.samples = Samples()

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; raises TraceError for a value that cannot be."""
        self.intervals.add(snapshot)
        self.samples.add(snapshot)


#: Of PostgreSQL, unless its settings were recorded.
_PAGE_BYTES = 8192


@dataclass
class _Spread:
    """Squares of deviations of one query, added up over intervals."""

    calls: int = 0
    recorded: float | None = 0.0
    synthetic: float = 0.0

    def add(self, query: Counted, duration_ns: NDArray[np.int64]) -> None:
        self.calls += query.calls
        if self.recorded is None or query.stddev_ns is None:
            self.recorded = None
        else:
            self.recorded += query.calls * query.stddev_ns**2
        self.synthetic += query.calls * float(duration_ns.std()) ** 2


def synthesise(counters: Counters, evidence: Evidence, seed: int) -> Synthesis:
    """Return executions whose sums are what the *counters* of a bundle say, by the *evidence* in them; the same for the
    same *seed*.

    Raises TraceError when there is nothing to make them from, or a counter says what cannot be.
    """
    path, found, samples = counters.path, counters.found, evidence.samples
    recorded = evidence.intervals.made()
    if not recorded:
        raise TraceError(
            f"{path}: has no two snapshots of queries with times to synthesise executions from; import"
            " pg_stat_statements as it was before and after the load, with what tells their times (a column of time,"
            " or the load generator's output)"
        )
    names = names_of(path)
    kept, left_out = select(path, recorded, names)
    who = population(kept, found, samples)
    span_ns = sum(interval.end_ns - interval.start_ns for interval in kept)
    splits = split_times(kept, names.role, sampled_waits(found, samples, span_ns), found)
    entities = list(dict.fromkeys(query.entity for interval in kept for query in interval.queries))
    logged = logged_transactions(path)

    page_bytes, draws = _page_bytes(found), Draws(seed)
    order = places(entities, names, found)
    assembly, schedule = Assembly(), Schedule(who, logged, names.role, order, only=len(kept) == 1)
    codes = {entity: code for code, entity in enumerate(entities)}
    spreads = {entity: _Spread() for entity in entities}
    for interval in reversed([interval for interval in kept if interval.queries]):
        own, drawn = draws.about(interval.number), []
        for query in interval.queries:
            split = splits[interval.number, query.entity]
            drawn.append(draw_executions(query, split, page_bytes, own.about(query.entity)))
            spreads[query.entity].add(query, drawn[-1]["duration_ns"])
        duration_ns = np.concatenate([columns["duration_ns"] for columns in drawn])
        transaction, turns = schedule.lay_out(interval, duration_ns, own)
        code = np.repeat([codes[query.entity] for query in interval.queries], [q.calls for q in interval.queries])
        assembly.add(drawn, code, transaction, turns)
    queries = _queries(names, splits, spreads)
    executions, pages_dirtied = assembly.table(
        [q.query for q in queries], [names.kind(e) for e in entities], logged.names
    )
    return Synthesis(
        executions=executions,
        pages_dirtied=pages_dirtied,
        sessions=max(*who.sessions, schedule.sessions),
        closed=who.closed,
        think_ns=0.0 if who.closed else schedule.pauses_ns / schedule.transactions,
        overhead_ns=schedule.spare_ns / schedule.executions if who.closed else 0.0,
        queries=queries,
        inferred=(
            _arrivals(len(kept), span_ns, schedule),
            who.basis,
            *_more_sessions(schedule, max(who.sessions)),
            *schedule.bases,
            *_processor(queries),
            *_spread(queries),
            *left_out,
            *_sampled(logged.others),
            *found.findings(),
        ),
    )


def _page_bytes(found: Differences) -> int:
    setting = found.of("setting").get("block_size")
    return int((setting and setting.number("setting")) or _PAGE_BYTES)


def _queries(
    names: Names, splits: Mapping[tuple[int, str], Split], spreads: Mapping[str, _Spread]
) -> tuple[QuerySynthesis, ...]:
    bases: dict[str, set[str]] = {}
    for (_, entity), split in splits.items():
        bases.setdefault(entity, set()).add(split.basis)
    return tuple(
        QuerySynthesis(
            query=names.query(entity),
            entity=entity,
            calls=spread.calls,
            stddev_ns=None if spread.recorded is None else math.sqrt(spread.recorded / spread.calls),
            synthetic_stddev_ns=math.sqrt(spread.synthetic / spread.calls),
            cpu_basis="; ".join(sorted(bases[entity])),
        )
        for entity, spread in spreads.items()
    )


def _arrivals(intervals: int, span_ns: int, schedule: Schedule) -> str:
    length = f"{span_ns / intervals / NS_PER_S:.3g} s"
    sums = f"sums of {length}" if intervals == 1 else f"sums of {intervals:,} intervals of {length} on average"
    if schedule.logged_transactions:
        return (
            f"{schedule.logged_transactions:,} of {schedule.transactions:,} transactions start as the load generator"
            f" logged them; their statements are simulated from {sums}"
        )
    return f"arrivals are synthetic: only {sums} were recorded; the order and overlap of executions are simulated"


def _more_sessions(schedule: Schedule, planned: int) -> list[str]:
    said = []
    if schedule.sessions > planned:
        said.append(
            f"{schedule.sessions:,} sessions instead of {planned:,}: the recorded execution time does not fit into"
            " fewer"
        )
    if schedule.beside:
        said.append(f"{schedule.beside:,} executions outside logged transactions run in sessions of their own")
    return said


def _sampled(statements: int) -> list[str]:
    return (
        [f"{statements:,} statements recorded one by one are not used: the counters include them"] if statements else []
    )


def _processor(queries: Sequence[QuerySynthesis]) -> list[str]:
    calls: Counter[str] = Counter()
    for query in queries:
        calls[query.cpu_basis] += query.calls
    return [f"CPU time of {count:,} executions is {basis}" for basis, count in calls.items()]


def _spread(queries: Sequence[QuerySynthesis]) -> list[str]:
    unknown = sum(query.calls for query in queries if query.stddev_ns is None)
    if not unknown:
        return []
    return [
        (
            f"{unknown:,} executions have no recorded standard deviation: their durations vary only with the pages that"
            " they read"
        )
    ]
