"""From targets and candidates to the cheapest that meets them, its runners-up, and why each cheaper one fails
(``tiersim.size/1``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tiersim.errors import ScenarioError
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sizing.candidates import Candidate, CandidatesModel, capacity_bytes
from tiersim.scenarios.sizing.cost import ratings_of
from tiersim.scenarios.sizing.endurance import Endurance, endurance_of
from tiersim.scenarios.sizing.judging import check_targets, doubts_of, is_simulated, judge_hardware, judge_run, load_for
from tiersim.scenarios.sizing.screen import VolumeDemand, certain_failure, demand_of
from tiersim.scenarios.sizing.search import SearchOutcome, Tried, search
from tiersim.scenarios.sizing.subject import SizingSubject
from tiersim.scenarios.sizing.targets import Target
from tiersim.scenarios.sweeps.rows import Row, failed_row, row_of
from tiersim.simulator.verdict import BEHIND_THROUGHPUT

SCHEMA = "tiersim.size/1"
#: The recorded load is carried.
_KEEPS_UP = Target("throughput >= 1x", "load", 1.0)
#: What the recording's data take now has to fit, whatever else is asked.
_HOLDS_THE_DATA = Target("capacity growth 0%/year for 0 years", "capacity", 0.0)
#: What the Pareto front is of besides the cost where no target says a latency.
_USUAL = (("transaction", "p99"), ("data read", "p99"), ("unknown", "p99"))
#: Takes how many candidates are run, and how many there are.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """What is asked: a subject on *base* with *settings*, judged by *targets*."""

    subject: SizingSubject
    base: str  # scenario, by name or path
    settings: tuple[str, ...]
    targets: tuple[Target, ...]
    model: CandidatesModel


def size(
    request: Request,
    candidates: Sequence[Candidate],
    *,
    runners_up: int = 2,
    exhaustive: bool = False,
    best_value: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the document of a search among *candidates*.

    *best_value*: of those that meet the targets the one that does most transactions for its cost, in place of the
    cheapest; all are run then.
    Raises ScenarioError for targets that nothing can be judged by, and where no price is known.
    """
    check_targets(request.targets, request.subject)
    for one in candidates:
        if one.scenario is not None:
            request.subject.refuse_load(one.scenario)
    costs = [None if one.problem or one.cost is None else one.cost.total for one in candidates]
    if all(cost is None for cost in costs):
        raise ScenarioError(f"no candidate can be priced: {_why_no_cost(candidates)}")
    trial = _Trial(request, candidates, progress)
    found = search(
        candidates, costs, trial.run, trial.excluded, runners_up=runners_up, exhaustive=exhaustive or best_value
    )
    if best_value:
        found.chosen = _best_value(found, trial, costs)
    return _document(request, candidates, found, trial)


def _why_no_cost(candidates: Sequence[Candidate]) -> str:
    problems = [one.problem for one in candidates if one.problem]
    unknown = dict.fromkeys(what for one in candidates if one.cost for what in one.cost.unknown)
    return problems[0] if problems else _lacking(unknown)


def _lacking(unknown: Iterable[str]) -> str:
    """Say what a bill lacks, and where it is written."""
    told = list(unknown) or ["price"]
    places = dict.fromkeys("host.memory" if one.startswith("memory") else "[prices]" for one in told)
    return f"{' and '.join(told)} not known; give it under {' and '.join(places)}"


