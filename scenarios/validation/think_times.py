"""Which request a think time of DiskSim's validation traces precedes: the platter tells.

A line of these traces ends with a think time. DiskSim waits so long after the request of the line. In some of the
traces the drive was left alone so long before it. A read whose data came from the platter tells when its first sector
passed the head; between two such reads nearby, the platter turns by the angle between their sectors, and by whole
turns, if the time between them is right.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.hdd.disksim import load_drive
from tiersim.devices.hdd.hdd_geometry import SECTOR_BYTES, Geometry
from tiersim.traces.readers import import_trace

#: A read that takes longer than its transfer by so many turns did not come from the buffer.
_READ_TURNS = 0.5
#: Reads that lie so few cylinders apart: farther away, the extracted skews add up to another angle.
_NEARBY_CYLINDERS = 2
#: A spindle turns so much faster or slower than it is said to.
_SPEEDS = np.linspace(0.99, 1.01, 401)


class Agreement(NamedTuple):
    """How well the platter's turns between reads agree, from 0 to 1: the mean resultant length of their fractions
    (Mardia and Jupp, Directional Statistics, 2000, 2.3).
    """

    before: float  # with a wait before the request beside which it stands
    after: float


def agreement(trace: Path, parameters: Path) -> Agreement:
    """How well a trace's waits agree with the platter of the drive that a parameter file describes."""
    words = [line.split() for line in trace.read_text(encoding="utf-8").splitlines()]
    first, sectors = (np.array([int(line[column]) for line in words]) for column in (2, 3))
    took_ms, wait_ms = (np.array([float(line[column]) for line in words]) / 1000 for column in (4, 5))
    drive = load_drive(parameters)
    geometry = drive.geometry()
    turn_ms = geometry.revolution_ps / 1e9
    cylinder, angle_ms, sector_ms = _places(geometry, first)
    interface_ms = SECTOR_BYTES / drive.interface_rate * 1000 if drive.interface_rate else 0.0
    begun_ms = took_ms - sectors * np.maximum(sector_ms, interface_ms)
    read = np.array([line[0] == "R" for line in words]) & (begun_ms > _READ_TURNS * turn_ms)
    later = np.flatnonzero(read[1:] & read[:-1] & (abs(np.diff(cylinder)) <= _NEARBY_CYLINDERS)) + 1
    between_ms = (took_ms - begun_ms)[later - 1] + begun_ms[later] - (angle_ms[later] - angle_ms[later - 1])

    def resultant(before_ms: NDArray[np.float64]) -> float:
        turns = (before_ms[later] + between_ms)[:, None] / (turn_ms * _SPEEDS)
        return float(np.abs(np.exp(2j * np.pi * turns).mean(0)).max())

    return Agreement(resultant(wait_ms), resultant(np.roll(wait_ms, 1)))


def import_with_waits_in_place(trace: Path, parameters: Path, bundle: Path) -> None:
    """Import a validation trace with each wait where the platter says that it was."""
    agrees = agreement(trace, parameters)
    source = trace
    if agrees.before > agrees.after:
        heads, waits = zip(
            *(line.rsplit(maxsplit=1) for line in trace.read_text(encoding="utf-8").splitlines()), strict=True
        )
        source = bundle.with_suffix(".txt")
        source.write_text(
            "".join(f"{head} {wait}\n" for head, wait in zip(heads, (*waits[1:], "0.0"), strict=True)), encoding="utf-8"
        )
    import_trace([source], bundle, format="disksim-validate", force=False)


def _places(
    geometry: Geometry, sector: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Cylinders of sectors, their angles, and the time that one takes to pass, both in ms."""
    rows = geometry.zone_rows()
    zone = np.searchsorted([row["first_sector"] for row in rows], sector, "right") - 1
    of = {key: np.array([row[key] for row in rows])[zone] for key in rows[0]}
    track, within = np.divmod(of["first_physical"] + sector - of["first_sector"], of["sectors_per_track"])
    cylinder, head = np.divmod(track, geometry.surfaces)
    angle_ps = of["first_angle_ps"] + head * of["track_skew_ps"] + cylinder * of["cylinder_skew_ps"]
    angle_ps += within * of["sector_ps"]
    return cylinder + of["first_cylinder"], angle_ps % geometry.revolution_ps / 1e9, of["sector_ps"] / 1e9
