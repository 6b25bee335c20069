"""Tiers and flash caches against their twins in plain Python, in both engines: every request ends at the same ns."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.test_device_twins import ALL, SEEDS, pick
from tests.twins.stand_in import Built, agree, draw_commands
from tests.twins.tiers import Tiers
from tiersim.devices.host.gate import add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.tiering.tiers import Migration, add_tiers

pytestmark = pytest.mark.kernels


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    extent=pick(1 << 20, 5 << 18),
    fast_places=st.integers(1, 5),
    slow_places=st.integers(2, 6),
    requests=pick(4, 30),
    rate=pick(10**8, 10**10),
    apart_ns=pick(300_000, 3_000_000, 600 * 10**9),
    skewed=st.booleans(),
)
def test_tiers(
    seed: int,
    extent: int,
    fast_places: int,
    slow_places: int,
    requests: int,
    rate: int,
    apart_ns: int,
    skewed: bool,
) -> None:
    migration = Migration(extent, requests * apart_ns, rate)  # so many in an interval

    def build(builder: PlantBuilder) -> Built:
        fast = add_server(builder, "fast", 4, 20_000, "fixed", 500_000_000)
        slow = add_server(builder, "slow", 2, 500_000, "fixed", 100_000_000)
        station = add_tiers(builder, "tiers", migration, fast, fast_places * extent, slow, slow_places * extent)
        return add_port(builder, "host", station), {
            station: Tiers(station, migration, fast, fast_places, slow, slow_places)
        }

    whole = (fast_places + slow_places - 1) * extent
    sizes: tuple[int, ...] = (8192, 65536, 600_064)
    fed: Any = draw_commands(seed, 150, whole, sizes, ALL, apart_ns)
    if skewed:  # most in the extent that lies last
        fed.offset_bytes[::2] = (fed.offset_bytes[::2] % extent + whole - 2 * extent).clip(0, whole - max(sizes))
    agree(build, fed)
