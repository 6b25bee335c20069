"""Recordings that share hardware: all of them together, each alone, and all but one; who waits for whom.

A run keeps what the recordings say of their own causes (``docs/replay.md``): sessions of one recording wait for their
own answers, which the others delay. Nothing else passes between recordings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tiersim.devices.measured import Measured
from tiersim.errors import ScenarioError
from tiersim.operating_system import available_bytes
from tiersim.parallel import Note, side_by_side
from tiersim.scenarios.causes import from_disk
from tiersim.scenarios.hardware import NamedScenario, place_files
from tiersim.scenarios.library import refuse_keys_of_statements
from tiersim.scenarios.model import ReplayModel
from tiersim.scenarios.replay import Part, Playback, Played, play, workers_that_fit
from tiersim.scenarios.survey import survey
from tiersim.scenarios.tenants.model import TenantModel, TenantsModel
from tiersim.simulator.result import Result
from tiersim.toml_files import dump_with_units, place_of, read_text, validate
from tiersim.traces.bundle import Bundle
from tiersim.units import NS_PER_S

#: What no run of recordings side by side knows, said in every result of one.
NOT_MODELLED = (
    "tenants share storage alone: each has its own host, processors and memory",
    "a tenant's requests are those of its recording: its caches do not hold other pages because others slow it down",
)


@dataclass(frozen=True)
class Tenant:
    """One recording that was surveyed, and what its file says of it."""

    name: str
    model: TenantModel
    playback: Playback
    shift_ns: int  # that it begins later than the first one


@dataclass(frozen=True)
class Shared:
    """What one tenant got: alone on the hardware, and together with the others."""

    name: str
    alone: Result
    together: Result


def gather(path: Path, model: TenantsModel, bundles: Mapping[str, Bundle]) -> list[Tenant]:
    """Survey the recordings of the file at *path*, and find out when each begins; raises TiersimError."""
    for name, bundle in bundles.items():
        if not bundle.rows:
            raise ScenarioError(
                f"{path}: tenants.{name}.recording: {bundle.path.name} has no block requests, and only those can share"
                " hardware; record the server's requests (tiersim record blktrace)"
            )
    begins_ns = _begins_ns(path, model, bundles)
    return [
        Tenant(name, model.tenants[name], Playback(survey(bundle), keep=True), begins_ns[name])
        for name, bundle in bundles.items()
    ]


def _begins_ns(path: Path, model: TenantsModel, bundles: Mapping[str, Bundle]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, bundle in bundles.items():
        aligned_ns = 0
        if model.align == "clock":
            clock_ns = bundle.manifest.host.get("clock_start_unix_ns")
            if not isinstance(clock_ns, int):
                raise ScenarioError(
                    f'{path}: align = "clock": the recording of {name!r} does not say what time it was when it began;'
                    ' write align = "peak", or "start" with shift under each of [tenants]'
                )
            aligned_ns = clock_ns
        elif model.align == "peak":
            aligned_ns = -_busiest_second(bundle) * NS_PER_S
        found[name] = aligned_ns + model.tenants[name].shift
    first_ns = min(found.values())
    return {name: begin_ns - first_ns for name, begin_ns in found.items()}


def _busiest_second(bundle: Bundle) -> int:
    """Return the number of the second with the most requests, the first of several."""
    counts = np.zeros(0, np.int64)
    for block in bundle.blocks():
        own = np.bincount(block.time_ns // NS_PER_S, minlength=len(counts))
        own[: len(counts)] += counts
        counts = own
    return int(counts.argmax())


def parts_on(path: Path, tenants: Sequence[Tenant], scenario: NamedScenario) -> list[Part]:
    """Place each tenant on the scenario's volumes, one behind the other unless it says where; raises ScenarioError."""
    refuse_keys_of_statements(scenario)
    if any(isinstance(volume.device, Measured) for volume in scenario.volumes.values()):
        raise ScenarioError(f"{scenario.name}: the recorded hardware answers to one recording alone; choose devices")
    text = read_text(path)
    taken: dict[str, list[tuple[int, int, str]]] = {}
    parts = []
    for tenant in tenants:
        view = _view(path, text, tenant, scenario, taken)
        homes = place_files(view, tenant.playback.found.files)
        own: dict[str, tuple[int, int]] = {}
        for home, use in zip(homes, tenant.playback.found.files, strict=True):
            begin = home.base_bytes if home.packed is None else int(home.packed.min(initial=0))
            low, high = own.get(home.volume, (begin, 0))
            own[home.volume] = min(low, begin), max(high, home.end_bytes(use))
        for volume, (begin, end) in own.items():
            for low, high, other in taken.get(volume, ()):
                if begin < high and low < end:
                    raise ScenarioError(
                        f"{place_of(text, str(path), ('tenants', tenant.name, 'offset'))}: on volume {volume!r} it"
                        f" overlaps tenant {other!r}; leave offset out, or choose another"
                    )
            taken.setdefault(volume, []).append((begin, end, tenant.name))
        parts.append(Part(tenant.playback, view, tenant.shift_ns))
    return parts


