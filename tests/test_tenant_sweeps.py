"""What a setting of one tenant does to all."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.runs import needs_jit
from tests.test_replay import write_trace
from tests.test_shifts import bursts
from tests.test_tenants import server
from tiersim.cli.main import app
from tiersim.cli.tenants import open_recordings
from tiersim.errors import ScenarioError
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sweeps.axes import parse_axes
from tiersim.scenarios.tenants.shared_runs import run_tenants
from tiersim.scenarios.tenants.variants import SCHEMA, sweep_document

TENANTS = """
[tenants.shop]
recording = "shop.trace"
[tenants.bill]
recording = "bill.trace"
"""


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two tenants; one disk is nearly busy with both."""
    folder = tmp_path_factory.mktemp("tenants")
    for name, count, per_s in (("shop", 1000, 40.0), ("bill", 3000, 90.0)):
        (folder / name).mkdir()
        write_trace(folder / name, count, per_s).rename(folder / f"{name}.trace")
    path = folder / "tenants.toml"
    path.write_text(TENANTS)
    return path


def swept(path: Path, work: Path, *settings: str) -> list[dict[str, Any]]:
    with ExitStack() as stack:
        recordings = open_recordings(path, stack, work)
        document = sweep_document(recordings, "seagate-cheetah-15k7-300", parse_axes(settings), workers=2)
    assert document["schema"] == SCHEMA
    rows: list[dict[str, Any]] = document["rows"]
    return rows


def test_a_cap_on_one_tenant_costs_it_latency_and_gives_it_to_the_other(tenants: Path, tmp_path: Path) -> None:
    rows = swept(tenants, tmp_path, "tenants.bill.limit.iops=92,100,1000")
    assert [row["settings"] for row in rows] == [{}] + [
        {"tenants.bill.limit.iops": cap} for cap in ("92", "100", "1000")
    ]
    shop, bill = ([row["tenants"][name]["mean_latency_ns"] for row in rows] for name in ("shop", "bill"))
    assert bill[1] > bill[2] > bill[3] > bill[0]  # a cap lets requests through one by one
    assert shop[1] < shop[0]
    assert all(row["tenants"]["shop"]["load"] == "steady" for row in rows)


def test_hardware_to_calibrate_by_is_refused_of_a_tenant_with_requests_as_in_its_file(
    tenants: Path, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=r"tenants.toml:\d+: tenants.bill.recorded_on: bill.trace has requests"):
        swept(tenants, tmp_path, "tenants.bill.recorded_on=15k-raid10")


def test_each_row_is_what_a_replay_of_such_a_file_says(tenants: Path, tmp_path: Path) -> None:
    settings = "tenants.shop.share=5", "tenants.bill.replay.load=0.5", "shares.queue_depth=4,8", "replay.seed=3"
    rows = swept(tenants, tmp_path, *settings)
    fixed = {"tenants.shop.share": "5", "tenants.bill.replay.load": "0.5", "replay.seed": "3"}
    assert [row["settings"] for row in rows] == [
        fixed, *(fixed | {"shares.queue_depth": depth} for depth in ("4", "8"))
    ]  # fmt: skip
    path = tenants.with_name("said.toml")
    path.write_text(TENANTS.replace("[tenants.bill]", "share = 5\n[tenants.bill]")
                    + "replay = { load = 0.5 }\n[shares]\nqueue_depth = 8\n")  # fmt: skip
    with ExitStack() as stack:
        recordings = open_recordings(path, stack, tmp_path)
        hardware = load_scenario("seagate-cheetah-15k7-300", ["replay.seed=3"])
        for one in run_tenants(recordings, hardware, workers=1):
            own = rows[2]["tenants"][one.name]
            assert own["latency_ns"] == one.together.summary["latency_ns"]
            assert own["mean_latency_ns"] == one.together.summary["shared"]["mean_latency_ns"]
            assert own["throughput_per_s"] == one.together.summary["throughput_per_s"]


