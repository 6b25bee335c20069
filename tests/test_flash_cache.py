"""A flash volume that caches a slower one: hits, misses, what goes where and when."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from tests.runs import Run, commands, needs_jit, run
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import NONE
from tiersim.devices.tiering.cached_blocks_kernels import CLEANING, DIRTY, REDIRTIED
from tiersim.devices.tiering.flash_cache import Caching, add_flash_cache, cache_figures
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

BLOCK = 4096
FLASH_NS, DISK_NS = 100_000, 5_000_000
APART_NS = 20 * DISK_NS  # so far apart that each request finds everything done
PASS_NS = 1  # in the station of the cache
FLASH, DISK, CACHE = range(3)


def run_cache(
    fed: tuple[Any, ...],
    *,
    blocks: int,
    of: int,
    mode: Any = "read",
    cutoff: int = 0,
    block: int = BLOCK,
    servers: int = 8,
) -> Run:
    """Run a cache of so many *blocks* over a volume of so many; flash and disk take the same time for every request."""
    builder = PlantBuilder(1)
    flash = add_server(builder, "flash", servers, FLASH_NS)
    disk = add_server(builder, "disk", servers, DISK_NS)
    caching = Caching(mode, block, cutoff)
    cache = add_flash_cache(builder, "cache", caching, flash, blocks * block, disk, of * block)
    times, op, offsets, lengths = fed
    return run(builder, commands(times, cache, op, offsets, lengths))


def apart(count: int) -> NDArray[np.int64]:
    return np.arange(count, dtype=np.int64) * APART_NS


def requests_at(found: Run, station: int) -> int:
    return int(found.plant.stations["finished"][station])


def naive_lru(blocks: list[list[int]], places: int) -> tuple[list[int], int]:
    """How many blocks of each read are there, and how many come in: all that are not, for those used longest ago."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits, taken = [], 0
    for wanted in blocks:
        there = [block for block in wanted if block in cache]
        for block in there:
            cache.move_to_end(block)
        for block in wanted:
            if block not in cache:
                if len(cache) == places:
                    cache.popitem(last=False)
                cache[block] = None
                taken += 1
        hits.append(len(there))
    return hits, taken


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 90), st.integers(1, 5))
def test_hits_are_those_of_a_naive_lru(seed: int, places: int, span: int, longest: int) -> None:
    generator = np.random.default_rng(seed)
    count, span = 300, max(span, longest)
    lengths = generator.integers(1, longest + 1, count)
    firsts = (generator.power(0.5, count) * (span - lengths + 1)).astype(np.int64)
    found = run_cache((apart(count), READ, firsts * BLOCK, lengths * BLOCK), blocks=places, of=span)
    hits, taken = naive_lru(
        [list(range(first, first + n)) for first, n in zip(firsts, lengths, strict=True)], min(places, span)
    )
    figures = cache_figures(found.plant, 0)
    assert figures["read_hit_ratio"] == sum(hits) / lengths.sum()
    whole = np.array(hits) == lengths
    # a hit in two pieces of flash ends with both, which are served at the same time
    assert (found.latency_ns[whole] == PASS_NS + FLASH_NS).all()
    assert (found.latency_ns[~whole] == PASS_NS + DISK_NS).all()
    assert figures["promoted_bytes"] == taken * BLOCK


@needs_jit
def test_uniform_reads_hit_with_the_share_that_is_cached() -> None:
    count, places, span = 60_000, 300, 1000
    offsets = np.random.default_rng(1).integers(0, span, count) * BLOCK
    found = run_cache((apart(count), READ, offsets, BLOCK), blocks=places, of=span)
    warm = found.latency_ns[10_000:] == PASS_NS + FLASH_NS
    assert warm.mean() == pytest.approx(places / span, abs=4 * np.sqrt(0.3 * 0.7 / warm.size))
    filled_ns = cache_figures(found.plant, 0)["filled_ns"]
    first_use = np.sort(np.unique(offsets, return_index=True)[1])
    assert filled_ns == apart(count)[first_use[places - 1]] + PASS_NS + DISK_NS


