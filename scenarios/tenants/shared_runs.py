"""Recordings that share hardware: all of them together, each alone, and all but one; who waits for whom.

A run keeps what the recordings say of their own causes (``docs/replay.md``): sessions of one recording wait for their
own answers, which the others delay. Nothing else passes between recordings.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tiersim.devices.array.shares import Share
from tiersim.devices.cloud.instance import limits_of
from tiersim.errors import ScenarioError
from tiersim.parallel import Note, side_by_side
from tiersim.scenarios.causes import from_disk
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.hardware import NamedScenario, place_files
from tiersim.scenarios.library import load_scenario, refuse_keys_of_statements
from tiersim.scenarios.model import HostModel, ReplayModel
from tiersim.scenarios.replay import Playback, Played, PlayedRecording, play, workers_that_fit
from tiersim.scenarios.survey import EXTENT_BYTES, survey
from tiersim.scenarios.tenants.demands import busy
from tiersim.scenarios.tenants.derived import (
    BY_THE_CLOCK,
    NOT_ANSWERED,
    NOT_ANSWERED_BESIDE,
    Calibrated,
    derive,
    with_expected,
)
from tiersim.scenarios.tenants.model import MOST_TENANTS, TenantModel, TenantsModel
from tiersim.scenarios.tenants.shifts import MOST_TRIED, minute_ns, worst_beginnings, worst_minute
from tiersim.scenarios.tenants.transactions import as_the_statements, recorded_per_s
from tiersim.simulator.result import Result
from tiersim.toml_files import StrictModel, dump_with_units, place_of, read_text, validate
from tiersim.traces.bundle import Bundle
from tiersim.traces.statistics import has_statements
from tiersim.units import NS_PER_S

#: What no run of recordings side by side knows, said in every result of one.
NOT_MODELLED = (
    "tenants share storage alone: each has its own host, processors and memory",
    "recorded requests stay those of the recording: caches do not hold other pages because others slow a server down",
    (
        "the expected error is that of single recordings; eleven servers beside others were up to 9 % off, one 16 %,"
        " and one on a busy host 20 %"
    ),
)


#: Statements run beside the requests that the others asked for in the round before, until none asks for more than this
#: share more or less than it did then; a tenth of what the bench of two servers (``benchmarks/real_tenants``) allows.
_NEAR = 0.01
#: Few requests never come that near: one more or less tips others. The bench's servers take 3 to 5 rounds.
_MOST_ROUNDS = 6
#: What a tenant's [replay] asks for, but not of the run on the hardware that it was recorded on.
_ASKED = ("load", "duration", "mode", "clients", "think")
#: Who is there for less than this share of another's time is named.
_SELDOM = 0.5


@dataclass(frozen=True)
class Tenant:
    """One recording that was surveyed, and what its file says of it."""

    name: str
    model: TenantModel
    playback: Playback
    shift_ns: int  # that it begins later than the first one
    derived: Result | None = None  # of the run of its statements, where its requests are those of that run
    beside: bool = False  # that run was beside the others


@dataclass(frozen=True)
class TenantResults:
    """What one tenant got: alone on the hardware, and together with the others."""

    name: str
    alone: Result
    together: Result


class Recordings:
    """The recordings of a tenants file at *path*, which are read once for all scenarios."""

    def __init__(self, path: Path, model: TenantsModel, bundles: Mapping[str, Bundle], folder: Path) -> None:
        """Survey those that have requests; requests of the others are derived in *folder*. Raises TiersimError."""
        self.path, self.model, self._bundles, self._folder = path, model, bundles, folder
        self.text = read_text(path)
        self._surveyed = {name: Playback(survey(one), keep=True) for name, one in bundles.items() if one.rows}
        self._calibrated: dict[tuple[str, str], Calibrated] = {}
        for name, one in bundles.items():
            if not one.rows and not has_statements(one.path):
                raise ScenarioError(
                    f"{path}: tenants.{name}.recording: {one.path.name} has neither requests nor statements; record"
                    " the server (tiersim record)"
                )
        self._refuse_recorded_on()

    def as_said(self, model: TenantsModel, name: str) -> "Recordings":
        """Return the same recordings where their file says something else of them; what is derived goes into a folder
        of that *name*.
        """
        other = copy(self)
        other.model, other._folder = model, self._folder / name
        other._refuse_recorded_on()
        other._folder.mkdir(exist_ok=True)
        return other

    def _refuse_recorded_on(self) -> None:
        """Refuse to calibrate tenants whose requests were recorded."""
        for name in self._surveyed:
            if self.model.tenants[name].recorded_on is not None:
                raise ScenarioError(
                    f"{self._where(name, 'recorded_on')}: {self._bundles[name].path.name} has requests, and costs of"
                    " statements alone are calibrated; leave it out, or record the server's statements (tiersim record)"
                )

    @property
    def without_requests(self) -> list[str]:
        """Names of the tenants whose requests have to be derived."""
        return [name for name in self._bundles if name not in self._surveyed]

    def on(self, scenario: NamedScenario) -> list["Tenant"]:
        """Return the tenants as they are on a scenario; raises TiersimError."""
        if not self.without_requests:
            refuse_keys_of_statements(scenario)
        playbacks, derived = dict(self._surveyed), {}
        for name in self.without_requests:
            target = self._folder / scenario.name / f"{name}.trace"
            target.parent.mkdir(exist_ok=True)
            derived[name] = self._derive(name, scenario, target)
            playbacks[name] = Playback(survey(Bundle(target)), keep=True)
        begins_ns = self._begins_ns(playbacks)
        tenants = [
            Tenant(name, self.model.tenants[name], playbacks[name], begins_ns[name], derived.get(name))
            for name in self._bundles
        ]
        return [self._within_own_limits(scenario, tenant) for tenant in tenants]

    def _within_own_limits(self, scenario: NamedScenario, tenant: "Tenant") -> "Tenant":
        """Return a tenant whose statements, if its requests are those of a run of them, ran within its own limits."""
        if tenant.derived is None or not self._limits(tenant):
            return tenant
        target = self._folder / scenario.name / f"{tenant.name}.limited.trace"
        derived = self._derive(tenant.name, scenario, target, parts_on(self, [tenant], scenario))
        return replace(tenant, playback=Playback(survey(Bundle(target)), keep=True), derived=derived)

    def _derive(
        self,
        name: str,
        scenario: NamedScenario,
        target: Path,
        beside: Sequence[PlayedRecording] = (),
        note: Note | None = None,
    ) -> Result:
        """Run the statements of a tenant, and write their requests at *target*; see :func:`derive`."""
        path, statements = self._bundles[name].path, self._with_statements(name, scenario)
        return derive(path, statements, target, beside, self._calibrated_by(name, scenario), note)

    def _calibrated_by(self, name: str, scenario: NamedScenario) -> Calibrated | None:
        """Return what a tenant's statements cost on the hardware that it was recorded on; None where its file does not
        say that.
        """
        said = self.model.tenants[name].recorded_on
        if said is None:
            return None
        recorded_on = self._recorded_hardware(name, said, scenario.model.replay.seed)
        key = name, recorded_on.identity
        if key not in self._calibrated:
            self._calibrated[key] = Calibrated.by(self._bundles[name].path, recorded_on)
        return self._calibrated[key]

    def _recorded_hardware(self, name: str, said: str, seed: int) -> NamedScenario:
        """Return the scenario of the recorded hardware, with what the tenant's [replay] says of the recording. The
        recorded load is what it is compared with, whatever load and clients are asked for, and for however long.
        """
        found = load_scenario(str(self.path.parent / said) if said.endswith(".toml") else said)
        if found.is_recording:
            raise ScenarioError(
                f"{self._where(name, 'recorded_on')}: {said!r} is the recording itself, which agrees with itself; name"
                " a scenario of the recorded hardware, with devices of the catalogue or your own"
            )
        own = {key: value for key, value in self.model.tenants[name].replay.items() if key not in _ASKED}
        rules = rules_of(self, name, found, own).model_copy(update={"seed": seed})
        return found.played_as(found.model.placement, rules, {})

    def _where(self, name: str, key: str) -> str:
        """Return where the file says that *key* of a tenant."""
        return place_of(self.text, str(self.path), ("tenants", name, key))

    def _limits(self, tenant: "Tenant") -> bool:
        """Tell whether something but the hardware limits a tenant that has it to itself."""
        own = tenant.model
        return own.limit is not None or own.queue_depth is not None or self.model.shared_queue is not None

    def beside_each_other(
        self, scenario: NamedScenario, tenants: Sequence["Tenant"], parts: Sequence[PlayedRecording], workers: int
    ) -> tuple[list["Tenant"], list[PlayedRecording]]:
        """Return the tenants and their *parts*; derived requests are those of statements that run beside the others'
        requests, but where a tenant begins later than others. Where one says at which ``offset`` it is, all ran alone:
        in the run of its statements a database begins at 0.
        """
        asked = [
            place
            for place, tenant in enumerate(tenants)
            if tenant.derived is not None and tenant.shift_ns == min(one.shift_ns for one in tenants)
        ]
        if len(tenants) == 1 or not asked or any(one.model.offset is not None for one in tenants):
            return list(tenants), list(parts)
        found = list(tenants)
        for number in range(_MOST_ROUNDS):
            runs = [partial(self._beside, scenario, found, place, number) for place in asked]
            before = list(found)
            for place, one in zip(asked, side_by_side(runs, _unheard, workers=workers), strict=True):
                found[place] = one
            if all(_near(*pair) for pair in zip(before, found, strict=True)):
                break
        return found, parts_on(self, found, scenario)

    def _beside(
        self, scenario: NamedScenario, tenants: Sequence["Tenant"], place: int, number: int, note: Note
    ) -> "Tenant":
        """Return a tenant with the requests of a run of its statements beside the other *tenants*."""
        own = tenants[place]
        target = self._folder / scenario.name / f"{own.name}.beside-{number}.trace"
        parts = self._parts_beside(scenario, tenants, own)  # its own addresses begin at 0 in such a run
        derived = self._derive(own.name, scenario, target, parts, note)
        return replace(own, playback=Playback(survey(Bundle(target)), keep=True), derived=derived, beside=True)

    def with_expected(
        self, scenario: NamedScenario, tenants: Sequence["Tenant"], beside: Sequence["Tenant"], workers: int
    ) -> tuple[list["Tenant"], list["Tenant"]]:
        """Return the *tenants*, and these *beside* each other, with the ranges of transactions/s to expect of those
        whose statements were recorded.
        """

        def one_of(place: int, everybody: Sequence["Tenant"], note: Note) -> Tenant:
            own = everybody[place]
            if own.derived is None:
                return own
            statements = self._with_statements(own.name, scenario)
            parts = self._parts_beside(scenario, everybody if own.beside else [own], own)
            path, calibrated = self._bundles[own.name].path, self._calibrated_by(own.name, scenario)
            return replace(own, derived=with_expected(path, statements, own.derived, parts, calibrated, note))

        runs = [partial(one_of, place, those) for those in (tenants, beside) for place in range(len(those))]
        found = side_by_side(runs, _unheard, workers=workers)
        return found[: len(tenants)], found[len(tenants) :]

    def _parts_beside(
        self, scenario: NamedScenario, tenants: Sequence["Tenant"], own: "Tenant"
    ) -> list[PlayedRecording]:
        """Return what the statements of one of the *tenants* run beside: the first part is its own. Nothing where it
        has the hardware to itself, without limits.
        """
        if len(tenants) == 1 and not self._limits(own):
            return []
        return parts_on(self, [own, *(one for one in tenants if one is not own)], scenario)

    def _with_statements(self, name: str, scenario: NamedScenario) -> NamedScenario:
        """Return the scenario on which the tenant's statements run alone."""
        tenant, under = self.model.tenants[name], ("tenants", name)
        view = scenario.played_as(placement_of(self, name, scenario), rules_of(self, name, scenario, tenant.replay), {})
        tables: dict[str, tuple[type[HostModel | EngineModel], Mapping[str, Any]]] = {
            "host": (HostModel, tenant.host), "engine": (EngineModel, tenant.engine)
        }  # fmt: skip
        update = {}
        for key, (kind, own) in tables.items():
            if own:
                given = _said_in(getattr(scenario.model, key))
                update[key] = validate(kind, given | dict(own), self.text, str(self.path), (*under, key))
        view.model = view.model.model_copy(update=update)
        return view

    def _begins_ns(self, playbacks: Mapping[str, Playback]) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, playback in playbacks.items():
            aligned_ns = 0
            if self.model.align == "clock":
                clock_ns = self._bundles[name].manifest.host.get("clock_start_unix_ns")
                if not isinstance(clock_ns, int):
                    raise ScenarioError(
                        f'{self.path}: align = "clock": the recording of {name!r} does not say what time it was when it'
                        ' began; write align = "peak", or "start" with shift under each of [tenants]'
                    )
                aligned_ns = clock_ns
            elif self.model.align == "peak":
                aligned_ns = -_busiest_second(playback) * NS_PER_S
            found[name] = aligned_ns + self.model.tenants[name].shift
        first_ns = min(found.values())
        return {name: begin_ns - first_ns for name, begin_ns in found.items()}


