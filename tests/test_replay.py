"""From a bundle to a result: the same bits whatever the number of workers, what is withheld, what is conserved."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tiersim.cli.explain import bound_text
from tiersim.cli.explanation import explanation
from tiersim.cli.page.payload import page_payload
from tiersim.cli.replay import _recorded
from tiersim.cli.verdicts import sentence
from tiersim.devices.catalogue import load_device
from tiersim.errors import ScenarioError
from tiersim.scenarios.caveats import in_doubt
from tiersim.scenarios.hardware import NamedScenario, place_files
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.model import Scenario
from tiersim.scenarios.replay import Playback, commands, replay, replay_all, survey_to_play
from tiersim.scenarios.survey import merge_commands, merged_blocks, survey
from tiersim.simulator.categories import REQUEST_CATEGORIES
from tiersim.simulator.result import Result, load_result, save_result
from tiersim.simulator.summary_model import Summary
from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.readers.importing import import_trace
from tiersim.traces.schema import FLUSH, LOG_WRITE, READ, WRITE

#: Hash of the results of the trace drawn below on SCENARIOS.
GOLDEN = "f58a396f889eee6a0a0ca25e26e00822a8bb56e6df6b2782e494efa1613a1e4d"
SCENARIOS = ("15k-raid10", "sas-ssd-raid10", "pcie-flash", "aws-gp3")


def scenarios() -> list[NamedScenario]:
    """Ready ones, whose commands wait for others, and a device whose commands come by the clock."""
    by_the_clock = Scenario.model_validate({"volumes": {"data": {"device": "aws-gp3"}}, "replay": {"mode": "open"}})
    return [
        *(load_scenario(name) for name in SCENARIOS),
        NamedScenario("by-the-clock", by_the_clock, {"data": load_device("aws-gp3")}),
    ]


def write_trace(folder: Path, count: int = 20_000, per_s: float = 1500.0) -> Path:
    """A trace of two files: reads and writes on one, log writes each followed by a flush on the other."""
    generator = np.random.default_rng(7)
    times = np.cumsum(generator.exponential(1e9 / per_s, count)).astype(np.int64)
    kind = generator.choice(4, count, p=[0.5, 0.2, 0.15, 0.15])
    log = kind >= 2
    op = np.array([READ, WRITE, WRITE, FLUSH], np.uint8)[kind]
    offset = np.where(log, np.cumsum(log) % 4000 * 8192, generator.integers(0, 200_000, count) * 8192)
    flush = op == FLUSH
    nothing = np.full(count, -1, np.int64)
    rows = Requests(
        time_ns=times, op=op, file=log.astype(np.int32), offset_bytes=np.where(flush, 0, offset),
        length_bytes=np.where(flush, 0, 8192), stream=np.full(count, -1, np.int32),
        purpose=np.where(log, LOG_WRITE, np.minimum(kind, 1)).astype(np.uint8), issue_ns=nothing, command=nothing,
        latency_ns=generator.integers(50_000, 500_000, count), flags=np.zeros(count, np.uint8),
    )  # fmt: skip
    target = folder / "drawn.trace"
    with write_bundle(target) as (writer, fields):
        writer.file_names += ["data", "log"]
        writer.append(rows)
        fields["source_format"] = "drawn"
    return target


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace"))


def digest(results: Sequence[Result], folder: Path) -> str:
    """Hash of everything that a result bundle holds but the facts of the run itself."""
    total = hashlib.sha256()
    for index, result in enumerate(results):
        target = folder / f"{index}.result"
        save_result(result, target, {})
        total.update((target / "summary.json").read_bytes() + (target / "scenario.toml").read_bytes())
        again = load_result(target)
        for table in (again.latency, again.timeline, again.stations):
            for column in table.columns:
                total.update(json.dumps(column.to_pylist()).encode())
    return total.hexdigest()


def test_the_same_bits_whatever_the_number_of_workers(trace: Path, tmp_path: Path) -> None:
    found = survey(Bundle(trace))
    hashes = set()
    for workers in (1, 2, 4):
        (tmp_path / str(workers)).mkdir()
        results = replay_all(found, scenarios(), workers=workers)
        hashes.add(digest(results, tmp_path / str(workers)))
    assert len(hashes) == 1


@pytest.mark.parametrize("setting", ["replay.mode=partly-open", "replay.clients=4", "replay.load=1.5"])
def test_what_is_gathered_while_surveying_gives_the_same_bits(tmp_path: Path, setting: str) -> None:
    path, scenario = tmp_path / "measured.trace", load_scenario("pcie-flash", [setting])
    write_blocks(path, latencies=True)
    gathered, afterwards = survey_to_play(Bundle(path), [scenario]), Playback(survey(Bundle(path)))
    assert gathered.held_bytes > 0 == afterwards.held_bytes
    found = []
    for place, playback in (("gathered", gathered), ("afterwards", afterwards)):
        (tmp_path / place).mkdir()
        found.append(digest([replay(playback.found, scenario, playback=playback)], tmp_path / place))
    assert found[0] == found[1]


def test_a_replay_that_keeps_causes_reads_its_bundle_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    blocks = Bundle.blocks

    def counted(bundle: Bundle) -> Iterator[Requests]:
        read.append(bundle.path)
        return blocks(bundle)

    monkeypatch.setattr(Bundle, "blocks", counted)
    path, scenario = tmp_path / "measured.trace", load_scenario("pcie-flash")
    write_blocks(path, latencies=True)
    playback = survey_to_play(Bundle(path), [scenario])
    replay(playback.found, scenario, playback=playback)
    assert read == [path]


def test_a_trace_without_latencies_is_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "unmeasured.trace"
    write_blocks(path, latencies=False)
    assert survey_to_play(Bundle(path), [load_scenario("pcie-flash")]).held_bytes == 0


def write_blocks(path: Path, *, latencies: bool) -> None:
    with write_bundle(path) as (writer, _):
        writer.file_names.append("data")
        for block in range(3):
            rows = 1000
            nothing, code = np.full(rows, -1, np.int64), np.zeros(rows, np.int32)
            time_ns = (np.arange(rows) + block * rows) * 100_000
            offset_bytes, length_bytes = np.arange(rows) % 100 * 8192, np.full(rows, 8192)
            latency_ns = np.full(rows, 50_000) if latencies else nothing
            small = np.zeros(rows, np.uint8)
            writer.append(
                Requests(
                    time_ns,
                    small,
                    code,
                    offset_bytes,
                    length_bytes,
                    code - 1,
                    small,
                    nothing,
                    nothing,
                    latency_ns,
                    small,
                )
            )


def test_golden_result(trace: Path, tmp_path: Path) -> None:
    """A result that changes must be meant to: put the new hash here with the reason in the commit."""
    results = replay_all(survey(Bundle(trace)), scenarios(), workers=1)
    assert digest(results, tmp_path) == GOLDEN


def test_another_seed_is_another_run_and_another_place_is_not(trace: Path, tmp_path: Path) -> None:
    scenario = load_scenario("15k-raid10")
    found = survey(Bundle(trace))
    first = replay(found, scenario).summary
    path = tmp_path / "15k-raid10.toml"
    path.write_text(scenario.to_toml())
    assert replay(found, load_scenario(str(path))).summary == first
    path.write_text(scenario.to_toml().replace("seed = 1", "seed = 2"))
    assert replay(found, load_scenario(str(path))).summary["latency_ns"] != first["latency_ns"]


def test_a_result_says_what_it_is_and_conserves(trace: Path) -> None:
    summary = replay(survey(Bundle(trace)), load_scenario("sas-ssd-raid10")).summary
    Summary.model_validate(summary)
    assert summary["model_error"]["basis"] == "assumed"
    assert summary["verdict"] == {
        "load": "steady",
        "calibration": "none",
        "cache": "not modelled",
        "locks": "not modelled",
        "arrivals": "inferred",
    }
    assert summary["conservation"] == {
        "requests_in": 20_000, "requests_out": 20_000, "accounted_for": True, "little": True, "busy": True,
    }  # fmt: skip
    requests = {"data read", "data write", "log write", "log flush"}
    assert set(summary["latency_ns"]) == requests | {"log sync", "log sync on device"}
    assert sum(summary["latency_ns"][name]["count"] for name in requests) == 20_000
    assert summary["measured_latency_ns"]["data read"]["mean"] == pytest.approx(275_000, rel=0.02)
    assert any(entry["source"].startswith("assumed") for entry in summary["assumed"])


def test_tables_of_a_result_add_up(trace: Path) -> None:
    result = replay(survey(Bundle(trace)), load_scenario("sas-ssd-raid10"), keep_requests=True)
    for table, column in ((result.latency, "count"), (result.timeline, "completions")):
        of_requests = pc.invert(pc.match_substring(table["class"], "sync"))
        assert sum(table.filter(of_requests)[column].to_pylist()) == 20_000
    assert result.requests is not None
    assert result.requests.num_rows == 20_000
    rows = Bundle(trace).requests()
    np.testing.assert_array_equal(result.requests["recorded_ns"], rows.time_ns)
    latency = np.asarray(result.requests["done_ns"]) - np.asarray(result.requests["start_ns"])
    reads = latency[rows.op == READ]
    assert reads.mean() == pytest.approx(result.summary["latency_ns"]["data read"]["mean"]["value"], rel=1e-9)
    assert np.percentile(reads, 99) == pytest.approx(
        result.summary["latency_ns"]["data read"]["p99"]["value"], rel=0.01
    )
    assert all(0 <= share <= 1 for share in result.stations["utilisation"].to_pylist())


def test_a_volume_that_carries_half_the_load_is_saturated(trace: Path, tmp_path: Path) -> None:
    device = tmp_path / "slow.toml"
    text = Path(str(load_device_path("aws-gp3"))).read_text()
    device.write_text(text.replace("iops = 3000", "iops = 750"))
    text = '[volumes.data]\ndevice = "slow.toml"\n[replay]\nmode = "open"\n'
    (tmp_path / "slow-volume.toml").write_text(text)
    summary = replay(survey(Bundle(trace)), load_scenario(str(tmp_path / "slow-volume.toml"))).summary
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["station"] == "data"
    assert summary["load"]["sustainable_load"] == pytest.approx(0.5, rel=0.05)
    assert summary["throughput_shortfall_pct"] == pytest.approx(50, abs=3)
    assert all(latency["p99"]["value"] is None for latency in summary["latency_ns"].values())
    (tmp_path / "slow-volume.toml").write_text(text.replace("open", "partly-open"))
    waiting = replay(survey(Bundle(trace)), load_scenario(str(tmp_path / "slow-volume.toml"))).summary
    assert waiting["verdict"]["load"] == "behind"
    assert waiting["throughput_shortfall_pct"] == pytest.approx(50, abs=3)
    assert waiting["latency_ns"]["data read"]["mean"]["value"] < 1e9  # as many wait as there are sessions, no more
    assert waiting["lag_ns"]["at_end"] > 0.4 * waiting["trace"]["span_ns"]


def load_device_path(name: str) -> Path:
    from importlib.resources import files

    return Path(str(files("tiersim.devices") / "catalogue" / f"{name}.toml"))


def scenario_of(folder: Path, text: str) -> Any:
    path = folder / "own.toml"
    path.write_text(text)
    return load_scenario(str(path))


def test_a_log_on_its_own_volume_leaves_the_data_alone(trace: Path, tmp_path: Path) -> None:
    text = '[volumes.data]\ndevice = "intel-p3700-800"\n[volumes.log]\ndevice = "seagate-cheetah-15k7-300"\n'
    both = scenario_of(tmp_path, text + '[placement]\ndefault = "data"\nlog = "log"\n')
    summary = replay(survey(Bundle(trace)), both).summary
    assert summary["latency_ns"]["data read"]["p50"]["value"] < 1e6 < summary["latency_ns"]["log write"]["p50"]["value"]
    by_file = scenario_of(tmp_path, text + '[placement]\ndefault = "log"\n"file:data" = "data"\n')
    assert replay(survey(Bundle(trace)), by_file).summary["latency_ns"] == summary["latency_ns"]


def test_addresses_are_kept_packed_or_refused(trace: Path, tmp_path: Path) -> None:
    found = survey(Bundle(trace))
    kept = place_files(scenario_of(tmp_path, '[volumes.d]\ndevice = "intel-p3700-800"\n'), found.files)
    offsets = np.array([0, 8192, 1 << 30])
    assert kept[0].place(offsets).tolist() == offsets.tolist()
    assert kept[1].base_bytes >= found.files[0].end_bytes
    packed = scenario_of(tmp_path, '[volumes.d]\ndevice = "intel-p3700-800"\n[replay]\naddresses = "pack"\n')
    homes = place_files(packed, found.files)
    rows = Bundle(trace).requests()
    own = (rows.file == 1) & (rows.length_bytes > 0)
    placed = homes[1].place(rows.offset_bytes[own])
    assert len(np.unique(placed)) == len(np.unique(rows.offset_bytes[own]))
    spread = scenario_of(
        tmp_path, '[volumes.d]\ndevice = "intel-p3700-800"\nused = "700 GB"\n[replay]\naddresses = "pack"\n'
    )
    assert place_files(spread, found.files)[0].place(rows.offset_bytes[rows.file == 0]).max() > 500e9
    text = '[volumes.d]\ndevice = "intel-p3700-800"\nused = "2 TB"\n[replay]\naddresses = "pack"\n'
    with pytest.raises(ScenarioError, match="holds 800 GB, the trace needs 2 TB"):
        place_files(scenario_of(tmp_path, text), found.files)


def test_rows_of_one_command_go_as_one() -> None:
    rows = Requests(
        time_ns=np.array([10, 20, 30, 40]), op=np.array([1, 1, 1, 0], np.uint8), file=np.zeros(4, np.int32),
        offset_bytes=np.array([8192, 0, 16384, 0]), length_bytes=np.array([8192, 8192, 4096, 512]),
        stream=np.zeros(4, np.int32), purpose=np.zeros(4, np.uint8), issue_ns=np.full(4, -1),
        command=np.array([5, 5, 6, -1]), latency_ns=np.full(4, -1), flags=np.zeros(4, np.uint8),
    )  # fmt: skip
    arrival, joined, intended = merge_commands(rows)
    assert arrival.tolist() == [20, 30, 40]
    assert intended.tolist() == [10, 30, 40]
    assert joined.offset_bytes.tolist() == [0, 16384, 0]
    assert joined.length_bytes.tolist() == [16384, 4096, 512]


def test_a_closed_loop_that_is_over_early_completes_as_many_a_second_on_the_page_as_in_its_summary(trace: Path) -> None:
    """The page's intervals go on to the end of the recording: over all of them it would do what was recorded."""
    settings = ["replay.mode=closed", "replay.clients=8", "replay.think=0 s"]
    result = replay(survey(Bundle(trace)), load_scenario("pcie-flash", settings))
    rate = result.summary["throughput_per_s"]["requests"]["value"]
    assert rate > 2 * result.summary["trace"]["requests"] / result.summary["trace"]["span_ns"] * 1e9
    shown = page_payload([result], "x")["scenarios"][0]["completed_per_s"]
    assert sum(shown[name] for name in shown if name in REQUEST_CATEGORIES) == pytest.approx(rate)


