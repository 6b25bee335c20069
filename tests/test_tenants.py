"""Several recordings on one plant: the same figures alone as ever, both engines alike, closed forms of who waits."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

from tests.databases import LOG_VOLUME, DatabaseCase, database_cases
from tests.drawn_streams import draw_streams, streams_of
from tests.examples import examples
from tests.made_up_devices import token_bucket
from tests.plants import Case, cases
from tests.runs import needs_jit, poisson
from tests.test_engines import assert_same_metrics, commands_at
from tests.test_replay import write_trace
from tiersim.cli.main import app
from tiersim.cli.replay import _rows_of_class
from tiersim.cli.tenants import note_of_parts, volume_of
from tiersim.cli.verdicts import carries
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import is_tenants, load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.statements import loads
from tiersim.scenarios.statements.loads import Loads, load_of
from tiersim.scenarios.statements.ranges import LAWS
from tiersim.scenarios.statements.replay import replay_statements, replay_statements_all
from tiersim.scenarios.survey import survey
from tiersim.scenarios.tenants.derived import Calibrated
from tiersim.scenarios.tenants.model import MOST_TENANTS, read_tenants
from tiersim.scenarios.tenants.shared_runs import Recordings, TenantResults, run_tenants
from tiersim.simulator import commands as block_commands
from tiersim.simulator.categories import COUNT
from tiersim.simulator.commands import Commands, in_time_order
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.metrics import Metrics, by_recording, new_metrics, of_columns
from tiersim.simulator.reference.engine import ReferenceEngine
from tiersim.simulator.result import Result, load_result
from tiersim.simulator.station import chooses
from tiersim.simulator.streams import OWN, PlacedStreams, Streams, part_of, side_by_side, to_run
from tiersim.simulator.summary_model import Summary
from tiersim.simulator.taps import rows_of, tapped
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_files, sort_files
from tiersim.traces.samples import start

MS = 1_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings, *shop* and *bill*."""
    top = tmp_path_factory.mktemp("tenants")
    for name, count, per_s in (("shop", 3000, 300.0), ("bill", 6000, 400.0)):
        (top / name).mkdir()
        write_trace(top / name, count, per_s).rename(top / f"{name}.trace")
    return top


TWO_VOLUMES = """
[volumes.left]
device = "seagate-cheetah-15k7-300"
[volumes.right]
device = "seagate-cheetah-15k7-300"
[placement]
default = "left"
"""


def shared(
    folder: Path, tenants: str, hardware: str = "pcie-flash", settings: Sequence[str] = ()
) -> list[TenantResults]:
    path = folder / "tenants.toml"
    path.write_text(tenants)
    if hardware.startswith("\n"):
        (folder / "hardware.toml").write_text(hardware)
        hardware = str(folder / "hardware.toml")
    model = read_tenants(path)
    bundles = {name: Bundle(folder / one.recording) for name, one in model.tenants.items()}
    with TemporaryDirectory() as work:
        recordings = Recordings(path, model, bundles, Path(work))
        return run_tenants(recordings, load_scenario(hardware, settings), workers=1)


def bits(result: Result) -> str:
    """Everything that a result bundle holds but its name."""
    tables = [table.to_pydict() for table in (result.latency, result.timeline, result.stations)]
    return json.dumps([{**result.summary, "name": ""}, tables, result.scenario_toml], sort_keys=True)


@pytest.mark.parametrize("mode", ["open", "partly-open"])
@pytest.mark.parametrize("hardware", ["15k-raid10", "pcie-flash"])
def test_one_tenant_gives_the_bits_of_a_replay(folder: Path, hardware: str, mode: str) -> None:
    settings = [f"replay.mode={mode}"]
    (alone,) = shared(folder, '[tenants.shop]\nrecording = "shop.trace"', hardware, settings)
    expected = replay(survey(Bundle(folder / "shop.trace")), load_scenario(hardware, settings))
    assert bits(alone.together) == bits(expected)


ONE_DISK = """
[volumes.data]
device = "seagate-cheetah-15k7-300"
"""
BOTH = """
[tenants.shop]
recording = "shop.trace"
placement = { default = "left" }
[tenants.bill]
recording = "bill.trace"
placement = { default = "right" }
shift = "3 s"
"""


@pytest.mark.parametrize("mode", ["open", "partly-open", "closed"])
def test_tenants_that_share_nothing_do_what_they_do_alone(folder: Path, mode: str) -> None:
    """Also when one begins later: its own time is what counts."""
    settings = [f"replay.mode={mode}", *(["replay.clients=3"] if mode == "closed" else [])]
    for one in shared(folder, BOTH, TWO_VOLUMES, settings):
        alone, together = one.alone, one.together
        assert together.latency.to_pydict() == alone.latency.to_pydict()
        assert together.summary["commands"] == alone.summary["commands"]
        assert together.summary["lag_ns"] == alone.summary["lag_ns"]
        assert together.summary["shared"]["mean_latency_ns"] == together.summary["shared"]["alone"]["mean_latency_ns"]
        if mode != "open":
            assert together.summary["throughput_per_s"] == alone.summary["throughput_per_s"]
            assert (
                together.summary["load"]["explanation"].partition(". ")[0]
                == (alone.summary["load"]["explanation"].partition(". ")[0])
            )


def test_a_tenant_beside_another_waits_behind_it_and_what_it_loses_is_what_it_gains_without_it(folder: Path) -> None:
    tenants = BOTH.replace("right", "left")
    found = {one.name: one for one in shared(folder, tenants, TWO_VOLUMES, ["replay.mode=open"])}
    said = found["shop"].together.summary["shared"]
    assert said["mean_latency_ns"] > said["alone"]["mean_latency_ns"] == said["without"]["bill"]
    assert said["waits_ns"]["left"]["bill"] > 0
    assert said["start_ns"] == 0
    assert said["with"] == ["bill"]
    assert found["bill"].together.summary["shared"]["start_ns"] == 3_000_000_000
    assert 0 < said["overlap"]["bill"] < 1


