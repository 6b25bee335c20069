"""A trace ready to be played on many scenarios: what does not depend on the hardware is read, and found out, once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.operating_system import available_bytes
from tiersim.parallel import Newest
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.memory import fits
from tiersim.scenarios.recorded import Gathered, Merged, Recorded, load_recorded, merged_blocks
from tiersim.scenarios.survey import Survey, latencies_of_files, survey
from tiersim.scenarios.waiting import ENOUGH_MEASURED, Waiting, make_waiting
from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.schema import NOT_MEASURED

#: Ways of replaying (load, mode, clients ...) that are kept: the one that a sweep is at, and the one that it comes
#: from.
_WAYS = 2
#: Resident bytes of a request in blocks, and the share of the free memory that they may take: longer traces are read
#: again for each run.
_BLOCK_BYTES, _SHARE = 90, 0.25


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
        """Who waits for whom when it is replayed as *scenario* says: for one run, which uses the streams up. Raises
        ScenarioError.
        """
        if not self._keep:
            return make_waiting(self.recorded, self.found, scenario)
        rules = scenario.model.replay
        # where the load is as recorded, the seed decides nothing here
        key = rules.model_copy(
            update={"addresses": "keep"} | ({"seed": 0} if rules.load == 1.0 else {})
        ).model_dump_json()
        return _unused(self._waiting.get(key, lambda: make_waiting(self.recorded, self.found, scenario)))

    def blocks(self) -> Iterable[Merged]:
        """Blocks of commands for a replay by the clock; from disk each time where they are long, or nothing is kept."""
        if self._keep and self.found.requests * _BLOCK_BYTES <= _SHARE * available_bytes():
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


def _unused(waiting: Waiting) -> Waiting:
    """The same with columns of its own for what a run writes."""
    streams = waiting.streams
    count = streams.commands
    return replace(
        waiting,
        streams=streams._replace(
            streams=streams.streams.copy(),
            pace_state=streams.pace_state.copy(),
            foreground_ns=streams.foreground_ns.copy(),
            ended_ns=np.zeros(count, np.int64),
            started_ns=np.full(count, NEVER, np.int64),
            done_ns=np.full(count, NEVER, np.int64),
        ),
    )
