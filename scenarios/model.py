"""A scenario as people write it: volumes on devices, what lives where, how to replay.

Volumes and pools as people write them: devices in a layout, orders, caches, tiers, and what the host puts before
them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tiersim.devices.array.volume import Layout, ReadBalance, copies_of, loss_of, problem_with
from tiersim.devices.cloud.instance import Limits
from tiersim.devices.host.file_system import Journal
from tiersim.devices.measured import RECORDED
from tiersim.devices.station_records import PASS_ON_NS
from tiersim.devices.tiering.flash_cache import CacheMode
from tiersim.errors import did_you_mean
from tiersim.scenarios.controllers import ControllerModel
from tiersim.scenarios.database_models import EngineModel
from tiersim.toml_files import (
    Bytes,
    BytesPerSecond,
    Nanoseconds,
    StrictModel,
    dump_with_units,
)
from tiersim.units import format_bytes, parse_bytes

#: What a volume that caches, and one that is made of tiers, does unless it says otherwise; docs/tiers.md has the
#: sources.
_CACHE_DEFAULTS = {"cache_mode": "read", "cache_block": "4 KiB", "sequential_cutoff": "4 MiB"}
_TIER_DEFAULTS = {"extent": "256 MiB", "rebalance_interval": "1 h", "migration_rate": "40 MB/s"}
#: Keys of volumes that data can be placed on, and of those that are on devices.
OF_HOMES = {"used", "offset", "max_request", "merge", "flush_overhead", "journal"}
_OF_DEVICES = {
    "count",
    "layout",
    "stripe",
    "controller_overhead",
    "drive_queue_depth",
    "read_balance",
    "failed",
    "rebuild_rate",
    "rebuild_from",
    "pool",
    "size",
    "iops",
    "throughput",
    "credits",
}


class HardwareModel(StrictModel):
    """Devices of one sort in a layout."""

    device: str | None = Field(
        default=None,
        description=(
            "A device of the catalogue, a .toml file beside the scenario, DiskSim's .parv or .diskspecs, or `recorded`:"
            " the recorded hardware itself."
        ),
    )
    count: int = Field(default=1, gt=0, le=1024, description="How many of it.")
    layout: Layout = Field(default="single", description="How they are put together.")
    stripe: Bytes = Field(
        default=parse_bytes("64 KiB"), description="Length of a stripe unit, a multiple of 512 bytes."
    )
    controller_overhead: Nanoseconds | None = Field(
        default=None,
        description="Time of a command in the controller, before the drive or the members get it; left out: none.",
    )
    read_balance: ReadBalance | None = Field(
        default=None,
        description=(
            "Which copy of a mirror reads; left out: the nearest on disks, the one with fewest outstanding on others."
        ),
    )
    failed: list[int] | None = Field(
        default=None, min_length=1, description="Members that have failed, counted from 0."
    )
    rebuild_rate: BytesPerSecond | None = Field(
        default=None, gt=0, description="Bytes a second at which a replacement is filled; left out: there is none."
    )
    rebuild_from: float | None = Field(
        default=None, ge=0, le=1, description="Share of the replacement that is filled at the start; 0 when left out."
    )
    drive_queue_depth: int | None = Field(
        default=None, gt=0, le=2**32, description="Most requests outstanding at each drive of an array."
    )

    @model_validator(mode="after")
    def _layout_is_possible(self) -> "HardwareModel":
        problem = problem_with(self.layout, self.count)
        if problem:
            raise ValueError(problem)
        if self.stripe <= 0 or self.stripe % 512:
            raise ValueError("stripe is not a positive multiple of 512 bytes")
        if self.drive_queue_depth is not None and self.layout == "single":
            raise ValueError("drive_queue_depth: the volume is a single device; write queue_depth")
        return self

    @model_validator(mode="after")
    def _members_are_possible(self) -> "HardwareModel":
        loss = loss_of(self.layout, self.count, self.failed or ())
        if loss:
            raise ValueError(f"failed: {loss}")
        if self.read_balance is not None and copies_of(self.layout, self.count) == 1:
            raise ValueError(f'read_balance: layout = "{self.layout}" has no copies to choose among; leave it out')
        if self.failed is None and (self.rebuild_rate, self.rebuild_from) != (None, None):
            raise ValueError("failed: names no member to rebuild; add for example failed = [0]")
        if self.rebuild_from is not None and self.rebuild_rate is None:
            raise ValueError('rebuild_rate: is needed with rebuild_from, for example rebuild_rate = "30 MB/s"')
        return self

    @property
    def overhead_ns(self) -> int:
        """What passes in the controller."""
        return PASS_ON_NS if self.controller_overhead is None else max(1, self.controller_overhead)


class VolumeModel(HardwareModel):
    """``[volumes.NAME]``: devices, an order for cloud volumes, or a slice of a pool; and what the host puts before
    them.
    """

    size: Bytes | None = Field(
        default=None, gt=0, description="Size of each cloud volume as ordered, or of the slice of a pool."
    )
    iops: int | None = Field(default=None, gt=0, description="Requests a second provisioned for each cloud volume.")
    throughput: BytesPerSecond | None = Field(
        default=None, gt=0, description="Bytes a second provisioned for each cloud volume."
    )
    credits: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of a full balance of burst credits at the start; all of it when left out.",
    )
    pool: str | None = Field(default=None, description="Name of the pool that it is a slice of.")
    offset: Bytes | None = Field(
        default=None, description="Where the addresses of the trace begin, a multiple of 512 bytes; 0 when left out."
    )
    used: Bytes | None = Field(
        default=None, description="With replay.addresses = pack: what was touched is spread over this much."
    )
    queue_depth: int | None = Field(
        default=None, gt=0, le=2**32, description="Most requests outstanding at the volume: the queue depth of a LUN."
    )
    max_request: Bytes | None = Field(default=None, description="Longer requests are cut into parts of this length.")
    merge: bool = Field(
        default=False,
        description=(
            "Whether requests join one that waits for the queue and ends where they begin, up to `max_request`."
        ),
    )
    flush_overhead: Nanoseconds | None = Field(
        default=None,
        description="Time between a flush of the database and one of the device: file system, journal, scheduler.",
    )
    journal: Journal = Field(
        default="none", description="Ordered: a flush waits for all writes that the volume accepted before it."
    )
    caches: str | None = Field(default=None, description="Name of the volume whose blocks this one keeps.")
    cache_mode: CacheMode | None = Field(
        default=None,
        description=(
            "Whether writes end on flash, too, where the block is there, or on flash alone; read when left out."
        ),
    )
    cache_block: Bytes | None = Field(default=None, description="What is cached at once; 4 KiB when left out.")
    sequential_cutoff: Bytes | None = Field(
        default=None, description="Streams that have become this long pass the cache by; 4 MiB when left out."
    )
    tiers: list[str] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="Names of two volumes of devices that make up this one, the faster first.",
    )
    extent: Bytes | None = Field(
        default=None, description="What moves between tiers at once, in whole MiB; 256 MiB when left out."
    )
    rebalance_interval: Nanoseconds | None = Field(
        default=None, gt=0, description="How often extents are ranked; 1 h when left out."
    )
    migration_rate: BytesPerSecond | None = Field(
        default=None, gt=0, description="Most bytes copied between tiers in a second; 40 MB/s when left out."
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_what_it_is(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for key, defaults in (("caches", _CACHE_DEFAULTS), ("tiers", _TIER_DEFAULTS)):
                values = defaults | values if key in values else values
        return values

    @model_validator(mode="after")
    def _is_of_one_sort(self) -> "VolumeModel":
        for key, defaults in (("caches", _CACHE_DEFAULTS), ("tiers", _TIER_DEFAULTS)):
            for own in defaults:
                if getattr(self, own) is not None and getattr(self, key) is None:
                    raise ValueError(f"{own}: goes with {key}, and that is not there")
        if self.tiers and self.device is not None:
            raise ValueError("device: a volume has either a device, or two volumes as tiers; write only one of them")
        if self.tiers and self.caches is not None:
            raise ValueError("caches: a volume that is made of tiers cannot cache; name one of its tiers")
        elsewhere = OF_HOMES if self.caches is not None else _OF_DEVICES if self.tiers else set()
        for key in self.model_dump(include=elsewhere, exclude_defaults=True):
            whose = (
                f"the volume that is cached, {self.caches!r}"
                if self.caches is not None
                else "the volumes that are its tiers"
            )
            raise ValueError(f"{key}: belongs to {whose}; write it there")
        return self

    @model_validator(mode="after")
    def _sizes_are_possible(self) -> "VolumeModel":
        if self.cache_block is not None and (self.cache_block <= 0 or self.cache_block % 512):
            raise ValueError("cache_block: is not a positive multiple of 512 bytes")
        if self.extent is not None and (self.extent <= 0 or self.extent % 2**20):
            raise ValueError("extent: is not a positive multiple of 1 MiB")
        return self

    @model_validator(mode="after")
    def _device_or_pool(self) -> "VolumeModel":
        if self.device == RECORDED and self.model_dump(exclude={"device"}, exclude_defaults=True):
            raise ValueError(f'device = "{RECORDED}" is the recorded hardware with its host; no other key goes with it')
        if self.pool is None and self.device is None and self.tiers is None:
            raise ValueError("the key 'device' is required and not there; a volume on a pool has pool and size instead")
        if self.pool is not None:
            own = {"iops", "throughput", "credits", *HardwareModel.model_fields}
            for key in sorted(own & self.model_dump(exclude_defaults=True).keys()):
                raise ValueError(
                    f"{key}: the volume lies on a pool; write it under [pools.{self.pool}], or leave it out"
                )
            if self.size is None or self.size % 512:
                raise ValueError(
                    'size: of a slice of a pool has to be there, in whole 512 bytes; for example "500 GiB"'
                )
        return self

    @model_validator(mode="after")
    def _queues_are_possible(self) -> "VolumeModel":
        if self.offset is not None and self.offset % 512:
            raise ValueError(f'offset: {self.offset} bytes are not a multiple of 512; choose one, such as "1 MiB"')
        if self.max_request is not None and (self.max_request <= 0 or self.max_request % 512):
            raise ValueError("max_request: is not a positive multiple of 512 bytes")
        if self.merge and (self.queue_depth is None or self.max_request is None):
            raise ValueError(
                "merge: joins requests that wait for a place in the queue, up to a length; "
                'write both, for example queue_depth = 128 and max_request = "512 KiB"'
            )
        return self


class NeighbourModel(StrictModel):
    """``[pools.NAME.neighbour]``: the load of others on a pool."""

    reads_per_s: float = Field(default=0.0, ge=0, le=1e8, description="Random reads a second of others.")
    writes_per_s: float = Field(default=0.0, ge=0, le=1e8, description="Random writes a second of others.")
    size: Bytes = Field(gt=0, description="Length of each of these requests.")

    @model_validator(mode="after")
    def _is_a_load(self) -> "NeighbourModel":
        if self.reads_per_s + self.writes_per_s <= 0:
            raise ValueError("asks for nothing; write reads_per_s or writes_per_s, or leave the neighbour out")
        if self.size % 512:
            raise ValueError("size: is not a multiple of 512 bytes")
        return self


class PoolModel(HardwareModel):
    """``[pools.NAME]``: devices that volumes share."""

    device: str = Field(description="A device of the catalogue, or a file.")
    neighbour: NeighbourModel | None = Field(default=None, description="The load of others.")


#: Keys of ``[placement]`` besides those of single files and relations; temp and tempdb are the same.
_PLACES = ("default", "log", "temp", "tempdb", "backup", "extension", "doublewrite", "binary_log")


class QueueModel(StrictModel):
    """``[queues.NAME]``: a limit on the requests outstanding at several volumes together."""

    depth: int = Field(gt=0, le=2**32, description="Most requests outstanding.")
    volumes: list[str] | None = Field(
        default=None, min_length=1, description="Names of the volumes that share it; all when left out."
    )


class InstanceModel(Limits):
    """``[instances.NAME]``: limits on several cloud volumes together; of a type of the catalogue, or one's own."""

    type: str | None = Field(
        default=None, description="An instance of the catalogue; or, in its place, limits of your own."
    )
    credits: float = Field(
        default=1.0, ge=0, le=1, description="Share of a full balance of burst credits at the start."
    )
    volumes: list[str] | None = Field(
        default=None, min_length=1, description="Names of the volumes behind it; all when left out."
    )

    @model_validator(mode="after")
    def _has_limits(self) -> "InstanceModel":
        own = self.model_dump(include=set(Limits.model_fields), exclude_none=True)
        if self.type is not None and own:
            raise ValueError(f"{next(iter(own))}: the type has its own limits; leave out one of them")
        if self.type is None and self.iops is None and self.throughput is None:
            raise ValueError("has no limits; write type, iops or throughput")
        return self


