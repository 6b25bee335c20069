"""Checkpoints of a result: when they ran, and what latency does inside and outside of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiersim.cli.page.numbers import finite

if TYPE_CHECKING:
    import pyarrow as pa


def checkpoint_payload(summary: dict[str, Any], timeline: pa.Table) -> dict[str, Any] | None:
    """When checkpoints ran, on what basis that is said, and mean latencies inside and outside; None without any.

    An interval of the timeline counts as inside when its middle lies in a checkpoint. A saturated run has no mean that
    means anything.
    """
    import numpy as np

    found = summary.get("checkpoints") or summary["trace"].get("checkpoints") or []
    spans_ns = [(one["start_ns"], one["end_ns"]) for one in found if one.get("end_ns") is not None]
    if not spans_ns:
        return None
    payload: dict[str, Any] = {
        "spans_s": [[start / 1e9, end / 1e9] for start, end in spans_ns],
        "basis": sorted({one["basis"] for one in found if one.get("basis")}),
        "mean_us": {},
    }
    if not timeline.num_rows or summary["verdict"]["load"] == "saturated":
        return payload
    middle = (timeline["start_ns"].to_numpy() + timeline["end_ns"].to_numpy()) / 2
    inside = np.zeros(len(middle), bool)
    for start, end in spans_ns:
        inside |= (middle >= start) & (middle < end)
    in_recording = timeline["start_ns"].to_numpy() < summary["trace"]["span_ns"]
    arrivals = timeline["arrivals"].to_numpy()
    mean_us = np.nan_to_num(timeline["mean_ns"].to_numpy(zero_copy_only=False)) / 1e3
    classes = np.asarray(timeline["class"].to_pylist(), dtype=object)

    def weighted(chosen: np.ndarray) -> float | None:
        requests = int(arrivals[chosen].sum())
        return float((mean_us[chosen] * arrivals[chosen]).sum() / requests) if requests else None

    for name in sorted(set(classes)):
        own = (classes == name) & in_recording
        payload["mean_us"][name] = {"inside": weighted(own & inside), "outside": weighted(own & ~inside)}
    found_out: dict[str, Any] = finite(payload)
    return found_out
