"""A load on a scenario: the plant, and the database above it, ready to run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tiersim.devices.host.upkeep import MILLION, add_upkeep, resize_runs
from tiersim.devices.measured import RECORDED
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import NEVER, Plant
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.parallel import Newest
from tiersim.scenarios.calibration.cpu_and_waits import MESSAGE_NS
from tiersim.scenarios.calibration.popularity.fit import added_held, extrapolated
from tiersim.scenarios.calibration.popularity.occupancy import levels
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import INTERVALS
from tiersim.scenarios.statements.engines import EngineSettings
from tiersim.scenarios.statements.programs import Program, SessionRules, write_program
from tiersim.scenarios.statements.queries import NO_ENTRIES
from tiersim.scenarios.statements.schedule import schedule, transactions_of
from tiersim.scenarios.statements.settings import LOG_FILE_BYTES, Settings, settings_of_load, with_assumed_costs
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.simulator.database.buffer_pool.pages import clean_all
from tiersim.simulator.database.buffer_pool.warm import Warmed, fill, settle
from tiersim.simulator.database.build import DatabaseHost, Relation, add_database
from tiersim.simulator.database.database_state import AT_PROCESSORS, EVICT_DIRTY_NS, READ_NS, UNTIL, Database
from tiersim.traces.differences import Differences
from tiersim.units import format_bytes

#: Places for requests that a run begins with; there are more when it needs them.
_SLOTS = 1024
#: Programs that are kept for the next run, which often asks for the same.
_MOST_PROGRAMS = 3


class Shared:
    """What runs share, threads among them: pools that were filled, and what sessions do."""

    def __init__(self) -> None:
        """Begin without any."""
        self.pools = WarmPools()
        # beside a program, what its key names by its address stays alive
        self._programs: Newest[tuple[StatementLoad, ProcessorCosts | None, Program]] = Newest(_MOST_PROGRAMS)
        self._costs: Newest[tuple[StatementLoad, ProcessorCosts | None]] = Newest(_MOST_PROGRAMS)

    def costs(
        self, load: StatementLoad, hardware: str, find: Callable[[], ProcessorCosts | None]
    ) -> ProcessorCosts | None:
        """Return what the statements of *load* cost on *hardware*, as *find* finds it once."""
        return self._costs.get((id(load), hardware), lambda: (load, find()))[-1]

    def program(
        self,
        load: StatementLoad,
        scenario: NamedScenario,
        settings: Settings,
        processor: ProcessorCosts | None,
    ) -> Program:
        """Return what the sessions of *load* do on *scenario*; raises ScenarioError."""
        of_engine = settings.of_engine
        message_ns = MESSAGE_NS if processor is None and load.leaves_messages_out else 0
        rules = SessionRules(
            of_engine.commits_apart, of_engine.commit_record_bytes, settings.core_speed, settings.costs, message_ns
        )

        def write() -> tuple[StatementLoad, ProcessorCosts | None, Program]:
            found = transactions_of(load)
            plan = schedule(scenario, load, found)
            return load, processor, write_program(load, found, plan, rules, processor, scenario.model.replay.seed)

        key = (id(load), id(processor), scenario.model.replay.model_dump_json(), rules)
        return self._programs.get(key, write)[-1]


@dataclass(frozen=True)
class Assembled:
    """A database on its plant, which ``builder`` made. It can run once."""

    builder: PlantBuilder
    plant: Plant
    database: Database
    load: StatementLoad
    settings: Settings
    program: Program
    frames: int
    cache_state: str  # of the pool when it begins
    warmed: bool  # the pool is filled as it is in the long run
    span_ns: int  # over which the load is to come
    volumes: tuple[str, ...]  # that anything lies on
    data_bytes: Mapping[str, int]  # of tables and indexes, by volume
    clients: str | None = None  # "here" or "elsewhere", as a scenario of the recorded hardware says
    entry: Mapping[str, int] = field(default_factory=dict)  # station of each volume

    @property
    def stops(self) -> bool:
        """Tell whether clients go round until the time of the recording is over, and then begin nothing more."""
        return int(self.database.counted_ns[UNTIL]) != NEVER

    @property
    def is_asked(self) -> bool:
        """Tell whether the load is to run for another time than was recorded."""
        return self.span_ns != self.load.span_ns

    @property
    def timeline_ns(self) -> int:
        """Return when the timeline ends: with the recording's time, behind the warm-up of clients that go round."""
        return int(self.database.counted_ns[UNTIL]) if self.stops else self.span_ns


