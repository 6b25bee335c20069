"""A scenario that is being changed key by key: what can be changed, what a change takes with it, and its TOML."""

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import tomli_w

from tiersim.devices import catalogue
from tiersim.devices.array.volume import Layout, problem_with
from tiersim.devices.catalogue import load_device
from tiersim.devices.cloud.cloud_volume import CloudVolume
from tiersim.devices.measured import RECORDED
from tiersim.errors import ScenarioError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import find_scenario, read_scenario
from tiersim.toml_files import parse_toml

#: Keys of a volume that go when it becomes a cloud volume, and those that go when it is none any more.
_OF_ARRAYS = ("count", "layout", "stripe", "controller_overhead", "drive_queue_depth", "read_balance", "failed",
              "rebuild_rate", "rebuild_from")  # fmt: skip
_OF_ORDERS = ("size", "iops", "throughput", "credits")
#: Name of a controller where a scenario has none.
_CONTROLLER = "controller"


@dataclass(frozen=True)
class Draft:
    """A scenario as nested tables; ``file`` is where its devices are looked for beside."""

    name: str
    values: Mapping[str, Any]
    file: Path

    @property
    def toml(self) -> str:
        """The scenario as a file; ``tiersim replay --on`` takes it."""
        return tomli_w.dumps(self.values)

    def scenario(self) -> NamedScenario:
        """Return what it describes; raises ScenarioError, which names no line: the file that it began as has others."""
        try:
            return read_scenario(self.name, self.toml, self.file)
        except ScenarioError as error:
            raise ScenarioError(re.sub(rf"{re.escape(str(self.file))}(:\d+)?: ", "", str(error))) from None


def draft_of(name_or_path: str) -> Draft:
    """Begin with a scenario of the library, a file, or a device; raises ScenarioError.

    Devices that are files are named by their whole path from here on, for the draft may be saved elsewhere.
    """
    name, text, file = find_scenario(name_or_path)
    values = parse_toml(text, str(file))
    read_scenario(name, text, file)
    for table in ("volumes", "pools"):
        for entry in values.get(table, {}).values():
            device = entry.get("device")
            if isinstance(device, str) and device != RECORDED and device not in catalogue.names():
                entry["device"] = str((file.parent / device).resolve())
    return Draft(name, values, file)


def changed(draft: Draft, key: str, value: Any) -> Draft:
    """Return the draft with *key* (``volumes.data.count``) set to *value*, or left out where that is None.

    What no longer fits goes with it: an array's keys when a volume becomes a cloud volume, a layout that the count does
    not allow. Raises ScenarioError for a key that has no tables before it.
    """
    *tables, last = key.split(".")
    if not last or not all(tables) or not tables:
        raise ScenarioError(f"{key!r} is not a key of a scenario, such as replay.load")
    values = copy.deepcopy(dict(draft.values))
    place = values
    for table in tables:
        place = place.setdefault(table, {})
        if not isinstance(place, dict):
            raise ScenarioError(f"{key}: {table!r} is a value and has no keys; leave out what follows it")
    if value is None:
        place.pop(last, None)
    else:
        place[last] = value
    if tables[0] in ("volumes", "controllers"):
        values.pop("description", None)  # it was of other hardware
    if tables[0] == "volumes" and len(tables) == 2:
        _fit_volume(values, tables[1], last, draft)
    if tables[0] == "controllers":
        _fit_controller(place)
    _drop_empty(values, tables)
    return replace(draft, values=values)


def _fit_volume(values: dict[str, Any], name: str, key: str, draft: Draft) -> None:
    """Make the other keys of a volume go with the one that was changed in *draft*."""
    volume = values["volumes"][name]
    before = draft.values["volumes"].get(name, {}).get("count", 1)
    if key == "device":
        offer = _offer(volume.get("device"), draft.file.parent)
        sold = (*(offer.provisioned or ()), "size", "credits") if offer else ()
        for other in (*(_OF_ARRAYS if offer else ()), *(one for one in _OF_ORDERS if one not in sold)):
            volume.pop(other, None)
        if offer or volume.get("device") == RECORDED:
            _leave_controllers(values, name)
    count, layout = volume.get("count", 1), volume.get("layout", "single")
    if layout not in get_args(Layout) or not isinstance(count, int) or problem_with(layout, count) is None:
        return
    if key == "layout":
        fitting = next((one for one in range(count, count + 4) if problem_with(layout, one) is None), 1)
        volume["count"] = 1 if layout == "single" else fitting
    elif key == "count":
        volume["count"], volume["layout"] = _fitting(count, before, layout)


def _fitting(count: int, before: int, layout: Layout) -> tuple[int, Layout]:
    """Return the next count that *layout* allows, in the direction of the change; one drive is alone, several are
    RAID 10 unless said otherwise.
    """
    if count == 1:
        return 1, "single"
    layout = "raid10" if layout == "single" else layout
    tried = range(count, 0, -1) if count < before else range(count, count + 4)
    return next((one for one in tried if problem_with(layout, one) is None), before), layout


