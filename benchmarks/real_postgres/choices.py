"""Say whom a scheduler chose: ``python -m benchmarks.real_postgres.choices TRACE``; README.md beside this says how a
trace is taken.

Prints a line for each number of processes of PostgreSQL and pgbench that waited for the same processor: how many
choices were made among so many, and in which share of them the one was next that had waited longest, second longest and
so on. A process waits from when it is woken, or interrupted, until it runs. Then a line for each number that a process
found waiting when it was woken: how many others ran before it, in the mean, by what it had slept for.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean

_NAMES = ("postgres", "pgbench")
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
    ahead: dict[tuple[int, bool], list[int]] = {}
    for found, of_storage, ran in passed_by(lines):
        ahead.setdefault((found, of_storage), []).append(ran)
    for (found, of_storage), before in sorted(ahead.items()):
        kind = "storage" if of_storage else "a message or a lock"
        print(f"{found} found, slept for {kind}, {len(before):,} times: {fmean(before):.1f} ran before")
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


def passed_by(lines: Iterable[str]) -> Iterator[tuple[int, bool, int]]:
    """Give for each process that was woken how many it found waiting for its processor, whether it had slept for
    storage, and how many ran before it.
    """
    asleep: dict[int, str] = {}
    waiting: dict[int, list[int]] = {}  # process: its processor, how many it found, how many ran since
    for line in lines:
        if (woken := _WAKEUP.search(line)) and woken[2] in _NAMES:
            found = sum(processor == int(woken[4]) for processor, _, _ in waiting.values())
            waiting.setdefault(int(woken[3]), [int(woken[4]), found, 0])
        elif switch := _SWITCH.search(line):
            if switch[3] in _NAMES:
                asleep[int(switch[4])] = switch[5]
                if switch[5].startswith("R"):  # it was interrupted: one that waits, of whom nothing is asked
                    waiting[int(switch[4])] = [int(switch[1]), -1, 0]
            processor, found, before = waiting.pop(int(switch[6]), (int(switch[1]), -1, 0))
            if found >= 0 and processor == int(switch[1]) and int(switch[6]) in asleep:
                yield found, asleep[int(switch[6])].startswith("D"), before
            for one in waiting.values():
                one[2] += one[0] == int(switch[1])


if __name__ == "__main__":
    sys.exit(main())
