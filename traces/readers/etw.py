"""Disk IO of Windows: what ``wpaexporter`` writes of the table Disk Usage, in any locale and order of columns.

Source of the meaning: the headings, which carry the units. Disk Service Time is an estimate of the tool, not a
measurement, and is not read; queue depths follow from the times. Windows holds back what has a low priority, for up to
a second, and counts that into its IO Time.
"""

import csv
import re
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.delimited import DECIMAL, HEX, WHOLE, Field, Lines, sniffed_lines
from tiersim.traces.readers.line_formats import SET_ASIDE, RequestTable
from tiersim.traces.readers.ordered import Rows
from tiersim.traces.schema import FLAG_HELD_BACK, FLUSH, READ, WRITE
from tiersim.units import NS_PER_S

_PEEKED_LINES = 10
_NS_PER_UNIT = {"s": NS_PER_S, "ms": 1_000_000, "µs": 1000, "μs": 1000, "us": 1000, "ns": 1}
_LOW_PRIORITIES = (b"Low", b"Very Low")
_HEADING = re.compile(r"([^(]+?)(?: \((\S+)\))?")
#: Columns that are read: by their headings without the unit, the names that they have here.
_NAMES = {
    "io type": "op",
    "process": "process",
    "init time": "time_ns",
    "io time": "latency_ns",
    "size": "length_bytes",
    "min offset": "offset_bytes",
    "disk": "disk",
    "count": "count",
    "priority": "priority",
}
_NEEDED = {"op", "process", "time_ns", "latency_ns", "length_bytes", "offset_bytes", "disk"}
#: What stands between thousands somewhere in the world.
_MARKS = (".", ",", "'", "\u00a0", "\u202f", "\u2019")


class Etw(RequestTable):
    """Disk Usage as CSV; ``IO Time`` is the measured latency, from ``Init Time`` on."""

    key = "etw"
    heading = True
    quoted = True
    operations: ClassVar = {b"Read": READ, b"Write": WRITE, b"Flush": FLUSH}
    set_aside = "lines that stand for several requests"
    file = ("disk",)
    file_name = "disk {}"
    stream = ("process",)
    tells_flushes = True

    def prepare(self, head: bytes) -> bool:
        """Read the headings, and find out how numbers are written."""
        lines = [line for line in sniffed_lines(head, _PEEKED_LINES).split(b"\n") if line.strip()]
        for delimiter in (";", ",", "\t"):
            try:
                headings, first = (
                    next(csv.reader([line.strip().decode() for line in some], delimiter=delimiter), [])
                    for some in (lines[:1], lines[1:2])
                )
            except (UnicodeDecodeError, csv.Error):
                return False
            fields = [_field(heading) for heading in headings]
            names = [field.name for field in fields if field.name]
            if set(names) >= _NEEDED and len(names) == len(set(names)):
                self.fields = fields
                self.delimiter = delimiter.encode()
                place = [field.name for field in fields].index("time_ns")
                time = first[place] if len(first) > place else ""
                decimal_point = "," if time.rfind(",") > time.rfind(".") else "."  # the last mark of a time
                self.decimal_point = decimal_point.encode()
                self.clean = partial(
                    _without_marks, _marks(delimiter, decimal_point), delimiter == "," and decimal_point == "."
                )
                return True
        return False

    def skips(self, line: bytes) -> bool:
        """Skip the headings."""
        return b"IO Type" in line and b"Init Time" in line

    def adjust(self, rows: Rows, lines: Lines, well: NDArray[np.bool_]) -> None:
        """Set aside what is a sum, and mark what may have been held back."""
        if "priority" in lines.words:
            rows["flags"] = lines.words["priority"].map(lambda word: FLAG_HELD_BACK if word in _LOW_PRIORITIES else 0)
        if "count" in lines.words:
            rows["op"][lines.words["count"].map(lambda word: word not in (b"1", b"")) > 0] = SET_ASIDE


def _field(heading: str) -> Field:
    match = _HEADING.fullmatch(heading.strip())
    name = _NAMES.get(match[1].strip().lower(), "") if match else ""
    unit = match[2] if match else None
    if name in ("time_ns", "latency_ns"):
        return Field(name, DECIMAL, _NS_PER_UNIT[unit]) if unit in _NS_PER_UNIT else Field()
    if name == "length_bytes":
        return Field(name, WHOLE) if unit == "B" else Field()
    return Field(name, HEX) if name == "offset_bytes" else Field(name)


def _marks(delimiter: str, decimal_point: str) -> re.Pattern[bytes]:
    """Return what finds the marks between thousands: three digits and the end of a number or a further mark follow."""
    marks = [re.escape(mark) for mark in _MARKS if mark not in (delimiter, decimal_point)]
    follow = [*marks, re.escape(decimal_point), re.escape(delimiter), '"', "\r", "\n"]
    return re.compile(f"(?<=[0-9])(?:{'|'.join(marks)})(?=[0-9]{{3}}(?:{'|'.join(follow)}))".encode())


def _without_marks(marks: re.Pattern[bytes], delimiter_marks: bool, text: bytes) -> bytes:
    if delimiter_marks and b'"' in text:  # then quotes are around the number
        text = re.sub(rb'"[0-9][0-9,]*(?:\.[0-9]+)?"', lambda number: number[0].replace(b",", b""), text)
    return marks.sub(b"", text)
