"""Who waits for whom: recordings that share the plant, or the classes of requests of one.

A request waits at a station from when it comes until the station starts it. At each instant that time is divided
equally among the requests that the station has started and that have not left it: those that a disk or a server works
on, those that hold the places of a queue. If there is none, it goes to the owner of the request that was started last:
it took the tokens that are waited for. What a station decides when a request comes (a flash drive that plans its dies)
is service here and not waiting.

Owners are the recordings, or the classes; behind them come two that nobody recorded: background work (destages,
rebuilds, a neighbour), and nobody, before a station has started anything.
"""

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.metrics import Metrics

#: Owners that are no recordings.
NOT_RECORDED = ("background work", "nobody")


@kernel
def owner_of(p: Plant, m: Metrics, slot: int) -> int:
    """Return whose request it is, or which one it is a part of."""
    category = p.requests[slot]["category"]
    return int(m.waiting.shape[1]) - 1 if category == NONE else int(m.owner_of[category])


@kernel
def settle(m: Metrics, station: int, now: int) -> None:
    """Divide the time of those that wait since the last change at a station."""
    s = m.shared[station]
    if s["waiting"] == 0:  # what is due begins with the first that waits
        return
    took_ns = now - s["since_ns"]
    if took_ns == 0:
        return
    s["since_ns"] = now
    last, started, owners = s["last"], s["started"], s["waiting"]
    if started == 0 or m.started[station, last] == started:  # as it is at a disk: one owner has it
        for place in range(owners):
            owner = m.owners_waiting[station, place]
            m.behind_ns[station, last, owner] += took_ns * m.waiting[station, owner]
        return
    served = s["served"]
    for place in range(owners):
        owner = m.owners_waiting[station, place]
        waited_ns = took_ns * m.waiting[station, owner]
        for beside in range(served):
            other = m.owners_served[station, beside]
            m.behind_ns[station, other, owner] += waited_ns * m.started[station, other] / started


@kernel
def add_waiting(m: Metrics, station: int, owner: int, now: int) -> None:
    """Count a request that waits from now on."""
    s = m.shared[station]
    if s["waiting"] == 0:
        s["since_ns"] = now
    if m.waiting[station, owner] == 0:
        m.owners_waiting[station, s["waiting"]] = owner
        m.waiting_place[station, owner] = s["waiting"]
        s["waiting"] += 1
    m.waiting[station, owner] += 1


@kernel
def take_waiting(m: Metrics, station: int, owner: int) -> None:
    """Count one less."""
    s = m.shared[station]
    m.waiting[station, owner] -= 1
    if m.waiting[station, owner] == 0:
        s["waiting"] -= 1
        place, last = m.waiting_place[station, owner], m.owners_waiting[station, s["waiting"]]
        m.owners_waiting[station, place] = last
        m.waiting_place[station, last] = place


@kernel
def note_waits(p: Plant, m: Metrics, station: int, slot: int, now: int) -> None:
    """A request came to a station and waits there."""
    settle(m, station, now)
    add_waiting(m, station, owner_of(p, m, slot), now)


@kernel
def note_begins(p: Plant, m: Metrics, station: int, slot: int, now: int, waited: bool) -> None:
    """A station starts a request, which had *waited* there or just came."""
    settle(m, station, now)
    owner = owner_of(p, m, slot)
    if waited:
        take_waiting(m, station, owner)
    s = m.shared[station]
    if m.started[station, owner] == 0:
        m.owners_served[station, s["served"]] = owner
        m.served_place[station, owner] = s["served"]
        s["served"] += 1
    m.started[station, owner] += 1
    s["started"] += 1
    s["last"] = owner


@kernel
def note_leaves(p: Plant, m: Metrics, station: int, slot: int, now: int) -> None:
    """A request leaves a station."""
    settle(m, station, now)
    s, owner = m.shared[station], owner_of(p, m, slot)
    s["started"] -= 1
    m.started[station, owner] -= 1
    if m.started[station, owner] == 0:
        s["served"] -= 1
        place, last = m.served_place[station, owner], m.owners_served[station, s["served"]]
        m.owners_served[station, place] = last
        m.served_place[station, last] = place
