"""A buffer pool that one session uses, page after page (docs/pool.md)."""

from dataclasses import dataclass, field
from typing import Protocol

from tests.twins.page_cache import PageCache


class Policy(Protocol):
    """Which of the frames loses its page."""

    def used(self, frame: int, new: bool) -> None:
        """A page was referred to; a *new* one came into a frame."""

    def victim(self) -> int:
        """Return the frame whose page goes; all frames hold one."""


@dataclass
class Sweep:
    """PostgreSQL's clock."""

    frames: int
    counts: dict[int, int] = field(default_factory=dict)
    passed: int = 0  # frames that the hand has passed

    def used(self, frame: int, new: bool) -> None:
        self.counts[frame] = 1 if new else min(self.counts[frame] + 1, 5)

    def victim(self) -> int:
        while True:
            frame = self.passed % self.frames
            self.passed += 1
            if self.counts[frame] == 0:
                return frame
            self.counts[frame] -= 1


@dataclass
class Lru:
    """The page used longest ago."""

    frames: int
    uses: dict[int, int] = field(default_factory=dict)
    clock: int = 0

    def used(self, frame: int, new: bool) -> None:
        self.clock += 1
        self.uses[frame] = self.clock

    def victim(self) -> int:
        return min(self.uses, key=lambda frame: self.uses[frame])


@dataclass
class Pool:
    """Answers how long each reference takes; unused frames are taken first."""

    frames: int
    policy: Policy | None  # None: LRU-2
    read_ns: int
    write_ns: int
    below: PageCache | None = None
    frame_of: dict[int, int] = field(default_factory=dict)
    page_of: dict[int, int] = field(default_factory=dict)
    dirty: set[int] = field(default_factory=set)
    history: dict[int, list[int]] = field(default_factory=dict)
    clock: int = 0
    misses: int = 0
    evicted: list[int] = field(default_factory=list)  # dirty pages that had to be written

    @property
    def taken(self) -> int:
        """Return how many frames were taken."""
        return self.misses

    def refer(self, page: int) -> int:
        """Use a page; return the ns until it is there."""
        self.clock += 1
        took = 0
        new = page not in self.frame_of
        if new:
            took = self._fetch(page)
        self.history.setdefault(page, [-1, -1])
        self.history[page] = [self.history[page][1], self.clock]
        if self.policy is not None:
            self.policy.used(self.frame_of[page], new)
        return took

    def change(self, page: int) -> None:
        """Make a page dirty."""
        self.dirty.add(page)

    def _fetch(self, page: int) -> int:
        self.misses += 1
        took = 1
        frame = len(self.page_of)
        if frame == self.frames:
            if self.policy is not None:
                frame = self.policy.victim()
            else:  # the last use but one of every page is kept, also of those that left
                frame = min(self.page_of, key=lambda one: self.history[self.page_of[one]])
            gone = self.page_of[frame]
            del self.frame_of[gone]
            if gone in self.dirty:
                self.dirty.remove(gone)
                self.evicted.append(gone)
                took += self.write_ns
        self.page_of[frame], self.frame_of[page] = page, frame
        return took + (self.read_ns if self.below is None else self.below.read(page))
