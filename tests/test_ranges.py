"""How far apart predictions lie that a recording allows as well."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.test_statements import load, scenario
from tiersim.devices.plant import PlantBuilder
from tiersim.scenarios.calibration.popularity.fit import Fitted, alike, fit, predict
from tiersim.scenarios.calibration.popularity.occupancy import AccessedTable, Law, Pool
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.caveats import BEYOND, MET, WITHIN, model_error_of
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.ranges import DRAWS, LAWS, UNKNOWNS, _point, draws_of, with_range
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.database.database_state import IN_ORDER
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.result import Result, mean

__all__ = ["load"]

NOTHING = pa.table({})
NONE = {"calibration": "none"}

TABLE = AccessedTable("t", 60_000, 1_200, 240, 200_000, 0, 0, ordered=False)


def processor(**changes: Any) -> ProcessorCosts:
    found = ProcessorCosts({"q": 40_000}, 20_000, Costs(read_ns=25_000), "a test", 0)
    return replace(found, **{"cpu_range": (0.8, 1.25), "read_range": (0.04, 6.0)} | changes)


def recorded(law: Law, frames: int, *, counts: bool = True) -> Fitted:
    """What is fitted to a pool of *frames* pages, by usage counts, too, or by misses alone."""
    (expected,) = Pool([TABLE], 5).expected([law], frames)
    held: dict[str, Any] = {
        "index_held": tuple(map(round, expected.index_held.tolist())),
        "heap_held": tuple(map(round, expected.heap_held.tolist())),
    }
    missed: dict[str, Any] = {
        "index_missed": round(TABLE.accesses * expected.index_missed),
        "heap_missed": round(TABLE.accesses * expected.heap_missed),
    }
    return fit([replace(TABLE, **missed, **(held if counts else {}))], frames)


@pytest.mark.long
def test_each_unknown_takes_each_part_of_its_range_once(load: StatementLoad) -> None:
    draws = draws_of(load, processor(), 1)
    assert len(draws) == DRAWS
    assert len({one.laws for one in draws}) <= LAWS
    for name in UNKNOWNS:
        places = sorted(one.at[name] for one in draws)
        assert places == pytest.approx(np.linspace(-1 + 1 / DRAWS, 1 - 1 / DRAWS, DRAWS))
    assert {one.at["cpu"] == one.at["read"] for one in draws} != {True}
    assert [one.at for one in draws] == [one.at for one in draws_of(load, processor(), 1)]
    assert [one.at for one in draws] != [one.at for one in draws_of(load, processor(), 2)]


def test_costs_lie_between_the_ends_of_their_ranges(load: StatementLoad) -> None:
    for one in draws_of(load, processor(), 1):
        assert 0.8 * 40_000 <= one.processor.statement_ns["q"] <= 1.25 * 40_000
        assert one.processor.client_ns == pytest.approx(one.processor.statement_ns["q"] / 2, abs=1)
        assert 1_000 <= one.processor.costs.read_ns <= 150_000
        assert (one.processor.costs.read_ns > 25_000) == (one.at["read"] > 0)


def test_where_both_are_assumed_writes_of_the_log_are_as_dear_as_reads(load: StatementLoad) -> None:
    """A kernel that makes reads dear makes writes dear: both lie at the same place between their ends."""
    costs = Costs(read_ns=25_000, log_io_ns=20_000)
    assumed, known = (processor(costs=costs, log_range=ends) for ends in ((0.25, 2.0), (1.0, 1.0)))
    drawn = sorted((one.processor.costs.read_ns, one.processor.costs.log_io_ns) for one in draws_of(load, assumed, 1))
    assert sorted(log_ns for _, log_ns in drawn) == [log_ns for _, log_ns in drawn]
    assert 5_000 < drawn[0][1] < 6_000
    assert 38_000 < drawn[-1][1] < 40_000
    assert {one.processor.costs.log_io_ns for one in draws_of(load, known, 1)} == {20_000}


def test_what_is_known_is_not_drawn(load: StatementLoad) -> None:
    known = processor(cpu_range=(1.0, 1.0), read_range=(1.0, 1.0))
    assert {(one.processor.statement_ns["q"], one.processor.costs.read_ns) for one in draws_of(load, known, 1)} == {
        (40_000, 25_000)
    }


def test_laws_that_miss_as_much_bracket_the_true_one_in_a_larger_pool() -> None:
    truth = Law(1.05)
    found = recorded(truth, 300)
    (laws,) = alike(found)
    missed = [sum(vars(predict(replace(found, laws=(law,)), 1_200)[0]).values()) for law in laws]
    assert missed == sorted(missed, reverse=True)
    (expected,) = Pool([TABLE], 5).expected([truth], 1_200)
    assert missed[-1] <= expected.index_missed + expected.heap_missed <= missed[0]
    assert missed[0] < 1.5 * missed[-1]


def test_without_usage_counts_rows_may_have_moved_or_not() -> None:
    """Two figures are explained by many laws; ten leave few."""
    (with_counts,), (without,) = (alike(recorded(Law(1.05), 400, counts=counts)) for counts in (True, False))
    assert len({law.moved for law in without}) > len({law.moved for law in with_counts})
    assert 0.0 in {law.moved for law in with_counts}


def ranged(
    load: StatementLoad,
    made: NamedScenario,
    costs: ProcessorCosts,
    share_of_reads: float,
    cores: int = 2,
    off: Mapping[str, Mapping[str, float]] | None = None,
    verdict: Mapping[str, str] = NONE,
) -> dict[str, Any]:
    """The range of a run whose throughput is that of busy processors, of which reads take a share; half as much where
    these serve in order of arrival. Models are *off* by as much.
    """

    def run(_: NamedScenario, __: StatementLoad, one: ProcessorCosts) -> Result:
        demand = (1 + (one.cpu_order == IN_ORDER)) * one.client_ns / 20_000 * (
            1 - share_of_reads
        ) + one.costs.read_ns / 25_000 * share_of_reads
        summary = {
            "host": {"cores": cores},
            "throughput_per_s": {"transactions": {"value": 1000 / demand}},
            "latency_ns": {"transaction": {"mean": {"value": 8e6 * demand}, "p99": {"value": 4e7 * demand}}},
            "queries": {},
            "verdict": verdict,
            "model_error": {"basis": "unknown", "figures": off} if off is not None else model_error_of(verdict),
        }
        return Result(summary, NOTHING, NOTHING, NOTHING, "")

    found: dict[str, Any] = with_range(
        run(made, load, costs), made, [load], costs, draws_of(load, costs, 1), run
    ).summary["range"]
    return found


def test_a_range_holds_the_prediction_and_names_what_makes_it_wide(load: StatementLoad, tmp_path: Any) -> None:
    made = scenario(tmp_path)
    found = ranged(load, made, processor(), 0.0, off={})
    assert found["transactions_per_s"]["low"] < 1000 < found["transactions_per_s"]["high"]
    assert found["transactions_per_s"]["low"] == pytest.approx(1000 / 1.25**0.8, rel=0.05)
    assert found["transactions_per_s"]["high"] == pytest.approx(1000 / 0.8**0.8, rel=0.05)
    assert found["verdict"] == "determined"
    assert found["mostly"] == UNKNOWNS["cpu"][0]
    tail = found["p99_ns"]["transaction"]
    assert tail["low"] == pytest.approx(4e10 / found["transactions_per_s"]["high"], rel=1e-3)
    assert tail["high"] == pytest.approx(4e10 / found["transactions_per_s"]["low"], rel=1e-3)


def test_a_figure_of_a_run_that_is_over_at_once_is_the_middle_of_its_interval() -> None:
    """It tells nothing of other times, but draws are held against each other."""
    one = mean(np.array([0, 40, 0]), np.array([0, 80_000_000, 0]))
    assert one["value"] is None
    assert _point(one) == 2e6
    assert _point({"value": 3e6, "low": 1e6, "high": 4e6, "basis": "mean"}) == 3e6


def test_draws_of_a_part_of_a_recording_have_no_warm_up_and_no_time_that_may_outlast_it(
    load: StatementLoad, tmp_path: Any
) -> None:
    seen = set()

    def run(one: NamedScenario, _: StatementLoad, __: ProcessorCosts) -> Result:
        seen.add((one.model.replay.warmup, one.model.replay.duration))
        figures = {"mean": {"value": 8e6}, "p99": {"value": 4e7}}
        summary = {
            "host": {"cores": 2},
            "throughput_per_s": {"transactions": {"value": 1000}},
            "latency_ns": {"transaction": figures},
            "queries": {},
            "verdict": NONE,
            "model_error": {"basis": "unknown", "figures": {}},
        }
        return Result(summary, NOTHING, NOTHING, NOTHING, "")

    made = scenario(tmp_path, "replay.warmup=8s", "replay.duration=9s")
    result = run(made, load, processor())
    seen.clear()
    with_range(result, made, [load], processor(), draws_of(load, processor(), 1), run)
    assert seen == {(0, None)}


def test_whom_the_scheduler_serves_next_is_drawn_where_its_choices_were_not_recorded(
    load: StatementLoad, tmp_path: Any
) -> None:
    known = processor(cpu_range=(1.0, 1.0), read_range=(1.0, 1.0))
    two, eight = (ranged(load, scenario(tmp_path), known, 0.0, cores, off={}) for cores in (2, 8))
    assert two["transactions_per_s"] == pytest.approx({"low": 1000, "high": 1000})
    assert "order" not in two["explained_by"]
    assert eight["transactions_per_s"] == pytest.approx({"low": 500, "high": 1000})
    assert eight["mostly"] == UNKNOWNS["order"][0]


def test_what_the_models_are_off_widens_a_range(load: StatementLoad, tmp_path: Any) -> None:
    """Logs of 3/10 and 4/10, which are independent, make 5/10."""
    costs = processor(cpu_range=(1.0, 1.0), read_range=(1.0, 1.0))
    error = {"throughput": {"low": np.exp(-0.4), "high": np.exp(0.1)}, "mean": {"low": 0.8, "high": 1.25}}
    alone = ranged(load, scenario(tmp_path), costs, 0.0, off=error)
    assert alone["transactions_per_s"] == pytest.approx({"low": 1000 * np.exp(-0.4), "high": 1000 * np.exp(0.1)})
    assert alone["transaction_mean_ns"] == pytest.approx({"low": 0.8 * 8e6, "high": 1.25 * 8e6})
    drawn = replace(costs, cpu_range=(np.exp(-0.375), np.exp(0.375)))  # 80 % of which lie within 0.3
    both = ranged(load, scenario(tmp_path), drawn, 0.0, off=error)
    assert both["transactions_per_s"]["low"] == pytest.approx(1000 * np.exp(-0.5), rel=0.02)
    assert both["transactions_per_s"]["high"] == pytest.approx(1000 * np.exp(np.hypot(0.3, 0.1)), rel=0.02)


def test_an_error_that_holds_what_is_drawn_is_not_added_to_it(load: StatementLoad, tmp_path: Any) -> None:
    """Errors within the recording were measured with what is drawn in them: the wider of the two is taken. Those beyond
    it are of predictions that guessed the CPU, too: calibrated, a range takes those within, besides what is drawn.
    Uncalibrated, some of them are of other causes.
    """
    beyond = {"calibration": "calibrated", "reach": BEYOND}
    within = beyond | {"reach": WITHIN}
    met = {"calibration": "uncalibrated", "transactions": MET, "reach": BEYOND}
    known = processor(cpu_range=(1.0, 1.0), read_range=(1.0, 1.0))

    def range_of(verdict: Mapping[str, str], costs: ProcessorCosts, off: Any = None) -> Any:
        return ranged(load, scenario(tmp_path), costs, 0.0, verdict=verdict, off=off)["transactions_per_s"]

    models, drawn = range_of(within, known), range_of(within, processor(), off={})
    assert drawn["low"] < models["low"] < models["high"] < drawn["high"]
    assert range_of(within, processor()) == drawn
    assert range_of(beyond, known) == models
    far, uncalibrated = range_of(beyond, processor()), range_of(met, processor())
    assert uncalibrated["low"] < far["low"] < drawn["low"] < drawn["high"] < far["high"] < uncalibrated["high"]


def test_where_no_error_of_means_is_known_they_are_off_as_throughput_is(load: StatementLoad, tmp_path: Any) -> None:
    costs = processor(cpu_range=(1.0, 1.0), read_range=(1.0, 1.0))
    found = ranged(load, scenario(tmp_path), costs, 0.0, off={"throughput": {"low": 0.8, "high": 1.1}})
    assert found["transaction_mean_ns"] == pytest.approx({"low": 8e6 / 1.1, "high": 8e6 / 0.8})


def test_a_range_that_decides_nothing_is_underdetermined(load: StatementLoad, tmp_path: Any) -> None:
    found = ranged(load, scenario(tmp_path), processor(), 0.7)
    assert found["verdict"] == "underdetermined"
    assert found["mostly"] == UNKNOWNS["read"][0]
    assert "tiersim record postgres" in found["remedy"]


CAPPED = """
kind = "token-bucket"
name = "a log with a cap"
capacity = "100 GB"
latency = "0.1 ms"
write_iops = 400
{interval}
[sources]
capacity = "document: x"
latency = "document: x"
write_iops = "document: as ordered"
{source}
"""


def of_refills(load: StatementLoad, folder: Path, interval: str = "", source: str = "") -> dict[str, Any]:
    """The range of a run where three times as many commits share a flush if the log's limit refills each millisecond
    as if each 100 ms, and nothing else is unknown.
    """
    (folder / "log.toml").write_text(CAPPED.format(interval=interval, source=source))
    made = scenario(folder, text='[volumes.log]\ndevice = "log.toml"\n[placement]\ndefault = "data"\nlog = "log"\n')

    def run(on: NamedScenario, _: StatementLoad, __: ProcessorCosts) -> Result:
        (limit,) = (one for one in on.limits_of_requests if one.write_iops)
        rate = 400 * 3 ** (np.log10(1e8 / limit.refill_interval) / 2)
        summary = {
            "host": {"cores": 2},
            "throughput_per_s": {"transactions": {"value": rate}},
            "latency_ns": {"transaction": {"mean": {"value": 8e9 / rate}, "p99": {"value": 8e9 / rate}}},
            "queries": {},
            "verdict": NONE,
            "model_error": {"basis": "unknown", "figures": {}},
        }
        return Result(summary, NOTHING, NOTHING, NOTHING, "")

    known = processor(cpu_range=(1.0, 1.0), read_range=(1.0, 1.0))
    found: dict[str, Any] = with_range(
        run(made, load, known), made, [load], known, draws_of(load, known, 1), run
    ).summary["range"]
    return found


def test_a_limit_whose_refill_nobody_states_makes_a_range_that_says_so(load: StatementLoad, tmp_path: Path) -> None:
    found = of_refills(load, tmp_path)
    assert found["transactions_per_s"] == pytest.approx({"low": 400, "high": 400 * 3**0.75}, rel=0.05)
    assert found["verdict"] == "underdetermined"
    assert found["mostly"] == UNKNOWNS["refill"][0]
    assert "refill_interval" in found["remedy"]


def test_a_refill_that_is_stated_is_not_drawn(load: StatementLoad, tmp_path: Path) -> None:
    found = of_refills(load, tmp_path, 'refill_interval = "100 ms"', 'refill_interval = "document: io.max"')
    assert found["transactions_per_s"] == pytest.approx({"low": 400, "high": 400})
    assert "refill" not in found["explained_by"]


def test_limits_of_volumes_and_of_instances_are_changed_together(tmp_path: Path) -> None:
    instance = '[instances.host]\ntype = "aws-r5-xlarge"\nvolumes = ["data"]\n'
    made = scenario(tmp_path, text=instance)
    changed = made.with_limits(lambda one: one.model_copy(update={"refill_interval": 7}))
    builder = PlantBuilder(1)
    changed.build(builder)
    assert set(builder.build().buckets["refill_interval_ns"].tolist()) == {7}
    assert {one.refill_interval for one in made.limits_of_requests} == {1_000_000, 10_000_000}
    assert len(changed.limits_of_requests) == 2
