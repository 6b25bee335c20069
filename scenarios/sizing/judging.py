"""Whether a target is met: by the bound of a figure that is against it, and never by a run that is saturated or too
short to say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios.caveats import (
    go_on_as_answered,
    in_doubt,
    model_error_of,
    multiples_of,
    sessions_lacking,
    tail_of,
)
from tiersim.scenarios.sizing.endurance import Endurance
from tiersim.scenarios.sizing.subject import SizingSubject
from tiersim.scenarios.sizing.targets import Target
from tiersim.simulator.verdict import BEHIND_THROUGHPUT, explain_credits, part_name
from tiersim.units import format_bytes, format_ns, format_times


@dataclass(frozen=True)
class JudgedTarget:
    """One target on one candidate: ``low`` to ``high`` is the figure against its limit, where up to 1 is met; ``why``
    it is not.
    """

    met: bool
    low: float
    high: float
    why: str | None


#: What cannot be worse.
_NEVER = (math.inf, math.inf)


def check_targets(targets: Sequence[Target], subject: SizingSubject) -> None:
    """Raise ScenarioError for a target that nothing could be judged by on *subject*."""
    for target in targets:
        where = f"--slo {target.text!r}"
        if target.query is not None and target.query not in subject.queries:
            known = did_you_mean(target.query, subject.queries)
            known = known or (f"; they are {', '.join(subject.queries[:8])}" if subject.queries else "")
            what = "no query is called so" if subject.queries else "requests were recorded and no queries"
            raise ScenarioError(f"{where}: {subject.name}: {what}{known}")
        if target.of in ("query", "transaction", "commit") and not subject.queries:
            raise ScenarioError(
                f"{where}: {subject.name} has requests and no {target.of}; write for example p99(data read), or give"
                " [engine] and a recording of statements"
            )
        if target.kind == "load" and not subject.paced:
            raise ScenarioError(
                f"{where}: clients of {subject.name} wait for answers, so there is no recorded rate to keep up with;"
                f" write how many {subject.counted}/s are needed, such as throughput >= 1000/s"
            )


def load_for(targets: Sequence[Target], recorded_per_s: float | None) -> float:
    """Return how many times the recorded load has to be run, at least 1, so that every target on throughput can be met
    at all.

    A rate is met by a run that keeps up, which may be :data:`tiersim.simulator.verdict.BEHIND_THROUGHPUT` of what is
    asked.
    """
    needed = [target.limit for target in targets if target.kind == "load"]
    if recorded_per_s:
        rates = [target.limit for target in targets if target.kind == "throughput"]
        needed += [rate / recorded_per_s / BEHIND_THROUGHPUT for rate in rates if rate > recorded_per_s]
    return max([1.0, *needed])


def is_simulated(target: Target) -> bool:
    """Whether it takes a run to judge a target; the others are arithmetic."""
    return target.kind in ("latency", "load", "throughput", "endurance")


def judge_run(target: Target, summary: Mapping[str, Any], counted: str, endurance: Endurance | None) -> JudgedTarget:
    """Judge a target by the summary of a run, whose throughput is of *counted*."""
    if summary["verdict"]["load"] != "steady":
        return JudgedTarget(False, *_NEVER, str(summary["load"]["explanation"]))
    if target.kind == "load":
        return JudgedTarget(True, 0.0, 0.0, None)
    if target.kind == "throughput":
        figure = summary["throughput_per_s"][counted]
        return _at_least(target, figure["low"], figure["high"], f"{figure['value']:,.0f} {counted}/s")
    if target.kind == "endurance":
        return _judge_endurance(target, endurance)
    found = [_judge_latency(target, name, figures) for name, figures in latencies_of(target, summary)]
    if not found:
        return JudgedTarget(False, *_NEVER, f"{_what(target)} cannot be judged: none of it ended")
    return max(found, key=lambda one: (not one.met, one.high, one.low))


def _what(target: Target, name: str = "") -> str:
    return f"{target.statistic}({name or target.of})"


def latencies_of(target: Target, summary: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the latencies that a target is of, each with its name and its figures."""
    if target.of == "query":
        for name, figures in summary.get("queries", {}).items():
            yield f"query:{name}", figures
        return
    table = summary["latency_ns"] if target.query is None else summary.get("queries", {})
    name = target.query or target.of
    if name in table:
        yield target.of, table[name]


def _judge_latency(target: Target, name: str, figures: Mapping[str, Any]) -> JudgedTarget:
    figure, what = figures[target.statistic], _what(target, name)
    limit = format_ns(target.limit)
    low, high = figure["low"], figure["high"]
    ratios = (0.0 if low is None else low / target.limit, math.inf if high is None else high / target.limit)
    if ratios[0] >= 1:
        value = low if figure["value"] is None else figure["value"]
        return JudgedTarget(False, *ratios, f"{what} is {format_ns(value)}, not below {limit}")
    if ratios[1] >= 1 and figure["value"] is None:
        return JudgedTarget(False, *ratios, f"{what} cannot be judged: {_unresolved(figure)}")
    if ratios[1] >= 1:
        return JudgedTarget(
            False,
            *ratios,
            f"{what} is {format_ns(figure['value'])}, but may be {format_ns(high)}: not surely below {limit}",
        )
    return JudgedTarget(True, *ratios, None)


