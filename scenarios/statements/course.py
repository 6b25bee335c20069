"""What a run of statements says of its checkpoints, its log and its stalls: when they were, what was written, what
transactions felt of them.

Latencies inside and outside of checkpoints are those of intervals of the timeline: one is inside when its middle is.
Throughput is of the transactions' own ends.

A stall is a time of more than 1 s throughout which fewer than a tenth of the mean transactions a second end, in any
window of 1 s that lies in it. Windows begin every 100 ms. Where fewer than 20 transactions end in an average second
chance alone makes some, so nothing is said (with 20 a window of 1 s has no more than two in one case of two million).
How many stalls a run of the same length has with other random numbers: a Poisson variable, whose mean the exact
interval holds in 90 % of all cases (F. Garwood, Biometrika 28, 1936).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiersim.histogram import coarse_quantiles_ns
from tiersim.simulator.categories import PERCENTILES, TRANSACTION
from tiersim.simulator.database.checkpoint.checkpointer import BY_LOG, IDLE
from tiersim.simulator.database.database_state import EVICTED_DIRTY, HISTORY, POLICY, SWEEP, Database
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.result import bounds
from tiersim.units import NS_PER_S

#: A dip is the throughput of the worst so many seconds within a checkpoint, looked for second by second.
DIP_NS, _STEP_NS = 5 * NS_PER_S, NS_PER_S
#: A percentile is given when so many samples lie beyond it, as on the curves of the report.
_FEWEST_BEYOND = 10
#: Of windows in which stalls are looked for: when one begins, and how many such steps it has.
_WINDOW_STEP_NS, _WINDOW_STEPS = NS_PER_S // 10, 10
_STALLED_SHARE, _FEWEST_PER_S = 0.1, 20
#: What an interval leaves out at either end, and how closely its ends are looked for: a part in 2^-40.
_TAIL, _HALVINGS = 0.05, 40
#: Names of ``phase`` in the history.
PHASES = ("none", "writing", "syncing")

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Course:
    """What a run left behind.

    ``classes`` are columns of the metrics by name; ``ends_ns`` are ends of transactions, in order; ``from_ns`` and
    ``until_ns`` bound the time that is counted.
    """

    database: Database
    metrics: Metrics
    classes: Mapping[str, int]
    ends_ns: Column
    from_ns: int
    until_ns: int

    @property
    def per_s(self) -> float:
        """Return the transactions a second over all of the counted time."""
        return _per_s(self.ends_ns, self.from_ns, self.until_ns)

    def inside(self, spans: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
        """Tell of each interval but the last, which is open, whether its middle lies in one of the *spans*."""
        start_ns, end_ns = bounds(len(self.metrics.arrivals) - 1, int(self.metrics.interval_ns[0]))
        middle = (start_ns + end_ns) / 2
        found = np.zeros(len(middle), np.bool_)
        for first, behind in spans:
            found |= (middle >= first) & (middle < behind)
        return found

    def counted(self) -> NDArray[np.bool_]:
        """Tell of each interval but the last whether it is counted."""
        return self.inside([(self.from_ns, self.until_ns)])


def checkpoints_of(course: Course) -> list[dict[str, Any]]:
    """Describe the checkpoints of a run, the one that was under way at its end, too."""
    return [_described(course, row) for row in _rows(course.database)]


def impact_of(course: Course) -> dict[str, Any] | None:
    """Compare throughput and latency inside and outside of checkpoints; None without any in the
    time that is counted.
    """
    spans = [(int(row["start_ns"]), _end_ns(row, course.until_ns)) for row in _rows(course.database)]
    spans = [(max(start, course.from_ns), min(end, course.until_ns)) for start, end in spans]
    spans = [(start, end) for start, end in spans if start < end]
    if not spans:
        return None
    inside, counted = course.inside(spans), course.counted()
    inside_ns = sum(end - start for start, end in spans)
    ended = sum(_ended(course.ends_ns, start, end) for start, end in spans)
    outside_ns = course.until_ns - course.from_ns - inside_ns
    ended_outside = _ended(course.ends_ns, course.from_ns, course.until_ns) - ended
    return {
        "inside": _side(course, counted & inside, inside_ns, ended),
        "outside": _side(course, counted & ~inside, outside_ns, ended_outside),
    }


def log_of(database: Database, transactions: int) -> dict[str, Any]:
    """Return what the log did in the whole run, of *transactions*; ``sync_mean_ns`` is of a write and its flush
    together.
    """
    log = database.log[0]
    flushes, commits, inserted = int(log["flushes"]), int(log["commits"]), int(log["inserted"])
    return {
        "flushes": flushes,
        "commits": commits,
        "commits_per_flush": commits / flushes if flushes else None,
        "bytes": inserted,
        "written_bytes": int(log["written_bytes"]),
        "bytes_per_transaction": inserted / transactions if transactions else None,
        "full_page_images": int(log["images"]),
        "sync_mean_ns": int(log["sync_ns"]) / flushes if flushes else None,
        **_flushed(database),
    }


def written_of(database: Database) -> dict[str, int] | None:
    """Return who wrote how many pages of PostgreSQL's pool in the whole run; None for other engines."""
    if database.replacement[POLICY] != SWEEP:
        return None
    return {
        "sessions": int(database.pool_state[EVICTED_DIRTY]),
        "background_writer": int(database.writer["written_pages"].sum()),
        "checkpoints": sum(int(row["written_pages"]) for row in _rows(database)),
    }


