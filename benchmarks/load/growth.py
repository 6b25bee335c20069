"""The exponent by which a cost grows with size."""

from collections.abc import Sequence
from math import log

#: Of a cost that is less than this share above that of the start nothing is told.
_ABOVE = 0.1


def exponent(sizes: Sequence[int], costs: Sequence[float], start: float) -> float | None:
    """Return k of cost = start + b x size^k by least squares of the logarithms; None where less than two sizes cost
    more than the *start*.

    *start* is what a hundredth part of an input, or less, costs: imports, compiled code read from disk, the page's own
    scripts.

    >>> exponent([10, 100, 1000], [2.0, 11.0, 101.0], 1.0)
    1.0
    """
    known = [
        (log(size), log(cost - start)) for size, cost in zip(sizes, costs, strict=True) if cost - start > _ABOVE * start
    ]
    if len(known) < 2:
        return None
    mean_x, mean_y = sum(x for x, _ in known) / len(known), sum(y for _, y in known) / len(known)
    slope: float = sum((x - mean_x) * (y - mean_y) for x, y in known) / sum((x - mean_x) ** 2 for x, _ in known)
    return round(slope, 2)
