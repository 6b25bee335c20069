"""Writes of parts of rows: stripe locks, what is read first, what is written (docs/arrays.md)."""

from collections.abc import Sequence

from tests.twins.parity import Range, Rows, joined
from tests.twins.stand_in import NEVER, NONE, READ, WRITE, Part, Twin


class RowLocks(Twin):
    """Passes requests on; a write waits for all earlier ones that lock a part of a row that it locks.

    A write within a unit locks its offsets in that row. A longer write locks whole rows, with two exceptions: its first
    row if it writes the last unit alone there, and its last row if it writes the first unit alone. There it locks
    offsets.
    """

    def __init__(self, rows: Rows, below: int) -> None:
        self.rows, self.below = rows, below
        self.held: dict[int, dict[int, Range]] = {}  # what each write here locks of its rows, in order
        self.ready: list[int] = []

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        if asked.op != WRITE:
            return now + 1
        self.held[slot] = self._locked(self.rows.pieces(asked.offset, asked.end))
        return now if slot in self._waiting() else now + 1

    def _locked(self, pieces: list[tuple[int, int, int, int]]) -> dict[int, Range]:
        rows = [row for row, *_ in pieces]
        locked = {row: (0, self.rows.unit) for row in rows}
        for (row, column, begin, end), edge in ((pieces[0], self.rows.data - 1), (pieces[-1], 0)):
            if len(pieces) == 1 or (column == edge and rows[0] != rows[-1]):
                locked[row] = begin, end
        return locked

    def choose(self, now: int) -> tuple[int, int, int]:
        return (self.ready.pop(0), now + 1, NEVER) if self.ready else (NONE, NEVER, NEVER)

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        return [Part(self.below, asked.op, asked.offset, asked.length)]

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        waited = self._waiting() if slot in self.held else []
        self.held.pop(slot, None)
        self.ready += [one for one in waited if one not in self._waiting()]
        return ()

    def _waiting(self) -> list[int]:
        order = list(self.held)
        return [one for at, one in enumerate(order) if any(self._conflict(one, other) for other in order[:at])]

    def _conflict(self, one: int, other: int) -> bool:
        mine, theirs = self.held[one], self.held[other]
        return any(
            mine[row][0] < theirs[row][1] and theirs[row][0] < mine[row][1] for row in mine.keys() & theirs.keys()
        )


class Stripes(Twin):
    """One row a request; writes that touch the same parity go one after the other."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.held: dict[int, tuple[int, Range]] = {}  # row, and offsets of its parity, of each write here, in order
        self.ready: list[int] = []
        self.writes: dict[int, list[Part]] = {}

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        pieces = self.rows.pieces(asked.offset, asked.end)
        own = pieces[0][0], (min(begin for *_, begin, _ in pieces), max(end for *_, end in pieces))
        waits = self._waits(own)
        self.held[slot] = own
        return now if waits else now + 1

    def _waits(self, own: tuple[int, Range], before: int | None = None) -> bool:
        row, (begin, end) = own
        for slot, (other, (first, last)) in self.held.items():
            if slot == before:
                return False
            if other == row and first < end and begin < last:
                return True
        return False

    def choose(self, now: int) -> tuple[int, int, int]:
        if not self.ready:
            return NONE, NEVER, NEVER
        return self.ready.pop(0), now + 1, NEVER

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        reads, writes = self.plan(slot)
        self.writes[slot] = writes
        return reads or self.resume(slot, now)

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        if slot in self.writes:
            return self.writes.pop(slot)
        waiting = [one for one in self.held if self._waits(self.held[one], one)]
        del self.held[slot]
        self.ready += [one for one in waiting if not self._waits(self.held[one], one)]
        return ()

    def plan(self, slot: int) -> tuple[list[Part], list[Part]]:
        """Return what a write reads first, and what it writes."""
        rows, asked = self.rows, self.asked(slot)
        pieces = rows.pieces(asked.offset, asked.end)
        row, base = pieces[0][0], pieces[0][0] * rows.unit
        low, high = self.held[slot][1]
        touched = {column: (begin, end) for _, column, begin, end in pieces}
        written = [(rows.member(row, column), own) for column, own in touched.items()]
        parity = [(member, (low, high)) for member in rows.parity(row)]
        modify = [*written, *parity]
        reconstruct = self._not_written(row, touched, low, high)
        if all(rows.members[member] == NONE for member, _ in parity):  # a replacement gets its parity
            reads: list[tuple[int, Range]] = []
        else:
            ways = [way for way in (modify, reconstruct) if not any(rows.lost(member, row) for member, _ in way)]
            least = {len({member for member, _ in way}): way for way in ways}
            there = [member for member in range(len(rows.members)) if not rows.lost(member, row)]
            reads = least[min(least)] if least else [(member, (low, high)) for member in there]
        return self._parts(READ, base, reads), self._parts(WRITE, base, [*written, *parity])

    def _not_written(self, row: int, touched: dict[int, Range], low: int, high: int) -> list[tuple[int, Range]]:
        """Return the data under the parity that the write leaves as they are."""
        found = []
        for column in range(self.rows.data):
            begin, end = touched.get(column, (high, high))
            member = self.rows.member(row, column)
            found += [(member, one) for one in ((low, begin), (end, high)) if one[0] < one[1]]
        return found

    def _parts(self, op: int, base: int, ranges: list[tuple[int, Range]]) -> list[Part]:
        members = self.rows.members
        return [
            Part(members[member], op, base + begin, end - begin)
            for member, (begin, end) in joined(ranges)
            if members[member] != NONE
        ]
