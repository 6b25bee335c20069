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

#: State of a frame of the pool.
FREE, READING, VALID = range(3)

#: Where the time of a statement goes: CPU as it was served (a slower core included), waiting for a core, waiting for pages,
#: of that the writing of a page that had to go first, waiting for the log, for rows that others have locked, for temp blocks.
SPENT = ("cpu", "cpu queue", "data read", "eviction", "log", "lock", "temp")
ON_CPU, FOR_CPU, FOR_READ, FOR_EVICTION, FOR_LOG, FOR_LOCK, FOR_TEMP = range(len(SPENT))

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
    "asked_ns",  # since when it waits
    "waits",  # what for, a place in SPENT
    "part_ns",  # of this wait: CPU that was served, or the writing of old pages
    "evicting_ns",  # since when its request writes an old page
    indices=("next", "end"),
)

DEMAND = _record("kind", "table", "dirties", "share", "log_bytes")

#: A request that a session asks for.
ASKED = _record("station", "op", "offset_bytes", "length_bytes", "category", indices=("station",))

#: Places in ``pool_state``: the hand of the sweep, frames that were never used, the queue of what may start, whether frames ran out.
HAND, UNUSED, READY = range(3)
#: Places in ``costs``: the fields of :class:`tiersim.simulator.database.costs.Costs`.
(
    LOOKUP_NS, PAGE_NS, SCAN_PAGE_NS, SCAN_ROW_NS, READ_NS, ASYNC_READ_NS, READ_PAGE_NS, SCAN_READ_NS, EVICT_CLEAN_NS,
    EVICT_DIRTY_NS, CHANGE_NS,
) = range(11)  # fmt: skip
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
    counted_from_ns: NDArray[np.int64]  # (1,): statements that start before are in no statistics
    spending: NDArray[np.int64]  # (sessions, SPENT): ns of the running statement
    spent: NDArray[np.int64]  # (classes, SPENT): ns, summed over the statements that have ended
    # by class
    category: NDArray[np.int64]  # its column of the metrics, behind FIRST_CLASS: several classes may be counted as one
    pages_read: NDArray[np.int64]  # into the pool, for statements that are counted
    first_demand: NDArray[np.int64]  # (classes + 1,)
    demands: NDArray[Any]  # DEMAND
    # by table, see tiersim.simulator.popularity
    rows: NDArray[np.int64]
    ordered: NDArray[np.int64]
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
