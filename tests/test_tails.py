"""Intervals of 99th percentiles, against a naive count and runs whose figures are known."""

from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.real_postgres.tails import kept, report, write
from tiersim.cli.statements import range_of_tail, with_ranges
from tiersim.scenarios.caveats import OTHER_STORAGE, model_error_of, multiples_of
from tiersim.scenarios.tails import SHARE, TailCell, cells, held, reach, read_cells, tail_figures, with_tails
from tiersim.simulator.result import Result

NOTHING = pa.table({})


def cell(experiment: str, p50: float, p99: float, recorded: float, *, p95: float = 0.0) -> TailCell:
    return TailCell(experiment, "a", "b", p50, p99, recorded, p95)


def figure(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high}


def result(
    p99: dict[str, Any], *, p50: float = 1e6, p95: float = 1e6, drawn: dict[str, Any] | None = None, error: str = ""
) -> Result:
    summary: dict[str, Any] = {
        "verdict": {"calibration": "calibrated"} | ({"error": error} if error else {}),
        "latency_ns": {
            "transaction": {"count": 9, "p50": {"value": p50}, "p95": {"value": p95}, "p99": p99},
            "data read": {},
        },
        "queries": {},
    }
    if drawn is not None:
        summary["range"] = {"p99_ns": drawn}
    return Result(summary, NOTHING, NOTHING, NOTHING, "")


def test_every_experiment_has_the_same_weight_and_each_hump_its_own_reach() -> None:
    many = [cell("many", 1, 5, 5 * exp(number / 100)) for number in range(1, 101)]
    one = [cell("one", 1, 5, 5 * exp(2.0))]
    assert reach(many, waiting=False) == pytest.approx(0.8)
    assert reach([*many, *one], waiting=False) == pytest.approx(2.0)  # half of the weight lies there
    assert reach([*many, cell("waits", 1, 50, 51)], waiting=True) == pytest.approx(log(51 / 50))
    assert reach(many, waiting=True) == float("inf")


def test_an_interval_is_held_by_what_other_experiments_measured_alone() -> None:
    near, far = cell("near", 1, 5, 5.5), cell("far", 1, 5, 50)
    assert held([near, far]) == [True, False]


def test_an_interval_of_other_experiments_does_not_begin_below_the_p95_either() -> None:
    wide = cell("wide", 1, 5, 1)
    assert held([wide, cell("low", 1, 5, 4)])[1]
    assert not held([wide, cell("low", 1, 5, 4, p95=4.5)])[1]
    assert held([wide, cell("low", 1, 5, 4, p95=3.5)])[1]


def test_a_naive_count_finds_what_the_shipped_cells_hold() -> None:
    known = cells()
    inside = 0
    for one in known:
        others = [c for c in known if c.experiment != one.experiment and (c.p99_ms > 10 * c.p50_ms) == one.waits]
        names = {c.experiment for c in others}
        beyond = 0.0
        for other in others:
            off = abs(log(other.recorded_p99_ms / other.p99_ms))
            if off >= abs(log(one.recorded_p99_ms / one.p99_ms)):
                beyond += 1 / len(names) / sum(c.experiment == other.experiment for c in others)
        inside += beyond > 1 - SHARE - 1e-9 and one.recorded_p99_ms >= one.p95_ms
    assert sum(held(known)) == inside


def test_the_bootstrap_interval_of_what_is_held_contains_the_share() -> None:
    for line in report(cells()).splitlines():
        if line.startswith(("all:", "each experiment")):
            low, high = (float(end.strip(" )%")) / 100 for end in line.split("(")[1].split(".."))
            assert low <= SHARE <= high


def test_a_run_that_was_ended_goes_on_with_the_sources_that_are_left(tmp_path: Path) -> None:
    part = tmp_path / "p99.csv.part"
    asked = {"first": partial(_predicted, tmp_path, "first"), "second": partial(_predicted, tmp_path, "second")}
    (first,) = kept({"first": asked["first"]}, part, 1)
    (tmp_path / "first").unlink()
    with part.open("a", encoding="utf-8") as file:
        file.write('["second", [["exp')  # it was ended here
    assert [one.experiment for one in kept(asked, part, 1)] == ["first", "second"]
    assert not (tmp_path / "first").exists()
    assert len(part.read_text(encoding="utf-8").splitlines()) == 2
    write([first], tmp_path / "p99.csv")
    assert read_cells((tmp_path / "p99.csv").read_text(encoding="utf-8")) == (first,)


def _predicted(folder: Path, name: str) -> list[TailCell]:
    (folder / name).touch()
    return [cell(name, 1, 5, 6, p95=4)]


