"""Reader of what ``blkparse`` prints by default, which holds all events of a blktrace recording.

It leaves out the length of flushes (there is none), the payload of commands that carry no data blocks, and the time at
which the recording began; the time of its first event is 0.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiersim.traces.bundle import RequestWriter
from tiersim.traces.readers.blktrace_kernels import COMPLETE, ISSUE, QUEUE, REQUEUE, SPLIT, Table
from tiersim.traces.readers.event_text import BlockEvent, Progress, categories_of, read_event_text

_LINE = re.compile(
    rb"\s*(\d{1,9}),(\d{1,9})\s+\d+\s+\d+\s+(\d{1,10})\.(\d{9})\s+(\d{1,10})\s+([A-Z]{1,2}|m)\s+(\S+)(?:\s(.*))?"
)
#: Sector, length, time since an earlier event (blkparse -t), and process or error.
_PLACE = re.compile(rb"(?:(\d{1,19})(?: \+ (\d{1,10}))? )?(?:\(\s*\d+\) )?\[(.*)\]")
_CUT = re.compile(rb"(\d{1,19}) / (\d{1,19}) \[(.*)\]")
#: Commands of another kind: their bytes in hexadecimal.
_PASSED_THROUGH = re.compile(rb"(?:\d+ )?\([0-9a-f. ]*\) \[.*\]")
_ACTIONS = {b"Q": QUEUE, b"R": REQUEUE, b"D": ISSUE, b"C": COMPLETE, b"X": SPLIT}
_OTHERS = frozenset((b"M", b"F", b"G", b"S", b"P", b"U", b"UT", b"I", b"B", b"A", b"m", b"T", b"ZP", b"ZU"))
_SUMMARY_BEGINS = re.compile(rb"(?:CPU\d+|Total) \(.*\):")


class _Blkparse:
    """The lines of ``blkparse``; once its summary has begun, only events count."""

    source_format = "blkparse"
    bios = True
    lost_events = 0
    remedy = "give one text that `blkparse -i NAME` wrote, of all devices together, or the binary files themselves"

    def __init__(self) -> None:
        self.inferred: list[str] = []
        self._summary = False

    def parse(self, line: bytes) -> BlockEvent | bool:
        match = _LINE.fullmatch(line.rstrip(b"\r"))
        if not match:
            self._summary = self._summary or bool(_SUMMARY_BEGINS.match(line))
            return self._summary or not line.strip() or line.startswith(b"Input file ")
        major, minor, seconds, fraction, pid, action, letters, tail = match.groups()
        if action not in _ACTIONS:
            return action in _OTHERS
        categories = categories_of(letters)
        device, time_ns = int(major) << 20 | int(minor), int(seconds) * 1_000_000_000 + int(fraction)
        if action == b"X":
            cut = _CUT.fullmatch(tail or b"")
            if not cut or categories is None:
                return False
            return BlockEvent(time_ns, int(cut[1]), 0, SPLIT, categories, int(pid), device, int(cut[2]))
        place = _PLACE.fullmatch(tail or b"")
        if not place or categories is None or int(minor) >= 1 << 20:
            return bool(_PASSED_THROUGH.fullmatch(tail or b""))
        sector, sectors = int(place[1] or 0), int(place[2] or 0)
        about = place[3]
        error = 0
        if action in (b"C", b"R"):
            if not about.lstrip(b"-").isdigit() or len(about) > 9:
                return False
            error = abs(int(about)) if action == b"C" else 0
        process = about if action == b"Q" and about != b"(null)" else b""
        where = sector if sectors else min(sector, 1 << 50)  # some kernels say 2^64 - 1 for a flush
        return BlockEvent(time_ns, where, sectors << 9, _ACTIONS[action], categories, int(pid), device, error, process)

    def refine(self, events: Table) -> Table:
        return events


def looks_like_blkparse(first_bytes: bytes) -> bool:
    """Tell whether one of the first lines is an event as blkparse prints it."""
    return any(_LINE.fullmatch(line.rstrip(b"\r")) for line in first_bytes.split(b"\n")[:20])


def read_blkparse(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of one text to *writer* and return what the manifest says of it, see
    :func:`read_event_text`.
    """
    said = read_event_text(paths, writer, progress, _Blkparse())
    del said["host"]  # its clock counts from its own first event
    return said