def test_shifts_are_searched_in_each_row_as_in_a_replay(tmp_path: Path) -> None:
    """Bursts that shifts bring together; a cap on one spares the other in its worst minute."""
    bursts(tmp_path, "a", 30, 1)
    bursts(tmp_path, "b", 80, 2)
    path, work, disk = tmp_path / "tenants.toml", tmp_path / "work", "seagate-cheetah-15k7-300"
    path.write_text('shifts = "30 s"\n[tenants.a]\nrecording = "a.trace"\n[tenants.b]\nrecording = "b.trace"\n')
    work.mkdir()
    free, capped = swept(path, work, "tenants.b.limit.iops=50")
    with ExitStack() as stack:
        for one in run_tenants(open_recordings(path, stack, work), load_scenario(disk), workers=1):
            minute = free["tenants"][one.name]["worst_minute"]
            assert minute == one.together.summary["shared"]["worst_minute"]
            assert minute["worst"]["mean_latency_ns"] > minute["aligned"]["mean_latency_ns"]
    spared, hurt = (row["tenants"]["a"]["worst_minute"]["worst"]["mean_latency_ns"] for row in (capped, free))
    assert spared < hurt
    arguments = ["sweep", str(path), "--on", disk, "--set", "tenants.b.limit.iops=50"]
    shown = " ".join(CliRunner().invoke(app, arguments).output.split())
    assert "the worst minute if clocks shift" in shown
    assert "Each may begin up to 30 s sooner or later." in shown


@needs_jit
@pytest.mark.parametrize("shift", ["", 'shift = "1 s"\n'])
def test_a_server_falls_behind_by_its_transactions(tenants: Path, tmp_path: Path, shift: str) -> None:
    """A disk that does a fraction of the recorded transactions replays what was derived on it."""
    server(tmp_path)
    path, work = tmp_path / "tenants.toml", tmp_path / "work"
    path.write_text(f'[tenants.shop]\nrecording = "{tenants.with_name("shop.trace")}"\n'
                    f'[tenants.one]\nrecording = "db.trace"\n{shift}')  # fmt: skip
    work.mkdir()
    (row,) = swept(path, work, "tenants.shop.replay.load=1")[1:]
    with ExitStack() as stack:
        recordings = open_recordings(path, stack, work)
        _, one = run_tenants(recordings, load_scenario("seagate-cheetah-15k7-300"), workers=1)
    assert row["tenants"]["one"]["load"] == one.together.summary["verdict"]["load"] == "behind"
    assert row["tenants"]["one"]["throughput_per_s"] == one.together.summary["throughput_per_s"]


def test_who_is_seldom_there_is_said(tenants: Path) -> None:
    """The shop's 25 s have 5 in common with the other's 33."""
    path = tenants.with_name("late.toml")
    path.write_text(TENANTS + 'shift = "20 s"\n')
    arguments = ["sweep", str(path), "--on", "seagate-cheetah-15k7-300", "--set", "tenants.bill.limit.iops=1000"]
    shown = " ".join(CliRunner().invoke(app, arguments).output.split())
    assert shown.count("shop: bill is there for ") == shown.count("bill: shop is there for ") == 1
    rows = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["rows"]
    assert rows[0]["tenants"]["shop"]["overlap"] == {"bill": pytest.approx(0.2, abs=0.08)}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tenants.ship.share=1,2", "--set tenants.ship.share=1: 'ship' is not one of the tenants"),
        ("tenants.shop.recording=a,b", "recordings are read once"),
        ("tenants.shop.shar=1,2", "unknown key 'shar'; did you mean 'share'"),
        ("tenants=1,2", "'tenants' names no table"),
    ],
)
def test_a_key_that_no_tenant_has_is_refused(tenants: Path, tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        swept(tenants, tmp_path, setting)


def test_the_command_shows_what_each_tenant_gets(tenants: Path) -> None:
    arguments = ["sweep", str(tenants), "--on", "seagate-cheetah-15k7-300", "--set", "tenants.bill.limit.iops=50,100"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "all tenants together: mean latency of a request" in " ".join(shown.output.split())
    assert "worst minute" not in " ".join(shown.output.split())  # the file names no shifts
    lines = [line.split() for line in shown.output.splitlines()]
    capped = next(line for line in lines if line[:1] == ["50"])
    assert capped[-1] == "bill"  # falls behind
    assert sum(line[:4] == ["as", "the", "file", "says"] for line in lines) == 2  # latencies, and requests/s
    assert "Expected error (not calibrated), measured against predicted: " in shown.output
    assert "disk arms move little, and fuller disks are slower." in shown.output
    assert "Not modelled: tenants share storage alone" in shown.output
    document = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert document["tenants"] == ["shop", "bill"]
    refused = CliRunner().invoke(app, [*arguments, "--keep"])
    assert "--keep: " in str(refused.exception)
