"""Which executions make up a transaction, and in which order."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.counted import Counted
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.order import Place
from tiersim.scenarios.calibration.synthesis.texts import Role

#: Statements exceed transactions by more than this share before transactions of several statements are inferred from
#: it: maintenance commits, too, and statistics of databases are late.
_MANY = 1.02
#: So much more than counted transactions may be committed for others: maintenance, monitoring.
_OTHERS = 0.1

_FIRST, _LAST = -1, 1 << 30


@dataclass(frozen=True)
class Grouping:
    """How many explicit transactions there were, how many of one statement besides, and what that was taken from."""

    explicit: int
    single: int
    sessions: int  # ends of the interval cut that many transactions in two at most
    basis: str


COUNTED = "transactions of several statements: the number of calls of BEGIN"
COMMITTED = (
    "transactions of several statements: the number of commits and rollbacks (PostgreSQL counts a prepared BEGIN once a"
    " session)"
)
ALONE = "every statement is a transaction of its own: there are as many transactions as statements, and no BEGIN"


def grouping(
    queries: Sequence[Counted], role: Callable[[str], Role], transactions: int | None, sessions: int
) -> Grouping:
    """Tell how the statements of an interval fall into transactions.

    *transactions* were committed or rolled back, None when nobody counted; *sessions* that many ran them.
    """
    inside = [q.calls for q in queries if role(q.entity) is Role.INSIDE]
    begun = sum(q.calls for q in queries if role(q.entity) is Role.OPENS)
    if transactions is not None and begun <= sessions and sum(inside) > transactions * _MANY:
        explicit = _as_often(inside, max(transactions, begun, 1))
        beside = sum(calls for calls in inside if not _in_each(calls, explicit, sessions))
        return Grouping(explicit, min(max(0, transactions - explicit), beside), sessions, COMMITTED)
    if not begun:
        return Grouping(0, sum(inside), sessions, ALONE)
    single = 0 if transactions is None else min(max(0, transactions - begun), sum(inside))
    if single <= _OTHERS * begun:
        single = min(single, sum(calls for calls in inside if not _in_each(calls, begun, sessions)))
    return Grouping(begun, single, sessions, COUNTED)


def _in_each(calls: int, transactions: int, sessions: int) -> bool:
    """Say whether a query ran as often in each transaction, but for those that an end of the interval cut in two."""
    times = max(1, round(calls / transactions))
    return abs(calls - times * transactions) <= max(sessions, (_MANY - 1) * transactions)


def _as_often(calls: Sequence[int], transactions: int) -> int:
    """Return the number of calls that most queries have among those called about once a transaction; *transactions* if
    none is.

    Databases commit for others than those who are watched, too: maintenance, monitoring.
    """
    near = Counter(n for n in calls if transactions / _MANY <= n <= transactions * _MANY)
    return max(near, key=lambda n: (near[n], n), default=transactions)


def grouped(
    queries: Sequence[Counted],
    role: Callable[[str], Role],
    order: Mapping[str, Place],
    found: Grouping,
    draws: Draws,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for all executions, query after query, the number of their transaction and their place in it, as *order*
    sorts them.

    A query that runs in explicit transactions runs as evenly in them as its calls allow. Which statements stand alone
    is chosen first among queries whose calls are no multiple of the transactions: the others are part of each.
    """
    alone = _alone(queries, role, found)
    places = _places(queries, role, order)
    numbers, ranks = [], []
    next_single = found.explicit
    for query in queries:
        inside = query.calls - alone[query.entity]
        own = np.empty(query.calls, np.int64)
        if inside:
            whole, rest = divmod(inside, found.explicit)
            chosen = draws.order(found.explicit, query.entity)[:rest]
            own[:inside] = np.concatenate([np.tile(np.arange(found.explicit), whole), chosen])
        own[inside:] = np.arange(next_single, next_single + alone[query.entity])
        next_single += alone[query.entity]
        numbers.append(own)
        ranks.append(np.full(query.calls, places[query.entity], np.int64))
    return np.concatenate(numbers), np.concatenate(ranks)


def _alone(queries: Sequence[Counted], role: Callable[[str], Role], found: Grouping) -> dict[str, int]:
    """Return how many calls of each query stand alone."""
    alone = dict.fromkeys((q.entity for q in queries), 0)
    if not found.explicit:
        return {q.entity: q.calls for q in queries}
    inside = [q for q in queries if role(q.entity) is Role.INSIDE]
    left = found.single
    for some in (
        [q for q in inside if not _in_each(q.calls, found.explicit, found.sessions)],
        [q for q in inside if _in_each(q.calls, found.explicit, found.sessions)],
    ):
        calls = sum(q.calls for q in some)
        taken = min(left, calls)
        handed_out = 0
        passed = 0
        for query in some:  # each in proportion to its calls, rounded so that they add up
            passed += query.calls
            until = taken * passed // calls
            alone[query.entity] = until - handed_out
            handed_out = until
        left -= taken
    return alone


def _places(queries: Sequence[Counted], role: Callable[[str], Role], order: Mapping[str, Place]) -> dict[str, int]:
    """Return the place of each query in a transaction."""
    ordered = sorted(queries, key=lambda query: order[query.entity])
    places = {query.entity: place for place, query in enumerate(ordered)}
    ends = {Role.OPENS: _FIRST, Role.COMMITS: _LAST, Role.ROLLS_BACK: _LAST}
    return {entity: ends.get(role(entity), place) for entity, place in places.items()}
