"""``tiersim import``: recorded files become a trace bundle."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.warmup import compile_if_cold
from tiersim.files import check_target
from tiersim.units import format_ns

if TYPE_CHECKING:
    from tiersim.traces.bundle import Manifest


def import_trace(
    files: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "Recorded files of one recording, or folders of them; for blktrace one of the per-CPU files is enough."
                " Texts "
                "may be compressed (gzip, bzip2, xz, Zstandard)."
            )
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The bundle, NAME.trace.")],
    format: Annotated[str | None, typer.Option("--format", help="Force a format instead of detecting it.")] = None,
    keep_literals: Annotated[
        bool, typer.Option("--keep-literals", help="Keep the literals in query texts: they are customers' data.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a bundle that is already there.")] = False,
) -> None:
    """Import what was recorded; says what it found, dropped and inferred.

    Reads blktrace, fio iologs, blkreplay loads, Windows disk usage (ETW), vSCSI,
    traces of DiskSim and MQSim, published CSV traces (MSR Cambridge, SYSTOR '17,
    Alibaba, Tencent, SPC), Arrow and Parquet tables, and page references (ARC,
    LIRS, oracleGeneral); from PostgreSQL its statistics views as CSV, JSON or
    psql text, its log, pgbench's logs; from SQL Server its trace files (.trc, XML,
    tables), Extended Events (.xel, XML), views as CSV, perfmon's logs; and the
    host's counters. docs/formats.md tells what each has.

    Example: tiersim import sdb.blktrace.0 before/ after/ -o prod.trace
    """
    from tiersim.traces.readers import import_files, sort_files

    check_target(output, force=force)
    found = sort_files(files, format)
    if found.requests:
        compile_if_cold()
    with terminal.progress_bar("importing") as progress:
        manifest = import_files(found, output, keep_literals=keep_literals, force=force, progress=progress)
    for sentence in manifest.warnings:
        terminal.notice(f"warning: {sentence}")
    if json:
        document = {
            "schema": "tiersim.import/1",
            "trace": str(output),
            "format": manifest.source_format,
            "requests": manifest.requests,
            "statements": manifest.statements,
            "snapshots": manifest.snapshots,
            "unmatched": manifest.unmatched,
            "dropped": dict(manifest.dropped),
            "inferred": list(manifest.inferred),
            "span_ns": manifest.span_ns,
            "warnings": list(manifest.warnings),
        }
        terminal.print_json(document)
        return
    print(f"{output}: {_found(manifest)} ({manifest.source_format})")
    if manifest.requests:
        print(f"  events without a partner: {manifest.unmatched:,}")
    for why, count in manifest.dropped.items():
        print(f"  not imported: {count:,} {why}")
    for sentence in manifest.inferred:
        print(f"  inferred: {sentence}")


def _found(manifest: "Manifest") -> str:
    """Say what a bundle holds, and how long a time it is of."""
    if manifest.references and not manifest.requests:
        return f"{manifest.references:,} page references and no requests, for cache studies"
    counts = {
        "requests": manifest.requests,
        "statements": manifest.statements,
        "snapshots of counters": manifest.snapshots,
    }
    found = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "0 requests"
    return f"{found} in {format_ns(manifest.span_ns)}" if manifest.span_ns else f"{found}, at times that are not known"
