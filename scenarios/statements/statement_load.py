"""What sessions executed, as a simulation needs it: from counters by synthesis, or as it was recorded one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.counters import Counters
from tiersim.scenarios.calibration.page_cache import PageCache
from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.popularity.recorded_files import OWN_DATABASES, FileAccesses
from tiersim.scenarios.calibration.processor import of_log
from tiersim.scenarios.calibration.synthesis import Synthesis
from tiersim.scenarios.calibration.synthesis.executions import bytes_of_images
from tiersim.scenarios.calibration.synthesis.selection import Role, role_of
from tiersim.scenarios.statements.index_entries import IndexEntries, index_entries, said_of
from tiersim.scenarios.statements.own_pages import asked_of_executions
from tiersim.scenarios.statements.queries import Asked, asked_of, changes_rows
from tiersim.scenarios.statements.recorded_executions import in_sessions, processor_law, recorded_statements
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.bundle_tables import Table, read_queries
from tiersim.traces.differences import Differences
from tiersim.traces.query_text import tokens
from tiersim.units import NS_PER_MS

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """Executions of a recording, those of a session together and in order, transactions in one piece; columns of equal
    length.

    ``asked`` is what each query asks of the fitted tables. A ``closed`` load is that of a benchmark whose clients began
    the next transaction when the one before was done; a ``pooled`` one is that of sessions that nobody saw.
    ``physical_reads`` are 0 where executions do not say them; ``pages_read`` are those of all of them then, else None.
    """

    path: Path
    counters: Counters
    manifest: Manifest
    session: Column
    transaction: Column
    query: Column  # code
    start_ns: Column  # from the first execution on
    duration_ns: Column
    cpu_ns: Column
    physical_reads: Column
    logical_reads: Column | None  # None: executions of a query are alike
    log_bytes: Column
    queries: tuple[str, ...]  # by code
    texts: Mapping[str, str]  # by query, where known
    cpu_basis: Mapping[str, str]  # by query
    asked: tuple[Asked, ...]  # by code
    image_bytes: int | None  # of a page in the log; None: not counted
    fitted: Fitted
    pool_bytes: int  # of the recorded buffer pool
    pages_read: float | None
    span_ns: int
    commit_wait_ns: float  # of a transaction for its log, where that is between executions and not in one
    closed: bool
    pooled: bool
    synthetic: bool
    inferred: tuple[str, ...]
    page_cache: PageCache | None = None  # of the recorded host, where the recording tells
    entries: tuple[IndexEntries, ...] = ()  # by fitted table; none: no update puts one into an index
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


def read_load(
    counters: Counters,
    synthesis: Synthesis | None,
    fitted: Fitted,
    files: FileAccesses | None = None,
    executions: Table | None = None,
    pool_bytes: int | None = None,
) -> Load:
    """Return the load of the bundle that *counters* are of: executions of *synthesis*, or those that were recorded one
    by one where it is None.

    With *files* each of the *executions*, in sessions, asks for its own pages. *pool_bytes* is how large the recorded
    pool was, where the bundle does not say it. *fitted* are the laws of the tables that they look rows up in. Raises
    TraceError when there is nothing to run.
    """
    path = counters.path
    table = executions if synthesis is None else synthesis.executions
    if table is None and synthesis is None:
        table = recorded_statements(path)
    if table is None or not len(table):
        raise TraceError(
            f"{path}: holds no statements with their pages, neither one by one nor counted; record pg_stat_statements"
            " before and after a load, or of SQL Server statements with their reads"
        )
    dirtied = np.full(len(table), -1)
    if synthesis is not None:
        dirtied = synthesis.pages_dirtied[np.argsort(table.columns["session"], kind="stable")]
    columns = dict(in_sessions(table, {}).columns if files is None else table.columns)
    queries = tuple(table.words["query"])
    texts = texts_of(path)
    manifest = Bundle(path).manifest
    entries: tuple[IndexEntries, ...] = ()
    if files is None:
        record_bytes, image_bytes = log_volume(counters, int(manifest.host.get("page_bytes", 8192)))
        entries = index_entries(counters.found, fitted, _texts_by_entity(path))
        asked, said = asked_of(counters.found, fitted, queries, texts, columns, dirtied, record_bytes)
        said += said_of(fitted.tables, entries)
        said += said_of_earlier_changes(counters.found, [texts.get(query) for query in queries])
    else:
        image_bytes = None
        asked, said = asked_of_executions(
            queries, texts, columns, files, fitted, files.share_of_time * log_file_bytes(counters.found)
        )
        said += _spread_processor_time(columns, len(queries))
    first_ns = int(columns["time_ns"].min())
    duration_ns = np.maximum(columns["duration_ns"], 0)
    checkpoints = np.isin(
        columns["query"], [code for code, query in enumerate(queries) if is_checkpoint(texts.get(query))]
    )
    if checkpoints.any():
        columns["cpu_ns"][checkpoints] = 0
        said.append(f"{int(checkpoints.sum()):,} executions of CHECKPOINT use no CPU: they wait for the checkpointer")
    unknown = columns["cpu_ns"] < 0
    if unknown.any():
        said.append(f"CPU time of {int(unknown.sum()):,} executions is unknown and assumed to be 0")
    return Load(
        path=path,
        counters=counters,
        manifest=manifest,
        session=columns["session"],
        transaction=columns["transaction"],
        query=columns["query"],
        start_ns=columns["time_ns"] - first_ns,
        duration_ns=duration_ns,
        cpu_ns=np.maximum(columns["cpu_ns"], 0),
        physical_reads=np.maximum(columns["physical_reads"], 0),
        logical_reads=None if files is None else columns["logical_reads"],
        log_bytes=np.maximum(columns["log_bytes"], 0),
        queries=queries,
        texts=texts,
        cpu_basis={} if synthesis is None else {query.query: query.cpu_basis for query in synthesis.queries},
        asked=asked,
        image_bytes=image_bytes,
        fitted=fitted,
        pool_bytes=pool_bytes
        or manifest.buffer_pool_bytes
        or fitted.frames * int(manifest.host.get("page_bytes", 8192)),
        pages_read=None if files is None or files.by_statement else files.pages_read,
        span_ns=int((columns["time_ns"] + duration_ns).max()) - first_ns,
        commit_wait_ns=_commit_wait_ns(counters.found, queries, texts, columns),
        closed=synthesis is not None and synthesis.closed,
        pooled=synthesis is not None and not synthesis.closed,
        synthetic=synthesis is not None,
        inferred=(*(() if synthesis is None else synthesis.inferred), *said),
        entries=entries,
    )


def _spread_processor_time(columns: dict[str, Column], queries: int) -> list[str]:
    """Put the time that a query's law gives in place of single values, and say so."""
    known = columns["cpu_ns"] >= 0
    if not known.any():
        return []
    columns["cpu_ns"] = processor_law(columns["query"], columns["logical_reads"], columns["cpu_ns"], queries)
    said = (
        "CPU time of single executions is recorded in ticks of the clock; each execution gets its query's mean for so"
        " many pages, and sums are as recorded"
    )
    return [said]