def test_a_tenant_that_another_saturates_has_a_mean_without_it_alone(folder: Path) -> None:
    """A volume of 500 requests/s carries 300/s or 400/s: together they wait the longer the longer they are recorded."""
    (folder / "capped.toml").write_text(token_bucket(latency="1 ms", iops=500))
    hardware = TWO_VOLUMES.replace("seagate-cheetah-15k7-300", "capped.toml")
    found = shared(folder, BOTH.replace("right", "left"), hardware, ["replay.mode=open"])
    shop = found[0].together.summary
    assert shop["verdict"]["load"] == "saturated"
    assert shop["shared"]["mean_latency_ns"] is None
    assert shop["shared"]["without"]["bill"] == shop["shared"]["alone"]["mean_latency_ns"] > 0


def test_three_tenants_are_also_run_without_one(folder: Path) -> None:
    tenants = (
        BOTH.replace("right", "left") + '[tenants.more]\nrecording = "bill.trace"\nplacement = {default = "right"}\n'
    )
    said = {
        one.name: one.together.summary["shared"] for one in shared(folder, tenants, TWO_VOLUMES, ["replay.mode=open"])
    }
    assert said["shop"]["without"]["more"] == said["shop"]["mean_latency_ns"]
    assert said["shop"]["without"]["bill"] == said["shop"]["alone"]["mean_latency_ns"]


def test_addresses_of_tenants_lie_behind_each_other_and_do_not_overlap(folder: Path) -> None:
    tenants = BOTH.replace("right", "left")
    found = shared(folder, tenants, TWO_VOLUMES)
    assert "offset" not in found[0].together.scenario_toml
    assert "offset" in found[1].together.scenario_toml
    with pytest.raises(ScenarioError, match=r"tenants.bill.offset: on volume 'left' it overlaps tenant 'shop'"):
        shared(folder, tenants + 'offset = "1 MiB"\n', TWO_VOLUMES)
    with pytest.raises(ScenarioError, match=r"volume 'left' holds .* the trace needs"):
        shared(folder, tenants + 'offset = "299 GB"\n', TWO_VOLUMES)


def test_arms_that_move_between_tenants_are_not_said_to_move_little(folder: Path) -> None:
    """Each takes a few GB of the disk, one at its begin and one 200 GB further."""
    tenants = BOTH.replace("right", "left") + 'offset = "200 GB"\n'
    (shop, _) = shared(folder, tenants, TWO_VOLUMES, ["replay.mode=open"])
    said = [
        [text for text in result.summary["caveats"] if "disk arms move little" in text]
        for result in (shop.alone, shop.together)
    ]
    assert [len(one) for one in said] == [1, 0]


def test_recordings_are_aligned_by_their_busiest_second_or_by_the_clock(folder: Path) -> None:
    found = shared(folder, 'align = "peak"\n' + BOTH.replace('shift = "3 s"', ""), TWO_VOLUMES)
    peaks = []
    for one in found:
        counts = np.bincount(
            np.concatenate([b.time_ns for b in Bundle(folder / f"{one.name}.trace").blocks()]) // 1_000_000_000
        )
        peaks.append(int(counts.argmax()) * 1_000_000_000 + one.together.summary["shared"]["start_ns"])
    assert peaks[0] == peaks[1]
    with pytest.raises(ScenarioError, match="the recording of 'shop' does not say what time it was"):
        shared(folder, 'align = "clock"\n' + BOTH, TWO_VOLUMES)


def test_a_limit_on_one_tenant_is_kept_and_helps_the_other(folder: Path) -> None:
    tenants = BOTH.replace("right", "left")
    free = {one.name: one.together.summary for one in shared(folder, tenants, TWO_VOLUMES, ["replay.mode=open"])}
    tenants += "limit = { iops = 100 }\n"
    limited = {one.name: one for one in shared(folder, tenants, TWO_VOLUMES, ["replay.mode=open"])}
    summary = limited["bill"].together.summary
    assert summary["throughput_per_s"]["requests"]["value"] == pytest.approx(100, rel=0.01)
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["station"] == "bill.limit"
    assert any(one["what"].startswith("bill.limit") for one in summary["assumed"])
    assert limited["shop"].together.summary["shared"]["mean_latency_ns"] < free["shop"]["shared"]["mean_latency_ns"]
    waits = summary["shared"]["waits_ns"]["bill.limit"]
    assert set(waits) <= {"bill", "nobody"}  # its own requests took the tokens


def test_a_queue_depth_of_one_tenant_holds_its_requests_back(folder: Path) -> None:
    tenants = BOTH.replace("right", "left") + "queue_depth = 1\n"
    (_, bill) = shared(folder, tenants, TWO_VOLUMES, ["replay.mode=open"])
    assert set(bill.together.summary["shared"]["waits_ns"]["bill.queue"]) == {"bill"}
    assert "bill.queue" in bill.alone.summary["stations"]


def test_a_share_holds_on_what_both_want_all_of_and_a_minimum_against_it(folder: Path) -> None:
    """Two that ask for more than a cap of 200/s gives: 3:1 of it, for as long as both ask; then a minimum of most."""
    tenants = BOTH.replace("right", "left").replace('shift = "3 s"\n', "")
    cap = TWO_VOLUMES + "[instances.vm]\niops = 200\n"
    rates = {}
    for name, keys in {
        "shares": ("share = 3\n", "share = 1\n"),
        "minimum": ("minimum = 20\n", "share = 30\n"),
    }.items():
        said = tenants.replace("[tenants.bill]", keys[0] + "[tenants.bill]") + keys[1]
        found = {one.name: one.together for one in shared(folder, said, cap, ["replay.mode=open"])}
        rows = [found[one].timeline.to_pylist() for one in ("shop", "bill")]
        rates[name] = [
            sum(row["completions"] for row in own if 1000 * MS <= row["start_ns"] < 8000 * MS) for own in rows
        ]
        share = found["shop"].summary["shared"]["share"]
        assert share["requests"] == found["shop"].summary["commands"]
        assert (share["by_minimum"] > 0) == (name == "minimum")
        assert found["bill"].summary["stations"]["shares"]["kind"] == "shares"
    assert rates["shares"][0] / rates["shares"][1] == pytest.approx(3, rel=0.03)
    assert rates["minimum"][0] / sum(rates["minimum"]) == pytest.approx(0.1, rel=0.03)


