"""MySQL 8's log (docs/innodb.md; log/log0write.cc): a writer and a flusher, each of which begins anew while there is
more; commits wait, and wake the writer when it rests, as does a slice of CPU that ends behind a change.
"""

from tests.twins.clock import Clock, Process, Signal
from tests.twins.processors import Processors

_BEFORE = -1  # who comes at that time
_OF_VOLUME = -2  # and before that what a volume has done, whose station is an earlier one (docs/engines.md)


class LogThreads:
    """The log volume takes *io_ns* for a write, and as long for a flush; *log_io_ns* is the CPU of a write and of a
    flush.
    """

    def __init__(self, clock: Clock, io_ns: int, processors: Processors, log_io_ns: int) -> None:
        self.clock, self.io_ns, self.processors, self.log_io_ns = clock, io_ns, processors, log_io_ns
        self.inserted = self.written = self.flushed = self.flushes = self.writes = 0
        self.writing = self.flushing = False
        self.waiting: list[tuple[int, Signal]] = []
        processors.after = self.wake

    def insert(self, length: int) -> int:
        """Insert a record; return the position behind it."""
        self.inserted += length
        return self.inserted

    def flush(self, position: int) -> Process:
        """Wait until the log is durable up to a position."""
        if self.flushed >= position:
            yield self.clock.now + 1
            return
        mine = Signal()
        self.waiting.append((position, mine))
        wakes = not self.writing and position > self.written
        if wakes:
            self.writing = True
            self.clock.at(self.clock.now + 2, self._write(), _BEFORE)
        yield mine
        yield self.clock.now + 1

    def wake(self) -> None:
        """Let the writer begin if it rests though there is more."""
        if not self.writing and self.inserted > self.written:
            self.writing = True
            self.clock.at(self.clock.now + 1, self._write(), _BEFORE)

    def _write(self) -> Process:
        while True:
            position = self.inserted
            if self.log_io_ns:
                yield from self.processors.use(self.log_io_ns, first=True)
            self.written = position
            self.writes += 1
            if not self.flushing:
                self.flushing = True
                self.clock.at(self.clock.now + 1, self._flush(), _BEFORE)
            if self.inserted == self.written:
                self.writing = False
                return
            yield self.clock.now + 1, _BEFORE

    def _flush(self) -> Process:
        while True:
            target = self.written
            yield self.clock.now + self.io_ns
            yield self.clock.now + self.io_ns, _OF_VOLUME
            if self.log_io_ns:
                yield from self.processors.use(self.log_io_ns, first=True)
            self.flushed = target
            self.flushes += 1
            for position, one in self.waiting:
                if position <= target:
                    self.clock.set(one)
            self.waiting = [(position, one) for position, one in self.waiting if position > target]
            self.wake()
            if self.written == self.flushed:
                self.flushing = False
                return
            yield self.clock.now + 1, _BEFORE
