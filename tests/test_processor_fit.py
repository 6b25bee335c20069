"""CPU of statements by least squares: found again where the rows say it, and said where they do not."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.counted_bundles import Row, bundle
from tiersim.errors import TraceError
from tiersim.scenarios.calibration.processor_fit import (
    NAMES,
    Observed,
    ProcessorFit,
    _non_negative,
    fit_processor,
    recorded_processor_time,
)

STATEMENT, PHYSICAL, LOGICAL = NAMES


def made(rows: int, truth: tuple[float, float, float], noise_ns: float = 0, calls: int = 1) -> Observed:
    """Make up rows of *calls* executions each that cost *truth* (statement, physical, logical)."""
    luck = np.random.default_rng(3)
    logical = luck.poisson(40 * calls, rows).astype(float)
    physical = np.minimum(luck.poisson(3 * calls, rows), logical).astype(float)
    count = np.full(rows, float(calls))
    cpu = truth[0] * count + truth[1] * physical + truth[2] * logical
    return Observed(count, physical, logical, cpu + luck.normal(0, 1, rows) * noise_ns * np.sqrt(calls))


def found(fit: ProcessorFit) -> list[float | None]:
    return [fit.coefficients[name].ns for name in NAMES]


@pytest.mark.parametrize("calls", [1, 1000])
def test_costs_are_found_again(calls: int) -> None:
    fit = fit_processor(made(500, (50_000, 26_000, 700), calls=calls))
    assert found(fit) == pytest.approx([50_000, 26_000, 700], rel=1e-6)
    assert all(fit.coefficients[name].identified for name in NAMES)
    assert fit.residual_ns == pytest.approx(0, abs=1)
    assert fit.said == ()
    assert fit.cpu_ns(2, 10) == pytest.approx(50_000 + 52_000 + 7_000)


@pytest.mark.parametrize("calls", [1, 100])
def test_standard_errors_are_as_wide_as_the_scatter(calls: int) -> None:
    truth = (50_000, 26_000, 700)
    off = []
    for seed in range(200):
        luck = np.random.default_rng(seed)
        one = made(60, truth, calls=calls)
        noisy = one.cpu_ns + luck.normal(0, 5_000 * np.sqrt(calls), 60)
        fit = fit_processor(Observed(one.calls, one.physical, one.logical, noisy))
        error = fit.coefficients[PHYSICAL].error_ns
        assert error is not None
        off.append(((fit.coefficients[PHYSICAL].ns or 0) - truth[1]) / error)
    assert np.std(off) == pytest.approx(1, abs=0.15)
    assert fit.residual_ns == pytest.approx(5_000, rel=0.3)


def test_pages_of_which_each_statement_has_as_many_are_not_told_apart() -> None:
    one = made(100, (10_000, 20_000, 500))
    fit = fit_processor(Observed(one.calls, one.physical, np.full(100, 4.0), 10_000 + 20_000 * one.physical + 4 * 500))
    assert found(fit) == [pytest.approx(12_000), pytest.approx(20_000), None]
    assert [fit.coefficients[name].identified for name in NAMES] == [False, True, False]
    assert any("CPU of a logical read: included in that of" in line for line in fit.said)


def test_reads_that_are_all_misses_are_one_cost() -> None:
    one = made(100, (10_000, 20_000, 0))
    fit = fit_processor(Observed(one.calls, one.physical, one.physical, one.cpu_ns))
    assert found(fit) == [pytest.approx(10_000), pytest.approx(20_000), None]
    assert [fit.coefficients[name].identified for name in NAMES] == [True, False, False]


def test_what_never_happened_is_not_known() -> None:
    one = made(100, (10_000, 0, 500))
    fit = fit_processor(Observed(one.calls, np.zeros(100), one.logical, one.cpu_ns))
    assert found(fit) == [pytest.approx(10_000), None, pytest.approx(500)]
    assert any("CPU of a physical read: unknown, since none was counted" in line for line in fit.said)


def test_one_row_tells_a_statement_s_cost_alone() -> None:
    fit = fit_processor(Observed(*np.array([[10.0], [3.0], [40.0], [1e6]])))
    assert found(fit) == [pytest.approx(100_000), None, None]
    assert not any(fit.coefficients[name].identified for name in NAMES)
    assert fit.coefficients[STATEMENT].error_ns is None
    assert fit.mean_ns == 100_000


def test_no_cost_is_below_nothing() -> None:
    fit = fit_processor(made(300, (50_000, -8_000, 700)))
    assert fit.coefficients[PHYSICAL].ns == 0
    assert min(value or 0 for value in found(fit)) >= 0
    assert any("0 ns, the bound of the fit" in line for line in fit.said)


def test_little_evidence_is_said() -> None:
    fit = fit_processor(made(12, (50_000, 100, 700), noise_ns=20_000))
    assert any("uncertain" in line or "0 ns, the bound" in line for line in fit.said)


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3, st.integers(-20, 50)), min_size=1, max_size=8))
def test_least_squares_meets_the_conditions_of_its_optimum(rows: list[tuple[int, int, int, int]]) -> None:
    """Karush, Kuhn, Tucker: the gradient is 0 where x is above 0, and does not point below 0 elsewhere."""
    table = np.array(rows, float)
    columns, wanted = table[:, :3], table[:, 3]
    columns = columns[:, columns.any(axis=0)]
    if not columns.shape[1]:
        return
    x = _non_negative(columns, wanted)
    gradient = columns.T @ (wanted - columns @ x)
    assert (x >= 0).all()
    assert gradient[x > 0] == pytest.approx(0, abs=1e-6)
    assert gradient.max() <= 1e-6


def test_nothing_measured_is_a_sentence() -> None:
    nothing = np.zeros(0)
    with pytest.raises(TraceError, match="no statement has a measured CPU time"):
        fit_processor(Observed(nothing, nothing, nothing, nothing))


def test_intervals_of_a_server_s_counters_are_rows(tmp_path: Path) -> None:
    """10 intervals of a query with CPU of user and system, and one that has none."""
    sums = np.cumsum([[100 + k, (7 * k) % 5, 400 + (k * k) % 11] for k in range(11)], axis=0)
    snapshots = []
    for time, (calls, read, hit) in enumerate(sums.tolist()):
        cpu_us = 20 * calls + 30 * read + 2 * (hit + read)
        counted = {"calls": calls, "pages_read": read, "pages_hit": hit}
        values = {name: Decimal(value) for name, value in counted.items()}
        half = Decimal(cpu_us) / 2000
        snapshots.append(
            (
                time * 10**9,
                {("query", "q"): {**values, "cpu_user_ms": half, "cpu_system_ms": half}, ("query", "r"): values},
            )
        )
    observed = recorded_processor_time(bundle(tmp_path / "b", snapshots, {"q": "select ?", "r": "select 1"}))
    assert list(observed) == ["print of select ?"]
    assert len(observed["print of select ?"]) == 10
    assert found(fit_processor(observed["print of select ?"])) == pytest.approx([20_000, 30_000, 2_000], rel=1e-4)


def test_single_statements_are_rows_where_their_cpu_is_known(tmp_path: Path) -> None:
    one = made(50, (50_000, 26_000, 700))
    rows: list[Row] = [
        {"time_ns": k, "query": "a", "cpu_ns": int(c), "physical_reads": int(p), "logical_reads": int(lo)}
        for k, (p, lo, c) in enumerate(zip(one.physical, one.logical, one.cpu_ns, strict=True))
    ]
    unmeasured: list[Row] = [
        {"time_ns": 60, "query": "a", "physical_reads": 1, "logical_reads": 2},
        {"time_ns": 61, "cpu_ns": 5},
    ]
    observed = recorded_processor_time(bundle(tmp_path / "b", [], statements=[*rows, *unmeasured]))
    assert len(observed["a"]) == 50
    assert found(fit_processor(observed["a"])) == pytest.approx([50_000, 26_000, 700], rel=1e-4)
