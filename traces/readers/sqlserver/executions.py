"""From events of SQL Server, in the order in which they were written, to executions: one for each that a client asked
for.

Trace files, Extended Events and tables of either tell the same story at two levels, a batch or call and the statements
inside it; both at once would count everything twice. Where batches were recorded as completed, these and calls are the
executions and the statements inside them are left out. Where calls were and batches were not, calls are, and the
statements of batches, which lie in no call, with all that they took. Otherwise the statements are, those that call
others without what the others took.

Readers hand over :data:`~tiersim.traces.readers.sqlserver.execution_kernels.Events`, or one :class:`ExecutionEvent`
after the other.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.recorded import OrderedStatements, Recorded
from tiersim.traces.readers.sqlserver.events import ABORTED, Wait, What
from tiersim.traces.readers.sqlserver.execution_kernels import (
    ABOUT_NS,
    AT_BATCH_LEVEL,
    AT_STATEMENT_LEVEL,
    BATCH_LEVEL,
    CALLERS,
    CLIENT_WAIT_NS,
    COLUMNS,
    COUNTS,
    CPU_NS,
    DURATION_NS,
    END_NS,
    GENERATION,
    HOLDING,
    INSIDE_NOTHING,
    IO_WAIT_NS,
    KIND,
    LEVEL,
    LOCK_WAIT_NS,
    LOG_WAIT_NS,
    LOGICAL_READS,
    LOST_PAGES,
    LOST_WAITS,
    MOST,
    MOST_NESTED,
    NEST,
    NESTED_COLUMNS,
    NO_DURATION,
    NO_SESSION,
    NOT_NESTED,
    OUTCOME,
    OUTSIDE,
    PAGES_SEEN,
    PHYSICAL_READS,
    PREPARES,
    QUERY,
    RESETS,
    ROWS,
    RUNS,
    SESSION,
    SLOT,
    START_NS,
    STATE_COLUMNS,
    STATEMENT_LEVEL,
    TELLING,
    TRANSACTION,
    WAIT_CLASS,
    WAITS_SEEN,
    WHAT,
    WRITES,
    Events,
    follow,
)
from tiersim.traces.readers.sqlserver.texts import query_of
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_COLUMNS, STATEMENT_KINDS
from tiersim.traces.statistics import Table
from tiersim.units import format_ns

#: Rows that are handed over at a time.
_ROWS = 1 << 15
#: Handles that are remembered; drivers close theirs, but the closing may not be recorded.
_MOST_HANDLES = 1 << 20
#: SPIDs are 16 bits.
_MOST_SESSIONS = 1 << 16
#: Events whose text is a query.
WITH_TEXT = (What.BATCH, What.RPC, What.STATEMENT, What.PROCEDURE_STATEMENT)
#: Where one statement of a hundred lies in no batch or call, it is said.
_LEFT_OUT = 0.01
#: Durations that are together so many times shorter than from start to end are in another unit.
_MUCH = 10
#: Columns that sum what came since the execution before.
_SINCE_BEFORE = [PHYSICAL_READS, LOCK_WAIT_NS, IO_WAIT_NS, LOG_WAIT_NS, CLIENT_WAIT_NS]
#: Columns of events that are columns of statements as they are.
_PLACES = {
    "time_ns": START_NS,
    "duration_ns": DURATION_NS,
    "cpu_ns": CPU_NS,
    "transaction": TRANSACTION,
    "logical_reads": LOGICAL_READS,
    "physical_reads": PHYSICAL_READS,
    "writes": WRITES,
    "rows": ROWS,
    "lock_wait_ns": LOCK_WAIT_NS,
    "io_wait_ns": IO_WAIT_NS,
    "log_wait_ns": LOG_WAIT_NS,
    "client_wait_ns": CLIENT_WAIT_NS,
}


class ExecutionEvent(NamedTuple):
    """One event, as readers of text hand it over; what is not known is NOT_KNOWN (-1), or None."""

    what: What
    text: str | None = None  # of a batch, call or statement, as it was written
    start_ns: int = NOT_KNOWN  # since 1970
    end_ns: int = NOT_KNOWN
    duration_ns: int = NOT_KNOWN
    cpu_ns: int = NOT_KNOWN
    logical_reads: int = NOT_KNOWN  # pages
    physical_reads: int = NOT_KNOWN
    writes: int = NOT_KNOWN
    rows: int = NOT_KNOWN
    session: int = NOT_KNOWN  # SPID
    transaction: int = NOT_KNOWN
    nest: int = NOT_KNOWN
    outcome: int = NOT_KNOWN
    wait: Wait = Wait.OTHER
    database: str | None = None
    user: str | None = None


class TextColumns(NamedTuple):
    """What a text asks for, as columns of Events."""

    query: int
    kind: int
    prepares: int
    runs: int
    resets: int


def new_events(count: int) -> Events:
    """Return so many events of which nothing is known: int64[count, COLUMNS]."""
    return np.full((count, COLUMNS), NOT_KNOWN, np.int64)


def plausible(values: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return values of so large a *unit*, those that are negative, or too large for a sum of them, as not known."""
    known = (values >= 0) & (values <= MOST // unit)
    return np.where(known, np.where(known, values, 0) * unit, NOT_KNOWN)


class _Followed:
    """What is remembered of sessions between events."""

    def __init__(self) -> None:
        self.sessions = np.zeros((16, STATE_COLUMNS), np.int64)
        self.nested = np.zeros((16, MOST_NESTED, NESTED_COLUMNS), np.int64)
        self.counts = np.zeros(COUNTS, np.int64)

    def follow(self, events: Events, sessions: int) -> None:
        """Follow *events*, which are written to, of so many *sessions*."""
        while sessions > len(self.sessions):
            self.sessions = np.concatenate([self.sessions, np.zeros_like(self.sessions)])
            self.nested = np.concatenate([self.nested, np.zeros_like(self.nested)])
        follow(events, self.sessions, self.nested, self.counts)


class Executions:
    """Takes events in the order of their files and adds what they say to a recording.

    One of them serves all files of a recording (``recorded.of(Executions)``), so that sessions go on from file to file;
    :meth:`finish` is to be called when all were read.
    """

    def __init__(self, recorded: Recorded) -> None:
        """Begin with no event."""
        self._recorded = recorded
        self._held = OrderedStatements(recorded.scratch)  # of the statement level, until a batch or call is seen
        self._of_batches = OrderedStatements(recorded.scratch)  # whole statements of batches, until a batch is seen
        self._slots: dict[int, int] = {}
        self._followed = _Followed()
        self._without_inner = _Followed()
        self._batches = 0
        self._aborted = [0, 0, 0]  # executions, by level; statements of batches
        self._took = np.zeros(3)  # executions of which both is known, from start to end, duration: sums
        self._marks: list[str] = []
        self._codes: dict[str, int] = {}
        self._handles: dict[tuple[int, int], int] = {}
        self._unknown_handles = 0
        self._beginnings = 0
        self._waiting: list[ExecutionEvent] = []

    def ask(self, text: str, what: int, *, database: str | None = None, user: str | None = None) -> TextColumns:
        """Take in the query that a text of an event runs, and return it; literals are forgotten, see Recorded.query."""
        call = query_of(text, "rpc" if what == What.RPC else "language")
        code = NOT_KNOWN
        if call.text is not None:
            mark = self._recorded.query(call.text, database=database, user=user)
            code = self._codes.setdefault(mark, len(self._marks))
            if code == len(self._marks):
                self._marks.append(mark)
        prepares, runs = (NOT_KNOWN if handle is None else handle for handle in (call.prepares, call.runs))
        return TextColumns(code, STATEMENT_KINDS.index(call.kind), prepares, runs, int(call.resets))

    def take(self, event: ExecutionEvent) -> None:
        """Take one event."""
        self._waiting.append(event)
        if len(self._waiting) >= _ROWS:
            self._flush()

    def add(self, events: Events) -> None:
        """Take a block of events; it is written to."""
        self._flush()
        self._add(events)

    def finish(self) -> None:
        """Hand over what is left, and say what was concluded; nothing happens a second time."""
        self._flush()
        followed, self._followed = self._followed, _Followed()
        counts, left = followed.counts.tolist(), int(followed.sessions[:, INSIDE_NOTHING].sum())
        batches, statements = counts[AT_BATCH_LEVEL], counts[AT_STATEMENT_LEVEL]
        lose, say = self._recorded.lose, self._recorded.inferred.append
        # what dynamic SQL runs may be noted as a statement of a batch, and lies in a call then
        within_calls = self._without_inner.counts[HOLDING] > _LEFT_OUT * self._without_inner.counts[TELLING]
        aborted, self._aborted = self._aborted, [0, 0, 0]
        if batches and not self._batches and len(self._of_batches) and not within_calls:
            aborted[BATCH_LEVEL] += aborted[-1]
            lose("statements inside calls and statements that were recorded, too", statements - len(self._of_batches))
            for table in self._of_batches.tables():
                self._recorded.statements.add(table)
            say("executions are remote procedure calls, and statements of batches: no batch was recorded as completed")
        elif batches and statements:
            lose("statements inside batches and calls that were recorded, too", statements)
            say(
                "executions are whole batches and remote procedure calls; statements inside them were recorded, too,"
                " and left out"
            )
            outside = counts[OUTSIDE] + left
            if outside > _LEFT_OUT * statements:
                self._recorded.warnings.append(
                    f"{outside:,} of {statements:,} statements lie in no batch or call that was recorded as completed,"
                    " and are left out; record both (SQL:BatchCompleted and RPC:Completed, or sql_batch_completed and"
                    " rpc_completed), of all sessions"
                )
        elif batches:
            say("executions are whole batches and remote procedure calls")
        elif statements:
            for table in self._held.tables():
                self._recorded.statements.add(table)
            say("executions are statements; no batch or remote procedure call was recorded as completed")
            if counts[CALLERS]:
                say(
                    f"{counts[CALLERS]:,} statements called others that are counted themselves: what those took is not"
                    " counted twice"
                )
            if counts[NOT_NESTED]:
                say(
                    f"{counts[NOT_NESTED]:,} statements have no nesting level: one that calls others is counted with"
                    " what those took"
                )
        self._say_other_unit()
        given_up = aborted[BATCH_LEVEL if batches else STATEMENT_LEVEL]
        if given_up:
            self._recorded.warnings.append(
                f"{given_up:,} executions were aborted (by a timeout of the client, as a rule): what was left of them"
                " was not recorded, so they count as shorter than they are"
            )
        self._held.close()
        self._of_batches.close()
        lose("events of executions without a duration or a time", counts[NO_DURATION])
        lose("starts of batches, calls and statements", self._beginnings)
        lose("waits without a session", counts[LOST_WAITS])
        lose("page reads without a session", counts[LOST_PAGES])
        self._beginnings = 0
        if counts[NO_SESSION]:
            say(f"{counts[NO_SESSION]:,} executions have no session: who issued what is not known")
        if counts[WAITS_SEEN]:
            say("waits are counted to the execution of their session that ended next")
        if counts[PAGES_SEEN]:
            say("pages read from disk are counted to the execution of their session that ended next")
        if self._unknown_handles:
            say(
                f"{self._unknown_handles:,} executions of prepared statements have no text: they were prepared before"
                " the recording"
            )
            self._unknown_handles = 0

    def _say_other_unit(self) -> None:
        """Say where durations are much shorter than from start to end."""
        count, span_ns, duration_ns = map(int, self._took)
        if span_ns - count * ABOUT_NS > _MUCH * duration_ns:
            self._recorded.warnings.append(
                f"{count:,} executions lasted {format_ns(duration_ns)} together by Duration, read as µs, and"
                f" {format_ns(span_ns)} from StartTime to EndTime: is Duration in ms, as SQL Server 2000 had it? Then"
                " all durations are 1,000 times as long"
            )
        self._took[:] = 0

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        events = new_events(len(waiting))
        for row, event in zip(events, waiting, strict=True):
            row[WHAT], row[WAIT_CLASS] = event.what, event.wait
            row[START_NS : OUTCOME + 1] = event[2:14]
            if event.text and event.what in WITH_TEXT:
                row[QUERY : RESETS + 1] = self.ask(event.text, event.what, database=event.database, user=event.user)
        self._add(events)

    def _add(self, events: Events) -> None:
        start_ns, end_ns, duration_ns = (events[:, place] for place in (START_NS, END_NS, DURATION_NS))
        timed = (start_ns >= 0) & (end_ns >= start_ns) & (duration_ns >= 0)
        self._took += [some[timed].sum(dtype=np.float64) for some in (timed, end_ns - start_ns, duration_ns)]
        events[events[:, TRANSACTION] == 0, TRANSACTION] = NOT_KNOWN  # none was open when it ended
        self._beginnings += int(np.count_nonzero(events[:, WHAT] == What.BEGINNING))
        without = events[:, KIND] < 0  # and without a text that would tell
        events[without & (events[:, WHAT] == What.RPC), KIND] = STATEMENT_KINDS.index("rpc")
        events[without & (events[:, WHAT] != What.RPC), KIND] = STATEMENT_KINDS.index("language")
        self._resolve(events)
        self._find_slots(events)
        inner = np.isin(events[:, WHAT], (What.BATCH, What.PROCEDURE_STATEMENT))
        calls = events[~inner & ((events[:, WHAT] != What.STATEMENT) | (events[:, NEST] <= 0))]
        of_batches = calls[:, WHAT] == What.STATEMENT
        calls[of_batches, WHAT] = What.BATCH  # with all that they called
        self._without_inner.follow(calls, len(self._slots))
        self._followed.follow(events, len(self._slots))
        aborted = events[:, OUTCOME] == ABORTED
        for level in (BATCH_LEVEL, STATEMENT_LEVEL):
            self._aborted[level] += int(np.count_nonzero(aborted & (events[:, LEVEL] == level)))
        self._aborted[-1] += int(np.count_nonzero(of_batches & (calls[:, OUTCOME] == ABORTED)))
        self._batches += int(np.count_nonzero((events[:, WHAT] == What.BATCH) & (events[:, LEVEL] == BATCH_LEVEL)))
        # what a session waited for before a statement of a batch ended is none of a later call
        events[np.ix_(events[:, WHAT] == What.RPC, _SINCE_BEFORE)] = calls[
            np.ix_(calls[:, WHAT] == What.RPC, _SINCE_BEFORE)
        ]
        if not self._batches:
            self._hand_over(calls[of_batches & (calls[:, LEVEL] == BATCH_LEVEL)], self._of_batches)
        for start in range(0, len(events), _ROWS):
            block = events[start : start + _ROWS]
            self._hand_over(block[block[:, LEVEL] == BATCH_LEVEL], self._recorded.statements)
            if not self._followed.counts[AT_BATCH_LEVEL]:
                self._hand_over(block[block[:, LEVEL] == STATEMENT_LEVEL], self._held)

    def _find_slots(self, events: Events) -> None:
        """Give each session a row of the state."""
        found, codes = np.unique(events[:, SESSION], return_inverse=True)
        for session in found.tolist():
            if session >= 0 and len(self._slots) < _MOST_SESSIONS:
                self._slots.setdefault(session, len(self._slots))
        events[:, SLOT] = np.array([self._slots.get(session, NOT_KNOWN) for session in found.tolist()], np.int64)[codes]

    def _resolve(self, events: Events) -> None:
        """Give executions of prepared statements their queries."""
        for row in np.flatnonzero((events[:, PREPARES] >= 0) | (events[:, RUNS] >= 0)).tolist():
            session, prepares, runs = int(events[row, SESSION]), int(events[row, PREPARES]), int(events[row, RUNS])
            if prepares >= 0:
                if len(self._handles) >= _MOST_HANDLES:
                    self._handles.clear()
                self._handles[session, prepares] = int(events[row, QUERY])
            else:
                code = self._handles.get((session, runs), NOT_KNOWN)
                events[row, QUERY] = code
                self._unknown_handles += code < 0

    def _hand_over(self, rows: Events, statements: OrderedStatements) -> None:
        if not len(rows):
            return
        columns: dict[str, NDArray[Any]] = {
            name: np.ascontiguousarray(rows[:, place]) for name, place in _PLACES.items()
        }
        words: dict[str, Sequence[str]] = {"kind": STATEMENT_KINDS}
        columns["kind"] = rows[:, KIND].astype(np.int32)
        found, codes = np.unique(rows[:, QUERY], return_inverse=True)
        first = int(found[0] < 0)  # no query at all
        columns["query"] = codes.astype(np.int32) - first
        words["query"] = [self._marks[code] for code in found[first:].tolist()]
        found, codes = np.unique(rows[:, SESSION] << 32 | np.maximum(rows[:, GENERATION], 0), return_inverse=True)
        first = int(found[0] < 0)
        columns["session"] = codes.astype(np.int32) - first
        words["session"] = [f"{number >> 32}.{number & 0xFFFFFFFF}" for number in found[first:].tolist()]
        unknown = np.full(len(rows), NOT_KNOWN, np.int64)
        statements.add(Table({c.name: columns.get(c.name, unknown) for c in STATEMENT_COLUMNS}, words))


def finish_executions(recorded: Recorded) -> None:
    """Finish the executions of a recording, whichever of its files they were of."""
    recorded.of(Executions).finish()
