"""When each transaction of a load runs, and what it waits for: partly open, open or closed, once or several times over.

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
from tiersim.scenarios.statements.statement_load import Load, begins
from tiersim.simulator.database.database_state import CLOCK, OWN
from tiersim.units import NS_PER_S

#: A longer pause of a session is a new visit, which comes by the clock whatever the one before took.
VISIT_NS = 30 * NS_PER_S
#: Sessions that begin by the clock, as behind a pool of connections, share so many places in turn: more need not be
#: there at once.
PLACES = 8192

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Transactions:
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
class Schedule:
    """Transactions in the order of a run, those of a session together.

    ``transaction`` is a number among those of the load, ``think_ns`` the pause before it where it waits for its
    session.
    """

    transaction: Column
    session: Column  # from 0 on, none left out
    start_ns: Column  # by the clock
    waits_for: NDArray[np.uint8]
    think_ns: Column

    @property
    def sessions(self) -> int:
        """Count the sessions."""
        return int(self.session[-1]) + 1


def transactions_of(load: Load) -> Transactions:
    """Cut a load into its transactions."""
    first = np.flatnonzero(begins(load.session, load.transaction))
    rows = np.diff(first, append=len(load))
    last = first + rows - 1
    start_ns, session = load.start_ns[first], load.session[first]
    length_ns = load.start_ns[last] + load.duration_ns[last] - start_ns
    return Transactions(first, rows, session, start_ns, length_ns, _pauses(session, start_ns, length_ns))


def _pauses(session: Column, start_ns: Column, length_ns: Column) -> Column:
    """Return the pause of the session before each transaction, 0 before its first."""
    pause_ns = np.zeros(len(session), np.int64)
    pause_ns[1:] = np.maximum(start_ns[1:] - start_ns[:-1] - length_ns[:-1], 0)
    pause_ns[np.diff(session, prepend=-1) != 0] = 0
    return pause_ns


def by_the_clock(load: Load, mode: str) -> bool:
    """Tell whether each transaction is a session of its own, which starts at its time whatever became of the others."""
    return mode == "open" or (mode == "partly-open" and load.pooled)


def schedule(scenario: NamedScenario, load: Load, found: Transactions, seed: int, rounds: int = 1) -> Schedule:
    """Lay out the transactions of *load* as ``[replay]`` says, so many *rounds* of them one behind the other; raises
    ScenarioError when it asks for what the recording does not say.
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
    clocked = by_the_clock(load, replay.mode)
    own = np.arange(len(found.rows)) if clocked else found.session
    if replay.clients is not None:
        clients = max(1, round(replay.clients * replay.load))
        number, session, start_ns = _dealt(found, clients, rounds)
    else:
        number, session, start_ns = _cloned(found, own, replay.load, load.span_ns, seed)
        round_of = np.repeat(np.arange(rounds), len(number))
        number, session = np.tile(number, rounds), np.tile(session, rounds)
        start_ns = np.tile(start_ns, rounds) + round_of * load.span_ns
    order = np.lexsort((number, start_ns, session))
    number, start_ns = number[order], start_ns[order]
    session = np.unique(session[order], return_inverse=True)[1]
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
    return Schedule(number, session, start_ns, np.where(clock, CLOCK, OWN).astype(np.uint8), pause_ns)


def _in_places(session: Column, starts_ns: Column) -> tuple[Column, Column]:
    """Deal sessions that begin at *starts_ns* to PLACES in the order in which they begin: in which order their
    transactions are then, and the place of each.
    """
    turn = np.empty(len(starts_ns), np.int64)
    turn[np.argsort(starts_ns, kind="stable")] = np.arange(len(starts_ns))
    own = turn[session]
    order = np.lexsort((own, own % PLACES))
    return order, own[order] % PLACES


def _cloned(found: Transactions, own: Column, load: float, span_ns: int, seed: int) -> tuple[Column, Column, Column]:
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
        takes_part[np.argsort(drawn, kind="stable")[max(1, round(share * sessions)) :]] = False
    return takes_part


def _dealt(found: Transactions, clients: int, rounds: int) -> tuple[Column, Column, Column]:
    """Deal transactions to *clients* in turn, again from the first where they do not suffice: each runs as many as a
    recorded session, in each of the *rounds*.
    """
    sessions = len(np.unique(found.session))
    wanted = rounds * clients * max(1, round(len(found.rows) / sessions))
    number = np.resize(np.argsort(found.start_ns, kind="stable"), wanted)
    turn = np.arange(wanted) // clients
    return number, np.arange(wanted) % clients, turn