#: Gets a plant and the station of each of its volumes; returns the stations that take the database's requests to them.
Enter = Callable[[PlantBuilder, Mapping[str, int]], Mapping[str, int]]


def assemble(
    load: StatementLoad,
    scenario: NamedScenario,
    processor: ProcessorCosts | None = None,
    shared: Shared | None = None,
    enter: Enter | None = None,
) -> Assembled:
    """Put *load* on *scenario*, its pool as ``cache_state`` says. Raises ScenarioError.

    *shared* has what was made for a scenario before this one and may do for this one, too. A load can be put on
    scenarios as often as one likes. *enter* puts stations before the volumes.
    """
    settings = settings_of_load(scenario, load, processor)
    if processor is None:
        settings = with_assumed_costs(settings, scenario, of_messages=load.leaves_messages_out)
    shared = shared or Shared()
    program = shared.program(load, scenario, settings, processor)
    builder = PlantBuilder(scenario.model.replay.seed)
    entry = volumes_of(scenario, builder)
    if enter is not None:
        entry = dict(enter(builder, entry))
    relations, volumes, log_volume = _place(builder, scenario, load, settings.page_bytes, entry)
    data_bytes = bytes_by_volume(relations, volumes, settings.page_bytes)
    frames = frames_of(load, settings)
    try:
        database = add_database(
            builder,
            host_of(scenario, settings, frames, entry, log_volume, _until_ns(load, scenario)),
            relations,
            program.classes,
            program.statements,
            program.category,
            INTERVALS,
        )
    except MemoryError:
        if frames < len(load):
            raise
        size = format_bytes(settings.buffer_pool_bytes)
        raise ScenarioError(
            f"{scenario.name}: engine.buffer_pool: the {frames:,} pages of {size} take more memory than there is; take"
            " less"
        ) from None
    plant = builder.build(_SLOTS)
    state = cache_state_of(scenario, load)
    filled = _fill(scenario, state, load, database, plant, shared.pools)
    warmed = filled is not None and filled.stationary
    if load.upkeep is not None and filled is not None:
        plant.upkeeps["reads"] = round(upkeep_share(load, database, filled) * MILLION)
        resize_runs(plant.upkeeps, run_share(load, database, filled))
    charge_upkeep(plant, database)
    if settings.of_engine.checkpoints is not None:
        clean_all(database)
    if settings.of_engine.page_cleaner is not None:
        _settle(database, load, settings, warmed)
    volumes += [log_volume, *volumes_of_server(scenario, settings.of_engine)]
    lasts_ns = asked_ns(load, scenario)
    return Assembled(
        builder, plant, database, load, settings, program, frames, state, warmed, lasts_ns, tuple(volumes), data_bytes,
        clients=None if processor is None else "elsewhere" if processor.pause_ns is None else "here", entry=entry,
    )  # fmt: skip


def volumes_of(scenario: NamedScenario, builder: PlantBuilder) -> dict[str, int]:
    """Put the scenario's volumes into a plant and return the station of each; raises ScenarioError when one is no
    device.
    """
    entry = scenario.build(builder)
    if len(entry) < len(scenario.homes):
        missing = next(name for name in scenario.homes if name not in entry)
        raise ScenarioError(
            f'{scenario.name}: volume {missing!r} is device = "{RECORDED}", which only answers requests that were'
            " recorded; choose a device for statements"
        )
    return entry


def volumes_of_server(scenario: NamedScenario, engine: EngineSettings) -> list[str]:
    """Return the volumes of what an *engine* writes besides tables and log: the extension of its pool, the doublewrite
    file and the binary log, as far as it has them.
    """
    rules, default = scenario.model.placement, scenario.model.default_volume
    writes_twice = engine.page_cleaner is not None and engine.page_cleaner.doublewrite
    there = {"doublewrite": writes_twice, "binary_log": engine.binary_log is not None}
    found = [rules.get(key, default) for key, is_there in there.items() if is_there]
    return [*found, *([rules["extension"]] if engine.extension_bytes else [])]


def bytes_by_volume(relations: Sequence[Relation], volumes: Sequence[str], page_bytes: int) -> dict[str, int]:
    """Return the bytes of *relations* with their indexes, by their *volumes*."""
    found: dict[str, int] = {}
    for relation, volume in zip(relations, volumes, strict=True):
        pages = sum(relation.level_pages) + sum(map(sum, relation.indexes))
        found[volume] = found.get(volume, 0) + pages * page_bytes
    return found