def test_rows_of_one_command_are_one_recorded_request_too(tmp_path: Path) -> None:
    """A device that carries the load does as many requests a second as recorded, in an open replay, too."""
    count = 1000
    rows = Requests(
        time_ns=np.arange(count) * 1_000_000, op=np.zeros(count, np.uint8), file=np.zeros(count, np.int32),
        offset_bytes=np.arange(count) * 8192, length_bytes=np.full(count, 8192), stream=np.full(count, -1, np.int32),
        purpose=np.zeros(count, np.uint8), issue_ns=np.full(count, -1), command=np.arange(count) // 2,
        latency_ns=np.full(count, 100_000), flags=np.zeros(count, np.uint8),
    )  # fmt: skip
    with write_bundle(tmp_path / "pairs.trace") as (writer, fields):
        writer.file_names.append("data")
        writer.append(rows)
        fields["source_format"] = "drawn"
    scenario = load_scenario("pcie-flash", ["replay.mode=open"])
    summary = replay(survey(Bundle(tmp_path / "pairs.trace")), scenario).summary
    assert summary["throughput_per_s"]["requests"]["value"] == pytest.approx(500, rel=0.005)
    assert float(_recorded(summary, [], {})["requests/s"]) == pytest.approx(500, rel=0.005)


def test_arrivals_never_fall_from_block_to_block(trace: Path) -> None:
    found = survey(Bundle(trace))
    homes = place_files(load_scenario("pcie-flash"), found.files)
    blocks = list(commands(merged_blocks(Bundle(trace).blocks()), homes, np.zeros(2, np.int64)))
    times = np.concatenate([block.time_ns for block in blocks])
    assert (np.diff(times) >= 0).all()
    assert pa.array(times).null_count == 0


