"""What was recorded of tables beside what laws predict, and by how much more than noise they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt

from tiersim.scenarios.calibration.popularity.accessed_table import AccessedTable
from tiersim.scenarios.calibration.popularity.occupancy import Expected

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
class Residual:
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
        digits = 0 if self.recorded >= 100 else 4
        return (
            f"{self.table}: {self.figure}, pool of {self.frames:,} pages: {self.recorded:,.{digits}f} recorded, "
            f"{self.predicted:,.{digits}f} by the law"
        )


def residuals(table: AccessedTable, frames: int, expected: Expected) -> list[Residual]:
    """Compare all that was recorded of a table in a pool of *frames* pages with what a law says."""
    found = []
    both = table.index_missed + table.heap_missed
    figures = [
        ("index pages missed in an access", table.index_missed, expected.index_missed),
        ("heap pages missed in an access", table.heap_missed, expected.heap_missed),
    ]
    if table.together:
        figures = [("pages missed in an access", both, expected.index_missed + expected.heap_missed)]
    for figure, count, predicted in figures:
        if figure.startswith("index") and not table.index_pages:
            continue
        recorded = count / table.accesses
        noise = hypot(MODEL * max(recorded, predicted), sqrt(count) / table.accesses, _NO_MISSES)
        found.append(Residual(table.name, frames, figure, recorded, predicted, noise))
    for part, held, law in (
        ("index", table.index_held, expected.index_held),
        ("heap", table.heap_held, expected.heap_held),
    ):
        if held:
            for name, counts in _COUNTS.items():
                pages, predicted = float(sum(held[counts])), float(law[counts].sum())
                noise = hypot(_COUNTED * max(pages, predicted), sqrt(pages), _NO_PAGES * frames)
                found.append(
                    Residual(table.name, frames, f"{part} pages with a usage count of {name}", pages, predicted, noise)
                )
    return found


def score(found: Sequence[Residual]) -> float:
    """Return the sum of squared distances."""
    return sum(residual.distance**2 for residual in found)


def contradicts(found: Sequence[Residual]) -> bool:
    """Tell whether a law cannot explain the figures."""
    telling = [one for one in found if max(one.recorded, one.predicted) > one.noise]
    against = contradictions(telling)
    if any(_MISSED in one.figure for one in against):
        return True
    return bool(against) and sum(min(one.distance, CONTRADICTED) ** 2 for one in telling) > _TOGETHER * len(telling)


def tells_misses(found: Sequence[Residual]) -> bool:
    """Tell whether so many pages were missed that their number says something of a law."""
    return any(_MISSED in one.figure and one.recorded > CONTRADICTED * one.noise for one in found)


def contradictions(found: Sequence[Residual]) -> list[Residual]:
    """Return the figures that a law cannot explain, the worst first."""
    return sorted((one for one in found if one.distance > CONTRADICTED), key=lambda one: -one.distance)
