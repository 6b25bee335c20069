"""Latency against load: the knee, the largest load that is sustained, and what limits it (``tiersim.load/1``)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiersim.errors import ScenarioError
from tiersim.parallel import side_by_side
from tiersim.scenarios.load_steps import as_called
from tiersim.scenarios.sizing.judging import check_targets, judge_run
from tiersim.scenarios.sizing.targets import Target
from tiersim.scenarios.sweeps.rows import Row
from tiersim.scenarios.sweeps.sources import Note
from tiersim.simulator.categories import REQUEST_CATEGORIES, middle_of
from tiersim.simulator.verdict import limits

SCHEMA = "tiersim.load/1"
#: Multiples of the recorded load that are run first.
LOADS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
#: The largest sustained load is searched until it is known to this share: a verdict is no sharper than the 5 % that
#: make a run "behind".
_NEAR = 0.02
#: How often both neighbours of the knee are moved halfway towards it.
_KNEE_STEPS = 2
#: Runs the subject at a multiple of its load and returns the row.
At = Callable[[float, Note], Row]
Progress = Callable[[int, int], None]
#: Returns the multiple of the recorded load that is run where one is asked for.
Reached = Callable[[float], float]

KNEE = (
    "throughput ÷ mean latency is largest there (the power of Kleinrock, ICC 1979; a line from the origin touches the"
    " curve of latency there); a parabola through the runs around it"
)


#: Said of the largest load that is sustained where a volume's baseline does not carry it.
SPENT = "burst credits carry it, until they are spent"


@dataclass(frozen=True)
class LimitCurve:
    """Rows by load, the lowest first, and what they say."""

    rows: tuple[Row, ...]
    loads: tuple[float, ...]
    knee: dict[str, Any] | None
    largest_sustainable: dict[str, Any] | None
    limited_by: str | None
    not_run: dict[float, float]  # loads that were asked for, and what was run instead


def load_curve(
    at: At,
    counted: str,
    targets: Sequence[Target] = (),
    *,
    paced: bool = True,
    loads: Sequence[float] = LOADS,
    reached: Reached = float,
    progress: Progress | None = None,
) -> LimitCurve:
    """Run at every one of *loads*, then where the knee and the largest sustained load are looked for.

    *counted* is what a throughput is of. A load is sustained when its run is steady and meets *targets*; without a pace
    (*paced*) nothing is ever too much, and only targets bound it. *reached* is the load of a run where one is asked
    for; none is run twice.
    """
    runs = _Runs(at, reached, progress, len(loads) + 2 * _KNEE_STEPS)
    runs.side_by_side(loads)
    largest = _largest(runs, counted, targets) if paced or targets else None
    knee = _knee(runs, counted)
    ordered = sorted(runs.rows)
    return LimitCurve(
        rows=tuple(runs.rows[load] for load in ordered),
        loads=tuple(ordered),
        knee=knee,
        largest_sustainable=largest,
        limited_by=_limited_by(runs, counted, targets),
        not_run={load: runs.reached(load) for load in loads if runs.reached(load) != load},
    )


def document(curve: LimitCurve, trace: Mapping[str, Any], scenario: str, targets: Sequence[Target]) -> dict[str, Any]:
    """The document of a curve."""
    return {
        "schema": SCHEMA,
        "trace": dict(trace),
        "scenario": scenario,
        "targets": [target.text for target in targets],
        "points": list(curve.rows),
        "knee": curve.knee,
        "largest_sustainable": curve.largest_sustainable,
        "limited_by": curve.limited_by,
        "not_run": [{"load": load, "ran": ran} for load, ran in curve.not_run.items()],
    }


def check_load_targets(targets: Sequence[Target], subject: Any) -> None:
    """Raise ScenarioError for targets that are not of a latency: the load is what is looked for."""
    for target in targets:
        if target.kind != "latency":
            raise ScenarioError(
                f"--slo {target.text!r}: a load is judged by latencies, such as mean(query) < 20 ms; leave it to"
                " tiersim size"
            )
    check_targets(targets, subject)


class _Runs:
    """Rows by the load that was reached; each is run once."""

    def __init__(self, at: At, reached: Reached, progress: Progress | None, expected: int) -> None:
        self.at, self._reached, self.progress, self.expected = at, reached, progress, expected
        self.rows: dict[float, Row] = {}
        self.asked: dict[float, float] = {}  # by load that was reached: one that gives it

    def reached(self, load: float) -> float:
        """Return the load that is run where *load* is asked for, by the name that it has."""
        found = self._reached(load)
        return next((known for known in self.asked if as_called(known, found) == known), found)

    def side_by_side(self, loads: Sequence[float]) -> None:
        for load in sorted(loads, key=lambda load: self._reached(load) != load):  # first those that give names
            found = self.reached(load)
            self.asked.setdefault(found, found if self.reached(found) == found else load)
        new = [load for load in self.asked if load not in self.rows]

        def one(load: float) -> Callable[[Note], None]:
            def go(note: Note) -> None:
                row = self.at(self.asked[load], note)
                self.rows[load] = {**row, "summary": {**row["summary"], "load_reached": load}}
                self._tell()

            return go

        side_by_side([one(load) for load in new], lambda _: None)

    def row(self, load: float) -> Row:
        self.side_by_side([load])
        return self.rows[self.reached(load)]

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(len(self.rows), max(self.expected, len(self.rows)))


def _holds(row: Row, counted: str, targets: Sequence[Target]) -> bool:
    summary = row["summary"]
    if row["status"] != "done" or summary["verdict"]["load"] != "steady":
        return False
    return all(judge_run(target, summary, counted, None).met for target in targets)


def _largest(runs: _Runs, counted: str, targets: Sequence[Target]) -> dict[str, Any]:
    """Return the largest load below which every run holds, by bisection between it and the first that does not."""
    what = "carries the load" + " and meets the targets" * bool(targets)
    fails = "does not carry the load" + " or misses a target" * bool(targets)
    ordered = sorted(runs.rows)
    first_bad = next((load for load in ordered if not _holds(runs.rows[load], counted, targets)), None)
    below = [load for load in ordered if first_bad is None or load < first_bad]
    if first_bad is None or not below:
        ends = (ordered[-1], None) if first_bad is None else (None, first_bad)
        basis = (
            f"every run up to {ordered[-1]:g} × {what}"
            if first_bad is None
            else f"already the run at {first_bad:g} × {fails}"
        )
        basis += "" if ends[0] is None else _on_credits(runs.rows[ends[0]])
        return {"value": None, "low": ends[0], "high": ends[1], "resolved": False, "basis": basis}
    good, bad = runs.asked[below[-1]], runs.asked[first_bad]
    while bad > good * (1 + _NEAR):
        middle = round((good + bad) / 2, 4)
        good, bad = (middle, bad) if _holds(runs.row(middle), counted, targets) else (good, middle)
    good, bad = runs.reached(good), runs.reached(bad)
    return {
        "value": good,
        "low": good,
        "high": bad,
        "resolved": True,
        "basis": f"bisection: the run at low {what}, that at high {fails}{_on_credits(runs.rows[good])}",
    }


def _on_credits(row: Row) -> str:
    """Say that a load is carried only as long as burst credits last, if it is."""
    return f"; {SPENT}" if row["summary"]["verdict"].get("credits", "kept") != "kept" else ""


def _power(row: Row, counted: str) -> float:
    """Return throughput ÷ mean latency of a run; 0 of one that has no steady state."""
    summary = row["summary"]
    mean_ns = None if row["status"] != "done" else _mean_ns(summary)
    rate = None if not summary else summary["throughput_per_s"][counted]["value"]
    return 0.0 if not mean_ns or not rate else rate / mean_ns


def _mean_ns(summary: Mapping[str, Any]) -> float | None:
    """Return the mean latency of transactions, or of all requests where there are none."""
    latency = summary["latency_ns"]
    names = ["transaction"] if "transaction" in latency else [name for name in REQUEST_CATEGORIES if name in latency]
    found = [(latency[name]["count"], middle_of(latency[name]["mean"])) for name in names]
    if not found or any(mean is None for _, mean in found):
        return None
    total = sum(count for count, _ in found)
    return sum(count * mean for count, mean in found if mean is not None) / total if total else None


def _knee(runs: _Runs, counted: str) -> dict[str, Any] | None:
    """Return where the power is largest, None where it still rises at the highest load, or falls from the lowest on."""
    for step in range(_KNEE_STEPS + 1):
        ordered = sorted(runs.rows)
        powers = [_power(runs.rows[load], counted) for load in ordered]
        top = max(range(len(ordered)), key=lambda place: powers[place])
        if top in (0, len(ordered) - 1) or powers[top] == 0:
            return None
        left, middle, right = ordered[top - 1 : top + 2]
        if step < _KNEE_STEPS:
            runs.side_by_side([round((left + middle) / 2, 4), round((middle + right) / 2, 4)])
    found = _vertex((left, middle, right), powers[top - 1 : top + 2])
    return {"load": found, "low": left, "high": right, "basis": KNEE}


def _vertex(x: Sequence[float], y: Sequence[float]) -> float:
    """Return where the parabola through three points, the middle one highest, is highest."""
    (a, b, c), (ya, yb, yc) = x, y
    rise, fall = (b - a) * (yb - yc), (b - c) * (yb - ya)
    return b if rise == fall else b - ((b - a) * rise - (b - c) * fall) / (2 * (rise - fall))


def _limited_by(runs: _Runs, counted: str, targets: Sequence[Target]) -> str | None:
    """Return the station that the first load that is too much is short of; of loads that all hold, the busiest of the
    highest, if it works all the time. None where sessions are late because each request takes longer.
    """
    ordered = [load for load in sorted(runs.rows) if runs.rows[load]["status"] == "done"]
    if not ordered:
        return None
    first = next((load for load in ordered if not _holds(runs.rows[load], counted, targets)), None)
    summary = runs.rows[ordered[-1] if first is None else first]["summary"]
    busy = summary["bottleneck"]["utilisation"]
    all_hold, is_behind = first is None, summary["verdict"]["load"] == "behind"
    if (all_hold or is_behind) and not limits(busy, waits_known=all_hold or bool(summary.get("queries"))):
        return None
    station = summary["load"]["station"] or summary["bottleneck"]["station"]
    return None if station is None else str(station)
