"""Which hardware is to choose from: lists over devices, counts, layouts, memory and placements, as scenarios with their
bills.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import BeforeValidator, Field, model_validator

from tiersim.devices.array.volume import PARITIES, Layout, copies_of, problem_with
from tiersim.devices.catalogue import load_device
from tiersim.devices.cloud.cloud_volume import CloudVolume
from tiersim.devices.measured import Measured
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.model import Scenario
from tiersim.scenarios.sizing.cost import Cost, cost_of, device_of
from tiersim.scenarios.sizing.prices import PricesModel
from tiersim.toml_files import Bytes, StrictModel, read_model
from tiersim.units import format_bytes

#: How many drives names alone are tried with: up to what one shelf of 2.5-inch drives holds.
DEFAULT_COUNTS = (1, 2, 4, 6, 8, 12, 16, 24)
#: More are a slip in a file.
_MOST = 100_000
_MIB = 1 << 20
_MEMORY_WITHOUT_PRICE = (
    "memory: candidates differ in it; write [memory] with price_per_gib, or the largest is always the best"
)
#: What an instance is, and so what it costs.
_INSTANCE = re.compile(r"instances\.[^.]+(\.(type|iops|throughput|burst_iops|burst_throughput))?")


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


_Texts = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
_Counts = Annotated[tuple[Annotated[int, Field(gt=0, le=1024)], ...], BeforeValidator(_listed), Field(min_length=1)]
_Layouts = Annotated[tuple[Layout, ...], BeforeValidator(_listed), Field(min_length=1)]
_Sizes = Annotated[tuple[Bytes, ...], BeforeValidator(_listed), Field(min_length=1)]


class ListModel(StrictModel):
    """``[[candidates]]``: every combination of its lists that can be built."""

    volume: str = Field(default="data", description="The volume that the devices are for.")
    device: _Texts = Field(description="Devices: a value, or a list.")
    count: _Counts = Field(default=(1,), description="How many: a value, or a list.")
    layout: _Layouts | None = Field(
        default=None, description="Layouts; left out: a single device, and RAID 10 of several."
    )
    memory: _Sizes | None = Field(default=None, description="Memory of the host: a value, or a list.")
    placement: _Texts | None = Field(default=None, description="Names of placements.")
    set: dict[str, Any] = Field(
        default_factory=dict, description="Any key of the scenario, with a value or a list of values."
    )


class CandidatesModel(PricesModel):
    """A candidates file."""

    description: str = Field(default="", description="For people.")
    on: str | None = Field(default=None, description="The scenario that candidates differ from; --on goes before it.")
    placements: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Parts of a scenario by name, laid over it."
    )
    candidates: list[ListModel] = Field(min_length=1, description="Lists; each combination is a candidate.")

    @model_validator(mode="after")
    def _placements_are_there(self) -> "CandidatesModel":
        for number, one in enumerate(self.candidates):
            for name in one.placement or ():
                if name not in self.placements:
                    hint = did_you_mean(name, self.placements)
                    raise ValueError(f"candidates.{number}.placement: {name!r} is not one of the placements{hint}")
        return self

    @model_validator(mode="after")
    def _memory_has_a_price(self) -> "CandidatesModel":
        if len({size for one in self.candidates for size in one.memory or (0,)}) > 1 and self.memory is None:
            raise ValueError(_MEMORY_WITHOUT_PRICE)
        return self

    @model_validator(mode="after")
    def _instances_have_one_rent(self) -> "CandidatesModel":
        for key in dict.fromkeys(key for one in self.candidates for key in one.set if _INSTANCE.fullmatch(key)):
            if len({str(value) for one in self.candidates for value in _listed(one.set.get(key))}) > 1:
                raise ValueError(
                    f"{key}: candidates differ in it, and a bill has no rent of instances; search once for each"
                )
        return self


@dataclass(frozen=True)
class Candidate:
    """One purchase: settings of a scenario by key, as text; ``problem`` says why it cannot be had or does not fit
    together.

    Candidates of a ``family`` differ in ``count`` and ``memory_bytes`` alone, of which more is taken to be no worse.
    """

    name: str
    settings: Mapping[str, str]
    family: tuple[str, ...]
    count: int
    memory_bytes: int
    scenario: NamedScenario | None
    cost: Cost | None
    survives: int  # how many drives may fail, whichever they are, and nothing is lost
    problem: str | None = None


def read_candidates(path: Path) -> CandidatesModel:
    """Read a candidates file; raises ScenarioError."""
    return read_model(CandidatesModel, path)


def of_names(devices: Sequence[str]) -> CandidatesModel:
    """Return one of each device of the catalogue alone and several in RAID 10; raises ScenarioError for one that is
    none, or has to be ordered.
    """
    for name in devices:
        if isinstance(load_device(name), CloudVolume):
            raise ScenarioError(
                f"--candidates {name}: a cloud volume is ordered by size and IOPS; write them in a file, under set: "
                '"volumes.data.size" = ["1 TiB"]'
            )
    return CandidatesModel(candidates=[ListModel(device=tuple(devices), count=DEFAULT_COUNTS)])


def combinations(model: CandidatesModel, base: str, settings: Sequence[str], beside: Path) -> list[Candidate]:
    """Return every candidate of *model*: the scenario *base* with *settings* and its own over them.

    Combinations that no array can have are left out. *beside* is the folder of the scenario. Raises ScenarioError for
    devices that are not there, for settings that candidates have themselves, for hosts that differ at one price, and
    when nothing or too much is left.
    """
    plain = load_scenario(base, settings)
    given = [setting.partition("=")[0].strip() for setting in settings]
    found: dict[tuple[tuple[str, str], ...], Candidate] = {}
    for one in model.candidates:
        for device in one.device:
            load_device(device, beside=beside)  # a slip in its name is one of the file, and not a candidate's
        for chosen in _choices(one):
            own = _settings(model, plain, one, chosen)
            if (twice := next((key for key in given if key in own), None)) is not None:
                raise ScenarioError(f"--set {twice}: candidates set it (the first: {own[twice]}); leave it out")
            key = tuple(sorted(own.items()))
            if key not in found:
                found[key] = _candidate(model, base, settings, beside, one, chosen, own)
            if len(found) > _MOST:
                raise ScenarioError(f"there are more than {_MOST:,} candidates; shorten the lists")
    if not found:
        raise ScenarioError(
            "no candidate can be built: no count goes with a layout; RAID 10 needs even counts, RAID 5 at least 3, RAID"
            " 6 at least 4"
        )
    _refuse_unpriced_hosts(model, [one.scenario.model for one in found.values() if one.scenario is not None])
    return list(found.values())


def _refuse_unpriced_hosts(prices: PricesModel, models: Sequence[Scenario]) -> None:
    """Raise ScenarioError where scenarios differ in memory or processors that nobody prices: more would always win."""
    hosts = [model.host for model in models if model.host is not None]
    pools = {model.engine.buffer_pool for model in models if model.engine and not (model.host and model.host.memory)}
    if prices.memory is None and (len({host.memory for host in hosts}) > 1 or len(pools) > 1):
        raise ScenarioError(_MEMORY_WITHOUT_PRICE)
    if prices.licences is None and len({(host.cpu, host.count, host.cores) for host in hosts}) > 1:
        raise ScenarioError(
            "host.cores: candidates differ in it, and cost the same; write [licences] with per_core, what a core costs"
            " with its licence, or search once for each"
        )


@dataclass(frozen=True)
class _Choice:
    """One value from each list."""

    device: str
    count: int
    layout: Layout
    memory: int | None
    placement: str | None
    set: tuple[tuple[str, Any], ...]


def _choices(one: ListModel) -> Iterator[_Choice]:
    keys = list(one.set)
    more = itertools.product(*(_listed(one.set[key]) for key in keys))
    lists = (one.device, one.count, one.memory or (None,), one.placement or (None,), list(more))
    for device, count, memory, placement, values in itertools.product(*lists):
        for layout in one.layout or (("single",) if count == 1 else ("raid10",)):
            if problem_with(layout, count) is None:
                yield _Choice(device, count, layout, memory, placement, tuple(zip(keys, values, strict=True)))


def _settings(model: CandidatesModel, base: NamedScenario, one: ListModel, chosen: _Choice) -> dict[str, str]:
    volume = f"volumes.{one.volume}"
    own = {f"{volume}.device": chosen.device, f"{volume}.count": str(chosen.count), f"{volume}.layout": chosen.layout}
    if chosen.memory is not None:
        own |= _memory_settings(model, base, chosen.memory)
    if chosen.placement is not None:
        own |= dict(_flat(model.placements[chosen.placement]))
    return own | {key: _text(value) for key, value in chosen.set}


def _memory_settings(model: CandidatesModel, base: NamedScenario, memory_bytes: int) -> dict[str, str]:
    """Return settings of a host with so much memory: caches have the shares of it that they have in *base*."""
    host, engine = base.model.host, base.model.engine
    share = None if model.memory is None else model.memory.pool_share
    was = None if host is None else host.memory
    pool = None if engine is None else engine.buffer_pool
    if share is None:
        if not was or pool is None:
            raise ScenarioError(
                "memory: which part of it is the buffer pool? write pool_share under [memory], or memory under [host]"
                f" and buffer_pool under [engine] of {base.name}"
            )
        share = pool / was
    own = {"host.memory": format_exact(memory_bytes), "engine.buffer_pool": format_exact(round(memory_bytes * share))}
    if was and engine is not None and engine.os_cache:
        own["engine.os_cache"] = format_exact(
            min(round(memory_bytes * engine.os_cache / was), round(memory_bytes * (1 - share)))
        )
    return own


def format_exact(size_bytes: int) -> str:
    """Write a size in whole MiB, rounded down, as text that a scenario takes."""
    return f"{size_bytes // _MIB} MiB"


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of nested tables with dots, and values as ``--set`` takes them."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _text(value)


def _text(value: Any) -> str:
    """Write a value as ``--set`` reads it: text that TOML would take for something else is quoted."""
    written = tomli_w.dumps({"v": value}).partition("=")[2].strip()
    if not isinstance(value, str):
        return written
    try:
        tomllib.loads(f"v = {value}")
    except tomllib.TOMLDecodeError:
        return value
    return written


def _candidate(
    model: CandidatesModel,
    base: str,
    settings: Sequence[str],
    beside: Path,
    one: ListModel,
    chosen: _Choice,
    own: dict[str, str],
) -> Candidate:
    of_size = ("host.memory", "engine.buffer_pool", "engine.os_cache", f"volumes.{one.volume}.count")
    family = tuple(f"{key}={value}" for key, value in sorted(own.items()) if key not in of_size)
    scenario, cost, survives, problem = None, None, 0, None
    try:
        scenario = load_scenario(base, [*settings, *(f"{key}={value}" for key, value in own.items())])
        scenario.name = _name(chosen)
        cost, survives = cost_of(scenario, model, beside), survived_failures(scenario, beside)
    except ScenarioError as error:
        problem = str(error)
    return Candidate(_name(chosen), own, family, chosen.count, chosen.memory or 0, scenario, cost, survives, problem)


def _name(chosen: _Choice) -> str:
    parts = [f"{chosen.count} × {chosen.device}" + ("" if chosen.layout == "single" else f" {chosen.layout}")]
    if chosen.memory is not None:
        parts.append(format_bytes(chosen.memory))
    if chosen.placement is not None:
        parts.append(chosen.placement)
    return ", ".join([*parts, *(f"{key}={_text(value)}" for key, value in chosen.set)])


#: More drives than anything has.
ANY_NUMBER = 1_000_000


def capacity_bytes(scenario: NamedScenario) -> int:
    """Return what the volumes hold that data are placed on, those of log, temp and backups left out."""
    model = scenario.model
    homes = {
        model.default_volume,
        *(home for key, home in model.placement.items() if key.startswith(("file:", "relation:"))),
    }
    return sum(
        scenario.homes[name].capacity_bytes
        for name in homes
        if not isinstance(getattr(scenario.homes[name], "device", None), Measured)
    )


def survived_failures(scenario: NamedScenario, beside: Path) -> int:
    """Return how many drives may fail, whichever they are, and nothing is lost; a cache of reads alone holds nothing
    that is not elsewhere.

    Cloud volumes are copied by who rents them out, and count as surviving any number. Disks of instances (token
    buckets) are not.
    """
    found = [
        max(copies_of(volume.layout, volume.count) - 1, PARITIES.get(volume.layout, 0))
        for name, volume in scenario.hardware.items()
        if not (name in scenario.caching and scenario.caching[name].mode == "read")
        and not isinstance(volume.device, Measured)
        and not isinstance(device_of(scenario, name, beside), CloudVolume)
    ]
    return min(found, default=ANY_NUMBER)
