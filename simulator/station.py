"""The four functions of every station: of the devices, and of what a database has above them."""

from tiersim.devices import station as devices
from tiersim.devices.tables import Plant
from tiersim.kernel import kernel
from tiersim.simulator.database.pool import accept_pool, choose_pool, finish_pool, resume_pool
from tiersim.simulator.database.processors import accept_processors, choose_processors, finish_processors
from tiersim.simulator.database.tables import PROCESSORS, Database


@kernel
def accept(p: Plant, d: Database, station: int, slot: int, now: int) -> int:
    """Hand a request to a station, see :func:`tiersim.devices.station.accept`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.accept(p, station, slot, now)
    if kind == PROCESSORS:
        return accept_processors(p, d, slot)
    return accept_pool(p, d, slot)


@kernel
def choose(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start one request, if the station can, see :func:`tiersim.devices.station.choose`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.choose(p, station, now)
    if kind == PROCESSORS:
        return choose_processors(p, d, station, now)
    return choose_pool(p, d, station, now)


@kernel
def finish(p: Plant, d: Database, station: int, slot: int) -> int:
    """End a service, see :func:`tiersim.devices.station.finish`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.finish(p, station, slot)
    if kind == PROCESSORS:
        return finish_processors(d)
    return finish_pool(p, d, slot)


@kernel
def resume(p: Plant, d: Database, station: int, slot: int, now: int) -> int:
    """Go on with a request whose children are done, see :func:`tiersim.devices.station.resume`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.resume(p, station, slot, now)
    if kind == PROCESSORS:
        return 0
    return resume_pool(p, d, slot, now)
