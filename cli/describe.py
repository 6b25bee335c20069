"""``tiersim describe``: what a trace asks of its storage."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.traces import open_trace
from tiersim.files import check_target, whole_file
from tiersim.units import format_bytes, format_ns


def describe(
    trace: Annotated[Path, typer.Argument(help="A trace bundle, or any file that can be imported.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write a page with pictures, such as prod.html.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a page that is already there.")] = False,
) -> None:
    """Show mix, sizes, sequentiality, rates and measured latency of a trace, by kind of request and by file.

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
    title = f"{document['trace']}: {document['requests']:,} requests in {format_ns(document['span_ns'])}"
    if document["rate_per_s"] is not None:
        title += f", {document['rate_per_s']:,.0f}/s on average, {document['peak_rate_per_s']:,} in the busiest second"
    columns = ["requests", "count", "bytes", "median size", "sequential", "mean", "p50", "p99"]
    rows = [_row(group["name"], group) for group in document["classes"]]
    terminal.show_table(title, columns, rows)
    terminal.show_table("by file", columns, [_row(group["name"], group) for group in document["files"]])
    for sentence in document["inferred"]:
        print(sentence)


def _write_page(document: dict[str, Any], output: Path, *, force: bool) -> None:
    from tiersim.cli.page import build_trace_page

    title = document["trace"].removesuffix(".trace")
    with whole_file(output, force=force) as path:
        path.write_text(build_trace_page(document, title), encoding="utf-8")
    terminal.notice(f"wrote {output}")


def _row(name: str, group: dict[str, float | None]) -> list[str]:
    latency = [format_ns(group[key] or 0) if group[key] is not None else "not measured"
               for key in ("mean_ns", "p50_ns", "p99_ns")]  # fmt: skip
    return [
        name,
        f"{group['count']:,}",
        format_bytes(group["bytes"] or 0),
        format_bytes(group["median_bytes"] or 0),
        f"{100 * (group['sequential'] or 0):.0f} %",
        *latency,
    ]
