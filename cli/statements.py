"""Tables of runs of statements: transactions and the most expensive queries, one column for each scenario."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiersim.cli import terminal
from tiersim.units import format_ns

#: So many queries are shown, those that take most time of all their calls.
_MOST_SHOWN = 5
#: A longer text of a query is cut in the table.
_TEXT = 60
_SHOWN = (("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"))

Summary = Mapping[str, Any]


def show_statements(summaries: Sequence[Summary]) -> None:
    """Print the table, and below it what everybody who reads it has to know."""
    rows = _rows("transaction", [summary["latency_ns"].get("transaction") for summary in summaries])
    rows += _rows("commit", [summary["latency_ns"].get("commit") for summary in summaries])
    shown = _most_expensive(summaries)
    for number, query in enumerate(shown, 1):
        found = [summary["queries"].get(query) for summary in summaries]
        rows += _rows(f"query {number}", found)
        rows.append([f"query {number}, time goes to", *map(_breakdown, found)])
        rows.append(
            [f"query {number}, reads a call", *(f"{q['physical_reads_per_call']:.3g}" if q else "" for q in found)]
        )
    rows.append(["transactions/s", *(f"{s['throughput_per_s']['transactions']['value']:,.0f}" for s in summaries)])
    rows.append(["pool hit ratio", *map(_hit_ratio, summaries)])
    rows.append(
        ["processors", *(f"{s['host']['cores']} cores {100 * s['host']['utilisation']:.0f} %" for s in summaries)]
    )
    rows.append(["busiest part", *map(_bottleneck, summaries)])
    rows.append(
        ["cache", *(s["verdict"]["cache"] + (", extrapolated" if s["extrapolated"] else "") for s in summaries)]
    )
    rows.append(["load", *(s["verdict"]["load"] for s in summaries)])
    trace = summaries[0]["trace"]
    title = f"{trace['name']}: {trace['transactions']:,} transactions in {format_ns(trace['span_ns'])}"
    columns = ["latency", *(summary["name"] for summary in summaries)]
    terminal.show_table(title, columns, rows, "\n".join([*_texts(summaries, shown), *_notes(summaries)]))


def _rows(what: str, found: Sequence[Mapping[str, Any] | None]) -> list[list[str]]:
    if not any(found):
        return []
    return [
        [f"{what}, {label}", *(terminal.figure_text(figures[key]) if figures else "" for figures in found)]
        for key, label in _SHOWN
    ]


def _most_expensive(summaries: Sequence[Summary]) -> list[str]:
    spent: dict[str, float] = {}
    for summary in summaries:
        for query, figures in summary["queries"].items():
            spent[query] = max(spent.get(query, 0.0), figures["count"] * sum(figures["breakdown_ns"].values()))
    return sorted(spent, key=lambda query: (-spent[query], query))[:_MOST_SHOWN]


def _breakdown(query: Mapping[str, Any] | None) -> str:
    """Shares of a query's time, the largest first; what is less than a hundredth is left out."""
    if not query:
        return ""
    total = sum(query["breakdown_ns"].values())
    parts = sorted(query["breakdown_ns"].items(), key=lambda part: -part[1])
    return ", ".join(f"{name} {100 * ns / total:.0f} %" for name, ns in parts if total and ns >= 0.01 * total)


def _hit_ratio(summary: Summary) -> str:
    ratio = summary["hit_ratio"]["pool"]
    return "" if ratio is None else f"{100 * ratio:.2f} %"


def _bottleneck(summary: Summary) -> str:
    found = summary["bottleneck"]
    return f"{found['resource']} of {found['station']} {100 * found['utilisation']:.0f} %"


def _texts(summaries: Sequence[Summary], shown: Sequence[str]) -> list[str]:
    lines = []
    for number, query in enumerate(shown, 1):
        figures = next(s["queries"][query] for s in summaries if query in s["queries"])
        text = " ".join((figures["text"] or "text not known").split())
        lines.append(f"query {number} ({query}): {text if len(text) <= _TEXT else text[: _TEXT - 1] + '…'}")
    return lines


def _notes(summaries: Sequence[Summary]) -> list[str]:
    notes = [f"{s['name']}: {s['load']['explanation']}" for s in summaries if s["verdict"]["load"] != "steady"]
    if any(s["verdict"]["arrivals"] == "synthetic" for s in summaries):
        notes.append("Executions are synthesised from counters: which ran when, and which together, is not known.")
    for caveat in dict.fromkeys(caveat for summary in summaries for caveat in summary["caveats"]):
        notes.append(f"{caveat[0].upper()}{caveat[1:]}.")
    defaults = dict.fromkeys(
        f"{key}: {basis}" for s in summaries for key, basis in s["settings_from"].items() if basis.startswith("default")
    )
    return [*notes, *(f"{text}." for text in defaults)]
