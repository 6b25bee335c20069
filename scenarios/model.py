"""A scenario as people write it: volumes on devices, what lives where, how to replay."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import Field, model_validator

from tiersim.devices.array import Layout, ReadBalance, loss_of, problem_with
from tiersim.devices.catalogue import load_device, load_instance, names
from tiersim.devices.cloud_volume import CloudVolume, OrderError
from tiersim.devices.controller import (
    DEFECTS,
    add_controller,
    defect_at,
    problem_with_stripe,
)
from tiersim.devices.files import Journal
from tiersim.devices.flash import Flash
from tiersim.devices.flash_cache import CacheMode, Caching, add_flash_cache, problem_with_cache
from tiersim.devices.gate import add_gate
from tiersim.devices.hdd import Drive
from tiersim.devices.host import Host, add_host, add_queue
from tiersim.devices.instance import Limits, add_instance, limits_of
from tiersim.devices.measured import RECORDED, Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.pool import Neighbour, Pool, add_pool
from tiersim.devices.tables import PASS_ON_NS
from tiersim.devices.tiers import Migration, add_tiers
from tiersim.devices.token_bucket import TokenBucket
from tiersim.devices.volume import Device, TieredVolume, Volume, add_devices
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios import library
from tiersim.scenarios.controllers import ControllerModel
from tiersim.toml_files import (
    Bytes,
    BytesPerSecond,
    Nanoseconds,
    StrictModel,
    parse_toml,
    place_of,
    read_text,
    validate,
)
from tiersim.units import format_bytes, parse_bytes

#: What a volume that caches, and one that is made of tiers, does unless it says otherwise; docs/tiers.md has the sources.
_CACHE_DEFAULTS = {"cache_mode": "read", "cache_block": "4 KiB", "sequential_cutoff": "4 MiB"}
_TIER_DEFAULTS = {"extent": "256 MiB", "rebalance_interval": "1 h", "migration_rate": "40 MB/s"}
#: Keys of volumes that data can be placed on, and of those that are on devices.
_OF_HOMES = {"used", "max_request", "merge", "flush_overhead", "journal"}
_OF_DEVICES = {
    "count", "layout", "stripe", "controller_overhead", "drive_queue_depth",
    "pool", "size", "iops", "throughput", "credits",
}  # fmt: skip


class HardwareModel(StrictModel):
    """Devices of one sort in a layout."""

    device: str | None = None
    count: int = Field(default=1, gt=0, le=1024)
    layout: Layout = "single"
    stripe: Bytes = parse_bytes("64 KiB")
    controller_overhead: Nanoseconds | None = None
    read_balance: ReadBalance | None = None  # None: nearest on disks, fewest on others
    failed: list[int] | None = Field(default=None, min_length=1)  # members, counted from 0
    rebuild_rate: BytesPerSecond | None = Field(default=None, gt=0)
    rebuild_from: float | None = Field(default=None, ge=0, le=1)  # None: 0
    drive_queue_depth: int | None = Field(default=None, gt=0, le=2**32)

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
    """``[volumes.NAME]``: devices, an order for cloud volumes, or a slice of a pool; and what the host puts before them."""

    size: Bytes | None = Field(default=None, gt=0)  # of each cloud volume, or of the slice
    iops: int | None = Field(default=None, gt=0)  # provisioned for each cloud volume
    throughput: BytesPerSecond | None = Field(default=None, gt=0)
    credits: float | None = Field(default=None, ge=0, le=1)  # share of a full balance of burst credits at the start
    pool: str | None = None
    offset: Bytes | None = None  # where the addresses of the trace begin; None: 0
    used: Bytes | None = None  # with addresses = "pack": the touched extents are spread over this much
    queue_depth: int | None = Field(default=None, gt=0, le=2**32)
    max_request: Bytes | None = None
    merge: bool = False
    flush_overhead: Nanoseconds | None = None
    journal: Journal = "none"
    caches: str | None = None  # the volume whose blocks this one keeps
    cache_mode: CacheMode | None = None
    cache_block: Bytes | None = None
    sequential_cutoff: Bytes | None = None
    tiers: list[str] | None = Field(default=None, min_length=2, max_length=2)  # the faster volume first
    extent: Bytes | None = None
    rebalance_interval: Nanoseconds | None = Field(default=None, gt=0)
    migration_rate: BytesPerSecond | None = Field(default=None, gt=0)

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
        elsewhere = _OF_HOMES if self.caches is not None else _OF_DEVICES if self.tiers else set()
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


class QueueModel(StrictModel):
    """``[queues.NAME]``: a limit on the requests outstanding at several volumes together."""

    depth: int = Field(gt=0, le=2**32)
    volumes: list[str] | None = Field(default=None, min_length=1)  # None: all


class InstanceModel(Limits):
    """``[instances.NAME]``: limits on several cloud volumes together; of a type of the catalogue, or one's own."""

    type: str | None = None
    credits: float = Field(default=1.0, ge=0, le=1)
    volumes: list[str] | None = Field(default=None, min_length=1)  # None: all

    @model_validator(mode="after")
    def _has_limits(self) -> "InstanceModel":
        own = self.model_dump(include=set(Limits.model_fields), exclude_none=True)
        if self.type is not None and own:
            raise ValueError(f"{next(iter(own))}: the type has its own limits; leave out the one or the other")
        if self.type is None and self.iops is None and self.throughput is None:
            raise ValueError("has no limits; write type, iops or throughput")
        return self


