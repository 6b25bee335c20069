"""Runs side by side: their results in order, one failure for all, nothing left running."""

import threading

import pytest

from tiersim.parallel import Note, side_by_side


def test_results_come_in_the_order_of_the_runs_and_progress_is_the_sum() -> None:
    second_ran = threading.Event()
    seen: list[int] = []

    def first(note: Note) -> str:
        note(1)
        second_ran.wait(0.05)
        note(3)
        return "first"

    def second(note: Note) -> str:
        note(4)
        second_ran.set()
        return "second"

    assert side_by_side([first, second], seen.append) == ["first", "second"]
    assert seen[-1] == 7


def test_when_one_fails_the_others_stop_and_its_error_is_raised() -> None:
    steps = []

    def endless(note: Note) -> None:
        for step in range(10_000_000):
            steps.append(step)
            note(step)

    def fails(note: Note) -> None:
        raise ValueError("of the second")

    with pytest.raises(ValueError, match="of the second"):
        side_by_side([fails, endless], lambda done: None)
    assert len(steps) < 10_000_000


def test_who_waits_can_give_up() -> None:
    def endless(note: Note) -> None:
        while True:
            note(1)

    def give_up(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side([endless], give_up)
