"""Extents that migrate between two tiers: where they lie, when they move, and what that costs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runs import Run, commands, run
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import NONE
from tiersim.devices.tiering.tiers import Migration, add_tiers, tiers_capacity_bytes, tiers_figures
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

MIB = 1 << 20
FAST_NS, SLOW_NS = 100_000, 5_000_000
PASS_NS = 1
FAST, SLOW = range(2)
SECOND = 10**9


def run_tiers(
    fed: tuple[Any, ...], *, fast: int, slow: int, interval_ns: int = SECOND, rate: int = 10**9, servers: int = 64
) -> Run:
    """Run tiers of so many extents of 1 MiB."""
    builder = PlantBuilder(1)
    stations = [add_server(builder, "fast", servers, FAST_NS), add_server(builder, "slow", servers, SLOW_NS)]
    migration = Migration(MIB, interval_ns, rate)
    tiers = add_tiers(builder, "tiers", migration, stations[FAST], fast * MIB, stations[SLOW], slow * MIB)
    times, op, offsets, lengths = fed
    return run(builder, commands(times, tiers, op, offsets, lengths))


def in_fast(found: Run) -> set[int]:
    """Extents in the first tier, but for those that nobody uses."""
    row = found.plant.tiers[0]
    held = found.plant.pool[row["extent"] : row["extent"] + row["fast_places"]]
    used = (
        found.plant.pool[row["heat"] :][: row["places"] - 1] + found.plant.pool[row["accesses"] :][: row["places"] - 1]
    )
    return {int(extent) for extent in held if extent != NONE and used[extent]}


def assert_whole(found: Run) -> None:
    """Every extent lies in one place, and that place holds it."""
    row = found.plant.tiers[0]
    place = found.plant.pool[row["place"] : row["place"] + row["places"] - 1]
    extent = found.plant.pool[row["extent"] : row["extent"] + row["places"]]
    assert (extent[place] == np.arange(len(place))).all()
    assert (extent == NONE).sum() == 1


def every(gap_ns: int, count: int) -> Any:
    return np.arange(count, dtype=np.int64) * gap_ns


def test_extents_begin_in_the_slow_tier_as_far_as_they_fit() -> None:
    found = run_tiers((every(SLOW_NS * 2, 9), READ, np.arange(9) * MIB, 4096), fast=3, slow=7)
    assert found.latency_ns.tolist() == [PASS_NS + SLOW_NS] * 7 + [PASS_NS + FAST_NS] * 2
    assert tiers_capacity_bytes(3 * MIB, 7 * MIB, MIB) == 9 * MIB


def test_the_busiest_extents_come_into_the_fast_tier_and_stay_there() -> None:
    """10 of 90 extents take nine tenths of the accesses: after a few intervals these and no others are fast."""
    generator = np.random.default_rng(1)
    count = 30_000
    hot = generator.permutation(90)[:10]
    offsets = (
        np.where(generator.random(count) < 0.9, generator.choice(hot, count), generator.integers(0, 90, count)) * MIB
    )
    found = run_tiers((every(1_000_000, count), READ, offsets, 4096), fast=10, slow=90)
    assert in_fast(found) == set(hot.tolist())
    late = offsets[10_000:]
    share = np.isin(late // MIB, hot).mean()
    assert (found.latency_ns[10_000:] == PASS_NS + FAST_NS).mean() == pytest.approx(share, abs=0.001)
    assert_whole(found)


def test_extents_follow_when_others_become_busy() -> None:
    """First 5 extents are busy, then 5 others for longer: they take the places of the first ones."""
    generator = np.random.default_rng(1)
    offsets = np.concatenate([generator.integers(0, 5, 5000), generator.integers(20, 25, 20_000)]) * MIB
    found = run_tiers((every(1_000_000, len(offsets)), READ, offsets, 4096), fast=5, slow=40)
    assert in_fast(found) == set(range(20, 25))
    # five into an empty tier, then five out and five in
    assert tiers_figures(found.plant, 0)["moved_bytes"] == 15 * MIB
    assert_whole(found)


def test_extents_that_are_as_hot_as_each_other_stay() -> None:
    """4 extents in turn, of which 2 fit: the free place is filled, and nothing moves from then on."""
    times = every(10_000_000, 1000) + 1_000_000
    found = run_tiers((times, READ, np.arange(1000) % 4 * MIB, 4096), fast=2, slow=3)
    assert tiers_figures(found.plant, 0)["moved_bytes"] == MIB
    assert_whole(found)


def test_uniform_accesses_are_fast_with_the_share_of_the_fast_tier() -> None:
    generator = np.random.default_rng(1)
    count, fast, slow = 60_000, 20, 60
    offsets = generator.integers(0, fast + slow - 1, count) * MIB
    found = run_tiers((every(1_000_000, count), READ, offsets, 4096), fast=fast, slow=slow)
    warm = found.latency_ns[20_000:] == PASS_NS + FAST_NS
    assert warm.mean() == pytest.approx(fast / (fast + slow), abs=0.02)


@pytest.mark.parametrize("rate", [MIB, 4 * MIB, 20 * MIB])
def test_no_more_moves_than_the_rate_allows(rate: int) -> None:
    """Other extents are busy in every second, so there always is one to move."""
    count = 20_000
    offsets = np.repeat(np.random.default_rng(1).permutation(200)[: count // 200], 200) * MIB
    found = run_tiers(
        (every(1_000_000, count), READ, offsets, 4096), fast=10, slow=200, interval_ns=SECOND // 5, rate=rate
    )
    moved = tiers_figures(found.plant, 0)["moved_bytes"]
    longest = found.outcome.end_ns - SECOND // 5
    assert moved <= rate * longest / SECOND + 512 * 1024
    if rate == MIB:  # never idle
        assert moved >= 0.9 * rate * longest / SECOND


def test_a_moving_extent_is_read_where_it_was_and_written_to_both_places_once_copied() -> None:
    """1 MiB at 1 MiB a second: its second half waits from the beginning of the second interval for half a second."""
    asked = [0, int(1.2 * SECOND), int(1.2 * SECOND), int(1.21 * SECOND), int(3.5 * SECOND)]
    op = [READ, READ, WRITE, WRITE, READ]
    offsets = [0, 0, 0, MIB - 4096, 0]
    found = run_tiers((asked, op, offsets, 4096), fast=1, slow=4, rate=MIB)
    assert found.latency_ns[:4].tolist() == [PASS_NS + SLOW_NS] * 4
    assert found.latency_ns[4] == PASS_NS + FAST_NS
    # two pieces of the copy; two writes, to the half that is copied and to the one that is next; the last read
    assert found.plant.stations["finished"][FAST] == 2 + 2 + 1
    asked = [0, SECOND + 1_000_000, 4 * SECOND]
    early = run_tiers((asked, [READ, WRITE, READ], [0, MIB - 4096, 0], 4096), fast=1, slow=4, rate=MIB)
    assert early.plant.stations["finished"][FAST] == 2 + 1  # the write was ahead of the copy


def test_a_flush_goes_to_both_and_a_request_over_two_extents_to_both() -> None:
    found = run_tiers(([0, SECOND], [FLUSH, READ], [0, 7 * MIB - 4096], [0, 8192]), fast=3, slow=7)
    assert found.latency_ns.tolist() == [PASS_NS + SLOW_NS] * 2
    assert found.plant.stations["finished"][[FAST, SLOW]].tolist() == [2, 2]
    assert tiers_figures(found.plant, 0)["fast_share"] == 0.5


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 12), st.sampled_from([10**6, 10**8, 10**10]))
def test_no_extent_is_lost(seed: int, fast: int, slow: int, rate: int) -> None:
    generator = np.random.default_rng(seed)
    count, capacity = 500, (fast + slow - 1) * MIB
    op = generator.choice([READ, WRITE], count)
    lengths = generator.choice([4096, 3 * MIB], count, p=[0.95, 0.05]).clip(max=capacity)
    offsets = generator.integers(0, (capacity - lengths) // 512 + 1) * 512
    times = np.cumsum(generator.exponential(2e7, count)).astype(np.int64)
    found = run_tiers((times, op, offsets, lengths), fast=fast, slow=slow, rate=rate, interval_ns=SECOND // 20)
    assert_whole(found)
    assert found.plant.tiers[0]["all_bytes"] == lengths.sum()
    assert tiers_figures(found.plant, 0)["moved_bytes"] <= rate * found.outcome.end_ns / SECOND + MIB