#: A share of slowdown, or how slow a slice is with 1, 2, 3 ... busy cores.
_Slowness = Annotated[float, Field(ge=1, le=1000)]


class CostsModel(StrictModel):
    """``[host.costs]``: CPU of the engine's work on a core of the recorded host, in place of the engine's table.

    The keys are those of :class:`tiersim.simulator.database.sessions.processors.Costs`.
    """

    lookup: Nanoseconds | None = Field(default=None, description="A row found through its index, all pages there.")
    page: Nanoseconds | None = Field(default=None, description="A page that a lookup refers to, besides.")
    scan_page: Nanoseconds | None = Field(default=None, description="A page of a scan that is there.")
    scan_row: Nanoseconds | None = Field(default=None, description="A row on it.")
    read: Nanoseconds | None = Field(default=None, description="One page read into the pool, and waited for.")
    async_read: Nanoseconds | None = Field(default=None, description="One page read ahead.")
    read_page: Nanoseconds | None = Field(default=None, description="Each page but the first of a larger read.")
    scan_read: Nanoseconds | None = Field(default=None, description="A page that a scan reads in large blocks.")
    evict_clean: Nanoseconds | None = Field(default=None, description="Eviction of a clean page.")
    evict_dirty: Nanoseconds | None = Field(default=None, description="Eviction of a dirty page, its write included.")
    change: Nanoseconds | None = Field(default=None, description="A page that is changed.")
    log_io: Nanoseconds | None = Field(
        default=None, description="After each write and each flush of the WAL, before the next."
    )


