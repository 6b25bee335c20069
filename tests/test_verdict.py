"""Steady, behind, saturated: the verdict on load, and what it withholds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runs import commands, poisson
from tests.test_shifts import reads
from tiersim.cli.explain import bound_text
from tiersim.cli.explanation import explanation
from tiersim.cli.verdicts import carries
from tiersim.devices.array.volume import Volume, add_array, add_volume
from tiersim.devices.catalogue import load_device
from tiersim.devices.host.gate import add_gate
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES, SERVER
from tiersim.errors import ScenarioError
from tiersim.histogram import COARSE_EDGES_NS, FINE_EDGES_NS, quantile_ns
from tiersim.operations import WRITE
from tiersim.scenarios.caveats import aged_queue, in_doubt
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.survey import survey
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics, record_arrival, record_completion
from tiersim.simulator.result import Clusters, Figure, Result, latencies, mean, percentile, summarise
from tiersim.simulator.verdict import LoadVerdict, Sessions, judge_waiting, utilisation
from tiersim.traces.bundle import Bundle
from tiersim.units import NS_PER_S, format_ns


def summary_of(times: Any, servers: int = 1, seed: int = 1, depth: int | None = None) -> dict[str, Any]:
    """Summary of exponential 1 ms services, with at most *depth* of them asked for at a time."""
    builder = PlantBuilder(seed)
    station = add_server(builder, "disk", servers, 1_000_000, "exponential")
    if depth is not None:
        station = add_gate(builder, "queue", depth, station)
    return summary_on(builder, commands(times, station))


def summary_on(builder: PlantBuilder, fed: Commands) -> dict[str, Any]:
    """Summary of commands on any plant."""
    return result_of(builder, fed).summary


def result_of(builder: PlantBuilder, fed: Commands) -> Result:
    """Result of commands on any plant."""
    span = int(fed.time_ns[-1]) + 1
    metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, 241, -(-span // 240))
    plant, outcome = engine.run(builder.build(), [fed], metrics)
    return summarise("x", plant, builder.stations, metrics, outcome, span, {}, "")


@pytest.mark.parametrize("load", [0.1, 0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_stable_queue_is_steady(load: float, seed: int) -> None:
    summary = summary_of(poisson(60_000, 1000 * load, seed))
    assert summary["verdict"]["load"] == "steady"
    assert summary["throughput_shortfall_pct"] < 1


@pytest.mark.parametrize("load", [1.1, 1.5, 4.0])
def test_an_overloaded_queue_is_saturated_from_the_start(load: float) -> None:
    summary = summary_of(poisson(60_000, 1000 * load))
    assert summary["verdict"]["load"] == "saturated"
    assert (summary["load"]["station"], summary["load"]["resource"]) == ("disk", "servers")
    assert summary["load"]["sustainable_load"] == pytest.approx(1 / load, rel=0.05)
    assert summary["load"]["since_ns"] < 0.05 * 60 / load * 1e9
    for figure in summary["latency_ns"]["data read"].values():
        assert figure is None or isinstance(figure, int) or figure["value"] is None
    assert summary["latency_ns"]["data read"]["max"] is None


@pytest.mark.parametrize(("servers", "depth", "station"), [(1, 32, "disk"), (8, 2, "queue"), (8, 8, "disk")])
def test_a_full_queue_is_to_blame_only_if_nothing_behind_it_always_works(
    servers: int, depth: int, station: str
) -> None:
    summary = summary_of(poisson(60_000, 1500 * min(servers, depth)), servers, depth=depth)
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["station"] == summary["bottleneck"]["station"] == station


def test_rows_of_an_array_that_are_always_locked_are_to_blame_for_the_queues_before_them() -> None:
    """Writes of one page of RAID 5 take 2 ms, one after the other, on drives that do next to nothing."""
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", 64, 1_000_000) for index in range(5)]
    array = add_array(builder, drives, "raid5", 65536, 1, "array")
    outer = add_gate(builder, "outer", 64, add_gate(builder, "inner", 32, array))
    summary = summary_on(builder, commands(poisson(20_000, 1000), outer, WRITE))
    assert summary["verdict"]["load"] == "saturated"
    assert (summary["load"]["station"], summary["load"]["resource"]) == ("array.stripes", "stripe lock")
    assert summary["load"]["sustainable_load"] == pytest.approx(0.5, rel=0.05)
    assert summary["bottleneck"]["station"] == "array.stripes"
    assert summary["conservation"]["busy"]


def test_a_disk_that_takes_an_old_queue_in_order_is_said_and_the_verdict_is_in_doubt(tmp_path: Path) -> None:
    """After a burst the disks take in order what waits for longer than they are assumed to let it, and fall behind a
    rate that they carry where few wait at each.
    """
    generator = np.random.default_rng(1)
    times_s = np.concatenate([np.zeros(2_000), np.sort(generator.uniform(0, 40, 17_600))])
    places = generator.integers(0, 70_000_000, len(times_s))  # all over the disks
    reads(tmp_path / "a.trace", (times_s * NS_PER_S).astype(np.int64), places)
    path = tmp_path / "disks.toml"
    path.write_text('[volumes.data]\ndevice = "seagate-cheetah-15k7-300"\ncount = 2\nlayout = "raid0"\n')
    found = survey(Bundle(tmp_path / "a.trace"))
    scenario, short_queues = (load_scenario(str(path), one) for one in ((), ("volumes.data.drive_queue_depth=32",)))
    aged, short = (replay(found, one).summary for one in (scenario, short_queues))
    assert (aged["verdict"]["load"], short["verdict"]["load"]) == ("saturated", "steady")
    assert "beyond age_limit (500 ms, assumed: 200 ms .. 5000 ms)" in aged["load"]["explanation"]
    assert aged["load"]["explanation"].endswith("set drive_queue_depth, such as 32")
    assert "age_limit" not in short["load"]["explanation"]
    assert in_doubt(aged)
    far_too_much = {**aged, "load": {**aged["load"], "sustainable_load": 0.2}}
    assert "in_doubt" not in aged_queue(scenario, far_too_much)  # no disk is so much faster for a choice


def test_a_disk_that_is_let_choose_among_few_says_that_the_depth_decides(tmp_path: Path) -> None:
    """Two disks carry 440 random reads/s out of queues of 32, and not as they come."""
    generator = np.random.default_rng(1)
    times_s = np.sort(generator.uniform(0, 40, 17_600))
    reads(tmp_path / "a.trace", (times_s * NS_PER_S).astype(np.int64), generator.integers(0, 70_000_000, len(times_s)))
    path = tmp_path / "disks.toml"
    path.write_text('[volumes.data]\ndevice = "seagate-cheetah-15k7-300"\ncount = 2\nlayout = "raid0"\n')
    found = survey(Bundle(tmp_path / "a.trace"))
    scenarios = (load_scenario(str(path), [f"volumes.data.drive_queue_depth={depth}"]) for depth in (1, 32))
    alone, many = (replay(found, one).summary for one in scenarios)
    assert (alone["verdict"]["load"], many["verdict"]["load"]) == ("saturated", "steady")
    said = "drive_queue_depth = 1 leaves the disk little to choose from: with more, such as 32, it may carry more"
    assert alone["load"]["explanation"].endswith(said)
    assert "drive_queue_depth" not in many["load"]["explanation"]


def test_whoever_serves_names_what_is_busy_and_is_named_when_behind() -> None:
    """An own device, here with the functions of a server: without the name of a resource it is refused."""
    builder = PlantBuilder(1)
    row = builder.row("servers", queue=builder.queue(), servers=1, service_ns=1_000_000)
    for children in (0, 1):  # nothing is there that it could hand requests on to
        with pytest.raises(ScenarioError, match=r"^own: serves requests and names no resource; name one"):
            builder.station(SERVER, row, "own", {}, children)
    with pytest.raises(ScenarioError, match=f"^own: names 9 resources; name at most {RESOURCES}$"):
        builder.station(SERVER, row, "own", {f"part {number}": 1 for number in range(9)})
    with pytest.raises(ScenarioError, match=r"^own: 0 servers of 'left hand' cannot serve; give 1 or more$"):
        builder.station(SERVER, row, "own", {"right hand": 1, "left hand": 0})
    own = builder.station(SERVER, row, "own", {"left hand": 1})
    summary = summary_on(builder, commands(np.arange(20_000) * 500_000, own))
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["explanation"].endswith("Bottleneck: left hand of own")


def test_what_ends_after_the_last_interval_makes_no_part_more_than_always_busy() -> None:
    """Flash books its work when it begins: 4,000 writes at once are there for much longer than 5 ms."""
    builder = PlantBuilder(1)
    flash = add_volume(builder, Volume("flash", load_device("intel-p3700-800"), 1, "single", 65536))
    metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, 11, 1_000_000)
    engine.run(builder.build(), [commands(np.zeros(4000, np.int64), flash, WRITE)], metrics)
    assert max(share for share, _, _ in utilisation(metrics, builder.stations, 0, 5)) == 1.0


def test_saturation_in_the_middle_is_dated() -> None:
    calm, storm = poisson(20_000, 500), poisson(40_000, 1600, 2)
    summary = summary_of(np.concatenate([calm, calm[-1] + storm]))
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["since_ns"] == pytest.approx(calm[-1], rel=0.15)


def test_a_burst_that_is_worked_off_is_steady_and_one_at_the_end_is_behind() -> None:
    calm = poisson(20_000, 500)
    burst = np.sort(np.concatenate([calm, np.full(3000, calm[5000])]))
    assert summary_of(burst)["verdict"]["load"] == "steady"
    late = np.concatenate([calm, np.full(5000, calm[-1])])
    summary = summary_of(late)
    assert summary["verdict"]["load"] == "behind"
    assert summary["throughput_shortfall_pct"] > 5


def test_a_burst_that_takes_long_is_said_though_it_is_worked_off() -> None:
    """3,000 requests of 1 ms come at once, beside one every 2 ms: in the fluid limit, those wait 1.5 s in the mean, and
    one that comes t later (3 s - t / 2).
    """
    calm = poisson(20_000, 500)
    assert "burst" not in summary_of(calm)["load"]
    drawn = np.sort(np.concatenate([calm, np.full(3000, calm[5000])]))
    summary = summary_of(drawn) | {"replay": {}, "trace": {"span_ns": int(drawn[-1]) + 1}}
    burst = summary["load"]["burst"]
    assert burst["from_ns"] == pytest.approx(calm[5000], abs=0.2e9)
    long_s = (burst["until_ns"] - burst["from_ns"]) / 1e9
    waited_s = 3000 * 1.5 + 500 * (3 * long_s - long_s**2 / 4)
    assert burst["mean_ns"] == pytest.approx(waited_s / (3000 + 500 * long_s) * 1e9, rel=0.05)
    assert burst["utilisation"] > 0.95
    took = format_ns(burst["mean_ns"])
    assert f"But requests of a burst take {took} in the mean: for 3" in summary["load"]["explanation"]
    assert summary["load"]["explanation"].endswith(f"disk is {100 * burst['utilisation']:.0f} % busy")
    assert carries(summary) == "yes (a burst ends late)"
    said = bound_text(explanation(summary, None)["bound"])
    assert said.startswith("No part is short of capacity in the whole run. Busiest: disk")
    assert "But requests of a burst take" in said
    assert "It is full at" not in said


@pytest.mark.parametrize(("per_s", "grows"), [(1_010, True), (950, False), (700, False)])
def test_a_queue_that_grows_though_it_is_soon_worked_off_is_said(per_s: int, grows: bool) -> None:
    """A load of 1 % more than a disk can do is carried, within 5 %, and its latencies are those of no steady state: in
    the fluid limit requests of the last second wait 1 % of all the time.
    """
    summary = summary_of(poisson(60 * per_s, per_s) if not grows else np.arange(60 * per_s) * 10**9 // per_s)
    assert summary["verdict"]["load"] == "steady"
    assert ("grows_from_ns" in summary["load"]) == grows
    assert ("wait longer and longer" in summary["load"]["explanation"]) == grows
    assert ("no backlog grows" in summary["load"]["explanation"]) == (not grows)


def test_a_mean_is_not_below_that_of_the_fastest_interval() -> None:
    """However far off batches are that hold one slow burst, no request takes less than its service."""
    counts, sums_ns = np.full(240, 100), np.full(240, 100 * 1_000_000)
    sums_ns[7] = 100 * 60_000_000_000
    figure = mean(counts, sums_ns)
    assert figure["value"] is None
    assert figure["low"] == 1_000_000


def test_what_comes_at_one_time_alone_tells_nothing_of_other_times() -> None:
    """A burst of requests that all take as long has no spread that its batches could show."""
    counts, sums_ns = np.zeros(240, np.int64), np.zeros(240, np.int64)
    counts[80], sums_ns[80] = 1_000, 1_000 * 5_000_000
    once, over_time = mean(counts, sums_ns), np.zeros((240, len(COARSE_EDGES_NS) - 1), np.int32)
    over_time[80, 300] = 1_000
    histogram = np.zeros(len(FINE_EDGES_NS) - 1, np.int64)
    histogram[1000] = 1_000
    for figure in (once, percentile(histogram, Clusters(over_time), 0.5)):
        assert (figure["value"], figure["resolved"]) == (None, False)
        assert figure["basis"] == "all in one of the 30 parts of the run"
    assert once["low"] == once["high"] == 5_000_000
    over_time[160, 300] = 1_000
    assert percentile(2 * histogram, Clusters(over_time), 0.5)["resolved"]


def test_the_interval_of_a_mean_is_that_of_as_many_batches_as_anything_came_in() -> None:
    """Two bursts of 1.0 and 1.4 ms: with one degree of freedom Student's quantile is 3.08."""
    counts, sums_ns = np.zeros(240, np.int64), np.zeros(240, np.int64)
    counts[[80, 160]] = 1_000
    sums_ns[[80, 160]] = 1_000_000_000, 1_400_000_000
    figure = mean(counts, sums_ns)
    assert (figure["value"], figure["resolved"]) == (None, False)
    assert figure["high"] == pytest.approx(1_200_000 + 3.077684 * 200_000)


