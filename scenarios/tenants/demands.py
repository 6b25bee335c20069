"""What a tenant that is alone keeps busy of the hardware, over time."""

import math

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import Volume, copies_of
from tiersim.devices.station_records import DRIVE, KIND_NAMES
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import INTERVALS, Played
from tiersim.scenarios.survey import EXTENT_BYTES
from tiersim.simulator.verdict import HOLDING, part_name

#: A disk with a queue does more requests than one by one: some two times as many (tests/test_pack.py). This screens
#: only: simulation decides.
GAIN_OF_DISKS = 2


def groups(played: Played) -> dict[str, list[tuple[int, int, int]]]:
    """Return what serves all, by place and resource, as (station, resource, servers): members of a volume together
    that serve the same. A limit on one tenant serves nobody else.

    A disk counts as several servers: those that it becomes with a queue to choose from.
    """
    found: dict[str, list[tuple[int, int, int]]] = {}
    for index, station in enumerate(played.stations):
        if station.kind in HOLDING or any(station.name in part.own_stations for part in played.parts):
            continue
        head, dot, number = station.name.rpartition(".")
        member = dot and number.isdigit()
        place = f"{head}{_lane(played.parts[0].scenario, head, int(number))}" if member else station.name
        gain = GAIN_OF_DISKS if station.kind == KIND_NAMES[DRIVE] else 1
        for resource, servers in enumerate(station.servers):
            name = part_name(place, station.resources[resource])
            found.setdefault(name, []).append((index, resource, gain * servers))
    return found


def _lane(scenario: NamedScenario, name: str, member: int) -> str:
    """Return which members of a volume serve the same of each tenant's requests, as its name goes on; nothing if all
    members do.

    Wherever a tenant lies, its files begin at a whole extent. Elsewhere its stripe units have other numbers by a
    multiple of the units of an extent. Their column, modulo what that and the number of columns have as their greatest
    common divisor, stays. Parity rotates, and tiers and caches move extents: there members are taken together.
    """
    volume = scenario.homes.get(name)
    if not isinstance(volume, Volume) or volume.layout not in ("raid0", "raid10") or volume.slice_bytes is not None:
        return ""
    if EXTENT_BYTES % volume.stripe_bytes:
        return ""
    copies = copies_of(volume.layout, volume.count)
    lanes = math.gcd(EXTENT_BYTES // volume.stripe_bytes, volume.count // copies)
    return f", column {member // copies % lanes + 1} of {lanes}" if lanes > 1 else ""


def worked_ns(played: Played) -> dict[str, NDArray[np.float64]]:
    """Return how long each place has worked by the end of each interval, and of the run, as the mean of what serves
    there.
    """
    work = played.metrics.work_ns
    return {
        place: np.array([work[:, station, resource] / servers for station, resource, servers in members]).mean(axis=0)
        for place, members in groups(played).items()
    }


def busy(played: Played, width_ns: int) -> dict[str, NDArray[np.float64]]:
    """Return the share of each stretch of *width_ns* in which each place is busy with the only tenant of a run, from
    its beginning on, until all is done: one that falls behind goes on when its recording is over.
    """
    ends_ns = np.arange(INTERVALS + 2) * int(played.metrics.interval_ns[0])
    ends_ns[-1] = max(played.outcome.end_ns, ends_ns[-2] + 1)
    last_ns = max(played.parts[0].found.span_ns, played.outcome.end_ns)
    edges_ns = np.arange(-(-last_ns // width_ns) + 1) * width_ns
    return {
        place: np.diff(np.interp(edges_ns, ends_ns, np.concatenate([[0.0], own]))) / width_ns
        for place, own in worked_ns(played).items()
    }
