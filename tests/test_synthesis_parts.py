"""The parts that synthesised executions are made with: whole numbers that add up, bounded samples, what texts say."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiersim.scenarios.calibration.synthesis.apportion import apportion, exact_sum, scattered
from tiersim.scenarios.calibration.synthesis.bounded import bounded_sample
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.sessions import Timetable, Work
from tiersim.scenarios.calibration.synthesis.texts import Role, is_of_the_recording, kind_of, role_of

WEIGHTS = st.lists(st.floats(0, 1e6), min_size=1, max_size=50).map(np.array)


@settings(deadline=None)
@given(total=st.integers(0, 1 << 60), weights=WEIGHTS, seed=st.none() | st.integers(0, 9))
def test_what_is_handed_out_adds_up(total: int, weights: np.ndarray, seed: int | None) -> None:
    chance = None if seed is None else Draws(seed).uniform(len(weights), "chance")
    given_out = apportion(total, weights, chance=chance)
    assert given_out.sum() == total
    assert given_out.min() >= 0
    if total < 1 << 50 and weights.sum() > 0:
        assert np.abs(given_out - total * (weights / weights.sum())).max() <= 1 + total * 1e-12


@settings(deadline=None)
@given(most=st.lists(st.integers(0, 1 << 61), min_size=1, max_size=20), share=st.floats(0, 1), data=st.data())
def test_nothing_gets_more_than_it_takes(most: list[int], share: float, data: st.DataObject) -> None:
    total = min(int(sum(most) * share), 1 << 61)
    weights = np.array(data.draw(st.lists(st.floats(0, 10), min_size=len(most), max_size=len(most))))
    given_out = apportion(total, weights, np.array(most))
    assert exact_sum(given_out) == total
    assert (given_out <= np.array(most)).all()


def test_more_than_all_take_cannot_be_handed_out() -> None:
    with pytest.raises(ValueError, match="more than"):
        apportion(8, np.ones(2), np.array([3, 4]))


@settings(deadline=None)
@given(
    lookups=st.lists(st.integers(0, 300), min_size=1, max_size=200).map(np.array),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_misses_are_as_many_as_counted_and_no_more_than_lookups(lookups: np.ndarray, share: float, seed: int) -> None:
    total = int(lookups.sum() * share)
    missed = scattered(total, lookups, Draws(seed))
    assert missed.sum() == total
    assert (missed <= lookups).all()
    assert missed.min() >= 0


def test_misses_are_spread_as_a_draw_without_replacement_is() -> None:
    for size in (10, 100):  # one by one, and by a normal law
        lookups = np.full(50_000, size)
        missed = scattered(50_000 * size // 5, lookups, Draws(1))
        assert missed.mean() == pytest.approx(size / 5)
        assert missed.var() == pytest.approx(size * 0.2 * 0.8, rel=0.03)


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_bounded_sample_has_any_mean_and_spread_that_are_possible(mean: float, share: float) -> None:
    scores = Draws(1).normal(20_000, "scores")
    stddev = share * np.sqrt(mean * (1 - mean))
    sample = bounded_sample(scores, 5 + 10 * mean, 10 * stddev, 5, 15)
    assert sample.mean() == pytest.approx(5 + 10 * mean, rel=0.005)
    assert sample.std() == pytest.approx(10 * stddev, rel=0.02)
    assert sample.min() >= 5
    assert sample.max() <= 15
    assert (np.diff(sample[np.argsort(scores)]) >= 0).all()


@pytest.mark.parametrize(
    ("least", "most", "mean", "stddev"), [(3, 3, 3, 1), (0, 1, 1, 0.5), (0, 9, 4, 0), (0, 9, 4, 1e9)]
)
def test_what_is_impossible_is_as_near_as_possible(least: float, most: float, mean: float, stddev: float) -> None:
    sample = bounded_sample(Draws(1).normal(1000, "scores"), mean, stddev, least, most)
    assert np.isfinite(sample).all()
    assert sample.mean() == pytest.approx(mean, rel=0.02)
    assert least <= sample.min() <= sample.max() <= most


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1 << 30), sessions=st.integers(1, 6), load=st.floats(0.05, 1.5))
def test_no_session_does_two_things_at_once_and_all_end_in_their_interval(
    seed: int, sessions: int, load: float
) -> None:
    luck, timetable = np.random.default_rng(seed), Timetable()
    ran: list[tuple[int, int, int]] = []
    for interval in (2, 1, 0):
        duration_ns = luck.gamma(0.3, 1, 200)
        duration_ns = (duration_ns / duration_ns.sum() * load * sessions * 1_000_000).astype(np.int64)
        transaction = np.sort(luck.integers(0, 60, 200))
        start_ns, end_ns = interval * 1_000_000, (interval + 1) * 1_000_000
        work = Work(duration_ns, transaction, np.arange(200))
        turns = timetable.lay_out(start_ns, end_ns, work, (1.0, 3.0), sessions, Draws(seed).about(interval))
        assert (turns.start_ns + duration_ns <= end_ns).all()
        assert all(len(set(turns.session[transaction == number].tolist())) == 1 for number in set(transaction.tolist()))
        ran += zip(
            turns.session.tolist(), turns.start_ns.tolist(), (turns.start_ns + duration_ns).tolist(), strict=True
        )
    ran.sort()
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(ran))
    if load < 0.9:
        assert len(timetable.free_until_ns) == sessions


@pytest.mark.parametrize(
    ("text", "role", "kind"),
    [
        ("BEGIN", Role.OPENS, "utility"),
        ("start transaction read only", Role.OPENS, "utility"),
        ("COMMIT", Role.COMMITS, "utility"),
        ("END;", Role.COMMITS, "utility"),
        ("ROLLBACK", Role.ROLLS_BACK, "utility"),
        ("ABORT", Role.ROLLS_BACK, "utility"),
        ("ROLLBACK TO SAVEPOINT a", Role.INSIDE, "utility"),
        ("COMMIT PREPARED ?", Role.INSIDE, "utility"),
        ("SELECT begin FROM t", Role.INSIDE, "language"),
        ("WITH a AS (SELECT 1) DELETE FROM t", Role.INSIDE, "language"),
        ("VACUUM t", Role.INSIDE, "utility"),
        ("", Role.INSIDE, "language"),
    ],
)  # fmt: skip
def test_what_a_text_says(text: str, role: Role, kind: str) -> None:
    assert role_of(text) is role
    assert kind_of(text) == kind


def test_statements_that_take_statistics_are_told_by_what_they_ask_for() -> None:
    assert is_of_the_recording("COPY (select * from pg_stat_user_tables) TO STDOUT csv header")
    assert is_of_the_recording("select c.relname, pg_relation_size(c.oid) from pg_class c")
    assert not is_of_the_recording("select a from t where b = 'pg_stat_statements'")
    assert not is_of_the_recording("vacuum pgbench_branches")
