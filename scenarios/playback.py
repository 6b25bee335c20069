"""A trace ready to be played on many scenarios: what does not depend on the hardware is read, and found out, once.

How much memory there is, or may be taken, and whether a replay that holds its trace fits there.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.operating_system import available_bytes, limit_memory, memory_limit_bytes
from tiersim.parallel import Newest
from tiersim.scenarios.causes import ENOUGH_MEASURED, Waiting, make_waiting
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.survey import (
    Gathered,
    Merged,
    Recorded,
    Survey,
    latencies_of_files,
    load_recorded,
    merged_blocks,
    survey,
)
from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.schema import NOT_MEASURED
from tiersim.units import format_bytes

#: Resident bytes for each request of the trace, and for each of every run at the same time: 4 million requests took 1.2
#: GB beyond the program itself in one run.
SHARED_BYTES, RUN_BYTES = 70, 230
#: A replay of 1,000 requests takes 348 MiB: libraries (numpy, pyarrow, numba) and the code of kernels. Those end the
#: process where they get no more.
_LEAST_BYTES = 512 << 20
#: The rest is for others.
_SHARE_OF_RUNS = 0.8


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
    return int((_SHARE_OF_RUNS * free_bytes - requests * SHARED_BYTES) // max(requests * RUN_BYTES, 1))


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


#: Ways of replaying (load, mode, clients ...) that are kept: the one that a sweep is at, and the one that it comes
#: from.
_WAYS = 2
#: Resident bytes of a request in blocks, and the share of the free memory that they may take: longer traces are read
#: again for each run.
_BLOCK_BYTES, _SHARE_OF_BLOCKS = 90, 0.25


class Playback:
    """One surveyed trace for several runs, from any thread. Nothing is read before it is asked for."""

    def __init__(self, found: Survey, *, keep: bool = False, recorded: Recorded | None = None) -> None:
        """*keep* who waits for whom, and blocks that come by the clock, for the next run: for sweeps, where few
        scenarios differ in them.

        *recorded* are all commands, where they were kept while the trace was surveyed.
        """
        self.found, self._keep = found, keep
        self._surveyed = recorded
        self._recorded: Newest[Recorded] = Newest(1)
        self._waiting: Newest[Waiting] = Newest(_WAYS)
        self._blocks: Newest[list[Merged]] = Newest(1)
        self._latencies: Newest[dict[int, NDArray[np.int64]]] = Newest(1)

    @property
    def held_bytes(self) -> int:
        """What is in memory since the survey."""
        return 0 if self._surveyed is None else self._surveyed.nbytes

    @property
    def recorded(self) -> Recorded:
        """All commands, in memory."""
        if self._surveyed is not None:
            return self._surveyed
        return self._recorded.get(0, lambda: load_recorded(Bundle(self.found.path)))

    def waiting(self, scenario: NamedScenario) -> Waiting:
        """Who waits for whom when it is replayed as *scenario* says. Raises ScenarioError."""
        if not self._keep:
            return make_waiting(self.recorded, self.found, scenario)
        rules = scenario.model.replay
        # where the load is as recorded, the seed decides nothing here
        key = rules.model_copy(
            update={"addresses": "keep"} | ({"seed": 0} if rules.load == 1.0 else {})
        ).model_dump_json()
        return self._waiting.get(key, lambda: make_waiting(self.recorded, self.found, scenario))

    def blocks(self) -> Iterable[Merged]:
        """Blocks of commands for a replay by the clock; from disk each time where they are long, or nothing is kept."""
        if self._keep and self.found.requests * _BLOCK_BYTES <= _SHARE_OF_BLOCKS * available_bytes():
            return self._blocks.get(0, lambda: list(self._read()))
        return self._read()

    def _read(self) -> Iterator[Merged]:
        return merged_blocks(Bundle(self.found.path))

    def latencies_of_files(self) -> dict[int, NDArray[np.int64]]:
        """Measured latencies by file code, see :func:`tiersim.scenarios.survey.latencies_of_files`."""
        return self._latencies.get(0, lambda: latencies_of_files(Bundle(self.found.path)))


def survey_to_play(
    bundle: Bundle, scenarios: Sequence[NamedScenario], *, progress: Callable[[int, int], None] | None = None
) -> Playback:
    """Survey a trace for runs of *scenarios*; where they will need its commands in memory, these are kept on the way.
    Raises TraceError.
    """
    rules = [scenario.model.replay for scenario in scenarios]
    if all(one.mode == "open" and one.load == 1.0 for one in rules) or not fits(bundle.rows):
        return Playback(survey(bundle, progress=progress))
    gathered: Gathered | None = Gathered(bundle.rows)
    rows = measured = 0

    def gather(block: Requests) -> None:
        nonlocal gathered, rows, measured
        rows += len(block)
        measured += int(np.count_nonzero(block.latency_ns != NOT_MEASURED))
        if gathered is None or measured < ENOUGH_MEASURED * rows:  # then they most likely come by the clock
            gathered = None
        else:
            gathered.add(block)

    found = survey(bundle, progress=progress, also=gather)
    return Playback(found, recorded=None if gathered is None else gathered.all())
