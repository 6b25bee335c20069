"""Tables of runs of described workloads: what each stream and each kind of statement took, one column for each
scenario.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiersim.cli import terminal
from tiersim.cli.statements import (
    breakdown_of,
    first_rows_of_host,
    notes_of,
    row_of_dip,
    rows_of_checkpoints,
    rows_of_host,
    rows_of_latency,
)
from tiersim.cli.verdicts import Summary
from tiersim.simulator.categories import STATISTICS
from tiersim.units import format_ns, format_times

#: What is counted of a statement: its key, what it is called, and how it is written.
_COUNTS: Sequence[tuple[str, str, Callable[[float], str]]] = (
    ("bulk_mb_per_s", "MB/s", "{:,.0f}".format),
    ("physical_reads_per_call", "reads a call", format_times),
)
#: Streams and statements, the longest, in a short table.
_MOST_STREAMS, _MOST_STATEMENTS = 4, 5


def show_workload(summaries: Sequence[Summary], everything: bool) -> None:
    """Print the table: streams, statements in the order of the file, the log, checkpoints, the host; *everything*, or
    what matters most.
    """
    rows = _all_rows(summaries)
    shown = rows if everything else _first_rows(summaries)
    trace = summaries[0]["trace"]
    columns = ["", *(summary["name"] for summary in summaries)]
    title = f"{trace['name']}: {trace['description'] or 'a described workload'}"
    left = max(len(rows) - len(shown), 0)
    caption = terminal.caption(notes_of(summaries), everything=everything, left=left)
    terminal.show_table(title, columns, shown, caption)


def _first_rows(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the rows of the first streams, of transactions, of the statements that take longest, and of commits."""
    first, last = first_rows_of_host(summaries)
    longest = sorted(_statements(summaries), key=lambda name: -_took_ns(summaries, name))[:_MOST_STATEMENTS]
    shown = ["mean", "p99"]
    return [
        *first,
        *[row for row in _rows_of_streams(summaries) if any(row[1:])][:_MOST_STREAMS],
        *_rows_of_transactions(summaries, shown),
        *(_row_of_time(summaries, name) for name in _statements(summaries) if name in longest),
        *_rows_of_commits(summaries, shown),
        *row_of_dip(summaries),
        *last,
    ]


def _took_ns(summaries: Sequence[Summary], name: str) -> float:
    return max(float(summary["queries"][name]["took_ns"]) for summary in summaries if name in summary["queries"])


def _rows_of_streams(summaries: Sequence[Summary]) -> list[list[str]]:
    rows = []
    for stream in summaries[0]["streams"]:
        found = [summary["streams"][stream] for summary in summaries]
        rows.append([f"stream {stream}", *(format_ns(one["elapsed_ns"]) for one in found)])
        rows.append([f"stream {stream}, transactions/s", *map(_rate, found)])
    return rows


def _rows_of_transactions(summaries: Sequence[Summary], statistics: Sequence[str]) -> list[list[str]]:
    found = [summary["latency_ns"].get("transaction") for summary in summaries]
    return rows_of_latency("transaction", found, statistics) if any(one and one["count"] > 1 for one in found) else []


def _rows_of_commits(summaries: Sequence[Summary], statistics: Sequence[str]) -> list[list[str]]:
    return rows_of_latency("commit", [summary["latency_ns"].get("log sync") for summary in summaries], statistics)


def _row_of_time(summaries: Sequence[Summary], name: str) -> list[str]:
    """Return how long a statement took, as servers measure it; the wait before is in that of its transaction."""
    found = [summary["queries"].get(name) for summary in summaries]
    return [f"{name}, took, once on a core", *(format_ns(query["took_ns"]) if query else "" for query in found)]


def _all_rows(summaries: Sequence[Summary]) -> list[list[str]]:
    rows = [*_rows_of_streams(summaries), *_rows_of_transactions(summaries, tuple(STATISTICS))]
    for name in _statements(summaries):
        found = [summary["queries"].get(name) for summary in summaries]
        rows.append(_row_of_time(summaries, name))
        if any(query and query["count"] > 1 for query in found):
            rows += rows_of_latency(name, found, ["p50", "p95"])
        rows.append([f"{name}, time goes to", *map(breakdown_of, found)])
        for key, label, written in _COUNTS:
            if any(query and query[key] for query in found):
                cells = [written(query[key]) if query else "" for query in found]
                rows.append([f"{name}, {label}", *cells])
    rows += _rows_of_commits(summaries, tuple(STATISTICS))
    return [*rows, *rows_of_checkpoints(summaries), *rows_of_host(summaries)]


def _statements(summaries: Sequence[Summary]) -> list[str]:
    return list(dict.fromkeys(name for summary in summaries for name in summary["queries"]))


def _rate(stream: Mapping[str, Any]) -> str:
    rate = stream["transactions_per_s"]
    return "" if rate is None else format_times(rate)
