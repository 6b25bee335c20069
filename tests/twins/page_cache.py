"""The OS page cache under a pool that only reads: LRU (docs/pool.md)."""

from dataclasses import dataclass, field


@dataclass
class PageCache:
    """Pages by their last use, the oldest first."""

    pages: int
    read_ns: int
    held: dict[int, None] = field(default_factory=dict)
    misses: int = 0

    def read(self, page: int) -> int:
        """Read a page; return the ns."""
        if page in self.held:
            del self.held[page]
            self.held[page] = None
            return 1
        self.misses += 1
        if len(self.held) == self.pages:
            del self.held[next(iter(self.held))]
        self.held[page] = None
        return 1 + self.read_ns
