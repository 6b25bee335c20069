"""Loads and sizes with real runs: against queues with closed forms, against exhaustive search, on the founding
document's arrays, by the command line.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.counted_databases import counted_database
from tests.examples import first
from tests.made_up_devices import token_bucket
from tests.recordings import closed_recording, rows_of, write_recording
from tests.runs import commands, needs_jit, poisson
from tiersim.cli.main import app
from tiersim.cli.verdicts import caveats
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.operations import READ, WRITE
from tiersim.scenarios.library import find_workload, load_scenario
from tiersim.scenarios.load_steps import steps_of_sessions
from tiersim.scenarios.replay import INTERVALS
from tiersim.scenarios.sizing.candidates import CandidatesModel, combinations, read_candidates
from tiersim.scenarios.sizing.endurance import endurance_of
from tiersim.scenarios.sizing.load_limit import load_curve
from tiersim.scenarios.sizing.screen import VolumeDemand, certain_failure
from tiersim.scenarios.sizing.size import Request, size
from tiersim.scenarios.sizing.subject import SizingSubject, of_described, of_path, scaled_workload
from tiersim.scenarios.sizing.targets import parse_target
from tiersim.scenarios.sweeps.rows import Row, row_of
from tiersim.scenarios.validation import orders
from tiersim.scenarios.workloads.replay import load_workload
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import summarise
from tiersim.traces.schema import DATA_READ, DATA_WRITE

SERVICE_NS = 1_000_000
DISK, SSD = "seagate-cheetah-15k7-300", "micron-s650dc-800"


def queue_at(servers: int, base: float, requests: int = 200_000) -> Any:
    """Runs of a queue with exponential service, whose servers are busy for *base* of the time at load 1."""

    def at(load: float, _: object) -> Row:
        builder = PlantBuilder(3)
        station = add_server(builder, "queue", servers, SERVICE_NS, "exponential")
        fed = commands(poisson(requests, load * base * servers * 1e9 / SERVICE_NS, 3), station)
        span_ns = int(fed.time_ns[-1]) + 1
        metrics = new_metrics(len(CATEGORIES), 1, RESOURCES, INTERVALS + 1, -(-span_ns // INTERVALS))
        plant, outcome = engine.run(builder.build(), [fed], metrics)
        return row_of(summarise("queue", plant, builder.stations, metrics, outcome, span_ns, {}, ""))

    return at


@pytest.mark.long
@needs_jit
def test_the_knee_of_one_server_is_at_half_of_its_rate() -> None:
    # power = throughput / response = rho (1 - rho) / S² is largest at rho = 1/2 (Kleinrock, 1979)
    curve = load_curve(queue_at(1, 0.4), "requests")
    assert curve.knee is not None
    assert curve.knee["load"] * 0.4 == pytest.approx(0.5, rel=0.03)
    assert curve.knee["low"] < curve.knee["load"] < curve.knee["high"]
    # it is stable below 1; up to 5 % more is not told from that in a run of any length
    assert curve.largest_sustainable is not None
    assert 0.95 <= curve.largest_sustainable["value"] * 0.4 <= 1.06
    assert curve.largest_sustainable["high"] <= curve.largest_sustainable["low"] * 1.03
    assert curve.limited_by == "queue"
    assert sorted(curve.loads) == list(curve.loads)


@needs_jit
def test_the_knee_moves_up_with_servers() -> None:
    # rho / R(rho) of M/M/4 is largest at 0.665: the largest zero of its derivative, found by Erlang's C
    curve = load_curve(queue_at(4, 0.4), "requests")
    assert curve.knee is not None
    assert curve.knee["load"] * 0.4 == pytest.approx(0.665, rel=0.04)


def test_a_target_bounds_the_load() -> None:
    # mean response of M/M/1 is S / (1 - rho): below 2 S up to rho = 1/2
    curve = load_curve(
        queue_at(1, 0.4, 20_000), "requests", [parse_target("mean(data read) < 2 ms")], loads=(0.5, 1.0, 1.5, 2.0)
    )
    assert curve.largest_sustainable is not None
    assert curve.largest_sustainable["value"] * 0.4 == pytest.approx(0.5, rel=0.12)


def test_a_load_that_burst_credits_carry_is_sustained_only_until_they_are_spent() -> None:
    run = queue_at(1, 0.4, 5000)

    def at(load: float, note: object) -> Row:
        row: Row = run(load, note)
        verdict = row["summary"]["verdict"] | {"credits": "falling" if load >= 1.5 else "kept"}
        return {**row, "summary": {**row["summary"], "verdict": verdict}}

    largest = load_curve(at, "requests", loads=(0.5, 1.0, 1.5, 2.0)).largest_sustainable
    slow = [parse_target("mean(data read) < 2 ms")]  # up to a load of 1.25
    kept = load_curve(at, "requests", slow, loads=(0.5, 1.0, 2.0)).largest_sustainable
    assert largest is not None
    assert kept is not None
    assert largest["basis"].endswith("burst credits carry it, until they are spent")
    assert "credits" not in kept["basis"]


def test_a_load_of_whole_sessions_is_called_by_what_was_run_and_run_once() -> None:
    run, asked = queue_at(1, 0.4, 5000), []

    def at(load: float, note: object) -> Row:
        asked.append(load)
        row: Row = run(load, note)
        return row

    slow = [parse_target("mean(data read) < 2 ms")]  # up to a load of 1.25
    curve = load_curve(at, "requests", slow, loads=(0.1, 0.25, 0.5, 1.0, 2.0, 3.0), reached=steps_of_sessions(2).at)
    assert sorted(asked) == list(curve.loads) == [0.5, 1.0, 1.5, 2.0, 3.0]
    assert [row["summary"]["load_reached"] for row in curve.rows] == list(curve.loads)
    assert curve.not_run == {0.1: 0.5, 0.25: 0.5}
    assert curve.largest_sustainable is not None
    assert (curve.largest_sustainable["low"], curve.largest_sustainable["high"]) == (1.0, 1.5)


def test_steps_of_a_load() -> None:
    one, eight = steps_of_sessions(1), steps_of_sessions(8)
    assert [one.at(load) for load in (0.25, 1.0, 1.25, 2.0, 2.5)] == [1, 1, 2, 2, 3]
    assert (one.at_least(1.25), eight.at_least(1.3), eight.at_least(1.25)) == (2, 1.375, 1.25)
    assert steps_of_sessions(1000).at(0.3333) == 0.3333  # near enough
    assert eight.not_run(1.5) == {}
    assert one.not_run(1.25) == {"load_not_run": {"whole": "1 session", "asked": 1.25, "ran": 2}}
    both = ("1.25 × the recorded load ran as 2 ×", "0.5 × the recorded load ran as 1 ×")
    assert caveats([{"caveats": ["else"], **one.not_run(1.25)}, one.not_run(0.5), one.not_run(1.25)]) == [
        f"Sessions are cloned or left out whole (1 session recorded): {', '.join(both)}.",
        "Else.",
    ]


@pytest.mark.parametrize("load", [0.25, 1.0, 1.3, 2.0])
def test_the_steps_of_a_described_workload_are_whole_clients(load: float) -> None:
    path = find_workload(Path("oltp-batches"))
    assert path is not None
    described = load_workload(path)
    steps = of_described(described).steps()
    before, after = (
        [one.clients or 1 for one in each.model.streams.values() if one.rate is None]
        for each in (described, scaled_workload(described, load))
    )
    clocked = len(before) < len(described.model.streams)
    assert steps.reached(load) == pytest.approx(load if clocked else sum(after) / sum(before))


@pytest.mark.parametrize("load", [0.3, 1.3, 2.5])
def test_the_steps_of_requests_are_what_a_replay_runs(load: float, tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(f'[volumes.data]\ndevice = "{bucket(tmp_path, 800)}"\n')
    subject = of_path(recording(tmp_path), load_scenario(str(base)))
    ran = subject.run(load_scenario(str(base), [f"replay.load={load}"]), load, lambda _: None).summary
    assert ran["replay"]["load_reached"] == subject.steps().reached(load)
    assert subject.steps().not_run(load).get("load_not_run") == ran.get("load_not_run")


def test_a_target_of_a_load_runs_no_less_than_it_and_says_what_ran(tmp_path: Path) -> None:
    rows = rows_of(**closed_recording(1, 500, 200_000, 2_000_000))
    trace = write_recording(tmp_path, rows, streams=["1 backend"])
    asked = ["--slo", "throughput >= 1.25x", "--candidates", SSD, "--set", "replay.mode=partly-open"]
    shown = RUNNER.invoke(app, ["size", str(trace), *asked])
    assert shown.exit_code == 0, shown.output
    assert "at 2 × the recorded load" in shown.output
    assert "whole (1 session recorded): 1.25 × was asked for." in " ".join(shown.output.split())
    assert "ran as" not in shown.output  # the run itself got what it was asked for
    document = json.loads(RUNNER.invoke(app, ["size", str(trace), *asked, "--json"]).stdout)
    assert (document["load"], document["load_asked"]) == (2, 1.25)
    sweep = ["sweep", str(trace), "--on", SSD, "--set", "replay.load=0.5,1,1.25", "-o", str(tmp_path / "a")]
    shown = RUNNER.invoke(app, sweep)
    assert "1.25 (ran 2)" in shown.output
    assert "whole (1 session recorded): 1 × ran, as at point 1" in " ".join(shown.output.split())
    rows = json.loads(RUNNER.invoke(app, [*sweep, "--json", "--force"]).stdout)["rows"]
    assert [row["status"] for row in rows] == ["screened", "done", "done"]
    assert rows[0]["screened"] == {
        "by_point": 1,
        "why": "sessions are cloned or left out whole (1 session recorded): 1 × ran, as at point 1",
        "load_in_whole": "1 session",
    }


def test_loads_that_all_hold_and_loads_that_never_do_say_so() -> None:
    light = load_curve(queue_at(1, 0.01, 2000), "requests", loads=(0.5, 1.0, 2.0))
    assert (light.knee, light.limited_by) == (None, None)
    assert light.largest_sustainable is not None
    assert (
        light.largest_sustainable["value"],
        light.largest_sustainable["low"],
        light.largest_sustainable["high"],
    ) == (None, 2.0, None)
    heavy = load_curve(queue_at(1, 4.0, 5000), "requests", loads=(0.5, 1.0))
    assert heavy.knee is None
    assert heavy.largest_sustainable is not None
    assert (heavy.largest_sustainable["low"], heavy.largest_sustainable["high"]) == (None, 0.5)


def recording(folder: Path, per_s: float = 400.0, count: int = 4000, sessions: int = 0) -> Path:
    draw = np.random.default_rng(5)
    times = np.cumsum(draw.exponential(1e9 / per_s, count)).astype(np.int64)
    op = np.where(draw.random(count) < 0.7, READ, WRITE)
    purpose = np.where(op == READ, DATA_READ, DATA_WRITE)
    stream = np.arange(count) % sessions if sessions else -1
    offset_bytes = draw.integers(0, 10**6, count) * 8192
    rows = rows_of(times, 200_000, stream, op=op, purpose=purpose, offset_bytes=offset_bytes)
    return write_recording(folder, rows, streams=[f"{number} backend" for number in range(sessions)])


def test_a_recording_of_less_than_a_second_has_no_rate_to_buy_for(tmp_path: Path) -> None:
    """Of two requests 0.3 ms apart, 6,669 a second were asked of hardware; of one alone, 950 million."""
    rows = rows_of(**closed_recording(1, 3, 100_000, 200_000))
    trace = write_recording(tmp_path, rows, streams=["1 backend"])
    with pytest.raises(ScenarioError, match=r"the recording lasts .*: below 1 s neither its rate.*; record longer"):
        of_path(trace, load_scenario(SSD))
    shown = RUNNER.invoke(app, ["replay", str(trace), "--on", SSD, "-o", str(tmp_path / "out"), "--json"])
    (result,) = json.loads(shown.stdout)["scenarios"]
    assert any(one.startswith("the recording lasts ") for one in result["caveats"])


def test_statements_of_less_than_a_second_have_no_rate_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = counted_database(tmp_path)  # counters of 1 s, executions of 995 ms
    of_path(trace, load_scenario(SSD))
    monkeypatch.setattr("tiersim.scenarios.caveats._LEAST_SPAN_NS", 1_000_000_001)
    with pytest.raises(ScenarioError, match=r"the recording lasts 1 s: below .* neither its rate.*; record longer"):
        of_path(trace, load_scenario(SSD))


def subject_of(folder: Path, base: str, *settings: str) -> SizingSubject:
    return of_path(recording(folder), load_scenario(base, ["replay.mode=open", *settings]))


def bucket(folder: Path, iops: int) -> str:
    path = folder / f"bucket-{iops}.toml"
    path.write_text(token_bucket(carry_over="0 s", iops=iops))
    return str(path)


def test_a_devices_rate_is_the_largest_load_that_is_sustained(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(f'[volumes.data]\ndevice = "{bucket(tmp_path, 800)}"\n[replay]\nmode = "open"\n')
    subject = of_path(recording(tmp_path), load_scenario(str(base)))
    assert subject.recorded_per_s == pytest.approx(400, rel=0.05)

    def at(load: float, note: Any) -> Row:
        own = [f"{key}={value}" for key, value in subject.settings_at(load).items()]
        return row_of(subject.run(load_scenario(str(base), own), load, note))

    curve = load_curve(at, subject.counted, loads=(0.5, 1.0, 1.5, 2.0, 3.0))
    assert curve.largest_sustainable is not None
    # a run of ten seconds forgives a lag of one
    assert curve.largest_sustainable["value"] * (subject.recorded_per_s or 0) == pytest.approx(800, rel=0.13)
    assert curve.limited_by == "data"


def test_a_part_that_is_idle_most_of_the_time_limits_no_load(tmp_path: Path) -> None:
    """One session after the other waits for disks instead of flash: it is late, and the disks are hardly busy."""
    rows = rows_of(**closed_recording(2, 1000, 200_000, 1_000_000))
    subject = of_path(write_recording(tmp_path, rows, streams=["a", "b"]), load_scenario("15k-raid10"))
    curve = load_curve(
        lambda load, note: row_of(subject.run(load_scenario("15k-raid10"), load, note)), subject.counted, loads=(1.0,)
    )
    assert curve.rows[0]["summary"]["verdict"]["load"] == "behind"
    assert "no part is short of capacity" in curve.rows[0]["summary"]["load"]["explanation"]
    assert curve.limited_by is None


CANDIDATES = f"""
[[candidates]]
device = ["{DISK}", "{SSD}"]
count = [2, 4, 6, 8, 10, 12, 14, 16]
layout = ["raid10", "raid5"]
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "slo",
    first(
        2,
        ["p99(data read) < 25 ms", "survives drive failure"],
        ["throughput >= 2x", "p99(data read) < 40 ms"],
        ["p95(data read) < 8 ms", "p99(data write) < 30 ms"],
        ["mean(data read) < 0.5 ms", "capacity >= 2 TB"],
        ["p99(data read) < 1 us"],
    ),
)
def test_a_size_is_that_of_an_exhaustive_search(tmp_path: Path, slo: list[str]) -> None:
    subject = subject_of(tmp_path, DISK)
    path = tmp_path / "candidates.toml"
    path.write_text(CANDIDATES)
    model = read_candidates(path)
    settings = ("replay.mode=open",)
    request = Request(subject, DISK, settings, tuple(parse_target(text) for text in slo), model)
    candidates = combinations(model, DISK, settings, Path())
    few, all_ = (size(request, candidates, exhaustive=exhaustive, runners_up=0) for exhaustive in (False, True))
    assert few["chosen"] == all_["chosen"]
    assert few["simulated"] < all_["simulated"]
    fates = {one["name"]: one for one in all_["candidates"]}
    for one in few["candidates"]:
        if one["status"] == "fails":
            assert fates[one["name"]]["status"] == "fails", one["name"]
            assert one["why"]
    json.dumps(few, allow_nan=False)


