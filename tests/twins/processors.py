"""Cores in order of arrival (docs/engines.md, docs/processors.md, docs/models.md)."""

from collections import deque
from collections.abc import Callable, Sequence

from tests.twins.clock import Clock, Process, Signal

#: The longest slice.
SLICE_NS = 1_000_000


class Processors:
    """*slowdown* is in thousandths, by how many cores are busy, the slice's own among them."""

    def __init__(self, clock: Clock, cores: int, slowdown: Sequence[int]) -> None:
        self.clock, self.cores, self.slowdown = clock, cores, slowdown
        self.busy = self.last_slice_ns = 0
        self.after: Callable[[], None] = lambda: None  # each slice
        self.waiting: deque[tuple[Signal, bool]] = deque()

    def use(self, ns: int, first: bool = False) -> Process:
        """Use a core for so much work of one at full speed; who is *first* goes before all slices that wait."""
        while ns > 0:
            if self.busy == self.cores:
                mine = Signal()
                if first:
                    self.waiting.appendleft((mine, first))
                else:
                    self.waiting.append((mine, first))
                yield mine
            else:
                self.busy += 1
            part = min(ns, SLICE_NS)
            took = max(part * self.slowdown[self.busy - 1] // 1000, 1)
            yield self.clock.now + took, -1  # slices end before others begin
            self.last_slice_ns = took
            ns -= part
            self.after()
            if self.waiting:
                self.clock.set(self.waiting.popleft()[0])
            else:
                self.busy -= 1
