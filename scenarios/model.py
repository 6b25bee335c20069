"""A scenario as people write it: volumes on devices, what lives where, how to replay."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import Field, model_validator

from tiersim.devices.array import Layout, problem_with
from tiersim.devices.catalogue import load_device, names
from tiersim.devices.controller import (
    DEFECTS,
    add_controller,
    defect_at,
    problem_with_stripe,
)
from tiersim.devices.files import Journal
from tiersim.devices.flash import Flash
from tiersim.devices.gate import add_gate
from tiersim.devices.hdd import Drive
from tiersim.devices.host import Host, add_host
from tiersim.devices.measured import RECORDED, Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import PASS_ON_NS
from tiersim.devices.volume import Device, Volume, add_devices
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios import library
from tiersim.scenarios.controllers import ControllerModel
from tiersim.toml_files import (
    Bytes,
    Nanoseconds,
    StrictModel,
    parse_toml,
    place_of,
    read_text,
    validate,
)
from tiersim.units import parse_bytes


class VolumeModel(StrictModel):
    """``[volumes.NAME]``: devices of one sort in a layout, and what the host puts before them."""

    device: str
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
    controllers: dict[str, ControllerModel] = Field(default_factory=dict)
    placement: dict[str, str] = Field(default_factory=dict)
    replay: ReplayModel = ReplayModel()

    @model_validator(mode="after")
    def _placement_names_volumes(self) -> "Scenario":
        for key, volume in self.placement.items():
            if volume not in self.volumes:
                hint = did_you_mean(volume, self.volumes)
                raise ValueError(f"placement.{key}: {volume!r} is not one of the volumes{hint}")
            if key not in ("default", "log") and not key.startswith("file:"):
                hint = did_you_mean(key, ("default", "log"))
                raise ValueError(f"placement.{key}: is not default, log or file:NAME{hint}")
        if "default" not in self.placement and len(self.volumes) > 1:
            raise ValueError('placement: several volumes and no default; add for example default = "data"')
        return self

    @model_validator(mode="after")
    def _queues_name_volumes(self) -> "Scenario":
        for key, queue in self.queues.items():
            if key in self.volumes:
                raise ValueError(f"queues.{key}: is the name of a volume; choose another")
            for volume in queue.volumes or ():
                if volume not in self.volumes:
                    hint = did_you_mean(volume, self.volumes)
                    raise ValueError(f"queues.{key}.volumes: {volume!r} is not one of the volumes{hint}")
        return self

    @model_validator(mode="after")
    def _controllers_name_volumes(self) -> "Scenario":
        owner: dict[str, str] = {}
        for key, controller in self.controllers.items():
            if key in self.volumes or key in self.queues:
                raise ValueError(f"controllers.{key}: is the name of a volume or a queue; choose another")
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
                if volume in owner:
                    raise ValueError(f"controllers.{key}.volumes: {volume!r} belongs to {owner[volume]!r} already")
                owner[volume] = key
        return self

    @property
    def default_volume(self) -> str:
        """Where everything goes that no other rule places."""
        return self.placement.get("default", next(iter(self.volumes)))


class NamedScenario:
    """A scenario with its name, its devices loaded, and what it says of itself as TOML."""

    def __init__(self, name: str, model: Scenario, devices: Mapping[str, Device | Measured]) -> None:
        """Take the *devices* that the volumes are on, by volume."""
        self.name, self.model = name, model
        self.volumes = {key: self._volume(key, volume, devices[key]) for key, volume in model.volumes.items()}
        self.controllers = {key: controller.with_name(key) for key, controller in model.controllers.items()}
        for key, controller in self.controllers.items():
            for volume in self.behind(key):
                problem = None if controller.cache_bytes is None else problem_with_stripe(volume)
                if problem:
                    raise ScenarioError(f"{name}: volumes.{volume.name}: {problem}")

    @staticmethod
    def _volume(name: str, model: VolumeModel, device: Device | Measured) -> Volume:
        overhead = PASS_ON_NS if model.controller_overhead is None else max(1, model.controller_overhead)
        host = Host(
            queue_depth=model.queue_depth,
            drive_queue_depth=model.drive_queue_depth,
            max_request_bytes=model.max_request,
            merge=model.merge,
            flush_overhead_ns=model.flush_overhead,
            journal=model.journal,
        )
        return Volume(name, device, model.count, model.layout, model.stripe, overhead, host)

    def behind(self, controller: str) -> list[Volume]:
        """The volumes of a controller."""
        named = self.model.controllers[controller].volumes
        if named is not None:
            return [self.volumes[name] for name in named]
        return [volume for volume in self.volumes.values() if isinstance(volume.device, Drive | Flash)]

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
        """Put the scenario's hardware into a plant; returns the station that takes the requests of each volume.

        A volume that is the recorded hardware is left out: what it answers is in the trace.
        """
        volumes = {name: volume for name, volume in self.volumes.items() if not isinstance(volume.device, Measured)}
        devices: dict[str, int] = {}
        for key, controller in self.controllers.items():
            devices |= add_controller(builder, controller, self.behind(key))
        devices |= {name: add_devices(builder, volume) for name, volume in volumes.items() if name not in devices}
        queues = self.model.queues
        # what lies behind comes first: that order tells which of several full queues is to blame
        gates = {key: add_gate(builder, key, queue.depth) for key, queue in reversed(queues.items())}
        return {
            name: add_host(
                builder, name, volume.host, devices[name],
                [gates[key] for key, queue in queues.items() if name in (queue.volumes or self.volumes)],
            )
            for name, volume in volumes.items()
        }  # fmt: skip

    @property
    def description(self) -> str:
        """What it is, in words."""
        if self.model.description:
            return self.model.description
        parts = [f"{v.count} × {v.device.name}" + ("" if v.layout == "single" else f", {v.layout.upper()}")
                 for v in self.volumes.values()]  # fmt: skip
        return "; ".join(parts)

    def to_toml(self) -> str:
        """The scenario with every default filled in, sizes in bytes and durations in ns; reading it gives it back."""
        return tomli_w.dumps(_with_units(self.model))


def _with_units(model: Scenario) -> dict[str, Any]:
    values = model.model_dump(exclude_none=True)
    if not model.queues:
        del values["queues"]
    if not model.controllers:
        del values["controllers"]
    units = {"stripe": "B", "used": "B", "max_request": "B", "controller_overhead": "ns", "flush_overhead": "ns"}
    for volume in values["volumes"].values():
        _write_units(volume, units)
    for controller in values.get("controllers", {}).values():
        _write_units(controller, {"cache": "B", "flush_interval": "ns", "throughput": "B/s"})
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
