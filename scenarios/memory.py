"""Whether a replay that holds its trace in memory fits there."""

from tiersim.errors import ScenarioError
from tiersim.operating_system import available_bytes
from tiersim.units import format_bytes

#: Resident bytes for each request of the trace, and for each of every run at the same time: 4 million requests took 1.2 GB
#: beyond the program itself in one run.
SHARED_BYTES, RUN_BYTES = 70, 230
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
