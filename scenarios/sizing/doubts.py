"""Targets that are met by less than models have been off: what was judged as met may be missed on real hardware."""

from collections.abc import Iterator, Mapping
from typing import Any

from tiersim.scenarios.model_error import model_error_of, multiples_of
from tiersim.scenarios.sizing.judging import latencies_of
from tiersim.scenarios.sizing.targets import Target
from tiersim.units import format_ns


def doubts_of(target: Target, summary: Mapping[str, Any], counted: str) -> Iterator[str]:
    """Yield how a target that a run met may be missed: a sentence for each figure that is met by less than models have been off.

    The run is taken by its summary, its throughput is of *counted*. Of a load (``throughput >= 1.5x``) nothing is said: it is carried or not, without a figure to be off.
    """
    error = model_error_of(summary["verdict"])
    if target.kind == "throughput":
        figure = summary["throughput_per_s"][counted]
        least = figure["low"] * multiples_of(error, "throughput")[0]
        if least < target.limit:
            yield f"{figure['value']:,.0f} {counted}/s are predicted, real may be {least:,.0f}/s, not {target.limit:,.0f}/s"
    elif target.kind == "latency":
        for name, figures in latencies_of(target, summary):
            figure = figures[target.statistic]
            most = figure["high"] * multiples_of(error, target.statistic)[1]
            if most >= target.limit:
                predicted = format_ns(figure["high"] if figure["value"] is None else figure["value"])
                what, limit = f"{target.statistic}({name})", format_ns(target.limit)
                yield f"{what} is predicted as {predicted}, real it may be {format_ns(most)}, not below {limit}"
