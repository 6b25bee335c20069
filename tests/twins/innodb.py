"""InnoDB's list with a midpoint, its flush list and its adaptive flushing, in plain Python from the sources: no kernel
is imported, no array is threaded.
"""

from dataclasses import dataclass, field


@dataclass
class Midpoint:
    """Pages in one list, the head first, of which the last *old_pages* are old; times are in any unit.

    buf0lru.cc has a pointer to the first old page. Constants are BUF_LRU_OLD_TOLERANCE and BUF_LRU_OLD_MIN_LEN.
    """

    capacity: int
    old_percent: int = 37
    old_time: int = 0
    tolerance: int = 20
    least: int = 512
    order: list[int] = field(default_factory=list)
    old_pages: int = 0
    first: dict[int, int] = field(default_factory=dict)
    clock: dict[int, int] = field(default_factory=dict)  # freed_page_clock of a page
    evicted: int = 0
    missed: int = 0

    @property
    def young(self) -> list[int]:
        return self.order[: len(self.order) - self.old_pages]

    @property
    def old(self) -> list[int]:
        return self.order[len(self.order) - self.old_pages :]

    def refer(self, page: int, now: int) -> None:
        """Refer to a page; one that is not there comes, and the last goes."""
        if page in self.order:
            if self._is_too_old(page, now):
                self._remove(page)
                self._add(page, old=False)
            return
        self.missed += 1
        if len(self.order) == self.capacity:
            self.free()
        self.clock[page] = 0
        self._add(page, old=True)
        self.first[page] = now

    def free(self) -> None:
        """The last page goes."""
        self._remove(self.order[-1])
        self.evicted += 1

    def _is_too_old(self, page: int, now: int) -> bool:
        if not self.evicted:
            return False
        if self.old_time and page in self.old:
            return now - self.first[page] >= self.old_time
        return self.evicted >= self.clock[page] + self.capacity * (1024 - self._ratio) // (1024 * 4)

    @property
    def _ratio(self) -> int:
        return self.old_percent * 1024 // 100

    def _remove(self, page: int) -> None:
        place, first_old = self.order.index(page), len(self.order) - self.old_pages
        self.order.remove(page)
        if place > first_old:
            self.old_pages -= 1
        if len(self.order) < self.least:
            self.old_pages = 0
        else:
            self._adjust()

    def _add(self, page: int, old: bool) -> None:
        if not old or len(self.order) < self.least:
            self.order.insert(0, page)
            self.clock[page] = self.evicted
        else:
            self.order.insert(len(self.order) - self.old_pages + 1, page)
            self.old_pages += 1
        if len(self.order) == self.least:
            self.old_pages = self.least
        if len(self.order) >= self.least:
            self._adjust()

    def _adjust(self) -> None:
        wanted = len(self.order) * self._ratio // 1024
        self.old_pages = min(max(self.old_pages, wanted - self.tolerance), wanted + self.tolerance)


@dataclass
class FlushList:
    """Changed pages with the position of the log before their first change."""

    oldest: dict[int, int] = field(default_factory=dict)
    inserted: int = 0

    def change(self, page: int, log_bytes: int) -> None:
        """Change a page, with a record of so many bytes."""
        self.oldest.setdefault(page, self.inserted)
        self.inserted += log_bytes

    def write(self, pages: int) -> list[int]:
        """Write the pages that were changed first."""
        order = sorted(self.oldest, key=lambda page: self.oldest[page])[:pages]
        for page in order:
            del self.oldest[page]
        return order

    @property
    def age(self) -> int:
        """The age of the checkpoint."""
        return self.inserted - min(self.oldest.values(), default=self.inserted)


def pages_wanted(
    age_percent: float, dirty_percent: float, io_capacity: int, most: int, page_rate: float, older: float
) -> int:
    """MySQL's target of a second: *age_percent* of the age that asks for most, changed pages in per cent with the
    defaults of 8.0 (marks of 10 and 90 %), *older* pages whose changes the log wants back.
    """
    by_age = (most // io_capacity) * age_percent**1.5 / 7.5
    by_number = dirty_percent * 100 / 91 if dirty_percent >= 10 else 0
    return int(min((io_capacity * max(by_age, by_number) / 100 + page_rate + older) / 3, most))


@dataclass
class DataFiles:
    """Tables of *pages* each that are used alike, one behind the other, each a file."""

    tables: int
    pages: int
    unflushed: set[int] = field(default_factory=set)
    changed_ms: dict[int, int] = field(default_factory=dict)  # their metadata, whose clock has ticks of 4 ms

    def write(self, pages: list[int], now_ms: int) -> None:
        """A batch has written pages."""
        for file in {page // self.pages for page in pages}:
            self.unflushed.add(file)
            if now_ms // 4 != self.changed_ms.get(file, 0) // 4:
                self.changed_ms[file] = now_ms

    def flush(self, behind: int) -> int | None:
        """A batch whose last flush was of the file *behind* begins another; returns which, None: it needs no more."""
        file = min((file for file in self.unflushed if file > behind), default=None)
        self.unflushed.discard(-1 if file is None else file)
        return file
