"""Writes the same requests as a recording of blktrace, as a trace of DiskSim, and as a bundle.

64 sessions ask for 8 KiB anywhere in 80 GB, 70 % reads, each for its next page some time after it has got the one
before.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.operations import READ, WRITE
from tiersim.traces.bundle import ROWS_PER_GROUP, Requests, write_bundle
from tiersim.traces.schema import DATA_READ, DATA_WRITE, FLAG_SYNC, NOT_MEASURED

_SESSIONS, _CPUS, _PAGE_BYTES, _SECTOR_BYTES, _WRITE_SHARE = 64, 4, 8192, 512, 0.3
#: Of the time between two requests of a session the first is on the device for this share.
_BUSY_SHARE = 1 / 16
#: include/uapi/linux/blktrace_api.h: struct blk_io_trace, version 7, its actions and the categories of each.
_RECORD = np.dtype(
    [
        *(
            ("magic", "<u4"),
            ("sequence", "<u4"),
            ("time", "<u8"),
            ("sector", "<u8"),
            ("bytes", "<u4"),
            ("action", "<u4"),
        ),
        *(("pid", "<u4"), ("device", "<u4"), ("cpu", "<u4"), ("error", "<u2"), ("pdu_len", "<u2")),
    ]
)
_MAGIC, _DEVICE = 0x65617407, 8 << 20 | 16
_READ, _WRITE, _QUEUE, _ISSUE, _COMPLETE = 1 << 16, 10 << 16, 1 << 20, 1 << 22, 1 << 23
#: Queue, get a request, insert, issue, complete: what the kernel notes of each, and when, in ns after it was queued.
_EVENTS = ((1, 0), (4, 400), (5, 700), (7, 1300), (8, None))
_LINES = 100_000


def requests(count: int, per_s: float) -> Requests:
    """Return *count* requests in order of time, *per_s* of them a second."""
    luck, each = np.random.default_rng(1), -(-count // _SESSIONS)
    gap_ns = _SESSIONS / per_s * 1e9
    latency = (luck.uniform(0.5, 1.5, (_SESSIONS, each)) * _BUSY_SHARE * gap_ns).astype(np.int64)
    think = luck.exponential((1 - _BUSY_SHARE) * gap_ns, (_SESSIONS, each)).astype(np.int64)
    start = np.cumsum(latency + think, axis=1) - latency
    order = np.argsort(start.ravel(), kind="stable")[:count]
    time_ns = start.ravel()[order]
    op = np.where(luck.random(count) < _WRITE_SHARE, WRITE, READ).astype(np.uint8)
    return Requests(
        time_ns=time_ns - time_ns[0],
        op=op,
        file=np.zeros(count, np.int32),
        offset_bytes=luck.integers(0, 10**7, count) * _PAGE_BYTES,
        length_bytes=np.full(count, _PAGE_BYTES, np.int64),
        stream=(order // each).astype(np.int32),
        purpose=np.where(op == READ, DATA_READ, DATA_WRITE).astype(np.uint8),
        issue_ns=time_ns - time_ns[0] + 1300,
        command=np.full(count, NOT_MEASURED, np.int64),
        latency_ns=latency.ravel()[order],
        flags=np.full(count, FLAG_SYNC, np.uint8),
    )


def _blktrace(found: Requests, place: Path) -> None:
    """Write a file for each processor; a session stays on one."""
    for cpu in range(_CPUS):
        own = np.flatnonzero(found.stream % _CPUS == cpu)
        rows = np.concatenate([_events(found, own, *event) for event in _EVENTS])
        rows = rows[np.argsort(rows["time"], kind="stable")]
        rows["sequence"], rows["cpu"] = np.arange(1, len(rows) + 1), cpu
        rows.tofile(place / f"sdb.blktrace.{cpu}")


def _events(found: Requests, own: NDArray[np.int64], action: int, after_ns: int | None) -> NDArray[np.void]:
    rows = np.zeros(len(own), _RECORD)
    rows["magic"], rows["device"] = _MAGIC, _DEVICE
    rows["time"] = found.time_ns[own] + (found.latency_ns[own] if after_ns is None else after_ns)
    rows["sector"] = found.offset_bytes[own] // _SECTOR_BYTES
    rows["bytes"] = found.length_bytes[own]
    category = {1: _QUEUE, 7: _ISSUE, 8: _COMPLETE}.get(action, 0)
    rows["action"] = np.where(found.op[own] == WRITE, _WRITE, _READ) | category | action
    rows["pid"] = 1000 + found.stream[own]
    return rows


def _disksim(found: Requests, place: Path) -> None:
    """Write arrivals (ms), device, sector, sectors, and 1 for a read."""
    with (place / "requests.ascii").open("w") as file:
        for first in range(0, len(found), _LINES):
            rows = slice(first, first + _LINES)
            columns = (
                (found.time_ns[rows] / 1e6).tolist(),
                (found.offset_bytes[rows] // _SECTOR_BYTES).tolist(),
                (found.length_bytes[rows] // _SECTOR_BYTES).tolist(),
                (found.op[rows] == READ).astype(int).tolist(),
            )
            file.writelines(
                f"{at_ms:.6f} 0 {sector} {sectors} {read}\n"
                for at_ms, sector, sectors, read in zip(*columns, strict=True)
            )


def _bundle(found: Requests, place: Path) -> None:
    with write_bundle(place / "requests.trace", force=True) as (writer, fields):
        writer.file_names.append("data")
        writer.stream_names += [f"backend {number}" for number in range(_SESSIONS)]
        for first in range(0, len(found), ROWS_PER_GROUP):
            columns = {name: column[first : first + ROWS_PER_GROUP] for name, column in vars(found).items()}
            writer.append(Requests(**columns))
        fields["source_format"] = "made up"


#: By name: what writes them into a folder, and what of it is to be imported, if that is needed.
FORMATS: dict[str, tuple[Callable[[Requests, Path], None], str]] = {
    "blktrace": (_blktrace, "sdb.blktrace.0"),
    "disksim": (_disksim, "requests.ascii"),
    "bundle": (_bundle, ""),
}
