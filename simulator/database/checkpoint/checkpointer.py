"""PostgreSQL's checkpointer as a passive machine. Its arithmetic says when a checkpoint begins, and how long it writes.

A checkpoint begins *timeout* after the one before did, or when the log has grown by so many segments
(postmaster/checkpointer.c; xlog.c, XLogCheckpointNeeded); not if nothing was inserted since. Where it begins is the new
redo position: pages that are changed after it need an image in the log again. It writes the pages that are dirty then,
in the order of their files (before 9.6 in that of the pool), one after the other, each after the log up to it; pages
that others write meanwhile it passes by (bufmgr.c, BufferSync). Behind each page it naps for 100 ms as long as it is
ahead of schedule: of the share of *completion_target* that it may take of the time between checkpoints, and of the log
between them (CheckpointWriteDelay, IsCheckpointOnSchedule). Through the OS page cache it asks for writing back after
each *flush_after_pages* (IssuePendingWritebacks). Then every file of 1 GiB that anybody has written to since the last
time is synced, one after the other (sync.c, ProcessSyncRequests).

Background requests: FLUSH, the timer, which the station sends itself (the first is the log's); WRITE, the log asks;
READ, the station goes on after a nap.

Versions are numbers as ``server_version_num`` has them: 90624 is 9.6.24, 150018 is 15.18.
"""

import re
from dataclasses import dataclass
from typing import Any

from tiersim.devices.plant import settings_of, values_of
from tiersim.devices.requests import add_background, add_child
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.errors import ScenarioError
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.buffer_pool.pages import clean, station_of, volume_of
from tiersim.simulator.database.database_state import (
    AT_LOG,
    CHECKPOINT_PENDING,
    DIRTY_PAGES,
    PAGES_A_FILE,
    UNUSED,
    Database,
    record,
)
from tiersim.simulator.database.page_cache import BY_CHECKPOINTER, hand_on, has_any, has_enough, note_write_back
from tiersim.simulator.database.wal.log import must_flush_for, recycle_segments
from tiersim.units import NS_PER_S

#: What the checkpointer does (``state``).
IDLE, WRITING, SYNCING = range(3)
#: Why a checkpoint began (``trigger``).
BY_TIME, BY_LOG = range(2)
#: What a request of it waits for (``phase`` of its hold): nothing yet; the log up to a page, the page, its writing
#: back, a file.
_NEXT, _LOGS, _WRITES, _HANDS_ON, _SYNCS = range(5)
#: CheckpointWriteDelay.
NAP_NS = 100_000_000


@dataclass(frozen=True)
class Checkpoints:
    """Settings, with PostgreSQL's defaults: checkpoint_timeout, checkpoint_completion_target, checkpoint_flush_after.

    ``segments`` are those between checkpoints
    (:func:`tiersim.simulator.database.checkpoint.checkpointer.checkpoint_segments`); ``since_ns`` is how long before
    the run the last one began. Where a part of a server runs on a part of its device, so that a request takes longer,
    ``nap_ns`` is longer by the same factor.
    """

    timeout_ns: int = 300_000_000_000
    completion_target: float = 0.9
    segments: int = 33
    flush_after_pages: int = 32
    in_file_order: bool = True
    since_ns: int = 0
    nap_ns: int = NAP_NS


#: The checkpointer
CHECKPOINTER_ROW = record(
    "station",
    *settings_of(Checkpoints, without=("flush_after_pages", "since_ns")),
    "target",  # share of the time between checkpoints that writing may take, in thousandths
    "armed",  # its timer is set
    "due_ns",
    "begun",  # checkpoints so far
    "count",  # those that are over
    "wanted",  # 1 + why, when another is to begin behind the one that runs
    "state",
    "started_ns",
    "pages",  # that were dirty then
    "processed",
    "next",  # page of a level, frame or file that is looked at next
    "place",  # of that level, in the order of files
    "page",  # that is written when the log is flushed up to it
    "written_pages",
    "synced_files",
    # of SQL Server, see tiersim.simulator.database.checkpoint.bursts
    "indirect",  # it goes on and on
    "gathered_pages",  # that one write is for at most
    "target_pages",  # that may be under way
    "most_pages",
    "outstanding_pages",
    "slow_ns",  # writes that take longer lower the target; 0: it stays
    "writes",  # that have ended since it was last looked at
    "latency_ns",  # of all these
    indices=("station",),
)


