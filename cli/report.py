"""``tiersim report``: results, sweeps, curves and searches as one self-contained page."""

from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.files import check_target, whole_file


def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="What the commands write, in any mix: .result and .sweep folders, .mrc.json, .load.json, .size.json."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a page that is already there.")] = False,
) -> None:
    """Write a page that works offline and can be mailed: latencies, rates, utilisation, one scenario against another.

    Sweeps, miss-ratio curves, load curves and searches for hardware have sliders that move all of their charts.

    Example: tiersim report shop.sweep shop.mrc.json shop.size.json -o report.html
    """
    write_page(inputs, output, title, force=force)
    terminal.notice(f"wrote {output}")


def write_page(inputs: list[Path], output: Path, title: str, *, force: bool) -> None:
    """Load results and studies, and write the page."""
    from tiersim.cli.page import build_page, open_inputs

    check_target(output, force=force)
    found = open_inputs(inputs)
    trace = found.results[0].summary["trace"]["name"] if found.results else found.studies.trace_name
    name = title or f"{trace or 'a trace'}: what if"
    with whole_file(output, force=force) as path:
        path.write_text(build_page(found.results, name, found.studies), encoding="utf-8")
