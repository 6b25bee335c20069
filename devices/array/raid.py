"""Arrays: a controller station over its members."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tiersim.devices.array.parity_kernels import LOCKS, ROWS_AT_ONCE
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import ARRAY, NEVER, NONE, PARITY, REBUILD, STRIPES
from tiersim.units import NS_PER_S

Layout = Literal["single", "jbod", "raid0", "raid1", "raid10", "raid5", "raid6"]
#: Which copy reads: the one with the fewest outstanding requests, or as Linux md chooses among rotating disks.
ReadBalance = Literal["fewest", "nearest"]
#: Units of parity in a row of stripe units.
PARITIES: dict[Layout, int] = {"raid5": 1, "raid6": 2}
#: What one step of a rebuild reads of a member. Linux md has 2 MiB under way (drivers/md/raid1.c, RESYNC_WINDOW); here
#: it is two steps, one that reads and one that writes.
STEP_BYTES = 1 << 20
_SECTOR_BYTES = 512


@dataclass(frozen=True)
class Rebuild:
    """Replacements that are being filled from the other members."""

    members: tuple[int, ...]
    bytes_per_s: int  # for each replacement
    filled_bytes: int  # what they hold at the start
    member_bytes: int  # what they hold at the end


def copies_of(layout: Layout, count: int) -> int:
    """How many of *count* members hold the same data."""
    return count if layout == "raid1" else 2 if layout == "raid10" else 1


def unit_bytes(layout: Layout, member_bytes: int, stripe_bytes: int) -> int:
    """Length of a stripe unit: of JBOD and RAID 1, which are not striped, a whole member."""
    return member_bytes // _SECTOR_BYTES * _SECTOR_BYTES if layout in ("jbod", "raid1") else stripe_bytes


def problem_with(layout: Layout, count: int) -> str | None:
    """Say why *count* devices cannot form *layout*, or None."""
    if layout == "single" and count > 1:
        return f'count = {count} devices need a layout; write layout = "raid0" or "raid10"'
    if layout == "raid10" and count % 2:
        return f'layout = "{layout}" needs an even count, not {count}'
    least = PARITIES[layout] + 2 if layout in PARITIES else 2 if layout == "raid1" else 1
    return f'layout = "{layout}" needs a count of {least} or more, not {count}' if count < least else None


def loss_of(layout: Layout, count: int, failed: Collection[int]) -> str | None:
    """Say why *layout* of *count* devices cannot go on without those that *failed*, or None."""
    lost = sorted(set(failed))
    if len(lost) < len(failed):
        return f"{list(failed)} names a member twice; name it once"
    if lost and not 0 <= lost[0] <= lost[-1] < count:
        return f"the members of {count} devices are 0 to {count - 1}, not {list(failed)}; correct the number"
    if layout in PARITIES:
        most = PARITIES[layout]
        survives = f'layout = "{layout}" survives the loss of {most}, not of {len(lost)}; leave others out'
        return survives if len(lost) > most else None
    copies = copies_of(layout, count)
    if lost and copies == 1:
        return f'layout = "{layout}" has no second copy of what was on {lost}; leave failed out'
    for first in range(0, count, copies):
        own = [member for member in lost if first <= member < first + copies]
        if len(own) == copies:
            return f'members {own} of layout = "{layout}" hold all copies of their data; leave one of them out'
    return None


def add_array(
    builder: PlantBuilder,
    members: Sequence[int],
    layout: Layout,
    stripe_bytes: int,
    overhead_ns: int,
    name: str,
    rebuild: Rebuild | None = None,
    read_balance: ReadBalance = "fewest",
) -> int:
    """Put an array over *members* (stations of equal drives, NONE for one that has failed) into the plant; return its
    station.

    In RAID 10 members 2i and 2i + 1 are mirrors. *overhead_ns* passes before the members get their requests.
    *stripe_bytes* is the length of a unit (:func:`unit_bytes`). Members of a *rebuild* are replacements.
    """
    parities = PARITIES.get(layout, 0)
    copies = copies_of(layout, len(members))
    columns = len(members) // copies
    replaced = rebuild.members if rebuild else ()
    # rows of parity are filled as a whole
    piece = stripe_bytes if parities else _SECTOR_BYTES
    start_bytes = rebuild.filled_bytes // piece * piece if rebuild else 0
    filled = [0 if m == NONE else start_bytes if i in replaced else NEVER for i, m in enumerate(members)]
    common = {
        "stripe_bytes": stripe_bytes,
        "members": len(members),
        "first_member": builder.table(members),
        "filled": builder.table(filled),
        "overhead_ns": overhead_ns,
        "rebuild": NONE,
    }
    if rebuild:
        group = len(members) if parities else copies
        common["rebuild"] = _add_rebuild(builder, rebuild, common, group, bool(parities), f"{name}.rebuild")
    if not parities:
        # the first read goes to copy 0
        last_read = builder.table([copies - 1] * columns)
        row = builder.row(
            "arrays",
            columns=columns,
            copies=copies,
            last_read=last_read,
            nearest=int(read_balance == "nearest"),
            ends=builder.table([-1] * len(members)),
            **common,
        )
        return builder.station(ARRAY, row, name, {}, children=len(members) + 1)
    row = builder.row(
        "parities",
        parities=parities,
        degraded=int(min(filled) < NEVER),
        last_part=builder.table([0] * len(members)),
        stripes=len(builder.stations),
        locks=builder.table(np.full(LOCKS, NONE)),
        ready=builder.queue(),
        **common,
    )
    # a read makes a child for each run between two units of parity, at most this many
    children = ROWS_AT_ONCE + 3 * len(members)
    builder.station(STRIPES, row, f"{name}.stripes", {"stripe lock": 1}, children=len(members))
    return builder.station(PARITY, row, name, {}, children=children)


def _add_rebuild(
    builder: PlantBuilder, rebuild: Rebuild, array: dict[str, int], group: int, parity: bool, name: str
) -> int:
    """Put the station that fills the replacements of an array into the plant and return it."""
    stripe_bytes = array["stripe_bytes"]
    step_bytes = max(STEP_BYTES // stripe_bytes, 1) * stripe_bytes if parity else STEP_BYTES
    row = builder.row(
        "rebuilds",
        members=array["members"],
        first_member=array["first_member"],
        filled=array["filled"],
        group=group,
        mirrored=int(not parity),
        end_bytes=rebuild.member_bytes // stripe_bytes * stripe_bytes,
        step_bytes=step_bytes,
        interval_ns=max(1, step_bytes * NS_PER_S // rebuild.bytes_per_s),
        waiting=NONE,
    )
    return builder.station(REBUILD, row, name, {}, children=array["members"] + 1)


def usable_bytes(member_bytes: int, count: int, layout: Layout, stripe_bytes: int) -> int:
    """Capacity of an array: whole stripe units of each member, once for each column that holds data."""
    if layout == "single":
        return member_bytes
    unit = unit_bytes(layout, member_bytes, stripe_bytes)
    return member_bytes // unit * unit * (count // copies_of(layout, count) - PARITIES.get(layout, 0))
