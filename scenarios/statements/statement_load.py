"""What sessions executed, as a simulation needs it: from counters by synthesis, or as it was recorded one by one.

Of statements that were recorded one by one it says which can run, what their processor time says, and where their
transactions end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.host.upkeep import Upkeep
from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.popularity.recorded import PageCache
from tiersim.scenarios.calibration.popularity.recorded_files import OWN_DATABASES, FileAccesses
from tiersim.scenarios.calibration.synthesis import Synthesis
from tiersim.scenarios.calibration.synthesis.counted import Role, is_of_the_recording, role_of
from tiersim.scenarios.calibration.synthesis.synthesise import bytes_of_images
from tiersim.scenarios.statements.autovacuum import images_of_upkeep, said_of_vacuum, upkeep_of
from tiersim.scenarios.statements.queries import (
    IndexEntries,
    QueryWork,
    asked_of,
    asked_of_executions,
    changes_rows,
    index_entries,
    said_of,
    said_of_parallel,
)
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.counters import is_nested
from tiersim.traces.differences import Counters, Differences, of_log, of_upkeep
from tiersim.traces.holes import quiet_starts
from tiersim.traces.query_text import tokens
from tiersim.traces.schema import DATA_READ, LOG_WRITE, NOT_KNOWN, PURPOSES
from tiersim.traces.statistics import Table, read_queries, read_statements, texts_of_queries
from tiersim.units import NS_PER_MS

Column = NDArray[np.int64]

#: Name of ends of transactions whose log is made durable, which are no query.
COMMIT = "commit"
#: Classes with a recorded mean besides queries; the last two of files that were counted.
TRANSACTIONS, READS, LOG_WRITES = "transaction", PURPOSES[DATA_READ], PURPOSES[LOG_WRITE]
#: What of a recorded load's time was a wait: as little as can be, as likely, as much as can be.
LEAST_WAITS, LIKELY_WAITS, MOST_WAITS = "least", "likely", "most"

#: Of the statements, this share has to say who issued them and which pages they asked for.
_COMPLETE = 0.95
#: How long sessions wait for a client is known if this share of statements is in transactions of several.
_IN_SEVERAL = 0.9
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
    """Return executions by session, each session's in order, with transactions numbered: as they were recorded; else
    from BEGIN to COMMIT by the *texts* of queries; else each execution is one.
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
    recorded = columns["transaction"]
    before = np.where(first, NOT_KNOWN, np.concatenate([[NOT_KNOWN], recorded[:-1]]))
    recorded = np.where((recorded < 0) & ends, before, recorded)
    columns["transaction"] = np.where(recorded >= 0, recorded, own + int(recorded.max(initial=-1)) + 1)
    return Table(columns, table.words)


