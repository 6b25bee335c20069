"""How what was predicted compares with what was measured."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.errors import BenchError
from benchmarks.real_postgres.dips import scatter
from benchmarks.real_tenants.plan import Plan
from benchmarks.real_tenants.predict import PREDICTION, alone

#: Limits, set before anything was measured.
_MEAN_PCT, _P95_PCT, _DEPTH_POINTS, _MOMENT_S = 10, 25, 10, 2
#: A request as the device sees it, and the class that tiersim has of it.
_CLASSES = {"read": "data read", "flush": "log flush"}
_HEAD = "| server | | predicted | measured | repeats apart | off | limit | |\n|---|---|--:|--:|--:|--:|--:|---|\n"


def compare(plan: Plan, out: Path) -> str:
    """Return a table in Markdown; raises BenchError."""
    predicted = json.loads((out / PREDICTION).read_text())
    paths = sorted(out.glob("together-*/result.json"))
    if not paths:
        raise BenchError(f"{out} has no servers that were measured together; measure first")
    runs = [json.loads(path.read_text())["tenants"] for path in paths]
    lines = []
    for name in plan.tenants:
        own, said = [one[name] for one in runs], predicted["tenants"][name]
        lines.append(_line(name, "transactions/s alone", said["alone"]["transactions_per_s"],
                           [alone(out, name)["transactions_per_s"]], _MEAN_PCT))  # fmt: skip
        for figure, what in (("transactions_per_s", "transactions/s"), ("mean_ms", "mean, ms")):
            lines.append(_line(name, what, said["together"][figure], [one[figure] for one in own], _MEAN_PCT))
        if expected := said["together"].get("expected_per_s"):
            lines.append(_expected(name, expected, [one["transactions_per_s"] for one in own]))
        for kind, of in _CLASSES.items():
            if of in said["together"]["requests"]:
                for figure, limit in (("mean_ms", _MEAN_PCT), ("p95_ms", _P95_PCT)):
                    measured = [one["requests"][kind][figure] for one in own]
                    lines.append(_line(name, f"{kind}, {figure.replace('_', ', ')}",
                                       said["together"]["requests"][of][figure], measured, limit))  # fmt: skip
    writers = [name for name, script in plan.tenants.items() if script != "reads"]
    for name in plan.tenants:
        if name not in writers:
            lines += _stretches(name, plan, predicted["tenants"][name], [one[name] for one in runs])
    for name in writers:
        starts = [one[name]["checkpoints"][0]["start_s"] for one in runs if one[name]["checkpoints"]]
        said = predicted["tenants"][name]["together"]["checkpoints"]
        if starts and said:
            lines.append(_points(name, "checkpoint begins, s", said[0]["start_s"], starts, _MOMENT_S))
    return (
        f"Predicted by {predicted['commit'][:12]}{', changed' if predicted['changed'] else ''}.\n\n{_HEAD}"
        + "".join(lines)
    )


def _expected(name: str, range_per_s: Mapping[str, float], measured: Sequence[float]) -> str:
    """Return a row: the range of 80 % that was predicted, and whether the mean of what was *measured* lies in it."""
    low, high, found = range_per_s["low"], range_per_s["high"], mean(measured)
    verdict = "met" if low <= found <= high else "NOT met"
    return f"| {name} | transactions/s, range of 80 % | {low:,.0f} to {high:,.0f} | {found:,.0f} | | | | {verdict} |\n"


def slowest(per_s: Sequence[float], length_s: int) -> tuple[float, int]:
    """Return how fast the slowest stretch of a run is, as a percentage of the mean of the run, and when it begins."""
    sums = np.convolve(per_s, np.ones(length_s), "valid") / length_s
    begin = int(sums.argmin())
    return 100 * float(sums[begin] / np.mean(per_s)), begin


def checkpoint_s(plan: Plan) -> int:
    """Return how long a checkpoint spreads its writes."""
    timeout_s = int(plan.settings["checkpoint_timeout"].removesuffix("s"))
    return round(timeout_s * float(plan.settings["checkpoint_completion_target"]))


def _stretches(name: str, plan: Plan, said: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> list[str]:
    length_s = checkpoint_s(plan)
    predicted = slowest(said["together"]["per_s"], length_s)
    measured = [slowest(one["per_s"], length_s) for one in runs]
    what = f"slowest {length_s} s"
    return [
        _points(name, f"{what}, % of its mean rate", predicted[0], [one[0] for one in measured], _DEPTH_POINTS),
        _points(name, f"{what} begin, s", predicted[1], [one[1] for one in measured], _MOMENT_S),
    ]


def _line(name: str, what: str, predicted: float | None, measured: Sequence[float], limit_pct: float) -> str:
    found = mean(measured)
    apart_pct = 100 * scatter(measured) / found
    if predicted is None:  # the run holds too few bursts of slow requests to say
        return (
            f"| {name} | {what} | not resolved | {_number(found)} | {apart_pct:.1f} % | | {limit_pct} % | NOT met |\n"
        )
    off_pct = 100 * (predicted / found - 1)
    widest_pct = max(limit_pct, apart_pct) if limit_pct == _MEAN_PCT else limit_pct
    verdict = "met" if abs(off_pct) <= widest_pct else "NOT met"
    return (
        f"| {name} | {what} | {_number(predicted)} | {_number(found)} | {apart_pct:.1f} % | {off_pct:+.1f} % |"
        f" {limit_pct} % | {verdict} |\n"
    )


def _points(name: str, what: str, predicted: float, measured: Sequence[float], limit: float) -> str:
    found = mean(measured)
    verdict = "met" if abs(predicted - found) <= limit else "NOT met"
    return (
        f"| {name} | {what} | {_number(predicted)} | {_number(found)} | {_number(scatter(measured))} |"
        f" {predicted - found:+.1f} | {limit} | {verdict} |\n"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
