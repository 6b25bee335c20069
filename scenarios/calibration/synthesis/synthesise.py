"""From a bundle's counters to executions, interval by interval: counts are handed out so that they add up, and how long
each execution took has the recorded spread and is longer where pages were read.

A duration is the sum of a part that every execution has and of the time for its pages. Both are drawn between their
bounds (:mod:`.draws`) so that their variances make up the recorded one, and then made whole nanoseconds that add up.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.grouping import order_by
from tiersim.scenarios.calibration.synthesis.counted import (
    CountedQuery,
    Interval,
    QueryIntervals,
    QueryNames,
    Samples,
    Split,
    names_of,
    sampled_waits,
    select,
    split_times,
)
from tiersim.scenarios.calibration.synthesis.draws import Draws, apportion, bounded_sample, exact_sum, scattered
from tiersim.scenarios.calibration.synthesis.sessions import (
    IntervalSchedule,
    Turns,
    logged_transactions,
    places,
    population,
)
from tiersim.traces.differences import Counters, Differences
from tiersim.traces.holes import from_first_to_last, quiet_intervals
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_COLUMNS, STATEMENT_KINDS
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
    connections: int | None = None  # the most sessions of clients that a sample shows, idle ones too
    quiet_ns: int = 0  # of the time from the first execution to the last, in holes
    parallel: str | None = None  # that several processes worked on queries, in a sentence


class SnapshotEvidence:
    """Takes in the snapshots of a bundle; memory is that of its intervals and of two snapshots."""

    def __init__(self, path: Path) -> None:
        """Begin without any of the bundle at *path*."""
        self.path = path
        self.intervals = QueryIntervals(path)
        self.samples = Samples()

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; raises TraceError for a value that cannot be."""
        self.intervals.add(snapshot)
        self.samples.add(snapshot)


#: An interval is said that is so many times as long as the mean of all: nobody looked for so long.
_LONG = 2
#: Parallel workers that helped, and replicas that were waited for, are said where they did for more of the time.
_MATTERS = 0.01
#: Of PostgreSQL, unless its settings were recorded.
_PAGE_BYTES = 8192


@dataclass
class _Spread:
    """Squares of deviations of one query, added up over intervals."""

    calls: int = 0
    recorded: float | None = 0.0
    synthetic: float = 0.0

    def add(self, query: CountedQuery, duration_ns: NDArray[np.int64]) -> None:
        self.calls += query.calls
        if self.recorded is None or query.stddev_ns is None:
            self.recorded = None
        else:
            self.recorded += query.calls * query.stddev_ns**2
        self.synthetic += query.calls * float(duration_ns.std()) ** 2


def synthesise(
    counters: Counters, evidence: SnapshotEvidence, seed: int, changes: Callable[[str], bool] | None = None
) -> Synthesis:
    """Return executions whose sums are what the *counters* of a bundle say, by the *evidence* in them; the same for the
    same *seed*. *changes* tells by its text whether a statement changes rows, of InnoDB, where it holds the wait for
    the log if it commits by itself.

    Raises TraceError when there is nothing to make them from, or a counter says what cannot be.
    """
    path, found, samples = counters.path, counters.found, evidence.samples
    recorded = evidence.intervals.made()
    if not recorded:
        raise TraceError(
            f"{path}: holds fewer than two snapshots of queries whose times are known; import pg_stat_statements of"
            " before and after the load, with their times (a column of time, or the load generator's output)"
        )
    names = names_of(path)
    kept, left_out = select(path, recorded, names)
    who = population(kept, found, samples)
    lengths_ns = [interval.end_ns - interval.start_ns for interval in kept]
    span_ns = sum(lengths_ns)
    of_entity = None if changes is None else lambda entity: changes(names.texts.get(entity, ""))
    splits = split_times(kept, names.role, sampled_waits(found, samples, span_ns), found, of_entity)
    entities = list(dict.fromkeys(query.entity for interval in kept for query in interval.queries))
    logged = logged_transactions(path)

    page_bytes, draws = _page_bytes(found), Draws(seed)
    order = places(entities, names, found)
    assembly, schedule = Assembly(), IntervalSchedule(who, logged, names.role, order, only=len(kept) == 1)
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
        connections=int(samples.connected_most) if samples.enough else None,
        think_ns=0.0 if who.closed else schedule.pauses_ns / schedule.transactions,
        overhead_ns=schedule.spare_ns / schedule.executions if who.closed else 0.0,
        quiet_ns=_quiet_ns(kept),
        parallel=_parallel(kept, samples),
        queries=queries,
        inferred=(
            _arrivals(lengths_ns, schedule),
            who.basis,
            *_more_sessions(schedule, max(who.sessions)),
            *schedule.bases,
            *_processor(queries),
            *_spread(queries),
            *left_out,
            *_replicating(samples),
            *_sampled(logged.others),
            *found.findings(),
        ),
    )