def test_shares_of_volumes_that_are_named_hold_there_alone(folder: Path) -> None:
    said = BOTH + "share = 2\n"
    left = {one.name: one for one in shared(folder, said + '[shares]\nvolumes = ["left"]\n', TWO_VOLUMES)}
    assert left["bill"].together.summary["shared"]["share"]["requests"] == 0
    assert left["shop"].together.summary["shared"]["share"]["requests"] == 3000
    with pytest.raises(ScenarioError, match=r"tenants.toml:\d+: shares.volumes: 'lift' is not one of the volumes"):
        shared(folder, said + '[shares]\nvolumes = ["lift"]\n', TWO_VOLUMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOTH + "limit = { burst_iops = 3 }\n", "burst_iops: needs iops"),
        (BOTH + "limit = {}\n", "limit: has no limits"),
        (BOTH.replace('"left"', '"lift"'), r"tenants.toml:4: tenants.shop.placement.*'lift' is not one of the volumes"),
        (BOTH + 'replay = { mode = "half-open" }\n', r"tenants.bill.replay.mode: 'half-open'"),
        (BOTH + "replay = { seed = 3 }\n", "replay.seed: is one for all"),
        (BOTH + 'recording2 = "x"\n', "unknown key 'recording2'; did you mean 'recording'"),
        (BOTH + 'offset = "3 B"\n', "are not a multiple of 512"),
        (BOTH + 'recorded_on = "15k-raid10"\n', r"tenants.toml:\d+: tenants.bill.recorded_on: bill.trace has requests"),
        (BOTH.replace("tenants.bill", "tenants.'b/c'"), "the name goes into file names"),
        ("".join(f'[tenants.t{n}]\nrecording = "shop.trace"\n' for n in range(22)), "more than the 21"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(folder: Path, text: str, message: str) -> None:
    assert MOST_TENANTS == 21
    with pytest.raises(ScenarioError, match=message):
        shared(folder, text, TWO_VOLUMES)


def test_a_file_with_tenants_is_told_from_others(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(BOTH)
    (tmp_path / "b.toml").write_text(TWO_VOLUMES)
    assert is_tenants(tmp_path / "a.toml")
    assert not is_tenants(tmp_path / "b.toml")
    assert not is_tenants(tmp_path / "c.toml")


def test_commands_know_tenants_or_say_what_to_give(folder: Path, tmp_path: Path) -> None:
    (folder / "both.toml").write_text(BOTH.replace("right", "left"))
    (folder / "hardware.toml").write_text(TWO_VOLUMES)
    both = str(folder / "both.toml")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments))

    (folder / "both.toml").write_text(
        'shifts = "5 s"\n' + (folder / "both.toml").read_text() + "share = 2\nminimum = 9\n"
    )
    arguments = ["replay", both, "--on", str(folder / "hardware.toml"), "-o", str(tmp_path)]
    shown = run(*arguments, "--all")
    assert shown.exit_code == 0, shown.output
    assert "hardware: mean latency of a request" in shown.output
    assert "behind shop" in shown.output
    assert "hardware: the worst minute if clocks shift" in shown.output
    assert "bill: share 2, minimum 9 requests/s, which let" in shown.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"hardware.{name}{kind}.result" for name in ("bill", "shop") for kind in (".alone", "")
    ]
    Summary.model_validate(load_result(tmp_path / "hardware.shop.result").summary)
    assert "is already there" in str(run(*arguments).exception)
    compared = run("compare", *(str(tmp_path / f"hardware.shop{kind}.result") for kind in (".alone", "")))
    assert compared.exit_code == 0
    described = run("describe", both)
    assert described.exit_code == 0
    assert "tenant shop" in described.output
    assert "tenant bill" in described.output
    assert set(json.loads(run("describe", both, "--json").stdout)["tenants"]) == {"shop", "bill"}
    for refused in (
        ["describe", both, "-o", str(tmp_path / "x.html")],
        ["load", both, "--on", "pcie-flash"],
        ["size", both, "--slo", "throughput >= 1x", "--candidates", "intel-p3700-800", "--exhaustive"],
        ["replay", both, "--on", "pcie-flash", "--requests", "-o", str(tmp_path / "x")],
        ["replay", both, "--on", "pcie-flash", "--waits", "-o", str(tmp_path / "x")],
    ):
        assert "names several" in str(run(*refused).exception), refused
    (folder / "both.toml").write_text(BOTH.replace("bill.trace", "bull.trace"))
    assert "bull.trace is not there; check the name" in str(run("describe", both).exception) + str(
        run("replay", both, "--on", "pcie-flash", "-o", str(tmp_path / "y")).exception
    )


def test_waits_at_members_of_an_array_are_said_to_count_each() -> None:
    """Six drives of a mirror wait at once: their waits are 87 ms where a request takes 36."""
    assert note_of_parts(["data", "raid.cache"]) == ""
    assert "they may wait longer than the request takes" in note_of_parts(["data", volume_of("data.3")])


POOL = """
[volumes.pool]
device = "seagate-cheetah-15k7-300"
count = 4
layout = "raid10"
"""
APART = """
[volumes.pool]
device = "seagate-cheetah-15k7-300"
count = 2
layout = "raid1"
[volumes.log]
device = "seagate-cheetah-15k7-300"
count = 2
layout = "raid1"
[placement]
default = "pool"
log = "log"
"""


