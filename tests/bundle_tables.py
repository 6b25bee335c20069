"""The generated tables of docs/bundle.md; ``python -m tests.bundle_tables`` writes them anew."""

from collections.abc import Sequence
from pathlib import Path

from tests.marked import between, replaced
from tiersim.traces.schema import (
    QUERY_COLUMNS,
    REFERENCE_COLUMNS,
    REQUEST_COLUMNS,
    STATEMENT_COLUMNS,
    STATISTICS_COLUMNS,
    Column,
)

DOCUMENT = Path(__file__).parents[1] / "docs" / "bundle.md"
_COLUMNS = {
    "requests": REQUEST_COLUMNS,
    "references": REFERENCE_COLUMNS,
    "statements": STATEMENT_COLUMNS,
    "queries": QUERY_COLUMNS,
    "statistics": STATISTICS_COLUMNS,
}


def table(columns: Sequence[Column]) -> str:
    """Return one row for each column."""
    head = "| column | type | required | null | meaning |\n|---|---|---|---|---|\n"
    yes = {True: "yes", False: "no"}
    return head + "".join(
        f"| `{one.name}` | {one.kind} | {yes[one.required]} | {yes[one.nullable]} | {one.meaning} |\n"
        for one in columns
    )


#: What stands between the marks of each name.
TABLES = {name: table(columns) for name, columns in _COLUMNS.items()}


def main() -> None:
    """Write the tables between their marks."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, made in TABLES.items():
        text = replaced(text, name, made)
    DOCUMENT.write_text(text, encoding="utf-8")


def on_page(name: str) -> str:
    """Return the table that the page has."""
    return between(DOCUMENT.read_text(encoding="utf-8"), name)


if __name__ == "__main__":
    main()
