"""``tiersim report``: results as one self-contained page."""

from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.files import check_target, whole_file


def report(
    results: Annotated[list[Path], typer.Argument(help="Result bundles, as replay writes them.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a page that is already there.")] = False,
) -> None:
    """Write a page that works offline and can be mailed: latencies, rates, utilisation, one scenario against another.

    Example: tiersim report 15k-raid10.result pcie-flash.result -o report.html
    """
    write_page(results, output, title, force=force)
    terminal.notice(f"wrote {output}")


def write_page(results: list[Path], output: Path, title: str, *, force: bool) -> None:
    """Load results and write the page."""
    from tiersim.cli.page import build_page
    from tiersim.simulator.result import load_result

    check_target(output, force=force)
    loaded = [load_result(path) for path in results]
    name = title or f"{loaded[0].summary['trace']['name']}: what if"
    with whole_file(output, force=force) as path:
        path.write_text(build_page(loaded, name), encoding="utf-8")
