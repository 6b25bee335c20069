"""MySQL's binary log as a passive machine: the second station of a commit, a batch server like the first.

Who commits is here when its redo is durable. The first becomes the leader: it writes what all that wait have, in one
piece, and syncs it if it is the group's turn; who comes meanwhile is of the next group, whose redo is flushed beside
(sql/binlog.cc, ordered_commit; MariaDB: log.cc, trx_group_commit_leader). The file grows, so that a sync commits the
journal of the file system (:mod:`tiersim.simulator.database.journal`), though it is fdatasync (mysys/my_sync.cc). A
group whose turn it is not costs no device anything: it lies in the operating system's page cache until a later one is
synced.

Requests: FLUSH, of one transaction.
"""

from dataclasses import dataclass

from tiersim.devices import requests
from tiersim.devices.plant import settings_of, values_of
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import WRITE
from tiersim.simulator.database.database_state import Database, record
from tiersim.simulator.database.journal import add_sync

#: What a request does: it is of another's group; it leads one, which is written, and synced.
_FOLLOWS, _LEADS, _WRITES, _SYNCS = range(4)


@dataclass(frozen=True)
class BinaryLog:
    """Settings: bytes of a transaction in it, sync_binlog, binlog_group_commit_sync_delay; ``file_bytes`` is where it
    goes round on its volume, ``station`` that of the volume.
    """

    station: int = 0
    commit_bytes: int = 512
    sync_every: int = 1  # groups; 0: never
    delay_ns: int = 0
    file_bytes: int = 1 << 30


BINARY_LOG_ROW = record(
    "volume",
    "waiting",  # queue of transactions
    *settings_of(BinaryLog, without=("station",)),
    "busy",
    "arrived",  # transactions so far
    "target",  # the last of the group that is on its way
    "done",
    "synced",  # up to which they are on the volume
    "groups",
    "syncs",
    "offset",  # where the next bytes go
    indices=("volume", "waiting"),
)


#: It is written in whole pages of the operating system's cache.
_BLOCK_BYTES = 4096


@kernel
def accept_binary_log(p: Plant, d: Database, slot: int) -> int:
    """Take a transaction, whose redo is durable."""
    b, hold = d.binary_log[0], d.holds[slot]
    b["arrived"] += 1
    hold["position"] = b["arrived"]
    hold["phase"] = _FOLLOWS
    requests.append(p, b["waiting"], slot)
    return WAIT if b["busy"] else CALL


@kernel
def choose_binary_log(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let go whoever's group is done; else let the first lead another, if none is on its way."""
    b = d.binary_log[0]
    slot = p.queues[b["waiting"]]["head"]
    if slot == NONE:
        return NONE, NEVER, NEVER
    if d.holds[slot]["position"] <= b["done"]:
        requests.remove(p, b["waiting"], slot, NONE)
        return slot, now + PASS_ON_NS, NEVER
    if b["busy"]:
        return NONE, NEVER, NEVER
    requests.remove(p, b["waiting"], slot, NONE)
    b["busy"] = 1
    d.holds[slot]["phase"] = _LEADS
    waits = b["sync_every"] == 0 or (b["groups"] + 1) % b["sync_every"] == 0  # for company: who is synced
    return slot, now + max(b["delay_ns"] if waits else 0, PASS_ON_NS), NEVER


@kernel
def finish_binary_log(p: Plant, d: Database, slot: int) -> int:
    """Write and sync what has come, if this transaction leads."""
    b, hold = d.binary_log[0], d.holds[slot]
    if hold["phase"] == _FOLLOWS:
        return 0
    b["target"] = b["arrived"]
    b["groups"] += 1
    if b["sync_every"] == 0 or b["groups"] % b["sync_every"] != 0:
        _end_group(d)
        return 0
    hold["phase"] = _WRITES
    length = (b["target"] - b["synced"]) * b["commit_bytes"]
    first = b["offset"] // _BLOCK_BYTES * _BLOCK_BYTES
    end = -(-(b["offset"] + length) // _BLOCK_BYTES) * _BLOCK_BYTES
    b["offset"] += length
    b["synced"] = b["target"]
    return add_child(p, 0, b["volume"], WRITE, first % b["file_bytes"], end - first)


@kernel
def resume_binary_log(p: Plant, d: Database, slot: int, now: int) -> int:
    """Sync behind the write; then the group is done."""
    b, hold = d.binary_log[0], d.holds[slot]
    if hold["phase"] == _WRITES:
        hold["phase"] = _SYNCS
        b["syncs"] += 1
        return add_sync(p, d, 0, b["volume"], now)
    _end_group(d)
    return 0


@kernel
def _end_group(d: Database) -> None:
    b = d.binary_log[0]
    b["done"] = b["target"]
    b["busy"] = 0


def binary_log_fields(settings: BinaryLog, waiting: int) -> dict[str, int]:
    """Return what of the binary log's row is not 0 at the start."""
    return {"volume": settings.station, "waiting": waiting, **values_of(BINARY_LOG_ROW, settings)}
