"""SQL Server's log as a passive machine: blocks of 512 bytes to 60 KB, of which many are under way at once.

P. Randal, "Trimming the transaction log fat" (sqlperformance.com, January 2013): a block is written when a transaction
ends or when 60 KB are full, and at most 112 writes of a database's log are under way (32 up to 2008 R2). Microsoft's
customer advisory team, "Diagnosing transaction log performance issues and limits of the log manager": and at most 3,840
KB (480 KB in 2005). So the log comes to min(112 x block, 3,840 KB) / latency, and what a write takes.

Whoever ends a transaction writes what has not been written, 60 KB at most, if the limits leave room; what others insert
meanwhile is the next block. With the limits reached blocks grow. A block ends with its sector. Writes go through caches
that lose power: a write, and a flush behind it. Blocks may come back in any order; a position is durable when all
before it are.

Positions count bytes of records since the run began (:func:`tiersim.simulator.database.wal.log.insert`); ``written`` is
up to where they are on their way. Requests: FLUSH up to a position (their offset); WRITE, so that at most a block waits
to be on its way; PREFETCH, which waits for nothing: the block of other transactions takes it along, or 60 KB do
(DELAYED_DURABILITY; Microsoft, Control transaction durability); READ, made here: write a block whose number is its
offset.
"""

from dataclasses import dataclass

from tiersim.devices import requests
from tiersim.devices.plant import values_of
from tiersim.devices.requests import add_background, add_child
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.database_state import (
    AT_LOG,
    AT_PROCESSORS,
    BLOCK_BEGAN_NS,
    BLOCK_BYTES,
    BLOCK_DURABLE,
    BLOCK_END,
    BLOCK_OFFSET,
    LOG_IO_NS,
    PREFETCH,
    URGENT,
    Database,
)
from tiersim.simulator.database.wal.log import LOG_ROW, arm_checkpointer, count_flush

#: What a request does (``phase`` of its hold): it waits for others' blocks; or it has one, which the processors issue,
#: is written, is flushed.
_FOLLOWS, _OWNS, _ISSUES, _WRITES, _FLUSHES = range(5)
#: Blocks that are durable while one before them is not are remembered, so many of them for each write that may be under
#: way.
_REMEMBERED = 16


@dataclass(frozen=True)
class LogBlocks:
    """Settings of the log, with the limits of SQL Server 2012 and later. ``file_bytes`` is where it goes round on its
    volume.
    """

    file_bytes: int = 1 << 30
    largest_block_bytes: int = 61_440
    sector_bytes: int = 512
    most_writes: int = 112
    most_bytes: int = 3_932_160
    delayed_durability: bool = False


