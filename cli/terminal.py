"""What people see in the terminal: tables on standard output, progress and notices on standard error."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from tiersim.files import whole_file
from tiersim.units import format_ns

#: Takes how much is done and how much there is.
Progress = Callable[[int, int], None]

#: Latency classes that people look at first, in the order of tables.
CLASS_ORDER = (
    "data read",
    "data write",
    "log write",
    "log flush",
    "log sync",
    "log sync on device",
    "checkpoint write",
    "temp",
    "backup",
    "flush",
    "discard",
    "unknown",
)

#: Lines of notes below a table that is not asked for whole.
_NOTES = 5

#: Where output goes to a file or another program, a line is as long as it has to be.
_UNBOUNDED = 10_000
#: A cell of at most so many characters is one range, such as 0.82–1.22 ×, or one figure with its unit, such as 97.4 ms.
_LONGEST_RANGE, _LONGEST_FIGURE = 11, 9
#: Blanks between two columns, and where there is little room.
_GAP, _NARROW_GAP = 3, 2


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document and nothing else."""
    print(_as_json(document))


def write_json(document: dict[str, Any], output: Path | None, *, force: bool) -> None:
    """Write one JSON document to a file, which appears whole or not at all, and say so; nothing where no *output* was
    asked for. Raises OutputError.
    """
    if output is None:
        return
    text = _as_json(document)
    with whole_file(output, force=force) as path:
        path.write_text(text + "\n", encoding="utf-8")
    notice(f"wrote {output}")


def _as_json(document: dict[str, Any]) -> str:
    import json

    # made whole before any of it is out: NaN, which is not JSON, is refused and not left at the end of half a document
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False)


def notice(text: str) -> None:
    """Say something beside the output."""
    print(f"tiersim: {text}", file=sys.stderr)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", *, words: int = 1
) -> None:
    """Print a table; the first *words* columns are text, the others figures."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else _UNBOUNDED, markup=False)
    gap, widths = _GAP, column_widths(columns, rows, console.width, _GAP)
    if widths != _natural_widths(columns, rows):
        gap, widths = _NARROW_GAP, column_widths(columns, rows, console.width, _NARROW_GAP)
    table: Table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False,
        padding=(0, 1, 0, gap - _NARROW_GAP),  # the box puts a blank between what columns have on their sides
    )  # fmt: skip
    for index, column in enumerate(columns):
        # names are for copying, so the first column is never broken; no cell ever ends in dots
        table.add_column(
            folded(column, widths[index]) if widths else column,
            justify="left" if index < words else "right",
            no_wrap=index == 0,
            overflow="fold",
            width=widths[index] if widths else None,
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if caption:
        console.print(caption, highlight=False)


def _natural_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max([len(column), *(len(row[index]) for row in rows)]) for index, column in enumerate(columns)]


def column_widths(columns: Sequence[str], rows: Sequence[Sequence[str]], available: int, gap: int) -> list[int] | None:
    """Return the width of each column of a table of *available* characters, *gap* blanks between two, in which the
    first column, numbers, and if possible parts of headings and figures with their units, are not broken; None if there
    is no room for them.
    """
    widths = _natural_widths(columns, rows)
    room = available - gap * len(columns)
    heads = [max(len(part) for _, part in _parts(column)) for column in columns]
    for whole, unbroken in product((True, False), (_LONGEST_RANGE, _LONGEST_FIGURE, 0)):
        cells = [_narrowest([row[index] for row in rows], unbroken) for index in range(len(columns))]
        least = [widths[0], *(max(cell, head * whole) for cell, head in zip(cells[1:], heads[1:], strict=True))]
        if sum(least) <= room:
            break
    else:
        return None
    for _ in range(sum(widths) - room):
        widest = max((index for index in range(len(widths)) if widths[index] > least[index]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _narrowest(cells: Sequence[str], unbroken: int) -> int:
    """Return the width at which no word is broken, and no cell of at most *unbroken* characters."""
    words = (cell if len(cell) <= unbroken else max(cell.split(), key=len) for cell in cells)
    return max(map(len, words), default=1) or 1


def _parts(heading: str) -> list[tuple[str, str]]:
    """Return where a heading may be broken, behind blanks and the hyphens of a name: what is before each part, and it.

    >>> _parts("sas-ssd read")
    [('', 'sas-'), ('', 'ssd'), (' ', 'read')]
    """
    return re.findall(r"(\s*)([^\s-]*-+|[^\s-]+)", heading) or [("", "")]


def folded(heading: str, width: int) -> str:
    """Return a heading in lines of at most *width* characters, if its parts are no longer.

    >>> folded("sas-ssd-raid10", 10)
    'sas-ssd-\\nraid10'
    """
    lines = [""]
    for blank, part in _parts(heading):
        if lines[-1] and len(lines[-1] + blank + part) > width:
            lines.append(part)
        else:
            lines[-1] += blank + part
    return "\n".join(lines)


def caption(notes: Sequence[str], *, everything: bool, left: int = 0, what: str = "row") -> str:
    """Return the notes below a table, a line each: all of them, or the first, and how many notes and things like *what*
    are *left* out.
    """
    if everything or (len(notes) <= _NOTES and not left):
        return "\n".join(notes)
    shown = notes[: _NOTES - 1]
    counts = {what: left, "note": len(notes) - len(shown)}
    more = " and ".join(f"{count} more {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count)
    return "\n".join([*shown, f"--all prints {more}."])


def beside_recorded(
    columns: Sequence[str], rows: Sequence[Sequence[str]], recorded: Mapping[str, str]
) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of a table with what was *recorded*, by the name of its row, before the results."""
    return [columns[0], "recorded", *columns[1:]], [[name, recorded.get(name, ""), *cells] for name, *cells in rows]


