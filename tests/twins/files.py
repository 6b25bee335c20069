"""A file system: flushes take time, and may wait for the writes before them (docs/host.md)."""

from collections.abc import Sequence

from tests.twins.stand_in import CALL, FLUSH, NEVER, NONE, WRITE, Part, Twin


class Files(Twin):
    """Flushes go to *flush_below*, all else to *below*."""

    def __init__(self, below: int, flush_below: int, overhead_ns: int, ordered: bool) -> None:
        self.below, self.flush_below, self.overhead_ns, self.ordered = below, flush_below, overhead_ns, ordered
        self.writes: set[int] = set()
        self.flushes: list[tuple[int, set[int]]] = []

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        if asked.op == FLUSH:
            before = set(self.writes) if self.ordered else set()
            self.flushes.append((slot, before))
            return CALL if not before else now
        if asked.op == WRITE:
            self.writes.add(slot)
        return now + 1

    def choose(self, now: int) -> tuple[int, int, int]:
        for place, (slot, before) in enumerate(self.flushes):
            if not before:
                del self.flushes[place]
                return slot, now + max(self.overhead_ns, 1), NEVER
        return NONE, NEVER, NEVER

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        below = self.flush_below if asked.op == FLUSH else self.below
        return [Part(below, asked.op, asked.offset, asked.length)]

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        if slot in self.writes:
            self.writes.remove(slot)
            for _, before in self.flushes:
                before.discard(slot)
        return ()
