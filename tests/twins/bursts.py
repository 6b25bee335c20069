"""SQL Server's automatic and indirect checkpoints, and the writes that they gather (docs/sqlserver.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.twins.clock import Clock, Process, Signal
from tests.twins.log_blocks import Blocks
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints

CHECK_NS, STEP_NS = 5_000_000, 100_000_000


def gathered(page: int, most: int, goes_along: Callable[[int], bool]) -> range:
    """Return the pages that are written with one: those behind it first, then those before it."""
    first, end = page, page + 1
    while end - first < most and goes_along(end):
        end += 1
    while end - first < most and goes_along(first - 1):
        first -= 1
    return range(first, end)


@dataclass
class Bursts:
    """Frames hold pages of the same number; page 0 is of another level."""

    clock: Clock
    settings: BurstCheckpoints | IndirectCheckpoints
    log: Blocks
    dirty: set[int]
    position_of: dict[int, int]
    pages: int
    io_ns: int
    writes: list[tuple[int, int, int]] = field(default_factory=list)  # when, first page, pages
    done: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # begun, posted, over; dirty, written
    outstanding: int = 0
    latencies_ns: list[int] = field(default_factory=list)
    target: int = 0
    redo: int = 0
    last_write: Signal | None = None
    goes_round: bool = False

    def start(self) -> None:
        """Be there from the beginning, when the last automatic checkpoint ended some time ago."""
        self.target = self.settings.most_pages
        if isinstance(self.settings, BurstCheckpoints):
            self.clock.at(0, self._rounds(self.settings))

    def use_log(self) -> None:
        """Let indirect checkpoints begin when the log is used first."""
        if isinstance(self.settings, IndirectCheckpoints) and not self.goes_round:
            self.goes_round = True
            self.clock.at(self.clock.now, self._round_and_round(self.settings))

    def _round_and_round(self, settings: IndirectCheckpoints) -> Process:
        """Come to as many pages as are due by now."""
        page = come = 0
        yield self.clock.now + 1
        while True:
            while come < self.pages * self.clock.now // settings.target_ns:
                if page in self.dirty:
                    self._post(page)
                page = (page + 1) % self.pages
                come += 1
            yield (self.clock.now // STEP_NS + 1) * STEP_NS

    def _rounds(self, settings: BurstCheckpoints) -> Process:
        yield max(settings.interval_ns - settings.since_ns, 1)
        while True:
            if self.log.inserted > self.redo:
                self.redo = self.log.inserted
                yield from self._run()
            yield self.clock.now + settings.interval_ns

    def _run(self) -> Process:
        began, marked, written = self.clock.now, set(self.dirty), 0
        pages = len(marked)
        for page in range(self.pages):
            while self.outstanding >= self.target:
                yield self.clock.now + CHECK_NS
                self._learn()
            if page in marked and page in self.dirty:
                run = self._post(page)
                marked -= set(run)
                written += len(run)
        posted = self.clock.now
        if self.outstanding:
            self.last_write = Signal()
            yield self.last_write
        yield self.clock.now + 1
        if written:
            yield self.clock.now + self.io_ns  # a flush of the file
        self.done.append((began, posted, self.clock.now, pages, written))

    def _post(self, page: int) -> range:
        """Have a page written with its neighbours."""
        run = gathered(page, self.settings.gathered_pages, self._goes_along)
        self.dirty -= set(run)
        self.outstanding += len(run)
        self.clock.at(self.clock.now, self._write(run))
        return run

    def _goes_along(self, page: int) -> bool:
        """Tell whether a page is dirty, of the same level, and no younger than the durable log."""
        return page in self.dirty and page > 0 and self.position_of[page] <= self.log.durable

    def _write(self, run: range) -> Process:
        began = self.clock.now
        yield began + 1, -2  # before a session that changes the page in that nanosecond
        position = max(self.position_of[page] for page in run)
        if position > self.log.durable:
            yield from self.log.wait(position)
        self.writes.append((self.clock.now, run[0], len(run)))
        yield self.clock.now + self.io_ns
        self.outstanding -= len(run)
        self.latencies_ns.append(self.clock.now - began)
        if not self.outstanding and self.last_write is not None:
            self.clock.set(self.last_write)
            self.last_write = None

    def _learn(self) -> None:
        """Move the target by an eighth."""
        if self.settings.slow_ns and self.latencies_ns:
            step = max(self.target // 8, 1)
            if sum(self.latencies_ns) > self.settings.slow_ns * len(self.latencies_ns):
                self.target = max(self.target - step, 1)
            else:
                self.target = min(self.target + step, self.settings.most_pages)
            self.latencies_ns.clear()
