"""The hours of sysbench-tpcc: shapes of curves, and that a part of the server does what the whole does."""

import numpy as np
import pytest

from tiersim.scenarios.validation import checkpoint_hours
from tiersim.scenarios.validation.checkpoint_hours import Shape, shape_of, simulate

TAKEN = {"write_backs": 3, "work_ms": 4.5, "sets_apart": 1}


def _saw(period: int, low: float, high: float) -> np.ndarray:
    """Return an hour that rises from *low* to *high* again and again, in steps of 10 s."""
    return low + (high - low) * (np.arange(360) % period) / period


def test_dips_of_a_saw_are_found_where_it_falls() -> None:
    shape = shape_of(_saw(45, 2000, 8000))
    assert shape.between_s == 450
    assert shape.mean == pytest.approx(4933, rel=0.01)
    assert shape.depth_pct == pytest.approx(100 * (1 - 2000 / shape.mean), abs=0.1)
    assert shape.low_pct == pytest.approx(32, abs=2)


def test_a_curve_that_only_rises_has_no_dip() -> None:
    shape = shape_of(np.linspace(1000, 9000, 360))
    assert (shape.between_s, shape.depth_pct) == (2700, 0)
    assert shape.low_pct == pytest.approx(30, abs=1)


def test_dips_stand_where_checkpoints_begin_when_that_is_known() -> None:
    shape = shape_of(_saw(45, 2000, 8000), begins=[10, 90, 150, 210, 359])
    assert shape.between_s == 600  # the first is left out, of the last there is no minute


@pytest.fixture(scope="module")
def hours() -> dict[int, Shape]:
    return {part: shape_of(*simulate(25, part, 237e6, 1.25, TAKEN)) for part in (320, 160)}


@pytest.mark.long
def test_half_of_a_part_does_what_the_part_does(hours: dict[int, Shape]) -> None:
    small, large = hours[320], hours[160]
    assert small.mean == pytest.approx(large.mean, rel=0.06)
    assert small.between_s == pytest.approx(large.between_s, rel=0.1)


def test_checkpoints_that_the_log_asks_for_follow_each_other_as_fast_as_the_device_writes(
    hours: dict[int, Shape],
) -> None:
    slower = shape_of(*simulate(25, 320, 165e6, 1.25, TAKEN))
    assert slower.between_s > 1.2 * hours[320].between_s
    assert slower.mean < 0.9 * hours[320].mean


def test_more_log_of_a_transaction_lowers_throughput(hours: dict[int, Shape]) -> None:
    assert shape_of(*simulate(25, 320, 237e6, 2.1, TAKEN)).mean < 0.9 * hours[320].mean


def test_the_files_of_a_set_lie_before_those_of_the_next() -> None:
    one, names = checkpoint_hours._relations(40, 0, 1)
    ten, _ = checkpoint_hours._relations(40, 0, 10)
    assert [relation.rows for relation in ten] == [relation.rows for relation in ten[: len(names)]] * 10
    assert sum(r.level_pages[0] for r in ten) == pytest.approx(sum(r.level_pages[0] for r in one), rel=0.001)
    for place, kinds in enumerate(zip(*[iter(checkpoint_hours._transactions_of(10, names, 1.0))] * 5, strict=True)):
        used = {demand.table for kind in kinds for demand in kind}
        assert used == set(range(place * len(names), (place + 1) * len(names)))


def test_without_the_figures_it_says_so() -> None:
    assert checkpoint_hours.experiment(None).missing
