"""Factors that make intervals of samples hold the whole in 80 % of the cases, and how those of other recordings do."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.sample_intervals.pairs import STATISTICS, Figure, Pair
from tiersim.scenarios.exploring.sample_verdict import UNDECIDED
from tiersim.simulator.result import RESOLVED_HALF_WIDTH

#: Of the figures that the interval is to hold.
_HELD = 0.8
_Of = tuple[str, Figure]  # with its recording


def factor_of(figures: Sequence[_Of]) -> float:
    """Return the factor with which 80 % of *figures* hold the whole; each recording counts alike."""
    counts = Counter(recording for recording, _ in figures)
    weight = 0.0
    for recording, figure in sorted(figures, key=lambda one: one[1].off):
        weight += 1 / counts[recording]
        if weight >= _HELD * len(counts):
            return figure.off
    raise ValueError("there are no figures; give more recordings")


@dataclass(frozen=True)
class Judged:
    """A figure whose interval was made wider by the factor of all other recordings."""

    recording: str
    statistic: str
    holds: bool
    half_width: float
    held_before: bool
    is_given: bool  # the sample can tell, and the interval is narrow enough for the figure to be shown


def judged(pairs: Sequence[Pair]) -> Iterator[Judged]:
    """Judge every recording by the factors of the others."""
    for statistic in STATISTICS:
        figures = _of(pairs, statistic)
        told = _told(figures)
        for recording in dict.fromkeys(one.recording for one in pairs):
            factor = factor_of([one for one in told if one[0] != recording])
            for own, figure in figures:
                if own == recording:
                    width = figure.half_width(factor)
                    given = figure.why_not is None and width <= RESOLVED_HALF_WIDTH
                    yield Judged(recording, statistic, figure.off <= factor, width, figure.off <= 1, given)


def factors(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the factor of each statistic, from all recordings."""
    return {statistic: factor_of(_told(_of(pairs, statistic))) for statistic in STATISTICS}


def lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield the table of what was found, by statistic and by recording, and how often verdicts are the same."""
    found = list(judged(pairs))
    recordings = list(dict.fromkeys(one.recording for one in pairs))
    yield f"{len(pairs)} pairs of {len(recordings)} recordings"
    yield "| figure | figures | not given | interval holds the whole | median half-width | before: holds |"
    yield "|---|--:|--:|--:|--:|--:|"
    for statistic in STATISTICS:
        yield _line(statistic, [one for one in found if one.statistic == statistic])
    yield _line("all", found)
    for recording in recordings:
        yield _line(recording, [one for one in found if one.recording == recording])
    given = [one for one in pairs if one.verdict != UNDECIDED]
    same = sum(one.verdict == one.whole_verdict for one in given)
    yield (
        f"verdict on the load: given in {len(given)} of {len(pairs)} pairs, the same as of the whole in {same}:"
        f" {100 * same / max(len(given), 1):.1f} % of those given"
    )


def _line(name: str, found: Sequence[Judged]) -> str:
    given = [one for one in found if one.is_given]
    if not given:
        return f"| {name} | {len(found)} | {len(found)} | | | |"
    holds, before = (100 * mean(held) for held in ([one.holds for one in given], [one.held_before for one in found]))
    width = 100 * median(one.half_width for one in given)
    return f"| {name} | {len(found)} | {len(found) - len(given)} | {holds:.0f} % | {width:.1f} % | {before:.0f} % |"


def _of(pairs: Sequence[Pair], statistic: str) -> list[_Of]:
    return [(pair.recording, one) for pair in pairs for one in pair.figures if one.statistic == statistic]


def _told(figures: Sequence[_Of]) -> list[_Of]:
    """Return the figures that a sample can tell."""
    return [one for one in figures if one[1].why_not is None]
