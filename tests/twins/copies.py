"""Backups, restores and new pages: buffers that go round (docs/operations.md)."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.twins.clock import Clock, Process, Signal
from tests.twins.processors import Processors


@dataclass
class Copy:
    """*levels* are pages by volume and in order. A volume takes its own time for whatever it is asked for; the second
    one is asked first.
    """

    clock: Clock
    processors: Processors
    buffers: int
    buffer_pages: int
    threads: int
    page_ns: int
    levels: Sequence[deque[int]]  # by volume: pages that are left of each level
    volume_ns: Sequence[int]
    file_ns: int  # 0: there is none
    restores: bool
    turn: int = 1
    working: int = 0
    waiting: deque[Signal] = field(default_factory=deque)
    left: int = 0
    over: Signal = field(default_factory=Signal)

    def run(self) -> Process:
        """Copy all pages."""
        yield self.clock.now + 1
        self.left = self.buffers
        for _ in range(self.buffers):
            self.clock.at(self.clock.now, self._buffer())
        yield self.over

    def _take(self) -> tuple[int, int] | None:
        """Return the volume whose turn it is, and the next pages of it."""
        for step in range(len(self.levels)):
            volume = (self.turn + step) % len(self.levels)
            levels = self.levels[volume]
            if levels:
                pages = min(levels[0], self.buffer_pages)
                levels[0] -= pages
                if levels[0] == 0:
                    levels.popleft()
                self.turn = (volume + 1) % len(self.levels)
                return volume, pages
        return None

    def _buffer(self) -> Process:
        yield self.clock.now + 1
        while (taken := self._take()) is not None:
            volume, pages = taken
            first, last = self.volume_ns[volume], self.file_ns
            if self.restores:
                first, last = last, first
            if first:
                yield self.clock.now + first
            if self.page_ns:
                yield from self._work(pages * self.page_ns)
            if last:
                yield self.clock.now + last
        self.left -= 1
        if self.left == 0:
            self.clock.set(self.over)

    def _work(self, work_ns: int) -> Process:
        if self.working == self.threads:
            mine = Signal()
            self.waiting.append(mine)
            yield mine
        else:
            self.working += 1
        yield self.clock.now + 1
        yield from self.processors.use(work_ns)
        if self.waiting:
            self.clock.set(self.waiting.popleft())
        else:
            self.working -= 1
