"""The catalogue: one TOML file a device, every number with its source."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from tiersim.devices.cloud.instance import Instance
from tiersim.devices.host.processor import Processor
from tiersim.devices.station import DEVICES, Device
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.toml_files import parse_toml, read_model, read_text, validate

#: Parameter files of DiskSim.
_DISKSIM = (".parv", ".diskspecs")


def _folder() -> Path:
    return Path(str(files("tiersim.devices") / "catalogue"))


def names() -> list[str]:
    """Names of all devices in the catalogue, sorted."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def instances() -> list[str]:
    """Names of all types of cloud instance in the catalogue, sorted."""
    return sorted(path.stem for path in (_folder() / "instances").glob("*.toml"))


def load_instance(name: str) -> Instance:
    """Load a type of cloud instance by its name; raises ScenarioError."""
    if name not in instances():
        hint = did_you_mean(name, instances())
        raise ScenarioError(
            f"{name!r} is not an instance of the catalogue{hint or '; it has ' + ', '.join(instances())}"
        )
    return read_model(Instance, _folder() / "instances" / f"{name}.toml")


def processors() -> list[str]:
    """Names of all processors in the catalogue, sorted."""
    return sorted(path.stem for path in (_folder() / "processors").glob("*.toml"))


def load_processor(name: str) -> Processor:
    """Load a processor by its name; raises ScenarioError."""
    if name not in processors():
        hint = did_you_mean(name, processors())
        raise ScenarioError(
            f"{name!r} is not a processor of the catalogue{hint or '; it has ' + ', '.join(processors())}"
        )
    return read_model(Processor, _folder() / "processors" / f"{name}.toml")


def kinds() -> list[str]:
    """Kinds of device."""
    return list(DEVICES)


def schema(kind: str) -> dict[str, Any]:
    """JSON schema of the files of one kind of device, as editors take it; raises ScenarioError."""
    if kind not in DEVICES:
        raise ScenarioError(f"{kind!r} is not one of {', '.join(DEVICES)}{did_you_mean(kind, DEVICES)}")
    return DEVICES[kind].model_json_schema()


def load_device(name_or_path: str, *, beside: Path | None = None) -> Device:
    """Load a device by catalogue name, or from a ``.toml`` file or DiskSim's parameters (relative to the folder
    *beside*).

    Raises ScenarioError.
    """
    if name_or_path.endswith(".toml"):
        return read_device((beside or Path()) / name_or_path)
    if name_or_path.endswith(_DISKSIM):
        from tiersim.devices.hdd.disksim import load_drive

        return load_drive((beside or Path()) / name_or_path)
    if name_or_path not in names():
        hint = did_you_mean(name_or_path, names())
        raise ScenarioError(f"{name_or_path!r} is not a device of the catalogue{hint or '; see: tiersim devices list'}")
    return read_device(_folder() / f"{name_or_path}.toml")


def read_device(path: Path) -> Device:
    """Read and check one device file; raises ScenarioError."""
    text = read_text(path)
    values = parse_toml(text, str(path))
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in DEVICES:
        hint = did_you_mean(str(kind), DEVICES)
        raise ScenarioError(f"{path}: kind: {kind!r} is not one of {', '.join(DEVICES)}{hint}")
    return validate(DEVICES[kind], values, text, str(path))
