"""What a description says of working set, re-reference, depth, timeline and groups, by the book: lists and
dictionaries.
"""

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any, NamedTuple

PAGE = 4096


class Row(NamedTuple):
    time_ns: int
    op: str
    file: str
    stream: str | None
    offset_bytes: int
    length_bytes: int
    latency_ns: int | None

    @property
    def end_bytes(self) -> int:
        return self.offset_bytes + self.length_bytes

    @property
    def pages(self) -> list[tuple[str, int]]:
        if self.op not in ("read", "write"):
            return []
        return [(self.file, page) for page in range(self.offset_bytes // PAGE, (self.end_bytes - 1) // PAGE + 1)]

    @property
    def kind(self) -> str:
        return "unknown" if self.op in ("read", "write") else self.op


def working_set(rows: list[Row]) -> dict[str, int]:
    read = {page for row in rows if row.op == "read" for page in row.pages}
    written = {page for row in rows if row.op == "write" for page in row.pages}
    sets = {"total_bytes": read | written, "read_bytes": read, "written_bytes": written, "both_bytes": read & written}
    return {name: PAGE * len(pages) for name, pages in sets.items()}


def re_reference(rows: list[Row]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return page touches by operation, those touched before by both operations, and total time since by operation."""
    last: dict[tuple[str, int], tuple[str, int]] = {}
    touches: Counter[str] = Counter()
    again: Counter[str] = Counter()
    bins: Counter[str] = Counter()
    for row in rows:
        for page in row.pages:
            touches[row.op] += 1
            if page in last:
                before, when_ns = last[page]
                again[f"{row.op}_after_{before}"] += 1
                since_ns = max(row.time_ns - when_ns, 1)
                bins[f"{row.op} {1 << (since_ns.bit_length() - 1)}"] += 1
            last[page] = (row.op, row.time_ns)
    return touches, again, bins


def depth(rows: list[Row], span_ns: int) -> tuple[int, dict[int, int]]:
    """Return the greatest depth, and the time at each power of two of the depth."""
    changes: list[tuple[int, int]] = []
    for row in rows:
        if row.latency_ns is not None:
            # what ends when another begins has ended before it
            changes += [(row.time_ns, 1), (row.time_ns + row.latency_ns, -1)]
    times: Counter[int] = Counter()
    level = highest = 0
    for (now_ns, change), (next_ns, _) in pairwise([(0, 0), *sorted(changes), (span_ns, 0)]):
        level += change
        times[1 << (level.bit_length() - 1) if level else 0] += next_ns - now_ns
    measured = [row for row in rows if row.latency_ns is not None]
    for index, row in enumerate(measured):
        others = [other for other in measured[:index] if other.time_ns + (other.latency_ns or 0) > row.time_ns]
        highest = max(highest, len(others) + 1)
    return highest, dict(times)


def depth_means(rows: list[Row], span_ns: int, interval_ns: int) -> list[float | None]:
    means: list[float | None] = []
    for start_ns in range(0, span_ns + 1, interval_ns):
        stop_ns = min(start_ns + interval_ns, span_ns)
        inside = sum(
            max(min(row.time_ns + row.latency_ns, stop_ns) - max(row.time_ns, start_ns), 0)
            for row in rows
            if row.latency_ns is not None
        )
        means.append(inside / (stop_ns - start_ns) if stop_ns > start_ns else None)
    return means


def group(rows: list[Row], key: str) -> dict[Any, dict[str, Any]]:
    """Group by class (``kind``), ``file`` or ``stream``."""
    ends: dict[Any, int] = {}
    stream_ends: dict[Any, int] = {}
    groups: dict[Any, dict[str, Any]] = {}
    for row in rows:
        new: dict[str, Any] = defaultdict(int) | {"sizes": Counter(), "latencies": []}
        found = groups.setdefault(getattr(row, key), new)
        found["count"] += 1
        found["bytes"] += row.length_bytes
        found[{"read": "reads", "write": "writes", "flush": "flushes", "discard": "discards"}[row.op]] += 1
        found["sizes"][row.length_bytes] += 1
        if row.latency_ns is not None:
            found["latencies"].append(row.latency_ns)
        if row.length_bytes:
            own, by_stream = (getattr(row, key), row.file), (row.stream, row.file, row.op)
            jumps = [
                row.offset_bytes - before[key]
                for before, key in ((ends, own), (stream_ends, by_stream))
                if key in before
            ]
            found["sequential"] += ends.get(own) == row.offset_bytes
            found["by_stream"] += stream_ends.get(by_stream) == row.offset_bytes
            found["random"] += not any(-65536 <= jump <= 65536 for jump in jumps)
            found["with_length"] += 1
            ends[own] = stream_ends[by_stream] = row.end_bytes
    return groups
