"""SQL Server's free list under one session: LRU-2, workers that examine, the lazy writer (docs/sqlserver.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tests.twins.bursts import gathered
from tests.twins.clock import Clock, Process
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter


@dataclass
class FreeList:
    """Answers how long each reference takes; all pages are of one level."""

    clock: Clock
    settings: LazyWriter
    frames: int
    io_ns: int
    level_of: Callable[[int], int]
    uses: dict[int, list[int]] = field(default_factory=dict)  # of each page: the last but one, the last
    held: set[int] = field(default_factory=set)
    dirty: set[int] = field(default_factory=set)
    going: dict[int, int] = field(default_factory=dict)  # pages that are written so that they can go: uses by then
    writes: list[tuple[int, int, int]] = field(default_factory=list)  # when, first page, pages
    used: int = 0
    count: int = 0
    reading: int = -1
    is_awake: bool = False

    @property
    def free(self) -> int:
        """Return how many frames that were used before hold no page."""
        return self.used - len(self.held)

    def refer(self, page: int) -> Process:
        """Use a page."""
        self.count += 1
        before = self.uses.get(page, [-1, -1])
        self.uses[page] = [before[1], self.count]
        if page in self.held:
            self.going.pop(page, None)
            return
        yield self.clock.now + 1
        if self.used < self.frames:
            self.used += 1
        elif self.free == 0:
            gone = self._next_to_go()
            self.held.remove(gone)
            if gone in self.dirty:
                self.dirty.remove(gone)
                self.writes.append((self.clock.now, gone, 1))
                yield self.clock.now + self.io_ns
        self.held.add(page)
        self.reading = page
        self._post(self._wanted(by_worker=True))
        if not self.is_awake:
            self.is_awake = True
            interval = self.settings.interval_ns
            self.clock.at((self.clock.now // interval + 1) * interval, self._round())
        yield self.clock.now + self.io_ns
        self.reading = -1

    def _wanted(self, by_worker: bool) -> int:
        """How many pages are examined: none while there are unused frames, or the list is long."""
        if self.used < self.frames:
            return 0
        short = min(self.settings.examined, self.frames // 8)
        if by_worker:
            return self.settings.examined if self.free < short else 0
        return max(short - self.free, 0)

    def _round(self) -> Process:
        self.is_awake = False
        yield self.clock.now + 1
        self._post(self._wanted(by_worker=False))

    def _next_to_go(self) -> int:
        """Return the page whose last use but one is longest ago."""
        return min((page for page in self.held if page != self.reading), key=lambda page: self.uses[page])

    def _post(self, examined: int) -> None:
        """Free clean pages that are to go, and have the dirty ones written."""
        order = sorted(self.held - self.going.keys() - {self.reading}, key=lambda page: self.uses[page])
        for page in order[:examined]:
            if page not in self.dirty:
                self.held.remove(page)
                continue
            run = gathered(page, self.settings.gathered_pages, partial(self._goes_along, page))
            self.dirty -= set(run)
            self.going[page] = self.count
            self.clock.at(self.clock.now, self._write(run))

    def _goes_along(self, of: int, page: int) -> bool:
        return page in self.dirty and page in self.held and self.level_of(page) == self.level_of(of)

    def _write(self, run: range) -> Process:
        yield self.clock.now + 1
        self.writes.append((self.clock.now, run[0], len(run)))
        yield self.clock.now + self.io_ns
        for page in run:
            if page in self.going:
                del self.going[page]
                if page not in self.dirty:
                    self.held.remove(page)
