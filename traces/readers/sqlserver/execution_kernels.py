"""Follows events session by session: which of them are executions, of which logical session, at which level, with which
waits.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.traces.readers.sqlserver.events import What
from tiersim.traces.schema import NOT_KNOWN

#: Events as rows: int64[n, COLUMNS], NOT_KNOWN (-1) for what is not there; SLOT is the row of its session's state (-1:
#: it is not known), the columns behind it are filled in here.
Events = NDArray[np.int64]

#: Columns. Times are ns since 1970, ``SESSION`` is the SPID, ``KIND`` the place in STATEMENT_KINDS, ``QUERY`` a code of
#: Executions, ``PREPARES`` and ``RUNS`` handles of prepared statements, ``RESETS`` 1 where a connection is given to
#: somebody else.
(
    WHAT,
    QUERY,
    KIND,
    PREPARES,
    RUNS,
    RESETS,
    START_NS,
    END_NS,
    DURATION_NS,
    CPU_NS,
    LOGICAL_READS,
    PHYSICAL_READS,
    WRITES,
    ROWS,
    SESSION,
    TRANSACTION,
    NEST,
    OUTCOME,
    WAIT_CLASS,
    SLOT,
    LEVEL,
    GENERATION,
    LOCK_WAIT_NS,
    IO_WAIT_NS,
    LOG_WAIT_NS,
    CLIENT_WAIT_NS,
) = range(26)
COLUMNS = 26
#: Columns of numbers by the names that ``events`` gives them.
NUMBER_COLUMNS = {
    "duration_ns": DURATION_NS,
    "cpu_ns": CPU_NS,
    "logical_reads": LOGICAL_READS,
    "physical_reads": PHYSICAL_READS,
    "writes": WRITES,
    "rows": ROWS,
    "session": SESSION,
    "transaction": TRANSACTION,
    "nest": NEST,
    "outcome": OUTCOME,
}
#: What a statement does not take a second time when it is counted with those that it called.
COSTS = (DURATION_NS, CPU_NS, LOGICAL_READS, PHYSICAL_READS, WRITES)
_FIRST_COST, _COSTS = DURATION_NS, 5
#: What is kept of the statements of a depth that their caller has not claimed: their costs, and when the first began.
NESTED_COLUMNS = len(COSTS) + 1
_BEGAN = _COSTS
#: SQL Trace notes starts to 1/300 s, so one that was called may seem to begin before its caller.
ABOUT_NS = 4_000_000

BATCH_LEVEL, STATEMENT_LEVEL = 0, 1
#: Procedures nest up to 32 deep (SQL Server's own limit).
MOST_NESTED = 34

#: State of a session: whether it begins anew with its next execution, how often it did, whether it had any, statements
#: since the last batch or call, when the last of them began, and when the last batch or call ended, then for each level
#: the waits by class and the pages read since the last execution.
_FRESH, _GENERATION, _USED, INSIDE_NOTHING, _LAST_BEGAN, _LAST_ENDED = range(6)
PENDING = 6
WAITS_AND_PAGES = 6  # Wait.OTHER .. Wait.CLIENT, pages
STATE_COLUMNS = PENDING + 2 * WAITS_AND_PAGES

#: What is counted: executions by level, those without a duration, without a time, without a session, with unknown
#: nesting; statements of a session that began before the batch or call that ended next; batches and calls that others
#: of their session lie in, and batches so long that this would be seen of them.
(
    AT_BATCH_LEVEL,
    AT_STATEMENT_LEVEL,
    NO_DURATION,
    NO_SESSION,
    NOT_NESTED,
    WAITS_SEEN,
    PAGES_SEEN,
    LOST_WAITS,
    LOST_PAGES,
    CALLERS,
    OUTSIDE,
    HOLDING,
    TELLING,
) = range(13)
COUNTS = 13
#: Larger durations and counts are damage, and sums of smaller ones fit int64.
MOST = 1 << 60

_BATCH, _RPC, _STATEMENT, _PROCEDURE = (
    int(What.BATCH),
    int(What.RPC),
    int(What.STATEMENT),
    int(What.PROCEDURE_STATEMENT),
)
_LOGIN, _WAIT, _PAGE_READ = int(What.LOGIN), int(What.WAIT), int(What.PAGE_READ)


@kernel(checked=True)
def follow(events: Events, sessions: Events, nested: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Fill in LEVEL (NOT_KNOWN: no execution), GENERATION, START_NS and the waits of each of *events*.

    ``sessions`` int64[n, STATE_COLUMNS], ``nested`` int64[n, MOST_NESTED, NESTED_COLUMNS] and ``counts`` int64[COUNTS]
    are its memory between calls, zero at first.
    """
    for row in range(len(events)):
        events[row, LEVEL] = NOT_KNOWN
        what, session = events[row, WHAT], events[row, SLOT]
        if events[row, RESETS] == 1 or what == _LOGIN:
            if session >= 0:
                sessions[session, _FRESH] = 1
        elif what in (_WAIT, _PAGE_READ):
            _remember(events, row, sessions, counts)
        elif what in (_BATCH, _RPC, _STATEMENT, _PROCEDURE):
            if not 0 <= events[row, DURATION_NS] < MOST or max(events[row, START_NS], events[row, END_NS]) < 0:
                counts[NO_DURATION] += 1
                continue
            level = BATCH_LEVEL if what in (_BATCH, _RPC) else STATEMENT_LEVEL
            if events[row, START_NS] < 0:
                events[row, START_NS] = events[row, END_NS] - events[row, DURATION_NS]
            counts[AT_BATCH_LEVEL + level] += 1
            events[row, LEVEL] = level
            if session < 0:
                counts[NO_SESSION] += 1
                events[row, SESSION] = NOT_KNOWN
                continue
            if sessions[session, _FRESH] == 1 and sessions[session, _USED] == 1:
                sessions[session, _GENERATION] += 1
                for depth in range(nested.shape[1]):
                    for cost in range(nested.shape[2]):
                        nested[session, depth, cost] = 0
            sessions[session, _FRESH] = 0
            sessions[session, _USED] = 1
            events[row, GENERATION] = sessions[session, _GENERATION] + 1
            if level == BATCH_LEVEL:
                if sessions[session, _LAST_BEGAN] < events[row, START_NS] - ABOUT_NS:
                    counts[OUTSIDE] += sessions[session, INSIDE_NOTHING]
                sessions[session, INSIDE_NOTHING] = 0
                if sessions[session, _LAST_ENDED] > events[row, START_NS] + ABOUT_NS:
                    counts[HOLDING] += 1
                if what == _BATCH and events[row, DURATION_NS] > 2 * ABOUT_NS:
                    counts[TELLING] += 1
                sessions[session, _LAST_ENDED] = events[row, START_NS] + events[row, DURATION_NS]
            else:
                sessions[session, INSIDE_NOTHING] += 1
                sessions[session, _LAST_BEGAN] = events[row, START_NS]
                if what == _STATEMENT:
                    events[row, NEST] = 0
                _without_called(events, row, nested, session, counts)
            _take_waits(events, row, sessions, session, level, counts)


