"""Who waits for whom: recordings that share the plant, or the classes of requests of one.

A request waits at a station from when it comes until the station starts it. At each instant that time is divided
equally among the requests that the station has started and that have not left it: those that a disk or a server works
on, those that hold the places of a queue. If there is none, it goes to the owner of the request that was started last:
it took the tokens that are waited for. What a station decides when a request comes (a flash drive that plans its dies)
is service here and not waiting.

Owners are the recordings, or the classes; behind them come two that nobody recorded: background work (destages,
rebuilds, a neighbour), and nobody, before a station has started anything.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.metrics import Metrics

#: Owners that are no recordings.
NOT_RECORDED = ("background work", "nobody")


@kernel
def owner_of(p: Plant, m: Metrics, slot: int) -> int:
    """Return whose request it is, or which one it is a part of."""
    whole = slot
    while p.requests[whole]["parent"] != NONE:
        whole = int(np.int64(p.requests[whole]["parent"]))
    if p.requests[whole]["row"] == NONE:
        return int(m.waiting.shape[1]) - 1
    return int(m.owner_of[p.requests[whole]["category"]])


@kernel
def settle(p: Plant, m: Metrics, station: int, now: int) -> None:
    """Divide the time of those that wait since the last change at a station."""
    s = m.shared[station]
    took_ns = now - s["since_ns"]
    s["since_ns"] = now
    if took_ns == 0 or p.stations[station]["waiting"] == 0:
        return
    last, started, serving = s["last"], s["started"], s["serving"]
    alone = started == 0 or m.started[station, last] == started  # as it is at a disk: one owner has it
    for place in range(s["waiting"]):
        owner = m.owners_waiting[station, place]
        waited_ns = took_ns * m.waiting[station, owner]
        if alone:
            m.behind_ns[station, owner, last] += waited_ns
            continue
        for other_place in range(serving):
            other = m.owners_started[station, other_place]
            m.behind_ns[station, owner, other] += waited_ns * m.started[station, other] / started


@kernel
def place_of(present: NDArray[np.int64], station: int, owner: int) -> int:
    """Return where an owner is in a list of those that are present at a station."""
    place = 0
    while present[station, place] != owner:
        place += 1
    return place


@kernel
def add_waiting(m: Metrics, station: int, owner: int) -> None:
    """Count a request that waits."""
    s = m.shared[station]
    if m.waiting[station, owner] == 0:
        m.owners_waiting[station, s["waiting"]] = owner
        s["waiting"] += 1
    m.waiting[station, owner] += 1


@kernel
def take_waiting(m: Metrics, station: int, owner: int) -> None:
    """Count one less."""
    s = m.shared[station]
    m.waiting[station, owner] -= 1
    if m.waiting[station, owner] == 0:
        s["waiting"] -= 1
        m.owners_waiting[station, place_of(m.owners_waiting, station, owner)] = m.owners_waiting[station, s["waiting"]]


@kernel
def note_waits(p: Plant, m: Metrics, station: int, slot: int, now: int) -> None:
    """A request came to a station and waits there."""
    settle(p, m, station, now)
    add_waiting(m, station, owner_of(p, m, slot))


@kernel
def note_begins(p: Plant, m: Metrics, station: int, slot: int, now: int, waited: bool) -> None:
    """A station starts a request, which had *waited* there or just came."""
    settle(p, m, station, now)
    owner = owner_of(p, m, slot)
    if waited:
        take_waiting(m, station, owner)
    s = m.shared[station]
    if m.started[station, owner] == 0:
        m.owners_started[station, s["serving"]] = owner
        s["serving"] += 1
    m.started[station, owner] += 1
    s["started"] += 1
    s["last"] = owner


@kernel
def note_leaves(p: Plant, m: Metrics, station: int, slot: int, now: int) -> None:
    """A request leaves a station."""
    settle(p, m, station, now)
    owner = owner_of(p, m, slot)
    s = m.shared[station]
    s["started"] -= 1
    m.started[station, owner] -= 1
    if m.started[station, owner] == 0:
        s["serving"] -= 1
        m.owners_started[station, place_of(m.owners_started, station, owner)] = m.owners_started[station, s["serving"]]