def _commit_wait_ns(
    found: Differences, queries: Sequence[str], texts: Mapping[str, str], columns: Mapping[str, Column]
) -> float:
    """Return how long a write and a flush of the log took together where flushes took longer than all commits, which
    then did not hold them.

    A commit waited for that at least: for the flush before it, too, if that was under way.
    """
    flushes, flush_ms, write_ms = (of_log(found, name) for name in ("flushes", "flush_ms", "write_ms"))
    commits = [code for code, query in enumerate(queries) if role_of(texts.get(query, "")) is Role.COMMITS]
    commits_ns = int(columns["duration_ns"][np.isin(columns["query"], commits)].sum())
    if not flushes or flush_ms * NS_PER_MS <= commits_ns:
        return 0.0
    return (flush_ms + write_ms) * NS_PER_MS / flushes


def is_checkpoint(text: str | None) -> bool:
    """Tell whether a statement is a CHECKPOINT."""
    return text is not None and next((word for _, word in tokens(text)), "").lower() == "checkpoint"


def texts_of(path: Path) -> dict[str, str]:
    """Return the texts of queries, where they are known."""
    queries = read_queries(path)
    pairs: Any = zip(queries.texts("query"), queries.texts("text"), strict=True)
    return {query: text for query, text in pairs if query is not None and text is not None}


