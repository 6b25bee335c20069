"""Checkpoints of a result → what the page draws of them: when they ran, a row for each, latencies inside and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiersim.cli.page.numbers import finite
from tiersim.cli.page.series import MEASURED_AT_END, counted_ns

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

#: So many checkpoints of a result are listed; all of them are shaded.
MOST_ROWS = 200


def checkpoint_payload(summary: dict[str, Any], timeline: pa.Table) -> dict[str, Any] | None:
    """When checkpoints ran, on what basis that is said, and mean latencies inside and outside; None without any.

    An interval of the timeline counts as inside when its middle lies in a checkpoint. A saturated run has no mean that
    means anything. Of simulated checkpoints there is more: their phases, a row for each, and what the result itself
    says of inside and outside.
    """
    import numpy as np

    found = summary.get("checkpoints") or summary["trace"].get("checkpoints") or []
    saturated = summary["verdict"]["load"] == "saturated"
    from_ns, until_ns = counted_ns(summary)
    spans_ns = [(one["start_ns"], one["end_ns"] or until_ns) for one in found if one.get("end_ns") or "trigger" in one]
    spans_ns = [(start, end) for start, end in spans_ns if start < end]
    if not spans_ns:
        return None
    payload: dict[str, Any] = {
        "spans_s": [[start / 1e9, end / 1e9] for start, end in spans_ns],
        "basis": sorted({one["basis"] for one in found if one.get("basis")}),
        "mean_us": {},
        **(_simulated(summary, until_ns, saturated=saturated) if "trigger" in found[0] else {}),
    }
    if not timeline.num_rows or saturated:
        return payload
    middle = (timeline["start_ns"].to_numpy() + timeline["end_ns"].to_numpy()) / 2
    inside = np.zeros(len(middle), bool)
    for start, end in spans_ns:
        inside |= (middle >= start) & (middle < end)
    in_recording = (timeline["start_ns"].to_numpy() >= from_ns) & (timeline["start_ns"].to_numpy() < until_ns)
    mean_us = np.nan_to_num(timeline["mean_ns"].to_numpy(zero_copy_only=False)) / 1e3
    classes = np.asarray(timeline["class"].to_pylist(), dtype=object)
    arrivals, completions = timeline["arrivals"].to_numpy(), timeline["completions"].to_numpy()
    measured = np.where(classes == MEASURED_AT_END, completions, arrivals)

    def weighted(chosen: np.ndarray) -> float | None:
        requests = int(measured[chosen].sum())
        return float((mean_us[chosen] * measured[chosen]).sum() / requests) if requests else None

    for name in sorted(set(classes)):
        own = (classes == name) & in_recording
        payload["mean_us"][name] = {"inside": weighted(own & inside), "outside": weighted(own & ~inside)}
    found_out: dict[str, Any] = finite(payload)
    return found_out


def _simulated(summary: dict[str, Any], until_ns: int, *, saturated: bool) -> dict[str, Any]:
    """What a result of statements says of its checkpoints; without latencies and dips where it is saturated."""
    hidden: dict[str, Any] = {"latency_ns": {}, "dip_pct": None} if saturated else {}
    # one that begins as the recording ends has no part in it
    rows = [{**one, **hidden} for one in summary["checkpoints"] if one["start_ns"] < until_ns]
    return {
        "syncing_s": [
            [(one["start_ns"] + one["write_ns"]) / 1e9, (one["end_ns"] or until_ns) / 1e9]
            for one in rows
            if one["write_ns"] is not None
        ],
        "rows": [{key: value for key, value in one.items() if key != "basis"} for one in rows[:MOST_ROWS]],
        "left_out": max(len(rows) - MOST_ROWS, 0),
        "impact": summary.get("checkpoint_impact"),
        "stalls": summary.get("stalls"),
    }