def test_the_document_says_what_was_chosen_and_why_not_the_cheaper(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, DISK)
    path = tmp_path / "candidates.toml"
    path.write_text(CANDIDATES)
    model = read_candidates(path)
    targets = (parse_target("p99(data read) < 2 ms"), parse_target("survives drive failure"))
    request = Request(subject, DISK, ("replay.mode=open",), targets, model)
    document = size(request, combinations(model, DISK, ("replay.mode=open",), Path()))
    assert document["schema"] == "tiersim.size/1"
    assert document["chosen"] == f"2 × {SSD} raid10"
    totals = [one["cost"]["total"] for one in document["candidates"]]
    assert totals == sorted(totals)
    (chosen,) = [one for one in document["candidates"] if one["status"] == "chosen"]
    assert chosen["row"]["settings"]["volumes.data.device"] == SSD
    assert chosen["row"]["summary"]["name"] == chosen["name"]
    assert chosen["row"]["summary"]["cost"]["capex"] == chosen["cost"]["capex"] == 2524
    assert chosen["survives_drive_failure"]
    assert chosen["endurance_years"]["low"] > 0
    for one in document["candidates"]:
        if one["cost"]["total"] < 2524:
            assert one["status"] == "fails"
            assert len(one["why"]) == 1
    assert chosen["name"] in document["pareto"]