def _leave_controllers(values: dict[str, Any], volume: str) -> None:
    """Take a volume from behind its controller; one that has no other goes."""
    controllers = values.get("controllers", {})
    for name, controller in list(controllers.items()):
        own = controller.get("volumes") or list(values["volumes"])
        rest = [one for one in own if one != volume]
        if len(rest) < len(own):
            controllers[name] = {**controller, "volumes": rest}
        if not rest:
            del controllers[name]
    _drop_empty(values, ["controllers"])


def _fit_controller(controller: dict[str, Any]) -> None:
    """A controller without cache writes through."""
    if "cache" not in controller and controller.get("write_policy") == "write-back":
        del controller["write_policy"]


def _drop_empty(values: dict[str, Any], tables: list[str]) -> None:
    """Leave out tables without keys, the innermost first."""
    for depth in range(len(tables), 0, -1):
        above = values
        for table in tables[: depth - 1]:
            above = above.get(table, {})
        if above.get(tables[depth - 1]) == {}:
            del above[tables[depth - 1]]


def _offer(device: Any, beside: Path) -> CloudVolume | None:
    """Return the offer that a cloud volume is ordered from; None for other devices, and what is none."""
    if not isinstance(device, str) or device == RECORDED:
        return None
    try:
        found = load_device(device, beside=beside)
    except ScenarioError:
        return None
    return found if isinstance(found, CloudVolume) else None


@dataclass(frozen=True)
class Control:
    """What can be changed: a key, how it is called, and what it takes; ``value`` is None where the key is left out."""

    key: str
    label: str
    kind: str  # "device", "choice", "count", "size", "rate" or "factor"
    value: Any
    group: str
    choices: tuple[str, ...] = ()
    default: str = ""  # what holds where it is left out


def controls_of(draft: Draft, *, statements: bool, recorded_pool_bytes: int | None = None) -> list[Control]:
    """Return what can be changed of a draft, in the order of a page."""
    found: list[Control] = []
    for name, volume in draft.values.get("volumes", {}).items():
        if isinstance(volume.get("device"), str) and "pool" not in volume:
            found += _of_volume(draft, name, volume)
    if statements:
        engine, host = draft.values.get("engine", {}), draft.values.get("host", {})
        pool = "as recorded" if recorded_pool_bytes is None else f"as recorded: {recorded_pool_bytes >> 20} MiB"
        found.append(
            Control("engine.buffer_pool", "Buffer pool", "size", engine.get("buffer_pool"), "Server", default=pool)
        )
        if "cpu" not in host:
            found.append(Control("host.cores", "Cores", "count", host.get("cores"), "Server", default="as recorded"))
    load = draft.values.get("replay", {}).get("load", 1.0)
    found.append(Control("replay.load", "Load", "factor", load, "Load", default="1"))
    return found


def _of_order(key: str, volume: Mapping[str, Any], offer: CloudVolume, group: str) -> list[Control]:
    """Return what can be ordered of a cloud volume."""
    size = "needed: its limits follow from it" if offer.depends_on_size else "as small as the trace allows"
    found = [Control(f"{key}.size", "Size", "size", volume.get("size"), group, default=size)]
    for name, label, kind in (("iops", "IOPS", "count"), ("throughput", "Throughput", "rate")):
        if name in (offer.provisioned or ()):
            default = "as included" if offer.includes(name) else "needed"
            found.append(Control(f"{key}.{name}", label, kind, volume.get(name), group, default=default))
    return found


def _of_volume(draft: Draft, name: str, volume: Mapping[str, Any]) -> list[Control]:
    key, group = f"volumes.{name}", f"Volume {name}"
    found = [Control(f"{key}.device", "Device", "device", volume["device"], group)]
    if volume["device"] == RECORDED:
        return found
    offer = _offer(volume["device"], draft.file.parent)
    if offer is not None:
        return found + _of_order(key, volume, offer, group)
    found += [
        Control(f"{key}.count", "How many", "count", volume.get("count", 1), group, default="1"),
        Control(f"{key}.layout", "Layout", "choice", volume.get("layout", "single"), group, get_args(Layout)),
    ]
    controllers = draft.values.get("controllers", {})
    owner = next((one for one, own in controllers.items() if name in (own.get("volumes") or [name])), None)
    if owner is None and len(draft.values["volumes"]) > 1:
        return found  # a new controller would have to say which volumes are its own
    one = controllers.get(owner, {})
    key = f"controllers.{owner or _CONTROLLER}"
    return [
        *found,
        Control(f"{key}.cache", "Write cache", "size", one.get("cache"), group, default="none"),
        Control(f"{key}.iops", "IOPS cap", "count", one.get("iops"), group, default="none"),
        Control(f"{key}.throughput", "Throughput cap", "rate", one.get("throughput"), group, default="none"),
    ]
