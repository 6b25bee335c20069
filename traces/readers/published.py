"""Block traces that operators and researchers publish as CSV without quotes: MSR Cambridge, SYSTOR '17, Alibaba,
Tencent.

Sources of columns and units: the readme that comes with each collection.
"""

from typing import ClassVar

import numpy as np

from tiersim.traces.readers.delimited import DECIMAL, WHOLE, WORD, Field, Lines, without_blanks
from tiersim.traces.readers.line_formats import SET_ASIDE, RequestTable
from tiersim.traces.schema import READ, WRITE
from tiersim.units import NS_PER_S

_SECTOR_BYTES = 512
#: From 1601, where Windows begins to count, to 1970.
_WINDOWS_UNIX_NS = -11_644_473_600 * NS_PER_S
#: Seconds since 1970 that are of this century.
_THIS_CENTURY_S = (946_684_800, 4_102_444_800)


class Msr(RequestTable):
    """MSR Cambridge: Timestamp, Hostname, DiskNumber, Type, Offset, Size, ResponseTime; times in 100 ns since 1601."""

    key = "msr"
    fields = (
        Field("time_ns", WHOLE, 100),
        Field("host"),
        Field("disk"),
        Field("op"),
        Field("offset_bytes", WHOLE),
        Field("length_bytes", WHOLE),
        Field("latency_ns", WHOLE, 100),
    )
    operations: ClassVar = {b"Read": READ, b"Write": WRITE}
    file = ("host", "disk")
    file_name = "{} disk {}"
    unix_ns = _WINDOWS_UNIX_NS

    def skips(self, line: bytes) -> bool:
        """Skip the heading that some copies have."""
        return line.startswith(b"Timestamp,")


class Systor17(RequestTable):
    """SYSTOR '17: Timestamp, Response, IOType, LUN, Offset, Size; seconds since 1970, true to the microsecond."""

    key = "systor17"
    fields = (
        Field("time_ns", DECIMAL, NS_PER_S),
        Field("latency_ns", DECIMAL, NS_PER_S, optional=True),
        Field("op"),
        Field("lun"),
        Field("offset_bytes", WHOLE),
        Field("length_bytes", WHOLE),
    )
    operations: ClassVar = {b"R": READ, b"W": WRITE, b"": SET_ASIDE}
    set_aside = "requests without a response, whose operation nobody knows"
    file = ("lun",)
    file_name = "lun {}"
    unix_ns = 0

    def skips(self, line: bytes) -> bool:
        """Skip the heading."""
        return line.startswith(b"Timestamp,")


class Alibaba(RequestTable):
    """Alibaba 2020: device_id, opcode, offset, length, timestamp; microseconds since 1970."""

    key = "alibaba"
    fields = (
        Field("device"),
        Field("op"),
        Field("offset_bytes", WHOLE),
        Field("length_bytes", WHOLE),
        Field("time_ns", WHOLE, 1000),
    )
    operations: ClassVar = {b"R": READ, b"W": WRITE}
    file = ("device",)
    file_name = "device {}"
    unix_ns = 0

    def skips(self, line: bytes) -> bool:
        """Skip the heading that some copies have."""
        return line.startswith(b"device_id,")


class Tencent(RequestTable):
    """Tencent CBS: Timestamp, Offset, Size, IOType, VolumeID; whole seconds since 1970, sectors, 0
    reads and 1 writes.
    """

    key = "tencent"
    fields = (
        Field("time_ns", WHOLE, NS_PER_S),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
        Field("length_bytes", WHOLE, _SECTOR_BYTES),
        Field("op"),
        Field("volume", WORD),
    )
    operations: ClassVar = {b"0": READ, b"1": WRITE}
    file = ("volume",)
    file_name = "volume {}"
    tick_ns = NS_PER_S
    unix_ns = 0

    def skips(self, line: bytes) -> bool:
        """Skip the heading that some copies have."""
        return line.startswith(b"Timestamp,")

    def believable(self, lines: Lines) -> bool:
        """Tell five columns of numbers from others by their times."""
        times = lines.numbers["time_ns"]
        return bool(((times >= _THIS_CENTURY_S[0]) & (times < _THIS_CENTURY_S[1])).all())


class Spc(RequestTable):
    """SPC trace file format 1.0.1 (UMass Financial, WebSearch): ASU, LBA, Size, Opcode, Timestamp; further columns may
    follow.

    The format leaves the size of a block to the description of the trace: 512 bytes, unless the addresses look like
    bytes.
    """

    key = "spc"
    clean = staticmethod(without_blanks)
    more = True
    operations: ClassVar = {b"R": READ, b"r": READ, b"W": WRITE, b"w": WRITE}
    file = ("asu",)
    file_name = "asu {}"

    _FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("asu"),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
        Field("length_bytes", WHOLE),
        Field("op"),
        Field("time_ns", DECIMAL, NS_PER_S),
    )
    #: So many different addresses, all of them multiples of 512, are in bytes.
    _ENOUGH_ADDRESSES = 32

    fields = _FIELDS

    def prepare(self, head: bytes) -> bool:
        """Find the unit of the addresses."""
        self.fields = self._FIELDS
        addresses = self.peek(head).numbers["offset_bytes"]
        odd = int(np.count_nonzero(addresses % _SECTOR_BYTES))
        many = len(np.unique(addresses)) >= self._ENOUGH_ADDRESSES
        of_how_many = f"of the first {len(addresses):,}, {odd:,} are no multiples of {_SECTOR_BYTES}"
        if many and not odd:
            self.fields = tuple(f._replace(factor=1) if f.name == "offset_bytes" else f for f in self._FIELDS)
            self.inferred.append(f"addresses are assumed to be bytes ({of_how_many})")
        else:
            self.inferred.append(f"addresses are assumed to be blocks of {_SECTOR_BYTES} bytes ({of_how_many})")
        return True