def committing(session: Column, transaction: Column, changes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which executions, in order, end a transaction that *changes* rows."""
    first = np.flatnonzero(begins(session, transaction))
    found = np.zeros(len(session), np.bool_)
    if len(first):
        found[np.append(first[1:], len(session)) - 1] = np.logical_or.reduceat(changes, first)
    return found


@dataclass(frozen=True)
class StatementLoad:
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
    lock_wait_ns: Column  # as sampled; 0 where nobody did
    physical_reads: Column
    logical_reads: Column | None  # None: executions of a query are alike
    log_bytes: Column
    queries: tuple[str, ...]  # by code
    texts: Mapping[str, str]  # by query, where known
    cpu_basis: Mapping[str, str]  # by query
    asked: tuple[QueryWork, ...]  # by code
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
    log_busy: float = 1.0  # share of the time in which the log was written or flushed, one after the other; at most
    waits: str = LIKELY_WAITS
    active: float | None = None  # sessions at work on average, executing or not; None: not counted
    inside_ns: float | None = None  # that sessions were at work or in a transaction
    connections: int | None = None  # the most sessions of clients that a sample shows, idle ones too
    upkeep: Upkeep | None = None  # what VACUUM and ANALYZE did beside them
    upkeep_pages: float | None = None  # that these read
    upkeep_log_bytes: float = 0.0  # of images that these put into the log
    all_tracked: bool = True  # what they executed was counted, all of it
    quiet_ns: int = 0  # of the time of the load, in holes
    parallel: str | None = None  # which queries several processors worked on at a time, in a sentence
    described: bool = (
        False  # nothing was recorded: the workload's description says what runs, and the columns are empty
    )

    def with_said(self, sentences: Sequence[str]) -> "StatementLoad":
        """Return the same load with more that was inferred."""
        return replace(self, inferred=(*self.inferred, *sentences))

    def __len__(self) -> int:
        """Count the executions."""
        return len(self.query)

    @cached_property
    def transactions(self) -> int:
        """Count the transactions."""
        return int(np.count_nonzero(begins(self.session, self.transaction)))

    @cached_property
    def commits(self) -> int:
        """Count the transactions that an execution makes durable."""
        return int(np.count_nonzero(_making_durable(self)))

    @cached_property
    def changing(self) -> int:
        """Count the executions that change rows."""
        return int(np.count_nonzero(np.array([one.changes > 0 for one in self.asked])[self.query]))

    @cached_property
    def messages(self) -> int:
        """Count what clients send: executions, and of transactions of several what begins and ends them, where that was
        not counted.
        """
        first = np.flatnonzero(begins(self.session, self.transaction))
        last = np.append(first[1:], len(self)) - 1
        roles = [role_of(self.texts.get(query, "")) for query in self.queries]
        opens = np.array([role is Role.OPENS for role in roles])
        ends = np.array([role in (Role.COMMITS, Role.ROLLS_BACK) for role in roles])
        several = last > first
        unseen = (several & ~opens[self.query[first]]).sum() + (several & ~ends[self.query[last]]).sum()
        return len(self) + int(unseen)

    @cached_property
    def gap_ns(self) -> float | None:
        """Return how long a session waits within a transaction for its client's next message; None where that was not
        counted, or most transactions have one statement.
        """
        if self.inside_ns is None or self.active is None:
            return None
        rows = np.diff(np.flatnonzero(begins(self.session, self.transaction)), append=len(self))
        several = rows[rows > 1]
        if several.sum() < _IN_SEVERAL * len(self):
            return None
        each_ns = (self.inside_ns - self.active * self.span_ns) / int((several + 1).sum())
        return each_ns if each_ns > 0 else None

    @cached_property
    def sessions(self) -> int:
        """Count the sessions."""
        return len(np.unique(self.session))

    @cached_property
    def recorded_means(self) -> "Mapping[str, RecordedMean]":
        """Return the means of transactions, if a load generator measured them, and of queries by id."""
        return MappingProxyType(_recorded_means(self))

    @property
    def leaves_messages_out(self) -> bool:
        """Tell whether executions were counted without what the server does for messages besides."""
        return self.synthetic and self.manifest.host.get("engine") == "postgresql"

    @property
    def in_transaction_ns(self) -> float | None:
        """How long a session was at work or in a transaction, for each transaction; None where nobody counted that."""
        return self.inside_ns / self.transactions if self.inside_ns and self.transactions else None


def begins(session: Column, transaction: Column) -> NDArray[np.bool_]:
    """Tell of executions in order which ones begin a transaction."""
    first = np.ones(len(session), np.bool_)
    first[1:] = (np.diff(session) != 0) | (np.diff(transaction) != 0)
    return first


def fastest_ns_of(load: StatementLoad) -> Column:
    """Return how long the fastest execution of each query took, by code."""
    found_ns = np.full(len(load.queries), load.duration_ns.max(initial=0))
    np.minimum.at(found_ns, load.query, load.duration_ns)
    return found_ns


def read_load(
    counters: Counters,
    synthesis: Synthesis | None,
    fitted: Fitted,
    files: FileAccesses | None = None,
    executions: Table | None = None,
    pool_bytes: int | None = None,
) -> StatementLoad:
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
    texts, counted_texts = texts_of_queries(path), texts_of_queries(path, "entity")
    manifest = Bundle(path).manifest
    page_bytes = int(manifest.host.get("page_bytes", 8192))
    entries: tuple[IndexEntries, ...] = ()
    upkeep, upkeep_log_bytes = None, 0.0
    parallel = None if synthesis is None else synthesis.parallel
    if files is None:
        record_bytes, image_bytes = log_volume(counters, page_bytes)
        entries = index_entries(counters.found, fitted, counted_texts)
        asked, said = asked_of(counters.found, fitted, queries, texts, columns, dirtied, record_bytes)
        said += said_of(fitted.tables, entries)
        upkeep = upkeep_of(counters.found, page_bytes)
        upkeep_log_bytes = 0.0 if upkeep is None else images_of_upkeep(counters.found) * (image_bytes or 0)
        said += said_of_vacuum(counters.found, upkeep)
        said += said_of_earlier_changes(counters.found, [texts.get(query) for query in queries])
    else:
        image_bytes = None
        asked, said = asked_of_executions(
            queries, texts, columns, files, fitted, files.share_of_time * log_file_bytes(counters.found)
        )
        parallel = said_of_parallel(queries, columns)
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
    span_ns = int((columns["time_ns"] + duration_ns).max()) - first_ns
    active, inside_ns = _active(counters.found, span_ns, counted_texts)
    quiet_ns = quiet_starts(columns["time_ns"]) if synthesis is None else min(synthesis.quiet_ns, span_ns)
    untracked = [] if active is None or synthesis is None or not synthesis.closed else _untracked(counters.found)
    said += untracked
    return StatementLoad(
        path=path,
        counters=counters,
        manifest=manifest,
        session=columns["session"],
        transaction=columns["transaction"],
        query=columns["query"],
        start_ns=columns["time_ns"] - first_ns,
        duration_ns=duration_ns,
        cpu_ns=np.maximum(columns["cpu_ns"], 0),
        lock_wait_ns=np.maximum(columns.get("lock_wait_ns", np.zeros(1, np.int64)), 0) + np.zeros_like(duration_ns),
        physical_reads=np.maximum(columns["physical_reads"], 0),
        logical_reads=None if files is None else columns["logical_reads"],
        log_bytes=np.maximum(columns["log_bytes"], 0),
        queries=queries,
        texts=texts,
        cpu_basis={} if synthesis is None else {query.query: query.cpu_basis for query in synthesis.queries},
        asked=asked,
        image_bytes=image_bytes,
        fitted=fitted,
        pool_bytes=pool_bytes or manifest.buffer_pool_bytes or fitted.frames * page_bytes,
        pages_read=None if files is None or files.by_statement else files.pages_read,
        span_ns=span_ns,
        commit_wait_ns=_commit_wait_ns(counters.found, queries, texts, columns),
        log_busy=_log_busy(counters.found, span_ns),
        active=active,
        inside_ns=inside_ns,
        upkeep=upkeep,
        upkeep_log_bytes=upkeep_log_bytes,
        upkeep_pages=None if upkeep is None else upkeep.reads * of_upkeep(counters.found, "read_bytes")[1] / page_bytes,
        all_tracked=not untracked,
        quiet_ns=quiet_ns,
        parallel=parallel,
        closed=synthesis is not None and synthesis.closed,
        pooled=synthesis is not None and not synthesis.closed,
        connections=None if synthesis is None else synthesis.connections,
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


def _log_busy(found: Differences, span_ns: int) -> float:
    """Return the share of the time in which the log was written or flushed; 1 where that was not timed."""
    flush_ms, write_ms = (of_log(found, name) for name in ("flush_ms", "write_ms"))
    return min((flush_ms + write_ms) * NS_PER_MS / span_ns, 1.0) if flush_ms else 1.0


def _active(found: Differences, span_ns: int, texts: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Return how many sessions were at work on average, and how long they were that or in a transaction, where
    databases count both; without what executions leave out, too: statements that took statistics, by the *texts* of
    counted ones.
    """
    databases = found.of("database").values()
    active_ms, idle_ms = (
        [one for change in databases if (one := change.number(name)) is not None]
        for name in ("active_ms", "idle_in_transaction_ms")
    )
    if not active_ms or not idle_ms:
        return None, None
    own_ms = sum(
        float(change.number("exec_ms") or 0)
        for entity, change in found.of("query").items()
        if entity in texts and is_of_the_recording(texts[entity]) and not is_nested(entity)
    )
    active_ns = (float(sum(active_ms)) - own_ms) * NS_PER_MS
    return active_ns / span_ns, active_ns + float(sum(idle_ms)) * NS_PER_MS


def _untracked(found: Differences) -> list[str]:
    """Say why sessions may have executed statements that nobody counted; nothing where all were."""
    whys = []
    setting = found.of("setting").get("pg_stat_statements.track_utility")
    if setting is not None and setting.last.get("setting") == "off":
        whys.append("pg_stat_statements.track_utility is off")
    if any(change.number("evictions") for change in found.of("query store").values()):
        whys.append("entries of pg_stat_statements were evicted")
    if not whys:
        return []
    said = (
        f"sessions may have executed statements that were not counted ({', '.join(whys)}); that looks like waiting for"
        " commits, so such waits may be none"
    )
    return [said]


def is_checkpoint(text: str | None) -> bool:
    """Tell whether a statement is a CHECKPOINT."""
    return text is not None and next((word for _, word in tokens(text)), "").lower() == "checkpoint"


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
        f"{calls:,.0f} read-only statements wrote {images:,.0f} full-page images into the WAL, because PostgreSQL"
        " marks a row as committed when it is read for the first time (hint bits). The CPU time of these writes is in"
        " the CPU time of the lookups. To keep it out, run VACUUM before recording"
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

    Images are told apart as in :mod:`tiersim.scenarios.calibration.synthesis.synthesise`.
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


@dataclass(frozen=True)
class RecordedMean:
    """What was measured of a class: how many there were, how long one took, and how many pages one read."""

    count: int
    mean_ns: float
    reads: float | None  # None: nobody noted


def _recorded_means(load: StatementLoad) -> dict[str, RecordedMean]:
    found: dict[str, RecordedMean] = {}
    clients = list(load.counters.found.of("client").values())
    mean_ms = clients[0].number("mean_ms") if len(clients) == 1 else None
    if mean_ms:
        read_each = float(load.physical_reads.sum()) / load.transactions
        found[TRANSACTIONS] = RecordedMean(load.transactions, float(mean_ms) * NS_PER_MS, read_each)
    commits = _waiting_commits(load)
    if commits.any():
        found[COMMIT] = RecordedMean(int(commits.sum()), float(load.duration_ns[commits].mean()), None)
    others = load.query[~commits]
    calls = np.bincount(others, minlength=len(load.queries))
    took_ns, read = (np.bincount(others, of[~commits], len(calls)) for of in (load.duration_ns, load.physical_reads))
    for code, query in enumerate(load.queries):
        if calls[code] and not is_checkpoint(load.texts.get(query)):  # whose work is the checkpointer's
            reads = None if load.pages_read is not None else float(read[code] / calls[code])
            found[query] = RecordedMean(int(calls[code]), float(took_ns[code] / calls[code]), reads)
    if load.logical_reads is not None:
        found |= _means_of_files(load.counters.found)
    return found


def _making_durable(load: StatementLoad) -> NDArray[np.bool_]:
    """Tell which executions end a transaction that makes its log durable."""
    durable = np.array([one.durable for one in load.asked])
    return committing(load.session, load.transaction, durable[load.query])


def _waiting_commits(load: StatementLoad) -> NDArray[np.bool_]:
    """Tell which executions are a COMMIT that waits for the log, which runs count apart from those that do not.

    None of PostgreSQL's: what it counts of a COMMIT ends before that.
    """
    found = np.zeros(len(load), np.bool_)
    if load.logical_reads is not None:
        commits = np.array([role_of(load.texts.get(query, "")) is Role.COMMITS for query in load.queries])
        found |= _making_durable(load) & commits[load.query]
    return found


def _means_of_files(counted: Differences) -> dict[str, RecordedMean]:
    """Return how long reads of users' data files took, and writes of their log files, where that was counted."""
    own = [change for entity, change in counted.of("file").items() if entity.partition("/")[0] not in OWN_DATABASES]
    found = {}
    for name, what, is_log in ((READS, "read", False), (LOG_WRITES, "write", True)):
        files = [change for change in own if (change.last.get("kind") == "log") == is_log]
        count, took_ms = (sum(float(file.number(key) or 0) for file in files) for key in (f"{what}s", f"{what}_ms"))
        if count and took_ms:
            found[name] = RecordedMean(round(count), took_ms * NS_PER_MS / count, None)
    return found