def host_of(
    scenario: NamedScenario,
    settings: Settings,
    frames: int,
    entry: Mapping[str, int],
    log_volume: str,
    until_ns: int,
) -> DatabaseHost:
    """Return what the database of *settings* runs on, with so many *frames* for the tables; *entry* is the station of
    each volume.
    """
    of_engine = settings.of_engine
    rules, default = scenario.model.placement, scenario.model.default_volume
    doublewrite, own = (rules.get(key, default) for key in ("doublewrite", "binary_log"))
    binary_log = None if of_engine.binary_log is None else replace(of_engine.binary_log, station=entry[own])
    extension_pages = of_engine.extension_bytes // settings.page_bytes
    extension = entry[_extension_volume(scenario, of_engine.extension_bytes)] if extension_pages else 0
    return DatabaseHost(
        cores=settings.cores,
        frames=frames,
        log_station=entry[log_volume],
        log=of_engine.log,
        checkpoints=of_engine.checkpoints,
        page_bytes=settings.page_bytes,
        costs=settings.costs,
        slowdown=settings.slowdown,
        cpu_order=of_engine.cpu_order,
        counted_from_ns=scenario.model.replay.warmup,
        until_ns=until_ns,
        policy=of_engine.policy,
        ramp_pages=of_engine.ramp_pages,
        background_writer=of_engine.background_writer,
        lazy_writer=of_engine.lazy_writer,
        midpoint=of_engine.midpoint,
        page_cleaner=of_engine.page_cleaner,
        doublewrite_station=entry[doublewrite],
        binary_log=binary_log,
        extension_station=extension,
        extension_pages=extension_pages,
        os_cache_pages=of_engine.os_cache_bytes // settings.page_bytes,
    )


def cache_state_of(scenario: NamedScenario, load: StatementLoad) -> str:
    """Return how the pool begins: as the scenario says; else as it was recorded if it was filling then, else warm."""
    return scenario.model.replay.cache_state or ("recorded" if load.fitted.unused else "warm")


def _until_ns(load: StatementLoad, scenario: NamedScenario) -> int:
    """Return when nobody starts a transaction any more: clients that go round run for the time that is asked, behind
    the warm-up. Raises ScenarioError where a time is asked and they do not go round.
    """
    replay = scenario.model.replay
    if replay.mode == "closed" or (replay.mode == "partly-open" and load.closed):
        return replay.warmup + asked_ns(load, scenario)
    if replay.duration is not None:
        raise ScenarioError(
            f"{scenario.name}: replay.duration: transactions of {load.path} start at a fixed rate and end with the"
            ' recording; leave it out, or set replay.mode = "closed"'
        )
    return NEVER


def asked_ns(load: StatementLoad, scenario: NamedScenario) -> int:
    """Return how long a load is to run: as the scenario says, else as long as was recorded."""
    return scenario.model.replay.duration or load.span_ns


def _fill(
    scenario: NamedScenario, state: str, load: StatementLoad, database: Database, plant: Plant, pools: WarmPools
) -> Warmed | None:
    """Fill the pool as *state* says, and the OS page cache with it if it is warm; return how; None: not full."""
    if state == "cold":
        return None
    frames = len(database.page_of)
    held = frames if state == "warm" else _held(scenario, load, frames)
    if held == frames:
        # InnoDB looks at the time between two uses of a page: transactions come as fast as they were recorded
        each_ns = load.span_ns // max(load.transactions, 1) if len(database.midpoint) and not load.described else 0
        return pools.fill(database, plant, transaction_ns=each_ns)
    fill(database, held)
    return None


#: At most so many pages of the upkeep are read for each that clients read.
_MOST_UPKEEP = 1000.0


def upkeep_share(load: StatementLoad, database: Database, filled: Warmed) -> float:
    """Return how many pages VACUUM and ANALYZE read for each that clients read with the pool of a *database*: for each
    transaction as many as recorded, fewer by the share of all pages that a larger pool holds.
    """
    misses = int(filled.missed.sum())
    if load.upkeep_pages is None or not misses:
        return 0.0
    each = load.upkeep_pages / load.transactions * _absent(load, database)
    return min(each * filled.transactions / misses, _MOST_UPKEEP)


