"""The write-ahead log (WAL) as a passive machine: a batch server. One flush at a time; what was inserted before it
began goes with it.

PostgreSQL's access/transam/xlog.c, XLogFlush and XLogWrite: a committer waits for the current flush, then checks its
LSN again: usually that flush included it (group commit). If not, the committer writes everything inserted meanwhile,
whole blocks in one piece, and flushes it. Between write and flush, and after the flush, its process needs a processor;
until then the others wait. The end of a segment is flushed before the next is begun, and may ask for a checkpoint.

A segment is a file. Behind each checkpoint, files that recovery does not need any more are given to segments to come,
up to what max_wal_size allows, and others are removed (RemoveOldXlogFiles). Who begins a segment that has none fills a
file with zeros, in one piece, and syncs it (XLogFileInit); then it is synced again, given its name and synced, and its
directory, too (durable_link_or_rename). The others wait that long. Not simulated: the file that a checkpoint makes at
its end if the last segment is three quarters full (PreallocXlogFiles), and what a file system's journal writes.

Positions (LSNs) count bytes of the log since the run began; they move on when something is inserted (:func:`insert`),
which takes no time of its own: it is in the CPU of who changes a page. The first change of a page after a checkpoint
began inserts a full-page image, too (access/transam/xloginsert.c, XLogRecordAssemble).

What is written through the operating system's page cache takes the places of pages there, as the kernel keeps it like
any other file. A server gives a segment's back that nobody is going to read (XLogFileClose): with wal_level = minimal.

Requests: FLUSH up to a position (their offset); WRITE, so that buffers have room up to a position; AWAIT, a FLUSH that
a synchronous replica or a binary log confirms, too; PREFETCH, which waits for nothing: the log writer's next round will
flush it (synchronous_commit = off). The log writer's rounds are background requests of the station to itself: FLUSH,
when its time comes; PREFETCH, at once, as much is not durable (xlog.c, XLogSetAsyncXactLSN, XLogBackgroundFlush).

A synchronous replica is sent what is durable here (replication/walsender.c, XLogSendPhysical), so its flush comes after
ours. It flushes what has come, one flush at a time, each as long as the others.
"""

from dataclasses import dataclass

import numpy as np

from tiersim.devices import requests
from tiersim.devices.plant import settings_of, values_of
from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.devices.tiering.cached_blocks_kernels import NOWHERE, find
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.buffer_pool.flush_list import arm_cleaner
from tiersim.simulator.database.cached_pages import take_page
from tiersim.simulator.database.database_state import (
    AT_BINARY_LOG,
    AT_LOG,
    AT_PROCESSORS,
    AWAIT,
    LOG_IO_NS,
    PREFETCH,
    SESSIONS_ACTIVE,
    URGENT,
    Database,
    record,
)
from tiersim.simulator.database.journal import add_sync, changed_by_write

#: What a request does (``phase`` of its hold): it is or will be satisfied by another's flush; or it is the one that
#: begins, writes, uses a processor, flushes, uses a processor again; it waits for a flush, for a replica; it makes a
#: file.
_FOLLOWS, _BEGINS, _WRITES, _WRITTEN, _FLUSHES, _FLUSHED, _ASKS, _SENT, _FILLS = range(9)
#: How often a new file, the same under its name and its directory are synced.
_FILE_SYNCS = 4
#: Behind the last segment that has a file, where all have one.
_EVERYWHERE = 1 << 62
#: How much of a page is not in its image, as pages of tables filled by pgbench have it: 8,192 - 8,100 (52 published
#: runs, docs/accuracy.md).
HOLE_BYTES = 92
#: The record of an entry of 16 bytes that is put into a leaf: headers of the record, of the block and of the data, the
#: place, the entry (access/nbtxlog.h, XLOG_BTREE_INSERT_LEAF; access/xlogrecord.h).
ENTRY_BYTES = 64
#: Instead of the bytes of a record: a page is changed by a hint, which has none.
HINT = -1


@dataclass(frozen=True)
class Replica:
    """A synchronous replica: how long a message and its answer are under way, and how long one flush takes there."""

    round_trip_ns: int
    flush_ns: int


