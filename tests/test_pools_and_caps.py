"""Cells of a real PostgreSQL as an experiment: what was measured moves no prediction."""

from dataclasses import replace

import pytest

from tests.runs import needs_jit
from tiersim.scenarios.validation import cells
from tiersim.scenarios.validation.cell_figures import Conditions, Figures, MeasuredRun, read_runs
from tiersim.traces.samples import CELLS

pytestmark = [pytest.mark.long, needs_jit]


def recorded() -> MeasuredRun:
    (found,) = (run for run in read_runs(CELLS / "reads") if run.conditions.iops is None)
    return found


#: A small pool with a low cap, with a higher one, and a larger pool.
WANTED = [Conditions("reads", pool, iops, 20.0) for pool, iops in (("64MB", 300), ("64MB", 700), ("256MB", 300))]


@pytest.fixture(scope="module")
def foreseen() -> list[Figures]:
    return [found for _, found in cells.foresee(recorded(), WANTED, CELLS / "reads")]


def test_what_was_measured_of_the_recorded_run_moves_no_prediction(foreseen: list[Figures]) -> None:
    wrong = replace(recorded(), figures=Figures(*[9.0] * 7))
    assert list(cells.foresee(wrong, WANTED[:1], CELLS / "reads")) == [(WANTED[0], foreseen[0])]


def test_more_requests_a_second_and_a_larger_pool_are_faster(foreseen: list[Figures]) -> None:
    slow, more, larger = foreseen
    assert min(more.transactions_per_s, larger.transactions_per_s) > slow.transactions_per_s
    assert larger.misses < slow.misses