def _quiet_ns(intervals: Sequence[Interval]) -> int:
    """Return how much of the time from the first execution to the last was in holes, as far as all were counted."""
    counted = [(one.end_ns - one.start_ns, sum(q.calls for q in one.queries)) for one in intervals if one.whole]
    return quiet_intervals(from_first_to_last(counted))


def _parallel(intervals: Sequence[Interval], samples: Samples) -> str | None:
    """Say that several processes worked on queries, where it matters: PostgreSQL counts from version 18 on how many it
    launched, and samples show them.
    """
    queries = [query for interval in intervals for query in interval.queries]
    helped_ns = sum(query.exec_ns * min((query.workers or 0) / query.calls, 1.0) for query in queries)
    helped = helped_ns / max(sum(query.exec_ns for query in queries), 1)
    if max(helped, samples.helping) <= _MATTERS:
        return None
    seen = f"{helped:.0%} of the time of queries was that of queries with parallel workers"
    if helped <= _MATTERS:
        workers, sessions = (float(count / samples.count) for count in (samples.workers, samples.busy))
        seen = f"{workers:.2g} parallel workers were at work on average beside {sessions:.2g} sessions"
    return f"{seen}, whose CPU no query's time holds; one process works on each query here, so these take another time"


def _page_bytes(found: Differences) -> int:
    setting = found.of("setting").get("block_size")
    return int((setting and setting.number("setting")) or _PAGE_BYTES)