class NeighbourModel(StrictModel):
    """``[pools.NAME.neighbour]``: the load of others on a pool."""

    reads_per_s: float = Field(default=0.0, ge=0, le=1e8)
    writes_per_s: float = Field(default=0.0, ge=0, le=1e8)
    size: Bytes = Field(gt=0)

    @model_validator(mode="after")
    def _is_a_load(self) -> "NeighbourModel":
        if self.reads_per_s + self.writes_per_s <= 0:
            raise ValueError("asks for nothing; write reads_per_s or writes_per_s, or leave the neighbour out")
        if self.size % 512:
            raise ValueError("size: is not a multiple of 512 bytes")
        return self


class PoolModel(HardwareModel):
    """``[pools.NAME]``: devices that volumes share."""

    device: str
    neighbour: NeighbourModel | None = None


class ReplayModel(StrictModel):
    """``[replay]``: how the recording is played."""

    mode: Literal["partly-open", "open", "closed"] = "partly-open"
    load: float = Field(default=1.0, ge=0.01, le=64)  # sessions are cloned or left out; time is not compressed
    dependency_window: Nanoseconds = 100_000_000  # what came later after its session's last end waited for the clock
    writers: Literal["pace", "clock"] = "pace"  # checkpointer and write-back follow the sessions, or the recorded time
    clients: int | None = Field(default=None, ge=1, le=1024)  # in place of the recorded or inferred sessions
    think: Nanoseconds | None = None  # in place of the recorded think times; closed only
    addresses: Literal["keep", "pack"] = "keep"
    seed: int = Field(default=1, ge=0, lt=2**62)

    @model_validator(mode="after")
    def _think_belongs_to_clients(self) -> "ReplayModel":
        if self.think is not None and self.mode != "closed":
            raise ValueError(f'think is for mode = "closed", not for {self.mode!r}: there the recording has it')
        return self


