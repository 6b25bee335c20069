"""Rings of frames for who reads much once (docs/pool.md; storage/freelist.c, GetBufferFromRing)."""

from tests.twins.buffer_pool import Pool, Sweep


class RingPool(Pool):
    """A pool with a sweep whose one session reads tables of more than a quarter of it through a ring."""

    sweep: Sweep

    def __init__(self, frames: int, ring_frames: int, read_ns: int, write_ns: int) -> None:
        self.sweep = Sweep(frames)
        super().__init__(frames, self.sweep, read_ns, write_ns)
        self.most = max(min(ring_frames, frames // 8), 1)
        self.ring: list[int] = []  # frames, the oldest first

    def scan(self, first: int, pages: int, ring: bool) -> int:
        """Refer to pages one after the other; return the ns."""
        self.ring = []
        return sum(self._through_ring(page) if ring else self.refer(page) for page in range(first, first + pages))

    def _through_ring(self, page: int) -> int:
        if page in self.frame_of:
            frame = self.frame_of[page]
            self.sweep.counts[frame] = max(self.sweep.counts[frame], 1)
            return 0
        took = 1
        frame = self._own() if len(self.ring) == self.most else -1
        if frame < 0:
            self.misses += 1
            frame = len(self.page_of)
            if frame == self.frames:
                frame = self.sweep.victim()
        if frame in self.page_of:
            gone = self.page_of[frame]
            del self.frame_of[gone]
            if gone in self.dirty:
                self.dirty.remove(gone)
                took += self.write_ns
        self.ring.append(frame)
        self.page_of[frame], self.frame_of[page] = page, frame
        self.sweep.used(frame, True)
        return took + self.read_ns

    def _own(self) -> int:
        """Take the oldest frame out of the ring; it stays in the pool if somebody else used its page. (Changes have no
        records here that a flush of the log has to precede.)
        """
        frame = self.ring.pop(0)
        return -1 if self.sweep.counts[frame] > 1 else frame
