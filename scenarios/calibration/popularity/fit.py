"""Laws of popularity from what pools missed and held, and what a pool of another size would miss.

Each table gets the exponent of Zipf's law by which index and heap together miss what was recorded. Everything else that was recorded is
held against it: how the misses divide, usage counts, pools of other sizes. Only where it contradicts Zipf's law are others looked for: of
a table that grows, one whose latest rows are asked for most; of any, a hot set beside Zipf's law.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.evidence import Residual, contradictions, residuals, score
from tiersim.scenarios.calibration.popularity.least_squares import least_squares
from tiersim.scenarios.calibration.popularity.occupancy import Expected, Pool
from tiersim.scenarios.calibration.popularity.tables import AccessedTable, Law

#: Exponents are looked for from uniform to where hardly any row but the first is asked for.
_STEEPEST = 2.5
#: Halvings of that range; and of narrower ones around what was found, since tables in one pool move each other's misses.
_HALVINGS = 13
_AGAIN = ((0.4, 9), (0.1, 7))
#: A hot set takes this share of the accesses at least, by the logarithm of its odds, and leaves as much.
_LEAST_ODDS = 7.0
#: Where the search for a hot set begins: the best few of exponents, shares of the rows, shares of the accesses.
_EXPONENTS, _ROWS, _SHARES, _STARTS = (0.0, 0.6, 1.0), (0.001, 0.01, 0.05, 0.2), (0.2, 0.5, 0.8, 0.95), 8
#: Unknowns of a hot set beside Zipf's law: it is not looked for from fewer figures. By how much another law has to come closer than
#: Zipf's, in squared distances.
_UNKNOWNS, _CLOSER = 3, 0.7
#: Beyond so many times each recorded size, and below that part of it, a prediction is extrapolated.
EXTRAPOLATED = 4

#: Tables as another pool was asked for them, and its pages.
OtherSize = tuple[Sequence[AccessedTable], int]


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
    laws: tuple[Law, ...]
    missed: tuple[Missed, ...]  # by the fitted laws, at the recorded size
    bounded: tuple[str, ...]  # tables that no exponent fits
    seed: int
    residuals: tuple[Residual, ...] = ()
    said: tuple[str, ...] = ()  # what the recording cannot tell, and what contradicts the laws, a sentence each
    other_sizes: tuple[int, ...] = ()  # further recorded pools, in pages

    @property
    def exponents(self) -> tuple[float, ...]:
        """Return the exponent of each law."""
        return tuple(law.exponent for law in self.laws)


def recorded(table: AccessedTable) -> Missed:
    """Return what was recorded of a table, by access."""
    return Missed(table.index_missed / table.accesses, table.heap_missed / table.accesses)


def fit(tables: Sequence[AccessedTable], frames: int, *, others: Sequence[OtherSize] = (), seed: int = 1) -> Fitted:
    """Fit the laws of *tables* to what a pool of *frames* pages missed and held, and what *others* did of the same tables.

    All tables share the pool, so all exponents are halved into their places together, more than once. Raises TraceError when there is
    nothing to fit.
    """
    used = tuple(table for table in tables if table.accesses and table.rows and table.heap_pages)
    if not used:
        raise TraceError("no table was accessed by rows, so nothing is known of which are hot; record a longer time")
    evidence = _Evidence(used, frames, others, seed)
    laws = evidence.halved([Law() for _ in used])
    edge = _STEEPEST / 2**_HALVINGS
    bounded = [
        table.name
        for table, law in zip(used, laws, strict=True)
        if table.index_missed + table.heap_missed and not edge < law.exponent < _STEEPEST - edge
    ]
    said = []
    for place, table in enumerate(used):
        against = contradictions(evidence.residuals(laws, place))
        rounds = evidence.rounds(laws)
        if against and rounds < 1:
            said.append(
                f"{against[0]}: no contradiction, because the hand of the sweep came round only {rounds:.1f} times; record longer"
            )
        elif against and table.name not in bounded:
            said.append(f"{against[0]}: contradicts Zipf's law, which misses as many pages together")
            laws = evidence.better(laws, place)
            said += [
                f"{one}: the law found does not explain it" for one in contradictions(evidence.residuals(laws, place))
            ]
        elif not against and evidence.is_alone(place):
            said.append(
                f"{table.name}: one pool size and no usage counts cannot tell a hot set from Zipf's law, which is taken; "
                "record pg_buffercache, or a second size"
            )
    found = tuple(one for place in range(len(used)) for one in evidence.residuals(laws, place))
    missed = tuple(Missed(one.index_missed, one.heap_missed) for one in evidence.expected(laws))
    return Fitted(used, frames, tuple(laws), missed, tuple(bounded), seed, found, tuple(said), evidence.sizes[1:])


def predict(fitted: Fitted, frames: int) -> tuple[Missed, ...]:
    """Return what each table misses in one access to it, in a warm pool of *frames* pages."""
    expected = Pool(fitted.tables, fitted.seed).expected(fitted.laws, frames)
    return tuple(Missed(one.index_missed, one.heap_missed) for one in expected)


def extrapolated(fitted: Fitted, frames: int) -> bool:
    """Tell whether a pool is so much larger or smaller than the recorded ones that a prediction is a guess."""
    return not any(
        size / EXTRAPOLATED <= frames <= size * EXTRAPOLATED for size in (fitted.frames, *fitted.other_sizes)
    )


class _Evidence:
    """What was recorded of tables that share a pool, of one size or several."""

    def __init__(self, tables: Sequence[AccessedTable], frames: int, others: Sequence[OtherSize], seed: int) -> None:
        self._recorded = [(tables, frames), *((_matched(tables, there), size) for there, size in others)]
        self._pools = [Pool(there, seed) for there, _ in self._recorded]
        self.sizes = tuple(size for _, size in self._recorded)

    def expected(self, laws: Sequence[Law], size: int = 0) -> list[Expected]:
        return self._pools[size].expected(laws, self.sizes[size])

    def residuals(self, laws: Sequence[Law], place: int) -> list[Residual]:
        """Hold all that was recorded of a table against its law."""
        return [
            one
            for size, (tables, frames) in enumerate(self._recorded)
            if tables[place].accesses
            for one in residuals(tables[place], frames, self.expected(laws, size)[place])
        ]

    def rounds(self, laws: Sequence[Law]) -> float:
        """Return how often the hand came round while it was recorded, of the size where it did so least."""
        return min(
            sum(table.accesses for table in tables) / self.expected(laws, size)[0].round_accesses
            for size, (tables, _) in enumerate(self._recorded)
        )

    def is_alone(self, place: int) -> bool:
        """Tell whether nothing but misses in one pool is known of a table."""
        table = self._recorded[0][0][place]
        return not (table.heap_held or table.index_held or sum(bool(t[place].accesses) for t, _ in self._recorded) > 1)

    def halved(self, laws: Sequence[Law], places: Sequence[int] | None = None) -> list[Law]:
        """Return *laws* with the exponents by which tables, all or those at *places*, miss as many pages as were recorded."""
        tables, found = self._recorded[0][0], list(laws)
        moved = range(len(tables)) if places is None else places
        wanted = [recorded(table).index + recorded(table).heap for table in tables]
        middle = dict.fromkeys(moved, _STEEPEST / 2)
        for width, halvings in ((_STEEPEST, _HALVINGS), *(_AGAIN if len(moved) > 1 else ())):
            low = {place: max(middle[place] - width / 2, 0) for place in moved}
            high = {place: min(middle[place] + width / 2, _STEEPEST) for place in moved}
            for _ in range(halvings):
                for place in moved:
                    middle[place] = (low[place] + high[place]) / 2
                    found[place] = replace(found[place], exponent=middle[place])
                expected = self.expected(found)
                for place in moved:
                    too_many = expected[place].index_missed + expected[place].heap_missed > wanted[place]
                    (low if too_many else high)[place] = middle[place]
        return found

    def better(self, laws: Sequence[Law], place: int) -> list[Law]:
        """Return *laws* with another one for a table that contradicts its own, if there is one that comes closer."""
        known = self.residuals(laws, place)
        candidates = []
        if self._recorded[0][0][place].grows:
            recent = [replace(law, recent=law.recent or at == place) for at, law in enumerate(laws)]
            candidates.append(self.halved(recent, [place]))
        explained = any(not contradictions(self.residuals(candidate, place)) for candidate in candidates)
        if len(known) > _UNKNOWNS and not explained:
            candidates.append(self._with_hot_set(laws, place))
        found, least = list(laws), score(known)
        for candidate in candidates:
            reached = score(self.residuals(candidate, place))
            if reached < _CLOSER * least:
                found, least = candidate, reached
        return found

    def _with_hot_set(self, laws: Sequence[Law], place: int) -> list[Law]:
        """Return *laws* with a hot set beside Zipf's law for one table: the least squares from the best places of a grid."""
        rows = self._recorded[0][0][place].rows

        def law(at: NDArray[np.float64]) -> Law:
            exponent, log_share, odds = np.clip(at, (0, -log(rows), -_LEAST_ODDS), (_STEEPEST, 0, _LEAST_ODDS)).tolist()
            return Law(exponent, max(round(rows * exp(log_share)), 1), 1 / (1 + exp(-odds)))

        def off(at: NDArray[np.float64]) -> NDArray[np.float64]:
            found = self.residuals([*laws[:place], law(at), *laws[place + 1 :]], place)
            return np.array([(one.recorded - one.predicted) / one.noise for one in found])

        grid = [np.array((s, log(q), log(h / (1 - h)))) for s in _EXPONENTS for q in _ROWS for h in _SHARES]
        starts = sorted(grid, key=lambda at: float((off(at) ** 2).sum()))[:_STARTS]
        best, _ = min((least_squares(off, start) for start in starts), key=lambda found: found[1])
        return [*laws[:place], law(best), *laws[place + 1 :]]


def _matched(tables: Sequence[AccessedTable], others: Sequence[AccessedTable]) -> list[AccessedTable]:
    """Return *others* in the order of *tables*; a table that is not among them was not accessed."""
    named = {other.name: other for other in others}
    return [named.get(table.name, replace(table, accesses=0, heap_missed=0, index_missed=0)) for table in tables]
