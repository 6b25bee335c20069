"""Whether a prediction is called calibrated: how a recorded load on the model of its own hardware compares with what
was measured; and what other hardware is relative to that.

Limits are those of replays of requests: pages read within 5 %, the mean of each class within 15 %. Where they hold,
other hardware is spoken of relative to what was measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tiersim.scenarios.calibration.processor import ProcessorCosts, recorded_flushes
from tiersim.scenarios.calibration.self_replay import COUNT_TOLERANCE_PCT, MEAN_TOLERANCE_PCT
from tiersim.scenarios.caveats import BEYOND, BEYOND_BY_GUESS, CONTRADICTED, MET, WITHIN, model_error_of, with_storage
from tiersim.scenarios.statements.statement_load import (
    COMMIT,
    LOG_WRITES,
    READS,
    TRANSACTIONS,
    RecordedMean,
    StatementLoad,
)
from tiersim.simulator.result import Figure, Result

#: Among the classes that are compared; the others are queries.
_NO_QUERIES = (TRANSACTIONS, READS, LOG_WRITES)
#: With fewer commits for each flush, most flushes are of who has to write a page, or of the log writer.
_FOR_COMMITS = 0.5
#: Processors decide how fast a load runs if they are busy for such a share of the time; what statements cost them is
#: extrapolated if they were so much less busy.
_BUSY, _BUSIER = 0.5, 1.5
#: Queries with a smaller share of the time of all do not decide.
_MATTERS = 0.01


def stamped(
    results: Sequence[Result], baseline: Result, load: StatementLoad, processor: ProcessorCosts
) -> list[Result]:
    """Say in *results* how well *baseline*, a run of *load* with the costs *processor* on the model of the recorded
    hardware, agrees with the recording.
    """
    measured = load.recorded_means
    found = _compared(measured, baseline.summary, _read_error_pct(load, baseline.summary), processor.assumed)
    shared = _commits_per_flush(load)
    return [_with_log(_stamped(result, baseline, measured, found, processor), baseline, shared) for result in results]


def _of(summary: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    if name == LOG_WRITES:
        mean_ns = summary["log"]["sync_mean_ns"]
        return None if mean_ns is None else {"mean": {"value": mean_ns}}
    found: Mapping[str, Any] | None = (
        summary["latency_ns"] if name in (*_NO_QUERIES, COMMIT) else summary["queries"]
    ).get(name)
    return found


def _read_error_pct(load: StatementLoad, summary: Mapping[str, Any]) -> float | None:
    """Return how many more pages a statement reads than was recorded of all of them together; None
    where each said it.
    """
    calls = sum(query["count"] for query in summary["queries"].values())
    if not load.pages_read or not calls:
        return None
    read = sum(query["count"] * query["physical_reads_per_call"] for query in summary["queries"].values())
    return float(100 * ((read / calls) / (load.pages_read / len(load)) - 1))


def _compared(
    measured: Mapping[str, RecordedMean],
    summary: Mapping[str, Any],
    all_reads_pct: float | None = None,
    assumed: Sequence[str] = (),
) -> dict[str, Any]:
    """Return measured and simulated by class, and whether all that matter agree: as the comparison of replays of
    requests has it.

    Nothing is calibrated by costs that are *assumed*.
    """
    total_ns = sum(one.count * one.mean_ns for name, one in measured.items() if name not in _NO_QUERIES)
    classes: dict[str, Any] = {}
    reasons = list(assumed)
    if summary["verdict"]["load"] != "steady":
        reasons.append(f"{summary['name']} is {summary['verdict']['load']}: it does not carry the recorded load")
    if all_reads_pct is not None and abs(all_reads_pct) > COUNT_TOLERANCE_PCT:
        reasons.append(f"statements read {all_reads_pct:+.1f} % against the recorded pages")
    agrees = bool(measured) and not reasons
    for name, one in measured.items():
        here = _of(summary, name)
        if here is None:
            continue
        mean = here["mean"]["value"]
        error = None if mean is None else 100 * (mean / one.mean_ns - 1)
        reads = here.get("physical_reads_per_call")
        read_error = 100 * (reads / one.reads - 1) if reads is not None and one.reads else None
        decides = name == TRANSACTIONS or one.count * one.mean_ns >= _MATTERS * total_ns
        chance = None if read_error is None else _chance_pct(one.count * (one.reads or 0.0), here["count"] * reads)
        within = (
            error is not None
            and abs(error) <= MEAN_TOLERANCE_PCT
            and (read_error is None or abs(read_error) <= max(COUNT_TOLERANCE_PCT, chance or 0.0))
        )
        agrees = agrees and (within or not decides)
        classes[name] = {
            "measured_mean_ns": one.mean_ns,
            "simulated_mean_ns": mean,
            "error_pct": error,
            "read_error_pct": read_error,
            "read_chance_pct": chance,
            "decides": decides,
            "within": within,
        }
    return {
        "baseline": summary["name"],
        "described": summary["description"],
        "classes": classes,
        "read_error_pct": all_reads_pct,
        "verdict": "calibrated" if agrees else "uncalibrated",
        "transactions": not reasons and TRANSACTIONS in classes and classes[TRANSACTIONS]["within"],
        "reasons": reasons,
        "tolerance_pct": {"mean": MEAN_TOLERANCE_PCT, "reads": COUNT_TOLERANCE_PCT},
    }


def _chance_pct(measured_pages: float, simulated_pages: float) -> float | None:
    """Return how far two counts of the same thing may lie apart by chance, as two standard deviations; None where
    nothing was counted.
    """
    if not measured_pages or not simulated_pages:
        return None
    return float(200 * np.sqrt(1 / measured_pages + 1 / simulated_pages))


def _stamped(
    result: Result,
    baseline: Result,
    measured: Mapping[str, RecordedMean],
    found: dict[str, Any],
    processor: ProcessorCosts,
) -> Result:
    summary = dict(result.summary)
    beyond = _beyond(summary, baseline.summary)
    reach = WITHIN if not beyond else BEYOND_BY_GUESS if processor.assumed else BEYOND
    said = {"calibration": found["verdict"], "reach": reach}
    if found["transactions"] and found["verdict"] != "calibrated":
        said["transactions"] = MET
    met = found["classes"].get(TRANSACTIONS)
    # where costs had to be assumed, their range holds what the description hides
    if met is not None and not met["within"] and not processor.assumed and "error" not in summary["verdict"]:
        said["error"] = CONTRADICTED
    summary["verdict"] = with_storage(summary["verdict"] | said, summary, baseline.summary)
    summary["model_error"] = model_error_of(summary["verdict"])
    summary["calibration"] = found | {"beyond": beyond}
    relative: dict[str, dict[str, Figure]] = {}
    for name, one in measured.items():
        here, there = _of(summary, name), _of(baseline.summary, name)
        if here and there and here["mean"]["value"] and there["mean"]["value"]:
            relative[name] = {"mean": _relative(one.mean_ns, here, there, baseline.summary["name"])}
    summary["relative_latency_ns"] = relative
    return replace(result, summary=summary)


def _beyond(summary: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[str]:
    """Say in what a run goes beyond the recording, whose figures it is held against: a larger pool, processors that are
    busy where they were not, or that limit a run with more reads.
    """
    found = []
    pools = [one["engine"]["frames"] for one in (baseline, summary)]
    if pools[1] > pools[0]:
        found.append(f"a pool {pools[1] / pools[0]:.2g} times as large as the recorded one")
    was, busy = (one["host"]["utilisation"] for one in (baseline, summary))
    if busy > max(_BUSY, _BUSIER * was):
        found.append(f"processors that are busy for {busy:.0%} of the time, and were for {was:.0%}")
    elif busy > _BUSY and pools[1] < pools[0]:
        found.append(f"reads of a smaller pool, which cost processors that are busy for {busy:.0%} of the time")
    return found


def _commits_per_flush(load: StatementLoad) -> float | None:
    """Return how many of the recorded commits shared a flush of the log; None where nobody counted, or most flushes
    were not theirs.
    """
    commits, flushes = load.commits, recorded_flushes(load.counters.found)
    return commits / flushes if flushes and commits >= _FOR_COMMITS * flushes else None


def _with_log(result: Result, baseline: Result, measured: float | None) -> Result:
    """Say how many commits would share a flush, relative to how many did."""
    here, there = (one.summary["log"]["commits_per_flush"] for one in (result, baseline))
    relative = measured * here / there if measured and here and there else None
    log = result.summary["log"] | {"measured_commits_per_flush": measured, "relative_commits_per_flush": relative}
    return replace(result, summary=result.summary | {"log": log})


def _relative(was: float, here: Mapping[str, Any], there: Mapping[str, Any], baseline: str) -> Figure:
    """Return measured x simulated / simulated on the baseline, and measured + their difference as the other bound."""
    ratio = was * here["mean"]["value"] / there["mean"]["value"]
    shifted = max(0.0, was + here["mean"]["value"] - there["mean"]["value"])
    basis = f"measured x simulated / simulated on {baseline}; other bound: their difference added"
    return Figure(value=ratio, low=min(ratio, shifted), high=max(ratio, shifted), resolved=True, basis=basis)
