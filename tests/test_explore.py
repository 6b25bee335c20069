"""Exploring: drafts, samples, the whole beside ``tiersim replay``, what the next change ends."""

import json
import re
import runpy
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import exploring
from tests.explorations import is_done, small_recording, until
from tests.recordings import rows_of
from tiersim.cli.exploring.view import ExplorationView
from tiersim.cli.terminal import compile_if_cold
from tiersim.errors import ScenarioError
from tiersim.scenarios import replay as replaying
from tiersim.scenarios.caveats import in_doubt
from tiersim.scenarios.exploring import sample as sampling
from tiersim.scenarios.exploring.draft import Draft, changed, controls_of, draft_of
from tiersim.scenarios.exploring.explorer import MOST_PINS, Explorer, _tells, open_recording
from tiersim.scenarios.exploring.sample import WINDOWS, Windows, WindowSample, variation
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay_all, survey_to_play
from tiersim.scenarios.sizing.targets import parse_target
from tiersim.scenarios.statements import replay as replaying_statements
from tiersim.scenarios.sweeps.sources import RequestSource
from tiersim.simulator.result import Figure, Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.schema import DATA_READ, DATA_WRITE

MOST = 3000


# ------------------------------------------------------------------------------------------------------------- drafts
def _changed(draft: Draft, *changes: tuple[str, Any]) -> Draft:
    for key, value in changes:
        draft = changed(draft, key, value)
    draft.scenario()
    return draft


def test_a_draft_begins_as_the_scenario_that_it_is_of() -> None:
    for name in ("15k-raid10", "pcie-flash", "aws-gp3", "intel-p3700-800"):
        assert draft_of(name).scenario().to_toml() == load_scenario(name).to_toml()


def test_a_layout_follows_the_count_and_the_count_the_layout() -> None:
    draft = draft_of("intel-p3700-800")
    several = _changed(draft, ("volumes.data.count", 4))
    assert several.values["volumes"]["data"] == {"device": "intel-p3700-800", "count": 4, "layout": "raid10"}
    assert _changed(several, ("volumes.data.count", 3)).values["volumes"]["data"]["count"] == 2
    assert _changed(several, ("volumes.data.count", 5)).values["volumes"]["data"]["count"] == 6
    assert _changed(several, ("volumes.data.count", 1)).values["volumes"]["data"]["layout"] == "single"
    assert _changed(several, ("volumes.data.layout", "single")).values["volumes"]["data"]["count"] == 1
    assert _changed(draft, ("volumes.data.layout", "raid6")).values["volumes"]["data"]["count"] == 4


def test_a_cloud_volume_has_nothing_of_an_array_and_the_other_way_round() -> None:
    cloud = _changed(draft_of("15k-raid10"), ("volumes.data.device", "aws-gp3"), ("volumes.data.iops", 6000))
    assert cloud.values == {"volumes": {"data": {"device": "aws-gp3", "iops": 6000}}}
    again = _changed(cloud, ("volumes.data.device", "intel-p3700-800"))
    assert again.values == {"volumes": {"data": {"device": "intel-p3700-800"}}}


def test_what_is_left_out_leaves_no_empty_tables_and_a_cache_that_goes_takes_its_policy_along() -> None:
    capped = _changed(draft_of("pcie-flash"), ("controllers.controller.iops", 5000))
    assert _changed(capped, ("controllers.controller.iops", None)).values == {
        "volumes": {"data": {"device": "intel-p3700-800"}}
    }
    without = _changed(draft_of("15k-raid10"), ("controllers.raid.cache", None))
    assert "write_policy" not in without.values["controllers"]["raid"]


def test_a_change_of_hardware_drops_the_words_for_the_hardware_before() -> None:
    draft = _changed(draft_of("15k-raid10"), ("volumes.data.count", 8))
    assert draft.scenario().description.startswith("8 × ")
    assert draft.scenario().description.endswith("; controller raid, 256 MiB of write cache, at most 1.484 GB/s")
    assert _changed(draft_of("15k-raid10"), ("replay.load", 2.0)).scenario().description.startswith("16 × 15K")


