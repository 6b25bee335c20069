"""How far a device's simulated response times are from measured ones: the demerit figure.

Ruemmler & Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994: the root mean square of the
horizontal distance between two distributions of response times. With as many simulated as measured values it is the
root mean square of the difference of both, sorted. Reads and writes are scored apart, too: errors of opposite sign
cancel in the mix. What has a low priority is replayed and not scored: its host may have held it back.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station import Device
from tiersim.errors import ScenarioError
from tiersim.operations import READ, WRITE
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.model import Scenario
from tiersim.scenarios.replay import Playback, replay
from tiersim.scenarios.survey import TraceSurvey
from tiersim.traces.schema import FLAG_HELD_BACK
from tiersim.units import NS_PER_MS

#: Runs whose scores are averaged: where a platter stands when a trace begins is not recorded.
SEEDS = 10


def demerit_ns(measured_ns: NDArray[np.int64], simulated_ns: NDArray[np.int64]) -> float:
    """Root mean square of the difference of sorted response times; both have the same length."""
    return float(np.sqrt(np.mean((np.sort(measured_ns) - np.sort(simulated_ns)).astype(np.float64) ** 2)))


@dataclass(frozen=True)
class Responses:
    """Reads and writes of a trace, in order, with their measured response times and the simulated ones of each seed."""

    trace: str
    op: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    measured_ns: NDArray[np.int64]
    simulated_ns: NDArray[np.int64]  # by seed, from 1 on, and request


def respond(
    found: TraceSurvey,
    name: str,
    device: Device,
    *,
    seeds: int = SEEDS,
    progress: Callable[[int, int], None] | None = None,
) -> Responses:
    """Replay a trace on one *device*, with seeds 1 to *seeds*.

    Requests wait for what they waited for when they were recorded. Raises ScenarioError when the trace does not fit on
    the device, or has no latency of some of its reads or writes.
    """
    playback = Playback(found)
    trace = playback.recorded
    scored = ((trace.op == READ) | (trace.op == WRITE)) & (trace.flags & FLAG_HELD_BACK == 0)
    missing = int(np.count_nonzero(scored & (trace.latency_ns < 0)))
    if missing or not scored.any():
        raise ScenarioError(
            f"{found.path}: {missing:,} of its reads and writes have no measured latency to compare with; "
            "give a trace in which all were measured"
        )
    simulated = []
    for seed in range(1, seeds + 1):
        model = Scenario.model_validate({"volumes": {"data": {"device": name}}, "replay": {"seed": seed}})
        result = replay(found, NamedScenario(name, model, {"data": device}), keep_requests=True, playback=playback)
        assert result.requests is not None
        took = result.requests["done_ns"].to_numpy() - result.requests["start_ns"].to_numpy()
        simulated.append((took + trace.time_ns - trace.intended_ns)[scored])
        if progress is not None:
            progress(seed, seeds)
    return Responses(
        found.path.absolute().name.removesuffix(".trace"),
        trace.op[scored],
        trace.offset_bytes[scored],
        trace.length_bytes[scored],
        trace.latency_ns[scored],
        np.array(simulated),
    )


def score(found: TraceSurvey, name: str, device: Device) -> dict[str, Any]:
    """Score the response times of a device on a trace, see :func:`respond`: ``tiersim.demerit/1``."""
    return summary(respond(found, name, device), name)


def summary(responses: Responses, name: str) -> dict[str, Any]:
    """Return means over the seeds of all requests, of reads, and of writes, and between which ends the demerits lie."""
    op = responses.op
    groups = {"all": np.ones(len(op), np.bool_), "read": op == READ, "write": op == WRITE}
    scores: dict[str, Any] = {}
    for key, own in groups.items():
        if not own.any():
            continue
        runs = [_score(responses.measured_ns[own], simulated[own]) for simulated in responses.simulated_ns]
        demerits = [run["demerit_ms"] for run in runs]
        scores[key] = {figure: float(np.mean([run[figure] for run in runs])) for figure in runs[0]} | {
            "demerit_least_ms": min(demerits),
            "demerit_most_ms": max(demerits),
            "requests": int(np.count_nonzero(own)),
        }
    return {
        "schema": "tiersim.demerit/1",
        "trace": responses.trace,
        "device": name,
        "seeds": len(responses.simulated_ns),
        **scores.pop("all"),
        **scores,
    }


def demerits_ms(responses: Responses) -> tuple[float, ...]:
    """Demerit of all requests with each seed."""
    return tuple(demerit_ns(responses.measured_ns, simulated) / NS_PER_MS for simulated in responses.simulated_ns)


def request_lines(responses: Responses) -> Iterator[str]:
    """Each request with each seed, as lines of CSV."""
    yield "seed,op,offset_bytes,length_bytes,measured_ns,simulated_ns\n"
    columns = (responses.op, responses.offset_bytes, responses.length_bytes, responses.measured_ns)
    for seed, simulated in enumerate(responses.simulated_ns, 1):
        for op, offset, length, measured, took in zip(*columns, simulated, strict=True):
            yield f"{seed},{'read' if op == READ else 'write'},{offset},{length},{measured},{took}\n"


def _score(measured_ns: NDArray[np.int64], simulated_ns: NDArray[np.int64]) -> dict[str, float]:
    demerit, mean = demerit_ns(measured_ns, simulated_ns), float(measured_ns.mean())
    p99, simulated_p99 = np.quantile(measured_ns, 0.99), np.quantile(simulated_ns, 0.99)
    return {
        "measured_mean_ms": mean / NS_PER_MS,
        "measured_p99_ms": float(p99) / NS_PER_MS,
        "simulated_mean_ms": float(simulated_ns.mean()) / NS_PER_MS,
        "demerit_ms": demerit / NS_PER_MS,
        "demerit_pct_of_mean": 100 * demerit / mean,
        "mean_error_pct": 100 * (float(simulated_ns.mean()) / mean - 1),
        "p99_error_pct": float(100 * (simulated_p99 / p99 - 1)),
    }
