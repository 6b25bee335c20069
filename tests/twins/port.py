"""The port of a volume: where it begins below, and requests that are cut (docs/host.md)."""

from collections import deque
from collections.abc import Sequence

from tests.twins.stand_in import READ, WRITE, Part, Twin


class Port(Twin):
    """Requests below, moved by *base_bytes*; of longer ones than *part_bytes* 256 parts go at a time."""

    def __init__(self, below: int, part_bytes: int = 0, base_bytes: int = 0) -> None:
        self.below, self.part_bytes, self.base_bytes = below, part_bytes, base_bytes
        self.left: dict[int, deque[Part]] = {}

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        step = self.part_bytes if asked.op in (READ, WRITE) and self.part_bytes else max(asked.length, 1)
        self.left[slot] = deque(
            Part(self.below, asked.op, self.base_bytes + at, min(step, asked.end - at))
            for at in range(asked.offset, max(asked.end, asked.offset + 1), step)
        )
        return self.resume(slot, now)

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        left = self.left[slot]
        return [left.popleft() for _ in range(min(len(left), 256))]
