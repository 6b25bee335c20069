"""Say whom a scheduler chose: ``python -m benchmarks.real_postgres.choices TRACE``; README.md beside this says how a
trace is taken.

Prints a line for each number of processes of PostgreSQL and pgbench that waited for the same processor: how many
choices were made among so many, and in which share of them the one was next that had waited longest, second longest and
so on. A process waits from when it is woken, or interrupted, until it runs. Then lines for each number that a process
found waiting when it was woken: how many others ran before it, and how long it waited, by what it had slept for.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

_NAMES = ("postgres", "pgbench")
#: Lengths between kinds of runs: asking for a flush takes less than the first, a transaction more than the last.
_RUNS_US = (15, 30)
_WAKEUP = re.compile(r" ([\d.]+): sched_wakeup: comm=(\S+) pid=(\d+) .*target_cpu=(\d+)")
_SWITCH = re.compile(
    r"\[(\d+)\].* ([\d.]+): sched_switch: prev_comm=(\S+) prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+)"
)


def main() -> int:
    """Print what the file that the command names says; returns the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m benchmarks.real_postgres.choices TRACE", file=sys.stderr)
        return 2
    lines = Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace").splitlines()
    chosen = Counter(choices(lines))
    for waiting in sorted({among for among, _ in chosen}):
        counts = [chosen[waiting, place] for place in range(waiting)]
        shares = " ".join(f"{count / sum(counts):.0%}" for count in counts)
        print(f"{waiting} waiting, {sum(counts):,} choices: {shares}")
    by_kind: dict[tuple[int, str], list[Woken]] = {}
    for one in woken_of(lines):
        by_kind.setdefault((one.found, one.kind), []).append(one)
    for (found, kind), those in sorted(by_kind.items()):
        before, waited_us = fmean(one.before for one in those), 1e6 * median(one.waited_s for one in those)
        print(f"{found} found, {kind}, {len(those):,} times: {before:.1f} ran before, {waited_us:.0f} us in the median")
    return 0


def choices(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Give for each choice among several how many waited, and the place of the chosen one in the order in which they
    came.
    """
    waiting: dict[int, tuple[float, int]] = {}  # process: since when, for which processor
    for line in lines:
        if (woken := _WAKEUP.search(line)) and woken[2] in _NAMES:
            waiting[int(woken[3])] = float(woken[1]), int(woken[4])
        elif switch := _SWITCH.search(line):
            if switch[5].startswith("R") and switch[3] in _NAMES:  # it was interrupted
                waiting[int(switch[4])] = float(switch[2]), int(switch[1])
            found = waiting.pop(int(switch[6]), None)
            if found is None or found[1] != int(switch[1]):
                continue
            earlier = [since < found[0] for since, processor in waiting.values() if processor == found[1]]
            if earlier:
                yield len(earlier) + 1, sum(earlier)


class Woken(NamedTuple):
    """A process that was woken: how many it *found* waiting for its processor, whether it had slept for storage, how
    long it had run before, how many ran before it, and how long it waited.
    """

    found: int
    of_storage: bool
    had_run_s: float
    before: int
    waited_s: float

    @property
    def kind(self) -> str:
        """Return what it had slept for, and of storage how long it had run before."""
        if not self.of_storage:
            return "slept for a message or a lock"
        below = next((us for us in _RUNS_US if self.had_run_s < us / 1e6), None)
        ran = f"less than {below}" if below else f"at least {_RUNS_US[-1]}"
        return f"slept for storage, had run for {ran} us"


def woken_of(lines: Iterable[str]) -> Iterator[Woken]:
    """Give each process that was woken, when it runs."""
    ran: dict[int, tuple[str, float]] = {}  # process: what it slept for, how long it had run
    runs: dict[int, float] = {}  # process: since when
    waiting: dict[int, list[int]] = {}  # process: its processor, how many it found, how many ran since
    since: dict[int, float] = {}
    for line in lines:
        if (woken := _WAKEUP.search(line)) and woken[2] in _NAMES:
            process, processor = int(woken[3]), int(woken[4])
            if process not in waiting:
                found = sum(one[0] == processor for one in waiting.values())
                waiting[process], since[process] = [processor, found, 0], float(woken[1])
        elif switch := _SWITCH.search(line):
            processor, now, process, after = int(switch[1]), float(switch[2]), int(switch[4]), int(switch[6])
            if switch[3] in _NAMES:
                ran[process] = switch[5], now - runs.pop(process, now)
                if switch[5].startswith("R"):  # it was interrupted: one that waits, of whom nothing is asked
                    waiting[process] = [processor, -1, 0]
            on, found, before = waiting.pop(after, (processor, -1, 0))
            if found >= 0 and on == processor and after in ran:
                state, had_run_s = ran[after]
                yield Woken(found, state.startswith("D"), had_run_s, before, now - since[after])
            runs[after] = now
            for one in waiting.values():
                one[2] += one[0] == processor


if __name__ == "__main__":
    sys.exit(main())
