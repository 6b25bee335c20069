"""The parts that synthesised executions are made with: whole numbers that add up, bounded samples, what texts say."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import floor
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.scenarios.calibration.synthesis.counted import Role, Samples, is_of_the_recording, kind_of, role_of
from tiersim.scenarios.calibration.synthesis.draws import (
    Draws,
    apportion,
    bounded_sample,
    exact_sum,
    place_between_bounds,
    scattered,
)
from tiersim.scenarios.calibration.synthesis.sessions import Timetable, Work

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


def test_where_all_lookups_miss_each_execution_misses_its_own() -> None:
    lookups = np.array([1, 0, 3, 2, 0, 5])
    assert scattered(11, lookups, Draws(1)).tolist() == lookups.tolist()


def test_misses_are_spread_as_a_draw_without_replacement_is() -> None:
    for size in (10, 100):  # one by one, and by a normal law
        lookups = np.full(50_000, size)
        missed = scattered(50_000 * size // 5, lookups, Draws(1))
        assert missed.mean() == pytest.approx(size / 5)
        assert missed.var() == pytest.approx(size * 0.2 * 0.8, rel=0.03)


def hamilton(total: int, weights: list[int], most: list[int]) -> list[int]:
    """What each gets, in fractions: those that would get more than they take get that, and the
    others share the rest.
    """
    shares: dict[int, Fraction] = {}
    while True:
        free = [index for index in range(len(weights)) if index not in shares]
        left, weight = total - sum(shares.values()), sum(weights[index] for index in free)
        parts = {i: left * (Fraction(weights[i], weight) if weight else Fraction(1, len(free))) for i in free}
        full = {index: Fraction(most[index]) for index, part in parts.items() if part >= most[index]}
        shares |= full
        if not full or len(shares) == len(weights):
            shares |= {index: part for index, part in parts.items() if index not in shares}
            break
    given_out = [floor(shares[index]) for index in range(len(weights))]
    ranked = sorted(range(len(weights)), key=lambda index: given_out[index] - shares[index])
    for index in ranked[: total - sum(given_out)]:
        given_out[index] += 1
    return given_out


@settings(deadline=None)
@given(most=st.lists(st.integers(0, 1 << 12), min_size=1, max_size=12), total=st.integers(0, 1 << 13), data=st.data())
def test_what_is_handed_out_is_by_largest_remainders(most: list[int], total: int, data: st.DataObject) -> None:
    total = min(total, sum(most))
    # powers of 2, and a total of them, so that no remainder is rounded and ties are ties
    weights = [1 << power for power in data.draw(st.lists(st.integers(0, 6), min_size=len(most), max_size=len(most)))]
    weights[0] += (1 << 12) - sum(weights)
    given_out = apportion(total, np.array(weights, np.float64), np.array(most))
    expected = hamilton(total, weights, most)
    assert given_out.sum() == total
    assert np.abs(given_out - expected).max() <= 1  # shares of what others do not take are rounded
    if total <= min(most):
        assert given_out.tolist() == expected


def best_variance(count: int, place: float) -> float:
    """The variance of *count* numbers in [0, 1] with mean *place* of which all but one are 0 or 1."""
    ones = int(count * place)
    numbers = [1.0] * ones + [count * place - ones] + [0.0] * (count - ones - 1)
    return float(np.var(numbers[:count]))


@settings(deadline=None, max_examples=examples(200))
@given(
    count=st.integers(2, 40) | st.sampled_from([1000, 20_000]),
    seed=st.integers(0, 1 << 20),
    place=st.floats(1e-9, 0.5) | st.sampled_from([1e-6, 0.02, 0.2, 0.25, 0.5]),
    upper=st.booleans(),
    share=st.floats(1e-6, 1) | st.sampled_from([1e-9, 0.999, 0.9999, 1.0, 3.0]),
    least=st.sampled_from([0.0, 5.0, 1e6]),
    span=st.sampled_from([1.0, 10.0, 1e12]),
)
def test_a_bounded_sample_has_any_mean_and_spread_that_are_possible(
    count: int, seed: int, place: float, upper: bool, share: float, least: float, span: float
) -> None:
    scores = np.random.default_rng(seed).normal(3, 7, count)
    place = 1 - place if upper else place
    most, mean = least + span, least + span * place
    place = (mean - least) / span  # as far as its digits go
    possible = span * np.sqrt(0.9999 * best_variance(count, place))  # the most that is tried
    stddev = share * span * np.sqrt(place * (1 - place))
    sample = bounded_sample(scores, mean, stddev, least, most)
    last_digit = float(np.spacing(most))
    assert sample.mean() == pytest.approx(mean, rel=1e-9)
    assert sample.std() == pytest.approx(min(stddev, possible), rel=1e-4, abs=8 * last_digit)
    assert sample.min() >= least
    assert sample.max() <= most
    assert (np.diff(sample[np.argsort(scores)]) >= -last_digit).all()  # as far as digits go


@pytest.mark.parametrize("count", [3, 8, 500])
@pytest.mark.parametrize("place", [0.001, 0.2, 0.5])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.6, 0.9])
def test_coefficients_are_those_that_halving_finds(count: int, place: float, share: float) -> None:
    scores = Draws(2).normal(count, "scores")
    scores = np.asarray((scores - scores.mean()) / scores.std())
    variance = share * best_variance(count, place)

    def places(steepness: float) -> np.ndarray:
        low, high, found = -1e6, 1e6, scores
        for _ in range(100):
            shift = (low + high) / 2
            found = np.asarray(0.5 + 0.5 * np.tanh((steepness * scores + shift) / 2))
            low, high = (low, shift) if found.mean() > place else (shift, high)
        return found

    low, high = -12.0, 9.0
    for _ in range(60):
        expected = places(np.exp((low + high) / 2))
        low, high = (low, (low + high) / 2) if expected.var() > variance else ((low + high) / 2, high)
    found = scores.copy()
    place_between_bounds(found, place, variance, best_variance(count, place))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("least", "most", "mean", "stddev"),
    [
        (3, 3, 3, 1),
        (0, 1, 1, 0.5),
        (0, 1, 0, 0.5),
        (0, 9, 4, 0),
        (0, 9, 4, 1e-200),
        (0, 9, 4, 1e9),
        (0, 1e18, 1, 1e200),
    ],
)
@pytest.mark.parametrize("scores", [Draws(1).normal(1000, "scores"), np.ones(7), np.repeat([1.0, 2.0], 9)])
def test_what_is_impossible_is_as_near_as_possible(
    least: float, most: float, mean: float, stddev: float, scores: np.ndarray
) -> None:
    sample = bounded_sample(scores, mean, stddev, least, most)
    assert np.isfinite(sample).all()
    assert sample.mean() == pytest.approx(mean, rel=1e-9)
    assert least <= sample.min() <= sample.max() <= most


@settings(max_examples=examples(50), deadline=None)
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


def test_the_most_sessions_of_clients_in_a_sample_are_known_idle_ones_too() -> None:
    samples = Samples()
    for active, idle in ((1, 3), (2, 1)):
        of = {"active//": active, "idle/Client/ClientRead": idle, "/Activity/BgwriterMain": 5}
        values = {("session", name): {"sessions": Decimal(number)} for name, number in of.items()}
        samples.add(cast(Any, SimpleNamespace(values=values)))
    assert (samples.count, samples.busy_most, samples.connected_most) == (2, Decimal(2), Decimal(4))
