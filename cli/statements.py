"""Tables of runs of statements: transactions and the most expensive queries, one column for each scenario."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiersim.cli import model_error, terminal
from tiersim.units import format_ns

#: So many queries are shown, those that take most time of all their calls.
_MOST_SHOWN = 5
#: A longer text of a query is cut in the table.
_TEXT = 60
#: A smaller dip of throughput is said to be none.
_LEAST_DIP_PCT = 0.5
_SHOWN = (("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"))

Summary = Mapping[str, Any]


def show_statements(summaries: Sequence[Summary]) -> None:
    """Print the table, and below it what everybody who reads it has to know."""
    rows = rows_of_latency("transaction", [summary["latency_ns"].get("transaction") for summary in summaries])
    if any(summary["verdict"]["calibration"] == "calibrated" for summary in summaries):
        relative = [summary["relative_latency_ns"].get("transaction", {}).get("mean") for summary in summaries]
        rows.insert(1, ["transaction, relative", *map(terminal.figure_text, relative)])
    rows += rows_of_latency("commit", [summary["latency_ns"].get("commit") for summary in summaries])
    shown = _most_expensive(summaries)
    for number, query in enumerate(shown, 1):
        found = [summary["queries"].get(query) for summary in summaries]
        rows += rows_of_latency(f"query {number}", found)
        rows.append([f"query {number}, time goes to", *map(breakdown_of, found)])
        rows.append(
            [f"query {number}, reads a call", *(f"{q['physical_reads_per_call']:.3g}" if q else "" for q in found)]
        )
    rows += rows_of_checkpoints(summaries)
    rows += rows_of_host(summaries)
    trace = summaries[0]["trace"]
    title = f"{trace['name']}: {trace['transactions']:,} transactions in {format_ns(trace['span_ns'])}"
    columns = ["latency", *(summary["name"] for summary in summaries)]
    terminal.show_table(title, columns, rows, "\n".join([*_texts(summaries, shown), *notes_of(summaries)]))


def rows_of_host(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return rows of how fast all went, and what was busy."""
    return [
        ["transactions/s", *(f"{s['throughput_per_s']['transactions']['value']:,.0f}" for s in summaries)],
        *([["transactions/s, range", *map(_range, summaries)]] if any(s.get("range") for s in summaries) else []),
        ["pool hit ratio", *map(_hit_ratio, summaries)],
        ["processors", *(f"{s['host']['cores']} cores {100 * s['host']['utilisation']:.0f} %" for s in summaries)],
        ["busiest part", *map(_bottleneck, summaries)],
        ["cache", *(s["verdict"]["cache"] + (", extrapolated" if s["extrapolated"] else "") for s in summaries)],
        ["load", *map(_load, summaries)],
    ]