def test_the_log_waits_behind_data_on_one_pool_and_behind_none_of_it_apart(folder: Path) -> None:
    """Founding document 004: on disks that data and log share, data slow the log down; on disks of its own nothing
    does, though as many disks are there.
    """
    found = survey(Bundle(folder / "shop.trace"))
    summaries = {}
    for name, text in (("pool", POOL), ("apart", APART)):
        (folder / f"{name}.toml").write_text(text)
        scenario = load_scenario(str(folder / f"{name}.toml"), ["replay.mode=open"])
        result = replay(found, scenario, waits=True)
        plain = replay(found, scenario)
        assert {key: value for key, value in result.summary.items() if key != "waits_ns"} == plain.summary
        summaries[name] = result.summary
    behind = {
        name: {
            other: sum(places.get(other, 0) for places in summary["waits_ns"]["log write"].values())
            for other in ("data read", "data write", "log write", "log flush")
        }
        for name, summary in summaries.items()
    }
    assert behind["pool"]["data read"] + behind["pool"]["data write"] > 0
    assert behind["apart"]["data read"] == behind["apart"]["data write"] == 0
    means = {name: summary["latency_ns"]["log write"]["mean"]["high"] for name, summary in summaries.items()}
    assert means["pool"] > 1.2 * means["apart"]


# ---- the order of arrivals


@given(st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 9))
@settings(deadline=None, max_examples=examples(200))
def test_blocks_of_several_sources_come_in_the_order_of_a_stable_sort(
    times: list[list[int]], size: int, at_once: int
) -> None:
    def source(number: int, own: list[int]) -> Iterator[Commands]:
        for first in range(0, len(own), size):
            part = np.array(sorted(own)[first : first + size], np.int64)
            number_of = np.arange(first, first + len(part))
            small = np.full(len(part), number, np.uint8)
            yield Commands(part, part, number_of.astype(np.int32), small, part, part, small)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_commands, "_ORDERED_AT_ONCE", at_once)
        found = list(in_time_order([source(number, own) for number, own in enumerate(times)]))
    merged = [
        (int(t), int(n), int(r))
        for one in found
        for t, n, r in zip(one.time_ns, one.category, one.station, strict=True)
    ]
    assert merged == sorted((t, n, r) for n, own in enumerate(times) for r, t in enumerate(sorted(own)))


# ---- what a run takes


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone says so what memory a process has")
def test_a_run_of_many_recordings_takes_memory_where_latencies_are_counted() -> None:
    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident_bytes()
    metrics = new_metrics(COUNT * 16, 1, RESOURCES, 241, 10**9)
    metrics.latency_over_time[:, ::COUNT, 300] = 1  # one page for each recording in each interval: 16 MB of 150 MB
    assert resident_bytes() - before < 40_000_000
    assert metrics.latency_over_time.sum() == 241 * 16


def test_metrics_that_do_not_fit_into_memory_are_an_error_of_memory() -> None:
    with pytest.raises(MemoryError):
        new_metrics(1 << 40, 1, RESOURCES, 1, 1)


# ---- both engines


def parts_of(case: Case, station: int, recordings: int) -> list[Streams]:
    whole = commands_at(case, station)
    return [
        draw_streams(
            Commands(**{name: getattr(whole, name)[number::recordings] for name in Commands.__dataclass_fields__}),
            case.seed + number,
            syncs=True,
            flushes=(case.seed + number) % 2 == 1,
        )
        for number in range(recordings)
    ]


def joined(parts: list[Streams], shifts: list[int]) -> Streams:
    return side_by_side(map(PlacedStreams, parts), shifts, sum(part.commands for part in parts))


def metrics_for(case: Case, builder: PlantBuilder, recordings: int) -> Metrics:
    span = int(case.commands.time_ns[-1]) + 1
    return new_metrics(COUNT * recordings, len(builder.stations), RESOURCES, 5, -(-span // 4), by_recording(recordings))


@settings(max_examples=examples(100), deadline=None)
@given(cases(), st.integers(2, 3))
def test_engines_agree_on_recordings_side_by_side_and_on_who_waits(case: Case, recordings: int) -> None:
    shifts = [number * 1_000_000 for number in range(recordings)]
    builder, station = case.fresh()
    streams = to_run(joined(parts_of(case, station, recordings), shifts))
    metrics = metrics_for(case, builder, recordings)
    plant, outcome = engine.run_streams(builder.build(case.slots), streams, metrics)
    builder, station = case.fresh()
    reference_metrics = metrics_for(case, builder, recordings)
    again = to_run(joined(parts_of(case, station, recordings), shifts))
    reference = ReferenceEngine(builder.build(case.slots), [], reference_metrics, streams=again)
    expected = reference.run()
    np.testing.assert_array_equal(streams.done_ns, again.done_ns)
    assert (outcome.end_ns, outcome.requests) == (expected.end_ns, expected.requests)
    assert_same_metrics(metrics, reference_metrics)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)
    assert (metrics.waiting.sum(axis=1) == plant.stations["waiting"]).all()
    choosing = [chooses(int(kind)) for kind in plant.stations["kind"]]  # nobody waits at others
    inside = np.where(choosing, plant.stations["outstanding"] - plant.stations["waiting"], 0)
    np.testing.assert_array_equal(metrics.started.sum(axis=1), inside)
    np.testing.assert_array_equal(metrics.shared["started"], inside)
    for counts, owners, places, numbers in (
        (metrics.waiting, metrics.owners_waiting, metrics.waiting_place, metrics.shared["waiting"]),
        (metrics.started, metrics.owners_served, metrics.served_place, metrics.shared["served"]),
    ):
        for own, listed, placed, number in zip(counts, owners, places, numbers, strict=True):
            assert sorted(listed[:number].tolist()) == np.flatnonzero(own).tolist()
            assert placed[listed[:number]].tolist() == list(range(number))


@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.integers(2, 3))
def test_engines_agree_on_who_waits_when_all_come_by_the_clock(case: Case, recordings: int) -> None:
    found = []
    for reference in (False, True):
        builder, station = case.fresh()
        fed = commands_at(case, station)
        owner = (np.arange(len(fed)) % recordings).astype(np.uint8)
        fed = replace(fed, category=fed.category + np.uint8(COUNT) * owner)
        metrics = metrics_for(case, builder, recordings)
        if reference:
            ReferenceEngine(builder.build(case.slots), [fed], metrics).run()
        else:
            engine.run(builder.build(case.slots), [fed], metrics)
        found.append(metrics)
    assert_same_metrics(*found)


