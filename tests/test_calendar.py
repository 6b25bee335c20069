"""The calendar of the compiled engine gives events back in their order, however many are at one time."""

from hypothesis import given
from hypothesis import strategies as st

from tiersim.simulator.events import first, new_calendar, pop, push

PLACES = 256


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=120))
def test_events_come_in_the_order_of_time_and_key(steps: list[tuple[int, bool]]) -> None:
    """Few times, so that most events share theirs with others; some are taken between."""
    calendar, count = new_calendar(PLACES), 0
    waiting: list[tuple[int, int]] = []

    def take(count: int) -> int:
        place = first(calendar)
        assert (int(calendar.time_ns[place]), int(calendar.key[place])) == min(waiting)
        waiting.remove(min(waiting))
        return int(pop(calendar, count, place))

    for number, (time_ns, taken) in enumerate(steps):
        key = number * 7919 % 1009  # no two are alike
        count = int(push(calendar, count, time_ns, key, number))
        waiting.append((time_ns, key))
        if taken:
            count = take(count)
    while waiting:
        count = take(count)
