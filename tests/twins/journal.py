"""ext4's journal (docs/innodb.md; fs/ext4/fsync.c, fs/jbd2/commit.c): who syncs a file whose metadata has changed since
the last commit began waits for a commit, of which there is one at a time; who syncs another flushes the device.
"""

from tests.twins.clock import Clock, Process, Signal

_TICK_NS = 4_000_000


class Journal:
    """The volume takes *io_ns* for each request: a commit is two writes, each flushed."""

    def __init__(self, clock: Clock, io_ns: int) -> None:
        self.clock, self.io_ns = clock, io_ns
        self.committed_ns = 0  # what has changed by then is durable
        self.is_led = False
        self.commits = 0
        self.waiting: list[tuple[int, Signal]] = []

    def sync(self, changed_ns: int) -> Process:
        """Make durable a file whose metadata changed at that time."""
        if changed_ns <= self.committed_ns:
            yield self.clock.now + 1
            yield self.clock.now + self.io_ns
            return
        mine = Signal()
        self.waiting.append((changed_ns, mine))
        if self.is_led:
            yield mine
        if changed_ns <= self.committed_ns:
            yield self.clock.now + 1
            return
        self.is_led = True
        self.waiting = [other for other in self.waiting if other[1] is not mine]
        began_ns = self.clock.now
        yield self.clock.now + 1
        for _ in range(4):
            yield self.clock.now + self.io_ns
        self.committed_ns, self.is_led = began_ns, False
        self.commits += 1
        durable = [one for changed, one in self.waiting if changed <= began_ns]
        self.waiting = [other for other in self.waiting if other[0] > began_ns]
        for one in durable:
            self.clock.set(one)
        if self.waiting:
            self.is_led = True
            self.clock.set(self.waiting[0][1])


class FileOfOneLength:
    """A file that is written over: a write changes its metadata once a tick."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.changed_ns = journal, 0

    def sync(self) -> Process:
        """Make durable what was written just now."""
        now = self.journal.clock.now
        if now // _TICK_NS != self.changed_ns // _TICK_NS:
            self.changed_ns = now
        yield from self.journal.sync(self.changed_ns)
