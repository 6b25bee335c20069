"""RAID 5 and 6 by rows: who reads what, which writes are whole rows (docs/arrays.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.twins.stand_in import FLUSH, NONE, READ, WRITE, Part, Twin

Range = tuple[int, int]


@dataclass(frozen=True)
class Rows:
    """Where units of rows are: left-symmetric, parity before data. *filled* says of replacements how far they are."""

    members: Sequence[int]
    parities: int
    unit: int
    filled: Mapping[int, int] = field(default_factory=dict)

    @property
    def data(self) -> int:
        """Units of data in a row."""
        return len(self.members) - self.parities

    @property
    def row_bytes(self) -> int:
        """Data in a row."""
        return self.data * self.unit

    def parity(self, row: int) -> list[int]:
        """Return the members that hold P, and Q."""
        n = len(self.members)
        return [(n - 1 - row % n + place) % n for place in range(self.parities)]

    def member(self, row: int, column: int) -> int:
        """Return the member that holds a unit of data."""
        n = len(self.members)
        return (n - 1 - row % n + self.parities + column) % n

    def pieces(self, start: int, stop: int) -> list[tuple[int, int, int, int]]:
        """Return (row, column, begin, end) of each unit that a range touches, begin and end within the unit."""
        found = []
        for unit in range(start // self.unit, -(-stop // self.unit)):
            begin, end = max(start - unit * self.unit, 0), min(stop - unit * self.unit, self.unit)
            found.append((unit // self.data, unit % self.data, begin, end))
        return found

    def lost(self, member: int, row: int) -> bool:
        """Tell whether a member has failed, and its replacement does not hold a row yet."""
        end = (row + 1) * self.unit
        return self.members[member] == NONE or self.filled.get(self.members[member], end) < end


def joined(ranges: list[tuple[int, Range]]) -> list[tuple[int, Range]]:
    """Join what is adjacent or overlaps on a member."""
    found: list[tuple[int, Range]] = []
    for member, (begin, end) in ranges:
        for place, (other, (first, last)) in enumerate(found):
            if other == member and first <= end and begin <= last:
                found[place] = member, (min(first, begin), max(last, end))
                break
        else:
            found.append((member, (begin, end)))
    return found


class Parity(Twin):
    """Sends reads and whole rows to members, all else to the station of stripe locks."""

    def __init__(self, rows: Rows, stripes: int, overhead_ns: int) -> None:
        self.rows, self.stripes, self.overhead_ns = rows, stripes, overhead_ns
        self.begins: list[Part] = []  # with the first request: a rebuild

    def accept(self, now: int, slot: int) -> int:
        return now + self.overhead_ns

    def finish(self, slot: int, now: int) -> list[Part]:
        begins, self.begins = self.begins, []
        return [*self._parts(slot), *begins]

    def _parts(self, slot: int) -> list[Part]:
        asked, rows = self.asked(slot), self.rows
        if asked.op == FLUSH:
            return [Part(member, FLUSH, asked.offset, asked.length) for member in rows.members if member != NONE]
        if asked.op == READ:
            return [
                Part(rows.members[member], READ, begin, end - begin)
                for member, (begin, end) in self._reads(asked.offset, asked.end)
            ]
        first, last = -(-asked.offset // rows.row_bytes), asked.end // rows.row_bytes
        parts = []
        if first > last:  # within one row
            ends = [(asked.offset, asked.end)]
        else:
            ends = [(asked.offset, first * rows.row_bytes), (last * rows.row_bytes, asked.end)]
        if first < last:
            whole = first * rows.unit, (last - first) * rows.unit
            parts += [Part(member, asked.op, *whole) for member in rows.members if member != NONE]
        if asked.op == WRITE:
            parts += [Part(self.stripes, WRITE, begin, end - begin) for begin, end in ends if begin < end]
        return parts

    def _reads(self, start: int, stop: int) -> list[tuple[int, Range]]:
        rows = self.rows
        ranges: list[tuple[int, Range]] = []
        by_row: dict[int, list[tuple[int, int, int]]] = {}
        for row, column, begin, end in rows.pieces(start, stop):
            by_row.setdefault(row, []).append((rows.member(row, column), begin, end))
        for row, pieces in by_row.items():
            base = row * rows.unit
            gone = [(begin, end) for member, begin, end in pieces if rows.lost(member, row)]
            if gone:  # each reads once, from the lowest to the highest offset that is wanted of it
                low, high = min(begin for begin, _ in gone), max(end for _, end in gone)
                for member in (one for one in range(len(rows.members)) if not rows.lost(one, row)):
                    own = [(begin, end) for m, begin, end in pieces if m == member] + [(low, high)]
                    wanted = min(begin for begin, _ in own), max(end for _, end in own)
                    ranges.append((member, (base + wanted[0], base + wanted[1])))
            else:
                ranges += [(m, (base + begin, base + end)) for m, begin, end in pieces]
        return joined(ranges)
