"""Shares as a passive machine: at most ``depth`` requests are outstanding below; whose goes next is decided when there
is a place.

First a client that is behind its minimum: one of r requests a second is due 1/r after the last one that went for this
reason, or when it comes if that is later; the one that has been due longest goes (the constraint-based phase of
mClock: Gulati, Merchant, Varman, OSDI 2010). Else start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996; with a
depth: Jin, Chase, Kaur, SIGMETRICS 2004): a request's start tag is the finish tag of the one before it of the same
client, or the virtual time when it comes if that is later; its finish tag is its start tag plus its cost over the
client's weight; the smallest start tag goes. Virtual time is the smallest start tag of those that wait. What went for a
minimum counts in the tags, too: a client gets its minimum or its share, whichever is more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tiersim.devices import requests
from tiersim.devices.host.gate import way_on
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, SHARES, WAIT, Plant
from tiersim.kernel import kernel

_NS_PER_S = 1_000_000_000
#: Tags are counted in parts of a request, so that they are exact to 1e-5 for weights up to 10,000.
_PARTS = 1_000_000_000


@kernel
def _client_of(p: Plant, row: int, slot: int) -> int:
    """Whose request it is: the port that it came through knows."""
    port = p.requests[p.requests[slot]["parent"]]["station"]
    return int(p.shares[row]["first_client"] + p.ports[p.stations[port]["row"]]["client"])


@kernel
def _cost(p: Plant, row: int, slot: int) -> int:
    unit = p.shares[row]["unit_bytes"]
    return 1 if unit == 0 else max(1, (p.requests[slot]["length_bytes"] + unit - 1) // unit)


@kernel
def _account(p: Plant, station: int, row: int, now: int) -> None:
    """Add up how long places have been taken."""
    s = p.shares[row]
    p.work_ns[station, 0] += s["in_flight"] * (now - s["changed_ns"])
    s["changed_ns"] = now


@kernel
def accept_shares(p: Plant, row: int, slot: int) -> int:
    """Take a request into the queue of its client; one that had none waiting gets no credit for that."""
    s = p.shares[row]
    c = p.clients[_client_of(p, row, slot)]
    if p.queues[c["queue"]]["head"] == NONE:
        c["start_tag"] = max(c["start_tag"], s["virtual"])
    requests.append(p, c["queue"], slot)
    return CALL if s["in_flight"] < s["depth"] else WAIT


@kernel
def choose_shares(p: Plant, station: int, row: int, now: int) -> tuple[int, int, int]:
    """Let a request of the client through whose turn it is, if there is a place."""
    s = p.shares[row]
    due = first = NONE
    due_ns = now + 1
    if s["in_flight"] < s["depth"]:
        for client in range(s["first_client"], s["first_client"] + s["clients"]):
            c = p.clients[client]
            slot = p.queues[c["queue"]]["head"]
            if slot == NONE:
                continue
            if first == NONE or c["start_tag"] < p.clients[first]["start_tag"]:
                first = client
            since_ns = max(c["due_ns"], p.requests[slot]["accepted_ns"])
            if c["minimum_per_s"] > 0 and since_ns < due_ns:
                due, due_ns = client, since_ns
    if first == NONE:
        return NONE, NEVER, NEVER
    s["virtual"] = p.clients[first]["start_tag"]
    chosen = first if due == NONE else due
    c = p.clients[chosen]
    slot = p.queues[c["queue"]]["head"]
    cost = _cost(p, row, slot)
    requests.remove(p, c["queue"], slot, NONE)
    c["start_tag"] += cost * _PARTS // c["weight"]
    c["let_through"] += 1
    if due != NONE:
        c["due_ns"] = due_ns + cost * _NS_PER_S // c["minimum_per_s"]
        c["by_minimum"] += 1
    _account(p, station, row, now)
    s["in_flight"] += 1
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_shares(p: Plant, slot: int) -> int:
    """Send a request on to the volume that it came for."""
    request = p.requests[slot]
    return add_child(p, 0, way_on(p, slot), request["op"], request["offset_bytes"], request["length_bytes"])


@kernel
def resume_shares(p: Plant, station: int, row: int, now: int) -> int:
    """A place is free."""
    _account(p, station, row, now)
    p.shares[row]["in_flight"] -= 1
    return 0


@dataclass(frozen=True)
class SharedQueue:
    """At most *depth* requests of all clients are outstanding at *volumes*, none named: at all.

    A request counts once for each begun *unit_bytes*; 0: once whatever its length.
    """

    depth: int
    volumes: Sequence[str] = ()
    unit_bytes: int = 0


@dataclass(frozen=True)
class Share:
    """What one client gets: *weight* against the other clients' weights, and *minimum_per_s* in any case."""

    weight: int = 1
    minimum_per_s: int | None = None


#: As much as any other that says nothing.
EQUAL_SHARE = Share()


def add_shares(builder: PlantBuilder, name: str, queue: SharedQueue, clients: Sequence[Share]) -> int:
    """Put the queue into the plant and return its station.

    Each client needs a port to it for each volume (:func:`~tiersim.devices.host.gate.add_port`), with its place among
    the *clients*.
    """
    rows = [
        {"queue": builder.queue(), "weight": one.weight, "minimum_per_s": one.minimum_per_s or 0} for one in clients
    ]
    first = builder.rows("clients", rows)
    row = builder.row(
        "shares", depth=queue.depth, first_client=first, clients=len(clients), unit_bytes=queue.unit_bytes
    )
    return builder.station(SHARES, row, name, {"queue slots": queue.depth}, children=1)


def let_through(plant: Plant, station: int, client: int) -> tuple[int, int]:
    """Return how many requests of a client went on, and how many of them because of its minimum."""
    row = plant.clients[plant.shares[plant.stations[station]["row"]]["first_client"] + client]
    return int(row["let_through"]), int(row["by_minimum"])
