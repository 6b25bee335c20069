"""Which executions make up a transaction, and in which order, as far as that is told."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.named_tables import NamedTables
from tiersim.scenarios.calibration.synthesis.counted import Counted
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.selection import Names, Role
from tiersim.traces.differences import Change, Differences

#: A query that misses less than this share of what another of its table does, in a call, finds the other's pages, and
#: so comes after it.
_FINDS = 0.05

#: What queries are sorted by: the load generator's script, when they were first seen, the size of their table, whether
#: they find pages.
Place = tuple[int, str, Decimal, bool, str]


def places(entities: Sequence[str], names: Names, found: Differences) -> Mapping[str, Place]:
    """Return by entity what to sort queries by.

    Where nobody noted an order, those of large tables come first, and of a table those that miss pages: applications
    change the rows that many want last, to keep them from others for a short time.
    """
    script = _script(found)
    rows = {name: change.number("rows") or Decimal(0) for name, change in _tables(found).items()}
    tables = NamedTables(rows)
    named = {entity: _named(names.texts.get(entity, ""), tables, rows) for entity in entities}
    missed = {entity: _missed(found.of("query").get(entity)) for entity in entities}
    most: dict[str, float] = {}
    for entity, table in named.items():
        most[table] = max(most.get(table, 0.0), missed[entity])
    keys: dict[str, Place] = {}
    for entity, table in named.items():
        change = found.of("query").get(entity)
        since = "" if change is None else str(change.last.get("since", ""))
        finds = missed[entity] < _FINDS * most[table]
        keys[entity] = script.get(names.query(entity), len(script)), since, -rows.get(table, Decimal(0)), finds, entity
    return keys


def _script(found: Differences) -> dict[str, int]:
    """Return the place of queries in the script of the one load generator that told it."""
    told = [
        str(change.last["statements"]).split() for change in found.of("client").values() if "statements" in change.last
    ]
    return {query: place for place, query in reversed(list(enumerate(told[0])))} if len(told) == 1 else {}


def _tables(found: Differences) -> dict[str, Change]:
    return {name: change for name, change in found.of("relation").items() if change.last.get("kind") == "table"}


def _named(text: str, tables: NamedTables, rows: Mapping[str, Decimal]) -> str:
    """Return the largest table that a text names, '' for none."""
    return max(tables.within(text), key=lambda name: (rows[name], name), default="")


def _missed(change: Change | None) -> float:
    calls = 0 if change is None else change.number("calls") or 0
    return float((change.number("pages_read") or 0) / calls) if change is not None and calls else 0.0


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