def _queries(
    names: QueryNames, splits: Mapping[tuple[int, str], Split], spreads: Mapping[str, _Spread]
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


def _arrivals(lengths_ns: Sequence[int], schedule: IntervalSchedule) -> str:
    intervals, mean_ns, most_ns = len(lengths_ns), sum(lengths_ns) / len(lengths_ns), max(lengths_ns)
    length = f"{mean_ns / NS_PER_S:.3g} s"
    longest = f" (the longest {most_ns / NS_PER_S:.3g} s)" if most_ns > _LONG * mean_ns else ""
    sums = f"sums of {length}" if intervals == 1 else f"sums of {intervals:,} intervals of {length} on average{longest}"
    if schedule.logged_transactions:
        return (
            f"{schedule.logged_transactions:,} of {schedule.transactions:,} transactions start as the load generator"
            f" logged them; their statements are simulated from {sums}"
        )
    return f"only {sums} were recorded; the times of single executions are simulated"


def _more_sessions(schedule: IntervalSchedule, planned: int) -> list[str]:
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


def _replicating(samples: Samples) -> list[str]:
    share = float(samples.replicating / (sum(samples.waiting.values()) or 1))
    if not samples.enough or share <= _MATTERS:
        return []
    return [
        (
            f"{share:.0%} of the active sessions in samples waited for a synchronous replica; commits wait for none"
            " here, unless engine.replica describes one"
        )
    ]


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


#: Spread of what is not for pages, relative to its mean, where the time for pages explains the recorded one.
_BASE_SPREAD = 0.5

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Durations:
    """Of the executions of one query: ``base_ns`` + ``io_ns`` is how long each took."""

    base_ns: Times
    io_ns: Times


@dataclass(frozen=True)
class _Bounds:
    least_ns: int
    most_ns: int


@dataclass(frozen=True)
class _Part:
    total_ns: int
    stddev_ns: float


def draw_durations(
    query: CountedQuery,
    io_total_ns: int,
    sizes: NDArray[np.float64] | None,
    pages_ns: NDArray[np.float64],
    pages: Times,
    draws: Draws,
) -> Durations:
    """Draw durations of all calls of *query*, *io_total_ns* of which were for pages.

    *sizes* are how much each has to do, None when they are alike. *pages_ns* is what each would take for its *pages* if
    pages took equally long; those with 0 get none of the time.
    """
    reading, idle = np.flatnonzero(pages_ns), np.flatnonzero(pages_ns == 0)
    if not io_total_ns or not len(reading):
        io_total_ns, reading, idle = 0, idle[:0], np.arange(query.calls)
    bounds = _bounds(query)
    base, io = _parts(query, io_total_ns, len(reading), bounds.most_ns, together=sizes is not None)
    noise = draws.normal(query.calls, "base")
    scores = noise if sizes is None else np.log(sizes) + _BASE_SPREAD * noise
    # The longest execution is one that reads, if the time for pages allows for it.
    longest_reads = io_total_ns >= bounds.most_ns - base.total_ns / query.calls
    base_ns = _draw_base(query, base, scores, bounds, reading, idle, io_total_ns, longest_idle=not longest_reads)
    io_ns = np.zeros(query.calls, np.int64)
    if io_total_ns:
        scores = np.log(pages_ns[reading]) + draws.normal(len(reading), "io") / np.sqrt(np.maximum(pages[reading], 1))
        longest = query.most_reached and longest_reads
        io_ns[reading] = _draw_io(io, scores, bounds, base_ns[reading], longest=longest)
    return Durations(base_ns, io_ns)


def _draw_base(
    query: CountedQuery,
    base: _Part,
    scores: NDArray[np.float64],
    bounds: _Bounds,
    reading: Times,
    idle: Times,
    io_total_ns: int,
    *,
    longest_idle: bool,
) -> Times:
    """Draw what every execution takes besides its pages; those that are *reading* leave room for the time for these."""
    floor_ns = _floors(base.total_ns, query.calls, reading, bounds.least_ns)
    room_ns = np.full(query.calls, bounds.most_ns, np.int64)
    if len(reading):
        room_ns[reading] = np.maximum(bounds.most_ns - -(-io_total_ns // len(reading)), floor_ns[reading])
    if exact_sum(room_ns) < base.total_ns:
        room_ns = np.full(query.calls, query.exec_ns, np.int64)
    top = int(idle[np.argmax(scores[idle])]) if query.most_reached and len(idle) and longest_idle else None
    base_ns = _drawn(base, scores, floor_ns, room_ns, top)
    if query.least_reached and len(idle):
        base_ns = _pinned(base_ns, int(idle[np.argmin(base_ns[idle])]), bounds.least_ns, floor_ns, room_ns)
    return base_ns


def _draw_io(io: _Part, scores: NDArray[np.float64], bounds: _Bounds, base_ns: Times, *, longest: bool) -> Times:
    """Draw the time for pages of executions that take *base_ns* besides."""
    floor_ns = np.maximum(bounds.least_ns - base_ns, 0)
    room_ns = np.maximum(bounds.most_ns - base_ns, floor_ns)
    if exact_sum(floor_ns) > io.total_ns:
        floor_ns = np.zeros(len(base_ns), np.int64)
    if exact_sum(room_ns) < io.total_ns:  # reads of workers, or bounds that were reset
        room_ns = np.full(len(base_ns), io.total_ns)
    return _drawn(io, scores, floor_ns, room_ns, int(np.argmax(scores)) if longest else None)


def _floors(total_ns: int, count: int, reading: Times, least_ns: int) -> Times:
    """Return the least that each execution takes besides its pages: those that read none must take *least_ns* without
    them.
    """
    idle = count - len(reading)
    floor_ns = np.full(count, least_ns, np.int64)
    if least_ns * count > total_ns:
        floor_ns[reading] = max(0, (total_ns - least_ns * idle) // max(1, len(reading)))
    if exact_sum(floor_ns) > total_ns:
        floor_ns[:] = total_ns // count
    return floor_ns


def _bounds(query: CountedQuery) -> _Bounds:
    """Return the least and most that an execution may take; the recorded mean lies between."""
    mean_ns = query.exec_ns / query.calls
    least_ns = 0 if query.least_ns is None else min(query.least_ns, math.floor(mean_ns))
    most_ns = query.exec_ns if query.most_ns is None else max(query.most_ns, math.ceil(mean_ns))
    return _Bounds(least_ns, most_ns)


def _parts(query: CountedQuery, io_total_ns: int, reading: int, most_ns: int, *, together: bool) -> tuple[_Part, _Part]:
    """Divide total and variance between what every execution has and what is for pages.

    Both grow *together* with the size of an execution, or are independent; then the time for pages takes as much of the
    variance as it can, since storage varies most.
    """
    base_total_ns = query.exec_ns - io_total_ns
    if query.stddev_ns is None:
        return _Part(base_total_ns, 0.0), _Part(io_total_ns, 0.0)
    if not io_total_ns:
        return _Part(base_total_ns, query.stddev_ns), _Part(0, 0.0)
    base_share = base_total_ns / query.exec_ns
    mean_io, share = io_total_ns / query.calls, reading / query.calls
    mean_reading = mean_io / share
    outside = mean_io**2 * (1 / share - 1)  # because some read and others do not
    room = max(0.0, most_ns - base_total_ns / query.calls)
    most_inside = max(0.0, mean_reading * (room - mean_reading))
    variance = query.stddev_ns**2
    if together:
        wanted = variance * (1 - base_share) ** 2
        base = variance * base_share**2
    else:
        base = min((_BASE_SPREAD * base_total_ns / query.calls) ** 2, variance)
        wanted = variance - base
        possible = min(max(wanted, outside), outside + share * most_inside)
        base = max(0.0, variance - possible)
        wanted = possible
    inside = min(max(0.0, (wanted - outside) / share), most_inside)
    return _Part(base_total_ns, math.sqrt(base)), _Part(io_total_ns, math.sqrt(inside))


def _drawn(part: _Part, scores: NDArray[np.float64], least_ns: Times, most_ns: Times, top: int | None) -> Times:
    """Return times in the order of *scores* that add up, each within its bounds; that of *top* is its most, if
    possible.
    """
    count = len(scores)
    if top is not None and count > 1:
        others = np.delete(np.arange(count), top)
        left_ns = part.total_ns - int(most_ns[top])
        if exact_sum(least_ns[others]) <= left_ns <= exact_sum(most_ns[others]):
            squares = count * (part.stddev_ns**2 + (part.total_ns / count) ** 2) - float(most_ns[top]) ** 2
            variance = max(0.0, squares / (count - 1) - (left_ns / (count - 1)) ** 2)
            times = np.empty(count, np.int64)
            times[top] = most_ns[top]
            rest = _Part(left_ns, math.sqrt(variance))
            times[others] = _drawn(rest, scores[others], least_ns[others], most_ns[others], None)
            return times
    least, most = float(least_ns.min()), float(most_ns.max())
    sample = bounded_sample(scores, part.total_ns / count, part.stddev_ns, least, most)
    left_ns = part.total_ns - exact_sum(least_ns)
    return least_ns + apportion(left_ns, np.maximum(sample - least_ns, 0), most_ns - least_ns)


def _pinned(times: Times, place: int, value_ns: int, least_ns: Times, most_ns: Times) -> Times:
    """Return *times* with one of them as given and the others changed in proportion; unchanged when they cannot make up
    for it.
    """
    others = np.delete(np.arange(len(times)), place)
    left_ns = int(times.sum()) - value_ns - exact_sum(least_ns[others])
    spare_ns = most_ns[others] - least_ns[others]
    if left_ns < 0 or exact_sum(spare_ns) < left_ns:
        return times
    pinned = times.copy()
    pinned[place] = value_ns
    pinned[others] = least_ns[others] + apportion(left_ns, (times - least_ns)[others].astype(np.float64), spare_ns)
    return pinned


#: A query that looks up more pages than this in a call reads ranges, whose sizes vary as its times do; fewer are the
#: way through an index to a row or a few, and that is always as long.
_PAGES_OF_A_ROW = 32
#: Least length of a record of the log: its own header, and that of a page (PostgreSQL, access/xlogrecord.h: 24 and 20
#: bytes).
_RECORD_BYTES = 44
#: With more images an execution than this, all are given as many.
_MOST_IMAGES = 64

Counts = NDArray[np.int64]


#: Columns of statements by name, and ``pages_dirtied``; NOT_KNOWN where the source has nothing.
Executions = dict[str, Counts]


def draw_executions(query: CountedQuery, split: Split, page_bytes: int, draws: Draws) -> Executions:
    """Draw all calls of *query*: the sums of every column are what was counted, to the last unit."""
    calls = query.calls
    sizes = _sizes(query, draws)
    weights = np.ones(calls) if sizes is None else sizes

    def handed_out(total: int | None, name: str, by: NDArray[np.float64] = weights) -> Counts:
        if total is None:
            return np.full(calls, NOT_KNOWN, np.int64)
        if not total:
            return np.zeros(calls, np.int64)
        return apportion(total, by, chance=draws.uniform(calls, name))

    logical = handed_out(None if query.pages_hit is None else query.pages_hit + (query.pages_read or 0), "pages")
    reads = handed_out(query.pages_read, "reads")
    if query.pages_read and query.pages_hit is not None:
        reads = scattered(query.pages_read, logical, draws)
    writes = handed_out(query.pages_written, "writes", reads.astype(np.float64) if query.pages_read else weights)
    temp = handed_out(query.temp_pages, "temp")

    read_ns, write_ns = query.read_ns or 0, query.write_ns or 0
    pages_ns = np.zeros(calls)
    for column, total, time_ns in ((reads, query.pages_read, read_ns), (writes, query.pages_written, write_ns)):
        if total:
            pages_ns += column * (time_ns / total)
    if query.temp_pages and not pages_ns.any():
        pages_ns += temp * ((read_ns + write_ns) / query.temp_pages)
    pages = np.maximum(reads, 0) + np.maximum(writes, 0) + np.maximum(temp, 0)
    drawn = draw_durations(query, split.io_ns or 0, sizes, pages_ns, pages, draws)
    columns = {
        "duration_ns": drawn.base_ns + drawn.io_ns,
        "pages_dirtied": handed_out(query.pages_dirtied, "dirtied"),
        "logical_reads": logical,
        "physical_reads": reads,
        "writes": writes,
        "rows": handed_out(query.rows, "rows"),
        "log_bytes": _log_bytes(query, weights, page_bytes, draws),
        "temp_bytes": np.where(temp == NOT_KNOWN, NOT_KNOWN, temp * page_bytes),
        "parallel": handed_out(query.workers, "workers"),
        "rows_examined": np.full(calls, NOT_KNOWN, np.int64),
        "io_wait_ns": np.full(calls, NOT_KNOWN, np.int64) if split.io_ns is None else drawn.io_ns,
    }
    return columns | _waits_and_cpu(query, split, drawn.base_ns)


def _sizes(query: CountedQuery, draws: Draws) -> NDArray[np.float64] | None:
    """Return how much each execution has to do, relative to the mean; None when all have to do the same."""
    pages = (query.pages_hit or 0) + (query.pages_read or 0)
    if pages <= _PAGES_OF_A_ROW * query.calls or not query.stddev_ns or not query.exec_ns:
        return None
    spread = query.stddev_ns * query.calls / query.exec_ns
    sizes: NDArray[np.float64] = np.exp(math.sqrt(math.log1p(spread**2)) * draws.normal(query.calls, "size"))
    return sizes


def bytes_of_images(log_bytes: int, images: int, records: int, page_bytes: int) -> int:
    """Return how much of *log_bytes* is images of pages: none has more bytes than a page, and no record fewer than its
    headers.
    """
    return min(images * page_bytes, max(0, log_bytes - _RECORD_BYTES * records))


def _log_bytes(query: CountedQuery, weights: NDArray[np.float64], page_bytes: int, draws: Draws) -> Counts:
    """Hand out bytes of the log: images of pages go to some executions, a page each, and what the
    records are to all.
    """
    if query.log_bytes is None:
        return np.full(query.calls, NOT_KNOWN, np.int64)
    images = query.log_page_images or 0
    image_bytes = bytes_of_images(query.log_bytes, images, query.log_records or 0, page_bytes)
    records = apportion(query.log_bytes - image_bytes, weights, chance=draws.uniform(query.calls, "log"))
    if not image_bytes:
        return records
    if images > _MOST_IMAGES * query.calls:
        return records + apportion(image_bytes, weights)
    having = np.bincount((draws.uniform(images, "images") * query.calls).astype(np.int64), minlength=query.calls)
    return records + apportion(image_bytes, having.astype(np.float64))


def _waits_and_cpu(query: CountedQuery, split: Split, base_ns: Counts) -> dict[str, Counts]:
    """Divide what is not for pages, of each execution in proportion."""
    left_ns = base_ns
    columns: dict[str, Counts] = {}
    for name, total_ns in (
        ("lock_wait_ns", split.lock_ns),
        ("log_wait_ns", split.log_ns),
        ("client_wait_ns", split.client_ns),
    ):
        columns[name] = np.full(query.calls, NOT_KNOWN, np.int64)
        if total_ns is not None:
            columns[name] = _part_of(left_ns, total_ns)
            left_ns = left_ns - columns[name]
    columns["cpu_ns"] = np.full(query.calls, NOT_KNOWN, np.int64)
    if split.cpu_ns is not None:
        most = None if split.cpu_ns > int(left_ns.sum()) else left_ns  # workers' time is of the query, too
        columns["cpu_ns"] = apportion(split.cpu_ns, left_ns.astype(np.float64), most)
    return columns


def _part_of(times_ns: Counts, total_ns: int) -> Counts:
    return apportion(min(total_ns, int(times_ns.sum())), times_ns.astype(np.float64), times_ns)


Column = NDArray[np.int64]


class Assembly:
    """Takes the executions of intervals in any order."""

    def __init__(self) -> None:
        """Begin without any."""
        self._pieces: dict[str, list[Column]] = {}
        self._transactions = 0

    def add(self, executions: Sequence[Executions], entities: Column, transaction: Column, turns: Turns) -> None:
        """Take in an interval; the code of the entity and the transaction (from 0) are by execution."""
        columns = {name: np.concatenate([e[name] for e in executions]) for name in executions[0]}
        columns |= {
            "time_ns": turns.start_ns,
            "session": turns.session,
            "sequence": turns.sequence,
            "transaction": transaction + self._transactions,
            "entity": entities,
        }
        self._transactions += int(transaction.max()) + 1
        for name, values in columns.items():
            self._pieces.setdefault(name, []).append(values)

    def table(self, queries: Sequence[str], kinds: Sequence[str], sessions: Sequence[str]) -> tuple[Table, Column]:
        """Return all in order of time, and pages dirtied by row; this can be asked once, for memory's sake.

        *queries* and *kinds* are by code of the entity; *sessions* are names of the first sessions, others are
        numbered.
        """
        order = order_by(*(np.concatenate(self._pieces[name]) for name in ("time_ns", "session", "sequence")))
        columns = {name: np.concatenate(self._pieces.pop(name))[order] for name in list(self._pieces)}
        words = list(dict.fromkeys(queries))
        places = {query: place for place, query in enumerate(words)}
        entities = columns["entity"]
        columns["query"] = np.array([places[query] for query in queries])[entities]
        columns["kind"] = np.array([STATEMENT_KINDS.index(kind) for kind in kinds])[entities]
        columns["transaction"] = _by_appearance(columns["transaction"])
        there = np.bincount(columns["session"]) > 0
        used, columns["session"] = np.flatnonzero(there), (np.cumsum(there) - 1)[columns["session"]]
        numbered = (code - len(sessions) for code in used.tolist())
        names = [f"session {number + 1}" if number >= 0 else sessions[number] for number in numbered]
        table = Table(
            {c.name: columns[c.name].astype(np.int32 if c.kind == "text" else np.int64) for c in STATEMENT_COLUMNS},
            {"session": names, "kind": STATEMENT_KINDS, "query": words},
        )
        return table, columns["pages_dirtied"]


def _by_appearance(numbers: Column) -> Column:
    """Return numbers, from 0 on, renamed to 0, 1, 2 … in the order in which they first come."""
    comes = np.zeros(len(numbers), np.bool_)
    first = np.full(int(numbers.max(initial=-1)) + 1, len(numbers))
    np.minimum.at(first, numbers, np.arange(len(numbers)))
    comes[first[first < len(numbers)]] = True
    rank: Column = (np.cumsum(comes) - 1)[first[numbers]]
    return rank
