"""What a pool holds and misses in the long run, in closed form, when each access is independent of those before.

**PostgreSQL's sweep.** The hand comes by every page after the same time T, in accesses. In between a page of
probability p is asked for x = p T times on average, by Poisson's law, so that its usage count is a Markov chain in x
alone: it enters with a count of 1, each use adds one up to 5, the hand takes one off and evicts it at 0. If it stays
M(x) rounds on average, and then is asked for again after 1/p, it is there a share of M x / (M x + 1) of the time. T is
where these shares add up to the frames (as Che, Tung and Wang do for LRU, IEEE JSAC 20, 2002).

**SQL Server's LRU-2.** The page goes whose last use but one is longest ago, and what is known of pages that left is
kept. So a page is there if it was
used twice within the same time T, which is so for 1 - (1 + x) exp(-x) of the time; once is enough where each access
uses it more than once.

A pool that has unused frames misses each page once, when it is asked for first: after n accesses all but a share exp(-p
n) of the pages have come. When they fill it, it goes on as in the long run. What it held when it was recorded first is
taken for what the same accesses had brought.

Large tables are looked at by a sample of their ranks and pages, in a pool that is as much smaller.

A table has what is known of it, and the pages that a lookup through its index touches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity.midpoint import (
    OLD_SHARE,
    MidpointPool,
    shares,
    shares_of_settled,
)
from tiersim.simulator.popularity import Hot, Popularity, first_updated, zipf

#: Entries of an inner page of a B-tree, for levels that nobody counted: 27,323 leaves under 97 inner pages, measured on
#: an index over bigint that PostgreSQL 18 built with the default fill factor.
INNER_ENTRIES = 281


@dataclass(frozen=True)
class AccessedTable:
    """One table, the index that its rows are looked up by, and what the recorded buffer pool missed.

    An access is one row that one or more statements (*touches*) look up, one after the other: later ones find its
    pages. Index and heap lie in the order of the key if *ordered*, and independent of each other if not.
    """

    name: str
    rows: int
    heap_pages: int
    index_pages: int  # 0: rows are not looked up through an index
    accesses: int
    heap_missed: int
    index_missed: int
    touches: int = 1
    ordered: bool = True
    index_held: tuple[int, ...] = ()  # pages in the pool by usage count, 0 to 5; empty where that was not recorded
    heap_held: tuple[int, ...] = ()
    grows: bool = False  # rows were inserted
    updated: bool = False  # rows were updated, and new versions may lie on other pages (PostgreSQL)
    together: bool = False  # misses of index and heap were counted as one number, that of the heap
    even: bool = False  # hardly a page of it was missed, so nothing tells which rows are hot: all are asked for alike
    file_pages: int = 0  # of the heap's file, where rows have come to lie behind heap_pages; 0: no more than those

    def heap_pages_by(self, law: "Law") -> int:
        """Return the pages that the rows lie on before those that *law* puts behind them: rows that have moved lie on
        more pages than the statistics counted, and a law without such rows spreads all of them over the file.
        """
        return self.heap_pages if law.moved else max(self.heap_pages, self.file_pages)


@dataclass(frozen=True)
class Law:
    """How often the rows of a table are asked for, by rank: Zipf's law, of whose accesses a hot set takes a share.

    The row of a rank lies anywhere; if *recent*, ranks count from the end of the table, where new rows are. Of a share
    *moved* of the heap's pages the row that was updated first lies on pages behind them
    (:mod:`tiersim.simulator.popularity`).
    """

    exponent: float = 0.0
    hot_rows: int = 0
    hot_share: float = 0.0
    recent: bool = False
    moved: float = 0.0

    @property
    def hot(self) -> Hot:
        """Return the hot set as the simulator has it."""
        return ((self.hot_rows, self.hot_share),) if self.hot_share else ()

    def table(self, rows: int) -> Popularity:
        """Return the law over so many rows, as the simulator draws from it."""
        return zipf(rows, self.exponent, self.hot)


def levels(index_pages: int) -> list[int]:
    """Return how many pages each level of a B-tree has, from the root on; the page that describes the index is left
    out.

    >>> levels(27422)
    [1, 98, 27323]
    """
    if not index_pages:
        return []
    counts = [max((index_pages - 1) * (INNER_ENTRIES - 1) // INNER_ENTRIES, 1)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // INNER_ENTRIES))
    return counts[::-1]


#: How pools replace pages.
SWEEP, LRU2 = "sweep", "LRU-2"
Policy = str | MidpointPool
#: PostgreSQL's sweep: a page begins with a usage count of 1 and keeps up to 5 (storage/buf_internals.h).
FIRST, MOST = 1, 5
#: Rows of a table that are looked at: more move what is missed by less than one per cent.
_SAMPLED = 1 << 18
#: Pages whose probabilities are closer than this, by logarithm, are taken together.
_ALIKE = 0.01
#: Expected uses between two visits of the hand, by logarithm, and beyond which a page stays for good.
_LOG_X = np.linspace(np.log(1e-7), np.log(1e4), 1600)
_STAYS = 16.0
#: Halvings of the logarithm of T; points of Gauss and Legendre over the time between two visits.
_HALVINGS, _POINTS = 26, 6
#: Logarithms between which the time in InnoDB's old part lies by that in its young part, and halvings of it.
_RATIOS, _RATIO_HALVINGS = (-7.0, 7.0), 12
#: An old part of so much of the pool is no part: no page becomes young.
_ALL_OLD = (1 + OLD_SHARE) / 2


@dataclass(frozen=True)
class Expected:
    """Of one table: pages missed in an access, pages held in the long run by usage count 0 to 5 (LRU-2 has none, and
    all count as 0); how often the hand came round while it was recorded, or a page that is never used again left the
    pool.
    """

    index_missed: float
    heap_missed: float
    index_held: NDArray[np.float64]
    heap_held: NDArray[np.float64]
    rounds: float


class Pool:
    """Tables whose pages share a pool; which rows lie on a page is drawn once, so that laws are compared on the same
    pages.
    """

    def __init__(self, tables: Sequence[AccessedTable], seed: int, policy: Policy = SWEEP) -> None:
        """Draw where the rows of *tables* lie; *policy* is SWEEP, LRU2 or InnoDB's."""
        self._policy = policy
        self._accesses = sum(table.accesses for table in tables)
        self._tables = [
            _Sample(table, table.accesses / self._accesses, seed + place, policy) for place, table in enumerate(tables)
        ]

    def expected(self, laws: Sequence[Law], frames: int, unused: int = 0) -> list[Expected]:
        """Return what a pool of *frames* pages misses of each table while all accesses are made, by *laws* in their
        order.

        Of the frames so many are *unused* when they begin; the pool holds in the end what it holds in the long run.
        """
        pages = [table.asked(law) for table, law in zip(self._tables, laws, strict=True)]

        def together(share: Callable[[_Sample, _Pages], NDArray[np.float64]]) -> float:
            return sum(
                table.each * float(level.pages @ share(table, level))
                for table, asked in zip(self._tables, pages, strict=True)
                for level in asked
            )

        def held() -> float:
            return _where(lambda log_time: together(lambda table, level: table.there(level, log_time)), frames)

        if isinstance(self._policy, MidpointPool):
            visited = self._at_midpoint(self._policy, held, together, frames)
        else:
            visited = held()

        def brought(log_accesses: float) -> float:
            return together(lambda _, level: level.come(log_accesses))

        begun = ended = 0.0
        if unused:
            begun = float(np.exp(_where(brought, frames - unused)))
            ended = min(float(np.exp(_where(brought, frames))), begun + self._accesses)
        return [
            table.expected(asked, visited, _Filling(begun, ended, self._accesses))
            for table, asked in zip(self._tables, pages, strict=True)
        ]

    def _at_midpoint(
        self,
        policy: MidpointPool,
        held: Callable[[], float],
        together: Callable[[Callable[["_Sample", "_Pages"], NDArray[np.float64]]], float],
        frames: int,
    ) -> float:
        """Return the logarithm of the time that a young page stays without a use, when the old part has its share of
        *frames*; curves are of that afterwards.
        """

        def old_at(log_time: float) -> float:
            return together(lambda table, level: table.old(level, log_time))

        def balanced(curves: Callable[[float, float], tuple[NDArray[np.float64], NDArray[np.float64]]]) -> _Balance:
            low, high = _RATIOS
            log_time, old = float(np.log(max(frames, 2.0))), 0.0
            for _ in range(_RATIO_HALVINGS):
                ratio = float(np.exp((low + high) / 2))
                for _ in range(2):  # the old time counts in that of the young
                    for table in self._tables:
                        table.at_midpoint(*curves(ratio, log_time))
                    log_time = held()
                old = old_at(log_time)
                halved = low + (high - low) / 2
                low, high = (halved, high) if old < OLD_SHARE * frames else (low, halved)
            return _Balance(log_time, old)

        x = np.exp(_LOG_X)
        moving = balanced(lambda ratio, log_time: shares(x, ratio, policy.old_accesses / float(np.exp(log_time))))
        if moving.old < _ALL_OLD * frames:
            return moving.log_time
        return balanced(lambda ratio, _: shares_of_settled(x, ratio)).log_time

    def added_held(self, laws: Sequence[Law], frames: int, added: int) -> float:
        """Return how many of the *frames* of a swept pool hold pages that were put behind relations, so many of them
        while all accesses are made, and that nobody asks for once they are full.

        Whose rows are inserted one after the other has the highest usage count when it is full. The hand comes by after
        half its round on average, takes that off in as many rounds, and evicts it in the next.
        """
        each = added / self._accesses * (MOST + 0.5)
        levels_of = [
            (table, level) for table, law in zip(self._tables, laws, strict=True) for level in table.asked(law)
        ]

        def held(log_time: float) -> float:
            shares = (table.each * float(level.pages @ table.there(level, log_time)) for table, level in levels_of)
            return sum(shares) + each * float(np.exp(log_time))

        return each * float(np.exp(_where(held, frames)))

    def lru_below(self, laws: Sequence[Law], frames: int, missed_share: float) -> float:
        """Return how many pages an LRU cache has that is asked for what a warm pool of *frames* pages misses, and
        misses such a share of that itself.

        A page that is missed lies in both, and is missed again when it has left the pool and is asked for: after the
        time r that it stays there, taken for its mean, and 1 / p on average behind that. The cache has it then if it
        keeps pages for longer.
        """
        levels_of = [
            (table, level) for table, law in zip(self._tables, laws, strict=True) for level in table.asked(law)
        ]
        counts = [table.each * level.pages for table, level in levels_of]

        def held(log_time: float) -> float:
            shares = (table.there(level, log_time) for table, level in levels_of)
            return sum(float(count @ share) for count, share in zip(counts, shares, strict=True))

        visited = _where(held, frames)
        count = np.concatenate(counts)
        chance = np.concatenate([np.exp(level.log_chance) for _, level in levels_of])
        there = np.concatenate([table.there(level, visited) for table, level in levels_of])
        missed = chance * (1 - there)
        stays = there / np.maximum(missed, 1e-300)
        all_missed = float(count @ missed)
        if not all_missed:
            return 0.0

        def found_again(time: float) -> NDArray[np.float64]:
            """Return the share of each page's misses that the cache answers if it keeps pages for so long."""
            share: NDArray[np.float64] = -np.expm1(-chance * np.maximum(time - stays, 0.0))
            return share

        def answered(log_time: float) -> float:
            return float(count @ (missed * found_again(np.exp(log_time))))

        kept = float(np.exp(_where(answered, (1 - missed_share) * all_missed)))
        return float(count @ (missed * (np.minimum(stays, kept) + found_again(kept) / chance)))