class Scenario(StrictModel):
    """A scenario file."""

    description: str = ""
    volumes: dict[str, VolumeModel] = Field(min_length=1)
    pools: dict[str, PoolModel] = Field(default_factory=dict)
    instances: dict[str, InstanceModel] = Field(default_factory=dict)
    queues: dict[str, QueueModel] = Field(default_factory=dict)
    controllers: dict[str, ControllerModel] = Field(default_factory=dict)
    placement: dict[str, str] = Field(default_factory=dict)
    replay: ReplayModel = ReplayModel()

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
                for own in found.model_dump(include=_OF_HOMES if volume.tiers else set(), exclude_defaults=True):
                    raise ValueError(
                        f"volumes.{other}.{own}: belongs to the volume with the tiers, {name!r}; write it there"
                    )
                if other in taken:
                    raise ValueError(f"{place} belongs to {taken[other]!r}; a volume has one cache, or is one tier")
                taken[other] = name
        return self

    @model_validator(mode="after")
    def _placement_names_volumes(self) -> "Scenario":
        for key, volume in self.placement.items():
            self._check_home(f"placement.{key}", volume)
            if key not in ("default", "log") and not key.startswith("file:"):
                hint = did_you_mean(key, ("default", "log"))
                raise ValueError(f"placement.{key}: is not default, log or file:NAME{hint}")
        if "default" not in self.placement and len(self.homes) > 1:
            raise ValueError('placement: several volumes and no default; add for example default = "data"')
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


class WrongKey(ScenarioError):
    """A mistake that shows when the devices are known; ``location`` is the key."""

    def __init__(self, location: tuple[str, ...], message: str) -> None:
        """Keep the *location* beside the message."""
        super().__init__(f"{'.'.join(location)}: {message}")
        self.location, self.message = location, message


