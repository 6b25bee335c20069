"""What a server's log says of its checkpoints."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: The prefix that makes the log's times those of the clock, in seconds since 1970.
LOG_PREFIX = "%n "
_STARTING = re.compile(r"^(\d+\.\d+) LOG:  checkpoint starting: (.*)$")
_COMPLETE = re.compile(
    r"^(\d+\.\d+) LOG:  checkpoint complete: wrote (\d+) buffers .*; "
    r"write=([\d.]+) s, sync=([\d.]+) s, total=([\d.]+) s; sync files=(\d+), longest=([\d.]+) s, "
    r"average=[\d.]+ s; distance=(\d+) kB"
)


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint; what is not known of one that did not end is None."""

    start_unix_s: float
    reason: str
    end_unix_s: float | None = None
    buffers: int | None = None
    write_s: float | None = None
    sync_s: float | None = None
    longest_sync_s: float | None = None
    distance_kb: int | None = None


def parse(lines: Iterable[str]) -> list[Checkpoint]:
    """Read the checkpoints of a log that was written with ``LOG_PREFIX``."""
    found: list[Checkpoint] = []
    for line in lines:
        if match := _STARTING.match(line):
            found.append(Checkpoint(float(match[1]), match[2]))
        elif (match := _COMPLETE.match(line)) and found:
            found[-1] = Checkpoint(
                found[-1].start_unix_s, found[-1].reason, float(match[1]), int(match[2]), float(match[3]),
                float(match[4]), float(match[7]), int(match[8]),
            )  # fmt: skip
    return found
