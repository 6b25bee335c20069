"""What people see in the terminal: tables on standard output, progress and notices on standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tiersim.units import format_ns

#: Latency classes that people look at first, in the order of tables.
CLASS_ORDER = (
    "data read", "data write", "log write", "log flush", "checkpoint write", "temp", "backup", "flush", "discard", "unknown",
)  # fmt: skip


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document and nothing else."""
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


def notice(text: str) -> None:
    """Say something beside the output."""
    print(f"tiersim: {text}", file=sys.stderr)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> None:
    """Print a table; the first column is text, the others are figures."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table: Table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=index > 0)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 140, soft_wrap=False)
    console.print(table)
    if caption:
        console.print(caption, highlight=False)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that takes how much is done, or None where nobody watches a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=max(total, 1))
        yield lambda done: bar.update(task, completed=done)


def figure_text(figure: dict[str, Any] | None) -> str:
    """Write a figure: its value, or the range that it lies in when the sample does not resolve it, or why neither."""
    if figure is None:
        return ""
    if figure["value"] is not None:
        return format_ns(figure["value"])
    if figure["low"] is None:
        return "saturated" if "saturated" in figure["basis"] else "no sample"
    if figure["high"] is None:
        return f"> {format_ns(figure['low'])}"
    return f"{format_ns(figure['low'])} – {format_ns(figure['high'])}"
