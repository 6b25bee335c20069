"""What a database asks of its volumes, noted as each of these requests leaves: a block trace of a run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel
from tiersim.simulator.metrics import TAP, Metrics

#: Rows that a run begins with; one with more requests is run again with room for all.
FIRST_TAPS = 1 << 20
#: What is noted of who asked, when nobody did: background work.
NOBODY = -1


def tapped(m: Metrics, stations: NDArray[np.int64], rows: int = FIRST_TAPS) -> Metrics:
    """Return metrics that note the requests to *stations*, the first *rows* to leave."""
    return m._replace(tapped=stations.astype(np.int64), taps=np.zeros(rows, TAP), tap_count=np.zeros(1, np.int64))


def rows_of(m: Metrics) -> NDArray[Any] | None:
    """Return the requests that were noted, in the order in which they came; None if there was no room for all."""
    count = int(m.tap_count[0])
    if count > len(m.taps):
        return None
    found = m.taps[:count]
    ordered: NDArray[Any] = found[np.argsort(found["came_ns"], kind="stable")]
    return ordered


@kernel
def note_tapped(p: Plant, m: Metrics, slot: int, now: int) -> None:
    """A request leaves its station: note it, if the station is one of those that are watched."""
    request = p.requests[slot]
    for place in range(m.tapped.size):
        if m.tapped[place] == request["station"]:
            number = m.tap_count[0]
            m.tap_count[0] = number + 1
            if number < m.taps.size:
                write_tap(p, m, place, slot, number, now)


@kernel
def write_tap(p: Plant, m: Metrics, place: int, slot: int, number: int, now: int) -> None:
    """Write a row of ``taps``."""
    request, row = p.requests[slot], m.taps[number]
    whole = slot
    while p.requests[whole]["parent"] != NONE:
        whole = int(np.int64(p.requests[whole]["parent"]))
    row["came_ns"] = request["accepted_ns"]
    row["done_ns"] = now
    row["offset_bytes"] = request["offset_bytes"]
    row["length_bytes"] = request["length_bytes"]
    row["op"] = request["op"]
    row["place"] = place
    row["asked_by"] = NOBODY
    row["category"] = NOBODY
    if p.requests[whole]["row"] != NONE:
        row["asked_by"] = int(np.int64(p.requests[whole]["stream"]))
        row["category"] = int(np.int64(p.requests[whole]["category"]))
    row["through"] = NOBODY
    if request["parent"] != NONE:
        row["through"] = int(np.int64(p.requests[request["parent"]]["station"]))
