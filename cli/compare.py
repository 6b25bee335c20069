"""``tiersim compare``: results side by side, with ratios, and beside what was measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal, verdicts
from tiersim.cli.options import Json
from tiersim.cli.queries import spent_ns
from tiersim.errors import did_you_mean
from tiersim.simulator.categories import CATEGORIES
from tiersim.units import format_ns, format_per_s, format_times

_SHOWN = (("mean", "mean"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"))
#: So many queries are shown, those that take most time of the first result.
_MOST_QUERIES = 5
_NOT_RESOLVED = "not resolved"
_RANGES = (
    "A range in brackets is what repeated simulations may give for the ratio. It does not hold the error of the models."
)


def compare(
    results: Annotated[list[Path], typer.Argument(help="Result bundles; the others are compared with the first.")],
    measured: Annotated[
        Path | None,
        typer.Option(help="A recording of the same load on the real hardware, or a table: class,statistic,value,unit."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare results side by side: latencies, ratios, verdicts.

    --measured also compares the predictions with measurements, and prints the error in percent.

    Example: tiersim compare 15k-raid10.result pcie-flash.result --measured after.trace
    """
    from tiersim.cli.comparison import comparison
    from tiersim.cli.measured import read_measured
    from tiersim.simulator.result import load_result

    if len(results) < 2 and measured is None:
        raise typer.BadParameter("one result alone has nothing to be compared with; give another, or --measured FILE")
    summaries = [load_result(path).summary for path in results]
    names = [one["name"] for one in summaries]
    summaries = [
        one | {"name": str(path.with_suffix(""))} if names.count(one["name"]) > 1 else one
        for path, one in zip(results, summaries, strict=True)
    ]
    found = None if measured is None else read_measured(measured)
    document = comparison(summaries, found, "" if measured is None else str(measured))
    if json:
        terminal.print_json(document)
        return
    if len(summaries) > 1:
        _show(document, summaries)
    if "measured" in document:
        _show_measured(document, verdicts.notes(summaries) if len(summaries) == 1 else [])


def _show(document: dict[str, Any], summaries: list[dict[str, Any]]) -> None:
    from tiersim.cli.statements import range_of_tail
    from tiersim.scenarios.caveats import tail_of

    baseline, *others = document["results"]
    columns = [
        "latency",
        baseline["name"],
        *(cell for one in others for cell in (one["name"], f"÷ {baseline['name']}")),
    ]
    rows = []
    said: list[list[str]] = [[] for _ in others]

    def add_latency(label: str, ratios: list[dict[str, Any] | None], cells: list[str]) -> None:
        rows.append([label, *cells])
        for found, ratio, cell in zip(said, ratios, cells[2::2], strict=True):
            if ratio is not None and cell:
                found.append("open" if cell == _NOT_RESOLVED else ratio["verdict"])

    for name in sorted({name for one in document["results"] for name in one["latency_ns"]}, key=_place):
        for key, label in _SHOWN:
            figures = [one["latency_ns"].get(name, {}).get(key) for one in document["results"]]
            ratios = [((one["ratios"] or {}).get("latency_ns", {}).get(name) or {}).get(key) for one in others]
            ranges = [range_of_tail(tail_of(one, name)) if key == "p99" else "" for one in summaries]
            add_latency(f"{name}, {label}", ratios, _cells(figures, ratios, ranges))
    queries = _queries(summaries)
    for number, query in enumerate(queries, 1):
        figures = [(summary.get("queries") or {}).get(query, {}).get("mean") for summary in summaries]
        ratios = [((one["ratios"] or {}).get("queries", {}).get(query) or {}).get("mean") for one in others]
        add_latency(f"query {number}, mean", ratios, _cells(figures, ratios))
    for kind in ("transactions", "requests"):
        rates = [one["throughput_per_s"].get(kind) for one in document["results"]]
        if any(rates):
            ratios = [(one["ratios"] or {}).get("throughput_per_s", {}).get(kind) for one in others]
            texts = ["" if rate is None or rate["value"] is None else format_per_s(rate["value"]) for rate in rates]
            rows.append(
                [
                    f"{kind}/s",
                    texts[0],
                    *(cell for text, one in zip(texts[1:], ratios, strict=True) for cell in (text, _ratio(one))),
                ]
            )
    for label, text in (
        ("busiest part", verdicts.busiest),
        ("calibration", lambda one: one["verdict"]["calibration"]),
        ("carries the load", verdicts.carries),
    ):
        first, *rest = [text(one) for one in document["results"]]
        rows.append([label, first, *(cell for one in rest for cell in (one, ""))])
    traces = dict.fromkeys(one["trace"]["name"] for one in document["results"])
    notes = [f"query {number} is {query}: {_text(summaries, query)}" for number, query in enumerate(queries, 1)]
    notes += [_conclusion(one, found, baseline["name"]) for one, found in zip(others, said, strict=True)]
    notes += [*([_RANGES] if any(said) else []), *verdicts.notes(summaries)]
    terminal.show_table(", ".join(traces), columns, rows, "\n".join(notes))


