"""Reads ahead of one session that goes through the pages of a table (docs/operations.md; storage/aio/read_stream.c)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tests.twins.clock import Clock, Process


class Readers:
    """I/O workers, in order of arrival: each computes *cpu_ns* of so many pages on a core of its own, reads them, and
    hands them on. Their queue has room for all.
    """

    def __init__(self, workers: int, read_ns: int, cpu_ns: Callable[[int], int]) -> None:
        self.read_ns, self.cpu_ns = read_ns, cpu_ns
        self.free = [0] * workers

    def begins(self, asked: int, pages: int) -> int:
        """Return when a read begins that is asked for at a time."""
        begins = max(asked, heappop(self.free)) + 1 + self.cpu_ns(pages)
        heappush(self.free, begins + self.read_ns + 1)
        return begins


@dataclass
class Stream:
    """*there* says when each page that is in the pool, or under way, has come. The pool holds all pages."""

    clock: Clock
    depth: int
    block: int
    is_full: bool
    read_ns: int
    there: dict[int, int]
    reads: list[tuple[int, int, int]] = field(default_factory=list)  # when, first page, pages
    readers: "Readers | None" = None

    def scan(self, first: int, pages: int) -> Process:
        """Go through pages."""
        self.most = (self.depth + 1) * self.block
        self.distance = self.block if self.is_full else 1
        self.next, self.end = first, first + pages
        self.pending: list[int] = []
        self.pinned: deque[int] = deque()
        self.under_way: deque[int] = deque()  # first pages of reads that the session has not come to
        yield from self._look_ahead()
        while self.pinned:
            page = self.pinned[0]
            if self.under_way and self.under_way[0] == page:
                if self.there[page] > self.clock.now:
                    yield self.there[page] + (self.depth > 0)
                self.under_way.popleft()
                self.distance = min(2 * self.distance, self.most)
            self.pinned.popleft()
            yield from self._look_ahead()

    def _look_ahead(self) -> Process:
        most_reads = max(self.depth, 1)
        while len(self.under_way) < most_reads and len(self.pinned) + len(self.pending) < self.distance:
            if len(self.pending) == self.block:
                yield from self._start()
                continue
            if self.next == self.end:
                self.distance = 0
                break
            self.pending.append(self.next)
            self.next += 1
        while (
            self.pending
            and len(self.under_way) < most_reads
            and (
                len(self.pending) == self.block
                or (len(self.pending) >= self.distance and not self.pinned)
                or self.distance == 0
            )
        ):
            yield from self._start()

    def _start(self) -> Process:
        """Pin the first page if it is there, or start to read it with the next ones that are not."""
        first = self.pending[0]
        if first in self.there:
            self.pinned.append(self.pending.pop(0))
            if self.distance > 1:
                self.distance -= 1
            return
        missing = [page for place, page in enumerate(self.pending) if page == first + place and page not in self.there]
        count = next((place for place, page in enumerate(self.pending) if page in self.there), len(missing))
        own, self.pending = self.pending[:count], self.pending[count:]
        begins = self.clock.now + (2 if self.depth else 1)
        if self.depth and self.readers is not None:
            begins = self.readers.begins(begins, count)
        self.reads.append((begins, first, count))
        for page in own:
            self.there[page] = begins + self.read_ns
        self.pinned.extend(own)
        self.under_way.append(first)
        if self.depth:
            yield self.clock.now + 1
