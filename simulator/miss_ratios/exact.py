"""The exact curve of LRU."""

import numpy as np

from tiersim.simulator.miss_ratios.counts import Counts, Sizes
from tiersim.simulator.miss_ratios.distances import MOST_PAGES, StackDistances
from tiersim.simulator.miss_ratios.histogram import Classes, DistanceHistogram
from tiersim.simulator.miss_ratios.numbering import Keys, PageNumbers


class ExactCurve:
    """Counts the hits of LRU caches of all *sizes* in one pass; memory grows with the distinct pages, some 60 bytes for
    each.
    """

    def __init__(self, sizes: Sizes) -> None:
        """Begin with empty caches."""
        self._numbers = PageNumbers(MOST_PAGES + 1)
        self._stack = StackDistances()
        self._histogram = DistanceHistogram(sizes)

    def add(self, keys: Keys, classes: Classes) -> None:
        """Take a block of references; raises TraceError for more pages than can be told apart."""
        pages = self._numbers.number(keys)
        distances = self._stack.add(pages, self._numbers.count)
        self._histogram.add(distances, classes, self._numbers.count)

    def counts(self) -> Counts:
        """Return what was counted until now."""
        counted = self._histogram.counts
        references = counted.sum(axis=1)
        return Counts(
            sizes=self._histogram.sizes,
            references=references,
            sampled=references.astype(np.float64)[None],
            first=counted[None, :, 0].astype(np.float64),
            hits=np.cumsum(counted[None, :, 1:-1], axis=2).astype(np.float64),
            pages=float(self._numbers.count),
            exact=True,
        )
