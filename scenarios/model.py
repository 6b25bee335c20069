"""A scenario as people write it: volumes on devices, what lives where, how to replay."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import Field, model_validator

from tiersim.devices.array import Layout, problem_with
from tiersim.devices.catalogue import load_device, names
from tiersim.devices.files import Journal
from tiersim.devices.flash_cache import CacheMode, Caching, add_flash_cache, problem_with_cache
from tiersim.devices.gate import add_gate
from tiersim.devices.host import Host, add_host, add_queue
from tiersim.devices.measured import RECORDED, Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import PASS_ON_NS
from tiersim.devices.tiers import Migration, add_tiers
from tiersim.devices.volume import Device, TieredVolume, Volume, add_devices
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios import library
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
from tiersim.units import parse_bytes

#: What a volume that caches, and one that is made of tiers, does unless it says otherwise; docs/tiers.md has the sources.
_CACHE_DEFAULTS = {"cache_mode": "read", "cache_block": "4 KiB", "sequential_cutoff": "4 MiB"}
_TIER_DEFAULTS = {"extent": "256 MiB", "rebalance_interval": "1 h", "migration_rate": "40 MB/s"}
#: Keys of volumes that data can be placed on, and of those that are on devices.
_OF_HOMES = {"used", "max_request", "merge", "flush_overhead", "journal"}
_OF_DEVICES = {"count", "layout", "stripe", "controller_overhead", "drive_queue_depth"}


class VolumeModel(StrictModel):
    """``[volumes.NAME]``: devices of one sort in a layout, or tiers, and what the host puts before them."""

    device: str | None = None
    count: int = Field(default=1, gt=0, le=1024)
    layout: Layout = "single"
    stripe: Bytes = parse_bytes("64 KiB")
    controller_overhead: Nanoseconds | None = None
    used: Bytes | None = None  # with addresses = "pack": the touched extents are spread over this much
    queue_depth: int | None = Field(default=None, gt=0, le=2**32)
    drive_queue_depth: int | None = Field(default=None, gt=0, le=2**32)
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
        if (self.device is None) == (self.tiers is None):
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
    def _layout_is_possible(self) -> "VolumeModel":
        problem = problem_with(self.layout, self.count)
        if problem:
            raise ValueError(problem)
        if self.device == RECORDED and self.model_dump(exclude={"device"}, exclude_defaults=True):
            raise ValueError(f'device = "{RECORDED}" is the recorded hardware with its host; no other key goes with it')
        if self.stripe <= 0 or self.stripe % 512:
            raise ValueError("stripe is not a positive multiple of 512 bytes")
        return self

    @model_validator(mode="after")
    def _queues_are_possible(self) -> "VolumeModel":
        if self.drive_queue_depth is not None and self.layout == "single":
            raise ValueError("drive_queue_depth: the volume is a single device; write queue_depth")
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
    queues: dict[str, QueueModel] = Field(default_factory=dict)
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
                if found.device is None or found.caches is not None:
                    what = "is made of tiers" if found.device is None else "caches another volume"
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
    def _queues_name_volumes(self) -> "Scenario":
        for key, queue in self.queues.items():
            if key in self.volumes:
                raise ValueError(f"queues.{key}: is the name of a volume; choose another")
            for volume in queue.volumes or ():
                self._check_home(f"queues.{key}.volumes", volume)
        return self

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


class NamedScenario:
    """A scenario with its name, its devices loaded, and what it says of itself as TOML."""

    def __init__(self, name: str, model: Scenario, devices: Mapping[str, Device | Measured]) -> None:
        """Take the *devices* that the volumes are on, by volume; raises ScenarioError when sizes do not go together."""
        self.name, self.model = name, model
        self.volumes = {key: self._volume(key, model.volumes[key], device) for key, device in devices.items()}
        tiered = {key: self._tiered(key, volume) for key, volume in model.volumes.items() if volume.tiers}
        #: Volumes that data can be placed on.
        self.homes: dict[str, Volume | TieredVolume] = {key: (self.volumes | tiered)[key] for key in model.homes}
        #: How volumes cache others, by the name of the cache.
        self.caching = {key: self._caches(key, volume) for key, volume in model.volumes.items() if volume.caches}

    def _volume(self, name: str, model: VolumeModel, device: Device | Measured) -> Volume:
        overhead = PASS_ON_NS if model.controller_overhead is None else max(1, model.controller_overhead)
        return Volume(name, device, model.count, model.layout, model.stripe, overhead, self._host(model))

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
                raise self._mistake(name, "extent", f"is larger than the tier {tier.name!r}; write less")
        return TieredVolume(name, fast, slow, migration, self._host(model))

    def _caches(self, name: str, model: VolumeModel) -> Caching:
        assert model.caches
        assert model.cache_mode
        assert model.cache_block
        assert model.sequential_cutoff is not None
        flash_bytes, backing_bytes = self.volumes[name].capacity_bytes, self.volumes[model.caches].capacity_bytes
        problem = problem_with_cache(flash_bytes, backing_bytes, model.cache_block)
        if problem:
            raise self._mistake(name, "cache_block", problem)
        return Caching(model.cache_mode, model.cache_block, model.sequential_cutoff)

    def _mistake(self, volume: str, key: str, what: str) -> ScenarioError:
        return ScenarioError(f"{self.name}: volumes.{volume}.{key}: {what}")

    def build(self, builder: PlantBuilder) -> dict[str, int]:
        """Put the scenario's hardware into a plant; returns the station that takes the requests of each home.

        A volume that is the recorded hardware is left out: what it answers is in the trace.
        """
        volumes = {name: volume for name, volume in self.volumes.items() if not isinstance(volume.device, Measured)}
        devices = {name: add_devices(builder, volume) for name, volume in volumes.items()}
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
        queues = self.model.queues
        # what lies behind comes first: that order tells which of several full queues is to blame
        gates = {key: add_gate(builder, key, queue.depth) for key, queue in reversed(queues.items())}
        return {
            name: add_host(
                builder, name, home.host, devices[name],
                [gates[key] for key, queue in queues.items() if name in (queue.volumes or self.homes)],
            )
            for name, home in self.homes.items() if name in devices
        }  # fmt: skip

    @property
    def description(self) -> str:
        """What it is, in words."""
        if self.model.description:
            return self.model.description
        parts = []
        for key, volume in self.volumes.items():
            layout = "" if volume.layout == "single" else f", {volume.layout.upper()}"
            caches = self.model.volumes[key].caches
            role = "" if caches is None else f", {self.model.volumes[key].cache_mode} cache of {caches}"
            parts.append(f"{volume.count} × {volume.device.name}{layout}{role}")
        parts += [f"{key}: extents in {' and '.join(v.tiers)}" for key, v in self.model.volumes.items() if v.tiers]
        return "; ".join(parts)

    def to_toml(self) -> str:
        """The scenario with every default filled in, sizes in bytes and durations in ns; reading it gives it back."""
        return tomli_w.dumps(_with_units(self.model))


def _with_units(model: Scenario) -> dict[str, Any]:
    values = model.model_dump(exclude_none=True)
    if not model.queues:
        del values["queues"]
    units = {
        "stripe": "B", "used": "B", "max_request": "B", "controller_overhead": "ns", "flush_overhead": "ns",
        "cache_block": "B", "sequential_cutoff": "B", "extent": "B", "rebalance_interval": "ns", "migration_rate": "B/s",
    }  # fmt: skip
    for volume in values["volumes"].values():
        _write_units(volume, units)
    _write_units(values["replay"], {"dependency_window": "ns", "think": "ns"})
    return values


def _write_units(table: dict[str, Any], units: Mapping[str, str]) -> None:
    for key, unit in units.items():
        if key in table:
            table[key] = f"{table[key]} {unit}"


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
    for key, volume in model.volumes.items():
        if volume.device is None:
            continue
        try:
            recorded = volume.device == RECORDED
            devices[key] = Measured() if recorded else load_device(volume.device, beside=file.parent)
        except ScenarioError as error:
            place = place_of(text, str(file), ("volumes", key, "device"))
            raise ScenarioError(f"{place}: {error}") from None
    return NamedScenario(name, model, devices)


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