def _unresolved(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None or figure["high"] is None:
        return str(figure["basis"])
    return (
        f"it lies anywhere from {format_ns(figure['low'])} to {format_ns(figure['high'])}; a longer recording would say"
    )


def _judge_endurance(target: Target, found: Endurance | None) -> JudgedTarget:
    if found is None or found.low is None:
        why = "nothing is known of what its devices endure" if found is None else found.basis
        return JudgedTarget(False, 0.0, math.inf, f"endurance cannot be judged: {why}")
    shown = f"{found.low:.2g} years" if found.low < 100 else "over 100 years"
    high = math.inf if found.high is None else found.high
    return _at_least(target, found.low, high, f"devices endure {shown}", f"{target.limit:g} years")


def _at_least(target: Target, low: float, high: float, shown: str, limit: str = "") -> JudgedTarget:
    ratios = (target.limit / high if high else math.inf, target.limit / low if low else math.inf)
    if low >= target.limit:
        return JudgedTarget(True, *ratios, None)
    limit = limit or f"{target.limit:,.0f}/s"
    return JudgedTarget(False, *ratios, f"{shown}, not {limit}")


def needed_bytes(target: Target, data_bytes: int) -> float:
    """Return the capacity that a target asks for: its size, or what the data take now, grown."""
    return float((target.limit or data_bytes) * (1 + target.growth) ** target.years)


def judge_hardware(target: Target, capacity_bytes: int, failures: int, data_bytes: int) -> JudgedTarget:
    """Judge a target on what hardware is: how much it holds, how many failed drives lose nothing."""
    if target.kind == "capacity":
        needed = needed_bytes(target, data_bytes)
        ratio = needed / capacity_bytes if capacity_bytes else math.inf
        why = f"holds {format_bytes(capacity_bytes)}, and {format_bytes(round(needed))} are needed"
    else:
        ratio = target.limit / failures if failures else math.inf
        lost = (
            "a drive that fails takes data with it"
            if not failures
            else f"survives {failures} failed drives at the least, not {target.limit:g}"
        )
        why = lost
    return JudgedTarget(ratio <= 1, ratio, ratio, None if ratio <= 1 else why)


def _doubt_of_load(summary: Mapping[str, Any], counted: str) -> str:
    """Say how a load that is carried may not be."""
    if (lacking := sessions_lacking(summary)) is not None:
        needed, shown = lacking
        return f"the load needs {format_times(needed)} sessions at a time, and the recording shows at most {shown:,}"
    found = summary["bottleneck"]
    if not go_on_as_answered(summary):
        return (
            f"{part_name(found['station'], found['resource'])} is busy {100 * found['utilisation']:.0f} % of the time;"
            " within the expected error it may be full"
        )
    per_s = summary["throughput_per_s"][counted]["value"]
    least = BEHIND_THROUGHPUT * per_s / (1 - summary["throughput_shortfall_pct"] / 100)
    return (
        f"{per_s:,.0f} {counted}/s are predicted, within the expected error fewer than the {least:,.0f}/s that carry it"
    )


def _tail_multiple(summary: Mapping[str, Any], name: str) -> float:
    """Return how many times its value the upper end of the interval of a 99th percentile is; 1.0 where it has none."""
    found = tail_of(summary, name.replace("query:", "query ", 1))
    return float(found["high"] / found["value"]) if found and found["value"] else 1.0


def doubts_of(target: Target, summary: Mapping[str, Any], counted: str) -> Iterator[str]:
    """Yield how a target that a run met may be missed: a sentence for each figure that is met by less than models have
    been off, or that lives on burst credits. The run is taken by its summary, its throughput is of *counted*.
    """
    if target.kind in ("load", "throughput", "latency"):
        yield from explain_credits(summary.get("credits") or ())
    # what comes by the clock has no steady latency where it is not carried
    hangs_on_load = target.kind == "load" or (target.kind == "latency" and not go_on_as_answered(summary))
    if hangs_on_load and in_doubt(summary):
        yield _doubt_of_load(summary, counted)
    if target.kind not in ("throughput", "latency"):
        return
    if target.kind == "latency" and "grows_from_ns" in summary.get("load", {}):
        yield "a part is busy all the time: latencies would be longer after a longer recording"
    error = model_error_of(summary["verdict"])
    multiples = multiples_of(error, target.statistic or "throughput")
    if error["basis"] == "unknown":
        yield "how far this prediction is off is unknown; measure before you decide"
    elif multiples is None:
        where, remedy = {
            "assumed": ("without a calibration", "measure before you decide"),
            "clients": ("without a calibration", "measure before you decide"),
            "counted": ("without a calibration", "measure before you decide"),
            "storage": ("on storage of another kind than recorded", "measure before you decide"),
        }.get(
            error["basis"], ("beyond the recording", "record with a pool and a load nearer to those that you ask for")
        )
        yield f"{where}, the error of {target.statistic} is unknown; {remedy}"
    elif target.kind == "throughput":
        figure = summary["throughput_per_s"][counted]
        least = figure["low"] * multiples[0]
        if least < target.limit:
            yield (
                f"{figure['value']:,.0f} {counted}/s are predicted, real may be {least:,.0f}/s, not"
                f" {target.limit:,.0f}/s"
            )
    else:
        for name, figures in latencies_of(target, summary):
            figure = figures[target.statistic]
            most = figure["high"] * multiples[1]
            if target.statistic in ("p99", "p999"):  # no p999 is known better than its p99
                most = max(most, figure["high"] * _tail_multiple(summary, name))
            if most >= target.limit:
                predicted = format_ns(figure["high"] if figure["value"] is None else figure["value"])
                what, limit = f"{target.statistic}({name})", format_ns(target.limit)
                yield f"{what} is predicted as {predicted}, real it may be {format_ns(most)}, not below {limit}"
