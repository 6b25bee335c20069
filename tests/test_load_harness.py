"""The harness that measures growth: exponents of known laws, and a page that says what was measured."""

import pytest

from benchmarks.load.growth import exponent
from benchmarks.load.results import read_results
from benchmarks.load.table import table_of, table_on_page


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found_above_the_cost_of_the_start(power: float) -> None:
    sizes = [10**3, 10**4, 10**5]
    assert exponent(sizes, [7 + 0.01 * size**power for size in sizes], 7.0) == power


def test_nothing_is_told_of_what_costs_no_more_than_the_start() -> None:
    assert exponent([1000, 10_000, 100_000], [2.0, 2.1, 2.05], 2.0) is None


def test_the_page_has_the_table_of_what_was_measured() -> None:
    assert table_on_page() == table_of(read_results())
