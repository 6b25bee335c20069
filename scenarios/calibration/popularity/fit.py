"""Laws of popularity from what pools missed and held, and what a pool of another size would miss.

Each table gets the exponent of Zipf's law by which index and heap together miss what was recorded. Everything else that
was recorded is held against it: how the misses divide, usage counts, pools of other sizes. Only where it contradicts
Zipf's law are others looked for: of a table that grows, one whose latest rows are asked for most; of one whose rows are
updated, one whose rows moved; of any, a hot set beside Zipf's law.

Laws that explain what was recorded are searched: exponents by halving, hot sets downhill from a grid; what differs by
more than noise is told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, log, sqrt

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.occupancy import LRU2, SWEEP, AccessedTable, Expected, Law, Policy, Pool

#: Of what is compared, so much is left to the closed form and to a server that does more than look up rows: the form is
#: within
#: 0.5 % of a sweep that is walked, and of a PostgreSQL whose law is known within 1 to 2 %.
MODEL = 0.015
#: Of usage counts more: a statement may use a page more than once, which nobody counts.
_COUNTED = 0.05
#: Pages missed in an access, and share of the pool's pages, that do not matter.
_NO_MISSES, _NO_PAGES = 0.001, 0.001
#: A law that is so many times the noise away from a figure is contradicted by it.
CONTRADICTED = 3.0
#: Misses are counted over the whole recording, and one number of them contradicts a law by itself. Usage counts are of
#: one moment: they do together, where their squared distances, none counted as more than CONTRADICTED, and those of
#: misses are more than this on average.
_MISSED, _TOGETHER = "missed", 2.0
#: Usage counts that are compared. How pages divide between 0 and 1 depends on where the hand is when pages come in with
#: more than 1, between 4 and 5 on the last moments.
_COUNTS = {"0 or 1": slice(0, 2), "2": slice(2, 3), "3": slice(3, 4), "4 or 5": slice(4, 6)}


@dataclass(frozen=True)
class TableResidual:
    """One figure of a table in a pool of *frames* pages: recorded, predicted, and how far apart in units of noise."""

    table: str
    frames: int
    figure: str
    recorded: float
    predicted: float
    noise: float

    @property
    def distance(self) -> float:
        """Return how far off it is, in units of noise."""
        return abs(self.recorded - self.predicted) / self.noise

    def __str__(self) -> str:
        """Say it for a person."""
        return (
            f"{self.table}: {self.figure}, pool of {self.frames:,} pages: {self.shown(self.recorded)} recorded, "
            f"{self.shown(self.predicted)} predicted"
        )

    def shown(self, value: float) -> str:
        """Write a value with the digits of the recorded one."""
        return f"{value:,.{0 if self.recorded >= 100 else 4}f}"


def residuals(table: AccessedTable, frames: int, expected: Expected) -> list[TableResidual]:
    """Compare all that was recorded of a table in a pool of *frames* pages with what a law says."""
    found = []
    both = table.index_missed + table.heap_missed
    figures = [
        ("index pages missed per access", table.index_missed, expected.index_missed),
        ("heap pages missed per access", table.heap_missed, expected.heap_missed),
    ]
    if table.together:
        figures = [("pages missed per access", both, expected.index_missed + expected.heap_missed)]
    for figure, count, predicted in figures:
        if figure.startswith("index") and not table.index_pages:
            continue
        recorded = count / table.accesses
        noise = hypot(MODEL * max(recorded, predicted), sqrt(count) / table.accesses, _NO_MISSES)
        found.append(TableResidual(table.name, frames, figure, recorded, predicted, noise))
    for part, held, law in (
        ("index", table.index_held, expected.index_held),
        ("heap", table.heap_held, expected.heap_held),
    ):
        if held:
            for name, counts in _COUNTS.items():
                pages, predicted = float(sum(held[counts])), float(law[counts].sum())
                noise = hypot(_COUNTED * max(pages, predicted), sqrt(pages), _NO_PAGES * frames)
                found.append(
                    TableResidual(
                        table.name, frames, f"{part} pages with a usage count of {name}", pages, predicted, noise
                    )
                )
    return found


def score(found: Sequence[TableResidual]) -> float:
    """Return the sum of squared distances."""
    return sum(residual.distance**2 for residual in found)


def contradicts(found: Sequence[TableResidual]) -> bool:
    """Tell whether a law cannot explain the figures."""
    telling = [one for one in found if max(one.recorded, one.predicted) > one.noise]
    against = contradictions(telling)
    if any(_MISSED in one.figure for one in against):
        return True
    return bool(against) and sum(min(one.distance, CONTRADICTED) ** 2 for one in telling) > _TOGETHER * len(telling)


def tells_misses(found: Sequence[TableResidual]) -> bool:
    """Tell whether so many pages were missed that their number says something of a law."""
    return any(_MISSED in one.figure and one.recorded > CONTRADICTED * one.noise for one in found)


def contradictions(found: Sequence[TableResidual]) -> list[TableResidual]:
    """Return the figures that a law cannot explain, the worst first."""
    return sorted((one for one in found if one.distance > CONTRADICTED), key=lambda one: -one.distance)


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


class PoolEvidence:
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

    def residuals(self, laws: Sequence[Law], place: int) -> list[TableResidual]:
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
        if len(moved) == 1:
            place = moved[0]

            def excess(exponent: float) -> float:
                """Return how many more pages of an access are missed than were recorded."""
                found[place] = replace(found[place], exponent=exponent)
                expected = self.expected(found)[place]
                return expected.index_missed + expected.heap_missed - wanted[place]

            found[place] = replace(found[place], exponent=where_it_falls(excess))
            return found
        middle = dict.fromkeys(moved, _STEEPEST / 2)
        for width, halvings in ((_STEEPEST, _HALVINGS), *_AGAIN):
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
                        f"{table.name}: {moved[place].moved:.0%} of its pages were full when it was loaded; assumed:"
                        " the first update in such a page moved a row to another page (non-HOT)"
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


def where_it_falls(excess: Callable[[float], float]) -> float:
    """Return the exponent at which a falling *excess* is 0, as closely as so many halvings find it.

    The next place is where the line through the ends leads (regula falsi; an end that stays twice counts half: the
    Illinois algorithm, M. Dowell and P. Jarratt, BIT 11, 1971), on the grid of halvings: so both find the same.
    """
    parts = 1 << _HALVINGS - 1
    low, high = 0, parts
    at_low = at_high = 0.0  # 0: not looked at
    was_low = True
    while high - low > 1:
        middle = (low + high) // 2
        if at_low and at_high:
            middle = min(max(round(low + (high - low) * at_low / (at_low - at_high)), low + 1), high - 1)
        found = excess(_STEEPEST * middle / parts)
        if found > 0:
            low, at_low, at_high = middle, found, at_high / 2 if was_low else at_high
        else:
            high, at_low, at_high = middle, at_low if was_low else at_low / 2, found
        was_low = found > 0
    return _STEEPEST * (low + high) / (2 * parts)


def _matched(tables: Sequence[AccessedTable], others: Sequence[AccessedTable]) -> list[AccessedTable]:
    """Return *others* in the order of *tables*; a table that is not among them was not accessed."""
    named = {other.name: other for other in others}
    return [named.get(table.name, replace(table, accesses=0, heap_missed=0, index_missed=0)) for table in tables]


#: Beyond so many times the largest recorded size, and below that part of the smallest, a prediction is extrapolated.
EXTRAPOLATED = 4
#: What would tell a hot set from Zipf's law, by how pages are replaced.
_REMEDIES: dict[Policy, str] = {
    SWEEP: (
        "no usage counts cannot tell a hot set from Zipf's law, which is used; record pg_buffercache, or a second size"
    ),
    LRU2: (
        "nothing else cannot tell a hot set from Zipf's law, which is used; record the load with a second max server"
        " memory, too"
    ),
}

_OF_INNODB = (
    "nothing else cannot tell a hot set from Zipf's law, which is used; record the load with a second"
    " innodb_buffer_pool_size, too"
)


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
    residuals: tuple[TableResidual, ...] = ()
    said: tuple[str, ...] = ()  # what the recording cannot tell, and what contradicts the laws, a sentence each
    other_sizes: tuple[int, ...] = ()  # further recorded pools, in pages
    unused: int = 0  # frames of the recorded pool that held nothing when the recording began
    policy: Policy = SWEEP  # how it replaced pages
    heap_held: tuple[float, ...] = ()  # pages of each table's heap that it holds in the long run, by the fitted laws
    contradicted: tuple[str, ...] = ()  # of what is said, what no law explains
    added: int = 0  # pages that sessions put behind relations while it was recorded

    @property
    def exponents(self) -> tuple[float, ...]:
        """Return the exponent of each law."""
        return tuple(law.exponent for law in self.laws)


def fit(
    tables: Sequence[AccessedTable],
    frames: int,
    *,
    unused: int = 0,
    others: Sequence[OtherSize] = (),
    seed: int = 1,
    policy: Policy = SWEEP,
) -> Fitted:
    """Fit the laws of *tables* to what a pool of *frames* pages missed and held, and what *others* did of the same
    tables.

    Pages are replaced by *policy*. So many of the frames were *unused* when it was recorded first; those of *others*
    were full. All tables share the pool, so all exponents are halved into their places together, more than once. Raises
    TraceError when there is nothing to fit.
    """
    used = tuple(table for table in tables if table.accesses and table.rows and table.heap_pages)
    if not used:
        raise TraceError("no table was accessed by rows, so nothing is known of which are hot; record a longer time")
    evidence = PoolEvidence(used, frames, unused, others, seed, policy)
    unknown = [place for place, table in enumerate(used) if not table.even]
    laws = evidence.plainest(evidence.halved([Law() for _ in used], unknown), unknown)
    bounded = [
        table.name
        for place, (table, law) in enumerate(zip(used, laws, strict=True))
        if not table.even
        and table.index_missed + table.heap_missed
        and at_its_edge(law)
        and contradicts(evidence.residuals(laws, place))
    ]
    said, alone, contradicted = [], [], []
    for place in unknown:
        table = used[place]
        residuals = evidence.residuals(laws, place)
        against = contradictions(residuals) if contradicts(residuals) else []
        rounds = evidence.rounds(laws)
        if against and rounds < 1:
            said.append(
                f"{against[0]}: not counted against the law, since the sweep went round the pool only {rounds:.1f}"
                " times; record longer"
            )
        elif against and table.name not in bounded:
            before = laws[place]
            laws, alike = evidence.better(laws, place)
            residuals = evidence.residuals(laws, place)
            same = next(one for one in residuals if (one.frames, one.figure) == (against[0].frames, against[0].figure))
            used_now = (
                "no other one explains it better"
                if laws[place] == before
                else f"so the model takes {_in_words(laws[place])}: {same.shown(same.predicted)} predicted"
            )
            said += [f"{against[0]} by Zipf's law alone; {used_now}", *alike]
            left = contradictions(residuals) if contradicts(residuals) else []
            contradicted += [f"{one}: not explained by the fitted access distribution" for one in left]
        elif not against and evidence.is_alone(place):
            alone.append(table.name)
        elif not against and rounds < 1 and not unused and policy == SWEEP and tells_misses(residuals):
            said.append(
                f"{table.name}: the sweep went round the pool {rounds:.2f} times, so its misses and usage counts"
                " are of pages that lay there before; a pool of another size may miss more or fewer; record longer"
            )
    if alone:
        said.append(f"{', '.join(alone)}: one pool size and {_REMEDIES.get(policy, _OF_INNODB)}")
    found = tuple(one for place in range(len(used)) for one in evidence.residuals(laws, place))
    expected = evidence.expected(laws)
    missed = tuple(Missed(one.index_missed, one.heap_missed) for one in expected)
    held = tuple(float(one.heap_held.sum()) for one in expected)
    return Fitted(
        used,
        frames,
        tuple(laws),
        missed,
        tuple(bounded),
        seed,
        found,
        (*said, *contradicted),
        evidence.sizes[1:],
        unused,
        policy,
        held,
        tuple(contradicted),
    )


def _in_words(law: Law) -> str:
    """Name an access distribution that Zipf's law gave way to."""
    if law.hot_share:
        return f"a hot set of {law.hot_rows:,} rows with {law.hot_share:.0%} of the accesses"
    kinds = {"for recent rows": law.recent, "and rows that updates moved to other pages": law.moved}
    return " ".join(["Zipf's law", *(kind for kind, is_so in kinds.items() if is_so)])


