"""The verdict of a sample on sessions: those of the whole are followed as a run lets them go, and as the twin does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.explorations import small_recording
from tests.recordings import closed_recording, rows_of, write_recording
from tiersim.operations import WRITE
from tiersim.random_numbers import SAMPLED_LATENCY, random_below
from tiersim.scenarios.exploring import sample as sampling
from tiersim.scenarios.exploring import sample_sessions
from tiersim.scenarios.exploring.sample import WINDOWS, Windows, WindowSample
from tiersim.scenarios.exploring.sample_sessions import drawn_from, follow_sessions, scales, writers_done
from tiersim.scenarios.exploring.sample_verdict import UNDECIDED
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import PlayedRecording, play
from tiersim.scenarios.sweeps.sources import RequestSource
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.result import Figure, Result
from tiersim.simulator.streams import CLOCK, NO_STREAMS, STREAM, Streams
from tiersim.traces.bundle import Bundle


def streams_of(rows: list[tuple[int, int, int, int]], categories: int = 2) -> Streams:
    """One session's commands: recorded time, category, latency in a run, and when it started late."""
    table = np.zeros(1, STREAM)
    table["end"], table["foreground"] = len(rows), 1
    recorded, category, latency, lag = np.array(rows, np.int64).reshape(-1, 4).T
    started = recorded + lag
    return NO_STREAMS._replace(
        streams=table, recorded_ns=recorded, started_ns=started, done_ns=started + latency,
        category=(category % categories).astype(np.uint8),
    )  # fmt: skip


_ROWS = st.lists(
    st.tuples(st.integers(0, 399), st.integers(0, 3), st.integers(1, 99), st.integers(0, 50)), min_size=1, max_size=30
).map(sorted)


