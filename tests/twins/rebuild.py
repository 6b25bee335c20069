"""A rebuild (docs/arrays.md): replacements are filled step by step from their mirrors, or from all other members."""

from collections.abc import Mapping, Sequence

from tests.twins.stand_in import CALL, NEVER, NONE, READ, WRITE, Part, Twin
from tiersim.units import NS_PER_S

STEP_BYTES = 1 << 20


class Rebuild(Twin):
    """*members* by columns of mirrors, or in one with parity, whose rows have units of *unit* bytes; *filled* says up
    to where each replacement is, and is shared with the array.

    Steps wait here as requests of nobody.
    """

    def __init__(
        self,
        station: int,
        columns: Sequence[Sequence[int]],
        filled: dict[int, int],
        end_bytes: int,
        bytes_per_s: int,
        unit: int | None = None,
    ) -> None:
        self.station, self.columns, self.filled, self.unit = station, columns, filled, unit
        whole = unit or 1
        self.step_bytes, self.end_bytes = max(STEP_BYTES // whole, 1) * whole, end_bytes // whole * whole
        self.interval_ns = max(self.step_bytes * NS_PER_S // bytes_per_s, 1)
        self.waiting, self.next_ns = NONE, 0
        self.written: set[int] = set()

    def first_steps(self) -> list[Part]:
        """Begin where the emptiest replacement is."""
        begin = min(self.filled.values())
        return self._step(begin)

    def _step(self, begin: int) -> list[Part]:
        left = min(self.step_bytes, self.end_bytes - begin)
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
        """Read from that mirror of each replacement that has least to do, or from all that have data."""
        asked = self.asked(slot)
        parts = []
        for column in self.columns:
            there = [member for member in column if holds(self.filled, member, asked.end)]
            if len(there) < len(column):
                sources = there if self.unit else [min(there, key=self.outstanding)]
                parts += [Part(member, READ, asked.offset, asked.length) for member in sources]
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
