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
def note_category(p: Plant, slot: int) -> None:
    """Give a part of a request the category of the whole, and background work none."""
    request = p.requests[slot]
    if request["parent"] != NONE:
        request["category"] = p.requests[request["parent"]]["category"]
    elif request["row"] == NONE:
        request["category"] = NONE


@kernel
def owner_of(p: Plant, m: Metrics, slot: int) -> int:
    """Return whose request it is, or which one it is a part of; its category is known."""
    category = p.requests[slot]["category"]
    if category == NONE:
        return int(m.waiting.shape[1]) - 1
    return int(m.owner_of[category])


@kernel
def add_one(counts: NDArray[np.int64], present: NDArray[np.int64], station: int, owner: int) -> None:
    """Count one more of an owner at a station; *present* has first how many owners have any there, then which."""
    if counts[station, owner] == 0:
        present[station, 0] += 1
        present[station, present[station, 0]] = owner
    counts[station, owner] += 1


@kernel
def take_one(counts: NDArray[np.int64], present: NDArray[np.int64], station: int, owner: int) -> None:
    """Count one less."""
    counts[station, owner] -= 1
    if counts[station, owner] == 0:
        place = 1
        while present[station, place] != owner:
            place += 1
        present[station, place] = present[station, present[station, 0]]
        present[station, 0] -= 1


@kernel
def settle(p: Plant, m: Metrics, station: int, now: int) -> None:
    """Divide the time of those that wait since the last change at a station."""
    took_ns = now - m.shared_since_ns[station]
    m.shared_since_ns[station] = now
    if took_ns == 0 or p.stations[station]["waiting"] == 0:
        return
    last, started = m.last_started[station], m.started_all[station]
    alone = started == 0 or m.started[station, last] == started  # as it is at a disk: one owner has it
    for place in range(m.owners_waiting[station, 0]):
        owner = m.owners_waiting[station, place + 1]
        waited_ns = took_ns * m.waiting[station, owner]
        if alone:
            m.behind_ns[station, owner, last] += waited_ns
            continue
        for other_place in range(m.owners_started[station, 0]):
            other = m.owners_started[station, other_place + 1]
            m.behind_ns[station, owner, other] += waited_ns * m.started[station, other] / started


@kernel
def note_waits(p: Plant, m: Metrics, station: int, slot: int, now: int) -> None:
    """A request came to a station and waits there."""
    settle(p, m, station, now)
    note_category(p, slot)
    add_one(m.waiting, m.owners_waiting, station, owner_of(p, m, slot))


@kernel
def note_begins(p: Plant, m: Metrics, station: int, slot: int, now: int, waited: bool) -> None:
    """A station starts a request, which had *waited* there or just came."""
    settle(p, m, station, now)
    if not waited:
        note_category(p, slot)
    owner = owner_of(p, m, slot)
    if waited:
        take_one(m.waiting, m.owners_waiting, station, owner)
    add_one(m.started, m.owners_started, station, owner)
    m.started_all[station] += 1
    m.last_started[station] = owner


@kernel
def note_leaves(p: Plant, m: Metrics, station: int, slot: int, now: int) -> None:
    """A request leaves a station."""
    settle(p, m, station, now)
    take_one(m.started, m.owners_started, station, owner_of(p, m, slot))
    m.started_all[station] -= 1
