"""The cheapest arrays for several recordings, each with its targets: screened by what each asks alone, then simulated.

Each recording runs alone on each array. One that misses a target there has no place on it, beside others neither. What
it keeps busy in each part of the time is added up over those that are to share an array, and may not be more than all:
this is where peaks that fall together count. What the search proposes is simulated, all tenants of an array together,
and, if asked for, with a failed drive. An array that misses a target of a tenant then is not proposed again, for these
tenants or for more: it is assumed that one more tenant makes nobody faster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import loss_of
from tiersim.errors import ScenarioError
from tiersim.parallel import Note, side_by_side
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.packing.boxes import SLACK, Box, Packing, pack
from tiersim.scenarios.replay import INTERVALS, Played, play
from tiersim.scenarios.sizing.candidates import Candidate, capacity_bytes
from tiersim.scenarios.sizing.judging import JudgedTarget, doubts_of, judge_run
from tiersim.scenarios.sizing.targets import Target, parse_target
from tiersim.scenarios.survey import EXTENT_BYTES
from tiersim.scenarios.tenants.demands import worked_ns
from tiersim.scenarios.tenants.model import MOST_TENANTS
from tiersim.scenarios.tenants.shared_runs import Recordings, Tenant, parts_on, rules_of
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.result import Result

#: Parts of the time from the first beginning to the last end; in each, what tenants keep busy is added up.
PARTS = 24
#: Shares that come before those: room, places, cores, memory.
_FIXED = 4
#: Targets that are of requests and of each tenant; the array as a whole has the others.
_OF_TENANTS = ("latency", "throughput", "load")
#: Proposals that are simulated before the search gives up, for each array of the first one.
_MOST_ROUNDS = 60


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


class _Trial:
    """Tenants and arrays, what was simulated of them, and why it failed."""

    def __init__(self, asked: PackingOptions, kinds: Sequence[Candidate]) -> None:
        self.asked, self.kinds = asked, kinds
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
        self.failed: dict[tuple[int, frozenset[int]], str] = {}
        self.passed: dict[tuple[int, frozenset[int]], dict[str, list[dict[str, Any]]]] = {}
        self.doubts: dict[tuple[int, frozenset[int]], dict[str, list[str]]] = {}

    def alone(self, kind: int, number: int, note: Note) -> tuple[NDArray[np.float64] | None, str | None]:
        """Return what a tenant keeps busy of an array that it has to itself, or why it has no place there."""
        tenant = replace(self.tenants[number], shift_ns=0)
        try:
            played = play(parts_on(self.asked.recordings, [tenant], self._scenario(kind)), progress=note)
        except ScenarioError as error:
            return None, str(error)
        result = played.result(0, tenant.name)
        why = next((one.why for one in self._judged(tenant.name, result) if not one.met), None)
        return (None, why) if why else (self._busy(kind, number, played, result), None)

    def together(self, box: Box) -> str | None:
        """Return why tenants cannot share an array, as a run of them says; None: they can."""
        key = box.kind, frozenset(box.items)
        if key in self.passed or key in self.failed:
            return self.failed.get(key)
        scenarios = [("", self._scenario(box.kind))]
        if self.asked.failed_drive:
            scenarios.append((" with a failed drive", without_a_drive(self._scenario(box.kind))))
        judged: dict[str, list[dict[str, Any]]] = {self.names[item]: [] for item in box.items}
        doubts: dict[str, list[str]] = {}
        for how, scenario in scenarios:
            self.simulated += 1
            try:
                played = play(parts_on(self.asked.recordings, [self.tenants[item] for item in box.items], scenario))
            except ScenarioError as error:
                self.failed[key] = str(error)
                return self.failed[key]
            for place, item in enumerate(box.items):
                name = self.names[item]
                result = played.result(place, name, tables=False)
                for target, one in zip(self.targets[name], self._judged(name, result), strict=True):
                    if not one.met:
                        self.failed[key] = f"{name}{how}: {one.why}"
                        return self.failed[key]
                    judged[name].append({"text": target.text + how, "used": one.high})
                    for doubt in doubts_of(target, result.summary, "requests"):
                        doubts[doubt] = [*dict.fromkeys([*doubts.get(doubt, ()), name])]
        self.passed[key], self.doubts[key] = judged, doubts
        return None

    def _scenario(self, kind: int) -> NamedScenario:
        scenario = self.kinds[kind].scenario
        assert scenario is not None
        return scenario

    def _judged(self, name: str, result: Result) -> list[JudgedTarget]:
        return [judge_run(target, result.summary, "requests", None) for target in self.targets[name]]

    def _busy(self, kind: int, number: int, played: Played, result: Result) -> NDArray[np.float64]:
        """Return the shares of an array that a tenant takes: room, places, processors and memory, and each resource in
        each part of the time.
        """
        tenant, scenario = self.tenants[number], self._scenario(kind)
        host, said = scenario.model.host, self.asked.recordings.model.tenants[tenant.name]
        touched = sum(len(use.extents) for use in tenant.playback.found.files) * EXTENT_BYTES
        data_bytes = max(touched, said.size or 0) * (1 + self.asked.growth)
        fixed = [data_bytes / max(capacity_bytes(scenario), 1), 1 / MOST_TENANTS]
        fixed.append(_share(said.cores, None if host is None else host.cores))
        fixed.append(_share(said.memory, None if host is None else host.memory))
        worked = worked_ns(played)
        whole_ns = max(one.shift_ns + one.playback.found.span_ns for one in self.tenants)
        busy = np.zeros((PARTS, len(worked)))
        interval_ns = int(played.metrics.interval_ns[0])
        begin = self.tenants[number].shift_ns
        part = np.minimum((begin + np.arange(INTERVALS) * interval_ns) * PARTS // whole_ns, PARTS - 1)
        for column, own in enumerate(worked.values()):
            np.add.at(busy[:, column], part, np.diff(own[:INTERVALS], prepend=0))
        return np.concatenate([fixed, (busy / (whole_ns / PARTS)).ravel()])


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


def _share(asked: float | None, there: float | None) -> float:
    """Return how much of what an array's host has a tenant takes; 0 where one of both is not said."""
    return 0.0 if not asked or there is None else asked / there


