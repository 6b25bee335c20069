"""Two volumes as one whose busiest extents move to the faster: like FAST VP, Easy Tier, or Storage Spaces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import NONE, TIERS, Plant
from tiersim.devices.tiering.tiers_kernels import DECAY_BITS, EXTENTS_AT_ONCE
from tiersim.units import NS_PER_S

#: An access counts half after this time. Source: Dell KB 000019457, FAST VP theory of operation: after approximately 24
#: hours.
_HALF_LIFE_NS = 24 * 3600 * NS_PER_S
#: Extents are copied in pieces of this length. Source: Linux drivers/md/dm-kcopyd.c, DEFAULT_SUB_JOB_SIZE_KB.
COPY_BYTES = 512 << 10


@dataclass(frozen=True)
class Migration:
    """How extents move; ``docs/tiers.md`` says what each means."""

    extent_bytes: int
    interval_ns: int
    rate_bytes_per_s: int


def tiers_capacity_bytes(fast_bytes: int, slow_bytes: int, extent_bytes: int) -> int:
    """What can be stored in both tiers: all whole extents but the one whose place is free for moves; 0 or less:
    nothing.
    """
    return (fast_bytes // extent_bytes + slow_bytes // extent_bytes - 1) * extent_bytes


def add_tiers(
    builder: PlantBuilder, name: str, migration: Migration, fast: int, fast_bytes: int, slow: int, slow_bytes: int
) -> int:
    """Put two tiers into the plant and return the station of both; the extents begin in the slow one as far as they
    fit.
    """
    size = migration.extent_bytes
    fast_places, slow_places = fast_bytes // size, slow_bytes // size
    extents = np.arange(fast_places + slow_places - 1)
    # the first extents lie in the slow tier, the rest in the first places of the fast one; its last place is free
    place = np.where(extents < slow_places, extents + fast_places, extents - slow_places)
    extent = np.full(fast_places + slow_places, NONE, np.int64)
    extent[place] = extents
    row = builder.row(
        "tiers",
        fast=fast,
        slow=slow,
        extent_bytes=size,
        fast_places=fast_places,
        places=fast_places + slow_places,
        place=builder.table(place),
        extent=builder.table(extent),
        heat=builder.table(np.zeros(len(extents), np.int64)),
        accesses=builder.table(np.zeros(len(extents), np.int64)),
        interval_ns=migration.interval_ns,
        decay=round(2 ** (DECAY_BITS - migration.interval_ns / _HALF_LIFE_NS)),
        copy_bytes=COPY_BYTES,
        copy_ns=COPY_BYTES * NS_PER_S // migration.rate_bytes_per_s,
        moving=NONE,
    )
    # two for each extent that is written to, and the clock
    return builder.station(TIERS, row, name, {}, children=2 * EXTENTS_AT_ONCE + 1)


def tiers_figures(plant: Plant, row: int) -> dict[str, Any]:
    """What tiers did in a run: the share of the first one by bytes, None if there were none; bytes that moved."""
    t = plant.tiers[row]
    return {
        "fast_share": int(t["fast_bytes"]) / int(t["all_bytes"]) if t["all_bytes"] else None,
        "moved_bytes": int(t["moved_bytes"]),
    }
