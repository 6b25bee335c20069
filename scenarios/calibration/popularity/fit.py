"""Zipf exponents from recorded misses, and the misses of a pool of another size.

Each table has one unknown, the exponent of its law, and one number that it is fitted to, the pages that were missed of its index
and heap together; how these divide is left to be predicted, and says how well the law holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.sweep import ACCESSES, HEAP, INDEX, missed
from tiersim.scenarios.calibration.popularity.tables import AccessedTable, shape_of
from tiersim.simulator.popularity import zipf

#: Exponents are looked for from uniform to where hardly any row but the first is asked for.
_STEEPEST = 2.5
#: Halvings of that range; and of narrower ones around what was found, since tables in one pool move each other's misses.
_HALVINGS = 12
_AGAIN = ((0.4, 9), (0.1, 7))
#: Accesses that are counted, and, for each page of the pool, those that warm it up.
_COUNTED, _WARMING, _LEAST_WARMING, _MOST_WARMING = 500_000, 12, 200_000, 20_000_000
#: Beyond so many times the recorded size, and below that part of it, a prediction is extrapolated.
EXTRAPOLATED = 4


@dataclass(frozen=True)
class Missed:
    """Pages that are missed in one access to a table."""

    index: float
    heap: float


@dataclass(frozen=True)
class Fitted:
    """The law of each table, and how far what it predicts is from what was recorded."""

    tables: tuple[AccessedTable, ...]
    frames: int  # of the recorded pool
    exponents: tuple[float, ...]
    missed: tuple[Missed, ...]  # by the fitted law, at the recorded size
    bounded: tuple[str, ...]  # tables that no exponent fits
    seed: int


def recorded(table: AccessedTable) -> Missed:
    """Return what was recorded of a table, by access."""
    return Missed(table.index_missed / table.accesses, table.heap_missed / table.accesses)


def fit(tables: Sequence[AccessedTable], frames: int, *, seed: int = 1) -> Fitted:
    """Fit the laws of *tables* to what a pool of *frames* pages missed; raises TraceError when there is nothing to fit.

    All tables share the pool, so all exponents are halved into their places together, more than once.
    """
    used = tuple(table for table in tables if table.accesses and table.rows and table.heap_pages)
    if not used:
        raise TraceError("no table was accessed by rows, so nothing is known of which are hot; record a longer time")
    wanted = np.array([recorded(table).index + recorded(table).heap for table in used])
    exponents = np.full(len(used), _STEEPEST / 2)
    for width, halvings in ((_STEEPEST, _HALVINGS), *(_AGAIN if len(used) > 1 else ())):
        low, high = np.maximum(exponents - width / 2, 0), np.minimum(exponents + width / 2, _STEEPEST)
        for _ in range(halvings):
            exponents = (low + high) / 2
            too_many = np.array([one.index + one.heap for one in _simulated(used, frames, exponents, seed)]) > wanted
            low, high = np.where(too_many, exponents, low), np.where(too_many, high, exponents)
        exponents = (low + high) / 2
    edge = _STEEPEST / 2**_HALVINGS
    bounded = tuple(
        table.name
        for table, exponent, misses in zip(used, exponents, wanted, strict=True)
        if misses and not edge < exponent < _STEEPEST - edge
    )
    return Fitted(used, frames, tuple(map(float, exponents)), _simulated(used, frames, exponents, seed), bounded, seed)


def predict(fitted: Fitted, frames: int) -> tuple[Missed, ...]:
    """Return what each table misses in one access to it, in a warm pool of *frames* pages."""
    return _simulated(fitted.tables, frames, np.array(fitted.exponents), fitted.seed)


def extrapolated(fitted: Fitted, frames: int) -> bool:
    """Tell whether a pool is so much larger or smaller than the recorded one that a prediction is a guess."""
    return not fitted.frames / EXTRAPOLATED <= frames <= fitted.frames * EXTRAPOLATED


def _simulated(
    tables: Sequence[AccessedTable], frames: int, exponents: NDArray[np.float64], seed: int
) -> tuple[Missed, ...]:
    shape, pages = shape_of(list(tables))
    laws = [zipf(table.rows, float(exponent)) for table, exponent in zip(tables, exponents, strict=True)]
    weights = np.array([table.accesses for table in tables], np.int64)
    warm = min(max(_WARMING * frames, _LEAST_WARMING), _MOST_WARMING)
    counted = missed(shape, pages, laws, weights, frames, seed, warm, _COUNTED)
    per_access = counted / np.maximum(counted[:, ACCESSES : ACCESSES + 1], 1)
    return tuple(Missed(float(row[INDEX]), float(row[HEAP])) for row in per_access)