@pytest.mark.long
@settings(max_examples=examples(60), deadline=None)
@given(database_cases)
def test_engines_note_the_same_requests_of_a_database(case: DatabaseCase) -> None:
    """Each that leaves a watched station, once, with when it came."""
    found = []
    for reference in (False, True):
        builder, database, metrics = case.fresh()
        watched = tapped(metrics, np.arange(len(builder.stations)), 20_000)
        if reference:
            run = ReferenceEngine(builder.build(4), [], watched, database=database)
            run.run()
            plant = run.plant
        else:
            plant, _ = engine.run_database(builder.build(4), database, watched)
        found.append(watched.taps)
        count = int(watched.tap_count[0])
        assert count == plant.stations["finished"].sum()
        taken = watched.taps[: min(count, 20_000)]
        if count <= 20_000:
            np.testing.assert_array_equal(
                np.bincount(taken["place"], taken["done_ns"] - taken["came_ns"], len(plant.stations)),
                plant.stations["residence_ns"],
            )
    np.testing.assert_array_equal(found[0], found[1])


def beside(
    case: DatabaseCase, commands: Case, stations: Sequence[int]
) -> tuple[PlantBuilder, Database, Metrics, Streams]:
    """A database of a drawn case, and drawn streams at *stations* of its plant, or a server of their own if there are
    none, in ticks of the database. What a server draws depends on how many requests came before: there is none then.
    """
    builder, database, metrics = case.fresh("exponential" if stations else "fixed")
    own = stations or [add_server(builder, "theirs", 1, 30 * case.tick_ns)]
    fed = commands.commands
    time_ns = np.sort(fed.time_ns // 100_000 * case.tick_ns)
    at = np.array(own, np.int32)[np.arange(len(fed)) % len(own)]
    fed = replace(fed, time_ns=time_ns, intended_ns=time_ns, station=at, op=np.minimum(fed.op, 1).astype(np.uint8))
    drawn = draw_streams(fed, commands.seed, syncs=True, flushes=commands.seed % 2 == 1)
    columns, counted_ns = len(metrics.latency), int(metrics.first_counted[0] * metrics.interval_ns[0])
    metrics = new_metrics(
        columns + COUNT, len(builder.stations), RESOURCES, 4, int(metrics.interval_ns[0]), counted_from_ns=counted_ns
    )
    return builder, database, metrics, drawn


@settings(max_examples=examples(60), deadline=None)
@given(database_cases, cases())
def test_engines_agree_on_a_database_beside_streams(case: DatabaseCase, commands: Case) -> None:
    builder, database, metrics, streams = beside(case, commands, (0, LOG_VOLUME))
    plant, outcome = engine.run_database(builder.build(4), database, metrics, beside=streams)
    builder, other, other_metrics, again = beside(case, commands, (0, LOG_VOLUME))
    reference = ReferenceEngine(builder.build(4), [], other_metrics, streams=again, database=other)
    expected = reference.run()
    np.testing.assert_array_equal(database.done_ns, other.done_ns)
    np.testing.assert_array_equal(streams.done_ns, again.done_ns)
    assert (outcome.end_ns, outcome.arrived, outcome.left, outcome.requests) == (
        expected.end_ns, expected.arrived, expected.left, expected.requests,
    )  # fmt: skip
    assert_same_metrics(metrics, other_metrics)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)


@settings(max_examples=examples(60), deadline=None)
@given(database_cases, cases())
def test_a_database_and_streams_that_share_nothing_do_what_they_do_alone(case: DatabaseCase, commands: Case) -> None:
    """Until the sessions are through, with which the run ends."""
    builder, database, metrics, streams = beside(case, commands, ())
    _, outcome = engine.run_database(builder.build(4), database, metrics, beside=streams)
    builder, alone, own_metrics, _ = beside(case, commands, ())
    _, by_itself = engine.run_database(builder.build(4), alone, own_metrics)
    np.testing.assert_array_equal(database.done_ns, alone.done_ns)
    assert outcome.end_ns == by_itself.end_ns
    own = slice(len(metrics.latency) - COUNT)
    own_of_both, own_of_one = of_columns(metrics, own), of_columns(own_metrics, own)
    for name in ("latency", "latency_over_time", "latency_max_ns"):
        np.testing.assert_array_equal(getattr(own_of_both, name), getattr(own_of_one, name), err_msg=name)
    builder, _, _, again = beside(case, commands, ())
    engine.run_streams(builder.build(4), again, metrics_for(commands, builder, 1))
    seen = streams.done_ns < outcome.end_ns
    np.testing.assert_array_equal(seen, again.done_ns < outcome.end_ns)
    np.testing.assert_array_equal(streams.done_ns[seen], again.done_ns[seen])


def test_requests_that_do_not_fit_are_not_half_a_trace(folder: Path) -> None:
    metrics = tapped(new_metrics(1, 1, RESOURCES, 2, 1), np.zeros(1, np.int64), 4)
    metrics.tap_count[0] = 5
    assert rows_of(metrics) is None
    metrics.tap_count[0] = 3
    metrics.taps["came_ns"] = [5, 1, 3, 0]
    found = rows_of(metrics)
    assert found is not None
    assert found["came_ns"].tolist() == [1, 3, 5]


