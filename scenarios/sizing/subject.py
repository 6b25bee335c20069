"""What hardware is tried with: a recording or a described workload, made ready once for as many runs as are needed, at any load."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration import self_replay
from tiersim.scenarios.calibration.popularity.tables import levels
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.recorded import Recorded, load_recorded, merge_commands
from tiersim.scenarios.replay import replay
from tiersim.scenarios.statements import calibration
from tiersim.scenarios.statements.load import Load
from tiersim.scenarios.statements.replay import (
    load_of,
    refuse_keys_of_statements,
    replay_statements,
    runs_statements,
)
from tiersim.scenarios.statements.settings import LOG_FILE_BYTES
from tiersim.scenarios.survey import survey
from tiersim.scenarios.waiting import from_disk
from tiersim.scenarios.workloads.assembly import Described
from tiersim.scenarios.workloads.replay import load_workload, run_workload
from tiersim.simulator.database.warm_pools import WarmPools
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.units import NS_PER_S

#: Runs a scenario at so many times the recorded load; the scenario says that load itself where :attr:`Subject.load_key` is there.
Run = Callable[[NamedScenario, float], Result]


@dataclass(frozen=True)
class Subject:
    """What is run, and what targets and candidates have to know of it."""

    name: str
    facts: Mapping[str, Any]  # "trace" of the documents: name, hash, source_format
    counted: str  # what a throughput is of: "transactions" or "requests"
    queries: tuple[str, ...]
    data_bytes: int  # that lie on the volumes
    recorded_per_s: float | None  # None: clients go on when they are answered, and nobody recorded how fast
    load_key: (
        str | None
    )  # key of the scenario that multiplies the load; None: of a described workload, which is changed itself
    run: Run

    def refuse_load(self, scenario: NamedScenario) -> None:
        """Raise ScenarioError for a scenario that says a load of its own: what is run here decides that."""
        if scenario.model.replay.load != 1.0:
            raise ScenarioError(
                f"{scenario.name}: replay.load: is varied here; leave it out, and write for example throughput >= {scenario.model.replay.load:g}x as a target"
            )

    @property
    def paced(self) -> bool:
        """Whether there is a rate to keep up with, so that a load can be too much."""
        return self.recorded_per_s is not None

    def settings_at(self, load: float) -> dict[str, str]:
        """Settings of the scenario that make the load *load* times as large."""
        return {self.load_key: f"{load:.6g}"} if self.load_key and load != 1.0 else {}


def of_workload(path: Path) -> Subject:
    """Make the workload that the file at *path* describes ready; raises ScenarioError."""
    return of_described(load_workload(path))


def of_described(described: Described) -> Subject:
    """Make a described workload ready."""
    said = described.model.workload
    pages = sum(
        one.heap_pages(said.page) + sum(levels(-(-(one.index or 0) // said.page)))
        for one in described.model.relations.values()
    )
    rates = [stream.rate for stream in described.model.streams.values()]
    clocked = [rate for rate in rates if rate is not None]
    return Subject(
        name=described.path.stem,
        facts={"name": described.path.stem, "hash": described.hash, "source_format": "workload"},
        counted="transactions",
        queries=tuple(described.model.statements),
        data_bytes=pages * said.page + LOG_FILE_BYTES,
        recorded_per_s=sum(clocked) if len(clocked) == len(rates) else None,
        load_key=None,
        run=lambda scenario, load: run_workload(scaled_workload(described, load), scenario),
    )


def scaled_workload(described: Described, load: float) -> Described:
    """Return a workload with *load* times the clients, whole ones and at least one, and *load* times the rates."""
    if load == 1.0:
        return described
    streams = {
        name: stream.model_copy(
            update={"rate": stream.rate * load}
            if stream.rate is not None
            else {"clients": max(round((stream.clients or 1) * load), 1)}
        )
        for name, stream in described.model.streams.items()
    }
    return replace(described, model=described.model.model_copy(update={"streams": streams}))


def of_bundle(bundle: Bundle, base: NamedScenario, recorded_on: NamedScenario | None = None) -> Subject:
    """Make a recording ready for scenarios like *base*: statements where that has an engine, else requests.

    *recorded_on* is a scenario of the recorded hardware, to calibrate by. Raises TraceError or ScenarioError.
    """
    if runs_statements(bundle, base):
        return _of_statements(bundle, base, recorded_on)
    refuse_keys_of_statements(base)
    return _of_requests(bundle, recorded_on)


def _of_requests(bundle: Bundle, recorded_on: NamedScenario | None) -> Subject:
    found = survey(bundle)
    commands = sum(len(merge_commands(block)[0]) for block in bundle.blocks())
    kept: list[Recorded] = []
    baseline = None if recorded_on is None else replay(found, recorded_on)

    def run(scenario: NamedScenario, load: float) -> Result:
        if not kept and not from_disk(found, scenario):
            kept.append(load_recorded(Bundle(found.path)))
        result = replay(found, scenario, recorded=kept[0] if kept else None)
        return result if baseline is None else self_replay.calibrate([result], baseline)[0]

    return Subject(
        name=_name_of(found.path),
        facts={"name": _name_of(found.path), "hash": found.content_hash, "source_format": found.manifest.source_format},
        counted="requests",
        queries=(),
        data_bytes=sum(use.end_bytes for use in found.files),
        recorded_per_s=commands * NS_PER_S / found.span_ns,
        load_key="replay.load",
        run=run,
    )


def _of_statements(bundle: Bundle, base: NamedScenario, recorded_on: NamedScenario | None) -> Subject:
    loads: dict[int, Load] = {}
    pools = WarmPools()

    def load_for(scenario: NamedScenario) -> Load:
        seed = scenario.model.replay.seed
        if loads and not (one := next(iter(loads.values()))).synthetic:
            return one  # what was recorded does not depend on luck
        if seed not in loads:
            loads[seed] = load_of(bundle.path, seed, recorded_on)
        return loads[seed]

    first = load_for(base)
    processor = None if recorded_on is None else calibration.calibrate(load_for(recorded_on), recorded_on)

    def plain(scenario: NamedScenario) -> Result:
        return replay_statements(bundle.path, scenario, processor=processor, load=load_for(scenario), pools=pools)

    baseline = None if recorded_on is None else plain(recorded_on)

    def run(scenario: NamedScenario, load: float) -> Result:
        result = plain(scenario)
        return result if baseline is None else calibration.stamped([result], baseline, load_for(scenario))[0]

    page_bytes = int(first.manifest.host.get("page_bytes", 8192))
    pages = sum(sum(levels(table.index_pages)) + max(table.heap_pages, 1) for table in first.fitted.tables)
    return Subject(
        name=_name_of(bundle.path),
        facts={"name": _name_of(bundle.path), "source_format": bundle.manifest.source_format},
        counted="transactions",
        queries=first.queries,
        data_bytes=pages * page_bytes + LOG_FILE_BYTES,
        recorded_per_s=first.transactions * NS_PER_S / first.span_ns if first.span_ns else None,
        load_key="replay.load",
        run=run,
    )


def _name_of(path: Path) -> str:
    return path.absolute().name.removesuffix(".trace")