class _Trial:
    """Runs candidates, and remembers what they say."""

    def __init__(self, request: Request, candidates: Sequence[Candidate], progress: Progress | None) -> None:
        self.request, self.candidates, self.progress = request, candidates, progress
        self.asked = load_for(request.targets, request.subject.recorded_per_s)
        steps = None if self.asked == 1.0 else request.subject.steps()
        self.load = 1.0 if steps is None else steps.at_least(self.asked)
        self.reached = 1.0 if steps is None else steps.at(self.load)
        self.whole = "" if steps is None else steps.whole
        self.rows: dict[int, Row] = {}
        self.endurances: dict[int, Endurance | None] = {}
        self.doubts: dict[int, list[str]] = {}
        self.demands: dict[tuple[str, ...], VolumeDemand] = {}
        # where nothing is asked of a run, it must be steady all the same
        self.simulated = [target for target in request.targets if is_simulated(target)] or [_KEEPS_UP]
        self.on_paper = [self._judged_on_paper(one) for one in candidates]

    def run(self, place: int) -> Tried:
        """Simulate a candidate and judge it by every target."""
        one, subject = self.candidates[place], self.request.subject
        own = {**one.settings, **subject.settings_at(self.load)}
        try:
            scenario = one.scenario
            assert scenario
            if own != one.settings:
                further = [f"{key}={value}" for key, value in own.items()]
                scenario = load_scenario(self.request.base, [*self.request.settings, *further])
            result = subject.run(scenario, self.load, _nothing)
        except ScenarioError as error:
            self.rows[place] = failed_row(str(error), point=place, settings=own)
            self._tell()
            return Tried(False, float("inf"), float("inf"), (str(error),))
        self.rows[place] = row_of(result, point=place, settings=own)
        self.endurances[place] = endurance_of(scenario, result, ratings_of(scenario, self.request.model))
        demand = demand_of(result)
        if demand is not None:
            self.demands.setdefault(_asked_alike(one), demand)
        judged = [
            judge_run(target, result.summary, subject.counted, self.endurances[place]) for target in self.simulated
        ]
        why = tuple(dict.fromkeys(found.why for found in judged if found.why))
        low, high = (max((getattr(found, end) for found in judged), default=0.0) for end in ("low", "high"))
        if not why:
            told = (doubts_of(target, result.summary, subject.counted) for target in self.simulated)
            self.doubts[place] = list(dict.fromkeys(doubt for doubts in told for doubt in doubts))
        self._tell()
        return Tried(not why, low, high, why)

    def excluded(self, place: int) -> str | None:
        """Return why a candidate certainly fails, without a run; None: that is not known."""
        if self.on_paper[place]:
            return self.on_paper[place]
        one, per_s = self.candidates[place], self._needed_per_s()
        demand = self.request.subject.demand or self.demands.get(_asked_alike(one))
        if demand is None or per_s is None or one.scenario is None:
            return None
        return certain_failure(one.scenario, demand, per_s)

    def value(self, place: int) -> float:
        """Return the transactions or requests a second of a run."""
        return float(self.rows[place]["summary"]["throughput_per_s"][self.request.subject.counted]["value"])

    def _judged_on_paper(self, one: Candidate) -> str | None:
        if one.problem is not None or one.scenario is None:
            return one.problem
        subject = self.request.subject
        on_paper = [target for target in self.request.targets if not is_simulated(target)]
        if subject.queries and subject.load_key:  # a run has the tables that queries look up, and nothing else there
            on_paper.append(_HOLDS_THE_DATA)
        judged = [
            judge_hardware(target, capacity_bytes(one.scenario), one.survives, subject.data_bytes)
            for target in on_paper
        ]
        return "; ".join(dict.fromkeys(found.why for found in judged if found.why)) or None

    def _needed_per_s(self) -> float | None:
        """Return the throughput below which a run fails."""
        rates = [target.limit for target in self.request.targets if target.kind == "throughput"]
        recorded = self.request.subject.recorded_per_s
        if recorded is not None:
            rates.append(recorded * self.load * BEHIND_THROUGHPUT)
        return max(rates, default=None)

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(len(self.rows), len(self.candidates))


def _nothing(_: int) -> None:
    """Go on."""


def _asked_alike(one: Candidate) -> tuple[str, ...]:
    """Return what decides what is asked of the volumes: all settings but those of volumes."""
    return tuple(f"{key}={value}" for key, value in sorted(one.settings.items()) if not key.startswith("volumes."))


