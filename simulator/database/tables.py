"""The arrays that a simulated database lives in; the engines and their kernels share them, as they share a plant's."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Kinds of station besides those of the devices, see :mod:`tiersim.simulator.station`.
PROCESSORS, BUFFER_POOL = 16, 17

#: What a demand asks for, in the order of the codes:
#: COMPUTE a share of the statement's CPU; LOOKUP a row, through its index; AGAIN the row that the session looked up last in the
#: same table; LOG bytes written, and made durable.
COMPUTE, LOOKUP, AGAIN, LOG = range(4)

#: What a statement waits for before it starts: its recorded time, or its session.
CLOCK, OWN = range(2)

#: Where the row of a rank lies: anywhere, and elsewhere in the index; anywhere, in both alike; so far from the end of both.
INDEPENDENT, ALIKE, RECENT = range(3)

#: State of a frame of the pool.
FREE, READING, VALID = range(3)

#: A slice of CPU is no longer; so many pages are referred to before one is charged.
SLICE_NS = 1_000_000
BURST = 64


def _record(*names: str, indices: tuple[str, ...] = ()) -> np.dtype[Any]:
    return np.dtype([(name, np.uint32 if name in indices else np.int64) for name in names], align=True)


SESSION = _record(
    "next",  # statement that it runs, or will
    "end",  # behind its last
    "running",
    "demand",  # of the running statement
    "reference",  # pages of the demand that were referred to
    "row",  # that the demand looks up
    "looked_up",  # the last row that the session looked up
    "charge_ns",  # CPU that was used and not charged yet
    "missing",  # page that it has to wait for, or -1
    "dirties",  # it is to be changed when it is there
    "fetched",  # page that was asked for and is to be changed, or -1
    "log_phase",  # of a log demand: not begun, written, flushed
    "started_ns",  # of the running statement
    "transaction_ns",  # when its transaction began, or -1
    "ended_ns",  # when its last statement ended
    indices=("next", "end"),
)

DEMAND = _record("kind", "table", "dirties", "share", "log_bytes")

#: A request that a session asks for.
ASKED = _record("station", "op", "offset_bytes", "length_bytes", "category", indices=("station",))

#: Places in ``pool_state``: the hand of the sweep, frames that were never used, the queue of what may start, whether frames ran out.
HAND, UNUSED, READY = range(3)
#: Places in ``costs``, ns of CPU: a page that is looked up, a page that is read into the pool, one that is evicted dirty.
PAGE_NS, READ_NS, DIRTY_NS = range(3)
#: Places in ``log_state``.
LOG_POSITION, LOG_BYTES = range(2)


class Database(NamedTuple):
    """Sessions, their statements, and what these run on."""

    sessions: NDArray[Any]  # SESSION
    asked: NDArray[Any]  # ASKED, one for each session
    # by statement, those of a session together and in order
    statement_class: NDArray[np.int32]
    waits_for: NDArray[np.uint8]
    start_ns: NDArray[np.int64]  # recorded
    think_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    begins: NDArray[np.uint8]  # 1: a transaction begins with it
    ends: NDArray[np.uint8]
    done_ns: NDArray[np.int64]  # written while time moves
    # by class
    first_demand: NDArray[np.int64]  # (classes + 1,)
    demands: NDArray[Any]  # DEMAND
    # by table, see tiersim.simulator.popularity
    rows: NDArray[np.int64]
    ordered: NDArray[np.int64]  # INDEPENDENT, ALIKE, RECENT
    first_level: NDArray[np.int64]  # (tables + 1,)
    level_start: NDArray[np.int64]  # (levels,): first page
    level_pages: NDArray[np.int64]
    level_station: NDArray[np.uint32]
    law: NDArray[np.int64]  # (tables + 1,)
    reach: NDArray[np.int64]
    first_rank: NDArray[np.int64]
    # the pool
    frame_of: NDArray[np.uint32]  # (pages,): frame + 1; 0 when a page is in none
    page_of: NDArray[np.int64]  # (frames,)
    state: NDArray[np.uint8]
    used: NDArray[np.uint8]
    dirty: NDArray[np.uint8]
    chain: NDArray[np.uint32]  # slots that wait for the page of a frame
    pool_state: NDArray[np.int64]
    # processors
    cores: NDArray[np.int64]  # (1,)
    in_service: NDArray[np.int64]  # (1,)
    cpu_queue: NDArray[np.int64]  # (1,)
    slowdown: NDArray[np.int64]  # (cores + 1,): of a slice when so many cores are busy with it, in thousandths
    stations: NDArray[np.uint32]  # processors, buffer pool, log
    costs: NDArray[np.int64]
    log_state: NDArray[np.int64]
    page_bytes: NDArray[np.int64]  # (1,)
    seed: NDArray[np.int64]  # (1,)