def test_a_device_that_is_too_slow_by_its_description_is_not_run(tmp_path: Path) -> None:
    names = [bucket(tmp_path, iops) for iops in (50, 60, 5000)]
    prices = "".join(f'[prices."{name}"]\nprice = {price}\n' for price, name in enumerate(names, 10))
    path = tmp_path / "candidates.toml"
    path.write_text(f'price_date = "2026"\n{prices}[[candidates]]\ndevice = {json.dumps(names)}\nlayout = "raid0"\n')
    model, settings = read_candidates(path), ("replay.mode=open",)
    request = Request(subject_of(tmp_path, DISK), DISK, settings, (parse_target("p99(data read) < 5 ms"),), model)
    document = size(request, combinations(model, DISK, settings, Path()), runners_up=0)
    assert document["chosen"] == f"1 × {names[2]} raid0"
    first = document["candidates"][0]
    assert first["name"] == f"1 × {names[0]} raid0"
    assert "requests a second are asked of devices that serve 50 at most" in first["why"][0]
    assert document["simulated"] == 1


def test_the_utilisation_law_excludes_what_is_asked_too_much() -> None:
    four = load_scenario(SSD, ["volumes.data.count=4", "volumes.data.layout=raid10"])
    # 200,000 commands a second each; a write is two
    assert certain_failure(four, VolumeDemand(1.0, 0.0, 0.0, 0.0), 799_000) is None
    assert "800,000 at most" in (certain_failure(four, VolumeDemand(1.0, 0.0, 0.0, 0.0), 801_000) or "")
    assert certain_failure(four, VolumeDemand(0.0, 0.0, 1.0, 0.0), 401_000) is not None
    # 1.2 GB/s each
    assert certain_failure(four, VolumeDemand(0.0, 8192.0, 0.0, 0.0), 4.7e9 / 8192) is None
    assert certain_failure(four, VolumeDemand(0.0, 8192.0, 0.0, 0.0), 4.9e9 / 8192) is not None
    assert certain_failure(four, VolumeDemand(0.0, 8192.0, 0.0, 4096.0), 4.7e9 / 8192) is None  # both ways at a time
    merged = load_scenario(
        SSD, ["volumes.data.merge=true", "volumes.data.queue_depth=32", 'volumes.data.max_request="1 MiB"']
    )
    assert certain_failure(merged, VolumeDemand(1.0, 0.0, 0.0, 0.0), 1e6) is None