def shortened(text: str, longest: int) -> str:
    """Cut a text of more than *longest* characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def one_line(text: str, longest: int) -> str:
    """Return the same without line breaks and wider blanks."""
    return shortened(" ".join(text.split()), longest)


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Yield a function that moves the bar, or None where nobody watches a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)  # it pulses until it is known how much there is
        yield lambda done, total: bar.update(task, completed=done, total=max(total, 1))


@contextmanager
def stages(what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that says which stage work is in, where somebody watches a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    with Console(stderr=True, markup=False).status(what) as status:
        yield lambda stage: status.update(f"{what}: {stage}")


def compile_if_cold() -> None:
    """Compile the kernels that most runs need on the first run of this version, and say so.

    Here and not on their first use, where a worker's thread would have to be waited for after Ctrl-C. Those that few
    runs need, such as a flash cache's, compile there.
    """
    from tiersim import kernel
    from tiersim.kernel import store

    if not kernel.jit_enabled() or store.is_ready():
        return
    if store.folder() is None:
        notice("no folder for compiled kernels can be written; each run compiles anew, some ten seconds")
        return
    from tiersim.scenarios.warm import compile_usual

    notice("compiling the simulator (some ten seconds, once for each version)")
    with progress_bar("compiling") as progress:
        compile_usual(progress)
    store.mark_ready()


def figure_text(figure: dict[str, Any] | None) -> str:
    """Write a figure: its value, or the range that it lies in when the sample does not resolve it, or why neither."""
    if figure is None:
        return ""
    if figure["value"] is not None:
        return format_ns(figure["value"])
    if figure["low"] is None:
        return "saturated" if "saturated" in figure["basis"] else "no sample"
    if figure["high"] is None:
        return f"> {format_ns(figure['low'])}" if figure["low"] > 1 else "not resolved"  # 1 ns: no lower end
    low, high = format_ns(figure["low"]), format_ns(figure["high"])
    return f"about {low}" if low == high else f"{low} – {high} (range)"


def as_sentence(text: str) -> str:
    """Write a remark as a sentence; a name that it begins with, such as public.orders, stays as it is.

    >>> as_sentence("reads wait"), as_sentence("public.orders: no reads")
    ('Reads wait.', 'public.orders: no reads.')
    """
    is_name = set("._") & set(text.split(maxsplit=1)[0])
    return f"{text if is_name else text[0].upper() + text[1:]}."