class NamedScenario:
    """A scenario with its name, its devices loaded, and what it says of itself as TOML."""

    def __init__(self, name: str, model: Scenario, devices: Mapping[str, Device | Measured]) -> None:
        """Take the *devices* that volumes and pools are on, by name; raises ScenarioError when they are not to be had."""
        self.name, self.model = name, model
        self.pools = {key: self._pool(key, pool, devices[key]) for key, pool in model.pools.items()}
        self.volumes = {
            key: self._volume(key, volume, devices[key])
            if volume.pool is None
            else self._slice(key, volume, self.pools[volume.pool])
            for key, volume in model.volumes.items()
            if not volume.tiers
        }
        tiered = {key: self._tiered(key, volume) for key, volume in model.volumes.items() if volume.tiers}
        #: Volumes that data can be placed on.
        self.homes: dict[str, Volume | TieredVolume] = {key: (self.volumes | tiered)[key] for key in model.homes}
        #: How volumes cache others, by the name of the cache.
        self.caching = {key: self._caches(key, volume) for key, volume in model.volumes.items() if volume.caches}
        for key, pool in self.pools.items():
            self._check_room(key, pool)
        self.controllers = {key: controller.with_name(key) for key, controller in model.controllers.items()}
        for key, controller in self.controllers.items():
            for behind in self.behind(key):
                problem = None if controller.cache_bytes is None else problem_with_stripe(behind)
                if problem:
                    raise WrongKey(("volumes", behind.name, "stripe"), problem)
        self.limits = {key: self._limits(key, instance) for key, instance in model.instances.items()}

    @property
    def hardware(self) -> dict[str, Volume]:
        """What there is to buy, by name: volumes with devices of their own, and pools."""
        alone = {key: volume for key, volume in self.volumes.items() if self.model.volumes[key].pool is None}
        return alone | {key: pool.hardware for key, pool in self.pools.items()}

    @staticmethod
    def _pool(name: str, model: PoolModel, device: Device | Measured) -> Pool:
        if isinstance(device, Measured | CloudVolume):
            raise WrongKey(
                ("pools", name, "device"), "a pool is made of drives; choose one, or a token-bucket of your own"
            )
        host = Host(drive_queue_depth=model.drive_queue_depth)
        hardware = _hardware(name, model, device, host)
        load = model.neighbour
        return Pool(hardware, None if load is None else Neighbour(load.reads_per_s, load.writes_per_s, load.size))

    def _check_room(self, key: str, pool: Pool) -> None:
        """Refuse slices that are larger than their pool, or leave nothing for the neighbour."""
        asked = sum(self.volumes[name].capacity_bytes for name in self.model.on_pool(key))
        room = pool.hardware.capacity_bytes - asked
        if room < 0:
            raise WrongKey(
                ("pools", key),
                f"holds {format_bytes(pool.hardware.capacity_bytes)}, its volumes are {format_bytes(asked)}; "
                "make them smaller or the pool larger",
            )
        if pool.neighbour is not None and room < pool.neighbour.size_bytes:
            raise WrongKey(
                ("pools", key, "neighbour"), "the volumes leave no room for it; make them smaller or the pool larger"
            )

    @staticmethod
    def _limits(name: str, model: InstanceModel) -> TokenBucket:
        if model.type is None:
            return limits_of(name, model, {})
        try:
            instance = load_instance(model.type)
        except ScenarioError as error:
            raise WrongKey(("instances", name, "type"), str(error)) from None
        return limits_of(instance.name, instance, instance.sources)

    def _slice(self, name: str, model: VolumeModel, pool: Pool) -> Volume:
        return replace(pool.hardware, name=name, host=self._host(model), slice_bytes=model.size)

    def _volume(self, name: str, model: VolumeModel, device: Device | Measured) -> Volume:
        try:
            ordered = _order(model, device)
        except OrderError as error:
            raise WrongKey(("volumes", name, error.key), str(error)) from None
        share = 1.0 if model.credits is None else model.credits
        host = self._host(model)
        return replace(_hardware(name, model, ordered, host), credits=share)

    @staticmethod
    def _host(model: VolumeModel) -> Host:
        return Host(
            queue_depth=model.queue_depth,
            drive_queue_depth=model.drive_queue_depth,
            max_request_bytes=model.max_request,
            merge=model.merge,
            flush_overhead_ns=model.flush_overhead,
            journal=model.journal,
        )

    def _tiered(self, name: str, model: VolumeModel) -> TieredVolume:
        assert model.tiers
        assert model.extent
        assert model.rebalance_interval
        assert model.migration_rate
        fast, slow = (self.volumes[tier] for tier in model.tiers)
        migration = Migration(model.extent, model.rebalance_interval, model.migration_rate)
        for tier in (fast, slow):
            if tier.capacity_bytes < model.extent:
                raise WrongKey(("volumes", name, "extent"), f"is larger than the tier {tier.name!r}; write less")
        return TieredVolume(name, fast, slow, migration, self._host(model))

    def _caches(self, name: str, model: VolumeModel) -> Caching:
        assert model.caches
        assert model.cache_mode
        assert model.cache_block
        assert model.sequential_cutoff is not None
        flash_bytes, backing_bytes = self.volumes[name].capacity_bytes, self.volumes[model.caches].capacity_bytes
        problem = problem_with_cache(flash_bytes, backing_bytes, model.cache_block)
        if problem:
            raise WrongKey(("volumes", name, "cache_block"), problem)
        return Caching(model.cache_mode, model.cache_block, model.sequential_cutoff)

    def behind(self, controller: str) -> list[Volume]:
        """The volumes of a controller."""
        named = self.model.controllers[controller].volumes
        if named is not None:
            return [self.volumes[name] for name in named]
        own = self.model.volumes
        return [
            volume
            for name, volume in self.volumes.items()
            if isinstance(volume.device, Drive | Flash) and own[name].pool is None
        ]

    @property
    def defects(self) -> list[str]:
        """What is known to be broken in the hardware, a sentence each."""
        found = [
            (volume.name, defect_at(controller, volume))
            for key, controller in self.controllers.items()
            for volume in self.behind(key)
        ]
        return [f"{volume}: {DEFECTS[defect]}" for volume, defect in found if defect is not None]

    def build(self, builder: PlantBuilder) -> dict[str, int]:
        """Put the scenario's hardware into a plant; returns the station that takes the requests of each home.

        A volume that is the recorded hardware is left out: what it answers is in the trace.
        """
        volumes = {name: volume for name, volume in self.volumes.items() if not isinstance(volume.device, Measured)}
        devices: dict[str, int] = {}
        for key, controller in self.controllers.items():
            devices |= add_controller(builder, controller, self.behind(key))
        alone = [name for name in volumes if self.model.volumes[name].pool is None and name not in devices]
        devices |= {name: add_devices(builder, volumes[name]) for name in alone}
        for key, pool in self.pools.items():
            devices |= add_pool(builder, pool, {name: volumes[name] for name in self.model.on_pool(key)})
        for name, caching in self.caching.items():
            cached = str(self.model.volumes[name].caches)
            devices[cached] = add_flash_cache(
                builder, f"{cached}.cache", caching, devices[name], volumes[name].capacity_bytes,
                devices[cached], volumes[cached].capacity_bytes,
            )  # fmt: skip
        for name, home in self.homes.items():
            if isinstance(home, TieredVolume):
                fast, slow = home.fast, home.slow
                tiers = add_tiers(
                    builder, name, home.migration, devices[fast.name], fast.capacity_bytes,
                    devices[slow.name], slow.capacity_bytes,
                )  # fmt: skip
                devices[name] = add_queue(builder, name, home.host, tiers)
        # what lies behind comes first: that order tells which of several full queues is to blame
        shared = {
            key: add_instance(builder, key, self.limits[key], instance.credits)
            for key, instance in reversed(self.model.instances.items())
        }
        shared |= {key: add_gate(builder, key, queue.depth) for key, queue in reversed(self.model.queues.items())}
        on_the_way: Mapping[str, QueueModel | InstanceModel] = {**self.model.queues, **self.model.instances}
        return {
            name: add_host(
                builder, name, home.host, devices[name],
                [shared[key] for key, entry in on_the_way.items() if name in (entry.volumes or self.homes)],
            )
            for name, home in self.homes.items() if name in devices
        }  # fmt: skip

    @property
    def description(self) -> str:
        """What it is, in words."""
        if self.model.description:
            return self.model.description
        parts = []
        for key, hardware in self.hardware.items():
            caching = self.caching.get(key)
            role = "" if caching is None else f", {caching.mode} cache of {self.model.volumes[key].caches}"
            parts.append(_in_words(hardware) + role)
        parts += [f"{key}: extents in {' and '.join(v.tiers)}" for key, v in self.model.volumes.items() if v.tiers]
        return "; ".join(parts)

    def to_toml(self) -> str:
        """The scenario with every default filled in, sizes in bytes and durations in ns; reading it gives it back."""
        return tomli_w.dumps(_with_units(self.model))