def test_endurance_by_hand(tmp_path: Path) -> None:
    scenario = load_scenario(SSD, ["volumes.data.count=4", "volumes.data.layout=raid10", "replay.mode=open"])
    subject = of_path(recording(tmp_path), scenario)
    found = endurance_of(scenario, subject.run(scenario, 1.0, lambda _: None), {"data": 14e15})
    # 30 % of 400 requests/s write 8 KiB to two of four drives
    a_year = 0.3 * 400 * 8192 * 2 / 4 * 365.25 * 86_400
    assert found is not None
    assert found.value == pytest.approx(14e15 / a_year, rel=0.05)
    drive = scenario.hardware["data"].device
    assert found.low == pytest.approx(14e15 / a_year / getattr(drive, "write_amplification"), rel=0.05)  # noqa: B009
    unrated = endurance_of(scenario, subject.run(scenario, 1.0, lambda _: None), {"data": None})
    assert unrated is not None
    assert unrated.low is None
    assert "is not known" in unrated.basis


def test_a_drive_that_nothing_is_written_to_wears_out_no_other(tmp_path: Path) -> None:
    """A second volume, for a log that the recording does not have, says nothing of how long the first one lasts."""
    volumes = "".join(f'[volumes.{name}]\ndevice = "{SSD}"\n' for name in ("data", "log"))
    (tmp_path / "two.toml").write_text(f'{volumes}[placement]\ndefault = "data"\nlog = "log"\n')
    path, found = recording(tmp_path), []
    for name in (SSD, str(tmp_path / "two.toml")):
        scenario = load_scenario(name, ["replay.mode=open"])
        result = of_path(path, scenario).run(scenario, 1.0, lambda _: None)
        found.append(endurance_of(scenario, result, {"data": 14e15, "log": None}))
    assert found[0] is not None
    assert found[0].value
    assert found[1] == found[0]


