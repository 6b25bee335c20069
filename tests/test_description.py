"""What ``describe`` finds in traces whose figures are known: by closed form, by hand, or by a slow twin."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import naive_description as naive
from tests.examples import examples
from tests.naive_description import Row
from tests.runs import needs_jit
from tiersim.cli.describe import _row
from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.description import describe, groups, survey, working_set

S, MS, US, PAGE = 10**9, 10**6, 10**3, 4096

pytestmark = pytest.mark.kernels


class SmallBlocks(Bundle):
    """What goes on from block to block has to."""

    def blocks(self, rows: int = 7) -> Iterator[Requests]:
        return super().blocks(rows)


def described(folder: Path, **columns: Any) -> dict[str, Any]:
    """Describe a trace of these columns: reads of one page each unless they say otherwise."""
    rows = len(columns["time_ns"])
    columns = {"op": ["read"] * rows, "offset_bytes": [0] * rows, "length_bytes": [PAGE] * rows} | columns
    types = {
        "latency_ns": pa.int64(),
        "stream": pa.string(),
        "op": pa.string(),
        "file": pa.string(),
        "purpose": pa.string(),
    }
    arrays = {name: pa.array(values, types.get(name, pa.int64())) for name, values in columns.items()}
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(arrays), folder / "requests.parquet")
    document = describe(SmallBlocks(folder) if rows < 1000 else Bundle(folder))
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    return document


def of_rows(folder: Path, rows: list[Row]) -> dict[str, Any]:
    columns = zip(*rows, strict=True) if rows else [[]] * len(Row._fields)
    return described(folder, **{name: list(values) for name, values in zip(Row._fields, columns, strict=True)})


# Burstiness.


@needs_jit
def test_poisson_arrivals_have_a_dispersion_of_one_in_every_window(tmp_path: Path) -> None:
    gaps = np.random.default_rng(7).exponential(1.7 * MS, 200_000)
    found = described(tmp_path, time_ns=np.cumsum(gaps).astype(np.int64))["burstiness"]
    assert found["interarrival_cv"] == pytest.approx(1, abs=0.01)
    for window_ns, index in found["dispersion"]:
        windows = 200_000 * 1.7 * MS / window_ns
        assert index == pytest.approx(1, abs=4 * math.sqrt(2 / windows)), window_ns  # its standard error


def test_periodic_arrivals_have_none(tmp_path: Path) -> None:
    found = described(tmp_path, time_ns=np.arange(400_000) * MS + 77)["burstiness"]
    assert found == {
        "interarrival_cv": 0.0,
        "dispersion": [[MS, 0.0], [10 * MS, 0.0], [100 * MS, 0.0], [S, 0.0], [10 * S, 0.0]],
        "peak_to_mean": 1.0,
    }


def test_batches_multiply_the_dispersion_by_their_size(tmp_path: Path) -> None:
    """A compound Poisson process with batches of 8 has variance by mean 8."""
    gaps = np.random.default_rng(8).exponential(MS, 20_000)
    found = described(tmp_path, time_ns=np.repeat(np.cumsum(gaps).astype(np.int64), 8))["burstiness"]
    assert dict(map(tuple, found["dispersion"]))[10 * MS] == pytest.approx(8, rel=0.1)


def test_too_few_windows_or_requests_say_nothing(tmp_path: Path) -> None:
    found = described(tmp_path, time_ns=np.arange(300) * MS)["burstiness"]  # 299 ms from first to last
    assert found["dispersion"] == [[MS, 0.0], [10 * MS, None], [100 * MS, None], [S, None], [10 * S, None]]
    assert found["peak_to_mean"] is None
    assert described(tmp_path, time_ns=[0, 5])["burstiness"]["interarrival_cv"] is None
    assert described(tmp_path, time_ns=[5, 5, 5])["burstiness"]["interarrival_cv"] is None


def test_a_coarse_clock_says_nothing_of_windows_within_its_ticks(tmp_path: Path) -> None:
    """Two hours by a clock of 1 s: that of a tick stands at its beginning, and is no burst of its first millisecond."""
    seconds = np.sort(np.random.default_rng(9).integers(0, 7200, 100_000))
    document = described(tmp_path, time_ns=seconds * S)
    found = document["burstiness"]
    assert found["interarrival_cv"] is None
    assert [index is None for _, index in found["dispersion"]] == [True, True, True, False, False]
    assert dict(map(tuple, found["dispersion"]))[S] == pytest.approx(1, abs=0.1)
    assert document["rate_per_s"] == pytest.approx(100_000 / 7200)


def test_a_request_that_is_answered_late_does_not_lower_the_rate(tmp_path: Path) -> None:
    """1,000 requests in 10 s, the last of which takes 90 s."""
    latency_ns = np.full(1000, MS)
    latency_ns[-1] = 90 * S
    document = described(tmp_path, time_ns=np.arange(1000) * 10 * MS, latency_ns=latency_ns)
    assert document["span_ns"] == 99_990 * MS
    assert document["rate_per_s"] == pytest.approx(100, rel=0.01)


def test_no_percentile_is_above_the_largest_latency(tmp_path: Path) -> None:
    document = described(tmp_path, time_ns=np.arange(100) * S, latency_ns=[1001] * 100)
    (group,) = document["classes"]
    assert group["p50_ns"] <= group["p99_ns"] <= 1001


def test_a_percentile_of_too_few_is_none(tmp_path: Path) -> None:
    """Of three requests the 99th percentile would be the slowest one, whatever it took."""
    (group,) = described(tmp_path, time_ns=np.arange(3) * S, latency_ns=[1000, 1000, 9000])["classes"]
    assert (group["mean_ns"], group["p99_ns"]) == (pytest.approx(11_000 / 3), None)
    assert group["p50_ns"] == pytest.approx(1000, rel=0.01)
    assert _row(group, ("mean", "p99"))[1:] == ["3.67 µs", "too few"]


def test_the_busiest_second_is_no_less_busy_than_the_average(tmp_path: Path) -> None:
    ticks = described(tmp_path, time_ns=[0] * 90 + [S] * 10)  # two seconds of a clock of 1 s
    assert (ticks["rate_per_s"], ticks["peak_rate_per_s"]) == (50, 90)
    short = described(tmp_path / "short", time_ns=np.linspace(0, 1.33 * S, 999).astype(np.int64))
    assert short["peak_rate_per_s"] is None or short["peak_rate_per_s"] >= short["rate_per_s"]
    uneven = described(tmp_path / "uneven", time_ns=np.r_[np.arange(10), S + np.arange(9), int(1.33 * S)])
    assert (uneven["rate_per_s"], uneven["peak_rate_per_s"]) == (pytest.approx(20 / 1.33), None)


def test_peak_to_mean_counts_whole_seconds_from_the_first_request(tmp_path: Path) -> None:
    times = [*[S] * 9, 2 * S, *[3 * S] * 2, *[4 * S] * 100]  # 9, 1, 2, and a second that is not whole
    assert described(tmp_path, time_ns=times)["burstiness"]["peak_to_mean"] == pytest.approx(9 / 4)


# Depth.


def test_depth_follows_from_littles_law(tmp_path: Path) -> None:
    """One each 10 µs, of 35 µs: three or four in flight, 3.5 on average, once it has begun."""
    rows = 10_000
    document = described(tmp_path, time_ns=np.arange(rows) * 10 * US, latency_ns=[35 * US] * rows)
    depth = document["depth"]
    assert depth["max"] == 4
    assert depth["mean"] == pytest.approx(3.5, rel=1e-3)
    shares = dict(map(tuple, depth["share"]))
    assert shares[4] == pytest.approx(0.5, rel=1e-2)
    assert shares[2] == pytest.approx(0.5, rel=1e-2)
    assert sum(shares.values()) == pytest.approx(1)
    assert document["timeline"]["depth_mean"][3] == pytest.approx(3.5)


def test_poisson_arrivals_with_equal_service_have_a_poisson_depth(tmp_path: Path) -> None:
    """M/D/∞ with one in flight on average: idle with probability 1/e."""
    times = np.cumsum(np.random.default_rng(9).exponential(MS, 100_000)).astype(np.int64)
    depth = described(tmp_path, time_ns=times, latency_ns=[MS] * len(times))["depth"]
    shares = dict(map(tuple, depth["share"]))
    assert shares[0] == pytest.approx(math.exp(-1), abs=0.01)
    assert shares[1] == pytest.approx(math.exp(-1), abs=0.01)
    assert depth["mean"] == pytest.approx(1, abs=0.02)


def test_depth_is_unknown_where_no_latency_was_measured(tmp_path: Path) -> None:
    document = described(tmp_path, time_ns=[0, 1], latency_ns=[None, None])
    assert (document["depth"], document["measured"], document["latency"]) == (None, 0, {})
    assert document["timeline"]["depth_mean"] is None
    assert document["timeline"]["by_class"]["unknown"]["mean_latency_ns"] == [None, None]
    half = described(tmp_path, time_ns=[0, 0], latency_ns=[None, 100])
    assert (half["depth"]["mean"], half["depth"]["max"], half["measured"]) == (1, 1, 0.5)


def test_more_in_flight_than_there_is_room_for_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.traces.description.depth.MOST_ROOM", 1 << 10)
    monkeypatch.setattr("tiersim.traces.description.depth.FIRST_ROOM", 1 << 9)
    columns = {"time_ns": np.arange(1100), "latency_ns": [S] * 1100}
    depth = described(tmp_path, **columns)["depth"]
    assert (depth["max"], depth["share"]) == (None, None)
    assert depth["mean"] == pytest.approx(1100, rel=1e-5)


# Working set and re-reference.


def test_working_set_and_re_reference_of_a_trace_made_by_hand(tmp_path: Path) -> None:
    document = described(
        tmp_path,
        time_ns=[0, 10, 30, 70, 80, 90],
        op=["read", "read", "write", "write", "flush", "discard"],
        file=["a", "b", "a", "a", "a", "a"],
        # pages 0–1 of a; page 0 of b; pages 1–2 of a, in part; page 1 of a
        offset_bytes=[0, 0, 8191, 4096, 0, 0],
        length_bytes=[8192, 512, 2, 4096, 0, 1 << 40],
    )
    found = document["working_set"]
    pages = [found[name] // PAGE for name in ("total_bytes", "read_bytes", "written_bytes", "both_bytes")]
    assert pages == [4, 3, 2, 1]
    assert (found["estimated"], found["sampled_share"], found["page_bytes"]) == (False, 1.0, PAGE)
    assert found["curve"]["time_ns"][-1] == 90
    assert found["curve"]["bytes"][0] == 2 * PAGE
    assert found["curve"]["bytes"][-1] == 4 * PAGE
    assert document["re_reference"] == {
        "page_reads": 3,
        "page_writes": 3,
        "read_after_read": 0,
        "read_after_write": 0,
        "write_after_read": pytest.approx(1 / 3),  # page 1 of a, after 30 ns
        "write_after_write": pytest.approx(1 / 3),  # again, after 40 ns
        "reads_since_last_ns": [],
        "writes_since_last_ns": [[16, 32, 1], [32, 64, 1]],
    }
    assert [group["largest_offset_bytes"] for group in document["files"]] == [8193, 512]


PLACE_OF_ONE = 16  # pages that share no place


@needs_jit
def test_a_sample_of_places_estimates_a_large_working_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000 single pages, every second of them twice: half of the second reads are re-references."""
    monkeypatch.setattr(working_set, "MOST_SLOTS", 1 << 14)
    pages = np.random.default_rng(3).permutation(200_000) * PLACE_OF_ONE
    pages = np.concatenate([pages, pages[::2]])
    document = described(tmp_path, time_ns=np.arange(len(pages)), offset_bytes=pages * PAGE)
    found = document["working_set"]
    assert found["estimated"]
    watched = 200_000 * found["sampled_share"]
    assert found["sampled_share"] == 2**-5
    assert found["total_bytes"] == pytest.approx(200_000 * PAGE, rel=4 / math.sqrt(watched))
    assert document["re_reference"]["read_after_read"] == pytest.approx(1 / 3, abs=4 / math.sqrt(watched))
    assert np.all(np.diff(found["curve"]["bytes"]) >= 0)
    assert document["re_reference"]["page_reads"] == 300_000  # counted, not estimated