def test_keys_are_set_from_the_command_line() -> None:
    assert load_scenario("aws-gp3", ["replay.mode=closed", "replay.clients = 8"]).model.replay.clients == 8
    assert load_scenario("15k-raid10", ["volumes.data.count=12"]).volumes["data"].count == 12
    assert load_scenario("aws-gp3", ["replay.dependency_window=2 ms"]).model.replay.dependency_window == 2_000_000
    for setting, message in (
        ("replay.mod=open", "--set:1: replay.mod: unknown key 'mod'; did you mean 'mode'"),
        ("replay.mode=opn", "'opn': input should be 'partly-open'"),
        ("mode", "is not KEY=VALUE"),
        ("mode=open", r"--set mode=open: 'mode' names no table; write TABLE\.KEY, such as replay\.mode=open"),
        ("description.x=3", "unknown key|is a value"),
    ):
        with pytest.raises(ScenarioError, match=message):
            load_scenario("15k-raid10", [setting])


def one_at_a_time(folder: Path, count: int = 500, apart_ns: int = 50_000_000, first_ns: int = 0) -> Path:
    """Random reads of one session, each 20 ms long when it was recorded: *apart_ns* from one to the next."""
    nothing, none = np.full(count, -1, np.int64), np.zeros(count, np.int32)
    rows = Requests(
        time_ns=first_ns + np.arange(count) * apart_ns, op=np.full(count, READ, np.uint8), file=none,
        offset_bytes=np.random.default_rng(3).integers(0, 100_000, count) * 8192, length_bytes=np.full(count, 8192),
        stream=none, purpose=np.zeros(count, np.uint8), issue_ns=nothing, command=nothing,
        latency_ns=np.full(count, 20_000_000), flags=np.zeros(count, np.uint8),
    )  # fmt: skip
    with write_bundle(folder / "alone.trace") as (writer, fields):
        writer.file_names.append("data")
        writer.stream_names.append("reader")
        writer.append(rows)
        fields["source_format"] = "drawn"
    return folder / "alone.trace"