def _hardware(name: str, model: HardwareModel, device: Device | Measured, host: Host) -> Volume:
    balance: ReadBalance = "nearest" if isinstance(device, Drive) else "fewest"
    return Volume(
        name,
        device,
        model.count,
        model.layout,
        model.stripe,
        model.overhead_ns,
        host,
        failed=tuple(model.failed or ()),
        rebuild_bytes_per_s=model.rebuild_rate,
        rebuild_from=model.rebuild_from or 0.0,
        read_balance=model.read_balance or balance,
    )


def _in_words(volume: Volume) -> str:
    text = f"{volume.count} × {volume.device.name}"
    if volume.layout != "single":
        text += f", {volume.layout.upper()}"
    if volume.failed:
        names = " and ".join(str(member) for member in volume.failed)
        text += f", member {names} failed" if len(volume.failed) == 1 else f", members {names} failed"
    if volume.rebuild:
        rate = volume.rebuild.bytes_per_s
        hours = (volume.rebuild.member_bytes - volume.rebuild.filled_bytes) / rate / 3600
        text += f" and being rebuilt at {format_bytes(rate)}/s, which takes {hours:.1f} h"
    return text


def _with_units(model: Scenario) -> dict[str, Any]:
    values = model.model_dump(exclude_none=True)
    for table in ("queues", "controllers", "instances", "pools"):
        if not values[table]:
            del values[table]
    units = dict.fromkeys(
        ("stripe", "used", "offset", "max_request", "size", "cache", "cache_block", "sequential_cutoff", "extent"), "B"
    )
    units |= dict.fromkeys(
        ("controller_overhead", "flush_overhead", "flush_interval", "burst_time", "rebalance_interval"), "ns"
    )
    units |= dict.fromkeys(("throughput", "burst_throughput", "rebuild_rate", "migration_rate"), "B/s")
    for table in ("volumes", "pools", "instances", "controllers"):
        for entry in values.get(table, {}).values():
            _write_units(entry, units)
            _write_units(entry.get("neighbour", {}), units)
    _write_units(values["replay"], {"dependency_window": "ns", "think": "ns"})
    return values


