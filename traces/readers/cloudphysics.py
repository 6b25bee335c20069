"""CloudPhysics' traces of virtual machines: vSCSI binary records, versions 1 and 2, and the CSV made from them.

Source: ``vscsi.h`` of libCacheSim; all numbers little-endian, times in microseconds, addresses in blocks of 512 bytes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.errors import TraceError
from tiersim.traces.bundle import MOST, RequestWriter
from tiersim.traces.readers.delimited import WHOLE, Field
from tiersim.traces.readers.line_formats import SET_ASIDE, RequestTable
from tiersim.traces.readers.opened import Opened, Progress
from tiersim.traces.readers.ordered import Rows, new_rows
from tiersim.traces.readers.request_files import Collected, read_files
from tiersim.traces.schema import FLUSH, NOT_MEASURED, READ, WRITE
from tiersim.units import NS_PER_S

_SECTOR_BYTES = 512
_NS_PER_US = 1000
#: SCSI operation codes of 6, 10, 12 and 16 bytes (SBC-3).
_COMMANDS = {
    **dict.fromkeys((0x08, 0x28, 0xA8, 0x88), READ),
    **dict.fromkeys((0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E), WRITE),
    **dict.fromkeys((0x35, 0x91), FLUSH),
}
_OTHER = "other SCSI commands"
_OPERATION_OF = np.full(256, SET_ASIDE, np.uint8)
_OPERATION_OF[list(_COMMANDS)] = list(_COMMANDS.values())

_RECORDS = {
    1: np.dtype(
        [("sn", "<u4"), ("len", "<u4"), ("sg", "<u4"), ("cmd", "<u2"), ("ver", "<u2"), ("lbn", "<u8"), ("ts", "<u8")]
    ),
    2: np.dtype(
        [
            ("cmd", "<u2"),
            ("ver", "<u2"),
            ("sn", "<u4"),
            ("len", "<u4"),
            ("sg", "<u4"),
            ("lbn", "<u8"),
            ("ts", "<u8"),
            ("rt", "<u8"),
        ]
    ),
}
_SNIFFED_RECORDS = 100
_RECORDS_AT_ONCE = 1 << 16
KEY = "vscsi"


class CloudPhysicsCsv(RequestTable):
    """version, time, op, size, lbn: whole seconds, hexadecimal SCSI operation codes, bytes, blocks."""

    key = "cloudphysics-csv"
    heading = True
    fields = (
        Field(),
        Field("time_ns", WHOLE, NS_PER_S),
        Field("op"),
        Field("length_bytes", WHOLE),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
    )
    set_aside = _OTHER
    tells_flushes = True
    tick_ns = NS_PER_S

    def prepare(self, head: bytes) -> bool:
        """Look at the headings."""
        return head.startswith(b"version,time,op,size,lbn")

    def skips(self, line: bytes) -> bool:
        """Skip the headings."""
        return line.startswith(b"version,")

    def operation(self, word: bytes) -> int:
        """Return the operation of a SCSI command."""
        try:
            code = int(word, 16)
        except ValueError:
            return -1
        return int(_OPERATION_OF[code]) if 0 <= code < len(_OPERATION_OF) else -1


def looks_like_vscsi(first_bytes: bytes) -> bool:
    """Tell whether a file that begins so holds vSCSI records."""
    return _version(first_bytes) > 0


def read_vscsi(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of vSCSI files to *writer* and return what the manifest says of them.

    Raises TraceError when a file holds no such records or most of them are damaged.
    """
    return read_files(paths, writer, progress, KEY, _read_file, tells_flushes=True)


def _version(first_bytes: bytes) -> int:
    """Return the version that the first records are of, all of them; 0 when there is none."""
    for version, kind in _RECORDS.items():
        count = min(len(first_bytes) // kind.itemsize, _SNIFFED_RECORDS)
        records = np.frombuffer(first_bytes, kind, count)
        times = records["ts"].astype(np.float64)
        if count and _are_well(records, version).all() and np.ptp(times) < MOST / _NS_PER_US:
            return version
    return 0


def _are_well(records: Rows, version: int) -> Any:
    return (
        (records["ver"] >> 8 == version)
        & (records["cmd"] < len(_OPERATION_OF))
        & (records["lbn"] < MOST // _SECTOR_BYTES)
        & (records["ts"] < MOST // _NS_PER_US)
    )


def _read_file(source: Opened, collected: Collected) -> None:
    rest = source.read()
    while 0 < len(rest) < 2 * max(kind.itemsize for kind in _RECORDS.values()) and (piece := source.read()):
        rest += piece
    if not rest and not source.damage:
        raise TraceError(f"{source.path}: is empty; record again")
    version = _version(rest[: _RECORDS[1].itemsize]) or _version(rest[: _RECORDS[2].itemsize])
    if not version:
        raise TraceError(
            f"{source.path}: at byte 0 is {rest[:8]!r}, which begins no vSCSI record of version 1 or 2; give another"
            " file or another --format"
        )
    kind = _RECORDS[version]
    file = collected.only_file(source.path)
    seen = damaged = first_damaged = 0
    while len(rest) >= kind.itemsize:
        records = np.frombuffer(rest, kind, len(rest) // kind.itemsize)
        well = _are_well(records, version)
        if not well.all():
            first_damaged = first_damaged or seen + int(np.argmin(well)) + 1
            damaged += int(np.count_nonzero(~well))
        seen += len(records)
        collected.add(_rows(records[well], version, file, collected))
        rest = rest[len(records) * kind.itemsize :]
        while len(rest) < _RECORDS_AT_ONCE * kind.itemsize and (piece := source.read()):
            rest += piece
    if damaged:
        what = f"{damaged:,} of {seen:,} records are damaged, the first is record {first_damaged:,}"
        if 2 * damaged > seen:
            raise TraceError(f"{source.path}: {what}; give another file or another --format")
        collected.lose("damaged records", damaged)
        collected.warnings.append(f"{source.path.name}: {what}; they were left out")
    if rest:
        collected.lose("bytes that are no record", len(rest))
        collected.warnings.append(f"{source.path.name}: ends within a record ({len(rest)} bytes); was it cut off?")


def _rows(records: Rows, version: int, file: int, collected: Collected) -> Rows:
    rows = new_rows(len(records))
    rows["op"] = _OPERATION_OF[records["cmd"]]
    rows["time_ns"] = records["ts"].astype(np.int64) * _NS_PER_US
    rows["offset_bytes"] = records["lbn"].astype(np.int64) * _SECTOR_BYTES
    rows["length_bytes"] = records["len"]
    rows["file"] = file
    if version == 2:
        took = records["rt"]
        known = took < MOST // _NS_PER_US
        rows["latency_ns"] = np.where(known, np.where(known, took, 0).astype(np.int64) * _NS_PER_US, NOT_MEASURED)
    other = rows["op"] == SET_ASIDE
    collected.lose(_OTHER, int(np.count_nonzero(other)))
    kept: Rows = rows[~other]
    return kept
