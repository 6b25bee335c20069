"""A scenario with its devices: checks that they fit each other, builds the plant, and says where what was recorded
would live: files on volumes, recorded addresses on addresses of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import tomli_w
from numpy.typing import NDArray

from tiersim.devices.array.storage_pool import Neighbour, StoragePool, add_pool, begins_of
from tiersim.devices.array.volume import ReadBalance, TieredVolume, Volume, VolumeHost, add_devices, add_host, add_queue
from tiersim.devices.catalogue import load_instance
from tiersim.devices.cloud.cloud_volume import CloudVolume, OrderError
from tiersim.devices.cloud.instance import add_instance, limits_of
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.devices.controller.raid_controller import (
    DEFECTS,
    Controller,
    add_controller,
    defect_at,
    problem_with_stripe,
)
from tiersim.devices.hdd.disk_drive import Drive
from tiersim.devices.host.gate import add_gate
from tiersim.devices.measured import Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash
from tiersim.devices.station import Device
from tiersim.devices.tiering.flash_cache import Caching, add_flash_cache, problem_with_cache
from tiersim.devices.tiering.tiers import Migration, add_tiers
from tiersim.errors import ScenarioError
from tiersim.scenarios.model import (
    HardwareModel,
    HostModel,
    InstanceModel,
    PoolModel,
    QueueModel,
    ReplayModel,
    Scenario,
    VolumeModel,
    with_units,
)
from tiersim.scenarios.survey import EXTENT_BYTES, FileUse
from tiersim.units import format_bytes


class WrongKey(ScenarioError):
    """A mistake that shows when the devices are known; ``location`` is the key."""

    def __init__(self, location: tuple[str, ...], message: str) -> None:
        """Keep the *location* beside the message."""
        super().__init__(f"{'.'.join(location)}: {message}")
        self.location, self.message = location, message


class NamedScenario:
    """A scenario with its name, its devices loaded, and what it says of itself as TOML."""

    def __init__(self, name: str, model: Scenario, devices: Mapping[str, Device | Measured]) -> None:
        """Take the *devices* that volumes and pools are on, by name; raises ScenarioError when
        they are not to be had.
        """
        self.name, self.model = name, model
        self.pools = {key: self._pool(key, pool, devices[key]) for key, pool in model.pools.items()}
        self.volumes = {
            key: (
                self._volume(key, volume, devices[key])
                if volume.pool is None
                else self._slice(key, volume, self.pools[volume.pool])
            )
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
        #: Those that volumes lie behind; data of cloud volumes pass by.
        self.controllers = {key: one.with_name(key) for key, one in model.controllers.items() if self.behind(key)}
        for key, controller in self.controllers.items():
            for behind in self.behind(key):
                problem = None if controller.cache_bytes is None else problem_with_stripe(behind)
                if problem:
                    raise WrongKey(("volumes", behind.name, "stripe"), problem)
        self.limits = {key: self._limits(key, instance) for key, instance in model.instances.items()}

    @property
    def is_recording(self) -> bool:
        """Whether a volume is no model but the recorded hardware itself."""
        return any(isinstance(volume.device, Measured) for volume in self.volumes.values())

    def played_as(
        self, placement: Mapping[str, str], rules: ReplayModel, offsets_bytes: Mapping[str, int]
    ) -> "NamedScenario":
        """Return the same hardware with a recording placed and played in another way: by other rules, from other
        addresses of its volumes on.
        """
        other = copy(self)
        volumes = {
            name: volume.model_copy(update={"offset": offsets_bytes[name]}) if name in offsets_bytes else volume
            for name, volume in self.model.volumes.items()
        }
        update = {"placement": dict(placement), "replay": rules, "volumes": volumes}
        other.model = self.model.model_copy(update=update)
        return other

    def counted_whole(self) -> "NamedScenario":
        """Return the same scenario for a part of a recording: without a warm-up and a time, which may outlast it."""
        rules = self.model.replay.model_copy(update={"warmup": 0, "duration": None})
        return self.played_as(self.model.placement, rules, {})

    def on_recorded_host(self, cores: int) -> "NamedScenario":
        """Return the same devices under the recorded host of so many *cores*, on which the clients ran, too, with the
        engine and the load as recorded.
        """
        other = copy(self)
        kept = self.model.replay
        replay = ReplayModel().model_copy(update={"seed": kept.seed, "since_checkpoint": kept.since_checkpoint})
        update = {"host": HostModel(cores=cores, clients="here"), "engine": None, "replay": replay}
        other.model = self.model.model_copy(update=update)
        return other

    def with_devices(self, volumes: Mapping[str, Volume], pools: Mapping[str, StoragePool]) -> "NamedScenario":
        """Return the same scenario with other *volumes* and *pools* of the same names in their place."""
        other = copy(self)
        other.volumes, other.pools = dict(volumes), dict(pools)
        other.homes = {name: volumes.get(name, home) for name, home in self.homes.items()}
        return other

    def with_limits(self, changed: Callable[[TokenBucket], TokenBucket]) -> "NamedScenario":
        """Return the same scenario with each limit *changed*: volumes that are one, pools of them, instances."""

        def volume(one: Volume) -> Volume:
            return replace(one, device=changed(one.device)) if isinstance(one.device, TokenBucket) else one

        other = self.with_devices(
            {name: volume(one) for name, one in self.volumes.items()},
            {name: replace(pool, hardware=volume(pool.hardware)) for name, pool in self.pools.items()},
        )
        other.limits = {name: changed(limit) for name, limit in self.limits.items()}
        return other

    @property
    def limits_of_requests(self) -> list[TokenBucket]:
        """Return every limit there is, of volumes and pools and of instances."""
        devices = [one.device for one in self.hardware.values()]
        return [*(one for one in devices if isinstance(one, TokenBucket)), *self.limits.values()]

    @property
    def hardware(self) -> dict[str, Volume]:
        """What there is to buy, by name: volumes with devices of their own, and pools."""
        alone = {key: volume for key, volume in self.volumes.items() if self.model.volumes[key].pool is None}
        return alone | {key: pool.hardware for key, pool in self.pools.items()}

    def elsewhere(self, homes: Collection[str]) -> set[str]:
        """Return names of what requests to *homes* never come to: volumes, pools, and what is before these."""
        own, there = self.model.volumes, set(homes)
        there |= {str(own[name].pool) for name in homes}
        there |= {tier for name in homes for tier in own[name].tiers or ()}
        there |= {name for name, volume in own.items() if volume.caches in there}
        there |= {key for key in self.controllers if any(volume.name in there for volume in self.behind(key))}
        shared: Mapping[str, QueueModel | InstanceModel] = {**self.model.queues, **self.model.instances}
        there |= {key for key, one in shared.items() if not one.volumes or not there.isdisjoint(one.volumes)}
        return {*self.volumes, *self.homes, *self.pools, *self.controllers, *shared} - there

    @staticmethod
    def _pool(name: str, model: PoolModel, device: Device | Measured) -> StoragePool:
        if isinstance(device, Measured | CloudVolume):
            raise WrongKey(
                ("pools", name, "device"), "a pool is made of drives; choose one, or a token-bucket of your own"
            )
        host = VolumeHost(drive_queue_depth=model.drive_queue_depth)
        hardware = _hardware(name, model, device, host)
        load = model.neighbour
        return StoragePool(
            hardware, None if load is None else Neighbour(load.reads_per_s, load.writes_per_s, load.size)
        )

    def _check_room(self, key: str, pool: StoragePool) -> None:
        """Refuse slices that are larger than their pool, or leave nothing for the neighbour."""
        sizes_bytes = [self.volumes[name].capacity_bytes for name in self.model.on_pool(key)]
        *begins, behind = begins_of(sizes_bytes)
        asked = begins[-1] + sizes_bytes[-1] if sizes_bytes else 0
        if asked > pool.hardware.capacity_bytes:
            raise WrongKey(
                ("pools", key),
                f"holds {format_bytes(pool.hardware.capacity_bytes)}, its volumes are {format_bytes(asked)}; "
                "make them smaller or the pool larger",
            )
        room = pool.hardware.capacity_bytes - behind
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

    def _slice(self, name: str, model: VolumeModel, pool: StoragePool) -> Volume:
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
    def _host(model: VolumeModel) -> VolumeHost:
        return VolumeHost(
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
        parts += map(controller_in_words, self.controllers.values())
        return "; ".join(parts)

    def to_toml(self) -> str:
        """The scenario with every default filled in, sizes in bytes and durations in ns; reading it gives it back."""
        return tomli_w.dumps(with_units(self.model))

    @property
    def identity(self) -> str:
        """All that decides a run on it: its keys, and what its devices are, as files of one name may differ."""
        devices = [(name, repr(hardware)) for name, hardware in self.hardware.items()]
        return f"{self.to_toml()}{devices}{self.limits}"


def _hardware(name: str, model: HardwareModel, device: Device | Measured, host: VolumeHost) -> Volume:
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
        text += f" and being rebuilt at no more than {format_bytes(rate)}/s, for {hours:.1f} h or longer"
    return text


def controller_in_words(controller: Controller) -> str:
    """Say what it has, for a person."""
    has = [
        None if controller.cache_bytes is None else f"{format_bytes(controller.cache_bytes)} of write cache",
        None if controller.iops is None else f"at most {controller.iops:,} IOPS",
        None if controller.bytes_per_s is None else f"at most {format_bytes(controller.bytes_per_s)}/s",
    ]
    return ", ".join([f"controller {controller.name}", *filter(None, has)])


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


@dataclass(frozen=True)
class Home:
    """Where a file lives: address = base + offset, or by extent when ``packed`` is there."""

    volume: str
    base_bytes: int
    extents: NDArray[np.int64] | None = None
    packed: NDArray[np.int64] | None = None  # address of each extent

    def end_bytes(self, use: FileUse) -> int:
        """Return the address behind the last extent that the file takes."""
        if self.packed is not None:
            return int(self.packed.max(initial=-EXTENT_BYTES)) + EXTENT_BYTES
        return self.base_bytes + -(-use.end_bytes // EXTENT_BYTES) * EXTENT_BYTES

    def place(self, offset_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Map offsets within the file to offsets on the volume, int64."""
        if self.extents is None or self.packed is None:
            return offset_bytes + self.base_bytes
        index = np.searchsorted(self.extents, offset_bytes // EXTENT_BYTES)
        return self.packed[index] + offset_bytes % EXTENT_BYTES


def volume_of(scenario: NamedScenario, use: FileUse) -> str:
    """Volume that a file is placed on: the rule for the file, then the one for logs, then the default."""
    rules = scenario.model.placement
    if f"file:{use.name}" in rules:
        return rules[f"file:{use.name}"]
    if use.is_log and "log" in rules:
        return rules["log"]
    return scenario.model.default_volume


def place_files(scenario: NamedScenario, uses: Sequence[FileUse]) -> list[Home]:
    """Give every file its home; raises ScenarioError when a volume is too small."""
    by_volume: dict[str, list[int]] = {}
    for index, use in enumerate(uses):
        by_volume.setdefault(volume_of(scenario, use), []).append(index)
    homes: dict[int, Home] = {}
    for volume, members in by_volume.items():
        homes |= _place_on(scenario, volume, {index: uses[index] for index in members})
    return [homes[index] for index in range(len(uses))]


def _place_on(scenario: NamedScenario, volume: str, uses: Mapping[int, FileUse]) -> dict[int, Home]:
    offset = scenario.model.volumes[volume].offset or 0
    capacity = max(0, scenario.homes[volume].capacity_bytes - offset)
    if scenario.model.replay.addresses == "keep":
        homes, base = {}, 0
        for index, use in uses.items():
            homes[index] = Home(volume, offset + base)
            base += -(-use.end_bytes // EXTENT_BYTES) * EXTENT_BYTES
        _check_fit(scenario, volume, base, capacity, 'write addresses = "pack" under [replay], or choose more capacity')
        return homes
    total = sum(len(use.extents) for use in uses.values())
    wanted = scenario.model.volumes[volume].used or total * EXTENT_BYTES
    _check_fit(scenario, volume, max(wanted, total * EXTENT_BYTES), capacity, "choose more capacity or less `used`")
    spread = max(wanted // EXTENT_BYTES, total)
    homes, before = {}, 0
    for index, use in uses.items():
        numbers = np.arange(before, before + len(use.extents), dtype=np.int64)
        homes[index] = Home(volume, 0, use.extents, offset + numbers * spread // max(total, 1) * EXTENT_BYTES)
        before += len(use.extents)
    return homes


def _check_fit(scenario: NamedScenario, volume: str, needed: int, capacity: int, remedy: str) -> None:
    if needed > capacity:
        raise ScenarioError(
            f"{scenario.name}: volume {volume!r} holds {format_bytes(capacity)}, the trace needs "
            f"{format_bytes(needed)}; {remedy}"
        )
