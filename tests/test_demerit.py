"""Scores of devices against measured response times."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.recordings import closed_recording, recording_on, rows_of, write_recording
from tiersim.cli.main import app
from tiersim.devices.catalogue import load_device
from tiersim.devices.ssd.flash import Flash
from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.demerit import demerit_ns, score
from tiersim.scenarios.survey import survey
from tiersim.traces.bundle import Bundle

FLASH = "intel-p3700-800"


def test_the_demerit_of_a_shift_is_the_shift() -> None:
    measured = np.random.default_rng(1).integers(10**6, 10**7, 1000)
    assert demerit_ns(measured, measured[::-1]) == 0
    assert demerit_ns(measured, measured + 250) == 250
    assert demerit_ns(np.array([0, 0]), np.array([3, 4])) == pytest.approx(np.sqrt(12.5))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("drive", "published_ms"), [("atlas_III", 0.378), ("barracuda", 0.348), ("cheetah4LP", 0.318), ("hp_c2490a", 0.255)]
)
def test_disksim_scores_what_it_scored(shared: Path, drive: str, published_ms: float) -> None:
    rows = [line.split() for line in (shared / f"hdd/valid/{drive}.disksim.txt").read_text().splitlines()]
    pairs = np.array([row[:2] for row in rows if row[0][0].isdigit()], np.float64)
    found = demerit_ns(np.rint(pairs[:, 0] * 1e6).astype(np.int64), np.rint(pairs[:, 1] * 1e6).astype(np.int64))
    assert found / 1e6 == pytest.approx(published_ms, abs=0.0006)


def test_a_device_scores_nothing_against_itself_and_its_error_against_a_slower_one(tmp_path: Path) -> None:
    device = load_device(FLASH)
    assert isinstance(device, Flash)
    found = score(survey(Bundle(recording_on(tmp_path, FLASH))), FLASH, device)
    assert found["requests"] == found["read"]["requests"] == 6000
    assert found["demerit_pct_of_mean"] < 1  # which die a page lies on is drawn, by seed
    assert "write" not in found
    (tmp_path / "slower").mkdir()
    slower = score(survey(Bundle(recording_on(tmp_path / "slower", FLASH, 1.25))), FLASH, device)
    assert slower["mean_error_pct"] == pytest.approx(-20, abs=0.5)
    assert slower["demerit_pct_of_mean"] == pytest.approx(20, abs=1)


def test_a_trace_without_latencies_is_refused(tmp_path: Path) -> None:
    columns = closed_recording(1, 10, 1000, 1000) | {"latency_ns": np.array([1000] * 9 + [-1])}
    path = write_recording(tmp_path, rows_of(**columns), streams=["one"])
    with pytest.raises(ScenarioError, match="1 of its reads and writes have no measured latency"):
        score(survey(Bundle(path)), FLASH, load_device(FLASH))


def test_from_the_command_line(tmp_path: Path) -> None:
    columns = closed_recording(1, 50, 100_000, 1000)
    path = write_recording(tmp_path, rows_of(**columns, op=np.arange(50) % 2), streams=["one"])
    run = CliRunner().invoke(app, ["devices", "demerit", str(path), "--device", FLASH, "--json"])
    assert run.exit_code == 0, run.output
    document = json.loads(run.stdout)
    assert document["schema"] == "tiersim.demerit/1"
    for part in (document, document["read"], document["write"]):
        assert part.keys() >= {"demerit_ms", "demerit_pct_of_mean", "mean_error_pct", "p99_error_pct"}
    own = tmp_path / "requests.csv"
    again = ["devices", "demerit", str(path), "--device", FLASH, "--json", "--seeds", "2", "--requests", str(own)]
    document = json.loads(CliRunner().invoke(app, again).stdout)
    assert document["seeds"] == 2
    assert document["demerit_least_ms"] <= document["demerit_ms"] <= document["demerit_most_ms"]
    header, *lines = [line.split(",") for line in own.read_text().splitlines()]
    assert header == ["seed", "op", "offset_bytes", "length_bytes", "measured_ns", "simulated_ns"]
    assert [line[0] for line in lines] == ["1"] * 50 + ["2"] * 50
    means = [np.mean([int(line[5]) for line in lines if line[0] == seed]) / 1e6 for seed in "12"]
    assert np.mean(means) == pytest.approx(document["simulated_mean_ms"])
    table = CliRunner().invoke(app, ["devices", "demerit", str(path), "--device", FLASH])
    assert "of the mean" in table.stdout
