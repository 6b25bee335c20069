"""Tables of runs of described workloads: what each stream and each kind of statement took, one column for each
scenario.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiersim.cli import terminal
from tiersim.cli.statements import (
    DIP,
    breakdown_of,
    first_rows_of_host,
    notes_of,
    rows_of_checkpoints,
    rows_of_host,
    rows_of_latency,
)
from tiersim.units import format_ns

Summary = Mapping[str, Any]

#: Streams and statements, the longest, in a short table.
_MOST_STREAMS, _MOST_STATEMENTS = 4, 5
#: How long a statement took, as servers measure it; the wait before is in that of its transaction.
_TOOK = ", took, once on a core"


def show_workload(summaries: Sequence[Summary], everything: bool) -> None:
    """Print the table: streams, statements in the order of the file, the log, checkpoints, the host; *everything*, or
    what matters most.
    """
    rows = _all_rows(summaries)
    shown = rows if everything else _first_rows(summaries, rows)
    trace = summaries[0]["trace"]
    columns = ["", *(summary["name"] for summary in summaries)]
    title = f"{trace['name']}: {trace['description'] or 'a described workload'}"
    left = max(len(rows) - len(shown), 0)
    caption = terminal.caption(notes_of(summaries), everything=everything, left=left)
    terminal.show_table(title, columns, shown, caption)


def _first_rows(summaries: Sequence[Summary], rows: Sequence[list[str]]) -> list[list[str]]:
    """Return of all *rows* those of streams, of transactions, of the statements that take longest, and of commits."""
    first, last = first_rows_of_host(summaries)
    longest = sorted(_statements(summaries), key=lambda name: -_took_ns(summaries, name))[:_MOST_STATEMENTS]
    latencies = {f"{what}, {figure}" for what in ("transaction", "commit") for figure in ("mean", "p99")}
    kept = {f"{name}{_TOOK}" for name in longest} | latencies | {DIP}
    streams = [row for row in rows if row[0].startswith("stream ") and any(row[1:])]
    return [*first, *streams[:_MOST_STREAMS], *(row for row in rows if row[0] in kept), *last]


def _took_ns(summaries: Sequence[Summary], name: str) -> float:
    return max(float(summary["queries"][name]["took_ns"]) for summary in summaries if name in summary["queries"])


def _all_rows(summaries: Sequence[Summary]) -> list[list[str]]:
    rows = []
    for stream in summaries[0]["streams"]:
        found = [summary["streams"][stream] for summary in summaries]
        rows.append([f"stream {stream}", *(format_ns(one["elapsed_ns"]) for one in found)])
        rows.append([f"stream {stream}, transactions/s", *map(_rate, found)])
    transactions = [summary["latency_ns"].get("transaction") for summary in summaries]
    if any(one and one["count"] > 1 for one in transactions):
        rows += rows_of_latency("transaction", transactions)
    for name in _statements(summaries):
        found = [summary["queries"].get(name) for summary in summaries]
        rows.append([f"{name}{_TOOK}", *_cells(found, lambda query: format_ns(query["took_ns"]))])
        if any(query and query["count"] > 1 for query in found):
            rows += [row for row in rows_of_latency(name, found) if row[0].endswith(("p50", "p95"))]
        rows.append([f"{name}, time goes to", *map(breakdown_of, found)])
        if any(query and query["bulk_mb_per_s"] for query in found):
            rows.append([f"{name}, MB/s", *_cells(found, lambda query: f"{query['bulk_mb_per_s']:,.0f}")])
        if any(query and query["physical_reads_per_call"] for query in found):
            rows.append(
                [f"{name}, reads a call", *_cells(found, lambda query: f"{query['physical_reads_per_call']:,.3g}")]
            )
    rows += rows_of_latency("commit", [summary["latency_ns"].get("log sync") for summary in summaries])
    rows += rows_of_checkpoints(summaries)
    rows += rows_of_host(summaries)
    return rows


def _statements(summaries: Sequence[Summary]) -> list[str]:
    return list(dict.fromkeys(name for summary in summaries for name in summary["queries"]))


def _cells(found: Sequence[Mapping[str, Any] | None], text: Callable[[Mapping[str, Any]], str]) -> list[str]:
    return [text(query) if query else "" for query in found]


def _rate(stream: Mapping[str, Any]) -> str:
    rate = stream["transactions_per_s"]
    return "" if rate is None else f"{rate:,.3g}"
