"""SHARDS: LRU's curve from samples of the pages (Waldspurger, Park, Garthwaite, Ahmad, Efficient MRC construction with
SHARDS, FAST 2015).

Between two references to a page of the sample lie as many pages of the sample as its share of all pages, so a distance
in it stands for one that is as much longer, and each reference for as many. With a share that is fixed, memory grows
with the pages of the trace; with a number of pages that is fixed, those of the highest hashes leave the sample when it
gets more, and its share shrinks.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.parallel import Note, side_by_side
from tiersim.simulator.miss_ratios.counts import Amounts, Counts, Sizes, size_grid
from tiersim.simulator.miss_ratios.distances import MOST_PAGES, StackDistances
from tiersim.simulator.miss_ratios.histogram import Classes, DistanceHistogram
from tiersim.simulator.miss_ratios.numbering import Keys, PageNumbers
from tiersim.simulator.miss_ratios.samples import Sampler

#: Distances within a sample are counted in bins of 3 % at most, and interpolated between.
_STEPS = 32
#: A sample with too many pages keeps this share of them: one by one would sort them for each.
_KEPT = 7 / 8
#: Fewer pages than this say nothing.
FEWEST_PAGES = 16


class Shards:
    """Estimates the hits of LRU caches of all *sizes*, from several samples at once, whose spread is the error."""

    def __init__(
        self,
        sizes: Sizes,
        rate: float | None = None,
        *,
        most_pages: int | None = None,
        samples: int = 8,
        seed: int = 1,
        workers: int = 1,
    ) -> None:
        """Take samples of a share *rate* of the pages each, or of *most_pages* pages at most; raises ScenarioError when
        these are none.
        """
        if most_pages is not None and most_pages < FEWEST_PAGES:
            raise ScenarioError(f"a sample of {most_pages:,} pages says nothing; take {FEWEST_PAGES} or more")
        self._sizes = sizes
        self._sampler = Sampler(1 / samples if rate is None else rate, samples, seed)
        self._samples = [_Sample(sizes, self._sampler, one, most_pages) for one in range(self._sampler.samples)]
        self._references = np.zeros(0, np.int64)
        self._workers = workers

    def add(self, keys: Keys, classes: Classes) -> None:
        """Take a block of references."""
        counted = np.bincount(classes, minlength=len(self._references))
        counted[: len(self._references)] += self._references
        self._references = counted
        chosen = self._sampler.choose(keys)
        keys, classes = keys[chosen.row], classes[chosen.row]

        def give(one: int, _: Note) -> None:
            own = slice(chosen.first[one], chosen.first[one + 1])
            self._samples[one].add(keys[own], classes[own], chosen.fraction[own])

        side_by_side([partial(give, one) for one in range(len(self._samples))], workers=self._workers)

    def counts(self) -> Counts:
        """Return what was counted until now."""
        classes = len(self._references)
        found = [sample.counted(classes) for sample in self._samples]
        return Counts(
            sizes=self._sizes,
            references=self._references,
            sampled=np.array([sampled for sampled, _, _ in found]),
            first=np.array([first for _, first, _ in found]),
            hits=np.array([hits for _, _, hits in found]),
            pages=float(np.mean([first.sum() for _, first, _ in found])),
            exact=False,
        )


class _Sample:
    """One sample: its pages, their stack, and what its references stand for."""

    def __init__(self, sizes: Sizes, sampler: Sampler, own: int, most_pages: int | None) -> None:
        self._sizes, self._sampler, self._own = sizes, sampler, own
        self._most = MOST_PAGES if most_pages is None else most_pages
        self._numbers, self._stack = PageNumbers(self._most), StackDistances()
        self._grid = size_grid(steps=_STEPS)
        self._histogram = DistanceHistogram(self._grid)
        self._before: list[tuple[Amounts, Amounts, Amounts]] = []  # what was counted with larger shares

    def add(self, keys: Keys, classes: Classes, fraction: NDArray[np.int64]) -> None:
        while True:
            pages = self._numbers.number(keys)
            count = len(pages)
            distances = self._stack.add(pages, self._numbers.count)
            self._histogram.add(distances, classes[:count], self._numbers.count)
            if count == len(keys):
                return
            self._thin()
            kept = fraction[count:] < self._sampler.thresholds[self._own]
            keys, classes, fraction = keys[count:][kept], classes[count:][kept], fraction[count:][kept]

    def counted(self, classes: int) -> tuple[Amounts, Amounts, Amounts]:
        """Return by class references, first references and (classes, points) hits that the sample stands for."""
        found = [np.zeros(classes), np.zeros(classes), np.zeros((classes, len(self._sizes)))]
        for parts in (*self._before, self._scaled()):
            for whole, part in zip(found, parts, strict=True):
                whole[: len(part)] += part[:classes]
        return found[0], found[1], found[2]

    def _thin(self) -> None:
        """Let the pages of the highest hashes go, and begin to count with the smaller share."""
        self._before.append(self._scaled())
        self._histogram = DistanceHistogram(self._grid)
        fraction = self._sampler.choose(self._numbers.keys()).fraction
        threshold = np.sort(fraction)[int(_KEPT * len(fraction))]
        self._sampler.thresholds[self._own] = threshold
        self._numbers.keep(fraction < threshold)
        self._stack.keep(fraction < threshold)

    def _scaled(self) -> tuple[Amounts, Amounts, Amounts]:
        counts, rate = self._histogram.counts, self._sampler.rate_of(self._own)
        grid = np.concatenate([[0], self._grid])
        hits = np.cumsum(np.concatenate([np.zeros((len(counts), 1)), counts[:, 1:-1]], axis=1), axis=1)
        at = self._sizes * rate
        right = np.clip(np.searchsorted(grid, at), 1, len(grid) - 1)
        share = np.clip((at - grid[right - 1]) / (grid[right] - grid[right - 1]), 0, 1)
        between = hits[:, right - 1] * (1 - share) + hits[:, right] * share
        return counts.sum(axis=1) / rate, counts[:, 0] / rate, between / rate
