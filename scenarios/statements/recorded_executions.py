"""Statements that were recorded one by one: which of them can run, what their processor time says, where their transactions end."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.statements import read_statements
from tiersim.traces.tables import Table

Column = NDArray[np.int64]

#: Of the statements, this share has to say who issued them and which pages they asked for.
_COMPLETE = 0.95
_NEEDED = ("session", "query", "logical_reads")
#: What is read of them; with many millions of rows the other columns would be in the way.
_READ = (
    "time_ns", "duration_ns", "cpu_ns", "session", "transaction", "kind", "query", "logical_reads", "physical_reads", "writes", "rows",
    "log_bytes",
)  # fmt: skip
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

    SQL Server counts in ticks of some 15.6 ms, so that a single value means little and sums are right. Least squares by query, none of the
    two below 0.
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


def transactions_by_text(
    session: Column, transaction: Column, query: Column, queries: Sequence[str], texts: Mapping[str, str]
) -> Column:
    """Return transactions of executions, those of a session together and in order: as they were recorded; else from BEGIN to COMMIT; else each
    execution is one. Without *texts* nothing is known of BEGIN and COMMIT.
    """
    opens = np.array([_OPENS.match(texts.get(one, "")) is not None for one in queries])[query]
    ends = np.array([_ENDS.search(texts.get(one, "")) is not None for one in queries])[query]
    rows = np.arange(len(query))
    first = np.diff(session, prepend=-1) != 0
    last_opened = np.maximum.accumulate(np.where(opens, rows, -1))
    ended_before = np.concatenate([[False], ends[:-1]])
    last_reset = np.maximum.accumulate(np.where(first | ended_before, rows, 0))
    inside = last_opened >= last_reset  # and behind it, in its session
    begins = opens | first | ~inside
    own = np.cumsum(begins)
    known = transaction >= 0
    return np.where(known, transaction, own + (int(transaction.max(initial=-1)) + 1))
