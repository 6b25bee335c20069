"""Requests that Open CAS's standalone-linux-io-tracer recorded, as CSV with the headings of the class below."""

from typing import ClassVar

from tiersim.traces.readers.delimited import WHOLE, Field
from tiersim.traces.readers.line_formats import RequestTable
from tiersim.traces.schema import DISCARD, FLUSH, READ, WRITE

_SECTOR_BYTES = 512


class OpenCas(RequestTable):
    """t_ns, latency_ns, op, lba_512, nsectors, ioclass."""

    key = "opencas"
    heading = True
    fields = (
        Field("time_ns", WHOLE),
        Field("latency_ns", WHOLE, optional=True),
        Field("op"),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
        Field("length_bytes", WHOLE, _SECTOR_BYTES),
        Field(),
    )
    tells_flushes = True
    operations: ClassVar = {b"R": READ, b"W": WRITE, b"F": FLUSH, b"D": DISCARD}

    def prepare(self, head: bytes) -> bool:
        """Look at the headings."""
        return head.startswith(b"t_ns,latency_ns,op,lba_512,nsectors,ioclass")

    def skips(self, line: bytes) -> bool:
        """Skip the headings."""
        return line.startswith(b"t_ns,")
