"""The rule of Linux for whom a processor serves next, in plain Python."""

from benchmarks.real_postgres.choice_rules import RunQueue, compared


def test_who_has_run_more_waits_for_those_who_have_run_less() -> None:
    queue = RunQueue()
    for one in (1, 2, 3):
        queue.wake(one)
    queue.ran(1, 100_000)
    queue.ran(2, 10_000)
    assert queue.pick() in (2, 3)
    assert not queue.eligible(1)


def test_who_slept_after_more_than_his_share_owes_it_when_he_wakes() -> None:
    queue = RunQueue()
    queue.wake(1)
    queue.wake(2)
    queue.ran(1, 100_000)
    queue.sleep(1)
    queue.wake(1)
    assert queue.pick() == 2
    assert not queue.eligible(1)


def test_who_slept_until_others_caught_up_owes_nothing_and_gains_nothing() -> None:
    queue = RunQueue()
    queue.wake(1)
    queue.wake(2)
    queue.ran(1, 100_000)
    queue.sleep(1)
    queue.ran(2, 300_000)
    queue.wake(1)
    assert queue.processes[1].runtime == queue.processes[2].runtime


def test_a_choice_among_two_is_counted_by_the_places_of_the_recorded_and_the_picked_one() -> None:
    switch = "x [000] d..2. {}: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state=S ==> {}"
    lines = [
        "x [000] d..2. 1.000001: sched_wakeup: comm=postgres pid=1 prio=120 target_cpu=000",
        "x [000] d..2. 1.000002: sched_wakeup: comm=postgres pid=2 prio=120 target_cpu=000",
        switch.format("1.000003", "swapper/0", 0, "next_comm=postgres next_pid=2 next_prio=120"),
    ]
    assert dict(compared(lines)) == {(2, 1, 0): 1}