def test_what_is_ordered_of_a_cloud_volume_is_what_is_sold() -> None:
    """Limits of gp2 follow from its size, and nothing else can be ordered; those of io2 have to be ordered."""
    raised = _changed(draft_of("aws-gp3"), ("volumes.data.iops", 6000), ("volumes.data.size", "800 GiB"))
    gp2 = _changed(raised, ("volumes.data.device", "aws-gp2"))
    assert gp2.values["volumes"]["data"] == {"device": "aws-gp2", "size": "800 GiB"}
    defaults = {
        device: {
            control.key.removeprefix("volumes.data."): control.default
            for control in controls_of(changed(raised, "volumes.data.device", device), statements=False)
            if control.key.endswith((".size", ".iops", ".throughput"))
        }
        for device in ("aws-gp2", "aws-gp3", "aws-io2")
    }
    assert defaults == {
        "aws-gp2": {"size": "needed: its limits follow from it"},
        "aws-gp3": {"size": "as small as the trace allows", "iops": "as included", "throughput": "as included"},
        "aws-io2": {"size": "as small as the trace allows", "iops": "needed"},
    }


def test_a_wrong_scenario_is_told_without_the_file_that_it_began_as() -> None:
    draft = draft_of("15k-raid10")
    for key in ("controllers.raid.throughput", "controllers.raid.cache"):
        draft = changed(draft, key, "abc")
    with pytest.raises(ScenarioError) as raised:
        draft.scenario()
    assert "toml" not in str(raised.value)
    assert str(raised.value).startswith("controllers.raid.")


def test_devices_in_files_are_found_wherever_the_draft_is_saved(tmp_path: Path) -> None:
    (tmp_path / "drives").mkdir()
    scenario = tmp_path / "drives" / "mine.toml"
    (tmp_path / "drives" / "drive.toml").write_text(
        (Path("devices/catalogue/intel-p3700-800.toml")).read_text(encoding="utf-8"), encoding="utf-8"
    )
    scenario.write_text('[volumes.data]\ndevice = "drive.toml"\n', encoding="utf-8")
    saved = tmp_path / "saved.toml"
    saved.write_text(draft_of(str(scenario)).toml, encoding="utf-8")
    assert load_scenario(str(saved)).volumes["data"].device == load_scenario(str(scenario)).volumes["data"].device


