"""A flash volume that caches a slower one: like bcache, dm-cache, flashcache, or the cache of a controller."""

from dataclasses import dataclass
from typing import Any, Literal

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import FLASH_CACHE, NONE, Plant
from tiersim.devices.tiering.flash_cache_kernels import BLOCKS_AT_ONCE, MOST_COPIES, STREAMS

CacheMode = Literal["read", "write-back"]
#: The table of blocks has to fit into memory; it takes 24 bytes for each, once it is used.
_MOST_BLOCKS = 1 << 28
#: Share of the cache that may be dirty without being written back. Source: bcache's writeback_percent
#: (drivers/md/bcache/writeback.c, bch_cached_dev_writeback_init).
_DIRTY_PERCENT = 10


@dataclass(frozen=True)
class Caching:
    """How a volume caches another; ``docs/tiers.md`` says what each means."""

    mode: CacheMode
    block_bytes: int
    sequential_cutoff_bytes: int


def problem_with_cache(flash_bytes: int, backing_bytes: int, block_bytes: int) -> str | None:
    """Say why a cache of these sizes cannot be, or None."""
    if flash_bytes < block_bytes:
        return "is larger than the volume; write less"
    if min(flash_bytes, backing_bytes) // block_bytes > _MOST_BLOCKS or backing_bytes // block_bytes >= NONE:
        return "makes more blocks than the table of them can hold; write more"
    return None


def add_flash_cache(
    builder: PlantBuilder, name: str, caching: Caching, flash: int, flash_bytes: int, backing: int, backing_bytes: int
) -> int:
    """Put a cache into the plant and return its station: volume *flash* holds blocks of volume
    *backing*; it is empty.
    """
    backing_blocks = backing_bytes // caching.block_bytes
    blocks = min(flash_bytes // caching.block_bytes, max(backing_blocks, 1))
    row = builder.row(
        "flash_caches",
        flash=flash,
        backing=backing,
        block_bytes=caching.block_bytes,
        blocks=blocks,
        backing_blocks=backing_blocks,
        first=builder.reserve("cached_blocks", blocks + 2),
        write_back=int(caching.mode == "write-back"),
        cutoff_bytes=caching.sequential_cutoff_bytes,
        streams=builder.table([-1, 0] * STREAMS),
        dirty_limit=flash_bytes // caching.block_bytes * _DIRTY_PERCENT // 100,
    )
    # at most: what the blocks before missed, these blocks, all copies that may be begun
    children = BLOCKS_AT_ONCE + BLOCKS_AT_ONCE + 1 + MOST_COPIES
    return builder.station(FLASH_CACHE, row, name, {}, children=children)


def cache_figures(plant: Plant, row: int) -> dict[str, Any]:
    """What a cache did in a run: hit ratios by bytes, None where there were none; sizes in bytes, times in ns."""
    c = {name: int(plant.flash_caches[row][name]) for name in plant.flash_caches.dtype.fields or ()}

    def ratio(hits: int, of: int) -> float | None:
        return hits / of if of else None

    return {
        "read_hit_ratio": ratio(c["read_hit_bytes"], c["read_bytes"]),
        "read_hit_ratio_since_full": ratio(
            c["read_hit_bytes"] - c["filled_read_hit_bytes"],
            (c["read_bytes"] - c["filled_read_bytes"]) * (c["filled_ns"] > 0),
        ),
        "write_hit_ratio": ratio(c["write_hit_bytes"], c["written_bytes"]) if c["write_back"] else None,
        "used_bytes": c["used"] * c["block_bytes"],
        "dirty_bytes": (c["dirty"] + c["cleaning"]) * c["block_bytes"],
        "promoted_bytes": c["promoted_bytes"],
        "written_back_bytes": c["written_back_bytes"],
        "filled_ns": c["filled_ns"] or None,
    }
