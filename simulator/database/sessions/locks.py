"""Row locks: a session that changes a row keeps its lock until its commit is durable; others wait in the order in which
they came.

There are no deadlocks, because rows are locked in one order: that of the ranks of their tables. A transaction that asks
for a row of a table not behind all tables in which it has locked rows does not lock it (real applications that do so
meet deadlocks), and is counted in ``locks_passed``. So whoever waits holds rows of earlier tables only, and nobody can
wait for himself over others.
"""

import numpy as np

from tiersim.kernel import kernel
from tiersim.simulator.database.database_state import MOST_LOCKS, Database


@kernel
def call(d: Database, session: int) -> None:
    """Let the engine wake another session at this instant."""
    d.called[0] += 1
    d.called[d.called[0]] = session


@kernel
def lock_row(d: Database, session: int, rank: int, table: int, row: int) -> bool:
    """Lock a row for a session; returns False if it must wait: it is called when it has the row."""
    held = d.sessions[session]["locks"]
    if held > 0:
        last = d.locks[session * MOST_LOCKS + held]
        if last["table"] == table and last["row"] == row:
            return True
        if last["rank"] >= rank or held == MOST_LOCKS:
            d.locks_passed[0] += 1
            return True
    place = d.lock_heads[_list_of(d, table, row)]
    while place > 0:
        lock = d.locks[place]
        if lock["table"] == table and lock["row"] == row:
            if lock["first_waiter"] == 0:
                lock["first_waiter"] = session + 1
            else:
                d.sessions[lock["last_waiter"] - 1]["next_waiter"] = session + 1
            lock["last_waiter"] = session + 1
            d.sessions[session]["next_waiter"] = 0
            return False
        place = lock["next"]
    _hold(d, session, rank, table, row, 0, 0)
    return True


@kernel
def unlock_rows(d: Database, session: int) -> None:
    """Give all rows of a session to those who wait for them."""
    held = d.sessions[session]["locks"]
    d.sessions[session]["locks"] = 0
    for place in range(session * MOST_LOCKS + 1, session * MOST_LOCKS + 1 + held):
        lock = d.locks[place]
        _take_out(d, place)
        if lock["first_waiter"] > 0:
            other = lock["first_waiter"] - 1
            following = d.sessions[other]["next_waiter"]
            _hold(
                d,
                other,
                lock["rank"],
                lock["table"],
                lock["row"],
                following,
                lock["last_waiter"] if following > 0 else 0,
            )
            call(d, other)


@kernel
def _list_of(d: Database, table: int, row: int) -> int:
    """Return the list that a row is looked up in (multiplicative hashing, Knuth 6.4)."""
    mixed = (np.int64(row & 0x7FFF_FFFF) * 0x9E3779B1 + np.int64(table) * 0x85EBCA6B) & 0xFFFF_FFFF
    return int((mixed ^ mixed >> 15) & (len(d.lock_heads) - 1))


@kernel
def _hold(d: Database, session: int, rank: int, table: int, row: int, first_waiter: int, last_waiter: int) -> None:
    s = d.sessions[session]
    s["locks"] += 1
    place = session * MOST_LOCKS + s["locks"]
    lock = d.locks[place]
    lock["rank"] = rank
    lock["table"] = table
    lock["row"] = row
    lock["first_waiter"] = first_waiter
    lock["last_waiter"] = last_waiter
    head = _list_of(d, table, row)
    lock["next"] = d.lock_heads[head]
    d.lock_heads[head] = place


@kernel
def _take_out(d: Database, place: int) -> None:
    head = _list_of(d, d.locks[place]["table"], d.locks[place]["row"])
    other = d.lock_heads[head]
    if other == place:
        d.lock_heads[head] = d.locks[place]["next"]
        return
    while d.locks[other]["next"] != place:
        other = d.locks[other]["next"]
    d.locks[other]["next"] = d.locks[place]["next"]
