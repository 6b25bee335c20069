"""fio's iologs, versions 2 and 3: what a job asked for, file by file.

Sources: fio's HOWTO (version 2: ``FILE ACTION OFFSET LENGTH``, ``wait`` in microseconds); version 3 puts the
microseconds since the job began before each line and has no ``wait``.
"""

import re
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.delimited import WHOLE, Field, Lines, single_blanks
from tiersim.traces.readers.line_formats import SET_ASIDE, RequestTable
from tiersim.traces.readers.ordered import Rows
from tiersim.traces.schema import DISCARD, FLUSH, READ, WRITE

_NS_PER_US = 1000
_MOST_WAIT_US = 1 << 50
_HEADING = re.compile(rb"fio version ([23]) iolog\s")
_OF_FILES = re.compile(rb"(?m)^(?:\d+ )?\S+ (?:add|open|close)\r?$")


def _clean(text: bytes) -> bytes:
    """Leave lines empty that only tell of files."""
    text = single_blanks(text)
    return _OF_FILES.sub(b"", text) if b" add" in text or b" open" in text or b" close" in text else text


class FioIolog(RequestTable):
    """An iolog; its flushes (sync, datasync) have no length, whatever stands in their columns."""

    key = "fio-iolog"
    delimiter = b" "
    clean = staticmethod(_clean)
    heading = True
    operations: ClassVar = {
        b"read": READ,
        b"write": WRITE,
        b"trim": DISCARD,
        b"sync": FLUSH,
        b"datasync": FLUSH,
        b"wait": SET_ASIDE,
    }
    file = ("file",)
    tells_flushes = True

    _FIELDS = (Field("file"), Field("op"), Field("offset_bytes", WHOLE), Field("length_bytes", WHOLE))

    def __init__(self) -> None:
        """Begin an import."""
        super().__init__()
        self._version = 0
        self._elapsed_ns = 0

    def prepare(self, head: bytes) -> bool:
        """Read the version."""
        match = _HEADING.match(head)
        if match is None:
            return False
        self._version = int(match[1])
        times = (Field("time_ns", WHOLE, _NS_PER_US),) if self._version == 3 else ()
        self.fields = (*times, *self._FIELDS)
        self._elapsed_ns = 0
        return True

    def skips(self, line: bytes) -> bool:
        """Skip the heading."""
        return line.startswith(b"fio version")

    def adjust(self, rows: Rows, lines: Lines, well: NDArray[np.bool_]) -> None:
        """Add up the waits of version 2."""
        if self._version == 2:
            is_wait = rows["op"] == SET_ASIDE
            waits = np.where(is_wait, lines.numbers["offset_bytes"], 0)
            well &= (waits >= 0) & (waits < _MOST_WAIT_US)
            rows["time_ns"] = self._elapsed_ns + np.cumsum(np.where(well, waits, 0)) * _NS_PER_US
            self._elapsed_ns = int(rows["time_ns"][-1]) if len(rows) else self._elapsed_ns

    def finish(self) -> None:
        """Say what the times are worth."""
        if self._version == 2 and self._elapsed_ns:
            self.inferred.append("times are sums of the log's waits: what fio did between them takes no time")
        elif self._version == 2:
            self.warnings.append(
                "the log has no times: all requests stand at 0, and a replay sends them all at once; write_iolog of fio"
                " 3.31 and later records times"
            )