@pytest.mark.parametrize("think_ns", [0, 3_000_000])
def test_a_run_that_ends_sooner_than_the_recording_is_busy_while_it_lasts(tmp_path: Path, think_ns: int) -> None:
    """One client on one disk: the arm is busy except in the client's pauses, and no request waits."""
    device = "seagate-cheetah-15k7-300"
    scenario = load_scenario(device, ["replay.mode=closed", "replay.clients=1", f"replay.think={think_ns} ns"])
    summary = replay(survey(Bundle(one_at_a_time(tmp_path))), scenario).summary
    mean_ns, station = summary["latency_ns"]["data read"]["mean"]["value"], summary["stations"]["data"]
    busy = mean_ns / (mean_ns + think_ns)
    assert summary["lag_ns"]["at_end"] < -10e9  # 25 s were recorded
    assert station["queue_mean"] == pytest.approx(busy, rel=0.01)
    assert station["utilisation"]["actuator"] == pytest.approx(busy, rel=0.01)
    assert summary["bottleneck"]["utilisation"] == station["utilisation"]["actuator"]
    (row,) = explanation(summary, None)["stations"]
    assert row["time_there_ns"] == pytest.approx(mean_ns, rel=1e-6)
    assert row["waiting_share"] == pytest.approx(0, abs=0.01)