def _cells(
    figures: list[dict[str, Any] | None], ratios: list[dict[str, Any] | None], ranges: Sequence[str] = ()
) -> list[str]:
    """Figures, each but the first with its ratio; of those that are not resolved the *ranges*, without a ratio."""
    known = list(ranges) or [""] * len(figures)
    first, *rest = [span or terminal.figure_text(figure) for span, figure in zip(known, figures, strict=True)]
    compared = [
        _NOT_RESOLVED if span or known[0] else _ratio(ratio) for span, ratio in zip(known[1:], ratios, strict=True)
    ]
    return [first, *(cell for pair in zip(rest, compared, strict=True) for cell in pair)]


def _ratio(found: dict[str, Any] | None) -> str:
    """A ratio with its interval; where that holds 1, it is open which is less."""
    if found is None:
        return ""
    low, high = (format_times(found[end]) if found[end] is not None else "?" for end in ("low", "high"))
    if found["value"] is None and low == high:
        return "" if low == "?" else f"about {low} ×"
    value = "" if found["value"] is None else f"{format_times(found['value'])} × "
    span = f"({low} – {high})" if low != high else ""
    return f"{value}{span}{' open' if found['verdict'] == 'open' and low != high else ''}".strip()


def _conclusion(one: dict[str, Any], said: list[str], baseline: str) -> str:
    """Say of how many figures of the table, by what is *said* of each, the intervals decide which is less."""
    if one["no_ratios"]:
        return f"No ratios: {one['no_ratios']}."
    counts = {word: said.count(word) for word in ("less", "more", "same", "open")}
    same = f", {counts['same']} the same" if counts["same"] else ""
    left = f"; for {counts['open']} it is not clear" if counts["open"] else ""
    return (
        f"{one['name']} against {baseline}: of {len(said)} latencies {counts['less']} are lower, {counts['more']}"
        f" higher{same}{left}."
    )


def _show_measured(document: dict[str, Any], errors: list[str]) -> None:
    from tiersim.cli.measured import THROUGHPUT

    found = document["measured"]
    names = [one["name"] for one in document["results"]]
    rows = []
    for row in found["rows"]:
        rate = "measured_per_s" in row
        text = (lambda value: f"{format_per_s(value)}/s") if rate else format_ns
        cells = []
        for one in row["predictions"]:
            figure = one["predicted"]
            shown = (
                ""
                if figure is None
                else (
                    text(figure["value"])
                    if figure["resolved"] and figure["value"] is not None
                    else terminal.figure_text(figure)
                )
            )
            error = "" if one["error_pct"] is None else f"{one['error_pct']:+.1f} %"
            cells += [shown, error]
        rows.append(
            [f"{row['class']}, {row['statistic']}", text(row["measured_per_s" if rate else "measured_ns"]), *cells]
        )
    columns = ["predicted against measured", "measured", *(cell for name in names for cell in (name, "error"))]
    notes = [
        f"{name} ran {load:g} × the recorded load: ignore its errors unless {found['source']} was measured at that"
        " load."
        for name, load in found["loads"].items()
    ]
    if not rows:
        notes.append(f"Nothing that {found['source']} measured is in these results.")
    if found["unmatched"]:
        known = {name for one in document["results"] for name in one["latency_ns"]} | {THROUGHPUT}
        some = [
            name + ("" if name in CATEGORIES else did_you_mean(name, known).replace("; ", " (").replace("?", "?)"))
            for name in found["unmatched"][:_MOST_QUERIES]
        ]
        more = len(found["unmatched"]) - len(some)
        notes.append(f"Measured, and in none of the results: {', '.join(some)}{f' and {more} more' if more else ''}.")
    terminal.show_table(f"beside {found['source']}", columns, rows, "\n".join([*notes, *errors]))


def _queries(summaries: list[dict[str, Any]]) -> list[str]:
    found = summaries[0].get("queries") or {}
    return sorted(found, key=lambda name: (-spent_ns(found[name]), name))[:_MOST_QUERIES]


def _text(summaries: list[dict[str, Any]], query: str) -> str:
    return terminal.one_line(summaries[0]["queries"][query].get("text") or "text not known", 60)


def _place(name: str) -> tuple[int, str]:
    order = ("transaction", "commit", *terminal.CLASS_ORDER)
    return (order.index(name) if name in order else len(order), name)
