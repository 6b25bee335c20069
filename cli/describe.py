"""``tiersim describe``: what a trace asks of its storage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.counted_tables import show_counted
from tiersim.cli.traces import open_trace
from tiersim.files import check_target, whole_file
from tiersim.units import format_bytes, format_ns

#: Rows of the tables by file and by stream; the JSON document has more.
SHOWN = 10
_COLUMNS = ("count", "bytes", "median size", "sequential", "random", "mean", "p50", "p99")


def describe(
    trace: Annotated[Path, typer.Argument(help="A trace bundle, or any file that can be imported.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write a page with pictures, such as prod.html.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a page that is already there.")] = False,
) -> None:
    """Show what a trace asks of its storage.

    Of requests: mix, sizes, randomness, working set, burstiness and measured
    latency by kind, file and stream. Of statements and counters: queries by time,
    reads and writes, hit ratios, the log, checkpoints, and what is missing to
    predict well.

    Example: tiersim describe prod.trace -o prod.html
    """
    if output is not None:
        check_target(output, force=force)
    from tiersim.traces.description import describe as run

    with open_trace(trace) as bundle, terminal.progress_bar("describing") as progress:
        document = run(bundle, progress=progress)
    if output is not None:
        _write_page(document, output, force=force)
    if json:
        terminal.print_json(document)
        return
    if document["counted"] is not None:
        show_counted(document["counted"])
    if "classes" in document:
        _show_requests(document)
    for sentence in document["inferred"]:
        print(sentence)


def _show_requests(document: dict[str, Any]) -> None:
    title = f"{document['trace']}: {document['requests']:,} requests in {format_ns(document['span_ns'])}"
    if document["rate_per_s"] is not None:
        title += f", {document['rate_per_s']:,.0f}/s on average, {document['peak_rate_per_s']:,} in the busiest second"
    terminal.show_table(title, ["requests", *_COLUMNS], [_row(group) for group in document["classes"]])
    for what in ("file", "stream"):
        groups = document[f"{what}s"]
        caption = f"{len(groups) - SHOWN} more rows: --json" if len(groups) > SHOWN else ""
        terminal.show_table(f"by {what}", [what, *_COLUMNS], [_row(group) for group in groups[:SHOWN]], caption)
    terminal.show_table("the whole", ["figure", "value"], list(_whole(document)), words=2)


def _write_page(document: dict[str, Any], output: Path, *, force: bool) -> None:
    from tiersim.cli.page import build_trace_page

    title = document["trace"].removesuffix(".trace")
    with whole_file(output, force=force) as path:
        path.write_text(build_trace_page(document, title), encoding="utf-8")
    terminal.notice(f"wrote {output}")


def _row(group: dict[str, Any]) -> list[str]:
    name = "not recorded" if group["name"] is None else group["name"]
    return [
        name if group["members"] == 1 else f"{name} ({group['members']:,})",
        f"{group['count']:,}",
        format_bytes(group["bytes"]),
        format_bytes(group["median_bytes"]),
        _percent(group["sequential"]),
        _percent(group["random"]),
        *("not measured" if group[key] is None else format_ns(group[key]) for key in ("mean_ns", "p50_ns", "p99_ns")),
    ]


def _whole(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the figures that no group has, as name and sentence."""
    touched, again = document["working_set"], document["re_reference"]
    if touched is None:
        yield "working set", "cannot be told, the requests are too long"
    else:
        about = "about " if touched["estimated"] else ""
        total, read, written = (format_bytes(touched[f"{name}_bytes"]) for name in ("total", "read", "written"))
        yield "working set", f"{about}{total} in 4 KiB pages: {read} read, {written} written"
        yield (
            "page reads",
            f"{_percent(again['read_after_read'])} read before, {_percent(again['read_after_write'])} written before",
        )
        yield (
            "page writes",
            f"{_percent(again['write_after_read'])} read before, {_percent(again['write_after_write'])} written before",
        )
    depth = document["depth"]
    if depth is None or depth["mean"] is None:
        yield "in flight", "not measured"
    else:
        most = (
            ""
            if depth["max"] is None
            else f", {depth['max']:,} at most, none {_percent(depth['share'][0][1])} of the time"
        )
        part = "" if document["measured"] == 1 else f" (of the {_percent(document['measured'])} that were measured)"
        yield "in flight", f"{depth['mean']:.3g} on average{most}{part}"
    bursts = document["burstiness"]
    variation = bursts["interarrival_cv"]
    yield "between requests", "too few" if variation is None else f"variation {variation:.3g} (periodic 0, Poisson 1)"
    counts = [f"{index:.3g} in {format_ns(window)}" for window, index in bursts["dispersion"] if index is not None]
    yield "variance by mean of counts", ", ".join(counts) or "too short"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f} %"
