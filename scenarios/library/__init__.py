"""Scenarios by name: of the library (one TOML file each, workloads too), of a file, of a single device; and which of
them run statements.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiersim.devices import catalogue
from tiersim.devices.catalogue import load_device
from tiersim.devices.measured import RECORDED, Measured
from tiersim.devices.station import Device
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios.hardware import NamedScenario, WrongKey
from tiersim.scenarios.model import Scenario
from tiersim.toml_files import (
    parse_toml,
    place_of,
    read_text,
    validate,
)
from tiersim.traces.bundle import Bundle
from tiersim.traces.statistics import has_statements


def load_scenario(name_or_path: str, settings: Sequence[str] = ()) -> NamedScenario:
    """Load a scenario: a TOML file, a name of the library, or a catalogue device (one of it); raises ScenarioError.

    *settings* are keys of it with other values: ``replay.mode=open``, ``volumes.data.count=12``.
    """
    return read_scenario(*find_scenario(name_or_path), settings)


def find_scenario(name_or_path: str) -> tuple[str, str, Path]:
    """Return name, text and file of what :func:`load_scenario` loads; a device has no file, and its folder is this one.

    Raises ScenarioError.
    """
    path = Path(name_or_path)
    if name_or_path.endswith(".toml"):
        return path.stem, read_text(path), path
    if name_or_path in names():
        ready = path_of(name_or_path)
        return name_or_path, read_text(ready), ready
    if name_or_path in catalogue.names():
        return name_or_path, f'[volumes.data]\ndevice = "{name_or_path}"\n', path
    hint = did_you_mean(name_or_path, [*names(), *catalogue.names()])
    known = f"; ready scenarios: {', '.join(names())}; devices: tiersim devices list"
    raise ScenarioError(f"{name_or_path!r} is not a scenario, a device, or a .toml file{hint or known}")


def read_scenario(name: str, text: str, file: Path, settings: Sequence[str] = ()) -> NamedScenario:
    """Read a scenario from its *text*; *file* is where devices are looked for beside. Raises ScenarioError."""
    values = parse_toml(text, str(file))
    if "kind" in values and "volumes" not in values:
        raise ScenarioError(
            f'{file}: is a device file, not a scenario; write a scenario beside it: device = "{file.name}" under'
            " [volumes.data]"
        )
    model = validate(Scenario, values, text, str(file))
    if settings:
        for setting in settings:
            set_key(values, setting)
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


def set_key(values: dict[str, Any], setting: str) -> None:
    """Put ``KEY.KEY=VALUE`` into *values*; a value that is not one of TOML is text. Raises ScenarioError."""
    key, equals, value = setting.partition("=")
    *tables, last = (part.strip() for part in key.split("."))
    if not equals or not last:
        raise ScenarioError(f"--set {setting}: is not KEY=VALUE, such as replay.mode=open")
    if not tables:
        raise ScenarioError(f"--set {setting}: {last!r} names no table; write TABLE.KEY, such as replay.mode=open")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ScenarioError(f"--set {setting}: {table!r} is a value and has no keys; leave out what follows it")
    try:
        values[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        values[last] = value.strip()


def runs_statements(bundle: Bundle, scenario: NamedScenario) -> bool:
    """Tell whether a scenario runs the statements of a bundle, and not its requests: it has an engine, or there are no
    requests.
    """
    if scenario.model.engine is not None:
        return True
    return not bundle.rows and has_statements(bundle.path)


def refuse_keys_of_statements(scenario: NamedScenario) -> None:
    """Raise ScenarioError for keys that make no difference to a replay of requests."""
    for key in ("cache_state", "warmup", "duration", "since_checkpoint"):
        if key in scenario.model.replay.model_fields_set:
            raise ScenarioError(
                f"{scenario.name}: replay.{key}: is only for runs of statements, and this one replays requests; leave"
                " it out, or add [engine]"
            )


#: What fitting a device needs, measured with each load generator.
JOBS = {"fio": "fit.fio", "diskspd": "fit-diskspd.cmd"}


def _folder() -> Path:
    return Path(str(files("tiersim.scenarios.library")))


def names() -> list[str]:
    """Names of all ready scenarios, sorted."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def path_of(name: str) -> Path:
    """File of a ready scenario."""
    return _folder() / f"{name}.toml"


def job_of(generator: str) -> str:
    """Text of the job file for a load generator of JOBS."""
    return (_folder() / JOBS[generator]).read_text(encoding="utf-8")


def workload_names() -> list[str]:
    """Names of all ready workloads, sorted."""
    return sorted(path.stem for path in (_folder() / "workloads").glob("*.toml"))


def workload_path_of(name: str) -> Path:
    """File of a ready workload."""
    return _folder() / "workloads" / f"{name}.toml"


_HEADER = re.compile(rb"^\s*\[workload\]", re.MULTILINE)
_TENANTS = re.compile(rb"^\s*\[tenants\.", re.MULTILINE)


def is_workload(path: Path) -> bool:
    """Tell whether the file at *path* describes a workload: it is TOML and has a table of that name."""
    return path.suffix == ".toml" and path.is_file() and bool(_HEADER.search(path.read_bytes()))


def is_tenants(path: Path) -> bool:
    """Tell whether the file at *path* names tenants."""
    return path.suffix == ".toml" and path.is_file() and bool(_TENANTS.search(path.read_bytes()))


def find_workload(path: Path) -> Path | None:
    """Return the file of the workload that *path* is or names in the library; None when it is something else."""
    if is_workload(path):
        return path
    name = str(path)
    return workload_path_of(name) if name in workload_names() and not path.exists() else None
