"""Measured against simulated: a replay on a model of the recorded hardware must give what was recorded.

Limits: counts within 5 %, mean latency of each class within 15 %. Where they hold, what another hardware would do is
said relative to what was measured: the part of the model's error that both have in common cancels.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tiersim.scenarios.caveats import model_error_of, with_storage
from tiersim.simulator.categories import REQUEST_CATEGORIES
from tiersim.simulator.result import Figure, Result

#: Largest deviation of a class's mean latency, and of its count, that counts as the same.
MEAN_TOLERANCE_PCT, COUNT_TOLERANCE_PCT = 15.0, 5.0
#: A class with a smaller share of the requests does not decide.
LEAST_SHARE = 0.01


def calibrate(results: Sequence[Result], baseline: Result) -> list[Result]:
    """Stamp *results* with how well *baseline*, a run on a model of the recorded hardware, agrees with the recording.

    Each also gets ``relative_latency_ns``: measured x simulated here / simulated on the baseline, with the sum
    simulated here + (measured - simulated on the baseline) as the other bound.
    """
    found = compare(baseline.summary)
    return [_stamped(result, baseline, found) for result in results]


def compare(summary: dict[str, Any]) -> dict[str, Any]:
    """Measured and simulated by class: counts, means, deviation in percent, and whether all that matter are within
    limits.
    """
    measured, simulated = summary["measured_latency_ns"], summary["latency_ns"]
    total = sum(figures["count"] for name, figures in measured.items() if name in REQUEST_CATEGORIES)
    classes: dict[str, Any] = {}
    agrees = summary["verdict"]["load"] == "steady" and total > 0
    for name in REQUEST_CATEGORIES:
        if name not in measured or name not in simulated:
            continue
        mean = simulated[name]["mean"]["value"]
        error = None if mean is None else 100 * (mean / measured[name]["mean"] - 1)
        count_error = 100 * (simulated[name]["count"] / measured[name]["count"] - 1)
        decides = measured[name]["count"] >= LEAST_SHARE * total
        within = error is not None and abs(error) <= MEAN_TOLERANCE_PCT and abs(count_error) <= COUNT_TOLERANCE_PCT
        agrees = agrees and (within or not decides)
        classes[name] = {
            "measured_mean_ns": measured[name]["mean"],
            "simulated_mean_ns": mean,
            "error_pct": error,
            "count_error_pct": count_error,
            "decides": decides,
            "within": within,
        }
    return {
        "baseline": summary["name"],
        "described": summary["description"],
        "classes": classes,
        "verdict": "calibrated" if agrees else "uncalibrated",
        "tolerance_pct": {"mean": MEAN_TOLERANCE_PCT, "count": COUNT_TOLERANCE_PCT},
    }


def _stamped(result: Result, baseline: Result, found: dict[str, Any]) -> Result:
    summary = dict(result.summary)
    said = summary["verdict"] | {"calibration": found["verdict"]}
    summary["verdict"] = with_storage(said, summary, baseline.summary)
    summary["model_error"] = model_error_of(summary["verdict"])
    summary["calibration"] = found
    summary["relative_latency_ns"] = relative(summary, baseline.summary)
    return replace(result, summary=summary)


def relative(summary: dict[str, Any], baseline: dict[str, Any]) -> dict[str, dict[str, Figure]]:
    """Latencies relative to the measured ones, by class; figures that are not resolved on both sides are left out."""
    measured = baseline["measured_latency_ns"]
    classes: dict[str, dict[str, Figure]] = {}
    for name, here in summary["latency_ns"].items():
        there = baseline["latency_ns"].get(name)
        if name not in measured or there is None:
            continue
        figures: dict[str, Figure] = {}
        for key in ("mean", "p50", "p95", "p99", "p999"):
            a, b, was = there[key]["value"], here[key]["value"], measured[name][key]
            if not a or b is None:
                continue
            ratio, shifted = was * b / a, max(0.0, b + was - a)
            basis = f"measured x simulated / simulated on {baseline['name']}; other bound: their difference added"
            figures[key] = Figure(
                value=ratio, low=min(ratio, shifted), high=max(ratio, shifted), resolved=True, basis=basis
            )
        classes[name] = figures
    return classes