def _write_units(table: dict[str, Any], units: Mapping[str, str]) -> None:
    for key, unit in units.items():
        if key in table:
            table[key] = f"{table[key]} {unit}"


def _order(model: VolumeModel, device: Device | Measured) -> Device | Measured:
    """What a volume gets for the keys of an order; raises OrderError when it is not for sale."""
    if isinstance(device, CloudVolume):
        device = device.order(model.size, model.iops, model.throughput)
    else:
        for key in ("size", "iops", "throughput"):
            if getattr(model, key) is not None:
                raise OrderError(key, f"belongs to cloud volumes and slices of pools; {device.name} has its own")
    has_credits = isinstance(device, TokenBucket) and (device.burst_credits or device.burst_bytes)
    if model.credits is not None and not has_credits:
        raise OrderError("credits", f"{device.name}: has no burst credits; leave it out")
    return device


def load_scenario(name_or_path: str, settings: Sequence[str] = ()) -> NamedScenario:
    """Load a scenario: a TOML file, a name of the library, or a catalogue device (one of it); raises ScenarioError.

    *settings* are keys of it with other values: ``replay.mode=open``, ``volumes.data.count=12``.
    """
    path = Path(name_or_path)
    if name_or_path.endswith(".toml"):
        return _read(path.stem, read_text(path), path, settings)
    if name_or_path in library.names():
        ready = library.path_of(name_or_path)
        return _read(name_or_path, read_text(ready), ready, settings)
    if name_or_path in names():
        return _read(name_or_path, f'[volumes.data]\ndevice = "{name_or_path}"\n', path, settings)
    hint = did_you_mean(name_or_path, [*library.names(), *names()])
    raise ScenarioError(
        f"{name_or_path!r} is not a scenario, a device, or a .toml file{hint or '; see: tiersim devices list'}"
    )


def _read(name: str, text: str, file: Path, settings: Sequence[str]) -> NamedScenario:
    values = parse_toml(text, str(file))
    model = validate(Scenario, values, text, str(file))
    if settings:
        for setting in settings:
            _set(values, setting)
        model = validate(Scenario, values, "\n".join(settings), "--set")
    devices: dict[str, Device | Measured] = {}
    wanted = {(table, key): entry.device for table, entries in (("volumes", model.volumes), ("pools", model.pools))
              for key, entry in entries.items()}  # fmt: skip
    for (table, key), device in wanted.items():
        if device is None:
            continue
        try:
            devices[key] = Measured() if device == RECORDED else load_device(device, beside=file.parent)
        except ScenarioError as error:
            place = place_of(text, str(file), (table, key, "device"))
            raise ScenarioError(f"{place}: {error}") from None
    try:
        return NamedScenario(name, model, devices)
    except WrongKey as error:
        raise ScenarioError(f"{place_of(text, str(file), error.location)}: {error.message}") from None


def _set(values: dict[str, Any], setting: str) -> None:
    """Put ``KEY.KEY=VALUE`` into *values*; a value that is not one of TOML is text."""
    key, equals, value = setting.partition("=")
    *tables, last = (part.strip() for part in key.split("."))
    if not equals or not last or not tables:
        raise ScenarioError(f"--set {setting}: is not KEY=VALUE, such as replay.mode=open")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ScenarioError(f"--set {setting}: {table!r} is a value and has no keys")
    try:
        values[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        values[last] = value.strip()