def test_what_is_left_when_the_run_ends_is_in_no_mean() -> None:
    """Background writes of 1 ms in each interval, and as many in the last one that are not done: these took no 0 ns."""
    metrics = new_metrics(len(CATEGORIES), 0, 1, 241, NS_PER_S)
    category = CATEGORIES.index("checkpoint write")
    for interval in range(240):
        record_arrival(metrics, category, interval)
        record_completion(metrics, category, interval, interval, 1_000_000, 8192)
    metrics.arrivals[239, category] += 240
    [found] = latencies(metrics, LoadVerdict("steady", "", 0.0), CATEGORIES).values()
    assert found["count"] == 240
    assert found["mean"]["value"] == 1_000_000


def test_a_wide_station_that_never_empties_is_not_saturated() -> None:
    assert summary_of(poisson(100_000, 50_000), servers=100)["verdict"]["load"] == "steady"


def test_intervals_cover_what_independent_runs_show() -> None:
    """An 80 % interval holds the long-run value four times in five; the tail of a short run is not resolved."""
    truth = 1_000_000 / (1 - 0.7)
    held = 0
    for seed in range(60):
        mean = summary_of(poisson(20_000, 700, seed), seed=seed)["latency_ns"]["data read"]["mean"]
        held += mean["low"] <= truth <= mean["high"]
    assert 0.62 <= held / 60 <= 0.96
    short = summary_of(poisson(500, 700))["latency_ns"]["data read"]
    assert short["p50"]["value"] is not None
    assert short["p999"]["value"] is None
    assert not short["p999"]["resolved"]


