"""What counters say of each query in each interval between two snapshots, in whole nanoseconds, pages and bytes."""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.differences import Step, Stepping
from tiersim.traces.statistics import Snapshot, Values
from tiersim.units import NS_PER_MS

#: Larger numbers are damage: 36 years in ns, an exbibyte in bytes, or in pages.
_MOST, _MOST_PAGES = 1 << 60, 1 << 47
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Counted:
    """One query in one interval; None is what the source did not count.

    ``least_ns`` and ``most_ns`` bound every duration: they are of the life of the query's entry. ``least_reached``,
    ``most_reached``: they were set in this interval.
    """

    entity: str
    calls: int
    exec_ns: int
    stddev_ns: float | None
    least_ns: int | None
    most_ns: int | None
    least_reached: bool
    most_reached: bool
    read_ns: int | None  # of exec_ns, reading pages, of temporary files, too
    write_ns: int | None
    cpu_ns: int | None
    pages_hit: int | None
    pages_read: int | None
    pages_dirtied: int | None
    pages_written: int | None
    temp_pages: int | None
    rows: int | None
    log_bytes: int | None
    log_page_images: int | None
    log_records: int | None
    workers: int | None
    since: str  # when its entry was made, as far as known: queries are first seen in the order of a transaction

    @property
    def moves_pages(self) -> bool:
        """Say whether it read or wrote pages."""
        return bool(self.pages_read or self.pages_written or self.temp_pages)


@dataclass(frozen=True)
class Interval:
    """From one snapshot of the queries to the next; ``transactions`` (of all databases) None if they were not counted
    then.
    """

    number: int
    start_ns: int
    end_ns: int
    queries: tuple[Counted, ...]
    transactions: int | None


class Intervals:
    """Makes the intervals of a recording from its snapshots.

    Snapshots without a time are skipped: what was counted up to them is found in the next.
    """

    def __init__(self, path: Path) -> None:
        """Begin without any of the bundle at *path*."""
        self._path = path
        self._stepping = Stepping()
        self._found: list[tuple[int, int, tuple[Counted, ...]]] = []
        self._databases: list[tuple[int, int, int]] = []

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; raises TraceError for a value that cannot be."""
        for step in self._stepping.to(snapshot) if snapshot.time_ns is not None else ():
            if step.then is None or step.start_ns is None or step.end_ns is None:
                continue
            if step.subject == "database" and any("commits" in grown for grown in step.grown.values()):
                self._databases.append((step.start_ns, step.end_ns, _transactions(step)))
            if step.subject == "query":
                if step.end_ns <= step.start_ns:
                    raise TraceError(
                        f"{self._path}: two snapshots of the queries are both of {step.end_ns} ns; leave out one of"
                        " them"
                    )
                queries = tuple(c for entity in step.grown if (c := _counted(self._path, step, entity)).calls)
                self._found.append((step.start_ns, step.end_ns, queries))

    def made(self) -> list[Interval]:
        """Return them in order of time."""
        intervals = []
        for number, (start_ns, end_ns, queries) in enumerate(self._found):
            inside = [count for start, end, count in self._databases if start_ns <= start and end <= end_ns]
            intervals.append(Interval(number, start_ns, end_ns, queries, sum(inside) if inside else None))
        return intervals


def _transactions(step: Step) -> int:
    return int(sum((g.get("commits", _ZERO) + g.get("rollbacks", _ZERO) for g in step.grown.values()), _ZERO))


def _counted(path: Path, step: Step, entity: str) -> Counted:
    grown, now = step.grown[entity], step.now[entity]
    then: Values = {} if entity in step.reset or step.then is None else step.then.get(entity, {})

    def whole(*names: str, scale: int = 1) -> int | None:
        found = [grown[name] for name in names if name in grown]
        if not found:
            return None
        value = sum(found, _ZERO) * scale
        if not 0 <= value <= (_MOST_PAGES if "pages" in names[0] else _MOST):
            raise TraceError(
                f"{path}: query {entity}: {names[0]} grew by {value / scale}, which cannot be; import it again"
            )
        return round(value)

    calls = whole("calls") or 0
    least_ns, most_ns = _ns(now, "exec_min_ms"), _ns(now, "exec_max_ms")
    if not most_ns:  # reset, and not called since; or the source does not have it
        least_ns = most_ns = None
    least_then, most_then = _ns(then, "exec_min_ms"), _ns(then, "exec_max_ms")
    anew = not then or then.get("minmax_since") != now.get("minmax_since")
    return Counted(
        entity=entity,
        calls=calls,
        exec_ns=whole("exec_ms", scale=NS_PER_MS) or 0,
        stddev_ns=_stddev_ns(then, now),
        least_ns=least_ns,
        most_ns=most_ns,
        least_reached=least_ns is not None and (anew or least_then is None or least_ns < least_then),
        most_reached=most_ns is not None and (anew or most_then is None or most_ns > most_then),
        read_ns=whole("read_ms", "local_read_ms", "temp_read_ms", scale=NS_PER_MS),
        write_ns=whole("write_ms", "local_write_ms", "temp_write_ms", scale=NS_PER_MS),
        cpu_ns=whole("cpu_user_ms", "cpu_system_ms", scale=NS_PER_MS),
        pages_hit=whole("pages_hit"),
        pages_read=whole("pages_read"),
        pages_dirtied=whole("pages_dirtied"),
        pages_written=whole("pages_written"),
        temp_pages=whole("temp_pages_read", "temp_pages_written"),
        rows=whole("rows"),
        log_bytes=whole("log_bytes"),
        log_page_images=whole("log_full_page_images"),
        log_records=whole("log_records"),
        workers=whole("workers_launched"),
        since=str(now.get("since", "")),
    )


def _ns(values: Values, name: str) -> int | None:
    value = values.get(name)
    return round(value * NS_PER_MS) if isinstance(value, Decimal) and 0 <= value * NS_PER_MS <= _MOST else None


def _stddev_ns(then: Values, now: Values) -> float | None:
    """Return the standard deviation of the calls in between.

    What pg_stat_statements says is of all calls since its reset, divided by their number; so calls × (stddev² + mean²)
    is the sum of the squares of their durations, and sums can be subtracted.
    """
    sums = [_sums(now), _sums(then) if then else (_ZERO, _ZERO, _ZERO)]
    if sums[0] is None or sums[1] is None:
        return None
    calls, total, squares = (now_ - then_ for now_, then_ in zip(*sums, strict=True))
    if calls <= 0:
        return None
    with localcontext(prec=60):
        variance = squares / calls - (total / calls) ** 2
    return math.sqrt(max(variance, _ZERO)) * NS_PER_MS  # rounding of the source's digits may leave less than nothing


def _sums(values: Values) -> tuple[Decimal, Decimal, Decimal] | None:
    """Return the number of calls, and the sums of their durations in ms and of the squares of these."""
    calls, total, stddev = (values.get(name) for name in ("calls", "exec_ms", "exec_stddev_ms"))
    if not (isinstance(calls, Decimal) and isinstance(total, Decimal) and isinstance(stddev, Decimal)):
        return None
    if calls <= 0:
        return _ZERO, _ZERO, _ZERO
    with localcontext(prec=60):
        return calls, total, calls * stddev**2 + total**2 / calls