def _view(
    path: Path,
    text: str,
    tenant: Tenant,
    scenario: NamedScenario,
    taken: Mapping[str, Sequence[tuple[int, int, str]]],
) -> NamedScenario:
    """Return the scenario as the tenant sees it."""
    said = scenario.model.replay
    given = {key: value for key, value in dump_with_units(said).items() if key in said.model_fields_set}
    under = ("tenants", tenant.name)
    rules = validate(ReplayModel, given | tenant.model.replay, text, str(path), (*under, "replay"))
    placement = tenant.model.placement or scenario.model.placement
    try:
        scenario.model.refuse_placement(placement)
    except ValueError as error:
        key, _, why = str(error).partition(": ")
        raise ScenarioError(f"{place_of(text, str(path), (*under, *key.split('.')))}: {why}") from None
    if tenant.model.offset is not None:
        offsets = dict.fromkeys(scenario.homes, tenant.model.offset)
    else:
        offsets = {volume: max(end for _, end, _ in others) for volume, others in taken.items()}
    return scenario.played_as(placement, rules, offsets)


def run_tenants(
    path: Path,
    tenants: Sequence[Tenant],
    scenario: NamedScenario,
    *,
    workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Shared]:
    """Run all tenants together, each alone, and all but one each, on the scenario's hardware; raises ScenarioError."""
    parts = parts_on(path, tenants, scenario)
    everybody = tuple(range(len(parts)))
    chosen = [everybody, *((one,) for one in everybody)]
    chosen += [tuple(other for other in everybody if other != one) for one in everybody]
    chosen = list(dict.fromkeys(one for one in chosen if one))  # of two, all but one is the other alone

    def run(which: tuple[int, ...], note: Note) -> Played:
        begin_ns = min(parts[one].shift_ns for one in which)
        return play([replace(parts[one], shift_ns=parts[one].shift_ns - begin_ns) for one in which], progress=note)

    sizes = [sum(parts[one].found.requests for one in which) for which in chosen]
    if not all(from_disk(part.found, part.scenario) for part in parts):
        most = max(max(part.scenario.model.replay.load for part in parts), 1.0)
        workers = workers_that_fit(int(max(sizes) * most), workers, available_bytes())

    def told(arrived: int) -> None:
        if progress is not None:
            progress(arrived, sum(sizes))

    runs = dict(zip(chosen, side_by_side([partial(run, one) for one in chosen], told, workers=workers), strict=True))
    return [_shared(number, tenants, scenario, runs) for number in everybody]


def _shared(
    number: int, tenants: Sequence[Tenant], scenario: NamedScenario, runs: Mapping[tuple[int, ...], Played]
) -> Shared:
    """Make the results of one tenant."""
    everybody = tuple(range(len(tenants)))
    name, names = tenants[number].name, [tenant.name for tenant in tenants]
    together, by_itself = runs[everybody], runs[(number,)]
    if len(tenants) == 1:
        result = together.result(0, f"{scenario.name}.{name}")
        return Shared(name, result, result)
    alone = by_itself.result(0, f"{scenario.name}.{name}.alone")
    result = together.result(number, f"{scenario.name}.{name}")
    without = {}
    for other in everybody:
        if other != number:
            rest = tuple(one for one in everybody if one != other)
            without[names[other]] = runs[rest].mean_ns(rest.index(number))
    own = tenants[number].playback.found.span_ns
    shared = {
        "tenant": name,
        "with": [other for other in names if other != name],
        "start_ns": tenants[number].shift_ns,
        "overlap": {other.name: _overlap_ns(tenants[number], other) / own for other in tenants if other.name != name},
        "mean_latency_ns": together.mean_ns(number),
        "alone": {
            "mean_latency_ns": by_itself.mean_ns(0),
            "latency_ns": alone.summary["latency_ns"],
            "throughput_per_s": alone.summary["throughput_per_s"],
            "load": alone.summary["verdict"]["load"],
        },
        "without": without,
        "waits_ns": together.waits_ns(number, names),
        "not_modelled": list(NOT_MODELLED),
    }
    used = {home.volume for one in together.parts for home in place_files(one.scenario, one.found.files)}
    empty = tuple(f"volumes.{volume} has no effect here" for volume in used)
    caveats = [text for text in result.summary["caveats"] if not text.startswith(empty)]
    return Shared(name, alone, replace(result, summary=result.summary | {"caveats": caveats, "shared": shared}))


def _overlap_ns(one: Tenant, other: Tenant) -> int:
    """Return for how long both are there."""
    ends_ns = (tenant.shift_ns + tenant.playback.found.span_ns for tenant in (one, other))
    return max(0, min(ends_ns) - max(one.shift_ns, other.shift_ns))
