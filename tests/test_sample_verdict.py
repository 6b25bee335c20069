"""The verdict on load of a sample: what windows show of it, beside a plain twin, and when nothing is decided."""

from itertools import pairwise
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explorations import small_recording
from tests.recordings import closed_recording, rows_of, write_recording
from tiersim.operations import WRITE
from tiersim.scenarios.exploring import explorer
from tiersim.scenarios.exploring.sample import WINDOWS, Windows, WindowSample
from tiersim.scenarios.exploring.sample_verdict import (
    UNDECIDED,
    Growth,
    growth_within,
    of_arrivals,
    of_sessions,
    was_full,
    while_not_full,
)
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import Playback, PlayedRecording, play
from tiersim.scenarios.sizing.targets import parse_target
from tiersim.scenarios.survey import survey
from tiersim.scenarios.sweeps.sources import RequestSource
from tiersim.simulator.result import NORMAL_90, Result
from tiersim.simulator.streams import NO_STREAMS, STREAM, Streams
from tiersim.traces.bundle import Bundle


def streams_of(sessions: list[list[tuple[int, int]]], foreground: int = 1) -> Streams:
    """Streams whose commands are pairs of a recorded time and a lag."""
    rows = [row for session in sessions for row in session]
    table = np.zeros(len(sessions), STREAM)
    ends = np.cumsum([len(session) for session in sessions])
    table["end"], table["first"], table["foreground"] = ends, ends - [len(one) for one in sessions], foreground
    recorded_ns, lag_ns = np.array(rows, np.int64).reshape(-1, 2).T
    return NO_STREAMS._replace(streams=table, recorded_ns=recorded_ns, started_ns=recorded_ns + lag_ns)