@kernel
def accept_log_blocks(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a request; who finds his position durable goes on at once."""
    d.holds[slot]["phase"] = _FOLLOWS
    if p.requests[slot]["op"] == READ:
        d.holds[slot]["phase"] = _OWNS
        d.holds[slot]["position"] = p.requests[slot]["offset_bytes"]
        return now + PASS_ON_NS
    if p.requests[slot]["op"] == PREFETCH or is_satisfied(p, d, slot):
        return now + PASS_ON_NS
    requests.append(p, d.log[0]["waiting"], slot)
    return CALL


@kernel
def is_satisfied(p: Plant, d: Database, slot: int) -> bool:
    """Tell whether what a request asks for has been done."""
    done = d.log[0]["written"] if p.requests[slot]["op"] == WRITE else d.log[0]["flushed"]
    return bool(done >= p.requests[slot]["offset_bytes"])


@kernel
def choose_log_blocks(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let go who has what he waits for; else give the next block to the first whose records are not on their way."""
    log = d.log[0]
    slot = find_satisfied(p, d)
    if slot != NONE:
        return slot, now + PASS_ON_NS, NEVER
    if log["written"] == log["inserted"] or not _has_room(d):
        return NONE, NEVER, NEVER
    slot = find_waiting(p, d, False)
    if slot == NONE:
        return NONE, NEVER, NEVER
    _take_block(d, slot, now + PASS_ON_NS)
    return slot, now + PASS_ON_NS, NEVER


@kernel
def find_satisfied(p: Plant, d: Database) -> int:
    """Take the first out of the queue who has what he waits for; NONE if there is none. Nobody is looked for again
    before more has been written or flushed.
    """
    log = d.log[0]
    done = log["written"] + log["flushed"]
    if log["searched"] == done:
        return int(NONE)
    slot = find_waiting(p, d, True)
    if slot == NONE:
        log["searched"] = done
    return slot


@kernel
def find_waiting(p: Plant, d: Database, satisfied: bool) -> int:
    """Take the first out of the queue who is satisfied, or whose records are not on their way;
    NONE if there is none.
    """
    log = d.log[0]
    before, slot = NONE, p.queues[log["waiting"]]["head"]
    while slot != NONE:
        if is_satisfied(p, d, slot) if satisfied else p.requests[slot]["offset_bytes"] > log["written"]:
            requests.remove(p, log["waiting"], slot, before)
            return int(slot)
        before, slot = slot, p.links[slot]["next"]
    return int(NONE)


@kernel
def _block_bytes(d: Database) -> int:
    """Return how many bytes of records the next block takes."""
    return int(min(d.log[0]["inserted"] - d.log[0]["written"], d.log[0]["largest_block_bytes"]))


@kernel
def _on_disk(d: Database, record_bytes: int) -> int:
    """Return how long a block is on its volume: whole sectors."""
    sector = d.log[0]["block_bytes"]
    return int(-(-record_bytes // sector) * sector)


@kernel
def _has_room(d: Database) -> bool:
    """Tell whether the limits leave room for the next block."""
    log = d.log[0]
    if log["writes"] >= log["most_writes"] or log["next_block"] - log["first_block"] >= len(d.log_blocks):
        return False
    length = _on_disk(d, _block_bytes(d))
    return bool(log["writes"] == 0 or log["write_bytes"] + length <= log["most_bytes"])


@kernel
def _take_block(d: Database, slot: int, began_ns: int) -> None:
    """Give a request the next block."""
    log, hold = d.log[0], d.holds[slot]
    block = log["next_block"] % len(d.log_blocks)
    taken = _block_bytes(d)
    length = _on_disk(d, taken)
    log["written"] += taken
    d.log_blocks[block, BLOCK_END] = log["written"]
    d.log_blocks[block, BLOCK_OFFSET] = log["written_bytes"] % log["file_bytes"]
    d.log_blocks[block, BLOCK_BYTES] = length
    d.log_blocks[block, BLOCK_BEGAN_NS] = began_ns
    d.log_blocks[block, BLOCK_DURABLE] = 0
    hold["phase"] = _OWNS
    hold["position"] = log["next_block"]
    log["next_block"] += 1
    log["writes"] += 1
    log["write_bytes"] += length
    log["written_bytes"] += length


@kernel
def finish_log_blocks(p: Plant, d: Database, slot: int) -> int:
    """Begin to write the block of a request that has one; another block may take what it asks for beyond that."""
    made = arm_checkpointer(p, d, 0)
    request = p.requests[slot]
    if d.holds[slot]["phase"] != _OWNS:
        return made
    if request["op"] == WRITE:  # goes on; nobody waits for the block
        return add_background(p, made, d.stations[AT_LOG], READ, d.holds[slot]["position"], 0)
    if request["op"] == FLUSH and request["offset_bytes"] > d.log[0]["written"]:
        made = add_background(p, made, d.stations[AT_LOG], FLUSH, request["offset_bytes"], 0)
    if d.costs[LOG_IO_NS] > 0:
        d.holds[slot]["phase"] = _ISSUES
        return add_child(p, made, d.stations[AT_PROCESSORS], URGENT, 0, d.costs[LOG_IO_NS])
    return _write(p, d, slot, made)


@kernel
def _write(p: Plant, d: Database, slot: int, made: int) -> int:
    hold = d.holds[slot]
    hold["phase"] = _WRITES
    block = hold["position"] % len(d.log_blocks)
    offset, length = d.log_blocks[block, BLOCK_OFFSET], d.log_blocks[block, BLOCK_BYTES]
    return add_child(p, made, d.log[0]["volume"], WRITE, offset, length)


@kernel
def resume_log_blocks(p: Plant, d: Database, slot: int, now: int) -> int:
    """Go on with a block: write, flush; then all blocks are durable before which none is missing."""
    log, hold = d.log[0], d.holds[slot]
    phase = hold["phase"]
    if phase == _ISSUES:
        return _write(p, d, slot, 0)
    if phase == _WRITES:
        hold["phase"] = _FLUSHES
        return add_child(p, 0, log["volume"], FLUSH, 0, 0)
    if phase == _FOLLOWS:
        return 0
    blocks = len(d.log_blocks)
    done = hold["position"] % blocks
    d.log_blocks[done, BLOCK_DURABLE] = 1
    count_flush(d, d.log_blocks[done, BLOCK_BEGAN_NS], now)
    log["writes"] -= 1
    log["write_bytes"] -= d.log_blocks[done, BLOCK_BYTES]
    while log["first_block"] < log["next_block"] and d.log_blocks[log["first_block"] % blocks, BLOCK_DURABLE]:
        log["flushed"] = d.log_blocks[log["first_block"] % blocks, BLOCK_END]
        log["first_block"] += 1
    hold["phase"] = _FOLLOWS
    if p.requests[slot]["op"] == FLUSH and log["flushed"] < p.requests[slot]["offset_bytes"]:
        return add_child(p, 0, d.stations[AT_LOG], FLUSH, p.requests[slot]["offset_bytes"], 0)
    return 0


def remembered_blocks(settings: LogBlocks) -> int:
    """Return how many blocks may be under way or durable out of turn."""
    return settings.most_writes * _REMEMBERED


def log_block_fields(settings: LogBlocks, volume: int, waiting: int) -> dict[str, int]:
    """Return what of the log's row is not 0 at the start."""
    return {
        "volume": volume,
        "waiting": waiting,
        **values_of(LOG_ROW, settings),
        "block_bytes": settings.sector_bytes,
        "buffer_bytes": settings.largest_block_bytes,
        "commit_op": PREFETCH if settings.delayed_durability else FLUSH,
        "searched": -1,
    }