def test_the_time_at_a_station_is_that_of_all_who_were_there(tmp_path: Path) -> None:
    """What is left when the recording ends counts, too."""
    disk, apart_ns = load_scenario("seagate-cheetah-15k7-300", ["replay.mode=open"]), 800_000
    path = one_at_a_time(tmp_path, 5_000, apart_ns)
    result = replay(survey(Bundle(path)), disk, keep_requests=True)
    assert result.summary["verdict"]["load"] == "saturated"
    assert result.requests is not None
    took_ns = np.asarray(result.requests["done_ns"]) - np.arange(5_000) * apart_ns
    row = explanation(result.summary, None)["stations"][0]
    assert row["time_there_ns"] == pytest.approx(took_ns.mean(), rel=1e-3)


@pytest.mark.parametrize("first_ns", [0, 10**15])
def test_times_that_are_not_counted_from_the_first_request_are_named(tmp_path: Path, first_ns: int) -> None:
    """Those of a clock that began when the machine did, 11 days before: rates would be of 11 days."""
    disk = load_scenario("seagate-cheetah-15k7-300")
    caveats = replay(survey(Bundle(one_at_a_time(tmp_path, first_ns=first_ns))), disk).summary["caveats"]
    assert any("after time 0" in one for one in caveats) == (first_ns > 0)


