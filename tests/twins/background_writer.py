"""PostgreSQL's background writer over a sweep (docs/pool.md; storage/bufmgr.c, BgBufferSync).

Averages are counted in 2^-16, rounded down.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.twins.buffer_pool import Pool, Sweep
from tests.twins.clock import Clock, Process
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter

ONE = 1 << 16
#: smoothing_samples, scan_whole_pool_milliseconds.
SAMPLES, WHOLE_POOL_NS = 16, 120_000_000_000


@dataclass
class Writer:
    """Looks ahead of the hand of *sweep*."""

    clock: Clock
    settings: BackgroundWriter
    pool: Pool
    sweep: Sweep
    write: Callable[[int], Process]
    next: int = 0  # frames passed, laps included, as for the hand
    hand: int = 0
    taken: int = 0
    density: int = 10 * ONE
    need: int = 0
    idle_rounds: int = 0
    awake: bool = False

    def wake(self) -> None:
        """A frame was taken: go on, if it sleeps."""
        if not self.awake:
            self.awake = True
            self.clock.at(self.clock.now + 1 + self.settings.delay_ns, self._rounds())

    def _rounds(self) -> Process:
        while self.awake:
            yield from self._round()
            if self.awake:
                yield self.clock.now + self.settings.delay_ns

    def _round(self) -> Process:
        frames, hand = self.sweep.frames, self.sweep.passed
        taken, self.taken = self.pool.taken - self.taken, self.pool.taken
        passed, self.hand = hand - self.hand, hand
        self.next = max(self.next, hand)
        left = frames - (self.next - hand)
        self._learn(passed, taken)
        ahead = (frames - left) * ONE // self.density
        self.need = max(taken * ONE, self.need + (taken * ONE - self.need) // SAMPLES)
        wanted = int(self.need * self.settings.multiplier) // ONE
        if wanted == 0:
            self.need = 0
        wanted = max(wanted, frames * self.settings.delay_ns // WHOLE_POOL_NS + ahead)
        looked = written = 0
        found = ahead
        while looked < left and found < wanted and written < self.settings.most_pages:
            frame = self.next % frames
            self.next += 1
            looked += 1
            if self.sweep.counts.get(frame, 0) == 0:
                found += 1
                page = self.pool.page_of.get(frame)
                if page is not None and page in self.pool.dirty:
                    self.pool.dirty.remove(page)
                    written += 1
                    yield from self.write(page)
        self._learn(looked, found - ahead)
        self.idle_rounds = self.idle_rounds + 1 if left == 0 and taken == 0 else 0
        self.awake = self.idle_rounds < 2

    def _learn(self, passed: int, taken: int) -> None:
        """How many frames are passed for one that is taken."""
        if passed > 0 and taken > 0:
            self.density += (passed * ONE // taken - self.density) // SAMPLES
