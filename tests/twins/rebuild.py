"""A rebuild of mirrors (docs/arrays.md): replacements are filled step by step."""

from collections.abc import Mapping, Sequence

from tests.twins.stand_in import CALL, NEVER, NONE, READ, WRITE, Part, Twin
from tiersim.units import NS_PER_S

STEP_BYTES = 1 << 20


class Rebuild(Twin):
    """*members* by columns of mirrors; *filled* says up to where each replacement is, and is shared with the array.

    Steps wait here as requests of nobody.
    """

    def __init__(
        self, station: int, columns: Sequence[Sequence[int]], filled: dict[int, int], end_bytes: int, bytes_per_s: int
    ) -> None:
        self.station, self.columns, self.filled, self.end_bytes = station, columns, filled, end_bytes
        self.interval_ns = max(STEP_BYTES * NS_PER_S // bytes_per_s, 1)
        self.waiting, self.next_ns = NONE, 0
        self.written: set[int] = set()

    def first_steps(self) -> list[Part]:
        """Begin where the emptiest replacement is."""
        begin = min(self.filled.values())
        return self._step(begin)

    def _step(self, begin: int) -> list[Part]:
        left = min(STEP_BYTES, self.end_bytes - begin)
        return [Part(self.station, WRITE, begin, left, background=1)] if left > 0 else []

    def accept(self, now: int, slot: int) -> int:
        self.waiting = slot
        return CALL

    def choose(self, now: int) -> tuple[int, int, int]:
        if self.waiting == NONE:
            return NONE, NEVER, NEVER
        if now < self.next_ns:
            return NONE, NEVER, self.next_ns
        slot, self.waiting = self.waiting, NONE
        self.next_ns = now + self.interval_ns
        return slot, now + 1, NEVER

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        """Read from that mirror of each replacement that has least to do."""
        asked = self.asked(slot)
        parts = []
        for column in self.columns:
            there = [member for member in column if holds(self.filled, member, asked.end)]
            if len(there) < len(column):
                parts.append(Part(min(there, key=self.outstanding), READ, asked.offset, asked.length))
        return parts

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if slot in self.written:
            self.written.remove(slot)
            for member, end in self.filled.items():
                self.filled[member] = max(end, asked.end)
            return ()
        self.written.add(slot)
        lacking = [member for member in self.filled if not holds(self.filled, member, asked.end)]
        parts = [Part(member, WRITE, asked.offset, asked.length) for member in lacking]
        return [*parts, *self._step(asked.end)]


def holds(filled: Mapping[int, int], member: int, end: int) -> bool:
    """Tell whether a member can be read up to *end*."""
    return filled.get(member, end) >= end
