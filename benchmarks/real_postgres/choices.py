"""Say whom a scheduler chose: ``python -m benchmarks.real_postgres.choices TRACE``; README.md beside this says how a
trace is taken.

Prints a line for each number of processes of PostgreSQL and pgbench that waited for the same processor: how many
choices were made among so many, and in which share of them the one was next that had waited longest, second longest and
so on. A process waits from when it is woken, or interrupted, until it runs.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

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
    with Path(sys.argv[1]).open(encoding="utf-8", errors="replace") as lines:
        chosen = Counter(choices(lines))
    for waiting in sorted({among for among, _ in chosen}):
        counts = [chosen[waiting, place] for place in range(waiting)]
        shares = " ".join(f"{count / sum(counts):.0%}" for count in counts)
        print(f"{waiting} waiting, {sum(counts):,} choices: {shares}")
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


if __name__ == "__main__":
    sys.exit(main())
