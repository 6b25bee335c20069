"""The OS page cache below a pool: dirty pages, write-back, the flusher, syncs (docs/pool.md; mm/page-writeback.c)."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.twins.clock import Clock, Process, Signal

FLUSHER_NS, OLD_NS = 5_000_000_000, 30_000_000_000
MOST_REQUESTS, REQUEST_BYTES = 128, 1280 << 10


@dataclass
class WriteBack:
    """Pages of one process, which reads or writes one at a time.

    *io_ns* is what the volume takes for anything. A page that changes while it is written back is dirty behind that.
    """

    clock: Clock
    pages: int
    io_ns: int
    page_bytes: int
    held: OrderedDict[int, None] = field(default_factory=OrderedDict)  # by last read; but those that are about to go
    going: set[int] = field(default_factory=set)  # once they are written
    dirty: dict[int, int] = field(default_factory=dict)  # since when, the oldest first
    written: set[int] = field(default_factory=set)  # that are being written back
    changed: dict[int, int] = field(default_factory=dict)  # meanwhile, and since when
    requests: int = 0
    writes: list[tuple[int, int, int]] = field(default_factory=list)  # when, first page, pages
    old_ns: int = -1  # the flusher wants what became dirty until then
    waiting: Signal | None = None  # of the process, as too much is dirty
    syncing: Signal | None = None  # of a sync, as some of its pages are being written back

    def start(self) -> None:
        """Let the flusher come."""
        self.clock.at(0, self._flusher())

    def read(self, page: int) -> Process:
        """Read a page."""
        yield self.clock.now + 1
        if page in self.held or page in self.going:
            if page in self.held:
                self.held.move_to_end(page)
            return
        yield self.clock.now + self.io_ns
        self._make_room()
        self.held[page] = None

    def write(self, page: int) -> Process:
        """Make a page dirty, unless a fifth is or is being written back: then wait."""
        while len(self.dirty) + len(self.written) >= max(self.pages // 5, 1):
            self.waiting = Signal()
            yield self.waiting
        if page not in self.held and page not in self.going:
            self._make_room()
            self.held[page] = None
        (self.changed if page in self.written else self.dirty).setdefault(page, self.clock.now)
        yield self.clock.now + 1
        self._write_back()

    def fill(self, pages: Iterable[int]) -> None:
        """Begin to write back pages that are dirty, neighbours together."""
        for run in _runs(pages):
            self._begin(run)

    def sync(self, holds: Callable[[int], bool]) -> Process:
        """Write back the dirty pages of a file, at once; wait for them and for those that are written back already;
        flush the volume.
        """
        yield self.clock.now + 1
        runs = _runs(sorted(filter(holds, self.dirty)))
        if runs:
            yield self.clock.now + 1
            for run in runs:
                self._take(run)
                self.writes.append((self.clock.now, run.start, len(run)))
            yield self.clock.now + self.io_ns
            for run in runs:
                self._give_back(run)
        waits = False
        while any(map(holds, self.written)):
            waits = True
            self.syncing = Signal()
            yield self.syncing
        yield self.clock.now + waits + self.io_ns

    def _make_room(self) -> None:
        while len(self.held) + len(self.going) == self.pages:
            page, _ = self.held.popitem(last=False)
            if page in self.dirty or page in self.written:
                self.going.add(page)
                continue
            return

    def _flusher(self) -> Process:
        while True:
            yield self.clock.now + FLUSHER_NS
            self.old_ns = self.clock.now - OLD_NS
            self._write_back()

    def _wanted(self) -> Iterable[int]:
        """Return the oldest page as long as something has to be written back."""
        while self.dirty and self.requests < MOST_REQUESTS:
            oldest = next(iter(self.dirty))
            if len(self.dirty) <= self.pages // 10 and self.dirty[oldest] > self.old_ns:
                return
            yield oldest

    def _write_back(self) -> None:
        for page in self._wanted():
            end = page + 1
            most = page + REQUEST_BYTES // self.page_bytes
            while end < most and end in self.dirty:
                end += 1
            self._begin(range(page, end))

    def _begin(self, pages: range) -> None:
        self._take(pages)
        self.requests += 1
        self.clock.at(self.clock.now + 1, self._request(pages))  # it precedes reads asked for later

    def _request(self, pages: range) -> Process:
        self.writes.append((self.clock.now, pages.start, len(pages)))
        yield self.clock.now + self.io_ns
        self.requests -= 1
        self._give_back(pages)
        self._write_back()
        if self.waiting is not None:
            self.clock.set(self.waiting)
            self.waiting = None
        if self.syncing is not None:
            self.clock.set(self.syncing)
            self.syncing = None

    def _take(self, pages: range) -> None:
        for page in pages:
            del self.dirty[page]
            self.written.add(page)

    def _give_back(self, pages: range) -> None:
        for page in pages:
            self.written.remove(page)
            if page in self.changed:
                self.dirty[page] = self.changed.pop(page)
            if page in self.going:
                self.going.remove(page)
                self.held[page] = None
                self.held.move_to_end(page, last=page in self.dirty)


def _runs(pages: Iterable[int]) -> list[range]:
    """Put neighbours together that stand side by side."""
    runs: list[range] = []
    for page in pages:
        if runs and page == runs[-1].stop:
            runs[-1] = range(runs[-1].start, page + 1)
        else:
            runs.append(range(page, page + 1))
    return runs
