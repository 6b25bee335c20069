"""What is said of a tenant whose statements were recorded: transactions a second, against the recorded ones.

Its requests come from a run of the statements on the same hardware. Whether that hardware can replay them says nothing
of the load that was recorded.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tiersim.scenarios.caveats import in_doubt
from tiersim.simulator.result import Result
from tiersim.simulator.verdict import BEHIND_THROUGHPUT
from tiersim.units import NS_PER_S

#: What a result of derived requests says as the run of the statements does.
_OF_THE_RUN = ("verdict", "load", "throughput_shortfall_pct", "model_error", "range", "caveats", "load_not_run")
_OF_ITS_REPLAY = ("keeps", "sessions", "recorded_connections")
_OF_ITS_TRACE = ("name", "hash", "statements", "transactions", "span_ns")


def as_the_statements(result: Result, run: Result, ratio: float = 1.0) -> Result:
    """Return the *result* of requests with rate, verdict and expected range of the *run* of statements that they are
    from; *ratio* is how many times as fast they go as that run does.
    """
    said = run.summary if ratio == 1.0 else _times(ratio, run.summary)
    # how late sessions of derived requests end is no more than how well these are replayed
    replayed = {key: value for key, value in result.summary["replay"].items() if key != "late_sessions"}
    summary = result.summary | {key: said[key] for key in _OF_THE_RUN if key in said}
    summary |= {
        "replay": replayed | {key: said["replay"][key] for key in _OF_ITS_REPLAY},
        "trace": result.summary["trace"] | {key: said["trace"][key] for key in _OF_ITS_TRACE},
        "throughput_per_s": {
            **result.summary["throughput_per_s"],
            "transactions": said["throughput_per_s"]["transactions"],
        },
        "measured_latency_ns": {},  # nobody recorded these requests
    }
    summary.pop("in_doubt", None)  # of its requests
    if said["replay"]["keeps"] == "rate":  # the doubt hangs on processors, and on how long transactions take
        summary["in_doubt"] = in_doubt(said)
    return replace(result, summary=summary)


def recorded_per_s(trace: Mapping[str, Any]) -> float | None:
    """Return the recorded transactions a second of a result's *trace*; None where none were recorded."""
    return trace["transactions"] / trace["span_ns"] * NS_PER_S if trace.get("transactions") else None


def _times(ratio: float, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the *summary* of a run that goes *ratio* times as fast."""
    share = ratio * (1 - summary["throughput_shortfall_pct"] / 100)  # of the recorded transactions/s
    rate = {key: ratio * value if isinstance(value, float) else value
            for key, value in summary["throughput_per_s"]["transactions"].items()}  # fmt: skip
    found = {
        **summary,
        "throughput_shortfall_pct": 100 * (1 - share),
        "throughput_per_s": {**summary["throughput_per_s"], "transactions": rate},
    }
    if summary["verdict"]["load"] == "steady" and share < BEHIND_THROUGHPUT:
        text = f"too slow: {100 * share:.0f} % of the recorded transactions/s, as its requests take longer than alone"
        found["verdict"] = {**summary["verdict"], "load": "behind"}
        found["load"] = {**summary["load"], "explanation": text, "sustainable_load": share}
    if summary.get("range"):
        ends = {end: ratio * value for end, value in summary["range"]["transactions_per_s"].items()}
        # nobody knows how much longer transactions take
        found["range"] = {**summary["range"], "transactions_per_s": ends, "transaction_mean_ns": None, "p99_ns": {}}
    return found
