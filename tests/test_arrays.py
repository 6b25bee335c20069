"""Arrays: what goes where, and how much."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs import Run, commands, poisson, run
from tiersim.devices.array import Layout, add_array, usable_bytes
from tiersim.devices.array_kernels import column_part
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

UNIT = 65536


def run_array(layout: Layout, members: int, fed: tuple[Any, ...], service_ns: int = 1_000_000) -> Run:
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", 1, service_ns) for index in range(members)]
    array = add_array(builder, drives, layout, UNIT, 1, "array")
    times, op, offsets, lengths = fed
    return run(builder, commands(times, array, op, offsets, lengths))


@given(
    st.integers(1, 9), st.integers(1, 6), st.integers(0, 200), st.integers(1, 80), st.integers(0, 5)
)  # fmt: skip
def test_column_parts_are_what_byte_by_byte_striping_gives(
    stripe: int, columns: int, offset: int, length: int, column: int
) -> None:
    column %= columns
    own = [b for b in range(offset, offset + length) if b // stripe % columns == column]
    places = [b // stripe // columns * stripe + b % stripe for b in own]
    expected = (places[0], len(places)) if places else (0, 0)
    assert places == list(range(expected[0], expected[0] + expected[1]))
    assert column_part(offset, length, stripe, columns, column) == expected


@pytest.mark.parametrize(
    ("layout", "op", "per_request"),
    [("raid0", READ, 1), ("raid0", WRITE, 1), ("raid10", READ, 1), ("raid10", WRITE, 2), ("raid10", DISCARD, 2)],
)
def test_small_requests_cost_what_the_layout_says(layout: Layout, op: int, per_request: int) -> None:
    count = 4000
    offsets = np.random.default_rng(1).integers(0, 10**5, count) * 8192
    found = run_array(layout, 8, (np.arange(count) * 10_000_000, op, offsets, 8192))
    done = found.plant.stations["finished"][:8]
    assert done.sum() == per_request * count
    assert done.min() > 0.8 * done.mean()


def test_a_full_stripe_touches_every_column_once_and_a_flush_every_member() -> None:
    found = run_array("raid10", 8, ([0], READ, 0, 4 * UNIT))
    assert sorted(found.plant.stations["finished"][:8].tolist()) == [0] * 4 + [1] * 4
    found = run_array("raid10", 8, ([0], WRITE, 0, 8 * UNIT))
    assert found.plant.stations["finished"][:8].tolist() == [1] * 8
    found = run_array("raid10", 8, ([0], FLUSH, 0, 0))
    assert found.plant.stations["finished"][:8].tolist() == [1] * 8


def test_a_request_ends_with_its_last_part() -> None:
    found = run_array("raid0", 4, ([0, 0], READ, [0, 0], [8192, 4 * UNIT]))
    assert found.latency_ns.tolist() == [1_000_001, 2_000_001]


@pytest.mark.parametrize(("layout", "reads", "writes"), [("raid0", 8000, 8000), ("raid10", 8000, 4000)])
def test_throughput_of_eight_drives(layout: Layout, reads: int, writes: int) -> None:
    """Each drive does 1000/s: striping gives all of them, mirroring all of them to reads and half to writes."""
    count = 40_000
    offsets = np.random.default_rng(1).permutation(count) * UNIT
    for op, rate in ((READ, reads), (WRITE, writes)):
        found = run_array(layout, 8, (np.zeros(count), op, offsets, 8192))
        assert count / (found.outcome.end_ns / 1e9) == pytest.approx(rate, rel=0.03)


def test_mixed_load_on_raid10_keeps_members_as_busy_as_the_arithmetic_says() -> None:
    """r reads and w writes a second on n drives: each drive serves (r + 2 w) / n."""
    count, rate = 100_000, 3000.0
    generator = np.random.default_rng(1)
    op = (generator.random(count) < 0.3).astype(np.uint8)
    fed = (poisson(count, rate), op, generator.integers(0, 10**6, count) * 8192, 8192)
    found = run_array("raid10", 8, fed)
    expected = ((op == READ).sum() + 2 * (op == WRITE).sum()) * 1_000_000
    assert found.plant.work_ns[:8, 0].sum() == expected
    np.testing.assert_allclose(found.plant.work_ns[:8, 0], expected / 8, rtol=0.05)


def test_reads_go_to_the_idle_mirror() -> None:
    found = run_array("raid10", 2, (np.zeros(10), READ, 0, 8192))
    assert found.plant.stations["finished"][:2].tolist() == [5, 5]
    # two at a time: the pair works as one station with two servers
    assert found.outcome.end_ns == 5_000_001


def test_capacity_counts_whole_units_of_the_columns() -> None:
    assert usable_bytes(10 * UNIT + 5, 4, "raid0", UNIT) == 40 * UNIT
    assert usable_bytes(10 * UNIT + 5, 4, "raid10", UNIT) == 20 * UNIT
    assert usable_bytes(10 * UNIT + 5, 1, "single", UNIT) == 10 * UNIT + 5