class HostModel(StrictModel):
    """``[host]``: processors and memory.

    ``core_speed`` is that of a core against one of the recorded host. ``contention`` is alpha of the Universal
    Scalability Law (each further busy core slows all down by it), or how slow a slice of CPU is when 1, 2, 3 ... cores
    are busy, the last for all beyond; left out, it is that of founding document 002, where 8 cores did 6 to 7 times the
    work of one (:data:`tiersim.simulator.database.sessions.processors.CONTENTION`).
    """

    cpu: str | None = Field(default=None, description="A processor of the catalogue, in place of cores.")
    recorded_cpu: str | None = Field(
        default=None, description="What the recording ran on: with cpu, the ratings of both say how fast a core is."
    )
    count: int | None = Field(default=None, ge=1, le=64, description="How many processors of cpu.")
    cores: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Cores of the processors; left out: as --recorded-on says, else as recorded, else 8.",
    )
    core_speed: float | None = Field(
        default=None, gt=0, le=1000, description="Speed of a core against one of the recorded host; 1 when left out."
    )
    memory: Bytes | None = Field(
        default=None,
        gt=0,
        description="What buffer pool and OS cache, recorded ones, too, have to fit into; unlimited when left out.",
    )
    contention: Annotated[float, Field(ge=0, le=1)] | Annotated[list[_Slowness], Field(min_length=1)] | None = Field(
        default=None,
        description=(
            "Share by which each further busy core slows the others, or how slow a slice of CPU is with 1, 2, 3 ..."
            " busy cores; 0.047 when left out."
        ),
    )
    costs: CostsModel | None = Field(
        default=None, description="CPU of single pieces of the engine's work, in place of the engine's table."
    )
    clients: Literal["here", "elsewhere"] = Field(
        default="elsewhere", description="Whether the clients of the recorded load generator share the cores."
    )

    @model_validator(mode="after")
    def _cores_are_said_once(self) -> "HostModel":
        if self.cpu is not None and self.cores is not None:
            raise ValueError("cores: the processor of cpu has its own; leave out one of them")
        if self.count is not None and self.cpu is None:
            raise ValueError("count: is that of processors; write cpu, too, or cores in place of both")
        if self.recorded_cpu is not None and self.cpu is None:
            raise ValueError(
                "recorded_cpu: is what cpu is compared with; write cpu, too, or core_speed in place of both"
            )
        if self.recorded_cpu is not None and self.core_speed is not None:
            raise ValueError("recorded_cpu: core_speed says how fast a core is; leave out one of them")
        return self


