"""What a server reads and writes beside its clients, in front of a volume."""

from dataclasses import dataclass

from tiersim.devices.host.upkeep_kernels import MILLION, MOST_AT_ONCE
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import UPKEEP


@dataclass(frozen=True)
class Upkeep:
    """So many pages are read for each that clients read, and written for each that the server writes for them."""

    reads: float
    writes: float


def add_upkeep(
    builder: PlantBuilder, name: str, upkeep: Upkeep, page_bytes: int, room_bytes: int, below: int
) -> int:
    """Put the upkeep of a server before station *below* into the plant and return the station that requests pass.

    Its pages lie anywhere in the first *room_bytes*.
    """
    row = builder.row(
        "upkeeps",
        below=below,
        reads=round(upkeep.reads * MILLION),
        writes=round(upkeep.writes * MILLION),
        size_bytes=page_bytes,
        places=max(room_bytes // page_bytes, 1),
        entity=len(builder.stations),
    )
    return builder.station(UPKEEP, row, name, {}, children=MOST_AT_ONCE + 1)
