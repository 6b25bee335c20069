"""Least squares of figures that are no linear function of what is looked for."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: Width of the differences that stand for derivatives; rounds; the damping's first value, factors and end; when to
#: stop.
_WIDTH, _ROUNDS = 0.05, 20
_DAMPED, _LESS, _MORE, _MOST = 1e-2, 0.3, 4.0, 1e6
_ENOUGH = 1e-3


def least_squares(off: Callable[[Vector], Vector], start: Vector) -> tuple[Vector, float]:
    """Return where the sum of the squares of *off* is least, downhill from *start*, and that sum.

    The method of Levenberg and Marquardt (SIAM J. 11, 1963), with forward differences.
    """
    best, at_best = start, off(start)
    least, damping = float(at_best @ at_best), _DAMPED
    for _ in range(_ROUNDS):
        steps = np.eye(len(best)) * _WIDTH
        slope = np.stack([(off(best + step) - at_best) / _WIDTH for step in steps], axis=1)
        normal, downhill = slope.T @ slope, -slope.T @ at_best
        before = least
        while damping < _MOST:
            scale = np.diag(np.diag(normal) + 1e-9)
            tried = best + np.linalg.solve(normal + damping * scale, downhill)
            at_tried = off(tried)
            found = float(at_tried @ at_tried)
            if found < least:
                best, at_best, least = tried, at_tried, found
                damping *= _LESS
                break
            damping *= _MORE
        if not least < before * (1 - _ENOUGH):
            break
    return best, least