def test_the_part_that_is_watched_from_the_beginning_estimates_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working_set, "MOST_TOUCHES", 100_000)
    lengths = np.full(1000, 1 << 22)  # 1,024 pages each, 64 places
    document = described(tmp_path, time_ns=np.arange(1000), offset_bytes=np.arange(1000) << 22, length_bytes=lengths)
    found = document["working_set"]
    assert found["sampled_share"] == 1 / 16
    assert found["total_bytes"] == pytest.approx(1000 << 22, rel=4 / math.sqrt(4000))


def test_requests_too_long_to_follow_have_no_working_set(tmp_path: Path) -> None:
    document = described(tmp_path, time_ns=[0], length_bytes=[1 << 58])
    assert (document["working_set"], document["re_reference"]) == (None, None)
    with pytest.raises(TraceError, match="all lengths together"):
        described(tmp_path, time_ns=[0, 1], length_bytes=[1 << 60, 1 << 60])


# Groups.


def test_streams_beyond_fifty_become_one_group(tmp_path: Path) -> None:
    streams = [*(name for number in range(49) for name in (f"p{number}", f"p{number}")), "x", "y", None, None, None]
    document = described(tmp_path, time_ns=np.arange(len(streams)), stream=streams)
    found = document["streams"]
    assert [(group["name"], group["members"], group["count"]) for group in (found[0], found[1], found[-1])] == [
        (None, 1, 3), ("p0", 1, 2), ("others", 2, 2)
    ]  # fmt: skip
    assert len(found) == 51
    assert sum(group["count"] for group in found) == len(streams)
    exactly = described(tmp_path, time_ns=np.arange(51), stream=[f"p{number}" for number in range(51)])
    assert [group["members"] for group in exactly["streams"]] == [1] * 51  # alone, it keeps its name