@kernel(checked=True)
def _remember(events: Events, row: int, sessions: Events, counts: NDArray[np.int64]) -> None:
    """Keep a wait or a page read for the execution of its session that ends next, at each level."""
    is_wait = events[row, WHAT] == _WAIT
    session = events[row, SLOT]
    if session < 0 or (is_wait and not 0 <= events[row, DURATION_NS] < MOST):
        counts[LOST_WAITS if is_wait else LOST_PAGES] += 1
        return
    counts[WAITS_SEEN if is_wait else PAGES_SEEN] += 1
    for level in range(2):
        place = PENDING + level * WAITS_AND_PAGES
        if is_wait:
            sessions[session, place + events[row, WAIT_CLASS]] += events[row, DURATION_NS]
        else:
            sessions[session, place + WAITS_AND_PAGES - 1] += 1


@kernel(checked=True)
def _take_waits(
    events: Events, row: int, sessions: Events, session: int, level: int, counts: NDArray[np.int64]
) -> None:
    place = PENDING + level * WAITS_AND_PAGES
    if counts[WAITS_SEEN] > 0:
        for kind in range(4):
            events[row, LOCK_WAIT_NS + kind] = min(sessions[session, place + 1 + kind], events[row, DURATION_NS])
    if counts[PAGES_SEEN] > 0 and events[row, PHYSICAL_READS] < 0:
        events[row, PHYSICAL_READS] = sessions[session, place + WAITS_AND_PAGES - 1]
    for kind in range(WAITS_AND_PAGES):
        sessions[session, place + kind] = 0


@kernel(checked=True)
def _without_called(
    events: Events, row: int, nested: NDArray[np.int64], session: int, counts: NDArray[np.int64]
) -> None:
    """Take from a statement what those that it called took, which came before it and are counted themselves.

    ``nested`` int64[sessions, MOST_NESTED, NESTED_COLUMNS]: what statements of each depth took since one above them
    ended. Depths may be left out: ``sp_executesql`` runs its statement two below the one that calls it.
    """
    depth, start_ns, own_ns = events[row, NEST], events[row, START_NS], events[row, DURATION_NS]
    if not 0 <= depth < MOST_NESTED - 1:
        counts[NOT_NESTED] += 1
        return
    called_ns = 0
    is_caller = True  # otherwise they were called by one that was not recorded
    for deeper in range(depth + 1, MOST_NESTED):
        called_ns += min(nested[session, deeper, 0], MOST - called_ns)
        if nested[session, deeper, 0] > 0 and nested[session, deeper, _BEGAN] < start_ns - ABOUT_NS:
            is_caller = False
    if depth > 0:
        if nested[session, depth, 0] == 0 or start_ns < nested[session, depth, _BEGAN]:
            nested[session, depth, _BEGAN] = start_ns
        for cost in range(_COSTS):
            nested[session, depth, cost] += min(
                max(events[row, _FIRST_COST + cost], 0), MOST - nested[session, depth, cost]
            )
    is_caller = is_caller and 0 < called_ns <= own_ns
    if is_caller:
        counts[CALLERS] += 1
        events[row, START_NS] += called_ns
    for deeper in range(depth + 1, MOST_NESTED):
        for cost in range(_COSTS):
            if is_caller and events[row, _FIRST_COST + cost] >= 0:
                events[row, _FIRST_COST + cost] = max(
                    events[row, _FIRST_COST + cost] - nested[session, deeper, cost], 0
                )
            nested[session, deeper, cost] = 0