@kernel
def accept_checkpointer(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request: the timer waits until the next checkpoint is due, a READ for the length of the nap."""
    if p.requests[slot]["op"] == FLUSH:
        return int(max(d.checkpointer[0]["due_ns"], now + PASS_ON_NS))
    return int(now + max(p.requests[slot]["length_bytes"], PASS_ON_NS))


@kernel
def finish_checkpointer(p: Plant, d: Database, slot: int) -> int:
    """Begin a checkpoint, or go on with one."""
    c = d.checkpointer[0]
    request = p.requests[slot]
    op = request["op"]
    if op == READ:
        d.holds[slot]["phase"] = _NEXT
        return _go_on(p, d, slot, 0, request["accepted_ns"] + max(request["length_bytes"], PASS_ON_NS))
    if op == FLUSH and request["offset_bytes"] != c["begun"]:  # another has begun since this timer was set
        return 0
    now, trigger = request["accepted_ns"] + PASS_ON_NS, BY_LOG
    if op == FLUSH:
        now, trigger = max(c["due_ns"], now), BY_TIME
    if c["state"] != IDLE:
        c["wanted"] = 1 + trigger
        return 0
    return _begin(p, d, slot, now, trigger)


@kernel
def resume_checkpointer(p: Plant, d: Database, slot: int, now: int) -> int:
    """Go on after a page or a file."""
    return _go_on(p, d, slot, 0, now)


@kernel
def _begin(p: Plant, d: Database, slot: int, now: int, trigger: int) -> int:
    c, log = d.checkpointer[0], d.log[0]
    c["begun"] += 1
    c["wanted"] = 0
    c["due_ns"] = now + c["timeout_ns"]
    made = add_background(p, 0, c["station"], FLUSH, c["begun"], 0)
    if log["inserted"] == log["redo"]:
        return made
    row = note_begun(d, now, trigger)
    c["processed"] = 0
    pages = 0
    for frame in range(len(d.page_of)):
        if d.dirty[frame]:
            d.checkpoint_mark[d.page_of[frame]] = CHECKPOINT_PENDING
            pages += 1
    row["pages"] = c["pages"] = pages
    d.holds[slot]["phase"] = _NEXT
    return _go_on(p, d, slot, made, now)


@kernel
def _go_on(p: Plant, d: Database, slot: int, made: int, now: int) -> int:
    """Do the next thing of a checkpoint that takes time."""
    c = d.checkpointer[0]
    hold = d.holds[slot]
    if hold["phase"] == _WRITES:
        hold["phase"] = _HANDS_ON
        if has_enough(d, BY_CHECKPOINTER):
            return hand_on(p, d, BY_CHECKPOINTER, made)
    if hold["phase"] == _HANDS_ON:
        hold["phase"] = _NEXT
        if _is_ahead(d, now):
            return add_background(p, made, c["station"], READ, 0, c["nap_ns"])
    while c["state"] == WRITING:
        pending = True
        if hold["phase"] == _LOGS:  # the log is flushed up to the page that is next
            page = c["page"]
        else:
            page = _next_page(d)
            if page < 0:
                c["state"] = SYNCING
                c["next"] = 0
                checkpoint_row(d)["written_ns"] = now
                if has_any(d, BY_CHECKPOINTER):
                    hold["phase"] = _SYNCS
                    return hand_on(p, d, BY_CHECKPOINTER, made)
                break
            c["processed"] += 1
            pending = d.checkpoint_mark[page] == CHECKPOINT_PENDING
            d.checkpoint_mark[page] = 0
            if pending and must_flush_for(d, page):
                c["page"] = page
                hold["phase"] = _LOGS
                return add_child(p, made, d.stations[AT_LOG], FLUSH, d.page_position[page], 0)
        hold["phase"] = _NEXT
        held = d.frame_of[page]
        if pending and held > 0 and d.dirty[held - 1]:  # nobody else has written it, even if it was changed again
            hold["phase"] = _WRITES
            return _write(p, d, made, page)
        if _is_ahead(d, now):
            return add_background(p, made, c["station"], READ, 0, c["nap_ns"])
    return _sync_next(p, d, slot, made, now)


@kernel
def note_begun(d: Database, now: int, trigger: int) -> Any:
    """Note that a checkpoint begins, whose redo position is the end of the log; return where it is noted."""
    c, log = d.checkpointer[0], d.log[0]
    row = checkpoint_row(d)
    row["start_ns"] = c["started_ns"] = now
    row["written_ns"] = row["end_ns"] = row["written_pages"] = 0
    row["log_bytes"] = log["inserted"] - log["redo"]
    row["trigger"] = trigger
    log["redo"] = log["inserted"]
    c["state"] = WRITING
    c["next"] = c["place"] = 0
    return row


@kernel
def checkpoint_row(d: Database) -> Any:
    """Return where the checkpoint that runs is noted; the last place is used again when there are too many."""
    return d.checkpoints[min(d.checkpointer[0]["count"], len(d.checkpoints) - 1)]


@kernel
def _next_page(d: Database) -> int:
    """Return the next page that the checkpoint was to write, or has found written by others; -1 if there is none."""
    c = d.checkpointer[0]
    if c["in_file_order"]:
        while c["place"] < len(d.file_order):
            level = d.file_order[c["place"]]
            while c["next"] < d.level_pages[level]:
                c["next"] += 1
                page = d.level_start[level] + c["next"] - 1
                if d.checkpoint_mark[page] > 0:
                    return int(page)
            c["place"] += 1
            c["next"] = 0
        return -1
    while c["next"] < len(d.page_of):
        c["next"] += 1
        page = d.page_of[c["next"] - 1]
        if c["next"] <= d.pool_state[UNUSED] and page >= 0 and d.checkpoint_mark[page] == CHECKPOINT_PENDING:
            return int(page)
    return -1


@kernel
def _write(p: Plant, d: Database, made: int, page: int) -> int:
    c = d.checkpointer[0]
    clean(d, d.frame_of[page] - 1)
    checkpoint_row(d)["written_pages"] += 1
    c["written_pages"] += 1
    note_write_back(d, BY_CHECKPOINTER, page)
    return add_child(p, made, station_of(d, page), WRITE, page * d.page_bytes[0], d.page_bytes[0])


@kernel
def _is_ahead(d: Database, now: int) -> bool:
    """Tell whether more of the pages is written than of the time has passed until the next checkpoint is due, and of
    the log inserted.
    """
    c, log = d.checkpointer[0], d.log[0]
    progress = c["processed"] / c["pages"] * c["target"] / 1000
    if progress < (log["inserted"] - log["redo"]) / (c["segments"] * log["segment_bytes"]):
        return False
    return bool(progress >= (now - c["started_ns"]) / c["timeout_ns"])


@kernel
def _sync_next(p: Plant, d: Database, slot: int, made: int, now: int) -> int:
    """Sync the next file that was written to; behind the last the checkpoint is over."""
    c = d.checkpointer[0]
    d.holds[slot]["phase"] = _SYNCS
    while c["next"] < len(d.written_files):
        file = c["next"]
        c["next"] += 1
        if d.written_files[file]:
            d.written_files[file] = 0
            c["synced_files"] += 1
            first = d.file_start[file]
            if d.page_cache.size == 0:
                return add_child(p, made, volume_of(d, first), FLUSH, 0, 0)
            size = d.page_bytes[0]
            pages = min(PAGES_A_FILE, d.file_start[file + 1] - first)
            return add_child(p, made, d.page_cache[0]["station"], FLUSH, first * size, pages * size)
    checkpoint_row(d)["end_ns"] = now
    recycle_segments(d, checkpoint_row(d)["log_bytes"])
    c["count"] += 1
    c["state"] = IDLE
    if c["wanted"] == 1 + BY_LOG:
        return add_background(p, made, c["station"], WRITE, 0, 0)
    if c["wanted"] == 1 + BY_TIME:
        return add_background(p, made, c["station"], FLUSH, c["begun"], 0)
    return made


@kernel
def note_history(d: Database, interval: int) -> None:
    """Note at the end of an interval of the timeline what only the database knows."""
    if d.history.shape[0] <= interval:
        return
    log = d.log[0]
    d.history[interval, 0] = d.pool_state[DIRTY_PAGES]
    d.history[interval, 1] = log["inserted"]
    d.history[interval, 2] = log["flushes"]
    if d.checkpointer.size > 0:
        d.history[interval, 3] = d.checkpointer[0]["written_pages"]
        d.history[interval, 4] = d.checkpointer[0]["state"]
    if d.page_cache.size > 0:
        d.history[interval, 5] = d.page_cache[0]["read_pages"]
        d.history[interval, 6] = d.page_cache[0]["hit_pages"]


def checkpointer_fields(settings: Checkpoints, station: int) -> dict[str, int]:
    """Return what of the checkpointer's row is not 0 at the start."""
    first_ns = max(settings.timeout_ns - settings.since_ns, 0)
    return {
        "station": station,
        **values_of(CHECKPOINTER_ROW, settings),
        "due_ns": first_ns,
        "target": round(settings.completion_target * 1000),
    }


#: wal_segment_size, and the page of the log, as they are compiled in unless initdb says otherwise
#: (include/pg_config_manual.h: DEFAULT_XLOG_SEG_SIZE; XLOG_BLCKSZ).
SEGMENT_BYTES = 16 << 20
LOG_PAGE_BYTES = 8192
#: Defaults: max_wal_size is 64 segments (include/access/xlog_internal.h: DEFAULT_MAX_WAL_SEGS), checkpoint_segments of
#: 9.4 and before 3 (access/transam/xlog.c), checkpoint_timeout 5 minutes (utils/misc/guc_tables.c).
MAX_WAL_BYTES = 64 * SEGMENT_BYTES
CHECKPOINT_SEGMENTS = 3
CHECKPOINT_TIMEOUT_NS = 300 * NS_PER_S

_SIZE_NOT_COUNT = 90500  # max_wal_size takes the place of checkpoint_segments
_ONE_CHECKPOINT_KEPT = 110000  # the log since the last checkpoint but one is not kept any more
_LATER_TARGET = 140000
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")


def version_number(version: str) -> int:
    """Return the number of a version such as ``"9.6.24"``, ``"15.18"`` or ``"15"``; raises ScenarioError."""
    match = _VERSION.match(version)
    if match is None:
        raise ScenarioError(f"engine.version: {version!r} is no version of PostgreSQL; write it as in '15.18'")
    first, second, third = (int(part or 0) for part in match.groups())
    return first * 10_000 + second if first >= 10 else first * 10_000 + second * 100 + third


def completion_target(version: int) -> float:
    """Return the default of checkpoint_completion_target (release notes of 14: 0.9 instead of 0.5)."""
    return 0.9 if version >= _LATER_TARGET else 0.5


def counts_size(version: int) -> bool:
    """Tell whether max_wal_size says how much log comes between checkpoints; else checkpoint_segments does."""
    return version >= _SIZE_NOT_COUNT


def distance_segments(
    version: int,
    max_wal_bytes: int,
    target: float,
    *,
    segment_bytes: int = SEGMENT_BYTES,
    checkpoint_segments: int = CHECKPOINT_SEGMENTS,
) -> int:
    """Return how many segments of log lie between the beginnings of checkpoints that the log asks for.

    access/transam/xlog.c, CalculateCheckpointSegments: what is written until the next checkpoint ends has to fit into
    max_wal_size, and up to version 10 the log of one checkpoint more. Version 9.4 and earlier have
    *checkpoint_segments* and no max_wal_size.
    """
    if not counts_size(version):
        return checkpoint_segments
    kept = 1.0 if version >= _ONE_CHECKPOINT_KEPT else 2.0
    return max(int(max_wal_bytes // segment_bytes / (kept + target)), 1)


def write_phase_ns(target: float, interval_ns: int) -> int:
    """Return how long a checkpoint takes for its writes when the next one begins *interval_ns* after it.

    postmaster/checkpointer.c, IsCheckpointOnSchedule: it is on schedule while the part written is *target* times the
    part of the interval that has passed, of time or of log, whichever has passed sooner.
    """
    return round(target * interval_ns)


def log_buffer_bytes(shared_buffer_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """Return what wal_buffers = -1 stands for (access/transam/xlog.c, XLOGChooseNumBuffers).

    A 32nd of shared_buffers in whole pages, eight at least and no more than a segment.
    """
    pages = shared_buffer_bytes // 8192 // 32  # NBuffers, of 8 KiB
    return min(max(pages, 8), segment_bytes // LOG_PAGE_BYTES) * LOG_PAGE_BYTES
