"""The block requests of a server of which nobody recorded any: what a run of its statements asks of the volumes, alone
on the hardware, or beside the requests of others, to which all that stands above the volumes then answers: processors,
buffer pool, group commits, checkpoints.

What it asks is replayed as a recorded block trace is: its sessions wait for their own requests, and for flushes of the
log by others of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.operations import FLUSH, READ
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.caveats import WAITS
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import PlayedRecording
from tiersim.scenarios.statements.assembly import Assembled, Shared
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.calibration_verdict import stamped
from tiersim.scenarios.statements.loads import Loads, load_of
from tiersim.scenarios.statements.ranges import LAWS, draws_of, with_range
from tiersim.scenarios.statements.recorded_host import part_of
from tiersim.scenarios.statements.replay import between_waits, replay_statements
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.tails import with_tails
from tiersim.simulator.database.database_state import BURSTS, CHECKPOINTER, LOG_BLOCKS, LOG_STATION, LOG_THREADS
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.result import Result
from tiersim.simulator.taps import NOBODY, rows_of
from tiersim.traces.bundle import Requests, write_bundle
from tiersim.traces.schema import CHECKPOINT_WRITE, DATA_READ, DATA_WRITE, FLAG_SYNC, LOG_WRITE, TEMP, UNKNOWN

#: What the replay of derived requests lacks, behind the tenant's name.
NOT_ANSWERED = (
    "its requests were derived from a run of its statements alone; its processors, buffer pool, sizes of"
    " group commits and pages of checkpoints do not answer to the others"
)
#: And what it lacks where that run was beside the others.
NOT_ANSWERED_BESIDE = (
    "its statements ran beside the requests that the others asked for in a run before; that the others answer to that"
    " again is left out"
)
#: And where transactions come at the recorded rate.
BY_THE_CLOCK = (
    "its transactions come at the recorded rate, however slow they are; if its clients wait for answers, write"
    ' replay = { mode = "closed", clients = 8, think = "0 s" }, with their number and their pause'
)


@dataclass(frozen=True)
class Calibrated:
    """Statements of a recording; what they cost the processors of the recorded hardware as a scenario describes it; and
    the result of a run there, which says how well that agrees with the recording.
    """

    loads: Loads
    recorded_on: NamedScenario
    processor: ProcessorCosts
    baseline: Result

    @property
    def load(self) -> StatementLoad:
        """The statements in the arrangement that is run."""
        return self.loads.of(self.recorded_on)

    def arrangements(self) -> list[StatementLoad]:
        """Return them as several seeds arrange them, those that are run first; made when they are asked for."""
        return [self.loads.of(self.recorded_on, further) for further in range(LAWS)]

    @classmethod
    def by(cls, path: Path, recorded_on: NamedScenario) -> "Calibrated":
        """Calibrate the bundle at *path*; raises TiersimError."""
        loads = Loads(path, recorded_on, LAWS)
        load = loads.of(recorded_on)
        processor = calibrate(load, recorded_on)
        return cls(loads, recorded_on, processor, replay_statements(load, recorded_on, processor=processor))


def derive(
    path: Path,
    scenario: NamedScenario,
    target: Path,
    beside: Sequence[PlayedRecording] = (),
    calibrated: Calibrated | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Run the statements of the bundle at *path* on *scenario*: alone, or *beside* recordings of which the first is its
    own (see :func:`replay_statements`); they cost what was *calibrated* with the scenario's seed, or else what was
    recorded. Write their requests to the volumes as a bundle at *target*, one file for each volume. Return the result
    of that run. Raises TiersimError.
    """

    def write(assembled: Assembled, metrics: Metrics) -> bool:
        found = rows_of(metrics)
        if found is not None:
            own = found["asked_by"] < len(assembled.database.sessions)
            _write(target, found[own & (found["came_ns"] <= assembled.timeline_ns)], assembled, bool(beside))
        return found is not None

    if calibrated is None:
        load = load_of(path, scenario.model.replay.seed)
        return replay_statements(load, scenario, tap=write, beside=beside, progress=progress)
    load, processor = calibrated.load, calibrated.processor
    result = replay_statements(load, scenario, processor=processor, tap=write, beside=beside, progress=progress)
    return stamped([result], calibrated.baseline, load, processor)[0]


