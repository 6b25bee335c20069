"""How much memory there is, or may be taken, and whether a replay that holds its trace fits there."""

import os
import sys
from pathlib import Path

from tiersim import operating_system
from tiersim.errors import ScenarioError
from tiersim.units import format_bytes

#: Resident bytes for each request of the trace, and for each of every run at the same time: 4 million requests took 1.2 GB
#: beyond the program itself in one run.
SHARED_BYTES, RUN_BYTES = 70, 230
#: A replay of 1,000 requests takes 348 MiB: libraries (numpy, pyarrow, numba) and the code of kernels. Those end the process where they get no more.
_LEAST_BYTES = 512 << 20
#: The rest is for others.
_SHARE = 0.8


def workers_that_fit(requests: int, workers: int, free_bytes: int | None = None) -> int:
    """How many of *workers* runs of so many requests fit into memory at a time.

    *free_bytes* is what the machine has left when None. Raises ScenarioError when not even one fits.
    """
    free = available_bytes() if free_bytes is None else free_bytes
    each = max(requests * RUN_BYTES, 1)
    fit = int((_SHARE * free - requests * SHARED_BYTES) // each)
    if fit < 1:
        needed = requests * (SHARED_BYTES + RUN_BYTES)
        raise ScenarioError(
            f"{requests:,} requests take about {format_bytes(needed)} of memory in a replay that keeps causes, and "
            f"{format_bytes(free)} are free; --set replay.mode=open takes no more for a long trace than for a short one"
        )
    return min(workers, fit)


def available_bytes() -> int:
    """Memory that can be had without swapping, and within the limit."""
    free, most = operating_system.available_bytes(), _limit_bytes()
    return free if most is None else max(min(free, most - _taken_bytes()), 0)


def limit(most_bytes: int) -> None:
    """Let the system give this process no more than *most_bytes*: whatever asks for more raises MemoryError.

    What counts is what was asked for, used or not (RLIMIT_DATA: the heap, and all that is private and can be written). Raises ValueError when
    so little cannot be, or the system knows no such limit.
    """
    if sys.platform != "linux":
        raise ValueError("this system cannot bound the memory of a process; leave it out")
    import resource

    if most_bytes < _LEAST_BYTES:
        raise ValueError(
            f"{format_bytes(most_bytes)} are not enough to begin with; give {format_bytes(_LEAST_BYTES)} or more"
        )
    os.environ.setdefault(
        "ARROW_DEFAULT_MEMORY_POOL", "system"
    )  # its own pool asks for 1 GiB at once, and uses what it needs
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def lift() -> int | None:
    """Take the limit away and return what it was, None if there was none."""
    most = _limit_bytes()
    if most is not None:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    return most


def _limit_bytes() -> int | None:
    if sys.platform != "linux":
        return None
    import resource

    most = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return None if most == resource.RLIM_INFINITY else most


def _taken_bytes() -> int:
    """What counts against the limit now: proc(5), statm, data and stacks."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