def test_a_warm_up_makes_no_drive_last_longer_or_shorter(tmp_path: Path) -> None:
    """In it no bytes of reads are counted, and all that pass the drive are: of a volume that both go to the
    difference is what is written.
    """
    path = tmp_path / "mixed.toml"
    path.write_text(
        '[workload]\nengine = "postgresql"\nbuffer_pool = "4 MiB"\nduration = "10 s"\n'
        "[relations.t]\nrows = 400000\nrows_per_page = 40\n"
        '[statements.work]\ndoes = [{ lookup = "t", rows = 20 }, { change = "t", log = "9 B" }, { commit = "20 B" }]\n'
        '[streams.s]\nstatements = ["work"]\nrate = 100\n'
    )
    years = []
    for settings in ((), ("replay.warmup=20 s",)):
        scenario = load_scenario(SSD, settings)
        result = of_described(load_workload(path)).run(scenario, 1.0, lambda _: None)
        found = endurance_of(scenario, result, {"data": 14e15})
        assert found is not None
        years.append(found.low)
    assert years[1] == pytest.approx(years[0], rel=0.1)


def test_clients_that_are_through_sooner_do_not_wear_a_drive_by_more_than_was_recorded(tmp_path: Path) -> None:
    """Their requests come again as often as the recording does, which takes ten times as long as the run."""
    path, years = recording(tmp_path), []
    for rules in (["replay.mode=open"], ["replay.mode=closed", "replay.clients=8", "replay.think=0 s"]):
        scenario = load_scenario(SSD, rules)
        result = of_path(path, scenario).run(scenario, 1.0, lambda _: None)
        found = endurance_of(scenario, result, {"data": 14e15})
        assert found is not None
        years.append(found.value)
    assert result.summary["lag_ns"]["at_end"] < -0.9 * result.summary["trace"]["span_ns"]
    assert years[1] == pytest.approx(years[0], rel=0.02)


