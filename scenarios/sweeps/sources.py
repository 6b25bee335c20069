"""What the points of a sweep run: requests, statements, or a described workload; read once, run from any thread."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tiersim.parallel import Newest
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.calibration.self_replay import calibrate as calibrate_requests
from tiersim.scenarios.causes import Waiting, from_disk, steps_of_requests
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import find_workload, refuse_keys_of_statements, runs_statements
from tiersim.scenarios.load_steps import LoadSteps
from tiersim.scenarios.owners import find_owners
from tiersim.scenarios.replay import Playback, replay, workers_that_fit
from tiersim.scenarios.replay import trace_of as trace_of_requests
from tiersim.scenarios.statements.assembly import Shared
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.calibration_verdict import stamped
from tiersim.scenarios.statements.loads import Loads
from tiersim.scenarios.statements.replay import replay_statements, trace_of
from tiersim.scenarios.statements.schedule import steps_of_statements
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.survey import survey
from tiersim.scenarios.workloads.replay import load_workload, run_workload
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.bundle import Requests as Block

#: Loads that are kept, by seed: that of the replication that a sweep is at, and that of the one before.
_LOADS = 2

#: What a run calls now and then with how far it has come; it raises to end the run.
Note = Callable[[int], None]


class SweepSource(Protocol):
    """What is run on every scenario; ``trace`` names it, and has a hash that is the same for the
    same content anywhere.
    """

    trace: Mapping[str, Any]

    def prepare(self) -> None:
        """Do what has to be done once before the first run; raises ScenarioError or TraceError."""
        ...

    def run(self, scenario: NamedScenario, note: Note, *, tables: bool) -> Result:
        """Run it on *scenario*; the tables of the result may be empty without *tables*. Raises ScenarioError or
        TraceError where they do not fit.
        """
        ...

    def workers(self, scenarios: Iterable[NamedScenario], wanted: int) -> int:
        """Return how many of *wanted* runs on *scenarios* fit into memory at a time; raises ScenarioError when not even
        one does.
        """
        ...


def open_source(
    path: Path, scenario: NamedScenario, recorded_on: NamedScenario | None, progress: Callable[[int, int], None] | None
) -> SweepSource:
    """Read what is at *path*, a bundle or a workload's description, for scenarios like *scenario*; raises TraceError or
    ScenarioError.

    *recorded_on*, a scenario of the recorded hardware, is run once, before the first run on another; results say how it
    agrees with the recording.
    """
    workload = find_workload(path)
    if workload is not None:
        return WorkloadSource(workload)
    bundle = Bundle(path)
    if runs_statements(bundle, scenario):
        return StatementSource(bundle, scenario, recorded_on)
    return RequestSource(bundle, recorded_on, progress)


class RequestSource:
    """The requests of a block trace."""

    def __init__(
        self,
        bundle: Bundle,
        recorded_on: NamedScenario | None,
        progress: Callable[[int, int], None] | None,
        also: Callable[[Block], None] | None = None,
    ) -> None:
        """Survey the trace; *also* is called with each block of it."""
        self.found = survey(bundle, progress=progress, also=also)
        self._playback = Playback(self.found, keep=True)
        self._recorded_on = recorded_on
        self._baseline: Result | None = None
        self._steps: Newest[LoadSteps] = Newest(1)
        self.trace: Mapping[str, Any] = trace_of_requests(self.found)

    def prepare(self) -> None:
        """See :class:`SweepSource`."""
        if self._recorded_on is not None and self._baseline is None:
            self._baseline = self._replay(self._recorded_on)

    def run(self, scenario: NamedScenario, note: Note, *, tables: bool) -> Result:
        """See :class:`SweepSource`."""
        refuse_keys_of_statements(scenario)
        result = self._replay(scenario, note, tables=tables)
        return result if self._baseline is None else calibrate_requests([result], self._baseline)[0]

    def waiting(self, scenario: NamedScenario) -> Waiting:
        """Return who waits for whom on *scenario*; raises ScenarioError."""
        return self._playback.waiting(scenario)

    def steps(self, scenario: NamedScenario) -> LoadSteps:
        """Return in which steps the load can be run on *scenario*."""
        rules = scenario.model.replay

        def find() -> LoadSteps:
            owners = find_owners(self._playback.recorded, self.found.stream_names, rules.clients)
            return steps_of_requests(owners, rules.seed)

        return self._steps.get((rules.clients, rules.seed), find)

    def _replay(self, scenario: NamedScenario, note: Note | None = None, *, tables: bool = False) -> Result:
        return replay(self.found, scenario, progress=note, playback=self._playback, tables=tables)

    def workers(self, scenarios: Iterable[NamedScenario], wanted: int) -> int:
        """See :class:`SweepSource`."""
        loads = [one.model.replay.load for one in scenarios if not from_disk(self.found, one)]
        return workers_that_fit(round(self.found.requests * max(max(loads), 1.0)), wanted) if loads else wanted


class StatementSource:
    """The statements of a recording, one by one or synthesised from counters."""

    def __init__(self, bundle: Bundle, scenario: NamedScenario, recorded_on: NamedScenario | None) -> None:
        """Read or synthesise the load of *scenario*."""
        self._recorded_on = recorded_on
        self._loads = Loads(bundle.path, recorded_on, _LOADS)
        self._processor: ProcessorCosts | None = None
        self._baseline: Result | None = None
        self._shared = Shared()
        self.trace: Mapping[str, Any] = trace_of(self._loads.of(scenario))

    def load(self, scenario: NamedScenario) -> StatementLoad:
        """Return the load that *scenario* runs."""
        return self._loads.of(scenario)

    def steps(self, scenario: NamedScenario) -> LoadSteps:
        """Return in which steps the load can be run on *scenario*."""
        return steps_of_statements(scenario.model.replay, self.load(scenario))

    def prepare(self) -> None:
        """See :class:`SweepSource`."""
        if self._recorded_on is not None and self._baseline is None:
            self._processor = calibrate(self.load(self._recorded_on), self._recorded_on)
            self._baseline = self._replay(self._recorded_on)

    def run(self, scenario: NamedScenario, note: Note, *, tables: bool) -> Result:
        """See :class:`SweepSource`."""
        result = self._replay(scenario, note)
        if self._recorded_on is None or self._baseline is None:
            return result
        assert self._processor is not None
        return stamped([result], self._baseline, self.load(self._recorded_on), self._processor)[0]

    def run_part(self, load: StatementLoad, scenario: NamedScenario, note: Note) -> Result:
        """Run a part of the load alone."""
        return self._replay(scenario, note, load)

    def _replay(self, scenario: NamedScenario, note: Note | None = None, part: StatementLoad | None = None) -> Result:
        load = self.load(scenario) if part is None else part
        trace = {**self.trace, "statements": len(load), "transactions": load.transactions, "span_ns": load.span_ns}
        return replay_statements(
            load,
            scenario,
            processor=self._processor,
            shared=self._shared,
            trace=trace,
            progress=note,
        )

    def workers(self, scenarios: Iterable[NamedScenario], wanted: int) -> int:
        """See :class:`SweepSource`; how much memory a pool takes is not known before it is filled."""
        return wanted


class WorkloadSource:
    """A workload that is described."""

    def __init__(self, path: Path) -> None:
        """Read the description."""
        self._described = load_workload(path)
        self.trace: Mapping[str, Any] = {
            "name": path.stem,
            "hash": self._described.hash,
            "source_format": "workload",
        }

    def prepare(self) -> None:
        """See :class:`SweepSource`."""

    def run(self, scenario: NamedScenario, note: Note, *, tables: bool) -> Result:
        """See :class:`SweepSource`."""
        return run_workload(self._described, scenario, lambda done, _: note(done))

    def workers(self, scenarios: Iterable[NamedScenario], wanted: int) -> int:
        """See :class:`SweepSource`."""
        return wanted
