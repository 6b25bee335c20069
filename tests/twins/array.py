"""Stripes and mirrors (docs/arrays.md)."""

from collections.abc import Sequence

from tests.twins.stand_in import FLUSH, NONE, READ, Part, Twin


class Array(Twin):
    """Units of *unit_bytes* in turn on columns of *copies* members; JBOD and RAID 1 have units as long as a member."""

    def __init__(
        self, members: Sequence[int], copies: int, unit_bytes: int, overhead_ns: int, nearest: bool = False
    ) -> None:
        self.columns = [list(members[place : place + copies]) for place in range(0, len(members), copies)]
        self.unit, self.overhead_ns, self.nearest = unit_bytes, overhead_ns, nearest
        self.last_read = [copies - 1] * len(self.columns)
        self.ends = [[-1] * copies for _ in self.columns]  # of each member's last request
        self.filled: dict[int, int] = {}  # up to where replacements are
        self.begins: list[Part] = []  # with the first request: a rebuild

    def accept(self, now: int, slot: int) -> int:
        return now + self.overhead_ns

    def finish(self, slot: int, now: int) -> list[Part]:
        begins, self.begins = self.begins, []
        return [*self._parts(slot), *begins]

    def _parts(self, slot: int) -> list[Part]:
        asked = self.asked(slot)
        if asked.op == FLUSH:
            return [Part(m, FLUSH, asked.offset, asked.length) for column in self.columns for m in column if m != NONE]
        parts: list[Part] = []
        first, last = asked.offset // self.unit, (asked.end - 1) // self.unit
        for column, (begin, end) in self._columns(first, last, asked.offset, asked.end).items():
            copies = self.columns[column]
            chosen = (
                [self._reads(column, begin, end)]
                if asked.op == READ
                else [c for c, m in enumerate(copies) if m != NONE]
            )
            for copy in chosen:
                self.ends[column][copy] = end
                parts.append(Part(copies[copy], asked.op, begin, end - begin))
        return parts

    def _columns(self, first: int, last: int, start: int, stop: int) -> dict[int, tuple[int, int]]:
        """Return what of a request lies on the members of each column, as one range of theirs."""
        found: dict[int, tuple[int, int]] = {}
        for unit in range(first, last + 1):
            row, column = divmod(unit, len(self.columns))
            begin = row * self.unit + max(start - unit * self.unit, 0)
            end = row * self.unit + min(stop - unit * self.unit, self.unit)
            found[column] = found.get(column, (begin, 0))[0], end
        return found

    def _reads(self, column: int, begin: int, end: int) -> int:
        """Return which copy reads."""
        copies, ends = self.columns[column], self.ends[column]
        after = self.last_read[column] + 1
        turns = [(after + turn) % len(copies) for turn in range(len(copies))]
        there = [copy for copy in turns if copies[copy] != NONE and self.filled.get(copies[copy], end) >= end]
        if self.nearest:
            chosen = min(there, key=lambda copy: self._way(ends[copy] == begin, copies[copy], abs(ends[copy] - begin)))
        else:
            chosen = min(there, key=lambda copy: self.outstanding(copies[copy]))
        self.last_read[column] = chosen
        return chosen

    def _way(self, goes_on: bool, member: int, distance: int) -> tuple[int, int]:
        """Where the last request ended first, then idle copies, then the nearest."""
        if goes_on:
            return 0, 0
        return (1, 0) if self.outstanding(member) == 0 else (2, distance)
