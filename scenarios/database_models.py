"""``[host]`` and ``[engine]`` of a scenario as people write them: what statements run on above the volumes."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tiersim.toml_files import Bytes, Nanoseconds, StrictModel

#: A share of slowdown, or how slow a slice is with 1, 2, 3 ... busy cores.
_Slowness = Annotated[float, Field(ge=1, le=1000)]


class CostsModel(StrictModel):
    """``[host.costs]``: CPU of the engine's work on a core of the recorded host, in place of the engine's table.

    The keys are those of :class:`tiersim.simulator.database.costs.Costs`.
    """

    lookup: Nanoseconds | None = None
    page: Nanoseconds | None = None
    scan_page: Nanoseconds | None = None
    scan_row: Nanoseconds | None = None
    read: Nanoseconds | None = None
    async_read: Nanoseconds | None = None
    read_page: Nanoseconds | None = None
    scan_read: Nanoseconds | None = None
    evict_clean: Nanoseconds | None = None
    evict_dirty: Nanoseconds | None = None
    change: Nanoseconds | None = None
    log_io: Nanoseconds | None = None


class HostModel(StrictModel):
    """``[host]``: processors and memory.

    ``core_speed`` is that of a core against one of the recorded host. ``contention`` is alpha of the Universal Scalability Law
    (each further busy core slows all down by it), or how slow a slice of CPU is when 1, 2, 3 ... cores are busy, the last for all
    beyond; left out, it is that of founding document 002, where 8 cores did 6 to 7 times the work of one
    (:data:`tiersim.simulator.database.costs.CONTENTION`).
    """

    cpu: str | None = None  # of the catalogue
    recorded_cpu: str | None = None  # what the recording ran on, for the speed of a core
    count: int | None = Field(default=None, ge=1, le=64)  # of cpu
    cores: int | None = Field(default=None, ge=1, le=4096)
    core_speed: float | None = Field(default=None, gt=0, le=1000)
    memory: Bytes | None = Field(default=None, gt=0)
    contention: Annotated[float, Field(ge=0, le=1)] | Annotated[list[_Slowness], Field(min_length=1)] | None = None
    costs: CostsModel | None = None
    clients: Literal["here", "elsewhere"] = "elsewhere"  # whether those of the recorded load generator share the cores

    @model_validator(mode="after")
    def _cores_are_said_once(self) -> "HostModel":
        if self.cpu is not None and self.cores is not None:
            raise ValueError("cores: the processor of cpu has its own; leave out the one or the other")
        if self.count is not None and self.cpu is None:
            raise ValueError("count: is that of processors; write cpu, too, or cores in place of both")
        if self.recorded_cpu is not None and self.cpu is None:
            raise ValueError(
                "recorded_cpu: is what cpu is compared with; write cpu, too, or core_speed in place of both"
            )
        if self.recorded_cpu is not None and self.core_speed is not None:
            raise ValueError("recorded_cpu: core_speed says how fast a core is; leave out the one or the other")
        return self


class ReplicaModel(StrictModel):
    """``[engine.replica]``: a synchronous replica that confirms each commit; how long a message there and back takes, and its flush."""

    round_trip: Nanoseconds = Field(ge=0)
    flush: Nanoseconds = Field(ge=0)


class EngineModel(StrictModel):
    """``[engine]``: the database engine's settings; what is left out is as it was recorded.

    Some keys are PostgreSQL's, others SQL Server's; those of the other one are refused when statements run (``scenarios/statements``).
    """

    kind: Literal["postgresql", "sqlserver"] | None = None
    version: int | None = Field(default=None, ge=1)
    buffer_pool: Bytes | None = Field(default=None, gt=0)
    os_cache: Bytes | None = Field(default=None, ge=0)
    direct_io: bool | None = None
    io_method: Literal["sync", "worker", "io_uring"] | None = None
    io_workers: int | None = Field(default=None, ge=1, le=32)
    effective_io_concurrency: int | None = Field(default=None, ge=0, le=1000)
    checkpoint_timeout: Nanoseconds | None = Field(default=None, ge=1_000_000_000)
    checkpoint_completion_target: float | None = Field(default=None, ge=0, le=1)
    checkpoint_flush_after: Bytes | None = Field(default=None, ge=0, le=2 << 20)
    max_wal_size: Bytes | None = Field(default=None, gt=0)
    checkpoint_segments: int | None = Field(default=None, ge=1, le=1 << 20)  # what 9.4 and earlier have in its place
    wal_buffers: Bytes | None = Field(default=None, ge=64 << 10)
    full_page_writes: bool | None = None
    synchronous_commit: bool | None = None
    commit_delay: Nanoseconds | None = Field(default=None, ge=0, le=100_000_000)
    replica: ReplicaModel | None = None
    recovery_interval: Nanoseconds | None = Field(default=None, ge=1_000_000_000)
    target_recovery_time: Nanoseconds | None = Field(default=None, ge=0)  # 0: automatic checkpoints
    extension: Bytes | None = Field(default=None, gt=0)  # of the buffer pool, on the volume of placement.extension
    delayed_durability: bool | None = None
