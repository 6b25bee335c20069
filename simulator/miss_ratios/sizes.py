"""Cache sizes that a curve is counted at."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Sizes = NDArray[np.int64]

#: No trace has more pages: of 8 KiB they are 8 EiB.
_LARGEST_OCTAVE = 50


def size_grid(asked: Iterable[int] = (), *, steps: int = 8) -> Sizes:
    """Return sizes in pages, ascending: every one up to *steps*, *steps* in each doubling from there on, and those *asked* for.

    *steps* is a power of two.
    """
    below = np.arange(1, steps, dtype=np.int64)
    within = np.arange(steps, 2 * steps, dtype=np.int64)
    octaves = np.arange(_LARGEST_OCTAVE - steps.bit_length())
    doubled = (within[None, :] << octaves[:, None]).ravel()
    return np.unique(np.concatenate([below, doubled, np.array(list(asked), np.int64)]))