def charge_upkeep(plant: Plant, database: Database) -> None:
    """Let a page that VACUUM and ANALYZE read or write take as much of the processors as one of a session."""
    upkeeps, costs = plant.upkeeps, database.costs
    upkeeps["processors"] = database.stations[AT_PROCESSORS]
    upkeeps["cpu_ns"] = costs[READ_NS] + upkeeps["writes"] * costs[EVICT_DIRTY_NS] // MILLION


def _absent(load: StatementLoad, database: Database) -> float:
    """Return what share of the pages that the recorded pool lacked this one does, 1 if they are alike."""
    pages = len(database.frame_of)
    absent, recorded = (max(1 - frames / pages, 0.0) for frames in (len(database.page_of), load.fitted.frames))
    return absent / recorded if recorded else 1.0


def run_share(load: StatementLoad, database: Database, filled: Warmed) -> float:
    """Return how many pages of a run come from the volume for each that the recorded pool missed: the page cache has
    some of the others.
    """
    return _absent(load, database) * filled.read / max(int(filled.missed.sum()), 1)


def _settle(database: Database, load: StatementLoad, settings: Settings, warmed: bool) -> None:
    """Let a warm pool begin as page cleaners leave it: with free frames, as many changed pages as were recorded, as a
    share of those that it holds, and a checkpoint as old.
    """
    pool = load.counters.pool.get("*", {})
    dirty, pages = (float(pool.get(name, 0) or 0) for name in ("pages_dirty", "pages"))
    share = dirty / pages if pages else 0.0
    age = float(load.counters.log.get("checkpoint_age_bytes", 0) or 0)
    cleaner = settings.of_engine.page_cleaner
    assert cleaner is not None
    free = min(settings.kept_free, len(database.page_of) // 2) if warmed else 0
    held = len(database.page_of) - free
    transaction_bytes = max(int(load.log_bytes.sum()), 0) // max(load.transactions, 1)
    age_bytes = min(int(age), int(0.9 * cleaner.most_bytes))
    settle(database, free, round(share * held), age_bytes, transaction_bytes)


def frames_of(load: StatementLoad, settings: Settings) -> int:
    """Return the pages of the pool that are for the tables: all but those that others had when it was recorded, more
    inserted rows in a larger pool.
    """
    recorded = load.pool_bytes
    recorded_pages, pages = (count // settings.page_bytes for count in (recorded, settings.buffer_pool_bytes))
    others = max(recorded_pages - load.fitted.frames - settings.kept_free, 0)
    if pages != recorded_pages:  # the hand comes round more seldom in a larger one
        others += added_held(load.fitted, pages) - added_held(load.fitted, recorded_pages)
    return max(pages - max(others, 0), pages // 2, 1)


def is_extrapolated(load: StatementLoad, settings: Settings) -> bool:
    """Tell whether the pool is so much larger or smaller than the recorded one that its misses are a guess."""
    if load.described:
        return False
    recorded = load.pool_bytes
    return extrapolated(load.fitted, round(load.fitted.frames * settings.buffer_pool_bytes / recorded))


def _held(scenario: NamedScenario, load: StatementLoad, frames: int) -> int:
    """Return how many frames held a page when the recording began; raises ScenarioError where nobody looked."""
    is_sql_server = load.manifest.host.get("engine") == "sqlserver"
    pool = load.counters.pool
    if pool and is_sql_server:
        held = sum(int(float(values.get("pages", 0))) for values in pool.values())
        return max(min(frames, held), 1)
    if pool:
        unused = sum(int(float(values.get("pages", 0))) for entity, values in pool.items() if "unused" in entity)
        return max(min(frames, load.fitted.frames - unused), 1)
    raise ScenarioError(
        f'{scenario.name}: replay.cache_state: "recorded", but {load.path} does not say what its pool held; record '
        f'{"sys.dm_os_buffer_descriptors" if is_sql_server else "pg_buffercache"}, or write "warm"'
    )


def _place(
    builder: PlantBuilder, scenario: NamedScenario, load: StatementLoad, page_bytes: int, entry: dict[str, int]
) -> tuple[list[Relation], list[str], str]:
    """Return the tables, behind the server's upkeep, the volume of each, and that of the log; raises ScenarioError when
    they do not fit.
    """
    rules = scenario.model.placement
    _check_names(scenario, load)
    default = scenario.model.default_volume
    log_volume = rules.get("log", default)
    tables = load.fitted.tables

    def volume_of(table: str) -> str:
        return next((rules[key] for key in _keys(table) if key in rules), default)

    volumes = [volume_of(table.name) for table in tables]
    entries = load.entries or [NO_ENTRIES] * len(tables)
    pages = data_pages(load)
    recorded = {} if load.described else recorded_bytes(load.counters.found, page_bytes, volume_of)
    for volume in dict.fromkeys([*volumes, *recorded, log_volume]):
        needed = max(pages * page_bytes if volume in volumes else 0, recorded.get(volume, 0))
        needed += LOG_FILE_BYTES if volume == log_volume else 0
        capacity = scenario.homes[volume].capacity_bytes
        if needed > capacity:
            raise ScenarioError(
                f"{scenario.name}: volume {volume!r} holds {format_bytes(capacity)}, tables and log need"
                f" {format_bytes(needed)}; choose more capacity"
            )
    if load.upkeep is not None:
        room = pages * page_bytes
        entry = entry | {
            volume: add_upkeep(builder, f"{volume}.upkeep", load.upkeep, page_bytes, room, entry[volume])
            for volume in dict.fromkeys(volumes)
        }
    relations = [
        Relation(
            rows=t.rows,
            level_pages=(*levels(t.index_pages), max(t.heap_pages_by(law), 1)),
            exponent=law.exponent,
            ordered=t.ordered,
            station=entry[volume],
            hot=law.hot,
            recent=law.recent,
            moved=law.moved,
            updates=one.updates or 0.0,
            lookups=one.lookups,
            indexes=[levels(pages) for pages in one.others],
        )
        for t, law, volume, one in zip(tables, load.fitted.laws, volumes, entries, strict=True)
    ]
    return relations, volumes, log_volume


def recorded_bytes(
    found: Differences, page_bytes: int, volume_of: Callable[[str], str] = lambda table: ""
) -> dict[str, int]:
    """Return how much all tables and indexes took that were recorded, used or not, by the volume of each table; what
    the files that they lie in take beyond that is on the volume of no table ("").
    """
    sizes: dict[str, float] = {}
    for name, change in found.of("relation").items():
        volume = volume_of(str(change.last.get("table") or name))
        taken = float(change.number("size_bytes") or (change.number("pages") or 0) * page_bytes)
        sizes[volume] = sizes.get(volume, 0.0) + taken
    files = sum(
        float(change.number("size_bytes") or 0)
        for change in found.of("file").values()
        if change.last.get("kind") != "log"
    )
    beyond = max(files - sum(sizes.values()), 0.0)
    sizes[volume_of("")] = sizes.get(volume_of(""), 0.0) + beyond
    return {volume: round(taken) for volume, taken in sizes.items() if taken}


def data_pages(load: StatementLoad) -> int:
    """Return how many pages the tables of a load have, with their indexes."""
    tables = load.fitted.tables
    return sum(
        sum(levels(t.index_pages)) + max(t.heap_pages, t.file_pages, 1) + sum(one.others)
        for t, one in zip(tables, load.entries or [NO_ENTRIES] * len(tables), strict=True)
    )


def _extension_volume(scenario: NamedScenario, extension_bytes: int) -> str:
    """Return the volume of the buffer pool extension; raises ScenarioError when it has none."""
    volume = scenario.model.placement.get("extension")
    if volume is None:
        raise ScenarioError(
            f'{scenario.name}: engine.extension: lies on no volume; write extension = "NAME" under [placement]'
        )
    capacity = scenario.homes[volume].capacity_bytes
    if extension_bytes > capacity:
        raise ScenarioError(
            f"{scenario.name}: engine.extension: {format_bytes(extension_bytes)} do not fit volume {volume!r}, which"
            f" holds {format_bytes(capacity)}; make it smaller"
        )
    return volume


def _keys(table: str) -> Sequence[str]:
    return f"relation:{table}", f"relation:{table.rpartition('.')[2]}"


def _check_names(scenario: NamedScenario, load: StatementLoad) -> None:
    """Refuse a rule for a relation that was not recorded."""
    wanted = [key.partition(":")[2] for key in scenario.model.placement if key.startswith("relation:")]
    if not wanted:
        return
    tables = [table.name for table in load.fitted.tables]
    known = {
        name for full in (*load.counters.found.of("relation"), *tables) for name in (full, full.rpartition(".")[2])
    }
    for name in wanted:
        if name not in known:
            raise ScenarioError(
                f"{scenario.name}: placement.relation:{name}: is not a relation of"
                f" {load.path}{did_you_mean(name, known)}"
            )