def test_an_interval_holds_what_requests_and_draws_leave_open_and_what_was_measured() -> None:
    narrow = with_tails(result(figure(50e6, 49e6, 51e6))).summary["tails"]["p99_ns"]["transaction"]
    assert narrow["of"] == "waits"
    assert narrow["verdict"] == "resolved"
    far = reach(cells(), waiting=True)
    assert narrow["low"] < 50e6 * exp(-far)
    assert narrow["high"] > 50e6 * exp(far)
    drawn = {"transaction": {"low": 10e6, "high": 50e6}}
    wide = with_tails(result(figure(50e6, 49e6, 51e6), drawn=drawn)).summary["tails"]["p99_ns"]["transaction"]
    assert wide["low"] < 10e6
    assert wide["high"] == narrow["high"]
    assert wide["verdict"] == "not resolved"


def test_a_p99_is_resolved_only_where_percentiles_of_such_storage_were_compared() -> None:
    same, moved = (result(figure(50e6, 49e6, 51e6)) for _ in range(2))
    moved.summary["verdict"]["storage"] = OTHER_STORAGE
    known, other = (with_tails(one).summary["tails"]["p99_ns"]["transaction"] for one in (same, moved))
    low, high = multiples_of(model_error_of(moved.summary["verdict"]), "mean") or (1.0, 1.0)
    assert other["verdict"] == "not checked"
    assert other["low"] <= min(known["low"], 50e6 * low)
    assert other["high"] >= max(known["high"], 50e6 * high)
    assert range_of_tail(other)
    assert not range_of_tail(known)


def test_an_interval_does_not_begin_below_the_p95() -> None:
    p99 = figure(1.4e6, 1.4e6, 1.4e6)
    alone = with_tails(result(p99, p95=1.1e6)).summary["tails"]["p99_ns"]["transaction"]
    assert alone["low"] == 1.1e6
    drawn = {"transaction": {"low": 0.7e6, "high": 1.4e6}}
    lower = with_tails(result(p99, p95=1.1e6, drawn=drawn)).summary["tails"]["p99_ns"]["transaction"]
    assert lower["low"] == pytest.approx(0.55e6)


def test_a_short_query_that_waited_for_a_core_is_none_that_waited_for_a_device() -> None:
    known = result(figure(2e6, 2e6, 2e6))
    query = {"count": 9, "p50": {"value": 1e4}, "p95": {"value": 1e5}, "p99": figure(2e5, 2e5, 2e5)}
    known.summary["queries"]["q"] = query
    assert with_tails(known).summary["tails"]["p99_ns"]["query q"]["of"] == "processors"


def test_what_a_run_does_not_resolve_has_no_interval_and_an_unknown_error_none_at_all() -> None:
    open_end = with_tails(result(figure(None, 49e6, None))).summary["tails"]["p99_ns"]["transaction"]
    assert open_end == {"value": None, "low": None, "high": None, "verdict": "not resolved", "of": None}
    for error in ("innodb", "clients", "waits", "reads", "parallel", "contradicted"):
        assert "tails" not in with_tails(result(figure(1.0, 1.0, 1.0), error=error)).summary
    assert list(tail_figures(result(figure(1.0, 1.0, 1.0)).summary)) == ["transaction"]


def test_a_p99_that_is_not_resolved_is_shown_as_its_range() -> None:
    wide = {"value": 1_400_000, "low": 644_000, "high": 3_030_000, "verdict": "not resolved"}
    near = {"value": 10_200_000, "low": 8_980_000, "high": 11_600_000, "verdict": "resolved"}
    open_end = {"value": None, "low": None, "high": None, "verdict": "not resolved"}
    summaries = [{"tails": {"p99_ns": {"commit": one}}} for one in (near, wide, open_end)] + [{}]
    row = ["commit, p99", "10.2 ms", "1.4 ms", "> 2 ms", "3 ms"]
    assert with_ranges(row, summaries, "commit") == [
        "commit, p99 or its range", "10.2 ms", "644 µs – 3.03 ms", "> 2 ms", "3 ms",
    ]  # fmt: skip
    assert with_ranges(row, [{}] * 4, "commit") == row
    unchecked = {"tails": {"p99_ns": {"commit": wide | {"verdict": "not checked"}}}}
    assert with_ranges(row, [unchecked] * 4, "commit") == ["commit, p99", *["error unknown"] * 4]
    without = {"model_error": model_error_of({"calibration": "none"})}  # who knows less does not know more
    assert with_ranges(row, [without] * 4, "commit") == ["commit, p99", *["error unknown"] * 4]
    assert with_ranges(["commit, mean", *row[1:]], summaries, "commit") == ["commit, mean", *row[1:]]
