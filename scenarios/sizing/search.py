"""The cheapest candidate that meets all targets, found by few runs.

Candidates of a family differ in size alone (drives, memory), and more of either is taken to be no worse. One that fails
then excludes all that are smaller; one that meets all targets excludes all that cost no less, of every family. Each run
is of the candidate that excludes most in the less lucky case, as in a binary search. What is taken is also checked:
every pair of runs in a family, and runs that are made for it, of candidates right below one that failed. A family in
which a smaller one did better is not trusted, and what was concluded in it is simulated.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

#: Runs that are made to check what is taken: so many of all candidates at most.
GUARD_SHARE = 0.05


class Sized(Protocol):
    """What a search has to know of a candidate."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def family(self) -> tuple[str, ...]:
        """What is the same in all that are compared by size."""

    @property
    def count(self) -> int:
        """Drives."""

    @property
    def memory_bytes(self) -> int:
        """Memory."""


@dataclass(frozen=True)
class Tried:
    """What a run says: the worst figure against its limit lies from ``low`` to ``high``, up to 1 is met; ``why`` not, a
    sentence each.
    """

    meets: bool
    low: float
    high: float
    why: tuple[str, ...] = ()


@dataclass
class Fate:
    """What became of a candidate, and why."""

    status: Literal["meets", "fails", "not simulated"]
    why: tuple[str, ...]
    tried: Tried | None = None
    by: int | None = None  # the larger one that failed, from which it was concluded


@dataclass
class SearchOutcome:
    """Outcome of a search; ``fates`` are by candidate."""

    chosen: int | None
    fates: list[Fate]
    simulated: int = 0
    distrusted: list[tuple[str, ...]] = field(default_factory=list)


Try = Callable[[int], Tried]


def search(
    candidates: Sequence[Sized],
    costs: Sequence[float | None],
    try_one: Try,
    excluded: Callable[[int], str | None] = lambda _: None,
    *,
    runners_up: int = 0,
    exhaustive: bool = False,
) -> SearchOutcome:
    """Return the cheapest candidate that meets all targets; of those that cost the same, the one that comes first.

    *costs* are what to choose by; None excludes. *try_one* runs a candidate; *excluded* gives a reason for which one
    certainly fails, and is asked again after each run. Of what costs more, the cheapest of *runners_up* other families
    is tried, too. *exhaustive*: every one is run.
    """
    return _Search(candidates, costs, try_one, excluded).run(runners_up, exhaustive)


