"""The calendar of a channel: a transfer takes what is left of it."""

from itertools import count, islice, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash_kernels import CALENDAR_HEAD, ENTRIES, idle_from, idle_within, promise, reserve
from tiersim.devices.station_records import Plant

pytestmark = pytest.mark.kernels

#: Times that a calendar holds.
MOST = (ENTRIES - CALENDAR_HEAD) // 2
#: The word behind a calendar in the pool: nothing may write there.
BEHIND = -77


def calendar() -> tuple[Plant, int]:
    builder = PlantBuilder(1)
    builder.table([BEHIND])
    start = builder.table([0] * ENTRIES)
    builder.table([BEHIND])
    return builder.build(), start


def busy(plant: Plant, start: int) -> list[tuple[int, int]]:
    """What the calendar holds; begin comes before end, and the end before the next begin."""
    count = int(plant.pool[start])
    assert count <= MOST
    assert plant.pool[start - 1] == plant.pool[start + ENTRIES] == BEHIND
    begin = start + CALENDAR_HEAD
    times = [int(time) for time in plant.pool[begin : begin + 2 * count]]
    assert all(a < b for a, b in pairwise(times))
    return list(zip(times[::2], times[1::2], strict=True))


def each(taken: list[tuple[int, int]]) -> list[int]:
    """Every single ns."""
    return [ns for begin, end in taken for ns in range(begin, end)]


#: How far the clock goes on, how long after it a transfer is ready, how long it takes.
STEPS = st.tuples(st.integers(0, 30), st.integers(0, 200), st.integers(1, 20))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(STEPS, max_size=MOST), st.integers(0, 400))
def test_each_transfer_takes_the_first_time_that_is_left(steps: list[tuple[int, int, int]], asked: int) -> None:
    """Against a set of every ns that was promised."""
    plant, start = calendar()
    taken: set[int] = set()
    now = 0
    for passed, after, length in steps:
        now += passed
        own = list(islice((ns for ns in count(now + after) if ns not in taken), length))
        assert reserve(plant, start, now, now + after, length) == own[-1] + 1
        taken.update(own)
        assert [ns for ns in each(busy(plant, start)) if ns >= now] == sorted(ns for ns in taken if ns >= now)
        assert idle_from(plant, start, now + asked) == next(ns for ns in count(now + asked) if ns not in taken)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=MOST), st.lists(st.integers(1, 50), max_size=8))
@example([(0, 5, 10)], [3, 3])
def test_what_has_no_place_takes_what_is_left(steps: list[tuple[int, int, int]], lengths: list[int]) -> None:
    """In order, and leaves all time to what has a place."""
    plant, start = calendar()
    now = 0
    for passed, after, length in steps:
        now += passed
        reserve(plant, start, now, now + after, length)
    places = busy(plant, start)
    left = (ns for ns in count(now) if not any(begin <= ns < end for begin, end in places))
    for number, length in enumerate(lengths):
        end = promise(plant, start, now, length)
        assert end == list(islice(left, length))[-1] + 1
        assert idle_within(plant, start, now, end) == sum(lengths[: number + 1])
    assert busy(plant, start) == places


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 20)), min_size=MOST, max_size=3 * MOST))
def test_a_full_calendar_promises_no_time_twice(asked: list[tuple[int, int]]) -> None:
    """It forgets where the farthest gap lies, not how much was promised: that would be time that nobody has."""
    plant, start = calendar()
    for at, length in asked:
        assert reserve(plant, start, 0, at, length) >= at + length
        busy(plant, start)
    assert sum(end - begin for begin, end in busy(plant, start)) == sum(length for _, length in asked)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9000), st.integers(1, 20)), max_size=3 * MOST))
def test_times_stay_in_order_and_apart_while_the_clock_goes_on(steps: list[tuple[int, int, int]]) -> None:
    plant, start = calendar()
    now, promised = 0, 0
    for passed, after, length in steps:
        now += passed
        promised += length
        assert reserve(plant, start, now, now + after, length) >= now + after + length
        assert sum(end - begin for begin, end in busy(plant, start)) <= promised


def test_only_the_farthest_gap_of_a_full_calendar_is_lost() -> None:
    plant, start = calendar()
    for place in range(MOST + 1):
        assert reserve(plant, start, 0, 100 * place, 10) == 100 * place + 10
    apart = [(100 * place, 100 * place + 10) for place in range(MOST + 1)]
    joined_begin = apart[MOST - 2][0]
    assert busy(plant, start) == [*apart[: MOST - 2], (joined_begin, joined_begin + 20), apart[MOST]]
    assert reserve(plant, start, 0, 100, 80) == 190  # behind the second
    assert idle_from(plant, start, 100) == 190
    assert reserve(plant, start, 0, 100, 30) == 230  # 10 before the third, 20 behind it


def test_what_is_over_makes_room() -> None:
    plant, start = calendar()
    for place in range(10 * MOST):
        now = 100 * place
        assert reserve(plant, start, now, now + 50, 10) == now + 60
    assert busy(plant, start) == [(now + 50, now + 60)]
