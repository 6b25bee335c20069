"""Measured against simulated: what the recorded hardware's own model says, and what follows for others."""

from pathlib import Path
from typing import Any

import pytest

from tests.recordings import recording_on
from tiersim.scenarios.calibration.self_replay import calibrate, compare
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.survey import survey
from tiersim.simulator.result import Result
from tiersim.simulator.summary_model import Summary
from tiersim.traces.bundle import Bundle


def run(path: Path, name: str) -> Result:
    return replay(survey(Bundle(path)), load_scenario(name))


def mean_of(summary: dict[str, Any]) -> float:
    return float(summary["latency_ns"]["unknown"]["mean"]["value"])


def test_the_right_model_is_calibrated_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    path = recording_on(tmp_path, "intel-p3700-800")
    right = compare(run(path, "intel-p3700-800").summary)
    assert right["verdict"] == "calibrated"
    assert abs(right["classes"]["unknown"]["error_pct"]) < 1
    wrong = compare(run(path, "aws-gp3").summary)
    assert wrong["verdict"] == "uncalibrated"
    assert wrong["classes"]["unknown"]["error_pct"] > 100


def test_a_common_error_of_the_models_cancels(tmp_path: Path) -> None:
    """The recorded device is a tenth slower than its model: what is said of another is a tenth slower, too."""
    path = recording_on(tmp_path, "intel-p3700-800", 1.1)
    baseline, other = run(path, "intel-p3700-800"), run(path, "aws-gp3")
    (stamped,) = calibrate([other], baseline)
    Summary.model_validate(stamped.summary)
    assert stamped.summary["verdict"]["calibration"] == "calibrated"
    figure = stamped.summary["relative_latency_ns"]["unknown"]["mean"]
    assert figure["value"] == pytest.approx(1.1 * mean_of(other.summary), rel=0.02)
    measured = baseline.summary["measured_latency_ns"]["unknown"]["mean"]
    shifted = mean_of(other.summary) + measured - mean_of(baseline.summary)
    assert figure["low"] == pytest.approx(shifted)
    assert figure["low"] < figure["value"] == figure["high"]
    assert other.summary["verdict"]["calibration"] == "none"  # the run itself is not touched


def test_a_model_that_is_a_fifth_off_is_not_calibrated(tmp_path: Path) -> None:
    path = recording_on(tmp_path, "intel-p3700-800", 1.25)
    found = compare(run(path, "intel-p3700-800").summary)
    assert found["verdict"] == "uncalibrated"
    assert found["classes"]["unknown"]["error_pct"] == pytest.approx(-20, abs=1)
