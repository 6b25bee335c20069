"""What one command costs: processor time, wall time, and the most memory that it had.

This module, and what imports it, stays small: Linux counts the memory that a process had before it became the command
into the command's peak.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Commands that take less are run again, up to so many times, and the least counts: others are at work here, too.
_SHORT_S, _MOST_RUNS = 5.0, 3
_LOG = "said.txt"


@dataclass(frozen=True)
class Cost:
    """Of one process with all that it started: user and system time, time by the clock, peak resident memory."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def measured(command: Sequence[str], folder: Path) -> Cost:
    """Run *command* in *folder* and return what it cost, the least of some runs if it is short; exits with what it said
    if it fails.
    """
    costs = [run_once(command, folder)]
    while costs[-1].wall_s < _SHORT_S and len(costs) < _MOST_RUNS:
        costs.append(run_once(command, folder))
    return Cost(min(one.cpu_s for one in costs), min(one.wall_s for one in costs), min(one.peak_bytes for one in costs))


def run_once(command: Sequence[str], folder: Path) -> Cost:
    """Run *command* in *folder* once and return what it cost; exits with what it said if it fails."""
    log = folder / _LOG
    began = time.monotonic()
    with log.open("w") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}: {log.read_text()[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024)
