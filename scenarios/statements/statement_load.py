"""What sessions executed, as a simulation needs it, and what was recorded of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.host.upkeep import Upkeep
from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.popularity.recorded import PageCache
from tiersim.scenarios.calibration.popularity.recorded_files import OWN_DATABASES
from tiersim.scenarios.calibration.synthesis.counted import Role, role_of
from tiersim.scenarios.statements.queries import IndexEntries, QueryWork
from tiersim.traces.bundle import Manifest
from tiersim.traces.differences import Counters, Differences
from tiersim.traces.query_text import tokens
from tiersim.traces.schema import DATA_READ, LOG_WRITE, PURPOSES
from tiersim.units import NS_PER_MS

Column = NDArray[np.int64]

#: Name of ends of transactions whose log is made durable, which are no query.
COMMIT = "commit"
#: Classes with a recorded mean besides queries; the last two of files that were counted.
TRANSACTIONS, READS, LOG_WRITES = "transaction", PURPOSES[DATA_READ], PURPOSES[LOG_WRITE]
#: What of a recorded load's time was a wait: as little as can be, as likely, as much as can be.
LEAST_WAITS, LIKELY_WAITS, MOST_WAITS = "least", "likely", "most"
#: How long sessions wait for a client is known if this share of statements is in transactions of several.
_IN_SEVERAL = 0.9


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


def is_checkpoint(text: str | None) -> bool:
    """Tell whether a statement is a CHECKPOINT."""
    return text is not None and next((word for _, word in tokens(text)), "").lower() == "checkpoint"


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