@needs_jit
def test_a_server_of_which_statements_were_recorded_asks_alone_what_its_run_asked(tmp_path: Path) -> None:
    """The same latencies from the derived requests as from the run that they are derived from; and beside itself, with
    a smaller pool, it is slower and says what did not answer.
    """
    server(tmp_path)
    said_of_two = '[tenants.one]\nrecording = "db.trace"\n[tenants.two]\nrecording = "db.trace"\n'
    said_of_two += 'engine = { buffer_pool = "32 MiB" }\n'
    one, two = shared(tmp_path, said_of_two, "hdd-100")
    own = replay_statements(load_of(tmp_path / "db.trace", 1), load_scenario("hdd-100"))
    for name in ("data read",):
        expected, found = (r.summary["latency_ns"][name]["mean"]["value"] for r in (own, one.alone))
        assert found == pytest.approx(expected, rel=0.02)
    assert two.alone.summary["commands"] > one.alone.summary["commands"]
    rates = one.together.summary["shared"]["transactions_per_s"]
    assert rates["alone"] == own.summary["throughput_per_s"]["transactions"]["value"]
    assert rates["together"] < rates["alone"]
    assert rates["basis"].endswith("a run of them beside the others' requests")
    said = one.together.summary["shared"]["not_modelled"]
    assert any("its statements ran beside the requests that the others asked for" in text for text in said)
    (tmp_path / "idle").mkdir()
    write_trace(tmp_path / "idle", 20, 1.0).rename(tmp_path / "idle.trace")
    said_of_later = '[tenants.idle]\nrecording = "idle.trace"\n[tenants.later]\nrecording = "db.trace"\nshift = "1 s"\n'
    later = shared(tmp_path, said_of_later, "hdd-100")[1].together.summary["shared"]
    assert any("do not answer to the others" in text for text in later["not_modelled"])
    assert later["transactions_per_s"]["basis"].endswith("times requests/s together over alone")


@needs_jit
def test_one_server_alone_gives_the_bits_of_a_replay_of_its_statements(tmp_path: Path) -> None:
    bundle = server(tmp_path)
    for hardware in ("hdd-100", ONE_DISK):
        (alone,) = shared(tmp_path, '[tenants.one]\nrecording = "db.trace"\n', hardware)
        scenario = load_scenario(str(tmp_path / "hardware.toml") if hardware == ONE_DISK else hardware)
        (expected,) = replay_statements_all(bundle, [scenario])
        assert bits(alone.together) == bits(expected)
        assert alone.together is alone.alone


@needs_jit
def test_a_server_costs_what_it_cost_on_the_hardware_that_it_was_recorded_on(tmp_path: Path) -> None:
    """Alone it has the bits of a calibrated replay; beside an idle one it is calibrated, too, and as fast."""
    bundle = server(tmp_path)
    said = '[tenants.one]\nrecording = "db.trace"\nrecorded_on = "sample/start/host/recorded.toml"\n'
    said += "replay = { load = 0.5 }\n"  # asked of pcie-flash, not of the recorded hardware
    (alone,) = shared(tmp_path, said)
    there, here = (tmp_path / "sample/start/host/recorded.toml", load_scenario("pcie-flash", ["replay.load=0.5"]))
    (expected,) = replay_statements_all(bundle, [here], recorded_on=load_scenario(str(there)))
    assert bits(alone.together) == bits(expected)
    assert expected.summary["range"]["draws"]
    (tmp_path / "idle").mkdir()
    write_trace(tmp_path / "idle", 20, 1.0).rename(tmp_path / "idle.trace")
    one = shared(tmp_path, f'{said}[tenants.idle]\nrecording = "idle.trace"\n')[0].together.summary
    assert one["verdict"]["calibration"] == expected.summary["verdict"]["calibration"] != "none"
    assert one["range"]["draws"] == expected.summary["range"]["draws"]
    rates = one["shared"]["transactions_per_s"]
    assert rates["together"] == pytest.approx(rates["alone"], rel=0.01)
    with pytest.raises(ScenarioError, match=r"tenants.toml:3: tenants.one.recorded_on: 'recorded' is the recording"):
        shared(tmp_path, said.replace("sample/start/host/recorded.toml", "recorded"))


def test_statements_are_arranged_anew_where_a_range_asks_for_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sweep, which gives none, one arrangement is made; each is made once."""
    seeds = []

    def made(path: Path, seed: int, recorded_on: NamedScenario) -> Any:
        seeds.append(seed)
        return SimpleNamespace(synthetic=True, seed=seed)

    monkeypatch.setattr(loads, "load_of", made)
    on, unused = load_scenario("pcie-flash", ["replay.seed=7"]), cast("Any", None)
    found = Calibrated(Loads(Path("db.trace"), on, LAWS), on, unused, unused)
    assert cast("Any", found.load).seed == 7
    assert seeds == [7]
    assert found.arrangements()[0] is found.load
    assert seeds == [7, 8, 9, 10]


def test_requests_of_a_server_whose_statements_are_calibrated_have_no_row_against_recorded_ones() -> None:
    figure = {"value": 1e6, "low": 1e6, "high": 1e6}
    summary: dict[str, Any] = {
        "verdict": {"calibration": "calibrated"}, "latency_ns": {"data read": {"mean": figure}}
    }  # fmt: skip
    relative = {"relative_latency_ns": {"data read": {"mean": figure}}}
    names = [
        [row[0] for row in _rows_of_class("data read", [one], {"mean": "mean"})]
        for one in (summary, summary | relative)
    ]
    assert names == [["data read, mean"], ["data read, mean", "data read, relative"]]


@needs_jit
@pytest.mark.parametrize(("workload", "shift"), [("select", ""), ("select", 'shift = "1 s"'), ("tpcb", "")])
def test_a_server_is_judged_by_its_transactions_and_not_by_requests_that_were_derived_there(
    tmp_path: Path, workload: str, shift: str
) -> None:
    """On a disk that does a fraction of the recorded transactions it is behind, alone as in a plain replay, though the
    disk replays what the run on it asked for; on hardware that does more, it is not, however requests are replayed.
    """
    bundle = server(tmp_path, workload)
    (tmp_path / "idle").mkdir()
    write_trace(tmp_path / "idle", 20, 1.0).rename(tmp_path / "idle.trace")
    text = f'[tenants.idle]\nrecording = "idle.trace"\n[tenants.one]\nrecording = "db.trace"\n{shift}\n'
    for hardware, load in ((ONE_DISK, "behind"), ("pcie-flash", "steady")):
        _, one = shared(tmp_path, text, hardware)
        scenario = load_scenario(str(tmp_path / "hardware.toml") if hardware == ONE_DISK else hardware)
        (plain,) = replay_statements_all(bundle, [scenario])
        for key in ("verdict", "throughput_shortfall_pct", "model_error", "range", "load"):
            assert one.alone.summary.get(key) == plain.summary.get(key), key
        assert (
            one.alone.summary["throughput_per_s"]["transactions"] == plain.summary["throughput_per_s"]["transactions"]
        )
        assert carries(one.alone.summary) == carries(plain.summary)
        assert one.together.summary["verdict"]["load"] == one.alone.summary["verdict"]["load"] == load
        trace, rates = plain.summary["trace"], one.together.summary["shared"]["transactions_per_s"]
        assert rates["recorded"] == pytest.approx(trace["transactions"] / trace["span_ns"] * 1e9)
        share = 1 - one.together.summary["throughput_shortfall_pct"] / 100
        assert rates["together"] == pytest.approx(share * rates["recorded"], rel=0.01)
        ranges = [each.summary.get("range") for each in (plain, one.together)]
        assert [found is not None for found in ranges] == [(workload, load) == ("tpcb", "steady")] * 2
        Summary.model_validate(one.together.summary)


def server(folder: Path, workload: str = "select") -> Bundle:
    """A server's statements, ``db.trace``."""
    (folder / "sample").mkdir()
    import_files(sort_files([start(folder / "sample") / workload]), folder / "db.trace")
    return Bundle(folder / "db.trace")


