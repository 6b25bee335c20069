"""Stalls: how many there are, how long and how deep, and when nothing can be said."""

import numpy as np
import pytest

from tiersim.scenarios.statements.course import poisson_interval, stalls_of

_S = 1_000_000_000


def _ends(per_s: float, seconds: float, *gaps: tuple[float, float], seed: int = 1) -> np.ndarray:
    """Return ends of a Poisson process without those within *gaps*."""
    luck = np.random.default_rng(seed)
    at = np.sort(luck.uniform(0, seconds, luck.poisson(per_s * seconds)))
    for start, end in gaps:
        at = at[(at < start) | (at >= end)]
    return (at * _S).astype(np.int64)


def test_a_gap_of_two_seconds_is_one_stall() -> None:
    found = stalls_of(_ends(500, 60, (20.0, 22.0)), 0, 60 * _S)
    assert found is not None
    assert found["count"] == 1
    assert found["longest_ns"] == found["total_ns"] == pytest.approx(2 * _S, abs=0.2 * _S)
    assert found["depth_pct"] > 95


def test_gaps_of_a_second_at_most_are_none() -> None:
    found = stalls_of(_ends(500, 60, (10.0, 10.9), (20.0, 20.5)), 0, 60 * _S)
    assert found is not None
    assert (found["count"], found["longest_ns"], found["depth_pct"]) == (0, 0, None)


def test_each_gap_is_counted() -> None:
    found = stalls_of(_ends(500, 60, (10.0, 11.5), (20.0, 23.0), (58.0, 60.0)), 0, 60 * _S)
    assert found is not None
    assert found["count"] == 3
    assert found["longest_ns"] == pytest.approx(3 * _S, abs=0.2 * _S)
    assert found["low"] < 3 < found["high"]


@pytest.mark.parametrize("seed", range(5))
def test_an_even_load_has_none(seed: int) -> None:
    found = stalls_of(_ends(25, 600, seed=seed), 0, 600 * _S)
    assert found is not None
    assert found["count"] == 0


def test_of_few_transactions_nothing_is_said() -> None:
    assert stalls_of(_ends(5, 60), 0, 60 * _S) is None
    assert stalls_of(_ends(500, 60), 0, _S // 2) is None


def test_what_ends_before_the_time_that_is_counted_is_left_out() -> None:
    ends = _ends(500, 60, (10.0, 15.0))
    assert stalls_of(ends, 20 * _S, 60 * _S) == stalls_of(ends[ends >= 20 * _S], 20 * _S, 60 * _S)


def test_the_interval_of_a_number_is_that_of_its_poisson_mean() -> None:
    """Garwood's table: 90 % of 1 are 0.051 to 4.744, of 10 5.43 to 16.96."""
    assert poisson_interval(1) == pytest.approx((0.0513, 4.744), rel=1e-3)
    assert poisson_interval(10) == pytest.approx((5.425, 16.96), rel=1e-3)