def _where(held: Callable[[float], float], frames: float) -> float:
    """Return the logarithm of the time after which so many frames are held."""
    low, high = np.log(1e-3), np.log(1e18)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < frames else (low, middle)
    return float(low)


class _Balance(NamedTuple):
    """The logarithm of the time that a young page stays, and the pages in the old part then."""

    log_time: float
    old: float


class _Filling(NamedTuple):
    """From which access to which the pool fills, counted from when it held nothing, and of how many recorded ones."""

    begins: float
    ends: float
    accesses: float


class _Pages(NamedTuple):
    """Pages of one level, those that are asked for alike taken together."""

    log_chance: NDArray[np.float64]  # that an access asks for one of them
    pages: NDArray[np.float64]  # how many

    def come(self, log_accesses: float) -> NDArray[np.float64]:
        """Return the share of each that has been asked for after so many accesses."""
        share: NDArray[np.float64] = -np.expm1(-np.exp(self.log_chance + log_accesses))
        return share


class _Sample:
    """The rows of one table that are looked at; *share* of all accesses go to it."""

    def __init__(self, table: AccessedTable, share: float, seed: int, policy: Policy) -> None:
        self.curves = _curves(table.touches) if policy == SWEEP else _curves_of_lru2(table.touches)
        self._old = self.curves[:, 0]
        self._share, self._rows = share, table.rows
        self._looked_at = min(table.rows, _SAMPLED)
        self.each = table.rows / self._looked_at  # so many does one stand for
        sampled = [max(round(count / self.each), 1) for count in (*levels(table.index_pages), table.heap_pages)]
        file_pages = max(round(table.heap_pages_by(Law()) / self.each), 1)
        luck = np.random.default_rng(seed)
        anywhere = luck.permutation(self._looked_at)
        elsewhere = anywhere if table.ordered else luck.permutation(self._looked_at)
        self._scattered = [elsewhere * count // self._looked_at for count in sampled[:-1]]
        self._scattered.append(anywhere * file_pages // self._looked_at)
        self._at_first = anywhere * sampled[-1] // self._looked_at
        self._waits = np.random.default_rng((seed, 1)).exponential(size=self._looked_at)
        backwards = np.arange(self._looked_at)[::-1]
        self._from_the_end = [backwards * count // self._looked_at for count in sampled]
        self._counts = sampled

    def at_midpoint(self, there: NDArray[np.float64], old: NDArray[np.float64]) -> None:
        """Take the curves of a pool with a midpoint: what is in it, and in its old part."""
        self._old = old
        self.curves = np.zeros((len(_LOG_X), 2 + MOST))
        self.curves[:, 0], self.curves[:, 1] = there, 1.0

    def old(self, level: _Pages, log_time: float) -> NDArray[np.float64]:
        """Return the share of the time that each page is in the old part."""
        return np.interp(level.log_chance + log_time, _LOG_X, self._old)

    def there(self, level: _Pages, log_time: float) -> NDArray[np.float64]:
        """Return the share of the time that each page is in a pool whose hand comes by after such a time."""
        return np.interp(level.log_chance + log_time, _LOG_X, self.curves[:, 0])

    def asked(self, law: Law) -> list[_Pages]:
        """Return how often the pages of each level are asked for."""
        table = law.table(self._rows)
        reach = np.concatenate([[0.0], table.reach / float(table.reach[-1])])
        mass = np.diff(np.interp(np.linspace(0, self._rows, self._looked_at + 1), table.first, reach))
        places = self._from_the_end if law.recent else self._scattered
        if law.moved:
            places = [*places[:-1], self._with_moved(self._at_first, mass, law.moved)]
        found = []
        for place, count in zip(places, self._counts, strict=True):
            chance = np.bincount(place, weights=mass, minlength=count) * (self._share / self.each)
            steps = np.rint(np.log(np.maximum(chance, 1e-30)) / _ALIKE).astype(np.int64)
            counts = np.bincount(steps - steps.min())
            there = np.flatnonzero(counts)
            found.append(_Pages((there + steps.min()) * _ALIKE, counts[there].astype(np.float64)))
        return found

    def _with_moved(self, heap: NDArray[np.int64], mass: NDArray[np.float64], share: float) -> NDArray[np.int64]:
        """Return the pages of the heap by rank, behind them those of the rows that moved when a *share* of them had
        seen an update.
        """
        pages = self._counts[-1]
        moved = first_updated(self._waits, mass, heap, round(share * pages))
        heap = heap.copy()
        heap[moved] = pages + np.arange(len(moved)) // max(self._looked_at // pages, 1)
        return heap

    def expected(self, asked: Sequence[_Pages], log_time: float, filling: _Filling) -> Expected:
        """Return what is missed and held of pages that are asked for so often, when the hand comes by after such a
        time.
        """
        missed = []
        held = []
        full = filling.accesses - (filling.ends - filling.begins)
        for level in asked:
            curves = np.stack([np.interp(level.log_chance + log_time, _LOG_X, curve) for curve in self.curves.T])
            first = level.come(_log(filling.ends)) - level.come(_log(filling.begins))
            each = (first + full * np.exp(level.log_chance) * (1 - curves[0])) / filling.accesses
            missed.append(self.each * float(level.pages @ each) / self._share)
            held.append(self.each * (level.pages * curves[0] * curves[1:]).sum(axis=1))
        nothing = np.zeros(MOST + 1)
        rounds = full / float(np.exp(log_time))
        return Expected(sum(missed[:-1]), missed[-1], sum(held[:-1], nothing), held[-1], rounds)


def _log(accesses: float) -> float:
    return float(np.log(max(accesses, 1e-9)))


@cache
def _curves_of_lru2(touches: int) -> NDArray[np.float64]:
    """Return the same as :func:`_curves` for LRU-2."""
    x = np.exp(_LOG_X)
    share = -np.expm1(-x) if touches > 1 else -np.expm1(-x) - x * np.exp(-x)
    counts = np.zeros((len(x), MOST + 1))
    counts[:, 0] = 1
    return np.concatenate([share[:, None], counts], axis=1)


@cache
def _curves(touches: int) -> NDArray[np.float64]:
    """Return, for each expected number of uses x, the share of time that a page is there, and then that of each count
    while it is.
    """
    x = np.exp(np.minimum(_LOG_X, np.log(_STAYS)))
    points, weights = np.polynomial.legendre.leggauss(_POINTS)
    steps = np.stack([_raised(count, x, touches) for count in range(MOST + 1)], axis=1)
    stays = np.zeros_like(steps)  # from count to count, over one visit
    stays[:, :, :MOST] = steps[:, :, 1:]
    start = np.zeros((MOST + 1, 1))
    start[min(FIRST + touches - 1, MOST)] = 1
    rounds = np.linalg.solve(
        np.transpose(np.eye(MOST + 1) - stays, (0, 2, 1)), np.broadcast_to(start, (len(x), *start.shape))
    )
    rounds = rounds[:, :, 0]  # that begin with each count
    counts = np.zeros_like(rounds)
    for count in range(MOST + 1):
        for point, weight in zip(points, weights, strict=True):
            counts += rounds[:, count : count + 1] * weight / 2 * _raised(count, x * (point + 1) / 2, touches)
    stay = rounds.sum(axis=1)
    uses = stay * np.exp(_LOG_X)
    return np.concatenate([(uses / (uses + 1))[:, None], counts / stay[:, None]], axis=1)


def _raised(count: int, x: NDArray[np.float64], touches: int) -> NDArray[np.float64]:
    """Return how likely a page of *count* has each count after a time in which x accesses are expected."""
    found = np.zeros((len(x), MOST + 1))
    chance = np.exp(-x)  # of so many accesses
    accesses = 0
    while count + accesses * touches < MOST:
        found[:, count + accesses * touches] = chance
        accesses += 1
        chance = chance * x / accesses
    found[:, MOST] = 1 - found.sum(axis=1)
    return found