@needs_jit
def test_zipf_reads_hit_as_ches_approximation_says() -> None:
    """Che, Tung, Wang, "Hierarchical Web Caching Systems" (2002): hit ratio sum p (1 - exp(-p T)), where T fills the
    cache.
    """
    count, places, span = 120_000, 500, 5000
    shares = 1 / np.arange(1, span + 1) ** 0.9
    shares /= shares.sum()
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-shares * middle)).sum() < places else (low, middle)
    expected = (shares * (1 - np.exp(-shares * low))).sum()
    offsets = np.random.default_rng(1).choice(span, count, p=shares) * BLOCK
    found = run_cache((apart(count), READ, offsets, BLOCK), blocks=places, of=span)
    warm = found.latency_ns[20_000:] == PASS_NS + FLASH_NS
    assert warm.mean() == pytest.approx(expected, rel=0.01)


def test_a_cache_as_large_as_the_volume_misses_each_block_once() -> None:
    offsets = np.tile(np.arange(50), 4) * BLOCK
    found = run_cache((apart(200), READ, offsets, BLOCK), blocks=1000, of=50)
    assert cache_figures(found.plant, 0)["read_hit_ratio"] == 0.75
    assert requests_at(found, DISK) == 50


def test_writes_without_write_back_end_on_the_disk_and_on_flash_where_the_block_is() -> None:
    op = [WRITE, READ, READ, WRITE, READ]
    found = run_cache((apart(5), op, 0, BLOCK), blocks=4, of=10)
    disk, flash = PASS_NS + DISK_NS, PASS_NS + FLASH_NS
    assert found.latency_ns.tolist() == [disk, disk, flash, disk, flash]  # a write alone brings nothing into the cache
    assert requests_at(found, DISK) == 3
    assert requests_at(found, FLASH) == 1 + 2 + 1  # the promotion, two hits, one write
    assert cache_figures(found.plant, 0)["write_hit_ratio"] is None


def test_write_back_absorbs_rewrites() -> None:
    """4 blocks written again and again: flash takes all, and no more than 4 are ever dirty."""
    count = 400
    found = run_cache((apart(count), WRITE, np.arange(count) % 4 * BLOCK, BLOCK), blocks=50, of=100, mode="write-back")
    assert (found.latency_ns == PASS_NS + FLASH_NS).all()
    assert requests_at(found, DISK) == 0
    figures = cache_figures(found.plant, 0)
    assert (figures["write_hit_ratio"], figures["dirty_bytes"], figures["written_back_bytes"]) == (1.0, 4 * BLOCK, 0)


def test_what_is_dirty_beyond_a_tenth_is_written_back_oldest_first() -> None:
    """Blocks far apart, written once each: all but the last ten of a hundred places are written
    back, each by itself.
    """
    count = 60
    found = run_cache((apart(count), WRITE, np.arange(count) * 2 * BLOCK, BLOCK), blocks=100, of=200, mode="write-back")
    figures = cache_figures(found.plant, 0)
    # the last one began when the last write came, and was not over when that was done
    assert figures["dirty_bytes"] == 11 * BLOCK
    assert figures["written_back_bytes"] == (count - 11) * BLOCK
    assert requests_at(found, DISK) == count - 11
    again = run_cache(
        (apart(count + 1), [*[WRITE] * count, READ], [*np.arange(count) * 2 * BLOCK, 0], BLOCK),
        blocks=100, of=200, mode="write-back",
    )  # fmt: skip
    assert again.latency_ns[-1] == PASS_NS + FLASH_NS  # it is clean, and still there


