"""The search for the cheapest: the answer of an exhaustive search by few runs, and what happens where more is not
better.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.scenarios.sizing.search import SearchOutcome, Tried, search

CANDIDATES = 500
MOST_RUNS = CANDIDATES // 5


@dataclass(frozen=True)
class Made:
    """A candidate of a made-up landscape."""

    name: str
    family: tuple[str, ...]
    count: int
    memory_bytes: int


@dataclass(frozen=True)
class Landscape:
    candidates: list[Made]
    costs: list[float]
    latency: list[float]  # against the limit: up to 1 is met

    def cheapest(self) -> int | None:
        meeting = [place for place, value in enumerate(self.latency) if value <= 1]
        return min(meeting, key=lambda place: (self.costs[place], place), default=None)


def landscape(seed: int, families: int, memories: int, limit: float, *, costs_vary: bool) -> Landscape:
    """Families with prices and speeds of their own, in each of which latency falls with drives and memory in a way of
    its own.
    """
    draw = np.random.default_rng(seed)
    counts = CANDIDATES // (families * memories)
    made = Landscape([], [], [])
    for family in range(families):
        speed, price, share = draw.lognormal(0, 1), draw.lognormal(5, 1), draw.uniform(0, 0.5)
        steps = np.cumsum(draw.exponential(1, (counts, memories)) * draw.integers(0, 2, (counts, memories)), axis=0)
        gain = np.cumsum(steps, axis=1)
        for count in range(counts):
            for memory in range(memories):
                made.candidates.append(Made(f"{family}/{count}/{memory}", (str(family),), count + 1, memory + 1))
                extra = draw.uniform(0, price) if costs_vary else 0.0
                made.costs.append(price * (count + 1) + share * price * memory + extra)
                made.latency.append(20 / (speed * (1 + gain[count, memory])) / limit)
    return made


def run(made: Landscape, *, noise: float = 0.01) -> tuple[SearchOutcome, list[int]]:
    runs: list[int] = []

    def try_one(place: int) -> Tried:
        runs.append(place)
        value = made.latency[place]
        return Tried(value <= 1, value * (1 - noise), value * (1 + noise), () if value <= 1 else ("slow",))

    found = search(made.candidates, made.costs, try_one, runners_up=2)
    assert len(runs) == len(set(runs)) == found.simulated
    return found, runs


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from([(5, 1), (5, 5), (10, 1), (10, 5), (20, 5), (25, 4), (25, 1), (50, 1)]),
    limit=st.floats(0.05, 50),
    costs_vary=st.booleans(),
)
def test_the_answer_is_that_of_an_exhaustive_search_by_a_fifth_of_the_runs(
    seed: int, shape: tuple[int, int], limit: float, costs_vary: bool
) -> None:
    made = landscape(seed, *shape, limit, costs_vary=costs_vary)
    assert len(made.candidates) == CANDIDATES
    found, runs = run(made)
    assert found.chosen == made.cheapest()
    assert found.distrusted == []
    if shape[0] * 2 + 20 <= MOST_RUNS:  # each family takes a run to exclude it, whatever is done
        assert len(runs) <= MOST_RUNS


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32), limit=st.floats(0.05, 50))
def test_every_fate_is_true(seed: int, limit: float) -> None:
    made = landscape(seed, 10, 5, limit, costs_vary=True)
    found, runs = run(made)
    for place, fate in enumerate(found.fates):
        if place in runs:
            assert (fate.status == "meets") == (made.latency[place] <= 1)
        elif fate.status == "fails":
            assert made.latency[place] > 1
            assert fate.by is not None
            larger = made.candidates[fate.by]
            assert larger.name in fate.why[0]
        else:
            assert found.chosen is not None
            assert made.costs[place] >= made.costs[found.chosen]
            assert "costs no less" in fate.why[0]


def reversed_in(made: Landscape, family: str) -> Landscape:
    """The same where one family gets slower with each drive."""
    latency = [
        0.5 * candidate.count if candidate.family == (family,) else value
        for candidate, value in zip(made.candidates, made.latency, strict=True)
    ]
    return Landscape(made.candidates, made.costs, latency)


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32), limit=st.floats(0.05, 5))
def test_a_family_in_which_more_is_worse_is_found_out_and_simulated(seed: int, limit: float) -> None:
    made = reversed_in(landscape(seed, 10, 1, limit, costs_vary=False), "3")
    found, _ = run(made)
    assert found.chosen == made.cheapest()


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32), limit=st.floats(0.05, 50))
def test_on_any_landscape_what_is_chosen_meets_and_contradictions_are_named(seed: int, limit: float) -> None:
    made = landscape(seed, 10, 5, limit, costs_vary=True)
    draw = np.random.default_rng(seed)
    made = Landscape(made.candidates, made.costs, list(draw.permutation(made.latency)))
    found, runs = run(made)
    assert (found.chosen is None) <= (made.cheapest() is None or len(runs) < CANDIDATES)
    if found.chosen is not None:
        assert made.latency[found.chosen] <= 1
        assert found.chosen in runs
    for family in found.distrusted:  # nothing in it is concluded any more
        assert all(
            fate.by is None for made_, fate in zip(made.candidates, found.fates, strict=True) if made_.family == family
        )


def small(latency: Callable[[int], float], counts: int = 10) -> Landscape:
    candidates = [Made(str(count), ("one",), count, 0) for count in range(1, counts + 1)]
    return Landscape(candidates, [float(one.count) for one in candidates], [latency(one.count) for one in candidates])


def test_a_dip_below_the_one_that_fails_is_found_by_the_check() -> None:
    made = small(lambda count: 0.9 if count == 7 else 2.0)
    found, _ = run(made, noise=0.0)
    assert found.distrusted == [("one",)]
    assert found.chosen == 6


def test_runs_that_overlap_within_their_bounds_contradict_nothing() -> None:
    made = small(lambda count: 2 - count / 1000 if count % 2 else 2 + count / 1000)
    found, runs = run(made, noise=0.05)
    assert found.chosen is None
    assert found.distrusted == []
    assert len(runs) < len(made.candidates)


def test_what_is_excluded_is_not_run_and_what_has_no_price_is_left_alone() -> None:
    made = small(lambda count: 3.5 / count)
    costs = [None if one.count == 4 else cost for one, cost in zip(made.candidates, made.costs, strict=True)]
    runs: list[int] = []

    def try_one(place: int) -> Tried:
        runs.append(place)
        return Tried(made.latency[place] <= 1, made.latency[place], made.latency[place])

    found = search(made.candidates, costs, try_one, lambda place: "too small" if place < 2 else None)
    assert found.chosen == 4
    assert not {0, 1, 3} & set(runs)
    assert found.fates[0].why == ("not simulated: too small",)
    assert found.fates[3].status == "not simulated"


def test_an_exhaustive_search_runs_all() -> None:
    made = small(lambda count: 3.5 / count)
    everything = search(
        made.candidates, made.costs, lambda place: Tried(made.latency[place] <= 1, 0, math.inf), exhaustive=True
    )
    assert everything.simulated == 10
    assert everything.chosen == 3


def test_runners_up_are_the_next_cheapest_of_other_families() -> None:
    families = [("a", 10.0, 0.5), ("b", 12.0, 0.5), ("c", 11.0, 2.0), ("d", 13.0, 0.5), ("e", 9.0, 2.0)]
    candidates = [Made(name, (name,), 1, 0) for name, _, _ in families]
    runs: list[str] = []

    def try_one(place: int) -> Tried:
        name, _, latency = families[place]
        runs.append(name)
        return Tried(latency <= 1, latency, latency)

    found = search(candidates, [cost for _, cost, _ in families], try_one, runners_up=2)
    assert candidates[found.chosen or 0].name == "a"
    assert {"a", "e", "c", "b"} >= set(runs) >= {"a", "e", "c", "b"}
    assert found.fates[1].status == "meets"
    assert found.fates[3].status == "not simulated"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_depends_on_luck(seed: int) -> None:
    made = landscape(seed, 20, 5, 3.0, costs_vary=True)
    assert run(made)[1] == run(made)[1]