def _grown(asked: PackingOptions, first: Candidate) -> list[Tenant]:
    """Return the tenants with the load that is asked for; raises ScenarioError."""
    assert first.scenario is not None
    recordings = asked.recordings
    if recordings.without_requests:
        command = "size, of several databases," if asked.one_array else "pack"
        raise ScenarioError(
            f"{recordings.path}: tenants.{recordings.without_requests[0]}.recording: has statements and no block"
            f" requests, and tiersim {command} runs requests only; record them (tiersim record blktrace), or try"
            " placements with tiersim replay"
        )
    tenants = recordings.on(first.scenario)
    grown = []
    for tenant in tenants:
        load = rules_of(recordings, tenant.name, first.scenario, tenant.model.replay).load * (1 + asked.growth)
        rules = tenant.model.replay | ({"load": load} if asked.growth else {})
        grown.append(replace(tenant, model=tenant.model.model_copy(update={"replay": rules})))
    return grown


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
    trial = _Trial(asked, kinds)
    items = range(len(trial.names))
    pairs = [(kind, number) for kind in range(len(kinds)) for number in items]
    total = sum(tenant.playback.found.requests for tenant in trial.tenants) * len(kinds)

    def told(done: int) -> None:
        if progress is not None:
            progress(done, total)

    runs = side_by_side([partial(trial.alone, kind, number) for kind, number in pairs], told)
    trial.simulated += len(pairs)
    found = dict(zip(pairs, runs, strict=True))
    packing = Packing(
        np.array([_cost(kind) for kind in kinds]), _needs(found, len(kinds), len(trial.names)), _apart(trial)
    )
    homeless = packing.homeless()
    boxes: list[Box] = []
    if asked.one_array:
        boxes = _shared(trial, packing, found)
    elif not homeless:
        boxes, homeless = _search(trial, packing)
    return _document(trial, packing, boxes, homeless, {key: why for key, (_, why) in found.items() if why}, left_out)


