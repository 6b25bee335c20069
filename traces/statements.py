"""Statements and queries of a bundle: ``statements.parquet``, one row an execution, and ``queries.parquet``, one a
query.
"""

from collections.abc import Collection
from pathlib import Path

from tiersim.traces.bundle_tables import Table, read_table
from tiersim.traces.parquet import part_of
from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS

STATEMENTS = "statements.parquet"
QUERIES = "queries.parquet"


def read_statements(folder: Path, names: Collection[str] | None = None) -> Table:
    """Return the statements of the bundle in *folder*, in order of their starts; none if it has no such table.

    *names* are those of the columns that are wanted, all if it is None. Raises TraceError, see
    :func:`tiersim.traces.bundle_tables.read_table`.
    """
    columns = [column for column in STATEMENT_COLUMNS if names is None or column.name in names]
    return read_table(part_of(folder, STATEMENTS), columns)


def read_queries(folder: Path) -> Table:
    """Return the queries of the bundle in *folder*; none if it has no such table. Raises TraceError."""
    return read_table(part_of(folder, QUERIES), QUERY_COLUMNS)