def predict(fitted: Fitted, frames: int) -> tuple[Missed, ...]:
    """Return what each table misses in one access to it, in a warm pool of *frames* pages."""
    expected = Pool(fitted.tables, fitted.seed, fitted.policy).expected(fitted.laws, frames)
    return tuple(Missed(one.index_missed, one.heap_missed) for one in expected)


def added_held(fitted: Fitted, frames: int) -> int:
    """Return how many of a pool's *frames* hold pages of inserted rows in the long run."""
    if not fitted.added:
        return 0
    return round(Pool(fitted.tables, fitted.seed, fitted.policy).added_held(fitted.laws, frames, fitted.added))


def extrapolated(fitted: Fitted, frames: int) -> bool:
    """Tell whether a pool is so much larger or smaller than the recorded ones that a prediction is a guess; exactly
    a quarter, or four times as large, is none.
    """
    sizes = (fitted.frames, *fitted.other_sizes)
    return not min(sizes) // EXTRAPOLATED <= frames <= max(sizes) * EXTRAPOLATED


def alike(fitted: Fitted) -> tuple[tuple[Law, ...], ...]:
    """Return by table the laws that explain what was recorded as well, from those that miss most of a pool four times
    as large to those that miss least.

    Misses are known to the scatter of their number, and to what the closed form is off; rows may have moved to any
    degree that other figures do not contradict.
    """
    evidence = PoolEvidence(fitted.tables, fitted.frames, fitted.unused, (), fitted.seed, fitted.policy)
    pool = Pool(fitted.tables, fitted.seed, fitted.policy)
    found = []
    for place, table in enumerate(fitted.tables):
        laws = [] if table.even else evidence.alike(fitted.laws, place)

        def missed(law: Law, place: int = place) -> float:
            (*before, _), behind = fitted.laws[: place + 1], fitted.laws[place + 1 :]
            expected = pool.expected([*before, law, *behind], EXTRAPOLATED * fitted.frames)[place]
            return expected.index_missed + expected.heap_missed

        found.append(tuple(sorted(laws or [fitted.laws[place]], key=missed, reverse=True)))
    return tuple(found)