def test_a_result_of_four_requests_by_hand() -> None:
    """Two servers of 1 ms: three requests at once, and one that comes when the recording ends."""
    builder = PlantBuilder(1)
    station = add_server(builder, "disk", 2, 1_000_000)
    found = result_of(builder, commands([0, 0, 0, 9_999_999], station))
    assert found.summary["throughput_per_s"]["requests"]["value"] == 300
    assert found.summary["stations"]["disk"]["queue_mean"] == pytest.approx((1 + 1 + 2 + 1) / 10.999999)
    rows = [tuple(row.values())[1:] for row in found.latency.to_pylist()]
    assert [count for _, _, count in rows] == [3, 1]
    assert all(low <= ns < high for ns, (low, high, _) in zip((1_000_000, 2_000_000), rows, strict=True))
    first = found.timeline.to_pylist()[0]
    assert (first["arrivals"], first["completions"]) == (3, 0)
    assert first["p50_ns"] == pytest.approx(1e6, rel=0.07)
    assert first["p99_ns"] == pytest.approx(2e6, rel=0.07)


def test_servers_that_are_busy_half_of_the_time_are_so_in_every_interval() -> None:
    builder = PlantBuilder(1)
    station = add_server(builder, "disk", 2, 10_000)
    found = result_of(builder, commands(np.arange(24_000) * 10_000, station))
    assert found.stations["utilisation"].to_numpy() == pytest.approx(0.5, abs=1e-4)


