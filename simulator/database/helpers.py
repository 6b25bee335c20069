"""Sessions that help others with a scan (PostgreSQL: parallel workers): there are a few for all, and a scan goes on
with those that are free.

A helper goes through pages of its leader's scan with CPU and reads of its own. The statement ends with the last of
them. While the leader waits for that one, its time counts as what that one spends it on.
"""

from tiersim.kernel import kernel
from tiersim.simulator.database.database_state import BETWEEN, RUNNING, SPENT, Database
from tiersim.simulator.database.locks import call
from tiersim.simulator.database.read_stream import close_stream, open_stream


@kernel
def leader_of(d: Database, session: int) -> int:
    """Return the session whose statement a session works on: its own, or that of a helper's leader."""
    if session < d.first_helper[0]:
        return session
    return int(d.read_streams[session]["leader"] - 1)


@kernel
def call_helpers(d: Database, leader: int, place: int, now: int) -> None:
    """Let as many helpers share a scan as it wants and as are free."""
    for _ in range(d.demands[place]["degree"] - 1):
        free = d.idle_helpers[0]
        if free == 0:
            return
        helper = d.idle_helpers[free]
        d.idle_helpers[0] = free - 1
        s = d.sessions[helper]
        s["phase"] = RUNNING
        s["charge_ns"] = 1  # nothing takes no time
        s["asked_ns"] = now
        s["part_ns"] = 0
        open_stream(d, helper, place)
        _join(d, leader, helper)
        call(d, helper)


@kernel
def await_helpers(d: Database, leader: int, now: int) -> None:
    """The leader's own part is done: from now on, what its helpers spend their time on may be what it waits for."""
    following = d.read_streams[leader]["first_helper"]
    while following > 0:
        helper = following - 1
        d.sessions[helper]["asked_ns"] = now
        for part in range(len(SPENT)):
            d.spending[helper, part] = 0
        following = d.read_streams[helper]["next_helper"]


@kernel
def rest(d: Database, helper: int) -> bool:
    """A helper finds no more pages: it is free; tell whether it was the last."""
    close_stream(d, helper)
    leader = leader_of(d, helper)
    _part(d, leader, helper)
    d.sessions[helper]["phase"] = BETWEEN
    d.idle_helpers[0] += 1
    d.idle_helpers[d.idle_helpers[0]] = helper
    return bool(d.read_streams[leader]["first_helper"] == 0)


@kernel
def _join(d: Database, leader: int, helper: int) -> None:
    """Put a helper before the others of its leader."""
    r = d.read_streams[helper]
    following = d.read_streams[leader]["first_helper"]
    r["leader"] = leader + 1
    r["next_helper"] = following
    r["previous_helper"] = 0
    if following > 0:
        d.read_streams[following - 1]["previous_helper"] = helper + 1
    d.read_streams[leader]["first_helper"] = helper + 1


@kernel
def _part(d: Database, leader: int, helper: int) -> None:
    """Take a helper from among those of its leader."""
    r = d.read_streams[helper]
    before, behind = r["previous_helper"], r["next_helper"]
    r["leader"] = 0
    if before > 0:
        d.read_streams[before - 1]["next_helper"] = behind
    else:
        d.read_streams[leader]["first_helper"] = behind
    if behind > 0:
        d.read_streams[behind - 1]["previous_helper"] = before


@kernel
def relieve(d: Database, leader: int, helper: int, now: int) -> None:
    """Count the leader's wait as what its last helper spent it on, and call it."""
    for part in range(len(SPENT)):
        d.spending[leader, part] += d.spending[helper, part]
    d.sessions[leader]["asked_ns"] = now
    call(d, leader)
