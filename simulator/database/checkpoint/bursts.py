"""SQL Server's checkpoints as a passive machine: automatic ones, which come in bursts, and indirect ones, which go on
and on.

An automatic checkpoint sweeps the pool in its own order and writes what was changed when it began, each page with its
neighbours (:mod:`tiersim.simulator.database.buffer_pool.gather_write`), without waiting for any, until so many pages
are under way as its target says; then it looks again every 5 ms (psssql, "SQL Server checkpoint (FlushCache)
outstanding I/O target"). Writes that take longer than 50 ms (20 ms before 2016) lower the target, others raise it again
(SQLCAT). By how much is not published: by an eighth each time, here, which takes 100 ms or so from one end to the other
of what error logs show (targets of 2 to 8,800 pages). The next begins one *interval* after the last has ended (recovery
interval; two checkpoints in an error log, J. Loureiro, "SQL Server checkpoint problems", are 59.99 s apart so), if
there was any log since.

An indirect checkpoint (target recovery time) goes round the pool once in *target_ns*, evenly, so that no page stays
changed for longer. The server goes by a list of changed pages and how many they are; what is written is the same, a
page at most once in that time.

Pages of a temporary database are passed by: nobody recovers them. At the end of a checkpoint the files that were
written to are flushed, which costs where a drive has a cache that loses power.

Background requests of the station to itself: FLUSH, the timer; READ, go on with the sweep; WRITE, a run of pages; FILL,
files.
"""

from dataclasses import dataclass

from tiersim.devices.plant import values_of
from tiersim.devices.requests import add_background, add_child
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.buffer_pool.gather_write import GATHERED, gather, last_position
from tiersim.simulator.database.buffer_pool.pages import is_temporary, station_of, volume_of
from tiersim.simulator.database.checkpoint.checkpointer import (
    BY_TIME,
    CHECKPOINTER_ROW,
    IDLE,
    SYNCING,
    checkpoint_row,
    note_begun,
)
from tiersim.simulator.database.database_state import AT_LOG, CHECKPOINT_PENDING, FILL, UNUSED, Database

#: What a run of pages waits for (``phase`` of its hold): nothing yet; the log; the pages.
_BEGINS, _LOGS, _WRITES = range(3)
#: How often the checkpoint looks whether it may write more, and how much its target moves then, as a part of itself.
_POLL_NS, _STEP = 5_000_000, 8
#: Most runs that one event posts: children are written to a table of fixed size.
MOST_RUNS = 64
#: How often an indirect checkpoint goes on.
_NAP_NS = 100_000_000


@dataclass(frozen=True)
class BurstCheckpoints:
    """Settings of automatic checkpoints, with the defaults of SQL Server 2016: recovery interval; ``most_pages`` is the
    highest target that a published error log shows, with which a run begins. ``slow_ns`` 0: the target stays.
    ``since_ns`` is how long before the run the last one ended.
    """

    interval_ns: int = 60_000_000_000
    slow_ns: int = 50_000_000
    most_pages: int = 8800
    gathered_pages: int = GATHERED
    since_ns: int = 0


@dataclass(frozen=True)
class IndirectCheckpoints:
    """Settings of indirect checkpoints: TARGET_RECOVERY_TIME."""

    target_ns: int = 60_000_000_000
    slow_ns: int = 50_000_000
    most_pages: int = 8800
    gathered_pages: int = GATHERED