def test_a_load_of_the_scenario_itself_is_refused(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, DISK)
    with pytest.raises(ScenarioError, match=r"replay\.load: is varied here"):
        subject.refuse_load(load_scenario(DISK, ["replay.load=2"]))


def test_a_load_that_candidates_say_themselves_is_refused(tmp_path: Path) -> None:
    model = CandidatesModel.model_validate({"candidates": [{"device": DISK, "set": {"replay.load": [1.0, 2.0]}}]})
    subject = subject_of(tmp_path, DISK)
    request = Request(subject, DISK, (), (parse_target("p99(data read) < 5 s"),), model)
    with pytest.raises(ScenarioError, match=r"replay\.load: is varied here"):
        size(request, combinations(model, DISK, (), Path()))


@pytest.mark.parametrize(("whole", "each"), [("true", 1), ("false", 3)])
def test_a_rate_of_passes_is_one_of_the_transactions_in_them(whole: str, each: int, tmp_path: Path) -> None:
    path = tmp_path / "clocked.toml"
    path.write_text(
        '[workload]\nengine = "postgresql"\nbuffer_pool = "4 MiB"\nduration = "5 s"\n'
        "[relations.t]\nrows = 4000\nrows_per_page = 40\n"
        '[statements.look]\ndoes = [{ lookup = "t" }]\n'
        f'[streams.s]\nstatements = ["look", "look", "look"]\ntransaction = {whole}\nrate = 100\n'
    )
    subject = of_described(load_workload(path))
    assert subject.recorded_per_s == 100 * each
    ran = subject.run(load_scenario(SSD), 1.0, lambda _: None).summary
    assert ran["throughput_per_s"]["transactions"]["value"] == pytest.approx(100 * each, rel=0.2)


