"""Volumes and pools as people write them: devices in a layout, orders, caches, tiers, and what the host puts before
them.
"""

from typing import Any

from pydantic import Field, model_validator

from tiersim.devices.array.raid import Layout, ReadBalance, loss_of, problem_with
from tiersim.devices.host.file_system import Journal
from tiersim.devices.measured import RECORDED
from tiersim.devices.station_records import PASS_ON_NS
from tiersim.devices.tiering.flash_cache import CacheMode
from tiersim.toml_files import (
    Bytes,
    BytesPerSecond,
    Nanoseconds,
    StrictModel,
)
from tiersim.units import parse_bytes

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
        default=None, description="Passes before the members get their parts."
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
        if self.read_balance is not None and self.layout not in ("raid1", "raid10"):
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
            raise ValueError("device: a volume has either a device, or two volumes as tiers; write one of both")
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
