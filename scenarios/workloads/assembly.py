"""A described workload on a scenario: the database above the plant, ready to run."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import NEVER, Plant
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.popularity.occupancy import levels
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import INTERVALS
from tiersim.scenarios.statements.assembly import (
    Assembled,
    bytes_by_volume,
    host_of,
    volumes_of,
    volumes_of_server,
)
from tiersim.scenarios.statements.settings import LOG_FILE_BYTES, Settings, settings_of
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.scenarios.workloads.demands import Ground
from tiersim.scenarios.workloads.model import RelationModel, Workload
from tiersim.scenarios.workloads.program import Laid, lay_out
from tiersim.scenarios.workloads.steps import Backup, Restore, Spill
from tiersim.simulator.database.buffer_pool.pages import clean_all
from tiersim.simulator.database.buffer_pool.warm import settle
from tiersim.simulator.database.build import Relation, add_database
from tiersim.simulator.database.database_state import Database
from tiersim.traces.bundle import Manifest
from tiersim.traces.differences import Counters
from tiersim.units import NS_PER_S, format_bytes

#: Temp blocks of PostgreSQL go round in so many bytes at least.
_TEMP_BYTES = 1 << 30
#: Files begin at multiples of this.
_ALIGNED_BYTES = 1 << 20
#: A pool is filled by so many references for each of its frames, and by so many at least, if it is not as in the long
#: run before.
_MOST_TURNS, _FEWEST = 32, 4_000_000
#: Places for requests that a run begins with; there are more when it needs them.
_SLOTS = 1024


@dataclass(frozen=True)
class Described:
    """A workload with its file."""

    path: Path
    model: Workload
    hash: str


@dataclass(frozen=True)
class Placed:
    """Relations on the scenario's volumes, and where log, temp blocks and backups are."""

    relations: list[Relation]
    volumes: list[str]  # of the relations
    log: str
    temp: str
    backup: str
    backup_from_bytes: int
    temp_from_bytes: int