@pytest.mark.parametrize(
    "more",
    [
        {("relation", "public.archive"): {"kind": "table", "rows": 10**9, "pages": 10**7}},
        {("file", "5/1"): {"kind": "data", "size_bytes": 8192 * 10**7, "reads": 0}},
    ],
)
def test_data_that_no_query_asked_for_take_room_too(
    more: dict[tuple[str, str], dict[str, int | str]], tmp_path: Path
) -> None:
    subject = of_path(counted_database(tmp_path, more=more), load_scenario(SSD))
    assert subject.data_bytes == pytest.approx(8192 * 10**7, rel=0.02)  # and the log


def test_hardware_that_cannot_hold_the_recorded_data_is_not_chosen(tmp_path: Path) -> None:
    archive: dict[str, int | str] = {"kind": "table", "rows": 10**9, "pages": 10**8}  # 819 GB
    trace = counted_database(tmp_path, more={("relation", "public.archive"): archive})
    table = {"device": SSD, "count": [1, 4], "layout": ["raid0"]}
    prices = {SSD: {"price": 100}}
    model = CandidatesModel.model_validate({"price_date": "2026-11", "prices": prices, "candidates": [table]})
    subject = of_path(trace, load_scenario(SSD))
    request = Request(subject, SSD, (), (parse_target("mean(query) < 1 s"),), model)
    one, four = size(request, combinations(model, SSD, (), Path()))["candidates"]
    assert (one["status"], one["row"]) == ("fails", None)
    assert one["why"] == ["not simulated: holds 745.1 GiB, and 763.9 GiB are needed"]
    assert four["status"] == "chosen"