def test_a_limit_of_one_tenant_is_no_part_of_the_others(folder: Path) -> None:
    """Neither their busiest part, nor what makes them late, nor credits on which they live."""
    text = BOTH.replace("right", "left") + "queue_depth = 64\n"
    text += 'limit = { iops = 90, burst_iops = 150, burst_time = "5 s" }\n'
    shop, bill = (one.together.summary for one in shared(folder, text, TWO_VOLUMES))
    assert bill["bottleneck"]["station"] == bill["load"]["station"] == "bill.limit"
    assert bill["verdict"]["credits"] == "ran out"
    assert (shop["bottleneck"]["station"], shop["bottleneck"]["resource"]) == ("left", "actuator")
    assert "bill" not in shop["load"]["explanation"]
    assert "credits" not in shop["verdict"]
    assert [name for name, one in shop["stations"].items() if name.startswith("bill") and one["utilisation"]] == []


def test_a_volume_of_one_tenant_is_no_part_of_one_that_lies_elsewhere(folder: Path) -> None:
    for shop, bill in ((one, other) for one in ("left", "right") for other in ("left", "right")):
        text = BOTH.replace('"left"', '"L"').replace('"right"', f'"{bill}"').replace('"L"', f'"{shop}"')
        results = shared(folder, text, TWO_VOLUMES, ["replay.mode=open"])
        for name, result in zip((shop, bill), results, strict=True):
            summary = result.together.summary
            assert summary["bottleneck"]["station"] == name
            busy = {station for station, one in summary["stations"].items() if one["utilisation"]}
            assert busy == {name}


@pytest.mark.long
@needs_jit
def test_a_limit_of_a_tenant_s_own_is_no_doing_of_a_neighbour_that_hardly_asks(tmp_path: Path) -> None:
    server(tmp_path)
    (tmp_path / "idle").mkdir()
    write_trace(tmp_path / "idle", 20, 1.0).rename(tmp_path / "idle.trace")
    text = '[tenants.one]\nrecording = "db.trace"\nlimit = { iops = 50 }\n[tenants.idle]\nrecording = "idle.trace"\n'
    rates = shared(tmp_path, text, "hdd-100")[0].together.summary["shared"]["transactions_per_s"]
    assert rates["together"] == pytest.approx(rates["alone"], rel=0.05)


# ---- who waits: against the definition, and closed forms


def one_server(
    times: Sequence[NDArray[np.int64]], services_ns: Sequence[int], laws: Sequence[str]
) -> tuple[Metrics, int]:
    """Classes of requests that share one server, each with a service of its own: a queue of depth 1 before them."""
    builder = PlantBuilder(3)
    devices = [
        add_server(builder, f"device {place}", 64, service, "exponential" if law == "M" else "fixed")
        for place, (service, law) in enumerate(zip(services_ns, laws, strict=True))
    ]
    gate = add_gate(builder, "shared", 1)
    ports = [add_port(builder, f"port {place}", gate, beyond=device) for place, device in enumerate(devices)]
    order = np.argsort(np.concatenate(times), kind="stable")
    owner = np.repeat(np.arange(len(times)), [len(one) for one in times])[order]
    at = np.concatenate(times)[order]
    small, wide = np.zeros(len(at), np.uint8), np.zeros(len(at), np.int64)
    fed = Commands(at, at, np.array(ports, np.int32)[owner], small, wide, wide + 4096, (owner * COUNT).astype(np.uint8))
    metrics = new_metrics(
        COUNT * len(times), len(builder.stations), RESOURCES, 2, int(at[-1]) + 1, by_recording(len(times))
    )
    engine.run(builder.build(), [fed], metrics)
    return metrics, gate


def test_waiting_is_behind_whoever_is_served_meanwhile() -> None:
    """Two of a class come at once, then one of the other: a plain walk through a first-come server."""
    times = [np.array([0, 0, 7 * MS], np.int64), np.array([1 * MS, 6 * MS], np.int64)]
    services = [2 * MS, 3 * MS]
    metrics, gate = one_server(times, services, "DD")
    arrivals = sorted((int(t), owner) for owner, own in enumerate(times) for t in own)
    expected, free = np.zeros((2, 2)), 0
    served: list[tuple[int, int, int]] = []
    for at, owner in arrivals:
        start = max(at, free)
        for begin, end, other in served:
            expected[owner, other] += max(0, min(end, start) - max(begin, at))
        free = start + services[owner] + 1  # passing on takes a nanosecond
        served.append((start, free, owner))
    np.testing.assert_allclose(metrics.behind_ns[gate, :2, :2].T, expected, atol=10)
    assert expected.min() > 0


