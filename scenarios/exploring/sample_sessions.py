"""What sessions of the whole recording would do if its requests took as long as those of its sample: from that comes
the verdict on a load whose requests wait for others.

Windows tear sessions apart: what a session waits for and how it makes up for a delay in its pauses takes longer than a
window. But who waits for whom, and for how long each thinks, is known of the whole recording without a simulation. So
each session of the whole is followed from request to request (:func:`tiersim.simulator.streams.next_start` has the
rules). What a request takes is drawn from the latencies of its category in the window of the same part of the
recording. Where there are none, from those of its category, then from all.

Requests at one time do not slow each other down here more than they did in the sample. Mean latencies have the
intervals of a sample. Sessions are followed with all latencies at the low ends, as they are, and at the high ends, with
writers that end as sessions do; and once with writers that do as much in their time as in the sample. Where the four
verdicts are not the same one, nothing is decided.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station import balances
from tiersim.kernel import kernel, table_set
from tiersim.random_numbers import SAMPLED_LATENCY, random_below
from tiersim.scenarios.causes import Waiting
from tiersim.scenarios.exploring.sample_verdict import undecided
from tiersim.scenarios.replay import Played
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.result import Figure, Result
from tiersim.simulator.streams import CLOCK, Streams
from tiersim.simulator.verdict import Flow, LoadVerdict, describe_load, judge_waiting, late_sessions
from tiersim.units import NS_PER_S

#: A mean latency without an interval is one of a few requests: they may have taken half or twice as long.
_UNKNOWN = (0.5, 2.0)
#: Writers that do less of their requests in their time are not expected to come to an end.
_LEAST_DONE = 0.01


@table_set
class Drawn(NamedTuple):
    """Latencies to draw from: of a category and window are *requests* from *first* on, to be taken *scale* times."""

    latency_ns: NDArray[np.int64]
    first: NDArray[np.int64]  # (categories, windows)
    requests: NDArray[np.int64]  # (categories, windows)
    scale: NDArray[np.float64]  # (categories,)


def drawn_from(sample: Streams, windows: int, length_ns: int) -> Drawn:
    """Return what requests of the whole are drawn from, after a run of the sample that kept when commands were done."""
    latency_ns = sample.done_ns - sample.started_ns
    window = np.minimum(sample.recorded_ns // length_ns, windows - 1)
    cell = sample.category.astype(np.int64) * windows + window
    own = np.bincount(cell, minlength=len(CATEGORIES) * windows).reshape(len(CATEGORIES), windows)
    first = (np.cumsum(own) - own.ravel()).reshape(own.shape)
    of_category = own.sum(axis=1, keepdims=True)
    nothing, never = own == 0, np.broadcast_to(of_category == 0, own.shape)
    count = np.where(never, len(latency_ns), np.where(nothing, of_category, own))
    first = np.where(never, 0, np.where(nothing, first[:, :1], first))
    return Drawn(latency_ns[np.argsort(cell, kind="stable")], first, count, np.ones(len(CATEGORIES)))


@table_set
class Track(NamedTuple):
    """What is noted of sessions that are followed, by command as in their streams."""

    start_ns: NDArray[np.int64]  # of a command
    end_ns: NDArray[np.int64]  # of the n-th command of a session that ends, from the session's first place on
    done: NDArray[np.int64]  # (2,) commands that end within the recording's time, and when the last one ends


@kernel
def follow(s: Streams, drawn: Drawn, span_ns: int, seed: int, track: Track) -> None:
    """Follow the sessions of *s*, a recording of *span_ns*; fills *track*."""
    windows = drawn.first.shape[1]
    part_ns = max(span_ns // windows, 1)
    for stream in range(s.streams.size):
        r = s.streams[stream]
        if not r["foreground"]:
            continue
        first = int(np.int64(r["first"]))
        now = 0
        for row in range(first, int(np.int64(r["end"]))):
            start = s.recorded_ns[row]
            ended = int(np.int64(s.ended_before[row]))
            if ended > 0:
                free = track.end_ns[first + ended - 1]
                start = max(start, free) if s.waits_for[row] == CLOCK else free + s.think_ns[row]
            now = max(now, start)
            track.start_ns[row] = now
            category = int(s.category[row])
            window = min(s.recorded_ns[row] // part_ns, windows - 1)
            place = random_below(drawn.requests[category, window], seed, SAMPLED_LATENCY, 0, row)
            took = drawn.latency_ns[drawn.first[category, window] + place]
            end = now + int(took * drawn.scale[category])
            track.done[0] += end < span_ns
            track.done[1] = max(track.done[1], end)
            behind = row  # ends are kept in order
            while behind > first and track.end_ns[behind - 1] > end:
                track.end_ns[behind] = track.end_ns[behind - 1]
                behind -= 1
            track.end_ns[behind] = end


class Followed(NamedTuple):
    """The sessions of a recording after they were followed."""

    streams: Streams
    done: float  # share of their requests that end within the recording's time
    end_ns: int


def follow_sessions(waiting: Waiting, drawn: Drawn, span_ns: int, seed: int) -> Followed:
    """Follow the sessions of a recording of *span_ns*."""
    s = waiting.streams
    track = Track(s.recorded_ns.copy(), np.zeros(s.commands, np.int64), np.zeros(2, np.int64))
    follow(s, drawn, span_ns, seed, track)
    own = s.streams[s.streams["foreground"] == 1]
    requests = int((own["end"].astype(np.int64) - own["first"]).sum())
    within, end_ns = track.done.tolist()
    return Followed(s._replace(started_ns=track.start_ns), within / max(requests, 1), end_ns)


def scales(latencies: Mapping[str, Any], factor: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the intervals of mean latencies, made *factor* times as wide, as multiples of the mean, by
    category.
    """
    ends = [_ends(latencies[name]["mean"], factor) if name in latencies else (1.0, 1.0) for name in CATEGORIES]
    low, high = np.array(ends).T
    return low, high