def test_without_any_price_there_is_nothing_to_choose_by(tmp_path: Path) -> None:
    model = CandidatesModel.model_validate({"candidates": [{"device": "intel-p3700-800"}]})
    subject = subject_of(tmp_path, "intel-p3700-800")
    request = Request(subject, "intel-p3700-800", (), (parse_target("p99(data read) < 5 ms"),), model)
    with pytest.raises(ScenarioError, match=r"price of intel-p3700-800 not known; give it under \[prices\]"):
        size(request, combinations(model, "intel-p3700-800", (), Path()))


@needs_jit
@pytest.mark.parametrize("users", [8, pytest.param(64, marks=pytest.mark.long)])
def test_the_founding_documents_ssds_are_worth_their_price(users: int) -> None:
    # 2 s of the 15 minutes; all eight numbers of users: tiersim validate orders
    by_value, document = orders.sized(users, seconds=2)
    assert orders.chooses_ssds(by_value)
    assert orders.chooses_ssds(document)
    disks, ssds = document["candidates"]
    assert disks["cost"]["total"] == 3184  # cheaper, and fails
    assert ssds["cost"]["total"] == 5048
    assert "mean(transaction) is" in disks["why"][0]


RUNNER = CliRunner()


def test_the_commands_write_documents_and_tables(tmp_path: Path) -> None:
    trace = recording(tmp_path, count=1600, sessions=8)
    loads, sizes = tmp_path / "a.load.json", tmp_path / "a.size.json"
    shown = RUNNER.invoke(app, ["load", str(trace), "--on", SSD, "--set", "replay.mode=open", "-o", str(loads)])
    assert shown.exit_code == 0, shown.output
    assert "1.25 ×" in shown.output
    document = json.loads(loads.read_text())
    assert document["schema"] == "tiersim.load/1"
    assert [row["settings"]["replay.load"] for row in document["points"]][:3] == ["0.25", "0.5", "0.75"]
    arguments = [
        "size",
        str(trace),
        "--slo",
        "p99(data read) < 2 ms",
        "--candidates",
        f"{SSD},{DISK}",
        "--set",
        "replay.mode=open",
    ]
    shown = RUNNER.invoke(app, [*arguments, "-o", str(sizes)])
    assert shown.exit_code == 0, shown.output
    assert f"Choose 1 × {SSD}" in shown.output
    assert "not simulated: " in shown.output
    again = RUNNER.invoke(app, [*arguments, "-o", str(sizes)])
    assert again.exit_code != 0
    assert "is already there" in str(again.exception)
    printed = RUNNER.invoke(app, [*arguments, "-o", str(sizes), "--force", "--json"])
    assert json.loads(printed.stdout) == json.loads(sizes.read_text())


def test_the_same_question_has_the_same_answer_to_the_byte(tmp_path: Path) -> None:
    trace = recording(tmp_path, count=800)
    arguments = ["size", str(trace), "--slo", "p99(data read) < 2 ms", "--candidates", f"{SSD}", "--json"]
    assert RUNNER.invoke(app, arguments).output == RUNNER.invoke(app, arguments).output


def test_size_and_load_play_the_recorded_hardware_as_replay_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one run would be calibrated in a replay, and not in a search."""
    trace = write_recording(tmp_path, rows_of(**closed_recording(2, 10, 300_000, 2_000_000)), streams=["a", "b"])
    played: list[Any] = []

    def noted(*given: Any) -> Any:
        played.append(given[2].model.replay)
        raise ScenarioError("that is all")

    monkeypatch.setattr("tiersim.scenarios.sizing.subject.of_path", noted)
    for command in (["load", "--on", "pcie-flash"], ["size", "--slo", "mean(query) < 1 s", "--candidates", SSD]):
        given = [command[0], str(trace), *command[1:], "--recorded-on", "15k-raid10", "--set", "replay.mode=open"]
        assert "that is all" in str(CliRunner().invoke(app, given).exception)
    assert [one.mode for one in played] == ["open", "open"]