def _shared(
    trial: _Trial, packing: Packing, found: Mapping[tuple[int, int], tuple[NDArray[np.float64] | None, str | None]]
) -> list[Box]:
    """Return the cheapest box that holds all items, as simulation confirms; of cheaper ones it is noted why not."""
    everybody = tuple(range(len(trial.names)))
    for kind in np.argsort(packing.cost, kind="stable").tolist():
        box = Box(kind, everybody)
        alone = next(
            (f"{trial.names[item]}, alone: {found[kind, item][1]}" for item in everybody if found[kind, item][1]), ""
        )
        why = alone or _too_much(packing.need[kind, :, :_FIXED].sum(axis=0))
        if why:
            trial.failed[kind, frozenset(everybody)] = why
        elif trial.together(box) is None:
            return [box]
    return []


def _too_much(asked: NDArray[np.float64]) -> str:
    """Say of what tenants together ask for more than an array has; nothing if they do not."""
    most = int(asked.argmax())
    name = ("room", "places for tenants", "cores", "memory")[most]
    return f"together they take {100 * asked[most]:.0f} % of its {name}" if asked[most] > 1 + SLACK else ""


def _search(trial: _Trial, packing: Packing) -> tuple[list[Box], list[int]]:
    """Return boxes that simulation confirms, or the items that have no place."""
    kept: list[Box] = []
    for _ in range(_MOST_ROUNDS * max(len(trial.names) // 10, 1)):
        boxes = pack(packing, kept=kept)
        bad = [box for box in boxes if trial.together(box) is not None]
        if not bad:
            return boxes, []
        kept = [box for box in boxes if box not in bad]
        for box in bad:
            packing.refused.setdefault(box.kind, []).append(_least_failing(trial, box))
        homeless = packing.homeless()
        if homeless:
            return [], homeless
    raise ScenarioError(
        f"{len(trial.failed)} placements were simulated and none holds; give fewer tenants, or larger candidates"
    )


def _least_failing(trial: _Trial, box: Box) -> frozenset[int]:
    """Return tenants of a box that cannot share it, of whom none can be left out: that refuses most others, too."""
    items = list(box.items)
    for item in box.items:
        rest = tuple(one for one in items if one != item)
        if len(rest) > 1 and trial.together(Box(box.kind, rest)) is not None:
            items.remove(item)
    return frozenset(items)


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


def _needs(
    found: Mapping[tuple[int, int], tuple[NDArray[np.float64] | None, str | None]], kinds: int, items: int
) -> NDArray[np.float64]:
    width = max((len(busy) for busy, _ in found.values() if busy is not None), default=1)
    needs = np.full((kinds, items, width), np.inf)
    for (kind, number), (busy, _) in found.items():
        if busy is not None:
            needs[kind, number] = 0.0
            needs[kind, number, : len(busy)] = busy
            if busy.max() > 1:  # it is carried, though something is busy all the time: alone, or not at all
                needs[kind, number] = np.minimum(needs[kind, number], 1.0)
    return needs


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
        {"candidate": kinds[kind].name, "tenants": [names[item] for item in sorted(items)], "why": why}
        for (kind, items), why in trial.failed.items()
    ]
    return {
        "schema": "tiersim.pack/1",
        "fits": bool(boxes),
        "growth": trial.asked.growth,
        "failed_drive": trial.asked.failed_drive,
        "currency": None if first is None else first.currency,
        "cost": packing.total(boxes) if boxes else None,
        "simulated": trial.simulated,
        "arrays": [
            {
                "candidate": kinds[box.kind].name,
                "cost": _cost(kinds[box.kind]),
                "tenants": [names[item] for item in box.items],
                **_filled(packing.need[box.kind, list(box.items)], [names[item] for item in box.items]),
                "targets": trial.passed[box.kind, frozenset(box.items)],
                "doubts": [
                    {"tenants": owners, "why": doubt}
                    for doubt, owners in trial.doubts[box.kind, frozenset(box.items)].items()
                ],
            }
            for box in boxes
        ],
        "does_not_fit": [
            {
                "tenant": names[item],
                "why": {
                    kinds[kind].name: whys.get((kind, item)) or trial.failed.get((kind, frozenset([item])), "")
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
        "assumed": "candidates that cost more were not simulated with all tenants"
        if trial.asked.one_array
        else (
            "one more tenant on an array makes nobody faster; the search is a heuristic, and a cheaper placement may"
            " exist"
        ),
    }
