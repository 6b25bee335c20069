"""Looks for laws that explain what was recorded: exponents by halving, hot sets downhill from a grid."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, hypot, log, sqrt

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity.accessed_table import AccessedTable, Law
from tiersim.scenarios.calibration.popularity.evidence import (
    MODEL,
    Residual,
    contradicts,
    residuals,
    score,
    tells_misses,
)
from tiersim.scenarios.calibration.popularity.occupancy import SWEEP, Expected, Policy, Pool

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


#: Tables as another pool was asked for them, and its pages.
OtherSize = tuple[Sequence[AccessedTable], int]

#: Exponents are looked for from uniform to where hardly any row but the first is asked for.
_STEEPEST = 2.5
#: Halvings of that range; and of narrower ones around what was found, since tables in one pool move each other's
#: misses.
_HALVINGS = 13
_AGAIN = ((0.4, 9), (0.1, 7))
#: A hot set takes this share of the accesses at least, by the logarithm of its odds, and leaves as much.
_LEAST_ODDS = 7.0
#: Where the search for a hot set begins: the best few of exponents, shares of the rows, shares of the accesses.
_EXPONENTS, _ROWS, _SHARES, _STARTS = (0.0, 0.6, 1.0), (0.001, 0.01, 0.05, 0.2), (0.2, 0.5, 0.8, 0.95), 6
#: Unknowns of a hot set beside Zipf's law: it is not looked for from fewer figures. By how much another law has to come
#: closer than Zipf's, in squared distances.
_UNKNOWNS, _CLOSER = 3, 0.7
#: Hot sets whose squared distances are no more than so much above the least explain as well: 95 % of chi square with
#: three unknowns.
_AS_WELL = 7.8
#: No exponent explains as well as one that is no more closer, in squared distances: 95 % of chi square with one
#: unknown.
_NO_WORSE = 3.8
#: Shares of the pages whose first updated row moved: all of them in the long run, where rows were updated at all.
_MOVED = (0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
#: They are said where the largest has so many times the rows of the smallest.
_DIFFERENT = 1.1


def at_its_edge(law: Law) -> bool:
    """Tell whether halving ended where it began: no exponent misses as much, or as little."""
    edge = _STEEPEST / 2**_HALVINGS
    return not edge < law.exponent < _STEEPEST - edge


class Evidence:
    """What was recorded of tables that share a pool, of one size or several."""

    def __init__(
        self,
        tables: Sequence[AccessedTable],
        frames: int,
        unused: int,
        others: Sequence[OtherSize],
        seed: int,
        policy: Policy = SWEEP,
    ) -> None:
        """Take *tables* as a pool of *frames* pages, so many of them *unused* at first, was asked for them; of *others*
        the same tables count, whose pools were full.
        """
        self._recorded = [(tables, frames), *((_matched(tables, there), size) for there, size in others)]
        self._pools = [Pool(there, seed, policy) for there, _ in self._recorded]
        self.sizes = tuple(size for _, size in self._recorded)
        self._unused = (unused, *(0 for _ in others))
        self._versions = policy == SWEEP  # PostgreSQL's updates move rows, before the recording, too
        self._known: dict[int, tuple[tuple[Law, ...], list[Expected]]] = {}  # by size, what was predicted last

    def expected(self, laws: Sequence[Law], size: int = 0) -> list[Expected]:
        """Return what laws predict of a recorded pool."""
        known = self._known.get(size)
        if known is None or known[0] != tuple(laws):
            found = self._pools[size].expected(laws, self.sizes[size], self._unused[size])
            known = self._known[size] = tuple(laws), found
        return known[1]

    def residuals(self, laws: Sequence[Law], place: int) -> list[Residual]:
        """Hold all that was recorded of a table against its law."""
        return [
            one
            for size, (tables, frames) in enumerate(self._recorded)
            if tables[place].accesses and not tables[place].even
            for one in residuals(tables[place], frames, self.expected(laws, size)[place])
        ]

    def rounds(self, laws: Sequence[Law]) -> float:
        """Return how often the hand came round while it was recorded, of the size where it did so least."""
        return min(self.expected(laws, size)[0].rounds for size in range(len(self.sizes)))

    def is_alone(self, place: int) -> bool:
        """Tell whether nothing but misses in one pool is known of a table."""
        table = self._recorded[0][0][place]
        return not (table.heap_held or table.index_held or sum(bool(t[place].accesses) for t, _ in self._recorded) > 1)

    def halved(self, laws: Sequence[Law], moved: Sequence[int], factor: float = 1.0) -> list[Law]:
        """Return *laws* with the exponents by which the tables at the places *moved* miss as many pages as were
        recorded, or *factor* times as many.
        """
        tables, found = self._recorded[0][0], list(laws)
        wanted = [factor * (table.index_missed + table.heap_missed) / table.accesses for table in tables]
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

    def plainest(self, laws: Sequence[Law], places: Sequence[int]) -> list[Law]:
        """Return *laws* with the rows of a table asked for evenly where that explains what was recorded as well as its
        exponent does.

        A small pool misses nearly as much by a small exponent as by none, and a large one much less; loads whose keys
        are drawn at random have none.
        """
        found = list(laws)
        for place in places:
            even = [*found[:place], replace(found[place], exponent=0.0), *found[place + 1 :]]
            against = self.residuals(even, place)
            no_worse = score(against) <= score(self.residuals(found, place)) + _NO_WORSE
            if no_worse and tells_misses(against) and not contradicts(against):
                found = even
        return found

    def better(self, laws: Sequence[Law], place: int) -> tuple[list[Law], list[str]]:
        """Return *laws* with another one for a table that contradicts its own, if there is one that comes closer; and
        what cannot be told.
        """
        table, known = self._recorded[0][0][place], self.residuals(laws, place)
        found, least = list(laws), _CLOSER * score(known)
        said: list[str] = []
        if table.grows:
            recent = self.halved(
                [replace(law, recent=law.recent or at == place) for at, law in enumerate(laws)], [place]
            )
            against = self.residuals(recent, place)
            if not contradicts(against):
                return recent, []
            if score(against) < least:
                found, least = recent, _CLOSER * score(against)
        before = self._versions and len(known) >= _UNKNOWNS and table.rows > table.heap_pages
        if table.updated or before:
            moved = min(
                (self._moved(laws, place, share) for share in _MOVED), key=lambda one: score(self.residuals(one, place))
            )
            against = self.residuals(moved, place)
            if score(against) < least:
                found, least = moved, _CLOSER * score(against)
                said = [
                    (
                        f"{table.name}: non-HOT updates moved one row of {moved[place].moved:.0%} of its pages, since"
                        " they were full"
                    )
                ]
                if not contradicts(against):
                    return found, said
        if len(known) < _UNKNOWNS:
            return found, [
                *said,
                (
                    f"{table.name}: {len(known)} figures are too few to find a hot set; record usage counts, or a"
                    " second pool size"
                ),
            ]
        (best, reached), *others = self._hot_sets(laws, place)
        if reached >= least:
            return found, said
        alike = [best, *(law for law, off in others if off <= reached + _AS_WELL)]
        rows, shares = sorted(law.hot_rows for law in alike), sorted(law.hot_share for law in alike)
        as_well = (
            f"{table.name}: the hot set may have {rows[0]:,} to {rows[-1]:,} rows with {shares[0]:.0%} to"
            f" {shares[-1]:.0%} of the accesses; the recording does not tell"
        )
        return [*laws[:place], best, *laws[place + 1 :]], [as_well] if rows[-1] > rows[0] * _DIFFERENT else []

    def alike(self, laws: Sequence[Law], place: int) -> list[Law]:
        """Return laws of a table that explain what was recorded of it as well as its own does: with more or fewer rows
        moved, and that miss a little more or less.
        """
        table, own = self._recorded[0][0][place], laws[place]
        shares = [own.moved]
        if self._versions and own.hot_share == 0 and not own.recent and table.rows > table.heap_pages:
            least = score(self.residuals(laws, place))
            others = {share: self._moved(laws, place, share) for share in (0.0, *_MOVED) if share != own.moved}
            shares += [share for share, one in others.items() if score(self.residuals(one, place)) <= least + _AS_WELL]
        missed = table.index_missed + table.heap_missed
        off = hypot(MODEL, 2 / sqrt(max(missed, 1)))
        found = []
        for share in shares:
            for factor in (1 - off, 1.0, 1 + off):
                changed = [*laws[:place], replace(own, moved=share), *laws[place + 1 :]]
                found.append(self.halved(changed, [place], factor)[place])
        return found

    def _moved(self, laws: Sequence[Law], place: int, share: float) -> list[Law]:
        """Return *laws* with rows of one table moved, and the exponent by which as much is missed then."""
        return self.halved([*laws[:place], replace(laws[place], moved=share), *laws[place + 1 :]], [place])

    def _hot_sets(self, laws: Sequence[Law], place: int) -> list[tuple[Law, float]]:
        """Return hot sets beside Zipf's law for one table, and how far off they are, the closest first: downhill from
        the best places of a grid.
        """
        rows = self._recorded[0][0][place].rows

        def law(at: NDArray[np.float64]) -> Law:
            exponent, log_share, odds = np.clip(at, (0, -log(rows), -_LEAST_ODDS), (_STEEPEST, 0, _LEAST_ODDS)).tolist()
            return Law(exponent, max(round(rows * exp(log_share)), 1), 1 / (1 + exp(-odds)))

        def off(at: NDArray[np.float64]) -> NDArray[np.float64]:
            found = self.residuals([*laws[:place], law(at), *laws[place + 1 :]], place)
            return np.array([(one.recorded - one.predicted) / one.noise for one in found])

        grid = [np.array((s, log(q), log(h / (1 - h)))) for s in _EXPONENTS for q in _ROWS for h in _SHARES]
        starts = sorted(grid, key=lambda at: float((off(at) ** 2).sum()))[:_STARTS]
        ends = [least_squares(off, start) for start in starts]
        return [(law(at), squares) for at, squares in sorted(ends, key=lambda end: end[1])]


def _matched(tables: Sequence[AccessedTable], others: Sequence[AccessedTable]) -> list[AccessedTable]:
    """Return *others* in the order of *tables*; a table that is not among them was not accessed."""
    named = {other.name: other for other in others}
    return [named.get(table.name, replace(table, accesses=0, heap_missed=0, index_missed=0)) for table in tables]
