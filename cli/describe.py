"""``tiersim describe``: what a trace asks of its storage."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.counted_tables import show_counted
from tiersim.cli.import_trace import open_trace
from tiersim.cli.options import Force, Json
from tiersim.errors import ScenarioError
from tiersim.files import check_target, whole_file
from tiersim.units import format_bytes, format_ns, format_per_s, format_times

#: Rows of the tables by file and by stream; the JSON document has more.
SHOWN = 10
_COLUMNS = ("count", "bytes", "median size", "sequential", "random", "mean", "p50", "p99")
#: Columns of a short table.
_FIRST_COLUMNS = ("count", "bytes", "median size", "random", "mean", "p99")


def describe(
    trace: Annotated[
        Path,
        typer.Argument(
            help=(
                "A trace (NAME.trace, from import or record), a recorded file that tiersim can import, or a .toml file"
                " of tenants."
            )
        ),
    ],
    everything: Annotated[bool, typer.Option("--all", help="Print every table and every note.")] = False,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write a page with pictures, such as prod.html.")
    ] = None,
    force: Force = False,
) -> None:
    """Show what a recording contains, and what it lacks for a good prediction.

    A block trace: reads and writes, sizes, randomness, working set, burstiness and
    measured latency, by kind of request, file and session. A recording of a server: queries by time,
    reads and writes, hit ratios, WAL, checkpoints.

    Example: tiersim describe prod.trace -o prod.html
    """
    if output is not None:
        check_target(output, force=force)
    recordings = _recordings(trace)
    if output is not None and set(recordings) != {""}:
        raise ScenarioError(f"--output: a page is of one recording, and {trace} names several; give one of them")
    documents = {name: _described(path) for name, path in recordings.items()}
    if json and set(documents) != {""}:
        terminal.print_json({"schema": next(iter(documents.values()))["schema"], "tenants": documents})
        return
    for name, document in documents.items():
        _show(document, name, everything=everything, json=json, output=output, force=force)


def _recordings(path: Path) -> dict[str, Path]:
    """Return the recordings that a file of tenants names, by tenant; else the one at *path*, without a name."""
    if path.suffix == ".toml":
        from tiersim.scenarios.library import is_tenants
        from tiersim.scenarios.tenants.model import read_tenants

        if is_tenants(path):
            return {name: path.parent / one.recording for name, one in read_tenants(path).tenants.items()}
    return {"": path}


def _described(trace: Path) -> dict[str, Any]:
    from tiersim.traces.description import describe as run

    with open_trace(trace) as bundle, terminal.progress_bar("describing") as progress:
        return run(bundle, progress=progress)


def _show(
    document: dict[str, Any], tenant: str, *, everything: bool, json: bool, output: Path | None, force: bool
) -> None:
    """Show one description, of a *tenant* where several are shown."""
    if tenant:
        print(f"tenant {tenant}")
    if output is not None:
        _write_page(document, output, force=force)
    if json:
        terminal.print_json(document)
        return
    notes: list[str] = []
    left = 0
    if document["counted"] is not None:
        notes, left = show_counted(document["counted"], everything)
    if "classes" in document:
        left += _show_requests(document, everything)
    caption = terminal.caption([*notes, *document["inferred"]], everything=everything, left=left, what="table")
    if caption:
        print(caption)


def _show_requests(document: dict[str, Any], everything: bool) -> int:
    """Print the tables of requests; returns how many are left out."""
    title = f"{document['trace']}: {document['requests']:,} requests in {format_ns(document['span_ns'])}"
    if document["rate_per_s"] is not None:
        title += f", {format_per_s(document['rate_per_s'])}/s on average"
        if document["peak_rate_per_s"] is not None:
            title += f", {document['peak_rate_per_s']:,} in the busiest second"
    columns = _COLUMNS if everything else _FIRST_COLUMNS
    classes = [_row(group, columns) for group in document["classes"]]
    terminal.show_table(title, ["requests", *columns], classes)
    for what in ("file", "stream") if everything else ():
        groups = document[f"{what}s"]
        caption = f"{len(groups) - SHOWN} more rows: --json" if len(groups) > SHOWN else ""
        terminal.show_table(
            f"by {what}", [what, *_COLUMNS], [_row(group, _COLUMNS) for group in groups[:SHOWN]], caption
        )
    terminal.show_table("overall", ["figure", "value"], list(_whole(document)), words=2)
    return 0 if everything else 2


def _write_page(document: dict[str, Any], output: Path, *, force: bool) -> None:
    from tiersim.cli.page import build_trace_page

    title = document["trace"].removesuffix(".trace")
    with whole_file(output, force=force) as path:
        path.write_text(build_trace_page(document, title), encoding="utf-8")
    terminal.notice(f"wrote {output}")


def _row(group: dict[str, Any], columns: Sequence[str]) -> list[str]:
    name = "not recorded" if group["name"] is None else group["name"]
    unknown = "not measured" if group["mean_ns"] is None else "too few"
    latencies = {
        key: unknown if group[f"{key}_ns"] is None else format_ns(group[f"{key}_ns"]) for key in ("mean", "p50", "p99")
    }
    cells = latencies | {
        "count": f"{group['count']:,}",
        "bytes": format_bytes(group["bytes"]),
        "median size": format_bytes(group["median_bytes"]),
        "sequential": _percent(group["sequential"]),
        "random": _percent(group["random"]),
    }
    return [
        name if group["members"] == 1 else f"{name} ({group['members']:,})",
        *(cells[column] for column in columns),
    ]


def _whole(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the figures that no group has, as name and sentence."""
    touched, again = document["working_set"], document["re_reference"]
    if touched is None:
        yield "working set", "unknown: the requests are too long"
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
        yield "requests in flight", "not measured"
    else:
        most = (
            ""
            if depth["max"] is None
            else f", {depth['max']:,} at most, none {_percent(depth['share'][0][1])} of the time"
        )
        part = "" if document["measured"] == 1 else f" (of the {_percent(document['measured'])} that were measured)"
        yield "requests in flight", f"{format_times(depth['mean'])} on average{most}{part}"
    bursts = document["burstiness"]
    variation = bursts["interarrival_cv"]
    yield (
        "time between requests",
        "not known" if variation is None else f"variation {format_times(variation)} (periodic 0, Poisson 1)",
    )
    known = [(index, window) for window, index in bursts["dispersion"] if index is not None]
    counts = [f"{format_times(index)} in {format_ns(window)}" for index, window in known]
    yield "burstiness (variance ÷ mean)", ", ".join(counts) or "not known"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f} %"
