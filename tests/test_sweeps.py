"""Sweeps: every point is what a replay of it is, whoever runs it and however often it is interrupted."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.counted_databases import counted_database
from tests.sweep_runs import SETTINGS, begin, contents, grid_of, run_in, whole, write_trace
from tiersim.cli.main import app
from tiersim.cli.sweep_table import _range
from tiersim.errors import OutputError, ScenarioError
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.survey import survey
from tiersim.scenarios.sweeps import runner as runs
from tiersim.scenarios.sweeps.axes import parse_axes
from tiersim.scenarios.sweeps.folder import open_folder
from tiersim.scenarios.sweeps.grid import Grid
from tiersim.scenarios.sweeps.runner import Threads, look_over, run_sweep
from tiersim.scenarios.sweeps.screening import stand_ins
from tiersim.scenarios.sweeps.sources import StatementSource, open_source
from tiersim.simulator.result import load_result
from tiersim.traces.bundle import Bundle

REQUESTS = 160


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace"), REQUESTS)


@pytest.fixture(scope="module")
def swept(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nothing interrupted."""
    target = tmp_path_factory.mktemp("swept") / "a.sweep"
    assert run_in(target, trace, grid_of(), keep=True) == 6
    return target


def test_a_point_is_what_a_replay_is(trace: Path, swept: Path) -> None:
    row = whole(swept).row(5)
    assert row["settings"] == {"volumes.data.device": "micron-s650dc-800", "replay.load": "2"}
    scenario = load_scenario("pcie-flash", ["volumes.data.device=micron-s650dc-800", "replay.load=2"])
    alone = replay(survey(Bundle(trace)), scenario)
    for key in ("latency_ns", "throughput_per_s", "verdict", "bottleneck", "load"):
        assert row["summary"][key] == json.loads(json.dumps(alone.summary[key])), key
    kept = load_result(swept / "results" / "000005.result")
    assert kept.summary == json.loads(json.dumps(alone.summary))
    assert kept.timeline.equals(alone.timeline)


def test_what_cannot_be_simulated_is_a_row_with_a_sentence_and_the_rest_stands(swept: Path) -> None:
    rows = list(whole(swept).rows(6))
    assert [row["status"] for row in rows] == ["done", "done", "failed", "failed", "done", "done"]
    assert "'nosuch' is not a device of the catalogue" in rows[2]["error"]
    assert rows[2]["summary"] == {}
    assert not (swept / "results" / "000002.result").exists()


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers_gives_the_same_bytes(workers: int, trace: Path, swept: Path, tmp_path: Path) -> None:
    run_in(tmp_path / "a.sweep", trace, grid_of(), keep=True, workers=workers)
    assert contents(tmp_path / "a.sweep") == contents(swept)


