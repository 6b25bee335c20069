"""Arrays: a controller station over its members."""

from collections.abc import Sequence
from typing import Literal

from tiersim.devices.parity_kernels import LOCKS, ROWS_AT_ONCE
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import ARRAY, NONE, PARITY, STRIPES

Layout = Literal["single", "raid0", "raid10", "raid5", "raid6"]
#: Members that hold the same data.
COPIES: dict[Layout, int] = {"single": 1, "raid0": 1, "raid10": 2, "raid5": 1, "raid6": 1}
#: Units of parity in a row of stripe units.
PARITIES: dict[Layout, int] = {"single": 0, "raid0": 0, "raid10": 0, "raid5": 1, "raid6": 2}


def problem_with(layout: Layout, count: int) -> str | None:
    """Say why *count* devices cannot form *layout*, or None."""
    if layout == "single":
        return None if count == 1 else f'count = {count} devices need a layout; write layout = "raid0" or "raid10"'
    if count % COPIES[layout]:
        return f'layout = "{layout}" needs an even count, not {count}'
    least = PARITIES[layout] + 2 if PARITIES[layout] else 1
    return f'layout = "{layout}" needs a count of {least} or more, not {count}' if count < least else None


def add_array(
    builder: PlantBuilder,
    members: Sequence[int],
    layout: Layout,
    stripe_bytes: int,
    overhead_ns: int,
    name: str,
) -> int:
    """Put an array over *members* (stations of equal drives) into the plant and return its station.

    In RAID 10 members 2i and 2i + 1 are mirrors. *overhead_ns* passes before the members get their requests.
    """
    if PARITIES[layout]:
        return _add_parity_array(builder, members, PARITIES[layout], stripe_bytes, overhead_ns, name)
    copies = COPIES[layout]
    columns = len(members) // copies
    row = builder.row(
        "arrays",
        stripe_bytes=stripe_bytes,
        members=len(members),
        # behind the members: which copy of each column read last; the first read goes to copy 0
        first_member=builder.table([*members, *[copies - 1] * columns]),
        columns=columns,
        copies=copies,
        overhead_ns=overhead_ns,
    )
    return builder.station(ARRAY, row, name, {}, children=len(members))


def _add_parity_array(
    builder: PlantBuilder, members: Sequence[int], parities: int, stripe_bytes: int, overhead_ns: int, name: str
) -> int:
    """Put RAID 5 or 6 into the plant: a station for requests, and one for the rows that are written in part."""
    row = builder.row(
        "parities",
        stripe_bytes=stripe_bytes,
        members=len(members),
        parities=parities,
        # behind the members: which child each got last, while a read is cut into parts
        first_member=builder.table([*members, *[0] * len(members)]),
        overhead_ns=overhead_ns,
        stripes=len(builder.stations),
        locks=builder.table([NONE] * LOCKS),
        ready=builder.queue(),
    )
    # a read makes a child for each run between two units of parity, at most this many
    children = ROWS_AT_ONCE + 3 * len(members)
    builder.station(STRIPES, row, f"{name}.stripes", {"rows": 1}, children=len(members))
    return builder.station(PARITY, row, name, {}, children=children)


def usable_bytes(member_bytes: int, count: int, layout: Layout, stripe_bytes: int) -> int:
    """Capacity of an array: whole stripe units of each member, once for each column that holds data."""
    if layout == "single":
        return member_bytes
    return member_bytes // stripe_bytes * stripe_bytes * (count // COPIES[layout] - PARITIES[layout])
