"""Results side by side, and beside what was measured: ratios, what their intervals leave open, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiersim.cli.measured import THROUGHPUT, MeasuredFigure
from tiersim.cli.page.payload import ratio
from tiersim.cli.verdicts import Summary, incomparable, load_asked
from tiersim.scenarios.caveats import in_doubt
from tiersim.simulator.categories import STATISTICS

#: Parts of a summary that stand in the document as they are.
_COPIED = (
    "name",
    "verdict",
    "load",
    "bottleneck",
    "throughput_per_s",
    "throughput_shortfall_pct",
    "hit_ratio",
    "latency_ns",
    "cost",
)


def comparison(summaries: Sequence[Summary], measured: Sequence[MeasuredFigure] | None, source: str) -> dict[str, Any]:
    """Return the document ``tiersim.compare/1``: every result against the first, and all of them against *measured*."""
    document: dict[str, Any] = {
        "schema": "tiersim.compare/1",
        "baseline": summaries[0]["name"],
        "results": [_result(summary, summaries[0]) for summary in summaries],
    }
    if measured is not None:
        document["measured"] = _against_measured(summaries, measured, source)
    return document


def _result(summary: Summary, baseline: Summary) -> dict[str, Any]:
    copied = {key: summary[key] for key in _COPIED if key in summary} | {"in_doubt": in_doubt(summary)}
    trace = {key: summary["trace"].get(key) for key in ("name", "hash")}
    if summary is baseline:
        return {**copied, "trace": trace, "ratios": None, "no_ratios": None}
    why = _no_ratios(summary, baseline)
    return {**copied, "trace": trace, "ratios": None if why else _ratios(summary, baseline), "no_ratios": why}


def _no_ratios(summary: Summary, baseline: Summary) -> str | None:
    """Why a ratio would mean nothing, in a sentence; None where it means something."""
    why = incomparable(summary, baseline)
    if why is not None:
        return why
    saturated = [one["name"] for one in (baseline, summary) if one["verdict"]["load"] == "saturated"]
    if saturated:
        return (
            f"{' and '.join(saturated)} {'is' if len(saturated) == 1 else 'are'} saturated and"
            f" {'has' if len(saturated) == 1 else 'have'} no steady latency"
        )
    return None


def _ratios(summary: Summary, baseline: Summary) -> dict[str, Any]:
    """Ratio to the baseline of every latency and rate that both have, with what its interval says."""

    def of(figures: Summary, base: Summary, keys: Sequence[str]) -> dict[str, Any]:
        found = {key: ratio(base.get(key), figures.get(key)) for key in keys}
        return {key: {**one, "verdict": _said(one)} for key, one in found.items() if one is not None}

    latency, base = summary["latency_ns"], baseline["latency_ns"]
    queries, base_queries = summary.get("queries") or {}, baseline.get("queries") or {}
    rates, base_rates = summary["throughput_per_s"], baseline["throughput_per_s"]
    return {
        "latency_ns": {name: of(latency[name], base[name], tuple(STATISTICS)) for name in latency if name in base},
        "queries": {
            name: of(queries[name], base_queries[name], tuple(STATISTICS)) for name in queries if name in base_queries
        },
        "throughput_per_s": of(rates, base_rates, [key for key in rates if key in base_rates]),
    }


def _said(found: Mapping[str, float | None]) -> str:
    """What the interval of a ratio says: less, more, the same, or open."""
    low, high = found["low"], found["high"]
    if low == high == 1:
        return "same"
    if high is not None and high < 1:
        return "less"
    return "more" if low is not None and low > 1 else "open"


def _against_measured(summaries: Sequence[Summary], measured: Sequence[MeasuredFigure], source: str) -> dict[str, Any]:
    rows = []
    for one in measured:
        found = [_predicted(summary, one) for summary in summaries]
        if any(figure is not None for figure in found):
            predictions = [
                {"name": summary["name"], **_error(figure, one.value)}
                for summary, figure in zip(summaries, found, strict=True)
            ]
            unit = "per_s" if one.name == THROUGHPUT else "ns"
            rows.append(
                {
                    "class": one.name,
                    "statistic": one.statistic,
                    f"measured_{unit}": one.value,
                    "predictions": predictions,
                }
            )
    named = {(row["class"], row["statistic"]) for row in rows}
    return {
        "source": source,
        "rows": rows,
        "unmatched": sorted({one.name for one in measured if (one.name, one.statistic) not in named}),
        "loads": {summary["name"]: load for summary in summaries if (load := load_asked(summary)) != 1.0},
    }


def _predicted(summary: Summary, one: MeasuredFigure) -> Mapping[str, Any] | None:
    """Return the figure of a result that stands for what was measured; None where it has none."""
    if one.name == THROUGHPUT:
        tables: Mapping[str, Any] = {THROUGHPUT: summary["throughput_per_s"]}
    else:
        tables = {
            **{f"query {name}": query for name, query in (summary.get("queries") or {}).items()},
            **summary["latency_ns"],
        }
    found: Mapping[str, Any] | None = (tables.get(one.name) or {}).get(one.statistic)
    return found


def _error(figure: Mapping[str, Any] | None, measured: float) -> dict[str, Any]:
    """Predicted figure, its error in percent where it is resolved, and whether its interval holds what was measured."""
    if figure is None:
        return {"predicted": None, "error_pct": None, "interval_holds": None}
    value, low, high = (figure[key] for key in ("value", "low", "high"))
    known = figure["resolved"] and value is not None
    holds = None if None in (low, high) or low == high else bool(low <= measured <= high)  # a rate has no interval
    return {
        "predicted": dict(figure),
        "error_pct": 100 * (value / measured - 1) if known else None,
        "interval_holds": holds,
    }
