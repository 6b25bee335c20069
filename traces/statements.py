"""Statements and queries of a bundle: ``statements.parquet``, one row an execution, and ``queries.parquet``, one a query."""

from pathlib import Path

from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS
from tiersim.traces.tables import Table, read_table

STATEMENTS = "statements.parquet"
QUERIES = "queries.parquet"


def read_statements(folder: Path) -> Table:
    """Return the statements of the bundle in *folder*, in order of their starts; none if it has no such table.

    Raises TraceError, see :func:`tiersim.traces.tables.read_table`.
    """
    return read_table(folder / STATEMENTS, STATEMENT_COLUMNS)


def read_queries(folder: Path) -> Table:
    """Return the queries of the bundle in *folder*; none if it has no such table. Raises TraceError."""
    return read_table(folder / QUERIES, QUERY_COLUMNS)
