"""One storage against another: ratios of latencies and of throughput, with what their intervals leave open."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

STATISTICS = ("mean", "p50", "p95", "p99", "p999")


def ratio(a: Any, b: Any) -> dict[str, float | None] | None:
    """b ÷ a of two figures (or plain numbers, which are exact): ``value``, ``low``, ``high``; None when nothing is
    known.

    ``low`` and ``high`` come from the ends of both intervals. ``value`` is None unless both figures are resolved.
    """
    (a_value, a_low, a_high), (b_value, b_low, b_high) = _parts(a), _parts(b)
    low = b_low / a_high if b_low is not None and a_high else None
    high = b_high / a_low if b_high is not None and a_low else None
    value = b_value / a_value if b_value is not None and a_value else None
    if value is None and low is None and high is None:
        return None
    return {
        key: None if one is None else float(f"{one:.4g}")
        for key, one in zip(("value", "low", "high"), (value, low, high), strict=True)
    }


def ratios(a_latency_ns: dict[str, Any], b_latency_ns: dict[str, Any]) -> dict[str, Any]:
    """b ÷ a for every purpose and statistic that both have: ``{purpose: {statistic: ratio}}``."""
    return {
        purpose: {
            key: found
            for key in STATISTICS
            if (found := ratio(a_latency_ns[purpose].get(key), b_latency_ns[purpose].get(key))) is not None
        }
        for purpose in sorted(a_latency_ns.keys() & b_latency_ns.keys())
    }


def throughput_ratios(a_per_s: dict[str, float], b_per_s: dict[str, float]) -> dict[str, Any]:
    """b ÷ a of what was completed, for every purpose that both have."""
    return {purpose: ratio(a_per_s[purpose], b_per_s[purpose]) for purpose in sorted(a_per_s.keys() & b_per_s.keys())}


def all_ratios(scenarios: Sequence[dict[str, Any]], recorded_ns: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Every pair that replayed the same trace: ``"0:2"`` is scenario 2 ÷ scenario 0, ``"r:2"`` scenario 2 ÷ recorded.

    Each has ``latency`` and ``throughput``; what arrived counts as the throughput of the recorded hardware.
    """
    pairs = {
        f"{i}:{j}": {
            "latency": ratios(a["latency_ns"], b["latency_ns"]),
            "throughput": throughput_ratios(a["completed_per_s"], b["completed_per_s"]),
        }
        for (i, a), (j, b) in itertools.combinations(enumerate(scenarios), 2)
        if a["trace"] == b["trace"]
    }
    return pairs | {
        f"r:{i}": {
            "latency": ratios(recorded_ns[one["trace"]], one["latency_ns"]),
            "throughput": throughput_ratios(one["arrived_per_s"], one["completed_per_s"]),
        }
        for i, one in enumerate(scenarios)
    }


def _parts(figure: Any) -> tuple[float | None, float | None, float | None]:
    if figure is None:
        return None, None, None
    if isinstance(figure, dict):
        return figure["value"] if figure.get("resolved") else None, figure.get("low"), figure.get("high")
    return figure, figure, figure