def twin(sessions: list[list[tuple[int, int]]], windows: int, length_ns: int) -> Growth | None:
    """The same from the definition, pair by pair."""
    requests = sum(map(len, sessions))
    by_window, seen, pairs = [0.0] * windows, 0.0, 0
    for session in sessions:
        for (before, lag), (after, later) in pairwise(session):
            window = min(after // length_ns, windows - 1)
            if window == min(before // length_ns, windows - 1):
                by_window[window] += len(session) / requests * (later - lag)
                seen += len(session) / requests * (after - before)
                pairs += 1
    if not pairs:
        return None
    time_ns = windows * length_ns
    shares = [grown * requests / pairs / time_ns for grown in by_window]
    return Growth(sum(shares), NORMAL_90 * stdev(shares) * windows**0.5, seen / time_ns)


_COMMANDS = st.lists(st.tuples(st.integers(0, 399), st.integers(-50, 500)), min_size=1, max_size=12).map(sorted)


@given(st.lists(_COMMANDS, min_size=1, max_size=5))
def test_growth_within_windows_is_that_of_its_definition(sessions: list[list[tuple[int, int]]]) -> None:
    found, expected = growth_within(streams_of(sessions), 4, 100), twin(sessions, 4, 100)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found == pytest.approx(expected)


def test_what_keeps_the_pace_of_others_says_nothing() -> None:
    assert growth_within(streams_of([[(0, 0), (10, 5)]], foreground=0), 4, 100) is None


def test_time_between_windows_does_not_count() -> None:
    """The lag of a session falls by 100 from window to window, which are apart in the recording, and grows in each."""
    session = [(100 * window + place, place) for window in range(4) for place in (0, 50)]
    assert growth_within(streams_of([session]), 4, 100) == pytest.approx(Growth(1.0, 0.0, 0.5))


@pytest.mark.parametrize(
    ("said", "growth", "verdict"),
    [
        ("steady", Growth(0.0, 0.01, 0.1), "steady"),
        ("steady", Growth(-0.2, 0.1, 0.0), "steady"),
        ("steady", Growth(0.03, 0.03, 1.0), UNDECIDED),  # perhaps by more than 5 %
        ("steady", Growth(0.10, 0.01, 0.1), UNDECIDED),  # its windows say otherwise
        ("behind", Growth(0.30, 0.05, 0.9), "behind"),  # more than pauses of 10 % make up for
        ("behind", Growth(0.30, 0.05, 0.5), UNDECIDED),
        ("behind", Growth(0.02, 0.05, 0.9), UNDECIDED),
        ("behind", Growth(5.0, 1.0, 0.0), "behind"),
        ("behind", None, UNDECIDED),
        ("steady", None, UNDECIDED),
    ],
)
def test_the_verdict_of_a_sample_stands_where_its_windows_bear_it_out(
    said: str, growth: Growth | None, verdict: str
) -> None:
    assert of_sessions(said, growth) == verdict


def test_by_the_clock_a_load_is_not_seen_to_be_carried_by_a_part_that_always_works() -> None:
    assert of_arrivals("steady", 0.9, 50.0, 100) == "steady"
    assert of_arrivals("steady", 0.96, 50.0, 100) == UNDECIDED
    assert of_arrivals("steady", 0.5, 150.0, 100) == UNDECIDED
    assert of_arrivals("saturated", 1.0, 900.0, 100) == "saturated"


def sampled(bundle: Path, name: str, *settings: str, most: int = 3000) -> Result:
    """The result of a sample."""
    trace = Bundle(bundle)
    windows = Windows(trace.rows, trace.manifest.span_ns, most=most)
    sample: WindowSample = windows.sample(RequestSource(trace, None, None, also=windows.add).found)
    return sample.run(load_scenario(name, list(settings)), lambda _: None)


def test_busy_sessions_are_decided_both_ways(tmp_path: Path) -> None:
    bundle = small_recording(tmp_path)
    assert sampled(bundle, "pcie-flash").summary["verdict"]["load"] == "steady"
    assert sampled(bundle, "hdd-100", "volumes.data.count=2").summary["verdict"]["load"] == "behind"


def test_pauses_that_no_window_shows_leave_it_undecided(tmp_path: Path) -> None:
    """Sessions that ask once in 150 ms cannot be seen twice in windows of a few ms."""
    columns = closed_recording(8, 1500, 300_000, 150_000_000)
    offsets = np.random.default_rng(5).integers(0, 100_000, len(columns["time_ns"])) * 8192
    rows = rows_of(**columns, offset_bytes=offsets)
    bundle = write_recording(tmp_path, rows, streams=[f"session{n}" for n in range(8)])
    summary = sampled(bundle, "pcie-flash", most=WINDOWS).summary
    assert summary["verdict"]["load"] == UNDECIDED
    assert "The whole will say" in summary["load"]["explanation"]


def test_a_load_is_not_seen_to_be_carried_by_a_write_cache_that_was_full(tmp_path: Path) -> None:
    """Eight sessions write 64 KiB at random places for 0.3 s, and wait for a second: 16 MiB are full each time, 4 GiB
    never.
    """
    columns = closed_recording(8, 1500, 100_000, 2_000_000)
    turn = np.tile(np.arange(1500) // 150, 8)
    columns["time_ns"] = columns["time_ns"] + turn * 3_000_000_000
    offsets = np.random.default_rng(5).integers(0, 100_000, len(turn)) * 65536
    rows = rows_of(**columns, offset_bytes=offsets, op=WRITE, length_bytes=65536)
    bundle = write_recording(tmp_path, rows, streams=[f"session{n}" for n in range(8)])
    for size, full in (("16 MiB", True), ("4 GiB", False)):
        settings = [f"controllers.raid.cache={size}"]
        played = play([PlayedRecording(Playback(survey(Bundle(bundle))), load_scenario("15k-raid10", settings))])
        assert was_full(played.metrics, played.stations, 240) is full
    result = played.result(0, "four GiB")
    assert result.summary["verdict"]["load"] == "steady"
    assert while_not_full(result, full=False) is result
    found = while_not_full(result, full=True).summary
    assert found["verdict"]["load"] == UNDECIDED
    assert "a write cache is full in it at times" in found["load"]["explanation"]


def test_a_search_takes_no_verdict_that_is_withheld(tmp_path: Path) -> None:
    result = sampled(small_recording(tmp_path), "pcie-flash")
    targets = (parse_target("throughput >= 1x"),)
    assert explorer._tells(result, targets)
    summary: dict[str, Any] = result.summary
    summary["verdict"]["load"] = UNDECIDED
    assert not explorer._tells(result, targets)
