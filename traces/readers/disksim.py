"""Traces of simulators: DiskSim's ASCII and ``validate`` formats, and MQSim's, whose columns are those of DiskSim's
ASCII.

Sources: DiskSim 4.0 reference manual and ``disksim_iotrace.c`` (ASCII: milliseconds; hexadecimal flags, bit 0 set for a
read; validate: microseconds, one request at a time), MQSim's ``ASCII_Trace_Definition.h`` (whole numbers; 0 writes, 1
reads).
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.delimited import DECIMAL, WHOLE, Field, Lines, single_blanks, sniffed_lines
from tiersim.traces.readers.line_formats import RequestTable
from tiersim.traces.readers.ordered import Rows
from tiersim.traces.schema import NOT_MEASURED, READ, WRITE
from tiersim.units import NS_PER_S

_SECTOR_BYTES = 512
#: Whole numbers that are on average farther apart than this are less likely ms (less than one request a second) than ns
#: (less than a million).
_APART = 1000
_PEEKED_LINES = 1000


class DiskSim(RequestTable):
    """DiskSim ASCII: arrival (ms, with fractions), device, block, blocks, flags; blocks of 512 bytes."""

    key = "disksim"
    delimiter = b" "
    clean = staticmethod(single_blanks)
    fields = (
        Field("time_ns", DECIMAL, 1_000_000),
        Field("device"),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
        Field("length_bytes", WHOLE, _SECTOR_BYTES),
        Field("op"),
    )
    file = ("device",)
    file_name = "device {}"

    def __init__(self) -> None:
        """Begin an import."""
        super().__init__()
        self.are_ns = False  # whether the times of the first lines are more likely ns than ms

    def prepare(self, head: bytes) -> bool:
        """Guess the unit of time."""
        words = [line.split() for line in sniffed_lines(head, _PEEKED_LINES).split(b"\n")]
        times = [line[0] for line in words if line and line[0].isdigit() and len(line[0]) < 20]
        whole = len(times) == sum(len(line) > 0 for line in words)
        numbers = [int(time) for time in times]
        apart = (max(numbers) - min(numbers)) / (len(times) - 1) if len(times) > 1 else 0
        self.are_ns = whole and apart >= _APART
        if self.are_ns:
            as_ns, as_ms = (f"{NS_PER_S / apart:,.3g} requests/s as ns", f"one in {apart / 1000:,.0f} s as ms")
            self.evidence = f"whole numbers, at first {apart:,.0f} apart on average: {as_ns}, {as_ms}"
        else:
            self.evidence = "whole numbers, close together" if whole else "with fractions"
        self.tell()
        return True

    def tell(self) -> None:
        """Say what is concluded."""
        self.inferred.append(
            f"times are assumed to be ms, as DiskSim's ({self.evidence}; --format mqsim reads them as MQSim's ns)"
        )

    def operation(self, word: bytes) -> int:
        """Return the operation that hexadecimal flags tell."""
        try:
            return READ if int(word, 16) & 1 else WRITE
        except ValueError:
            return -1

    def believable(self, lines: Lines) -> bool:
        """Leave MQSim's times alone."""
        return not self.are_ns


class MqSim(DiskSim):
    """MQSim ASCII: arrival (ns unless its workload file says otherwise), device, sector, sectors, 0 write or 1 read."""

    key = "mqsim"
    fields = (Field("time_ns", WHOLE), *DiskSim.fields[1:])
    operations: ClassVar = {b"0": WRITE, b"1": READ}

    def tell(self) -> None:
        """Say what is concluded, and what the file leaves open."""
        self.inferred.append(
            f"times are assumed to be ns, as MQSim's ({self.evidence}; --format disksim reads them as DiskSim's ms)"
        )
        self.warnings.append(
            "the unit of time is not in the file: MQSim's own is ns, but its workloads may set µs or ps"
        )

    def operation(self, word: bytes) -> int:
        """Return the code of an operation; -1 when it is none."""
        return self.operations.get(word, -1)

    def believable(self, lines: Lines) -> bool:
        """Leave DiskSim's times alone."""
        return self.are_ns


class DiskSimValidate(RequestTable):
    """DiskSim's validation traces: operation, what the buffer did, block, blocks, response (µs), think time (µs).

    The response was measured on a real drive, with one request at a time: each is issued its predecessor's think time
    after its predecessor's completion. From that follow the times.
    """

    key = "disksim-validate"
    delimiter = b" "
    clean = staticmethod(single_blanks)
    fields = (
        Field("op"),
        Field("buffer"),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
        Field("length_bytes", WHOLE, _SECTOR_BYTES),
        Field("latency_ns", DECIMAL, 1000),
        Field("think_ns", DECIMAL, 1000),
    )
    operations: ClassVar = {b"R": READ, b"W": WRITE}
    _BUFFER: ClassVar = {b"Hit", b"Miss", b"Doub", b"Trip"}

    def __init__(self) -> None:
        """Begin an import."""
        super().__init__()
        self._next_ns = 0
        self.inferred.append(
            "times follow from measured responses and think times: each request was issued when the one before it had "
            "completed and the think time was over"
        )

    def prepare(self, head: bytes) -> bool:
        """Begin each file at 0."""
        self._next_ns = 0
        return True

    def adjust(self, rows: Rows, lines: Lines, well: NDArray[np.bool_]) -> None:
        """Add up the times."""
        well &= lines.words["buffer"].map(lambda word: word in self._BUFFER) > 0
        think = lines.numbers["think_ns"]
        well &= (rows["latency_ns"] != NOT_MEASURED) & (think >= 0) & (think < NS_PER_S * 3600 * 24 * 365)
        cycles = np.where(well, rows["latency_ns"] + think, 0)
        ends = self._next_ns + np.cumsum(cycles)
        rows["time_ns"] = ends - cycles
        self._next_ns = int(ends[-1]) if len(ends) else self._next_ns