@example([(0, 0), (0, 1), (0, 1)], 2, 1)  # the last waits for both that are served
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), min_size=1, max_size=25),
    st.integers(1, 3),
    st.integers(1, 9),
)
@settings(deadline=None, max_examples=examples(100))
def test_waiting_at_several_servers_is_divided_among_those_that_are_served(
    asked: list[tuple[int, int]], servers: int, service: int
) -> None:
    """Against a walk through time, step by step, in plain Python."""
    asked = sorted(asked)
    builder = PlantBuilder(1)
    station = add_server(builder, "server", servers, service * MS, "fixed")
    at = np.array([time for time, _ in asked], np.int64) * MS
    owner = np.array([one for _, one in asked], np.uint8)
    small, wide = np.zeros(len(at), np.uint8), np.zeros(len(at), np.int64)
    fed = Commands(at, at, np.full(len(at), station, np.int32), small, wide, wide + 4096, owner * np.uint8(COUNT))
    metrics = new_metrics(COUNT * 3, 1, RESOURCES, 2, int(at[-1]) + 1, by_recording(3))
    engine.run(builder.build(), [fed], metrics)
    expected = np.zeros((3, 3))
    waiting: list[int] = []
    served: list[tuple[int, int]] = []  # until when, and whose
    coming = list(asked)
    for now in range(30 + service * len(asked) + 1):
        served = [one for one in served if one[0] > now]
        while coming and coming[0][0] == now:
            waiting.append(coming.pop(0)[1])
        while waiting and len(served) < servers:
            served.append((now + service, waiting.pop(0)))
        for one in waiting:
            for _, other in served:
                expected[one, other] += MS / len(served)
    np.testing.assert_allclose(metrics.behind_ns[station, :3, :3].T, expected, atol=1)


@pytest.mark.long
@pytest.mark.parametrize("laws", ["MM", "DM"])
def test_two_classes_at_one_server_wait_behind_each_other_as_pollaczek_and_khinchine_say(laws: str) -> None:
    """A request of either class waits the rest of the service that it finds, and the services of those before it:
    behind class b that is lambda_b E[S_b^2] / 2 + rho_b W.
    """
    services, rates = [1 * MS, 3 * MS], [300.0, 120.0]
    times = [poisson(count, rate, seed) for count, rate, seed in ((1_500_000, rates[0], 1), (600_000, rates[1], 2))]
    end = min(int(one[-1]) for one in times)
    times = [one[one <= end] for one in times]
    metrics, gate = one_server(times, services, laws)
    rates = [len(one) * 1e9 / end for one in times]
    second = [(2 if law == "M" else 1) * (service / 1e9) ** 2 for law, service in zip(laws, services, strict=True)]
    rho = [rate * service / 1e9 for rate, service in zip(rates, services, strict=True)]
    residual = [rate * moment / 2 for rate, moment in zip(rates, second, strict=True)]
    wait = sum(residual) / (1 - sum(rho))
    for owner in range(2):
        found = metrics.behind_ns[gate, :2, owner] / len(times[owner]) / 1e9
        for other in range(2):
            assert found[other] == pytest.approx(residual[other] + rho[other] * wait, rel=0.02), (owner, other)
        assert found.sum() == pytest.approx(wait, rel=0.02)


def mva(clients: Sequence[int], thinks: Sequence[float], demands: Sequence[float]) -> list[float]:
    """Exact mean value analysis of two closed classes at stations where both need the same (Reiser and Lavenberg,
    J. ACM 27(2), 1980); returns throughputs.
    """
    queues: dict[tuple[int, int], NDArray[np.float64]] = {}
    rates: dict[tuple[int, int], list[float]] = {}
    for first in range(clients[0] + 1):
        for second in range(clients[1] + 1):
            queue, rate = np.zeros(len(demands)), []
            for kind, count in enumerate((first, second)):
                less = (first - (kind == 0), second - (kind == 1))
                if not count:
                    rate.append(0.0)
                    continue
                took = [demand * (1 + queues[less][place]) for place, demand in enumerate(demands)]
                x = count / (thinks[kind] + sum(took))
                rate.append(x)
                queue += x * np.array(took)
            queues[first, second], rates[first, second] = queue, rate
    return rates[clients[0], clients[1]]


def closed(clients: int, think_ns: int, each: int, station: int) -> Streams:
    """Clients that think and ask, so many times each."""
    count = clients * each
    times = np.repeat(np.arange(each), clients) * MS
    small, wide = np.zeros(count, np.uint8), np.zeros(count, np.int64)
    fed = Commands(times, times, np.full(count, station, np.int32), small, wide, wide + 4096, small)
    place = np.arange(count) // clients
    waits = np.where(place > 0, OWN, 0)
    return streams_of(fed, np.tile(np.arange(clients), each), np.ones(clients, bool), waits, think_ns, place)


def test_two_closed_classes_go_as_fast_as_exact_mean_value_analysis_says() -> None:
    builder = PlantBuilder(5)
    station = add_server(builder, "server", 1, 1 * MS, "exponential")
    clients, thinks = [3, 6], [2 * MS, 9 * MS]
    each = [120_000, 60_000]
    parts = [closed(n, think, many, station) for n, think, many in zip(clients, thinks, each, strict=True)]
    streams = to_run(joined(parts, [0, 0]))
    metrics = new_metrics(COUNT * 2, len(builder.stations), RESOURCES, 2, 10**12, by_recording(2))
    engine.run_streams(builder.build(), streams, metrics)
    expected = mva(clients, [think / 1e9 for think in thinks], [1e-3])
    done = [np.sort(part_of(streams, number, 0).done_ns) for number in range(2)]
    end = min(int(one[-1]) for one in done)  # until one of them is through, both are there
    for number in range(2):
        found = np.searchsorted(done[number], end) / (end / 1e9)
        assert found == pytest.approx(expected[number], rel=0.01)


def test_what_waits_at_a_station_is_divided_without_rest() -> None:
    times = [poisson(20_000, 300, 1), poisson(9_000, 120, 2)]
    metrics, gate = one_server(times, [1 * MS, 3 * MS], "MM")
    whole: Any = metrics.behind_ns[gate].sum()
    assert whole > 0
    assert metrics.behind_ns[gate, :, 2:].sum() == 0  # background work and nobody
    assert (metrics.waiting == 0).all()
    assert (metrics.started == 0).all()
