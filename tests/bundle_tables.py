"""The generated tables of docs/bundle.md; ``python -m tests.bundle_tables`` writes them anew."""

from collections.abc import Sequence
from pathlib import Path

from tests.marked import write
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


if __name__ == "__main__":
    write(DOCUMENT, TABLES)