def test_a_log_that_writes_its_last_page_anew_is_not_random(tmp_path: Path) -> None:
    offsets = np.arange(100) * 8192
    (group,) = described(tmp_path, time_ns=np.arange(100), offset_bytes=offsets, length_bytes=[16384] * 100)["classes"]
    assert (group["sequential"], group["random"]) == (0, 0.01)  # only the first comes from nowhere
    (group,) = described(tmp_path, time_ns=np.arange(100), offset_bytes=offsets * 100)["classes"]
    assert group["random"] == 1


def test_interleaved_scans_are_sequential_by_stream(tmp_path: Path) -> None:
    places = [(number % 4 << 30) + number // 4 * PAGE for number in range(400)]
    streams = [f"p{number % 4}" for number in range(400)]
    (group,) = described(tmp_path, time_ns=np.arange(400), offset_bytes=places, stream=streams)["classes"]
    assert (group["sequential"], group["sequential_by_stream"], group["random"]) == (0, 0.99, 0.01)


def test_many_lengths_are_rounded_down_and_never_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_SIZES", 4)
    lengths = np.array([512, 1024, 1536, 2048, *np.arange(5, 400) * 512])
    (group,) = described(tmp_path, time_ns=np.arange(len(lengths)), length_bytes=lengths)["classes"]
    assert group["bytes"] == lengths.sum()
    assert len(group["sizes"]) == 16
    assert group["median_bytes"] == pytest.approx(np.median(lengths), rel=1 / 16)


def test_latency_is_drawn_by_class_and_summed_by_size(tmp_path: Path) -> None:
    document = described(
        tmp_path,
        time_ns=[0, 0, 0, 0],
        op=["read", "read", "write", "flush"],
        purpose=["data read", "data read", "log write", None],
        length_bytes=[8192, 16383, 512, 0],
        latency_ns=[1000, 3000, 5000, None],
    )
    assert document["latency"] == {"data read": [[960, 1024, 1], [2816, 3072, 1]], "log write": [[4608, 5120, 1]]}
    assert document["latency_by_size"] == {"read": [[8192, 16384, 2, 2000.0]], "write": [[512, 1024, 1, 5000.0]]}


def test_a_trace_without_requests_is_described(tmp_path: Path) -> None:
    document = described(tmp_path, time_ns=[])
    assert (document["requests"], document["classes"], document["files"], document["streams"]) == (0, [], [], [])
    assert document["burstiness"] == {
        "interarrival_cv": None,
        "dispersion": [[int(window), None] for window in (MS, 10 * MS, 100 * MS, S, 10 * S)],
        "peak_to_mean": None,
    }


def test_the_timeline_never_has_more_than_240_intervals(tmp_path: Path) -> None:
    for span_ns in (0, 1, 239, 240, 241, 479, 480, 10**9, 24 * 10**9 - 1, 24 * 10**9, 86_400 * 10**9):
        timeline = described(tmp_path, time_ns=[0, span_ns], latency_ns=[0, None])["timeline"]
        count = len(timeline["start_ns"])
        assert count <= 240
        assert count > 90 or timeline["interval_ns"] == 1
        assert timeline["start_ns"][-1] <= span_ns < timeline["start_ns"][-1] + timeline["interval_ns"]
        assert sum(timeline["by_class"]["unknown"]["count"]) == 2


# Everything at once, against the slow twin.


@st.composite
def traces(draw: st.DrawFn) -> list[Row]:
    rows = []
    now_ns = 0
    for _ in range(draw(st.integers(1, 40))):
        now_ns += draw(st.sampled_from([0, 0, 1, 7, 1000, 10**7]))
        op = draw(st.sampled_from(["read", "read", "write", "write", "flush", "discard"]))
        rows.append(
            Row(
                now_ns,
                op,
                draw(st.sampled_from("ab")),
                draw(st.sampled_from(["p", "q", None])),
                0 if op == "flush" else draw(st.integers(0, 90)) * 2048,
                0 if op == "flush" else draw(st.sampled_from([512, 2048, 4096, 70_000])),
                draw(st.sampled_from([None, 0, 3, 1000, 2 * 10**6, 10**9])),
            )
        )
    return rows


@given(traces())
@example([Row(1, "read", "a", "p", 0, 512, None)])  # a span of 1 ns
@settings(max_examples=examples(60), deadline=None)
def test_the_twin_agrees(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    document = of_rows(tmp_path_factory.getbasetemp() / "drawn.trace", rows)
    span_ns = document["span_ns"]
    assert span_ns == max(row.time_ns + (row.latency_ns or 0) for row in rows)

    found = document["working_set"]
    assert {name: found[name] for name in naive.working_set(rows)} == naive.working_set(rows)
    for time_ns, touched_bytes in zip(found["curve"]["time_ns"], found["curve"]["bytes"], strict=True):
        until = [row for row in rows if row.time_ns < time_ns or time_ns == span_ns]
        assert touched_bytes == naive.working_set(until)["total_bytes"]

    touches, again, since = naive.re_reference(rows)
    touched = document["re_reference"]
    assert (touched["page_reads"], touched["page_writes"]) == (touches["read"], touches["write"])
    for op in ("read", "write"):
        for before in ("read", "write"):
            share = again[f"{op}_after_{before}"] / touches[op] if touches[op] else None
            assert touched[f"{op}_after_{before}"] == share
        drawn = {f"{op} {low}": count for low, _, count in touched[f"{op}s_since_last_ns"]}
        assert drawn == {key: count for key, count in since.items() if key.startswith(op)}

    if any(row.latency_ns is not None for row in rows):
        highest, times = naive.depth(rows, span_ns)
        assert document["depth"]["max"] == highest
        if span_ns:
            shares = {depth: share for depth, share in document["depth"]["share"] if share}
            assert shares == pytest.approx({depth: time / span_ns for depth, time in times.items() if time})
            total_ns = sum(row.latency_ns or 0 for row in rows)
            assert document["depth"]["mean"] == pytest.approx(total_ns / span_ns)
        means = naive.depth_means(rows, span_ns, document["timeline"]["interval_ns"])
        drawn_means = document["timeline"]["depth_mean"]
        assert [mean is None for mean in drawn_means] == [mean is None for mean in means]
        assert [mean or 0 for mean in drawn_means] == pytest.approx([mean or 0 for mean in means], rel=1e-5)

    for key, name in (("kind", "classes"), ("file", "files"), ("stream", "streams")):
        expected_groups = naive.group(rows, key)
        assert {group["name"] for group in document[name]} == set(expected_groups)
        for group in document[name]:
            expected = expected_groups[group["name"]]
            for count in ("count", "bytes", "reads", "writes", "flushes", "discards"):
                assert group[count] == expected[count], count
            assert dict(map(tuple, group["sizes"])) == expected["sizes"]
            assert group["sequential"] == expected["sequential"] / expected["count"]
            assert group["sequential_by_stream"] == expected["by_stream"] / expected["count"]
            with_length = expected["with_length"]
            assert group["random"] == (expected["random"] / with_length if with_length else None)
            latencies = expected["latencies"]
            assert group["mean_ns"] == (pytest.approx(np.mean(latencies)) if latencies else None)


def test_every_key_is_documented(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "docs" / "description.md").read_text()
    document = described(tmp_path, time_ns=[0, 1], latency_ns=[5, None], file=["a", "a"], stream=["p", "p"])

    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(keys, value)) if value else set()
        if not isinstance(value, dict):
            return set()
        return set(value).union(*map(keys, value.values()))

    for key in keys(document):
        assert f"`{key}`" in text, key
    assert str(groups.TOP) in text
