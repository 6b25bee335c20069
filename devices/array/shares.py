"""Shares: a queue before hardware that several clients use, which says whose request goes next."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import SHARES, Plant


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
