"""InnoDB's list with a midpoint, its flush list and its adaptive flushing, in plain Python from the sources: no kernel
is imported, no array is threaded.
"""

from dataclasses import dataclass, field


@dataclass
class Midpoint:
    """Pages by part, the head first; times are in any unit."""

    capacity: int
    old_percent: int = 37
    old_time: int = 0
    young: list[int] = field(default_factory=list)
    old: list[int] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    evicted: int = 0
    missed: int = 0

    def refer(self, page: int, now: int) -> None:
        """Refer to a page; one that is not there comes, and the last of the old goes."""
        if page in self.young:
            if self.evicted - self.moved[page] > self.capacity * (100 - self.old_percent) // 400:
                self.young.remove(page)
                self.young.insert(0, page)
                self.moved[page] = self.evicted
        elif page in self.old:
            if now - self.first[page] >= self.old_time:
                self.old.remove(page)
                self.young.insert(0, page)
                self.moved[page] = self.evicted
                self._balance()
        else:
            self.missed += 1
            if len(self.young) + len(self.old) == self.capacity:
                (self.old or self.young).pop()
                self.evicted += 1
            self.old.insert(0, page)
            self.first[page], self.moved[page] = now, self.evicted
            self._balance()

    def _balance(self) -> None:
        wanted = (len(self.young) + len(self.old)) * self.old_percent // 100
        whole = self.young + self.old
        self.young, self.old = whole[: len(whole) - wanted], whole[len(whole) - wanted :]


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
