"""Tiers and flash caches against their twins in plain Python, in both engines: every request ends at the same ns."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.test_device_twins import ALL, SEEDS, pick
from tests.twins.flash_cache import FlashCache
from tests.twins.stand_in import Built, agree, draw_commands
from tests.twins.tiers import Tiers
from tiersim.devices.host.gate import add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.tiering.flash_cache import Caching, add_flash_cache
from tiersim.devices.tiering.tiers import Migration, add_tiers

pytestmark = pytest.mark.kernels


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    extent=pick(1 << 20, 5 << 18),
    fast_places=st.integers(1, 5),
    slow_places=st.integers(2, 6),
    requests=pick(4, 30),
    rate=pick(2 * 10**7, 10**10),
    apart_ns=pick(300_000, 3_000_000, 600 * 10**9),
    skewed=st.booleans(),
)
@example(
    seed=1,
    extent=1 << 20,
    fast_places=2,
    slow_places=2,
    requests=4,
    rate=2 * 10**7,
    apart_ns=300_000,
    skewed=False,
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
    fed: Any = draw_commands(seed, 200, whole, sizes, ALL, apart_ns)
    if skewed:  # most in the extent that lies last
        fed.offset_bytes[::2] = (fed.offset_bytes[::2] % extent + whole - 2 * extent).clip(0, whole - max(sizes))
    agree(build, fed)


@settings(max_examples=examples(36), deadline=None)
@given(
    seed=SEEDS,
    mode=pick("read", "write-back"),
    block=pick(4096, 16384, 1 << 18),
    places=pick(1, 8, 40),
    cutoff=pick(0, 32768, 4 << 20),
    apart_ns=pick(30_000, 300_000, 3_000_000),
    follow=pick(0.2, 0.8),
)
# requests as long as the cutoff, and no longer
@example(seed=1, mode="write-back", block=16384, places=40, cutoff=32768, apart_ns=3_000_000, follow=0.2)
def test_flash_cache(seed: int, mode: Any, block: int, places: int, cutoff: int, apart_ns: int, follow: float) -> None:
    caching = Caching(mode, block, cutoff)

    def build(builder: PlantBuilder) -> Built:
        flash = add_server(builder, "flash", 4, 20_000, "fixed", 500_000_000)
        backing = add_server(builder, "backing", 2, 500_000, "fixed", 100_000_000)
        cache = add_flash_cache(builder, "cache", caching, flash, places * block, backing, 64 * block)
        return add_port(builder, "host", cache), {cache: FlashCache(cache, caching, flash, places, backing)}

    sizes = (512, block // 2, block, 2 * block, 3 * block)
    agree(build, draw_commands(seed, 150, 64 * block, sizes, ALL, apart_ns, min(block // 2, 4096), follow))
