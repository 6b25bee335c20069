"""From a bundle's counters to executions, interval by interval; this module only puts the parts together."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.synthesis.assembly import Assembly
from tiersim.scenarios.calibration.synthesis.counted import Counted, Interval, intervals
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.executions import draw_executions
from tiersim.scenarios.calibration.synthesis.population import Population, population
from tiersim.scenarios.calibration.synthesis.selection import Names, names_of, select
from tiersim.scenarios.calibration.synthesis.sessions import Timetable
from tiersim.scenarios.calibration.synthesis.synthesised import QuerySynthesis, Synthesis
from tiersim.scenarios.calibration.synthesis.time_split import Split, split_times
from tiersim.scenarios.calibration.synthesis.transactions import grouped, grouping
from tiersim.scenarios.calibration.synthesis.waits import sample_sessions, sampled_waits
from tiersim.traces.differences import Differences, differences
from tiersim.traces.statistics import read_snapshots
from tiersim.units import NS_PER_S

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
        known = self.recorded is not None and query.stddev_ns is not None
        self.recorded = self.recorded + query.calls * query.stddev_ns**2 if known else None  # type: ignore[operator]
        self.synthetic += query.calls * float(duration_ns.std()) ** 2


@dataclass(frozen=True)
class _Plan:
    """What is known before anything is drawn."""

    intervals: list[Interval]
    names: Names
    splits: dict[tuple[int, str], Split]
    who: Population
    page_bytes: int
    draws: Draws
    codes: dict[str, int]  # of entities, from 0


@dataclass
class _Sums:
    """What intervals add up to."""

    executions: int = 0
    transactions: int = 0
    spare_ns: int = 0
    behind_ns: float = 0.0  # of it, pauses behind transactions


def synthesise(path: Path, seed: int) -> Synthesis:
    """Return executions whose sums are what the bundle at *path* counted; the same for the same *seed*.

    Raises TraceError when there is nothing to make them from, or a counter says what cannot be.
    """
    recorded = intervals(path, read_snapshots(path))
    if not recorded:
        raise TraceError(
            f"{path}: has no two snapshots of queries with times to synthesise executions from; import pg_stat_statements as it was "
            "before and after the load, with what tells their times (a column of time, or the load generator's output)"
        )
    names = names_of(path)
    kept, left_out = select(path, recorded, names)
    found = differences(read_snapshots(path))
    samples = sample_sessions(read_snapshots(path))
    who = population(kept, found, samples)
    span_ns = sum(interval.end_ns - interval.start_ns for interval in kept)
    splits = split_times(kept, names.role, sampled_waits(found, samples, span_ns), found)
    entities = list(dict.fromkeys(query.entity for interval in kept for query in interval.queries))
    codes = {entity: code for code, entity in enumerate(entities)}
    plan = _Plan(kept, names, splits, who, _page_bytes(found), Draws(seed), codes)

    assembly, timetable, sums = Assembly(), Timetable(max(who.sessions), kept[-1].end_ns), _Sums()
    spreads = {entity: _Spread() for entity in entities}
    bases: dict[str, None] = {}
    for interval in reversed(kept):
        if interval.queries:
            bases[_make(interval, plan, assembly, timetable, sums, spreads)] = None
    queries = _queries(plan, spreads)
    executions, pages_dirtied = assembly.table([q.query for q in queries], [names.kind(entity) for entity in entities])
    sessions = len(executions.words["session"])
    return Synthesis(
        executions=executions,
        pages_dirtied=pages_dirtied,
        sessions=max(sessions, *who.sessions),
        closed=who.closed,
        think_ns=0.0 if who.closed else sums.behind_ns / sums.transactions,
        overhead_ns=sums.spare_ns / sums.executions if who.closed else 0.0,
        queries=queries,
        inferred=(
            _arrivals(len(kept), span_ns),
            who.basis,
            *_more_sessions(sessions, max(who.sessions)),
            *bases,
            *_processor(queries),
            *_spread(queries),
            *left_out,
            *found.findings(),
        ),
    )


def _make(
    interval: Interval,
    plan: _Plan,
    assembly: Assembly,
    timetable: Timetable,
    sums: _Sums,
    spreads: dict[str, _Spread],
) -> str:
    """Make the executions of one interval; those of later ones were made before. Return what transactions were taken from."""
    draws, sessions = plan.draws.about(interval.number), plan.who.sessions[interval.number]
    executions = []
    for query in interval.queries:
        split = plan.splits[interval.number, query.entity]
        executions.append(draw_executions(query, split, plan.page_bytes, draws.about(query.entity)))
        spreads[query.entity].add(query, executions[-1]["duration_ns"])
    duration_ns = np.concatenate([columns["duration_ns"] for columns in executions])
    group = grouping(interval.queries, plan.names.role, interval.transactions, sessions)
    transaction, place = grouped(interval.queries, plan.names.role, group, draws)
    transactions = len(np.unique(transaction))
    start_ns, end_ns = plan.who.window(interval, only=len(plan.intervals) == 1)
    spare_ns = max(0, sessions * (end_ns - start_ns) - int(duration_ns.sum()))
    pauses = plan.who.pauses(len(transaction), transactions, end_ns - start_ns, spare_ns)
    turns = timetable.lay_out(start_ns, end_ns, duration_ns, transaction, place, pauses, sessions, draws)
    calls = [query.calls for query in interval.queries]
    assembly.add(
        executions, np.repeat([plan.codes[query.entity] for query in interval.queries], calls), transaction, turns
    )
    sums.executions += len(transaction)
    sums.transactions += transactions
    sums.spare_ns += spare_ns
    sums.behind_ns += pauses[1] * transactions
    return group.basis


def _page_bytes(found: Differences) -> int:
    setting = found.of("setting").get("block_size")
    return int((setting and setting.number("setting")) or _PAGE_BYTES)


def _queries(plan: _Plan, spreads: dict[str, _Spread]) -> tuple[QuerySynthesis, ...]:
    bases: dict[str, set[str]] = {}
    for (_, entity), split in plan.splits.items():
        bases.setdefault(entity, set()).add(split.basis)
    return tuple(
        QuerySynthesis(
            query=plan.names.query(entity),
            entity=entity,
            calls=spread.calls,
            stddev_ns=None if spread.recorded is None else math.sqrt(spread.recorded / spread.calls),
            synthetic_stddev_ns=math.sqrt(spread.synthetic / spread.calls),
            cpu_basis="; ".join(sorted(bases[entity])),
        )
        for entity, spread in spreads.items()
    )


def _arrivals(intervals: int, span_ns: int) -> str:
    length_s = span_ns / intervals / NS_PER_S
    sums = (
        f"sums of {length_s:.3g} s"
        if intervals == 1
        else f"sums of {intervals:,} intervals of {length_s:.3g} s on average"
    )
    return f"arrivals are synthetic: what was recorded are {sums}; which executions ran when, and which together, is not known"


def _more_sessions(used: int, planned: int) -> list[str]:
    if used <= planned:
        return []
    return [
        f"{used:,} sessions instead of {planned:,}: the recorded time of execution does not fit into fewer that do one thing at a time"
    ]


def _processor(queries: Sequence[QuerySynthesis]) -> list[str]:
    calls: Counter[str] = Counter()
    for query in queries:
        calls[query.cpu_basis] += query.calls
    return [f"processor time of {count:,} executions: {basis}" for basis, count in calls.items()]


def _spread(queries: Sequence[QuerySynthesis]) -> list[str]:
    unknown = sum(query.calls for query in queries if query.stddev_ns is None)
    if not unknown:
        return []
    return [
        f"durations of {unknown:,} executions have no spread but that of the pages they read: the source has no standard deviation"
    ]