class ReplayModel(StrictModel):
    """``[replay]``: how the recording is played."""

    mode: Literal["partly-open", "open", "closed"] = Field(
        default="partly-open",
        description=(
            "Who waits for whom: sessions as recorded, the recorded clock, or clients that ask one thing after another."
        ),
    )
    load: float = Field(
        default=1.0,
        ge=0.01,
        le=64,
        description="Multiple of the recorded load: sessions are cloned or left out, time is not compressed.",
    )
    dependency_window: Nanoseconds = Field(
        default=100_000_000,
        description="A request that came later than this after its session's last one had ended waited for the clock.",
    )
    writers: Literal["pace", "clock", "timed"] = Field(
        default="pace",
        description=(
            "Whether checkpointer and write-back follow the pace of the sessions, or the recorded time; timed: a"
            " process named checkpointer follows the time, others the pace."
        ),
    )
    commits: Literal["own", "shared"] = Field(
        default="own",
        description=(
            "shared: a session that issued nothing until another's flush of the log had ended, for at most"
            " dependency_window, waited for that flush, also one that only reads; not in closed mode."
        ),
    )
    clients: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Sessions for requests of an unknown process; in closed mode, for all requests or transactions.",
    )
    think: Nanoseconds | None = Field(
        default=None, description="Think time in place of the recorded ones; closed only."
    )
    addresses: Literal["keep", "pack"] = Field(
        default="keep",
        description="Recorded offsets, or what was touched packed from the outer edge over the volume's `used`.",
    )
    cache_state: Literal["warm", "cold", "recorded"] | None = Field(
        default=None,
        description="State of the buffer pool at the start; left out: warm, or as recorded if it was filling then.",
    )
    warmup: Nanoseconds = Field(default=0, description="Statements that start sooner are simulated and not counted.")
    duration: Nanoseconds | None = Field(
        default=None,
        gt=0,
        description=(
            "How long clients of statements go on, behind `warmup`; they begin anew where the recording is over. Left"
            " out: as long as was recorded."
        ),
    )
    since_checkpoint: Nanoseconds = Field(
        default=0, description="Time at the start since the last checkpoint began; left out: one has just begun."
    )
    seed: int = Field(default=1, ge=0, lt=2**62, description="Seed of everything that is drawn.")

    @model_validator(mode="after")
    def _think_belongs_to_clients(self) -> "ReplayModel":
        if self.think is not None and self.mode != "closed":
            raise ValueError(f'think is for mode = "closed", not for {self.mode!r}: there the recording has it')
        return self


