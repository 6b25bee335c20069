"""Statements that were recorded one by one: which of them can run, what their processor time says, where their
transactions end.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.bundle_tables import Table, read_statements

Column = NDArray[np.int64]

#: Of the statements, this share has to say who issued them and which pages they asked for.
_COMPLETE = 0.95
_NEEDED = ("session", "query", "logical_reads")
#: What is read of them; with many millions of rows the other columns would be in the way.
_READ = (
    "time_ns",
    "duration_ns",
    "cpu_ns",
    "session",
    "transaction",
    "kind",
    "query",
    "logical_reads",
    "physical_reads",
    "writes",
    "rows",
    "log_bytes",
)
#: Kinds of statement that run by themselves; the others are whole transactions.
_RUN = ("language", "rpc", "utility")
#: Statements that begin a transaction, which may be in more than one piece, and those that end it, among others.
_OPENS = re.compile(r"\s*begin\s+tran(saction)?\b", re.IGNORECASE)
_ENDS = re.compile(r"\b(commit|rollback)\b", re.IGNORECASE)


def recorded_statements(path: Path, *, with_misses: bool = True) -> Table | None:
    """Return the statements of the bundle at *path* that were recorded one by one, if nearly all say what is needed.

    *with_misses*: which pages they missed is needed, too.
    """
    table = read_statements(path, _READ)
    run = [table.words["kind"].index(kind) for kind in _RUN if kind in table.words["kind"]]
    executed = np.isin(table.columns["kind"], run)
    complete = executed.copy()
    for name in (*_NEEDED, *(["physical_reads"] if with_misses else [])):
        complete &= table.columns[name] >= 0
    if not executed.any() or complete.sum() < _COMPLETE * executed.sum():
        return None
    if complete.all():
        return table
    return Table({name: values[complete] for name, values in table.columns.items()}, table.words)


def processor_law(query: Column, pages: Column, cpu_ns: Column, queries: int) -> Column:
    """Return the processor time of each execution by its query's law: CPU = a + b x pages, with the recorded sum.

    SQL Server counts in ticks of some 15.6 ms, so that a single value means little and sums are right. Least squares by
    query, none of the two below 0.
    """
    known = cpu_ns >= 0
    code, own, spent = query[known], pages[known].astype(np.float64), cpu_ns[known]
    count = np.maximum(np.bincount(code, minlength=queries), 1)
    mean_pages, mean_ns = np.bincount(code, own, queries) / count, np.bincount(code, spent, queries) / count
    own -= mean_pages[code]
    spread = np.bincount(code, own * own, queries)
    slope = np.bincount(code, own * spent, queries) / np.where(spread > 0, spread, 1)
    steepest = np.where(mean_pages > 0, mean_ns / np.maximum(mean_pages, 1e-9), 0)  # with a = 0
    slope = np.clip(slope, 0, steepest)
    law_ns: Column = np.rint((mean_ns - slope * mean_pages)[query] + slope[query] * pages).astype(np.int64)
    return law_ns


def in_sessions(table: Table, texts: Mapping[str, str]) -> Table:
    """Return executions those of a session together, in order, with transactions numbered: as they were recorded; else
    from BEGIN to COMMIT by the
    *texts* of queries; else each execution is one.
    """
    order = np.argsort(table.columns["session"], kind="stable")  # the table is in order of time
    columns = {
        name: values[order].astype(np.int64, copy=False) for name, values in table.columns.items() if name != "kind"
    }
    queries = table.words["query"]
    opens = np.array([_OPENS.match(texts.get(one, "")) is not None for one in queries])[columns["query"]]
    ends = np.array([_ENDS.search(texts.get(one, "")) is not None for one in queries])[columns["query"]]
    rows = np.arange(len(order))
    first = np.diff(columns["session"], prepend=-1) != 0
    last_opened = np.maximum.accumulate(np.where(opens, rows, -1))
    closed = np.maximum.accumulate(np.where(first | np.concatenate([[False], ends[:-1]]), rows, 0))
    own = np.cumsum(opens | first | (last_opened < closed))
    known = columns["transaction"] >= 0
    columns["transaction"] = np.where(
        known, columns["transaction"], own + int(columns["transaction"].max(initial=-1)) + 1
    )
    return Table(columns, table.words)


def committing(session: Column, transaction: Column, changes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which executions, in order, end a transaction that *changes* rows."""
    begins = np.ones(len(session), np.bool_)
    begins[1:] = (np.diff(session) != 0) | (np.diff(transaction) != 0)
    first = np.flatnonzero(begins)
    found = np.zeros(len(session), np.bool_)
    if len(first):
        found[np.append(first[1:], len(session)) - 1] = np.logical_or.reduceat(changes, first)
    return found
