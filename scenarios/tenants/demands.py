"""What a tenant that is alone keeps busy of the hardware, over time."""

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import DRIVE, KIND_NAMES
from tiersim.scenarios.replay import INTERVALS, Played
from tiersim.simulator.verdict import HOLDING, part_name

#: A disk with a queue does more requests than one by one: some two times as many (tests/test_pack.py). This screens
#: only: simulation decides.
GAIN_OF_DISKS = 2


def groups(played: Played) -> dict[str, list[tuple[int, int, int]]]:
    """Return what serves all, by place and resource, as (station, resource, servers): members of a volume together.
    A limit on one tenant serves nobody else.

    A disk counts as several servers: those that it becomes with a queue to choose from.
    """
    found: dict[str, list[tuple[int, int, int]]] = {}
    for index, station in enumerate(played.stations):
        if station.kind in HOLDING or any(station.name in part.own_stations for part in played.parts):
            continue
        head, dot, number = station.name.rpartition(".")
        place = head if dot and number.isdigit() else station.name
        gain = GAIN_OF_DISKS if station.kind == KIND_NAMES[DRIVE] else 1
        for resource, servers in enumerate(station.servers):
            name = part_name(place, station.resources[resource])
            found.setdefault(name, []).append((index, resource, gain * servers))
    return found


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
