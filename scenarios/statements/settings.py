"""What the simulated host and engine are: as the scenario says, else as recorded, else by default; and which of these
it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiersim.devices.catalogue import load_processor
from tiersim.devices.host.processor import Processor, core_speed
from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.cpu_and_waits import LOG_NS, MESSAGE_NS, MESSAGE_RANGE_NS, READ_NS, READ_RANGE_NS
from tiersim.scenarios.calibration.popularity.recorded import PageCache
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.database_models import OTHERS_KEYS, EngineModel
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.model import HostModel
from tiersim.scenarios.statements import innodb, postgresql, sqlserver
from tiersim.scenarios.statements.engines import EngineSettings, EngineSources
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.database.buffer_pool.adaptive_flushing import MARIADB
from tiersim.simulator.database.database_state import IN_ORDER
from tiersim.simulator.database.sessions.processors import (
    CONTENTION,
    MEASURED_ON,
    TABLES,
    UNKNOWN,
    Costs,
    scaled,
    slowdown,
)
from tiersim.traces.bundle import Manifest
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.differences import Differences
from tiersim.units import NS_PER_US, format_bytes

#: Cores of a host of which neither scenario nor recording say anything: those of a small server.
DEFAULT_CORES = 8
#: How each kind of engine is set.
_ENGINES = {
    "postgresql": postgresql.postgresql,
    "sqlserver": sqlserver.sqlserver,
    "mysql": innodb.mysql,
    "mariadb": innodb.mariadb,
}
_NAMES = {"postgresql": "PostgreSQL", "sqlserver": "SQL Server", "mysql": "MySQL", "mariadb": "MariaDB"}
#: Bytes that the log goes round in; what lies there is never read.
LOG_FILE_BYTES = 1 << 30
_UNKNOWN_READ = (
    "the CPU cost of a read is unknown for {}: the CPU time of a statement stays the same if it reads more or fewer"
    " pages; set read under [host.costs], or calibrate"
)


@dataclass(frozen=True)
class Settings:
    """Host and engine of a run; ``basis`` says by key where a value comes from."""

    cores: int
    core_speed: float  # against a core of the recorded host
    slowdown: tuple[int, ...]  # thousandths, by busy cores from 1 on
    costs: Costs  # on a core of this host
    kind: str
    version: str | None
    buffer_pool_bytes: int
    page_bytes: int
    of_engine: EngineSettings
    basis: dict[str, str]
    caveats: tuple[str, ...]

    @property
    def host(self) -> dict[str, Any]:
        """The host as a summary shows it."""
        return {"cores": self.cores, "core_speed": self.core_speed, "costs_ns": self.costs._asdict()}

    @property
    def kept_free(self) -> int:
        """Frames that page cleaners keep free: between half of their depth and all of it in MariaDB."""
        c = self.of_engine.page_cleaner
        return 0 if c is None else 3 * c.scan_depth // 4 if c.form == MARIADB else c.scan_depth

    @property
    def engine(self) -> dict[str, Any]:
        """The engine as a summary shows it."""
        own = {"kind": self.kind, "version": self.version, "buffer_pool_bytes": self.buffer_pool_bytes}
        return {**own, **self.of_engine.described}


def settings_of_load(scenario: NamedScenario, load: StatementLoad, processor: ProcessorCosts | None = None) -> Settings:
    """Resolve host and engine of *scenario* for a recorded *load*; raises ScenarioError when they do not fit it."""
    return settings_of(
        scenario,
        load.path,
        with_variables(load.manifest, load.counters.found),
        processor,
        load.image_bytes,
        load.pool_bytes,
        load.page_cache,
    )


def with_assumed_costs(settings: Settings, scenario: NamedScenario, *, of_messages: bool) -> Settings:
    """Return *settings* of a recorded load without a calibration whose PostgreSQL takes CPU to read a page and to write
    its log: what is assumed, as no table has it, unless the *scenario* says it. What it writes takes as much as what it
    reads. *of_messages*: what a message takes is assumed, too.
    """
    if settings.kind != "postgresql":
        return settings
    host = scenario.model.host
    given = {} if host is None or host.costs is None else host.costs.model_dump(exclude_none=True)
    keys = [key for key in ("read", "log_io") if key not in given]
    least_us, most_us = (end_ns / NS_PER_US for end_ns in MESSAGE_RANGE_NS)
    messages = f"; a message {MESSAGE_NS / NS_PER_US:g} µs assumed ({least_us:g} to {most_us:g})" if of_messages else ""
    if not keys:
        return replace(settings, basis={**settings.basis, "host.costs": settings.basis["host.costs"] + messages})
    assumed_ns = {"read_ns": READ_NS, "evict_dirty_ns": READ_NS} if "read" in keys else {}
    assumed_ns |= {"log_io_ns": LOG_NS} if "log_io" in keys else {}
    new_ns = {name: round(ns / settings.core_speed) for name, ns in assumed_ns.items() if name[:-3] not in given}
    lowest, highest = (end_ns / NS_PER_US for end_ns in READ_RANGE_NS)
    said = f"; {' and '.join(keys)} {READ_NS / NS_PER_US:g} µs assumed ({lowest:g} to {highest:g}){messages}"
    return replace(
        settings,
        costs=settings.costs._replace(**new_ns),
        basis={**settings.basis, "host.costs": settings.basis["host.costs"] + said},
        caveats=tuple(one for one in settings.caveats if one != _UNKNOWN_READ.format(settings.kind)),
    )


def recorded_cores(load: StatementLoad) -> int | None:
    """Return how many cores the recorded host had, where that was recorded."""
    known = with_variables(load.manifest, load.counters.found).host.get("cores")
    return known if isinstance(known, int) and known > 0 else None


def with_variables(manifest: Manifest, found: Differences) -> Manifest:
    """Return a manifest whose host has its cores, and InnoDB's variables or what PostgreSQL's log is for, too,
    where they were recorded.
    """
    counted = [cores for one in found.of("processor").values() if (cores := one.last.get("cores"))]
    known = {"cores": int(max(counted)), **manifest.host} if counted else manifest.host
    said = {name: str(change.last.get("setting", "")) for name, change in found.of("setting").items()}
    if manifest.host.get("engine") not in INNODB_ENGINES:
        of_log = {name: said[name] for name in (*postgresql.LOG_HINTS, postgresql.LOG_LEVEL) if name in said}
        return replace(manifest, host={**of_log, **known})
    for change in found.of("binary log").values():
        written, commits = change.number("bytes"), change.number("transactions")
        if written and commits:
            said[innodb.COMMIT_BYTES_IN_BINARY_LOG] = str(round(written / commits))
    for change in found.of("log").values():
        if capacity := change.number("capacity_bytes"):
            said[innodb.REDO_CAPACITY] = str(round(capacity))
    return replace(manifest, host={**said, **known})


def settings_of(
    scenario: NamedScenario,
    path: Path,
    recorded: Manifest,
    processor: ProcessorCosts | None,
    image_bytes: int | None = None,
    recorded_pool_bytes: int | None = None,
    page_cache: PageCache | None = None,
) -> Settings:
    """Resolve host and engine of *scenario* for the bundle at *path*; raises ScenarioError when they do not fit it.

    *image_bytes* is how long an image of a page is in the log, where that was recorded. *recorded_pool_bytes* is how
    large the pool was, if the recording itself does not say so, and *page_cache* what the host had beside it.
    """
    host, engine = scenario.model.host or HostModel(), scenario.model.engine or EngineModel()
    basis: dict[str, str] = {}
    kind = _kind(scenario, engine, path, recorded, basis)
    cores = _cores(scenario, host, recorded, processor, basis)
    speed = _core_speed(scenario, host, basis)
    pool_bytes = _buffer_pool(scenario, engine, path, recorded, recorded_pool_bytes, host.memory, basis)
    version = _version(engine, recorded, basis)
    page_bytes = recorded.host.get("page_bytes")
    assert isinstance(page_bytes, int)  # or the accesses would not have been found
    costs = _costs(scenario, host, kind, speed, processor, basis)
    cache_bytes = None if page_cache is None else page_cache.beside(pool_bytes, host.memory)
    sources = EngineSources(
        engine,
        recorded.host,
        version,
        page_bytes,
        pool_bytes,
        image_bytes,
        LOG_FILE_BYTES,
        scenario.model.replay.since_checkpoint,
        cache_bytes,
    )
    of_engine = _ENGINES[kind](sources, basis)
    if processor is not None and processor.cpu_order is not None and of_engine.cpu_order != IN_ORDER:
        of_engine = replace(of_engine, cpu_order=processor.cpu_order)
    return Settings(
        cores=cores,
        core_speed=speed,
        slowdown=_slowdown(host, cores, basis),
        costs=costs,
        kind=kind,
        version=version,
        buffer_pool_bytes=pool_bytes,
        page_bytes=page_bytes,
        of_engine=of_engine,
        basis=basis,
        caveats=(*_caveats(kind, costs, processor, basis), *of_engine.caveats),
    )


def _kind(scenario: NamedScenario, engine: EngineModel, path: Path, recorded: Manifest, basis: dict[str, str]) -> str:
    known = recorded.host.get("engine")
    if engine.kind is not None and known is not None and engine.kind != known:
        raise ScenarioError(
            f"{scenario.name}: engine.kind: {engine.kind!r}, but {path} was recorded on {known}, whose work is not that"
            " of another engine; leave the key out"
        )
    basis["engine.kind"] = "scenario" if engine.kind else "recorded" if known else "default"
    kind = engine.kind or str(known or "postgresql")
    for key, instead in OTHERS_KEYS[kind].items():
        if getattr(engine, key) is not None:
            raise ScenarioError(f"{scenario.name}: engine.{key}: is no setting of {_NAMES[kind]}; {instead}")
    return kind


def _version(engine: EngineModel, recorded: Manifest, basis: dict[str, str]) -> str | None:
    found = engine.version if engine.version is not None else recorded.host.get("version")
    if found is None:
        return None
    basis["engine.version"] = "scenario" if engine.version is not None else "recorded"
    return str(found)


def _cores(
    scenario: NamedScenario,
    host: HostModel,
    recorded: Manifest,
    processor: ProcessorCosts | None,
    basis: dict[str, str],
) -> int:
    """Return the cores of the scenario, else of the scenario of the recorded hardware, else of the recording."""
    known = recorded.host.get("cores")
    if host.cpu is not None:
        basis["host.cores"] = f"catalogue: {host.count or 1} × {host.cpu}"
        return (host.count or 1) * _processor(scenario, "cpu", host.cpu).cores
    if host.cores is not None:
        basis["host.cores"] = "scenario"
        return host.cores
    if processor is not None and processor.cores is not None:
        basis["host.cores"] = "as the scenario of the recorded hardware says"
        return processor.cores
    if isinstance(known, int) and known > 0:
        basis["host.cores"] = "recorded"
        return known
    basis["host.cores"] = f"default: {DEFAULT_CORES} cores, as the recording does not say; set host.cores"
    return DEFAULT_CORES


def _processor(scenario: NamedScenario, key: str, name: str) -> Processor:
    try:
        return load_processor(name)
    except ScenarioError as error:
        raise ScenarioError(f"{scenario.name}: host.{key}: {error}") from None


def _core_speed(scenario: NamedScenario, host: HostModel, basis: dict[str, str]) -> float:
    if host.core_speed is not None:
        basis["host.core_speed"] = "scenario"
        return host.core_speed
    if host.cpu is not None and host.recorded_cpu is not None:
        basis["host.core_speed"] = f"catalogue: {host.cpu} against {host.recorded_cpu}"
        cpu, was = (_processor(scenario, key, getattr(host, key)) for key in ("cpu", "recorded_cpu"))
        return core_speed(cpu, was)
    basis["host.core_speed"] = "default: cores are as fast as the recorded ones"
    return 1.0


def _buffer_pool(
    scenario: NamedScenario,
    engine: EngineModel,
    path: Path,
    recorded: Manifest,
    recorded_bytes: int | None,
    host_bytes: int | None,
    basis: dict[str, str],
) -> int:
    known = recorded.buffer_pool_bytes
    basis["engine.buffer_pool"] = "recorded" if known is not None else "as the scenario of the recorded hardware says"
    if engine.buffer_pool is not None:
        basis["engine.buffer_pool"] = "scenario"
    size = next((one for one in (engine.buffer_pool, known, recorded_bytes) if one is not None), None)
    page_bytes = recorded.host.get("page_bytes")
    assert isinstance(size, int)  # or the accesses would not have been found
    assert isinstance(page_bytes, int)
    if host_bytes is not None and size > host_bytes:
        raise ScenarioError(
            f"{scenario.name}: host.memory: {format_bytes(host_bytes)} do not hold the recorded buffer pool of"
            f" {format_bytes(size)}; set engine.buffer_pool, or make the memory larger"
        )
    if size < page_bytes:
        raise ScenarioError(
            f"{scenario.name}: engine.buffer_pool: {format_bytes(size)} hold no page of {path}, which has"
            f" {format_bytes(page_bytes)}; make the pool larger"
        )
    return size


def _slowdown(host: HostModel, cores: int, basis: dict[str, str]) -> tuple[int, ...]:
    basis["host.contention"] = (
        f"default: each further busy core slows the others by {CONTENTION / 10:g} %"
        if host.contention is None
        else "scenario"
    )
    if host.contention is None:
        return slowdown(cores)
    if isinstance(host.contention, float):
        return slowdown(cores, round(1000 * host.contention))
    given = [round(1000 * one) for one in host.contention]
    return tuple(given[min(busy, len(given) - 1)] for busy in range(cores))


def _costs(
    scenario: NamedScenario,
    host: HostModel,
    kind: str,
    speed: float,
    processor: ProcessorCosts | None,
    basis: dict[str, str],
) -> Costs:
    """Return costs on a core of the scenario's host.

    A table was measured on a processor of its own. Where that is known and the scenario's is, too, it is scaled from
    the one to the other; otherwise as if it had been measured on the recorded host.
    """
    own = {} if host.costs is None else host.costs.model_dump(exclude_none=True)
    given = {f"{key}_ns": value for key, value in own.items()}
    if processor is not None:
        basis["host.costs"] = processor.basis
        return scaled(processor.costs._replace(**given), speed)
    basis["host.costs"] = f"table of {kind}"
    if given:
        basis["host.costs"] += "; scenario: " + ", ".join(own)
    table = scaled(TABLES[kind], speed)
    if kind in MEASURED_ON and host.cpu is not None:
        cpu = _processor(scenario, "cpu", host.cpu)
        if cpu.spec_int_2006 is not None:
            table = scaled(TABLES[kind], core_speed(cpu, load_processor(MEASURED_ON[kind])))
    on_this = scaled(Costs(**given), speed)
    return table._replace(**{name: getattr(on_this, name) for name in given})


def _caveats(kind: str, costs: Costs, processor: ProcessorCosts | None, basis: Mapping[str, str]) -> Iterator[str]:
    if basis["host.cores"].startswith("default"):
        yield f"{DEFAULT_CORES} cores are assumed, as nothing says how many the host has: set host.cores"
    if processor is None and not costs.read_ns and "read_ns" in UNKNOWN.get(kind, ()):
        yield _UNKNOWN_READ.format(kind)