@pytest.mark.parametrize("settings", [["replay.mode=open"], [], ["replay.mode=closed", "replay.clients=4"]])
def test_requests_that_all_have_the_same_time_are_not_replayed(tmp_path: Path, settings: list[str]) -> None:
    """Of none, and of one alone, it is known at what rate they came: 1 in 1 ns were 1,000,000,000 a second."""
    disk = load_scenario("seagate-cheetah-15k7-300", settings)
    for count, apart_ns in ((1, 1), (500, 0)):
        (folder := tmp_path / str(count)).mkdir()
        path = one_at_a_time(folder, count, apart_ns)
        with pytest.raises(ScenarioError, match="the same time"):
            replay(survey(Bundle(path)), disk)


def test_parts_are_as_busy_as_they_are_outside_of_holes(tmp_path: Path) -> None:
    """Two busy minutes with an hour between them: the arm has no more time to spare than in one of them."""
    disk = load_scenario("seagate-cheetah-15k7-300", ["replay.mode=open"])
    found, bounds = {}, {}
    for hole_ns in (0, 3600 * 10**9):
        (folder := tmp_path / str(hole_ns)).mkdir()
        (rows,) = Bundle(one_at_a_time(folder, 24_000, 5_000_000)).blocks()
        later = dataclasses.replace(rows, time_ns=rows.time_ns + hole_ns * (np.arange(24_000) >= 12_000))
        with write_bundle(folder / "x.trace") as (writer, fields):
            writer.file_names.append("data")
            writer.stream_names.append("reader")
            writer.append(later)
            fields["source_format"] = "drawn"
        summary = replay(survey(Bundle(folder / "x.trace")), disk).summary
        found[hole_ns], bounds[hole_ns] = summary, explanation(summary, None)["bound"]
    dense, holed = found.values()
    assert "quiet_ns" not in dense["trace"]
    assert holed["trace"]["quiet_ns"] == 3600 * 10**9 + 5_000_000
    assert any("holes" in one for one in holed["caveats"])
    assert holed["bottleneck"]["utilisation"] < 0.03
    assert bounds[3600 * 10**9]["ceiling"] == pytest.approx(bounds[0]["ceiling"], rel=0.02)
    assert in_doubt(holed) == in_doubt(dense)
    twice = load_scenario("seagate-cheetah-15k7-300", ["replay.load=2"])
    with pytest.raises(
        ScenarioError, match="would run in these holes"
    ):  # where the disk has all the time that it needs
        replay(survey(Bundle(tmp_path / str(3600 * 10**9) / "x.trace")), twice)