def _ends(figure: Figure, factor: float) -> tuple[float, float]:
    low, high = figure["low"], figure["high"]
    if low is None or high is None or high <= 0:
        return _UNKNOWN
    value = (low + high) / 2 if figure["value"] is None else figure["value"]
    return max(1 - factor * (1 - low / value), 0.0), 1 + factor * (high / value - 1)


def decided_by_sessions(
    result: Result, played: Played, waiting: Waiting, span_ns: int, factor: float, windows: int, length_ns: int
) -> Result:
    """Return the *result* of a sample, *played* with when commands were done, with the verdict on sessions of the whole
    recording of *span_ns*; *factor* is how many times wider intervals of means are than *result* has them.
    """
    assert played.streams is not None
    summary, seed = result.summary, played.parts[0].scenario.model.replay.seed
    drawn = drawn_from(played.streams, windows, length_ns)
    low, high = scales(summary["latency_ns"], factor)
    found = [
        _judged(played, waiting, drawn._replace(scale=scale), span_ns, seed)
        for scale in (low, np.ones(len(CATEGORIES)), high)
    ]
    first, judged, last = (one.load for one in found)
    done = writers_done(played.streams, windows * length_ns)
    if _judged(played, waiting, drawn, span_ns, seed, done).load.verdict != judged.verdict:
        why = f"writers do {done:.1%} of their requests in the time of the sample"
        return replace(result, summary=summary | undecided(summary, why))
    if len({one.load.verdict for one in found}) > 1:
        why = (
            f"the whole would fall short by {max(first.shortfall_pct, 0):.1f} to {max(last.shortfall_pct, 0):.1f} % of"
            " its throughput, and either verdict may be right"
        )
        return replace(result, summary=summary | undecided(summary, why))
    left = balances(played.plant, played.outcome.end_ns)
    rates = sorted(one.per_s for one in found)
    return replace(
        result,
        summary=summary
        | {
            "verdict": summary["verdict"] | {"load": judged.verdict},
            "load": describe_load(judged, left, played.stations, played.outcome.end_ns),
            "replay": summary["replay"] | {"late_sessions": found[1].late_sessions},
            "lag_ns": found[1].lag_ns,
            "throughput_per_s": {
                "requests": Figure(value=found[1].per_s, low=rates[0], high=rates[-1], resolved=True, basis="followed")
            },
            "throughput_shortfall_pct": judged.shortfall_pct,
        },
    )


def writers_done(sample: Streams, span_ns: int) -> float:
    """Return the share of the requests of writers that a *sample* of *span_ns* did in its time."""
    own = _writers(sample)
    return float((sample.done_ns[own] <= span_ns).mean()) if own.any() else 1.0


def _writers(s: Streams) -> NDArray[np.bool_]:
    """Tell which requests no session waits for."""
    streams = s.streams[np.argsort(s.streams["first"])]  # a stream's requests lie together
    return np.repeat(streams["foreground"] == 0, streams["end"].astype(np.int64) - streams["first"])


class _Judged(NamedTuple):
    """What is said of a load whose sessions were followed."""

    load: LoadVerdict
    late_sessions: int
    per_s: float  # requests that end within the recording's time
    lag_ns: dict[str, float]  # of requests of sessions, as a run has it


def _judged(
    played: Played, waiting: Waiting, drawn: Drawn, span_ns: int, seed: int, of_writers: float | None = None
) -> _Judged:
    """Judge sessions with latencies *drawn*, and writers that do the share *of_writers*, or as much as sessions."""
    followed = follow_sessions(waiting, drawn, span_ns, seed)
    s, writers = followed.streams, _writers(followed.streams)
    written = int(writers.sum())
    end_ns = followed.end_ns
    if of_writers is None:
        of_writers = followed.done
    elif written:
        end_ns = max(end_ns, round(span_ns / max(of_writers, _LEAST_DONE)))
    completions = np.zeros(len(played.metrics.completions) - 1, np.int64)
    completions[0] = round(followed.done * (s.commands - written) + of_writers * written)  # only their sum is looked at
    flow, sessions = Flow("requests", completions, completions), waiting.sessions(s)
    load = judge_waiting(played.metrics, played.stations, span_ns, end_ns, s.commands, sessions, flow)
    lag_ns = np.where(writers, 0, s.started_ns - s.recorded_ns)  # writers follow sessions, or the clock
    return _Judged(
        load,
        len(late_sessions(sessions.late_ns, span_ns)),
        float(completions[0]) / max(min(span_ns, followed.end_ns), 1) * NS_PER_S,
        {
            "mean": float(lag_ns.sum()) / max(s.commands - written, 1),
            "max": float(max(lag_ns.max(), 0)),
            "at_end": float(s.started_ns.max() - (span_ns - 1)),
        },
    )
