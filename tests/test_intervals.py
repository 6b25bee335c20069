"""Intervals that are learned from errors: what they are made of, what they hold, and that the documents say what
follows from the claims.
"""

import json
import tomllib
from dataclasses import replace
from math import exp, log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests import accuracy_document
from tiersim.cli import verdicts as said
from tiersim.cli.main import app
from tiersim.cli.queries import notes_of_rest
from tiersim.cli.statements import expected_rate, rows_of_rates
from tiersim.scenarios.caveats import (
    BEYOND,
    BEYOND_BY_GUESS,
    CLIENTS,
    INNODB,
    MET,
    OTHER_STORAGE,
    in_doubt,
    model_error_of,
    multiples_of,
    with_storage,
)
from tiersim.scenarios.statements import calibration_verdict
from tiersim.scenarios.statements.statement_load import RecordedMean
from tiersim.scenarios.sweeps.rows import row_of
from tiersim.scenarios.validation import interval_report, registry, report
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.intervals import (
    CONSTANT,
    COVERAGE,
    JudgedMeasurement,
    Measurement,
    coverage_interval,
    judge,
    learn,
    of_range,
)
from tiersim.simulator.result import Result


def measured(experiment: str, *errors: float) -> list[Measurement]:
    return [Measurement(experiment, "calibrated", "mean", error) for error in errors]


def five() -> list[Measurement]:
    return [one for number in range(1, 6) for one in measured(f"e{number}", number / 100)]


# ------------------------------------------------------------------------------------------------------------ what is
#   learned
def test_eighty_percent_of_the_errors_are_within_what_is_learned() -> None:
    learned = learn(five(), "calibrated", "mean")
    assert (learned.beyond, learned.measurements, learned.experiments, learned.figure) == (0.04, 5, 5, "mean")


def test_every_figure_weighs_the_same_whatever_experiment_it_is_of() -> None:
    many = [*measured("e5", *[0.5] * 6), *(one for one in five() if one.experiment != "e5")]
    assert learn(many, "calibrated", "mean").beyond == 0.5


def test_an_experiment_teaches_nothing_about_itself() -> None:
    many = [*measured("e6", *[0.5] * 100), *five()]
    assert [one.high for one in judge(many) if one.measurement.experiment == "e6"] == [0.04] * 100


@pytest.mark.parametrize("basis", ["calibrated", "extrapolated", "assumed", "innodb"])
def test_with_each_experiment_left_out_intervals_of_each_basis_hold_as_much_as_they_say(basis: str) -> None:
    judged = [one for one in judge(accuracy_document.measurements()) if one.measurement.basis == basis]
    for by_experiment in (False, True):
        _, low, high = coverage_interval(judged, by_experiment=by_experiment)
        assert low <= COVERAGE <= high


def test_errors_to_either_side_count_alike() -> None:
    mirrored = [replace(one, error=-one.error) for one in five()]
    assert learn(mirrored, "calibrated", "mean") == learn(five(), "calibrated", "mean")


def test_a_kind_of_figure_that_few_measured_is_as_far_off_as_all_are() -> None:
    tails = [replace(one, figure="tail", error=0.3) for one in five()[:3]]
    learned = learn([*five(), *tails], "calibrated", "tail")
    assert learned.figure is None
    assert learned.measurements == 8
    four = [*tails, Measurement("e4", "calibrated", "tail", 0.3)]
    assert learn([*five(), *four], "calibrated", "tail").figure == "tail"


def test_the_other_basis_teaches_nothing() -> None:
    others = [replace(one, basis="assumed", error=9.0) for one in five()]
    assert learn([*five(), *others], "calibrated", "mean") == learn(five(), "calibrated", "mean")


def test_a_range_counts_by_its_middle_and_what_lies_within_it_is_not_off() -> None:
    low, high = of_range(100, 50, 150)
    assert (exp(low), exp(high)) == pytest.approx((0.6, 1.4))
    assert of_range(100, 119, 300) == pytest.approx((0.0, log(2.819)))  # the prediction itself is in it
    assert Measurement("e", "assumed", "mean", log(0.7), low, high).beyond == pytest.approx(log(0.6) - log(0.7))
    assert Measurement("e", "assumed", "mean", log(0.5), low, high).beyond == pytest.approx(log(0.6) - log(0.5))
    assert Measurement("e", "assumed", "mean", log(1.5), low, high).beyond == pytest.approx(log(1.5) - log(1.4))