def _flushed(database: Database) -> dict[str, Any]:
    """Return the pages that InnoDB wrote, by cleaners and by sessions, and writes to the doublewrite file."""
    if not database.page_cleaner.size:
        return {}
    c = database.page_cleaner[0]
    single = int(c["single_pages"])
    written = int(c["written_pages"]) + single
    return {"pages_flushed": written, "doublewrite_writes": (int(c["batches"]) + single) * int(c["doublewrite"])}


def database_table(course: Course, end_ns: int) -> pa.Table:
    """Return the database over time, by intervals that were over when the run ended at *end_ns*."""
    history, interval_ns = course.database.history, int(course.metrics.interval_ns[0])
    intervals = min(end_ns // interval_ns, len(history))
    history = history[:intervals]
    start_ns, behind_ns = bounds(intervals, interval_ns)
    place = {name: number for number, name in enumerate(HISTORY)}

    def since_before(name: str) -> Column:
        return np.diff(history[:, place[name]], prepend=0)

    columns: dict[str, Any] = {
        "start_ns": start_ns,
        "end_ns": behind_ns,
        "dirty_pages": history[:, place["dirty pages"]],
        "log_bytes": since_before("log bytes"),
        "log_flushes": since_before("log flushes"),
        "checkpoint_pages": since_before("checkpoint pages"),
        "checkpoint_phase": pa.array([PHASES[phase] for phase in history[:, place["checkpoint phase"]]], pa.string()),
        "transactions": course.metrics.completions[:intervals, TRANSACTION],
    }
    return pa.table(columns)


def _rows(database: Database) -> NDArray[Any]:
    """Return the checkpoints that were noted; the last one may be under way."""
    if not database.checkpointer.size:
        return database.checkpoints[:0]
    checkpointer = database.checkpointer[0]
    begun = int(checkpointer["count"]) + int(checkpointer["state"] != IDLE)
    return database.checkpoints[: min(begun, len(database.checkpoints))]


def _end_ns(row: Any, until_ns: int) -> int:
    return int(row["end_ns"]) or until_ns


def _described(course: Course, row: Any) -> dict[str, Any]:
    start_ns, written_ns, end_ns = (int(row[name]) for name in ("start_ns", "written_ns", "end_ns"))
    until_ns = _end_ns(row, course.until_ns)
    intervals = course.inside([(start_ns, until_ns)]) & course.counted()
    return {
        "start_ns": start_ns,
        "end_ns": end_ns or None,
        "write_ns": written_ns - start_ns if written_ns else None,
        "sync_ns": end_ns - written_ns if end_ns else None,
        "pages": int(row["pages"]),
        "written_pages": int(row["written_pages"]),
        "writes": int(row["written_pages"]),
        "bytes": int(row["written_pages"]) * int(course.database.page_bytes[0]),
        "log_bytes": int(row["log_bytes"]),
        "trigger": "log" if row["trigger"] == BY_LOG else "time",
        "dip_pct": _dip_pct(course, start_ns, until_ns),
        "latency_ns": {name: _latency(course, column, intervals) for name, column in course.classes.items()},
        "basis": "simulated",
    }


def _dip_pct(course: Course, start_ns: int, end_ns: int) -> float | None:
    """Return by how much throughput falls in the worst DIP_NS of a checkpoint below that of the run; None if it is not
    counted for so long.
    """
    first = max(start_ns, course.from_ns)
    last = min(max(end_ns, first + DIP_NS), course.until_ns) - DIP_NS
    if last < first or not course.per_s:
        return None
    starts = np.arange(first, last + 1, _STEP_NS)
    ended = np.searchsorted(course.ends_ns, starts + DIP_NS) - np.searchsorted(course.ends_ns, starts)
    return 100 * (1 - float(ended.min()) * NS_PER_S / DIP_NS / course.per_s)


def _ended(ends_ns: Column, start_ns: int, end_ns: int) -> int:
    return int(np.searchsorted(ends_ns, end_ns) - np.searchsorted(ends_ns, start_ns))


def _per_s(ends_ns: Column, start_ns: int, end_ns: int) -> float:
    return _ended(ends_ns, start_ns, end_ns) * NS_PER_S / (end_ns - start_ns) if end_ns > start_ns else 0.0


def _side(course: Course, intervals: NDArray[np.bool_], duration_ns: int, ended: int) -> dict[str, Any]:
    """Describe the time inside of checkpoints, or outside."""
    return {
        "duration_ns": duration_ns,
        "transactions_per_s": ended * NS_PER_S / duration_ns if duration_ns else None,
        "latency_ns": {name: _latency(course, column, intervals) for name, column in course.classes.items()},
    }


def _latency(course: Course, column: int, intervals: NDArray[np.bool_]) -> dict[str, Any]:
    """Return count, mean and p95 of a class over *intervals*; what too few samples tell is None."""
    metrics = course.metrics
    histogram = metrics.latency_over_time[:-1, column][intervals].sum(axis=0, dtype=np.int64)
    count = int(histogram.sum())
    sum_ns = int(metrics.latency_sum_ns[:-1, column][intervals].sum())
    resolved = count * (1 - PERCENTILES["p95"]) >= _FEWEST_BEYOND
    most_ns = int(metrics.latency_max_ns[column])
    quantile = coarse_quantiles_ns(histogram[None], metrics.latency[column], PERCENTILES["p95"], most_ns)
    return {
        "count": count,
        "mean": sum_ns / count if count else None,
        "p95": float(quantile[0]) if resolved else None,
    }


def stalls_of(ends_ns: NDArray[np.int64], from_ns: int, until_ns: int) -> dict[str, Any] | None:
    """Return number, length and depth of the stalls between two times, of sorted ends of transactions; None where these
    are too few to tell stalls from chance.

    ``low`` and ``high`` are the interval of the number; ``depth_pct`` is how far throughput in stalls lies below the
    mean.
    """
    steps = (until_ns - from_ns) // _WINDOW_STEP_NS
    counted = ends_ns[(ends_ns >= from_ns) & (ends_ns < from_ns + steps * _WINDOW_STEP_NS)]
    per_step = len(counted) / max(steps, 1)
    if steps < _WINDOW_STEPS or per_step * _WINDOW_STEPS < _FEWEST_PER_S:
        return None
    sums = np.concatenate([[0], np.cumsum(np.bincount((counted - from_ns) // _WINDOW_STEP_NS, minlength=steps))])
    slow = sums[_WINDOW_STEPS:] - sums[:-_WINDOW_STEPS] < _STALLED_SHARE * per_step * _WINDOW_STEPS
    edges = np.flatnonzero(np.diff(np.concatenate([[0], slow.astype(np.int8), [0]])))
    # steps of the windows of a stall, from the first to the last
    first, behind = edges[::2], edges[1::2] + _WINDOW_STEPS - 1
    lengths = behind - first
    long = lengths > _WINDOW_STEPS
    first, behind, lengths = first[long], behind[long], lengths[long]
    low, high = poisson_interval(len(first))
    ended = int((sums[behind] - sums[first]).sum())
    return {
        "count": len(first),
        "low": low,
        "high": high,
        "longest_ns": int(lengths.max(initial=0)) * _WINDOW_STEP_NS,
        "total_ns": int(lengths.sum()) * _WINDOW_STEP_NS,
        "depth_pct": 100 * (1 - ended / (per_step * int(lengths.sum()))) if len(first) else None,
    }


def poisson_interval(count: int) -> tuple[float, float]:
    """Return between which means of a Poisson variable *count* is no surprise, at 5 % on either side.

    >>> [round(end, 2) for end in poisson_interval(0)]
    [0.0, 3.0]
    """
    low = _mean_where(count - 1, 1 - _TAIL) if count else 0.0
    return low, _mean_where(count, _TAIL)


def _mean_where(count: int, share: float) -> float:
    """Return the mean with which so many or fewer come with a probability of *share*."""
    low, high = 0.0, 10.0 + 2 * count
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(count, middle) > share else (low, middle)
    return high


def _at_most(count: int, mean: float) -> float:
    """Return the probability that a Poisson variable of this *mean* is no more than *count*."""
    total, term = 0.0, exp(-mean)
    for value in range(count + 1):
        total += term
        term *= mean / (value + 1)
    return total