@dataclass(frozen=True)
class Log:
    """Settings of the log; by default PostgreSQL's: wal_segment_size, wal_block_size, wal_buffers, full_page_writes,
    commit_delay, commit_siblings, wal_writer_delay, wal_writer_flush_after.

    ``image_bytes`` is how long the image of a page is in the log (with wal_compression shorter than a page).
    ``file_bytes`` is where the log goes round on its volume. ``most_kept_bytes`` is max_wal_size of a server that
    begins with as many files; 0: every segment has one.
    """

    file_bytes: int = 1 << 30
    segment_bytes: int = 16 << 20
    block_bytes: int = 8192
    buffer_bytes: int = 16 << 20
    full_page_writes: bool = True
    hint_images: bool = False  # also of a page that only a hint changes: checksums, or wal_log_hints
    image_bytes: int = 8192 - HOLE_BYTES
    commit_delay_ns: int = 0
    commit_siblings: int = 5
    synchronous_commit: bool = True
    flushed_later: bool = False  # a commit waits for the write alone, and the log writer flushes it
    threads: bool = False  # make it durable, no commit does: see tiersim.simulator.database.wal.log_threads
    writer_delay_ns: int = 200_000_000
    writer_flush_bytes: int = 1 << 20  # so many whole blocks are flushed before that; 0: none are
    most_kept_bytes: int = 0
    cached: bool = True  # what is written stays in the operating system's page cache, if the tables have one
    fsync: bool = False  # it is flushed by fsync, not fdatasync: see tiersim.simulator.database.journal
    replica: Replica | None = None


#: The log; positions are bytes since the run began.
LOG_ROW = record(
    "volume",
    "waiting",  # queue of requests whose position is not durable
    *settings_of(Log, without=("synchronous_commit",)),
    "commit_op",  # what a commit asks for
    "own_op",  # of this log, where a replica or a binary log comes behind it
    "writer_awake",
    "round_trip_ns",
    "replica_flush_ns",
    "replica_starts_ns",  # its flush that begins, or began, last
    "replica_ends_ns",
    "busy",  # somebody writes or flushes
    "inserted",
    "written",
    "flushed",
    "target",  # up to where who is busy writes
    "piece_end",
    "redo",  # where the last checkpoint began
    "flushes",
    "commits",
    "images",
    "written_bytes",  # whole blocks
    "changed_ns",  # its file's metadata
    "sync_ns",  # how long writes and flushes took together
    "began_ns",  # the write or flush under way
    "files_start",  # of the oldest segment that has a file
    "files_end",  # behind the last one
    "file_syncs",  # left of the file that is being made
    "expected_bytes",  # between checkpoints (UpdateCheckPointDistanceEstimate)
    # of a log of blocks, see tiersim.simulator.database.wal.log_blocks
    "largest_block_bytes",
    "most_writes",
    "most_bytes",
    "writes",  # under way
    "write_bytes",
    "first_block",  # the oldest that is not durable, counted since the run began
    "next_block",
    "searched",  # what was written and flushed when nobody was found who may go on
    indices=("volume", "waiting"),
)


@kernel
def insert(d: Database, log_bytes: int) -> int:
    """Put a record into the log's buffers; returns the position behind it."""
    d.log[0]["inserted"] += log_bytes
    return int(d.log[0]["inserted"])


@kernel
def begin_positions(d: Database) -> int:
    """Let positions count from here on; returns what was inserted before."""
    before = int(d.log[0]["inserted"])
    d.log[0]["inserted"] = 0
    return before


@kernel
def log_change(d: Database, page: int, log_bytes: int) -> None:
    """Put the record of a changed page into the log's buffers, and before it the page's image if it is the first since
    the last checkpoint began.
    """
    _log_image(d, page)
    d.page_position[page] = insert(d, log_bytes)


@kernel
def log_hint(d: Database, page: int) -> None:
    """Put the image of a clean page into the log's buffers that a hint is about to change, if there is none since the
    last checkpoint began.
    """
    if d.log[0]["hint_images"] and _log_image(d, page):
        d.page_position[page] = d.log[0]["inserted"]


@kernel
def _log_image(d: Database, page: int) -> bool:
    """Put the image of a page into the log, if there is none since the last checkpoint began; tell whether."""
    log = d.log[0]
    if not log["full_page_writes"] or d.page_position[page] > log["redo"]:
        return False
    log["images"] += 1
    insert(d, log["image_bytes"])
    return True


@kernel
def must_flush_for(d: Database, page: int) -> bool:
    """Tell whether the log must be flushed before a page may be written."""
    return bool(d.page_position[page] > d.log[0]["flushed"])


@kernel
def has_full_buffers(d: Database) -> bool:
    """Tell whether who inserts has to write something out first."""
    return bool(d.log[0]["inserted"] - d.log[0]["written"] > d.log[0]["buffer_bytes"])


