"""The table of runs of recorded statements: transactions and the most expensive queries, a column a scenario."""

from collections.abc import Mapping, Sequence

from tiersim.cli import terminal, verdicts
from tiersim.cli.run_rows import (
    breakdown_of,
    first_rows_of_host,
    notes_of,
    row_of_dip,
    row_of_pool,
    rows_of_checkpoints,
    rows_of_host,
    rows_of_latency,
)
from tiersim.cli.tails import rows_of_tails, with_ranges
from tiersim.cli.time_by_part import (
    LEAST_SHARE,
    faster_outside,
    predicted_rest_ns,
    recorded_rest_ns,
    spent_ns,
    time_of_transaction,
)
from tiersim.cli.verdicts import Summary
from tiersim.simulator.categories import WAIT_NAMES
from tiersim.units import NS_PER_S, format_bytes, format_ns, format_per_s, format_times

#: So many queries are shown, those that take most time of all their calls.
_MOST_SHOWN = 5
#: A longer text of a query is cut in the table.
_TEXT = 60
#: Most parts of a transaction's time in a short table.
_MOST_PARTS = 4
#: What of a transaction is in none of its queries, beside the recorded one.
_REST = "commit, and client between queries"


def show_statements(summaries: Sequence[Summary], everything: bool) -> None:
    """Print the table, and below it what everybody who reads it has to know."""
    queries = {query: f"query {number}" for number, query in enumerate(_most_expensive(summaries), 1)}
    rows = _all_rows(summaries, queries)
    shown, left = rows, 0
    if not everything:
        queries = dict(list(queries.items())[:1])
        shown = _first_rows(summaries, queries)
        left = max(len(rows) - len(shown), 0)
    trace = summaries[0]["trace"]
    rate = f" ({format_per_s(trace['transactions'] / trace['span_ns'] * NS_PER_S)}/s)" if trace["span_ns"] else ""
    pool = summaries[0]["engine"].get("recorded_buffer_pool_bytes")
    title = f"{trace['name']}: {trace['transactions']:,} transactions in {format_ns(trace['span_ns'])}{rate}"
    title += f", {format_ns(trace['quiet_ns'])} of it with hardly any" if "quiet_ns" in trace else ""
    title += f", buffer pool {format_bytes(pool)}" if pool and not row_of_pool(summaries) else ""
    title += verdicts.said_load(summaries) + _run_for(summaries)
    title += _sessions(summaries)
    columns = ["figure", *(summary["name"] for summary in summaries)]
    if recorded := _recorded(summaries[0], queries):
        columns, shown = terminal.beside_recorded(columns, shown, recorded)
    texts = [text + faster_outside(summaries, query) for query, text in _texts(summaries, queries, ids=everything)]
    notes = [*texts, *notes_of(summaries, queries)]
    terminal.show_table(title, columns, shown, terminal.caption(notes, everything=everything, left=left))


def _run_for(summaries: Sequence[Summary]) -> str:
    """Return for how long clients go on, where that was asked."""
    asked_ns = dict.fromkeys(summary["replay"].get("asked_ns") for summary in summaries)
    texts = ["as recorded" if one is None else format_ns(one) for one in asked_ns]
    return "" if [*asked_ns] == [None] else f", run for {', '.join(texts)}"


def _sessions(summaries: Sequence[Summary]) -> str:
    """Return how many sessions run on how many cores, where all scenarios have the same. Transactions by the clock have
    no sessions of their own: how many run at a time hangs on the hardware.
    """
    found = {
        (s["replay"].get("sessions"), s["replay"].get("keeps"), s["host"]["cores"], s["host"].get("clients_on_cores"))
        for s in summaries
    }
    if len(found) > 1 or not next(iter(found))[0]:
        return ""
    [(sessions, keeps, cores, with_clients)] = found
    if keeps == "rate":
        return f", on {cores} cores"
    return f", {sessions:,} sessions{' and their clients' if with_clients else ''} on {cores} cores"


def _recorded(summary: Summary, queries: Mapping[str, str]) -> dict[str, str]:
    """Return what was recorded, by the name of its row; nothing of a workload that was described."""
    trace, known = summary["trace"], summary.get("recorded_mean_ns", {})
    if summary["verdict"]["arrivals"] == "described" or not trace["span_ns"]:
        return {}
    means = {f"{name}, mean": known.get(key) for key, name in {"transaction": "transaction", **queries}.items()}
    rest_ns, in_transaction_ns = recorded_rest_ns(summary), summary.get("in_transaction_ns")
    counted = {"transaction, mean": f"about {format_ns(in_transaction_ns)}"} if in_transaction_ns else {}
    pool = summary["engine"].get("recorded_buffer_pool_bytes")
    return {
        **({"buffer pool": format_bytes(pool)} if pool else {}),
        "transactions/s": format_per_s(trace["transactions"] / trace["span_ns"] * NS_PER_S),
        **counted,
        **{row: format_ns(mean_ns) for row, mean_ns in means.items() if mean_ns},
        **({} if rest_ns is None else {_REST: format_ns(rest_ns)}),
    }


