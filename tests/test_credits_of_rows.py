"""How long burst credits carry the rows of a sweep, a load or a search: a table that says "on credits" says no time."""

import json
from pathlib import Path

from typer.testing import CliRunner

from tests.made_up_devices import token_bucket
from tests.recordings import closed_recording, rows_of, write_recording
from tiersim.cli.main import app
from tiersim.cli.verdicts import credits_last
from tiersim.units import NS_PER_S

RUNNER = CliRunner()


def test_a_sweep_says_how_long_credits_last(tmp_path: Path) -> None:
    """Of 1,000 credits the requests of a run take one each, less 10 that are earned a second."""
    trace = write_recording(tmp_path, rows_of(**closed_recording(1, 300, 200_000, 9_800_000)), streams=["1 backend"])
    device = tmp_path / "burst.toml"
    device.write_text(token_bucket(carry_over="0 s", iops=10, burst_iops="1000", burst_credits="1000"))
    base = tmp_path / "base.toml"
    base.write_text(f'[volumes.data]\ndevice = "{device}"\n[replay]\nmode = "open"\n')
    asked = ["sweep", str(trace), "--on", str(base), "--set", "replay.seed=1,2", "-o", str(tmp_path / "a")]
    said = " ".join(RUNNER.invoke(app, asked).stdout.split())
    row = json.loads(RUNNER.invoke(app, [*asked, "--json", "--force"]).stdout)["rows"][0]
    (credits,) = row["summary"]["credits"]
    spent, left = (1 - credits["end"]) * 1000, credits["end"] * 1000
    span_s = credits["lasts_ns"] / NS_PER_S * spent / left
    assert 2.9 < span_s < 3.2  # of the recording: 300 requests, each 10 ms behind the one before
    assert 300 - 10 * span_s - 5 <= spent <= 300 - 10 * span_s + 5
    assert "Burst credits: point 0 lasts " in said
    assert "more at its load; then the baseline limits." in said


def test_credits_that_ran_out_are_told_apart() -> None:
    lasting = {"ran_out_ns": None, "lasts_ns": 90 * NS_PER_S}
    spent = {"ran_out_ns": 2 * NS_PER_S, "lasts_ns": None}
    kept = {"ran_out_ns": None, "lasts_ns": None}
    (said,) = credits_last({"1 ×": {"credits": [kept, lasting]}, "2 ×": {"credits": [lasting, spent]}, "3 ×": {}})
    assert said == ("Burst credits: 1 × lasts 90 s more at its load, 2 × ran out after 2 s; then the baseline limits.")
    assert not credits_last({"1 ×": {"credits": [kept]}, "2 ×": {}})