def rows_of_latency(what: str, found: Sequence[Mapping[str, Any] | None]) -> list[list[str]]:
    """Return rows of the mean and percentiles of *what*, none where nothing was found."""
    if not any(found):
        return []
    return [
        [f"{what}, {label}", *(terminal.figure_text(figures[key]) if figures else "" for figures in found)]
        for key, label in _SHOWN
    ]


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def rows_of_checkpoints(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return rows of the log and of checkpoints, if there were any."""
    found = [summary["checkpoints"] for summary in summaries]
    rows = []
    if any(summary["log"]["flushes"] for summary in summaries):
        each = [summary["log"]["commits_per_flush"] for summary in summaries]
        rows.append(["commits a flush", *map(_ratio, each)])
        relative = [summary["log"].get("relative_commits_per_flush") for summary in summaries]
        if any(relative):
            rows.append(["commits a flush, relative", *map(_ratio, relative)])
    if not any(found):
        return rows
    rows.append(["checkpoints", *(f"{len(some)}" for some in found)])
    for key, label in (("write_ns", "writing"), ("sync_ns", "syncing")):
        rows.append([f"checkpoint, {label}", *(_mean_time(summary, key) for summary in summaries)])
    rows.append(["checkpoint, worst 5 s", *map(_dip, found)])
    for side_of in ("inside", "outside"):
        sides = [(summary["checkpoint_impact"] or {}).get(side_of) for summary in summaries]
        means = [side["latency_ns"]["transaction"]["mean"] if side else None for side in sides]
        rows.append([f"transaction, mean {side_of}", *("" if mean is None else format_ns(mean) for mean in means)])
    return rows


def _mean_time(summary: Summary, key: str) -> str:
    """Return how long checkpoints took on average, or that the one that was under way at the end takes longer than until then."""
    checkpoints = summary["checkpoints"]
    known = [one[key] for one in checkpoints if one[key] is not None]
    if known:
        return format_ns(sum(known) / len(known))
    if key == "sync_ns" or not checkpoints:
        return ""
    return f"> {format_ns(summary['replay']['counted_ns']['until'] - checkpoints[-1]['start_ns'])}"


def _dip(checkpoints: Sequence[Mapping[str, Any]]) -> str:
    """Return by how much throughput falls at most."""
    dips = [one["dip_pct"] for one in checkpoints if one["dip_pct"] is not None]
    if not dips:
        return ""
    return f"-{max(dips):.0f} % transactions" if max(dips) >= _LEAST_DIP_PCT else "no dip"


def _most_expensive(summaries: Sequence[Summary]) -> list[str]:
    spent: dict[str, float] = {}
    for summary in summaries:
        for query, figures in summary["queries"].items():
            spent[query] = max(spent.get(query, 0.0), figures["count"] * sum(figures["breakdown_ns"].values()))
    return sorted(spent, key=lambda query: (-spent[query], query))[:_MOST_SHOWN]


def breakdown_of(query: Mapping[str, Any] | None) -> str:
    """Shares of a query's time, the largest first; what is less than a hundredth is left out."""
    if not query:
        return ""
    total = sum(query["breakdown_ns"].values())
    parts = sorted(query["breakdown_ns"].items(), key=lambda part: -part[1])
    return ", ".join(f"{name} {100 * ns / total:.0f} %" for name, ns in parts if total and ns >= 0.01 * total)


def _load(summary: Summary) -> str:
    """Say whether it is carried, and what of the recorded load is kept."""
    verdict = summary["verdict"]
    return str(verdict["load"]) + ("" if verdict["arrivals"] == "described" else f", same {summary['replay']['keeps']}")


def _range(summary: Summary) -> str:
    found = summary.get("range")
    if not found:
        return ""
    low, high = (found["transactions_per_s"][end] for end in ("low", "high"))
    return f"{low:,.0f} – {high:,.0f}" + (", underdetermined" if found["verdict"] == "underdetermined" else "")


def _ranges(summaries: Sequence[Summary]) -> list[str]:
    """Say why a range is too wide to decide by, and what would narrow it."""
    return [
        f"{s['name']}: underdetermined, mostly by {s['range']['mostly']}: {s['range']['remedy']}."
        for s in summaries
        if s.get("range") and s["range"]["verdict"] == "underdetermined"
    ]


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


def _calibration(found: Mapping[str, Any]) -> str:
    """Say what the run on the model of the recorded hardware says."""
    parts = [
        f"{name} {figures['error_pct']:+.0f} %"
        + ("" if not figures["read_error_pct"] else f" (pages read {figures['read_error_pct']:+.1f} %)")
        if figures["error_pct"] is not None
        else f"{name} not resolved"
        for name, figures in found["classes"].items()
        if figures["decides"]
    ]
    if found.get("read_error_pct") is not None:
        parts.append(f"pages read by all statements {found['read_error_pct']:+.1f} %")
    limits = found["tolerance_pct"]
    return (
        f"{found['verdict'].capitalize()}: on {found['baseline']} means differ from the recorded ones by {', '.join(parts)}; the limits are "
        f"{limits['mean']:.0f} % and {limits['reads']:.0f} % of the pages."
        + "".join(f" {one[0].upper()}{one[1:]}." for one in found.get("reasons", ()))
    )


def notes_of(summaries: Sequence[Summary]) -> list[str]:
    """Return what everybody who reads the table has to know, a sentence each."""
    notes = [f"{s['name']}: {s['load']['explanation']}" for s in summaries if s["verdict"]["load"] != "steady"]
    if any(s["verdict"]["arrivals"] == "synthetic" for s in summaries):
        notes.append("Executions are synthesised from counters: which ran when, and which together, is not known.")
    if "calibration" in summaries[0]:
        notes.append(_calibration(summaries[0]["calibration"]))
    notes += _ranges(summaries)
    notes += model_error.notes(summaries)
    notes += model_error.caveats(summaries)
    defaults = dict.fromkeys(
        f"{key}: {basis}" for s in summaries for key, basis in s["settings_from"].items() if basis.startswith("default")
    )
    return [*notes, *(f"{text}." for text in defaults)]
