"""The journal of a file system, ext4's, as a passive machine: what makes a file's metadata durable when it is synced.

ext4 (fs/ext4/fsync.c, ext4_sync_file): fsync commits the journal's transaction that holds the last change of the file's
inode, fdatasync one that changed its size. If that is committed, a flush of the device is all; if it is being
committed, its end is waited for. A write sets the time of the last change, which is the same for as long as a tick of
the kernel lasts, so that a file that is written in its length is changed once a tick (fs/inode.c, file_update_time). A
file that grows is changed by each write.

A commit (fs/jbd2/commit.c) writes a descriptor and the block of the inode, and then, behind a flush, its last block,
which is flushed, too. There is one at a time; what has changed meanwhile goes with the next one. Not simulated: blocks
of bitmaps, that what is in the journal is written to its place, half a minute later, and commits of data files in the
operating system's page cache.

Nothing was fitted to what fsync takes. From the rates at which one job writes 16 KiB and calls fdatasync, this says
that of fsync (fio of mdcallag/mytools, ext4; ticks are not known): with ticks of 1 ms within 3 % on four drives, 17 %
too low on a remote one, and half on a 990 PRO, whose second flush is nearly free; with 4 ms 1 to 82 % too high on the
first five.

Requests: FLUSH, of a file that is synced; its offset is when its metadata changed.
"""

from tiersim.devices import requests
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, WRITE
from tiersim.simulator.database.database_state import Database, record

JOURNAL_ROW = record(
    "volume",
    "waiting",  # queue of those whose metadata is not durable
    "busy",
    "began_ns",  # the last commit: what had changed by then is in it
    "done_ns",  # the same of the last that is over
    "offset",  # where the next one goes
    "commits",
    indices=("volume", "waiting"),
)

#: What a request does: its metadata is durable, and it flushes the device; it is or will be in another's commit; it
#: writes the changed blocks, flushes them, writes the last block, flushes that.
_FLUSHES, _FOLLOWS, _LEADS, _WRITES, _WRITTEN, _ENDS, _ENDED = range(7)
#: A tick is 4 ms long: CONFIG_HZ is 250 in kernels of Debian, and of Ubuntu up to 24.04 (1000 in Red Hat's and in newer
#: ones). With 1 ms, sysbench of MySQL 8.0 on a SATA drive makes 18.0 requests a transaction with one client and all
#: data in the pool (22.9 were counted, with 4 ms it is 13.8), and is 5 % faster to 10 % slower.
TICK_NS = 4_000_000
_BLOCK_BYTES = 4096
#: The journal of a large file system (mke2fs); it goes round.
_BYTES = 1 << 30


@kernel
def changed_by_write(changed_ns: int, now: int) -> int:
    """Return when the metadata of a file changed last that did so at *changed_ns* and is written now."""
    return now if now // TICK_NS > changed_ns // TICK_NS else changed_ns


@kernel
def add_sync(p: Plant, d: Database, made: int, volume: int, changed_ns: int) -> int:
    """Ask for a sync of a file on a volume whose metadata changed at that time; *made* children are there already."""
    return add_child(p, made, d.journal_of[volume], FLUSH, changed_ns, 0)


@kernel
def accept_journal(p: Plant, d: Database, row: int, slot: int, now: int) -> int:
    """Take a file that is synced."""
    j = d.journals[row]
    if p.requests[slot]["offset_bytes"] <= j["done_ns"]:
        d.holds[slot]["phase"] = _FLUSHES
        return now + PASS_ON_NS
    d.holds[slot]["phase"] = _FOLLOWS
    requests.append(p, j["waiting"], slot)
    return WAIT if j["busy"] else CALL


@kernel
def choose_journal(p: Plant, d: Database, row: int, now: int) -> tuple[int, int, int]:
    """Let go the first whose metadata is durable; else let the first commit, if nobody does."""
    j = d.journals[row]
    before, slot = NONE, p.queues[j["waiting"]]["head"]
    while slot != NONE and j["busy"] and p.requests[slot]["offset_bytes"] > j["done_ns"]:
        before, slot = slot, p.links[slot]["next"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    requests.remove(p, j["waiting"], slot, before)
    if p.requests[slot]["offset_bytes"] > j["done_ns"]:
        j["busy"], j["began_ns"] = 1, now
        d.holds[slot]["phase"] = _LEADS
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_journal(p: Plant, d: Database, row: int, slot: int) -> int:
    """Flush the device, or begin to commit."""
    j, hold = d.journals[row], d.holds[slot]
    if hold["phase"] == _FLUSHES:
        return add_child(p, 0, j["volume"], FLUSH, 0, 0)
    if hold["phase"] == _FOLLOWS:
        return 0
    hold["phase"] = _WRITES
    return _write(p, d, row, 2)


@kernel
def resume_journal(p: Plant, d: Database, row: int, slot: int) -> int:
    """Go on with a commit."""
    j, hold = d.journals[row], d.holds[slot]
    if hold["phase"] in (_FLUSHES, _FOLLOWS):
        return 0
    hold["phase"] += 1
    if hold["phase"] in (_WRITTEN, _ENDED):
        return add_child(p, 0, j["volume"], FLUSH, 0, 0)
    if hold["phase"] == _ENDS:
        return _write(p, d, row, 1)
    j["busy"], j["done_ns"] = 0, j["began_ns"]
    j["commits"] += 1
    return 0


@kernel
def _write(p: Plant, d: Database, row: int, blocks: int) -> int:
    j = d.journals[row]
    offset = j["offset"]
    j["offset"] = (offset + blocks * _BLOCK_BYTES) % _BYTES
    return add_child(p, 0, j["volume"], WRITE, offset, blocks * _BLOCK_BYTES)