# ----------------------------------------------------------------------------------------------------------- what it is
#   worth
def test_an_experiment_is_judged_by_the_others_alone() -> None:
    known = [one for number in range(1, 7) for one in measured(f"e{number}", number / 100, -number / 50)]
    before = [(one.low, one.high) for one in judge(known) if one.measurement.experiment == "e3"]
    changed = [replace(one, error=5 * one.error) if one.experiment == "e3" else one for one in known]
    assert [(one.low, one.high) for one in judge(changed) if one.measurement.experiment == "e3"] == before
    others = [(one.low, one.high) for one in judge(known) if one.measurement.experiment == "e6"]
    assert [(one.low, one.high) for one in judge(changed) if one.measurement.experiment == "e6"] != others


def test_an_interval_holds_its_prediction_and_its_range() -> None:
    wide = Measurement("wide", "calibrated", "mean", 0.0, -0.5, 0.7)
    found = judge([*five(), wide])[-1]
    assert (found.low, found.high) == pytest.approx((-0.54, 0.74))


def test_the_score_is_the_width_and_ten_times_what_lies_outside() -> None:
    (one,) = measured("e", 0.15)
    assert JudgedMeasurement(one, -0.2, 0.2).score == pytest.approx(0.4)
    assert JudgedMeasurement(one, -0.1, 0.1).score == pytest.approx(0.2 + 10 * 0.05)
    assert JudgedMeasurement(one, 0.2, 0.3).score == pytest.approx(0.1 + 10 * 0.05)
    assert JudgedMeasurement(one, -0.1, 0.1).constant_score == pytest.approx(CONSTANT[1] - CONSTANT[0])
    assert JudgedMeasurement(one, log(0.8), log(1.2)).half_width == pytest.approx(0.2)


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=12), st.floats(0.1, 10))
def test_the_best_score_at_the_true_quantiles_is_of_nothing_else(errors: list[float], scale: float) -> None:
    """Proper: no symmetric interval scores less on the errors themselves than that whose ends 80 % of them do not
    exceed.
    """
    reach = sorted(abs(scale * error) for error in errors)

    def total(end: float) -> float:
        return sum(JudgedMeasurement(measured("e", scale * error)[0], -end, end).score for error in errors)

    best = min(total(end) for end in [*reach, reach[-1] * 2])
    rank = -(-8 * len(reach) // 10) - 1
    assert total(reach[rank]) == pytest.approx(best)


def test_of_experiments_alike_eighty_percent_are_held() -> None:
    drawn = np.random.default_rng(7)
    known = [
        one for number in range(60) for one in measured(f"e{number}", *(drawn.normal(0, 0.2) + drawn.normal(0, 0.1, 5)))
    ]
    share, low, high = coverage_interval(judge(known), by_experiment=True)
    assert share == pytest.approx(0.8, abs=0.06)
    assert low < 0.8 < high
    assert coverage_interval(judge(known), by_experiment=False)[0] == pytest.approx(share)  # each has as many


def test_the_interval_of_the_coverage_is_the_same_again_and_wider_for_fewer_experiments() -> None:
    (one,) = measured("e", 0.0)

    def drawn(experiments: int) -> list[JudgedMeasurement]:
        of = [replace(one, experiment=f"e{number}", error=0.0 if number % 5 else 1.0) for number in range(experiments)]
        return [JudgedMeasurement(some, -0.1, 0.1) for some in of]

    few, many = (coverage_interval(drawn(count), by_experiment=True) for count in (10, 100))
    assert few == coverage_interval(drawn(10), by_experiment=True)
    assert few[0] == many[0] == 0.8
    assert few[2] - few[1] > 2 * (many[2] - many[1])


# -------------------------------------------------------------------------------------------------------- claims and
#   documents
def _row(claim: Claim) -> dict[str, str]:
    columns, rows = report.table(Experiment("x", "X", "", "", (claim, Claim("y", "", 1, 1, 1, figure="count"))))
    return dict(zip(columns, rows[0], strict=True))


def test_what_was_measured_and_not_fitted_counts() -> None:
    found = interval_report.measurement("x", "assumed", _row(Claim("x", "ms", 100, 125, 10, figure="mean")))
    assert found is not None
    assert found.figure == "mean"
    assert found.error == pytest.approx(log(0.8))
    for claim in (
        Claim("x", "ms", 100, 125, 10),
        Claim("x", "ms", 100, 100, 10, figure="mean", fitted=True),
        Claim("x", "ms", 100, 100, 10, figure="mean", kind="arithmetic"),
    ):
        assert interval_report.measurement("x", "assumed", _row(claim)) is None


def test_a_range_is_read_as_it_is_printed() -> None:
    row = _row(Claim("x", "1/s", 1000, 2000, 0, within=(0, 9e9), low=1000, high=3000, figure="throughput"))
    assert row["range"] == "1,000 .. 3,000"
    found = interval_report.measurement("x", "assumed", row)
    assert found is not None
    assert (exp(found.low), exp(found.high), found.error) == pytest.approx((0.6, 1.4, log(0.5)))


def test_nothing_is_learned_of_a_part_of_the_experiments() -> None:
    assert interval_report.measurements_of([Experiment("depth", "", "", "")]) is None
    every = [Experiment(name, name, "", "") for name in registry.EXPERIMENTS]
    assert interval_report.measurements_of(every) == []
    assert interval_report.measurements_of([*every[:-1], replace(every[-1], missing="not there")]) is None


def test_the_section_and_the_shipped_table_follow_from_the_tables_of_the_document() -> None:
    """``python -m tests.accuracy_document`` makes them anew."""
    found = accuracy_document.measurements()
    assert interval_report.section(found).partition("## Intervals\n")[2] == accuracy_document.intervals()
    assert accuracy_document.TABLE.read_text(encoding="utf-8") == interval_report.as_toml(found)


def test_there_is_enough_to_learn_from_and_what_it_is_worth_is_not_hidden() -> None:
    found = accuracy_document.measurements()
    assert len(found) >= 100
    rows = interval_report.tables(found)[0].rows
    assert all(row[2] in ("met", "**missed**") for row in rows)
    assert "| met |" in accuracy_document.intervals()


def test_a_figure_of_every_experiment_says_on_what_basis() -> None:
    text = (accuracy_document.ROOT / "docs/accuracy.md").read_text().partition("\n## Intervals")[0]
    for part in text.split("\n## ")[1:]:
        compared = "| figure |" in part or "\n| recorded |" in part
        assert compared == any(f"Basis: {one}." in part for one in interval_report.BASES), part[:60]


def test_the_json_has_the_same_as_the_section() -> None:
    document = interval_report.document(accuracy_document.measurements())
    json.dumps(document, allow_nan=False)
    assert document["model_error"] == tomllib.loads(accuracy_document.TABLE.read_text())
    held = document["of_measurements"]["held"]
    assert 0 <= held["low"] <= held["share"] <= held["high"] <= 1


def test_a_table_of_errors_is_not_made_of_a_part(tmp_path: Path) -> None:
    for arguments in (["depth", "--traces", str(tmp_path)], ["--quick", "--traces", str(tmp_path)], []):
        done = CliRunner().invoke(app, ["validate", *arguments, "--model-error", str(tmp_path / "error.toml")])
        assert "learned from every experiment" in str(done.exception)
    assert not (tmp_path / "error.toml").exists()


# ------------------------------------------------------------------------------------------------------------ beside
#   results
@pytest.mark.parametrize(
    ("verdict", "basis"), [("calibrated", "calibrated"), ("uncalibrated", "assumed"), ("none", "assumed")]
)
def test_a_result_has_the_error_of_its_basis(verdict: str, basis: str) -> None:
    found = model_error_of({"calibration": verdict})
    assert found["basis"] == basis
    assert found["figures"] == tomllib.loads(accuracy_document.TABLE.read_text())[basis]
    for one in found["figures"].values():
        assert 0 < one["low"] < 1 < one["high"]


@pytest.mark.parametrize("calibration", ["calibrated", "none"])
def test_innodb_has_errors_of_its_own(calibration: str) -> None:
    found = model_error_of({"calibration": calibration, "error": INNODB})
    assert found == {"basis": "innodb", "figures": tomllib.loads(accuracy_document.TABLE.read_text())["innodb"]}


def test_calibrated_models_are_nearer() -> None:
    near, far = (model_error_of({"calibration": one})["figures"]["throughput"] for one in ("calibrated", "none"))
    assert near["high"] < far["high"]


def test_what_goes_beyond_its_recording_is_farther_off_than_what_does_not() -> None:
    verdict = {"calibration": "calibrated", "reach": "within the recording"}
    near, far = (model_error_of(one) for one in (verdict, verdict | {"reach": BEYOND}))
    assert far["basis"] == "extrapolated"
    for reach in (BEYOND, BEYOND_BY_GUESS):
        assert model_error_of({"calibration": "uncalibrated", "reach": reach})["basis"] == "assumed"
    assert far["figures"]["throughput"]["high"] > near["figures"]["throughput"]["high"]
    (sentence,) = said.notes([{"verdict": verdict, "model_error": far}])
    told = {"verdict": verdict, "model_error": far, "calibration": {"beyond": ["processors that are busy for 97% …"]}}
    assert "(CPU busier than recorded), measured against predicted: throughput" in said.notes([told])[0]
    assert (
        "(buffer pool larger, CPU busier or reads more than recorded), measured against predicted: throughput"
        in sentence
    )
    assert "unknown for other figures" in sentence  # only throughput was measured there
    assert list(said.expected_multiples({"model_error": far})) == ["throughput"]
    assert list(said.expected_multiples({"model_error": near})) == ["throughput", "mean", "tail"]
    unchecked = {"model_error": model_error_of({"calibration": "none"})}
    assert list(said.expected_multiples(unchecked)) == ["throughput", "mean"]
    wide = {"transactions_per_s": {"low": 50.0, "high": 400.0}}
    ranged = {"model_error": far, "range": wide, "throughput_per_s": {"transactions": {"value": 100.0}}}
    assert said.expected_multiples(ranged) == {"throughput": (0.5, 4.0)}  # it holds the error of the model
    means = {"transaction_mean_ns": {"low": 1e6, "high": 9e6}}
    known = {"range": wide | means, "latency_ns": {"transaction": {"mean": {"value": 2e6}}}}
    assert said.expected_multiples(ranged | known | {"model_error": near})["transaction"] == (0.5, 4.5)
    assert "transaction" not in said.expected_multiples(ranged | known)  # whose error of means nobody knows
    assert said.expected_multiples({}) == {}
    met = model_error_of({"calibration": "uncalibrated", "transactions": MET})
    assert list(said.expected_multiples({"model_error": met})) == ["throughput", "mean"]


def test_a_table_says_between_which_rates_a_measurement_is_expected() -> None:
    error = model_error_of({"calibration": "none"})
    low, high = (1000 * error["figures"]["throughput"][end] for end in ("low", "high"))
    one: Any = {"model_error": error, "throughput_per_s": {"transactions": {"value": 1000.0}}}
    assert expected_rate(one) == f"{low:,.0f} – {high:,.0f}"
    assert low < 1000 < high
    wide = {"transactions_per_s": {"low": 500.0, "high": 4000.0}, "verdict": "underdetermined"}
    assert expected_rate(one | {"range": wide}) == "500 – 4,000, underdetermined"
    unknown = one | {"model_error": {"basis": "unknown", "figures": {}}}
    assert expected_rate(unknown) == "unknown"
    assert expected_rate(unknown | {"range": wide}) == "unknown, perhaps 500 – 4,000"  # nobody measured how often
    assert expected_rate(unknown | {"range": wide | {"share": 0.8}}) == "unknown"  # of draws, models are off besides
    assert said.expected_multiples(unknown | {"range": wide}) == {}
    (rates,) = rows_of_rates([one | {"replay": {"keeps": "rate"}, "range": _rates(990.0, 1000.0)}])
    assert rates[0] == "transactions/s"  # the recording sets them, and they are kept
    assert len(rows_of_rates([one | {"replay": {"keeps": "rate"}, "range": _rates(900.0, 1000.0)}])) == 2
    assert len(rows_of_rates([one | {"replay": {"keeps": "clients"}}])) == 2


def _rates(low: float, high: float) -> dict[str, Any]:
    return {"transactions_per_s": {"low": low, "high": high}, "verdict": "determined", "share": 0.8}


def test_storage_of_another_kind_has_the_error_of_a_result_without_a_calibration() -> None:
    verdict = {"calibration": "calibrated", "reach": BEYOND, "storage": OTHER_STORAGE}
    found, assumed = model_error_of(verdict), model_error_of({"calibration": "none"})
    assert found == {"basis": "storage", "figures": assumed["figures"]}
    assert multiples_of(found, "p99") is None
    array = {"data": "array", "data.0": "hdd", "raid.cache": "write cache", "processors": "processors"}
    capped = {"data": "token bucket", "log": "flash"}
    disks, caps = (
        {"stations": {name: {"kind": kind, "requests": 9} for name, kind in one.items()}} for one in (array, capped)
    )
    assert with_storage({}, disks, caps) == {
        "storage": OTHER_STORAGE,
        "recorded_storage": ["flash", "token bucket"],
    }
    assert with_storage({}, caps, disks) == {"storage": OTHER_STORAGE, "recorded_storage": ["hdd"]}
    assert with_storage({}, disks, disks) == {}
    caps["stations"]["idle"] = {"kind": "hdd", "requests": 0}
    assert with_storage({}, caps, {"stations": dict(list(caps["stations"].items())[:2])}) == {}
    (sentence,) = said.notes([{"verdict": verdict, "model_error": found}])
    assert "(storage of another kind than recorded), measured against predicted: throughput" in sentence
    assert "unknown for percentiles" in sentence
    (sentence,) = said.notes([{"verdict": with_storage(verdict, disks, caps), "model_error": found}])
    assert (
        "(recorded on flash and a virtual volume, predicted for another kind of storage), measured against" in sentence
    )


def test_where_transactions_are_met_and_a_query_is_not_throughput_has_the_error_of_a_calibrated_result() -> None:
    verdict = {"calibration": "uncalibrated", "reach": "within the recording", "transactions": MET}
    met, calibrated, assumed = (
        model_error_of(one)["figures"]
        for one in (verdict, {"calibration": "calibrated"}, {"calibration": "uncalibrated"})
    )
    assert met == {"throughput": calibrated["throughput"], "mean": assumed["other"]}  # no percentile was checked
    beyond = model_error_of(verdict | {"reach": BEYOND})
    assert beyond == model_error_of({"calibration": "calibrated", "reach": BEYOND})
    (sentence,) = said.notes([{"verdict": verdict, "model_error": model_error_of(verdict)}])
    assert "(calibrated for transactions, not for each query), measured against predicted: throughput" in sentence
    assert "range" not in sentence
    (wider,) = said.notes([{"verdict": verdict, "model_error": model_error_of(verdict), "range": {"share": 0.8}}])
    assert "A range holds that, and what the recording leaves open." in wider


def test_no_error_beyond_a_recording_is_narrower_than_the_same_within_it() -> None:
    learned = tomllib.loads(accuracy_document.TABLE.read_text())
    for figure, far in learned["extrapolated"].items():
        near = learned["calibrated"][figure]
        assert far["low"] <= near["low"], figure
        assert far["high"] >= near["high"], figure


def test_all_kinds_stand_for_others_only_where_one_of_these_was_measured() -> None:
    found = accuracy_document.measurements()
    rates = [one for one in found if one.basis != "extrapolated" or one.figure == "throughput"]
    assert interval_report.model_error(rates)["extrapolated"].keys() == {"throughput"}
    one_latency = replace(next(one for one in rates if one.basis == "extrapolated"), figure="mean")
    assert interval_report.model_error([*rates, one_latency])["extrapolated"].keys() == {"throughput", "other"}


def test_pairs_of_a_map_are_measurements_by_recorded_cell() -> None:
    labels = ("32 MiB, free", "32 MiB, 250/s", "128 MiB, 250/s")
    rows = [(labels[0], ["", "+10", "-20"]), (labels[1], ["+0", "", "+50"]), (labels[2], ["-5", "+1", ""])]
    found = list(interval_report.of_map("Lookups: predicted", labels, rows, "calibrated"))
    (limited,) = interval_report.of_map("", ("32 MiB, free",), [("128 MiB, free", ["-5"])], "calibrated")
    assert limited.basis == "extrapolated"  # reads of a smaller pool cost processors more
    beyond = [one for one in found if one.basis == "extrapolated"]
    assert [round(exp(-one.error), 2) for one in beyond] == [0.8, 1.0, 1.5, 0.95]
    assert {one.basis for one in found if one not in beyond} == {"calibrated"}
    assert [one.experiment for one in found] == [f"Lookups, from {label}" for label in labels for _ in range(2)]
    assert {one.basis for one in interval_report.of_map("", labels, rows, "clients")} == {"clients"}


def test_what_counters_say_of_cpu_is_farther_off_than_a_calibration() -> None:
    """Where CPU and clients decide."""
    own = model_error_of({"calibration": "none", "error": CLIENTS})
    assert own["basis"] == "clients"
    assert own["figures"].keys() == {"other"}  # of three loads
    usual = model_error_of({"calibration": "none"})
    for figure in ("throughput", "mean"):
        wide, narrow = multiples_of(own, figure), multiples_of(usual, figure)
        assert wide is not None
        assert narrow is not None
        assert wide[1] > narrow[1]
    assert multiples_of(own, "p95") is None
    (sentence,) = said.notes([{"verdict": {"calibration": "none", "error": CLIENTS}, "model_error": own}])
    assert (
        "(not calibrated; CPU and clients decide), measured against predicted: throughput and mean latency " in sentence
    )
    assert "unknown for percentiles" in sentence


@pytest.mark.parametrize(("transaction_us", "is_said"), [(200.0, True), (450.0, False)])
def test_a_mean_that_leaves_the_client_out_is_told_from_the_recorded_one(
    transaction_us: float, *, is_said: bool
) -> None:
    """Of 500 µs of a recorded transaction 300 were in none of its queries."""
    summary = {
        "name": "flash",
        "latency_ns": {"transaction": {"count": 1, "mean": {"value": transaction_us * 1e3}}},
        "queries": {"1": {"count": 1, "breakdown_ns": {"cpu": 200e3}}},
        "recorded_mean_ns": {"transaction": 500e3, "1": 200e3},
    }
    notes = notes_of_rest([summary])
    assert len(notes) == is_said
    assert not is_said or notes[0].startswith("flash: a predicted transaction leaves out 300 µs")
    assert notes_of_rest([summary | {"recorded_mean_ns": {}}]) == []


def test_what_a_busy_core_adds_does_not_hide_what_is_left_out() -> None:
    """Of 500 µs of a recorded transaction 300 were in none of its queries; each of 8 sessions takes 600 µs a
    transaction, and is in it for 280 of them, 80 of these waiting for a core.
    """
    summary: dict[str, Any] = {
        "name": "flash",
        "latency_ns": {"transaction": {"count": 1, "mean": {"value": 280e3}}},
        "queries": {"1": {"count": 1, "breakdown_ns": {"cpu": 200e3}}},
        "recorded_mean_ns": {"transaction": 500e3, "1": 200e3},
        "replay": {"sessions": 8},
        "throughput_per_s": {"transactions": {"value": 8 / 600e-6}},
    }
    (note,) = notes_of_rest([summary, summary | {"name": "disks"}])
    assert note.startswith("flash, disks: a predicted transaction leaves out 300 µs")
    assert notes_of_rest([summary | {"throughput_per_s": {"transactions": {"value": 8 / 300e-6}}}]) == []
    assert notes_of_rest([summary | {"replay": {"sessions": 8, "keeps": "rate"}}]) == []  # by the clock nobody waits
    with_commits = {"transaction": summary["latency_ns"]["transaction"], "commit": {}}
    assert notes_of_rest([summary | {"latency_ns": with_commits}]) == []


@pytest.mark.parametrize(("mean_ms", "doubted"), [(3.9, False), (4.1, True)])
def test_a_rate_that_needs_more_sessions_than_were_recorded_is_in_doubt(mean_ms: float, *, doubted: bool) -> None:
    """Little's law: 1,000 transactions/s of 4.1 ms are 4.1 at a time."""
    verdict = {"load": "steady", "calibration": "none", "error": "arrivals"}
    summary = {
        "verdict": verdict,
        "model_error": model_error_of(verdict),
        "replay": {"keeps": "rate", "recorded_connections": 4, "load": 1.0},
        "throughput_per_s": {"transactions": {"value": 1000.0}},
        "latency_ns": {"transaction": {"mean": {"value": mean_ms * 1e6}}},
        "bottleneck": {"utilisation": 0.1},
    }
    assert in_doubt(summary) == doubted
    if doubted:
        assert "need 4.1 sessions at a time, the recording shows at most 4" in said._doubt(summary)
    twice = summary | {"replay": {"keeps": "rate", "recorded_connections": 4, "load": 2.0}}
    assert not in_doubt(twice)  # twice as many clients
    assert not in_doubt(summary | {"replay": {"keeps": "rate", "recorded_connections": None, "load": 1.0}})


@pytest.mark.parametrize(("simulated_ns", "error"), [(1.2e6, "contradicted"), (1.1e6, None)])
def test_a_description_that_the_recorded_transactions_contradict_leaves_the_error_unknown(
    simulated_ns: float, error: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration_verdict, "_beyond", lambda *_: [])
    monkeypatch.setattr(calibration_verdict, "with_storage", lambda verdict, *_: verdict)
    latency_ns = {"transaction": {"count": 1, "mean": {"value": simulated_ns, "low": 1e6, "high": 2e6}}}
    summary = {
        "name": "recorded",
        "description": "",
        "verdict": {"load": "steady"},
        "latency_ns": latency_ns,
        "queries": {},
    }
    nothing = pa.table({})
    result, measured = Result(summary, nothing, nothing, nothing, ""), {"transaction": RecordedMean(1, 1e6, None)}
    found = calibration_verdict._compared(measured, summary)
    costs: Any = SimpleNamespace(assumed=())
    verdict = calibration_verdict._stamped(result, result, measured, found, costs).summary["verdict"]
    assert verdict.get("error") == error
    if error is not None:
        one = {"verdict": verdict, "model_error": model_error_of(verdict)}
        assert "correct that description" in str(said.sentence(one))


@pytest.mark.parametrize("load", ["steady", "behind"])
def test_a_verdict_of_unknown_error_is_in_doubt_unless_its_range_decides(load: str) -> None:
    verdict = {"load": load, "calibration": "none", "arrivals": "synthetic", "error": "waits"}
    summary = {
        "verdict": verdict,
        "model_error": model_error_of(verdict),
        "throughput_shortfall_pct": 40.0,  # 600 of 1,000 transactions/s
        "throughput_per_s": {"transactions": {"value": 600.0}},
        "replay": {"keeps": "clients"},
    }

    def doubted(low: float, high: float) -> bool:
        return in_doubt(summary | {"range": {"transactions_per_s": {"low": low, "high": high}}})

    assert in_doubt(summary)
    drawn = {"share": 0.8, "transactions_per_s": {"low": 0.99 * 100, "high": 1.01 * 100}}
    assert in_doubt(summary | {"range": drawn})  # of draws, which do not hold what the models are off
    assert doubted(400.0, 3_000.0)
    assert doubted(400.0, 900.0) == (load == "steady")
    assert doubted(1_000.0, 3_000.0) == (load == "behind")


def test_it_is_said_once_for_all_results() -> None:
    one: Any = {"verdict": {"calibration": "none"}, "model_error": model_error_of({"calibration": "none"})}
    (sentence,) = said.notes([one, one])
    assert sentence.startswith("Not calibrated")
    reach = one["model_error"]["figures"]["throughput"]
    assert f"throughput {100 * (reach['low'] - 1):+.0f}/{100 * (reach['high'] - 1):+.0f} %" in sentence
    assert "docs/accuracy.md" in sentence
    kept = {**one, "model_error": json.loads(json.dumps(one["model_error"], sort_keys=True))}
    assert said.notes([one, kept]) == [sentence]  # in the same order when it was saved
    calibrated = {
        "verdict": {"calibration": "calibrated"},
        "model_error": model_error_of({"calibration": "calibrated"}),
    }
    assert len(said.notes([calibrated])) == 1
    first, second = said.notes([{**one, "name": "disks"}, {**calibrated, "name": "flash"}])
    assert "Expected error of disks (not calibrated), measured against predicted: throughput" in first
    assert second.startswith("Expected error of flash (calibrated), measured against predicted: throughput")
    assert ["nearly 4 of 5 measured figures" in line for line in (first, second)] == [True, False]
    assert said.notes([{"verdict": {"calibration": "calibrated"}}]) == ["Calibration passed."]  # of an older version


@pytest.mark.parametrize(
    ("calibrations", "begins"),
    [
        (["calibrated", "calibrated"], "Calibration passed. Expected error"),
        (["uncalibrated"], "Calibration failed. Expected error"),
        (["none", "calibrated"], "Not calibrated: the recorded hardware is not described"),
        (["uncalibrated", "calibrated"], "Expected error"),  # whose names are beside what they are
    ],
)
def test_notes_begin_with_what_became_of_the_calibration(calibrations: list[str], begins: str) -> None:
    rows: Any = [{"verdict": {"calibration": one}, "load_not_run": None} for one in calibrations]
    (first, *_) = said.notes_of_rows(rows)
    assert first.startswith(begins)
    own: Any = {"verdict": {"calibration": "calibrated"}, "calibration": {"beyond": []}}  # shown with its figures
    assert said.notes([own]) == []


@pytest.mark.parametrize(
    ("load", "shortfall_pct", "calibration", "doubted"),
    [
        ("steady", -10.0, "none", True),  # 1.1 × 0.82 is below 0.95 of what was recorded
        ("steady", -10.0, "calibrated", False),
        ("steady", -50.0, "none", False),
        ("behind", 10.0, "none", True),
        ("behind", 50.0, "none", False),
    ],
)
def test_a_verdict_is_in_doubt_where_the_expected_error_reaches_the_other_one(
    load: str, shortfall_pct: float, calibration: str, *, doubted: bool
) -> None:
    verdict = {"load": load, "calibration": calibration, "arrivals": "synthetic"}
    summary = {"verdict": verdict, "model_error": model_error_of(verdict), "throughput_shortfall_pct": shortfall_pct}
    assert in_doubt(summary | {"replay": {"keeps": "clients"}}) == doubted
    assert said.carries(summary | {"replay": {"keeps": "clients"}}).endswith(", in doubt") == doubted
    rate = {"transactions": {"value": 100.0}}
    wide = {"throughput_per_s": rate, "range": {"transactions_per_s": {"low": 30.0, "high": 300.0}}}
    assert in_doubt(summary | wide | {"replay": {"keeps": "clients"}})  # the range holds more than that error
    nothing = pa.table({})
    result = Result(summary | {"replay": {"keeps": "clients"}}, nothing, nothing, nothing, "")
    row = row_of(result)["summary"]  # without the keys that it follows from
    assert row["in_doubt"] == doubted
    assert said.carries(row).endswith(", in doubt") == doubted
    why = "In doubt: the other verdict is possible."
    assert any(why in note for note in said.notes_of_rows([row, row])) == doubted


@pytest.mark.parametrize(
    ("load", "utilisation", "carried", "doubted"),
    [
        ("steady", 0.80, None, False),
        ("steady", 0.85, None, True),  # full where the hardware does 0.82 of what is predicted
        ("saturated", 1.0, 0.75, False),
        ("saturated", 1.0, 0.80, True),  # 1.22 × 0.80 is above 0.95
        ("behind", 1.0, None, True),  # 10 % were late
    ],
)
@pytest.mark.parametrize("error", [{}, {"error": "arrivals"}])
def test_what_comes_by_the_clock_is_in_doubt_where_the_expected_error_fills_a_part_or_leaves_it_time(
    error: dict[str, str], load: str, utilisation: float, carried: float | None, *, doubted: bool
) -> None:
    verdict = {"load": load, "calibration": "none", **error}
    summary = {
        "verdict": verdict,
        "model_error": model_error_of(verdict),
        "throughput_shortfall_pct": 10.0,
        "bottleneck": {"utilisation": utilisation},
        "load": {"sustainable_load": carried},
    }
    assert in_doubt(summary) == doubted
    assert in_doubt(summary | {"replay": {"keeps": "rate"}}) == doubted
    described = summary | {"verdict": verdict | {"arrivals": "described"}}
    assert in_doubt(described) == doubted
    assert not in_doubt(described | {"replay": {"keeps": "clients"}})  # no hardware is too slow for them


@pytest.mark.parametrize(("times", "doubted"), [(9.2, False), (1.2, False), (1.0, True)])
def test_requests_of_clients_that_wait_are_in_doubt_by_their_rate(times: float, *, doubted: bool) -> None:
    """They keep a drive busy all the time, however much faster than the recorded one it is."""
    verdict = {"load": "steady", "calibration": "none"}
    summary = {
        "verdict": verdict,
        "model_error": model_error_of(verdict),
        "throughput_shortfall_pct": 100 * (1 - times),
        "bottleneck": {"utilisation": 1.0},
        "replay": {"mode": "closed"},
    }
    assert in_doubt(summary) == doubted
    assert in_doubt(summary | {"replay": {"mode": "partly-open"}})