def _best_value(found: SearchOutcome, trial: _Trial, costs: Sequence[float | None]) -> int | None:
    meeting = [place for place, fate in enumerate(found.fates) if fate.status == "meets"]
    return min(meeting, key=lambda place: ((costs[place] or 0.0) / trial.value(place), place), default=None)


def _document(request: Request, candidates: Sequence[Candidate], found: SearchOutcome, trial: _Trial) -> dict[str, Any]:
    order = sorted(
        range(len(candidates)),
        key=lambda place: (_total(candidates[place]) is None, _total(candidates[place]) or 0.0, place),
    )
    of_class, statistic = _pareto_of(request, trial)
    return {
        "schema": SCHEMA,
        "trace": dict(request.subject.facts),
        "scenario": Path(request.base).name.removesuffix(".toml"),
        "load": trial.reached,
        "load_asked": trial.asked,
        "load_in_whole": trial.whole,
        "targets": [asdict(target) for target in request.targets],
        "candidates": [_entry(candidates[place], place, found, trial) for place in order],
        "chosen": None if found.chosen is None else candidates[found.chosen].name,
        "simulated": found.simulated,
        "distrusted": [", ".join(family) for family in found.distrusted],
        "pareto": [candidates[place].name for place in _pareto(candidates, trial, of_class, statistic)],
        "pareto_of": f"{statistic}({of_class})",
    }


def _total(one: Candidate) -> float | None:
    return None if one.cost is None else one.cost.total


def _entry(one: Candidate, place: int, found: SearchOutcome, trial: _Trial) -> dict[str, Any]:
    fate, row = found.fates[place], trial.rows.get(place)
    status: str = fate.status
    why = list(fate.why)
    if not why and status == "not simulated":
        status, why = _without_cost(one)
    if place == found.chosen:
        status = "chosen"
    cost = None if one.cost is None else one.cost.document()
    if row is not None and cost is not None and row["summary"]:
        bill = {key: cost[key] for key in ("capex", "monthly", "currency", "price_date")}
        row = {**row, "summary": {**row["summary"], "cost": bill}}
    endurance = trial.endurances.get(place)
    return {
        "name": one.name,
        "settings": dict(one.settings),
        "cost": cost,
        "power_w": None if one.cost is None else one.cost.power_w,
        "endurance_years": None if endurance is None else asdict(endurance),
        "capacity_bytes": None if one.scenario is None else capacity_bytes(one.scenario),
        "survives_drive_failure": one.survives > 0,
        "status": status,
        "why": why,
        "doubts": trial.doubts.get(place, []),
        "row": row,
    }


def _without_cost(one: Candidate) -> tuple[Any, list[str]]:
    if one.problem:
        return "fails", [f"not simulated: {one.problem}"]
    return "not simulated", [f"not simulated: {_lacking(one.cost.unknown if one.cost else ())}"]


def _pareto_of(request: Request, trial: _Trial) -> tuple[str, str]:
    """Return which latency the front is of: that of the first target, or the p99 that is there."""
    for target in request.targets:
        if target.kind == "latency" and target.of != "query":
            return target.of, target.statistic
    tables = [row["summary"]["latency_ns"] for row in trial.rows.values() if row["summary"]]
    return next(((name, key) for name, key in _USUAL if any(name in table for table in tables)), _USUAL[0])


def _pareto(candidates: Sequence[Candidate], trial: _Trial, of_class: str, statistic: str) -> list[int]:
    """Return those that were run and than which none is both cheaper and faster, the cheapest first."""
    points = []
    for place, row in trial.rows.items():
        cost, summary = _total(candidates[place]), row["summary"]
        if not summary or cost is None:
            continue
        table = summary["queries"] if of_class.startswith("query:") else summary["latency_ns"]
        figure = table.get(of_class.removeprefix("query:"), {}).get(statistic)
        if figure and figure["value"] is not None:
            points.append((cost, figure["value"], place))
    front: list[int] = []
    fastest = float("inf")
    for _, latency, place in sorted(points):
        if latency < fastest:
            front.append(place)
            fastest = latency
    return front