class Scenario(StrictModel):
    """A scenario file."""

    names_elsewhere: ClassVar[Mapping[str, str]] = {
        "shared_buffers": "engine.buffer_pool",
        "innodb_buffer_pool_size": "engine.buffer_pool",
        "max_server_memory": "engine.buffer_pool",
        "max_server_memory_mb": "engine.buffer_pool",
        "effective_cache_size": "engine.os_cache",
        "debug_io_direct": "engine.direct_io",
        "innodb_flush_method": "engine.direct_io",
        "innodb_flush_log_at_trx_commit": "engine.flush_log_at_trx_commit",
        "synchronous_standby_names": "engine.replica",
        "recovery_interval_min": "engine.recovery_interval",
        "target_recovery_time_in_seconds": "engine.target_recovery_time",
        "buffer_pool_extension": "engine.extension",
    }
    description: str = Field(default="", description="A sentence for people.")
    host: HostModel | None = Field(default=None, description="Processors and memory.")
    engine: EngineModel | None = Field(
        default=None, description="Settings of the database engine; with this table statements are run."
    )
    volumes: dict[str, VolumeModel] = Field(
        min_length=1,
        description="Storage by name: devices in a layout, cloud volumes, slices of a pool, caches, tiers.",
    )
    pools: dict[str, PoolModel] = Field(default_factory=dict, description="Devices that several volumes share.")
    instances: dict[str, InstanceModel] = Field(
        default_factory=dict, description="Limits of cloud instances on several volumes together."
    )
    queues: dict[str, QueueModel] = Field(
        default_factory=dict, description="Limits on requests outstanding at several volumes together."
    )
    controllers: dict[str, ControllerModel] = Field(default_factory=dict, description="RAID controllers.")
    placement: dict[str, str] = Field(
        default_factory=dict,
        description=(
            'What lies on which volume: `default`, `log`, `temp` (or `tempdb`), `backup`, `"file:NAME"`,'
            ' `"relation:NAME"`; SQL Server: `extension`; InnoDB: `doublewrite`, `binary_log`.'
        ),
    )
    replay: ReplayModel = Field(default=ReplayModel(), description="How the recording is played.")

    @model_validator(mode="after")
    def _caches_and_tiers_name_volumes(self) -> "Scenario":
        taken: dict[str, str] = {}  # who caches a volume, or which one it is a tier of
        for name, volume in self.volumes.items():
            key = "tiers" if volume.tiers else "caches"
            for other in volume.tiers or ([] if volume.caches is None else [volume.caches]):
                place = f"volumes.{name}.{key}: {other!r}"
                if other not in self.volumes:
                    raise ValueError(f"{place} is not one of the volumes{did_you_mean(other, self.volumes)}")
                found = self.volumes[other]
                if found.device == RECORDED:
                    raise ValueError(f'{place} is device = "{RECORDED}", of which only the answers are known')
                if found.tiers or found.caches is not None:
                    what = "is made of tiers" if found.tiers else "caches another volume"
                    raise ValueError(f"{place} {what}; name a volume that is devices and nothing else")
                for own in found.model_dump(include=OF_HOMES if volume.tiers else set(), exclude_defaults=True):
                    raise ValueError(
                        f"volumes.{other}.{own}: belongs to the volume with the tiers, {name!r}; write it there"
                    )
                if other in taken:
                    raise ValueError(f"{place} belongs to {taken[other]!r}; a volume has one cache, or is one tier")
                taken[other] = name
        return self

    @model_validator(mode="after")
    def _placement_names_volumes(self) -> "Scenario":
        self.refuse_placement(self.placement)
        return self

    @model_validator(mode="after")
    def _what_is_shared_names_volumes(self) -> "Scenario":
        shared: dict[str, Mapping[str, QueueModel | InstanceModel]] = {
            "queues": self.queues,
            "instances": self.instances,
        }
        for table, entries in shared.items():
            for key, entry in entries.items():
                for volume in entry.volumes or ():
                    self._check_home(f"{table}.{key}.volumes", volume)
        return self

    @model_validator(mode="after")
    def _controllers_name_volumes(self) -> "Scenario":
        owner: dict[str, str] = {}
        for key, controller in self.controllers.items():
            if controller.volumes is None and len(self.controllers) > 1:
                raise ValueError(
                    f"controllers.{key}.volumes: there are several controllers; say which volumes are its own"
                )
            for volume in controller.volumes or ():
                if volume not in self.volumes:
                    hint = did_you_mean(volume, self.volumes)
                    raise ValueError(f"controllers.{key}.volumes: {volume!r} is not one of the volumes{hint}")
                if self.volumes[volume].device == RECORDED:
                    raise ValueError(
                        f"controllers.{key}.volumes: {volume!r} is the recorded hardware, controller and all"
                    )
                if self.volumes[volume].tiers:
                    raise ValueError(f"controllers.{key}.volumes: {volume!r} has no devices of its own; name its tiers")
                if self.volumes[volume].pool is not None:
                    raise ValueError(f"controllers.{key}.volumes: {volume!r} lies on a pool, which has its own")
                if volume in owner:
                    raise ValueError(f"controllers.{key}.volumes: {volume!r} belongs to {owner[volume]!r} already")
                owner[volume] = key
        return self

    @model_validator(mode="after")
    def _caches_fit_the_memory(self) -> "Scenario":
        if self.host is None or self.engine is None or self.host.memory is None:
            return self
        wanted = (self.engine.buffer_pool or 0) + (self.engine.os_cache or 0)
        if wanted > self.host.memory:
            raise ValueError(
                f"host.memory: {format_bytes(self.host.memory)} do not hold buffer pool and OS cache, which are "
                f"{format_bytes(wanted)} together; make them smaller or the memory larger"
            )
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> "Scenario":
        taken = dict.fromkeys(self.volumes, "a volume")
        for table, what in (
            ("queues", "a queue"),
            ("instances", "an instance"),
            ("pools", "a pool"),
            ("controllers", "a controller"),
        ):
            for key in getattr(self, table):
                if key in taken:
                    raise ValueError(f"{table}.{key}: is the name of {taken[key]}; choose another")
                taken[key] = what
        return self

    @model_validator(mode="after")
    def _volumes_name_pools(self) -> "Scenario":
        for key, volume in self.volumes.items():
            if volume.pool is not None and volume.pool not in self.pools:
                hint = did_you_mean(volume.pool, self.pools)
                raise ValueError(f"volumes.{key}.pool: {volume.pool!r} is not one of the pools{hint}")
        for key in self.pools:
            if not self.on_pool(key):
                raise ValueError(f'pools.{key}: no volume lies on it; write pool = "{key}" under one, or leave it out')
        return self

    def refuse_placement(self, placement: Mapping[str, str]) -> None:
        """Raise ValueError for rules that place something where it cannot be, or do not place everything."""
        for key, volume in placement.items():
            self._check_home(f"placement.{key}", volume)
            if key not in _PLACES and not key.startswith(("file:", "relation:")):
                hint = did_you_mean(key, _PLACES)
                raise ValueError(f"placement.{key}: is not {', '.join(_PLACES)}, file:NAME or relation:NAME{hint}")
        if "temp" in placement and "tempdb" in placement:
            raise ValueError("placement.tempdb: is another word for temp; leave out one of them")
        if "default" not in placement and len(self.homes) > 1:
            raise ValueError('placement: several volumes and no default; add for example default = "data"')

    def on_pool(self, pool: str) -> list[str]:
        """Names of the volumes on a pool, in their order there."""
        return [key for key, volume in self.volumes.items() if volume.pool == pool]

    def _check_home(self, key: str, volume: str) -> None:
        if volume not in self.volumes:
            raise ValueError(f"{key}: {volume!r} is not one of the volumes{did_you_mean(volume, self.volumes)}")
        if volume not in self.homes:
            caches = self.volumes[volume].caches
            what = "is a tier of" if caches is None else "caches"
            home = caches or next(name for name, other in self.volumes.items() if volume in (other.tiers or ()))
            raise ValueError(f"{key}: {volume!r} {what} {home!r} and takes no requests of its own; write {home!r}")

    @property
    def homes(self) -> list[str]:
        """Volumes that data can be placed on: all but those that cache another, or are a tier of one."""
        tiers = {tier for volume in self.volumes.values() for tier in volume.tiers or ()}
        return [name for name, volume in self.volumes.items() if volume.caches is None and name not in tiers]

    @property
    def default_volume(self) -> str:
        """Where everything goes that no other rule places."""
        return self.placement.get("default", self.homes[0])


def with_units(model: Scenario) -> dict[str, Any]:
    """The scenario as it is written, sizes in bytes and durations in ns; reading it gives it back."""
    values = dump_with_units(model)
    for table in ("queues", "controllers", "instances", "pools"):
        if not values[table]:
            del values[table]
    if model.engine is None:  # what they say by default is of no consequence to requests
        for key in ("warmup", "since_checkpoint"):
            if getattr(model.replay, key) == 0:
                del values["replay"][key]
    return values
