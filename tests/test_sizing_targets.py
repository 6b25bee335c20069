"""Targets as people write them, and when a figure meets one."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.errors import ScenarioError
from tiersim.scenarios.caveats import BEYOND, model_error_of, multiples_of
from tiersim.scenarios.load_steps import LoadSteps
from tiersim.scenarios.sizing.endurance import Endurance
from tiersim.scenarios.sizing.judging import check_targets, doubts_of, judge_hardware, judge_run, load_for, needed_bytes
from tiersim.scenarios.sizing.subject import SizingSubject
from tiersim.scenarios.sizing.targets import Target, parse_target

MS = 1_000_000


@pytest.mark.parametrize(
    ("text", "kind", "limit", "statistic", "of"),
    [
        ("p99(query:checkout) < 20ms", "latency", 20 * MS, "p99", "query:checkout"),
        ("p95(commit) <= 5 ms", "latency", 5 * MS, "p95", "commit"),
        ("mean( transaction )<1.5ms", "latency", 1.5 * MS, "mean", "transaction"),
        ("median(data read) < 300 us", "latency", 300_000, "p50", "data read"),
        ("p99.9(query) < 1 s", "latency", 1000 * MS, "p999", "query"),
        ("throughput >= 1.5x", "load", 1.5, "", ""),
        ("throughput ≥ 1.5×", "load", 1.5, "", ""),
        ("throughput >= 4,000/s", "throughput", 4000, "", ""),
        ("capacity >= 2TB", "capacity", 2e12, "", ""),
        ("survives drive failure", "drive failures", 1, "", ""),
        ("survives 2 disk failures", "drive failures", 2, "", ""),
        ("endurance >= 5 years", "endurance", 5, "", ""),
    ],
)
def test_targets_are_read(text: str, kind: str, limit: float, statistic: str, of: str) -> None:
    found = parse_target(text)
    assert (found.kind, found.limit, found.statistic, found.of) == (kind, limit, statistic, of)
    assert found.text == text


def test_growth_is_compounded() -> None:
    grown = parse_target("capacity growth 40%/year for 3 years")
    assert needed_bytes(grown, 10**12) == pytest.approx(1.4**3 * 1e12)
    assert needed_bytes(parse_target("capacity >= 2TB growth 10%/year for 2 years"), 10**9) == pytest.approx(
        1.21 * 2e12
    )


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("p98(query) < 1ms", 1, "did you mean 'p99'"),
        ("p99(qury) < 1ms", 5, "did you mean 'query'"),
        ("p99(query < 2ms", 11, "')' is not there"),
        ("p99(query) > 2ms", 12, "write <"),
        ("p99(query) < 20", 14, "not a duration"),
        ("p99(query) < 20 mss", 14, "did you mean the unit 'ms'"),
        ("throughput < 3x", 12, "write >"),
        ("throughput >= 3", 16, "x (times the load) or /s"),
        ("thruput >= 3x", 1, "did you mean 'throughput'"),
        ("capacity", 9, "capacity >= 2 TB"),
        ("capacity growth 40% for 3 years", 19, "'%/year'"),
        ("survives", 9, "'drive failure'"),
        ("endurance >= 5", 15, "'years'"),
        ("survives drive failure twice", 24, "left over"),
        ("", 1, "begins with a word"),
        ("<20ms", 1, "begins with a word"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(text: str, place: int, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse_target(text)
    message = str(error.value)
    assert f"character {place}: " in message
    assert says in message
    assert "\n" not in message


@given(st.text(max_size=40))
def test_any_text_is_a_target_or_a_sentence(text: str) -> None:
    try:
        found = parse_target(text)
    except ScenarioError:
        return
    assert found.limit >= 0


def figure(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "resolved": value is not None, "basis": "too few samples (7)"}


def summary(p99: dict[str, Any], load: str = "steady") -> dict[str, Any]:
    return {
        "verdict": {"load": load},
        "load": {"explanation": f"{load}, for a reason"},
        "latency_ns": {"transaction": {"p99": p99}},
        "queries": {"a": {"p99": figure(MS, MS, MS)}, "b": {"p99": p99}},
        "throughput_per_s": {"transactions": figure(1000.0, 990.0, 1010.0)},
    }


TARGET = parse_target("p99(transaction) < 20 ms")


@pytest.mark.parametrize(
    ("found", "met", "why"),
    [
        (figure(18 * MS, 17 * MS, 19 * MS), True, None),
        (figure(18 * MS, 17 * MS, 22 * MS), False, "may be 22 ms"),
        (figure(30 * MS, 28 * MS, 32 * MS), False, "is 30 ms, not below 20 ms"),
        (figure(None, 15 * MS, None), False, "cannot be judged: too few samples (7)"),
        (figure(None, 5 * MS, 19 * MS), True, None),
        (figure(None, 5 * MS, 29 * MS), False, "cannot be judged: it lies anywhere from 5 ms to 29 ms"),
        (figure(None, 25 * MS, None), False, "is 25 ms, not below"),
        (figure(None, None, None), False, "cannot be judged"),
    ],
)
def test_only_a_figure_whose_upper_bound_is_below_meets(found: dict[str, Any], met: bool, why: str | None) -> None:
    judged = judge_run(TARGET, summary(found), "transactions", None)
    assert judged.met == met
    assert (why is None) == (judged.why is None)
    assert why is None or (judged.why is not None and why in judged.why)
    every = judge_run(parse_target("p99(query) < 20 ms"), summary(found), "transactions", None)
    assert every.met == met  # the worst query decides


@pytest.mark.parametrize("load", ["behind", "saturated"])
def test_a_run_that_does_not_keep_up_meets_nothing(load: str) -> None:
    good = figure(MS, MS, MS)
    for text in ("p99(transaction) < 20 ms", "throughput >= 1x", "throughput >= 10/s", "endurance >= 1 years"):
        judged = judge_run(parse_target(text), summary(good, load), "transactions", None)
        assert not judged.met
        assert judged.low == math.inf
        assert judged.why == f"{load}, for a reason"


def test_a_rate_is_met_by_its_lower_bound() -> None:
    assert judge_run(parse_target("throughput >= 990/s"), summary(figure(1, 1, 1)), "transactions", None).met
    assert not judge_run(parse_target("throughput >= 991/s"), summary(figure(1, 1, 1)), "transactions", None).met


def test_endurance_is_met_by_its_lower_bound_and_never_by_what_is_not_known() -> None:
    target, run = parse_target("endurance >= 5 years"), summary(figure(1, 1, 1))
    known = Endurance(9.0, 4.0, 9.0, True, "")
    assert not judge_run(target, run, "transactions", known).met
    assert judge_run(parse_target("endurance >= 4 years"), run, "transactions", known).met
    unknown = judge_run(target, run, "transactions", Endurance(None, None, None, False, "nobody rated X"))
    assert unknown.why == "endurance cannot be judged: nobody rated X"


def test_hardware_is_judged_without_a_run() -> None:
    size, failure = parse_target("capacity >= 2 TB"), parse_target("survives drive failure")
    assert judge_hardware(size, 2 * 10**12, 0, 0).met
    assert "1 TB, and 2 TB are needed" in (judge_hardware(size, 10**12, 0, 0).why or "")
    assert judge_hardware(failure, 0, 1, 0).met
    assert "takes data with it" in (judge_hardware(failure, 0, 0, 0).why or "")
    assert not judge_hardware(parse_target("survives 2 drive failures"), 0, 1, 0).met


def subject(*, queries: tuple[str, ...] = ("checkout",), per_s: float | None = 1000.0) -> SizingSubject:
    def run(*_: object) -> Any:
        raise AssertionError("nothing is run here")

    return SizingSubject(
        "made up", {}, "transactions" if queries else "requests", queries, 10**9, per_s, None, "replay.load", run,
        steps=lambda: LoadSteps("", float),
    )  # fmt: skip


def load_of(*texts: str) -> float:
    return load_for([parse_target(text) for text in texts], 1000.0)


def test_the_load_is_as_large_as_the_largest_target_needs() -> None:
    assert load_of("p99(query) < 1 ms") == 1.0
    assert load_of("throughput >= 1.5x", "throughput >= 2x") == 2.0
    assert load_of("throughput >= 0.5x", "throughput >= 900/s") == 1.0
    assert load_of("throughput >= 1900/s") == pytest.approx(2.0)  # 5 % more than asked, which a steady run may lack


@pytest.mark.parametrize(
    ("text", "of", "says"),
    [
        ("p99(query:chekout) < 1 ms", subject(), "did you mean 'checkout'"),
        ("p99(query) < 1 ms", subject(queries=()), "has requests and no query"),
        ("p99(query:a) < 1 ms", subject(queries=()), "requests were recorded"),
        ("throughput >= 2x", subject(per_s=None), "throughput >= 1000/s"),
    ],
)
def test_a_target_that_nothing_can_be_judged_by_is_refused(text: str, of: SizingSubject, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        check_targets([parse_target(text)], of)
    assert says in str(error.value)


def test_a_target_that_is_right_is_not_refused() -> None:
    check_targets([parse_target("p99(query:checkout) < 1 ms"), parse_target("p99(data read) < 1 ms")], subject())
    assert isinstance(parse_target("p99(query:checkout) < 1 ms"), Target)


@pytest.mark.parametrize(("calibration", "statistic"), [("calibrated", "p99"), ("none", "mean")])
def test_what_is_met_by_less_than_models_have_been_off_is_in_doubt(calibration: str, statistic: str) -> None:
    run = summary(figure(10 * MS, 9 * MS, 11 * MS))
    run["verdict"]["calibration"] = calibration
    for figures in (run["latency_ns"]["transaction"], *run["queries"].values()):
        figures["mean"] = figures["p99"]
    error = model_error_of(run["verdict"])
    latency, rate = multiples_of(error, statistic), multiples_of(error, "throughput")
    assert latency is not None
    assert rate is not None
    most_ms, least_per_s = 11 * latency[1], 990 * rate[0]

    def doubts(text: str) -> list[str]:
        return list(doubts_of(parse_target(text), run, "transactions"))

    (doubt,) = doubts(f"{statistic}(transaction) < {most_ms - 0.01:.2f} ms")
    assert doubt.startswith(f"{statistic}(transaction) is predicted as 10 ms, real it may be {most_ms:.3g} ms")
    (doubt,) = doubts(f"{statistic}(query) < {most_ms - 0.01:.2f} ms")
    assert doubt.startswith(f"{statistic}(query:b) is predicted as 10 ms")
    assert doubts(f"{statistic}(transaction) < {most_ms + 0.01:.2f} ms") == []
    (doubt,) = doubts(f"throughput >= {least_per_s + 1:.0f}/s")
    assert doubt.startswith("1,000 transactions/s are predicted, real may be")
    assert doubts(f"throughput >= {least_per_s - 1:.0f}/s") == []
    run["model_error"] = error
    run["bottleneck"] = {"station": "data", "resource": "actuator", "utilisation": rate[0] - 0.01}
    assert doubts("throughput >= 1x") == []
    run["bottleneck"]["utilisation"] = rate[0] + 0.01
    (doubt,) = doubts("throughput >= 1x")
    assert doubt.endswith("% of the time; within the expected error it may be full")
    run |= {"replay": {"keeps": "clients"}, "throughput_shortfall_pct": 0.0}
    run["bottleneck"]["utilisation"] = 0.3  # of clients that wait no part need be full
    if calibration == "none":
        (doubt,) = doubts("throughput >= 1x")
        assert doubt == (
            "1,000 transactions/s are predicted, within the expected error fewer than the 950/s that carry it"
        )


def test_a_latency_of_a_load_that_may_not_be_carried_is_in_doubt() -> None:
    """A tenth of what is allowed, of a part that is busy for 93 % of the time: where it is full, there is no mean."""
    run = summary(figure(10 * MS, 9 * MS, 11 * MS))
    run["verdict"]["calibration"] = "none"
    run["latency_ns"]["transaction"]["mean"] = run["latency_ns"]["transaction"]["p99"]
    run["model_error"] = model_error_of(run["verdict"])
    target = parse_target("mean(transaction) < 100 ms")

    def doubts(utilisation: float, **more: Any) -> list[str]:
        busiest = {"station": "data", "resource": "actuator", "utilisation": utilisation}
        return list(doubts_of(target, run | {"bottleneck": busiest} | more, "transactions"))

    assert doubts(0.3) == []
    (doubt,) = doubts(0.93)
    assert doubt == "disk arm of data is busy 93 % of the time; within the expected error it may be full"
    assert doubts(0.93, replay={"keeps": "clients"}, throughput_shortfall_pct=0.0) == []  # these wait, and ask for less
    (doubt,) = doubts(0.3, replay={"keeps": "rate", "recorded_connections": 8, "load": 1.0})  # 1,000/s of 10 ms each
    assert doubt == "the load needs 10 sessions at a time, and the recording shows at most 8"
    run["throughput_per_s"]["transactions"]["value"] = 250_000.0
    (doubt,) = doubts(0.3, replay={"keeps": "rate", "recorded_connections": 8, "load": 1.0})
    assert doubt.startswith("the load needs 2,500 sessions")


@pytest.mark.parametrize("text", ["throughput >= 1x", "throughput >= 900/s", "mean(transaction) < 1 s"])
def test_what_is_met_on_burst_credits_is_in_doubt(text: str) -> None:
    """A recording of ten minutes does not outlast the credits of a small volume; the load does."""
    run = summary(figure(10 * MS, 9 * MS, 11 * MS))
    run["verdict"]["calibration"] = "none"
    run["bottleneck"] = {"station": "data", "resource": "IOPS limit", "utilisation": 0.5}
    run["latency_ns"]["transaction"]["mean"] = run["latency_ns"]["transaction"]["p99"]
    balance = {
        "station": "data",
        "resource": "credits",
        "start": 1.0,
        "end": 0.8,
        "ran_out_ns": None,
        "lasts_ns": 24e11,
    }
    both = (run, run | {"credits": [balance]})
    before, after = (list(doubts_of(parse_target(text), one, "transactions")) for one in both)
    assert [doubt for doubt in after if doubt not in before] == [
        "burst credits of data fall from 100.0 % to 80.0 % and run out after another 2,400 s of this load"
    ]


def test_a_percentile_without_a_calibration_is_in_doubt_as_nobody_measured_its_error() -> None:
    run = summary(figure(10 * MS, 9 * MS, 11 * MS))
    run["verdict"]["calibration"] = "none"
    (doubt,) = doubts_of(parse_target("p99(transaction) < 100 ms"), run, "transactions")
    assert doubt == "without a calibration, the error of p99 is unknown; measure before you decide"
    growing = run | {"load": {"grows_from_ns": 0}}
    first, second = doubts_of(parse_target("p99(transaction) < 100 ms"), growing, "transactions")
    assert "longer after a longer recording" in first
    assert second == doubt
    assert list(doubts_of(parse_target("throughput >= 100/s"), run, "transactions")) == []


def test_a_latency_beyond_the_recording_is_in_doubt_as_nobody_measured_its_error() -> None:
    run = summary(figure(10 * MS, 9 * MS, 11 * MS))
    run["verdict"] |= {"calibration": "calibrated", "reach": BEYOND}
    (doubt,) = doubts_of(parse_target("p99(transaction) < 100 ms"), run, "transactions")
    assert doubt.startswith("beyond the recording, the error of p99 is unknown; record")
    assert list(doubts_of(parse_target("throughput >= 100/s"), run, "transactions")) == []


@pytest.mark.parametrize(("of", "key"), [("transaction", "transaction"), ("query:b", "query b")])
@pytest.mark.parametrize(("statistic", "doubtful"), [("p99", True), ("p95", False)])
def test_a_tail_is_in_doubt_as_far_as_its_interval_reaches(of: str, key: str, statistic: str, doubtful: bool) -> None:
    found = figure(10 * MS, 9 * MS, 11 * MS)
    run = summary(found) | {"tails": {"p99_ns": {key: {"value": 10 * MS, "low": 5 * MS, "high": 24 * MS}}}}
    run["verdict"] |= {"calibration": "calibrated"}
    for figures in (run["latency_ns"]["transaction"], run["queries"]["b"]):
        figures["p95"] = found
    doubts = list(doubts_of(parse_target(f"{statistic}({of}) < 20 ms"), run, "transactions"))
    assert [doubt.startswith(f"p99({of}) is predicted as 10 ms, real it may be 26.4 ms") for doubt in doubts] == (
        [True] if doubtful else []
    )
