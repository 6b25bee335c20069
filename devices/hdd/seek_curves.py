"""How long the arm of a disk drive takes over a distance in cylinders: curves from a datasheet or a measurement, and
the table that kernels read.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel

#: Seek times are tabled for each distance below the first number, then for each 2^bits-th with straight lines between:
#: a table of every distance does not stay in the cache, which made the event loop a sixth slower.
SEEK_EXACT = 1024
SEEK_STEP_BITS = 6


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


@kernel
def seek_ns(p: Plant, table: int, distance: int) -> int:
    """Seek time over a distance in cylinders from a table as :func:`seek_table_ns` makes it."""
    if distance < SEEK_EXACT:
        return p.pool[table + distance]
    beyond = distance - SEEK_EXACT
    knot = table + SEEK_EXACT + (beyond >> SEEK_STEP_BITS)
    rise = p.pool[knot + 1] - p.pool[knot]
    return p.pool[knot] + (rise * (beyond & (1 << SEEK_STEP_BITS) - 1) >> SEEK_STEP_BITS)
