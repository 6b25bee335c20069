"""``tiersim check``: whether bundles, results and sweeps are whole."""

from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Json
from tiersim.units import format_bytes

_SAID = {
    "whole": "whole",
    "unverified": "unverified: readable to its end, but written without checksums, by another tool or an older tiersim",
    "unfinished": "not finished",
    "damaged": "damaged",
    "unknown": "nothing that can be checked",
}


def check(
    paths: Annotated[list[Path], typer.Argument(help="Trace bundles, results and sweeps: .trace, .result, .sweep.")],
    json: Json = False,
) -> None:
    """Check that traces, results and sweeps are intact: no file is changed, missing or added.

    A damaged file is named, and the exit code is 1. Files without checksums are read to the end and called
    unverified.

    Example: tiersim check prod.trace *.result shop.sweep
    """
    from tiersim.scenarios.check import check as run

    checked = []
    for path in paths:
        with terminal.progress_bar(f"checking {path.name}") as progress:
            checked.append(run(path, progress))
        for sentence in checked[-1].found:
            terminal.notice(sentence)
        if not json:
            one = checked[-1]
            size = f" ({one.kind}, {one.files:,} files, {format_bytes(one.bytes)})" if one.files else ""
            print(f"{path}: {_SAID[one.verdict]}{size}")
    if json:
        rows = [
            {
                "path": str(one.path),
                "kind": one.kind,
                "verdict": one.verdict,
                "files": one.files,
                "size_bytes": one.bytes,
                "found": one.found,
            }
            for one in checked
        ]
        terminal.print_json({"schema": "tiersim.check/1", "checked": rows})
    if not all(one.usable for one in checked):
        raise typer.Exit(1)
