"""blkreplay loads: a preamble, a heading, then start ; sector ; length ; operation ; replay_delay ; replay_duration.

Source: the headings of the load files; times are seconds, addresses and lengths sectors, operations blkparse's letters.
"""

import re

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.delimited import DECIMAL, WHOLE, Field, Lines, without_blanks
from tiersim.traces.readers.line_formats import RequestTable
from tiersim.traces.readers.ordered import Rows
from tiersim.traces.schema import (
    DISCARD,
    FLAG_META,
    FLAG_READAHEAD,
    FLAG_SYNC,
    NOT_MEASURED,
    READ,
    WRITE,
)
from tiersim.units import NS_PER_S

_SECTOR_BYTES = 512
_HEADING = re.compile(rb"(?m)^\s*start\s*;\s*sector\s*;\s*length\s*;\s*op\s*;\s*replay_delay")
_LETTERS = re.compile(rb"([RWD])[ASM]*")
_FLAGS = {ord("A"): FLAG_READAHEAD, ord("S"): FLAG_SYNC, ord("M"): FLAG_META}


class Blkreplay(RequestTable):
    """A load, natural or replayed; what was replayed has measured latencies."""

    key = "blkreplay"
    delimiter = b";"
    clean = staticmethod(without_blanks)
    heading = True
    fields = (
        Field("time_ns", DECIMAL, NS_PER_S),
        Field("offset_bytes", WHOLE, _SECTOR_BYTES),
        Field("length_bytes", WHOLE, _SECTOR_BYTES),
        Field("op"),
        Field("delay_ns", DECIMAL, NS_PER_S),
        Field("duration_ns", DECIMAL, NS_PER_S),
    )

    def __init__(self) -> None:
        """Begin an import."""
        super().__init__()
        self._measured = 0

    def prepare(self, head: bytes) -> bool:
        """Look for the heading."""
        return _HEADING.search(head) is not None

    def skips(self, line: bytes) -> bool:
        """Skip headings, and the prose above them."""
        return line[:1].isalpha() or line[:1] == b"#"

    def operation(self, word: bytes) -> int:
        """Return the operation that the first letter tells."""
        match = _LETTERS.fullmatch(word)
        return {b"R": READ, b"W": WRITE, b"D": DISCARD}[match[1]] if match else -1

    def adjust(self, rows: Rows, lines: Lines, well: NDArray[np.bool_]) -> None:
        """Take a replayed request for queued when it was: at its start and the delay."""
        rows["flags"] = lines.words["op"].map(lambda word: sum(_FLAGS.get(letter, 0) for letter in set(word[1:])))
        delay, duration = lines.numbers["delay_ns"], lines.numbers["duration_ns"]
        well &= (delay >= 0) & (delay < NS_PER_S << 20) & (duration >= 0) & (duration < NS_PER_S << 20)
        rows["time_ns"] += np.where(well, delay, 0)
        rows["latency_ns"] = np.where(well & (duration > 0), duration, NOT_MEASURED)
        self._measured += int(np.count_nonzero(duration > 0))

    def finish(self) -> None:
        """Say what latencies are."""
        if self._measured:
            self.inferred.append(
                f"{self._measured:,} requests have a replay_duration: it is their latency, from start + replay_delay on"
            )