@pytest.mark.parametrize(("apart_ns", "count"), [(90 * 10**9, 100), (10**9, 21)])
def test_a_load_that_is_thin_everywhere_has_no_holes(tmp_path: Path, apart_ns: int, count: int) -> None:
    assert survey(Bundle(one_at_a_time(tmp_path, count, apart_ns))).quiet_ns == 0


@pytest.mark.parametrize(
    ("settings", "error"), [(["replay.mode=open"], "clock"), (["replay.mode=closed", "replay.clients=2"], None)]
)
def test_a_coarse_clock_leaves_the_error_of_latencies_unknown(
    tmp_path: Path, settings: list[str], error: str | None
) -> None:
    """Twenty requests at once each second wait for each other, and nobody knows how many came at once."""
    lines = (f"{1_538_323_200 + row // 20},{8 * (row * 7919 % 100_003)},16,0,1063" for row in range(2_000))
    (tmp_path / "x.csv").write_text("\n".join(lines))
    import_trace([tmp_path / "x.csv"], tmp_path / "x.trace", force=False)
    disk = load_scenario("seagate-cheetah-15k7-300", settings)
    summary = replay(survey(Bundle(tmp_path / "x.trace")), disk).summary
    assert summary["verdict"].get("error") == error
    assert ("unknown, as the recording's clock" in (sentence(summary) or "")) == (error is not None)


def test_what_is_full_at_times_is_not_said_to_be_idle(tmp_path: Path) -> None:
    """A minute of 20 reads/s, and 200/s for 3 s of it: the arm has no time for five times that load."""
    disk = load_scenario("seagate-cheetah-15k7-300", ["replay.mode=open"])
    (rows,) = Bundle(one_at_a_time(tmp_path, 1_800, 0)).blocks()
    times = np.sort(np.concatenate([np.arange(1_200) * 50_000_000, 30 * 10**9 + np.arange(600) * 5_000_000]))
    (folder := tmp_path / "x").mkdir()
    with write_bundle(folder / "x.trace") as (writer, fields):
        writer.file_names.append("data")
        writer.stream_names.append("reader")
        writer.append(dataclasses.replace(rows, time_ns=times))
        fields["source_format"] = "drawn"
    summary = replay(survey(Bundle(folder / "x.trace")), disk).summary
    Summary.model_validate(summary)
    peak = summary["bottleneck"]["peak"]
    assert summary["bottleneck"]["utilisation"] < 0.2
    assert (peak["from_ns"], peak["until_ns"]) == pytest.approx((30e9, 32e9), abs=2e9)
    assert peak["utilisation"] > 0.6
    said = bound_text(explanation(summary, None)["bound"])
    assert f"full at {1 / summary['bottleneck']['utilisation']:.3g} × the load of this run by its mean (" in said
    assert f"full at {1 / peak['utilisation']:.3g} × the load" in said
    steady = replay(survey(Bundle(one_at_a_time(tmp_path / "x", 2_000, 10_000_000))), disk).summary
    assert "peak" not in steady["bottleneck"]
