"""The calendar of a channel: a transfer takes the first gap that it fits into."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiersim.devices.channel_kernels import ENTRIES, idle_from, reserve
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import Plant

pytestmark = pytest.mark.kernels

#: Times that a calendar holds.
MOST = (ENTRIES - 1) // 2
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
    times = [int(time) for time in plant.pool[start + 1 : start + 1 + 2 * count]]
    assert all(a < b for a, b in pairwise(times))
    return list(zip(times[::2], times[1::2], strict=True))


def first_gap(taken: list[tuple[int, int]], at: int, length: int) -> int:
    """Begin of the first time from *at* on in which the channel is free for so long, by trying all that it can be."""
    begins = [at, *(end for _, end in taken if end > at)]
    return min(b for b in begins if all(b + length <= begin or end <= b for begin, end in taken))


def joined(taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for begin, end in sorted(taken):
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


#: How far the clock goes on, how long after it a transfer is ready, how long it takes.
STEPS = st.tuples(st.integers(0, 30), st.integers(0, 200), st.integers(1, 20))


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=MOST), st.integers(0, 400))
def test_each_transfer_takes_the_first_gap_that_it_fits_into(steps: list[tuple[int, int, int]], asked: int) -> None:
    """Against a list that forgets nothing: what is over is in nobody's way."""
    plant, start = calendar()
    taken: list[tuple[int, int]] = []
    now = 0
    for passed, after, length in steps:
        now += passed
        begin = first_gap(taken, now + after, length)
        assert reserve(plant, start, now, now + after, length) == begin + length
        taken.append((begin, begin + length))
        assert [time for time in busy(plant, start) if time[1] > now] == [t for t in joined(taken) if t[1] > now]
        assert idle_from(plant, start, now + asked) == first_gap(taken, now + asked, 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 20)), min_size=MOST, max_size=3 * MOST))
def test_a_full_calendar_promises_no_time_twice(asked: list[tuple[int, int]]) -> None:
    """It forgets where the farthest gap lies, not how much was promised: that would be time that nobody has."""
    plant, start = calendar()
    for at, length in asked:
        assert reserve(plant, start, 0, at, length) >= at + length
        busy(plant, start)
    assert sum(end - begin for begin, end in busy(plant, start)) == sum(length for _, length in asked)


@settings(max_examples=100, deadline=None)
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
    assert reserve(plant, start, 0, 100, 80) == 190  # between the second and the third
    assert idle_from(plant, start, 100) == 190


def test_what_is_over_makes_room() -> None:
    plant, start = calendar()
    for place in range(10 * MOST):
        now = 100 * place
        assert reserve(plant, start, now, now + 50, 10) == now + 60
    assert busy(plant, start) == [(now + 50, now + 60)]