def test_what_is_written_while_it_is_written_back_is_dirty_again() -> None:
    """One block of ten may be dirty. The second write has the first written back, during which
    that is written again.
    """
    times, blocks = [0, DISK_NS // 5, DISK_NS // 2, APART_NS], np.array([0, 5, 0, 0])
    fed = (times, [WRITE, WRITE, WRITE, READ], blocks * BLOCK, BLOCK)
    found = run_cache(fed, blocks=10, of=100, mode="write-back")
    figures = cache_figures(found.plant, 0)
    assert (figures["written_back_bytes"], figures["dirty_bytes"]) == (2 * BLOCK, BLOCK)


def test_neighbours_are_written_back_together() -> None:
    count = 60
    found = run_cache(([0] * count, WRITE, np.arange(count) * BLOCK, BLOCK), blocks=100, of=200, mode="write-back")
    waited = run_cache(
        ([*[0] * count, APART_NS], [*[WRITE] * count, READ], [*np.arange(count) * BLOCK, 0], BLOCK),
        blocks=100, of=200, mode="write-back",
    )  # fmt: skip
    assert cache_figures(found.plant, 0)["dirty_bytes"] == count * BLOCK
    assert cache_figures(waited.plant, 0)["written_back_bytes"] >= 50 * BLOCK
    assert requests_at(waited, DISK) < 50


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 120), st.sampled_from([BLOCK // 8, BLOCK, 3 * BLOCK]))
def test_dirty_blocks_are_accounted_for(seed: int, places: int, span: int, length: int) -> None:
    """By the states of the places: each block is in one place, lists hold what they should, and the sums are right."""
    generator = np.random.default_rng(seed)
    count = 400
    times = np.cumsum(generator.exponential(DISK_NS / 3, count)).astype(np.int64)
    op = generator.choice([READ, WRITE, FLUSH], count, p=[0.4, 0.55, 0.05])
    offsets = generator.integers(0, max(span * BLOCK - length, 1), count) // 512 * 512
    fed = (times, op, np.where(op == FLUSH, 0, offsets), np.where(op == FLUSH, 0, length))
    found = run_cache(fed, blocks=places, of=span, mode="write-back")
    row = found.plant.flash_caches[0]
    used = found.plant.cached_blocks[2 : 2 + row["used"]]
    dirty = np.isin(used["state"], [DIRTY, CLEANING, REDIRTIED])
    assert (used["state"] == DIRTY).sum() == row["dirty"]
    assert np.isin(used["state"], [CLEANING, REDIRTIED]).sum() == row["cleaning"]
    assert cache_figures(found.plant, 0)["dirty_bytes"] == dirty.sum() * BLOCK
    blocks = used["block"][used["block"] != NONE]
    assert len(set(blocks.tolist())) == len(blocks)
    for state in (0, DIRTY):  # both rings, from the oldest to the youngest and back
        onward, place = [], found.plant.cached_blocks[state]["newer"]
        while place != state and place != 0:
            onward.append(int(place))
            place = found.plant.cached_blocks[place]["newer"]
        assert sorted(onward) == (np.flatnonzero(used["state"] == state) + 2).tolist()


def test_writes_go_to_the_disk_while_no_clean_block_is_left() -> None:
    """100 writes at once into 10 places: what finds no place runs at the disk's speed."""
    found = run_cache((np.zeros(100), WRITE, np.arange(100) * 2 * BLOCK, BLOCK), blocks=10, of=200, mode="write-back")
    assert cache_figures(found.plant, 0)["write_hit_ratio"] == 0.1
    assert (found.latency_ns >= PASS_NS + DISK_NS).sum() == 90


def test_what_covers_a_block_in_part_brings_all_of_it() -> None:
    """512 bytes of a block of 4 KiB: the disk reads them, then the block; the next read of any part of it is a hit."""
    found = run_cache((apart(2), READ, [512, 2048], 512), blocks=4, of=10)
    assert found.latency_ns.tolist() == [PASS_NS + DISK_NS, PASS_NS + FLASH_NS]
    assert requests_at(found, DISK) == 2
    assert cache_figures(found.plant, 0)["promoted_bytes"] == BLOCK
    written = run_cache((apart(3), [WRITE, WRITE, READ], [512, 2048, 0], 512), blocks=100, of=200, mode="write-back")
    assert written.latency_ns.tolist() == [PASS_NS + DISK_NS, PASS_NS + FLASH_NS, PASS_NS + FLASH_NS]


def test_a_write_makes_a_promotion_under_way_void() -> None:
    during = PASS_NS + DISK_NS + DISK_NS // 2  # the block is being read
    found = run_cache(([0, during, APART_NS], [READ, WRITE, READ], [0, 512, 0], 512), blocks=4, of=10)
    assert found.latency_ns.tolist() == [PASS_NS + DISK_NS] * 3
    assert cache_figures(found.plant, 0)["promoted_bytes"] == 0


def test_a_long_request_hits_in_part() -> None:
    found = run_cache((apart(2), READ, [BLOCK, 0], [BLOCK, 4 * BLOCK]), blocks=8, of=10)
    assert cache_figures(found.plant, 0)["read_hit_ratio"] == 1 / 5
    # block 0 and blocks 2 to 3 from the disk, block 1 from flash
    assert requests_at(found, DISK) == 1 + 2
    assert found.latency_ns[1] == PASS_NS + DISK_NS


def test_a_request_of_very_many_blocks_comes_whole_into_the_cache() -> None:
    length = 700 * BLOCK
    found = run_cache((apart(2), READ, 0, length), blocks=1000, of=1000)
    assert cache_figures(found.plant, 0)["read_hit_ratio"] == 0.5
    assert found.latency_ns.tolist() == [PASS_NS + 3 * DISK_NS, PASS_NS + 3 * FLASH_NS]


def test_sequential_streams_pass_by() -> None:
    """Two interleaved streams of 16 blocks with a cutoff of 8: the first 7 of each come into the cache, the rest does
    not.
    """
    blocks = np.stack([np.arange(16), 100 + np.arange(16)], axis=1).ravel()
    found = run_cache((apart(32), READ, blocks * BLOCK, BLOCK), blocks=50, of=200, cutoff=8 * BLOCK)
    assert cache_figures(found.plant, 0)["promoted_bytes"] == 2 * 7 * BLOCK
    found = run_cache((apart(32), READ, blocks * BLOCK, BLOCK), blocks=50, of=200)
    assert cache_figures(found.plant, 0)["promoted_bytes"] == 2 * 16 * BLOCK
    written = run_cache(
        (apart(32), WRITE, blocks * BLOCK, BLOCK), blocks=50, of=200, cutoff=8 * BLOCK, mode="write-back"
    )
    assert cache_figures(written.plant, 0)["write_hit_ratio"] == 14 / 32


def test_a_flush_goes_to_both_and_a_discard_to_the_disk() -> None:
    found = run_cache((apart(2), [FLUSH, DISCARD], 0, [0, BLOCK]), blocks=4, of=10, mode="write-back")
    assert found.latency_ns.tolist() == [PASS_NS + DISK_NS] * 2
    assert (requests_at(found, FLASH), requests_at(found, DISK)) == (1, 2)


def test_the_end_of_a_volume_that_is_no_whole_block_is_not_cached() -> None:
    builder = PlantBuilder(1)
    flash, disk = add_server(builder, "flash", 1, FLASH_NS), add_server(builder, "disk", 1, DISK_NS)
    caching = Caching("write-back", BLOCK, 0)
    cache = add_flash_cache(builder, "cache", caching, flash, 10 * BLOCK, disk, 2 * BLOCK + 512)
    found = run(builder, commands(apart(3), cache, [READ, WRITE, READ], 2 * BLOCK, 512))
    assert found.latency_ns.tolist() == [PASS_NS + DISK_NS] * 3


def test_memory_is_taken_for_what_is_used() -> None:
    """The table of 33 million blocks is there at once; a run touches little of it."""
    builder = PlantBuilder(1)
    flash, disk = add_server(builder, "flash", 1, FLASH_NS), add_server(builder, "disk", 1, DISK_NS)
    cache = add_flash_cache(builder, "cache", Caching("read", BLOCK, 0), flash, 2**40, disk, 2**37)
    offsets = np.arange(1000) * BLOCK
    found = run(builder, commands(apart(1000), cache, READ, offsets, BLOCK))
    assert len(found.plant.cached_blocks) == 2**37 // BLOCK + 2
    assert cache_figures(found.plant, 0)["used_bytes"] == 1000 * BLOCK