@pytest.mark.parametrize("key", ["load", "", ".load", "replay.", "replay.load.more"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ScenarioError, match=r"key"):
        changed(_changed(draft_of("pcie-flash"), ("replay.load", 2.0)), key, 1)


def test_every_control_changes_what_it_says() -> None:
    values = {"device": "aws-gp3", "count": 2, "size": "512 MiB", "rate": "200 MB/s", "factor": 0.5, "choice": "raid0"}
    for name in ("15k-raid10", "pcie-flash", "aws-gp3", "hdd-100"):
        draft = draft_of(name)
        for control in controls_of(draft, statements=True):
            found = changed(draft, control.key, values[control.kind])
            own = {one.key: one.value for one in controls_of(found, statements=True)}
            assert own[control.key] == values[control.kind]


# ------------------------------------------------------------------------------------------------------------ samples
def test_windows_lie_one_in_each_part_and_keep_the_distances_within() -> None:
    rows = rows_of(np.arange(60_000) * 1000, 500)
    windows = Windows(60_000, 60_000_000, most=6000)
    for block in (0, 1):
        half = slice(block * 30_000, (block + 1) * 30_000)
        windows.add(replace(rows, **{name: getattr(rows, name)[half] for name in vars(rows)}))
    part_ns = 60_000_000 // WINDOWS
    assert [start // part_ns for start in windows.starts_ns] == list(range(WINDOWS))
    assert windows.length_ns == part_ns // 10
    assert windows.requests == pytest.approx(6000, abs=2 * WINDOWS)
    times = np.concatenate([part.time_ns for part in windows._kept])
    assert (np.diff(times) >= 0).all()
    assert times[-1] < WINDOWS * windows.length_ns
    assert np.median(np.diff(times)) == 1000
    kept = [column for part in windows._kept for column in vars(part).values()]
    assert all(column.base is None for column in kept)  # a view would hold the whole block


def test_of_a_long_trace_one_way_of_replaying_is_kept_and_the_commands_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, loads = RequestSource(Bundle(small_recording(tmp_path)), None, None), (1.0, 1.5, 1.0)
    scenarios = [load_scenario("pcie-flash", [f"replay.load={load}"]) for load in loads]
    expected = [source.run(scenario, lambda _: None, tables=True).summary for scenario in scenarios]
    assert len(source._playback._ways._kept) == 2
    monkeypatch.setattr(replaying, "_LONG", 0)
    monkeypatch.setattr(replaying, "_MOST_KEPT_BYTES", 0)
    source = RequestSource(Bundle(tmp_path / "made-up.trace"), None, None)
    assert [source.run(scenario, lambda _: None, tables=True).summary for scenario in scenarios] == expected
    assert len(source._playback._ways._kept) == 1
    assert not source._playback._recorded._kept


@pytest.mark.skipif(sys.platform != "linux", reason="tells the most memory of a process on Linux alone")
def test_what_exploring_takes_is_measured_after_each_change(tmp_path: Path) -> None:
    compile_if_cold()
    lines: list[str] = []
    recording = exploring.write_recording(tmp_path / "made-up.trace", 3000)
    exploring.most_bytes()
    most = exploring.measure(recording, lines.append, ({"replay.load": 2.0},))
    assert [line.split("|")[1].strip() for line in "\n".join(lines).splitlines()] == [
        "after", "---", "the start", "replay.load 2.0",
    ]  # fmt: skip
    assert 50 << 20 < most < 1 << 40


def test_a_sample_of_all_is_the_whole(tmp_path: Path) -> None:
    """Windows as long as their parts are the recording, cut at its end to whole windows."""
    bundle = Bundle(small_recording(tmp_path))
    windows = Windows(bundle.rows, bundle.manifest.span_ns, most=bundle.rows)
    assert windows.starts_ns == [place * windows.length_ns for place in range(WINDOWS)]
    found = survey_to_play(bundle, []).found
    for block in bundle.blocks():
        windows.add(block)
    sample = windows.sample(found).plain(load_scenario("pcie-flash"), lambda _: None)
    (whole,) = replay_all(found, [load_scenario("pcie-flash")], workers=1)
    assert sample.summary["latency_ns"]["unknown"]["p99"]["value"] == pytest.approx(
        whole.summary["latency_ns"]["unknown"]["p99"]["value"], rel=0.02
    )


def test_the_interval_of_a_sample_is_wider_than_that_of_a_recording_as_short(tmp_path: Path) -> None:
    bundle = Bundle(small_recording(tmp_path))
    windows = Windows(bundle.rows, bundle.manifest.span_ns, most=bundle.rows // 10)
    found = survey_to_play(bundle, []).found
    for block in bundle.blocks():
        windows.add(block)
    sample, scenario = windows.sample(found), load_scenario("pcie-flash")
    plain = sample.plain(scenario, lambda _: None).summary["latency_ns"]["unknown"]
    given = sample.run(scenario, lambda _: None).summary["latency_ns"]["unknown"]
    file = Path(sampling.__file__).with_name("sample_error.toml")
    for statistic, factor in tomllib.loads(file.read_text(encoding="utf-8"))["factors"].items():
        before, after = plain[statistic], given[statistic]
        centre = before["value"] or (before["low"] + before["high"]) / 2
        assert after["high"] - centre == pytest.approx(factor * (before["high"] - centre))
        assert after["value"] in (before["value"], None)
    assert (given["p999"]["value"], given["p999"]["low"]) == (None, None)
    assert (given["count"], given["max"]) == (plain["count"], plain["max"])


def test_no_figure_is_given_of_requests_that_come_in_few_bursts() -> None:
    """9,000 reads at an even pace, and 1,000 writes within a hundredth of the time: most windows see none of those."""
    writes = np.sort(np.concatenate([np.zeros(9000, np.int64), np.ones(1000, np.int64)]))
    times = np.concatenate([np.arange(9000) * 1_000_000, 4_000_000_000 + np.arange(1000) * 90_000])
    order = np.argsort(times, kind="stable")
    rows = rows_of(times[order], 500)
    rows = replace(rows, op=writes[order].astype(np.uint8))
    named = replace(rows, purpose=np.array([DATA_READ, DATA_WRITE], np.uint8)[writes[order]])
    windows = Windows(10_000, 9_000_000_000, most=1000)
    windows.add(named)
    counts = windows._counts.sum(axis=1)
    assert (counts[DATA_READ], counts[DATA_WRITE]) == (9000, 1000)
    reads, writes_ = (variation(windows._counts[one]) for one in (DATA_READ, DATA_WRITE))
    assert reads < 0.01
    assert writes_ == pytest.approx(np.sqrt(99 * (1 / 30 - 1 / 300)), rel=0.1)  # in 3 of the 300 places for a window


def test_the_variation_of_a_mean_is_that_of_draws_without_replacement() -> None:
    generator = np.random.default_rng(3)
    counts = generator.poisson(generator.gamma(0.5, 20, 200))
    drawn = [generator.choice(counts, WINDOWS, replace=False).mean() for _ in range(20_000)]
    assert variation(counts) == pytest.approx(np.std(drawn) / counts.mean(), rel=0.03)
    assert variation(counts[:WINDOWS]) == 0.0  # all of them are drawn
    assert variation(np.zeros(100, np.int64)) == 0.0


def test_a_sample_says_why_it_gives_no_figure(tmp_path: Path) -> None:
    bundle = Bundle(small_recording(tmp_path))
    windows = Windows(bundle.rows, bundle.manifest.span_ns, most=bundle.rows // 10)
    found = survey_to_play(bundle, []).found
    for block in bundle.blocks():
        windows.add(block)
    scenario = load_scenario("pcie-flash")
    windows._counts[0, 0] = bundle.rows  # as if there had been as many requests more in one window
    latencies = windows.sample(found).run(scenario, lambda _: None).summary["latency_ns"]["unknown"]
    assert latencies["p50"]["value"] is None
    assert latencies["p50"]["basis"] == "its requests come in a few bursts, and a sample may miss them"
    short = WindowSample(found, windows._kept, 1000, frozenset())
    latencies = short.run(scenario, lambda _: None).summary["latency_ns"]["unknown"]
    assert latencies["p50"]["basis"] == "it may be longer than a window of the sample (1 µs)"


def test_an_interval_that_is_made_too_wide_leaves_no_figure() -> None:
    figure = Figure(value=100.0, low=90.0, high=120.0, resolved=True, basis="simulated")
    assert sampling.widened(figure, 1.5) == {
        "value": 100.0, "low": 85.0, "high": 130.0, "resolved": True,
        "basis": "simulated, 1.5 times as wide for a sample",
    }  # fmt: skip
    assert sampling.widened(figure, 2.0)["value"] is None
    assert sampling.widened(figure, 20.0)["low"] == 0
    assert sampling.widened({**figure, "high": None}, 1.5) == {
        "value": None, "low": None, "high": None, "resolved": False, "basis": "simulated",
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------- explorations
@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    compile_if_cold()


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_REQUESTS", MOST)
    monkeypatch.setattr(Windows.__init__, "__kwdefaults__", {"most": MOST, "seed": 1})


Begin = Callable[..., Explorer]


@pytest.fixture
def begin(tmp_path: Path, small_samples: None) -> Iterator[Begin]:
    begun: list[Explorer] = []

    def made(*names: str) -> Explorer:
        drafts = [draft_of(name) for name in names]
        begun.append(Explorer(open_recording(Bundle(small_recording(tmp_path)), drafts[0]), drafts))
        return begun[-1]

    yield made
    for one in begun:
        one.end()


def assert_equal(found: Result, expected: Result) -> None:
    """To the bit, but for the name."""
    assert json.dumps({**found.summary, "name": ""}, sort_keys=True) == json.dumps(
        {**expected.summary, "name": ""}, sort_keys=True
    )
    assert found.scenario_toml == expected.scenario_toml
    for table in ("latency", "timeline", "stations"):
        assert getattr(found, table).equals(getattr(expected, table))


CHANGES: list[dict[str, Any]] = [
    {"volumes.data.count": 6}, {"volumes.data.layout": "raid0"}, {"controllers.raid.cache": "64 MiB"},
    {"replay.load": 2.0}, {"volumes.data.device": "aws-gp3"}, {"volumes.data.iops": 4000}, {"replay.load": 0.5},
    {"volumes.data.device": "intel-p3700-800", "replay.load": None},
]  # fmt: skip


@pytest.mark.long
def test_figures_of_the_whole_are_those_of_a_replay_of_the_saved_scenario(begin: Begin, tmp_path: Path) -> None:
    explorer = begin("15k-raid10")
    bundle = Bundle(tmp_path / "made-up.trace")
    for change in CHANGES:
        explorer.change(change)
        until(explorer, is_done(explorer))
        picture = explorer.state.picture
        assert picture is not None
        assert (picture.of, explorer.state.error) == ("whole", "")
        file = tmp_path / "saved.toml"
        file.write_text(explorer.state.draft.toml, encoding="utf-8")
        saved = load_scenario(str(file))
        playback = survey_to_play(bundle, [saved])
        assert_equal(picture.result, replay_all(playback.found, [saved], workers=1, playback=playback)[0])


def test_a_sample_is_shown_before_the_whole_and_says_so(begin: Begin, tmp_path: Path) -> None:
    explorer = begin("15k-raid10")
    with explorer.changed:  # the whole cannot be shown meanwhile
        until(explorer, lambda: explorer.state.picture is not None)
        picture = explorer.state.picture
        drawn = json.loads(ExplorationView(explorer, tmp_path).figures()[1])
    assert drawn["traces"][0]["name"].startswith("A sample of ")
    assert picture is not None
    assert picture.of == "sample"
    assert any(caveat.startswith("a sample: 30 windows with 1") for caveat in picture.result.summary["caveats"])
    until(explorer, is_done(explorer))
    assert explorer.state.picture is not None
    assert explorer.state.picture.of == "whole"


def test_what_was_recorded_is_told_of_the_whole_beside_a_sample(begin: Begin, tmp_path: Path) -> None:
    explorer = begin("15k-raid10")
    until(explorer, is_done(explorer))
    explorer.pin()
    view = ExplorationView(explorer, tmp_path)
    whole = json.loads(view.figures()[1])
    with explorer.changed:
        explorer.change({"replay.load": 1.25})
        until(explorer, lambda: explorer.state.picture is not None and explorer.state.picture.of == "sample")
        drawn, state = json.loads(view.figures()[1]), json.loads(view.state())
    assert drawn["traces"] == whole["traces"]
    now, pinned = (one["description"] for one in drawn["scenarios"])
    assert now.startswith("sample; 16 × 15K")
    assert now.endswith("; 1.25 × the recorded load")
    assert pinned == whole["scenarios"][0]["description"] == state["pins"][0]["description"]
    assert "load" not in pinned


def test_the_next_change_ends_the_run_before_it(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = begin("15k-raid10")
    until(explorer, is_done(explorer))
    whole, entered, leave, ended = explorer.recording.source.run, threading.Event(), threading.Event(), []

    def slow(scenario: Any, note: Callable[[int], None], *, tables: bool) -> Result:
        if not entered.is_set():
            entered.set()
            assert leave.wait(60)
            try:
                note(1)
            except Exception as end:
                ended.append(type(end).__name__)
                raise
        return whole(scenario, note, tables=tables)

    monkeypatch.setattr(explorer.recording.source, "run", slow)
    explorer.change({"volumes.data.count": 4})
    assert entered.wait(60)
    explorer.change({"volumes.data.count": 2})
    leave.set()
    until(explorer, is_done(explorer))
    assert ended == ["_Stale"]
    assert explorer.state.picture is not None
    assert explorer.state.picture.result.summary["description"].startswith("2 × ")


def test_a_scenario_that_cannot_be_is_one_sentence_and_the_figures_stay(begin: Begin) -> None:
    explorer = begin("15k-raid10")
    until(explorer, is_done(explorer))
    before = explorer.state.picture
    explorer.change({"replay.load": 100.0})
    until(explorer, is_done(explorer))
    assert explorer.state.stage == "failed"
    assert explorer.state.error.startswith("replay.load")  # no line of a file: the draft is none yet
    assert explorer.state.picture is before
    explorer.change({"replay.load": 2.0})
    until(explorer, is_done(explorer))
    assert (explorer.state.stage, explorer.state.error) == ("done", "")


def test_a_trace_too_long_for_the_memory_is_one_sentence_and_the_figures_stay(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = begin("pcie-flash")
    until(explorer, is_done(explorer))
    before = explorer.state.picture
    with monkeypatch.context() as short:
        short.setattr(replaying, "available_bytes", lambda: 1 << 20)
        explorer.change({"replay.load": 8.0})
        until(explorer, is_done(explorer))
    assert explorer.state.stage == "failed"
    assert "requests take about" in explorer.state.error
    assert "of memory" in explorer.state.error
    assert before is not None
    assert explorer.state.picture is not None
    explorer.change({"replay.load": 1.0})
    until(explorer, is_done(explorer))
    assert (explorer.state.stage, explorer.state.error) == ("done", "")


def test_a_fault_of_the_program_is_said_and_the_next_change_goes_on(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = begin("15k-raid10")
    until(explorer, is_done(explorer))
    with monkeypatch.context() as faulty:
        faulty.setattr(explorer.recording.source, "run", lambda *_, **__: 1 // 0)
        explorer.change({"replay.load": 0.5})
        until(explorer, is_done(explorer))
        assert explorer.state.error.startswith("tiersim has failed: ZeroDivisionError")
    explorer.change({"replay.load": 0.75})
    until(explorer, is_done(explorer))
    assert (explorer.state.stage, explorer.state.error) == ("done", "")


def test_pictures_are_pinned_dropped_and_gone_back_to(begin: Begin) -> None:
    explorer = begin("15k-raid10", "pcie-flash")
    until(explorer, lambda: len(explorer.state.pins) == 1 and is_done(explorer)())
    explorer.pin()
    assert [one.letter for one in explorer.state.pins] == ["A", "B"]
    explorer.unpin("A")
    explorer.change({"replay.load": 0.5})
    until(explorer, is_done(explorer))
    explorer.pin()
    assert [one.letter for one in explorer.state.pins] == ["A", "B"]
    explorer.back_to("B")
    until(explorer, is_done(explorer))
    assert explorer.state.draft.values == draft_of("15k-raid10").values
    for load in (0.75, 0.6):
        explorer.change({"replay.load": load})
        until(explorer, is_done(explorer))
        if len(explorer.state.pins) < MOST_PINS:
            explorer.pin()
        else:
            with pytest.raises(ScenarioError, match="drop one"):
                explorer.pin()
    with pytest.raises(ScenarioError, match="not pinned"):
        explorer.back_to("Z")


def test_only_the_whole_is_pinned(begin: Begin) -> None:
    explorer = begin("15k-raid10")
    with pytest.raises(ScenarioError, match="whole"):
        explorer.pin()


def test_the_cheapest_hardware_is_found_and_can_be_used(begin: Begin, tmp_path: Path) -> None:
    explorer = begin("15k-raid10")
    until(explorer, is_done(explorer))
    explorer.search("p95(unknown) < 1 ms")
    search = explorer.state.search
    assert search is not None
    until(explorer, lambda: bool(search["document"] or search["error"]))
    assert search["error"] == ""
    chosen = next(one for one in search["document"]["candidates"] if one["status"] == "chosen")
    view = ExplorationView(explorer, tmp_path)
    assert json.loads(view.state())["name"] == "15k-raid10-explored"
    told = json.loads(view.state())["search"]
    assert told["kept"] == ["controller raid, 256 MiB of write cache, at most 1.484 GB/s"]
    assert (told["stale"], told["on_sample"]) == (False, True)
    explorer.change({key: int(text) if text.isdigit() else text for key, text in chosen["settings"].items()})
    assert json.loads(view.state())["search"]["stale"]
    assert json.loads(view.state())["name"] == "crucial-t500-2000-x1"
    until(explorer, is_done(explorer))
    assert explorer.state.picture is not None
    assert explorer.state.picture.result.summary["latency_ns"]["unknown"]["p95"]["value"] < 1e6
    with pytest.raises(ScenarioError, match="target"):
        explorer.search("as fast as can be")


@pytest.mark.long
def test_a_search_judges_by_the_whole_what_a_sample_cannot_tell(begin: Begin) -> None:
    explorer = begin("15k-raid10")
    until(explorer, is_done(explorer))
    sample = explorer.recording.sample
    assert isinstance(sample, WindowSample)
    sample._bursts = frozenset({"unknown"})
    explorer.search("p95(unknown) < 1 ms")
    search = explorer.state.search
    assert search is not None
    until(explorer, lambda: bool(search["document"] or search["error"]))
    assert search["error"] == ""
    assert any(one["status"] == "chosen" for one in search["document"]["candidates"])


def test_progress_at_twice_the_load_counts_what_was_recorded() -> None:
    heard: list[int] = []
    recorded: Any = range(10)  # so many statements
    hear = replaying_statements._up_to(recorded, load_scenario("pcie-flash", ["replay.load=2.0"]), heard.append)
    assert hear is not None
    for done in (0, 10, 20, 30):
        hear(done)
    assert heard == [0, 5, 10, 10]


@pytest.mark.long
def test_statements_are_replayed_as_replay_does(tmp_path: Path) -> None:
    from tiersim.scenarios.statements.replay import replay_statements_all
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import reads

    target = tmp_path / "reads.trace"
    import_trace([reads(tmp_path) / "counters"], target, force=False)
    bundle = Bundle(target)
    draft = _changed(draft_of("pcie-flash"), ("engine.buffer_pool", "64 MiB"), ("host.cores", 2))
    explorer = Explorer(open_recording(bundle, draft), [draft])
    try:
        assert explorer.recording.sample is not None
        sample = explorer.recording.sample.run(draft.scenario(), lambda _: None)
        assert sample.summary["model_error"]["basis"] == "unknown"  # its caches are those of a short run
        assert in_doubt(sample.summary)
        assert not _tells(sample, (parse_target("mean(transaction) < 1 s"),))
        assert {control.key for control in explorer.controls()} >= {"engine.buffer_pool", "host.cores"}
        until(explorer, is_done(explorer))
        picture = explorer.state.picture
        assert picture is not None
        (expected,) = replay_statements_all(bundle, [draft.scenario()])
        assert_equal(picture.result, expected)
        view = ExplorationView(explorer, tmp_path)
        assert json.loads(view.figures()[1])["scenarios"][0]["description"].endswith("; 2 cores")
        for change, fills in (({"replay.load": 0.5}, False), ({"engine.buffer_pool": "48 MiB"}, True)):
            with explorer.changed:
                explorer.change(change)
                assert json.loads(view.state())["fills_pool"] is fills
            until(explorer, is_done(explorer))
            assert not json.loads(view.state())["fills_pool"]
    finally:
        explorer.end()


def test_the_programs_of_the_document_draw_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from plotly.graph_objects import Figure

    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import pgbench

    shown: list[Figure] = []
    monkeypatch.setattr(Figure, "show", lambda figure: shown.append(figure))
    text = Path("docs/explore.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(cells) == 2
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    Path("sample.blktrace").write_bytes(pgbench()[: 48 * 20_000])
    import_trace([Path("sample.blktrace")], Path("demo/pgbench.trace"), force=False)
    Path("program.py").write_text("\n".join(cells), encoding="utf-8")
    runpy.run_path("program.py")
    percentiles, ratios, busy = shown
    assert {"4 drives", "8 drives", "16 drives"} <= {trace.name for trace in percentiles.data}
    assert len(ratios.data) > 0
    assert [trace.name.split(":")[0] for trace in busy.data] == ["15k-raid10", "pcie-flash"]
