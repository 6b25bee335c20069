"""Rows in order, and those that belong together: of each file, each query, each stream."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: numpy sorts integers of 16 bits by their digits, a tenth of the time of others.
_SHORT = 1 << 16


def order_by_code(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows in order of their *codes* (from 0 on), those of one code in their order."""
    return np.argsort(codes.astype(np.uint16) if codes.max(initial=0) < _SHORT else codes, kind="stable")


def order_by(first: NDArray[np.int64], *others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows in order of *first*, where that is equal of the *others*, the earlier one before; rows that are
    equal in all in their order.

    Where *first* seldom repeats, it takes a tenth of the time of ``np.lexsort``: numpy sorts integers with vector
    instructions if equal ones need not keep their order.

    >>> order_by(np.array([7, 5, 7, 5]), np.array([2, 0, 1, 0])).tolist()
    [1, 3, 2, 0]
    """
    order: NDArray[np.int64] = np.argsort(first)
    ordered = first[order]
    repeats = ordered[1:] == ordered[:-1]
    if repeats.any():
        places = np.flatnonzero(np.append(False, repeats) | np.append(repeats, False))
        rows = np.sort(order[places])
        order[places] = rows[np.lexsort([column[rows] for column in (*reversed(others), first)])]
    return order


def rows_of_each(codes: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each of *codes* (from 0 on) that occurs, ascending, with its rows in their order.

    It takes one sort, however many codes there are: a mask for each would go through all rows as often as there are
    codes.

    >>> [(code, rows.tolist()) for code, rows in rows_of_each(np.array([3, 0, 3]))]
    [(0, [1]), (3, [0, 2])]
    """
    if not len(codes):
        return
    if (codes == codes[0]).all():
        yield int(codes[0]), np.arange(len(codes))
        return
    order = order_by_code(codes)
    ordered = codes[order]
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    for first, behind in zip(firsts.tolist(), [*firsts[1:].tolist(), len(order)], strict=True):
        yield int(ordered[first]), order[first:behind]
