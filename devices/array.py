"""Arrays: a controller station over its members."""

from collections.abc import Sequence
from typing import Literal

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import ARRAY

Layout = Literal["single", "raid0", "raid10"]
#: Members that hold the same data.
COPIES: dict[Layout, int] = {"single": 1, "raid0": 1, "raid10": 2}


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


def usable_bytes(member_bytes: int, count: int, layout: Layout, stripe_bytes: int) -> int:
    """Capacity of an array: whole stripe units of each member, once for each column."""
    if layout == "single":
        return member_bytes
    return member_bytes // stripe_bytes * stripe_bytes * (count // COPIES[layout])