def test_no_percentile_of_a_run_is_above_its_largest_latency() -> None:
    """Requests that all take as long: bins of a histogram are up to 0.8 % wide."""
    builder = PlantBuilder(1)
    station = add_server(builder, "disk", 2, 10_000)
    found = result_of(builder, commands(np.arange(24_000) * 10_000, station))
    for figures in found.summary["latency_ns"].values():
        ends = [figures[key][end] for key in ("p50", "p95", "p99", "p999") for end in ("low", "value", "high")]
        assert [end for end in ends if end is not None and end > figures["max"]] == []
    assert max(found.timeline["p99_ns"].drop_null().to_pylist()) <= 10_000


def percentile_of(latency_ns: NDArray[np.float64], probability: float) -> tuple[Figure, float]:
    """Return the percentile of latencies in order of time, and what it is of the sample, resolved or not."""
    fine, coarse = (np.searchsorted(edges, latency_ns, "right") - 1 for edges in (FINE_EDGES_NS, COARSE_EDGES_NS))
    histogram = np.bincount(fine, minlength=len(FINE_EDGES_NS) - 1)
    over_time = np.zeros((60, len(COARSE_EDGES_NS) - 1), np.int32)
    np.add.at(over_time, (np.arange(len(latency_ns)) * 60 // len(latency_ns), coarse), 1)
    figure = percentile(histogram, Clusters(over_time), probability)
    return figure, quantile_ns(histogram, probability * len(latency_ns))


def test_a_percentile_lies_within_its_bin_as_far_as_its_rank() -> None:
    histogram = np.zeros(len(FINE_EDGES_NS) - 1, np.int64)
    histogram[1000:1002] = 100, 300
    low, high = FINE_EDGES_NS[1001:1003]
    assert quantile_ns(histogram, 250) == pytest.approx((low + high) / 2, rel=1e-9)


def test_percentiles_of_what_comes_in_bursts_are_less_certain() -> None:
    latency_ns = np.random.default_rng(1).exponential(1e6, 20_000)
    apart, together = (percentile_of(some, 0.5)[0] for some in (latency_ns, np.sort(latency_ns)))
    widths = [(one["high"] or np.inf) - (one["low"] or 0.0) for one in (apart, together)]
    assert widths[1] > 10 * widths[0]


def test_a_percentile_is_resolved_by_an_interval_of_a_quarter_to_either_side() -> None:
    latency_ns = np.random.default_rng(1).lognormal(13, 2, 3000)
    found = [percentile_of(latency_ns[:count], 0.9) for count in range(60, 3000, 7)]
    widths = [
        (figure["high"] - figure["low"]) / 2 / value for figure, value in found if figure["high"] and figure["low"]
    ]
    assert [figure["resolved"] for figure, _ in found if figure["high"]] == [width <= 0.25 for width in widths]
    assert min(widths) < 0.2
    assert max(widths) > 0.25


def test_percentiles_of_exponential_latencies() -> None:
    """M/M/1 response times are exponential with mean 1 / (mu - lambda)."""
    latency = summary_of(poisson(400_000, 500))["latency_ns"]["data read"]
    for key, probability in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert latency[key]["value"] == pytest.approx(-2e6 * np.log(1 - probability), rel=0.04)
        assert latency[key]["low"] <= latency[key]["value"] <= latency[key]["high"]


def test_a_recording_of_one_request_is_not_behind() -> None:
    assert summary_of(np.zeros(1))["verdict"]["load"] == "steady"


@pytest.mark.parametrize(
    ("slower", "verdict"), [(0.9, "steady"), (1.0, "steady"), (1.04, "steady"), (1.2, "behind"), (3.0, "behind")]
)
@pytest.mark.parametrize("span_ns", [2_000_000_000, 3_600_000_000_000])
def test_sessions_that_take_longer_are_behind(slower: float, verdict: str, span_ns: int) -> None:
    """Whatever the recording's length, by what share of it the run is longer."""
    metrics = new_metrics(len(CATEGORIES), 1, RESOURCES, 241, -(-span_ns // 240))
    done = (np.arange(10_000) + 0.5) / 10_000 * slower * span_ns
    interval = np.minimum(done / metrics.interval_ns[0], 240).astype(np.int64)
    np.add.at(metrics.completions[:, 0], interval, 1)
    metrics.arrivals[:] = metrics.completions
    builder = PlantBuilder(1)
    add_server(builder, "disk", 1, 1_000_000)
    late = np.full(4, int((slower - 1) * span_ns))
    load = judge_waiting(metrics, builder.stations, span_ns, int(done[-1]), 10_000, Sessions(4, 0, late))
    assert load.verdict == verdict
    assert load.shortfall_pct == pytest.approx(100 * (1 - 1 / slower), abs=0.6)


def test_one_late_session_of_many_is_said_and_no_verdict() -> None:
    span_ns = 100_000_000_000
    metrics = new_metrics(len(CATEGORIES), 1, RESOURCES, 241, -(-span_ns // 240))
    metrics.completions[:240, 0] = metrics.arrivals[:240, 0] = 100
    builder = PlantBuilder(1)
    add_server(builder, "disk", 1, 1_000_000)
    late = np.array([0, 0, 0, 30_000_000_000])
    load = judge_waiting(metrics, builder.stations, span_ns, 2 * span_ns, 24_000, Sessions(4, 0, late))
    assert load.verdict == "steady"
    assert load.explanation == (
        "3 of 4 sessions end on time. One ends 30 s later than recorded. In a session, each request waits for the one"
        " before"
    )
    sessions = Sessions(4, 0, late, recorded_ns=np.array([90, 91, 92, 50]) * 1_000_000_000)
    load = judge_waiting(metrics, builder.stations, span_ns, 2 * span_ns, 24_000, sessions)
    assert load.explanation.endswith(
        "One ends 30 s later than recorded (at 80 s, not 50 s). In a session, each request waits for the one before"
    )
    sessions = replace(sessions, names=np.array(["", "postgres 7", "postgres 8", "postgres 9"]))
    load = judge_waiting(metrics, builder.stations, span_ns, 2 * span_ns, 24_000, sessions)
    assert "One (postgres 9) ends 30 s later than recorded (at 80 s" in load.explanation


@pytest.mark.parametrize(
    ("load", "late", "said"),
    [
        ("steady", 0, "yes"),
        ("steady", 1, "yes (1 session ends late)"),
        ("steady", 2, "yes (2 sessions end late)"),
        ("behind", 3, "no, behind"),
    ],
)
def test_what_carries_the_load_says_how_many_sessions_are_late(load: str, late: int, said: str) -> None:
    assert carries({"verdict": {"load": load}, "replay": {"late_sessions": late}}) == said


@pytest.mark.parametrize(("slower", "verdict"), [(1.04, "steady"), (1.2, "behind"), (3.0, "behind")])
def test_sessions_that_were_stopped_are_behind_by_what_they_left(slower: float, verdict: str) -> None:
    """They end with the recording, or a pause sooner; what they did in its time says how long all of it would have
    taken.
    """
    span_ns = 100_000_000_000
    metrics = new_metrics(len(CATEGORIES), 1, RESOURCES, 241, -(-span_ns // 240))
    metrics.completions[:240, 0] = metrics.arrivals[:240, 0] = round(100 / slower)
    builder = PlantBuilder(1)
    add_server(builder, "disk", 1, 1_000_000)
    sessions = Sessions(4, 0, np.zeros(4, np.int64), stopped=True)
    load = judge_waiting(metrics, builder.stations, span_ns, span_ns - 5_000_000, 24_000, sessions)
    assert load.verdict == verdict
    assert load.shortfall_pct == pytest.approx(100 * (1 - 1 / slower), abs=0.6)
    if verdict == "behind":
        longer = format_ns(span_ns * 100 / round(100 / slower) - span_ns)
        assert f"The whole workload would take {longer} longer." in load.explanation
        rate = {1.2: "199", 3.0: "79.2"}[slower]
        assert load.explanation.startswith(f"too slow: {rate} requests/s instead of 240. ")