@pytest.mark.parametrize("after", [1, 3, 5])
def test_interrupted_it_goes_on_with_what_is_missing(after: int, trace: Path, swept: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.sweep"

    def interrupt(done: int, _: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(target, trace, grid_of(), keep=True, workers=2, progress=interrupt)
    there = len(list((target / "points").iterdir()))
    assert after <= there < 6
    assert not (target / "points.parquet").exists()
    assert run_in(target, trace, grid_of(), keep=True) == 6 - there
    assert contents(target) == contents(swept)


def test_a_damaged_point_and_what_a_killed_run_left_are_done_away_with(
    trace: Path, swept: Path, tmp_path: Path
) -> None:
    target = tmp_path / "a.sweep"
    run_in(target, trace, grid_of(), keep=True)
    (target / "points.parquet").unlink()
    (target / "points" / "000001.json").write_text('{"point": 1, "sett')
    (target / "points" / "000004.json").write_text((target / "points" / "000005.json").read_text())
    (target / "points" / ".000003.json.77.partial").write_text("{")
    (target / "results" / ".000003.result.77.partial").mkdir()
    assert run_in(target, trace, grid_of(), keep=True) == 2
    assert contents(target) == contents(swept)


@pytest.mark.parametrize(
    ("settings", "keep", "said"),
    [
        ((SETTINGS[0], "replay.load=1,2,4"), True, "other values"),
        ((*SETTINGS, "replay.mode=open"), True, "other settings"),
        (SETTINGS, False, "another --keep"),
    ],
)
def test_it_does_not_go_on_as_something_else(
    settings: tuple[str, ...], keep: bool, said: str, trace: Path, swept: Path, tmp_path: Path
) -> None:
    target = tmp_path / "a.sweep"
    target.mkdir()
    (target / "sweep.json").write_bytes((swept / "sweep.json").read_bytes())
    with pytest.raises(OutputError, match=rf"was begun with .*{said}.*choose another name or add --force"):
        run_in(target, trace, grid_of(*settings), keep=keep)
    assert not (target / "points").exists()


def test_it_does_not_go_on_with_devices_that_have_changed(trace: Path, tmp_path: Path) -> None:
    scenario, target = tmp_path / "mine.toml", tmp_path / "a.sweep"
    grid = grid_of("volumes.data.count=1,2", on=str(scenario))
    scenario.write_text('[volumes.data]\ndevice = "intel-p3700-800"\n')
    plan, _ = begin(trace, grid)
    with open_folder(target, plan, force=False):
        pass
    scenario.write_text('[volumes.data]\ndevice = "micron-s650dc-800"\n')
    with pytest.raises(OutputError, match="was begun with a scenario, or devices, that have changed since"):
        run_in(target, trace, grid)


def test_it_does_not_go_on_with_another_trace_or_tool(
    swept: Path, tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.sweep"
    target.mkdir()
    (target / "sweep.json").write_bytes((swept / "sweep.json").read_bytes())
    other = write_trace(tmp_path / "other", REQUESTS, seed=2)
    with pytest.raises(OutputError, match="was begun with another trace"):
        run_in(target, other, grid_of(), keep=True)
    monkeypatch.setattr(runs, "__version__", "0.0.1")
    with pytest.raises(OutputError, match="was begun with another version of tiersim"):
        run_in(target, trace, grid_of(), keep=True)


def test_a_whole_sweep_is_refused_and_only_one_at_a_time_is_at_work(trace: Path, swept: Path, tmp_path: Path) -> None:
    plan, _ = begin(trace, grid_of(), keep=True)
    with pytest.raises(OutputError, match="is already there"), open_folder(swept, plan, force=False):
        pass
    with open_folder(tmp_path / "b.sweep", plan, force=False):
        for force in (False, True):
            with (
                pytest.raises(OutputError, match="another tiersim is at work there"),
                open_folder(tmp_path / "b.sweep", plan, force=force),
            ):
                pass
    with open_folder(tmp_path / "b.sweep", plan, force=True) as anew:
        assert anew.path == tmp_path / "b.sweep"


def test_force_replaces_sweeps_and_nothing_else(trace: Path, tmp_path: Path) -> None:
    plan, _ = begin(trace, grid_of())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with (
        pytest.raises(OutputError, match="refusing to replace a folder that tiersim did not write"),
        open_folder(tmp_path / "mine", plan, force=True),
    ):
        pass
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"


def test_no_point_is_a_scenario() -> None:
    with pytest.raises(ScenarioError, match="unknown key 'cout'; did you mean 'count'"):
        look_over(grid_of("volumes.data.cout=1,2"))


def test_an_error_of_the_program_ends_the_sweep_and_keeps_what_is_done(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, source = begin(trace, grid_of())
    ran: list[int] = []

    def run(*arguments: Any, **more: Any) -> Any:
        ran.append(1)
        if len(ran) > 2:
            raise ZeroDivisionError("a mistake of the program")
        return genuine(*arguments, **more)

    genuine = source.run
    monkeypatch.setattr(source, "run", run)
    with open_folder(tmp_path / "a.sweep", plan, force=False) as opened, pytest.raises(ZeroDivisionError):
        run_sweep(grid_of(), opened, Threads(source, 1, keep=False))
    assert len(list((tmp_path / "a.sweep" / "points").glob("0*.json"))) >= 2


def test_the_table_has_all_rows_in_order(swept: Path) -> None:
    table = pq.read_table(swept / "points.parquet")
    assert table["point"].to_pylist() == list(range(6))
    assert table["status"].to_pylist() == ["done", "done", "failed", "failed", "done", "done"]
    assert table["settings.replay.load"].to_pylist() == ["1", "2"] * 3
    assert table["numbers.replay.load"].to_pylist() == [1.0, 2.0] * 3
    row = whole(swept).row(0)
    found = table["latency_ns.unknown.mean.value"].to_pylist()
    assert found[0] == row["summary"]["latency_ns"]["unknown"]["mean"]["value"]
    assert found[2] is None


def test_a_replication_that_is_saturated_is_in_the_cell_of_all() -> None:
    """One of two has a mean: it is not that of both."""
    known = {"mean": {"value": 2e6, "low": 1e6, "high": 3e6, "basis": "simulated"}}
    none = {"mean": {"value": None, "low": None, "high": None, "basis": "saturated: no steady state"}}
    assert _range([known, none], "mean") == "2 ms, saturated"
    assert _range([none, none], "mean") == "saturated"
    assert _range([known, {"mean": {**known["mean"], "value": 4e6}}], "mean") == "2 ms – 4 ms"


def test_replications_have_their_own_seeds(trace: Path, tmp_path: Path) -> None:
    run_in(tmp_path / "a.sweep", trace, grid_of("replay.load=1,2", replications=2))
    rows = list(whole(tmp_path / "a.sweep").rows(4))
    assert [(row["replication"], row["summary"]["seed"]) for row in rows] == [(0, 1), (0, 1), (1, 2), (1, 2)]
    assert rows[1]["summary"]["latency_ns"] != rows[3]["summary"]["latency_ns"]  # clones are drawn anew


def test_a_trace_by_the_clock_is_the_same_from_memory(trace: Path, tmp_path: Path) -> None:
    run_in(tmp_path / "a.sweep", trace, grid_of("replay.mode=open", "volumes.data.queue_depth=1,2"))
    alone = replay(
        survey(Bundle(trace)), load_scenario("pcie-flash", ["replay.mode=open", "volumes.data.queue_depth=2"])
    )
    row = whole(tmp_path / "a.sweep").row(1)
    assert row["summary"]["latency_ns"] == json.loads(json.dumps(alone.summary["latency_ns"]))


# --- statements


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return counted_database(tmp_path_factory.mktemp("counted"))


def statements_grid(*more: str, replications: int = 1) -> Grid:
    return Grid.of("pcie-flash", parse_axes(["host.cores=2", *more]), replications)


def test_pools_whose_misses_are_alike_are_stood_for_by_the_smaller(counted: Path, tmp_path: Path) -> None:
    grid = statements_grid("engine.buffer_pool=256KiB..64MiB", "volumes.data.device=intel-p3700-800,micron-s650dc-800")
    overview = look_over(grid)
    source = open_source(counted, overview.first, None, None)
    assert isinstance(source, StatementSource)
    found = stand_ins(grid, source, 0.01)
    sizes = [grid.point(number).settings["engine.buffer_pool"] for number in range(len(grid))]
    assert found, "64 MiB hold the whole database, as 32 MiB do"
    assert 0 not in found
    assert 1 not in found  # the smallest is always simulated
    for number, by in found.items():
        assert by.point not in found
        assert by.point < number
        assert (
            grid.point(number).settings["volumes.data.device"] == grid.point(by.point).settings["volumes.data.device"]
        )
        assert f"a pool of {sizes[number]} misses" in by.why
    assert not set(stand_ins(grid, source, 0.0)) - set(found)


def test_only_pools_under_statements_are_screened(trace: Path, counted: Path) -> None:
    grid = grid_of("replay.load=1,2")
    with pytest.raises(ScenarioError, match="--screen: compares sizes of a buffer pool under statements"):
        stand_ins(grid, begin(trace, grid)[1], 0.01)
    cold = statements_grid("engine.buffer_pool=32MiB..64MiB", "replay.cache_state=cold")
    assert stand_ins(cold, open_source(counted, look_over(cold).first, None, None), 0.5) == {}


def test_a_screened_point_says_which_one_stands_for_it(counted: Path, tmp_path: Path) -> None:
    said = sweep(
        counted,
        "--on",
        "pcie-flash",
        "--set",
        "host.cores=2",
        "--set",
        "engine.buffer_pool=32MiB..64MiB",
        "--screen",
        0.01,
        "-o",
        tmp_path / "s.sweep",
        "--json",
    )
    rows = json.loads(said.stdout)["rows"]
    assert [row["status"] for row in rows] == ["done", "screened"]
    assert rows[1]["screened"]["by_point"] == 0
    assert rows[1]["summary"] == {}
    assert "transaction" in rows[0]["summary"]["latency_ns"]


# --- the command


def sweep(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_the_command_prints_one_document(trace: Path, swept: Path, tmp_path: Path) -> None:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    said = sweep(trace, "--on", "pcie-flash", *settings, "--keep", "-o", tmp_path / "c.sweep", "--json")
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    plan = json.loads((swept / "sweep.json").read_text())
    assert {key: document[key] for key in plan} == plan
    assert document["schema"] == "tiersim.sweep/1"
    assert document["rows"] == list(whole(swept).rows(6))
    assert contents(tmp_path / "c.sweep") == contents(swept)


def test_points_are_compared_with_the_recorded_hardware(trace: Path, tmp_path: Path) -> None:
    said = sweep(trace, "--on", "pcie-flash", "--set", "replay.load=1,2", "--recorded-on", "sas-ssd-raid10",
                 "-o", tmp_path / "r.sweep", "--json")  # fmt: skip
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert document["recorded_on"] == "sas-ssd-raid10"
    for row in document["rows"]:
        assert row["summary"]["verdict"]["calibration"] in ("calibrated", "uncalibrated")
        assert "unknown" in row["summary"]["relative_latency_ns"]


def test_few_points_are_a_table_and_failures_are_said(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    said = sweep(trace, "--on", "pcie-flash", *settings)
    assert said.exit_code == 0
    assert (tmp_path / "pcie-flash.sweep" / "points.parquet").exists()
    assert "6 points, 4 done, 2 failed" in said.output
    assert "point 2 and 1 more failed: " in said.output
    assert "'nosuch' is not a device" in said.output
    assert "micron-s650dc-800" in said.output


@pytest.mark.long
def test_of_many_points_the_best_and_the_worst_are_shown(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "many.sweep"
    arguments = (trace, "--on", "pcie-flash", "--set", "volumes.data.queue_depth=1..40+1", "-o", target)
    short = sweep(*arguments)
    assert short.exit_code == 0, short.output
    assert "40 points, 40 done; the 6 lowest and 6 highest means" in short.output
    assert f"{target}/points.parquet" in short.output
    assert "--all prints 1 more table." in short.output
    assert len(short.output.splitlines()) < 25
    said = sweep(*arguments, "--all", "--force")
    assert said.exit_code == 0, said.output
    assert "40 points, 40 done; the 8 lowest and 8 highest means" in said.output
    assert "By value, over all points that have it" in said.output
    assert f"{target}/points.parquet" in said.output
    assert len(said.output.splitlines()) < 60


def test_none_can_be_simulated(trace: Path, tmp_path: Path) -> None:
    said = sweep(trace, "--on", "pcie-flash", "--set", "replay.warmup=1s..4s", "-o", tmp_path / "n.sweep")
    assert said.exit_code == 1
    assert "none of its 3 points could be simulated: pcie-flash: replay.warmup: is only for runs of statements" in str(
        said.exception
    )
    assert (tmp_path / "n.sweep" / "points.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "replay.load=1..", "--on", "pcie-flash"], "'1..' is not a range"),
        (["--set", "replay.load=1,2", "--on", "pcie-flahs"], "did you mean 'pcie-flash'?"),
        (["--set", "replay.laod=1,2", "--on", "pcie-flash"], "unknown key 'laod'; did you mean 'load'?"),
        (
            ["--set", "replay.load=1,2", "--on", "pcie-flash", "--screen", "0.01"],
            "--screen: compares sizes of a buffer pool",
        ),
        (
            ["--set", "replay.load=1,2", "--on", "pcie-flash", "--cluster", "tcp://x:1", "--workers", "2"],
            "--workers: a cluster has its own",
        ),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    arguments: list[str], said: str, trace: Path, tmp_path: Path
) -> None:
    found = sweep(trace, *arguments, "-o", tmp_path / "n.sweep")
    assert found.exit_code == 1
    assert isinstance(found.exception, ScenarioError)
    assert said in str(found.exception)
    assert list(tmp_path.iterdir()) == []
