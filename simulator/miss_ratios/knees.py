"""Where more cache begins to be worth less: the knees of a curve."""

import numpy as np
from numpy.typing import NDArray

#: The curve is looked at in so many even steps, up to the size that holds every page.
_STEPS = 400
#: A knee stands out if the curve falls behind the line from corner to corner by so many steps after it: Kneedle's
#: sensitivity S. The paper's 1 takes the noise of samples for knees.
_SENSITIVITY = 8


def knees(sizes: NDArray[np.int64], miss_ratio: NDArray[np.float64]) -> list[int]:
    """Return the sizes at which a falling curve bends most, ascending: Kneedle (Satopää, Albrecht, Irwin, Raghavan,
    ICDCS workshops 2011).

    Sizes and ratios are scaled to 0 … 1; the hits less the size, both scaled, have a local maximum at a knee, and fall
    by the sensitivity times the mean step before they have another one.
    """
    if len(sizes) < 2 or not miss_ratio[0] > miss_ratio[-1]:
        return []
    at = np.linspace(float(sizes[0]), float(sizes[-1]), _STEPS + 1)
    missed = np.interp(at, sizes, miss_ratio)
    gained = (missed[0] - missed) / (missed[0] - missed[-1]) - np.linspace(0, 1, _STEPS + 1)
    found, best, lowest, rising = [], 0, 0, False
    for step in range(1, _STEPS + 1):
        if rising:
            if gained[step] > gained[best]:
                best = step
            elif gained[step] < gained[best] - _SENSITIVITY / _STEPS:
                found.append(round(at[best]))
                lowest, rising = step, False
        elif gained[step] < gained[lowest]:
            lowest = step
        elif gained[step] > gained[lowest] + _SENSITIVITY / _STEPS:
            best, rising = step, True
    return found
