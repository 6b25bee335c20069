"""What a setting of one tenant does to all: the tenants together, once for each combination of values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tiersim.errors import ScenarioError
from tiersim.parallel import Note, side_by_side
from tiersim.scenarios.causes import from_disk
from tiersim.scenarios.caveats import in_doubt
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario, set_key
from tiersim.scenarios.replay import Played, PlayedRecording, play, workers_that_fit
from tiersim.scenarios.sweeps.axes import Axis
from tiersim.scenarios.sweeps.grid import Grid
from tiersim.scenarios.tenants.model import TenantsModel
from tiersim.scenarios.tenants.shared_runs import (
    NOT_MODELLED,
    Recordings,
    Tenant,
    caveats_beside,
    judged,
    overlaps,
    parts_on,
    ratio_to,
    worst_minutes,
)
from tiersim.scenarios.tenants.shifts import MOST_TRIED
from tiersim.toml_files import parse_toml, validate

SCHEMA = "tiersim.tenant-sweep/1"
#: Tables of a file of tenants; keys under others are the scenario's.
_OF_TENANTS = ("tenants", "shares")


def sweep_document(
    recordings: Recordings,
    on: str,
    axes: Sequence[Axis],
    *,
    workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run all tenants together as the file says, and with each combination of the values of *axes*: keys of the file
    (``tenants.NAME.KEY``, ``shares.KEY``) or of the scenario *on*. A key with one value has it in all runs, if others
    vary. Where the file has ``shifts``, each combination has the worst minute of each tenant over them. Raises
    ScenarioError.
    """
    grid = Grid.of(on, axes)
    points = [grid.point(number).settings for number in range(len(grid))]
    chosen = [dict(grid.fixed) | dict(point) for point in points]
    base = dict(grid.fixed) if grid.axes else {}
    if base not in chosen:
        chosen.insert(0, base)
    scenarios, runs = [], []
    for number, settings in enumerate(chosen):
        scenario = load_scenario(on, [f"{key}={value}" for key, value in settings.items() if not _is_of_tenants(key)])
        own = recordings.as_said(_model_with(recordings, settings), str(number))
        scenarios.append(scenario)
        tenants = own.on(scenario)
        alone = parts_on(own, tenants, scenario)
        runs.append((alone, *own.beside_each_other(scenario, tenants, alone, workers)))
    shifts_ns = recordings.model.shifts if len(runs[0][0]) > 1 else None
    most = sum(part.found.requests for part in runs[0][2])
    if not all(from_disk(part.found, part.scenario) for *_, parts in runs for part in parts):
        load = max(max(part.scenario.model.replay.load for part in parts) for *_, parts in runs)
        workers = workers_that_fit(int(most * max(load, 1.0)), workers)

    def told(arrived: int) -> None:
        if progress is not None:
            progress(arrived, most * len(runs) * (1 if shifts_ns is None else 2 + MOST_TRIED))

    rows = side_by_side([partial(_row, settings, scenario, shifts_ns, *run)
                         for settings, scenario, run in zip(chosen, scenarios, runs, strict=True)], told,
                        workers=workers)  # fmt: skip
    return {
        "schema": SCHEMA,
        "tenants": list(recordings.model.tenants),
        "scenario": scenarios[0].name,
        "keys": [axis.key for axis in axes],
        "rows": rows,
        "not_modelled": list(NOT_MODELLED),
    }


def _is_of_tenants(key: str) -> bool:
    return key.partition(".")[0] in _OF_TENANTS


def _model_with(recordings: Recordings, settings: Mapping[str, str]) -> TenantsModel:
    """Return what the file of tenants says with other values; raises ScenarioError."""
    own = [f"{key}={value}" for key, value in settings.items() if _is_of_tenants(key)]
    values = parse_toml(recordings.text, str(recordings.path))
    for setting in own:
        table, *rest = setting.partition("=")[0].split(".")
        if table == "tenants" and rest and rest[0] not in recordings.model.tenants:
            names = ", ".join(recordings.model.tenants)
            raise ScenarioError(f"--set {setting}: {rest[0]!r} is not one of the tenants ({names}); correct the name")
        if rest[1:] == ["recording"]:
            raise ScenarioError(f"--set {setting}: recordings are read once; write another file for other recordings")
        set_key(values, setting)
    return validate(TenantsModel, values, "\n".join(own), "--set")


def _row(
    settings: Mapping[str, str],
    scenario: NamedScenario,
    shifts_ns: int | None,
    by_themselves: Sequence[PlayedRecording],
    tenants: Sequence[Tenant],
    parts: Sequence[PlayedRecording],
    note: Note,
) -> dict[str, Any]:
    """Run one combination; returns its settings and what each tenant gets, within *shifts_ns* also in its worst
    minute.
    """
    played = play(parts, progress=note)
    found = {}
    for number, part in enumerate(parts):
        result, tenant = played.result(number, f"{scenario.name}.{part.name}", tables=False), tenants[number]
        ratio = 1.0
        if tenant.derived is not None and not tenant.beside and len(parts) > 1:
            ratio = ratio_to(play([replace(part, shift_ns=0)]).result(0, scenario.name, tables=False), result)
        result = judged(result, tenant, ratio)
        summary = result.summary
        found[part.name] = {
            "mean_latency_ns": played.steady_mean_ns(number),
            "latency_ns": summary["latency_ns"],
            "throughput_per_s": summary["throughput_per_s"],
            "load": summary["verdict"]["load"],
            "verdict": summary["verdict"],
            "in_doubt": in_doubt(summary),
            "caveats": caveats_beside(played, result),
            "overlap": overlaps(tenant, tenants),
        }
    if shifts_ns is not None:
        minutes = _worst_minutes(played, by_themselves, shifts_ns, note)
        found = {name: own | {"worst_minute": one} for (name, own), one in zip(found.items(), minutes, strict=True)}
    return {"settings": dict(settings), "tenants": found}


def _worst_minutes(
    together: Played, by_themselves: Sequence[PlayedRecording], shifts_ns: int, note: Note
) -> list[dict[str, Any]]:
    """Return the worst minute of each tenant over shifts, as a replay has it; other combinations run meanwhile."""
    done = sum(part.found.requests for part in together.parts)
    alone = side_by_side(
        [partial(_alone, part) for part in by_themselves], lambda arrived: note(done + arrived), workers=1
    )
    return worst_minutes(together, alone, shifts_ns, workers=1, told=lambda arrived: note(2 * done + arrived))


def _alone(part: PlayedRecording, note: Note) -> Played:
    return play([replace(part, shift_ns=0)], progress=note)
