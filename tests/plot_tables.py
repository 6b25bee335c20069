"""The tables of docs/plots.md, made of the functions and what they say of themselves; ``python -m tests.plot_tables``
writes them anew.
"""

import inspect
from pathlib import Path

from tests.marked import write
from tiersim.cli import plots

DOCUMENT = Path(__file__).parents[1] / "docs" / "plots.md"


def table() -> str:
    """Return a row for each function: its parameters, and the first sentence of what it says."""
    rows = [f"| `{name}{_parameters(name)}` | {_first_sentence(name)} |" for name in plots.__all__]
    return "\n".join(["| function | shows |", "|---|---|", *rows, ""])


def _parameters(name: str) -> str:
    given = inspect.signature(getattr(plots, name)).parameters.values()
    return f"({', '.join(str(one.replace(annotation=inspect.Parameter.empty)) for one in given)})"


def _first_sentence(name: str) -> str:
    said = inspect.getdoc(getattr(plots, name)) or ""
    return " ".join(said.split("\n\n")[0].split()).removesuffix(".")


if __name__ == "__main__":
    write(DOCUMENT, {"plots": table()})