@kernel
def accept_burst(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request: the timer waits until the next checkpoint is due, the sweep as long as it says."""
    d.holds[slot]["phase"] = _BEGINS
    if p.requests[slot]["op"] == FLUSH:
        return int(max(d.checkpointer[0]["due_ns"], now + PASS_ON_NS))
    if p.requests[slot]["op"] == READ:
        return int(now + max(p.requests[slot]["length_bytes"], PASS_ON_NS))
    return now + PASS_ON_NS


@kernel
def finish_burst(p: Plant, d: Database, slot: int) -> int:
    """Begin a checkpoint, go on with the sweep, or write a run."""
    c = d.checkpointer[0]
    request = p.requests[slot]
    if request["op"] == WRITE:
        return _write_run(p, d, slot)
    if request["op"] == FILL:
        return _sync_next(p, d, slot, 0)
    now = request["accepted_ns"] + max(request["length_bytes"], PASS_ON_NS)
    if request["op"] == FLUSH:
        now = max(c["due_ns"], request["accepted_ns"] + PASS_ON_NS)
        if not c["indirect"]:
            if d.log[0]["inserted"] == d.log[0]["redo"]:
                return _set_timer(p, d, now)
            _begin(d, now)
    elif request["length_bytes"] >= _POLL_NS:
        _move_target(d)
    if c["indirect"]:
        _allot(d, now)
    return _sweep(p, d, now)


@kernel
def resume_burst(p: Plant, d: Database, slot: int, now: int) -> int:
    """Go on after the log, the pages of a run, or a file."""
    c = d.checkpointer[0]
    request, hold = p.requests[slot], d.holds[slot]
    if request["op"] == FILL:
        return _sync_next(p, d, slot, now)
    if hold["phase"] == _LOGS:
        return _write_run(p, d, slot)
    c["outstanding_pages"] -= request["length_bytes"] // d.page_bytes[0]
    c["writes"] += 1
    c["latency_ns"] += now - request["accepted_ns"]
    return _sync_if_written(p, d, 0)


@kernel
def _begin(d: Database, now: int) -> None:
    """Note which pages a checkpoint is to write."""
    c = d.checkpointer[0]
    c["begun"] += 1
    row = note_begun(d, now, BY_TIME)
    pages = 0
    for frame in range(d.pool_state[UNUSED]):
        if d.dirty[frame] and not is_temporary(d, d.page_of[frame]):
            d.checkpoint_mark[d.page_of[frame]] = CHECKPOINT_PENDING
            pages += 1
    row["pages"] = pages
    c["pages"] = d.pool_state[UNUSED]


@kernel
def _allot(d: Database, now: int) -> None:
    """Let an indirect checkpoint come to as many frames as it should have come to since the last time."""
    c = d.checkpointer[0]
    frames = d.pool_state[UNUSED]
    due = frames * (now - c["started_ns"]) + c["processed"]  # times the time that once round takes
    c["pages"] = min(c["pages"] + due // c["timeout_ns"], frames)
    c["processed"] = due % c["timeout_ns"]
    c["started_ns"] = now


@kernel
def _set_timer(p: Plant, d: Database, now: int) -> int:
    """Let the next checkpoint begin one interval from now on."""
    c = d.checkpointer[0]
    c["due_ns"] = now + c["timeout_ns"]
    return add_background(p, 0, c["station"], FLUSH, 0, 0)


@kernel
def _move_target(d: Database) -> None:
    """Let fewer pages be under way if writes have been slow lately, else more."""
    c = d.checkpointer[0]
    if c["slow_ns"] == 0 or c["writes"] == 0:
        return
    step = max(c["target_pages"] // _STEP, 1)
    if c["latency_ns"] > c["slow_ns"] * c["writes"]:
        c["target_pages"] = max(c["target_pages"] - step, 1)
    else:
        c["target_pages"] = min(c["target_pages"] + step, c["most_pages"])
    c["writes"] = c["latency_ns"] = 0


@kernel
def _sweep(p: Plant, d: Database, now: int) -> int:
    """Go through frames, as many as are left (``pages``), and post writes of their pages, as many
    as may be under way.
    """
    c = d.checkpointer[0]
    made = 0
    while c["pages"] > 0:
        if c["outstanding_pages"] >= c["target_pages"]:
            return add_background(p, made, c["station"], READ, 0, _POLL_NS)
        if made == MOST_RUNS:
            return add_background(p, made, c["station"], READ, 0, 0)
        c["next"] %= d.pool_state[UNUSED]
        if _is_to_write(d, c["next"]):
            made = _post(p, d, made, d.page_of[c["next"]])
        c["next"] += 1
        c["pages"] -= 1
    if c["indirect"]:
        return add_background(p, made, c["station"], READ, 0, (now // _NAP_NS + 1) * _NAP_NS - now)
    c["state"] = SYNCING
    c["next"] = 0
    checkpoint_row(d)["written_ns"] = now
    return _sync_if_written(p, d, made)


@kernel
def _is_to_write(d: Database, frame: int) -> bool:
    """Tell whether the sweep writes the page of the frame that it has come to: of an indirect checkpoint any that is
    changed.
    """
    page = d.page_of[frame]
    if d.checkpointer[0]["indirect"]:
        return bool(d.dirty[frame] and not is_temporary(d, page))
    if page < 0:
        return False
    mark = d.checkpoint_mark[page]
    d.checkpoint_mark[page] = 0
    return bool(d.dirty[frame] and mark == CHECKPOINT_PENDING)


@kernel
def _post(p: Plant, d: Database, made: int, page: int) -> int:
    """Have a page written with its neighbours."""
    c = d.checkpointer[0]
    size = d.page_bytes[0]
    first, pages = gather(d, page, c["gathered_pages"])
    c["outstanding_pages"] += pages
    c["written_pages"] += pages
    if not c["indirect"]:
        checkpoint_row(d)["written_pages"] += pages
    return add_background(p, made, c["station"], WRITE, first * size, pages * size)


@kernel
def _write_run(p: Plant, d: Database, slot: int) -> int:
    """Write the pages of a run, the log up to them before."""
    request, hold = p.requests[slot], d.holds[slot]
    size = d.page_bytes[0]
    first = request["offset_bytes"] // size
    if hold["phase"] == _BEGINS:
        hold["phase"] = _LOGS
        position = last_position(d, first, request["length_bytes"] // size)
        if position > d.log[0]["flushed"]:
            return add_child(p, 0, d.stations[AT_LOG], FLUSH, position, 0)
    hold["phase"] = _WRITES
    return add_child(p, 0, station_of(d, first), WRITE, request["offset_bytes"], request["length_bytes"])


@kernel
def _sync_if_written(p: Plant, d: Database, made: int) -> int:
    """Begin to flush files when all pages of a checkpoint have been written."""
    c = d.checkpointer[0]
    if c["state"] != SYNCING or c["outstanding_pages"] > 0:
        return made
    return add_background(p, made, c["station"], FILL, 0, 0)


@kernel
def _sync_next(p: Plant, d: Database, slot: int, now: int) -> int:
    """Flush the next file that was written to; behind the last the checkpoint is over."""
    c = d.checkpointer[0]
    while c["next"] < len(d.written_files):
        file = c["next"]
        c["next"] += 1
        if d.written_files[file]:
            d.written_files[file] = 0
            c["synced_files"] += 1
            return add_child(p, 0, volume_of(d, d.file_start[file]), FLUSH, 0, 0)
    now = max(now, p.requests[slot]["accepted_ns"] + PASS_ON_NS)
    checkpoint_row(d)["end_ns"] = now
    c["count"] += 1
    c["state"] = IDLE
    return _set_timer(p, d, now)


def burst_fields(settings: BurstCheckpoints | IndirectCheckpoints, station: int) -> dict[str, int]:
    """Return what of the checkpointer's row is not 0 at the start."""
    fields = {
        "station": station,
        "target_pages": settings.most_pages,
        **values_of(CHECKPOINTER_ROW, settings),
    }
    if isinstance(settings, IndirectCheckpoints):
        return fields | {"timeout_ns": settings.target_ns, "indirect": 1}
    due_ns = max(settings.interval_ns - settings.since_ns, 0)
    return fields | {"timeout_ns": settings.interval_ns, "due_ns": due_ns}
