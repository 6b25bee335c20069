"""Scenarios by name: of the library, of a file, or a single device; and what each runs of a bundle."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiersim.devices.catalogue import load_device, names
from tiersim.devices.measured import RECORDED, Measured
from tiersim.devices.station import Device
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios import library
from tiersim.scenarios.hardware import NamedScenario, WrongKey
from tiersim.scenarios.model import Scenario
from tiersim.toml_files import (
    parse_toml,
    place_of,
    read_text,
    validate,
)
from tiersim.traces.bundle import Bundle
from tiersim.traces.statistics import NAME as STATISTICS
from tiersim.traces.statistics import PARTS, STATEMENTS


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


def has_statements(path: Path) -> bool:
    """Tell whether the bundle at *path* has queries or counters, beside requests or alone."""
    return any((path / name).exists() for name in (STATISTICS, PARTS, STATEMENTS))


def refuse_keys_of_statements(scenario: NamedScenario) -> None:
    """Raise ScenarioError for keys that make no difference to a replay of requests."""
    for key in ("cache_state", "warmup", "since_checkpoint"):
        if key in scenario.model.replay.model_fields_set:
            raise ScenarioError(
                f"{scenario.name}: replay.{key}: is of runs of statements, and this one replays requests; leave it out,"
                " or add [engine]"
            )
