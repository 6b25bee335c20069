"""What hardware is tried with: a recording or a described workload, made ready once for as many runs as are needed, at
any load.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.errors import ScenarioError
from tiersim.operations import READ, WRITE
from tiersim.scenarios.calibration.popularity.occupancy import levels
from tiersim.scenarios.caveats import too_short
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import find_workload
from tiersim.scenarios.load_steps import LoadSteps, counted, steps_of_clients
from tiersim.scenarios.sizing.screen import VolumeDemand
from tiersim.scenarios.statements.assembly import recorded_bytes
from tiersim.scenarios.statements.settings import LOG_FILE_BYTES
from tiersim.scenarios.survey import merged_blocks
from tiersim.scenarios.sweeps.sources import Note, RequestSource, StatementSource, SweepSource, open_source
from tiersim.scenarios.workloads.assembly import Described
from tiersim.scenarios.workloads.replay import load_workload, run_workload
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.units import NS_PER_S

#: Runs a scenario at so many times the load of a description; the scenario itself says that of a recording
#: (:attr:`SizingSubject.load_key`).
Run = Callable[[NamedScenario, float, Note], Result]


@dataclass(frozen=True)
class SizingSubject:
    """What is run, and what targets and candidates have to know of it."""

    name: str
    facts: Mapping[str, Any]  # "trace" of the documents: name, hash, source_format
    counted: str  # what a throughput is of: "transactions" or "requests"
    queries: tuple[str, ...]
    data_bytes: int  # that lie on the volumes
    recorded_per_s: float | None  # None: clients go on when they are answered, and nobody recorded how fast
    demand: VolumeDemand | None  # of a recorded request; None: what transactions ask for takes a run to know
    load_key: (
        str | None
    )  # key of the scenario that multiplies the load; None: of a described workload, which is changed itself
    run: Run
    steps: Callable[[], LoadSteps]  # in which the load can be run

    def refuse_load(self, scenario: NamedScenario) -> None:
        """Raise ScenarioError for a scenario that says a load of its own: what is run here decides that."""
        said = scenario.model.replay.load
        if said != 1.0:
            raise ScenarioError(
                f"{scenario.name}: replay.load: is varied here; leave it out, and write throughput >= {said:g}x as a"
                " target of tiersim size"
            )

    @property
    def paced(self) -> bool:
        """Whether there is a rate to keep up with, so that a load can be too much."""
        return self.recorded_per_s is not None

    def settings_at(self, load: float) -> dict[str, str]:
        """Settings of the scenario that make the load *load* times as large."""
        return {self.load_key: f"{load:.6g}"} if self.load_key and load != 1.0 else {}


def of_path(path: Path, base: NamedScenario, recorded_on: NamedScenario | None = None) -> SizingSubject:
    """Make the bundle or the workload's description at *path* ready for scenarios like *base*; raises TraceError or
    ScenarioError.

    *recorded_on* is a scenario of the recorded hardware, to calibrate by.
    """
    workload = find_workload(path)
    if workload is not None:
        return of_described(load_workload(workload))
    return of_source(open_source(path, base, recorded_on, None), base)


def of_source(source: SweepSource, base: NamedScenario) -> SizingSubject:
    """Make a recording that was read ready for scenarios like *base*."""
    source.prepare()
    if isinstance(source, RequestSource):
        return _of_requests(source, base)
    assert isinstance(source, StatementSource)
    return _of_statements(source, base)


def of_described(described: Described) -> SizingSubject:
    """Make a described workload ready."""
    said = described.model.workload
    pages = sum(
        one.heap_pages(said.page) + sum(levels(-(-(one.index or 0) // said.page)))
        for one in described.model.relations.values()
    )
    streams = described.model.streams.values()
    clocked = [stream.rate * stream.pass_transactions for stream in streams if stream.rate is not None]

    def run(scenario: NamedScenario, load: float, note: Note) -> Result:
        return run_workload(scaled_workload(described, load), scenario, lambda done, _: note(done))

    return SizingSubject(
        name=described.path.stem,
        facts={"name": described.path.stem, "hash": described.hash, "source_format": "workload"},
        counted="transactions",
        queries=tuple(described.model.statements),
        data_bytes=pages * said.page + LOG_FILE_BYTES,
        recorded_per_s=sum(clocked) if len(clocked) == len(streams) else None,
        demand=None,
        load_key=None,
        run=run,
        steps=lambda: _steps_of_described(described),
    )


def _steps_of_described(described: Described) -> LoadSteps:
    """Clients are whole; what comes at a rate is not."""
    streams = described.model.streams.values()
    clients = [stream.clients or 1 for stream in streams if stream.rate is None]
    if len(clients) < len(streams):
        return LoadSteps("", lambda load: load)
    total = sum(clients)
    return LoadSteps(
        counted(total, "client"), lambda load: sum(steps_of_clients(one).reached(load) * one for one in clients) / total
    )


def scaled_workload(described: Described, load: float) -> Described:
    """Return a workload with *load* times the clients, whole ones and at least one, and *load* times the rates."""
    if load == 1.0:
        return described
    streams = {
        name: stream.model_copy(
            update=(
                {"rate": stream.rate * load}
                if stream.rate is not None
                else {"clients": max(round((stream.clients or 1) * load), 1)}
            )
        )
        for name, stream in described.model.streams.items()
    }
    return replace(described, model=described.model.model_copy(update={"streams": streams}))


def _of_requests(source: RequestSource, base: NamedScenario) -> SizingSubject:
    found = source.found
    if (why := too_short(found.span_ns - found.first_ns)) is not None:
        raise ScenarioError(f"{source.trace['name']}: {why}; record longer")
    commands = 0
    asked = np.zeros((2, 2))  # requests and bytes, read and written
    for block in merged_blocks(Bundle(found.path).blocks()):
        commands += len(block.op)
        asked += [
            [float((block.op == op).sum()), float(block.length_bytes[block.op == op].sum())] for op in (READ, WRITE)
        ]
    return SizingSubject(
        name=str(source.trace["name"]),
        facts=_facts(source),
        counted="requests",
        queries=(),
        data_bytes=sum(use.end_bytes for use in found.files),
        recorded_per_s=commands * NS_PER_S / found.span_ns,
        demand=VolumeDemand(*(asked / commands).ravel().tolist()),
        load_key="replay.load",
        run=lambda scenario, _, note: source.run(scenario, note, tables=True),
        steps=cache(lambda: source.steps(base)),
    )


def _of_statements(source: StatementSource, base: NamedScenario) -> SizingSubject:
    load = source.load(base)
    counted_ns = load.counters.found.span_ns.get("query") or 0  # executions may be a little shorter
    if (why := too_short(max(load.span_ns, counted_ns))) is not None:
        raise ScenarioError(f"{source.trace['name']}: {why}; record longer")
    page_bytes = int(load.manifest.host.get("page_bytes", 8192))
    pages = sum(sum(levels(table.index_pages)) + max(table.heap_pages, 1) for table in load.fitted.tables)
    recorded = sum(recorded_bytes(load.counters.found, page_bytes).values())
    return SizingSubject(
        name=str(source.trace["name"]),
        facts=_facts(source),
        counted="transactions",
        queries=load.queries,
        data_bytes=max(pages * page_bytes, recorded) + LOG_FILE_BYTES,
        recorded_per_s=load.transactions * NS_PER_S / load.span_ns,
        demand=None,
        load_key="replay.load",
        run=lambda scenario, _, note: source.run(scenario, note, tables=True),
        steps=cache(lambda: source.steps(base)),
    )


def _facts(source: SweepSource) -> dict[str, Any]:
    return {key: source.trace[key] for key in ("name", "hash", "source_format")}
