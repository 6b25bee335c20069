"""Upkeep as a passive machine: pages that a server asks for beside those of its clients, so many for each of theirs, in
runs.

PostgreSQL's VACUUM and ANALYZE begin when so many rows have changed (postmaster/autovacuum.c), so what they read goes
with the work of the clients. A request passes at once. What clients read adds up to what the upkeep owes; when that is
a run of *run* pages, these are read, *depth* at a time, at random places, and so many are written for each. These are
background requests. One process works on the pages of a run, one after the other, and has the next read behind each.
It waits for a processor, and takes it from the clients.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import PASS_ON_NS, UPKEEP, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE
from tiersim.random_numbers import UPKEEP_PLACE, random_below

#: Shares are of so much.
MILLION = 1_000_000
#: Phases of a page that is read for a run.
_READING, _WORKED_ON = 1, 2


@kernel
def accept_upkeep(p: Plant, upkeep: int, slot: int, now: int) -> int:
    """Pass a request on; a read of a run when the process comes to it."""
    u = p.upkeeps[upkeep]
    if u["page_ns"] == 0 or not is_background(p, slot) or p.requests[slot]["op"] != READ:
        return now + PASS_ON_NS
    u["free_ns"] = max(u["free_ns"], now) + u["page_ns"]
    return int(u["free_ns"])


@kernel
def finish_upkeep(p: Plant, station: int, upkeep: int, slot: int) -> int:
    """Send a request on, and begin a run of the upkeep if one is owed; send a page of the upkeep on, and write one if
    that is owed.
    """
    u, request = p.upkeeps[upkeep], p.requests[slot]
    if is_background(p, slot):
        u["asked"] += 1
        place = random_below(u["places"], p.seed[0], UPKEEP_PLACE, u["entity"], u["asked"])
        made = add_child(p, 0, u["below"], request["op"], place * u["size_bytes"], u["size_bytes"])
        if request["op"] == READ:
            p.holds[slot]["phase"] = _READING
            u["owed_writes"] += u["writes"]
            while u["owed_writes"] >= MILLION and made < p.children.size:
                u["owed_writes"] -= MILLION
                made = add_background(p, made, station, WRITE, 0, 0)
        return made
    made = add_child(p, 0, u["below"], request["op"], request["offset_bytes"], request["length_bytes"])
    if request["op"] == READ:
        u["owed_reads"] += request["length_bytes"] * u["reads"]
    page = u["size_bytes"] * MILLION
    if u["left"] == 0 and u["owed_reads"] >= u["run"] * page:
        u["owed_reads"] -= u["run"] * page
        u["left"] = u["run"]
        for _ in range(min(u["depth"], u["run"])):
            made = _read_next(p, station, upkeep, made)
    return made


@kernel
def _read_next(p: Plant, station: int, upkeep: int, made: int) -> int:
    p.upkeeps[upkeep]["left"] -= 1
    return add_background(p, made, station, READ, 0, 0)


@kernel
def resume_upkeep(p: Plant, station: int, upkeep: int, slot: int) -> int:
    """Go on with a run behind a page that was read, and that a processor has worked on."""
    u, request = p.upkeeps[upkeep], p.requests[slot]
    if not is_background(p, slot) or request["op"] != READ:
        return 0
    if u["cpu_ns"] > 0 and p.holds[slot]["phase"] == _READING:
        p.holds[slot]["phase"] = _WORKED_ON
        return add_child(p, 0, u["processors"], READ, 0, u["cpu_ns"])
    return _read_next(p, station, upkeep, 0) if u["left"] > 0 else 0


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
