"""Curves of any policy: it is simulated at each size, on samples of the pages in caches as much smaller.

Waldspurger, Saemundsson, Ahmad, Park, Cache modeling and optimization using miniature simulations (USENIX ATC 2017).
"""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from tiersim.parallel import Note, side_by_side
from tiersim.simulator.miss_ratios.counts import Counts, Sizes
from tiersim.simulator.miss_ratios.distances import MOST_PAGES
from tiersim.simulator.miss_ratios.numbering import Keys, PageNumbers, Pages
from tiersim.simulator.miss_ratios.samples import Sampler
from tiersim.simulator.policies import misses
from tiersim.simulator.policies.misses import of_a_sample

#: Samples that have more than this part of the pages together are no cheaper, by much, than all of them, and worse: a
#: small cache need not do what a large one does.
MOST_IN_SAMPLES = 0.5


class Simulated:
    """Keeps the references of samples, 4 bytes each, and simulates a policy on them.

    All references are taken with a *rate* of 1, and where the samples would have more than half of the pages together.
    """

    def __init__(self, policy: str, rate: float = 1.0, *, samples: int = 8, seed: int = 1) -> None:
        """Begin with no references."""
        self._policy = policy
        sampler = Sampler(rate, samples, seed)
        self._sampler = Sampler(1.0, 1, seed) if sampler.rate * sampler.samples > MOST_IN_SAMPLES else sampler
        self._numbers = [PageNumbers(MOST_PAGES) for _ in range(self._sampler.samples)]
        self._pages: list[list[Pages]] = [[] for _ in self._numbers]
        self._references = 0

    @property
    def is_exact(self) -> bool:
        """Whether all references are taken."""
        return self._sampler.rate == 1

    @property
    def pages(self) -> float:
        """Distinct pages until now, or as many as the samples stand for."""
        return float(np.mean([numbers.count for numbers in self._numbers])) / self._sampler.rate

    def add(self, keys: Keys) -> None:
        """Take a block of references."""
        self._references += len(keys)
        chosen = self._sampler.choose(keys)
        keys = keys[chosen.row]
        for one, (numbers, pages) in enumerate(zip(self._numbers, self._pages, strict=True)):
            pages.append(numbers.number(keys[chosen.first[one] : chosen.first[one + 1]]))

    def counts(self, sizes: Sizes, *, workers: int = 1, progress: Callable[[int, int], None] | None = None) -> Counts:
        """Simulate caches of *sizes* pages, so many at a time; raises ScenarioError for a policy that is not known."""
        rate, samples = self._sampler.rate, self._sampler.samples
        references = [np.concatenate([np.zeros(0, np.int32), *pages]) for pages in self._pages]
        self._pages = [[one] for one in references]
        missed, scaled = np.zeros((samples, len(sizes))), of_a_sample(self._policy, rate)

        def simulate(sample: int, point: int, note: Note) -> None:
            capacity = max(round(float(sizes[point]) * rate), 1)
            distinct = self._numbers[sample].count
            missed[sample, point] = misses(self._policy, references[sample], distinct, capacity, *scaled)
            note(1)

        runs = [partial(simulate, *run) for run in product(range(samples), range(len(sizes)))]
        side_by_side(runs, None if progress is None else lambda done: progress(done, len(runs)), workers=workers)
        sampled = np.array([len(one) for one in references], np.float64)[:, None]
        first = np.array([numbers.count for numbers in self._numbers], np.float64)[:, None]
        return Counts(
            sizes=sizes,
            references=np.array([self._references]),
            sampled=sampled / rate,
            first=first / rate,
            hits=((sampled - missed) / rate)[:, None, :],
            pages=self.pages,
            exact=self.is_exact,
        )
