"""The OS page cache below a pool: dirty pages, write-back, the flusher (docs/pool.md; mm/page-writeback.c)."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.twins.clock import Clock, Process, Signal

FLUSHER_NS, OLD_NS = 5_000_000_000, 30_000_000_000
MOST_REQUESTS, REQUEST_BYTES = 128, 1280 << 10


@dataclass
class WriteBack:
    """Pages of one session, which reads or writes one at a time.

    *io_ns* is what the volume takes for anything. A page that changes while it is written back is dirty behind that.
    """

    clock: Clock
    pages: int
    io_ns: int
    page_bytes: int
    held: OrderedDict[int, None] = field(default_factory=OrderedDict)  # clean pages, by last use
    dirty: dict[int, int] = field(default_factory=dict)  # since when, the oldest first
    written: set[int] = field(default_factory=set)  # that are being written back
    changed: dict[int, int] = field(default_factory=dict)  # meanwhile, and since when
    requests: int = 0
    writes: list[tuple[int, int, int]] = field(default_factory=list)  # when, first page, pages
    old_ns: int = -1  # the flusher wants what became dirty until then
    waiting: Signal | None = None  # of the session, as too much is dirty

    def start(self) -> None:
        """Let the flusher come."""
        self.clock.at(0, self._flusher())

    def read(self, page: int) -> Process:
        """Read a page."""
        yield self.clock.now + 1
        if page in self.held or page in self.dirty or page in self.written:
            self._use(page)
            return
        yield self.clock.now + self.io_ns
        self._make_room()
        self.held[page] = None

    def write(self, page: int) -> Process:
        """Make a page dirty, unless a fifth is or is being written back: then wait."""
        while len(self.dirty) + len(self.written) >= max(self.pages // 5, 1):
            self.waiting = Signal()
            yield self.waiting
        if page not in self.held and page not in self.dirty and page not in self.written:
            self._make_room()
        self.held.pop(page, None)
        (self.changed if page in self.written else self.dirty).setdefault(page, self.clock.now)
        yield self.clock.now + 1
        self._write_back()

    def _use(self, page: int) -> None:
        if page in self.held:
            self.held.move_to_end(page)

    def _make_room(self) -> None:
        if len(self.held) + len(self.dirty) + len(self.written) == self.pages:
            self.held.popitem(last=False)

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
            for one in range(page, end):
                del self.dirty[one]
                self.written.add(one)
            self.requests += 1
            self.clock.at(self.clock.now + 1, self._request(page, end - page))  # it precedes reads asked for later

    def _request(self, page: int, pages: int) -> Process:
        self.writes.append((self.clock.now, page, pages))
        yield self.clock.now + self.io_ns
        self.requests -= 1
        for one in range(page, page + pages):
            self.written.remove(one)
            if one in self.changed:
                self.dirty[one] = self.changed.pop(one)
            else:
                self.held[one] = None
        self._write_back()
        if self.waiting is not None:
            self.clock.set(self.waiting)
            self.waiting = None
