"""How far predictions are off, against the limits that were set before anything was measured."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.real_postgres.dips import scatter
from tiersim.scenarios.validation.cell_figures import Conditions, Figures

#: Throughput and mean: of all cells the median, and the worst. 95th percentile, or else points of the share of slow
#: transactions. Misses.
_MEDIAN, _WORST, _P95, _SHARE, _MISSES = 0.10, 0.20, 0.25, 0.02, 0.10
_HEADING = """\
| cell | tx/s | predicted | error | mean, ms | predicted | error | p95, ms | predicted | error | slow | predicted | off | misses/tx | predicted | error |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""  # noqa: E501 - one row of a table


@dataclass(frozen=True)
class Compared:
    """A cell: its repeats, and what was predicted of it."""

    conditions: Conditions
    repeats: tuple[Figures, ...]
    predicted: Figures

    @property
    def measured(self) -> Figures:
        """The mean of the repeats."""
        return Figures.mean(self.repeats)

    @property
    def name(self) -> str:
        """What was asked for, in short."""
        return self.conditions.name

    @property
    def place(self) -> tuple[str, int, int]:
        """Where it stands in a table: by load, cap and pool."""
        return self.conditions.place

    @property
    def share_off(self) -> float:
        """By how much the predicted share of slow transactions is above the measured one."""
        return self.predicted.slow_share - self.measured.slow_share

    @property
    def tail_holds(self) -> bool:
        """Tell whether the 95th percentile is near, or else, where the latencies have two humps, the share of slow
        ones.
        """
        if abs(error(self, _p95)) <= _P95:
            return True
        return self.measured.two_humped and abs(self.share_off) <= _SHARE


def error(cell: Compared, figure: Callable[[Figures], float]) -> float:
    """Return by which share of the measured figure the predicted one is above it."""
    return figure(cell.predicted) / figure(cell.measured) - 1


def table(cells: Sequence[Compared]) -> list[str]:
    """Return a line of Markdown for each cell below a heading."""
    return [*_HEADING.splitlines(), *(_row(cell) for cell in cells)]


def _row(cell: Compared) -> str:
    found, foreseen = cell.measured, cell.predicted
    columns = [cell.name]
    for figure in (_rate, _mean, _p95):
        columns += [_number(figure(found)), _number(figure(foreseen)), f"{error(cell, figure):+.1%}"]
    columns += [f"{found.slow_share:.1%}", f"{foreseen.slow_share:.1%}", f"{100 * cell.share_off:+.1f}"]
    columns += [f"{found.misses:.3f}", f"{foreseen.misses:.3f}", f"{error(cell, _misses):+.1%}"]
    return f"| {' | '.join(columns)} |"


def verdicts(cells: Sequence[Compared]) -> list[str]:
    """Return a line of Markdown for each limit below a heading: how it is met by all cells together."""
    lines = ["| figure | limit | found | |", "|---|---|---|---|"]
    for name, figure in (("transactions/s", _rate), ("mean", _mean)):
        errors = [abs(error(cell, figure)) for cell in cells]
        met = median(errors) <= _MEDIAN and max(errors) <= _WORST
        lines.append(
            f"| {name} | median {_MEDIAN:.0%}, worst {_WORST:.0%} | median {median(errors):.1%}, worst"
            f" {max(errors):.1%} | {_word(met)} |"
        )
    tails = [cell.tail_holds for cell in cells]
    lines.append(
        f"| p95 | {_P95:.0%}, or slow ones within {100 * _SHARE:.0f} points | {sum(tails)} of {len(tails)} cells |"
        f" {_word(all(tails))} |"
    )
    errors = [abs(error(cell, _misses)) for cell in cells]
    within = sum(one <= _MISSES for one in errors)
    found = f"{within} of {len(cells)} cells; median {median(errors):.1%}, worst {max(errors):.1%}"
    lines.append(f"| misses a transaction | {_MISSES:.0%} | {found} | {_word(within == len(cells))} |")
    return lines


def scatters(cells: Sequence[Compared]) -> str:
    """Say how far apart repeats of a cell are."""
    apart = {
        name: max(scatter([figure(one) for one in cell.repeats]) / figure(cell.measured) for cell in cells)
        for name, figure in (("transactions/s", _rate), ("mean", _mean), ("p95", _p95), ("misses", _misses))
    }
    return "Repeats of a cell are apart by at most " + ", ".join(
        f"{share:.1%} ({name})" for name, share in apart.items()
    )


def document(cells: Sequence[Compared]) -> dict[str, Any]:
    """Return all of it for JSON."""
    return {
        "schema": "tiersim.real-postgres/1",
        "cells": [
            asdict(cell.conditions)
            | {
                "repeats": len(cell.repeats),
                "measured": asdict(cell.measured),
                "predicted": asdict(cell.predicted),
                "error_pct": {
                    name: round(100 * error(cell, figure), 2)
                    for name, figure in (
                        ("transactions_per_s", _rate),
                        ("mean", _mean),
                        ("p95", _p95),
                        ("misses", _misses),
                    )
                },
                "slow_share_points": round(100 * cell.share_off, 2),
                "two_humped": cell.measured.two_humped,
                "tail_holds": cell.tail_holds,
            }
            for cell in cells
        ],
    }


def _rate(figures: Figures) -> float:
    return figures.transactions_per_s


def _mean(figures: Figures) -> float:
    return figures.mean_ms


def _p95(figures: Figures) -> float:
    return figures.p95_ms


def _misses(figures: Figures) -> float:
    return figures.misses


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _word(met: bool) -> str:
    return "met" if met else "**not met**"
