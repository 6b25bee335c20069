"""The cheapest arrays for several recordings, each with its targets: screened by what each asks alone, then simulated.

Each recording runs alone on each array. One that misses a target there has no place on it, beside others neither. What
it keeps busy in each part of the time is added up over those that are to share an array: this is where peaks that fall
together count. How busy an array may be is learned from runs of several, see ``limits``. What the search proposes is
simulated, all tenants of an array together, and, if asked for, with a failed drive. An array that misses a target of a
tenant then is not proposed again, for these tenants or for more: it is assumed that one more tenant makes nobody
faster.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import loss_of
from tiersim.errors import ScenarioError
from tiersim.parallel import Note, side_by_side
from tiersim.scenarios.causes import steps_of_requests
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.owners import find_owners
from tiersim.scenarios.packing.bound import lower_bound
from tiersim.scenarios.packing.boxes import Box, Packing, without_lesser
from tiersim.scenarios.packing.filling import SLACK
from tiersim.scenarios.packing.limits import BoxLimits
from tiersim.scenarios.packing.search import Search, TriedBox
from tiersim.scenarios.replay import INTERVALS, Played, PlayedRecording, play
from tiersim.scenarios.sizing.candidates import Candidate, capacity_bytes
from tiersim.scenarios.sizing.cost import cores_of
from tiersim.scenarios.sizing.judging import JudgedTarget, doubts_of, judge_run, load_for
from tiersim.scenarios.sizing.targets import Target, parse_target
from tiersim.scenarios.survey import EXTENT_BYTES
from tiersim.scenarios.tenants.demands import worked_ns
from tiersim.scenarios.tenants.model import MOST_TENANTS
from tiersim.scenarios.tenants.shared_runs import (
    Recordings,
    Tenant,
    caveats_beside,
    overlaps,
    parts_on,
    places_of,
    rules_of,
    seldom_there,
)
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.result import Result
from tiersim.toml_files import place_of
from tiersim.units import NS_PER_S

#: Parts of the time from the first beginning to the last end; in each, what tenants keep busy is added up.
PARTS = 24
#: Shares that come before those: room, places, cores, memory.
_FIXED = 4
#: Targets that are of requests and of each tenant; the array as a whole has the others.
_OF_TENANTS = ("latency", "throughput", "load")


@dataclass(frozen=True)
class PackingOptions:
    """What is to be packed, and with what to spare."""

    recordings: Recordings
    targets: Sequence[Target]  # of every tenant, besides its own
    growth: float  # more load and data than recorded, as a share
    failed_drive: bool  # targets hold with a failed drive, too
    one_array: bool = False  # all of them share one

    def targets_of(self, name: str) -> list[Target]:
        """Return the targets of one tenant; one without is to be carried."""
        own = [*self.targets, *(parse_target(text) for text in self.recordings.model.tenants[name].targets)]
        return own or [parse_target("throughput >= 1x")]


@dataclass(frozen=True)
class _Alone:
    """A tenant that has an array to itself: why it has no place there, or which share of what its targets allow it
    uses, which share of the room it takes, and how busy it keeps each resource in each part of the time.
    """

    why: str | None
    used: float = math.nan
    room: float = math.inf
    busy: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))


@dataclass(frozen=True)
class _Together(TriedBox):
    """Tenants that share an array: their targets with what is used of each, doubts with whose they are, and caveats."""

    targets: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    doubts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    caveats: Sequence[str] = ()


class _Trial:
    """Tenants and arrays, and what runs of them say. Arrays whose hosts alone differ have runs in common: those of the
    first of them.
    """

    def __init__(self, asked: PackingOptions, kinds: Sequence[Candidate]) -> None:
        self.asked, self.kinds = asked, kinds
        identities = [_identity(self._scenario(kind)) for kind in range(len(kinds))]
        self.first = [identities.index(one) for one in identities]
        self.tenants = _grown(asked, kinds[0])
        self.names = [tenant.name for tenant in self.tenants]
        self.targets = {name: asked.targets_of(name) for name in self.names}
        for name, targets in self.targets.items():
            for target in targets:
                if target.kind not in _OF_TENANTS:
                    raise ScenarioError(
                        f"{asked.recordings.path}: tenants.{name}.targets: {target.text!r}: is of hardware; write"
                        " latencies and rates here, and use tiersim pack with --growth or --failed-drive"
                    )
                if target.kind == "latency" and target.of not in CATEGORIES:
                    raise ScenarioError(
                        f"--slo {target.text!r}: {name} has requests and no {target.of}; write for example"
                        " p99(data read) < 5 ms"
                    )
        self.simulated = 0
        self._tried: dict[Box, _Together] = {}
        self.refused: dict[Box, str] = {}

    def all_alone(self, told: Note) -> dict[tuple[int, int], _Alone]:
        """Return what each tenant gets of each array that it has to itself, by kind and number."""
        pairs = [(kind, number) for kind in dict.fromkeys(self.first) for number in range(len(self.tenants))]
        found = side_by_side([partial(self._alone, *pair) for pair in pairs], told)
        self.simulated += len(pairs)
        alone = dict(zip(pairs, found, strict=True))
        return {
            (kind, number): alone[first, number]
            for kind, first in enumerate(self.first)
            for number in range(len(self.tenants))
        }

    def _alone(self, kind: int, number: int, note: Note) -> _Alone:
        tenant = replace(self.tenants[number], shift_ns=0)
        try:
            [part] = parts_on(self.asked.recordings, [tenant], self._scenario(kind))
            room = self._room(kind, part)
            if room > 1 + SLACK:
                return _Alone(_too_much("it takes", [room]))
            played = play([part], progress=note)
        except ScenarioError as error:
            return _Alone(str(error))
        judged = self._judged(tenant.name, played.result(0, tenant.name, tables=False))
        why = next((one.why for one, _ in judged if not one.met), None)
        return (
            _Alone(why) if why else _Alone(None, max(one.high for one, _ in judged), room, self._busy(number, played))
        )

    def together(self, boxes: Sequence[Box]) -> list[TriedBox]:
        """Return what runs of all tenants of each box say."""
        new = [box for box in dict.fromkeys(map(self._run_of, boxes)) if box not in self._tried]
        for box, (one, runs) in zip(new, side_by_side([partial(self._together, box) for box in new]), strict=True):
            self.simulated += runs
            self._tried[box] = one
        found = [self.tried(box) for box in boxes]
        self.refused |= {box: one.why for box, one in zip(boxes, found, strict=True) if one.why is not None}
        return [*found]

    def tried(self, box: Box) -> _Together:
        """Return what runs of a box said."""
        return self._tried[self._run_of(box)]

    def _run_of(self, box: Box) -> Box:
        return Box(self.first[box.kind], box.items)

    def fixed(self, kind: int, number: int, alone: _Alone) -> list[float]:
        """Return which shares of an array's room, places, cores and memory a tenant takes."""
        said = self.asked.recordings.model.tenants[self.names[number]]
        cores, memory = _host_of(self.kinds[kind])
        return [alone.room, 1 / MOST_TENANTS, (said.cores or 0) / (cores or 1), (said.memory or 0) / (memory or 1)]

    def _room(self, kind: int, part: PlayedRecording) -> float:
        """Return which share of an array's room a tenant takes: its data, and the addresses that it was recorded at.
        These grow, too, unless its file says how large the data are.
        """
        scenario, said = self._scenario(kind), self.asked.recordings.model.tenants[part.name]
        touched = sum(len(use.extents) for use in part.found.files) * EXTENT_BYTES
        grown = 1 + self.asked.growth
        room = max(touched, said.size or 0) * grown / max(capacity_bytes(scenario), 1)
        if said.offset is not None:  # its place is given, whatever else is on the array
            return room
        return max(
            room,
            *(
                (end - begin) * (1 if said.size else grown) / max(scenario.homes[volume].capacity_bytes, 1)
                for volume, (begin, end) in places_of(part).items()
            ),
        )

    def _together(self, box: Box, _: Note) -> tuple[_Together, int]:
        """Return what runs of a box say, and how many there were; what fails is not run with a failed drive."""
        scenarios = [("", self._scenario(box.kind))]
        if self.asked.failed_drive:
            scenarios.append((" with a failed drive", without_a_drive(self._scenario(box.kind))))
        tenants = [self.tenants[item] for item in box.items]
        used = dict.fromkeys(box.items, 0.0)
        targets: dict[str, list[dict[str, Any]]] = {tenant.name: [] for tenant in tenants}
        doubts: dict[str, list[str]] = {}
        caveats: dict[str, None] = {}
        for runs, (how, scenario) in enumerate(scenarios, start=1):
            try:
                played = play(parts_on(self.asked.recordings, tenants, scenario))
            except ScenarioError as error:
                return _Together(str(error), {}), runs
            whys = []
            for place, (item, tenant) in enumerate(zip(box.items, tenants, strict=True)):
                result = played.result(place, tenant.name, tables=False)
                caveats |= dict.fromkeys(caveats_beside(played, result))
                for target, (one, own) in zip(
                    self.targets[tenant.name], self._judged(tenant.name, result), strict=True
                ):
                    used[item] = max(used[item], one.high if one.met else max(one.high, 1.0))
                    targets[tenant.name].append({"text": target.text + how, "used": one.high})
                    whys += [] if one.met else [f"{tenant.name}{how}: {one.why}"]
                    for doubt in own:
                        doubts[doubt] = [*dict.fromkeys([*doubts.get(doubt, ()), tenant.name])]
            if whys:
                return _Together(whys[0], used), runs
        for tenant in tenants:
            for doubt in seldom_there(overlaps(tenant, tenants)):
                doubts[doubt] = [*doubts.get(doubt, ()), tenant.name]
        return _Together(None, used, targets, doubts, [*caveats]), len(scenarios)

    def _scenario(self, kind: int) -> NamedScenario:
        scenario = self.kinds[kind].scenario
        assert scenario is not None
        return scenario

    def _judged(self, name: str, result: Result) -> list[tuple[JudgedTarget, list[str]]]:
        """Return for each target of a tenant whether its *result* meets it, and what is in doubt of that."""
        summary = result.summary
        judged = [(target, judge_run(target, summary, "requests", None)) for target in self.targets[name]]
        return [(one, list(doubts_of(target, summary, "requests")) if one.met else []) for target, one in judged]

    def _busy(self, number: int, played: Played) -> NDArray[np.float64]:
        """Return which share of each part of the time a tenant keeps each resource busy."""
        worked = worked_ns(played)
        whole_ns = max(one.shift_ns + one.playback.found.span_ns for one in self.tenants)
        busy = np.zeros((PARTS, len(worked)))
        interval_ns = int(played.metrics.interval_ns[0])
        begin = self.tenants[number].shift_ns
        part = np.minimum((begin + np.arange(INTERVALS) * interval_ns) * PARTS // whole_ns, PARTS - 1)
        for column, own in enumerate(worked.values()):
            np.add.at(busy[:, column], part, np.diff(own[:INTERVALS], prepend=0))
        return (busy / (whole_ns / PARTS)).ravel()


def _identity(scenario: NamedScenario) -> str:
    """Return all that decides what requests get: not the host."""
    storage = copy(scenario)
    storage.model = scenario.model.model_copy(update={"host": None})
    return storage.identity


def _filled(needs: NDArray[np.float64], names: Sequence[str]) -> dict[str, Any]:
    """Return how much of an array each of its tenants takes: of what is said, and of the part that they keep busiest
    together.
    """
    busiest = _FIXED + int(needs[:, _FIXED:].sum(axis=0).argmax())
    columns = {"busiest part": busiest, "room": 0, "cores": 2, "memory": 3}
    return {
        "busiest": float(needs[:, busiest].sum()),
        "filled": {
            of: dict(zip(names, needs[:, column].tolist(), strict=True))
            for of, column in columns.items()
            if needs[:, column].any()
        },
    }


def _host_of(kind: Candidate) -> tuple[int | None, int | None]:
    """Return the cores and the memory of an array's host; None where nobody says it."""
    assert kind.scenario is not None
    host = kind.scenario.model.host
    return cores_of(kind.scenario), None if host is None else host.memory


def _refuse_unknown_hosts(recordings: Recordings, kinds: Sequence[Candidate]) -> None:
    """Raise ScenarioError where a tenant takes cores or memory, and a candidate does not say how much it has."""
    for name, said in recordings.model.tenants.items():
        for kind in kinds:
            for key, asked, there in zip(("cores", "memory"), (said.cores, said.memory), _host_of(kind), strict=True):
                if asked and there is None:
                    raise ScenarioError(
                        f"{place_of(recordings.text, str(recordings.path), ('tenants', name, key))}: {kind.name} does"
                        f' not say what {key} its host has; write for example set = {{ "host.{key}" = … }} in the'
                        f" candidates file, or leave {key} out"
                    )


def _grown(asked: PackingOptions, first: Candidate) -> list[Tenant]:
    """Return the tenants with the load that is asked for: as grown, or as their targets need it if that is more.
    Sessions are whole, so it may be more than that, and is never less. Raises ScenarioError.
    """
    assert first.scenario is not None
    recordings = asked.recordings
    if recordings.without_requests:
        command = "size, of several databases," if asked.one_array else "pack"
        raise ScenarioError(
            f"{recordings.path}: tenants.{recordings.without_requests[0]}.recording: has statements and no block"
            f" requests, and tiersim {command} runs requests only; record them (tiersim record blktrace), or try"
            " placements with tiersim replay"
        )
    grown = []
    for tenant in recordings.on(first.scenario):
        rules = rules_of(recordings, tenant.name, first.scenario, tenant.model.replay)
        times = max(1 + asked.growth, load_for(asked.targets_of(tenant.name), _per_s(asked, tenant, rules.load)))
        if times > 1:
            trace, names = tenant.playback.recorded, tenant.playback.found.stream_names
            steps = steps_of_requests(find_owners(trace, names, rules.clients), rules.seed)
            update = {"replay": tenant.model.replay | {"load": steps.at_least(rules.load * times)}}
            tenant = replace(tenant, model=tenant.model.model_copy(update=update))
        grown.append(tenant)
    return grown


def _per_s(asked: PackingOptions, tenant: Tenant, load: float) -> float | None:
    """Return how many requests a second a tenant asks for as its file says; None where no target is of that."""
    if all(target.kind != "throughput" for target in asked.targets_of(tenant.name)):
        return None
    return load * len(tenant.playback.recorded) * NS_PER_S / tenant.playback.found.span_ns


def without_a_drive(scenario: NamedScenario) -> NamedScenario:
    """Return the same hardware with the first drive of each array with copies or parity failed."""
    volumes = {
        name: replace(volume, failed=(0,)) if loss_of(volume.layout, volume.count, (0,)) is None else volume
        for name, volume in scenario.volumes.items()
    }
    pools = {
        name: replace(pool, hardware=replace(pool.hardware, failed=(0,)))
        if loss_of(pool.hardware.layout, pool.hardware.count, (0,)) is None
        else pool
        for name, pool in scenario.pools.items()
    }
    return scenario.with_devices(volumes, pools)


def pack_tenants(
    asked: PackingOptions, candidates: Sequence[Candidate], progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Return the document of ``tiersim pack``; raises TiersimError."""
    apart = next((name for name, one in asked.recordings.model.tenants.items() if one.apart), None)
    if asked.one_array and apart is not None:
        raise ScenarioError(
            f"{asked.recordings.path}: tenants.{apart}.apart: all are to share one array; leave it out, or use tiersim"
            " pack, which finds several"
        )
    kinds, left_out = _usable(candidates, asked)
    if not kinds:
        raise ScenarioError(
            f"no candidate can be used: {left_out[0]['name']}: {left_out[0]['why']}; correct the candidates file"
        )
    _refuse_unknown_hosts(asked.recordings, kinds)
    trial = _Trial(asked, kinds)
    total = sum(tenant.playback.found.requests for tenant in trial.tenants) * len(set(trial.first))

    def told(done: int) -> None:
        if progress is not None:
            progress(done, total)

    alone = trial.all_alone(told)
    need, whys = _needs(trial, alone)
    packing = Packing(np.array([_cost(kind) for kind in kinds]), need, _apart(trial), fixed=_FIXED)
    homeless = packing.homeless()
    boxes: list[Box] = []
    bounds: dict[str, float | None] = dict.fromkeys(("at_least", "at_least_as_learned"))
    if asked.one_array:
        boxes = _shared(trial, packing, whys)
    elif not homeless:
        lesser = without_lesser(packing)
        search = Search(lesser, trial.first, _limits(alone, need), trial.together)
        boxes, homeless = search.find()
        if boxes:
            full = replace(lesser, most=np.ones(1))
            least, learned = side_by_side([partial(_at_least, full), partial(_at_least, search.hoped(boxes))])
            bounds = {"at_least": least, "at_least_as_learned": learned}
    return _document(trial, packing, boxes, homeless, whys, left_out) | bounds


def _at_least(packing: Packing, _: Note) -> float:
    return lower_bound(packing)


def _limits(alone: Mapping[tuple[int, int], _Alone], need: NDArray[np.float64]) -> BoxLimits:
    used, busy = np.full(need.shape[:2], np.nan), np.zeros(need.shape[:2])
    for place, one in alone.items():
        used[place], busy[place] = one.used, one.busy.max()
    return BoxLimits(used, busy)


def _shared(trial: _Trial, packing: Packing, whys: Mapping[tuple[int, int], str]) -> list[Box]:
    """Return the cheapest box that holds all items, as simulation confirms; of cheaper ones it is noted why not."""
    everybody = tuple(range(len(trial.names)))
    for kind in np.argsort(packing.cost, kind="stable").tolist():
        box = Box(kind, everybody)
        alone = next(
            (f"{trial.names[item]}, alone: {whys[kind, item]}" for item in everybody if (kind, item) in whys), ""
        )
        why = alone or _too_much("together they take", packing.need[kind, :, :_FIXED].sum(axis=0).tolist())
        if why:
            trial.refused[box] = why
        elif trial.together([box])[0].why is None:
            return [box]
    return []


def _too_much(who: str, asked: Sequence[float]) -> str:
    """Say of what more is asked for than an array has; nothing if it is not."""
    most = int(np.argmax(asked))
    name = ("room", "places for tenants", "cores", "memory")[most]
    return f"{who} {100 * asked[most]:.0f} % of its {name}" if asked[most] > 1 + SLACK else ""


def _usable(candidates: Sequence[Candidate], asked: PackingOptions) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """Return the candidates that can be bought, and why the others cannot."""
    usable, left_out = [], []
    for one in candidates:
        why = one.problem
        if why is None and (one.cost is None or one.cost.total is None):
            why = "its price is not known" + (f": {', '.join(one.cost.unknown)}" if one.cost else "")
        if why is None and asked.failed_drive and one.survives < 1:
            why = "a drive that fails takes data with it"
        if why is None:
            usable.append(one)
        else:
            left_out.append({"name": one.name, "why": why})
    return usable, left_out


def _cost(candidate: Candidate) -> float:
    assert candidate.cost is not None
    return candidate.cost.total or 0.0


def _unknown(candidate: Candidate) -> list[str]:
    """Return what its bill lacks."""
    assert candidate.cost is not None
    return list(candidate.cost.unknown)


def _needs(
    trial: _Trial, alone: Mapping[tuple[int, int], _Alone]
) -> tuple[NDArray[np.float64], dict[tuple[int, int], str]]:
    """Return which share of each kind of array each tenant takes, and why others have no place there."""
    needs = np.full((len(trial.kinds), len(trial.names), _FIXED + max(len(one.busy) for one in alone.values())), np.inf)
    whys = {}
    for (kind, number), one in alone.items():
        fixed = trial.fixed(kind, number, one)
        why = one.why or _too_much("it takes", fixed)
        if why:
            whys[kind, number] = why
            continue
        needs[kind, number] = 0.0
        needs[kind, number, :_FIXED] = fixed
        # what is carried, though something is busy all the time, is alone, or not at all
        needs[kind, number, _FIXED : _FIXED + len(one.busy)] = np.minimum(one.busy, 1.0)
    return needs, whys


def _apart(trial: _Trial) -> NDArray[np.bool_]:
    apart = np.zeros((len(trial.names), len(trial.names)), np.bool_)
    for number, name in enumerate(trial.names):
        for other in trial.asked.recordings.model.tenants[name].apart:
            place = trial.names.index(other)
            apart[number, place] = apart[place, number] = True
    return apart


def _document(
    trial: _Trial,
    packing: Packing,
    boxes: Sequence[Box],
    homeless: Sequence[int],
    whys: Mapping[tuple[int, int], str],
    left_out: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    kinds, names = trial.kinds, trial.names
    used = [box.kind for box in boxes]
    first = kinds[0].cost
    refused = [
        {"candidate": kinds[box.kind].name, "tenants": [names[item] for item in box.items], "why": why}
        for box, why in trial.refused.items()
    ]
    return {
        "schema": "tiersim.pack/1",
        "fits": bool(boxes),
        "growth": trial.asked.growth,
        "failed_drive": trial.asked.failed_drive,
        "currency": None if first is None else first.currency,
        "years": None if first is None else first.years,
        "cost": packing.total(boxes) if boxes else None,
        "simulated": trial.simulated,
        "loads": {one.name: one.model.replay["load"] for one in trial.tenants if "load" in one.model.replay},
        "arrays": [
            {
                "candidate": kinds[box.kind].name,
                "cost": _cost(kinds[box.kind]),
                "unknown": _unknown(kinds[box.kind]),
                "tenants": [names[item] for item in box.items],
                **_filled(packing.need[box.kind, list(box.items)], [names[item] for item in box.items]),
                "targets": trial.tried(box).targets,
                "doubts": [{"tenants": owners, "why": doubt} for doubt, owners in trial.tried(box).doubts.items()],
                "caveats": list(trial.tried(box).caveats),
            }
            for box in boxes
        ],
        "does_not_fit": [
            {
                "tenant": names[item],
                "why": {
                    kinds[kind].name: whys.get((kind, item)) or trial.refused.get(Box(kind, (item,)), "")
                    for kind in range(len(kinds))
                },
            }
            for item in homeless
        ],
        "candidates": [
            {
                "name": one.name,
                "cost": _cost(one),
                "chosen": used.count(kind),
                "not_alone": {names[item]: why for (of, item), why in whys.items() if of == kind},
            }
            for kind, one in sorted(enumerate(kinds), key=lambda pair: _cost(pair[1]))
        ],
        "left_out": list(left_out),
        "refused": refused,
        "assumed": "; ".join(_assumed(trial.asked)),
    }


def _assumed(asked: PackingOptions) -> Iterator[str]:
    if asked.one_array:
        yield "candidates that cost more were not simulated with all tenants"
    else:
        yield "one more tenant on an array makes nobody faster, and each keeps it as busy as alone"
        yield "the search is a heuristic, and a cheaper placement may exist"
    if asked.growth and any(one.cores or one.memory for one in asked.recordings.model.tenants.values()):
        yield "cores and memory of tenants do not grow with their load"
    if asked.failed_drive:
        yield "a failed drive is not rebuilt meanwhile"
    if asked.recordings.model.shifts is not None:
        yield "tenants begin as they are aligned (tiersim replay searches shifts)"