def _busiest_second(playback: Playback) -> int:
    """Return the number of the second with the most requests, the first of several."""
    counts = np.zeros(0, np.int64)
    for block in playback.blocks():
        own = np.bincount(block.arrival_ns // NS_PER_S, minlength=len(counts))
        own[: len(counts)] += counts
        counts = own
    return int(counts.argmax())


def placement_of(recordings: Recordings, name: str, scenario: NamedScenario) -> Mapping[str, str]:
    """Return where a tenant's files go; raises ScenarioError."""
    placement = recordings.model.tenants[name].placement or scenario.model.placement
    try:
        scenario.model.refuse_placement(placement)
    except ValueError as error:
        key, _, why = str(error).partition(": ")
        place = place_of(recordings.text, str(recordings.path), ("tenants", name, *key.split(".")))
        raise ScenarioError(f"{place}: {why}; correct the placement of {name!r}") from None
    return placement


def rules_of(recordings: Recordings, name: str, scenario: NamedScenario, own: Mapping[str, Any]) -> ReplayModel:
    """Return the [replay] of a tenant: that of the scenario, with the tenant's *own* keys. Raises ScenarioError."""
    under = ("tenants", name, "replay")
    given = _said_in(scenario.model.replay)
    return validate(ReplayModel, given | dict(own), recordings.text, str(recordings.path), under)


def _said_in(table: StrictModel | None) -> dict[str, Any]:
    """Return the keys of a table of the scenario that it says itself: what is left out is for the recording to say."""
    if table is None:
        return {}
    return {key: value for key, value in dump_with_units(table).items() if key in table.model_fields_set}


def parts_on(recordings: Recordings, tenants: Sequence[Tenant], scenario: NamedScenario) -> list[PlayedRecording]:
    """Place each tenant on the scenario's volumes, one behind the other unless it says where; raises ScenarioError."""
    if len(tenants) > MOST_TENANTS:
        raise ScenarioError(
            f"{recordings.path}: {len(tenants)} tenants are more than the {MOST_TENANTS} that one array has room for in"
            " a run; leave some out"
        )
    if scenario.is_recording:
        raise ScenarioError(f"{scenario.name}: the recorded hardware answers to one recording alone; choose devices")
    queue = recordings.model.shared_queue
    if queue is not None:
        _refuse_volumes(recordings, queue.volumes, scenario)
    taken: dict[str, list[tuple[int, int, str]]] = {}
    parts = []
    for tenant in tenants:
        view = _view(recordings, tenant, scenario, taken)
        limit = None if tenant.model.limit is None else limits_of(f"{tenant.name}.limit", tenant.model.limit, {})
        if limit is not None:
            view.limits = {**view.limits, f"{tenant.name}.limit": limit}  # the result lists what it assumes
        share = Share(tenant.model.share or 1, tenant.model.minimum)
        part = PlayedRecording(
            tenant.playback, view, tenant.shift_ns, tenant.name, limit, tenant.model.queue_depth, queue, share
        )
        for volume, (begin, end) in places_of(part).items():
            for low, high, other in taken.get(volume, ()):
                if begin < high and low < end:
                    raise ScenarioError(
                        f"{place_of(recordings.text, str(recordings.path), ('tenants', tenant.name, 'offset'))}: on"
                        f" volume {volume!r} it overlaps tenant {other!r}; leave offset out, or choose another"
                    )
            taken.setdefault(volume, []).append((begin, end, tenant.name))
        parts.append(part)
    return parts


def places_of(part: PlayedRecording) -> dict[str, tuple[int, int]]:
    """Return from where to where on each volume the files of a part lie; raises ScenarioError."""
    found: dict[str, tuple[int, int]] = {}
    for home, use in zip(place_files(part.scenario, part.found.files), part.found.files, strict=True):
        begin = home.base_bytes if home.packed is None else int(home.packed.min(initial=0))
        low, high = found.get(home.volume, (begin, 0))
        found[home.volume] = min(low, begin), max(high, home.end_bytes(use))
    return found


def _refuse_volumes(recordings: Recordings, volumes: Sequence[str], scenario: NamedScenario) -> None:
    """Refuse to put the shared queue before a volume that is not there."""
    for volume in volumes:
        if volume not in scenario.homes:
            where = place_of(recordings.text, str(recordings.path), ("shares", "volumes"))
            raise ScenarioError(
                f"{where}: {volume!r} is not one of the volumes of {scenario.name} ({', '.join(scenario.homes)});"
                " correct it, or leave volumes out for all"
            )


def _view(
    recordings: Recordings,
    tenant: Tenant,
    scenario: NamedScenario,
    taken: Mapping[str, Sequence[tuple[int, int, str]]],
) -> NamedScenario:
    """Return the scenario as the tenant's requests see it."""
    placement = placement_of(recordings, tenant.name, scenario)
    rules = rules_of(recordings, tenant.name, scenario, tenant.model.replay)
    if tenant.derived is not None:  # its files are volumes, and its load is in the requests
        names = [use.name for use in tenant.playback.found.files]
        default = placement.get("default", scenario.model.default_volume)
        placement = {"default": default} | {f"file:{volume}": volume for volume in names}
        # checkpoints by time come when they did alone, however slow the sessions are
        timed = all(one["trigger"] == "time" for one in tenant.derived.summary.get("checkpoints") or ())
        writers: Literal["timed", "pace"] = "timed" if timed else "pace"
        rules = ReplayModel(seed=scenario.model.replay.seed, writers=writers, commits="shared")
    if tenant.model.offset is not None:
        offsets = dict.fromkeys(scenario.homes, tenant.model.offset)
    else:
        own = {volume: scenario.model.volumes[volume].offset or 0 for volume in taken}
        ends = {volume: max(end for _, end, _ in others) for volume, others in taken.items()}
        # as far from the beginning of an extent as alone: its requests then go to the same columns (tenants.demands)
        offsets = {volume: end + (own[volume] - end) % EXTENT_BYTES for volume, end in ends.items()}
    return scenario.played_as(placement, rules, offsets)


def run_tenants(
    recordings: Recordings,
    scenario: NamedScenario,
    *,
    workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[TenantResults]:
    """Run all tenants together, each alone, and all but one each, on the scenario's hardware; raises ScenarioError."""
    tenants = recordings.on(scenario)
    if len(tenants) == 1 and tenants[0].derived is not None:  # a replay of statements, within its own limits
        [one], _ = recordings.with_expected(scenario, tenants, [], workers)
        assert one.derived is not None
        result = replace(one.derived, summary=one.derived.summary | {"name": f"{scenario.name}.{one.name}"})
        return [TenantResults(one.name, result, result)]
    parts = parts_on(recordings, tenants, scenario)
    everybody = tuple(range(len(parts)))
    chosen = [everybody, *((one,) for one in everybody)]
    chosen += [tuple(other for other in everybody if other != one) for one in everybody]
    chosen = list(dict.fromkeys(one for one in chosen if one))  # of two, all but one is the other alone

    sizes = [sum(parts[one].found.requests for one in which) for which in chosen]
    most_ns = recordings.model.shifts if len(parts) > 1 else None
    most_told = sum(sizes) + (0 if most_ns is None else MOST_TRIED * sizes[0])
    if not all(from_disk(part.found, part.scenario) for part in parts):
        most = max(max(part.scenario.model.replay.load for part in parts), 1.0)
        workers = workers_that_fit(int(max(sizes) * most), workers)

    def told(arrived: int) -> None:
        if progress is not None:
            progress(arrived, most_told)

    beside, shared_parts = recordings.beside_each_other(scenario, tenants, parts, workers)
    tenants, beside = recordings.with_expected(scenario, tenants, beside, workers)

    def run(which: tuple[int, ...], note: Note) -> Played:
        # all but one ask for what they ask for together: only what the storage does without that one is different
        own = [(parts if len(which) == 1 else shared_parts)[one] for one in which]
        begin_ns = min(part.shift_ns for part in own)
        return play([replace(part, shift_ns=part.shift_ns - begin_ns) for part in own], progress=note)

    runs = dict(zip(chosen, side_by_side([partial(run, one) for one in chosen], told, workers=workers), strict=True))
    found = [_shared(number, tenants, beside, scenario, runs) for number in everybody]
    if most_ns is None:
        return found
    alone = [runs[number,] for number in everybody]
    minutes = worst_minutes(
        runs[everybody], alone, most_ns, workers=workers, told=lambda arrived: told(sum(sizes) + arrived)
    )
    return [
        replace(one, together=_with_shared(one.together, {"worst_minute": minute}))
        for one, minute in zip(found, minutes, strict=True)
    ]


def _near(one: Tenant, other: Tenant) -> bool:
    """Whether a tenant asks for as much in one round as in the other."""
    counts = sorted(tenant.playback.found.requests for tenant in (one, other))
    return counts[1] - counts[0] <= _NEAR * counts[1]


def _unheard(_: int) -> None:
    """Hear of requests of runs that no progress is shown of."""


def _with_shared(result: Result, more: Mapping[str, Any]) -> Result:
    """Return a result that says more of what it is beside others."""
    shared = result.summary.get("shared", {}) | dict(more)
    return replace(result, summary=result.summary | {"shared": shared})


def worst_minutes(
    together: Played, alone: Sequence[Played], most_ns: int, *, workers: int, told: Callable[[int], None]
) -> list[dict[str, Any]]:
    """Return for each tenant its worst minute: alone, as the tenants are aligned, and in those runs in which each may
    begin up to *most_ns* sooner or later and that a sum of what they ask for says to try.
    """
    parts = together.parts
    width_ns = minute_ns(max(part.end_ns for part in parts))
    begins = [part.shift_ns // width_ns for part in parts]
    tried = worst_beginnings([busy(one, width_ns) for one in alone], begins, most_ns // width_ns)
    tried_shifts_ns = [[shift * width_ns for shift in one.shifts] for one in tried]

    def run(shifts_ns: Sequence[int], note: Note) -> Played:
        begin_ns = [part.shift_ns + shift for part, shift in zip(parts, shifts_ns, strict=True)]
        moved = [replace(part, shift_ns=begin - min(begin_ns)) for part, begin in zip(parts, begin_ns, strict=True)]
        return play(moved, progress=note)

    runs = side_by_side([partial(run, one) for one in tried_shifts_ns], told, workers=workers) if tried else []
    found = []
    for number, by_itself in enumerate(alone):
        aligned = worst_minute(together, number, width_ns)
        worst: dict[str, Any] = {**aligned, "shifts_ns": [0] * len(parts), "place": None}
        for one, shifts_ns, played in zip(tried, tried_shifts_ns, runs, strict=True):
            minute = worst_minute(played, number, width_ns)
            if minute["mean_latency_ns"] > worst["mean_latency_ns"]:
                worst = {**minute, "shifts_ns": shifts_ns, "place": one.place}
        found.append(
            {
                "minute_ns": width_ns,
                "within_ns": most_ns,
                "alone": worst_minute(by_itself, 0, width_ns),
                "aligned": aligned,
                "worst": worst
                | {"shifts_ns": dict(zip([part.name for part in parts], worst["shifts_ns"], strict=True))},
                "simulated": len(runs),
            }
        )
    return found


def _shared(
    number: int,
    tenants: Sequence[Tenant],
    beside: Sequence[Tenant],
    scenario: NamedScenario,
    runs: Mapping[tuple[int, ...], Played],
) -> TenantResults:
    """Make the results of one of the *tenants*, which are *beside* each other in the run of all."""
    everybody = tuple(range(len(tenants)))
    name, names = tenants[number].name, [tenant.name for tenant in tenants]
    together, by_itself = runs[everybody], runs[(number,)]
    if len(tenants) == 1:
        result = together.result(0, f"{scenario.name}.{name}")
        return TenantResults(name, result, result)
    alone = by_itself.result(0, f"{scenario.name}.{name}.alone")
    result = together.result(number, f"{scenario.name}.{name}")
    ratio = ratio_to(alone, result)
    alone = judged(alone, tenants[number])
    result = judged(result, beside[number], ratio)
    without = {}
    for other in everybody:
        if other != number:
            rest = tuple(one for one in everybody if one != other)
            without[names[other]] = runs[rest].steady_mean_ns(rest.index(number))
    shared: dict[str, Any] = {
        "tenant": name,
        "with": [other for other in names if other != name],
        "start_ns": tenants[number].shift_ns,
        "overlap": overlaps(tenants[number], tenants),
        "mean_latency_ns": together.steady_mean_ns(number),
        "alone": {
            "mean_latency_ns": by_itself.steady_mean_ns(0),
            "latency_ns": alone.summary["latency_ns"],
            "throughput_per_s": alone.summary["throughput_per_s"],
            "load": alone.summary["verdict"]["load"],
        },
        "without": without,
        "waits_ns": together.waits_ns(number, names),
        "not_modelled": list(NOT_MODELLED),
    }
    if together.parts[number].shared is not None:
        own_share = together.parts[number].share
        shared["share"] = {
            "share": own_share.weight,
            "minimum": own_share.minimum_per_s,
            **together.let_through(number),
        }
    derived = tenants[number].derived
    if derived is not None:
        ran = beside[number].beside
        how = "a run of them beside the others' requests" if ran else "times requests/s together over alone"
        by_the_clock = [f"{name}: {BY_THE_CLOCK}"] if derived.summary["replay"]["keeps"] == "rate" else []
        lacks = NOT_ANSWERED_BESIDE if ran else NOT_ANSWERED
        shared["not_modelled"] = [*by_the_clock, f"{name}: {lacks}", *NOT_MODELLED]
        shared["transactions_per_s"] = {
            "recorded": recorded_per_s(derived.summary["trace"]),
            "alone": alone.summary["throughput_per_s"]["transactions"]["value"],
            "together": result.summary["throughput_per_s"]["transactions"]["value"],
            "basis": f"alone: a run of its statements; together: {how}",
        }
    caveats = caveats_beside(together, result)
    return TenantResults(
        name, alone, _with_shared(replace(result, summary=result.summary | {"caveats": caveats}), shared)
    )


def caveats_beside(together: Played, result: Result) -> list[str]:
    """Return the caveats of a tenant's result: what it leaves empty, others may use."""
    used = {home.volume for one in together.parts for home in place_files(one.scenario, one.found.files)}
    empty = tuple(f"volumes.{volume} has no effect here" for volume in used)
    return [text for text in result.summary["caveats"] if not text.startswith(empty)]


def ratio_to(alone: Result, result: Result) -> float:
    """Return how many times as many requests a second a result has as that of the same tenant alone."""
    rates = [one.summary["throughput_per_s"]["requests"]["value"] or 0.0 for one in (result, alone)]
    return rates[0] / rates[1] if rates[1] else 1.0


def judged(result: Result, tenant: Tenant, ratio: float = 1.0) -> Result:
    """Return the *result* of a tenant's requests; where statements were recorded, it says what becomes of these: as in
    the run of them, which goes *ratio* times as fast if the others were not there.
    """
    if tenant.derived is None:
        return result
    return as_the_statements(result, tenant.derived, 1.0 if tenant.beside else ratio)


def overlaps(own: Tenant, tenants: Sequence[Tenant]) -> dict[str, float]:
    """Return the share of one tenant's time in which each of the others among *tenants* is there."""
    span_ns = own.playback.found.span_ns
    return {other.name: _overlap_ns(own, other) / span_ns for other in tenants if other.name != own.name}


def seldom_there(overlap: Mapping[str, float]) -> list[str]:
    """Return who is there for less than half of a tenant's time, a clause each: its figures are mostly those that it
    has without them.
    """
    return [f"{name} is there for {100 * share:.0f} % of its time only" for name, share in overlap.items()
            if share < _SELDOM]  # fmt: skip


def _overlap_ns(one: Tenant, other: Tenant) -> int:
    """Return for how long both are there."""
    ends_ns = (tenant.shift_ns + tenant.playback.found.span_ns for tenant in (one, other))
    return max(0, min(ends_ns) - max(one.shift_ns, other.shift_ns))
