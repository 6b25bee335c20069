"""MySQL 8's redo log as a passive machine: two threads make it durable, and no commit does it itself.

MySQL's log/log0write.cc: the log writer copies what has been inserted to the operating system's page cache, and begins
anew while there is more (log_writer). The log flusher makes durable what has been written when it begins, and begins
anew when more was written meanwhile (log_flusher): so it flushes all the time while anybody changes anything, and what
was changed by transactions that have not committed goes along. A commit waits until the flusher has come to its
position (log_wait_for_flush).

A write takes a processor alone, as it goes to the page cache. A flush, fsync, is a write of whole blocks to the volume
and a flush behind it, and then takes a processor. When all has been written the writer rests, until somebody asks for
more, or a slice of CPU ends behind a change (MySQL's writer looks every 10 us at first, innodb_log_writer_timeout).

With a binary log a commit logs twice: what prepares it, which it waits for, and, when its group is synced, what ends
it (trx0trx.cc, trx_commit_low; sql/binlog.cc, process_commit_stage_queue). Nobody waits for the latter, and the flusher
makes it durable all the same. Each has half of the bytes: a choice.

Requests are those of :mod:`tiersim.simulator.database.wal.log`; the length of an AWAIT is what the commit logs later. A
round of the writer is a background request of the station to itself, WRITE, a round of the flusher another, FLUSH.
"""

from tiersim.devices import requests
from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, WRITE
from tiersim.simulator.database.buffer_pool.flush_list import arm_cleaner
from tiersim.simulator.database.database_state import (
    AT_BINARY_LOG,
    AT_LOG,
    AT_PROCESSORS,
    AWAIT,
    LOG_IO_NS,
    URGENT,
    Database,
)
from tiersim.simulator.database.wal.log import add_log_flush, count_flush, insert, wake_log_writer
from tiersim.simulator.database.wal.log_blocks import find_satisfied, find_waiting, is_satisfied

#: What a request does (``phase`` of its hold): it is or will be satisfied by the threads, or wakes them; a commit waits
#: for the log, and then for the binary log; a round of a thread begins, writes, flushes, uses a processor.
_FOLLOWS, _WAKES, _ASKS, _SENT, _BEGINS, _WRITES, _FLUSHES, _FLUSHED = range(8)


@kernel
def accept_log_threads(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request; who finds his position durable goes on at once."""
    hold = d.holds[slot]
    if is_background(p, slot):
        hold["phase"] = _BEGINS
        return now + PASS_ON_NS
    if p.requests[slot]["op"] == AWAIT:
        hold["phase"] = _ASKS
        return now + PASS_ON_NS
    hold["phase"] = _FOLLOWS
    if is_satisfied(p, d, slot):
        return now + PASS_ON_NS
    requests.append(p, d.log[0]["waiting"], slot)
    return CALL


@kernel
def choose_log_threads(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let go who has what he waits for; else let the first wake the writer, if it rests."""
    log = d.log[0]
    slot = find_satisfied(p, d)
    if slot != NONE:
        return slot, now + PASS_ON_NS, NEVER
    if log["writer_awake"]:
        return NONE, NEVER, NEVER
    slot = find_waiting(p, d, False)
    if slot == NONE:
        return NONE, NEVER, NEVER
    log["writer_awake"] = 1
    d.holds[slot]["phase"] = _WAKES
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_log_threads(p: Plant, d: Database, slot: int) -> int:
    """Wake the writer, or begin a round of a thread."""
    log, hold, request = d.log[0], d.holds[slot], p.requests[slot]
    made = 0
    if d.page_cleaner.size > 0:
        made = arm_cleaner(p, d, made)
    phase = hold["phase"]
    if phase == _ASKS:
        return add_child(p, made, d.stations[AT_LOG], FLUSH, request["offset_bytes"], 0)
    if phase == _WAKES:
        hold["phase"] = _SENT
        made = add_background(p, made, d.stations[AT_LOG], WRITE, 0, 0)
        return add_child(p, made, d.stations[AT_LOG], request["op"], request["offset_bytes"], 0)
    if phase == _FOLLOWS:
        return made
    if request["op"] == WRITE:
        hold["position"] = log["inserted"]
        if d.costs[LOG_IO_NS] > 0:
            return add_child(p, made, d.stations[AT_PROCESSORS], URGENT, 0, d.costs[LOG_IO_NS])
        return _written(p, d, slot, made)
    log["began_ns"] = request["accepted_ns"] + PASS_ON_NS
    log["target"] = log["written"]
    block = log["block_bytes"]
    first, end = log["flushed"] // block * block, -(-log["target"] // block) * block
    log["written_bytes"] += end - first
    hold["phase"] = _WRITES
    return add_child(p, made, log["volume"], WRITE, first % log["file_bytes"], end - first)


@kernel
def _written(p: Plant, d: Database, slot: int, made: int) -> int:
    """End a round of the writer: the flusher begins if it rests, and the writer anew if there is more."""
    log = d.log[0]
    log["written"] = d.holds[slot]["position"]
    if not log["busy"] and log["written"] > log["flushed"]:
        log["busy"] = 1
        made = add_background(p, made, d.stations[AT_LOG], FLUSH, 0, 0)
    log["writer_awake"] = log["inserted"] > log["written"]
    if log["writer_awake"]:
        made = add_background(p, made, d.stations[AT_LOG], WRITE, 0, 0)
    return made


@kernel
def resume_log_threads(p: Plant, d: Database, slot: int, now: int) -> int:
    """Go on with a commit behind its redo, or with the round of a thread."""
    log, hold, request = d.log[0], d.holds[slot], p.requests[slot]
    phase = hold["phase"]
    if phase == _ASKS:
        hold["phase"] = _SENT
        return add_child(p, 0, d.stations[AT_BINARY_LOG], FLUSH, 0, 0)
    if phase == _SENT:
        if request["op"] == AWAIT:
            insert(d, request["length_bytes"])
            return wake_log_writer(p, d)
        return 0
    if request["op"] == WRITE:
        return _written(p, d, slot, 0)
    if phase == _WRITES:
        hold["phase"] = _FLUSHES
        return add_log_flush(p, d, 0, now)
    if phase == _FLUSHES and d.costs[LOG_IO_NS] > 0:
        hold["phase"] = _FLUSHED
        return add_child(p, 0, d.stations[AT_PROCESSORS], URGENT, 0, d.costs[LOG_IO_NS])
    log["flushed"] = log["target"]
    count_flush(d, log["began_ns"], now)
    made = wake_log_writer(p, d)
    log["busy"] = log["written"] > log["flushed"]
    if log["busy"]:
        made = add_background(p, made, d.stations[AT_LOG], FLUSH, 0, 0)
    return made
