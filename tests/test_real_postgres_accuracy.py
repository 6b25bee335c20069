"""How predictions of a real PostgreSQL are compared with what was measured."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_postgres.accuracy import PLANS, recordings_first
from benchmarks.real_postgres.plan import Cell, cells, read_plan
from benchmarks.real_postgres.runs import conditions_of, keep_runs
from benchmarks.real_postgres.scores import Compared, document, table, verdicts
from tiersim.scenarios.validation.cell_figures import Conditions, Figures, MeasuredRun, read_runs, slow_share
from tiersim.traces.samples import CELLS

BENCH = Path(__file__).parents[1] / "benchmarks" / "real_postgres"
KNOWN = Figures(transactions_per_s=400, mean_ms=20, p50_ms=1, p95_ms=90, p99_ms=100, slow_share=0.2, misses=0.5)
CONDITIONS = Conditions("updates", "64MB", 300, 120.0)


def planned() -> list[Cell]:
    return [cell for name in PLANS for together in cells(read_plan(BENCH / f"{name}.toml")) for cell in together]


def compared(predicted: Figures, *repeats: Figures) -> Compared:
    return Compared(CONDITIONS, repeats or (KNOWN,), predicted)


def limits(*compared: Compared) -> dict[str, bool]:
    """Tell of each limit whether it is met."""
    rows = [line.split(" | ") for line in verdicts(compared)[2:]]
    return {row[0].removeprefix("| "): row[-1].startswith("met") for row in rows}


def test_the_measurement_meets_what_it_is_for() -> None:
    """A recording of each load, and 12 cells or more with three repeats, past the page cache."""
    every = planned()
    assert {cell.settings["debug_io_direct"] for cell in every} == {"data,wal"}
    assert Counter(cell.script for cell in every if cell.iops is None) == {"reads": 1, "updates": 1}
    repeats = Counter(conditions_of(cell) for cell in every if cell.iops is not None)
    assert len(repeats) >= 12
    assert min(repeats.values()) >= 3
    assert len({cell.name for cell in every}) == len(every)


@pytest.mark.parametrize("name", [*PLANS, "accuracy-short"])
def test_what_is_predicted_is_not_among_the_recordings(name: str) -> None:
    rounds = cells(read_plan(BENCH / f"{name}.toml"))
    recorded, predicted = recordings_first(rounds)
    assert recorded + predicted == rounds
    assert all(cell.iops is None for together in recorded for cell in together)
    assert all(cell.iops is not None for together in predicted for cell in together)


def test_latencies_are_between_ends_but_for_the_pause() -> None:
    steady, slow = np.arange(0.01, 12.0, 0.01), np.arange(0.5, 12.0, 0.5)
    figures = Figures.simulated([steady, slow], 10.0, 0.002, 0.25)
    assert figures.transactions_per_s == pytest.approx((1000 + 20) / 10)
    assert figures.p50_ms == pytest.approx(8)
    assert figures.p99_ms == pytest.approx(498)
    assert figures.slow_share == pytest.approx(20 / 1020)
    assert figures.mean_ms == pytest.approx((1000 * 8 + 20 * 498) / 1020)
    assert figures.misses == 0.25


def test_what_took_just_so_long_is_not_slow() -> None:
    assert slow_share(np.array([1.0, 10.0, 10.1, 90.0])) == 0.5


def test_two_humps_are_far_apart() -> None:
    assert KNOWN.two_humped
    assert not replace(KNOWN, p50_ms=40).two_humped


def test_repeats_are_averaged() -> None:
    one = compared(KNOWN, replace(KNOWN, mean_ms=19, misses=0.4), replace(KNOWN, mean_ms=21, misses=0.6))
    assert one.measured == KNOWN


def test_a_good_prediction_meets_every_limit() -> None:
    near = replace(KNOWN, transactions_per_s=430, mean_ms=18.5, p95_ms=70, misses=0.46)
    assert all(limits(compared(near)).values())


def test_a_limit_is_missed_by_the_median_or_by_the_worst() -> None:
    off = compared(replace(KNOWN, transactions_per_s=445))  # 11 %
    far = compared(replace(KNOWN, transactions_per_s=484))  # 21 %
    good = compared(KNOWN)
    assert not limits(off)["transactions/s"]
    assert limits(off, good, good)["transactions/s"]
    assert not limits(far, good, good)["transactions/s"]
    assert limits(far)["mean"]


def test_the_share_of_slow_ones_stands_in_for_the_tail_where_there_are_two_humps() -> None:
    beyond = replace(KNOWN, p95_ms=20)
    assert compared(replace(beyond, slow_share=0.215)).tail_holds
    assert not compared(replace(beyond, slow_share=0.225)).tail_holds
    one_hump = replace(KNOWN, p50_ms=40)
    assert not compared(beyond, one_hump).tail_holds
    assert compared(one_hump, one_hump).tail_holds


def test_misses_have_to_be_near_in_every_cell() -> None:
    assert not limits(compared(replace(KNOWN, misses=0.56)), compared(KNOWN))["misses a transaction"]


def test_the_table_names_the_cell_and_its_errors() -> None:
    (row,) = table([compared(replace(KNOWN, transactions_per_s=440, misses=0.45))])[2:]
    assert (
        row == "| updates, 64 MiB, 300/s | 400 | 440 | +10.0% | 20 | 20 | +0.0% | 90 | 90 | +0.0% "
        "| 20.0% | 20.0% | +0.0 | 0.500 | 0.450 | -10.0% |"
    )


def test_the_document_says_the_same() -> None:
    (cell,) = document([compared(replace(KNOWN, mean_ms=22), KNOWN, KNOWN, KNOWN)])["cells"]
    assert (cell["shared_buffers"], cell["iops"], cell["repeats"]) == ("64MB", 300, 3)
    assert cell["error_pct"] == {"transactions_per_s": 0, "mean": 10, "p95": 0, "misses": 0}


def test_runs_are_kept_small(tmp_path: Path) -> None:
    result = {
        "cell": {
            "name": "updates-64-300-1",
            "script": "updates",
            "settings": {"shared_buffers": "64MB"},
            "iops": 300,
            "run_s": 120.0,
        },
        "since_checkpoint_s": 6.5,
        "device_latency_ns": 60_000,
        "transactions": 48_000,
        "transactions_per_s": 400,
        "mean_ms": 20,
        "quantiles_ms": {"0.5": 1, "0.95": 90, "0.99": 100},
        "slow_share": 0.2,
        "counted": {"client backend/relation/normal.reads": 24_000},
    }
    (tmp_path / "out" / "updates-64-300-1").mkdir(parents=True)
    (tmp_path / "out" / "updates-64-300-1" / "result.json").write_text(json.dumps(result))
    results = keep_runs(tmp_path / "out", tmp_path / "results")
    assert read_runs(results) == [MeasuredRun("updates-64-300-1", CONDITIONS, 6.5, 60_000, KNOWN)]


@pytest.mark.parametrize("name", PLANS)
def test_what_was_measured_is_kept(name: str) -> None:
    asked = Counter(conditions_of(cell) for together in cells(read_plan(BENCH / f"{name}.toml")) for cell in together)
    runs = read_runs(CELLS / name)
    assert Counter(run.conditions for run in runs) == asked
    for run in runs:
        if run.conditions.iops is not None and run.conditions.script == "reads":  # what the cap allows is used
            assert run.figures.transactions_per_s * run.figures.misses == pytest.approx(run.conditions.iops, rel=0.05)
