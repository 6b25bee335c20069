"""A file system: what lies between a flush of the database and one of the device."""

from typing import Literal

from tiersim.devices.host.gate import add_gate
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import FILES, NONE, PASS_ON_NS

#: Whether a flush waits for the writes that the volume accepted before it.
Journal = Literal["none", "ordered"]


def add_files(builder: PlantBuilder, name: str, below: int, overhead_ns: int, journal: Journal) -> int:
    """Put a file system over station *below* into the plant and return its station.

    Every flush takes *overhead_ns* before it goes down. One flush is under way at a time; those that come meanwhile
    share the next one, as in Linux (block/blk-flush.c: "only one flush shall be in progress", and all that are pending
    go with the next).
    """
    row = builder.row(
        "files",
        overhead_ns=max(overhead_ns, PASS_ON_NS),
        ordered=int(journal == "ordered"),
        oldest_write=NONE,
        youngest_write=NONE,
        flushes=builder.queue(),
        below=below,
        flush_below=add_gate(builder, f"{name}.flushes", 1, below, joins_flushes=True),
    )
    return builder.station(FILES, row, f"{name}.files", {}, children=1)
