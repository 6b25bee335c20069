"""Compare rules with whom a scheduler chose: ``python -m benchmarks.real_postgres.choice_rules TRACE``.

README.md beside this says how a trace is taken. Recorded wake-ups and switches set the state of a queue for each
processor. At each choice among several the rule of Linux 6.18 (EEVDF, kernel/sched/fair.c) says whom it would take.
Lines: how many waited, shares of the choices by place in the order of arrival as recorded and by the rule, and how
often the rule, the older of two drawn at random, and order of arrival take the recorded one. Not simulated: weights
(each process counts the same), shares of one group, placement on a processor (as recorded).
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_NAMES = ("postgres", "pgbench")
_WAKEUP = re.compile(r" ([\d.]+): sched_wakeup: comm=(\S+) pid=(\d+) .*target_cpu=(\d+)")
_SWITCH = re.compile(
    r"\[(\d+)\].* ([\d.]+): sched_switch: prev_comm=(\S+) prev_pid=(\d+) .*prev_state=(\S+) ==> "
    r"next_comm=(\S+) next_pid=(\d+)"
)
#: sysctl_sched_base_slice on two processors: 0.7 ms x (1 + ilog2(processors)).
SLICE_NS = 1_400_000
#: update_entity_lag: no more than two slices or a tick (CONFIG_HZ=250 where it was recorded) either way.
LAG_LIMIT_NS = max(2 * SLICE_NS, 4_000_000)


@dataclass
class Process:
    """What a queue keeps of a process, in ns of virtual time."""

    runtime: int = 0
    deadline: int = 0
    lag: int = 0
    asleep: bool = False  # it sleeps, and stays in the queue because it has had more than its share (DELAY_DEQUEUE)


@dataclass
class RunQueue:
    """EEVDF of processes of equal weight on one processor."""

    processes: defaultdict[int, Process] = field(default_factory=lambda: defaultdict(Process))
    queued: set[int] = field(default_factory=set)  # the running one, too
    at: int = 0  # virtual time when somebody was last here

    def now(self) -> int:
        """Return the virtual time: the mean of the queued."""
        if self.queued:
            self.at = sum(self.processes[one].runtime for one in self.queued) // len(self.queued)
        return self.at

    def eligible(self, one: int) -> bool:
        """Return whether a queued process has had no more than its share."""
        runtimes = sum(self.processes[other].runtime for other in self.queued)
        return self.processes[one].runtime * len(self.queued) <= runtimes

    def wake(self, one: int) -> None:
        """Put a process in, with the lag that it slept with (place_entity)."""
        process = self.processes[one]
        if one in self.queued:
            if process.asleep and process.runtime < self.now():  # DELAY_ZERO: nothing is gained by sleeping
                self.queued.discard(one)
                process.lag = 0
                self._place(one)
            process.asleep = False
        else:
            self._place(one)

    def _place(self, one: int) -> None:
        process, others = self.processes[one], len(self.queued)
        lag = process.lag * (others + 1) // others if others else 0
        process.runtime = self.now() - lag
        process.deadline = process.runtime + SLICE_NS
        process.asleep = False
        self.queued.add(one)

    def ran(self, one: int, length_ns: int) -> None:
        """Charge what a process has run for (update_curr, update_deadline)."""
        process = self.processes[one]
        process.runtime += length_ns
        if process.runtime >= process.deadline:
            process.deadline = process.runtime + SLICE_NS

    def sleep(self, one: int) -> None:
        """Let a process sleep: it stays in the queue until its share has caught up or it would be picked."""
        if self.eligible(one):
            self.leave(one)
        else:
            self.processes[one].asleep = True

    def leave(self, one: int) -> None:
        """Take a process out and keep its lag."""
        process = self.processes[one]
        process.lag = max(-LAG_LIMIT_NS, min(LAG_LIMIT_NS, self.now() - process.runtime))
        process.asleep = False
        self.queued.discard(one)

    def pick(self) -> int | None:
        """Return the eligible process with the earliest deadline; None: nobody waits."""
        while self.queued:
            one = min(filter(self.eligible, self.queued), key=lambda other: self.processes[other].deadline)
            if not self.processes[one].asleep:
                return one
            self.leave(one)
            self.processes[one].lag = min(0, self.processes[one].lag)
        return None


def compared(lines: Iterable[str]) -> Counter[tuple[int, int, int]]:
    """Count choices by how many waited, and by the places of the recorded and of the picked one by arrival."""
    counted: Counter[tuple[int, int, int]] = Counter()
    queues: defaultdict[int, RunQueue] = defaultdict(RunQueue)
    running: dict[int, tuple[int, int]] = {}  # by processor: process, charged until
    waiting: dict[int, tuple[int, int]] = {}  # by process: since when, for which processor

    def charge(processor: int, now: int) -> None:
        if processor in running:
            one, since = running[processor]
            queues[processor].ran(one, now - since)
            running[processor] = one, now

    for line in lines:
        if (woken := _WAKEUP.search(line)) and woken[2] in _NAMES:
            now, one, processor = _ns(woken[1]), int(woken[3]), int(woken[4])
            if one not in waiting:
                waiting[one] = now, processor
                charge(processor, now)
                queues[processor].wake(one)
        elif switch := _SWITCH.search(line):
            processor, now, before, after = int(switch[1]), _ns(switch[2]), int(switch[4]), int(switch[7])
            queue = queues[processor]
            charge(processor, now)
            if processor in running and running.pop(processor)[0] == before:
                if switch[5].startswith("R"):
                    waiting[before] = now, processor
                else:
                    queue.sleep(before)
            if switch[6] not in _NAMES:
                continue
            since, queued_on = waiting.pop(after, (now, processor))
            if queued_on != processor and after in queues[queued_on].queued:  # another processor pulled it
                queues[queued_on].leave(after)
            others = [(at, one) for one, (at, place) in waiting.items() if place == processor and one in queue.queued]
            if others and queued_on == processor and after in queue.queued:
                order = [one for _, one in sorted([*others, (since, after)])]
                picked = queue.pick()
                if picked in order:
                    counted[len(order), order.index(after), order.index(picked)] += 1
            queue.wake(after)
            running[processor] = after, now
    return counted


def _ns(seconds: str) -> int:
    whole, part = seconds.split(".")
    return int(whole) * 10**9 + int(part.ljust(9, "0"))


def main() -> int:
    """Print what the file that the command names says; returns the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m benchmarks.real_postgres.choice_rules TRACE", file=sys.stderr)
        return 2
    with Path(sys.argv[1]).open(encoding="utf-8", errors="replace") as lines:
        counted = compared(lines)
    for waiting in sorted({among for among, _, _ in counted}):
        here = {(took, picked): count for (among, took, picked), count in counted.items() if among == waiting}
        total = sum(here.values())
        recorded, ruled = (
            " ".join(f"{sum(n for k, n in here.items() if k[part] == place) / total:.0%}" for place in range(waiting))
            for part in (0, 1)
        )
        hit = sum(n for (took, picked), n in here.items() if took == picked) / total
        two = sum(n * (2 * (waiting - took) - 1) for (took, _), n in here.items()) / waiting**2 / total
        first = sum(n for (took, _), n in here.items() if took == 0) / total
        print(f"{waiting} waiting, {total:,} choices: {recorded}; rule {ruled}")
        print(f"    recorded one taken by the rule {hit:.0%}, older of two {two:.0%}, order of arrival {first:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