def _all_rows(summaries: Sequence[Summary], queries: Mapping[str, str]) -> list[list[str]]:
    rows = rows_of_latency("transaction", [summary["latency_ns"].get("transaction") for summary in summaries])
    if any(summary["verdict"]["calibration"] == "calibrated" for summary in summaries):
        relative = [summary["relative_latency_ns"].get("transaction", {}).get("mean") for summary in summaries]
        rows.insert(1, ["transaction, mean, corrected by the calibration", *map(terminal.figure_text, relative)])
    rows += rows_of_latency("commit", [summary["latency_ns"].get("commit") for summary in summaries])
    for query, name in queries.items():
        found = [summary["queries"].get(query) for summary in summaries]
        rows += rows_of_latency(name, found)
        rows.append([f"{name}, time goes to", *map(breakdown_of, found)])
        reads = (format_times(query["physical_reads_per_call"]) if query else "" for query in found)
        rows.append([f"{name}, reads a call", *reads])
    tails = {"transaction": "transaction", "commit": "commit"}
    rows += rows_of_tails(summaries, tails | {f"query {query}": name for query, name in queries.items()})
    if recorded_rest_ns(summaries[0]) is not None:
        rests_ns = map(predicted_rest_ns, summaries)
        rows.append([_REST, *("" if rest_ns is None else format_ns(rest_ns) for rest_ns in rests_ns)])
    return [*rows, *rows_of_checkpoints(summaries), *rows_of_host(summaries)]


def _first_rows(summaries: Sequence[Summary], queries: Mapping[str, str]) -> list[list[str]]:
    """Return the rows that say whether the load is carried, how fast, why, and how sure that is."""
    transactions, commits = ([s["latency_ns"].get(what) for s in summaries] for what in ("transaction", "commit"))
    first, last = first_rows_of_host(summaries)
    return [
        *first,
        *rows_of_latency("transaction", transactions, ["mean"]),
        *_rows_of_time(summaries),
        *(with_ranges(row, summaries, "transaction") for row in rows_of_latency("transaction", transactions, ["p99"])),
        *(with_ranges(row, summaries, "commit") for row in rows_of_latency("commit", commits, ["mean", "p99"])),
        *(
            row
            for query, name in queries.items()
            for row in rows_of_latency(name, [s["queries"].get(query) for s in summaries], ["mean"])
        ),
        *row_of_dip(summaries),
        *last,
    ]


def _rows_of_time(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return a row for each part of a transaction's time that matters, below its mean; a saturated run has no steady
    parts.
    """
    shares: dict[str, list[float]] = {}
    steady = [summary["verdict"]["load"] != "saturated" for summary in summaries]
    for place, summary in enumerate(summaries):
        parts = time_of_transaction(summary) if steady[place] else {}
        total = sum(parts.values())
        for part, ns in parts.items():
            shares.setdefault(part, [0.0] * len(summaries))[place] = ns / total if total else 0.0
    largest = sorted(shares, key=lambda part: -max(shares[part]))[:_MOST_PARTS]
    return [
        [
            f"  {WAIT_NAMES[part]}",
            *(f"{100 * share:.0f} %" if known else "" for share, known in zip(shares[part], steady, strict=True)),
        ]
        for part in largest
        if max(shares[part]) >= LEAST_SHARE
    ]


def _most_expensive(summaries: Sequence[Summary]) -> list[str]:
    """Return the queries that take most time, without COMMIT where commits have rows of their own: as a query its CPU
    is predicted, and its flush recorded.
    """
    from tiersim.scenarios.calibration.synthesis.counted import Role, role_of

    spent: dict[str, float] = {}
    for summary in summaries:
        for query, figures in summary["queries"].items():
            if role_of(figures["text"] or "") is Role.COMMITS and summary["latency_ns"].get("commit"):
                continue
            spent[query] = max(spent.get(query, 0.0), spent_ns(figures))
    return sorted(spent, key=lambda query: (-spent[query], query))[:_MOST_SHOWN]


def _texts(summaries: Sequence[Summary], queries: Mapping[str, str], *, ids: bool) -> list[tuple[str, str]]:
    """Return each of the *queries* with its text, and its id if *ids*."""
    lines = []
    for query, name in queries.items():
        figures = next(s["queries"][query] for s in summaries if query in s["queries"])
        head = f"{name} ({query})" if ids else name
        lines.append((query, f"{head}: {terminal.one_line(figures['text'] or 'text not known', _TEXT)}"))
    return lines