@kernel
def accept_log(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request; who finds his position durable goes on at once."""
    log = d.log[0]
    request = p.requests[slot]
    hold = d.holds[slot]
    if is_background(p, slot):
        hold["phase"] = _BEGINS
        return _round_ns(d, request["op"], now)
    op = request["op"]
    if op in (PREFETCH, AWAIT):
        hold["phase"] = _ASKS
        return now + PASS_ON_NS
    hold["phase"] = _FOLLOWS
    if _is_satisfied(p, d, slot):
        return _answered_ns(p, d, slot, now)
    requests.append(p, log["waiting"], slot)
    return WAIT if log["busy"] else CALL


@kernel
def _round_ns(d: Database, op: int, now: int) -> int:
    """Return when the log writer begins a round that is asked for now."""
    delay_ns = d.log[0]["writer_delay_ns"]
    return now + PASS_ON_NS if op == PREFETCH else int((now // delay_ns + 1) * delay_ns)


@kernel
def _has_much(d: Database) -> bool:
    """Tell whether the log writer does not wait for its time, though nobody flushes."""
    log = d.log[0]
    blocks = log["inserted"] // log["block_bytes"] - log["flushed"] // log["block_bytes"]
    return bool(log["busy"] == 0 and 0 < log["writer_flush_bytes"] <= blocks * log["block_bytes"])


@kernel
def _is_satisfied(p: Plant, d: Database, slot: int) -> bool:
    """Tell whether what a request asks for has been done."""
    log = d.log[0]
    position = log["written"] if p.requests[slot]["op"] == WRITE else log["flushed"]
    return bool(position >= p.requests[slot]["offset_bytes"])


@kernel
def _answered_ns(p: Plant, d: Database, slot: int, now: int) -> int:
    """Return when a request whose position is durable here may go on: READ, once a replica has flushed it, too."""
    log = d.log[0]
    if p.requests[slot]["op"] != READ:
        return now + PASS_ON_NS
    there_ns = now + log["round_trip_ns"] // 2
    if there_ns > log["replica_starts_ns"]:  # otherwise it goes with the flush that has not begun there yet
        log["replica_starts_ns"] = max(there_ns, log["replica_ends_ns"])
        log["replica_ends_ns"] = log["replica_starts_ns"] + log["replica_flush_ns"]
    return int(max(log["replica_ends_ns"] + log["round_trip_ns"] // 2, now + PASS_ON_NS))


@kernel
def choose_log(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let go the first of those that wait whose position is durable; else let the first flush, if nobody does."""
    log = d.log[0]
    slot = p.queues[log["waiting"]]["head"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    before = NONE
    satisfied = _is_satisfied(p, d, slot)
    while not satisfied and log["busy"]:  # who asks for an older position may have come later
        before = slot
        slot = p.links[slot]["next"]
        if slot == NONE:
            return NONE, NEVER, NEVER
        satisfied = _is_satisfied(p, d, slot)
    requests.remove(p, log["waiting"], slot, before)
    if satisfied:
        return slot, _answered_ns(p, d, slot, now), NEVER
    log["busy"] = 1
    d.holds[slot]["phase"] = _BEGINS
    log["began_ns"] = now + max(_delay_ns(d), PASS_ON_NS)
    return slot, log["began_ns"], NEVER


@kernel
def _delay_ns(d: Database) -> int:
    """Return how long who flushes waits for others to come along: commit_delay, if enough others are active."""
    log = d.log[0]
    if log["commit_delay_ns"] == 0:
        return 0
    return int(log["commit_delay_ns"]) if d.session_counts[SESSIONS_ACTIVE] > log["commit_siblings"] else 0


@kernel
def finish_log(p: Plant, d: Database, slot: int) -> int:
    """Begin to write what has been inserted, if this request is the one that does."""
    log = d.log[0]
    hold = d.holds[slot]
    made = arm_checkpointer(p, d, 0)
    if d.page_cleaner.size > 0:
        made = arm_cleaner(p, d, made)
    if hold["phase"] == _ASKS:
        if p.requests[slot]["op"] == AWAIT and log["own_op"] != PREFETCH:
            return add_child(p, made, d.stations[AT_LOG], log["own_op"], p.requests[slot]["offset_bytes"], 0)
        if log["writer_awake"] == 0:
            log["writer_awake"] = 1
            made = add_background(p, made, d.stations[AT_LOG], FLUSH, 0, 0)
        elif _has_much(d):
            made = add_background(p, made, d.stations[AT_LOG], PREFETCH, 0, 0)
        if p.requests[slot]["op"] == AWAIT:
            hold["phase"] = _SENT
            made = add_child(p, made, d.stations[AT_BINARY_LOG], FLUSH, 0, 0)
        return made
    if hold["phase"] == _FOLLOWS:
        return made
    if is_background(p, slot):  # the log writer
        if p.requests[slot]["op"] == FLUSH:
            log["writer_awake"] = 0
        if log["flushed"] >= log["inserted"] or (log["busy"] and log["writer_awake"]):
            return made
        if log["busy"]:  # whoever flushes may not come as far as this; look again
            log["writer_awake"] = 1
            return add_background(p, made, d.stations[AT_LOG], FLUSH, 0, 0)
        log["busy"] = 1
        log["began_ns"] = _round_ns(d, p.requests[slot]["op"], p.requests[slot]["accepted_ns"])
    log["target"] = log["inserted"]
    return _write(p, d, slot, made, log["began_ns"])


@kernel
def wake_log_writer(p: Plant, d: Database) -> int:
    """Let MySQL 8's log writer begin if it rests though there is more; returns how many requests stand in
    ``children``.
    """
    log = d.log[0]
    if not log["threads"] or log["writer_awake"] or log["inserted"] == log["written"]:
        return 0
    log["writer_awake"] = 1
    return add_background(p, 0, d.stations[AT_LOG], WRITE, 0, 0)


@kernel
def arm_checkpointer(p: Plant, d: Database, made: int) -> int:
    """Set the checkpointer's timer when the log is used first."""
    if d.checkpointer.size == 0 or d.checkpointer[0]["armed"]:
        return made
    d.checkpointer[0]["armed"] = 1
    return add_background(p, made, d.checkpointer[0]["station"], FLUSH, 0, 0)


@kernel
def _write(p: Plant, d: Database, slot: int, made: int, now: int) -> int:
    """Write what has not been written up to the target, within its segment, for which a file is made if it has none;
    if all has been, flush.
    """
    log = d.log[0]
    if log["written"] >= log["target"]:
        return _flush(p, d, slot, made, now)
    block, segment = log["block_bytes"], log["segment_bytes"]
    if log["written"] >= log["files_end"]:
        d.holds[slot]["phase"] = _FILLS
        log["began_ns"] = now
        log["file_syncs"] = _FILE_SYNCS
        return add_child(p, made, log["volume"], WRITE, log["written"] % log["file_bytes"], segment)
    first = log["written"] // block * block
    log["piece_end"] = min(log["target"], (log["written"] // segment + 1) * segment)
    end = -(-log["piece_end"] // block) * block
    d.holds[slot]["phase"] = _WRITES
    log["written_bytes"] += end - first
    log["began_ns"] = now
    if log["cached"] and d.page_cache.size > 0:
        _keep(p, d, first % log["file_bytes"], end - first, now)
    return add_child(p, made, log["volume"], WRITE, first % log["file_bytes"], end - first)


@kernel
def _keep(p: Plant, d: Database, first_bytes: int, length_bytes: int, now: int) -> None:
    """Let a part of the log's file stay in the page cache, numbered behind the pages of all tables."""
    cache, size = d.page_cache[0]["cache"], d.page_bytes[0]
    for page in range(first_bytes // size, (first_bytes + length_bytes - 1) // size + 1):
        block = len(d.frame_of) + page
        if find(p, cache, block) == NOWHERE:
            take_page(p, d, block, now)


@kernel
def _flush(p: Plant, d: Database, slot: int, made: int, now: int) -> int:
    d.log[0]["began_ns"] = now
    d.holds[slot]["phase"] = _FLUSHES
    return add_log_flush(p, d, made, now)


@kernel
def add_log_flush(p: Plant, d: Database, made: int, now: int) -> int:
    """Make durable what was written; *made* children are there already."""
    log = d.log[0]
    if not log["fsync"]:
        return add_child(p, made, log["volume"], FLUSH, 0, 0)
    log["changed_ns"] = changed_by_write(log["changed_ns"], now)
    return add_sync(p, d, made, log["volume"], log["changed_ns"])


@kernel
def resume_log(p: Plant, d: Database, slot: int, now: int) -> int:
    """Go on: processor, flush, processor, and the next piece if a segment has ended in between;
    then let go who waits.
    """
    log = d.log[0]
    hold = d.holds[slot]
    phase = hold["phase"]
    if phase == _ASKS:  # of a commit that a replica confirms
        hold["phase"] = _SENT
        if d.binary_log.size > 0:
            return add_child(p, 0, d.stations[AT_BINARY_LOG], FLUSH, 0, 0)
        return add_child(p, 0, d.stations[AT_LOG], READ, p.requests[slot]["offset_bytes"], 0)
    if phase == _SENT:
        return 0
    if phase == _FILLS:
        if log["file_syncs"] > 0:
            log["file_syncs"] -= 1
            return add_child(p, 0, log["volume"], FLUSH, 0, 0)
        log["sync_ns"] += now - log["began_ns"]
        log["files_end"] += log["segment_bytes"]
        return _write(p, d, slot, 0, now)
    if phase in (_WRITES, _FLUSHES):
        hold["phase"] = _WRITTEN if phase == _WRITES else _FLUSHED
        if d.costs[LOG_IO_NS] > 0:
            return add_child(p, 0, d.stations[AT_PROCESSORS], URGENT, 0, d.costs[LOG_IO_NS])
        phase = hold["phase"]
    made = 0
    if phase == _WRITTEN:
        log["sync_ns"] += now - log["began_ns"]
        log["written"] = log["piece_end"]
        ends_segment = log["written"] % log["segment_bytes"] == 0
        if p.requests[slot]["op"] != WRITE or ends_segment:
            return _flush(p, d, slot, 0, now)
    else:
        log["flushed"] = log["written"]
        count_flush(d, log["began_ns"], now)
        if log["flushed"] % log["segment_bytes"] == 0:
            made = _ask_checkpointer(p, d)
    if log["written"] < log["target"]:
        return _write(p, d, slot, made, now)
    log["busy"] = 0
    is_left = log["flushed"] < log["inserted"] if is_background(p, slot) else log["flushed_later"] != 0
    if is_left and log["writer_awake"] == 0:
        log["writer_awake"] = 1
        return add_background(p, made, d.stations[AT_LOG], FLUSH, 0, 0)
    return made


@kernel
def count_flush(d: Database, began_ns: int, now: int) -> None:
    """Count a flush for the result, with the time since *began_ns*: every kind of log does it here."""
    log = d.log[0]
    log["flushes"] += 1
    log["sync_ns"] += now - began_ns


@kernel
def _ask_checkpointer(p: Plant, d: Database) -> int:
    """A segment has ended: ask for a checkpoint if the log since the last one has become long (xlog.c,
    XLogCheckpointNeeded).
    """
    if d.checkpointer.size == 0:
        return 0
    log, c = d.log[0], d.checkpointer[0]
    segment = log["segment_bytes"]
    full = log["flushed"] // segment - 1  # the number of the segment that has ended
    if full < log["redo"] // segment + c["segments"] - 1:
        return 0
    return add_background(p, 0, c["station"], WRITE, 0, 0)


@kernel
def recycle_segments(d: Database, log_bytes: int) -> None:
    """Give the files before a checkpoint that is over, *log_bytes* behind the one before, to segments to come."""
    log = d.log[0]
    segment = log["segment_bytes"]
    expected = log["expected_bytes"]
    log["expected_bytes"] = log_bytes if expected < log_bytes else int(0.9 * expected + 0.1 * log_bytes)
    first = log["redo"] // segment
    kept = kept_segments(log["expected_bytes"] / segment, d.checkpointer[0]["target"] / 1000)
    most = first + min(kept, log["most_kept_bytes"] // segment)
    end = log["files_end"] // segment
    log["files_end"] = max(end, min(end + first - log["files_start"] // segment, most)) * segment
    log["files_start"] = first * segment


@kernel
def kept_segments(distance: float, target: float) -> int:
    """Return how many segments from a checkpoint's on are to have files, if so many are expected between checkpoints;
    max_wal_size may have it fewer, min_wal_size more, which only a log that rests would notice (xlog.c, XLOGfileslop).
    """
    return int(np.ceil(1.1 * (1 + target) * distance)) + 1


def log_fields(settings: Log, volume: int, waiting: int, binary_log: bool = False) -> dict[str, int]:
    """Return what of the log's row is not 0 at the start; a *binary_log* comes behind it or not."""
    replica = settings.replica or Replica(0, 0)
    own_op = PREFETCH if not settings.synchronous_commit else WRITE if settings.flushed_later else FLUSH
    waits_behind = binary_log or (settings.replica is not None and settings.synchronous_commit)
    return {
        "volume": volume,
        "waiting": waiting,
        **values_of(LOG_ROW, settings),
        "commit_op": AWAIT if waits_behind else own_op,
        "own_op": own_op,
        "round_trip_ns": replica.round_trip_ns,
        "replica_flush_ns": replica.flush_ns,
        "replica_starts_ns": -1,
        "files_end": -(-settings.most_kept_bytes // settings.segment_bytes) * settings.segment_bytes or _EVERYWHERE,
    }
