"""Where sectors lie on a disk drive, and how long its arm takes: tables for the kernels, from a datasheet or a
measurement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.hdd.hdd_kernels import SECTOR_BYTES, SEEK_EXACT, SEEK_STEP_BITS

#: The zone of a sector is looked up by its leading bits, at least 2^HINT_BITS entries over the capacity.
HINT_BITS = 10


@dataclass(frozen=True)
class Zone:
    """Neighbouring cylinders with the same number of sectors per track; ``runs``: where its sectors lie, bad and
    spare ones left out.
    """

    first_cylinder: int
    sectors_per_track: int
    first_angle_ps: int
    track_skew_ps: int  # from one surface's first sector to the next one's
    cylinder_skew_ps: int  # from the last surface of a cylinder to the first of the next
    runs: Sequence[tuple[int, int]]  # (first sector, counted from the zone's first track; how many)


@dataclass(frozen=True)
class Geometry:
    """The platters of a drive, and how its arm moves."""

    revolution_ps: int
    surfaces: int
    zones: Sequence[Zone]
    seek_ns: NDArray[np.int64]  # by distance in cylinders; 0 at 0
    serpentine: bool = False  # odd cylinders are written from the last surface to the first
    serpentine_by_zone: bool = False  # odd within the zone, not on the drive

    @property
    def sectors(self) -> int:
        """How many it holds."""
        return sum(count for zone in self.zones for _, count in zone.runs)

    @property
    def capacity_bytes(self) -> int:
        """What it holds."""
        return self.sectors * SECTOR_BYTES

    def zone_rows(self) -> list[dict[str, int]]:
        """Rows of ZONE, by first sector: one for each run."""
        rows = []
        sector = 0
        for zone in self.zones:
            for physical, count in zone.runs:
                rows.append(
                    {
                        "first_sector": sector,
                        "end_sector": sector + count,
                        "first_physical": physical,
                        "first_cylinder": zone.first_cylinder,
                        "flip": 0 if self.serpentine_by_zone else zone.first_cylinder & 1,
                        "sectors_per_track": zone.sectors_per_track,
                        "sector_ps": self.revolution_ps // zone.sectors_per_track,
                        "first_angle_ps": zone.first_angle_ps,
                        "track_skew_ps": zone.track_skew_ps,
                        "cylinder_skew_ps": (self.surfaces - 1) * zone.track_skew_ps + zone.cylinder_skew_ps,
                    }
                )
                sector += count
        return rows


def hint_table(starts: Sequence[int], sectors: int) -> tuple[NDArray[np.int64], int]:
    """Index of the last start at or before each multiple of 2^shift: (table, shift)."""
    bits = max(HINT_BITS, len(starts).bit_length())
    shift = max(0, sectors.bit_length() - bits)
    entries = np.arange((sectors >> shift) + 1) << shift
    return np.searchsorted(np.asarray(starts), entries, "right") - 1, shift


def seek_table_ns(curve_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """A seek curve as the kernels read it: every distance below SEEK_EXACT, then every 2^SEEK_STEP_BITS-th, int64.

    Straight lines between the knots are within 0.1 us of a datasheet's curve.
    """
    last = len(curve_ns) - 1
    knots = np.arange(SEEK_EXACT, len(curve_ns) + (2 << SEEK_STEP_BITS), 1 << SEEK_STEP_BITS)
    exact = curve_ns[np.minimum(np.arange(SEEK_EXACT), last)]
    return np.concatenate([exact, curve_ns[np.minimum(knots, last)]])


def lee_curve_ns(cylinders: int, least: int, average: int, most: int) -> NDArray[np.int64]:
    """Seek time by distance in cylinders through three datasheet points in ns, int64[cylinders].

    t(d) = c + a sqrt(d - 1) + b (d - 1), with a and b such that the mean over random pairs of cylinders is the average
    (DiskSim 4.0 reference manual, B.5.1; E. Lee, UCB/CSD-93-778).
    """
    n = cylinders
    a = (-10 * least + 15 * average - 5 * most) / (3 * n**0.5)
    b = (7 * least - 15 * average + 8 * most) / (3 * n)
    distance = np.arange(n, dtype=np.float64)
    curve = least + a * np.sqrt(np.maximum(distance - 1, 0)) + b * (distance - 1)
    curve[0] = 0
    return np.rint(np.maximum.accumulate(curve)).astype(np.int64)


def measured_curve_ns(cylinders: int, points: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Seek time by distance in cylinders on straight lines between measured (distance, ns), and beyond;
    int64[cylinders].
    """
    distances, times = (list(column) for column in zip((0, 0), *points, strict=True))
    slope = (times[-1] - times[-2]) / (distances[-1] - distances[-2])
    beyond = max(cylinders, distances[-1] + 1)
    curve: NDArray[np.float64] = np.interp(
        np.arange(cylinders), [*distances, beyond], [*times, times[-1] + max(slope, 0) * (beyond - distances[-1])]
    )
    return np.rint(curve).astype(np.int64)