def _texts_by_entity(path: Path) -> dict[str, str]:
    """Return the texts of queries by what counters call them, where they are known."""
    queries = read_queries(path)
    pairs: Any = zip(queries.texts("entity"), queries.texts("text"), strict=True)
    return {entity: text for entity, text in pairs if entity is not None and text is not None}


#: Images of pages that statements which change nothing put into the log, for each of them: more are said.
_IMAGES = 0.01


def said_of_earlier_changes(found: Differences, texts: Sequence[str | None]) -> list[str]:
    """Say that a recorded load of lookups alone also wrote pages: those whose rows were loaded or changed before it,
    and whose hint bits it set (PostgreSQL's checksums or ``wal_log_hints`` put an image of each into the log).
    """
    if any(text is None or changes_rows(text) for text in texts):
        return []
    counted = list(found.of("query").values())
    calls, images = (sum(float(one.number(name) or 0) for one in counted) for name in ("calls", "log_full_page_images"))
    if images <= _IMAGES * calls:
        return []
    said = (
        f"{images:,.0f} pages were written into the log by {calls:,.0f} statements that change nothing: hint bits of"
        " rows that were loaded or changed before the recording; their CPU is counted as that of all lookups; run"
        " VACUUM, then record"
    )
    return [said]


#: Blocks of SQL Server's log end with their sector, of which half is empty on average.
_HALF_A_SECTOR_BYTES = 256


def log_file_bytes(found: Differences) -> float:
    """Return the bytes of records that went to the log files of users' databases, as their counters say; half a sector
    of each write held none.
    """
    logs = [
        change
        for entity, change in found.of("file").items()
        if change.last.get("kind") == "log" and entity.partition("/")[0] not in OWN_DATABASES
    ]
    written, writes = (sum(float(log.number(name) or 0) for log in logs) for name in ("written_bytes", "writes"))
    return max(written - _HALF_A_SECTOR_BYTES * writes, 0.0)


def log_volume(counters: Counters, page_bytes: int) -> tuple[Mapping[str, float], int | None]:
    """Return the bytes of records of a call by query, and how long an image of a page is; None if no images were
    counted.

    What are images is told as for executions (:mod:`tiersim.scenarios.calibration.synthesis.executions`).
    """
    table = read_queries(counters.path)
    queries = dict(zip(table.texts("entity"), table.texts("query"), strict=True))
    record_bytes: dict[str, int] = {}
    all_calls: dict[str, int] = {}
    images = image_bytes = 0
    for entity, change in counters.found.of("query").items():
        calls, log, count, own = (
            int(change.number(name) or 0) for name in ("calls", "log_bytes", "log_full_page_images", "log_records")
        )
        if not calls or change.number("log_full_page_images") is None:
            continue
        of_images = bytes_of_images(log, count, own, page_bytes)
        query = queries.get(entity) or entity
        record_bytes[query] = record_bytes.get(query, 0) + log - of_images
        all_calls[query] = all_calls.get(query, 0) + calls
        images, image_bytes = images + count, image_bytes + of_images
    records = {query: count / all_calls[query] for query, count in record_bytes.items()}
    return records, round(image_bytes / images) if images else None
