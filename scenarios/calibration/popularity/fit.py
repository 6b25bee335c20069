"""Laws of popularity from what pools missed and held, and what a pool of another size would miss.

Each table gets the exponent of Zipf's law by which index and heap together miss what was recorded. Everything else that
was recorded is held against it: how the misses divide, usage counts, pools of other sizes. Only where it contradicts
Zipf's law are others looked for: of a table that grows, one whose latest rows are asked for most; of one whose rows are
updated, one whose rows moved; of any, a hot set beside Zipf's law.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.accessed_table import AccessedTable, Law
from tiersim.scenarios.calibration.popularity.evidence import Residual, contradictions, contradicts
from tiersim.scenarios.calibration.popularity.occupancy import LRU2, SWEEP, Pool
from tiersim.scenarios.calibration.popularity.search import Evidence, OtherSize, at_its_edge

#: Beyond so many times the largest recorded size, and below that part of the smallest, a prediction is extrapolated.
EXTRAPOLATED = 4
#: What would tell a hot set from Zipf's law, by how pages are replaced.
_REMEDIES = {
    SWEEP: (
        "no usage counts cannot tell a hot set from Zipf's law, which is used; record pg_buffercache, or a second size"
    ),
    LRU2: (
        "nothing else cannot tell a hot set from Zipf's law, which is used; record the load with a second max server"
        " memory, too"
    ),
}


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
    unused: int = 0  # frames of the recorded pool that held nothing when the recording began
    policy: str = SWEEP  # how it replaced pages
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
    policy: str = SWEEP,
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
    evidence = Evidence(used, frames, unused, others, seed, policy)
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
            said.append(f"{against[0]}: contradicts Zipf's law, so other access distributions are tried")
            laws, alike = evidence.better(laws, place)
            said += alike
            residuals = evidence.residuals(laws, place)
            left = contradictions(residuals) if contradicts(residuals) else []
            contradicted += [f"{one}: not explained by the fitted access distribution" for one in left]
        elif not against and evidence.is_alone(place):
            alone.append(table.name)
    if alone:
        said.append(f"{', '.join(alone)}: one pool size and {_REMEDIES[policy]}")
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
    """Tell whether a pool is so much larger or smaller than the recorded ones that a prediction is a guess."""
    sizes = (fitted.frames, *fitted.other_sizes)
    return not min(sizes) / EXTRAPOLATED <= frames <= max(sizes) * EXTRAPOLATED


def alike(fitted: Fitted) -> tuple[tuple[Law, ...], ...]:
    """Return by table the laws that explain what was recorded as well, from those that miss most of a pool four times
    as large to those that miss least.

    Misses are known to the scatter of their number, and to what the closed form is off; rows may have moved to any
    degree that other figures do not contradict.
    """
    evidence = Evidence(fitted.tables, fitted.frames, fitted.unused, (), fitted.seed, fitted.policy)
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
