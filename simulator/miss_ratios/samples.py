"""Samples of pages by a hash of their keys, so that all references to a page are in the sample or none is; several
samples share no page.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.kernel import kernel, table_set
from tiersim.random_numbers import _mix
from tiersim.simulator.miss_ratios.counts import MOST_SAMPLES
from tiersim.simulator.miss_ratios.numbering import Keys

_WORD, _LOW = 1 << 32, 0xFFFF_FFFF
#: The golden section of 2^32: seeds next to each other differ in all bits, so that page numbers next to each other do
#: not only change places.
_GOLDEN = 0x9E3779B9


class Chosen(NamedTuple):
    """References of a block that are in a sample, those of each sample together and in their order."""

    row: NDArray[np.int32]  # of the block
    fraction: NDArray[np.int64]  # the hash within the range of the sample, of 2^32
    first: NDArray[np.int64]  # (samples + 1,): where those of each sample begin


@table_set
class Hits(NamedTuple):
    """Room for the references of a block that are in a sample, in their order."""

    row: NDArray[np.int32]  # of the block
    sample: NDArray[np.uint8]
    fraction: NDArray[np.int64]  # the hash within the range of the sample, of 2^32


@kernel(vectorized=True)
def choose(keys: Keys, seed: int, samples: int, thresholds: NDArray[np.int64], hits: Hits) -> int:
    """Write down the references to pages whose hash is below the threshold of its sample; returns
    how many these are.
    """
    count = 0
    for place in range(len(keys)):
        key = keys[place]
        hashed = _mix(_mix((key & _LOW) ^ seed) ^ (key >> 32 & _LOW)) * samples
        which, within = hashed >> 32, hashed & _LOW
        hits.row[count] = place
        hits.sample[count] = which
        hits.fraction[count] = within
        count += within < thresholds[which]
    return count


class Sampler:
    """Chooses references of *samples* disjoint samples, each of a share *rate* of the pages."""

    def __init__(self, rate: float, samples: int, seed: int) -> None:
        """Fewer samples are made of a rate that leaves no room for so many; raises ScenarioError for one that is no
        share.
        """
        if not 0 < rate <= 1:
            raise ScenarioError(f"{rate:g} is no share of the pages; take a sample between 0 and 1, such as 0.01")
        self.samples = max(min(samples, MOST_SAMPLES, int(1 / rate + 1e-9)), 1)
        self.rate = rate
        self._seed = seed * _GOLDEN & _LOW
        self.thresholds = np.full(self.samples, round(min(rate * self.samples, 1.0) * _WORD), np.int64)

    def choose(self, keys: Keys) -> Chosen:
        """Return the references of a block that are in a sample."""
        row, fraction = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        sample = np.empty(len(keys), np.uint8)
        count = choose(keys, self._seed, self.samples, self.thresholds, Hits(row, sample, fraction))
        if self.samples == 1:  # they are in their order
            return Chosen(row[:count], fraction[:count], np.array([0, count]))
        order = np.argsort(sample[:count], kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(sample[:count], minlength=self.samples))])
        return Chosen(row[order], fraction[order], first)

    def rate_of(self, sample: int) -> float:
        """Return the share of the pages that a sample has by its threshold."""
        return float(self.thresholds[sample]) / _WORD / self.samples
