"""Distances counted by class and by the smallest size of a grid that they hit in."""

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.simulator.miss_ratios.counts import Sizes
from tiersim.simulator.miss_ratios.distances import FIRST
from tiersim.simulator.miss_ratios.numbering import Pages

Classes = NDArray[np.int32]


@kernel
def count_distances(distances: Pages, classes: Classes, bin_of: Pages, counts: NDArray[np.int64]) -> None:
    """Add each distance to *counts* (classes, bins), in the bin that *bin_of* has for it."""
    for place in range(len(distances)):
        counts[classes[place], bin_of[distances[place]]] += 1


class DistanceHistogram:
    """Bin 0 counts first references, bin i the distances that hit in a cache of ``sizes[i - 1]`` pages and in no
    smaller one of the grid.
    """

    def __init__(self, sizes: Sizes) -> None:
        """Begin with no class and no distance."""
        self.sizes = sizes
        self.counts = np.zeros((0, len(sizes) + 2), np.int64)  # the last bin: hits in none of them
        self._bin_of = np.full(1, FIRST, np.int32)

    def add(self, distances: Pages, classes: Classes, most: int) -> None:
        """Count *distances*, none of which is above *most*."""
        if not len(distances):
            return
        self._grow(int(classes.max()) + 1, most)
        count_distances(distances, classes, self._bin_of, self.counts)

    def _grow(self, classes: int, most: int) -> None:
        if classes > len(self.counts):
            more = np.zeros((max(classes, 2 * len(self.counts)) - len(self.counts), self.counts.shape[1]), np.int64)
            self.counts = np.concatenate([self.counts, more])
        if most >= len(self._bin_of):
            beyond = np.arange(len(self._bin_of), max(most, 2 * len(self._bin_of)) + 1)
            bins = np.searchsorted(self.sizes, beyond).astype(np.int32) + np.int32(1)
            self._bin_of = np.concatenate([self._bin_of, bins])
