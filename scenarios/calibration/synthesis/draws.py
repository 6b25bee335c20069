"""Random numbers of a synthesis: hashes of the seed and of what they are for, so that nothing depends on an order of
work.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from tiersim.random_numbers import SYNTHESIS, fill_random_bits


class Draws:
    """The luck of one seed; every use of it has a name of its own."""

    def __init__(self, seed: int, *names: object) -> None:
        """Begin with *names* that are part of those of every draw."""
        self._seed = seed
        self._names = names

    def about(self, *names: object) -> "Draws":
        """Return the draws that are for something in particular."""
        return Draws(self._seed, *self._names, *names)

    def uniform(self, count: int, *names: object) -> NDArray[np.float64]:
        """Return numbers in (0, 1)."""
        return (self._bits(count, *names) + 0.5) / 2**32

    def normal(self, count: int, *names: object) -> NDArray[np.float64]:
        """Return standard normal numbers (Box and Muller, Ann. Math. Stat. 29, 1958)."""
        uniform = self.uniform(2 * count, *names)
        length = np.sqrt(-2 * np.log(uniform[:count]))
        normal: NDArray[np.float64] = length * np.cos(2 * np.pi * uniform[count:])
        return normal

    def order(self, count: int, *names: object) -> NDArray[np.int64]:
        """Return a permutation of 0 … *count* - 1."""
        return np.argsort(self._bits(count, *names), kind="stable")

    def _bits(self, count: int, *names: object) -> NDArray[np.int64]:
        text = "\0".join(str(name) for name in (*self._names, *names))
        entity = int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest()) >> 1
        bits = np.zeros(count, np.int64)
        fill_random_bits(bits, self._seed, SYNTHESIS, entity)
        return bits