def assemble(
    described: Described, scenario: NamedScenario, passes: int, span_ns: int, pools: WarmPools
) -> tuple[Assembled, Laid]:
    """Put a workload on *scenario*: clients without a count make *passes*, the timeline is of *span_ns*. Raises
    ScenarioError.

    What comes back can run once. *pools* were filled before.
    """
    model, replay = described.model, scenario.model.replay
    _check(described, scenario)
    settings = _settings(described, scenario)
    builder = PlantBuilder(replay.seed)
    entry = volumes_of(scenario, builder)
    placed = _place(described, scenario, entry)
    ground = Ground(
        engine=model.workload.engine,
        relations={name: place for place, name in enumerate(model.ordered_relations())},
        built=placed.relations,
        lasting=sum(not one.temp for one in model.relations.values()),
        page_bytes=settings.page_bytes,
        core_speed=settings.core_speed,
        backup_station=entry[placed.backup],
        backup_from_bytes=placed.backup_from_bytes,
        temp_station=entry[placed.temp],
        temp_from_bytes=placed.temp_from_bytes,
    )
    until_ns = NEVER if model.workload.duration is None else replay.warmup + model.workload.duration
    try:
        laid = lay_out(model, ground, passes, until_ns, replay.seed)
    except ScenarioError as error:
        raise ScenarioError(f"{described.path}: {error}") from None
    frames = max(settings.buffer_pool_bytes // settings.page_bytes, 1)
    host = replace(
        host_of(scenario, settings, frames, entry, placed.log, until_ns),
        helpers=laid.helpers,
        temp_station=entry[placed.temp],
        temp_bytes=max(_largest_spill(model), _TEMP_BYTES),
    )
    program = laid.program
    database = add_database(
        builder, host, placed.relations, program.classes, program.statements, program.category, INTERVALS
    )
    plant = builder.build(_SLOTS)
    state = replay.cache_state or model.workload.cache
    warmed = state == "warm" and _warm(database, plant, frames, pools)
    cleaner = settings.of_engine.page_cleaner
    if cleaner is None:
        clean_all(database)
    else:
        settle(database, min(settings.kept_free, frames // 2) if warmed else 0, frames, cleaner.low_bytes, 0)
    load = _load(described, settings, frames, span_ns)
    others = [placed.log, placed.temp, placed.backup, *volumes_of_server(scenario, settings.of_engine)]
    volumes = (*placed.volumes, *others)
    data_bytes = bytes_by_volume(placed.relations, placed.volumes, settings.page_bytes)
    return (
        Assembled(
            builder, plant, database, load, settings, program, frames, state, warmed, span_ns, volumes, data_bytes
        ),
        laid,
    )


def _warm(database: Database, plant: Plant, frames: int, pools: WarmPools) -> bool:
    """Fill the pool; tell whether it is as in the long run. In InnoDB's each second use of a page comes late enough to
    make it young: how fast transactions are is not known yet.
    """
    each_ns = NS_PER_S if len(database.midpoint) else 0
    most = max(_MOST_TURNS * frames, _FEWEST)
    return pools.fill(database, plant, transaction_ns=each_ns, most_references=most).stationary


def built(model: RelationModel, page_bytes: int, station: int) -> Relation:
    """Return a relation as the simulator has it, on a volume's *station*."""
    pages = model.heap_pages(page_bytes)
    rows = model.rows or pages
    return Relation(
        rows=rows,
        level_pages=(*levels(-(-(model.index or 0) // page_bytes)), pages),
        exponent=model.exponent,
        ordered=model.ordered,
        station=station,
        hot=model.levels(rows),
        recent=model.recent,
        temp=model.temp,
        tables=model.tables,
        file=model.file or "",
    )


def _check(described: Described, scenario: NamedScenario) -> None:
    """Refuse what a scenario says of recordings, and rules for relations and files that the workload does not have."""
    replay, model = scenario.model.replay, described.model
    for key, kept in (("mode", "partly-open"), ("load", 1.0), ("clients", None), ("think", None), ("duration", None)):
        if getattr(replay, key) != kept:
            raise ScenarioError(
                f"{scenario.name}: replay.{key}: is only for recordings; {described.path} says what its clients do;"
                " leave it out"
            )
    if replay.cache_state == "recorded":
        raise ScenarioError(f'{scenario.name}: replay.cache_state: "recorded", but nothing was; write "warm" or "cold"')
    engine = scenario.model.engine
    if engine is not None and engine.kind not in (None, model.workload.engine):
        raise ScenarioError(
            f"{scenario.name}: engine.kind: {engine.kind!r}, but {described.path} is a workload of"
            f" {model.workload.engine}; leave the key out"
        )
    known = {
        "relation": list(model.relations),
        "file": [one.file for one in model.relations.values() if one.file is not None],
    }
    for key in scenario.model.placement:
        kind, _, name = key.partition(":")
        if kind in known and name not in known[kind]:
            raise ScenarioError(
                f"{scenario.name}: placement.{key}: {described.path} has no such"
                f" {kind}{did_you_mean(name, known[kind])}"
            )


def _settings(described: Described, scenario: NamedScenario) -> Settings:
    """Resolve host and engine: as the scenario says, else as the workload does, else by default."""
    said = described.model.workload
    host = {
        **said.variables,
        "engine": said.engine,
        "version": said.version,
        "cores": said.cores,
        "page_bytes": said.page,
        "shared_buffers_bytes": said.buffer_pool,
        "buffer_pool_bytes": said.buffer_pool,
    }
    manifest = Manifest(host={key: value for key, value in host.items() if value is not None})
    found = settings_of(scenario, described.path, manifest, None)
    basis = {key: "workload" if text == "recorded" else text for key, text in found.basis.items()}
    if basis["host.core_speed"].startswith("default"):
        basis["host.core_speed"] = "default: cores are as fast as those that the workload's processor times are of"
    return replace(found, basis=basis)


def _place(described: Described, scenario: NamedScenario, entry: dict[str, int]) -> Placed:
    """Place relations, log, temp blocks and backups on volumes; raises ScenarioError when they do not fit."""
    rules, default = scenario.model.placement, scenario.model.default_volume
    page_bytes = described.model.workload.page
    log, backup = rules.get("log", default), rules.get("backup", default)
    temp = rules.get("temp", rules.get("tempdb", default))
    ordered = described.model.ordered_relations()
    volumes = [_volume_of(name, one, rules, temp if one.temp else default) for name, one in ordered.items()]
    relations = [built(one, page_bytes, entry[volume]) for one, volume in zip(ordered.values(), volumes, strict=True)]
    data_bytes = sum(sum(one.level_pages) for one in relations) * page_bytes
    needed = {volume: data_bytes for volume in volumes}
    needed[log] = needed.get(log, 0) + LOG_FILE_BYTES
    temp_from_bytes = _aligned(needed.get(temp, 0))
    needed[temp] = temp_from_bytes + _largest_spill(described.model)
    from_bytes = _aligned(needed.get(backup, 0))
    largest = max((data_bytes / ratio for ratio in _compressions(described.model)), default=0.0)
    if largest:
        needed[backup] = from_bytes + round(largest)
    for volume, size in needed.items():
        capacity = scenario.homes[volume].capacity_bytes
        if size > capacity:
            raise ScenarioError(
                f"{scenario.name}: volume {volume!r} holds {format_bytes(capacity)}, what {described.path} places there"
                f" needs {format_bytes(size)}; choose more capacity"
            )
    return Placed(relations, volumes, log, temp, backup, from_bytes, temp_from_bytes)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED_BYTES) * _ALIGNED_BYTES


def _volume_of(name: str, relation: RelationModel, rules: dict[str, str], default: str) -> str:
    keys = (f"relation:{name}", f"file:{relation.file}")
    return next((rules[key] for key in keys if key in rules), default)


def _compressions(model: Workload) -> list[float]:
    """Return by how much each file that is written or read is compressed."""
    steps = [step for statement in model.statements.values() for step in statement.does]
    return [
        step.compression
        for step in steps
        if isinstance(step, Restore) or (isinstance(step, Backup) and step.backup == "file")
    ]


def _largest_spill(model: Workload) -> int:
    """Return the bytes of the largest spill; those of clients that spill at the same time lie in the same place."""
    steps = [step for statement in model.statements.values() for step in statement.does]
    return max((step.spill for step in steps if isinstance(step, Spill)), default=0)


def _load(described: Described, settings: Settings, frames: int, span_ns: int) -> StatementLoad:
    """Return what results say of the workload."""
    nothing = np.zeros(0, np.int64)
    texts = {
        name: statement.text or f"{name}: {', '.join(type(step).__name__.lower() for step in statement.does)}"
        for name, statement in described.model.statements.items()
    }
    return StatementLoad(
        path=described.path,
        counters=Counters(described.path),
        manifest=Manifest(),
        session=nothing,
        transaction=nothing,
        query=nothing,
        start_ns=nothing,
        duration_ns=nothing,
        cpu_ns=nothing,
        lock_wait_ns=nothing,
        logical_reads=None,
        physical_reads=nothing,
        log_bytes=nothing,
        queries=tuple(texts),
        texts=texts,
        cpu_basis={},
        asked=(),
        image_bytes=None,
        fitted=Fitted((), frames, (), (), (), 0),
        pool_bytes=frames * settings.page_bytes,
        pages_read=None,
        span_ns=span_ns,
        commit_wait_ns=0.0,
        closed=True,
        pooled=False,
        synthetic=False,
        inferred=(),
        described=True,
    )
