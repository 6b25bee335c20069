"""How much memory there is, or may be taken, and whether a replay that holds its trace fits there."""

import os

from tiersim.errors import ScenarioError
from tiersim.operating_system import available_bytes, limit_memory, memory_limit_bytes
from tiersim.units import format_bytes

#: Resident bytes for each request of the trace, and for each of every run at the same time: 4 million requests took 1.2
#: GB beyond the program itself in one run.
SHARED_BYTES, RUN_BYTES = 70, 230
#: A replay of 1,000 requests takes 348 MiB: libraries (numpy, pyarrow, numba) and the code of kernels. Those end the
#: process where they get no more.
_LEAST_BYTES = 512 << 20
#: The rest is for others.
_SHARE = 0.8


def workers_that_fit(requests: int, workers: int, free_bytes: int | None = None) -> int:
    """How many of *workers* runs of so many requests fit into memory at a time.

    *free_bytes* is what the machine has left when None. Raises ScenarioError when not even one fits.
    """
    free = available_bytes() if free_bytes is None else free_bytes
    fit = _runs(requests, free)
    if fit < 1:
        needed = requests * (SHARED_BYTES + RUN_BYTES)
        raise ScenarioError(
            f"{requests:,} requests take about {format_bytes(needed)} of memory in a replay that keeps causes, and "
            f"{format_bytes(free)} are free; --set replay.mode=open takes no more for a long trace than for a short one"
        )
    return min(workers, fit)


def fits(requests: int) -> bool:
    """Whether one run of so many requests fits into the memory that is left."""
    return _runs(requests, available_bytes()) > 0


def _runs(requests: int, free_bytes: int) -> int:
    return int((_SHARE * free_bytes - requests * SHARED_BYTES) // max(requests * RUN_BYTES, 1))


def limit(most_bytes: int) -> None:
    """Let the system give this process no more than *most_bytes*: whatever asks for more raises MemoryError.

    What counts is what was asked for, used or not. Raises ValueError when so little cannot be, or the system knows no
    such limit.
    """
    if most_bytes < _LEAST_BYTES:
        raise ValueError(
            f"{format_bytes(most_bytes)} are not enough to begin with; give {format_bytes(_LEAST_BYTES)} or more"
        )
    limit_memory(most_bytes)
    # its own pool asks for 1 GiB at once, and uses what it needs
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def lift() -> int | None:
    """Take the limit away and return what it was, None if there was none."""
    most = memory_limit_bytes()
    if most is not None:
        limit_memory(None)
    return most