@given(_ROWS)
def test_latencies_are_those_of_the_window_then_of_the_category_then_of_all(
    rows: list[tuple[int, int, int, int]],
) -> None:
    drawn = drawn_from(streams_of(rows, 4), 4, 100)
    for category in range(len(CATEGORIES)):
        for window in range(4):
            own = [row[2] for row in rows if row[1] == category and row[0] // 100 == window]
            expected = own or [row[2] for row in rows if row[1] == category] or [row[2] for row in rows]
            first, requests = drawn.first[category, window], drawn.requests[category, window]
            assert sorted(drawn.latency_ns[first : first + requests].tolist()) == sorted(expected)


def played(bundle: Path, name: str = "pcie-flash") -> tuple[RequestSource, Streams]:
    """A recording, and its streams after a run that kept when commands were done."""
    source = RequestSource(Bundle(bundle), None, None)
    run = play([PlayedRecording(source._playback, load_scenario(name))], keep_requests=True)
    assert run.streams is not None
    return source, run.streams


@pytest.mark.parametrize("name", ["pcie-flash", "hdd-100", "15k-raid10"])
def test_sessions_with_the_latencies_of_a_run_are_as_late_as_in_the_run(tmp_path: Path, name: str) -> None:
    source, ran = played(paused(tmp_path, 20_000_000), name)
    drawn = drawn_from(ran, WINDOWS, source.found.span_ns // WINDOWS)
    followed = follow_sessions(source.waiting(load_scenario(name)), drawn, source.found.span_ns, 1)
    last = ran.streams["end"] - 1
    assert followed.streams.started_ns[last] == pytest.approx(ran.started_ns[last], rel=0.05)
    assert followed.end_ns == pytest.approx(ran.done_ns.max(), rel=0.02)
    assert followed.done == pytest.approx((ran.done_ns < source.found.span_ns).mean(), abs=0.02)


def twin(s: Streams, latencies: list[int], until_ns: int, seed: int) -> tuple[list[int], int, int]:
    """The same from the definition, for one category and window: starts, how many end before a time, the last end."""
    starts: list[int] = []
    ends: list[int] = []
    for session in s.streams:
        own: list[int] = []
        now = 0
        for row in range(session["first"], session["end"]):
            start, ended = int(s.recorded_ns[row]), int(s.ended_before[row])
            if ended:
                free = sorted(own)[ended - 1]
                start = max(start, free) if s.waits_for[row] == CLOCK else free + int(s.think_ns[row])
            now = max(now, start)
            starts.append(now)
            own.append(now + latencies[random_below(len(latencies), seed, SAMPLED_LATENCY, 0, row)])
        ends += own
    return starts, sum(end < until_ns for end in ends), max(ends)


def test_sessions_are_followed_as_the_twin_does(tmp_path: Path) -> None:
    """Sessions with two requests at a time and pauses, of which some are longer than what a session waits for."""
    rng = np.random.default_rng(4)
    count = 600
    times = np.cumsum(rng.choice([50_000, 300_000, 40_000_000], count, p=[0.5, 0.4, 0.1]))
    rows = rows_of(times, rng.integers(50_000, 900_000, count), offset_bytes=rng.integers(0, 10**5, count) * 8192,
                   stream=rng.integers(0, 3, count).astype(np.int32))  # fmt: skip
    bundle = write_recording(tmp_path, rows, streams=["a", "b", "c"])
    source, ran = played(bundle)
    waiting = source.waiting(load_scenario("pcie-flash"))
    drawn = drawn_from(ran, 1, source.found.span_ns)
    for factor in (1, 40):
        slower = drawn._replace(latency_ns=drawn.latency_ns * factor)
        followed = follow_sessions(waiting, slower, source.found.span_ns, 3)
        starts, before, end_ns = twin(waiting.streams, slower.latency_ns.tolist(), source.found.span_ns, 3)
        assert followed.streams.started_ns.tolist() == starts
        assert (round(followed.done * count), followed.end_ns) == (before, end_ns)


def test_means_are_taken_to_the_ends_of_their_intervals() -> None:
    def figure(value: float | None, low: float | None, high: float | None) -> dict[str, Figure]:
        return {"mean": Figure(value=value, low=low, high=high, resolved=value is not None, basis="")}

    known = dict(zip(CATEGORIES, [figure(10.0, 9.0, 12.0), figure(None, 5.0, 15.0), figure(None, None, None)],
                     strict=False))  # fmt: skip
    low, high = scales(known, 1.5)
    assert low[:4] == pytest.approx([0.85, 0.25, 0.5, 1.0])
    assert high[:4] == pytest.approx([1.3, 1.75, 2.0, 1.0])


def both(bundle: Path, *settings: str, most: int = 3000) -> tuple[Result, Result]:
    """The results of a sample and of the whole."""
    trace, scenario = Bundle(bundle), load_scenario("hdd-100", list(settings))
    windows = Windows(trace.rows, trace.manifest.span_ns, most=most)
    source = RequestSource(trace, None, None, also=windows.add)
    sample: WindowSample = windows.sample(source.found, source.waiting)
    return sample.run(scenario, lambda _: None), source.run(scenario, lambda _: None, tables=False)


def paused(folder: Path, pause_ns: int) -> Path:
    """Eight sessions that read 20 pages one after the other, and pause."""
    columns = closed_recording(8, 3000, 300_000, 1_000_000)
    turn = np.tile(np.arange(3000) // 20, 8)
    times: NDArray[np.int64] = columns["time_ns"] + turn * pause_ns
    offsets = np.random.default_rng(5).integers(0, 100_000, len(times)) * 8192
    rows = rows_of(times, columns["latency_ns"], offset_bytes=offsets, stream=columns["stream"])
    return write_recording(folder, rows, streams=[f"session{n}" for n in range(8)])


@pytest.mark.parametrize(("pause_ms", "verdict"), [(20, "behind"), (2000, "steady")])
def test_pauses_that_no_window_shows_decide(tmp_path: Path, pause_ms: int, verdict: str) -> None:
    """Twenty reads from one disk take longer than recorded; pauses of two seconds make up for it. Windows are shorter
    than either: without the sessions of the whole nothing is decided.
    """
    bundle = paused(tmp_path, pause_ms * 1_000_000)
    sample, whole = both(bundle)
    assert (sample.summary["verdict"]["load"], whole.summary["verdict"]["load"]) == (verdict, verdict)
    assert sample.summary["throughput_shortfall_pct"] == pytest.approx(whole.summary["throughput_shortfall_pct"], abs=6)


def test_long_recordings_are_judged_by_their_windows_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "FOLLOWED_REQUESTS", 23_999)
    sample, _ = both(paused(tmp_path, 20_000_000), most=WINDOWS)
    assert sample.summary["verdict"]["load"] == UNDECIDED


def test_where_the_ends_of_the_intervals_disagree_nothing_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_factors", lambda: dict.fromkeys(("mean", "p50", "p95", "p99"), 1000.0))
    sample, _ = both(small_recording(tmp_path))
    assert sample.summary["verdict"]["load"] == UNDECIDED
    assert "either verdict may be right" in sample.summary["load"]["explanation"]


def test_writers_do_what_ends_in_the_time_of_the_sample() -> None:
    table = np.zeros(2, STREAM)
    table["first"], table["end"], table["foreground"] = [3, 0], [5, 3], [1, 0]  # a writer lies before a session
    streams = NO_STREAMS._replace(streams=table, done_ns=np.array([10, 20, 31, 99, 99]))
    assert writers_done(streams, 30) == pytest.approx(2 / 3)
    assert writers_done(streams._replace(streams=table[:1]), 30) == 1.0  # sessions alone


def test_a_load_is_not_decided_by_sessions_where_writers_say_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Bundle(paused(tmp_path, 2_000_000_000)).requests()
    last = rows.stream == 7
    rows = replace(rows, op=np.where(last, WRITE, rows.op).astype(np.uint8))
    (tmp_path / "again").mkdir()
    names = [*(f"session{n}" for n in range(7)), "kworker/0:1"]
    recorded = write_recording(tmp_path / "again", rows, streams=names)
    assert both(recorded, most=900)[0].summary["verdict"]["load"] == "steady"
    monkeypatch.setattr(sample_sessions, "writers_done", lambda *_: 0.0)
    found = both(recorded, most=900)[0].summary
    assert found["verdict"]["load"] == UNDECIDED, found
    assert "writers do 0.0% of their requests in the time of the sample" in found["load"]["explanation"]


def test_what_is_said_of_sessions_is_of_the_whole(tmp_path: Path) -> None:
    sample, whole = (one.summary for one in both(paused(tmp_path, 3_000_000_000), most=900))
    assert sample["verdict"]["load"] == whole["verdict"]["load"] == "steady"
    assert sample["replay"]["late_sessions"] == whole["replay"]["late_sessions"]
    rates = [one["throughput_per_s"]["requests"]["value"] for one in (sample, whole)]
    assert rates[0] == pytest.approx(rates[1], rel=0.05)
    assert sample["lag_ns"]["mean"] == pytest.approx(whole["lag_ns"]["mean"], rel=0.3, abs=20_000_000)
