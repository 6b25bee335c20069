"""Choices of a scheduler, as the kernel's trace tells them."""

import pytest

from benchmarks.real_postgres.choices import Woken, choices, woken_of

_TRACE = """# tracer: nop
          <idle>-0       [001] d..2. 10.000001: sched_wakeup: comm=postgres pid=11 prio=120 target_cpu=000
          <idle>-0       [001] d..2. 10.000002: sched_wakeup: comm=postgres pid=12 prio=120 target_cpu=000
          <idle>-0       [001] d..2. 10.000003: sched_wakeup: comm=pgbench pid=13 prio=120 target_cpu=000
          <idle>-0       [001] d..2. 10.000004: sched_wakeup: comm=postgres pid=14 prio=120 target_cpu=001
          <idle>-0       [001] d..2. 10.000005: sched_wakeup: comm=kworker pid=15 prio=120 target_cpu=000
          kworker-9      [000] d..2. 10.000010: sched_switch: prev_comm=kworker prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=postgres next_pid=12 next_prio=120
         postgres-12     [000] d..2. 10.000020: sched_switch: prev_comm=postgres prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=postgres next_pid=11 next_prio=120
         postgres-11     [000] d..2. 10.000030: sched_switch: prev_comm=postgres prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=postgres next_pid=12 next_prio=120
         postgres-12     [000] d..2. 10.000040: sched_switch: prev_comm=postgres prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=pgbench next_pid=13 next_prio=120
"""  # noqa: E501


def test_the_place_of_the_chosen_one_is_that_among_those_that_wait_for_its_processor() -> None:
    """Of 11, 12 and 13 the second is next; it is interrupted and then comes behind 13; alone nobody is chosen."""
    assert list(choices(_TRACE.splitlines())) == [(3, 1), (3, 0), (2, 1)]


def test_who_ran_before_is_told_by_what_a_process_slept_for() -> None:
    """21 is woken by storage while 22 waits, and runs behind it; 22 had slept for a message and found nobody."""
    trace = """
 postgres-21 [000] d..2. 9.000001: sched_switch: prev_comm=postgres prev_pid=21 prev_prio=120 prev_state=D ==> next_comm=postgres next_pid=22 next_prio=120
 postgres-22 [000] d..2. 9.000002: sched_switch: prev_comm=postgres prev_pid=22 prev_prio=120 prev_state=S ==> next_comm=kworker next_pid=9 next_prio=120
 <idle>-0 [001] d..2. 9.000003: sched_wakeup: comm=postgres pid=22 prio=120 target_cpu=000
 <idle>-0 [001] d..2. 9.000004: sched_wakeup: comm=postgres pid=21 prio=120 target_cpu=000
 kworker-9 [000] d..2. 9.000005: sched_switch: prev_comm=kworker prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=postgres next_pid=22 next_prio=120
 postgres-22 [000] d..2. 9.000006: sched_switch: prev_comm=postgres prev_pid=22 prev_prio=120 prev_state=S ==> next_comm=postgres next_pid=21 next_prio=120
"""  # noqa: E501
    first, second = woken_of(trace.splitlines())
    assert list(first) == pytest.approx([0, False, 1e-6, 0, 2e-6])
    assert list(second) == pytest.approx([1, True, 0.0, 1, 2e-6])
    assert first.kind == "slept for a message or a lock"
    kinds = [Woken(1, True, us / 1e6, 0, 0.0).kind for us in (8, 20, 30)]
    assert kinds == [
        f"slept for storage, had run for {ran} us" for ran in ("less than 15", "less than 30", "at least 30")
    ]