class _Search:
    def __init__(
        self,
        candidates: Sequence[Sized],
        costs: Sequence[float | None],
        try_one: Try,
        excluded: Callable[[int], str | None],
    ) -> None:
        self.candidates, self.costs, self.try_one, self.excluded = candidates, costs, try_one, excluded
        self.fates: dict[int, Fate] = {}
        self.open = [place for place, cost in enumerate(costs) if cost is not None]
        self.open.sort(key=lambda place: (costs[place], place))
        self.rank = {place: rank for rank, place in enumerate(self.open)}
        self.families: dict[tuple[str, ...], list[int]] = {}
        for place in self.open:
            self.families.setdefault(candidates[place].family, []).append(place)
        numbers = {family: number for number, family in enumerate(self.families)}
        self.family_of = np.array([numbers.get(one.family, -1) for one in candidates])
        self.sizes = np.array([(one.count, one.memory_bytes) for one in candidates])
        self.distrusted: list[tuple[str, ...]] = []
        self.guarded: set[int] = set()
        self.guards = max(math.floor(GUARD_SHARE * len(self.open)), 1)

    def run(self, runners_up: int, exhaustive: bool) -> SearchOutcome:
        if exhaustive:
            for place in [one for one in self.open if self.excluded(one) is None]:  # before a run excludes any
                self._try(place)
        self._settle()
        while self._guard():
            self._settle()
        self._try_runners_up(self._best(), runners_up)
        self._settle()  # a runner-up may have shown that its family is not to be trusted
        best = self._best()
        for place in self.rank:
            if place not in self.fates:
                self.fates[place] = self._left_over(place, best)
        fates = [self.fates.get(place, Fate("not simulated", ())) for place in range(len(self.candidates))]
        return SearchOutcome(best, fates, sum(fate.tried is not None for fate in fates), self.distrusted)

    def _settle(self) -> None:
        """Run until nothing is undecided that costs less than the best that is known."""
        while True:
            undecided = self._undecided()
            if not undecided:
                return
            self._try(self._most_telling(undecided))

    def _best(self) -> int | None:
        return min(
            (place for place, fate in self.fates.items() if fate.status == "meets"),
            key=self.rank.__getitem__,
            default=None,
        )

    def _undecided(self) -> list[int]:
        best = self._best()
        behind = len(self.open) if best is None else self.rank[best]
        found = []
        for place in self.open[:behind]:
            if place in self.fates:
                continue
            reason = self.excluded(place)
            if reason is None:
                found.append(place)
            else:
                self.fates[place] = Fate("fails", (f"not simulated: {reason}",))
        return found

    def _most_telling(self, undecided: Sequence[int]) -> int:
        """Return the one that excludes most in the less lucky case; of equals, the one that excludes more in the other,
        then the cheapest.
        """
        index = np.array(undecided)
        below = np.ones(len(index), np.int64)
        for number in np.unique(self.family_of[index]):
            own = np.flatnonzero(self.family_of[index] == number)
            if self.candidates[undecided[own[0]]].family not in self.distrusted:
                sizes = self.sizes[index[own]]
                below[own] = (sizes[:, None, :] <= sizes[None, :, :]).all(axis=2).sum(axis=0)
        dearer = len(index) - np.arange(len(index))
        best = np.lexsort((np.arange(len(index)), -np.maximum(below, dearer), -np.minimum(below, dearer)))[0]
        return undecided[int(best)]

    def _is_smaller(self, one: int, other: int) -> bool:
        """Whether *one* has no more of anything than *other*, of the same family; everything is no
        larger than itself.
        """
        a, b = self.candidates[one], self.candidates[other]
        return a.family == b.family and a.count <= b.count and a.memory_bytes <= b.memory_bytes

    def _try(self, place: int) -> Tried:
        tried = self.try_one(place)
        self.fates[place] = Fate("meets" if tried.meets else "fails", tried.why, tried)
        family = self.candidates[place].family
        self._compare(place)
        if not tried.meets and family not in self.distrusted:
            for other in self.families[family]:
                if other not in self.fates and self._is_smaller(other, place):
                    self.fates[other] = Fate("fails", (self._concluded(other, place),), by=place)
        return tried

    def _concluded(self, place: int, failed: int) -> str:
        smaller, larger = self.candidates[place], self.candidates[failed]
        what = "fewer drives" if smaller.count < larger.count else "less memory"
        return f"not simulated: {larger.name} fails already, and {what} cannot do better"

    def _compare(self, place: int) -> None:
        """Distrust a family in which a smaller candidate surely did better than a larger one."""
        family = self.candidates[place].family
        if family in self.distrusted:
            return
        runs = [other for other in self.families[family] if other in self.fates and self.fates[other].tried]
        for one in runs:
            for other in runs:
                if one == other or not self._is_smaller(one, other):
                    continue
                a, b = self.fates[one].tried, self.fates[other].tried
                assert a
                assert b
                if (a.meets and not b.meets) or a.high < b.low:
                    self._distrust(family)
                    return

    def _distrust(self, family: tuple[str, ...]) -> None:
        self.distrusted.append(family)
        for place in self.families[family]:
            if place in self.fates and self.fates[place].by is not None:
                del self.fates[place]

    def _guard(self) -> bool:
        """Run a candidate that was excluded by a conclusion, the largest below the one that failed; False when none is
        left to try.

        One below each that failed is, those first that were nearest to their targets.
        """
        best = self._best()
        behind = len(self.open) if best is None else self.rank[best]
        unchecked = [
            place
            for place in self.open[:behind]
            if self.fates[place].by is not None and self.fates[place].by not in self.guarded
        ]
        if not unchecked or self.guards <= 0:
            return False

        def nearness(place: int) -> tuple[float, int, int]:
            tried = self.fates[self.fates[place].by or 0].tried
            size = self.candidates[place]
            return (math.inf if tried is None else tried.low, -size.count, -size.memory_bytes)

        chosen = min(unchecked, key=nearness)
        self.guards -= 1
        self.guarded.add(self.fates[chosen].by or 0)
        self._try(chosen)
        return True

    def _try_runners_up(self, best: int | None, wanted: int) -> None:
        """Try the cheapest of other families among those that cost more than the best."""
        if best is None:
            return
        seen = {self.candidates[best].family}
        for place in self.open[self.rank[best] + 1 :]:
            family = self.candidates[place].family
            if wanted and place not in self.fates and family not in seen and self.excluded(place) is None:
                wanted -= 1
                seen.add(family)
                self._try(place)

    def _left_over(self, place: int, best: int | None) -> Fate:
        reason = self.excluded(place)
        if reason is not None:
            return Fate("fails", (f"not simulated: {reason}",))
        assert best is not None
        return Fate(
            "not simulated",
            (f"not simulated: costs no less than {self.candidates[best].name}, which meets all targets",),
        )
