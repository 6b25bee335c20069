"""What a server reads and writes beside its clients, in front of a volume."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.host.upkeep_kernels import MILLION
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import UPKEEP

#: At most so many pages of a run are read at once.
MOST_DEPTH = 64


@dataclass(frozen=True)
class Upkeep:
    """So many pages are read for each that clients read, *run_pages* behind each other and *depth* at a time, and so
    many are written for each of these. A page of a run takes *page_ns* besides. The share *begun* of a run is owed at
    the start.
    """

    reads: float
    writes: float
    run_pages: int = 1
    depth: int = 1
    page_ns: int = 0
    begun: float = 0.5


def resize_runs(upkeeps: NDArray[Any], share: float) -> None:
    """Let only a *share* of the pages of a run be read; the work on all of them stays."""
    pages = np.maximum(np.rint(upkeeps["run"] * share), 1)
    upkeeps["page_ns"] = upkeeps["page_ns"] * upkeeps["run"] / pages
    upkeeps["owed_reads"] = upkeeps["owed_reads"] * pages / upkeeps["run"]
    upkeeps["run"] = pages


def add_upkeep(builder: PlantBuilder, name: str, upkeep: Upkeep, page_bytes: int, room_bytes: int, below: int) -> int:
    """Put the upkeep of a server before station *below* into the plant and return the station that requests pass.

    Its pages lie anywhere in the first *room_bytes*.
    """
    depth, writes = min(upkeep.depth, MOST_DEPTH), round(upkeep.writes * MILLION)
    row = builder.row(
        "upkeeps",
        below=below,
        reads=round(upkeep.reads * MILLION),
        writes=writes,
        run=upkeep.run_pages,
        depth=depth,
        size_bytes=page_bytes,
        places=max(room_bytes // page_bytes, 1),
        entity=len(builder.stations),
        page_ns=upkeep.page_ns,
        owed_reads=upkeep.run_pages * page_bytes * round(upkeep.begun * MILLION),
    )
    return builder.station(UPKEEP, row, name, {}, children=2 + max(depth, writes // MILLION))