def with_expected(
    path: Path,
    scenario: NamedScenario,
    derived: Result,
    beside: Sequence[PlayedRecording],
    calibrated: Calibrated | None,
    progress: Callable[[int], None],
) -> Result:
    """Return the result of such a run with the range of transactions/s to expect: of a load that was *calibrated* by
    what its counters do not tell; else where the recording leaves open what waits were. Raises TiersimError.
    """
    seed, shared = scenario.model.replay.seed, Shared()
    leaves_open = derived.summary["verdict"].get("error") == WAITS
    if calibrated is None:
        if not leaves_open:
            return derived
        return between_waits(derived, scenario, load_of(path, seed), shared, progress, beside)
    if leaves_open or calibrated.load.logical_reads is not None:  # draws leave out how long waits were
        return derived

    def run(scenario: NamedScenario, load: StatementLoad, costs: ProcessorCosts) -> Result:
        return replay_statements(load, scenario, processor=costs, shared=shared, goes_on=False, beside=beside)

    parts = [part_of(load, scenario) for load in calibrated.arrangements()]
    draws = draws_of(parts[0], calibrated.processor, seed)
    return with_tails(with_range(derived, scenario, parts, calibrated.processor, draws, run))


def _write(target: Path, rows: NDArray[Any], assembled: Assembled, beside: bool) -> None:
    """Write requests that were noted as a bundle."""
    stations, sessions = assembled.builder.stations, len(assembled.database.sessions)
    nothing = np.full(len(rows), -1, np.int64)
    by_session = rows["asked_by"] != NOBODY
    # streams: sessions, then stations that work for them, then what no station did for anybody
    through = np.where(rows["through"] == NOBODY, len(stations), rows["through"])
    stream = np.where(by_session, rows["asked_by"], sessions + through)
    with write_bundle(target) as (writer, fields):
        writer.file_names += list(assembled.entry)
        writer.stream_names += [f"session {number}" for number in range(sessions)]
        writer.stream_names += [*(station.name for station in stations), "background"]
        fields["source_format"] = "derived"
        how = "beside the others' requests" if beside else "alone"
        fields["inferred"] = [f"requests are those of a run of the recorded statements on this hardware, {how}"]
        writer.append(
            Requests(
                time_ns=rows["came_ns"].copy(),
                op=rows["op"].astype(np.uint8),
                file=rows["place"].astype(np.int32),
                offset_bytes=rows["offset_bytes"].copy(),
                length_bytes=rows["length_bytes"].copy(),
                stream=stream.astype(np.int32),
                purpose=_purposes(rows, assembled),
                issue_ns=nothing,
                command=nothing,
                latency_ns=rows["done_ns"] - rows["came_ns"],
                flags=np.where(by_session, FLAG_SYNC, 0).astype(np.uint8),
            )
        )


def _purposes(rows: NDArray[Any], assembled: Assembled) -> NDArray[np.uint8]:
    kinds = assembled.plant.stations["kind"]
    kind = np.where(rows["through"] == NOBODY, -1, kinds[np.maximum(rows["through"], 0)])
    purpose = np.where(rows["op"] == READ, DATA_READ, DATA_WRITE)
    purpose[(rows["op"] == FLUSH)] = UNKNOWN
    purpose[rows["category"] == TEMP] = TEMP
    purpose[np.isin(kind, (CHECKPOINTER, BURSTS)) & (rows["op"] != FLUSH)] = CHECKPOINT_WRITE
    purpose[np.isin(kind, (LOG_STATION, LOG_BLOCKS, LOG_THREADS))] = LOG_WRITE
    found: NDArray[np.uint8] = purpose.astype(np.uint8)
    return found
