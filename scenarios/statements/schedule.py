"""When the transactions of a load begin: partly open, open or closed, once or several times over.

Clients that go round begin anew when they have done what was recorded, so that a run on faster hardware takes as long.
A load is scaled by sessions, never in time: a clone begins at another point of the recording and wraps around at its
end. Both look up other rows than before, since these are drawn by the number of a statement.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.random_numbers import CHOSEN_SESSIONS, CLONES, fill_random_bits, random_below
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.load_steps import LoadSteps, steps_of_clients, steps_of_sessions, taken
from tiersim.scenarios.model import ReplayModel
from tiersim.scenarios.statements.statement_load import Column, StatementLoad, begins
from tiersim.simulator.database.database_state import CLOCK, OWN
from tiersim.units import NS_PER_S, format_ns

#: A longer pause of a session is a new visit, which comes by the clock whatever the one before took.
VISIT_NS = 30 * NS_PER_S
#: Sessions that begin by the clock, as behind a pool of connections, share so many places in turn: more need not be
#: there at once.
PLACES = 8192


@dataclass(frozen=True)
class LoadTransactions:
    """The transactions of a load: rows of executions, those of each in one piece, and when it began, after which pause,
    and ended.
    """

    first_row: Column
    rows: Column
    session: Column
    start_ns: Column
    length_ns: Column
    pause_ns: Column  # of its session before it


@dataclass(frozen=True)
class TransactionSchedule:
    """Transactions in the order of a run, those of a session together.

    ``transaction`` is a number among those of the load, ``think_ns`` the pause before it where it waits for its
    session. ``anew_ns`` is, by session, the pause before its first one when it begins anew.
    """

    transaction: Column
    session: Column  # from 0 on, none left out
    start_ns: Column  # by the clock
    waits_for: NDArray[np.uint8]
    think_ns: Column
    anew_ns: Column
    is_asked: bool  # of pauses between transactions: [replay] says them, and not the recording

    @property
    def sessions(self) -> int:
        """Count the sessions."""
        return int(self.session[-1]) + 1


def transactions_of(load: StatementLoad) -> LoadTransactions:
    """Cut a load into its transactions."""
    first = np.flatnonzero(begins(load.session, load.transaction))
    rows = np.diff(first, append=len(load))
    last = first + rows - 1
    start_ns, session = load.start_ns[first], load.session[first]
    length_ns = load.start_ns[last] + load.duration_ns[last] - start_ns
    return LoadTransactions(first, rows, session, start_ns, length_ns, _pauses(session, start_ns, length_ns))


def _pauses(session: Column, start_ns: Column, length_ns: Column) -> Column:
    """Return the pause of the session before each transaction, 0 before its first."""
    pause_ns = np.zeros(len(session), np.int64)
    pause_ns[1:] = np.maximum(start_ns[1:] - start_ns[:-1] - length_ns[:-1], 0)
    pause_ns[np.diff(session, prepend=-1) != 0] = 0
    return pause_ns


def by_the_clock(load: StatementLoad, mode: str) -> bool:
    """Tell whether each transaction is a session of its own, which starts at its time whatever became of the others."""
    return mode == "open" or (mode == "partly-open" and load.pooled)


def schedule(scenario: NamedScenario, load: StatementLoad, found: LoadTransactions) -> TransactionSchedule:
    """Lay out the transactions of *load* as ``[replay]`` says; raises ScenarioError when it asks for what the recording
    does not say.
    """
    replay = scenario.model.replay
    if replay.clients is not None and replay.mode != "closed":
        raise ScenarioError(
            f'{scenario.name}: replay.clients: of statements the sessions are known; write mode = "closed", too, or'
            " leave it out"
        )
    if replay.mode == "closed" and replay.clients is None and load.pooled:
        raise ScenarioError(
            f"{scenario.name}: replay.mode: closed, but the recording does not say how many sessions there were; write"
            " clients"
        )
    if replay.load > 1 and replay.clients is None and 2 * load.quiet_ns > load.span_ns:
        raise ScenarioError(
            f"{scenario.name}: replay.load: hardly any statement ended in {format_ns(load.quiet_ns)} of"
            f" {format_ns(load.span_ns)}: sessions that are cloned would run in these holes, and its busy times would"
            " be no busier; record while the load runs, or let replay.load be 1"
        )
    clocked = by_the_clock(load, replay.mode)
    own = np.arange(len(found.rows)) if clocked else found.session
    if replay.clients is not None:
        clients = taken(replay.load, replay.clients)
        number, session, start_ns = _dealt(found, clients)
    else:
        number, session, start_ns = _cloned(found, own, replay.load, load.span_ns, replay.seed)
    order = np.lexsort((number, start_ns, session))
    number, start_ns = number[order], start_ns[order]
    session = session[order]
    session = np.cumsum(np.diff(session, prepend=session[:1]) != 0)
    first = np.diff(session, prepend=-1) != 0
    if replay.clients is None:
        clock, pause_ns = first.copy(), _pauses(session, start_ns, found.length_ns[number])
    else:
        clock, pause_ns = np.zeros(len(first), np.bool_), np.where(first, 0, found.pause_ns[number])
    if replay.mode == "partly-open" and not load.closed:
        clock |= pause_ns > VISIT_NS
    if replay.think is not None:
        pause_ns[~first] = replay.think
    if replay.clients is None and session[-1] >= PLACES:
        order, session = _in_places(session, start_ns[first])
        number, start_ns, clock, pause_ns = (column[order] for column in (number, start_ns, clock, pause_ns))
    firsts = np.flatnonzero(np.diff(session, prepend=-1) != 0)
    lasts = np.append(firsts[1:], len(session)) - 1
    if replay.think is not None:
        anew_ns = np.full(len(firsts), replay.think, np.int64)
    elif replay.clients is None:
        ended_ns = start_ns[lasts] + found.length_ns[number[lasts]]
        anew_ns = np.maximum(load.span_ns + start_ns[firsts] - ended_ns, 0)
    else:
        anew_ns = found.pause_ns[number[firsts]]
    waits_for = np.where(clock, CLOCK, OWN).astype(np.uint8)
    return TransactionSchedule(number, session, start_ns, waits_for, pause_ns, anew_ns, replay.think is not None)


def steps_of_statements(replay: ReplayModel, load: StatementLoad) -> LoadSteps:
    """Return in which steps *load* can be run as ``[replay]`` says, see :func:`schedule`."""
    if replay.clients is not None:
        return steps_of_clients(replay.clients)
    clocked = by_the_clock(load, replay.mode)
    return steps_of_sessions(load.transactions if clocked else len(np.unique(load.session)))


def _in_places(session: Column, starts_ns: Column) -> tuple[Column, Column]:
    """Deal sessions that begin at *starts_ns* to PLACES in the order in which they begin: in which order their
    transactions are then, and the place of each.
    """
    turn = np.empty(len(starts_ns), np.int64)
    turn[np.argsort(starts_ns, kind="stable")] = np.arange(len(starts_ns))
    own = turn[session]
    order = np.lexsort((own, own % PLACES))
    return order, own[order] % PLACES


def _cloned(
    found: LoadTransactions, own: Column, load: float, span_ns: int, seed: int
) -> tuple[Column, Column, Column]:
    """Return transactions, their sessions and starts for *load* times the sessions; *own* are
    those of the recording.
    """
    numbers, sessions, starts = [], [], []
    names, place = np.unique(own, return_inverse=True)
    for copy in range(math.ceil(load)):
        rows = np.flatnonzero(_chosen(len(names), min(1.0, load - copy), seed, copy)[place])
        shift_ns = random_below(max(span_ns, 1), seed, CLONES, copy, 0) if copy else 0
        numbers.append(rows)
        sessions.append(place[rows] + copy * len(names))
        starts.append((found.start_ns[rows] + shift_ns) % max(span_ns, 1))
    return np.concatenate(numbers), np.concatenate(sessions), np.concatenate(starts)


def _chosen(sessions: int, share: float, seed: int, copy: int) -> NDArray[np.bool_]:
    takes_part = np.ones(sessions, np.bool_)
    if share < 1.0:
        drawn = np.zeros(sessions, np.int64)
        fill_random_bits(drawn, seed, CHOSEN_SESSIONS, copy)
        takes_part[np.argsort(drawn, kind="stable")[taken(share, sessions) :]] = False
    return takes_part


def _dealt(found: LoadTransactions, clients: int) -> tuple[Column, Column, Column]:
    """Deal transactions to *clients* in turn, again from the first where they do not suffice: each runs as many as a
    recorded session.
    """
    sessions = len(np.unique(found.session))
    wanted = clients * max(1, round(len(found.rows) / sessions))
    number = np.resize(np.argsort(found.start_ns, kind="stable"), wanted)
    turn = np.arange(wanted) // clients
    return number, np.arange(wanted) % clients, turn
