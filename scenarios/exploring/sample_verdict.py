"""What a sample of windows can say of the load: its own verdict, where the windows bear it out, else that it is not
decided.

Windows lie one behind the other in a sample, the recording's time between them is gone. A session that falls behind is
as far behind in the next window, and what it makes up for in the pauses between its requests is seen only where a
pause is shorter than a window. So the sample's verdict is not enough. Within a window, though, the time between two
requests of a session is as it was recorded. If the run takes longer for it, the session falls behind by the difference.
Time outside of such pairs of requests is not seen. At best all of it is pause, and the session makes up for as much.

A load is carried where sessions fall behind by no more than a run may; it is not where they fall behind by more than
that and all pauses that there can be. Between the two, or where the sample's verdict is another one, nothing is
decided. Each limit is compared with the near end of an 80 % interval of the growth, from the scatter of the windows.

A write cache remembers for longer than a window: one that was full for as long may be full for good in the whole. No
load is seen to be carried by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tiersim.devices.plant import Station
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.result import NORMAL_90, Result
from tiersim.simulator.streams import Streams
from tiersim.simulator.verdict import ALWAYS_BUSY, BEHIND_THROUGHPUT, STORING

UNDECIDED = "undecided"
_MOST_BEHIND = 1 - BEHIND_THROUGHPUT


class Growth(NamedTuple):
    """By how much of their time sessions fall behind, and how much of it the windows show."""

    share: float
    half_width: float  # of its 80 % interval
    seen: float


def growth_within(streams: Streams, windows: int, length_ns: int) -> Growth | None:
    """Return the growth of the lag within windows after a run; None where no session has two requests in one.

    Sessions count by their requests. Time between requests of two windows is not seen; the lag grows in it as it does
    between those of one.
    """
    sessions = streams.streams[streams.streams["foreground"] == 1]
    growth, seen_ns = np.zeros(windows), 0.0
    weights = pairs = 0
    for first, end in zip(sessions["first"].tolist(), sessions["end"].tolist(), strict=True):
        recorded_ns, requests = streams.recorded_ns[first:end], end - first
        window = np.minimum(recorded_ns // length_ns, windows - 1)
        same = window[1:] == window[:-1]
        lag_ns = np.diff(streams.started_ns[first:end] - recorded_ns)[same]
        growth += requests * np.bincount(window[1:][same], lag_ns, windows)
        seen_ns += requests * float(np.diff(recorded_ns)[same].sum())
        weights += requests
        pairs += int(same.sum())
    if not pairs:
        return None
    time_ns = windows * length_ns
    growth /= pairs * time_ns  # ÷ requests: the mean of sessions; × requests ÷ pairs: what is not seen grows alike
    half_width = NORMAL_90 * float(growth.std(ddof=1)) * np.sqrt(windows)
    return Growth(float(growth.sum()), half_width, seen_ns / weights / time_ns)


def of_sessions(verdict: str, growth: Growth | None) -> str:
    """Return the verdict on sessions that wait for answers: that of the sample, or UNDECIDED."""
    if growth is None:
        return UNDECIDED
    if verdict == "steady":
        return verdict if growth.share + growth.half_width <= _MOST_BEHIND else UNDECIDED
    return verdict if growth.share - growth.half_width >= _MOST_BEHIND + 1 - growth.seen else UNDECIDED


def of_arrivals(verdict: str, utilisation: float, mean_ns: float, length_ns: int) -> str:
    """Return the verdict on requests that come by the clock: ``steady`` stands only where no part is always busy and
    the mean latency is at most a window, since longer requests wait for those of other windows.
    """
    seen = utilisation < ALWAYS_BUSY and mean_ns <= length_ns
    return verdict if seen or verdict != "steady" else UNDECIDED


def decided(result: Result, streams: Streams | None, mean_ns: float, windows: int, length_ns: int) -> Result:
    """Return a result of a sample with the verdict that it can give; *streams* are those that were run, and *mean_ns*
    the mean latency.
    """
    summary = result.summary
    said = summary["verdict"]["load"]
    if summary["lag_ns"] is None or streams is None:
        verdict = of_arrivals(said, summary["bottleneck"]["utilisation"], mean_ns, length_ns)
        why = "a part is always busy in it, or its requests take longer than a window"
    else:
        growth = growth_within(streams, windows, length_ns)
        verdict = of_sessions(said, growth)
        why = (
            "no session has two requests in one of its windows"
            if growth is None
            else f"in its windows sessions fall behind by {growth.share:.0%} of the time, and pauses outside of them"
            " may make up for that or not"
        )
    return result if verdict == said else replace(result, summary=summary | undecided(summary, why))


def was_full(metrics: Metrics, stations: Sequence[Station], windows: int) -> bool:
    """Tell whether a write cache was full for as long as one of so many *windows* of a run."""
    bounds = np.linspace(0, len(metrics.arrivals) - 1, windows + 1).astype(np.int64)
    for index, station in enumerate(stations):
        if station.kind == STORING:
            held_ns = np.append(0, metrics.work_ns[:, index, 0])[bounds]
            room_ns = station.servers[0] * np.diff(bounds) * int(metrics.interval_ns[0])
            if (np.diff(held_ns) >= ALWAYS_BUSY * room_ns).any():
                return True
    return False


def while_not_full(result: Result, full: bool) -> Result:
    """Return a result of a sample without the verdict that a load is carried if a write cache *was_full* in it."""
    summary = result.summary
    if not full or summary["verdict"]["load"] != "steady":
        return result
    why = "a write cache is full in it at times, and may be full for good in the whole"
    return replace(result, summary=summary | undecided(summary, why))


def undecided(summary: Mapping[str, Any], why: str) -> dict[str, Any]:
    """Return what the summary of a sample says of the load where nothing is decided; *why* is a clause."""
    nothing = dict.fromkeys(("station", "resource", "since_ns", "sustainable_load"))
    return {
        "verdict": summary["verdict"] | {"load": UNDECIDED},
        "load": summary["load"] | nothing | {"explanation": f"not decided by a sample: {why}. The whole will say"},
    }
