"""What sessions executed, as a simulation needs it: from counters by synthesis, or as it was recorded one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.processor import of_log
from tiersim.scenarios.calibration.synthesis import Synthesis
from tiersim.scenarios.calibration.synthesis.texts import Role, role_of
from tiersim.scenarios.statements.log_volume import log_volume
from tiersim.scenarios.statements.queries import Asked, asked_of
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.differences import differences
from tiersim.traces.query_text import tokens
from tiersim.traces.statements import read_queries, read_statements
from tiersim.traces.statistics import read_snapshots
from tiersim.traces.tables import Table
from tiersim.units import NS_PER_MS

Column = NDArray[np.int64]

#: Of the statements that were recorded one by one, this share has to say who issued them and which pages they asked for.
_COMPLETE = 0.95
_NEEDED = ("session", "query", "logical_reads", "physical_reads")
#: Kinds of statement that run by themselves; the others are whole transactions.
_RUN = ("language", "rpc", "utility")


@dataclass(frozen=True)
class Load:
    """Executions of a recording, those of a session together and in order, transactions in one piece; columns of equal length.

    ``asked`` is what each query asks of the fitted tables. A ``closed`` load is that of a benchmark whose clients began the next
    transaction when the one before was done; a ``pooled`` one is that of sessions that nobody saw.
    """

    path: Path
    manifest: Manifest
    session: Column
    transaction: Column
    query: Column  # code
    start_ns: Column  # from the first execution on
    duration_ns: Column
    cpu_ns: Column
    physical_reads: Column
    log_bytes: Column
    queries: tuple[str, ...]  # by code
    texts: Mapping[str, str]  # by query, where known
    cpu_basis: Mapping[str, str]  # by query
    asked: tuple[Asked, ...]  # by code
    image_bytes: int | None  # of a page in the log; None: not counted
    fitted: Fitted
    span_ns: int
    commit_wait_ns: float  # of a transaction for its log, where that is between executions and not in one
    closed: bool
    pooled: bool
    synthetic: bool
    inferred: tuple[str, ...]
    described: bool = (
        False  # nothing was recorded: the workload's description says what runs, and the columns are empty
    )

    def with_said(self, sentences: Sequence[str]) -> "Load":
        """Return the same load with more that was inferred."""
        return replace(self, inferred=(*self.inferred, *sentences))

    def __len__(self) -> int:
        """Count the executions."""
        return len(self.query)

    @property
    def transactions(self) -> int:
        """Count the transactions."""
        return int(np.count_nonzero(begins(self.session, self.transaction)))


def begins(session: Column, transaction: Column) -> NDArray[np.bool_]:
    """Tell of executions in order which ones begin a transaction."""
    first = np.ones(len(session), np.bool_)
    first[1:] = (np.diff(session) != 0) | (np.diff(transaction) != 0)
    return first


def recorded_statements(path: Path) -> Table | None:
    """Return the statements of the bundle at *path* that were recorded one by one, if nearly all say what is needed."""
    table = read_statements(path)
    run = [table.words["kind"].index(kind) for kind in _RUN if kind in table.words["kind"]]
    executed = np.isin(table.columns["kind"], run)
    complete = executed.copy()
    for name in _NEEDED:
        complete &= table.columns[name] >= 0
    if not executed.any() or complete.sum() < _COMPLETE * executed.sum():
        return None
    return Table({name: values[complete] for name, values in table.columns.items()}, table.words)


def read_load(path: Path, synthesis: Synthesis | None, fitted: Fitted) -> Load:
    """Return the load of the bundle at *path*: executions of *synthesis*, or those that were recorded one by one where it is None.

    *fitted* are the laws of the tables that they look rows up in. Raises TraceError when there is nothing to run.
    """
    table = recorded_statements(path) if synthesis is None else synthesis.executions
    if table is None or not len(table):
        raise TraceError(
            f"{path}: holds no statements with their pages, neither one by one nor counted; record pg_stat_statements before and "
            "after a load"
        )
    columns = {name: values.astype(np.int64) for name, values in table.columns.items()}
    alone = columns["transaction"] < 0
    columns["transaction"][alone] = columns["transaction"].max(initial=0) + 1 + np.arange(int(alone.sum()))
    order = np.argsort(columns["session"], kind="stable")  # the table is in order of time
    columns = {name: values[order] for name, values in columns.items()}
    dirtied = np.full(len(table), -1) if synthesis is None else synthesis.pages_dirtied[order]
    queries = tuple(table.words["query"])
    texts = _texts(path)
    manifest = Bundle(path).manifest
    record_bytes, image_bytes = log_volume(path, int(manifest.host.get("page_bytes", 8192)))
    asked, said = asked_of(path, fitted, queries, texts, columns, dirtied, record_bytes)
    first_ns = int(columns["time_ns"].min())
    duration_ns = np.maximum(columns["duration_ns"], 0)
    checkpoints = np.isin(
        columns["query"], [code for code, query in enumerate(queries) if is_checkpoint(texts.get(query))]
    )
    if checkpoints.any():
        columns["cpu_ns"][checkpoints] = 0
        said.append(
            f"{int(checkpoints.sum()):,} executions of CHECKPOINT take no processor time: they wait for the checkpointer"
        )
    unknown = columns["cpu_ns"] < 0
    if unknown.any():
        said.append(f"processor time of {int(unknown.sum()):,} executions is not known and taken to be none")
    return Load(
        path=path,
        manifest=manifest,
        session=columns["session"],
        transaction=columns["transaction"],
        query=columns["query"],
        start_ns=columns["time_ns"] - first_ns,
        duration_ns=duration_ns,
        cpu_ns=np.maximum(columns["cpu_ns"], 0),
        physical_reads=np.maximum(columns["physical_reads"], 0),
        log_bytes=np.maximum(columns["log_bytes"], 0),
        queries=queries,
        texts=texts,
        cpu_basis={} if synthesis is None else {query.query: query.cpu_basis for query in synthesis.queries},
        asked=asked,
        image_bytes=image_bytes,
        fitted=fitted,
        span_ns=int((columns["time_ns"] + duration_ns).max()) - first_ns,
        commit_wait_ns=_commit_wait_ns(path, queries, texts, columns),
        closed=synthesis is not None and synthesis.closed,
        pooled=synthesis is not None and not synthesis.closed,
        synthetic=synthesis is not None,
        inferred=(*(() if synthesis is None else synthesis.inferred), *said),
    )


def _commit_wait_ns(
    path: Path, queries: Sequence[str], texts: Mapping[str, str], columns: Mapping[str, Column]
) -> float:
    """Return how long a write and a flush of the log took together where flushes took longer than all commits, which then did not hold them.

    A commit waited for that at least: for the flush before it, too, if that was under way.
    """
    found = differences(read_snapshots(path))
    flushes, flush_ms, write_ms = (of_log(found, name) for name in ("flushes", "flush_ms", "write_ms"))
    commits = [code for code, query in enumerate(queries) if role_of(texts.get(query, "")) is Role.COMMITS]
    commits_ns = int(columns["duration_ns"][np.isin(columns["query"], commits)].sum())
    if not flushes or flush_ms * NS_PER_MS <= commits_ns:
        return 0.0
    return (flush_ms + write_ms) * NS_PER_MS / flushes


def is_checkpoint(text: str | None) -> bool:
    """Tell whether a statement is a CHECKPOINT."""
    return text is not None and next((word for _, word in tokens(text)), "").lower() == "checkpoint"


def _texts(path: Path) -> dict[str, str]:
    queries = read_queries(path)
    pairs: Any = zip(queries.texts("query"), queries.texts("text"), strict=True)
    return {query: text for query, text in pairs if query is not None and text is not None}
