"""How far apart predictions lie that a recording allows as well: joint draws of what it does not tell, each a run with
the same random numbers.

What it does not tell: how much less the CPU of statements is on a busy host than it was recorded on an idle one, what a
read and a write of the log cost the processors, which law of popularity its misses follow. Nor does anything tell whom
the scheduler of a host serves next that has another number of cores than the one whose choices were recorded
(:mod:`tiersim.simulator.database.sessions.processors`), and so how many commits share a flush there. A limit whose
refill interval is assumed lets as many requests through, but not as many commits. They act on each other, and
percentiles jump between humps, so all are drawn together and not one at a time between its ends. What the models
themselves are off (:func:`tiersim.scenarios.caveats.model_error_of`) is independent of all that, so squares of logs add
up; but errors of calibrated results within their recording were measured with all that in them, so the wider of the two
is taken.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.parallel import side_by_side
from tiersim.scenarios.calibration.popularity.fit import alike
from tiersim.scenarios.calibration.popularity.occupancy import Law
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.caveats import CLIENTS, WITHIN, model_error_of, multiples_of
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.tails import tail_figures
from tiersim.simulator.database.database_state import AT_RANDOM, IN_ORDER, OLDER_OF_TWO
from tiersim.simulator.database.sessions.processors import RECORDED_CORES
from tiersim.simulator.result import ONE_BATCH, Result

#: Runs of each scenario, with a draw of all unknowns each; the share of them that an interval leaves out at each end.
DRAWS, _TAIL = 16, 0.1
#: So many laws are drawn from, and so many arrangements of statements: a pool is filled anew for each.
LAWS = 4
#: Where the percentiles begin among the figures of a run.
_TAILS = 2
#: An interval that is wider decides nothing.
WIDE = 2.0
#: What is drawn, and what would narrow it down.
UNKNOWNS = {
    "cpu": ("the CPU cost of statements on busy processors", "record while the processors are busier"),
    "read": (
        "the CPU cost of a read, or of a write of the log",
        "record on the server itself with tiersim record postgres, while it reads pages",
    ),
    "law": ("which rows are hot beyond the recorded pool", "record longer, with pg_buffercache, or with a larger pool"),
    "order": (
        "whom the scheduler serves next on so many cores",
        "record sched_switch and sched_wakeup on a host with as many cores, as docs/processors.md says",
    ),
    "refill": (
        "how often a limit refills, which lets more commits share a flush or fewer",
        "say in the device's file what throttles it: refill_interval with its source (io.max of Linux: 100 ms)",
    ),
}
#: Orders in equal parts of their range.
_ORDERS = (IN_ORDER, OLDER_OF_TWO, AT_RANDOM)


@dataclass(frozen=True)
class Draw:
    """One of the sets of unknowns that a recording allows: multiples of costs, and the laws of its tables."""

    at: Mapping[str, float]  # of each unknown between -1 and 1
    processor: ProcessorCosts
    laws: tuple[Law, ...]


def draws_of(load: StatementLoad, processor: ProcessorCosts, seed: int) -> list[Draw]:
    """Return ``DRAWS`` draws; of each unknown one lies in each of as many equal parts of its range, and their order is
    drawn (Latin hypercube).
    """
    luck = np.random.default_rng(seed)
    laws = alike(load.fitted)
    at = {name: (luck.permutation(DRAWS) + 0.5) / DRAWS * 2 - 1 for name in UNKNOWNS}
    at["law"].sort()  # runs whose pools are filled alike follow each other
    return [
        _draw(laws, processor, {name: float(column[place]) for name, column in at.items()}) for place in range(DRAWS)
    ]


def _draw(laws: Sequence[Sequence[Law]], processor: ProcessorCosts, at: dict[str, float]) -> Draw:
    """Return a draw; where reads cost more than is assumed, writes of the log do: a kernel makes all IO dear."""
    cpu, read = (_between(getattr(processor, f"{name}_range"), at[name]) for name in ("cpu", "read"))
    log = _between(processor.log_range, at["read"])
    drawn = replace(
        processor,
        statement_ns={query: round(cpu * ns) for query, ns in processor.statement_ns.items()},
        client_ns=round(cpu * processor.client_ns),
        costs=processor.costs._replace(
            read_ns=round(read * processor.costs.read_ns),
            evict_dirty_ns=round(read * processor.costs.evict_dirty_ns),
            log_io_ns=round(log * processor.costs.log_io_ns),
        ),
    )
    return Draw(at, drawn, tuple(_law(ordered, at["law"]) for ordered in laws))


def _between(bounds: tuple[float, float], at: float) -> float:
    """Return the multiple at a place of its range, 1 in the middle and the bounds at -1 and 1."""
    return float(bounds[1] ** at if at > 0 else bounds[0] ** -at)


def _law(ordered: Sequence[Law], at: float) -> Law:
    """Return the law at a place among those that explain the recording as well, the one in the middle of each of
    ``LAWS`` equal parts.
    """
    part = min(int((at + 1) / 2 * LAWS), LAWS - 1)
    return ordered[int((part + 0.5) / LAWS * len(ordered))]


def with_range(
    result: Result,
    scenario: NamedScenario,
    loads: Sequence[StatementLoad],
    processor: ProcessorCosts,
    draws: Sequence[Draw],
    run: Callable[[NamedScenario, StatementLoad, ProcessorCosts], Result],
    progress: Callable[[int], None] = lambda done: None,
) -> Result:
    """Add to a *result* how far apart *draws* lie of what its load and the costs *processor* do not tell.

    *loads* are that load in several arrangements of its statements, its own first, which take turns with the laws.
    *run* runs a load with costs on a scenario; *progress* is called with how many runs of 1 + ``DRAWS`` are done.
    """
    load, names, scenario = loads[0], sorted(tail_figures(result.summary)), scenario.counted_whole()
    arranged = [loads[place * len(loads) // len(draws)] for place in range(len(draws))]
    drawn_loads = [
        replace(own, fitted=replace(own.fitted, laws=one.laws)) for own, one in zip(arranged, draws, strict=True)
    ]
    known = {"order"} if result.summary["host"]["cores"] in RECORDED_CORES else set()
    known |= set() if any(limit.refill_range_ns for limit in scenario.limits_of_requests) else {"refill"}
    unknown = [name for name in UNKNOWNS if name not in known]
    if "order" in unknown:
        draws = [replace(one, processor=_ordered(one)) for one in draws]
    drawn = side_by_side(
        [
            partial(_figures, run, scenario, load, processor, names),
            *(
                partial(_figures, run, _refilled(scenario, one.at["refill"]), own, one.processor, names)
                for own, one in zip(drawn_loads, draws, strict=True)
            ),
        ],
        progress,
    )
    figures = np.array(drawn[1:]) / np.array(drawn[0])
    found = _range(result.summary, draws, figures, unknown)
    found["p99_ns"] = _range_of_tails(result.summary, names, figures[:, _TAILS:])
    return replace(result, summary=result.summary | {"range": found})


def with_waits(result: Result, ends: Sequence[Result]) -> Result:
    """Add to a *result* without a calibration how far apart the *ends* lie of what may be waits of its recording, with
    the error of the models. Nothing where they decide: nobody measured how far off those predictions are.
    """
    errors = [model_error_of({"calibration": "none", "error": error}) for error in (None, CLIENTS)]
    lows, highs = zip(*(multiples_of(error, "throughput") or (1.0, 1.0) for error in errors), strict=True)
    below, above = min(lows), max(highs)  # CPU and clients may decide at one of the ends
    rates = [one.summary["throughput_per_s"]["transactions"]["value"] for one in (result, *ends)]
    means = [one.summary["latency_ns"]["transaction"]["mean"]["value"] for one in (result, *ends)]
    if None in rates:
        return result
    low, high = below * min(rates), above * max(rates)
    if high <= WIDE * low:
        return result
    found = {
        "draws": len(ends),
        "share": None,  # nobody measured how many of the measurements lie between such ends
        "transactions_per_s": {"low": low, "high": high},
        "transaction_mean_ns": None if None in means else {"low": min(means) / above, "high": max(means) / below},
        "p99_ns": {},
        "verdict": "underdetermined",
        "explained_by": {"waits": 1.0},
        "mostly": "how long sessions waited for commits, and for rows that others held",
        "remedy": "describe the recorded hardware (--recorded-on)",
    }
    return replace(result, summary=result.summary | {"range": found})


def _range_of_tails(
    summary: Mapping[str, Any], names: Sequence[str], drawn: NDArray[np.float64]
) -> dict[str, dict[str, float]]:
    """Return the interval of each 99th percentile that all runs resolve."""
    figures = tail_figures(summary)
    found = {}
    for column, name in zip(drawn.T, names, strict=True):
        value = figures[name]["p99"]["value"]
        if value is not None and np.isfinite(column).all():
            low, high = np.quantile(column, (_TAIL, 1 - _TAIL))
            found[name] = {"low": value * float(low), "high": value * float(high)}
    return found


def _refilled(scenario: NamedScenario, at: float) -> NamedScenario:
    """Return a scenario whose limits refill as often as at a place of what is assumed of them."""

    def changed(limit: TokenBucket) -> TokenBucket:
        if (bounds := limit.refill_range_ns) is None:
            return limit
        interval_ns = limit.refill_interval
        multiple = _between((bounds[0] / interval_ns, bounds[1] / interval_ns), at)
        return limit.model_copy(update={"refill_interval": max(round(multiple * interval_ns), 1)})

    return scenario.with_limits(changed)


def _ordered(one: Draw) -> ProcessorCosts:
    """Return the costs of a draw with the order in which cores serve."""
    part = min(int((one.at["order"] + 1) / 2 * len(_ORDERS)), len(_ORDERS) - 1)
    return replace(one.processor, cpu_order=_ORDERS[part])


def _figures(
    run: Callable[[NamedScenario, StatementLoad, ProcessorCosts], Result],
    scenario: NamedScenario,
    load: StatementLoad,
    processor: ProcessorCosts,
    names: Sequence[str],
    note: Callable[[int], None],
) -> list[float]:
    """Return transactions a second, their mean, and the 99th percentiles of *names*; what is not resolved is no
    number.
    """
    summary = run(scenario, load, processor).summary
    note(1)
    figures = tail_figures(summary)
    found = [_point(summary["latency_ns"]["transaction"]["mean"])]
    found += [_point(figures[name]["p99"]) if name in figures else None for name in names]
    return [
        summary["throughput_per_s"]["transactions"]["value"],
        *(float("nan") if one is None else one for one in found),
    ]


def _point(figure: Mapping[str, Any]) -> float | None:
    """Return the value of a figure; of a part of the load that is over at once, which says nothing of other times, the
    middle of its interval: draws are held against each other.
    """
    if figure.get("basis") == ONE_BATCH and None not in (figure["low"], figure["high"]):
        return float(figure["low"] + figure["high"]) / 2
    value: float | None = figure["value"]
    return value


def _range(
    summary: Mapping[str, Any], draws: Sequence[Draw], drawn: NDArray[np.float64], unknown: Sequence[str]
) -> dict[str, Any]:
    """Return the interval of transactions/s and of their mean, and which of what is *unknown* makes it so wide."""
    rate = summary["throughput_per_s"]["transactions"]["value"]
    mean_ns = summary["latency_ns"]["transaction"]["mean"]["value"]
    error, joined = _error_beside_draws(summary)
    of_rate, of_mean = (multiples_of(error, figure) for figure in ("throughput", "mean"))
    if of_mean is None and of_rate is not None:  # clients of a closed loop: as much slower as fewer transactions end
        of_mean = (1 / of_rate[1], 1 / of_rate[0])
    columns = zip(drawn[:, :_TAILS].T, (of_rate, of_mean), strict=True)
    rates, means = (_widened(column, off, joined) for column, off in columns)
    logs = np.log(np.maximum(drawn[:, 0], 1e-9))
    shares = {name: _explained(np.array([one.at[name] for one in draws]), logs) for name in unknown}
    mostly = max(shares, key=lambda name: shares[name])
    wide = rates[1] > WIDE * rates[0]
    return {
        "draws": len(draws),
        "share": 1 - 2 * _TAIL,
        "transactions_per_s": {"low": rate * rates[0], "high": rate * rates[1]},
        "transaction_mean_ns": None if mean_ns is None else {"low": mean_ns * means[0], "high": mean_ns * means[1]},
        "verdict": "underdetermined" if wide else "determined",
        "explained_by": shares,
        "mostly": UNKNOWNS[mostly][0],
        "remedy": UNKNOWNS[mostly][1],
    }


def _error_beside_draws(summary: Mapping[str, Any]) -> tuple[Mapping[str, Any], Callable[[float, float], float]]:
    """Return how far off models are besides what is drawn, and how logs of both join.

    The errors of calibrated results beyond their recording were measured with what is drawn in them; those within it
    hardly depend on how far a prediction reaches, and are taken for both. They hold what is drawn within the recording.
    """
    verdict, error = summary["verdict"], summary["model_error"]
    if verdict["calibration"] != "calibrated":
        return error, math.hypot
    if error["basis"] == "extrapolated":
        return model_error_of(verdict | {"reach": WITHIN}), math.hypot
    return error, max


def _widened(
    drawn: NDArray[np.float64], off: tuple[float, float] | None, joined: Callable[[float, float], float]
) -> tuple[float, float]:
    """Return between which multiples of a prediction 80 % lie of what was *drawn*, and of what models are *off*, as
    logs of both are *joined*; 1 is always between them.
    """
    low, high = np.log(np.nanquantile(drawn, (_TAIL, 1 - _TAIL)))
    below, above = np.log(off or (1.0, 1.0))
    return math.exp(-joined(max(-low, 0.0), -below)), math.exp(joined(max(high, 0.0), above))


def _explained(at: NDArray[np.float64], logs: NDArray[np.float64]) -> float:
    """Return the share of the variance of *logs* that goes with an unknown."""
    if not logs.std() or not at.std():
        return 0.0
    return float(np.corrcoef(at, logs)[0, 1] ** 2)
